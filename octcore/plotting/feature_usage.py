"""Which raw features every branch node of one or several trees uses, as heat maps."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from textwrap import wrap

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

    nodes: tuple[int, ...]  # branch nodes, ascending
    features: tuple[str, ...]  # raw features that are used anywhere, most used first
    shares: tuple[tuple[float, ...], ...]
    """``shares[feature][node]`` in [0, 1]; the shares of a node sum to 1."""
    words: Mapping[int, str]  # wording of every node's split


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
    shares = tuple(tuple(float(v) for v in table[i]) for i in order)
    return FeatureUsage(nodes, used, shares, split_texts(tree, encoding))


MOST_FEATURES, MOST_NODES = 30, 15
"""Rows of the picture; columns of a panel that have room for numbers."""
TITLE_WIDTH = 12  # letters on a line of a panel's title: three panels on a phone are as wide


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


def usage_figure(record: FeatureUsage, palette: Palette, selected: int | None = None) -> go.Figure:
    """Draw features against branch nodes, at least one; the selected one is framed."""
    figure = heat_map_figure(HeatMap(record.features, ("",), (record,)), palette)
    if selected in record.nodes:
        x = record.nodes.index(selected)
        line = {"color": palette.text, "width": 2}
        ends = {"x0": x - 0.5, "x1": x + 0.5, "y0": -0.5, "y1": len(record.features) - 0.5}
        figure.add_shape(type="rect", **ends, line=line)
    return figure


def heat_map_figure(record: HeatMap, palette: Palette) -> go.Figure:
    """Draw one panel per run on common rows and one colour scale; there is at least one feature.

    As figure 6 of D'Onofrio, Grani, Monaci and Palagi (2024), "Margin optimal classification
    trees": rows are features, columns are branch nodes.
    """
    lines = [wrap(text.printable(label, 44), TITLE_WIDTH) for label in record.labels]
    figure = make_subplots(
        rows=1,
        cols=len(record.usages),
        shared_yaxes=True,
        column_widths=[max(1, len(usage.nodes)) for usage in record.usages],
        horizontal_spacing=0.03,
        subplot_titles=["<br>".join(map(text.plotly, words)) for words in lines],
    )
    names = text.unique_labels(record.features)
    for position, usage in enumerate(record.usages, start=1):
        told = [text.plotly(usage.words.get(node, ""), 90) for node in usage.nodes]
        panel = go.Heatmap(
            x=[f"node {node}" for node in usage.nodes],
            y=names,
            z=usage.shares,
            text=[
                ["✓" if s == 1 else f"{100 * s:.0f}" if s else "" for s in row]
                for row in usage.shares
            ],
            texttemplate="%{text}" if len(usage.nodes) <= MOST_NODES else "",
            coloraxis="coloraxis",
            xgap=3,
            ygap=3,
            customdata=[told] * len(names),
            hovertemplate="%{y} at %{x}: %{z:.1%} of the weight<br>%{customdata}<extra></extra>",
        )
        if usage.nodes:
            figure.add_trace(panel, row=1, col=position)
    titles = 18 * max(map(len, lines))  # in pixels
    layout = base_layout(palette, max(144, 64 + 30 * len(names)) + titles, has_legend=False)
    axis = layout.to_plotly_json()["xaxis"] | {"showgrid": False, "type": "category", "ticks": ""}
    is_univariate = all(
        share in (0.0, 1.0) for usage in record.usages for row in usage.shares for share in row
    )
    layout.coloraxis = {
        "cmin": 0,
        "cmax": 1,
        # In both themes: on a lighter blue the ink that plotly chooses is too faint.
        "colorscale": [[0, palette.surface], [1, LIGHT.incumbent]],
        "showscale": not is_univariate,
        "colorbar": {
            "title": {"text": "share of |w|", "font": {"color": palette.text, "size": 12}},
            "tickformat": ".0%",
            "thickness": 12,
            "tickfont": {"color": palette.text},
        },
    }
    figure.update_layout(layout, margin_t=8 + titles)
    figure.update_annotations(font={"color": palette.text, "size": 12})
    figure.update_xaxes(axis)
    figure.update_yaxes(axis | {"autorange": "reversed"})
    return figure
