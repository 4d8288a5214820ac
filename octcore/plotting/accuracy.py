"""Accuracy: over splits of the rows, of runs and of candidates; and by class, the confusion."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.colors import find_intermediate_color, hex_to_rgb

from octcore.data.dataset import Dataset
from octcore.data.distinct import grouped
from octcore.data.tasks import ASK
from octcore.encoding.base import Encoding
from octcore.plotting import text
from octcore.plotting.gap_plot import SHAPES
from octcore.plotting.layout import BREAK, curve, framed, mark, silent
from octcore.plotting.palette import CLASS_COLOURS, Palette, ink_on
from octcore.selection.tuning import Candidate, Fit
from octcore.tree import metrics
from octcore.tree.tree import Tree


@dataclass(frozen=True)
class Spread:
    """One run, or its repetitions on further splits: accuracies on training and held-out rows."""

    label: str
    training: tuple[float, ...]
    held_out: tuple[float, ...]

    @property
    def words(self) -> str:
        """Mean and range of the held-out accuracy, or that of the training rows."""
        values, name = (self.held_out, "held out") if self.held_out else (self.training, "training")
        if not values:
            return f"{self.label}: no tree"
        mean = sum(values) / len(values)
        if len(values) == 1:
            return f"{self.label}: {text.percent(mean)} {name}"
        span = f"{text.percent(min(values))} to {text.percent(max(values))}"
        return f"{self.label}: {text.percent(mean)} {name} on average of {len(values)}, {span}"


def spread_data(pairs: Iterable[tuple[float | None, float | None]], label: str) -> Spread:
    """Collect accuracies of trainings, on training and on held-out rows."""
    training, held_out = zip(*pairs, strict=True)
    kept = (tuple(v for v in values if v is not None) for values in (training, held_out))
    return Spread(label, *kept)


def spread_figure(records: Sequence[Spread], palette: Palette) -> go.Figure:
    """Draw one line per run: open marks are training rows, filled ones held-out rows."""
    names = text.unique_labels([record.label for record in records], 44)
    values = [v for record in records for v in (*record.training, *record.held_out)] or [0.0, 1.0]
    span = [max(0.0, min(values) - 0.03), min(1.005, max(values) + 0.03)]
    across = {"title_text": "accuracy", "tickformat": ".0%", "range": span}
    figure = framed(palette, 110 + 56 * len(records), x=across, y=_rows(names, 0.5))
    for index, (record, name) in enumerate(zip(records, names, strict=True)):
        shape, colour = SHAPES[index % 4], palette.class_colour(index)
        for values, suffix, shift, kind, edge in (
            (record.training, "-open", -0.16, "training rows", colour),
            (record.held_out, "", 0.16, "held-out rows", palette.outline),
        ):
            points = [(value, index + shift) for value in values]
            look = mark(shape + suffix, 12, colour, edge, 1.4) | {"opacity": 0.85}
            extra = f"{name}, {kind}"
            if points:
                curve(figure, points, hover="%{x:.2%}", extra=extra, marker=look, showlegend=False)
            if len(values) > 1:  # an upright line at the mean of all splits
                mean = sum(values) / len(values)
                figure.add_shape(
                    type="line", x0=mean, x1=mean, y0=index + shift - 0.15, y1=index + shift + 0.15,
                    line={"color": palette.text, "width": 2.5},
                )  # fmt: skip
    for kind, suffix in (("training rows", "-open"), ("held-out rows", "")):
        look = {"symbol": f"circle{suffix}", "size": 11, "color": palette.text}
        curve(figure, [BREAK], kind, marker=look)
    return figure


def _rows(names: Sequence[str], room: float) -> dict[str, Any]:
    """Axis with a line for each name, the first on top, and some room above and below."""
    look = {"tickvals": [*range(len(names))], "ticktext": names, "showgrid": False, "ticks": ""}
    return look | {"range": [len(names) - 1 + room, -room]}


MOST_LINES = 6
MOST_MARKS = 24
SPREAD = 0.26  # widest sideways shift of the lines at one value, in steps of the axis


@dataclass(frozen=True)
class Score:
    """A candidate and its validation accuracies."""

    candidate: Candidate
    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Mean accuracy."""
        return float(np.mean(self.values))

    @property
    def spread(self) -> float:
        """Standard deviation over the splits."""
        return float(np.std(self.values))


@dataclass(frozen=True)
class TuningPlot:
    """What the chart draws."""

    scores: tuple[Score, ...]  # candidates that were judged at least once
    across: str  # setting on the horizontal axis; empty when every candidate gets a line of its own
    values: tuple[Any, ...]
    best: Candidate | None

    @property
    def lines(self) -> dict[Candidate, tuple[Score, ...]]:
        """Scores by what stays the same along the axis."""
        found = grouped(
            (tuple(part for part in score.candidate if part[0] != self.across), score)
            for score in self.scores
        )
        return {rest: tuple(scores) for rest, scores in found.items()}


def tuning_data(fits: Sequence[Fit], best: Candidate | None) -> TuningPlot:
    """Collect the accuracies of trainings but final ones, and find the setting for the axis."""
    judged = (fit for fit in fits if fit.inner >= 0)
    found = grouped((f.candidate, f.accuracy) for f in judged if f.accuracy is not None)
    scores = tuple(Score(candidate, tuple(values)) for candidate, values in found.items())
    across = _axis([dict(score.candidate) for score in scores])
    values = dict.fromkeys(dict(score.candidate).get(across) for score in scores)
    numbers = [value for value in values if isinstance(value, (int, float))]
    others = [value for value in values if not isinstance(value, (int, float))]
    ordered = (*others, *sorted(numbers)) if across else ()
    return TuningPlot(scores, across, ordered, best)


def _axis(candidates: Sequence[dict[str, Any]]) -> str:
    """The number with most values, if the rest makes few enough lines."""
    names = list(candidates[0]) if candidates else []
    counts = {name: len({str(c[name]) for c in candidates}) for name in names}
    numeric = [
        name
        for name in names
        if counts[name] > 1
        and all(isinstance(c[name], (int, float)) and not isinstance(c[name], bool)
                for c in candidates)
    ]  # fmt: skip
    for name in sorted(numeric, key=lambda n: -counts[n]):
        if math.prod(counts[other] for other in names if other != name) <= MOST_LINES:
            return name
    return ""


def tuning_figure(record: TuningPlot, palette: Palette) -> go.Figure:
    """Draw mean accuracy with spread: lines over one setting, or one line of marks each."""
    return _lines(record, palette) if record.across else _marks(record, palette)


def _lines(record: TuningPlot, palette: Palette) -> go.Figure:
    lines = record.lines
    has_legend = len(lines) > 1
    figure = framed(palette, 360, has_legend, y=_validation(record))
    places = {value: index for index, value in enumerate(record.values)}
    constant = {
        name
        for name in dict(record.scores[0].candidate)
        if len({str(dict(s.candidate)[name]) for s in record.scores}) == 1
    }
    for index, (rest, scores) in enumerate(lines.items()):
        shift = SPREAD * ((index + 0.5) / len(lines) - 0.5)
        ordered = sorted(scores, key=lambda s: places[dict(s.candidate)[record.across]])
        at = [places[dict(s.candidate)[record.across]] + shift for s in ordered]
        told = tuple(part for part in rest if part[0] not in constant)
        name = text.plotly(candidate_words(told), 60) or "accuracy"
        colour = palette.class_colour(index)
        silent(
            figure,
            [place for place, score in zip(at, ordered, strict=True) for _ in score.values],
            [value for score in ordered for value in score.values],
            mode="markers",
            marker={"symbol": "line-ew-open", "size": 7, "color": colour, "opacity": 0.45},
        )
        curve(
            figure,
            zip(at, [s.mean for s in ordered], strict=True),
            name,
            "%{customdata[0]}<br>%{y:.2%} ± %{customdata[1]:.2%} over %{customdata[2]} splits",
            error_y=_bars([s.spread for s in ordered], colour),
            showlegend=has_legend,
            line={"color": colour, "width": 2},
            marker=mark(palette.class_marker(index), 10, colour, palette.outline),
            customdata=[
                [text.plotly(candidate_words(s.candidate), 90), s.spread, len(s.values)]
                for s in ordered
            ],
        )
        for place, score in zip(at, ordered, strict=True):
            if score.candidate == record.best:
                _star(figure, place, score.mean, palette)
    figure.update_xaxes(
        title_text=record.across.replace("_", " "),
        tickvals=list(range(len(record.values))),
        ticktext=[text.plotly(text.value(value)) for value in record.values],
        range=[-0.5, len(record.values) - 0.5],
        showgrid=False,
    )
    return figure


def _marks(record: TuningPlot, palette: Palette) -> go.Figure:
    best = sorted(record.scores, key=lambda s: -s.mean)[:MOST_MARKS]
    names = text.unique_labels([candidate_words(s.candidate) for s in best], 48)
    height = 90 + 34 * max(2, len(best))
    figure = framed(palette, height, False, _validation(record), _rows(names, 0.6))
    for index, score in enumerate(best):
        look = {"symbol": "line-ns-open", "size": 11, "color": palette.muted}
        silent(figure, score.values, [index] * len(score.values), mode="markers", marker=look)
        if score.candidate == record.best:
            _star(figure, score.mean, index, palette)
    curve(
        figure,
        [(s.mean, index) for index, s in enumerate(best)],
        hover="%{text}<br>%{x:.2%} ± %{customdata[0]:.2%} over %{customdata[1]} splits",
        error_x=_bars([s.spread for s in best], palette.class_colour(0)),
        showlegend=False,
        marker=mark("circle", 10, palette.class_colour(0), palette.outline),
        customdata=[[s.spread, len(s.values)] for s in best],
        text=names,
    )
    return figure


def _bars(values: Sequence[float], colour: str) -> dict[str, Any]:
    return dict(type="data", array=list(values), color=colour, thickness=1.6, width=5)


def _star(figure: go.Figure, x: float, y: float, palette: Palette) -> None:
    look = mark("star-open", 25, palette.text, width=2)
    silent(figure, [x], [y], mode="markers", marker=look)


def _validation(record: TuningPlot) -> dict[str, Any]:
    """Axis of validation accuracies."""
    values = [value for score in record.scores for value in score.values] or [0.0, 1.0]
    low, high = min(values), max(values)
    room = max(0.01, 0.08 * (high - low))
    least = max(0.0, low - room)
    # Room for a mark at 100 %, none for a number above it.
    ends = [least, min(1.0 + 0.04 * (1.0 - least), high + room)]
    return {"title_text": "validation accuracy", "tickformat": ".3~p", "range": ends}


def candidate_words(candidate: Candidate) -> str:
    """Name a candidate: its settings in words."""
    return ", ".join(f"{name.replace('_', ' ')} {text.value(value)}" for name, value in candidate)


MOST_CLASSES = 16
"""Of so many classes all are shown; of more those that the tree gives, and the largest."""


@dataclass(frozen=True)
class Confusion:
    """Counts of true class against predicted class."""

    classes: tuple[Any, ...]
    """The last stands for all others where there are many, none of which the tree gives."""
    counts: tuple[tuple[int, ...], ...]
    """``counts[true][answer]``; one answer more than classes where a person may be asked."""

    @property
    def n_errors(self) -> int:
        """Rows that are predicted wrongly; those that a person is asked about are not."""
        n = len(self.classes)
        return sum(v for k, row in enumerate(self.counts) for j, v in enumerate(row[:n]) if j != k)


def confusion_data(tree: Tree, encoding: Encoding, data: Dataset) -> Confusion:
    """Count by routing the rows of a data set with a target through the tree."""
    table = metrics.confusion(tree, tree.encoded(encoding, data.frame), data.codes)
    classes: tuple[Any, ...] = data.classes
    n = len(classes)
    largest_first = np.argsort(-table.sum(axis=1), kind="stable")
    kept = {*np.flatnonzero(table[:, :n].sum(axis=0)), *largest_first[: MOST_CLASSES - 1]}
    rest = [k for k in range(n) if k not in kept]
    if len(rest) > 1:
        table[rest[0]] = table[rest].sum(axis=0)
        order = [*sorted(kept), rest[0]]
        table = table[order][:, [*order, *range(n, table.shape[1])]]
        classes = (*(classes[k] for k in sorted(kept)), f"{len(rest)} others")
    return Confusion(classes, tuple(tuple(int(v) for v in row) for row in table))


RIGHT, WRONG = CLASS_COLOURS[:2]


def confusion_figure(record: Confusion, palette: Palette) -> go.Figure:
    """Draw the counts; colour is the share within the true class."""
    counts = np.array(record.counts, dtype=float)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    signed, labels = _signed(shares), text.unique_labels(record.classes, 24)
    n, n_answers = counts.shape
    answers = [*labels, ASK][:n_answers]
    look = {"showgrid": False, "ticks": "", "type": "category"}
    title = {"text": "true class", "standoff": 8}  # else it stands in long names
    across, up = {"title_text": "predicted class"}, {"title": title, "autorange": "reversed"}
    figure = framed(palette, max(214, 104 + 40 * n), False, across | look, up | look)
    figure.add_heatmap(
        x=answers,
        y=labels,
        z=signed,
        zmin=-1,
        zmax=1,
        colorscale=[[0, WRONG], [0.5, palette.surface], [1, RIGHT]],
        showscale=False,
        xgap=3,
        ygap=3,
        customdata=shares,
        hovertemplate="true %{y}, predicted %{x}<br>%{customdata:.1%} of the class<extra></extra>",
    )
    size = 15 if n <= MOST_CLASSES / 2 else 11
    cells, ground = [], hex_to_rgb(palette.surface)
    for (true, predicted), value in np.ndenumerate(counts):
        full = hex_to_rgb(RIGHT if true == predicted else WRONG)
        drawn = find_intermediate_color(ground, full, abs(signed[true, predicted]))
        ink = ink_on("#" + np.array(drawn, dtype=np.uint8).tobytes().hex())
        words, font = f"{value:,.0f}" if value else "·", {"size": size, "color": ink}
        cells.append(dict(x=predicted, y=true, text=words, showarrow=False, font=font))
    figure.layout.annotations = cells
    return figure


def _signed(shares: np.ndarray) -> np.ndarray:
    """Hits count as positive, errors as negative, so that two colours tell them apart.

    Asking a person is neither.
    """
    signs = np.where(np.eye(*shares.shape, dtype=bool), 1.0, -1.0)
    signs[:, len(shares) :] = 0.0
    return signs * shares
