"""Search for trees of 1-norm support vector machines in the true objective of SVM1-ODT.

A tree pays for errors, for margins that rows lack on their way and for the norms of its planes.
With everything else in place a row has a cost on either side of a node, the difference is what it
gains on its better side, and linear programs with soft margins at several prices make planes to
try, the plane at hand one more.  What counts is the true cost after routing and after the exact
plane for the rows as routed.  Trees of a descent (see `descent`), random ones and changes of the
best one are climbed.

References
----------
Zhu, Murali, Phan, Nguyen, Kalagnanam, "A scalable MIP-based method for learning optimal
multivariate decision trees": the objective, equation (1a).
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from octcore.numerics.margin_lp import MarginPrices, clear_plane, margin_plane, soft_planes
from octcore.warmstart.descent import Descent
from octcore.warmstart.goal import GAIN, Goal, LocalSearch, Plane, climb
from octcore.warmstart.points import (
    FloatArray,
    IntArray,
    PlaneTree,
    leaf_counts,
    leaf_labels,
    node_sides,
)

SOFTNESS = (0.03, 0.1, 0.3, 1.0)
"""Price of a margin's width, as shares of what a row gains on its better side."""
DESCENDED_SHARE = 0.5  # share of the starts that come from a descent
STALLED = 60  # restarts without a better tree that end the search


@dataclass(frozen=True, eq=False)
class MarginGoal(Goal):
    """Points and prices; an error costs 1.  Columns lie in [0, 1]."""

    prices: MarginPrices
    distance: float
    """How far behind ``h.x = g`` a row goes right: planes of trees are ``(h, -g - distance)``."""

    def value(self, planes: PlaneTree) -> float:
        """What a tree costs less than nothing."""
        points, depth = self.points, self.depth
        leaf = planes.descend(points.X)
        errors = points.total - leaf_counts(points, leaf, depth).max(axis=1).sum()
        paid = sum(self.margins(planes, leaf >> up).sum() for up in range(1, depth + 1))
        return -float(errors + paid + self.prices.norm * np.abs(planes.weights).sum())

    def margins(self, planes: PlaneTree, node: IntArray, some: Any = ...) -> FloatArray:
        """What points pay for margin that they lack at a node each; all points, or some."""
        X, counts = self.points.X[some], self.points.counts[some]
        score = np.einsum("ij,ij->i", X, planes.weights[node]) + planes.offsets[node]
        lacking = np.maximum(0.0, self.prices.margin - np.abs(score + self.distance))
        paid = self.prices.missing * counts.sum(axis=1) * lacking
        return np.where(planes.splitting[node], paid, 0.0)


class MarginSearch(LocalSearch):
    """Finds trees of small cost."""

    def __init__(self, goal: MarginGoal) -> None:
        super().__init__(goal)
        self.goal, self.points = goal, goal.points
        gap = 2 * goal.prices.margin / goal.prices.big_m
        self._descent = Descent(self.points, goal.depth, 2**goal.depth - 1, gap, self.rng)
        self._descended: list[PlaneTree] = []

    def search(self, starts: Sequence[PlaneTree], seconds: float) -> Iterator[PlaneTree]:
        """Yield ever better trees for some seconds; the best one comes again now and then."""
        deadline, waiting = time.perf_counter() + seconds, list(starts)

        def once() -> bool:
            start = waiting.pop(0) if waiting else self._start(deadline)
            return self.keep(self.improve(start, deadline))

        yield from self.restarts(once, deadline, STALLED, -GAIN)

    def improve(self, planes: PlaneTree, deadline: float) -> PlaneTree:
        """Refit node after node until a pass gains nothing."""
        return climb(self.goal, planes, self._trials, deadline)

    def _trials(self, planes: PlaneTree, node: int) -> Iterator[PlaneTree]:
        """Trees with the same planes elsewhere."""
        goal, points = self.goal, self.points
        leaf = planes.descend(points.X)
        here = np.concatenate(node_sides(leaf, node, goal.depth))
        if len(here) < 2:
            yield planes.changed(node, 0.0, -1.0)
            return
        labels = leaf_labels(leaf_counts(points, leaf, goal.depth), goal.depth)
        norm = goal.prices.norm * float(np.abs(planes.weights[node]).sum())
        cost = float(self._to_go(planes, labels, node, here).sum()) + norm
        left, right = (self._to_go(planes, labels, 2 * node + side, here) for side in (0, 1))
        yield planes.changed(node, 0.0, 1.0 if right.sum() < left.sum() else -1.0)
        seen: set[bytes] = set()
        at_hand = planes.weights[node], float(planes.offsets[node])
        for plane in (at_hand, *self._soft_planes(here, left - right)):
            goes_right = points.X[here] @ plane[0] + plane[1] >= 0
            routing = goes_right.tobytes()
            if goes_right.all() or not goes_right.any() or routing in seen:
                continue
            seen.add(routing)
            # Its own margins and norm come on top, so that the others are no gain.
            worthwhile = float(np.where(goes_right, right, left).sum()) < cost - GAIN
            exact = self._exact(here, plane) if worthwhile else None
            if exact is not None:
                yield planes.changed(node, *exact)

    def _to_go(self, planes: PlaneTree, labels: IntArray, node: int, some: IntArray) -> FloatArray:
        """Cost of points from a node on, norms aside."""
        goal, counts = self.goal, self.points.counts[some]
        leaf = planes.descend(self.points.X[some], node)
        cost = counts.sum(axis=1) - counts[np.arange(len(some)), labels[leaf]]
        for up in range(1, goal.depth - node.bit_length() + 2):
            cost += goal.margins(planes, leaf >> up, some)
        return cost

    def _soft_planes(self, here: IntArray, gain: FloatArray) -> Iterator[Plane]:
        """Planes of soft programs for what points gain on the right."""
        wants = np.flatnonzero(np.abs(gain) > GAIN)
        goes_right = gain[wants] > 0
        if goes_right.any() and not goes_right.all():
            yield from self._soft(here[wants], goes_right, np.abs(gain[wants]), SOFTNESS)

    def _soft(
        self, some: IntArray, goes_right: np.ndarray, worth: FloatArray, softness: Sequence[float]
    ) -> Iterator[Plane]:
        prices = self.goal.prices
        costs = worth / prices.margin
        for found in soft_planes(self.points.X[some], goes_right, costs, softness, prices):
            if found is not None and np.abs(found[0]).sum() > 0:
                yield found[0], -found[1] - self.goal.distance

    def _exact(self, here: IntArray, plane: Plane) -> Plane | None:
        """Plane of least margin cost and norm for the sides of another one.

        Where none keeps right-goers far enough, for sides with a gap between them; None if there
        is no such plane either.
        """
        goal, points = self.goal, self.points
        X, others = points.X[here], np.delete(points.X, here, axis=0)
        first = plane[0], -plane[1] - goal.distance
        shifted: Plane | None = first
        while shifted is not None:
            right = X @ shifted[0] - shifted[1] - goal.distance >= 0
            if not right.any() or right.all():
                return None
            held = points.counts[here].sum(axis=1)
            weights = held[~right], held[right]
            found = margin_plane(X[~right], X[right], weights, others, goal.prices)
            if found is not None or shifted is not first:
                return None if found is None else (found[0], -found[1] - goal.distance)
            shifted = clear_plane(first, X, others, goal.prices)
        return None

    def made_exact(self, planes: PlaneTree) -> PlaneTree:
        """Tree with the best planes for the routing of another one, from the root on."""
        made, depth = planes.copy(), self.goal.depth
        for node in np.flatnonzero(planes.splitting).tolist():
            here = np.concatenate(node_sides(made.descend(self.points.X), node, depth))
            plane = planes.weights[node], float(planes.offsets[node])
            right = (self.points.X[here] @ plane[0] + plane[1] >= 0).mean() if len(here) else 0.0
            made.set(node, *(self._exact(here, plane) or (0.0, 1.0 if right > 0.5 else -1.0)))
        return made

    def _start(self, deadline: float) -> PlaneTree:
        """Return a descended tree, a random one, or the best one with a part of it drawn again."""
        if self.rng.random() < DESCENDED_SHARE:
            self._descended = self._descended or self._descent.trees(deadline)
            if self._descended:
                return self.made_exact(self._descended.pop())
        if self.best is None or self.rng.random() < 0.5:
            return self._drawn(PlaneTree.empty(self.goal.depth, self.points.X.shape[1]), 1)
        return self._drawn(self.best.copy(), int(self.rng.integers(1, 2**self.goal.depth)))

    def _drawn(self, planes: PlaneTree, top: int) -> PlaneTree:
        """Draw the planes at and below a node: a soft plane between two classes, on some rows."""
        for node in range(top, 2**self.goal.depth):
            if node >> (node.bit_length() - top.bit_length()) == top:
                leaf = planes.descend(self.points.X)
                here = np.concatenate(node_sides(leaf, node, self.goal.depth))
                planes.set(node, *(self._random_plane(here) or (0.0, -1.0)))
        return planes

    def _random_plane(self, here: IntArray) -> Plane | None:
        """Soft plane that parts two classes on points near two random ones of them."""
        X, counts, rng = self.points.X, self.points.counts, self.rng
        present = np.flatnonzero(counts[here].sum(axis=0) > 0)
        if len(present) < 2:
            return None
        chosen, worth = [], []
        for k in rng.choice(present, 2, replace=False):
            own = here[counts[here, k] > 0]
            distance = np.abs(X[own] - X[rng.choice(own)]).sum(axis=1)
            share = rng.choice((0.25, 0.5, 1.0))
            chosen.append(own[np.argsort(distance)[: max(1, int(share * len(own)))]])
            worth.append(counts[chosen[-1], k])
        some = np.concatenate(chosen)
        goes_right = np.arange(len(some)) >= len(chosen[0])
        softness = (float(rng.choice(SOFTNESS)),)
        return next(self._soft(some, goes_right, np.concatenate(worth), softness), None)
