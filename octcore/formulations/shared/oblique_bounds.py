"""Bounds on the errors of any tree of planes, from counts alone: no model, no search."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


def unnamed_classes(shares: FloatArray, leaves: int) -> float:
    """Weight of the rows whose class no leaf can name, when there are fewer leaves than classes."""
    return float(np.sort(shares)[: max(0, len(shares) - leaves)].sum())


def best_stump_errors(X: FloatArray, y: NDArray[np.int64], weights: FloatArray) -> float:
    """Errors of the best tree with one split on one column."""
    table = np.zeros((len(y), int(y.max(initial=0)) + 1))
    table[np.arange(len(y)), y] = weights
    total = table.sum(axis=0)
    best = float(total.max(initial=0.0))
    for column in X.T:
        order = np.argsort(column, kind="stable")
        below = np.cumsum(table[order], axis=0)
        cut = np.append(np.diff(column[order]) > 0, False)
        if cut.any():
            right = below[cut].max(axis=1) + (total - below[cut]).max(axis=1)
            best = max(best, float(right.max()))
    return float(weights.sum()) - best


def priced_bound(
    shares: FloatArray,
    least_errors: float,
    stump_errors: float,
    price: float,
    max_splits: int,
) -> float:
    """Least errors plus price of the features, over the number of features in splits.

    With k features there are at most k splits and k + 1 leaves, and with one feature it is a stump;
    beyond as many features as splits only the price grows.

    `least_errors`: errors that identical rows of different classes make unavoidable.
    `stump_errors`: errors of the best tree with one split on one column.
    `price`: of a feature in a split, in errors.
    """
    best = unnamed_classes(shares, 1)
    for k in range(1, max(max_splits, 2) + 1 if max_splits > 0 else 1):
        errors = max(least_errors, unnamed_classes(shares, min(k, max_splits) + 1))
        if k == 1:
            errors = max(errors, stump_errors)
        best = min(best, errors + price * k)
    return best
