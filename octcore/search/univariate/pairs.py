"""Rows as bits, and the compiled kernel of D2S: one pass over the feature pairs of a row subset.

A *row subset* is a sorted list of row numbers. Its rows are packed column-wise into machine words,
one group of words per *block*; all rows of a block have the same class and the same integer weight,
so a weighted counter is a sum of ``scale * popcount``. Counters are 32-bit where the total weight
allows it and 64-bit otherwise.

The pass gives, for every feature at the root of a depth-two tree, the best number of correctly
classified samples on either side with a leaf and with one further split (the C and S arrays of
D2S), from which values for any penalty and any number of leaves follow.
"""

from typing import NamedTuple

import numpy as np

from octcore.numerics.kernels import inner, kernel
from octcore.search.univariate.bit_lanes import TILE, count_tile, pack_word, score_tile
from octcore.search.univariate.intrinsics import count_lanes, plus, shared_bits, times


class Rows(NamedTuple):
    """The constant data of a search."""

    bits: np.ndarray
    """(n_rows, width) uint8, values 0/1, padded with zeros to whole vectors, see `bit_lanes`."""
    columns: np.ndarray  # (n_features, n_rows) uint8, the same column by column, for row filtering
    block: np.ndarray  # (n_rows,) int32, block of every row; rows are sorted by block
    block_channel: np.ndarray  # (n_blocks,) class, or ``n_classes`` for the sample counter
    block_scale: np.ndarray  # (n_blocks,) weight of its rows
    minority: np.ndarray  # (n_rows,) int64, weight of rows outvoted by their equals, else 0
    shape: np.ndarray  # (2,) int64, number of classes; minimum number of samples per leaf


class Pairs(NamedTuple):
    """Scratch and results of one pass over the feature pairs."""

    words: np.ndarray
    starts: np.ndarray
    counts: np.ndarray
    ones_by_channel: np.ndarray
    totals: np.ndarray  # weight per channel
    active: np.ndarray
    compact: np.ndarray  # leaf and stump of the features that vary
    own: np.ndarray  # (2 * width, lanes) best splits beside a feature by place in a vector
    ones: np.ndarray  # weight on side 1 of every feature
    leaf: np.ndarray  # (2, n_features) most samples right on side 0 or 1 by a leaf; -1: impossible
    stump: np.ndarray  # (2, n_features) the same by one more split


def padded(n_features: int, word: np.dtype) -> int:
    """Length of a line of features that fills whole vectors."""
    lanes = count_lanes(word.itemsize)
    return lanes * -(-n_features // lanes)


def make_pairs(rows: Rows) -> Pairs:
    """Allocate the scratch that `pair_scores` needs for ``rows``."""
    n_features, (n_rows, width) = len(rows.columns), rows.bits.shape
    n_blocks = len(rows.block_channel)
    counter = rows.block_scale.dtype
    word = np.dtype(f"u{counter.itemsize}")  # as wide as counters of the weights
    channels = max(int(rows.block_channel.max(initial=0)) + 1, int(rows.shape[0]))
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


@inner()
def _score_leaves(pairs, n_active, n_classes, min_leaf):
    """Best leaf on both sides of every active feature (rows 0 and 1 of ``compact``)."""
    first_channel, last_channel = 0, n_classes
    if len(pairs.totals) > n_classes:
        first_channel, last_channel = n_classes, n_classes + 1
    for j in range(n_active):
        left, right = 0, 0
        for c in range(n_classes):
            ones = pairs.ones_by_channel[c, j]
            right = max(right, ones)
            left = max(left, pairs.totals[c] - ones)
        if min_leaf > 1:
            n_left, n_right = 0, 0
            for c in range(first_channel, last_channel):
                n_right += pairs.ones_by_channel[c, j]
                n_left += pairs.totals[c] - pairs.ones_by_channel[c, j]
            left = left if n_left >= min_leaf else -1
            right = right if n_right >= min_leaf else -1
        pairs.compact[0, j], pairs.compact[1, j] = left, right
        # A further split never loses, as long as empty leaves are allowed.
        pairs.compact[2, j] = -1 if min_leaf > 1 else left
        pairs.compact[3, j] = -1 if min_leaf > 1 else right


@kernel()
def pair_scores(rows, subset, n_subset, pairs):
    """One pass over the feature pairs of a row subset; results in ``leaf``, ``stump``, ``ones``.

    `subset`: row numbers, ascending; the first ``n_subset`` count.
    `pairs`: scratch and results.
    Returns the number of features that vary in the subset.
    """
    n_classes, min_leaf = rows.shape[0], rows.shape[1]
    pack(rows, subset, n_subset, pairs)
    count_columns(rows, pairs)
    n_active = compact_columns(pairs, n_classes, len(rows.columns))
    _score_leaves(pairs, n_active, n_classes, min_leaf)
    n_channels, lanes = len(pairs.totals), pairs.own.shape[1]
    pairs.own[:] = -1
    for f in range(0, n_active - 1, TILE):
        pairs.counts[:] = 0
        for place in range(f // lanes, (n_active - 1) // lanes + 1):
            for q in range(len(rows.block_channel)):
                count_tile(
                    pairs.words, pairs.starts[q], pairs.starts[q + 1], f, place, pairs.counts,
                    rows.block_channel[q], rows.block_scale[q],
                )  # fmt: skip
            stump, counts, ones = pairs.compact[2:], pairs.counts, pairs.ones_by_channel
            totals, own, first = pairs.totals, pairs.own, n_classes if n_channels > n_classes else 0
            if min_leaf > 1:
                score_tile(
                    counts, ones, totals, stump, own, n_classes, f, place, first, n_channels,
                    min_leaf,
                )  # fmt: skip
            else:
                score_tile(counts, ones, totals, stump, own, n_classes, f, place, None, None, None)
    for side in range(2):
        for f in range(n_active):
            for score in pairs.own[side * pairs.compact.shape[1] + f]:
                pairs.compact[2 + side, f] = max(pairs.compact[2 + side, f], score)
    _write_scores(pairs, n_active)
    return n_active


@inner()
def _write_scores(pairs, n_active):
    """Scatter the scores of the varying features to all features."""
    pairs.leaf[:] = -1
    pairs.stump[:] = -1
    for j in range(n_active):
        for s in range(2):
            pairs.leaf[s, pairs.active[j]] = pairs.compact[s, j]
            pairs.stump[s, pairs.active[j]] = pairs.compact[2 + s, j]
