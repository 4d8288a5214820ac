"""What is alike: things by their keys, and which rows agree in all columns."""

from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Key = TypeVar("Key")
Value = TypeVar("Value")


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
    keys = np.packbits(X, axis=1) if is_bits else X
    if y is not None:
        beside = y.astype("<i8").view(np.uint8).reshape(len(y), 8) if is_bits else y
        keys = np.column_stack([beside, keys])
    if is_bits:
        keys = np.ascontiguousarray(keys).view(np.dtype((np.void, keys.shape[1]))).ravel()
    _, first, group_of = np.unique(
        keys, axis=None if is_bits else 0, return_index=True, return_inverse=True
    )
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[group_of.ravel()]
