"""Trees of planes with few features: local search where every feature in a split has a price.

A plane changes by one feature at a time: it is replaced by a threshold on one column, gets one
more feature (the exact best step along it), loses one, or moves on the features that it has.  Every
plane keeps an empty strip of width epsilon for weights of 1-norm 1.
"""

import time
from collections.abc import Iterator, Sequence
from itertools import chain, count

import numpy as np

from octcore.tree.tree import Tree
from octcore.warmstart.goal import LocalSearch, Plane, TreeGoal, climb, side_gains
from octcore.warmstart.plane_search import best_step, improve_plane, shift_into_gap
from octcore.warmstart.points import FloatArray, PlaneTree, node_sides, to_tree, tree_leaves

STRIP_SLACK = 1e-6  # relative: strips are a little wider than asked, since scores are rounded


class SparseSearch(LocalSearch):
    """Local search from thresholds on some single columns and from given trees."""

    def __init__(self, goal: TreeGoal, columns: Sequence[int]) -> None:
        super().__init__(goal)
        self.goal, self.columns = goal, columns
        self.keep(PlaneTree.empty(goal.depth, goal.points.X.shape[1]))

    def trees(self, seconds: float) -> Iterator[Tree]:
        """Yield improving trees for `seconds`: from the best one so far, then from changed ones."""
        deadline = time.perf_counter() + seconds
        starts = chain([self.best], (self._perturbed() for _ in count()))

        def once() -> bool:
            start = next(starts)
            assert start is not None
            return self.keep(self.climb(start, deadline))

        for planes in self.restarts(once, deadline):
            yield to_tree(self.goal.points, planes, unit_margin=False)

    def improve(self, tree: Tree, seconds: float) -> Tree | None:
        """Climb from a tree; None if nothing better than the best so far is found."""
        goal = self.goal
        planes = PlaneTree.empty(goal.depth, goal.points.X.shape[1])
        leaf = tree_leaves(tree, goal.points.X, goal.depth)
        for node, split in tree.splits.items():
            weights = split.dense(goal.points.X.shape[1])
            size = np.abs(weights).sum()
            if size > 0:
                planes.set(node, weights / size, -split.threshold / size)
        if not (planes.descend(goal.points.X) == leaf).all():
            return None
        if not self.keep(self.climb(planes, time.perf_counter() + seconds)):
            return None
        assert self.best is not None
        return to_tree(goal.points, self.best, unit_margin=False)

    def _perturbed(self) -> PlaneTree:
        """The best tree with one plane replaced by a random threshold, or without it."""
        assert self.best is not None
        goal, planes = self.goal, self.best.copy()
        node = int(self.rng.integers(1, 2**goal.depth))
        planes.set(node, 0.0, float(self.rng.choice((-1.0, 1.0))))
        if len(self.columns) and self.rng.random() < 0.8:
            j = int(self.rng.choice(self.columns))
            at = float(goal.points.X[self.rng.integers(len(goal.points)), j])
            weights = np.zeros(goal.points.X.shape[1])
            weights[j] = self.rng.choice((-1.0, 1.0))
            offset, gain = shift_into_gap(
                goal.points.X, weights, -np.abs(goal.points.X[:, j] - at), self._strip
            )
            if np.isfinite(gain):
                planes.set(node, weights, offset)
        return planes

    @property
    def _strip(self) -> float:
        return self.goal.epsilon * (1 + STRIP_SLACK)

    def climb(self, planes: PlaneTree, deadline: float) -> PlaneTree:
        """Change one plane at a time while the value grows."""
        return climb(self.goal, planes, self._trials, deadline, admits=self._keeps_strips)

    def _trials(self, planes: PlaneTree, node: int) -> Iterator[PlaneTree]:
        return (planes.changed(node, *plane) for plane in self._candidates(planes, node))

    def _keeps_strips(self, planes: PlaneTree, node: int) -> bool:
        """Whether the planes at and below a node have empty strips; others did not change."""
        X, depth = self.goal.points.X, self.goal.depth
        leaf = planes.descend(X)
        for below in range(node, 2**depth):
            top = below >> max(0, below.bit_length() - node.bit_length())
            if top != node or not planes.weights[below].any():
                continue
            rows = np.concatenate(node_sides(leaf, below, depth))
            scores = X[rows] @ planes.weights[below] + planes.offsets[below]
            left, right = scores[scores < 0], scores[scores >= 0]
            if not len(left) or not len(right) or right.min() - left.max() < self.goal.epsilon:
                return False
        return True

    def _candidates(self, planes: PlaneTree, node: int) -> Iterator[Plane]:
        rows, gains = side_gains(self.goal.points, planes, node)
        yield np.zeros(planes.weights.shape[1]), 1.0 if gains.sum() > 0 else -1.0
        if not (gains > 0).any() or not (gains < 0).any():
            return
        X = self.goal.points.X[rows]
        yield from self._single(X, gains)
        weights, offset = planes.weights[node], float(planes.offsets[node])
        if weights.any():
            yield from self._neighbours(X, gains, weights, offset)

    def _single(self, X: FloatArray, gains: FloatArray) -> Iterator[Plane]:
        found: list[tuple[float, int, float, float]] = []
        for j in self.columns:
            for sign in (1.0, -1.0):
                offset, gain = best_step(sign * X[:, j], np.ones(len(X)), gains, self._strip)
                found.append((gain, j, sign, offset))
        for gain, j, sign, offset in sorted(found, key=lambda f: -f[0])[:3]:
            if np.isfinite(gain):
                yield sign * np.eye(X.shape[1])[j], offset

    def _neighbours(
        self, X: FloatArray, gains: FloatArray, weights: FloatArray, offset: float
    ) -> Iterator[Plane]:
        used = np.flatnonzero(weights)
        scores = X @ weights + offset
        steps: list[tuple[float, int, float]] = []
        for j in self.columns:
            step, gain = best_step(scores, X[:, j] - X[:, j].mean(), gains)
            steps.append((gain, j, step))
        for _, j, step in sorted(steps, key=lambda s: -s[0])[:3]:
            yield from self._shifted(X, gains, weights + step * np.eye(len(weights))[j])
        if len(used) > 1:
            for j in used:
                kept = weights.copy()
                kept[j] = 0.0
                yield from self._shifted(X, gains, kept)
            inner, _ = improve_plane(X[:, used], weights[used], offset, gains, self.rng, 1)
            moved = np.zeros(len(weights))
            moved[used] = inner
            yield from self._shifted(X, gains, moved)

    def _shifted(self, X: FloatArray, gains: FloatArray, weights: FloatArray) -> Iterator[Plane]:
        """The plane with these weights and the best strip of the width asked for."""
        size = np.abs(weights).sum()
        if size <= 0:
            return
        offset, gain = shift_into_gap(X, weights / size, gains, self._strip)
        if np.isfinite(gain):
            yield weights / size, offset
