"""Trees of planes with slack: routing and planes by turns, each the best for the other.

Every point pays for the margins it misses on its way (its slack, as in a support vector machine of
1-norm at most 2 / epsilon) and for a wrong label at its leaf.  Given the planes, the cheapest leaf
of every point follows bottom-up; given the leaves, every plane is one linear program of its own.
Taking turns never raises the cost, and cost 0 means: no error, and all gaps reach epsilon.
"""

from __future__ import annotations

import time

import numpy as np

from octcore.warmstart.goal import TreeGoal
from octcore.warmstart.points import (
    IntArray,
    PlaneTree,
    leaf_counts,
    leaf_labels,
    node_sides,
    soft_plane,
)
from octcore.warmstart.tree_gaps import largest_norm

ROUNDS = 30
NORM_SLACK = 1e-4
"""Relative: gaps are to reach epsilon in spite of a solver's tolerance."""
TROUBLE = 1e-7
"""Cost that counts as none."""


class SoftTrees:
    """Makes soft trees: planes of 1-norm 2 / epsilon at most, scores of -1 and 1 at the margins."""

    def __init__(self, goal: TreeGoal) -> None:
        self.goal = goal
        self.norm = largest_norm(goal.epsilon) * (1 - NORM_SLACK)
        self._weight = goal.points.counts.sum(axis=1)

    def settle(self, planes: PlaneTree, deadline: float) -> PlaneTree:
        """Take turns from given planes until the cost no longer falls."""
        planes, depth = planes.copy(), self.goal.depth
        leaf, fitted = planes.descend(self.goal.points.X), dict[int, bytes]()
        best, least = planes.copy(), np.inf
        for _ in range(ROUNDS):
            labels = leaf_labels(leaf_counts(self.goal.points, leaf, depth), depth)
            self._refit(planes, leaf, fitted)
            leaf, cost = self._cheapest(planes, labels)
            if cost >= least - TROUBLE:
                break
            best, least = planes.copy(), cost
            if least <= TROUBLE or time.perf_counter() > deadline:
                break
        return best

    def _refit(self, planes: PlaneTree, leaf: IntArray, fitted: dict[int, bytes]) -> None:
        """Give every node whose points have changed the plane of least slack, in place."""
        depth = self.goal.depth
        for node in range(1, 2**depth):
            left, right = node_sides(leaf, node, depth)
            key = left.tobytes() + b"|" + right.tobytes()
            if fitted.get(node) == key:
                continue
            fitted[node] = key
            if not len(left) or not len(right):
                planes.set(node, 0.0, 1.0 if len(right) else -1.0)
            else:
                planes.set(node, *soft_plane(self.goal.points, left, right, self.norm))

    def _cheapest(self, planes: PlaneTree, labels: IntArray) -> tuple[IntArray, float]:
        """Cheapest leaf of every point, bottom-up, and the cost of all."""
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
        return leaf[:, 1], float(cost[:, 1].sum())
