"""Best oblique trees by enumeration of all partitions; written apart from the package."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import cache

import numpy as np
from scipy.optimize import linprog

Rows = tuple[int, ...]


def best_cost(
    n: int,
    depth: int,
    leaf_cost: Callable[[Rows], float],
    split_cost: Callable[[Rows, Rows], float],
) -> float:
    """Least cost of a tree; infinite costs are not allowed partitions or leaves."""

    @cache
    def split(left: Rows, right: Rows) -> float:
        return split_cost(left, right)

    @cache
    def cost(rows: Rows, levels: int) -> float:
        best = leaf_cost(rows)
        if levels == 0:
            return best
        for sides in itertools.product((0, 1), repeat=len(rows)):
            left = tuple(i for i, s in zip(rows, sides, strict=True) if s == 0)
            right = tuple(i for i, s in zip(rows, sides, strict=True) if s == 1)
            if not left or not right:
                continue
            below = cost(left, levels - 1) + cost(right, levels - 1)
            if below < best:
                best = min(best, below + split(left, right))
        return best

    return cost(tuple(range(n)), depth)


def errors(y: np.ndarray) -> Callable[[Rows], float]:
    """Rows outside the majority of a leaf."""
    return lambda rows: float(len(rows) - np.bincount(y[list(rows)]).max())


def gap(left: np.ndarray, right: np.ndarray) -> float:
    """Widest strip between two sets for weights of 1-norm 1 at most (negative: none)."""
    p = left.shape[1]
    # columns: a+, a-, b, width; a.left + width <= b, a.right >= b
    A = np.vstack(
        [
            np.column_stack([left, -left, -np.ones(len(left)), np.ones(len(left))]),
            np.column_stack([-right, right, np.ones(len(right)), np.zeros(len(right))]),
            np.append(np.ones(2 * p), [0, 0])[None, :],
        ]
    )
    limits = np.append(np.zeros(len(left) + len(right)), 1.0)
    bounds = [(0, 1)] * (2 * p) + [(None, None)] * 2
    found = linprog(np.append(np.zeros(2 * p + 1), -1.0), A, limits, bounds=bounds)
    return -float(found.fun)


def fewest_features(left: np.ndarray, right: np.ndarray, width: float) -> float:
    """Smallest number of columns on which two sets are so far apart; infinite if never."""
    columns = range(left.shape[1])
    for size in range(1, left.shape[1] + 1):
        for chosen in itertools.combinations(columns, size):
            if gap(left[:, list(chosen)], right[:, list(chosen)]) >= width - 1e-9:
                return float(size)
    return np.inf


def margin_cost(
    left: np.ndarray,
    right: np.ndarray,
    others: np.ndarray,
    alpha1: float,
    alpha2: float,
    epsilon: float,
    distance: float,
    big_m: float = 1.0,
) -> float:
    """Missing margins and 1-norm of the best plane ``h.x <= g`` between two sets."""
    p, n = left.shape[1], len(left) + len(right)
    everything = np.vstack([left, right, others])
    score = np.column_stack([-everything, everything, np.ones(len(everything))])
    score = np.column_stack([score, np.zeros((len(everything), n))])
    own = np.vstack([score[: len(left)], -score[len(left) : n]])
    margin = own.copy()
    margin[:, 2 * p + 1 :] += np.eye(n)
    low = np.append(np.zeros(len(left)), np.full(len(right), distance))
    A = np.vstack([-own, -margin, score, -score])
    limits = np.concatenate([-low, np.full(n, -epsilon), np.full(2 * len(everything), big_m)])
    cost = np.concatenate([np.full(2 * p, alpha2), [0.0], np.full(n, alpha1)])
    bounds = [(0, None)] * (2 * p) + [(None, None)] + [(0, None)] * n
    found = linprog(cost, A, limits, bounds=bounds)
    return float(found.fun) if found.status == 0 else np.inf
