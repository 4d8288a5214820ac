"""Branching and rounding for models that route points to labelled leaves."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from octcore.formulations.shared.oblique import Starts
from octcore.program import Child, Point
from octcore.tree.tree import Tree
from octcore.warmstart.points import IntArray

FRACTIONAL = 1e-6


@dataclass(frozen=True, eq=False)
class LabelsThenRouting:
    """Decide the labels of the leaves first, then the way of points, from the root down.

    Fixed labels are what makes the relaxation say anything: without them every point is correct by
    halves in two leaves.
    """

    labels: Any
    """Indexed by leaf and class."""
    routing: Any
    """Indexed by point and node, nodes 2 .. 2**(depth + 1) - 1."""
    n_points: int
    leaves: range
    tension: Callable[[Point], Mapping[int, np.ndarray]]
    """``point -> {node: (n_points,)}``: how much deciding a point at a branch node decides."""

    def __call__(self, point: Point, lower: np.ndarray, upper: np.ndarray) -> list[Child]:
        """Children of a node, the most likely first; none when nothing is fractional."""
        columns = point.columns.of(self.labels).reshape(len(self.leaves), -1)
        free = lower[columns].max(axis=1) < 0.5
        if free.any():
            # One child per class that the most undecided leaf may still have.
            values = np.where(free[:, None], point.x[columns], np.inf)
            here = columns[int(values.max(axis=1).argmin())]
            ranked = here[np.argsort(-point.x[here], kind="stable")]
            one = np.ones(1)
            return [(column, one, one) for column in ranked[upper[ranked] > 0.5][:, None]]
        return self._routing_children(point, lower, upper)

    def _routing_children(self, point: Point, lower: np.ndarray, upper: np.ndarray) -> list[Child]:
        columns = point.columns.of(self.routing).reshape(self.n_points, -1)
        fraction = np.minimum(point.x[columns], 1.0 - point.x[columns])
        tension = self.tension(point)
        at_child = [tension[t // 2] for t in range(2, self.leaves.stop)]
        worth = fraction * np.column_stack(at_child)
        node = 2
        while node < self.leaves.stop:  # level by level
            level = fraction[:, node - 2 : 2 * node - 2]
            if level.max() > FRACTIONAL:
                decisive = worth[:, node - 2 : 2 * node - 2] * (level > 0.5 * level.max())
                best = int(decisive.argmax())
                i, t = np.unravel_index(best, level.shape)
                column = columns[i, node - 2 + t]
                one = np.array([column])
                up = (one, np.ones(1), upper[one])
                down = (one, lower[one], np.zeros(1))
                return [up, down] if point.x[column] > 0.5 else [down, up]
            node *= 2
        return []


class SearchRounding:
    """Primal heuristic: the search of the starts goes on, fed by points of the relaxation.

    `leaves`: leaf of every data point at a point of the relaxation.
    """

    SHARE = 0.5
    """Share of the time since the first call that the heuristic may take."""
    SLICE_SECONDS, LONGEST_SECONDS = 0.3, 3.0
    """Time of one call: what its share allows, but between these."""

    def __init__(self, starts: Starts, leaves: Callable[[Point], IntArray]) -> None:
        self.starts, self.leaves = starts, leaves
        self._first: float | None = None
        self._spent = 0.0
        self._is_rounding = False
        self._seen: set[bytes] = set()

    def __call__(self, point: Point) -> Tree | None:
        """Return a new best tree, or None."""
        now = time.perf_counter()
        self._first = now if self._first is None else self._first
        allowed = self.SHARE * (now - self._first) + 0.1 - self._spent
        if allowed < 0:
            return None
        search, leaf = self.starts, self.leaves(point)
        deadline = now + min(max(allowed, self.SLICE_SECONDS), self.LONGEST_SECONDS)
        better, key = False, leaf.tobytes()
        # By turns: points of the relaxation come without end, and restarts find what they do not.
        self._is_rounding = not self._is_rounding
        if self._is_rounding and key not in self._seen:
            self._seen.add(key)
            better = search.improve(leaf, deadline)
        while not better and not search.is_perfect and time.perf_counter() < deadline:
            better = search.restart(deadline)
        self._spent += time.perf_counter() - now
        return search.best_tree() if better else None
