"""Which raw features every branch node of one or several trees uses, as heat maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

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

    `encoding`: knows the raw column of every encoded one.
    `words`: wording of every node's split, for hovering.
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

    `record`: what to draw; must have a branch node.
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
            colorbar=_share_bar(palette),
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
        position = record.nodes.index(selected)
        figure.add_shape(
            type="rect",
            x0=position - 0.5,
            x1=position + 0.5,
            y0=-0.5,
            y1=len(rows) - 0.5,
            line={"color": palette.text, "width": 2},
        )
    return figure


def _cell(value: float, is_univariate: bool) -> str:
    if value == 0:
        return ""
    return "✓" if is_univariate else f"{100 * value:.0f} %"


def _share_bar(palette: Palette) -> dict[str, Any]:
    return {
        "title": {"text": "share of |w|", "font": {"color": palette.text, "size": 12}},
        "tickformat": ".0%",
        "thickness": 12,
        "tickfont": {"color": palette.text},
    }


MOST_FEATURES = 30


@dataclass(frozen=True)
class Panel:
    """One run: its branch nodes and ``shares[feature][node]`` of the absolute weights."""

    label: str
    nodes: tuple[int, ...]
    shares: tuple[tuple[float, ...], ...]

    @property
    def n_used(self) -> int:
        """Number of features with any weight."""
        return sum(any(row) for row in self.shares)


@dataclass(frozen=True)
class HeatMap:
    """All panels on the same features, most used first; `n_hidden` more are not drawn."""

    features: tuple[str, ...]
    panels: tuple[Panel, ...]
    n_hidden: int = 0


def heat_map_data(usages: Sequence[FeatureUsage], labels: Sequence[str]) -> HeatMap:
    """Bring the feature usage of several runs onto the same rows."""
    totals: dict[str, float] = {}
    for usage in usages:
        for name, row in zip(usage.features, usage.shares, strict=True):
            totals[name] = totals.get(name, 0.0) + sum(row)
    order = sorted(totals, key=lambda name: -totals[name])
    panels = []
    for usage, label in zip(usages, labels, strict=True):
        by_name = dict(zip(usage.features, usage.shares, strict=True))
        empty = (0.0,) * len(usage.nodes)
        shown = tuple(by_name.get(name, empty) for name in order[:MOST_FEATURES])
        panels.append(Panel(label, usage.nodes, shown))
    return HeatMap(tuple(order[:MOST_FEATURES]), tuple(panels), max(0, len(order) - MOST_FEATURES))


def heat_map_figure(record: HeatMap, palette: Palette) -> go.Figure:
    """Draw one panel per run on common rows and one colour scale; there is at least one feature.

    As figure 6 of D'Onofrio, Grani, Monaci and Palagi (2024), "Margin optimal classification
    trees": rows are features, columns are branch nodes.
    """
    widths = [max(1, len(panel.nodes)) for panel in record.panels]
    figure = make_subplots(
        rows=1,
        cols=len(record.panels),
        shared_yaxes=True,
        column_widths=widths,
        horizontal_spacing=0.03,
        subplot_titles=[text.plotly(panel.label, 44) for panel in record.panels],
    )
    names = text.unique_labels(record.features)
    for position, panel in enumerate(record.panels, start=1):
        if panel.nodes:
            figure.add_trace(_panel(panel, names), row=1, col=position)
    height = max(190, 110 + 27 * len(names))
    layout = base_layout(palette, has_legend=False, height=height)
    figure.update_layout(
        height=layout.height,
        margin={"l": 8, "r": 8, "t": 34, "b": 8, "pad": 2},
        paper_bgcolor=layout.paper_bgcolor,
        plot_bgcolor=palette.surface,
        font=layout.font,
        hoverlabel=layout.hoverlabel,
        coloraxis={
            "cmin": 0,
            "cmax": 1,
            "colorscale": [[0, palette.surface], [1, palette.incumbent]],
            "colorbar": _share_bar(palette),
        },
    )
    figure.update_annotations(font={"color": palette.text, "size": 14})
    figure.update_yaxes(autorange="reversed", showgrid=False, automargin=True, type="category")
    figure.update_xaxes(
        showgrid=False, type="category", automargin=True, tickfont={"color": palette.text}
    )
    return figure


def _panel(panel: Panel, names: Sequence[str]) -> go.Heatmap:
    return go.Heatmap(
        x=[f"node {node}" for node in panel.nodes],
        y=list(names),
        z=panel.shares,
        coloraxis="coloraxis",
        xgap=2,
        ygap=2,
        text=[[f"{100 * v:.0f}" if 0 < v < 1 else "" for v in row] for row in panel.shares],
        texttemplate="%{text}" if len(panel.nodes) <= 7 else "",
        hovertemplate="%{y} at %{x}: %{z:.1%} of the weight<extra></extra>",
    )
