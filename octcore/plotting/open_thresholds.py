"""Where the root of a better tree may still cut, while the exact search goes on and afterwards.

A moment of the search is told as ``open``, spans of thresholds by encoded column, ``root``, column
and threshold of the best tree, ``seconds``, ``value`` and ``bound``.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from octcore.data.dataset import Dataset
from octcore.encoding.base import Encoding
from octcore.plotting import text
from octcore.plotting.layout import base_layout, ruler
from octcore.plotting.palette import Palette

MOST_COLUMNS = 8
LINE_HEIGHT, LEAST_WIDTH = 28, 0.006
"""Pixels of a column in the picture; width of a single threshold, as a share of it."""


@dataclass(frozen=True)
class OpenColumn:
    """A numeric column at one moment of a search."""

    column: str
    shares: tuple[tuple[float, float], ...]
    """What is open, as shares of the way from the smallest to the largest value."""
    root: float | None
    """Where the best tree begins, if with this column; as a share, too."""
    words: str
    """What is open, in its own units."""


def open_columns(
    moments: Iterable[Mapping[str, Any]], encoding: Encoding, data: Dataset
) -> tuple[int, ...]:
    """Encoded columns of numbers that were open at some moments, those open longest first."""
    times = Counter(int(j) for moment in moments for j in moment["open"])
    columns = {j: encoding.columns[j] for j, _ in times.most_common()}
    found = (
        j
        for j, column in columns.items()
        if column.kind == "value" and data.column(column.raw).kind == "numeric"
    )
    return tuple(found)[:MOST_COLUMNS]


def open_data(
    moment: Mapping[str, Any], columns: Sequence[int], encoding: Encoding, data: Dataset
) -> tuple[OpenColumn, ...]:
    """Collect what is open of some columns at a moment."""
    found = []
    for j in columns:
        spans, root, raw = moment["open"].get(str(j), ()), moment["root"], encoding.columns[j].raw
        values = data.frame[raw].to_numpy(dtype=float)
        low, width = float(values.min()), float(np.ptp(values)) or 1.0
        shares = tuple(((a - low) / width, (z - low) / width) for a, z in spans)
        start = (root[1] - low) / width if root is not None and root[0] == j else None
        words = [f"{a:.4g}" if a == z else f"{a:.4g} to {z:.4g}" for a, z in spans]
        named = text.minus(text.few(words, 3))
        found.append(OpenColumn(text.printable(raw, 28), shares, start, named))
    return tuple(found)


def open_words(moment: Mapping[str, Any], record: Sequence[OpenColumn]) -> str:
    """Say in a sentence what a moment shows."""
    known = f"objective {text.number(moment['value'])}, bound {text.number(moment['bound'])}"
    if not moment["open"]:
        return f"No threshold can begin a better tree any more; {known}."
    where = [f"{column.column} at {column.words}" for column in record if column.shares]
    first = text.few(where, 3) or "another column"
    return f"A better tree may still begin with {first}; {known}."


def open_figure(record: Sequence[OpenColumn], palette: Palette) -> go.Figure:
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
