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

TILE = 4
"""As in `octcore.search.univariate.bit_lanes`, which may not be imported before."""


def use_plain_kernels() -> None:
    """Let numba return functions as they are; called before anything of the package is imported."""
    os.environ["NUMBA_DISABLE_JIT"] = "1"
    from octcore.numerics import kernels

    kernels.kernel = lambda **options: _widened
    kernels.inner = lambda owns=False: lambda function: function
    kernels.require = lambda *names, stop=None: 0.0
    kernels.are_ready = lambda *names: True
    from octcore.search.univariate import intrinsics

    stand_in: Any = intrinsics
    stand_in.shared_bits = lambda left, right: np.int64(int(left & right).bit_count())
    stand_in.plus = lambda left, right: left + right
    stand_in.times = lambda left, right: left * right
    from octcore.search.univariate import bit_lanes, lanes

    for_bits: Any = bit_lanes
    for_bits.pack_word, for_bits.count_tile, for_bits.score_tile = pack_word, count_tile, score_tile
    for_lanes: Any = lanes
    for_lanes.two_classes, for_lanes.more_classes = two_classes, more_classes
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
    sequence: Any, masks: Any, signed: Any, out: Any, count: Any, sizes: Any, smallest: int | None
) -> None:
    """As `octcore.search.univariate.lanes` says: least and most running sums by threshold."""
    left, rows_left = np.zeros_like(out[0]), np.zeros_like(out[0])
    both, rows = 0, 0
    for code, weight in zip(sequence, signed, strict=True):
        row = code >> 1
        goes_left = _lanes(masks[row], out)
        left, both = left + np.where(goes_left, weight, 0), both + weight
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
    counters: Any, prefix: Any, count: Any, sizes: Any, smallest: int | None,
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


def pack_word(bits: Any, rows: Any, first: int, last: int, words: Any, word: int) -> None:
    """As `octcore.search.univariate.bit_lanes` says: the bits of some rows, column by column."""
    words[word] = 0
    for k in range(first, last):
        words[word] |= bits[rows[k]] << words.dtype.type(k - first)


def count_tile(
    words: Any, first: int, last: int, f: int, place: int, counts: Any, channel: int, scale: int
) -> None:
    """As `octcore.search.univariate.bit_lanes` says: rows with two features."""
    columns = _columns(words, place)
    for t in range(TILE):
        for w in range(first, last):
            both = np.bitwise_count(words[w, columns] & words[w, f + t])
            counts[channel * TILE + t, columns] += scale * both.astype(counts.dtype)


def score_tile(
    counts: Any, ones: Any, totals: Any, stump: Any, own: Any, n_classes: int, f: int, place: int,
    first: int | None, n_channels: int | None, smallest: int | None,
) -> None:  # fmt: skip
    """As `octcore.search.univariate.bit_lanes` says: the best second splits."""
    columns = _columns(counts, place)
    for t in range(TILE):
        both, here = counts[t::TILE, columns], ones[:, f + t, None]
        second = ones[:, columns] - both
        cells = both, here - both, second, totals[:, None] - here - second
        best = [
            np.where(
                smallest is not None and cell[first:n_channels].sum(axis=0) < smallest,
                -(2**29),
                cell[:n_classes].max(0),
            )
            for cell in cells
        ]
        own_place = f + t, ones.shape[1] + f + t
        for line, i, j in (
            (stump[0, columns], 1, 3), (stump[1, columns], 0, 2),
            (own[own_place[0]], 2, 3), (own[own_place[1]], 0, 1),
        ):  # fmt: skip
            np.maximum(line, best[i] + best[j], out=line, casting="unsafe")


def _columns(array: Any, place: int) -> slice:
    """Columns of a vector."""
    lanes = min(16, 64 // array.itemsize)
    return slice(place * lanes, (place + 1) * lanes)


def _lanes(mask: Any, out: Any) -> Any:
    """Whether every lane has a row on the left."""
    return int(mask) >> np.arange(out.shape[1]) & 1 > 0


def _fits(held: Any, sizes: Any, side: int, smallest: int | None) -> Any:
    """Whether both parts of a side have enough rows; always where rows are not counted."""
    return sizes is None or (held >= smallest) & (sizes[side] - held >= smallest)
