"""Trees with few columns, beside plain enumeration of the ways to part the rows."""

from collections.abc import Callable
from functools import cache
from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import linprog

from octcore.search.assignment.few_columns import NONE, sparse_rows, trees_within

STRIP = 0.04
N, P, K = 6, 2, 3

pytestmark = pytest.mark.long  # kernels are compiled that other tests do without


def _has_strip(left: np.ndarray, right: np.ndarray) -> bool:
    """Whether a plane of 1-norm 1 keeps all rows at the distance STRIP."""
    p = left.shape[1]
    if p == 1:
        return max(right.min() - left.max(), left.min() - right.max()) >= 2 * STRIP * (1 - 1e-9)
    rows = np.vstack([np.hstack([left, -left]), -np.hstack([right, -right])])
    sign = np.concatenate([-np.ones(len(left)), np.ones(len(right))])[:, None]
    program = np.hstack([rows, sign])
    bounds = [(0, None)] * (2 * p) + [(None, None)]
    cost = np.append(np.ones(2 * p), 0.0)
    found = linprog(cost, A_ub=program, b_ub=-np.ones(len(rows)), bounds=bounds)
    return found.status == 0 and found.fun <= (1 + 1e-7) / STRIP


def _least_errors(X: np.ndarray, y: np.ndarray, ways: list[tuple[int, int, int]]) -> float:
    """Least errors of a tree of two levels over all ways to part the rows of every node."""

    @cache
    def parts(rows: tuple[int, ...], size: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
        found = []
        for mask in range(2 ** len(rows)):
            left = tuple(i for k, i in enumerate(rows) if mask >> k & 1)
            right = tuple(i for k, i in enumerate(rows) if not mask >> k & 1)
            columns = combinations(range(P), min(size, P))
            at = (X[list(left)], X[list(right)])
            if not left or not right or any(_has_strip(*(a[:, c] for a in at)) for c in columns):
                found.append((left, right))
        return found

    def errors(rows: tuple[int, ...]) -> float:
        return len(rows) - np.bincount(y[list(rows)], minlength=K).max() if rows else 0.0

    def child(rows: tuple[int, ...], size: int) -> float:
        if size == 0:
            return errors(rows)
        return min(errors(left) + errors(right) for left, right in parts(rows, size))

    every: Callable[..., float] = child
    return min(
        every(left, b) + every(right, c)
        for a, b, c in ways
        for left, right in parts(tuple(range(N)), a)
    )


@pytest.mark.parametrize(
    ("seed", "ways"), [(0, [(1, 1, 0), (1, 0, 1), (2, 0, 0)]), (8, [(1, 0, 0)])]
)
def test_least_errors_of_few_columns_are_those_of_all_splits(
    seed: int, ways: list[tuple[int, int, int]]
) -> None:
    rng = np.random.default_rng(seed)
    X, y = np.round(rng.random((N, P)), 1), np.arange(N) % K
    least = _least_errors(X, y, ways)
    rows = sparse_rows(X, y, np.ones(N), K, STRIP)
    columns = sum(ways[0])
    below = [status for _, status, _ in trees_within(rows, columns, 2, least)]
    assert all(status == NONE for status in below)
    *_, (_, status, _) = trees_within(rows, columns, 2, least + 0.5)
    assert status != NONE
