"""Axes of the plane: numbers as they are, numbers that crowd spread out, categories as strips."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
import plotly.graph_objects as go

from octcore.data.dataset import Dataset
from octcore.plotting import text
from octcore.plotting.palette import Palette
from octcore.tree.geometry import Point, Polygon, Segment
from octcore.tree.wording import format_number

Scale = Literal["linear", "log", "rank", "levels"]
Floats = npt.NDArray[np.float64]
PADDING = 0.05  # of the range, so that no point lies on the frame
MOST_LEVELS = 12  # strips of more categories are too narrow for dots and names
CROWDED = 0.08  # numbers crowd when half of the rows stand within this share of the axis
FEW_VALUES = 20  # numbers with no more distinct values are seen well enough as they are
DECADES = 1.3  # numbers above 0 that span so many powers of ten get a logarithmic axis
ABOUT_TICKS = 7
JITTER = 0.34  # below half, so that neighbouring categories stay apart
BEND_STEPS = 48  # pieces of an oblique line that is no straight line on a spread axis


@dataclass(frozen=True, eq=False)
class Axis:
    """One axis: where raw values stand in the picture."""

    name: str
    raw_range: tuple[float, float]  # ends in raw units; on an axis of categories their positions
    scale: Scale = "linear"  # how numbers are spread; or that the column holds categories
    levels: tuple[Any, ...] = ()  # the categories of the column, in order
    knots: Floats | None = None
    """Of a rank axis: its ends and the distinct values between them, ascending."""
    is_whole: bool = False  # whether all numbers are whole and small enough to be years

    @property
    def title(self) -> str:
        """Name of the column, and how it is spread."""
        added = {"log": " (logarithmic axis)", "rank": " (axis by rank)"}
        return self.name + added.get(self.scale, "")

    @property
    def range(self) -> tuple[float, float]:
        """Ends in units of the picture."""
        low, high = self.spread(np.array(self.raw_range))
        return float(low), float(high)

    def positions(self, frame: pd.DataFrame) -> Floats:
        """Raw values of rows as numbers; categories become their positions."""
        values: Any = frame[self.name]
        if self.scale != "levels":
            return values.to_numpy(dtype=float)
        return np.asarray(pd.Index(self.levels).get_indexer(pd.Index(values)), dtype=float)

    def spread(self, positions: Floats) -> Floats:
        """Places in the picture of raw numbers."""
        if self.scale == "log":
            return np.log10(np.maximum(positions, np.finfo(float).tiny))
        if self.knots is not None:
            return np.interp(positions, self.knots, _ranks(len(self.knots)))
        return positions

    def dots(self, frame: pd.DataFrame, seed: int) -> Floats:
        """Places of rows, those of a strip beside each other instead of on top of each other."""
        positions = self.positions(frame)
        if self.scale != "levels":
            return self.spread(positions)
        return positions + np.random.default_rng(seed).uniform(-JITTER, JITTER, len(positions))

    @property
    def ticks(self) -> tuple[tuple[float, str], ...]:
        """Place and words of every tick; none where the drawing program chooses them itself."""
        if self.scale == "levels":
            names = (x if isinstance(x, str) else format_number(x) for x in self.levels)
            return tuple((float(k), text.printable(name, 16)) for k, name in enumerate(names))
        if self.scale == "linear":
            return ()
        values = _decades(*self.raw_range) if self.knots is None else _some(self.knots)
        places = self.spread(values)
        many = "" if self.is_whole else ","
        words = (f"{v:{many}.0f}" if abs(v) >= 100 else f"{v:.3g}" for v in values.tolist())
        return tuple((float(p), text.minus(w)) for p, w in zip(places, words, strict=True))

    @property
    def borders(self) -> tuple[float, ...]:
        """Places between the strips of an axis of categories."""
        return tuple(k + 0.5 for k in range(len(self.levels) - 1))


def _ranks(n: int) -> Floats:
    """Ranks of distinct values, with a little room at both ends."""
    room = max(0.5, PADDING * (n - 2))
    return np.concatenate([[-room], np.arange(n - 2, dtype=float), [n - 3 + room]])


def _decades(low: float, high: float) -> Floats:
    """Powers of ten within a range, with 2 and 5 times them where these are few."""
    first, last = int(np.floor(np.log10(low))), int(np.ceil(np.log10(high)))
    factors = (1, 2, 5) if last - first <= 3 else (1,)
    values = np.array([f * 10.0**k for k in range(first, last + 1) for f in factors])
    return values[(values >= low) & (values <= high)]


def _some(knots: Floats) -> Floats:
    """About seven of the distinct values, evenly by rank."""
    inner = knots[1:-1]
    return inner[np.unique(np.linspace(0, len(inner) - 1, ABOUT_TICKS).round().astype(int))]


def plane_columns(data: Dataset) -> tuple[str, ...]:
    """Raw columns that can be an axis: numbers, and categories of which there are few."""
    return tuple(
        c.name for c in data.columns if c.kind == "numeric" or len(c.levels) <= MOST_LEVELS
    )


def make_axis(tables: Sequence[Dataset], name: str, is_spread: bool = True) -> Axis:
    """Make the axis of a column around the rows of all tables.

    `name`: raw column, of the same kind in all of them.
    `is_spread`: whether numbers that crowd are spread out: on a logarithmic axis where they lie
    above 0 and that helps, by their ranks elsewhere.
    """
    column = tables[0].column(name)
    if column.kind != "numeric":
        levels = tuple(dict.fromkeys(x for data in tables for x in data.column(name).levels))
        return Axis(name, (-0.5, len(levels) - 0.5), "levels", levels)
    values = np.concatenate([data.frame[name].to_numpy(dtype=float) for data in tables])
    scale: Scale = _fitting_scale(values) if is_spread else "linear"
    is_whole = bool((values == values.round()).all() and np.abs(values).max() < 10_000)
    if scale == "log":
        low, high = _padded(np.log10(values))
        return Axis(name, (10.0**low, 10.0**high), scale, is_whole=is_whole)
    ends, knots = _padded(values), None
    if scale == "rank":
        knots = np.concatenate([ends[:1], np.unique(values), ends[1:]])
    return Axis(name, ends, scale, knots=knots, is_whole=is_whole)


def _padded(values: Floats) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    room = PADDING * (high - low) or 0.5
    return low - room, high + room


def is_crowded(values: Floats) -> bool:
    """Whether half of the numbers stand on a small part of their range."""
    low, quarter, upper, high = np.quantile(values, [0.0, 0.25, 0.75, 1.0])
    return bool(upper - quarter < CROWDED * (high - low))


def _fitting_scale(values: Floats) -> Scale:
    if not is_crowded(values) or len(np.unique(values)) <= FEW_VALUES:
        return "linear"
    if values.min() > 0:
        logarithms = np.log10(values)
        if np.ptp(logarithms) >= DECADES and not is_crowded(logarithms):
            return "log"
    return "rank"


@dataclass(frozen=True)
class Places:
    """What stands where in the picture of two axes."""

    across: Axis
    up: Axis

    @property
    def words(self) -> str:
        """Names of both columns."""
        return f"{self.across.name} and {self.up.name}"

    @property
    def is_straight(self) -> bool:
        """Whether straight lines of raw units are straight in the picture."""
        return not {self.across.scale, self.up.scale} & {"log", "rank"}

    def points(self, points: Sequence[Point]) -> list[Point]:
        """Places of points given in raw units."""
        if self.is_straight or not points:
            return list(points)
        corners = np.asarray(points, dtype=float)
        x, y = self.across.spread(corners[:, 0]), self.up.spread(corners[:, 1])
        return list(zip(x.tolist(), y.tolist(), strict=True))

    def of_rows(self, frame: pd.DataFrame) -> list[Point]:
        """Places of rows given in raw columns; the middle of a strip for a category."""
        x, y = (axis.spread(axis.positions(frame)) for axis in (self.across, self.up))
        return list(zip(x.tolist(), y.tolist(), strict=True))

    def polygon(self, polygon: Polygon) -> Polygon:
        """Place of a polygon, its oblique edges bent where an axis is spread."""
        if self.is_straight:
            return polygon
        turns = zip(polygon, (*polygon[1:], *polygon[:1]), strict=True)
        return tuple(self.points([p for start, end in turns for p in _steps(start, end)[:-1]]))

    def segments(self, segments: Sequence[Segment]) -> tuple[Segment, ...]:
        """Places of segments, oblique ones as many short ones where an axis is spread."""
        if self.is_straight:
            return tuple(segments)
        found: list[Segment] = []
        for start, end in segments:
            found += pairwise(self.points(_steps(start, end)))
        return tuple(found)


def _steps(start: Point, end: Point) -> list[Point]:
    if start[0] == end[0] or start[1] == end[1]:
        return [start, end]
    shares = np.linspace(0.0, 1.0, BEND_STEPS + 1)
    x = start[0] + shares * (end[0] - start[0])
    y = start[1] + shares * (end[1] - start[1])
    return list(zip(x.tolist(), y.tolist(), strict=True))


def lay_out_axes(figure: go.Figure, places: Places, palette: Palette) -> None:
    """Give a figure both axes, and lines between the categories."""
    # What fits beside a plot below a long legend; with equal units it stays right below that.
    across, up = text.unique_labels([places.across.title, places.up.title], 40)
    figure.update_xaxes(_layout(places.across, across))
    figure.update_yaxes(_layout(places.up, up), constraintoward="top")
    line = {"color": palette.muted, "width": 1, "dash": "dot"}
    for place in places.across.borders:
        figure.add_vline(place, line=line, layer="below")
    for place in places.up.borders:
        figure.add_hline(place, line=line, layer="below")


def _layout(axis: Axis, title: str) -> dict[str, Any]:
    layout: dict[str, Any] = {
        "title_text": title,
        "range": axis.range,
        "showgrid": False,
        "constrain": "domain",
    }
    if axis.ticks:
        layout |= {
            "tickvals": [place for place, _ in axis.ticks],
            "ticktext": [text.plotly(words) for _, words in axis.ticks],
        }
    elif axis.is_whole:
        layout |= {"tickformat": "~g", "dtick": 1 if np.ptp(axis.range) < ABOUT_TICKS else None}
    return layout
