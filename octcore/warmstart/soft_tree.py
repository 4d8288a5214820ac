"""Trees of planes with slack: routing and planes by turns, each the best for the other.

Every point pays for the margins it misses on its way (its slack, as in a support vector machine of
1-norm at most 2 / epsilon) and for a wrong label at its leaf.  Given the planes, the cheapest leaf
of every point follows bottom-up; given the leaves, every plane is one linear program of its own.
Taking turns never raises the cost, and cost 0 means: no error, and all gaps reach epsilon.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from octcore.warmstart.goal import TreeGoal
from octcore.warmstart.points import (
    FloatArray,
    IntArray,
    PlaneTree,
    leaf_counts,
    leaf_labels,
    node_sides,
    soft_plane,
)

ROUNDS = 30
THINNEST = 1e-4
"""Below this epsilon the weights allowed would be too large for a linear program."""
NORM_SLACK = 1e-4
"""Relative: gaps are to reach epsilon in spite of a solver's tolerance."""
MOST_KICKED = 5
"""Points that move to another leaf together."""
TROUBLE = 1e-7
"""Cost from which a point counts as paying."""


@dataclass(frozen=True, eq=False)
class SoftTree:
    """Planes with scores of -1 and 1 at the margins, and the leaf of every point."""

    planes: PlaneTree
    """Planes of 1-norm 2 / epsilon at most."""
    leaf: IntArray
    """Cheapest leaf of every point, which routing may contradict, shape ``(n_points,)``."""
    labels: IntArray
    costs: FloatArray
    """Slack and error of every point, shape ``(n_points,)``."""

    @property
    def cost(self) -> float:
        """Cost of all points."""
        return float(self.costs.sum())


class SoftTrees:
    """Makes soft trees, and better ones from them."""

    def __init__(self, goal: TreeGoal, rng: np.random.Generator) -> None:
        self.goal, self.rng = goal, rng
        self.norm = 2.0 / max(goal.epsilon, THINNEST) * (1 - NORM_SLACK)
        self._weight = goal.points.counts.sum(axis=1)

    def settle(self, planes: PlaneTree, deadline: float) -> SoftTree:
        """Take turns from given planes until the cost no longer falls."""
        return self._turns(planes.copy(), planes.descend(self.goal.points.X), deadline)

    def kick(self, tree: SoftTree, deadline: float) -> SoftTree | None:
        """Move some paying points to another leaf of their class, and take turns from there.

        Returns None where nothing pays, or where the move would need too many splits.
        """
        goal, counts = self.goal, self.goal.points.counts
        paying = np.flatnonzero(tree.costs > TROUBLE)
        if not len(paying):
            return None
        first = int(self.rng.choice(paying))
        label = counts[first].argmax()
        leaves = np.arange(2**goal.depth, 2 ** (goal.depth + 1))
        others = leaves[(tree.labels[leaves] == label) & (leaves != tree.leaf[first])]
        if not len(others):
            return None
        alike = paying[counts[paying].argmax(axis=1) == label]
        X = goal.points.X
        distance = np.abs(X[alike] - X[first]).max(axis=1)
        moved = alike[np.argsort(distance)[: self.rng.integers(1, MOST_KICKED + 1)]]
        leaf = tree.leaf.copy()
        leaf[moved] = self.rng.choice(others)
        sides = (node_sides(leaf, node, goal.depth) for node in range(1, 2**goal.depth))
        if sum(len(left) > 0 and len(right) > 0 for left, right in sides) > goal.split_limit:
            return None
        return self._turns(tree.planes.copy(), leaf, deadline, before=tree.leaf)

    def _turns(
        self,
        planes: PlaneTree,
        leaf: IntArray,
        deadline: float,
        before: IntArray | None = None,
    ) -> SoftTree:
        """Refit and re-assign; `before` are leaves that the planes were fitted to already."""
        nodes, depth = range(1, 2**self.goal.depth), self.goal.depth
        fitted: dict[int, bytes] = {}
        if before is not None:
            fitted = {node: _key(*node_sides(before, node, depth)) for node in nodes}
        best: SoftTree | None = None
        for _ in range(ROUNDS):
            labels = leaf_labels(leaf_counts(self.goal.points, leaf, depth), depth)
            self._refit(planes, leaf, fitted)
            leaf, costs = self._cheapest(planes, labels)
            if best is not None and costs.sum() >= best.cost - TROUBLE:
                break
            best = SoftTree(planes.copy(), leaf, labels, costs)
            if best.cost <= TROUBLE or time.perf_counter() > deadline:
                break
        assert best is not None
        return best

    def _refit(self, planes: PlaneTree, leaf: IntArray, fitted: dict[int, bytes]) -> None:
        """Give every node whose points have changed the plane of least slack, in place."""
        depth = self.goal.depth
        for node in range(1, 2**depth):
            left, right = node_sides(leaf, node, depth)
            key = _key(left, right)
            if fitted.get(node) == key:
                continue
            fitted[node] = key
            if not len(left) or not len(right):
                planes.set(node, 0.0, 1.0 if len(right) else -1.0)
            else:
                planes.set(node, *soft_plane(self.goal.points, left, right, self.norm))

    def _cheapest(self, planes: PlaneTree, labels: IntArray) -> tuple[IntArray, FloatArray]:
        """Leaf and cost of every point, bottom-up."""
        points, depth = self.goal.points, self.goal.depth
        n, first = len(points), 2**depth
        scores = points.X @ planes.weights.T + planes.offsets
        cost = np.zeros((n, 2 * first))
        leaf = np.tile(np.arange(2 * first), (n, 1))
        right_label = points.counts[:, labels[first:]]
        cost[:, first:] = points.counts.max(axis=1)[:, None] - right_label
        splitting = planes.splitting
        for node in range(first - 1, 0, -1):
            children = (2 * node, 2 * node + 1)
            if not splitting[node]:
                child = children[int(planes.offsets[node] >= 0)]
                cost[:, node], leaf[:, node] = cost[:, child], leaf[:, child]
                continue
            go_left = cost[:, children[0]] + self._weight * np.maximum(0.0, 1 + scores[:, node])
            go_right = cost[:, children[1]] + self._weight * np.maximum(0.0, 1 - scores[:, node])
            goes_left = go_left <= go_right
            cost[:, node] = np.where(goes_left, go_left, go_right)
            leaf[:, node] = np.where(goes_left, leaf[:, children[0]], leaf[:, children[1]])
        return leaf[:, 1], cost[:, 1]


def _key(left: IntArray, right: IntArray) -> bytes:
    return left.tobytes() + b"|" + right.tobytes()
