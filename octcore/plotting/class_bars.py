"""Rows of every class as bars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from octcore.plotting import text
from octcore.plotting.layout import base_layout
from octcore.plotting.palette import Palette


@dataclass(frozen=True)
class ClassBars:
    """Counts by class."""

    classes: tuple[Any, ...]
    counts: tuple[int, ...]


def class_bars_figure(record: ClassBars, palette: Palette) -> go.Figure:
    """Draw one bar per class in the colour that the class has everywhere."""
    labels = text.unique_labels(record.classes, 24)
    total = max(1, sum(record.counts))
    indices: Sequence[int] = range(len(labels))
    figure = go.Figure(
        go.Bar(
            x=record.counts,
            y=labels,
            orientation="h",
            marker={
                "color": [palette.class_colour(k) for k in indices],
                "line": {"color": palette.outline, "width": 1},
            },
            text=[f"{n:,} ({100 * n / total:.0f} %)" for n in record.counts],
            textposition="auto",
            textfont={"size": 13},
            insidetextfont={"size": 13},
            hovertemplate="%{y}: %{x} rows<extra></extra>",
        ),
        layout=base_layout(palette, has_legend=False, height=max(104, 44 + 30 * len(labels))),
    )
    figure.update_yaxes(autorange="reversed", showgrid=False, ticks="", type="category")
    figure.update_xaxes(title_text="rows")
    return figure
