"""First trees for oblique formulations: descent, greedy SVM trees, alternating search, restarts.

Trees of a gradient descent (see `descent`) and greedy trees come first.  The alternating search
improves one plane at a time against the labels that the rest of the tree gives; soft trees then
trade errors for margins; and both start again from trees of new descents.  All of it optimises
correct rows minus a price per split over trees whose node gaps reach epsilon.
What each part buys stands in `octcore/bench/RESULTS.md`.
"""

import heapq
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from octcore.numerics.hulls import Gap, soft_margin_plane, widest_gap
from octcore.program import ENDLESS, Patience
from octcore.tree.tree import Tree
from octcore.warmstart.descent import LIKELIHOOD_SHARES, Descent
from octcore.warmstart.goal import GAIN, LocalSearch, Plane, TreeGoal, climb, side_gains
from octcore.warmstart.plane_search import improve_plane, improve_strip, shift_into_gap
from octcore.warmstart.points import (
    FloatArray,
    IntArray,
    PlaneTree,
    centred_planes,
    leaf_counts,
    leaf_labels,
    node_sides,
    soft_plane,
    to_tree,
)

SOFT_MARGIN_SIZE = 20_000
"""Largest points x features for which the soft-margin LP is worth its time."""
STRIP_STEPS, POLISH_STEPS = 100, 400
"""Random steps of a plane that must leave a gap: while it is repaired, and while it is improved."""
MOST_AXES = 64  # coordinates tried as directions of a strip: sparse weights have the widest gaps
GAP_SLACK = 1e-3  # relative: gaps are differences of scores computed with a solver's tolerance
CRITERIA = ("error", "gini", "entropy")
REFIT_PENALTIES = (1.0, 100.0, 1e4)
POLISH_SECONDS = 1.0  # effort only: for one tree whose gaps cost it rows
SLICE_SECONDS = 1.0  # longest time of one restart
STALLED_RESTARTS = 200  # restarts without a better tree after which the search of the starts ends
DESCENDED = 8  # trees of a batch of the descent that are gone on with, the best ones
PENALTIES = tuple(2.0**k for k in range(11))
"""C of the candidate support vector machines, as published."""
ROUNDS = 30  # turns of routing and planes of a soft tree
NORM_SLACK = 1e-4  # relative: gaps are to reach epsilon in spite of a solver's tolerance
TROUBLE = 1e-7  # cost that counts as none


def largest_norm(epsilon: float) -> float:
    """1-norm of weights with unit margins whose gap reaches epsilon; bounded for the solver."""
    return 2.0 / max(epsilon, 1e-4)


class GapRepair:
    """Gives the nodes of a tree gaps that reach epsilon, in the time that `patience` has."""

    def __init__(self, goal: TreeGoal, rng: np.random.Generator) -> None:
        self.goal, self.rng, self.patience = goal, rng, ENDLESS

    def without_idle_splits(self, planes: PlaneTree) -> PlaneTree:
        """Undo splits with an empty side, and those that are not worth their price."""
        goal = self.goal
        planes = planes.copy()
        for node in range(2**goal.depth - 1, 0, -1):
            left, right = node_sides(planes.descend(goal.points.X), node, goal.depth)
            if not len(left) or not len(right):
                planes.set(node, 0.0, 1.0 if len(right) else -1.0)
            elif goal.split_price > 0:
                for offset in (-1.0, 1.0):
                    trial = planes.changed(node, 0.0, offset)
                    if goal.value(trial) >= goal.value(planes):
                        planes = trial
        return planes

    def with_gaps(self, planes: PlaneTree) -> PlaneTree:
        """Top-down, give every node its widest gap, or the best strip of width epsilon."""
        goal, X = self.goal, self.goal.points.X
        planes = planes.copy()
        least = goal.epsilon * (1 - 0.5 * GAP_SLACK)
        for node in range(1, 2**goal.depth):
            if not planes.splitting[node]:
                continue
            left, right = node_sides(planes.descend(X), node, goal.depth)
            if not len(left) or not len(right):
                planes.set(node, 0.0, 1.0 if len(right) else -1.0)
                continue
            found = widest_gap(X[left], X[right], self.patience.left())
            if found is not None and found.width >= least:
                planes.set(node, *found.unit_margin)
            else:
                planes.set(node, *self._strip(planes, node, found))
        return planes

    def _strip(self, planes: PlaneTree, node: int, found: Gap | None) -> Plane:
        """Among some directions, the plane with an empty strip of width epsilon that gains most."""
        goal, X = self.goal, self.goal.points.X
        here, worth = side_gains(goal.points, planes, node)
        rows, gains = here[worth != 0], worth[worth != 0]
        directions = [planes.weights[node]]
        if found is not None:
            directions.append(found.weights)
        if (gains > 0).any() and (gains < 0).any() and X[rows].size <= SOFT_MARGIN_SIZE:
            directions.append(
                soft_margin_plane(X[rows], gains > 0, np.abs(gains), largest_norm(goal.epsilon))[0]
            )
        directions = [direction for direction in directions if direction.any()]
        directions += list(np.eye(X.shape[1])[:MOST_AXES])
        worths = [
            shift_into_gap(X[here], direction / np.abs(direction).sum(), worth, goal.epsilon)[1]
            for direction in directions
        ]
        return self._strip_plane(here, directions[int(np.argmax(worths))], worth, STRIP_STEPS)

    def _strip_plane(
        self, here: IntArray, start: FloatArray, worth: FloatArray, steps: int
    ) -> Plane:
        """Plane with scores of at least 1 in size, turned for gain while its strip stays empty."""
        X = self.goal.points.X[here]
        weights, offset = improve_strip(X, start, worth, self.goal.epsilon, self.rng, steps)
        scale = 1.0 / np.abs(X @ weights + offset).min()
        return weights * scale, offset * scale

    def polished(self, planes: PlaneTree, deadline: float) -> PlaneTree:
        """Improve a tree with gaps node by node, without ever closing a gap."""
        return climb(self.goal, planes, self._turned, deadline)

    def _turned(self, planes: PlaneTree, node: int) -> Iterator[PlaneTree]:
        here, worth = side_gains(self.goal.points, planes, node)
        if planes.splitting[node] and worth.any():
            plane = self._strip_plane(here, planes.weights[node], worth, POLISH_STEPS)
            yield self.with_gaps(planes.changed(node, *plane))


def svm_planes(X: FloatArray, counts: FloatArray, stop: Callable[[], bool]) -> list[Plane]:
    """Candidate planes of a node: one-vs-rest and one-vs-one linear machines for every C.

    `stop`: asked before every machine, as one of many rows and classes may take a second.
    """
    from sklearn.svm import SVC, LinearSVC  # lists of formulations do not need it

    at, label = np.nonzero(counts)
    weight = counts[at, label]
    found: list[Plane] = []
    for C in PENALTIES:
        for machine in (LinearSVC(C=C, random_state=0), SVC(C=C, kernel="linear", max_iter=1000)):
            if stop():
                return found
            found += machine_planes(machine, X[at], label, weight)
    return found


def machine_planes(machine: Any, X: FloatArray, label: IntArray, weight: FloatArray) -> list[Plane]:
    """Planes of a machine fitted to weighted points; one that stops early still has them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine.fit(X, label, sample_weight=weight / weight.mean())
    offsets = np.atleast_1d(np.asarray(machine.intercept_)).tolist()
    return list(zip(np.asarray(machine.coef_, float), offsets, strict=True))


def impurity(counts: FloatArray, criterion: str) -> float:
    """Weighted impurity of class weights; for "error" the weight outside the majority."""
    total = counts.sum()
    if total <= 0:
        return 0.0
    share = counts / total
    if criterion == "error":
        return float(total - counts.max())
    if criterion == "gini":
        return float(total * (1 - (share**2).sum()))
    share = share[share > 0]
    return float(-total * (share * np.log2(share)).sum())


class GreedySvmTrees:
    """Greedy trees by criterion, the warm start of S-OCT.

    Every split is one of the linear support vector machines of the node's rows, chosen by the
    errors, the Gini impurity or the entropy that it leaves.  The candidates of a node are computed
    once for all criteria.  Where `stop` says so, nodes have the candidates found until then.
    """

    def __init__(self, goal: TreeGoal, stop: Callable[[], bool] = ENDLESS) -> None:
        self.goal, self._stop = goal, stop
        self._candidates: dict[bytes, list[Plane]] = {}

    def grow(self, criterion: str) -> PlaneTree:
        """Grow best-first by the decrease of impurity until the limit of splits is reached."""
        goal, points = self.goal, self.goal.points
        planes = PlaneTree.empty(goal.depth, points.X.shape[1])
        queue: list[tuple[float, int, IntArray, Plane]] = []

        def offer(node: int, rows: IntArray) -> None:
            if node.bit_length() <= goal.depth:
                found = self._best_split(rows, criterion)
                if found is not None:
                    heapq.heappush(queue, (-found[0], node, rows, found[1]))

        offer(1, np.arange(len(points)))
        for _ in range(goal.split_limit):
            if not queue:
                break
            _, node, rows, plane = heapq.heappop(queue)
            planes.set(node, *plane)
            right = points.X[rows] @ plane[0] + plane[1] >= 0
            offer(2 * node, rows[~right])
            offer(2 * node + 1, rows[right])
        return planes

    def _best_split(self, rows: IntArray, criterion: str) -> tuple[float, Plane] | None:
        X, counts = self.goal.points.X[rows], self.goal.points.counts[rows]
        if np.count_nonzero(counts.sum(axis=0)) < 2 or len(rows) < 2:
            return None
        key = rows.tobytes()
        if key not in self._candidates:
            self._candidates[key] = svm_planes(X, counts, self._stop)
        before, best = impurity(counts.sum(axis=0), criterion), None
        for plane in self._candidates[key]:
            right = X @ plane[0] + plane[1] >= 0
            if right.all() or not right.any():
                continue
            after = sum(impurity(counts[side].sum(axis=0), criterion) for side in (right, ~right))
            if best is None or before - after > best[0] + GAIN:
                best = (before - after, plane)
        return best


class SoftTrees:
    """Trees of planes with slack: routing and planes by turns, each the best for the other.

    Planes have a 1-norm of 2 / epsilon at most and scores of -1 and 1 at the margins.  Every point
    pays for the margins it misses on its way (its slack, as in a support vector machine) and for a
    wrong label at its leaf.  Given the planes, the cheapest leaf of every point follows bottom-up;
    given the leaves, every plane is one linear program of its own.  Taking turns never raises the
    cost, and cost 0 means: no error, and all gaps reach epsilon.
    """

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
        cost[:, first:] = points.counts.max(axis=1)[:, None] - points.counts[:, labels[first:]]
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


class TreeSearch(LocalSearch):
    """Descent, greedy trees, alternating search and restarts, resumable in slices of time.

    `best`: best tree so far whose gaps reach epsilon.
    """

    def __init__(self, goal: TreeGoal) -> None:
        super().__init__(goal)
        self.goal = goal
        self.ceiling = goal.points.conflict_bound
        self._norm = largest_norm(goal.epsilon)
        self._batches = 0
        self._gaps = GapRepair(goal, self.rng)
        self._soft = SoftTrees(goal) if goal.points.X.size <= SOFT_MARGIN_SIZE else None
        self._descent = Descent(goal.points, goal.depth, goal.split_limit, goal.epsilon, self.rng)
        self._descended: list[PlaneTree] = []

    @property
    def is_perfect(self) -> bool:
        """Whether the conflict bound is attained without a price of splits."""
        return self.goal.split_price == 0 and self.best_value >= self.ceiling - GAIN

    def heed(self, patience: Patience) -> None:
        """Take no longer than it has for whatever is asked for from now on."""
        self._gaps.patience = patience

    def trees(self, seconds: float, patience: Patience = ENDLESS) -> Iterator[tuple[str, Tree]]:
        """Yield trees for `seconds`: descended and greedy ones, improved ones, then restarts.

        The best tree may come again, so that the caller can look at its clock between restarts.
        """
        self.heed(patience)
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
        if batch and self.goal.value(batch[0]) > self.best_value + GAIN:
            if self._search(batch[0], min(deadline, time.perf_counter() + SLICE_SECONDS)):
                yield "descent, softened", self.best_tree()

    def _greedy_trees(self, grown: list[PlaneTree], deadline: float) -> Iterator[tuple[str, Tree]]:
        """Greedy trees of all criteria, added to `grown`."""
        greedy = GreedySvmTrees(self.goal, self._gaps.patience)
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
        return sorted(found, key=self.goal.value, reverse=True)[:DESCENDED]

    def improve(self, leaf: IntArray, deadline: float) -> bool:
        """Search from a routing; returns whether there is a new best tree."""
        return self._search(self._planes_of(leaf), deadline)

    def _search(self, start: PlaneTree, deadline: float) -> bool:
        """Alternate from a start, then soften what comes out."""
        planes = climb(self.goal, start, self._trials, deadline, self.ceiling)
        if self._soft is None or time.perf_counter() > deadline:
            return self._settle(planes)
        return self._settle(self._soft.settle(planes, deadline))

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
        from sklearn.svm import LinearSVC

        X, p = self.goal.points.X[rows], self.goal.points.X.shape[1]
        yield np.zeros(p), 1.0 if gains.sum() > 0 else -1.0
        if (gains > 0).all() or (gains < 0).all():
            return
        found = [(planes.weights[node], float(planes.offsets[node]))]
        for C in REFIT_PENALTIES:
            machine = LinearSVC(C=C, random_state=0, max_iter=300)
            found += machine_planes(machine, X, (gains > 0).astype(int), np.abs(gains))
        if X.size <= SOFT_MARGIN_SIZE:
            found.append(soft_margin_plane(X, gains > 0, np.abs(gains), self._norm))
        start = found[int(np.argmax([float(gains[X @ w + b >= 0].sum()) for w, b in found]))]
        yield improve_plane(X, *start, gains, self.rng)

    def _settle(self, planes: PlaneTree, polish: bool = True) -> bool:
        """Centre the planes, repair thin gaps, and keep the tree if it is the best so far."""
        goal = self.goal
        planes = self._gaps.without_idle_splits(planes)
        value = goal.value(planes)
        if value <= self.best_value + GAIN:  # effort only: gaps seldom make it better
            return False
        centred = self._gaps.with_gaps(planes)
        if polish and goal.value(centred) < value - GAIN:  # gaps cost something: win it back
            limit = time.perf_counter() + self._gaps.patience.within(POLISH_SECONDS)
            centred = self._gaps.polished(centred, limit)
        return self.keep(centred)
