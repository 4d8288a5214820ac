"""Several solves in one chart; lines are told apart by dashes and marks as well as colours."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import plotly.graph_objects as go

from octcore.engines.events import Trace
from octcore.plotting import text
from octcore.plotting.gap_plot import GAP_FLOOR, LEAST_OPEN, convergence_data, gap_axis, gap_heights
from octcore.plotting.layout import curve, framed, mark
from octcore.plotting.palette import Palette

Scale = Literal["gap", "objective", "accuracy"]
DASHES = ("solid", "dash", "dot", "dashdot")
SHAPES = ("circle", "square", "triangle-up", "diamond")
TIME_TITLE = "time since each run began to encode (s)"
AXIS_TITLES = {"gap": "relative gap", "accuracy": "training accuracy of the best tree"}


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
    across = {"title_text": TIME_TITLE, "range": [0, 1.03 * max(race.end, 1e-3)]}
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
