"""Compiled kernels of the exact univariate search: pair counters on bit-packed rows.

A *row subset* is a sorted list of row numbers. Its rows are packed column-wise into machine words,
one group of words per *block*; all rows of a block have the same class and the same integer weight,
so a weighted counter is a sum of ``scale * popcount``. One pass over the feature pairs gives, for
every feature at the root of a depth-two tree, the best number of correctly classified samples on
either side with a leaf and with one further split (the C and S arrays of D2S).

Counters are 32-bit where the total weight allows it and 64-bit otherwise.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from octcore.search.path_intrinsics import (
    insert_bit,
    larger,
    minus,
    plus,
    shared_bits,
    times,
)

INFEASIBLE = 1e18
"""Cost of a subtree that cannot respect the minimum leaf size."""


class Rows(NamedTuple):
    """The constant data of a search.

    Attributes
    ----------
    bits : ndarray of shape (n_rows, n_features), word type
        Feature values 0/1, one word per value: packing needs no conversion.
    columns : ndarray of shape (n_features, n_rows), uint8
        The same values column by column, for row filtering.
    block : ndarray of shape (n_rows,), int32
        Block of every row; rows are sorted by block.
    block_channel, block_scale : ndarray of shape (n_blocks,)
        Channel (class, or ``n_classes`` for the sample counter) and weight of a block's rows.
    minority : ndarray of shape (n_rows,), int64
        Weight of the row if it is outvoted among rows with equal features, else 0.
    shape : ndarray of shape (2,), int64
        Number of classes; minimum number of samples per leaf.
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


@njit(cache=True, nogil=True)
def filter_rows(source, n_source, column, side, target):
    """Write the rows of ``source`` with ``column == side`` to ``target``; return their number."""
    count = 0
    for k in range(n_source):
        row = source[k]
        target[count] = row
        if column[row] == side:
            count += 1
    return count


@njit(cache=True, nogil=True)
def _pack(rows, subset, n_subset, words, starts):
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


@njit(cache=True, nogil=True)
def _count_columns(rows, subset, n_subset, pairs):
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


@njit(cache=True, nogil=True)
def _compact_columns(pairs, n_classes, n_features):
    """Keep the columns that vary in the subset; return their number."""
    total = 0
    for c in range(n_classes):
        total += pairs.totals[c]
    n_active = 0
    for f in range(n_features):
        ones = 0
        for c in range(n_classes):
            ones += pairs.ones_by_channel[c, f]
        pairs.ones[f] = ones
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


@njit(cache=True, nogil=True)
def _count_pairs(pairs, first, last, scale, f, counts):
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


@njit(cache=True, nogil=True)
def _score_two_classes(pairs, f, n_active):
    """Best stump on both sides of ``f`` and of every later feature, two classes."""
    rest = n_active - f - 1
    c0 = pairs.counts[0, :rest]
    c1 = pairs.counts[1, :rest]
    ones0 = pairs.ones_by_channel[0, f + 1 : n_active]
    ones1 = pairs.ones_by_channel[1, f + 1 : n_active]
    below_left = pairs.compact[2, f + 1 : n_active]
    below_right = pairs.compact[3, f + 1 : n_active]
    p0, p1 = pairs.ones_by_channel[0, f], pairs.ones_by_channel[1, f]
    q0, q1 = minus(pairs.totals[0], p0), minus(pairs.totals[1], p1)
    left, right = pairs.compact[2, f], pairs.compact[3, f]
    for j in range(rest):
        a0, a1 = c0[j], c1[j]
        b0, b1 = minus(ones0[j], a0), minus(ones1[j], a1)
        both = larger(a0, a1)
        first = larger(minus(p0, a0), minus(p1, a1))
        second = larger(b0, b1)
        none = larger(minus(q0, b0), minus(q1, b1))
        right = larger(right, plus(both, first))
        left = larger(left, plus(second, none))
        below_right[j] = larger(below_right[j], plus(both, second))
        below_left[j] = larger(below_left[j], plus(first, none))
    pairs.compact[2, f] = left
    pairs.compact[3, f] = right


@njit(cache=True, nogil=True)
def _best_labels(pairs, f, n_active, n_classes):
    """Fill ``best[0..3]`` with the largest class count of the four cells of (f, f + 1 + j)."""
    rest = n_active - f - 1
    both, first = pairs.best[0, :rest], pairs.best[1, :rest]
    second, none = pairs.best[2, :rest], pairs.best[3, :rest]
    for c in range(n_classes):
        count = pairs.counts[c, :rest]
        ones = pairs.ones_by_channel[c, f + 1 : n_active]
        p = pairs.ones_by_channel[c, f]
        q = minus(pairs.totals[c], p)
        if c == 0:
            for j in range(rest):
                only = minus(ones[j], count[j])
                both[j] = count[j]
                first[j] = minus(p, count[j])
                second[j] = only
                none[j] = minus(q, only)
        else:
            for j in range(rest):
                only = minus(ones[j], count[j])
                both[j] = larger(both[j], count[j])
                first[j] = larger(first[j], minus(p, count[j]))
                second[j] = larger(second[j], only)
                none[j] = larger(none[j], minus(q, only))


@njit(cache=True, nogil=True)
def _score_many_classes(pairs, f, n_active):
    """Update the best stumps from the label maxima in ``best``."""
    rest = n_active - f - 1
    both, first = pairs.best[0, :rest], pairs.best[1, :rest]
    second, none = pairs.best[2, :rest], pairs.best[3, :rest]
    below_left = pairs.compact[2, f + 1 : n_active]
    below_right = pairs.compact[3, f + 1 : n_active]
    left, right = pairs.compact[2, f], pairs.compact[3, f]
    for j in range(rest):
        right = larger(right, plus(both[j], first[j]))
        left = larger(left, plus(second[j], none[j]))
        below_right[j] = larger(below_right[j], plus(both[j], second[j]))
        below_left[j] = larger(below_left[j], plus(first[j], none[j]))
    pairs.compact[2, f] = left
    pairs.compact[3, f] = right


@njit(cache=True, nogil=True)
def _forbid_small_leaves(pairs, f, n_active, n_classes, min_leaf):
    """Make the cells with fewer than ``min_leaf`` samples unattractive beyond recovery."""
    rest = n_active - f - 1
    counts = pairs.best[4, :rest]
    first_channel, last_channel = 0, n_classes
    if len(pairs.totals) > n_classes:
        first_channel, last_channel = n_classes, n_classes + 1
    total = 0
    ones_f = 0
    for c in range(first_channel, last_channel):
        total += pairs.totals[c]
        ones_f += pairs.ones_by_channel[c, f]
    # Half the counter range cannot be reached by sums of two feasible cells.
    ban = -(1 << (counts.itemsize * 8 - 3))
    for j in range(rest):
        both = 0
        ones = 0
        for c in range(first_channel, last_channel):
            both += pairs.counts[c, j]
            ones += pairs.ones_by_channel[c, f + 1 + j]
        if both < min_leaf:
            pairs.best[0, j] = ban
        if ones_f - both < min_leaf:
            pairs.best[1, j] = ban
        if ones - both < min_leaf:
            pairs.best[2, j] = ban
        if total - ones_f - ones + both < min_leaf:
            pairs.best[3, j] = ban


@njit(cache=True, nogil=True)
def _score_leaves(pairs, n_active, n_classes, min_leaf):
    """Best leaf on both sides of every active feature (rows 0 and 1 of ``compact``)."""
    first_channel, last_channel = 0, n_classes
    if len(pairs.totals) > n_classes:
        first_channel, last_channel = n_classes, n_classes + 1
    for j in range(n_active):
        left = 0
        right = 0
        for c in range(n_classes):
            ones = pairs.ones_by_channel[c, j]
            right = max(right, ones)
            left = max(left, pairs.totals[c] - ones)
        if min_leaf > 1:
            n_left = 0
            n_right = 0
            for c in range(first_channel, last_channel):
                n_right += pairs.ones_by_channel[c, j]
                n_left += pairs.totals[c] - pairs.ones_by_channel[c, j]
            left = left if n_left >= min_leaf else -1
            right = right if n_right >= min_leaf else -1
        pairs.compact[0, j] = left
        pairs.compact[1, j] = right
        # A further split never loses, as long as empty leaves are allowed.
        pairs.compact[2, j] = -1 if min_leaf > 1 else left
        pairs.compact[3, j] = -1 if min_leaf > 1 else right


_SCREEN_WORDS = 16
"""Words of the larger class from which screening can pay."""
_SCREEN_RATIO = 5
"""How many times larger the larger class must be."""


@njit(cache=True, nogil=True)
def screening_pays(rows, pairs):
    """Tell whether one of two classes is so large that most pairs need only part of its rows."""
    if len(rows.block_channel) != 2:
        return False
    large = 0 if pairs.totals[0] >= pairs.totals[1] else 1
    words = pairs.starts[large + 1] - pairs.starts[large]
    return words >= _SCREEN_WORDS and pairs.totals[large] >= _SCREEN_RATIO * pairs.totals[1 - large]


@njit(cache=True, nogil=True)
def _cell_margins(pairs, f, n_active, small, part_ones, part_total, margin):
    """Smallest excess of the large class's partial count over the small class in the cells."""
    rest = n_active - f - 1
    part = pairs.counts[1 - small, :rest]
    few = pairs.counts[small, :rest]
    ones_part = part_ones[f + 1 : n_active]
    ones_few = pairs.ones_by_channel[small, f + 1 : n_active]
    p = minus(part_ones[f], pairs.ones_by_channel[small, f])
    q = minus(minus(part_total, pairs.totals[small]), p)
    for j in range(rest):
        both = minus(part[j], few[j])
        second = minus(minus(ones_part[j], ones_few[j]), both)
        first = minus(p, both)
        none = minus(q, second)
        low = minus(both, larger(both, first))
        low = plus(low, first)
        high = minus(plus(second, none), larger(second, none))
        margin[j] = minus(plus(low, high), larger(low, high))


@njit(cache=True, nogil=True)
def _score_one_pair(pairs, f, g, a0, a1):
    """Update the stumps of the compact features ``f`` and ``g`` from their common counts."""
    ones, totals, stump = pairs.ones_by_channel, pairs.totals, pairs.compact
    b0, b1 = ones[0, f] - a0, ones[1, f] - a1
    c0, c1 = ones[0, g] - a0, ones[1, g] - a1
    both, first, second = max(a0, a1), max(b0, b1), max(c0, c1)
    none = max(totals[0] - ones[0, f] - c0, totals[1] - ones[1, f] - c1)
    stump[2, f] = max(stump[2, f], second + none)
    stump[3, f] = max(stump[3, f], both + first)
    stump[2, g] = max(stump[2, g], first + none)
    stump[3, g] = max(stump[3, g], both + second)


@njit(cache=True, nogil=True)
def score_screened(rows, pairs, n_active):
    """Score the pairs of two very unequal classes.

    If in every cell of a pair some of the large class already outnumber the small class, all four
    leaves predict the large class and the second split gains nothing. Most pairs are settled by a
    quarter of the rows of the large class; only the others are counted to the end.
    """
    large = 0 if pairs.totals[0] >= pairs.totals[1] else 1
    small = 1 - large
    begin, end = pairs.starts[large], pairs.starts[large + 1]
    middle = begin + max(8, (end - begin) // 16 * 4)
    scale, scale_small = rows.block_scale[large], rows.block_scale[small]
    part_ones = np.zeros_like(pairs.best[0])
    for w in range(begin, middle):
        word = pairs.words[w]
        for g in range(n_active):
            part_ones[g] = plus(part_ones[g], times(scale, shared_bits(word[g], word[g])))
    part_total = scale * (middle - begin) * pairs.words.itemsize * 8
    part_total = pairs.totals.dtype.type(part_total)
    across = pairs.across
    for w in range(middle, end):
        for g in range(n_active):
            across[g, w] = pairs.words[w, g]
    margin = pairs.best[4]
    for f in range(n_active - 1):
        rest = n_active - f - 1
        part, few = pairs.counts[large, :rest], pairs.counts[small, :rest]
        part[:] = 0
        few[:] = 0
        _count_pairs(pairs, pairs.starts[small], pairs.starts[small + 1], scale_small, f, few)
        _count_pairs(pairs, begin, middle, scale, f, part)
        _cell_margins(pairs, f, n_active, small, part_ones, part_total, margin)
        mine = across[f, middle:end]
        for j in range(rest):
            if margin[j] < 0:
                other = across[f + 1 + j, middle:end]
                more = pairs.totals.dtype.type(0)
                for w in range(len(mine)):
                    more = plus(more, shared_bits(mine[w], other[w]))
                full = part[j] + scale * more
                if large == 0:
                    _score_one_pair(pairs, f, f + 1 + j, full, few[j])
                else:
                    _score_one_pair(pairs, f, f + 1 + j, few[j], full)


@njit(cache=True, nogil=True)
def pair_scores(rows, subset, n_subset, pairs):
    """One pass over the feature pairs of a row subset; results in ``leaf``, ``stump``, ``ones``.

    Parameters
    ----------
    rows : Rows
    subset : ndarray of int64
        Row numbers, ascending; the first ``n_subset`` count.
    n_subset : int
    pairs : Pairs
        Scratch and results.

    Returns
    -------
    int
        Number of features that vary in the subset.

    References
    ----------
    univariate D2S: C_0, C_1, S_L, S_R.
    """
    n_features = rows.bits.shape[1]
    n_classes = rows.shape[0]
    min_leaf = rows.shape[1]
    _pack(rows, subset, n_subset, pairs.words, pairs.starts)
    _count_columns(rows, subset, n_subset, pairs)
    n_active = _compact_columns(pairs, n_classes, n_features)
    _score_leaves(pairs, n_active, n_classes, min_leaf)
    fused = n_classes == 2 and min_leaf <= 1
    if fused and screening_pays(rows, pairs):
        score_screened(rows, pairs, n_active)
        _write_scores(pairs, n_active)
        return n_active
    for f in range(n_active - 1):
        rest = n_active - f - 1
        for c in range(len(pairs.totals)):
            pairs.counts[c, :rest] = 0
        for q in range(len(rows.block_channel)):
            counts = pairs.counts[rows.block_channel[q], :rest]
            _count_pairs(
                pairs, pairs.starts[q], pairs.starts[q + 1], rows.block_scale[q], f, counts
            )
        if fused:
            _score_two_classes(pairs, f, n_active)
        else:
            _best_labels(pairs, f, n_active, n_classes)
            if min_leaf > 1:
                _forbid_small_leaves(pairs, f, n_active, n_classes, min_leaf)
            _score_many_classes(pairs, f, n_active)
    _write_scores(pairs, n_active)
    return n_active


@njit(cache=True, nogil=True)
def _write_scores(pairs, n_active):
    """Scatter the scores of the varying features to all features."""
    pairs.leaf[:] = -1
    pairs.stump[:] = -1
    for j in range(n_active):
        f = pairs.active[j]
        pairs.leaf[0, f] = pairs.compact[0, j]
        pairs.leaf[1, f] = pairs.compact[1, j]
        pairs.stump[0, f] = pairs.compact[2, j]
        pairs.stump[1, f] = pairs.compact[3, j]
