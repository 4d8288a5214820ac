"""First trees for oblique formulations: greedy SVM trees, alternating re-assignment, restarts.

After the greedy trees, the alternating search improves one plane at a time against the labels that
the rest of the tree gives, and starts again from perturbed and random trees.  All of it optimises
correct rows minus a price per split over trees whose node gaps reach epsilon.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from sklearn.svm import LinearSVC

from octcore.numerics.hulls import Gap, soft_margin_plane, widest_gap
from octcore.tree.tree import Tree
from octcore.warmstart.plane_search import improve_plane, improve_strip, shift_into_gap
from octcore.warmstart.points import (
    FloatArray,
    IntArray,
    PlaneTree,
    centred_planes,
    leaf_counts,
    leaf_labels,
    node_sides,
    to_tree,
)
from octcore.warmstart.svm_greedy import GreedySvmTrees, Plane, TreeGoal, fit_machine

CRITERIA = ("error", "gini", "entropy")
REFIT_PENALTIES = (1.0, 100.0, 1e4)
SOFT_MARGIN_SIZE = 20_000
"""Largest points x features for which the soft-margin LP is worth its time."""
STRIP_STEPS = 100
POLISH_STEPS = 400
"""Random steps of a plane that must leave a gap: while it is repaired, and while it is improved."""
POLISH_SECONDS = 1.0
MOST_AXES = 64
"""Coordinates tried as directions of a strip: sparse weights have the widest gaps."""
SLICE_SECONDS = 1.0
"""Longest time of one restart."""
HEARTBEAT_SECONDS = 0.25
"""The caller of the starts hears from them at least that often, if restarts are short."""
STALLED_RESTARTS = 60
"""Restarts without a better tree after which the search of the starts ends."""
GAP_SLACK = 1e-3
"""Relative: gaps are differences of scores computed with a solver's tolerance."""


class TreeSearch:
    """Greedy trees, alternating re-assignment and restarts, resumable in slices of time.

    Parameters
    ----------
    goal : TreeGoal
        What to maximise.

    Attributes
    ----------
    best : PlaneTree or None
        Best tree so far whose gaps reach epsilon.
    best_value : float
        Its value.
    thin_value : float
        Best value of any tree seen, whatever its gaps.
    """

    def __init__(self, goal: TreeGoal) -> None:
        self.goal = goal
        self.rng = np.random.default_rng(goal.seed)
        self.best: PlaneTree | None = None
        self.best_value = self.thin_value = -np.inf
        self.ceiling = goal.points.conflict_bound
        self._count = 0

    @property
    def is_perfect(self) -> bool:
        """Whether the conflict bound is attained without a price of splits."""
        return self.goal.split_price == 0 and self.best_value >= self.ceiling - 1e-9

    def trees(self, seconds: float) -> Iterator[tuple[str, Tree]]:
        """Yield trees for `seconds`: greedy ones, improved ones, then restarts.

        The best tree may come again, so that the caller can look at its clock between restarts.
        """
        deadline = time.perf_counter() + seconds
        greedy = GreedySvmTrees(self.goal)
        grown: list[PlaneTree] = []
        for criterion in CRITERIA:
            grown.append(greedy.grow(criterion))
            if self._settle(grown[-1]):
                yield f"greedy SVM tree ({criterion})", self.best_tree()
            if self.is_perfect or time.perf_counter() > deadline:
                return
        seen, stalled = time.perf_counter(), 0
        while time.perf_counter() < deadline and stalled < STALLED_RESTARTS and not self.is_perfect:
            limit = min(deadline, time.perf_counter() + SLICE_SECONDS)
            better = self._settle(self.alternate(grown.pop(0), limit)) if grown else False
            better = better or self.restart(limit)
            stalled = 0 if better else stalled + 1
            if better or (self.best is not None and time.perf_counter() - seen > HEARTBEAT_SECONDS):
                seen = time.perf_counter()
                yield "alternating search", self.best_tree()

    def best_tree(self) -> Tree:
        """Return the best tree so far."""
        assert self.best is not None
        return to_tree(self.goal.points, self.best)

    def restart(self, deadline: float) -> bool:
        """One restart; returns whether there is a new best tree."""
        self._count += 1
        start = self._perturbed() if self._count % 2 and self.best is not None else self._random()
        return self._settle(self.alternate(start, deadline))

    def improve(self, leaf: IntArray, deadline: float) -> bool:
        """Search from a routing; returns whether there is a new best tree."""
        return self._settle(self.alternate(self._planes_of(leaf), deadline))

    def repaired(self, leaf: IntArray) -> PlaneTree:
        """Tree near a routing that may not be realisable, with gaps that reach epsilon."""
        return self._with_gaps(self._without_idle_splits(self._planes_of(leaf)))

    def _planes_of(self, leaf: IntArray) -> PlaneTree:
        planes, gaps = centred_planes(self.goal.points, leaf, self.goal.depth)
        for node, gap in gaps.items():
            if gap is None:
                left, right = node_sides(leaf, node, self.goal.depth)
                planes.set(node, *self._soft_plane(left, right))
        return planes

    # -- alternating re-assignment -----------------------------------------------------------

    def alternate(self, planes: PlaneTree, deadline: float) -> PlaneTree:
        """Improve one plane at a time, deepest first, until a whole pass changes nothing."""
        goal, points = self.goal, self.goal.points
        planes = planes.copy()
        leaf = planes.descend(points.X)
        value, improved = goal.value(planes, leaf), True
        while improved and time.perf_counter() < deadline:
            improved = False
            for node in range(2**goal.depth - 1, 0, -1):
                rows, gains = self._gains(planes, leaf, node)
                if not len(rows):
                    continue
                for plane in self._node_planes(planes, node, rows, gains):
                    trial = planes.copy()
                    trial.set(node, *plane)
                    if int(trial.splitting.sum()) > goal.split_limit:
                        continue
                    trial_leaf = trial.descend(points.X)
                    trial_value = goal.value(trial, trial_leaf)
                    if trial_value > value + 1e-9:
                        planes, leaf, value, improved = trial, trial_leaf, trial_value, True
                if time.perf_counter() > deadline or value >= self.ceiling - 1e-9:
                    return planes
        return planes

    def _gains(self, planes: PlaneTree, leaf: IntArray, node: int) -> tuple[IntArray, FloatArray]:
        """Points at a node whose correctness depends on the side, and what right is worth."""
        points, depth = self.goal.points, self.goal.depth
        labels = leaf_labels(leaf_counts(points, leaf, depth), depth)
        here = np.concatenate(node_sides(leaf, node, depth))
        X, counts, at = points.X[here], points.counts[here], np.arange(len(here))
        left = counts[at, labels[planes.descend(X, 2 * node)]]
        right = counts[at, labels[planes.descend(X, 2 * node + 1)]]
        matters = np.abs(right - left) > 1e-12
        return here[matters], (right - left)[matters]

    def _node_planes(
        self, planes: PlaneTree, node: int, rows: IntArray, gains: FloatArray
    ) -> Iterator[Plane]:
        """Candidates for a node: no split, refitted machines, and exact steps from the best."""
        X, p = self.goal.points.X[rows], self.goal.points.X.shape[1]
        yield np.zeros(p), 1.0 if gains.sum() > 0 else -1.0
        if (gains > 0).all() or (gains < 0).all():
            return
        found = [(planes.weights[node], float(planes.offsets[node]))]
        for C in REFIT_PENALTIES:
            machine = LinearSVC(C=C, random_state=0, max_iter=300)
            fit_machine(machine, X, (gains > 0).astype(int), np.abs(gains))
            found.append(
                (
                    np.asarray(machine.coef_)[0],
                    float(np.atleast_1d(np.asarray(machine.intercept_))[0]),
                )
            )
        if X.size <= SOFT_MARGIN_SIZE:
            found.append(soft_margin_plane(X, gains > 0, np.abs(gains), self._largest_norm))
        worth = [float(gains[X @ w + b >= 0].sum()) for w, b in found]
        start = found[int(np.argmax(worth))]
        weights, offset, _ = improve_plane(X, *start, gains, self.rng)
        yield weights, offset

    @property
    def _largest_norm(self) -> float:
        return 2.0 / max(self.goal.epsilon, 1e-4)

    def _soft_plane(self, left: IntArray, right: IntArray) -> Plane:
        points = self.goal.points
        rows = np.concatenate([left, right])
        goes_right = np.arange(len(rows)) >= len(left)
        return soft_margin_plane(
            points.X[rows], goes_right, points.counts[rows].sum(axis=1), self._largest_norm
        )

    # -- restarts ----------------------------------------------------------------------------

    def _perturbed(self) -> PlaneTree:
        assert self.best is not None
        planes = self.best.copy()
        splitting = planes.splitting
        strength = self.rng.choice((0.05, 0.2, 0.5))
        for node in range(1, len(planes.offsets)):
            if splitting[node]:
                noise = self.rng.normal(size=planes.weights.shape[1])
                size = np.abs(planes.weights[node]).mean()
                point = self.goal.points.X[self.rng.integers(len(self.goal.points))]
                planes.weights[node] += strength * size * noise
                planes.offsets[node] -= strength * size * float(noise @ point)
            elif splitting.sum() < self.goal.split_limit:
                planes.set(node, *self._bisector(False))
                splitting = planes.splitting
        return planes

    def _random(self) -> PlaneTree:
        planes = PlaneTree.empty(self.goal.depth, self.goal.points.X.shape[1])
        sparse = bool(self.rng.integers(2))
        for node in range(1, self.goal.split_limit + 1):
            planes.set(node, *self._bisector(sparse))
        return planes

    def _bisector(self, sparse: bool) -> Plane:
        """Plane halfway between two random points, perhaps on a part of the features only."""
        X = self.goal.points.X
        first, second = X[self.rng.integers(len(X), size=2)]
        weights = first - second
        if sparse:
            weights = weights * (self.rng.random(len(weights)) < 0.5)
        return weights, -float(weights @ (first + second)) / 2

    # -- gaps --------------------------------------------------------------------------------

    def _settle(self, planes: PlaneTree) -> bool:
        """Centre the planes, repair thin gaps, and keep the tree if it is the best so far."""
        goal = self.goal
        planes = self._without_idle_splits(planes)
        leaf = planes.descend(goal.points.X)
        value = goal.value(planes, leaf)
        self.thin_value = max(self.thin_value, value)
        if value <= self.best_value + 1e-9:
            return False
        centred = self._with_gaps(planes)
        reached = goal.value(centred, centred.descend(goal.points.X))
        if reached < value - 1e-9:  # gaps cost something: try to win it back
            centred = self._polished(centred, time.perf_counter() + POLISH_SECONDS)
            reached = goal.value(centred, centred.descend(goal.points.X))
        value = reached
        if value <= self.best_value + 1e-9:
            return False
        self.best, self.best_value = centred, value
        return True

    def _without_idle_splits(self, planes: PlaneTree) -> PlaneTree:
        """Undo splits with an empty side, and those that are not worth their price."""
        goal = self.goal
        planes = planes.copy()
        for node in range(2**goal.depth - 1, 0, -1):
            leaf = planes.descend(goal.points.X)
            left, right = node_sides(leaf, node, goal.depth)
            if not len(left) or not len(right):
                planes.set(node, 0.0, 1.0 if len(right) else -1.0)
            elif goal.split_price > 0:
                for offset in (-1.0, 1.0):
                    trial = planes.copy()
                    trial.set(node, 0.0, offset)
                    trial_value = goal.value(trial, trial.descend(goal.points.X))
                    if trial_value >= goal.value(planes, planes.descend(goal.points.X)):
                        planes = trial
        return planes

    def _with_gaps(self, planes: PlaneTree) -> PlaneTree:
        """Top-down, give every node its widest gap, or the best strip of width epsilon."""
        goal, X = self.goal, self.goal.points.X
        planes = planes.copy()
        least = goal.epsilon * (1 - 0.5 * GAP_SLACK)
        for node in range(1, 2**goal.depth):
            if not planes.splitting[node]:
                continue
            leaf = planes.descend(X)
            left, right = node_sides(leaf, node, goal.depth)
            if not len(left) or not len(right):
                planes.set(node, 0.0, 1.0 if len(right) else -1.0)
                continue
            found = widest_gap(X[left], X[right])
            if found is not None and found.width >= least:
                planes.set(node, *found.unit_margin)
            else:
                planes.set(node, *self._strip(planes, leaf, node, found))
        return planes

    def _strip(self, planes: PlaneTree, leaf: IntArray, node: int, found: Gap | None) -> Plane:
        """Among some directions, the plane with an empty strip of width epsilon that gains most."""
        goal, X = self.goal, self.goal.points.X
        rows, gains = self._gains(planes, leaf, node)
        here = np.concatenate(node_sides(leaf, node, goal.depth))
        worth = np.zeros(len(X))
        worth[rows] = gains
        directions = [planes.weights[node]]
        if found is not None:
            directions.append(found.weights)
        mixed = (gains > 0).any() and (gains < 0).any()
        if mixed and X[rows].size <= SOFT_MARGIN_SIZE:
            directions.append(
                soft_margin_plane(X[rows], gains > 0, np.abs(gains), self._largest_norm)[0]
            )
        directions = [direction for direction in directions if direction.any()]
        directions += list(np.eye(X.shape[1])[:MOST_AXES])
        worths = [
            shift_into_gap(X[here], direction / np.abs(direction).sum(), worth[here], goal.epsilon)
            for direction in directions
        ]
        start = directions[int(np.argmax([value for _, value in worths]))]
        return self._strip_plane(here, start, worth[here], STRIP_STEPS)

    def _strip_plane(
        self, here: IntArray, start: FloatArray, worth: FloatArray, steps: int
    ) -> Plane:
        """Plane with scores of at least 1 in size, turned for gain while its strip stays empty."""
        X = self.goal.points.X[here]
        weights, offset, _ = improve_strip(X, start, worth, self.goal.epsilon, self.rng, steps)
        scale = 1.0 / np.abs(X @ weights + offset).min()
        return weights * scale, offset * scale

    def _polished(self, planes: PlaneTree, deadline: float) -> PlaneTree:
        """Improve a tree with gaps node by node, without ever closing a gap."""
        goal, X = self.goal, self.goal.points.X
        value, improved = goal.value(planes, planes.descend(X)), True
        while improved and time.perf_counter() < deadline:
            improved = False
            for node in range(2**goal.depth - 1, 0, -1):
                leaf = planes.descend(X)
                rows, gains = self._gains(planes, leaf, node)
                if not planes.splitting[node] or not len(rows):
                    continue
                worth = np.zeros(len(X))
                worth[rows] = gains
                here = np.concatenate(node_sides(leaf, node, goal.depth))
                trial = planes.copy()
                start = planes.weights[node]
                trial.set(node, *self._strip_plane(here, start, worth[here], POLISH_STEPS))
                trial = self._with_gaps(trial)
                trial_value = goal.value(trial, trial.descend(X))
                if trial_value > value + 1e-9:
                    planes, value, improved = trial, trial_value, True
        return planes
