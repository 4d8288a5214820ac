"""Which features the nodes of several trees weigh, side by side.

The picture is that of figure 6 in D'Onofrio, Grani, Monaci and Palagi (2024), "Margin optimal
classification trees": rows are features, columns are branch nodes, one panel per run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from octcore.plotting import text
from octcore.plotting.feature_usage import FeatureUsage
from octcore.plotting.layout import base_layout
from octcore.plotting.palette import Palette

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
    """Draw one panel per run on common rows and one colour scale.

    Parameters
    ----------
    record : HeatMap
        What to draw; at least one feature.
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
            "colorbar": {
                "title": {"text": "share of |w|", "font": {"color": palette.text}},
                "tickformat": ".0%",
                "thickness": 12,
                "tickfont": {"color": palette.text},
            },
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
