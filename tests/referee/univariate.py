"""Least cost of any tree on binary columns: every set of literals, no bounds.

A node of a tree is the set of literals (column, value) on its path, whatever their order.  All
sets of up to ``depth`` literals are written down, and the table "least errors with at most so many
leaves" is filled from the largest sets to the empty one.  Nothing is pruned.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, product

import numpy as np


@dataclass(frozen=True, eq=False)
class ErrorTable:
    """Least weight misclassified; infinite where there is no such tree.

    Parameters
    ----------
    by_leaves : numpy.ndarray
        With at most L leaves, shape ``(2**depth + 1,)``.
    by_root : numpy.ndarray
        The same with every column at the root, shape ``(n_columns, 2**depth + 1)``.
    total : float
        Weight of all rows.
    """

    by_leaves: np.ndarray
    by_root: np.ndarray
    total: float


def error_table(
    X: np.ndarray,
    y: np.ndarray,
    depth: int,
    weights: np.ndarray | None = None,
    smallest_leaf: int = 1,
    allowed: np.ndarray | None = None,
    counts: np.ndarray | None = None,
    costs: np.ndarray | None = None,
) -> ErrorTable:
    """Fill the table for rows on binary columns.

    Parameters
    ----------
    X : numpy.ndarray
        Zeros and ones, shape ``(n_rows, n_columns)``.
    y : numpy.ndarray
        Class indices, shape ``(n_rows,)``.
    depth : int
        Most splits on a path.
    weights : numpy.ndarray or None
        Weight of every row in the errors; ones by default.
    smallest_leaf : int
        Rows, whatever their weight, that every leaf needs; no leaf is empty.
    allowed : numpy.ndarray or None
        Columns that may be tested, bool of shape ``(n_columns,)``.
    counts : numpy.ndarray or None
        How many rows a row stands for in a leaf; ones by default.
    costs : numpy.ndarray or None
        What every answer costs where a class is true, shape ``(n_classes, n_answers)``; 1 for every
        wrong class by default.
    """
    n, p = X.shape
    w = np.ones(n) if weights is None else np.asarray(weights, float)
    counts = np.ones(n) if counts is None else np.asarray(counts, float)
    columns = np.arange(p) if allowed is None else np.flatnonzero(allowed)
    X = np.asarray(X)[:, columns].astype(bool)
    depth_used = min(depth, len(columns))
    costs = 1.0 - np.eye(int(y.max()) + 1) if costs is None else costs
    of_rows = w[:, None] * costs[y]
    literals = np.concatenate([~X.T, X.T])  # (2 columns, n): value 0 first
    sets, children = literal_sets(len(columns), depth_used)
    below: np.ndarray | None = None
    roots = np.full((p, 2**depth + 1), np.inf)
    for size in range(depth_used, -1, -1):
        rows = np.ones((len(sets[size]), n), bool)
        for position in range(size):
            rows &= literals[sets[size][:, position]]
        table = _leaf_table(rows, of_rows, depth_used - size)
        table[rows @ counts < max(1, smallest_leaf), 1] = np.inf
        if below is not None:
            by_column = _split_table(below, children[size])
            if size == 0:
                roots[columns, : by_column.shape[2]] = by_column[0]
            table = np.minimum(table, by_column.min(axis=1))
        below = np.minimum.accumulate(table, axis=1)
    assert below is not None
    found = np.full(2**depth + 1, np.inf)
    found[: below.shape[1]] = below[0]
    found[1:] = np.minimum.accumulate(found[1:])
    return ErrorTable(found, np.minimum.accumulate(roots, axis=1), float(w.sum()))


def _leaf_table(rows: np.ndarray, of_rows: np.ndarray, levels: int) -> np.ndarray:
    """Cost of a single leaf, for every set of rows; shape ``(n_sets, 2**levels + 1)``."""
    table = np.full((len(rows), 2**levels + 1), np.inf)
    table[:, 1] = (rows.astype(float) @ of_rows).min(axis=1)
    return table


def _split_table(below: np.ndarray, children: np.ndarray) -> np.ndarray:
    """Errors of the best split on every column; shape ``(n_sets, n_columns, leaves)``."""
    half = below.shape[1] - 1
    left, right = below[children[:, :, 0]], below[children[:, :, 1]]
    table = np.full((*children.shape[:2], 2 * half + 1), np.inf)
    for leaves in range(1, half + 1):
        part = table[:, :, leaves + 1 : leaves + half + 1]
        np.minimum(part, left[:, :, leaves : leaves + 1] + right[:, :, 1:], out=part)
    table[children[:, :, 0] < 0] = np.inf
    return table


@lru_cache(maxsize=256)
def literal_sets(n_columns: int, depth: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """All sets of up to `depth` literals on different columns, by size, and their children.

    A literal is ``column + n_columns * value``.  ``children[size][s, f, v]`` is the position of
    the set s with the literal (f, v) added, or -1 where s has column f already.
    """
    sets = []
    for size in range(depth + 1):
        found = [
            tuple(f + n_columns * v for f, v in zip(chosen, values, strict=True))
            for chosen in combinations(range(n_columns), size)
            for values in product((0, 1), repeat=size)
        ]
        sets.append(np.array(found, dtype=np.int64).reshape(len(found), size))
    children = []
    for size in range(depth):
        position = {frozenset(s.tolist()): i for i, s in enumerate(sets[size + 1])}
        table = np.full((len(sets[size]), n_columns, 2), -1)
        for i, members in enumerate(sets[size].tolist()):
            used = {member % n_columns for member in members}
            for f in set(range(n_columns)) - used:
                for v in (0, 1):
                    table[i, f, v] = position[frozenset([*members, f + n_columns * v])]
        children.append(table)
    return sets, children
