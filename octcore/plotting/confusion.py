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


@dataclass(frozen=True)
class Confusion:
    """Counts of true class against predicted class."""

    classes: tuple[Any, ...]
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
    return Confusion(data.classes, tuple(tuple(int(v) for v in row) for row in table), rows)


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
    for true in range(n):
        for predicted in range(n_answers):
            value = int(counts[true, predicted])
            strong = shares[true, predicted] > 0.55 and predicted < n
            ground = "#0072B2" if true == predicted else "#D55E00"
            figure.add_annotation(
                x=predicted,
                y=true,
                text=str(value) if value else "·",
                showarrow=False,
                font={"size": 15, "color": ink_on(ground) if strong else palette.text},
            )
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
