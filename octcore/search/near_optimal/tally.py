"""Counts by a number, in kernels: a table that is searched by the number's hash."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from octcore.kernels import inner

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


def make_tally():
    """An empty table."""
    return Tally(np.full(FIRST_SIZE, -1), np.zeros(FIRST_SIZE), np.zeros(1, np.int64))


new_tally = inner()(make_tally)


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
