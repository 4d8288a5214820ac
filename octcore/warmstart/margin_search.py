"""Search for trees of 1-norm support vector machines in the true objective of SVM1-ODT.

A tree pays for errors, for margins that rows lack on their way and for the norms of its planes.
One node at a time is refitted: with everything else in place a row has a cost on either side, the
difference is what it gains on its better side, and linear programs with soft margins at several
prices make candidates, the plane at hand one more.  What counts is the true cost after routing and
after the exact plane for the rows as routed.  On the last level the labels of the two leaves are
chosen with the plane.  Passes over all nodes, from given trees, those of a descent (see `descent`),
random ones and changes of the best, make the search.

References
----------
Zhu, Murali, Phan, Nguyen, Kalagnanam, "A scalable MIP-based method for learning optimal
multivariate decision trees": the objective, equation (1a).
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from octcore.numerics.margin_lp import MarginPrices, clear_plane, margin_plane, soft_planes
from octcore.tree import topology
from octcore.warmstart.descent import Descent
from octcore.warmstart.points import PlaneTree, count_classes, leaf_counts, leaf_labels

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Plane = tuple[FloatArray, float]

SOFTNESS = (0.03, 0.1, 0.3, 1.0)
"""Price of a margin's width, as shares of what a row gains on its better side."""
DESCENDED_SHARE = 0.5
"""Share of the starts that come from a descent."""
MOST_CLASSES = 4
"""Classes of a node whose pairs are tried as labels."""
LEAST_GAIN = 1e-9
PASSES = 10
HEARTBEAT_SECONDS = 0.25
STALLED = 60
"""Restarts without a better tree that end the search."""


@dataclass(frozen=True, eq=False)
class MarginGoal:
    """Rows and prices."""

    X: FloatArray
    """Merged rows, shape ``(n, n_features)``, columns in [0, 1]."""
    y: IntArray
    weights: FloatArray
    """`y`, `weights`: class index and weight of every row."""
    n_classes: int
    depth: int
    """`n_classes`, `depth`: number of classes and largest depth."""
    prices: MarginPrices
    """Prices of margins and norms; an error costs 1."""
    seed: int = 0


@dataclass(eq=False)
class MarginTree:
    """Planes by node, the side of nodes without one, and labels of all leaves of the tree."""

    planes: dict[int, Plane]
    """``(h, g)`` of the nodes with a plane: left where ``h.x <= g``."""
    labels: IntArray
    """Class by node, shape ``(2 ** (depth + 1),)``."""
    cost: float = np.inf
    sides: dict[int, int] = field(default_factory=dict)

    def copy(self) -> MarginTree:
        """Return a tree that can be changed."""
        return MarginTree(dict(self.planes), self.labels.copy(), self.cost, dict(self.sides))


class MarginSearch:
    """Finds trees of small cost."""

    def __init__(self, goal: MarginGoal) -> None:
        self.goal = goal
        self.rng = np.random.default_rng(goal.seed)
        self.best: MarginTree | None = None
        points = count_classes(goal.X, goal.y, goal.weights, goal.n_classes)
        gap = 2 * goal.prices.margin / goal.prices.big_m
        self._descent = Descent(points, goal.depth, 2**goal.depth - 1, gap, self.rng)
        self._descended: list[PlaneTree] = []

    def search(self, starts: list[MarginTree], seconds: float) -> Iterator[MarginTree]:
        """Yield ever better trees for some seconds.

        The best one comes again now and then, so that the caller can look at its clock.
        """
        seen = time.perf_counter()
        deadline = seen + seconds
        waiting, stalled = list(starts), 0
        while stalled < STALLED and time.perf_counter() < deadline:
            tree = self.improve(waiting.pop(0) if waiting else self._start(deadline), deadline)
            is_better = self.best is None or tree.cost < self.best.cost - LEAST_GAIN
            stalled = 0 if is_better else stalled + 1
            if self.best is None or is_better:
                self.best = tree
            if is_better or time.perf_counter() - seen > HEARTBEAT_SECONDS:
                seen = time.perf_counter()
                yield self.best
            if self.best.cost <= LEAST_GAIN:
                return

    def improve(self, tree: MarginTree, deadline: float) -> MarginTree:
        """Refit node after node until a pass gains nothing."""
        tree = tree.copy()
        norms = sum(float(np.abs(h).sum()) for h, _ in tree.planes.values())
        tree.cost = float(self._to_go(tree, 1, np.arange(len(self.goal.y))).sum())
        tree.cost += self.goal.prices.norm * norms
        for _ in range(PASSES):
            before = tree.cost
            for node in reversed(topology.branch_nodes(self.goal.depth)):
                self._refit(tree, node, deadline)
                if time.perf_counter() > deadline:
                    return tree
            if tree.cost >= before - LEAST_GAIN * max(1.0, before):
                return tree
        return tree

    # -- costs ------------------------------------------------------------------------------

    def _to_go(self, tree: MarginTree, node: int, rows: IntArray) -> FloatArray:
        """Cost of rows from a node on, norms aside."""
        goal = self.goal
        if node >= 2**goal.depth:
            return goal.weights[rows] * (goal.y[rows] != tree.labels[node])
        if node not in tree.planes:
            return self._to_go(tree, 2 * node + tree.sides.get(node, 0), rows)
        margin, right = self._margins(tree.planes[node], rows)
        cost = margin
        for side, child in ((~right, 2 * node), (right, 2 * node + 1)):
            cost[side] += self._to_go(tree, child, rows[side])
        return cost

    def _margins(self, plane: Plane, rows: IntArray) -> tuple[FloatArray, NDArray[np.bool_]]:
        """What rows pay for missing margin at a plane, and which go right."""
        prices = self.goal.prices
        score = plane[1] - self.goal.X[rows] @ plane[0]
        lacking = np.maximum(0.0, prices.margin - np.abs(score))
        cost = prices.missing * self.goal.weights[rows] * lacking
        return cost, score < -prices.right / 2

    def _rows_at(self, tree: MarginTree, node: int) -> IntArray:
        rows = np.arange(len(self.goal.y))
        for level in range(node.bit_length() - 1, 0, -1):
            above, side = node >> level, (node >> (level - 1)) & 1
            if above not in tree.planes:
                if tree.sides.get(above, 0) != side:
                    return rows[:0]
                continue
            right = self._margins(tree.planes[above], rows)[1]
            rows = rows[right == bool(side)]
        return rows

    # -- one node ---------------------------------------------------------------------------

    def _refit(self, tree: MarginTree, node: int, deadline: float) -> None:
        """Give a node the best of the candidates, in place, or of those there is time for."""
        rows = self._rows_at(tree, node)
        if len(rows) < 2:
            tree.planes.pop(node, None)
            return
        here = float(self._to_go(tree, node, rows).sum())
        if node in tree.planes:
            here += self.goal.prices.norm * float(np.abs(tree.planes[node][0]).sum())
        for labels in self._label_pairs(tree, node, rows):
            trial = tree.copy()
            if labels is not None:
                trial.labels[2 * node], trial.labels[2 * node + 1] = labels
            left, right = (self._to_go(trial, 2 * node + side, rows) for side in (0, 1))
            for found in self._planes(rows, left - right, tree.planes.get(node)):
                if time.perf_counter() > deadline:
                    return
                side, plane = 0, found
                if plane is None:
                    side = int(right.sum() < left.sum())
                    cost = float((right if side else left).sum())
                else:
                    goes_right = self._margins(plane, rows)[1]
                    routed = float(np.where(goes_right, right, left).sum())
                    plane = self._exact(rows, plane) if routed < here - LEAST_GAIN else None
                    if plane is None:
                        continue
                    paid, goes_right = self._margins(plane, rows)
                    cost = float(paid.sum() + np.where(goes_right, right, left).sum())
                    cost += self.goal.prices.norm * float(np.abs(plane[0]).sum())
                if cost < here - LEAST_GAIN:
                    tree.cost += cost - here
                    here = cost
                    tree.labels = trial.labels.copy()
                    tree.sides[node] = side
                    tree.planes.pop(node, None)
                    if plane is not None:
                        tree.planes[node] = plane

    def _label_pairs(
        self, tree: MarginTree, node: int, rows: IntArray
    ) -> list[tuple[int, int] | None]:
        """Labels to try for the leaves of a last-level node, the present ones first."""
        goal = self.goal
        if 2 * node < 2**goal.depth:
            return [None]
        counts = np.bincount(goal.y[rows], goal.weights[rows], goal.n_classes)
        classes = [int(k) for k in np.argsort(-counts)[:MOST_CLASSES] if counts[k] > 0]
        if len(classes) == 1:
            return [(classes[0], classes[0])]
        return list(combinations(classes, 2))

    def _planes(
        self, rows: IntArray, gain: FloatArray, here: Plane | None
    ) -> Iterator[Plane | None]:
        """No split, then the plane at hand and soft ones, of equal routings the first."""
        yield None
        seen: set[bytes] = set()
        for plane in (here, *self._soft_planes(rows, gain)):
            if plane is None or not np.abs(plane[0]).sum() > 0:
                continue
            routing = self._margins(plane, rows)[1].tobytes()
            if routing not in seen:
                seen.add(routing)
                yield plane

    def _soft_planes(self, rows: IntArray, gain: FloatArray) -> Iterator[Plane | None]:
        """Planes of soft programs for what rows gain on the right."""
        wants = np.flatnonzero(np.abs(gain) > LEAST_GAIN)
        goes_right = gain[wants] > 0
        if not goes_right.any() or goes_right.all():
            return
        prices = self.goal.prices
        costs = np.abs(gain[wants]) / prices.margin
        yield from soft_planes(self.goal.X[rows[wants]], goes_right, costs, SOFTNESS, prices)

    def _exact(self, rows: IntArray, plane: Plane) -> Plane | None:
        """Plane of least margin cost and norm for the sides of another one.

        Where none keeps right-goers far enough, for sides with a gap between them; None if there
        is no such plane either.
        """
        goal = self.goal
        X, others = goal.X[rows], np.delete(goal.X, rows, axis=0)
        shifted: Plane | None = plane
        while shifted is not None:
            right = self._margins(shifted, rows)[1]
            if not right.any() or right.all():
                return None
            weights = goal.weights[rows[~right]], goal.weights[rows[right]]
            found = margin_plane(X[~right], X[right], weights, others, goal.prices)
            if found is not None or shifted is not plane:
                return found
            shifted = clear_plane(plane, X, others, goal.prices)
        return None

    def made_exact(self, tree: MarginTree) -> MarginTree:
        """Tree with the best planes for the routing of another one, from the root on."""
        made = MarginTree({}, tree.labels.copy(), sides=dict(tree.sides))
        for node in sorted(tree.planes):
            rows = self._rows_at(made, node)
            found = self._exact(rows, tree.planes[node])
            if found is not None:
                made.planes[node] = found
            elif len(rows):
                made.sides[node] = int(self._margins(tree.planes[node], rows)[1].mean() > 0.5)
        return made

    # -- starts -----------------------------------------------------------------------------

    def _start(self, deadline: float) -> MarginTree:
        """Return a descended tree, a random one, or the best one with a part of it drawn again."""
        if self.rng.random() < DESCENDED_SHARE:
            self._descended = self._descended or self._descent.trees(deadline)
            if self._descended:
                return self._of_planes(self._descended.pop())
        branch = topology.branch_nodes(self.goal.depth)
        if self.best is None or self.rng.random() < 0.5:
            empty = MarginTree({}, np.zeros(2 ** (self.goal.depth + 1), np.int64))
            return self._drawn(empty, 1)
        return self._drawn(self.best.copy(), int(self.rng.integers(1, branch.stop)))

    def _of_planes(self, planes: PlaneTree) -> MarginTree:
        """Tree with the routing of some planes, each of the least margin cost and norm for it."""
        depth, points = self.goal.depth, self._descent.points
        labels = leaf_labels(leaf_counts(points, planes.descend(points.X), depth), depth)
        nodes = np.flatnonzero(planes.splitting).tolist()
        drawn = {node: (planes.weights[node], -float(planes.offsets[node])) for node in nodes}
        return self.made_exact(MarginTree(drawn, labels))

    def _drawn(self, tree: MarginTree, top: int) -> MarginTree:
        """Draw the planes at and below a node: a soft plane between two classes, on some rows."""
        goal = self.goal
        for node in topology.branch_nodes(goal.depth):
            level = node.bit_length() - top.bit_length()
            if level < 0 or node >> level != top:
                continue
            tree.planes.pop(node, None)
            rows = self._rows_at(tree, node)
            plane = self._random_plane(rows)
            if plane is not None:
                tree.planes[node] = plane
        for node in topology.terminal_nodes(goal.depth):
            rows = self._rows_at(tree, node)
            if len(rows):
                counts = np.bincount(goal.y[rows], goal.weights[rows], goal.n_classes)
                tree.labels[node] = int(counts.argmax())
        return tree

    def _random_plane(self, rows: IntArray) -> Plane | None:
        """Soft plane that parts two classes on rows near two random points of them."""
        goal, rng = self.goal, self.rng
        present = np.unique(goal.y[rows])
        if len(present) < 2:
            return None
        a, b = rng.choice(present, 2, replace=False)
        chosen = []
        for k in (a, b):
            own = rows[goal.y[rows] == k]
            centre = goal.X[rng.choice(own)]
            distance = np.abs(goal.X[own] - centre).sum(axis=1)
            share = rng.choice((0.25, 0.5, 1.0))
            chosen.append(own[np.argsort(distance)[: max(1, int(share * len(own)))]])
        some = np.concatenate(chosen)
        goes_right = np.arange(len(some)) >= len(chosen[0])
        costs = goal.weights[some] / goal.prices.margin
        softness = (float(rng.choice(SOFTNESS)),)
        plane = next(soft_planes(goal.X[some], goes_right, costs, softness, goal.prices))
        return plane if plane is not None and np.abs(plane[0]).sum() > 0 else None
