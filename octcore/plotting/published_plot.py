"""A bench file beside the figures of its paper: accuracies and times by instance."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import plotly.graph_objects as go

from octcore.plotting.layout import base_layout
from octcore.plotting.palette import Palette
from octcore.plotting.race import colour_of

MEASURES = {
    "accuracy": ("test_accuracy", "reference_accuracy", "test accuracy"),
    "seconds": ("seconds", "reference_seconds", "seconds"),
}
"""Column of ours, column of the paper, and words for the axis."""
MOST_ROWS = 40


@dataclass(frozen=True)
class Pair:
    """Mean of ours and of the published figure over the lines of one data set and depth."""

    name: str
    ours: float
    published: float

    @property
    def words(self) -> str:
        """Both figures."""
        return f"{self.name}: {self.ours:.4g}, published {self.published:.4g}"


def published_data(lines: Iterable[Mapping[str, str]], measure: str) -> tuple[Pair, ...]:
    """Collect what both sides report.

    Parameters
    ----------
    lines : iterable of mapping
        Of an output of `octcore bench`.
    measure : str
        One of `MEASURES`.
    """
    ours, theirs, _ = MEASURES[measure]
    found: dict[str, list[tuple[float, float]]] = {}
    for cells in lines:
        if cells.get(ours) and cells.get(theirs):
            words = (cells["dataset"], cells["encoding"], f"D={cells['depth']}")
            name = " ".join(word for word in words if word not in {"auto", "none"})
            found.setdefault(name, []).append((float(cells[ours]), float(cells[theirs])))
    return tuple(
        Pair(name, *(sum(column) / len(pairs) for column in zip(*pairs, strict=True)))
        for name, pairs in found.items()
    )


def published_figure(pairs: tuple[Pair, ...], measure: str, palette: Palette) -> go.Figure:
    """Draw a line per data set, a filled mark for ours and an open one for the paper's.

    Of more than `MOST_ROWS` pairs the paper's figure is drawn against ours, with the diagonal.

    Parameters
    ----------
    pairs : tuple of Pair
        What to draw, first on top.
    measure : str
        One of `MEASURES`; seconds get a logarithmic axis.
    """
    if len(pairs) > MOST_ROWS:
        return _against_each_other(pairs, measure, palette)
    figure = go.Figure()
    figure.update_layout(base_layout(palette, height=120 + 22 * len(pairs)))
    names = [pair.name for pair in pairs]
    for pair in pairs:
        figure.add_scatter(
            x=[pair.ours, pair.published],
            y=[pair.name] * 2,
            mode="lines",
            line={"color": palette.muted, "width": 1},
            hoverinfo="skip",
            showlegend=False,
        )
    for index, (side, symbol) in enumerate((("ours", "circle"), ("published", "circle-open"))):
        figure.add_scatter(
            x=[getattr(pair, side) for pair in pairs],
            y=names,
            mode="markers",
            name=side,
            marker={"color": colour_of(index), "symbol": symbol, "size": 10},
            hovertemplate="%{y}: %{x:.4g}<extra>" + side + "</extra>",
        )
    figure.update_xaxes(
        title_text=MEASURES[measure][2], type="log" if measure == "seconds" else "linear"
    )
    figure.update_yaxes(autorange="reversed", type="category")
    return figure


def _against_each_other(pairs: tuple[Pair, ...], measure: str, palette: Palette) -> go.Figure:
    """One mark per pair; below the diagonal ours is smaller."""
    figure = go.Figure()
    figure.update_layout(base_layout(palette, height=460, has_legend=False))
    values = [value for pair in pairs for value in (pair.ours, pair.published)]
    ends = [min(values), max(values)]
    figure.add_scatter(
        x=ends, y=ends, mode="lines", line={"color": palette.muted, "dash": "dot"}, hoverinfo="skip"
    )
    figure.add_scatter(
        x=[pair.published for pair in pairs],
        y=[pair.ours for pair in pairs],
        mode="markers",
        marker={"color": colour_of(0), "size": 8, "opacity": 0.7},
        text=[pair.words for pair in pairs],
        hovertemplate="%{text}<extra></extra>",
    )
    kind = "log" if measure == "seconds" else "linear"
    words = MEASURES[measure][2]
    figure.update_xaxes(title_text=f"{words}, published", type=kind)
    figure.update_yaxes(title_text=f"{words}, ours", type=kind)
    return figure
