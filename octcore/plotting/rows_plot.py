"""The rows of a table by class: as bars, and along a raw column with the thresholds on it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from octcore.data.dataset import Dataset
from octcore.encoding.base import Encoding
from octcore.plotting import text
from octcore.plotting.layout import BREAK, curve, framed, round_step, words_at
from octcore.plotting.palette import Palette
from octcore.tree.wording import format_number

MOST_BINS = 40
MOST_TICKS = 8
MOST_LEVELS = 25
ROWS = {"title_text": "rows", "separatethousands": True}


@dataclass(frozen=True)
class EncodingPlot:
    """What the picture of one raw column shows."""

    column: str
    classes: tuple[Any, ...]  # class labels in index order; one unnamed class without a target
    edges: tuple[float, ...]  # ends of the histogram's bins; empty for a column of levels
    levels: tuple[str, ...]  # levels; empty for a numeric column
    counts: tuple[tuple[int, ...], ...]  # ``counts[class][bin or level]``
    thresholds: tuple[float, ...]  # where the encoding cuts the raw axis, ascending
    n_encoded: int  # encoded columns made of this raw column
    others: tuple[tuple[str, tuple[float, ...]], ...] = ()
    """Named thresholds to lay over each other, such as those of two encodings and of a tree."""


def thresholds_of(encoding: Encoding, column: str) -> tuple[float, ...]:
    """Where an encoding cuts the axis of a raw column, ascending."""
    own = [c for c in encoding.columns if c.raw == column]
    cuts = {v for c in own for v in (c.lower, c.upper) if v is not None}
    return tuple(float(v) for v in sorted(cuts))


def encoding_plot_data(data: Dataset, encoding: Encoding | None, column: str) -> EncodingPlot:
    """Bin a raw column by class, with the thresholds that an encoding of these rows has there."""
    values = data.frame[column].to_numpy()
    y = np.zeros(len(values), dtype=np.int64) if data.y is None else data.y
    classes = data.classes if data.y is not None else ("all rows",)
    n_own = 0 if encoding is None else sum(c.raw == column for c in encoding.columns)
    thresholds = () if encoding is None else thresholds_of(encoding, column)
    edges, levels, codes = _bins(values, data.column(column).kind)
    n_bins = len(levels) or max(1, len(edges) - 1)
    table = np.zeros((len(classes), n_bins), dtype=np.int64)
    np.add.at(table, (y[codes >= 0], codes[codes >= 0]), 1)
    counts = tuple(tuple(int(v) for v in row) for row in table)
    return EncodingPlot(column, classes, edges, levels, counts, thresholds, n_own)


def _bins(values: np.ndarray, kind: str) -> tuple[tuple[float, ...], tuple[str, ...], np.ndarray]:
    """Edges or levels, and the position of every row among them (-1: not shown)."""
    if kind == "numeric" and np.issubdtype(values.dtype, np.number):
        numbers = values.astype(float)
        edges = np.histogram_bin_edges(numbers, bins="auto") if len(numbers) else np.zeros(2)
        if len(edges) - 1 > MOST_BINS:
            edges = np.histogram_bin_edges(numbers, bins=MOST_BINS)
        codes = np.clip(np.searchsorted(edges, numbers, side="right") - 1, 0, len(edges) - 2)
        return tuple(float(e) for e in edges), (), codes
    shown = np.array(
        [format_number(v) if isinstance(v, float) else str(v) for v in values], dtype=object
    )
    found, inverse, sizes = np.unique(shown, return_inverse=True, return_counts=True)
    if len(found) <= MOST_LEVELS:
        return (), tuple(str(v) for v in found), inverse
    kept = np.sort(np.argsort(-sizes, kind="stable")[:MOST_LEVELS])
    position = np.full(len(found), -1)
    position[kept] = np.arange(MOST_LEVELS)
    return (), tuple(str(found[i]) for i in kept), position[inverse]


LINES = (
    {"dash": "dash", "width": 1.5},
    {"dash": "dot", "width": 2.5},
    {"dash": "solid", "width": 4},
)
HEIGHTS = (1.0, 0.55, 1.12)
"""Of the highest bar: lines at the same place stay visible beside each other."""


def encoding_plot_figure(record: EncodingPlot, palette: Palette) -> go.Figure:
    """Draw stacked bars by class, a line at every threshold, and the other thresholds by name."""
    across = text.plotly(record.column, 60)
    figure = framed(palette, 300, x=across, y=ROWS, barmode="stack", bargap=0.03)
    names = text.unique_labels(record.classes, 24)
    edges = np.array(record.edges)
    middles = (edges[:-1] + edges[1:]) / 2
    x: Any = text.unique_labels(record.levels, 24) if record.levels else middles
    for k, name in enumerate(names):
        edge = {"color": palette.outline, "width": 0.5}
        figure.add_bar(
            x=x,
            y=record.counts[k],
            width=None if record.levels else np.diff(edges),
            name=name,
            marker={"color": palette.class_colour(k), "line": edge},
            customdata=[text.count(n, "row") for n in record.counts[k]],
            hovertemplate=f"{name}: %{{customdata}}<extra></extra>",
        )
    for threshold in record.thresholds:
        figure.add_vline(x=threshold, line={"color": palette.text, "width": 1.5, "dash": "dash"})
        words_at(
            figure, threshold, 1, f"{threshold:.6g}", 12, palette.text, yref="paper", yanchor="top",
            textangle=-90, xshift=-8, bgcolor=palette.background, borderpad=1,
        )  # fmt: skip
    top = max(map(sum, zip(*record.counts, strict=True)), default=1)
    colours = (palette.text, palette.muted, palette.incumbent)
    for k, (name, cuts) in enumerate(record.others):
        style = LINES[k % len(LINES)] | {"color": colours[k % len(colours)]}
        height, words = HEIGHTS[k % len(HEIGHTS)] * top, text.plotly(name)
        pieces = [end for cut in cuts for end in ((cut, 0), (cut, height), BREAK)]
        curve(figure, pieces, words, f"{words}: %{{x:.6g}}", line=style)
    if record.levels:
        figure.update_xaxes(type="category")
    elif span := record.edges[-1] - record.edges[0]:  # else plotly writes the middles of the bars
        figure.update_xaxes(tick0=0, dtick=round_step(span / MOST_TICKS))
    return figure


MOST_BARS = 12  # more classes than this are shown as the largest ones and one bar of all others


@dataclass(frozen=True)
class ClassBars:
    """Counts by class; `indices` are the class indices, which give the colours, -1 for others."""

    classes: tuple[Any, ...]
    counts: tuple[int, ...]
    indices: tuple[int, ...]


def class_bars(classes: Sequence[Any], counts: Sequence[int]) -> ClassBars:
    """Collect the classes in their order; of many, the largest and the others together."""
    largest = sorted(range(len(classes)), key=lambda k: -counts[k])
    kept = sorted(largest if len(classes) <= MOST_BARS else largest[: MOST_BARS - 1])
    rest = [k for k in range(len(classes)) if k not in set(kept)]
    labels, rows = [classes[k] for k in kept], [counts[k] for k in kept]
    if rest:
        labels.append(f"{len(rest)} others")
        rows.append(sum(counts[k] for k in rest))
    return ClassBars(tuple(labels), tuple(rows), (*kept, -1)[: len(labels)])


def class_bars_figure(record: ClassBars, palette: Palette) -> go.Figure:
    """Draw one bar per class in the colour that the class has everywhere."""
    labels = text.unique_labels(record.classes, 24)
    total = max(1, sum(record.counts))
    colours = [palette.muted if k < 0 else palette.class_colour(k) for k in record.indices]
    words = [f"{n:,} ({text.percent(n / total, 0)})" for n in record.counts]
    across = {**ROWS, "range": [0, max(record.counts, default=1)]}
    up = {"autorange": "reversed", "showgrid": False, "ticks": "", "type": "category"}
    figure = framed(palette, max(120, 44 + 30 * len(labels)), False, across, up)
    figure.add_bar(
        x=record.counts,
        y=labels,
        orientation="h",
        marker={"color": colours, "line": {"color": palette.outline, "width": 1}},
        text=words,
        textposition="outside",
        cliponaxis=False,
        textfont={"size": 13, "color": palette.text},
        customdata=[text.count(n, "row") for n in record.counts],
        hovertemplate="%{y}: %{customdata}<extra></extra>",
    )
    # Room for the longest words however narrow the chart is.
    figure.update_layout(margin_r=16 + 7 * max(map(len, words), default=0))
    return figure
