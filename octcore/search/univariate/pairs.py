"""Compiled kernel of D2S: one pass over the feature pairs of a row subset.

The pass gives, for every feature at the root of a depth-two tree, the best number of correctly
classified samples on either side with a leaf and with one further split (the C and S arrays of
D2S), from which values for any penalty and any number of leaves follow.
"""

from __future__ import annotations

from octcore.kernels import inner, kernel
from octcore.search.univariate.bit_rows import compact_columns, count_columns, count_pairs, pack
from octcore.search.univariate.intrinsics import larger, minus, plus
from octcore.search.univariate.screening import score_screened, screening_pays


@inner()
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


@inner()
def _best_labels(pairs, f, n_active, n_classes):
    """Fill ``best[0..3]`` with the largest class count of the four cells of (f, f + 1 + j)."""
    rest = n_active - f - 1
    both, first = pairs.best[0, :rest], pairs.best[1, :rest]
    second, none = pairs.best[2, :rest], pairs.best[3, :rest]
    pairs.best[:4, :rest] = 0
    for c in range(n_classes):
        count = pairs.counts[c, :rest]
        ones = pairs.ones_by_channel[c, f + 1 : n_active]
        p = pairs.ones_by_channel[c, f]
        q = minus(pairs.totals[c], p)
        for j in range(rest):
            only = minus(ones[j], count[j])
            both[j] = larger(both[j], count[j])
            first[j] = larger(first[j], minus(p, count[j]))
            second[j] = larger(second[j], only)
            none[j] = larger(none[j], minus(q, only))


@inner()
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


@inner()
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


@inner()
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


@kernel()
def pair_scores(rows, subset, n_subset, pairs):
    """One pass over the feature pairs of a row subset; results in ``leaf``, ``stump``, ``ones``.

    `subset`: row numbers, ascending; the first ``n_subset`` count.
    `pairs`: scratch and results.
    Returns the number of features that vary in the subset.

    References
    ----------
    univariate D2S: C_0, C_1, S_L, S_R.
    """
    n_features = rows.bits.shape[1]
    n_classes = rows.shape[0]
    min_leaf = rows.shape[1]
    pack(rows, subset, n_subset, pairs.words, pairs.starts)
    count_columns(rows, subset, n_subset, pairs)
    n_active = compact_columns(pairs, n_classes, n_features)
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
            count_pairs(pairs, pairs.starts[q], pairs.starts[q + 1], rows.block_scale[q], f, counts)
        if fused:
            _score_two_classes(pairs, f, n_active)
        else:
            _best_labels(pairs, f, n_active, n_classes)
            if min_leaf > 1:
                _forbid_small_leaves(pairs, f, n_active, n_classes, min_leaf)
            _score_many_classes(pairs, f, n_active)
    _write_scores(pairs, n_active)
    return n_active


@inner()
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
