"""Polishing of oblique trees: other planes for a routing that is given."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from octcore.numerics.hulls import Gap, widest_gap
from octcore.tree.tree import Split, Tree


def fewest_features(tree: Tree, X: np.ndarray, epsilon: float) -> Tree:
    """Same routing, fewer features: backward elimination at every split by the widest-gap LP.

    A split whose sides are not `epsilon` apart keeps its plane.

    Parameters
    ----------
    epsilon : float
        Width of the empty strip that every split must keep, for weights of 1-norm 1.
    """
    rows = tree.node_rows(X)
    splits = dict(tree.splits)
    for node, split in tree.splits.items():
        left, right = X[rows[2 * node]], X[rows[2 * node + 1]]
        if len(split.weights) > 1 and len(left) and len(right):
            left, right = np.unique(left, axis=0), np.unique(right, axis=0)
            found = _eliminate(left, right, np.array(split.features), epsilon)
            if found is not None:
                columns, gap = found
                weights = np.zeros(X.shape[1])
                weights[columns] = gap.weights
                splits[node] = Split.on_plane(weights, -(gap.low + gap.high) / 2)
    return replace(tree, splits=splits)


def _eliminate(
    left: np.ndarray, right: np.ndarray, columns: np.ndarray, epsilon: float
) -> tuple[np.ndarray, Gap] | None:
    """Drop features of small weight, many at a time first, as long as the gap stays."""
    best = _gap_on(left, right, columns, epsilon)
    if best is None:
        return None
    needed: set[int] = set()
    block = max(1, len(columns) // 2)
    while True:
        columns, gap = best
        order = [int(columns[k]) for k in np.argsort(np.abs(gap.weights))]
        free = [j for j in order if j not in needed]
        if not free or len(columns) == 1:
            return best
        block = min(block, len(free), len(columns) - 1)
        smaller = _gap_on(left, right, np.setdiff1d(columns, free[:block]), epsilon)
        if smaller is not None:
            best = smaller
        elif block > 1:
            block //= 2
        else:
            needed.add(free[0])


def _gap_on(
    left: np.ndarray, right: np.ndarray, columns: np.ndarray, epsilon: float
) -> tuple[np.ndarray, Gap] | None:
    gap = widest_gap(left[:, columns], right[:, columns])
    if gap is None or gap.width < epsilon:
        return None
    used = np.abs(gap.weights) > 0
    return columns[used], Gap(gap.weights[used], gap.low, gap.high)
