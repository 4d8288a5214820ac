"""First trees for oblique formulations: descent, greedy SVM trees, alternating search, restarts.

Trees of a gradient descent (see `descent`) and greedy trees come first.  The alternating search
improves one plane at a time against the labels that the rest of the tree gives; soft trees (see
`soft_tree`) then trade errors for margins; and both start again from trees of new descents.  All
of it optimises correct rows minus a price per split over trees whose node gaps reach epsilon.
What each part buys stands in `octcore/bench/RESULTS.md`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from sklearn.svm import LinearSVC

from octcore.numerics.hulls import soft_margin_plane
from octcore.program import ENDLESS, Patience
from octcore.tree.tree import Tree
from octcore.warmstart.descent import LIKELIHOOD_SHARES, Descent
from octcore.warmstart.goal import GAIN, LocalSearch, Plane, TreeGoal, climb, side_gains
from octcore.warmstart.plane_search import improve_plane
from octcore.warmstart.points import (
    FloatArray,
    IntArray,
    PlaneTree,
    centred_planes,
    node_sides,
    soft_plane,
    to_tree,
)
from octcore.warmstart.soft_tree import SoftTrees
from octcore.warmstart.svm_greedy import GreedySvmTrees, fit_machine
from octcore.warmstart.tree_gaps import (
    SOFT_MARGIN_SIZE,
    GapRepair,
    largest_norm,
)

CRITERIA = ("error", "gini", "entropy")
REFIT_PENALTIES = (1.0, 100.0, 1e4)
POLISH_SECONDS = 1.0
SLICE_SECONDS = 1.0
"""Longest time of one restart."""
STALLED_RESTARTS = 200
"""Restarts without a better tree after which the search of the starts ends."""
DESCENDED = 8
"""Trees of a batch of the descent that are gone on with, the best ones."""


class TreeSearch(LocalSearch):
    """Descent, greedy trees, alternating search and restarts, resumable in slices of time.

    `best`: best tree so far whose gaps reach epsilon.
    `thin_value`: best value of any tree seen, whatever its gaps.
    """

    def __init__(self, goal: TreeGoal) -> None:
        super().__init__(goal)
        self.goal = goal
        self.thin_value = -np.inf
        self.ceiling = goal.points.conflict_bound
        self._norm = largest_norm(goal.epsilon)
        self._batches = 0
        self._patience = ENDLESS
        self._gaps = GapRepair(goal, self.rng)
        is_small = goal.points.X.size <= SOFT_MARGIN_SIZE
        self._soft = SoftTrees(goal) if is_small else None
        self._descent = Descent(goal.points, goal.depth, goal.split_limit, goal.epsilon, self.rng)
        self._descended: list[PlaneTree] = []

    @property
    def is_perfect(self) -> bool:
        """Whether the conflict bound is attained without a price of splits."""
        return self.goal.split_price == 0 and self.best_value >= self.ceiling - 1e-9

    def trees(self, seconds: float, patience: Patience = ENDLESS) -> Iterator[tuple[str, Tree]]:
        """Yield trees for `seconds`: descended and greedy ones, improved ones, then restarts.

        `patience`: whatever the search is asked for, then and later, takes no longer than it has.

        The best tree may come again, so that the caller can look at its clock between restarts.
        """
        self._patience = patience
        deadline = time.perf_counter() + patience.within(seconds)
        grown: list[PlaneTree] = []
        for k in range(max(len(LIKELIHOOD_SHARES), self.goal.depth - 1)):
            yield from self._descents(min(2 + k, self.goal.depth), deadline)
            if k == 0:
                yield from self._greedy_trees(grown, deadline)
            if self.is_perfect or time.perf_counter() > deadline:
                return

        def once() -> bool:
            limit = min(deadline, time.perf_counter() + SLICE_SECONDS)
            return self._search(grown.pop(0), limit) if grown else self.restart(limit)

        ceiling = self.ceiling - GAIN if self.goal.split_price == 0 else np.inf
        for _ in self.restarts(once, deadline, STALLED_RESTARTS, ceiling):
            yield "alternating search", self.best_tree()

    def _descents(self, levels: int, deadline: float) -> Iterator[tuple[str, Tree]]:
        """Trees of one batch of the descent; a good one whose gaps are thin is softened."""
        batch = self._let_descend(deadline, levels)
        self._descended += batch
        for planes in batch:
            if self._settle(planes, polish=False):
                yield "descent", self.best_tree()
            if self.is_perfect or time.perf_counter() > deadline:
                return
        if batch and self._note(batch[0]) > self.best_value + 1e-9:
            if self._search(batch[0], min(deadline, time.perf_counter() + SLICE_SECONDS)):
                yield "descent, softened", self.best_tree()

    def _greedy_trees(self, grown: list[PlaneTree], deadline: float) -> Iterator[tuple[str, Tree]]:
        """Greedy trees of all criteria, added to `grown`."""
        greedy = GreedySvmTrees(self.goal)
        for criterion in CRITERIA:
            if self.is_perfect or (grown and time.perf_counter() > deadline):
                return
            grown.append(greedy.grow(criterion))
            if self._settle(grown[-1]):
                yield f"greedy SVM tree ({criterion})", self.best_tree()

    def best_tree(self) -> Tree:
        """Return the best tree so far."""
        assert self.best is not None
        return to_tree(self.goal.points, self.best)

    def restart(self, deadline: float) -> bool:
        """Go on with a tree of the descent, or with a new batch; whether there is a new best."""
        if self._descended:
            return self._search(self._descended.pop(0), deadline)
        self._batches += 1
        levels = 2 + self._batches % max(1, self.goal.depth - 1)
        self._descended = self._let_descend(deadline, min(levels, self.goal.depth))
        return any([self._settle(planes, polish=False) for planes in self._descended])

    def _let_descend(self, deadline: float, levels: int) -> list[PlaneTree]:
        """Best trees of a new batch of the descent, the very best one first."""
        found = self._descent.trees(deadline, levels)
        return sorted(found, key=self._note, reverse=True)[:DESCENDED]

    def improve(self, leaf: IntArray, deadline: float) -> bool:
        """Search from a routing; returns whether there is a new best tree."""
        return self._search(self._planes_of(leaf), deadline)

    def _search(self, start: PlaneTree, deadline: float) -> bool:
        """Alternate from a start, then soften what comes out."""
        planes = climb(self.goal, start, self._trials, deadline, self.ceiling)
        if self._soft is None or time.perf_counter() > deadline:
            return self._settle(planes)
        self._note(planes)
        return self._settle(self._soft.settle(planes, deadline))

    def _note(self, planes: PlaneTree) -> float:
        """Remember the best value whatever the gaps; returns that of the tree."""
        value = self.goal.value(planes)
        self.thin_value = max(self.thin_value, value)
        return value

    def repaired(self, leaf: IntArray) -> PlaneTree:
        """Tree near a routing that may not be realisable, with gaps that reach epsilon."""
        return self._gaps.with_gaps(self._gaps.without_idle_splits(self._planes_of(leaf)))

    def _planes_of(self, leaf: IntArray) -> PlaneTree:
        planes, gaps = centred_planes(self.goal.points, leaf, self.goal.depth)
        for node, gap in gaps.items():
            if gap is None:
                left, right = node_sides(leaf, node, self.goal.depth)
                planes.set(node, *soft_plane(self.goal.points, left, right, self._norm))
        return planes

    # -- alternating re-assignment -----------------------------------------------------------

    def _trials(self, planes: PlaneTree, node: int) -> Iterator[PlaneTree]:
        """Trees with another plane, better against the labels that the rest of the tree gives."""
        rows, gains = side_gains(self.goal.points, planes, node)
        matters = gains != 0
        if matters.any():
            for plane in self._node_planes(planes, node, rows[matters], gains[matters]):
                yield planes.changed(node, *plane)

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
            found.append(soft_margin_plane(X, gains > 0, np.abs(gains), self._norm))
        worth = [float(gains[X @ w + b >= 0].sum()) for w, b in found]
        start = found[int(np.argmax(worth))]
        yield improve_plane(X, *start, gains, self.rng)

    def _settle(self, planes: PlaneTree, polish: bool = True) -> bool:
        """Centre the planes, repair thin gaps, and keep the tree if it is the best so far."""
        goal = self.goal
        planes = self._gaps.without_idle_splits(planes)
        value = self._note(planes)
        if value <= self.best_value + 1e-9:
            return False
        centred = self._gaps.with_gaps(planes)
        if polish and goal.value(centred) < value - GAIN:  # gaps cost something: win it back
            limit = time.perf_counter() + self._patience.within(POLISH_SECONDS)
            centred = self._gaps.polished(centred, limit)
        return self.keep(centred)
