"""Convergence: incumbent, bound and gap over time, of one run or of several in one chart.

The lines of several are told apart by dashes and marks as well as colours.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

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
RACE_TIME_TITLE = "time since each run began to encode (s)"
MOST_POINTS = 400  # enough for any screen; a live chart is sent once a second

Scale = Literal["gap", "objective", "accuracy"]
MEANING: dict[Scale, str] = {
    "gap": "Gap: how far the best tree so far may be from the best, as a share of its objective.",
    "objective": "Incumbent: the best tree so far. Bound: what no tree can beat.",
    "accuracy": "",
}
DASHES = ("solid", "dash", "dot", "dashdot")
SHAPES = ("circle", "square", "triangle-up", "diamond")
AXIS_TITLES = {"gap": "relative gap", "accuracy": "training accuracy of the best tree"}


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


@dataclass(frozen=True, eq=False)
class Entrant:
    """One solve of a race."""

    label: str
    trace: Trace
    objective: str
    problem: str = ""
    """Equal for solves of the same problem: then an optimum of one is that of the other."""
    proven: float | None = None  # objective, once it is proven optimal
    span: tuple[float, float] | None = None
    """When it ran, in seconds since 1970; None while it waits and where it is not known."""
    accuracies: tuple[float, ...] = ()  # training accuracy of every incumbent that has a tree
    elapsed: float = 0.0  # seconds so far of one that goes on: its lines reach the present


@dataclass(frozen=True)
class Series:
    """One line: steps over the seconds since its own start."""

    label: str
    index: int
    seconds: tuple[float, ...]
    values: tuple[float, ...]
    is_bound: bool = False
    is_closed: bool = False


@dataclass(frozen=True)
class Race:
    """What a race chart shows."""

    scale: Scale  # ``"gap"``, ``"objective"`` or ``"accuracy"``
    title: str
    labels: tuple[str, ...]  # all solves, with or without a line yet
    series: tuple[Series, ...]
    optimum: float | None = None  # proven optimum of the problem that all drawn solves share
    proven_by: str = ""
    left_out: tuple[str, ...] = ()
    """Solves whose objective is of another kind and which are not drawn."""

    @property
    def end(self) -> float:
        """Last moment of any line, in seconds."""
        return max((s.seconds[-1] for s in self.series if s.seconds), default=0.0)

    @property
    def span(self) -> tuple[float, float]:
        """Values worth seeing: without the first trees, often a single leaf, if better follow."""
        values: list[float] = [] if self.optimum is None else [self.optimum]
        for series in self.series:
            first = series.values[0]
            later = [value for value in series.values if value != first]
            values += later if later and not series.is_bound else series.values
        low, high = min(values, default=0.0), max(values, default=1.0)
        room = 0.08 * (high - low) or 0.05 * max(abs(high), 0.1)
        return low - room, high + room


def race_data(entrants: Sequence[Entrant], scale: Scale = "gap") -> Race:
    """Reduce the traces of several solves to lines.

    `scale`: ``"gap"``: relative gap; ``"objective"``: incumbent and bound, of those with the
    objective of the first; ``"accuracy"``: of the best tree so far, a unit that all share.
    """
    series: list[Series] = []
    left_out = []
    for index, entrant in enumerate(entrants):
        if scale == "objective" and entrant.objective != entrants[0].objective:
            left_out.append(entrant.label)
        else:
            series += _series(entrant, index, scale)
    optimum, by = known_optimum(entrants) if scale == "objective" else (None, "")
    title = AXIS_TITLES.get(scale, entrants[0].objective if entrants else "")
    labels = tuple(entrant.label for entrant in entrants)
    return Race(scale, title, labels, tuple(series), optimum, by, tuple(left_out))


def known_optimum(entrants: Sequence[Entrant]) -> tuple[float | None, str]:
    """Optimum of the first solve's problem and who proved it first, if anybody did."""
    able = [e for e in entrants if e.proven is not None and e.problem == entrants[0].problem]
    first = min(
        able, key=lambda e: e.trace.events[-1].seconds if len(e.trace) else 0.0, default=None
    )
    return (None, "") if first is None else (first.proven, first.label)


def _series(entrant: Entrant, index: int, scale: Scale) -> Iterator[Series]:
    """The lines of a solve: one, or incumbent and bound."""
    closed = entrant.proven is not None
    record = convergence_data(entrant.trace, closed=closed).until(entrant.elapsed)
    seconds: Sequence[float] = record.seconds
    if scale == "gap":
        lines = [tuple(gap_heights(record))]
    elif scale == "objective":
        lines = [record.incumbent, record.bound]
    else:
        moments = [event.seconds for event in entrant.trace.incumbents if event.tree is not None]
        known = entrant.accuracies[: len(moments)]
        seconds, lines = [*moments[: len(known)], record.end], [(*known, *known[-1:])]
    for is_bound, values in enumerate(lines):
        points = [(s, v) for s, v in zip(seconds, values, strict=False) if v is not None]
        if points:
            places, heights = zip(*points, strict=True)
            yield Series(entrant.label, index, places, heights, bool(is_bound), closed)


def race_words(entrants: Sequence[Entrant], scale: Scale) -> str:
    """Say what ran together, what is proven, and how a race is read."""
    words = [ran_together(entrants)]
    optimum, by = known_optimum(entrants)
    if optimum is not None:
        words.append(f"The optimum {optimum:.5g} is proven by {text.printable(by)}.")
        others = [text.printable(e.label) for e in entrants if e.problem != entrants[0].problem]
        if others:
            solve = "solve" + "s" * (len(others) == 1)
            words.append(f"It is not that of {'; '.join(others)}, which {solve} another problem.")
    words.append(MEANING[scale] + " Thin lines are bounds." * (scale == "objective"))
    words += ["A star marks a proof."] * any(e.proven is not None for e in entrants)
    return " ".join(words)


def ran_together(entrants: Sequence[Entrant]) -> str:
    """Say which solves shared the machine; every curve is on its own clock."""
    known = [entrant for entrant in entrants if entrant.span is not None]
    if len(known) < len(entrants) or len(known) < 2:
        return "Every curve starts at its own call."
    groups = _groups(known)
    if len(groups) == 1 and len(groups[0]) == len(known):
        return "All ran at the same time, side by side; every curve starts at its own call."
    if all(len(group) == 1 for group in groups):
        return "Each had ended when the next one began; every curve starts at its own call."
    words = "; ".join(" with ".join(group) for group in groups if len(group) > 1)
    return f"Side by side ran: {words}; every curve starts at its own call."


def _groups(entrants: Sequence[Entrant]) -> list[list[str]]:
    """Largest sets of solves that were all going on at one moment."""
    spans = [entrant.span or (0.0, 0.0) for entrant in entrants]
    at_starts = {
        frozenset(i for i, (low, high) in enumerate(spans) if low <= start < high)
        for start, _ in spans
    }
    largest = [here for here in at_starts if not any(here < other for other in at_starts)]
    return [[entrants[i].label for i in here] for here in sorted(map(sorted, largest))]


def race_figure(race: Race, palette: Palette) -> go.Figure:
    """Draw a race, live or ended."""
    across = {"title_text": RACE_TIME_TITLE, "range": [0, 1.03 * max(race.end, 1e-3)]}
    figure = framed(palette, x=across)
    for series in race.series:
        _line(figure, series, race, palette)
    if race.optimum is not None:
        ends = [(0, race.optimum), (1.03 * race.end, race.optimum)]
        words = text.plotly(f"optimum {race.optimum:.5g}, proven by {race.proven_by}", 90)
        curve(figure, ends, words, line={"color": palette.optimum, "width": 2, "dash": "dot"})
    if race.scale == "gap":
        gap_axis(figure, [value for series in race.series for value in series.values])
    else:
        form = ".0%" if race.scale == "accuracy" else None
        figure.update_yaxes(
            title_text=text.plotly(text.objective(race.title), 80), range=race.span, tickformat=form
        )
    return figure


def _line(figure: go.Figure, series: Series, race: Race, palette: Palette) -> None:
    colour, position = palette.class_colour(series.index), series.index % 4
    name = text.plotly(series.label, 60) + (" (bound)" if series.is_bound else "")
    sizes = [5.0] * len(series.seconds)
    symbols = [SHAPES[position]] * len(series.seconds)
    sizes[-1] = 11.0
    if series.is_closed and not series.is_bound:
        sizes[-1], symbols[-1] = 17.0, "star"
    width, opacity = (1.6, 0.75) if series.is_bound else (2.8, 1.0)
    curve(
        figure,
        zip(series.seconds, series.values, strict=True),
        name,
        "%{x:.2f} s: %{customdata}",
        name,
        line={"shape": "hv", "color": colour, "width": width, "dash": DASHES[position]},
        opacity=opacity,
        marker=mark(symbols, sizes, colour, palette.outline, 0.8),
        showlegend=not series.is_bound,
        customdata=[_value_words(value, race.scale) for value in series.values],
    )


def _value_words(value: float, scale: Scale) -> str:
    if scale == "gap":
        at_most = "at most " * (value <= LEAST_OPEN)
        return "proven optimal" if value <= GAP_FLOOR else f"gap {at_most}{text.gap(value)}"
    return text.percent(value, 2) if scale == "accuracy" else f"{value:.6g}"
