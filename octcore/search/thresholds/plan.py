"""From the plan of the kernels to nested splits: the last splits are found again here.

A plan holds ``column, rank, leaves left, leaves right`` by node (numbered as a heap).  Where it has
no column, the rows get a leaf or a single split, whichever is better.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from octcore.search.thresholds.problem import ThresholdProblem
from octcore.search.thresholds.table import Table

Nested = tuple[int, int, "Nested", "Nested"] | int
"""``(column, rank, left, right)``: ranks up to this one go left; or the label of a leaf."""


class _Asked(Protocol):
    @property
    def problem(self) -> ThresholdProblem: ...
    @property
    def price(self) -> float: ...
    @property
    def slack(self) -> float: ...
    @property
    def roots(self) -> np.ndarray | None: ...


def grow(plan: np.ndarray, table: Table, asked: _Asked) -> Nested:
    """Nested splits of a plan of shape ``(n_nodes, 4)``."""
    every = np.ones(len(table.y), bool)
    return _grow(plan, 1, every, asked.problem.leaf_limit, table, asked)


def _grow(
    plan: np.ndarray, node: int, inside: np.ndarray, leaves: int, table: Table, asked: _Asked
) -> Nested:
    if node >= len(plan) or plan[node, 0] < 0:
        return _leaf_or_split(inside, leaves, table, asked, forced=node == 1)
    column, rank = int(plan[node, 0]), int(plan[node, 1])
    left = table.rank[column] <= rank
    return (
        column,
        rank,
        _grow(plan, 2 * node, inside & left, int(plan[node, 2]), table, asked),
        _grow(plan, 2 * node + 1, inside & ~left, int(plan[node, 3]), table, asked),
    )


def _leaf_or_split(
    inside: np.ndarray, leaves: int, table: Table, asked: _Asked, forced: bool
) -> Nested:
    """The best leaf or single split; on ties the leaf, then the first column and threshold."""
    n_classes = asked.problem.n_classes
    rows = np.flatnonzero(inside)
    counts = np.bincount(table.y[rows], table.weight[rows], n_classes)
    label = int(counts.argmax())
    roots = asked.roots if forced else None
    best = float(counts.sum() - counts.max()) + asked.price if roots is None else np.inf
    found: Nested = label
    # A split beats a leaf only if it saves more than the price of one more leaf.
    if leaves < 2 or (roots is None and best <= 2 * asked.price + asked.slack):
        return found
    for column in np.arange(len(table.rank)) if roots is None else np.flatnonzero(roots):
        split = _best_split(int(column), rows, table, n_classes, asked.problem.smallest_leaf)
        if split is not None and split[0] + 2 * asked.price < best - asked.slack:
            best = split[0] + 2 * asked.price
            found = (int(column), split[1], split[2], split[3])
    return found


def _best_split(
    column: int, rows: np.ndarray, table: Table, n_classes: int, smallest: int
) -> tuple[float, int, int, int] | None:
    """Errors, rank and labels of the best split of one column; None if none leaves enough rows."""
    rank, counts = table.rank[column, rows], np.zeros((len(table.values[column]), n_classes))
    np.add.at(counts, (rank, table.y[rows]), table.weight[rows])
    size = np.bincount(rank, table.count[rows], len(table.values[column]))
    left = counts.cumsum(axis=0)
    right = left[-1] - left
    passed = size.cumsum()
    fits = (size > 0) & (passed >= smallest) & (passed[-1] - passed >= smallest)
    if not fits.any():
        return None
    wrong = left.sum(axis=1) - left.max(axis=1) + right.sum(axis=1) - right.max(axis=1)
    place = int(np.argmin(np.where(fits, wrong, np.inf)))
    return float(wrong[place]), place, int(left[place].argmax()), int(right[place].argmax())
