"""Value rows: the exact value of every split of a node bounds what the node can gain.

At a node u of height three at most whose path is fixed, the best tree below u that starts with
feature g has an exact value V_g (two depth-two optima), and a leaf at u has a value too.  So ::

    sum_{rows of the path} theta - a * (leaves below u)
        <= sum_g V_g b[u, g] + V_leaf p[u] + M relax

holds for every tree.  With these rows depth three closes within a few nodes and depth four comes
down to an enumeration of root features.  They are ours; a proof that uses them rests on the
depth-two search as well as on the linear programs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from octcore.program import Cuts
from octcore.separation.path_bound import (
    TreePath,
    decided,
    open_relaxed,
    paths_along,
    relaxation_terms,
)
from octcore.separation.tree_rows import Instance, RowBuilder, TreeLayout, TreePoint

REACH = 3
"""Height up to which values are exact: one split above two depth-two subtrees."""


@dataclass(frozen=True, eq=False)
class ValueRows:
    """Writes the value row of every node that the search has come to."""

    layout: TreeLayout
    instance: Instance
    values: Callable[[np.ndarray, int], np.ndarray]
    """``(mask, height) -> array`` of the best value with every feature at the root of a subtree of
    that height on the hits of a boolean mask."""
    penalty: float
    """Price of a leaf on the scale of the weights."""
    _done: set[tuple[tuple[int, int, int], ...]] = field(default_factory=set)
    kind = "value-row"
    DECIDED = 0.9
    """Mass of a feature above which its path counts as chosen."""

    def separate(self, point: TreePoint) -> list[Cuts]:
        """Return the rows of all paths that a point has chosen and that have none yet."""
        return self._along(lambda m: np.flatnonzero(point.branch[m - 1] > self.DECIDED))

    def decided(self, upper: np.ndarray) -> list[Cuts]:
        """Return the rows of all paths that upper bounds (flat order) leave no choice about."""
        return self._along(lambda m: decided(self.layout, m, upper))

    def _along(self, features: Callable[[int], Iterable[int]]) -> list[Cuts]:
        builder = RowBuilder(self.layout)
        for path in paths_along(self.layout, self.instance, REACH, features):
            is_new = path.steps not in self._done and path.rows.any()
            if self.layout.height(path.end) <= REACH and is_new:
                self._done.add(path.steps)
                self._write(builder, path)
        return builder.finish(self.kind, None)

    def _write(self, builder: RowBuilder, path: TreePath) -> None:
        layout, weight, m = self.layout, self.instance.weight, path.end
        hits = np.flatnonzero(path.rows)
        height = layout.height(m)
        tally = np.bincount(self.instance.target[hits], weight[hits])
        leaf = float(tally.max()) - self.penalty
        values = self.values(path.rows, height) if height else np.zeros(0)
        total = float(weight[hits].sum())
        # Where the path is not taken the left side is at most the weight of the rows, and the
        # values on the right side may be negative.
        big = total - min(0.0, leaf, float(values.min(initial=0.0)))
        row = open_relaxed(builder, 0.0, big, relaxation_terms(path, layout, height))
        builder.add(row, layout.hit(hits), weight[hits])
        builder.add(row, layout.leaf(layout.below(m)), -self.penalty)
        if height:
            builder.add(row, layout.branch(m, np.arange(layout.n_features)), -values)
        builder.add(row, layout.leaf(m), -leaf)
        best = max(leaf, float(values.max(initial=-np.inf)))
        builder.pictures.append({**path.picture(self.instance), "best_value": best})
