"""Which raw features every branch node of one or several trees uses, as a heat map."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from octcore.encoding.base import Encoding
from octcore.plotting import text
from octcore.plotting.layout import base_layout
from octcore.plotting.palette import Palette
from octcore.tree import metrics
from octcore.tree.tree import Tree


@dataclass(frozen=True)
class FeatureUsage:
    """Share of the absolute weights that every raw feature has at every branch node."""

    nodes: tuple[int, ...]
    """Branch nodes, ascending."""
    features: tuple[str, ...]
    """Raw features that are used anywhere, most used first."""
    shares: tuple[tuple[float, ...], ...]
    """``shares[feature][node]`` in [0, 1]; the shares of a node sum to 1."""
    words: Mapping[int, str]
    """Wording of every node's split."""
    unused: tuple[str, ...] = ()
    """Raw features that no split tests."""


def usage_data(
    tree: Tree, encoding: Encoding, words: Mapping[int, str] | None = None
) -> FeatureUsage:
    """Collect the usage of raw features from a tree.

    Parameters
    ----------
    encoding : Encoding
        Knows the raw column of every encoded one.
    words : mapping or None
        Wording of every node's split, for hovering.
    """
    usage = metrics.feature_usage(tree, encoding.groups)
    nodes = tuple(usage)
    table = np.zeros((len(encoding.raw_features), len(nodes)))
    for position, node in enumerate(nodes):
        total = sum(usage[node].values()) or 1.0
        for raw, value in usage[node].items():
            table[raw, position] = value / total
    order = [int(i) for i in np.argsort(-table.sum(axis=1), kind="stable") if table[i].any()]
    used = tuple(encoding.raw_features[i] for i in order)
    return FeatureUsage(
        nodes,
        used,
        tuple(tuple(float(v) for v in table[i]) for i in order),
        dict(words or {}),
        tuple(name for name in encoding.raw_features if name not in used),
    )


def usage_figure(record: FeatureUsage, palette: Palette, selected: int | None = None) -> go.Figure:
    """Draw features against nodes; the selected node is framed.

    Parameters
    ----------
    record : FeatureUsage
        What to draw; must have a branch node.
    """
    labels = [f"node {node}" for node in record.nodes]
    rows = text.unique_labels(record.features)
    is_univariate = all(v in (0.0, 1.0) for row in record.shares for v in row)
    cells = [[_cell(v, is_univariate) for v in row] for row in record.shares]
    hover = [[text.plotly(record.words.get(node, ""), 90) for node in record.nodes]] * len(rows)
    figure = go.Figure(
        go.Heatmap(
            x=labels,
            y=rows,
            z=record.shares,
            zmin=0,
            zmax=1,
            colorscale=[[0, palette.surface], [1, palette.incumbent]],
            showscale=not is_univariate,
            colorbar={
                "title": {"text": "share of |w|", "font": {"color": palette.text, "size": 12}},
                "tickformat": ".0%",
                "thickness": 12,
                "tickfont": {"color": palette.text},
            },
            xgap=3,
            ygap=3,
            text=cells,
            texttemplate="%{text}",
            customdata=hover,
            hovertemplate="%{y} at %{x}<br>%{customdata}<extra></extra>",
        ),
        layout=base_layout(palette, has_legend=False, height=max(144, 64 + 34 * len(rows))),
    )
    figure.update_yaxes(autorange="reversed", showgrid=False, ticks="")
    figure.update_xaxes(showgrid=False, side="bottom", ticks="", type="category")
    if selected in record.nodes:
        _frame(figure, record.nodes.index(selected), len(rows), palette)
    return figure


def _cell(value: float, is_univariate: bool) -> str:
    if value == 0:
        return ""
    return "✓" if is_univariate else f"{100 * value:.0f} %"


def _frame(figure: go.Figure, position: int, n_rows: int, palette: Palette) -> None:
    figure.add_shape(
        type="rect",
        x0=position - 0.5,
        x1=position + 0.5,
        y0=-0.5,
        y1=n_rows - 0.5,
        line={"color": palette.text, "width": 2},
    )
