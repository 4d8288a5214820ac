"""Convergence: incumbent, bound and gap of a run over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import plotly.graph_objects as go

from octcore.engines.events import Event, Trace
from octcore.plotting import text
from octcore.plotting.layout import curve, framed, mark
from octcore.plotting.palette import Palette, translucent

SOLVE_PHASES = frozenset({"solve", "search"})
SEARCHED = frozenset({"solver", "search", "polish", "greedy"})  # sources that are no warm starts
LINES = ("incumbent", "bound", "gap")
GAP_FLOOR = 1e-4  # a closed gap has no place on a log axis; it is drawn at this height and labelled
LEAST_OPEN = 2 * GAP_FLOOR
"""Height of the smallest gaps that are not closed, so that none looks like a proof."""
TIME_TITLE = "time since encoding began (s)"
MOST_POINTS = 400  # enough for any screen; a live chart is sent once a second


@dataclass(frozen=True)
class Convergence:
    """What a convergence chart shows of one run."""

    label: str
    objective: str  # title of the axis for absolute values
    seconds: tuple[float, ...]
    incumbent: tuple[float | None, ...]
    bound: tuple[float | None, ...]
    gap: tuple[float | None, ...]
    """`seconds`, `incumbent`, `bound`, `gap`: one entry per change; None where there is no value
    yet.  Times count from the start of encoding."""
    marks: tuple[Event, ...]  # those that brought a tree of some value
    search_start: float  # when everything before the search was done
    optimum: float | None = None
    is_closed: bool = False  # whether the last gap is a proof

    @property
    def end(self) -> float:
        """Time of the last event."""
        return self.seconds[-1] if self.seconds else 0.0

    def until(self, now: float) -> Convergence:
        """Hold the last values up to the present: a gap that does not move is seen not to."""
        if now <= self.end or not self.seconds:
            return self
        held = {name: (*getattr(self, name), getattr(self, name)[-1]) for name in LINES}
        return replace(self, seconds=(*self.seconds, now), **held)


def convergence_data(
    trace: Trace,
    objective: str = "objective",
    optimum: float | None = None,
    closed: bool | None = None,
    label: str = "gap",
) -> Convergence:
    """Reduce a trace, which may go on, to what the chart shows.

    `closed`: whether the run proved optimality; its last gap is then 0 (rounding of counts
    included).  None where only the trace can tell.
    """
    rows: list[tuple[float, float | None, float | None, float | None]] = []
    for event in trace:
        values = (event.incumbent, event.bound, event.gap)
        if not rows or rows[-1][1:] != values:
            rows.append((event.seconds, *values))
    # Few enough for a screen; those that brought a tree stay.
    step = max(1, -(-len(rows) // MOST_POINTS))
    rows = [row for k, row in enumerate(rows) if k % step == 0 or row[1] != rows[k - 1][1]]
    if len(trace) and rows:
        last = trace.events[-1]
        final_gap = 0.0 if closed else last.gap
        closed = last.gap == 0 if closed is None else closed
        rows.append((last.seconds, last.incumbent, last.bound, final_gap))
    columns: Any = list(zip(*rows, strict=True)) if rows else [(), (), (), ()]
    marks = tuple(event for event in trace.incumbents if event.incumbent is not None)
    seconds, *lines = map(tuple, columns)
    kept: dict[str, Any] = dict(zip(LINES, lines, strict=True))
    is_first = not trace.phases or trace.phases[0].source in SOLVE_PHASES
    begun = (event.seconds for event in trace.phases if event.source in SOLVE_PHASES)
    start = 0.0 if is_first else next(begun, trace.events[-1].seconds)
    return Convergence(
        label, objective, seconds, marks=marks, search_start=start, optimum=optimum,
        is_closed=bool(closed), **kept,
    )  # fmt: skip


def convergence_figure(
    record: Convergence,
    palette: Palette,
    absolute: bool = False,
    at: float | None = None,
    height: int = 340,
) -> go.Figure:
    """Draw gap (log) or incumbent and bound (absolute) over time, with a line `at` a moment."""
    across = {"title_text": TIME_TITLE, "range": [0, 1.04 * max(record.end, 1e-3)]}
    figure = framed(palette, height, x=across)
    _shade_phases(figure, record, palette)
    if absolute:
        _absolute_lines(figure, record, palette)
        figure.update_yaxes(title_text=text.plotly(text.objective(record.objective), 60))
    else:
        _gap_line(figure, record, palette)
        gap_axis(figure, [height for height in gap_heights(record) if height is not None])
    if at is not None:
        figure.add_vline(x=at, line={"color": palette.text, "width": 1, "dash": "dot"})
    return figure


def gap_heights(record: Convergence) -> list[float | None]:
    """Where the gaps of a run stand on a logarithmic axis."""
    floor = GAP_FLOOR if record.is_closed else LEAST_OPEN
    return [None if g is None else max(g, LEAST_OPEN if g else floor) for g in record.gap]


def gap_axis(figure: go.Figure, gaps: Sequence[float]) -> None:
    """Give a figure the logarithmic axis of relative gaps, around the heights that are drawn."""
    ticks = gap_ticks(min(gaps, default=0.01), max(gaps, default=1.0))
    figure.update_yaxes(
        title_text="relative gap",
        type="log",
        tickvals=ticks,
        ticktext=["0 (proven)" if v <= GAP_FLOOR * 1.01 else f"{100 * v:g} %" for v in ticks],
        range=[math.log10(ticks[0]) - 0.12, math.log10(ticks[-1]) + 0.1],
    )


def gap_ticks(low: float, high: float) -> list[float]:
    """Ticks of one digit around a range of gaps: decades, or 1-2-5 where these are too few."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = (1,) if last - first > 2 else (1, 2, 5)
    every = [step * 10.0**power for power in range(first, last + 1) for step in steps]
    below = max((t for t in every if t <= low * 1.001), default=every[0])
    above = min((t for t in every if t >= high * 0.999), default=every[-1])
    if below == above:
        above = next((t for t in every if t > below), 2 * below)
    return [round(t, 12) for t in every if below <= t <= above]


def _gap_line(figure: go.Figure, record: Convergence, palette: Palette) -> None:
    curve(
        figure,
        zip(record.seconds, gap_heights(record), strict=True),
        text.plotly(record.label),
        "%{x:.2f} s: gap %{customdata}",
        line={"shape": "hv", "color": palette.incumbent, "width": 2.5},
        customdata=[text.gap(g) for g in record.gap],
    )
    _add_marks(figure, _marks_on_gap(record), palette)
    if record.gap and record.is_closed:
        star, words = mark("star", 15, palette.optimum, palette.outline), "proven optimal"
        curve(figure, [(record.end, GAP_FLOOR)], words, f"%{{x:.2f}} s: {words}", marker=star)


def _marks_on_gap(record: Convergence) -> list[tuple[Event, float, float]]:
    """Incumbents with the place where the gap first knows them: a start comes before any bound."""
    found = []
    heights = gap_heights(record)
    known = [(t, h) for t, h in zip(record.seconds, heights, strict=True) if h is not None]
    for new in record.marks:
        before = [pair for pair in known if pair[0] <= new.seconds + 1e-9]
        after = [pair for pair in known if pair[0] > new.seconds]
        if before or after:
            seconds, height = (new.seconds, before[-1][1]) if before else after[0]
            found.append((new, seconds, height))
    return found


def _absolute_lines(figure: go.Figure, record: Convergence, palette: Palette) -> None:
    lines = (
        ("incumbent", record.incumbent, palette.incumbent, "solid"),
        ("bound", record.bound, palette.bound, "dash"),
    )
    for name, values, colour, dash in lines:
        points, words = zip(record.seconds, values, strict=True), f"%{{x:.2f}} s: {name} %{{y:.6g}}"
        look = {"shape": "hv", "color": colour, "width": 2.5, "dash": dash}
        curve(figure, points, name, words, line=look)
    _add_marks(figure, [(m, m.seconds, m.incumbent) for m in record.marks], palette)
    if record.optimum is not None:
        figure.add_hline(
            y=record.optimum,
            line={"color": palette.optimum, "width": 1.5, "dash": "dot"},
            annotation_text=f"true optimum {record.optimum:.6g}",
            annotation_position="bottom right",
            annotation_font={"color": palette.optimum},
        )


def _add_marks(
    figure: go.Figure, marks: Sequence[tuple[Event, float, float | None]], palette: Palette
) -> None:
    """Draw incumbents, warm starts with a shape of their own."""
    for is_start, symbol, name in ((True, "diamond", "warm start"), (False, "circle", "new tree")):
        here = [entry for entry in marks if (entry[0].source not in SEARCHED) == is_start]
        if not here:
            continue
        curve(
            figure,
            [place for _, *place in here],
            name,
            "%{x:.2f} s: tree of value %{customdata[1]:.6g}<br>found by %{customdata[0]}",
            marker=mark(symbol, 10, palette.incumbent, palette.outline),
            customdata=[[text.plotly(m.source), m.incumbent] for m, _, _ in here],
        )


def _shade_phases(figure: go.Figure, record: Convergence, palette: Palette) -> None:
    if record.search_start <= 0:
        return
    share = record.search_start / max(record.end, 1e-9)
    figure.add_vrect(
        x0=0,
        x1=record.search_start,
        fillcolor=translucent("#8891a0", 0.16),
        line_width=0,
        layer="below",
        annotation_text="start and model building" if share > 0.3 else "",
        annotation_position="top left",
        annotation_font={"color": palette.muted, "size": 11},
    )
