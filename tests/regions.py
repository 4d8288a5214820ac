"""Which region of a drawn plane holds a point."""

from __future__ import annotations

import math

from octcore.tree.geometry import Point, Region


def contains(polygon: list, point: tuple[float, float], slack: float = 0.0) -> bool:
    """Say whether a point lies in a convex polygon given counter-clockwise, or near its edge."""
    for (x1, y1), (x2, y2) in zip(polygon, (*polygon[1:], polygon[0]), strict=True):
        cross = (x2 - x1) * (point[1] - y1) - (y2 - y1) * (point[0] - x1)
        if cross < -slack * math.hypot(x2 - x1, y2 - y1):
            return False
    return True


def region_of(regions: tuple[Region, ...], point: Point) -> Region | None:
    """Return the region that holds a point, None outside the box."""
    return next((region for region in regions if contains(region.polygon, point)), None)
