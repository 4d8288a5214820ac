"""From the plan of the kernels to nested splits: the last splits are found again here.

A plan holds ``column, rank, leaves left, leaves right`` by node (numbered as a heap).  Where it has
no column, the rows get a leaf or a single split, whichever is better.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from octcore.search.thresholds.depth_two import INFINITE, NO_ROOT, Terms, depth_two
from octcore.search.thresholds.rows import Rows, restrict

Nested = tuple[int, int, "Nested", "Nested"] | int
"""``(column, rank, left, right)``: ranks up to this one go left; or the label of a leaf."""


@dataclass(frozen=True)
class Grower:
    """Makes nested splits of the plans of one search.

    Parameters
    ----------
    rows : Rows
        All rows.
    terms : Terms
        Price and number of classes.
    smallest : int
        Rows that every leaf must have.
    """

    rows: Rows
    terms: Terms
    smallest: int

    def grow(self, plan: np.ndarray, leaves: int) -> Nested:
        """Nested splits of a plan of shape ``(n_nodes, 4)`` with some leaves at most."""
        return self._grow(plan, 1, np.ones(len(self.rows.y), bool), leaves)

    def _grow(self, plan: np.ndarray, node: int, inside: np.ndarray, leaves: int) -> Nested:
        rows = self.rows
        counts = np.bincount(rows.y[inside], rows.weight[inside], self.terms.n_classes)
        label = int(counts.argmax())
        if node < len(plan) and plan[node, 0] >= 0:
            split = plan[node]
        else:
            # A split beats a leaf only if it saves more than the price of one more leaf.
            saved = float(counts.sum() - counts.max()) - self.terms.price
            if leaves < 2 or saved <= self.terms.slack:
                return label
            split = self._best_split(inside)
            if split[0] < 0:
                return label
        column, rank, left_leaves, right_leaves = (int(number) for number in split)
        left = rows.rank[column] <= rank
        return (
            column,
            rank,
            self._grow(plan, 2 * node, inside & left, left_leaves),
            self._grow(plan, 2 * node + 1, inside & ~left, right_leaves),
        )

    def _best_split(self, inside: np.ndarray) -> np.ndarray:
        """Column and rank of the best single split, as in a plan; column -1 for a leaf."""
        child = restrict(self.rows, inside.view(np.uint8), int(np.count_nonzero(inside)))
        found = np.full((2, 4), NO_ROOT, np.int32)
        roots, score = np.ones(len(child.sequence), np.uint8), np.empty(len(child.sequence))
        depth_two(child, self.terms, 2, self.smallest, INFINITE, roots, 1, score, found)
        return found[1]
