"""Inequalities of SVM1-ODT on classes: class-transversal cuts and their class-size corollaries.

With at most one row per class in I, a leaf classifies at most one of them correctly::

    sum_{i in I} c_i >= sum_{i in I} e_il - 1
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyomo.environ as pyo

from octcore.formulations.shared.rows import MergedRows
from octcore.numerics.linear import sparse_rows
from octcore.program import Cuts, Point, SearchState

VIOLATION = 1e-6
"""A cut that is violated by less is not worth a row."""


class ClassTransversalCuts:
    """Separates class-transversal cuts of single leaves exactly.

    `c`, `e`: ``c[i]``, row i is wrong; ``e[i, leaf]``, row i ends at leaf l.
    """

    kind = "class-transversal"

    def __init__(self, rows: MergedRows, c: Any, e: Any, n_classes: int, n_leaves: int) -> None:
        self.rows, self.c, self.e = rows, c, e
        self.n_classes, self.n_leaves = n_classes, n_leaves

    def separate(self, point: Point, state: SearchState) -> list[Cuts]:
        """Per leaf and class take the row with the largest ``e_il - c_i``, if positive."""
        n = len(self.rows)
        c, e = point.array(self.c), point.table(self.e, n, self.n_leaves)
        at_c, at_e = point.columns.of(self.c), point.columns.of(self.e).reshape(n, self.n_leaves)
        of_class = [np.flatnonzero(self.rows.y == k) for k in range(self.n_classes)]
        found: list[tuple[list[int], list[float]]] = []
        for leaf in range(self.n_leaves):
            worth = e[:, leaf] - c
            best = [int(rows[worth[rows].argmax()]) for rows in of_class if len(rows)]
            chosen = [i for i in best if worth[i] > 0]
            if sum(worth[i] for i in chosen) > 1 + VIOLATION:
                columns = [*(int(at_e[i, leaf]) for i in chosen), *(int(at_c[i]) for i in chosen)]
                found.append((columns, [1.0] * len(chosen) + [-1.0] * len(chosen)))
        if not found:
            return []
        columns, values = zip(*found, strict=True)
        matrix = sparse_rows(columns, point.columns.n_columns, values)
        return [Cuts(self.kind, matrix, np.ones(len(found)))]


def add_class_size_rows(
    model: Any, rows: MergedRows, n_classes: int, leaves: Sequence[int]
) -> None:
    """Add the corollaries for all rows; sizes are weights, s_1 the smallest, s_Y the largest."""
    c, e, weights = model.c, model.e, [float(w) for w in rows.weights]
    sizes = sorted(np.bincount(rows.y, rows.weights, n_classes))
    spare = n_classes - len(leaves)
    wrong = pyo.quicksum(w * c[i] for i, w in enumerate(weights))

    def inside(leaf: int) -> Any:
        return pyo.quicksum(w * e[i, leaf] for i, w in enumerate(weights))

    model.largest_class = pyo.Constraint(
        leaves,
        rule=lambda _, leaf: wrong >= inside(leaf) - float(sizes[-1]),
        doc="(proposition 1) a leaf gets no more right than the largest class",
    )
    if spare >= 0:
        model.smallest_class = pyo.Constraint(
            leaves,
            rule=lambda _, leaf: wrong + inside(leaf) >= float(sizes[0]) * (spare + 1),
            doc="(proposition 1) the other leaves leave Y - 2^D + 1 classes without a leaf",
        )
    if spare > 0:
        model.classes_without_leaf = pyo.Constraint(
            expr=wrong >= float(sum(sizes[:spare])),
            doc="(proposition 1) Y - 2^D classes have no leaf",
        )
