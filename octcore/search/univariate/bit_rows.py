"""Rows of the search kernels: records, filtering and bit packing.

A *row subset* is a sorted list of row numbers. Its rows are packed column-wise into machine words,
one group of words per *block*; all rows of a block have the same class and the same integer weight,
so a weighted counter is a sum of ``scale * popcount``. Counters are 32-bit where the total weight
allows it and 64-bit otherwise.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from octcore.kernels import inner
from octcore.search.univariate.bit_lanes import TILE, pack_word
from octcore.search.univariate.intrinsics import count_lanes, plus, shared_bits, times


class Rows(NamedTuple):
    """The constant data of a search.

    `bits`: (n_rows, width) word type, feature values 0/1, one word per value: packing needs no
        conversion; padded with zeros to whole vectors, see `bit_lanes`.
    `columns`: (n_features, n_rows) uint8, the same values column by column, for row filtering.
    `block`: (n_rows,) int32, block of every row; rows are sorted by block.
    `block_channel`, `block_scale`: (n_blocks,) channel (class, or ``n_classes`` for the sample
        counter) and weight of a block's rows.
    `minority`: (n_rows,) int64, weight of the row if it is outvoted among rows with equal features,
        else 0.
    `shape`: (2,) int64, number of classes; minimum number of samples per leaf.
    """

    bits: np.ndarray
    columns: np.ndarray
    block: np.ndarray
    block_channel: np.ndarray
    block_scale: np.ndarray
    minority: np.ndarray
    shape: np.ndarray


class Pairs(NamedTuple):
    """Scratch and results of one pass over the feature pairs.

    ``leaf`` and ``stump`` have shape (2, n_features): the most samples classified correctly on side
    0 or 1 of a root feature by one leaf, or by one more split; -1 marks "not possible". ``ones``
    has the weight on side 1 of every feature and ``totals`` the weight per channel.  ``compact``
    has the same of the features that vary, leaves first; ``own`` (2 * width, lanes) the best splits
    beside a feature by place in a vector, for both sides.
    """

    words: np.ndarray
    starts: np.ndarray
    counts: np.ndarray
    ones_by_channel: np.ndarray
    totals: np.ndarray
    active: np.ndarray
    compact: np.ndarray
    own: np.ndarray
    ones: np.ndarray
    leaf: np.ndarray
    stump: np.ndarray


def padded(n_features: int, word: np.dtype) -> int:
    """Length of a line of features that fills whole vectors."""
    lanes = count_lanes(word.itemsize)
    return lanes * -(-n_features // lanes)


def make_pairs(rows: Rows) -> Pairs:
    """Allocate the scratch that `pair_scores` needs for ``rows``."""
    n_features, (n_rows, width) = len(rows.columns), rows.bits.shape
    n_blocks = len(rows.block_channel)
    word, counter = rows.bits.dtype, rows.block_scale.dtype
    channels = int(rows.block_channel.max(initial=0)) + 1
    channels = max(channels, int(rows.shape[0]))
    return Pairs(
        words=np.zeros((n_rows // (8 * word.itemsize) + n_blocks + 1, width), word),
        starts=np.zeros(n_blocks + 1, np.int64),
        counts=np.zeros((channels * TILE, width), counter),
        ones_by_channel=np.zeros((channels, width), counter),
        totals=np.zeros(channels, counter),
        active=np.zeros(n_features, np.int64),
        compact=np.zeros((4, width), counter),
        own=np.zeros((2 * width, count_lanes(word.itemsize)), counter),
        ones=np.zeros(n_features, np.int64),
        leaf=np.zeros((2, n_features), np.int64),
        stump=np.zeros((2, n_features), np.int64),
    )


@inner()
def filter_rows(source, n_source, column, side, target):
    """Write the rows of ``source`` with ``column == side`` to ``target``; return their number."""
    count = 0
    for k in range(n_source):
        row = source[k]
        target[count] = row
        if column[row] == side:
            count += 1
    return count


@inner()
def end_of_block(rows, subset, first, last, q):
    """Place of the first of the rows from first to last that is beyond block q."""
    while first < last:
        middle = (first + last) >> 1
        if rows.block[subset[middle]] <= q:
            first = middle + 1
        else:
            last = middle
    return first


@inner()
def pack(rows, subset, n_subset, pairs):
    """Pack the rows of the subset block by block, and sum their weights by channel."""
    words, totals = pairs.words, pairs.totals
    width, word, first = words.itemsize * 8, 0, 0
    totals[:] = 0
    for q in range(len(rows.block_channel)):
        pairs.starts[q] = word
        last = end_of_block(rows, subset, first, n_subset, q)
        totals[rows.block_channel[q]] += rows.block_scale[q] * (last - first)
        for begin in range(first, last, width):
            pack_word(rows.bits, subset, begin, min(last, begin + width), words, word)
            word += 1
        first = last
    pairs.starts[len(rows.block_channel)] = word


@inner()
def count_columns(rows, pairs):
    """Ones per channel and feature, of packed rows."""
    pairs.ones_by_channel[:] = 0
    for q in range(len(rows.block_channel)):
        ones = pairs.ones_by_channel[rows.block_channel[q]]
        scale = rows.block_scale[q]
        for w in range(pairs.starts[q], pairs.starts[q + 1]):
            word = pairs.words[w]
            for f in range(len(word)):
                ones[f] = plus(ones[f], times(scale, shared_bits(word[f], word[f])))


@inner()
def compact_columns(pairs, n_classes, n_features):
    """Keep the columns that vary in the subset; return their number.

    Rows vary, not weights: where a channel counts the rows, it decides.
    """
    n_channels = len(pairs.totals)
    first_channel = n_classes if n_channels > n_classes else 0
    total = 0
    for c in range(first_channel, n_channels):
        total += pairs.totals[c]
    n_active = 0
    for f in range(n_features):
        ones = 0
        for c in range(n_classes):
            ones += pairs.ones_by_channel[c, f]
        pairs.ones[f] = ones
        if first_channel:
            ones = pairs.ones_by_channel[n_classes, f]
        if 0 < ones < total:
            pairs.active[n_active] = f
            n_active += 1
    if n_active < n_features:
        for w in range(pairs.starts[-1]):
            word = pairs.words[w]
            for j in range(n_active):
                word[j] = word[pairs.active[j]]
        for c in range(len(pairs.totals)):
            ones_c = pairs.ones_by_channel[c]
            for j in range(n_active):
                ones_c[j] = ones_c[pairs.active[j]]
    return n_active
