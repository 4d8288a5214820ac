"""The cheapest tree by trying every partition of the rows at every node."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np

Rows = tuple[int, ...]


def equal_rows(X: np.ndarray) -> list[Rows]:
    """Rows that no plane tells apart, which therefore travel together."""
    inverse = np.unique(X, axis=0, return_inverse=True)[1].ravel()
    return [tuple(np.flatnonzero(inverse == g).tolist()) for g in range(inverse.max() + 1)]


def cheapest_tree(
    groups: list[Rows],
    depth: int,
    leaf_cost: Callable[[Rows, int], float],
    split_cost: Callable[[Rows, Rows], float],
    most_splits: int | None = None,
    one_sided: bool = False,
) -> float:
    """Least cost of a tree; costs are not negative, infinite where something is not allowed.

    Parameters
    ----------
    groups : list of tuple of int
        Rows that travel together.
    depth : int
        Levels of splits.
    leaf_cost : callable
        ``(rows, levels left) -> cost`` of stopping here.
    split_cost : callable
        ``(left, right) -> cost`` of the split alone.
    most_splits : int or None
        Limit on the number of splits.
    one_sided : bool
        Whether a split may send all rows to one side.
    """
    numbered = dict(enumerate(groups))
    splits: dict[tuple[Rows, Rows], float] = {}
    memo: dict[tuple[Rows, int, int], float] = {}

    def members(chosen: Rows) -> Rows:
        return tuple(sorted(i for g in chosen for i in numbered[g]))

    def split(left: Rows, right: Rows) -> float:
        if (left, right) not in splits:
            splits[left, right] = split_cost(members(left), members(right))
        return splits[left, right]

    def cost(chosen: Rows, levels: int, budget: int) -> float:
        key = (chosen, levels, budget)
        if key in memo:
            return memo[key]
        best = leaf_cost(members(chosen), levels)
        if levels and budget and chosen:
            candidates = []
            for sides in itertools.product((0, 1), repeat=len(chosen)):
                left = tuple(g for g, s in zip(chosen, sides, strict=True) if not s)
                right = tuple(g for g, s in zip(chosen, sides, strict=True) if s)
                if not one_sided and not (left and right):
                    continue
                shares = [(budget, budget)]
                if most_splits is not None:
                    shares = [(b, budget - 1 - b) for b in range(budget)]
                below = min(
                    cost(left, levels - 1, first) + cost(right, levels - 1, second)
                    for first, second in shares
                )
                candidates.append((below, left, right))
            for below, left, right in sorted(candidates):
                if below >= best:
                    break
                best = min(best, below + split(left, right))
        memo[key] = best
        return best

    return cost(tuple(numbered), depth, 2**depth if most_splits is None else most_splits)
