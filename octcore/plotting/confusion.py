"""Confusion of true and predicted classes, by routing rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from octcore.data.dataset import Dataset
from octcore.encoding.base import Encoding
from octcore.plotting import text
from octcore.plotting.layout import base_layout
from octcore.plotting.palette import Palette, ink_on
from octcore.tasks import ASK
from octcore.tree import metrics
from octcore.tree.tree import Tree

MOST_CLASSES = 16
"""Of so many classes all are shown; of more those that the tree gives, and the largest."""


@dataclass(frozen=True)
class Confusion:
    """Counts of true class against predicted class."""

    classes: tuple[Any, ...]
    """The last stands for all others where there are many, none of which the tree gives."""
    counts: tuple[tuple[int, ...], ...]
    """``counts[true][answer]``; one answer more than classes where a person may be asked."""
    rows: str
    """Which rows were counted ("training rows", "held-out rows")."""

    @property
    def n_errors(self) -> int:
        """Rows that are predicted wrongly; those that a person is asked about are not."""
        n = len(self.classes)
        return sum(v for k, row in enumerate(self.counts) for j, v in enumerate(row[:n]) if j != k)


def confusion_data(tree: Tree, encoding: Encoding, data: Dataset, rows: str) -> Confusion:
    """Count by routing the rows of a data set with a target through the tree."""
    table = metrics.confusion(tree, encoding.transform(data.frame), data.codes)
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
    return Confusion(classes, tuple(tuple(int(v) for v in row) for row in table), rows)


def confusion_figure(record: Confusion, palette: Palette) -> go.Figure:
    """Draw the counts; colour is the share within the true class."""
    counts = np.array(record.counts, dtype=float)
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    labels = text.unique_labels(record.classes, 24)
    n, n_answers = counts.shape
    answers = [*labels, ASK][:n_answers]
    figure = go.Figure(
        go.Heatmap(
            x=answers,
            y=labels,
            z=_signed(shares),
            zmin=-1,
            zmax=1,
            colorscale=[[0, "#D55E00"], [0.5, palette.surface], [1, "#0072B2"]],
            showscale=False,
            xgap=3,
            ygap=3,
            customdata=shares,
            hovertemplate="true %{y}, predicted %{x}<br>%{customdata:.1%} of the class"
            "<extra></extra>",
        ),
        layout=base_layout(palette, has_legend=False, height=max(214, 104 + 40 * n)),
    )
    size = 15 if n <= MOST_CLASSES / 2 else 11
    figure.layout.annotations = [
        {
            "x": predicted,
            "y": true,
            "text": str(int(value)) if value else "·",
            "showarrow": False,
            "font": {"size": size, "color": ink_on(ground) if strong else palette.text},
        }
        for (true, predicted), value in np.ndenumerate(counts)
        for strong in [shares[true, predicted] > 0.55 and predicted < n]
        for ground in ["#0072B2" if true == predicted else "#D55E00"]
    ]
    figure.update_xaxes(title_text="predicted class", showgrid=False, ticks="", type="category")
    figure.update_yaxes(
        title_text="true class", autorange="reversed", showgrid=False, ticks="", type="category"
    )
    return figure


def _signed(shares: np.ndarray) -> np.ndarray:
    """Hits count as positive, errors as negative, so that two colours tell them apart.

    Asking a person is neither.
    """
    signs = np.where(np.eye(*shares.shape, dtype=bool), 1.0, -1.0)
    signs[:, len(shares) :] = 0.0
    return signs * shares
