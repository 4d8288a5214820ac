"""What is alike: things by their keys, and which rows agree in all columns."""

import functools
from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Key = TypeVar("Key")
Value = TypeVar("Value")
HASH_CELLS = 2**18  # cells that are hashed at once, so that the memory for it stays small


def grouped(pairs: Iterable[tuple[Key, Value]]) -> dict[Key, list[Value]]:
    """Values by key, in the order in which they come."""
    found: dict[Key, list[Value]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return found


def distinct_rows(
    X: npt.NDArray[Any], y: npt.NDArray[np.integer] | None = None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Group rows that agree in all columns, and in the whole numbers `y` if they are given.

    Returned are the position of the first row of every group, ascending, shape ``(n_groups,)``, and
    the group of every row, shape ``(n_samples,)``.  Bits are packed first, which is many times
    faster.
    """
    is_bits = X.dtype == np.uint8 and X.shape[1] > 0 and (not X.size or X.max() <= 1)
    cells = np.packbits(X, axis=1).T if is_bits else X.T
    if cells.dtype.kind == "f":
        cells = cells.astype(np.float64, copy=False)
    group = groups_of(cells if y is None else np.vstack([y, cells]))
    _, first, group_of = np.unique(group, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[group_of]


@functools.lru_cache(maxsize=4)
def factors_of(n: int, below: int) -> npt.NDArray[np.int64]:
    """Random factors of a hash; drawing them takes longer than a small search."""
    return np.random.default_rng(0).integers(1, below, n)


def groups_of(cells: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Group of every row by a hash of its cells, ``(n_columns, n_rows)``; equal rows share it."""
    n_columns, n = cells.shape
    group = np.zeros(n, np.int64)
    if not n_columns:
        return group
    factors = factors_of(n_columns, 2**63).astype(np.uint64) | np.uint64(1)
    key, step = np.zeros(n, np.uint64), max(1, HASH_CELLS // max(1, n))
    for h in range(0, n_columns, step):
        part = cells[h : h + step]
        # The two zeros are equal; numbers are told apart by all their bits, which are mixed.
        bits = (part + 0.0).view(np.uint64) if part.dtype == np.float64 else part.astype(np.uint64)
        bits ^= bits >> np.uint64(32)
        bits *= factors[h : h + step, None]
        key += bits.sum(axis=0)
    by_key = np.argsort(key)
    a, b = by_key[:-1], by_key[1:]
    is_same = key[a] == key[b]
    if is_same.any() and (cells[:, a[is_same]] != cells[:, b[is_same]]).any():
        by_key = np.lexsort(cells)  # different rows of one hash
        a, b = by_key[:-1], by_key[1:]
        is_same = (cells[:, a] == cells[:, b]).all(axis=0)
    group[b] = np.cumsum(~is_same)
    return group
