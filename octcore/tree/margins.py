"""Hyperplanes and margins of the splits of a tree, as lines and bands in a plane, and in numbers.

Splits of SVM-based formulations have the margin lines ``w.x + b = -1`` and ``= 1``.  All others
have a *geometric* margin: the parallels through the nearest training rows on each side.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from octcore.tree.geometry import (
    PlaneView,
    Polygon,
    Segment,
    area,
    axis_line,
    centre,
    clip,
    clip_segment,
    node_cells,
    strips,
)
from octcore.tree.tree import Split, Tree

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
SUPPORT_TOLERANCE = 1e-6  # a row with ``y (w.x + b)`` up to 1 plus this is a support vector


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
    length = split.norm
    near = SUPPORT_TOLERANCE * max(1.0, length)
    support = np.where(right, projected <= high + near, projected >= low - near)
    return NodeMargin("geometric", low, high, (high - low) / length, rows, support)


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
    line: list[Segment] = []
    low: list[Segment] = []
    high: list[Segment] = []
    band: list[Polygon] = []
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
