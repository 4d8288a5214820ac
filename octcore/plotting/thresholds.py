"""What features and thresholds are worth at a node, and those that a search has still open.

A moment of the search over thresholds is told as ``open``, spans of thresholds by encoded column,
``root``, column and threshold of the best tree, ``seconds``, ``value`` and ``bound``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import plotly.graph_objects as go

from octcore.data.dataset import Dataset
from octcore.encoding.base import Encoding
from octcore.formulations.base import accuracy_words
from octcore.plotting import text
from octcore.plotting.layout import BREAK, curve, framed, mark, ruler, silent
from octcore.plotting.palette import Palette
from octcore.solving.run import Run
from octcore.tree.tree import Split, Tree
from octcore.tree.wording import split_words

if TYPE_CHECKING:
    from octcore.solving.column_values import ColumnValue, ThresholdValue

MOST_FEATURES = 24
ROUNDING = 1e-12  # values closer than this are equal


@dataclass(frozen=True)
class RootValue:
    """One raw feature at a node."""

    feature: str
    value: float  # best objective over its columns
    split: str  # the best split on it, in words
    loss: float  # what starting with it costs against the best tree that is known


def root_values_data(
    values: Mapping[str, Any], encoding: Encoding, least: float | None = None
) -> tuple[RootValue, ...]:
    """Best value over the columns of every raw feature of which it is known exactly, best first.

    A feature with a bound alone is left out: a bound that nobody tightened says nothing of it.

    `values`: `Run.values` of an exact search: ``root_values`` and ``root_values_exact`` by column.
    `least`: objective of a known tree, which may begin with a feature that is left out.
    """
    by_raw: dict[str, tuple[float, bool, int]] = {}
    columns = zip(values.get("root_values", ()), values.get("root_values_exact", ()), strict=True)
    for j, (value, is_exact) in enumerate(columns):
        raw = encoding.columns[j].raw
        # Of equal values an exact one says more than a bound.
        if value is not None and (value, is_exact) > by_raw.get(raw, (-1e300, False, 0))[:2]:
            by_raw[raw] = (float(value), bool(is_exact), j)
    known = (
        (raw, value, _words_of(Split.on_feature(j), encoding))
        for raw, (value, is_exact, j) in by_raw.items()
        if is_exact
    )
    return _ranked(known, least)


def node_values_data(values: Sequence[ColumnValue], encoding: Encoding) -> tuple[RootValue, ...]:
    """The same of `Run.values` at any node."""
    return _ranked(
        (entry.column, entry.value, first_split_words(entry.tree, encoding))
        for entry in values
        if entry.is_exact and entry.value is not None
    )


def _ranked(
    known: Iterable[tuple[str, float, str]], least: float | None = None
) -> tuple[RootValue, ...]:
    """Features with value and best split, the best first."""
    found = sorted(known, key=lambda entry: (-entry[1], entry[0]))
    best = max([v for v in (*(entry[1] for entry in found), least) if v is not None], default=0.0)
    return tuple(RootValue(*entry, best - entry[1]) for entry in found)


def first_split_words(tree: Tree | None, encoding: Encoding) -> str:
    """The question at the root of a tree; empty without one."""
    if tree is None or not tree.splits:
        return ""
    return _words_of(tree.splits[1], encoding)


def _words_of(split: Split, encoding: Encoding) -> str:
    return text.words(split_words(split, encoding, digits=5, max_name=28).test)


def measure_of(run: Run) -> str:
    """What the values of a run's columns are."""
    if run.params.get("split_weight") is not None:
        return "correct rows less splits, weighted"
    return f"{accuracy_words(run.settings)} less the price of leaves"


def root_values_figure(
    record: tuple[RootValue, ...],
    palette: Palette,
    chosen: str | None = None,
    place: str = "the root",
    measure: str = "accuracy less the price of leaves",
) -> go.Figure:
    """Draw one dot per feature and the way to the best one.

    `chosen`: feature that the current tree tests at the place.
    `measure`: what values are, see `measure_of`.
    """
    shown = record[:MOST_FEATURES][::-1]
    labels = text.unique_labels([entry.feature for entry in shown], 26)
    which = f" (the best {len(shown)} of {len(record)})" if len(record) > len(shown) else ""
    words = f"{measure},<br>best with this feature at {place}{which}"
    figure = framed(palette, 105 + 30 * len(shown), False, words, {"showgrid": False})
    best = max((entry.value + entry.loss for entry in shown), default=0.0)
    room = max(best - min((entry.value for entry in shown), default=best), 0.02)
    for entry, label in zip(shown, labels, strict=True):
        ruler(figure, [entry.value, best], [label, label], color=palette.muted, width=3)
    colours = [palette.optimum if e.feature == chosen else palette.incumbent for e in shown]
    losses = [f"−{e.loss:.2g}" if e.loss > ROUNDING else "best" for e in shown]
    told = [f"{e.value:.4g} ({loss})" for e, loss in zip(shown, losses, strict=True)]
    figure.add_scatter(
        x=[entry.value for entry in shown],
        y=labels,
        mode="markers",
        marker=mark("circle", 15, colours, palette.outline),
        cliponaxis=False,
        text=told,
        customdata=[[text.plotly(entry.split, 80)] for entry in shown],
        hovertemplate="%{y}: %{text}<br>best split: %{customdata[0]}<extra></extra>",
        showlegend=False,
    )
    # In a column of their own: beside its dot a number may stand on a line, another or a name.
    told = ["\N{NO-BREAK SPACE}" * 4 + words for words in told]
    look = {"textfont": {"color": palette.text, "size": 13}, "textposition": "middle right"}
    silent(figure, [best] * len(told), labels, mode="text", text=told, cliponaxis=False, **look)
    if shown:
        figure.update_xaxes(range=[best - 1.1 * room, best + 0.08 * room])
    return figure.update_layout(margin_r=115)


def curve_figure(
    points: Sequence[ThresholdValue],
    column: str,
    palette: Palette,
    chosen: float | None = None,
    span: tuple[float, float] | None = None,
    place: str = "the root",
) -> go.Figure:
    """Draw the value of every threshold as a step, since all thresholds between two values agree.

    `chosen`, `span`: threshold of the current tree at a place, and how far it may be moved.
    """
    across = f"threshold of {text.plotly(column)} at {place}"
    figure = framed(palette, 300, False, across, "best objective")
    for is_exact, dash, kind in ((True, "solid", ""), (False, "dot", "at most ")):
        here = [p for p in points if p.is_exact == is_exact and p.value is not None]
        pieces = [end for p in here for end in ((p.low, p.value), (p.high, p.value), BREAK)]
        line, words = {"color": palette.incumbent, "width": 3, "dash": dash}, f"{kind}%{{y:.4g}}"
        curve(figure, pieces, hover=f"threshold %{{x:.6~g}}: {words}", line=line)
    if span is not None:
        figure.add_vrect(*span, fillcolor=palette.muted, opacity=0.2, line_width=0)
    if chosen is not None:
        figure.add_vline(x=chosen, line={"color": palette.optimum, "width": 2, "dash": "dash"})
    return figure


MOST_COLUMNS = 8
LINE_HEIGHT, LEAST_WIDTH = 28, 0.006
"""Pixels of a column in the picture; width of a single threshold, as a share of it."""


@dataclass(frozen=True)
class OpenColumn:
    """A numeric column at one moment of a search."""

    column: str
    shares: tuple[tuple[float, float], ...]
    """What is open, as shares of the way from the smallest to the largest value."""
    root: float | None  # where the best tree begins, if with this column; as a share, too
    words: str  # what is open, in its own units


def open_columns(
    moments: Iterable[Mapping[str, Any]], encoding: Encoding, data: Dataset
) -> tuple[int, ...]:
    """Encoded columns of numbers that were open at some moments, those open longest first."""
    times = Counter(int(j) for moment in moments for j in moment["open"])
    columns = {j: encoding.columns[j] for j, _ in times.most_common()}
    found = (
        j
        for j, column in columns.items()
        if column.kind == "value" and data.column(column.raw).kind == "numeric"
    )
    return tuple(found)[:MOST_COLUMNS]


def open_data(
    moment: Mapping[str, Any], columns: Sequence[int], encoding: Encoding, data: Dataset
) -> tuple[OpenColumn, ...]:
    """Collect what is open of some columns at a moment."""
    found = []
    short = text.apart([encoding.columns[j].raw for j in columns], 28)
    for j in columns:
        spans, root, raw = moment["open"].get(str(j), ()), moment["root"], encoding.columns[j].raw
        values = data.frame[raw].to_numpy(dtype=float)
        low, width = float(values.min()), float(np.ptp(values)) or 1.0
        shares = tuple(((a - low) / width, (z - low) / width) for a, z in spans)
        start = (root[1] - low) / width if root is not None and root[0] == j else None
        words = [f"{a:.6g}" if a == z else f"{a:.6g} to {z:.6g}" for a, z in spans]
        named = text.minus(text.few(words, 3))
        found.append(OpenColumn(short[raw], shares, start, named))
    return tuple(found)


def open_words(moment: Mapping[str, Any], record: Sequence[OpenColumn]) -> str:
    """Say in a sentence what a moment shows."""
    known = f"objective {text.number(moment['value'])}, bound {text.number(moment['bound'])}"
    if not moment["open"]:
        return f"No threshold can begin a better tree any more; {known}."
    where = [f"{column.column} at {column.words}" for column in record if column.shares]
    first = text.few(where, 3) or "another column"
    return f"A better tree may still begin with {first}; {known}."


def open_figure(record: Sequence[OpenColumn], palette: Palette) -> go.Figure:
    """Draw a bar for every column, its open parts coloured, the root of the best tree a line."""
    lines, names = list(enumerate(record)), text.unique_labels([c.column for c in record])
    across = {"visible": False, "range": [0, 1]}
    up = {"tickvals": [k for k, _ in lines], "ticktext": names, "range": [len(record) - 0.5, -0.5]}
    figure = framed(palette, LINE_HEIGHT * len(record), False, across, up)
    for spans, colour, width in (
        ([(0.0, 1.0, k, k) for k, _ in lines], palette.grid, 14),
        ([(a, max(z, a + LEAST_WIDTH), k, k) for k, c in lines for a, z in c.shares],
         palette.incumbent, 14),
        ([(c.root, c.root, k - 0.35, k + 0.35) for k, c in lines if c.root is not None],
         palette.text, 3),
    ):  # fmt: skip
        x = [x for low, high, _, _ in spans for x in (low, high, None)]
        y = [y for _, _, low, high in spans for y in (low, high, None)]
        ruler(figure, x, y, color=colour, width=width)
    return figure
