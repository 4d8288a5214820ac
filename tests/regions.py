"""Which region of a drawn plane holds a point."""

from __future__ import annotations

from octcore.tree.geometry import Region
from octcore.tree.polygons import Point, contains


def region_of(regions: tuple[Region, ...], point: Point) -> Region | None:
    """Return the region that holds a point, None outside the box."""
    return next((region for region in regions if contains(region.polygon, point)), None)
