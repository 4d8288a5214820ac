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
from octcore.search.univariate.intrinsics import insert_bit, plus, shared_bits, times


class Rows(NamedTuple):
    """The constant data of a search.

    `bits`: (n_rows, n_features) word type, feature values 0/1, one word per value: packing needs no
        conversion.
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
    has the weight on side 1 of every feature and ``totals`` the weight per channel.
    """

    words: np.ndarray
    starts: np.ndarray
    counts: np.ndarray
    ones_by_channel: np.ndarray
    totals: np.ndarray
    best: np.ndarray
    active: np.ndarray
    compact: np.ndarray
    across: np.ndarray
    ones: np.ndarray
    leaf: np.ndarray
    stump: np.ndarray


def make_pairs(rows: Rows) -> Pairs:
    """Allocate the scratch that `pair_scores` needs for ``rows``."""
    n_rows, n_features = rows.bits.shape
    n_blocks = len(rows.block_channel)
    counter = rows.block_scale.dtype
    channels = int(rows.block_channel.max(initial=0)) + 1
    channels = max(channels, int(rows.shape[0]))
    width = rows.bits.dtype.itemsize * 8
    n_words = n_rows // width + n_blocks + 1
    return Pairs(
        words=np.zeros((n_words, n_features), rows.bits.dtype),
        starts=np.zeros(n_blocks + 1, np.int64),
        counts=np.zeros((channels, n_features), counter),
        ones_by_channel=np.zeros((channels, n_features), counter),
        totals=np.zeros(channels, counter),
        best=np.zeros((5, n_features), counter),
        active=np.zeros(n_features, np.int64),
        compact=np.zeros((4, n_features), counter),
        across=np.zeros((n_features, n_words), rows.bits.dtype),
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
def pack(rows, subset, n_subset, words, starts):
    """Pack the rows of the subset block by block; ``starts`` receives the word offsets."""
    width = words.itemsize * 8
    word = 0
    k = 0
    for q in range(len(rows.block_channel)):
        starts[q] = word
        while k < n_subset and rows.block[subset[k]] == q:
            target = words[word]
            source = rows.bits[subset[k]]
            for f in range(len(target)):
                target[f] = source[f]
            k += 1
            shift = 1
            while shift < width and k < n_subset and rows.block[subset[k]] == q:
                source = rows.bits[subset[k]]
                position = words.dtype.type(shift)
                for f in range(len(target)):
                    target[f] = insert_bit(target[f], source[f], position)
                k += 1
                shift += 1
            word += 1
    starts[len(rows.block_channel)] = word


@inner()
def count_columns(rows, subset, n_subset, pairs):
    """Class totals and ones per channel and feature."""
    n_features = rows.bits.shape[1]
    totals = pairs.totals
    totals[:] = 0
    for k in range(n_subset):
        q = rows.block[subset[k]]
        totals[rows.block_channel[q]] += rows.block_scale[q]
    pairs.ones_by_channel[:] = 0
    for q in range(len(rows.block_channel)):
        ones = pairs.ones_by_channel[rows.block_channel[q]]
        scale = rows.block_scale[q]
        for w in range(pairs.starts[q], pairs.starts[q + 1]):
            word = pairs.words[w]
            for f in range(n_features):
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


@inner()
def count_pairs(pairs, first, last, scale, f, counts):
    """Add the weight of the rows that have feature ``f`` and feature ``f + 1 + j`` to counts[j]."""
    rest = len(counts)
    words = pairs.words
    w = first
    if scale == 1:
        while w + 4 <= last:
            a0, a1, a2, a3 = words[w, f], words[w + 1, f], words[w + 2, f], words[w + 3, f]
            b0 = words[w, f + 1 : f + 1 + rest]
            b1 = words[w + 1, f + 1 : f + 1 + rest]
            b2 = words[w + 2, f + 1 : f + 1 + rest]
            b3 = words[w + 3, f + 1 : f + 1 + rest]
            for j in range(rest):
                low = plus(shared_bits(a0, b0[j]), shared_bits(a1, b1[j]))
                high = plus(shared_bits(a2, b2[j]), shared_bits(a3, b3[j]))
                counts[j] = plus(counts[j], plus(low, high))
            w += 4
    while w < last:
        a0 = words[w, f]
        b0 = words[w, f + 1 : f + 1 + rest]
        if a0 != 0 and scale == 1:
            for j in range(rest):
                counts[j] = plus(counts[j], shared_bits(a0, b0[j]))
        elif a0 != 0:
            for j in range(rest):
                counts[j] = plus(counts[j], times(scale, shared_bits(a0, b0[j])))
        w += 1
