"""Compiled kernel of D2S: one pass over the feature pairs of a row subset.

The pass gives, for every feature at the root of a depth-two tree, the best number of correctly
classified samples on either side with a leaf and with one further split (the C and S arrays of
D2S), from which values for any penalty and any number of leaves follow.
"""

from __future__ import annotations

from octcore.kernels import inner, kernel
from octcore.search.univariate.bit_lanes import TILE, count_tile, score_tile, score_tile_counted
from octcore.search.univariate.bit_rows import compact_columns, count_columns, pack


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
            stump = pairs.compact[2:]
            if min_leaf > 1:
                score_tile_counted(
                    pairs.counts, pairs.ones_by_channel, pairs.totals, stump, pairs.own, n_classes,
                    f, place, n_classes if n_channels > n_classes else 0, n_channels, min_leaf,
                )  # fmt: skip
            else:
                score_tile(
                    pairs.counts, pairs.ones_by_channel, pairs.totals, stump, pairs.own, n_classes,
                    f, place,
                )  # fmt: skip
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
        f = pairs.active[j]
        pairs.leaf[0, f] = pairs.compact[0, j]
        pairs.leaf[1, f] = pairs.compact[1, j]
        pairs.stump[0, f] = pairs.compact[2, j]
        pairs.stump[1, f] = pairs.compact[3, j]
