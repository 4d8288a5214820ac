"""Pair counters for two very unequal classes: most pairs are settled by part of the rows."""

from __future__ import annotations

import numpy as np

from octcore.kernels import inner
from octcore.search.univariate.bit_rows import count_pairs
from octcore.search.univariate.intrinsics import larger, minus, plus, shared_bits, times

_SCREEN_WORDS = 16
"""Words of the larger class from which screening can pay."""
_SCREEN_RATIO = 5
"""How many times larger the larger class must be."""


@inner()
def screening_pays(rows, pairs):
    """Tell whether one of two classes is so large that most pairs need only part of its rows."""
    if len(rows.block_channel) != 2:
        return False
    large = 0 if pairs.totals[0] >= pairs.totals[1] else 1
    words = pairs.starts[large + 1] - pairs.starts[large]
    return words >= _SCREEN_WORDS and pairs.totals[large] >= _SCREEN_RATIO * pairs.totals[1 - large]


@inner()
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


@inner()
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


@inner()
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
        count_pairs(pairs, pairs.starts[small], pairs.starts[small + 1], scale_small, f, few)
        count_pairs(pairs, begin, middle, scale, f, part)
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
