"""Probing with path bounds: what every split of the next node can still gain.

Once the bounds of a search node decide a path from the root to a node u of height three, a split g
of u extends it to two paths whose path bounds are known.  So nothing below u gains more than ::

    V_g = v(rows of the path, g = 0) + v(rows of the path, g = 1)

with v the value of the best subtree of depth two, and one equation says that u takes one of these
splits or is a leaf.  Probing tries them one by one as a solver probes the binaries of such an
equation: splits that cannot improve on the best tree are fixed at zero, and the best of the others
bounds what the part below u gains.  The parts below different nodes share no row of the data, so
their bounds add up.  No row is written; the branching on u does the same one linear program each.

References
----------
Savelsbergh, "Preprocessing and probing techniques for mixed integer programming problems", 1994.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from octcore.separation.path_bound import TreePath, decided, paths_along
from octcore.separation.tree_rows import Instance, TreeLayout

REACH = 3
"""Height of the nodes that are probed: one split above two subtrees of depth two."""


@dataclass(frozen=True, eq=False)
class Part:
    """A subtree that the bounds leave open, and what its first decision can gain."""

    node: int
    features: np.ndarray
    """Splits that are allowed at its root."""
    values: np.ndarray
    """What is gained at most with each of them."""
    otherwise: float
    """What is gained at most without a split of `features`."""

    @property
    def best(self) -> float:
        """What is gained at most."""
        return max(self.otherwise, float(self.values.max(initial=-np.inf)))


@dataclass(frozen=True, eq=False)
class PathProbe:
    """Probes the nodes whose path is decided."""

    layout: TreeLayout
    instance: Instance
    value: Callable[[np.ndarray], float]
    """That of the best subtree of depth two on the hits of a boolean mask."""
    penalty: float
    """Price of a leaf on the scale of the weights."""

    def __call__(self, upper: np.ndarray, needed: float) -> tuple[float, np.ndarray]:
        """Bound the value of all trees that upper bounds (flat order) allow.

        Returns the bound, infinite while the root is undecided, and the flat positions of splits
        that no tree takes whose value is larger than `needed`.
        """
        if not decided(self.layout, 1, upper):
            return np.inf, np.zeros(0, np.int64)
        parts = self._parts(upper)
        bound = sum(part.best for part in parts)
        if not np.isfinite(bound):
            return -np.inf, np.zeros(0, np.int64)
        refused = [
            self.layout.branch(part.node, part.features[bound - part.best + part.values <= needed])
            for part in parts
        ]
        return bound, np.concatenate(refused)

    def _parts(self, upper: np.ndarray) -> list[Part]:
        def only(node: int) -> list[int]:
            return decided(self.layout, node, upper)

        return [
            self._part(path, upper)
            for path in paths_along(self.layout, self.instance, REACH, only)
            if self.layout.height(path.end) <= REACH or not only(path.end)
        ]

    def _part(self, path: TreePath, upper: np.ndarray) -> Part:
        layout, rows, none = self.layout, path.rows, np.zeros(0, np.int64)
        height = layout.height(path.end)
        if height < REACH:
            return Part(path.end, none, np.zeros(0), self.value(rows))
        tally = np.bincount(self.instance.target[rows], self.instance.weight[rows])
        if height > REACH:
            return Part(path.end, none, np.zeros(0), float(tally.sum()) - self.penalty)
        start = layout.branch(path.end, 0)
        features = np.flatnonzero(upper[start : start + layout.n_features] > 0.5)
        right = self.instance.is_one[:, features].T
        values = np.array([self.value(rows & ~one) + self.value(rows & one) for one in right])
        leaf = -np.inf
        if upper[layout.leaf(path.end)] > 0.5:
            leaf = float(tally.max(initial=0.0)) - self.penalty
        return Part(path.end, features, values, leaf)
