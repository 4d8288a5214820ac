"""A tree in the plane of two raw columns: exact regions, and the lines and margins of its splits.

A box is clipped down the tree.  A split on scaled numbers cuts a cell by one line.  Binary columns
cut it into strips first; inside a strip they are constant, so what remains of the split is again a
line, or nothing.

Splits of SVM-based formulations have the margin lines ``w.x + b = -1`` and ``= 1``.  All others
have a *geometric* margin: the parallels through the nearest training rows on each side.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from octcore.encoding.base import EncodedColumn, Encoding
from octcore.tree.tree import Split, Tree

Point = tuple[float, float]
Polygon = tuple[Point, ...]
Segment = tuple[Point, Point]
Range = tuple[float, float]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
SUPPORT_TOLERANCE = 1e-6  # a row with ``y (w.x + b)`` up to 1 plus this is a support vector
THIN = 1e-12  # polygons with less than this share of the box are rounding, not regions


@dataclass(frozen=True)
class Line:
    """The line ``a x + b y = c``; ``a x + b y <= c`` is its low side."""

    a: float
    b: float
    c: float

    @property
    def is_degenerate(self) -> bool:
        """Whether neither coordinate matters."""
        return self.a == 0.0 and self.b == 0.0

    def flipped(self) -> Line:
        """Return the same line with its sides exchanged."""
        return Line(-self.a, -self.b, -self.c)

    def excess(self, point: Point) -> float:
        """``a x + b y - c`` of a point."""
        return self.a * point[0] + self.b * point[1] - self.c


def box(x: tuple[float, float], y: tuple[float, float]) -> Polygon:
    """Return a rectangle, counter-clockwise."""
    return ((x[0], y[0]), (x[1], y[0]), (x[1], y[1]), (x[0], y[1]))


def clip(polygon: Polygon, line: Line) -> Polygon:
    """Keep the part of a convex polygon on the low side of a line; empty if there is none."""
    kept = tuple(point for point, excess in _walked(polygon, line) if excess <= 0)
    return kept if len(kept) >= 3 else ()


def clip_segment(polygon: Polygon, line: Line) -> tuple[Segment, ...]:
    """Return the part of a line inside a convex polygon, nothing if it misses it."""
    touched = [point for point, excess in _walked(polygon, line) if excess == 0]
    along = sorted(touched, key=lambda p: line.a * p[1] - line.b * p[0])
    return ((along[0], along[-1]),) if along and along[0] != along[-1] else ()


def _walked(polygon: Polygon, line: Line) -> Iterator[tuple[Point, float]]:
    """Corners and crossings of a line, around a polygon, with their excess over it."""
    for start, end in zip(polygon, polygon[1:] + polygon[:1], strict=True):
        here, there = line.excess(start), line.excess(end)
        yield start, here
        if (here < 0 < there) or (there < 0 < here):
            share = here / (here - there)
            (x, y), (to_x, to_y) = start, end
            yield (x + share * (to_x - x), y + share * (to_y - y)), 0.0


def area(polygon: Sequence[Point]) -> float:
    """Area of a polygon given counter-clockwise."""
    if len(polygon) < 3:
        return 0.0
    x0, y0 = polygon[0]
    total = 0.0
    for (x1, y1), (x2, y2) in pairwise(polygon[1:]):
        total += (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)
    return total / 2


def centre(polygon: Sequence[Point]) -> Point:
    """Mean of the corners: a point inside a convex polygon."""
    n = len(polygon)
    return math.fsum(p[0] for p in polygon) / n, math.fsum(p[1] for p in polygon) / n


@dataclass(frozen=True)
class PlaneView:
    """The plane of two raw columns to look at, the others held at given values."""

    encoding: Encoding
    x: str
    y: str  # `x`, `y`: raw columns on the axes
    x_range: Range
    y_range: Range
    """`x_range`, `y_range`: the visible box in raw units; on an axis of categories their positions,
    from 0."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Value of every other raw column that the tree uses, raw units."""
    levels: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Categories of an axis that has such, in order; each takes the strip of width 1 around its
    position.  Other axes must hold numbers."""

    def axis_of(self, column: EncodedColumn) -> int | None:
        """0 or 1 for a column on an axis, None for one that is held fixed."""
        return {self.x: 0, self.y: 1}.get(column.raw)

    def is_stepwise(self, column: EncodedColumn) -> bool:
        """Whether a column is constant between its cuts."""
        return column.is_binary or column.raw in self.levels

    def cuts(self, split: Split) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Values of x and y at which a stepwise column of a split may change."""
        found: tuple[set[float], set[float]] = (set(), set())
        for column in (self.encoding.columns[j] for j in split.features):
            axis = self.axis_of(column)
            if axis is None or not self.is_stepwise(column):
                continue
            if column.raw in self.levels:
                steps = np.flatnonzero(np.diff(self._at_levels(column)))
                found[axis].update(float(k) + 0.5 for k in steps)
            else:
                found[axis].update(e for e in (column.lower, column.upper) if e is not None)
        return tuple(sorted(found[0])), tuple(sorted(found[1]))

    def _at_levels(self, column: EncodedColumn) -> npt.NDArray[np.float64]:
        """Encoded value of a column at every category of its axis."""
        return column.encode(np.array(self.levels[column.raw], dtype=object))

    def _value_at(self, column: EncodedColumn, value: float) -> float:
        if column.raw in self.levels:
            values = self._at_levels(column)
            return float(values[np.clip(int(np.ceil(value - 0.5)), 0, len(values) - 1)])
        lower = -np.inf if column.lower is None else column.lower
        upper = np.inf if column.upper is None else column.upper
        return float(lower < value <= upper)

    def score_line(self, split: Split, level: float, inside: Point) -> Line:
        """Return where ``w.x`` equals a level, as a line in raw units.

        Stepwise columns on the axes are constant between their cuts; they take the values they have
        at the point `inside`.  Columns that are scaled give ``w' = w / scale`` and move the level
        by ``w shift / scale``.
        """
        slope = [0.0, 0.0]
        for j, weight in split.weights:
            column = self.encoding.columns[j]
            axis = self.axis_of(column)
            if axis is None:
                held = np.array([self.fixed[column.raw]], dtype=object)
                level -= weight * float(column.encode(held)[0])
            elif self.is_stepwise(column):
                level -= weight * self._value_at(column, inside[axis])
            else:
                slope[axis] += weight / column.scale
                level += weight * column.shift / column.scale
        return Line(slope[0], slope[1], level)


@dataclass(frozen=True)
class Region:
    """One convex piece of the region of a leaf."""

    leaf: int
    code: int
    polygon: Polygon  # corners in view units, counter-clockwise


def leaf_regions(tree: Tree, view: PlaneView) -> tuple[Region, ...]:
    """Return the regions of all leaves in a view; they fill its box without overlap."""
    pieces = node_cells(tree, view)
    return tuple(
        Region(leaf, tree.class_of(code), polygon)
        for leaf, code in tree.labels.items()
        for polygon in pieces[leaf]
    )


def node_cells(tree: Tree, view: PlaneView) -> dict[int, tuple[Polygon, ...]]:
    """Return the cell of every node as convex pieces, empty where the view misses it."""
    whole = box(view.x_range, view.y_range)
    least = THIN * area(whole)
    cells: dict[int, tuple[Polygon, ...]] = {1: (whole,)}
    for node, split in tree.splits.items():
        sides: tuple[list[Polygon], list[Polygon]] = ([], [])
        for piece in (p for cell in cells[node] for p in strips(cell, view.cuts(split))):
            line = view.score_line(split, split.threshold, centre(piece))
            if line.is_degenerate:
                sides[int(line.c < 0)].append(piece)
                continue
            sides[0].append(clip(piece, line))
            sides[1].append(clip(piece, line.flipped()))
        for child, side in zip((2 * node, 2 * node + 1), sides, strict=True):
            cells[child] = tuple(piece for piece in side if area(piece) > least)
    return cells


def strips(cell: Polygon, cuts: Sequence[Sequence[float]]) -> list[Polygon]:
    """Cut a cell at raw x values (first entry of `cuts`) and raw y values (second entry)."""
    pieces: list[Polygon] = [cell]
    for axis, values in enumerate(cuts):
        for line in (axis_line(axis, value) for value in values):
            halves = [clip(piece, side) for piece in pieces for side in (line, line.flipped())]
            pieces = [half for half in halves if area(half) > 0]
    return pieces


def axis_line(axis: int, value: float) -> Line:
    """Return the line ``x = value`` (axis 0) or ``y = value`` (axis 1)."""
    return Line(1.0, 0.0, value) if axis == 0 else Line(0.0, 1.0, value)


@dataclass(frozen=True)
class SplitLines:
    """What to draw for one branch node, clipped to the cell of the node; view units."""

    node: int
    kind: str  # ``"unit"``, ``"geometric"``, or ``"none"`` where there is no margin to draw
    line: tuple[Segment, ...]
    """The hyperplane as solved; for splits on binary columns the edges of their conditions."""
    low: tuple[Segment, ...] = ()
    high: tuple[Segment, ...] = ()
    """`low`, `high`: the margin lines on the left and on the right side."""
    band: tuple[Polygon, ...] = ()  # the area between the margin lines


@dataclass(frozen=True, eq=False)
class NodeMargin:
    """Margin of one branch node on training rows, in encoded units."""

    kind: str  # ``"unit"`` or ``"geometric"``
    low: float
    high: float
    """`low`, `high`: values of ``w.x`` on the margin lines; infinite on a side without rows."""
    width: float  # distance between the margin lines, ``2 / ||w||`` for unit margins
    rows: npt.NDArray[np.int64]
    support: Flags
    """Which of these rows are support vectors: on or beyond their margin line, or nearest."""


def node_margins(
    tree: Tree, X: Floats, y: npt.NDArray[np.int64] | None = None, positive: int = 1
) -> dict[int, NodeMargin]:
    """Return the margins of all branch nodes that test something and have rows.

    The support vectors of unit margins need the class codes `y`, of which the formulation takes
    `positive` as +1 and all others as -1.
    """
    margins = {}
    for node, rows in tree.node_rows(X).items():
        split = tree.splits.get(node)
        if split is None or not split.norm or not len(rows):
            continue
        projected = split.project(X, rows)
        if split.unit_margin:
            is_positive = projected > split.threshold if y is None else y[rows] == positive
            distance = np.where(is_positive, 1.0, -1.0) * (projected + split.solved_offset)
            support = distance <= 1 + SUPPORT_TOLERANCE
            lines = _unit_lines(split)
            margins[node] = NodeMargin("unit", *lines, 2 / split.norm, rows, support)
        else:
            margins[node] = _geometric_margin(split, rows, projected)
    return margins


def _geometric_margin(split: Split, rows: npt.NDArray[np.int64], projected: Floats) -> NodeMargin:
    right = projected > split.threshold
    low = float(projected[~right].max()) if not right.all() else -np.inf
    high = float(projected[right].min()) if right.any() else np.inf
    near = SUPPORT_TOLERANCE * max(1.0, split.norm)
    support = np.where(right, projected <= high + near, projected >= low - near)
    return NodeMargin("geometric", low, high, (high - low) / split.norm, rows, support)


def _unit_lines(split: Split) -> tuple[float, float]:
    """Values of ``w.x`` where ``w.x + b`` is -1 and 1."""
    return -1.0 - split.solved_offset, 1.0 - split.solved_offset


def split_lines(
    tree: Tree, view: PlaneView, margins: dict[int, NodeMargin] | None = None
) -> dict[int, SplitLines]:
    """Return what to draw for every node that has weights and a plane that crosses its cell.

    `margins` are those of `node_margins`, for lines of geometric margins; unit margins need none.
    """
    drawn = {}
    for node, cell in node_cells(tree, view).items():
        split = tree.splits.get(node)
        if split is None or not split.weights:
            continue
        lines = _lines_of(node, split, cell, view, (margins or {}).get(node))
        if lines.line or lines.band:
            drawn[node] = lines
    return drawn


def _lines_of(
    node: int, split: Split, cell: tuple[Polygon, ...], view: PlaneView, margin: NodeMargin | None
) -> SplitLines:
    if all(view.is_stepwise(view.encoding.columns[j]) for j, _ in split.weights):
        return SplitLines(node, "none", _condition_edges(split, cell, view))
    kind, levels = "none", None
    if split.unit_margin:
        kind, levels = "unit", _unit_lines(split)
    elif margin is not None and np.isfinite([margin.low, margin.high]).all():
        kind, levels = "geometric", (margin.low, margin.high)
    main = -split.solved_offset if split.unit_margin else split.threshold
    line, low, high, band = list[Segment](), list[Segment](), list[Segment](), list[Polygon]()
    for piece in (part for polygon in cell for part in strips(polygon, view.cuts(split))):
        middle = view.score_line(split, main, centre(piece))
        if middle.is_degenerate:
            continue
        line += clip_segment(piece, middle)
        if levels is None:
            continue
        lower, upper = (view.score_line(split, level, centre(piece)) for level in levels)
        low += clip_segment(piece, lower)
        high += clip_segment(piece, upper)
        between = clip(clip(piece, upper), lower.flipped())
        if area(between) > 0:
            band.append(between)
    return SplitLines(node, kind, tuple(line), tuple(low), tuple(high), tuple(band))


def _condition_edges(
    split: Split, cell: tuple[Polygon, ...], view: PlaneView
) -> tuple[Segment, ...]:
    """Edges between the two sides of a split on binary columns: axis-parallel cuts."""
    edges: list[Segment] = []
    cuts = view.cuts(split)
    for axis, values in enumerate(cuts):
        across = ((), cuts[1]) if axis == 0 else (cuts[0], ())
        for piece in (part for polygon in cell for part in strips(polygon, across)):
            for value in values:
                found = clip_segment(piece, axis_line(axis, value))
                edges += [e for e in found if _changes_side(split, view, e, axis, value)]
    return tuple(edges)


def _changes_side(split: Split, view: PlaneView, edge: Segment, axis: int, value: float) -> bool:
    """Whether a split sends the two sides of an axis-parallel edge different ways.

    The ends of the edge were interpolated; only `value` is exactly where the side changes.
    """
    x, y = ((start + end) / 2 for start, end in zip(*edge, strict=True))
    sides = {
        view.score_line(split, split.threshold, (x, at) if axis else (at, y)).c >= 0
        for at in (value, float(np.nextafter(value, np.inf)))
    }
    return len(sides) == 2
