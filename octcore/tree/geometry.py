"""Exact regions of a tree in a plane: convex polygons by clipping a box down the tree.

A split on scaled numbers cuts a cell by one line.  Binary columns cut it into strips first; inside
a strip they are constant, so what remains of the split is again a line, or nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from octcore.tree.plane_view import PlaneView
from octcore.tree.polygons import THIN, Line, Polygon, area, box, centre, clip
from octcore.tree.tree import Tree
from octcore.tree.wording import class_name


@dataclass(frozen=True)
class Region:
    """One convex piece of the region of a leaf."""

    leaf: int
    code: int
    label: Any
    polygon: Polygon
    """Corners in view units, counter-clockwise."""


def leaf_regions(tree: Tree, view: PlaneView) -> tuple[Region, ...]:
    """Return the regions of all leaves in a view; they fill its box without overlap.

    `SettingsError` if the tree uses a column that is neither on an axis nor held fixed.
    """
    pieces = node_cells(tree, view)
    return tuple(
        Region(leaf, tree.class_of(code), class_name(tree, code), polygon)
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
