"""Search kernels as the Python that they are written in: slow per row, but nothing compiles.

A fault in a kernel would be compiled again together with every kernel that calls it, for minutes.
The cases that notice faults are tiny, and plain Python answers them in hundredths of a second.
"""

from __future__ import annotations

import functools
import os
import warnings
from typing import Any

import numpy as np


def use_plain_kernels() -> None:
    """Let numba return functions as they are; called before anything of the package is imported."""
    os.environ["NUMBA_DISABLE_JIT"] = "1"
    from octcore import kernels
    from octcore.search.univariate import intrinsics

    stand_in: Any = intrinsics
    stand_in.shared_bits = lambda left, right: np.int64(int(left & right).bit_count())
    stand_in.insert_bit = lambda word, bit, position: np.uint64(
        (int(word) | int(bit) << int(position)) % 2**64
    ).astype(type(word))
    stand_in.plus = lambda left, right: left + right
    stand_in.minus = lambda left, right: left - right
    stand_in.times = lambda left, right: left * right
    stand_in.larger = max
    kernels.kernel = lambda **options: _widened
    kernels.inner = lambda: lambda function: function
    kernels.require = lambda *names, stop=None: 0.0
    kernels.are_ready = lambda *names: True
    from octcore.search.univariate import lanes

    for_lanes: Any = lanes
    for_lanes.two_classes = for_lanes.two_classes_counted = two_classes
    for_lanes.more_classes = for_lanes.more_classes_counted = more_classes
    # Numpy speaks of overflow and division by zero where machine code is silent.
    warnings.filterwarnings("ignore", category=RuntimeWarning)


def _widened(function: Any) -> Any:
    """Machine code takes whole numbers of Python as 64 bits, whatever they meet."""

    @functools.wraps(function)
    def called(*given: Any) -> Any:
        return function(*map(_wide, given))

    return called


def _wide(value: Any) -> Any:
    """A whole number as 64 bits, also in a record."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(_wide, value))
    return np.int64(value) if type(value) is int else value


def two_classes(
    sequence: Any, masks: Any, signed: Any, out: Any,
    count: Any = None, sizes: Any = None, smallest: int = 0,
) -> None:  # fmt: skip
    """As `octcore.search.univariate.lanes` says: least and most running sums by threshold."""
    left, rows_left = np.zeros_like(out[0]), np.zeros_like(out[0])
    both, rows = 0, 0
    for code in sequence:
        row = code >> 1
        goes_left = _lanes(masks[row], out)
        left, both = left + np.where(goes_left, signed[row], 0), both + signed[row]
        if count is not None:
            rows_left, rows = rows_left + np.where(goes_left, count[row], 0), rows + count[row]
        if code & 1:
            for i, (sum_here, held) in enumerate(
                ((left, rows_left), (both - left, rows - rows_left))
            ):
                fits = _fits(held, sizes, i, smallest)
                for j, pick in ((2 * i, np.minimum), (2 * i + 1, np.maximum)):
                    out[j] = np.where(fits, pick(out[j], sum_here), out[j])


def more_classes(
    sequence: Any, masks: Any, weights: Any, out: Any, y: Any,
    counters: Any, prefix: Any, count: Any = None, sizes: Any = None, smallest: int = 0,
) -> None:  # fmt: skip
    """As `octcore.search.univariate.lanes` says: the largest classes before and after a split."""
    counters = counters.reshape(len(counters), 4, -1)

    def step(row: int, base: int, largest: Any) -> None:
        goes_left = _lanes(masks[row], out)
        for i, inside in enumerate((goes_left, ~goes_left)):
            counters[y[row], base + i] += np.where(inside, weights[row], 0)
            largest[i] = np.maximum(largest[i], counters[y[row], base + i])

    largest, after, held = (np.zeros_like(out[:2]) for _ in range(3))
    for k, code in enumerate(sequence):
        step(code >> 1, 0, largest)
        prefix[k] = largest
    for k in range(len(sequence) - 1, -1, -1):
        row = sequence[k] >> 1
        if sequence[k] & 1:
            for i in range(2):
                fits = _fits(held[i], sizes, i, smallest)
                out[i] = np.where(fits, np.maximum(out[i], after[i] + prefix[k, i]), out[i])
        step(row, 2, after)
        if count is not None:
            goes_left = _lanes(masks[row], out)
            held += np.where([goes_left, ~goes_left], count[row], 0)


def _lanes(mask: Any, out: Any) -> Any:
    """Whether every lane has a row on the left."""
    return int(mask) >> np.arange(out.shape[1]) & 1 > 0


def _fits(held: Any, sizes: Any, side: int, smallest: int) -> Any:
    """Whether both parts of a side have enough rows; always where rows are not counted."""
    return sizes is None or (held >= smallest) & (sizes[side] - held >= smallest)
