"""Hyperplanes and margins of the splits of a tree, as lines and bands in a plane, and in numbers.

Splits of SVM-based formulations have the margin lines ``w.x + b = -1`` and ``= 1``.  All others
have a *geometric* margin: the parallels through the nearest training rows on each side.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from octcore.tree.geometry import axis_line, node_cells, strips
from octcore.tree.plane_view import PlaneView
from octcore.tree.polygons import Polygon, Segment, area, centre, clip, clip_segment
from octcore.tree.tree import Split, Tree

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

SUPPORT_TOLERANCE = 1e-6
"""A row with ``y (w.x + b)`` up to 1 plus this is a support vector."""


@dataclass(frozen=True)
class SplitLines:
    """What to draw for one branch node, clipped to the cell of the node; view units."""

    node: int
    kind: str
    """``"unit"``, ``"geometric"``, or ``"none"`` where there is no margin to draw."""
    line: tuple[Segment, ...]
    """The hyperplane as solved; for splits on binary columns the edges of their conditions."""
    low: tuple[Segment, ...] = ()
    high: tuple[Segment, ...] = ()
    """`low`, `high`: the margin lines on the left and on the right side."""
    band: tuple[Polygon, ...] = ()
    """The area between the margin lines."""


@dataclass(frozen=True, eq=False)
class NodeMargin:
    """Margin of one branch node on training rows, in encoded units."""

    node: int
    kind: str
    """``"unit"`` or ``"geometric"``."""
    low: float
    high: float
    """`low`, `high`: values of ``w.x`` on the margin lines; infinite on a side without rows."""
    width: float
    """Distance between the margin lines, ``2 / ||w||`` for unit margins."""
    rows: npt.NDArray[np.int64]
    distances: Floats
    """Signed distance of these rows to the hyperplane; positive on the right."""
    support: Flags
    """Which of these rows are support vectors: on or beyond their margin line, or nearest."""
    slack: Floats = field(default_factory=lambda: np.empty(0))
    """Slack of these rows, 0 for geometric margins."""

    @property
    def inside(self) -> Flags:
        """Rows inside the margin but on the right side of the plane (0 < slack <= 1)."""
        return (self.slack > SUPPORT_TOLERANCE) & (self.slack <= 1)

    @property
    def wrong(self) -> Flags:
        """Rows on the wrong side of the plane at this node (slack > 1)."""
        return self.slack > 1


def node_margins(
    tree: Tree, X: Floats, y: npt.NDArray[np.int64] | None = None, positive: int = 1
) -> dict[int, NodeMargin]:
    """Return the margins of all branch nodes that test something and have rows.

    Slacks of unit margins need the class codes `y`, of which the formulation takes `positive` as +1
    and all others as -1.
    """
    margins = {}
    for node, rows in tree.node_rows(X).items():
        split = tree.splits.get(node)
        if split is None or not split.weights or not len(rows):
            continue
        if split.unit_margin:
            signs = None if y is None else np.where(y[rows] == positive, 1.0, -1.0)
            margins[node] = _unit_margin(node, split, rows, split.project(X[rows]), signs)
        else:
            margins[node] = _geometric_margin(node, split, rows, split.project(X[rows]))
    return margins


def _unit_margin(
    node: int, split: Split, rows: npt.NDArray[np.int64], projected: Floats, signs: Floats | None
) -> NodeMargin:
    scores = projected + split.solved_offset
    length = split.norm
    side = np.where(projected > split.threshold, 1.0, -1.0) if signs is None else signs
    value = side * scores
    slack = np.zeros(len(rows)) if signs is None else np.maximum(0.0, 1.0 - value)
    low, high = _unit_lines(split)
    support = value <= 1 + SUPPORT_TOLERANCE
    return NodeMargin(node, "unit", low, high, 2 / length, rows, scores / length, support, slack)


def _geometric_margin(
    node: int, split: Split, rows: npt.NDArray[np.int64], projected: Floats
) -> NodeMargin:
    right = projected > split.threshold
    low = float(projected[~right].max()) if not right.all() else -np.inf
    high = float(projected[right].min()) if right.any() else np.inf
    length = split.norm
    near = SUPPORT_TOLERANCE * max(1.0, length)
    support = np.where(right, projected <= high + near, projected >= low - near)
    distances = (projected - split.threshold) / length
    width = (high - low) / length
    return NodeMargin(
        node, "geometric", low, high, width, rows, distances, support, np.zeros(len(rows))
    )


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
        _append(line, clip_segment(piece, middle))
        if levels is None:
            continue
        lower, upper = (view.score_line(split, level, centre(piece)) for level in levels)
        _append(low, clip_segment(piece, lower))
        _append(high, clip_segment(piece, upper))
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
                edge = clip_segment(piece, axis_line(axis, value))
                if edge is not None and _changes_side(split, view, edge, axis, value):
                    edges.append(edge)
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


def _append(segments: list[Segment], segment: Segment | None) -> None:
    if segment is not None:
        segments.append(segment)
