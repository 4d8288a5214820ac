"""Where the root of a better tree may still cut a column, while the exact search goes on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from octcore.data.dataset import Dataset
from octcore.encoding.base import Encoding
from octcore.plotting import text
from octcore.plotting.layout import base_layout, ruler
from octcore.plotting.palette import Palette
from octcore.plotting.rows_plot import EncodingPlot, encoding_plot_data, encoding_plot_figure

OPEN_OPACITY = 0.22
LINE_HEIGHT, LEAST_WIDTH = 28, 0.006
"""Pixels of a column in the live picture; width of a single threshold, as a share of it."""


@dataclass(frozen=True)
class OpenMoment:
    """One column at one moment of the search."""

    seconds: float
    value: float
    bound: float
    """`value`, `bound`: objective of the best tree, and its bound."""
    open: tuple[tuple[float, float], ...]
    """Between which thresholds, both included, the root of a better tree may still lie."""
    root: float | None
    """Threshold of the best tree's root, where it tests this column."""


@dataclass(frozen=True)
class OpenThresholds:
    """A numeric column over the course of a search."""

    rows: EncodingPlot
    """The training rows by class along the column."""
    moments: tuple[OpenMoment, ...]


def open_columns(values: Mapping[str, Any], encoding: Encoding, data: Dataset) -> tuple[str, ...]:
    """Numeric raw columns whose thresholds a search looked into, those open longest first.

    `values`: `Run.values` of the search over all thresholds: ``open_thresholds``.
    """
    moments: dict[str, int] = {}
    for moment in values.get("open_thresholds", ()):
        for j in moment["open"]:
            column = encoding.columns[int(j)]
            if column.kind == "value" and data.column(column.raw).kind == "numeric":
                moments[column.raw] = moments.get(column.raw, 0) + 1
    return tuple(sorted(moments, key=lambda raw: -moments[raw]))


def open_thresholds_data(
    values: Mapping[str, Any], encoding: Encoding, data: Dataset, column: str
) -> OpenThresholds:
    """Collect the moments of one raw column."""
    own = next(j for j, c in enumerate(encoding.columns) if c.raw == column)
    moments = []
    for moment in values["open_thresholds"]:
        runs = tuple((float(low), float(high)) for low, high in moment["open"].get(str(own), ()))
        root = moment["root"]
        moments.append(
            OpenMoment(
                float(moment["seconds"]),
                float(moment["value"]),
                float(moment["bound"]),
                runs,
                float(root[1]) if root is not None and root[0] == own else None,
            )
        )
    return OpenThresholds(encoding_plot_data(data, None, column), tuple(moments))


@dataclass(frozen=True)
class OpenNow:
    """A numeric column in a search that goes on."""

    column: str
    shares: tuple[tuple[float, float], ...]
    """What is open, as shares of the way from the smallest to the largest value."""
    root: float | None
    """Where the best tree begins, if with this column; as a share, too."""
    words: str


def open_now(
    told: Mapping[str, Any], encoding: Encoding, data: Dataset
) -> tuple[OpenNow, ...] | None:
    """Read what a running search tells of its numeric columns; None if of none.

    `told`: ``details["open"]`` of a progress event of the search over all thresholds.
    """
    found = []
    root = told["root"]
    for key, spans in told["open"].items():
        column = encoding.columns[int(key)]
        if column.kind != "value" or data.column(column.raw).kind != "numeric":
            continue
        values = data.frame[column.raw].to_numpy(dtype=float)
        low, width = float(values.min()), float(np.ptp(values)) or 1.0
        shares = tuple(((a - low) / width, (z - low) / width) for a, z in spans)
        start = (root[1] - low) / width if root is not None and root[0] == int(key) else None
        found.append(OpenNow(text.printable(column.raw, 28), shares, start, _span_words(spans)))
    return tuple(found) or None


def open_now_figure(record: Sequence[OpenNow], palette: Palette) -> go.Figure:
    """Draw a bar for every column, its open parts coloured, the root of the best tree a line."""
    height = LINE_HEIGHT * len(record)
    figure = go.Figure(layout=base_layout(palette, height, has_legend=False))
    lines = list(enumerate(record))
    for spans, colour, width in (
        ([(0.0, 1.0, k, k) for k, _ in lines], palette.grid, 14),
        ([(a, max(z, a + LEAST_WIDTH), k, k) for k, c in lines for a, z in c.shares],
         palette.incumbent, 14),
        ([(c.root, c.root, k - 0.35, k + 0.35) for k, c in lines if c.root is not None],
         palette.text, 3),
    ):  # fmt: skip
        x = [x for low, high, _, _ in spans for x in (low, high, None)]
        y = [y for _, _, low, high in spans for y in (low, high, None)]
        ruler(figure, x, y, color=colour, width=width)
    names = text.unique_labels([column.column for column in record])
    figure.update_xaxes(visible=False, range=[0, 1])
    figure.update_yaxes(
        tickvals=[k for k, _ in lines], ticktext=names, range=[len(record) - 0.5, -0.5]
    )
    return figure


def _span_words(spans: Sequence[Sequence[float]]) -> str:
    words = [f"{a:.4g}" if a == z else f"{a:.4g} to {z:.4g}" for a, z in spans]
    return text.minus(text.few(words, 3))


def open_thresholds_figure(record: OpenThresholds, position: int, palette: Palette) -> go.Figure:
    """Draw the rows of the column, what is open at one moment shaded, the best root as a line."""
    figure = encoding_plot_figure(record.rows, palette)
    moment = record.moments[position]
    figure.update_layout(uirevision=record.rows.column)
    for low, high in moment.open:
        # A single open threshold is a band without width, so it has an edge.
        figure.add_vrect(
            x0=low,
            x1=high,
            fillcolor=palette.incumbent,
            opacity=OPEN_OPACITY,
            line={"color": palette.incumbent, "width": 1.5},
            layer="above",
        )
    if moment.root is not None:
        figure.add_vline(x=moment.root, line={"color": palette.text, "width": 3})
    return figure


def open_words(record: OpenThresholds, position: int) -> str:
    """Say in a sentence what a moment shows."""
    moment, column = record.moments[position], record.rows.column
    known = f"objective {text.number(moment.value)}, bound {text.number(moment.bound)}"
    if not moment.open:
        return f"No threshold of {column} can begin a better tree any more; {known}."
    return f"A better tree may still begin with {column} at {_span_words(moment.open)}; {known}."
