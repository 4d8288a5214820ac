"""The value of every root feature and threshold: the best objective of trees that start so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from octcore.encoding.base import Encoding
from octcore.plotting import text
from octcore.plotting.layout import base_layout
from octcore.plotting.palette import Palette
from octcore.tree.tree import Split
from octcore.tree.wording import split_words

if TYPE_CHECKING:
    from octcore.solving.column_values import ThresholdValue

MOST_FEATURES = 24


@dataclass(frozen=True)
class RootValue:
    """One raw feature at the root."""

    feature: str
    value: float
    """Best objective over its columns, or a bound on it."""
    is_exact: bool
    """False when no tree that starts with it can be better than `value`, but none is known that is
    as good."""
    split: str
    """The best split on it, in words."""
    loss: float | None
    """What starting with it costs against the best feature; None when that is not known exactly."""


def root_values_data(values: Mapping[str, Any], encoding: Encoding) -> tuple[RootValue, ...]:
    """Best value over the columns of every raw feature, best first.

    `values`: `Run.values` of an exact search: ``root_values`` and ``root_values_exact`` by column.
    """
    by_feature: dict[str, tuple[float, bool, int]] = {}
    columns = zip(values.get("root_values", ()), values.get("root_values_exact", ()), strict=True)
    for j, (value, is_exact) in enumerate(columns):
        raw = encoding.columns[j].raw
        # Of equal values an exact one says more than a bound.
        if value is not None and (value, is_exact) > by_feature.get(raw, (-1e300, False, 0))[:2]:
            by_feature[raw] = (float(value), bool(is_exact), j)
    best = max((v for v, is_exact, _ in by_feature.values() if is_exact), default=None)
    found = [
        RootValue(
            raw,
            value,
            is_exact,
            text.words(split_words(Split.on_feature(j), encoding, digits=4, max_name=28).left),
            None if best is None or not is_exact else max(0.0, best - value),
        )
        for raw, (value, is_exact, j) in by_feature.items()
    ]
    return tuple(sorted(found, key=lambda entry: (-entry.value, entry.feature)))


def root_values_figure(
    record: tuple[RootValue, ...], palette: Palette, chosen: str | None = None
) -> go.Figure:
    """Draw one dot per feature and the way to the best one; upper bounds are open triangles.

    `chosen`: feature that the current tree starts with.
    """
    shown = record[:MOST_FEATURES][::-1]
    labels = text.unique_labels([entry.feature for entry in shown], 26)
    figure = go.Figure(layout=base_layout(palette, 90 + 30 * len(shown), has_legend=False))
    best = max((entry.value for entry in shown), default=0.0)
    for entry, label in zip(shown, labels, strict=True):
        figure.add_scatter(
            x=[entry.value, best],
            y=[label, label],
            mode="lines",
            line={"color": palette.muted, "width": 3 if entry.is_exact else 1.2},
            hoverinfo="skip",
            showlegend=False,
        )
    figure.add_scatter(
        x=[entry.value for entry in shown],
        y=labels,
        mode="markers+text",
        marker={
            "symbol": ["circle" if entry.is_exact else "triangle-left-open" for entry in shown],
            "size": 15,
            "color": [
                palette.optimum if entry.feature == chosen else palette.incumbent for entry in shown
            ],
            "line": {"color": palette.outline, "width": 1},
        },
        text=[f"{_words(entry)}  " for entry in shown],
        textposition="middle left",
        textfont={"color": palette.text, "size": 13},
        cliponaxis=False,
        customdata=[[text.plotly(entry.split, 80)] for entry in shown],
        hovertemplate="%{y}: %{text}<br>best first split: %{customdata[0]}<extra></extra>",
        showlegend=False,
    )
    if shown:
        room = max(best - shown[0].value, 0.02)
        figure.update_xaxes(range=[shown[0].value - 0.6 * room, best + 0.08 * room])
    figure.update_xaxes(title_text="best objective of a tree with this feature at the root")
    figure.update_yaxes(showgrid=False)
    return figure


def curve_figure(
    points: Sequence[ThresholdValue], column: str, palette: Palette, chosen: float | None = None
) -> go.Figure:
    """Draw the value of every threshold as a step, since all thresholds between two values agree.

    Parameters
    ----------
    chosen : float or None
        Threshold at the root of the current tree.
    """
    figure = go.Figure(layout=base_layout(palette, 300, has_legend=False))
    for is_exact, dash, kind in ((True, "solid", ""), (False, "dot", "at most ")):
        x: list[float | None] = []
        y: list[float | None] = []
        for point in points:
            if point.is_exact == is_exact and point.value is not None:
                x += [point.low, point.high, None]
                y += [point.value, point.value, None]
        figure.add_scatter(
            x=x,
            y=y,
            mode="lines",
            line={"color": palette.incumbent, "width": 3, "dash": dash},
            hovertemplate=f"threshold %{{x:.4g}}: {kind}%{{y:.4g}}<extra></extra>",
        )
    if chosen is not None:
        figure.add_vline(x=chosen, line={"color": palette.optimum, "width": 2, "dash": "dash"})
    figure.update_xaxes(title_text=text.plotly(f"threshold of {column} at the root"))
    figure.update_yaxes(title_text="best objective")
    return figure


def _words(entry: RootValue) -> str:
    if not entry.is_exact:
        return f"at most {entry.value:.4g}"
    return f"{entry.value:.4g}" + (f" (−{entry.loss:.2g})" if entry.loss else " (best)")
