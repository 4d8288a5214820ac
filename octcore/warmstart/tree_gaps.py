"""Trees whose splits leave gaps: the widest where they suffice, else the best empty strips."""

from collections.abc import Iterator

import numpy as np

from octcore.numerics.hulls import Gap, soft_margin_plane, widest_gap
from octcore.program import ENDLESS
from octcore.warmstart.goal import Plane, TreeGoal, climb, side_gains
from octcore.warmstart.plane_search import improve_strip, shift_into_gap
from octcore.warmstart.points import FloatArray, IntArray, PlaneTree, node_sides

SOFT_MARGIN_SIZE = 20_000
"""Largest points x features for which the soft-margin LP is worth its time."""
STRIP_STEPS, POLISH_STEPS = 100, 400
"""Random steps of a plane that must leave a gap: while it is repaired, and while it is improved."""
MOST_AXES = 64  # coordinates tried as directions of a strip: sparse weights have the widest gaps
GAP_SLACK = 1e-3  # relative: gaps are differences of scores computed with a solver's tolerance


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
