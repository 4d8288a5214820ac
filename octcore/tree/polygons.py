"""Convex polygons and segments in the plane: clipping by half-planes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

Point = tuple[float, float]
Polygon = tuple[Point, ...]
Segment = tuple[Point, Point]

THIN = 1e-12
"""Polygons with less than this share of the box are rounding, not regions."""


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
    kept: list[Point] = []
    for start, end in zip(polygon, polygon[1:] + polygon[:1], strict=True):
        here, there = line.excess(start), line.excess(end)
        if here <= 0:
            kept.append(start)
        if (here < 0 < there) or (there < 0 < here):
            kept.append(_between(start, end, here / (here - there)))
    return tuple(kept) if len(kept) >= 3 else ()


def clip_segment(polygon: Polygon, line: Line) -> Segment | None:
    """Return the part of a line inside a convex polygon, None if it misses it."""
    touched: list[Point] = []
    for start, end in zip(polygon, polygon[1:] + polygon[:1], strict=True):
        here, there = line.excess(start), line.excess(end)
        if here == 0:
            touched.append(start)
        if (here < 0 < there) or (there < 0 < here):
            touched.append(_between(start, end, here / (here - there)))
    if len(touched) < 2:
        return None
    along = sorted(touched, key=lambda p: line.a * p[1] - line.b * p[0])
    return None if along[0] == along[-1] else (along[0], along[-1])


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


def _between(start: Point, end: Point, share: float) -> Point:
    return (start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1]))
