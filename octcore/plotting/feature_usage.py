"""Which raw features every branch node of one or several trees uses, as heat maps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from octcore.encoding.base import Encoding
from octcore.plotting import text
from octcore.plotting.layout import base_layout
from octcore.plotting.palette import LIGHT, Palette
from octcore.plotting.tree_view import split_texts
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


def usage_data(tree: Tree, encoding: Encoding) -> FeatureUsage:
    """Collect the usage of raw features from a tree."""
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
        split_texts(tree, encoding),
        tuple(name for name in encoding.raw_features if name not in used),
    )


def usage_figure(record: FeatureUsage, palette: Palette, selected: int | None = None) -> go.Figure:
    """Draw features against branch nodes, at least one; the selected one is framed."""
    rows = text.unique_labels(record.features)
    is_univariate = all(v in (0.0, 1.0) for row in record.shares for v in row)
    cells = [[_cell(v, is_univariate) for v in row] for row in record.shares]
    hover = [[text.plotly(record.words.get(node, ""), 90) for node in record.nodes]] * len(rows)
    heat = _heat(
        record,
        rows,
        cells,
        showscale=not is_univariate,
        **_share_scale(palette, "z"),
        xgap=3,
        ygap=3,
        texttemplate="%{text}",
        customdata=hover,
        hovertemplate="%{y} at %{x}<br>%{customdata}<extra></extra>",
    )
    height = max(144, 64 + 34 * len(rows))
    figure = go.Figure(heat, layout=base_layout(palette, has_legend=False, height=height))
    figure.update_yaxes(autorange="reversed", showgrid=False, ticks="")
    figure.update_xaxes(showgrid=False, side="bottom", ticks="", type="category")
    if selected in record.nodes:
        x = record.nodes.index(selected)
        line = {"color": palette.text, "width": 2}
        ends = {"x0": x - 0.5, "x1": x + 0.5, "y0": -0.5, "y1": len(rows) - 0.5}
        figure.add_shape(type="rect", **ends, line=line)
    return figure


def _cell(value: float, is_univariate: bool) -> str:
    if value == 0:
        return ""
    return "✓" if is_univariate else f"{100 * value:.0f} %"


def _share_scale(palette: Palette, letter: str) -> dict[str, Any]:
    """Colours of shares, where the axis of colours has a letter."""
    return {
        f"{letter}min": 0,
        f"{letter}max": 1,
        # In both themes: on a lighter blue the ink that plotly chooses is too faint.
        "colorscale": [[0, palette.surface], [1, LIGHT.incumbent]],
        "colorbar": {
            "title": {"text": "share of |w|", "font": {"color": palette.text, "size": 12}},
            "tickformat": ".0%",
            "thickness": 12,
            "tickfont": {"color": palette.text},
        },
    }


MOST_FEATURES = 30


@dataclass(frozen=True)
class HeatMap:
    """Several trees on the same features, most used first; `n_hidden` more are not drawn."""

    features: tuple[str, ...]
    labels: tuple[str, ...]
    usages: tuple[FeatureUsage, ...]
    n_hidden: int = 0


def heat_map_data(usages: Sequence[FeatureUsage], labels: Sequence[str]) -> HeatMap:
    """Bring the feature usage of several trees onto the same rows."""
    rows = [dict(zip(usage.features, usage.shares, strict=True)) for usage in usages]
    totals = {name: sum(sum(own.get(name, ())) for own in rows) for own in rows for name in own}
    order = tuple(sorted(totals, key=lambda name: -totals[name]))
    shown = order[:MOST_FEATURES]
    aligned = []
    for usage, own in zip(usages, rows, strict=True):
        unused = (0.0,) * len(usage.nodes)
        shares = tuple(own.get(name, unused) for name in shown)
        aligned.append(replace(usage, features=shown, shares=shares))
    return HeatMap(shown, tuple(labels), tuple(aligned), len(order) - len(shown))


def heat_map_figure(record: HeatMap, palette: Palette) -> go.Figure:
    """Draw one panel per run on common rows and one colour scale; there is at least one feature.

    As figure 6 of D'Onofrio, Grani, Monaci and Palagi (2024), "Margin optimal classification
    trees": rows are features, columns are branch nodes.
    """
    widths = [max(1, len(usage.nodes)) for usage in record.usages]
    figure = make_subplots(
        rows=1,
        cols=len(record.usages),
        shared_yaxes=True,
        column_widths=widths,
        horizontal_spacing=0.03,
        subplot_titles=[text.plotly(label, 44) for label in record.labels],
    )
    names = text.unique_labels(record.features)
    for position, usage in enumerate(record.usages, start=1):
        if usage.nodes:
            cells = [[f"{100 * v:.0f}" if 0 < v < 1 else "" for v in row] for row in usage.shares]
            panel = _heat(usage, names, cells, coloraxis="coloraxis", xgap=2, ygap=2)
            panel.texttemplate = "%{text}" if len(usage.nodes) <= 7 else ""
            panel.hovertemplate = "%{y} at %{x}: %{z:.1%} of the weight<extra></extra>"
            figure.add_trace(panel, row=1, col=position)
    height = max(190, 110 + 27 * len(names))
    layout = base_layout(palette, has_legend=False, height=height)
    figure.update_layout(
        height=layout.height,
        margin={"l": 8, "r": 8, "t": 34, "b": 8, "pad": 2},
        paper_bgcolor=layout.paper_bgcolor,
        plot_bgcolor=palette.surface,
        font=layout.font,
        hoverlabel=layout.hoverlabel,
        coloraxis=_share_scale(palette, "c"),
    )
    figure.update_annotations(font={"color": palette.text, "size": 14})
    figure.update_yaxes(autorange="reversed", showgrid=False, automargin=True, type="category")
    figure.update_xaxes(
        showgrid=False, type="category", automargin=True, tickfont={"color": palette.text}
    )
    return figure


def _heat(
    usage: FeatureUsage, names: Sequence[str], cells: Sequence[Sequence[str]], **look: Any
) -> go.Heatmap:
    """Make a cell for every feature and branch node."""
    nodes = [f"node {node}" for node in usage.nodes]
    return go.Heatmap(x=nodes, y=list(names), z=usage.shares, text=cells, **look)
