"""Compiled kernels of the near-optimal trees along sorted columns: all thresholds, by packs.

Costs are ``unit * errors + price * leaves`` in whole numbers.  Along one column, with j < k two
thresholds and w the weight between them, the costs c of the two sides bound each other:

    left:   c(j) <= c(k) <= c(j) + w        right:   c(k) <= c(j) <= c(k) + w

So a few thresholds are solved exactly and two sweeps bound the others; those within the budget are
solved in turn.  Where leaves need more than one row, fewer rows may cost more and the first half
of the bounds fails; the second holds, since the larger side's leaves only gain rows.

A pass along a column (`octcore.search.univariate.lanes`) gives its least errors on both sides of a
pack of thresholds; only columns within a side's room are walked through and their splits counted.
Rows are in 64-bit integers; only what a pass reads is copied into narrower ones, so that every
kernel is compiled once.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from octcore.kernels import inner, kernel
from octcore.search.near_optimal.tally import add, ample, new_tally
from octcore.search.univariate.lane_rows import restrict
from octcore.search.univariate.lanes import (
    VECTOR_BYTES,
    more_classes,
    more_classes_counted,
    two_classes,
    two_classes_counted,
)

EACH = 4
"""Lanes of a pack for one column, while there are others."""
FAR = 1 << 60
"""Cost of what cannot be."""
ADD, LEAST, SHARES, TALLY, SHAPES = range(5)
"""What is asked: counts, the least cost alone, predictions, how many trees of one cell every split
has at its top, or counts by shape."""
CLOSED, OPEN, SOLVED = range(3)
"""What is known of a split."""


class Splits(NamedTuple):
    """Thresholds that part a subset, column after column; neighbours that part it alike are one.

    first : (n_columns + 1,) first split of every column; the rest has room for more than there are
    only : (n_columns,) the only split of a column that parts the subset nowhere else, else -1
    column, low, high : (n,) column of the table, the last rank on the left, the first on the right
    number, many : (n,) first threshold of the table, and how many the split stands for
    passed : (n,) weight on the left
    leaf : (2, n) errors of a leaf on both sides
    cost : (2, n) lower bounds on the scaled cost of both sides
    open : (n,) uint8, `OPEN` if it is to be solved where its bounds allow
    """

    first: np.ndarray
    only: np.ndarray
    column: np.ndarray
    low: np.ndarray
    high: np.ndarray
    number: np.ndarray
    many: np.ndarray
    passed: np.ndarray
    leaf: np.ndarray
    cost: np.ndarray
    open: np.ndarray


class Terms(NamedTuple):
    """What trees cost, and how they are counted.

    width : bytes of the integers of a pass
    is_strict : whether a pass leaves out splits with an empty side even where they do not matter;
        then it knows the splits of columns that have but one
    numbers : (n_columns, .) threshold numbers by rank, see `Thresholds`
    values, of_errors : errors by number, and number by errors
    share : (n_thresholds, n_variants) 1 where a variant may use a threshold
    stop : (1,) uint8; soon after it becomes 1 the kernels return, with nothing of use
    """

    n_classes: int
    depth: int
    smallest: int
    unit: int
    price: int
    width: int
    is_strict: bool
    gain: bool
    numbers: np.ndarray
    values: np.ndarray
    of_errors: np.ndarray
    share: np.ndarray
    stop: np.ndarray


class Pack(NamedTuple):
    """A pack of thresholds, and what is known of its sides.

    score : (n_columns,) errors of the best single split of a column that waits, `FAR` of others
    n_waiting : (1,) how many wait
    active : (places,) columns at work, -1 for an empty place
    pick, waiting : lanes and open splits of a column
    masks : (n_rows,) which lanes have a row on the left
    totals, sizes : (lanes, 2, n_classes) weights and (lanes, 2) rows of both sides
    errors : (2, lanes, n_columns) least errors of a split on both sides
    within : (n_columns,) room for columns
    """

    score: np.ndarray
    n_waiting: np.ndarray
    active: np.ndarray
    pick: np.ndarray
    waiting: np.ndarray
    masks: np.ndarray
    totals: np.ndarray
    sizes: np.ndarray
    errors: np.ndarray
    within: np.ndarray


class Narrow(NamedTuple):
    """What a pass reads and writes, in its own integers; see `octcore.search.univariate.lanes`."""

    weight: np.ndarray
    signed: np.ndarray
    copies: np.ndarray
    sizes: np.ndarray
    out: np.ndarray
    counters: np.ndarray
    prefix: np.ndarray


class Sides(NamedTuple):
    """What stands on both sides of one threshold.

    most, high : (2,) most errors of a split, and how many numbers of errors that are, -1 and 0
        where none stands
    found : (2, n_errors, n_variants) splits by errors
    stump : (2 * n_rows, 7) splits of one column: side, number of the errors, first threshold,
        number of thresholds, row in the order of the column, classes on the left and right
    """

    most: np.ndarray
    high: np.ndarray
    found: np.ndarray
    stump: np.ndarray


@inner()
def _clear(array):
    """Fill an array of two dimensions with zeros: numpy's own way compiles for a second."""
    for i in range(array.shape[0]):
        for j in range(array.shape[1]):
            array[i, j] = 0


# Splits of a subset


@inner()
def _splits_of(rows, terms, usable, bounds):
    """The splits of a subset that test a usable column, all closed; see `open_subset`."""
    n_columns, m = rows.sequence.shape
    n_classes, smallest, numbers = terms.n_classes, terms.smallest, terms.numbers
    total, counts = np.zeros(n_classes, np.int64), np.zeros(n_classes, np.int64)
    n_rows, all_weight, heaviest = np.int64(0), np.int64(0), np.int64(0)
    for i in range(m):
        total[rows.y[i]] += rows.weight[i]
        all_weight += rows.weight[i]
        n_rows += rows.copies[i]
    for c in range(n_classes):
        heaviest = max(heaviest, total[c])
    size = n_columns * max(m - 1, 0)
    whole, sides = np.empty((6, size), np.int64), np.empty((2, 2, size), np.int64)
    splits = Splits(
        np.zeros(n_columns + 1, np.int64), np.full(n_columns, -1), whole[0], whole[1], whole[2],
        whole[3], whole[4], whole[5], sides[0], sides[1], np.empty(size, np.uint8),
    )  # fmt: skip
    n, least = 0, FAR
    for h in range(n_columns):
        for c in range(n_classes):
            counts[c] = 0
        weight, passed, n_places = np.int64(0), np.int64(0), 0
        for k in range(m - 1 if usable[h] else 0):
            code = rows.sequence[h, k]
            row = code >> 1
            counts[rows.y[row]] += rows.weight[row]
            weight += rows.weight[row]
            passed += rows.copies[row]
            if not code & 1 or passed < smallest or n_rows - passed < smallest:
                continue
            n_places += 1
            low = rows.rank[h, row]
            high = rows.rank[h, rows.sequence[h, k + 1] >> 1]
            number = numbers[h, low]
            many = numbers[h, high] - number
            if many == 0:
                continue
            left, right = np.int64(0), np.int64(0)
            for c in range(n_classes):
                left, right = max(left, counts[c]), max(right, total[c] - counts[c])
            splits.column[n], splits.low[n], splits.high[n] = h, low, high
            splits.number[n], splits.many[n] = number, many
            splits.passed[n] = weight
            splits.leaf[0, n], splits.leaf[1, n] = weight - left, all_weight - weight - right
            for s in range(2):
                splits.cost[s, n] = terms.price
                if bounds.shape[2] > 1:
                    splits.cost[s, n] = max(terms.price, bounds[s, h, low])
            splits.open[n] = CLOSED
            least = min(least, splits.leaf[0, n] + splits.leaf[1, n])
            n += 1
        splits.first[h + 1] = n
        if n_places == 1 and n > splits.first[h]:
            splits.only[h] = n - 1
    return splits, all_weight - heaviest if n_rows >= smallest else -1, least


@kernel()
def open_subset(rows, keep, m, terms, usable):
    """List the splits of a subset that test a usable column, all open.

    Parameters
    ----------
    rows : Rows
        Of the table.
    keep : ndarray of shape (n_rows,), uint8
        Which of them the subset has; m in number.
    usable : ndarray of shape (n_columns,), uint8

    Returns
    -------
    tuple of (Splits, int)
        The splits, and the errors of a leaf, -1 where it has too few rows.
    """
    splits, leaf, _ = _splits_of(
        restrict(rows, keep, m), terms, usable, np.empty((2, 1, 1), np.int64)
    )
    for j in range(splits.first[len(usable)]):
        splits.open[j] = OPEN
    return splits, leaf


@kernel()
def let_go(bounds, rows, inside, g, after, until, unit):
    """Lower bounds so that they hold without the marked rows of ranks above `after` to `until`."""
    for r in range(len(rows.y)):
        if inside[r] and after < rows.rank[g, r] <= until:
            step = unit * rows.weight[r]
            for h in range(bounds.shape[1]):
                rank = rows.rank[h, r]
                for t in range(bounds.shape[2]):
                    bounds[0 if t >= rank else 1, h, t] -= step


@kernel()
def sweep(splits, terms, a, z):
    """Carry the bounds of both sides to the neighbouring splits from a up to z; least sum."""
    left, right, passed = splits.cost[0], splits.cost[1], splits.passed
    for j in range(a + 1, z):
        step = terms.unit * (passed[j] - passed[j - 1])
        right[j] = max(right[j], right[j - 1] - step)
        if terms.smallest == 1:
            left[j] = max(left[j], left[j - 1])
    least = FAR
    for j in range(z - 1, a - 1, -1):
        if j < z - 1:
            step = terms.unit * (passed[j + 1] - passed[j])
            left[j] = max(left[j], left[j + 1] - step)
            if terms.smallest == 1:
                right[j] = max(right[j], right[j + 1])
        least = min(least, left[j] + right[j])
    return least


@kernel()
def choose(splits, bounds, limit, longest):
    """Next split to be solved, and the weight of half of its open run.

    The run is that around the open split with the least bound, in the column with the least one.
    Runs of `longest` splits or fewer are closed instead, to be solved one by one later.

    Parameters
    ----------
    bounds : ndarray of shape (n_columns,)
        Least sum of bounds in every column; `FAR` where nothing is open, which is written.

    Returns
    -------
    tuple of (int, int, int)
        The column, the split in the middle of the run by weight, -1 where nothing is open, and the
        weight.
    """
    left, right = splits.cost[0], splits.cost[1]
    while True:
        h = 0
        for g in range(len(bounds)):
            h = g if bounds[g] < bounds[h] else h
        if len(bounds) == 0 or bounds[h] > limit:
            return h, -1, 0
        a, z, low, bound = splits.first[h], splits.first[h + 1], -1, limit + 1
        for j in range(a, z):
            if splits.open[j] == OPEN and left[j] + right[j] < bound:
                low, bound = j, left[j] + right[j]
        if low < 0:
            bounds[h] = FAR
            continue
        high = low
        while low > a and splits.open[low - 1] == OPEN and left[low - 1] + right[low - 1] <= limit:
            low -= 1
        while (
            high < z - 1
            and splits.open[high + 1] == OPEN
            and (left[high + 1] + right[high + 1] <= limit)
        ):
            high += 1
        if high - low < longest:
            for j in range(low, high + 1):
                splits.open[j] = CLOSED
            continue
        middle, j = (splits.passed[low] + splits.passed[high]) // 2, low
        while j < high and splits.passed[j] < middle:
            j += 1
        return h, j, (splits.passed[high] - splits.passed[low]) // 2


# Packs of thresholds


@inner()
def _make_pack(rows, splits, terms):
    """Room for the packs of a subset."""
    n_columns, m = rows.sequence.shape
    lanes = VECTOR_BYTES // terms.width
    pack = Pack(
        np.full(n_columns, FAR), np.zeros(1, np.int64), np.full(max(1, lanes // EACH), -1),
        np.empty(lanes, np.int64), np.empty(m, np.int64), np.empty(m, np.uint16),
        np.empty((lanes, 2, terms.n_classes), np.int64), np.empty((lanes, 2), np.int64),
        np.full((2, lanes, n_columns), FAR),  # as it stays below depth two, where nothing passes
        np.empty(n_columns, np.int64),
    )  # fmt: skip
    for h in range(n_columns):
        for j in range(splits.first[h], splits.first[h + 1]):
            pack.score[h] = min(pack.score[h], splits.leaf[0, j] + splits.leaf[1, j])
        pack.n_waiting[0] += pack.score[h] < FAR
    return pack


@inner()
def _make_narrow(rows, terms, like):
    """Rows for the passes in the integers of an array; none where those are of another width."""
    kind, width = like.dtype, like.itemsize
    lanes, m = VECTOR_BYTES // width, len(rows.y) if width == terms.width else 0
    n_counters, n_prefix = (1, 1) if terms.n_classes == 2 else (terms.n_classes, m)
    narrow = Narrow(
        np.empty(m, kind), np.empty(m, kind), np.empty(m, kind), np.zeros((2, lanes), kind),
        np.empty((4, lanes), kind), np.empty((n_counters, 4 * lanes), kind),
        np.empty((n_prefix, 2, lanes), kind),
    )  # fmt: skip
    for i in range(m):
        narrow.weight[i], narrow.signed[i] = rows.weight[i], rows.signed[i]
        narrow.copies[i] = rows.copies[i]
    return narrow


@inner()
def _next_column(pack):
    """Take the column with the best single split of those that wait; -1 where none does."""
    best = -1
    for h in range(len(pack.score)):
        if pack.score[h] < FAR and (best < 0 or pack.score[h] < pack.score[best]):
            best = h
    if best >= 0:
        pack.score[best] = FAR
        pack.n_waiting[0] -= 1
    return best


@inner()
def _pick_pack(splits, terms, pack, limit):
    """Choose the splits of the next pack; returns how many."""
    lanes, n_pick = len(pack.pick), 0
    left, right = splits.cost[0], splits.cost[1]
    for place in range(len(pack.active)):
        while True:
            if pack.active[place] < 0:
                pack.active[place] = _next_column(pack)
            h, n_open = pack.active[place], 0
            if h < 0:
                break
            sweep(splits, terms, splits.first[h], splits.first[h + 1])
            for j in range(splits.first[h], splits.first[h + 1]):
                if splits.open[j] == OPEN and left[j] + right[j] <= limit:
                    pack.waiting[n_open] = j
                    n_open += 1
            if n_open:
                most = EACH if pack.n_waiting[0] else lanes
                room = min(n_open, min(most, lanes - n_pick))
                for i in range(room):
                    pack.pick[n_pick] = pack.waiting[((2 * i + 1) * n_open) // (2 * room)]
                    n_pick += 1
                break
            pack.active[place] = -1
    return n_pick


@inner()
def _mark_left(rows, splits, pack, n_pick):
    """Mark the rows left of every lane; adds up both sides."""
    m = len(rows.y)
    for r in range(m):
        pack.masks[r] = 0
    _clear(pack.sizes)
    for i in range(n_pick):
        j = pack.pick[i]
        rank, low, bit = rows.rank[splits.column[j]], splits.low[j], np.uint16(1 << i)
        totals = pack.totals[i]
        _clear(totals)
        for r in range(m):
            s = 0 if rank[r] <= low else 1
            pack.masks[r] |= bit if s == 0 else np.uint16(0)
            totals[s, rows.y[r]] += rows.weight[r]
            pack.sizes[i, s] += rows.copies[r]


@inner()
def _pass_columns(rows, terms, n_pick, pack, narrow):
    """Least errors of a split of every column on both sides of every lane."""
    two, counted = terms.n_classes == 2, terms.is_strict or terms.smallest > 1
    out = narrow.out
    far = np.int64(0)
    for i in range(n_pick if counted else 0):
        far = max(far, 1 + _weight(pack.totals[i], 0) + _weight(pack.totals[i], 1))
        narrow.sizes[0, i], narrow.sizes[1, i] = pack.sizes[i, 0], pack.sizes[i, 1]
    for h in range(rows.sequence.shape[0]):
        sequence = rows.sequence[h]
        for q in range(4):
            first = (far if q % 2 == 0 else -far) if two or not counted else -1
            for i in range(out.shape[1]):
                out[q, i] = first
        if two and counted:
            two_classes_counted(
                sequence, pack.masks, narrow.signed, out, narrow.copies, narrow.sizes,
                terms.smallest,
            )  # fmt: skip
        elif two:
            two_classes(sequence, pack.masks, narrow.signed, out)
        else:
            _clear(narrow.counters)
            if counted:
                more_classes_counted(
                    sequence, pack.masks, narrow.weight, out, rows.y, narrow.counters,
                    narrow.prefix, narrow.copies, narrow.sizes, terms.smallest,
                )  # fmt: skip
            else:
                more_classes(
                    sequence, pack.masks, narrow.weight, out, rows.y, narrow.counters, narrow.prefix
                )
        for i in range(n_pick):
            for s in range(2):
                totals = pack.totals[i]
                if two:
                    a, b = totals[s, 0], totals[s, 1]
                    good = max(b + np.int64(out[2 * s + 1, i]), a - np.int64(out[2 * s, i]))
                    good = max(good, max(a, b)) if good >= 0 else good  # two leaves of one class
                else:
                    good = np.int64(out[s, i])
                pack.errors[s, i, h] = _weight(totals, s) - good if good >= 0 else FAR


@inner()
def _weight(totals, s):
    """Weight of one side."""
    weight = np.int64(0)
    for c in range(totals.shape[1]):
        weight += totals[s, c]
    return weight


# Trees with one threshold at the top


@inner()
def _make_sides(terms, m):
    """Room for what stands on both sides."""
    return Sides(
        np.zeros(2, np.int64), np.zeros(2, np.int64),
        np.zeros((2, len(terms.values), terms.share.shape[1])), np.empty((2 * m, 7), np.int64),
    )  # fmt: skip


@inner()
def _limit_sides(splits, j, terms, budget, sides):
    """Most errors of the splits on both sides of split j, whose costs are known."""
    for s in range(2):
        most = (budget - splits.cost[1 - s, j] - 2 * terms.price) // terms.unit
        most = min(most, splits.leaf[s, j] - 1) if terms.gain else most
        sides.most[s] = most if terms.depth > 1 else -1
        sides.high[s] = 0
        if sides.most[s] >= 0:
            sides.high[s] = np.searchsorted(terms.values, sides.most[s], side="right")


@inner()
def _walk_column(rows, h, terms, masks, bit, totals, sizes, left, right, sides):
    """List the splits of column h on the sides that are asked for; returns how many."""
    m, n_classes, smallest = rows.sequence.shape[1], terms.n_classes, terms.smallest
    two, n, stump = n_classes == 2, 0, sides.stump
    counts, seen = np.zeros((2, n_classes), np.int64), np.zeros(2, np.int64)
    for k in range(m - 1):
        code = rows.sequence[h, k]
        row = code >> 1
        s = 0 if masks[row] & bit else 1
        seen[s] += rows.copies[row]
        if two:
            counts[s, 0] += rows.signed[row]
        else:
            counts[s, rows.y[row]] += rows.weight[row]
        if not code & 1:
            continue
        for s in range(2):
            asked = left if s == 0 else right
            if not asked or seen[s] < smallest or sizes[s] - seen[s] < smallest:
                continue
            a_class, b_class = 0, 0
            if two:
                a, b, d = totals[s, 0], totals[s, 1], counts[s, 0]
                errors = a + b - max(max(b + d, a - d), max(a, b))
                a_class, b_class = 0 if d >= 0 else 1, 0 if a - b >= d else 1
            else:
                a, b, errors = np.int64(0), np.int64(0), np.int64(0)
                for c in range(n_classes):
                    errors += totals[s, c]
                    if counts[s, c] > a:
                        a, a_class = counts[s, c], c
                    if totals[s, c] - counts[s, c] > b:
                        b, b_class = totals[s, c] - counts[s, c], c
                errors -= a + b
            if errors > sides.most[s]:
                continue
            number = terms.numbers[h, rows.rank[h, row]]
            many = terms.numbers[h, rows.rank[h, rows.sequence[h, k + 1] >> 1]] - number
            if many == 0:
                continue
            stump[n, 0], stump[n, 1], stump[n, 2] = s, terms.of_errors[errors], number
            stump[n, 3], stump[n, 4], stump[n, 5], stump[n, 6] = many, k, a_class, b_class
            n += 1
    return n


@inner()
def _heaviest(totals):
    """Weight of the heaviest class of both sides together."""
    most = np.int64(0)
    for c in range(totals.shape[1]):
        most = max(most, totals[0, c] + totals[1, c])
    return most


@inner()
def _rule(terms):
    """What `_is_in` reads, by itself: whoever is handed arrays counts their references."""
    return terms.unit, terms.price, terms.gain


@inner()
def _is_in(rule, budget, errors, leaves, all_errors):
    """Whether a tree of at most two leaves on each side is counted; see `_rule`."""
    unit, price, gain = rule
    if unit * errors + leaves * price > budget:
        return False
    return leaves > 2 or not gain or errors < all_errors


@inner()
def _add_trees(splits, j, terms, budget, all_errors, sides, target):
    """Add the trees with split j at the top to ``target[leaves - 1, errors, variant]``."""
    values, of_errors, found, leaf = terms.values, terms.of_errors, sides.found, splits.leaf
    rule = _rule(terms)
    ways, many = terms.share[splits.number[j]], splits.many[j]
    both = leaf[0, j] + leaf[1, j]
    if _is_in(rule, budget, both, 2, all_errors):
        for v in range(len(ways)):
            target[1, of_errors[both], v] += many * ways[v]
    for s in range(2):
        for e in range(sides.high[s]):
            errors = values[e] + leaf[1 - s, j]
            if found[s, e, 0] > 0.0 and _is_in(rule, budget, errors, 3, all_errors):
                for v in range(len(ways)):
                    target[2, of_errors[errors], v] += many * ways[v] * found[s, e, v]
    for e in range(sides.high[0]):
        for f in range(sides.high[1] if found[0, e, 0] > 0.0 else 0):
            if not _is_in(rule, budget, values[e] + values[f], 4, all_errors):
                break
            if found[1, f, 0] > 0.0:
                line = target[3, of_errors[values[e] + values[f]]]
                for v in range(len(ways)):
                    line[v] += many * ways[v] * found[0, e, v] * found[1, f, v]


@inner()
def _predict(rows, splits, j, i, terms, budget, all_errors, pack, sides, weights, shares):
    """Add what the trees with split j at the top, in lane i, predict for every row."""
    values, found, masks, rule = terms.values, sides.found, pack.masks, _rule(terms)
    leaf, of_errors, many = splits.leaf, terms.of_errors, np.float64(splits.many[j])
    bit, n_classes = np.uint16(1 << i), terms.n_classes
    # How often a leaf, and a stump of some errors, stands on a side.
    leaves, stumps = np.zeros(2), np.zeros((2, max(sides.high[0], sides.high[1])))
    both = leaf[0, j] + leaf[1, j]
    if _is_in(rule, budget, both, 2, all_errors):
        for s in range(2):
            leaves[s] = many * weights[1, of_errors[both], 0]
    for s in range(2):
        for e in range(sides.high[s]):
            errors = values[e] + leaf[1 - s, j]
            if found[s, e, 0] > 0.0 and _is_in(rule, budget, errors, 3, all_errors):
                amount = many * weights[2, of_errors[errors], 0]
                leaves[1 - s] += amount * found[s, e, 0]
                stumps[s, e] += amount
    for e in range(sides.high[0]):
        for f in range(sides.high[1] if found[0, e, 0] > 0.0 else 0):
            if not _is_in(rule, budget, values[e] + values[f], 4, all_errors):
                break
            if found[1, f, 0] > 0.0:
                amount = many * weights[3, of_errors[values[e] + values[f]], 0]
                stumps[0, e] += amount * found[1, f, 0]
                stumps[1, f] += amount * found[0, e, 0]
    label = np.zeros(2, np.int64)
    for s in range(2):
        for c in range(n_classes):
            label[s] = c if pack.totals[i, s, c] > pack.totals[i, s, label[s]] else label[s]
    for r in range(len(rows.y)):
        s = 0 if masks[r] & bit else 1
        shares[r, label[s]] += leaves[s]
    # Ahead: splits that have a row on their left; behind: on their right.
    stump = sides.stump
    ahead, behind = np.empty((2, n_classes)), np.empty((2, n_classes))
    for place in range(_columns_of_lane(pack.errors, i, sides.most, pack.within)):
        h, a = pack.within[place], 0
        n = _walk_lane(rows, splits, h, i, terms, pack, sides, True)
        _clear(ahead)
        _clear(behind)
        for b in range(n):
            s, share = stump[b, 0], terms.share[stump[b, 2], 0]
            ahead[s, stump[b, 5]] += stump[b, 3] * stumps[s, stump[b, 1]] * share
        for k in range(len(rows.y)):
            row = rows.sequence[h, k] >> 1
            s = 0 if masks[row] & bit else 1
            for c in range(n_classes):
                shares[row, c] += ahead[s, c] + behind[s, c]
            while a < n and stump[a, 4] == k:
                s, share = stump[a, 0], terms.share[stump[a, 2], 0]
                amount = stump[a, 3] * stumps[s, stump[a, 1]] * share
                ahead[s, stump[a, 5]] -= amount
                behind[s, stump[a, 6]] += amount
                a += 1


@inner()
def _columns_of_lane(errors, i, most, within):
    """List the columns that have a split of few enough errors on a side of lane i; how many."""
    n = 0
    for h in range(errors.shape[2]):
        if errors[0, i, h] <= most[0] or errors[1, i, h] <= most[1]:
            within[n] = h
            n += 1
    return n


@inner()
def _walk_lane(rows, splits, h, i, terms, pack, sides, labels):
    """List the splits of a column of a lane on the sides where it has any; returns how many.

    Without classes on the left and right, unless `labels`, there may be no need to walk.
    """
    left = pack.errors[0, i, h] <= sides.most[0]
    right = pack.errors[1, i, h] <= sides.most[1]
    j, n = splits.only[h], 0
    if j < 0 or labels or not terms.is_strict:
        bit = np.uint16(1 << i)
        return _walk_column(
            rows, h, terms, pack.masks, bit, pack.totals[i], pack.sizes[i], left, right, sides
        )
    for s in range(2):
        if left if s == 0 else right:
            sides.stump[n, 0], sides.stump[n, 1] = s, terms.of_errors[pack.errors[s, i, h]]
            sides.stump[n, 2], sides.stump[n, 3] = splits.number[j], splits.many[j]
            n += 1
    return n


@inner()
def _add_found(sides, n, share):
    """Add splits just listed to those found."""
    stump = sides.stump
    for a in range(n):
        line = sides.found[stump[a, 0], stump[a, 1]]
        for v in range(len(line)):
            line[v] += stump[a, 3] * share[stump[a, 2], v]


@inner()
def _clear_found(sides):
    """Forget the splits found."""
    for s in range(2):
        _clear(sides.found[s, : sides.high[s]])


@inner()
def _add_shapes(rows, splits, j, i, terms, budget, all_errors, pack, sides, options, tally):
    """Count the trees with split j at the top, in lane i, by shape; see `solve`.

    ``options`` (2, ., 3) has room for the columns, numbers of errors and counts of each side.
    """
    n_columns, n_errors, values = rows.sequence.shape[0], len(terms.values), terms.values
    n, rule = np.zeros(2, np.int64), _rule(terms)
    for s in range(2):
        if terms.unit * splits.leaf[s, j] + terms.price + splits.cost[1 - s, j] <= budget:
            options[s, 0, 0], options[s, 0, 1] = n_columns, terms.of_errors[splits.leaf[s, j]]
            options[s, 0, 2], n[s] = 1.0, 1
    for place in range(_columns_of_lane(pack.errors, i, sides.most, pack.within)):
        h = pack.within[place]
        _add_found(sides, _walk_lane(rows, splits, h, i, terms, pack, sides, False), terms.share)
        for s in range(2):
            for e in range(sides.high[s]):
                if sides.found[s, e, 0] > 0.0:
                    options[s, n[s], 0], options[s, n[s], 1] = h, e
                    options[s, n[s], 2] = sides.found[s, e, 0]
                    n[s] += 1
        _clear_found(sides)
    tally = ample(tally, min(n[0] * n[1], (n_columns + 1) ** 2 * n_errors))
    top = splits.column[j] * (n_columns + 1)
    for a in range(n[0]):
        left, e = np.int64(options[0, a, 0]), np.int64(options[0, a, 1])
        for b in range(n[1]):
            right, f = np.int64(options[1, b, 0]), np.int64(options[1, b, 1])
            errors, leaves = values[e] + values[f], 2 + (left < n_columns) + (right < n_columns)
            if _is_in(rule, budget, errors, leaves, all_errors):
                key = ((top + left) * (n_columns + 1) + right) * n_errors + terms.of_errors[errors]
                add(tally, key, splits.many[j] * options[0, a, 2] * options[1, b, 2])
    return tally


@inner()
def _open_hinted(splits, n_splits, hint):
    """Open the splits that may be at the top; see `solve`."""
    k = 0
    for j in range(n_splits):
        while k < len(hint) and hint[k] < splits.number[j] and hint[0] >= 0:
            k += 1
        if k < len(hint) and (hint[0] < 0 or hint[k] == splits.number[j]):
            splits.open[j] = OPEN


@inner()
def _solve_pack(splits, terms, n_pick, pack):
    """Least costs of both sides of the splits of a pack, which are solved; the least of a tree."""
    best = FAR
    for i in range(n_pick):
        j = pack.pick[i]
        splits.open[j] = SOLVED
        for s in range(2):
            least = terms.unit * splits.leaf[s, j] + terms.price
            for h in range(len(pack.within) if terms.depth > 1 else 0):
                if pack.errors[s, i, h] < FAR:
                    least = min(least, terms.unit * pack.errors[s, i, h] + 2 * terms.price)
            splits.cost[s, j] = least
        best = min(best, splits.cost[0, j] + splits.cost[1, j])
    return best


@inner()
def _keep_bounds(splits, n_splits, bounds):
    """Write the bounds of the sides by column and rank."""
    for j in range(n_splits):
        for t in range(splits.low[j], splits.high[j]):
            for s in range(2):
                bounds[s, splits.column[j], t] = splits.cost[s, j]


@inner()
def _tops(splits, n_splits, budget):
    """The solved splits within the budget, shape (n, 6); see `solve`."""
    tops, k = np.empty((n_splits, 6), np.int64), 0
    for j in range(n_splits):
        if splits.open[j] == SOLVED and splits.cost[0, j] + splits.cost[1, j] <= budget:
            tops[k, 0], tops[k, 1] = splits.number[j], splits.many[j]
            for s in range(2):
                tops[k, 2 + s], tops[k, 4 + s] = splits.leaf[s, j], splits.cost[s, j]
            k += 1
    return tops[:k]


@kernel()
def solve(rows, keep, m, terms, usable, hint, bounds, budget, asked, cell, grid, shares):
    """Solve the splits of a subset that trees of depth two or less within a budget have.

    Parameters
    ----------
    rows, keep, m, usable
        As for `open_subset`.
    terms : Terms
    hint : ndarray of int64
        First thresholds of what may be at the top, ascending; a first one of -1 stands for all.
    bounds : ndarray of shape (2, n_columns, n_ranks), int64
        Bounds of the sides by rank, if it is longer than one; better ones are written into it.
    budget : int
        Largest scaled cost.
    asked : int
        `ADD` counts into ``grid[0, leaves - 1, errors, variant]``, or with more than one grid into
        that of the split's column, `LEAST` finds the least cost alone, and `SHARES` adds to
        ``shares[row, class]`` what trees predict, each as often as ``grid[0, leaves - 1, errors,
        0]`` says.  `TALLY` fills ``shares[k, variant]`` with the trees that have the k-th split of
        `hint` at the top, and the cell (leaves - 1, errors), the grid being scratch.  `SHAPES`
        counts by the columns at the top and on both sides, n_columns for a leaf, in one number:
        ``(top * (n_columns + 1) + left) * (n_columns + 1) + right``.

    Returns
    -------
    tuple of (int, int, ndarray, ndarray, ndarray)
        Errors of a leaf, -1 where it has too few rows.  The least cost; above the budget it is a
        lower bound.  Splits within the budget, shape (n, 6): first threshold, number of thresholds,
        errors of a leaf and least cost on both sides.  Keys ``shape * n_errors + number of the
        errors``, -1 for none, and numbers of trees.
    """
    own, n_columns = restrict(rows, keep, m), len(usable)
    splits, leaf, stump = _splits_of(own, terms, usable, bounds)
    n_splits, best = splits.first[n_columns], FAR
    _open_hinted(splits, n_splits, hint)
    if leaf >= 0:
        best = terms.unit * leaf + terms.price
    if stump < FAR:
        best = min(best, terms.unit * stump + 2 * terms.price)
    pack, sides = _make_pack(own, splits, terms), _make_sides(terms, m)
    two = _make_narrow(own, terms, np.empty(0, np.int16))
    four = _make_narrow(own, terms, np.empty(0, np.int32))
    eight = _make_narrow(own, terms, np.empty(0, np.int64))
    part = np.zeros((m, shares.shape[1] if asked == SHARES else 0))
    n_options = n_columns * len(terms.values) + 1 if asked == SHAPES else 0
    options, tally, allowed = np.empty((2, n_options, 3)), new_tally(), terms.share
    while terms.stop[0] == 0:
        limit = min(budget, best - 1) if asked == LEAST else budget
        n_pick = _pick_pack(splits, terms, pack, limit)
        if n_pick == 0:
            break
        _mark_left(own, splits, pack, n_pick)
        if terms.depth > 1 and terms.width == 2:
            _pass_columns(own, terms, n_pick, pack, two)
        elif terms.depth > 1 and terms.width == 4:
            _pass_columns(own, terms, n_pick, pack, four)
        elif terms.depth > 1:
            _pass_columns(own, terms, n_pick, pack, eight)
        best = min(best, _solve_pack(splits, terms, n_pick, pack))
        for i in range(n_pick if asked != LEAST else 0):
            j = pack.pick[i]
            if splits.cost[0, j] + splits.cost[1, j] > budget or not allowed[splits.number[j], 0]:
                continue
            _limit_sides(splits, j, terms, budget, sides)
            totals = pack.totals[i]
            all_errors = _weight(totals, 0) + _weight(totals, 1) - _heaviest(totals)
            if asked == SHAPES:
                tally = _add_shapes(
                    own, splits, j, i, terms, budget, all_errors, pack, sides, options, tally
                )
                continue
            for place in range(_columns_of_lane(pack.errors, i, sides.most, pack.within)):
                h = pack.within[place]
                listed = _walk_lane(own, splits, h, i, terms, pack, sides, False)
                _add_found(sides, listed, allowed)
            target = grid[splits.column[j] if len(grid) > 1 else 0]
            if asked == SHARES:
                _predict(
                    own, splits, j, i, terms, budget, all_errors, pack, sides, target, part
                )  # fmt: skip
            else:
                here = target[cell[0], cell[1]]
                for v in range(len(here) if asked == TALLY else 0):
                    here[v] = 0.0
                _add_trees(splits, j, terms, budget, all_errors, sides, target)
                for v in range(len(here) if asked == TALLY else 0):
                    shares[np.searchsorted(hint, splits.number[j]), v] = here[v]
            _clear_found(sides)
    if bounds.shape[2] > 1:
        _keep_bounds(splits, n_splits, bounds)
    for j in range(n_splits):
        best = min(best, splits.cost[0, j] + splits.cost[1, j])
    k = 0
    for r in range(len(keep) if asked == SHARES else 0):
        for c in range(part.shape[1] if keep[r] else 0):
            shares[r, c] += part[k, c]
        k += keep[r]
    return leaf, best, _tops(splits, n_splits, budget), tally.key, tally.amount


@kernel()
def list_below(rows, keep, m, terms, wanted, column, low, cost, budget):
    """Splits of wanted columns on both sides of a threshold that some tree within the budget has.

    Parameters
    ----------
    wanted : ndarray of shape (n_columns,), uint8
    column, low : int
        The threshold: a column, and its last rank on the left.
    cost : ndarray of shape (2,), int64
        Least cost of the sides.

    Returns
    -------
    ndarray of shape (n, 4)
        Side, errors, first threshold and number of thresholds; thresholds ascending.
    """
    own = restrict(rows, keep, m)
    sides, masks = _make_sides(terms, m), np.zeros(m, np.uint16)
    totals, sizes = np.zeros((2, terms.n_classes), np.int64), np.zeros(2, np.int64)
    for r in range(m):
        s = 0 if own.rank[column, r] <= low else 1
        masks[r] = 1 - s
        totals[s, own.y[r]] += own.weight[r]
        sizes[s] += own.copies[r]
    for s in range(2):
        most = (budget - cost[1 - s] - 2 * terms.price) // terms.unit
        sides.most[s] = most if terms.depth > 1 else -1
    found, n = np.empty((64, 4), np.int64), 0
    for h in range(len(wanted)):
        if not wanted[h]:
            continue
        listed = _walk_column(own, h, terms, masks, np.uint16(1), totals, sizes, True, True, sides)
        if n + listed > len(found):
            longer = np.empty((2 * (n + listed), 4), np.int64)
            for a in range(n):
                for b in range(4):
                    longer[a, b] = found[a, b]
            found = longer
        for a in range(listed):
            found[n, 0], found[n, 1] = sides.stump[a, 0], terms.values[sides.stump[a, 1]]
            found[n, 2], found[n, 3] = sides.stump[a, 2], sides.stump[a, 3]
            n += 1
    return found[:n]
