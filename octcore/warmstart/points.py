"""Distinct rows with class counts, perfect trees of planes over them, and what routing says.

A perfect tree of planes is two arrays: row ``t`` of `weights` and entry ``t`` of `offsets` belong
to branch node ``t``; a row goes right when its score ``w.x + b`` is not negative.  A node that does
not split has zero weights and offset -1, so that everything goes left.

Everywhere `leaf` is the terminal node of every point, shape ``(n_points,)``, `X` rows on the
columns of the points, shape ``(n_samples, n_features)``; tables of nodes have one row per node
number.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from octcore.data.distinct import distinct_rows
from octcore.numerics.hulls import Gap, soft_margin_plane, widest_gap
from octcore.tree.tree import Tree, drop_pass_through, tree_from_planes

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ClassCounts:
    """Distinct rows and the weight of every class at each of them."""

    X: FloatArray  # distinct rows, shape ``(n_points, n_features)``
    counts: FloatArray  # weight of class k at point i, shape ``(n_points, n_classes)``
    point_of: IntArray  # point of every original row, shape ``(n_samples,)``

    def __len__(self) -> int:
        return len(self.X)

    @property
    def first_rows(self) -> IntArray:
        """First original row of every point."""
        return np.unique(self.point_of, return_index=True)[1]

    @property
    def total(self) -> float:
        """Weight of all rows."""
        return float(self.counts.sum())

    @property
    def conflict_bound(self) -> float:
        """Largest weight that any classifier gets right: one label for identical rows."""
        return float(self.counts.max(axis=1).sum())


def count_classes(X: np.ndarray, y: np.ndarray, weights: np.ndarray, n_classes: int) -> ClassCounts:
    """Merge identical rows into points with class counts; points keep the order of the rows."""
    X = np.asarray(X, float)
    first, point_of = distinct_rows(X)
    counts = np.zeros((len(first), n_classes))
    np.add.at(counts, (point_of, y), weights)
    return ClassCounts(X[first], counts, point_of)


@dataclass(frozen=True, eq=False)
class PlaneTree:
    """Planes at the branch nodes of a perfect tree; entry 0 is not used."""

    weights: FloatArray  # shape ``(2**depth, n_features)``
    offsets: FloatArray  # shape ``(2**depth,)``

    @classmethod
    def empty(cls, depth: int, n_features: int) -> "PlaneTree":
        """Make the tree without splits."""
        return cls(np.zeros((2**depth, n_features)), np.full(2**depth, -1.0))

    @property
    def depth(self) -> int:
        """Number of branching levels."""
        return len(self.offsets).bit_length() - 1

    @property
    def splitting(self) -> NDArray[np.bool_]:
        """Which nodes have weights, shape ``(2**depth,)``."""
        return np.any(self.weights != 0, axis=1)

    def copy(self) -> "PlaneTree":
        """Copy, for changes in place."""
        return PlaneTree(self.weights.copy(), self.offsets.copy())

    def changed(self, node: int, weights: FloatArray | float, offset: float) -> "PlaneTree":
        """Copy with another plane at a node."""
        planes = self.copy()
        planes.set(node, weights, offset)
        return planes

    def set(self, node: int, weights: FloatArray | float, offset: float) -> None:
        """Change the plane of a node in place."""
        self.weights[node], self.offsets[node] = weights, offset

    def descend(self, X: FloatArray, node: int = 1) -> IntArray:
        """Terminal node of every row when all start at one node."""
        here = np.full(len(X), node)
        for _ in range(self.depth - (node.bit_length() - 1)):
            scores = np.einsum("ij,ij->i", X, self.weights[here]) + self.offsets[here]
            here = 2 * here + (scores >= 0)
        return here


def leaf_counts(points: ClassCounts, leaf: IntArray, depth: int) -> FloatArray:
    """Class weights in every terminal node, shape ``(2**(depth + 1), n_classes)``."""
    table = np.zeros((2 ** (depth + 1), points.counts.shape[1]))
    np.add.at(table, leaf, points.counts)
    return table


def leaf_labels(table: FloatArray, depth: int) -> IntArray:
    """Majority class by node; an empty node takes the label of its nearest filled ancestor."""
    table = table.copy()
    for node in range(2**depth - 1, 0, -1):
        table[node] = table[2 * node] + table[2 * node + 1]
    labels = table.argmax(axis=1)
    for node in range(2, len(table)):
        if not table[node].any():
            labels[node] = labels[node // 2]
    return labels


def node_sides(leaf: IntArray, node: int, depth: int) -> tuple[IntArray, IntArray]:
    """Points that go left and right at a branch node, by their terminal nodes."""
    child = leaf >> (depth - node.bit_length())
    return np.flatnonzero(child == 2 * node), np.flatnonzero(child == 2 * node + 1)


def centred_planes(
    points: ClassCounts, leaf: IntArray, depth: int
) -> tuple[PlaneTree, dict[int, Gap | None]]:
    """Widest-gap planes of a routing, and the gap of every node with points on both sides.

    Planes have scores -1 and 1 at the nearest points; a node with an empty side does not split (its
    offset sends everything to the other side), nor does one whose sides are not separable, whose
    gap is None.
    """
    planes = PlaneTree.empty(depth, points.X.shape[1])
    gaps: dict[int, Gap | None] = {}
    for node in range(1, 2**depth):
        left, right = node_sides(leaf, node, depth)
        if not len(left) and len(right):
            planes.offsets[node] = 1.0
        if not len(left) or not len(right):
            continue
        gap = gaps[node] = widest_gap(points.X[left], points.X[right])
        if gap is not None:
            planes.set(node, *gap.unit_margin)
    return planes, gaps


def soft_plane(
    points: ClassCounts, left: IntArray, right: IntArray, largest_norm: float
) -> tuple[FloatArray, float]:
    """Plane of least slack between points that go left and right, see `soft_margin_plane`."""
    rows = np.concatenate([left, right])
    goes_right = np.arange(len(rows)) >= len(left)
    return soft_margin_plane(
        points.X[rows], goes_right, points.counts[rows].sum(axis=1), largest_norm
    )


def to_tree(points: ClassCounts, planes: PlaneTree, unit_margin: bool = True) -> Tree:
    """Make the frozen tree with majority labels; nodes that do not split are left out."""
    depth = planes.depth
    labels = leaf_labels(leaf_counts(points, planes.descend(points.X), depth), depth)
    splits = {t: (planes.weights[t], float(planes.offsets[t])) for t in range(1, 2**depth)}
    named = {t: int(labels[t]) for t in range(2**depth, 2 ** (depth + 1))}
    tree = tree_from_planes(splits, named, points.X, points.counts.shape[1], unit_margin)
    return drop_pass_through(tree)


def tree_leaves(tree: Tree, X: FloatArray, depth: int) -> IntArray:
    """Terminal node of the perfect tree for every row: below a leaf everything goes left."""
    leaves = tree.apply(X)
    levels = np.array([depth - (int(leaf).bit_length() - 1) for leaf in leaves], dtype=np.int64)
    return leaves << levels


def node_gaps(tree: Tree, X: FloatArray) -> dict[int, float]:
    """Width of the empty strip around every split, for weights of 1-norm 1.

    Splits with an empty side have none and are left out.
    """
    gaps: dict[int, float] = {}
    for node, rows in tree.node_rows(X).items():
        split = tree.splits.get(node)
        if split is None or not split.weights:
            continue
        scores = split.project(X[rows])
        right = scores > split.threshold
        if right.any() and not right.all():
            norm = sum(abs(value) for _, value in split.weights)
            gaps[node] = float((scores[right].min() - scores[~right].max()) / norm)
    return gaps
