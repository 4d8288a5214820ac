"""Rows of every class as bars."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from octcore.plotting import text
from octcore.plotting.layout import base_layout
from octcore.plotting.palette import Palette

MOST_BARS = 12
"""More classes than this are shown as the largest ones and one bar of all others."""


@dataclass(frozen=True)
class ClassBars:
    """Counts by class; `indices` are the class indices, which give the colours, -1 for others."""

    classes: tuple[Any, ...]
    counts: tuple[int, ...]
    indices: tuple[int, ...]


def class_bars(classes: Sequence[Any], counts: Sequence[int]) -> ClassBars:
    """Collect the classes in their order; of many, the largest and the others together."""
    largest = sorted(range(len(classes)), key=lambda k: -counts[k])
    kept = sorted(largest if len(classes) <= MOST_BARS else largest[: MOST_BARS - 1])
    rest = [k for k in range(len(classes)) if k not in set(kept)]
    labels, rows = [classes[k] for k in kept], [counts[k] for k in kept]
    if rest:
        labels.append(f"{len(rest)} others")
        rows.append(sum(counts[k] for k in rest))
    return ClassBars(tuple(labels), tuple(rows), (*kept, -1)[: len(labels)])


def class_bars_figure(record: ClassBars, palette: Palette) -> go.Figure:
    """Draw one bar per class in the colour that the class has everywhere."""
    labels = text.unique_labels(record.classes, 24)
    total = max(1, sum(record.counts))
    colours = [palette.muted if k < 0 else palette.class_colour(k) for k in record.indices]
    figure = go.Figure(
        go.Bar(
            x=record.counts,
            y=labels,
            orientation="h",
            marker={"color": colours, "line": {"color": palette.outline, "width": 1}},
            text=[f"{n:,} ({100 * n / total:.0f} %)" for n in record.counts],
            textposition="outside",
            cliponaxis=False,
            textfont={"size": 13, "color": palette.text},
            hovertemplate="%{y}: %{x:,} rows<extra></extra>",
        ),
        layout=base_layout(palette, has_legend=False, height=max(104, 44 + 30 * len(labels))),
    )
    figure.update_yaxes(autorange="reversed", showgrid=False, ticks="", type="category")
    figure.update_xaxes(title_text="rows", range=[0, 1.3 * max(record.counts, default=1)])
    return figure
