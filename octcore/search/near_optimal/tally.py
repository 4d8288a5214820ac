"""Counts by a number, in kernels: a table that is searched by the number's hash."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from octcore.kernels import inner, kernel

FIRST_SIZE = 1 << 10
FACTOR = 0x1E3779B97F4A7C15
"""Odd, and without a pattern: the upper bits of its multiples tell neighbours apart."""


class Tally(NamedTuple):
    """Amounts by key.

    key : (2^k,) int64, -1 where the place is free
    amount : (2^k,) float64
    used : (1,) int64, how many places are taken
    """

    key: np.ndarray
    amount: np.ndarray
    used: np.ndarray


@inner()
def new_tally():
    """An empty table."""
    return Tally(np.full(FIRST_SIZE, -1), np.zeros(FIRST_SIZE), np.zeros(1, np.int64))


@inner()
def add(tally, key, amount):
    """Add an amount to that of a key, 0 or more; the table must be `ample`."""
    last = len(tally.key) - 1
    place = ((key * np.int64(FACTOR)) >> 20) & last
    while tally.key[place] != key:
        if tally.key[place] < 0:
            tally.key[place] = key
            tally.used[0] += 1
            break
        place = (place + 1) & last
    tally.amount[place] += amount


@inner()
def ample(tally, more):
    """The table, or a larger one with its entries, if another `more` keys would fill half of it."""
    size = len(tally.key)
    if 2 * (tally.used[0] + more) <= size:
        return tally
    while 2 * (tally.used[0] + more) > size:
        size *= 2
    larger = Tally(np.full(size, -1), np.zeros(size), np.zeros(1, np.int64))
    for place in range(len(tally.key)):
        if tally.key[place] >= 0:
            add(larger, tally.key[place], tally.amount[place])
    return larger


class Entries(NamedTuple):
    """Trees of a node by shape and errors, ascending in cost; see `join`."""

    shape: np.ndarray
    errors: np.ndarray
    leaves: np.ndarray
    cost: np.ndarray
    count: np.ndarray  # pyright: ignore[reportIncompatibleMethodOverride]


@kernel()
def join(tally, top, many, left, right, budget, values, of_errors, n_shapes, gains_below):
    """Count the trees with thresholds of one column at the top by shape and errors.

    Parameters
    ----------
    tally : Tally
        Trees by ``((top * n_shapes + left) * n_shapes + right) * n_errors + number of errors``.
    top, many : int
        The column, and how many thresholds.
    left, right : Entries
        Of the sides; errors by number.
    budget : int
        Largest scaled cost.
    values, of_errors : ndarray
        Errors by number, and number by errors.
    gains_below : int
        Trees of two leaves must have fewer errors.

    Returns
    -------
    Tally
    """
    n_errors = len(values)
    for a in range(len(left.cost)):
        tally = ample(tally, len(right.cost))
        for b in range(len(right.cost)):
            if left.cost[a] + right.cost[b] > budget:
                break
            errors = values[left.errors[a]] + values[right.errors[b]]
            if left.leaves[a] + right.leaves[b] == 2 and errors >= gains_below:
                continue
            shape = (top * n_shapes + left.shape[a]) * n_shapes + right.shape[b]
            key = shape * n_errors + of_errors[errors]
            add(tally, key, many * left.count[a] * right.count[b])
    return tally


@kernel()
def empty_tally():
    """An empty table, for callers that are not compiled."""
    return new_tally()
