"""Compiled kernels of the near-optimal trees along sorted columns: all thresholds, by packs.

Costs are ``unit * errors + price * leaves`` in whole numbers.  As in
`octcore.search.univariate.depth_two`, a few thresholds are solved exactly and two sweeps bound the
others; those within the budget are solved in turn.  Where leaves need more than one row, only
`bounds.carry_similar` holds, since the larger side's leaves only gain rows.

A pass along a column (`octcore.search.univariate.lanes`) gives its least errors on both sides of a
pack of thresholds; only columns within a side's room are walked through and their splits counted.
Rows are in 64-bit integers; only what a pass reads is copied into narrower ones, so that every
kernel is compiled once.
"""

from typing import NamedTuple

import numpy as np

from octcore.numerics.kernels import inner, kernel
from octcore.search.near_optimal.combining import (
    LEAST,
    SHAPES,
    SHARES,
    TALLY,
    Cells,
    combine,
    new_tally,
)
from octcore.search.univariate.bounds import carry_similar
from octcore.search.univariate.bounds import sweep as carry
from octcore.search.univariate.intrinsics import lanes_of
from octcore.search.univariate.lane_rows import class_weights, count_rows, restrict, sum_and_most
from octcore.search.univariate.lanes import pass_over

EACH = 4  # lanes of a pack for one column, while there are others
FAR = 1 << 60  # cost of what cannot be
CLOSED, OPEN, SOLVED = range(3)  # what is known of a split


class Splits(NamedTuple):
    """Thresholds that part a subset, column after column; neighbours that part it alike are one."""

    first: np.ndarray  # (n_columns + 1,) first split of every column; the rest has room for more
    column: np.ndarray  # (n,) column of the table
    low: np.ndarray  # (n,) the last rank on the left
    high: np.ndarray  # (n,) the first rank on the right
    number: np.ndarray  # (n,) first threshold of the table
    many: np.ndarray  # (n,) thresholds that the split stands for
    passed: np.ndarray  # (n,) scaled weight on the left
    leaf: np.ndarray  # (2, n) errors of a leaf on both sides
    cost: np.ndarray  # (2, n) lower bounds on the scaled cost of both sides
    open: np.ndarray  # (n,) uint8, `OPEN` if it is to be solved where its bounds allow


class Pack(NamedTuple):
    """A pack of thresholds, and what is known of its sides."""

    score: np.ndarray  # (n_columns,) errors of the best split of a column that waits, else `FAR`
    n_waiting: np.ndarray  # (1,) how many wait
    active: np.ndarray  # (places,) columns at work, -1 for an empty place
    pick: np.ndarray  # lanes
    waiting: np.ndarray  # open splits of a column
    masks: np.ndarray  # (n_rows,) which lanes have a row on the left
    totals: np.ndarray  # (lanes, 2, n_classes) weights of both sides
    weight: np.ndarray  # (lanes, 2)
    sizes: np.ndarray  # (lanes, 2) rows
    errors: np.ndarray  # (2, lanes, n_columns) least errors of a split on both sides
    within: np.ndarray  # (n_columns,) room for columns


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
    """What stands on both sides of one threshold."""

    most: np.ndarray  # (2,) most errors of a split, -1 where none stands
    high: np.ndarray  # (2,) how many numbers of errors that are
    found: np.ndarray  # (2, n_errors, n_variants) splits by errors, or (2, n_errors, n_columns)
    stump: np.ndarray
    """(2 * n_rows, 7) splits of one column: side, number of the errors, first threshold, number of
    thresholds, row in the order of the column, classes on the left and right."""


@inner()
def _clear(array):
    """Fill an array of two dimensions with zeros: numpy's own way compiles for a second."""
    for i in range(array.shape[0]):
        for j in range(array.shape[1]):
            array[i, j] = 0


@inner(owns=True)
def _splits_of(rows, terms, usable, hint, bounds):
    """The splits of a subset that test a usable column, open where `hint` allows; see `solve`."""
    n_columns, m = rows.sequence.shape
    n_classes, smallest, numbers = terms.n_classes, terms.smallest, terms.numbers
    total, counts = class_weights(rows, n_classes), np.zeros(n_classes, np.int64)
    (all_weight, heaviest), n_rows = sum_and_most(total), count_rows(rows)
    size = n_columns * max(m - 1, 0)
    whole, sides = np.empty((6, size), np.int64), np.empty((2, 2, size), np.int64)
    splits = Splits(
        np.zeros(n_columns + 1, np.int64), whole[0], whole[1], whole[2], whole[3], whole[4],
        whole[5], sides[0], sides[1], np.empty(size, np.uint8),
    )  # fmt: skip
    n, least, at = 0, FAR, 0
    for h in range(n_columns):
        for c in range(n_classes):
            counts[c] = 0
        weight, passed = np.int64(0), np.int64(0)
        for k in range(m - 1 if usable[h] else 0):
            code = rows.sequence[h, k]
            row = code >> 1
            counts[rows.y[row]] += rows.weight[row]
            weight += rows.weight[row]
            passed += rows.copies[row]
            if not code & 1 or passed < smallest or n_rows - passed < smallest:
                continue
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
            splits.passed[n] = terms.unit * weight
            splits.leaf[0, n], splits.leaf[1, n] = weight - left, all_weight - weight - right
            for s in range(2):
                splits.cost[s, n] = terms.price
                if bounds.shape[2] > 1:
                    splits.cost[s, n] = max(terms.price, bounds[s, h, low])
            while at < len(hint) and 0 <= hint[at] < number:
                at += 1
            is_hinted = at < len(hint) and (hint[at] < 0 or hint[at] == number)
            splits.open[n] = OPEN if is_hinted else CLOSED
            least = min(least, splits.leaf[0, n] + splits.leaf[1, n])
            n += 1
        splits.first[h + 1] = n
    return splits, all_weight - heaviest if n_rows >= smallest else -1, least


@inner(owns=True)
def _subset(rows, keep):
    """The rows that are kept, renumbered."""
    m = np.int64(0)
    for r in range(len(keep)):
        m += keep[r]
    return restrict(rows, keep, m)


@kernel()
def open_subset(rows, keep, terms, usable):
    """List the splits of a subset that test a usable column, all open.

    `keep`, `usable`: (n_rows,) and (n_columns,) uint8, rows of the subset, columns to be tested.
    Returns the splits, and the errors of a leaf, -1 where it has too few rows.
    """
    nothing = np.empty((2, 1, 1), np.int64)
    splits, leaf, _ = _splits_of(_subset(rows, keep), terms, usable, np.full(1, -1), nothing)
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
    left, right = splits.cost[0, a:z], splits.cost[1, a:z]
    if terms.smallest == 1:
        carry(left, right, splits.passed[a:z], z - a)
    else:
        carry_similar(left, right, splits.passed[a:z], z - a)
    least = FAR
    for j in range(z - a):
        least = min(least, left[j] + right[j])
    return least


@kernel()
def choose(splits, bounds, limit, longest):
    """Next split to be solved, and how far beyond its own room it is worth to be solved.

    The run is that around the open split with the least bound, in the column with the least one.
    Runs of `longest` splits or fewer are closed instead, to be solved one by one later.

    `bounds`: (n_columns,) least sum of bounds in every column; `FAR` where nothing is open, which
        is written.
    Returns the column, the split in the middle of the run by weight, -1 where nothing is open, and
        a quarter of the run's scaled weight, as its bound serves the neighbours as well.
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
        return h, j, (splits.passed[high] - splits.passed[low]) // 4


@inner(owns=True)
def _make_pack(rows, splits, terms):
    """Room for the packs of a subset."""
    n_columns, m = rows.sequence.shape
    lanes = lanes_of(terms.width)
    pack = Pack(
        np.full(n_columns, FAR), np.zeros(1, np.int64), np.full(max(1, lanes // EACH), -1),
        np.empty(lanes, np.int64), np.empty(m, np.int64), np.empty(m, np.uint16),
        np.empty((lanes, 2, terms.n_classes), np.int64), np.empty((lanes, 2), np.int64),
        np.empty((lanes, 2), np.int64),
        np.full((2, lanes, n_columns), FAR),  # as it stays below depth two, where nothing passes
        np.empty(n_columns, np.int64),
    )  # fmt: skip
    for h in range(n_columns):
        for j in range(splits.first[h], splits.first[h + 1]):
            pack.score[h] = min(pack.score[h], splits.leaf[0, j] + splits.leaf[1, j])
        pack.n_waiting[0] += pack.score[h] < FAR
    return pack


@inner(owns=True)
def _make_narrow(rows, terms, like):
    """Rows for the passes in the integers of an array; none where those are of another width."""
    kind, width = like.dtype, like.itemsize
    lanes, m = lanes_of(width), len(rows.y) if width == terms.width else 0
    n_columns = len(rows.sequence)
    in_order = m if terms.n_classes == 2 and terms.depth > 1 else 0  # else nothing passes
    n_counters, n_prefix = (1, 1) if terms.n_classes == 2 else (terms.n_classes, m)
    narrow = Narrow(
        np.empty(m, kind), np.empty((n_columns, in_order), kind), np.empty(m, kind),
        np.zeros((2, lanes), kind), np.empty((4, lanes), kind),
        np.empty((n_counters, 4 * lanes), kind), np.empty((n_prefix, 2, lanes), kind),
    )  # fmt: skip
    for i in range(m):
        narrow.weight[i], narrow.copies[i] = rows.weight[i], rows.copies[i]
    for h in range(n_columns):
        for k in range(in_order):
            narrow.signed[h, k] = rows.signed[rows.sequence[h, k] >> 1]
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
    _clear(pack.weight)
    for i in range(n_pick):
        j = pack.pick[i]
        rank, low, bit = rows.rank[splits.column[j]], splits.low[j], np.uint16(1 << i)
        totals = pack.totals[i]
        _clear(totals)
        for r in range(m):
            s = 0 if rank[r] <= low else 1
            pack.masks[r] |= bit if s == 0 else np.uint16(0)
            totals[s, rows.y[r]] += rows.weight[r]
            pack.weight[i, s] += rows.weight[r]
            pack.sizes[i, s] += rows.copies[r]


@inner()
def _pass_columns(rows, terms, n_pick, pack, narrow):
    """Least errors of a split of every column on both sides of every lane."""
    two, counted = terms.n_classes == 2, terms.smallest > 1
    out = narrow.out
    far = np.int64(0)
    for i in range(n_pick if counted else 0):
        far = max(far, 1 + pack.weight[i, 0] + pack.weight[i, 1])
        narrow.sizes[0, i], narrow.sizes[1, i] = pack.sizes[i, 0], pack.sizes[i, 1]
    for h in range(rows.sequence.shape[0]):
        for q in range(4):
            first = (far if q % 2 == 0 else -far) if two or not counted else -1
            for i in range(out.shape[1]):
                out[q, i] = first
        pass_over(
            rows.sequence[h], rows.y, narrow.signed[h], pack.masks, narrow, narrow, two, counted,
            terms.smallest,
        )  # fmt: skip
        for i in range(n_pick):
            for s in range(2):
                totals = pack.totals[i]
                if two:
                    a, b = totals[s, 0], totals[s, 1]
                    good = max(b + np.int64(out[2 * s + 1, i]), a - np.int64(out[2 * s, i]))
                    good = max(good, max(a, b)) if good >= 0 else good  # two leaves of one class
                else:
                    good = np.int64(out[s, i])
                pack.errors[s, i, h] = pack.weight[i, s] - good if good >= 0 else FAR


@inner(owns=True)
def make_sides(terms, m, n_errors, n_found):
    """Room for what stands on both sides; none of it is needed where no tree is counted."""
    n_variants = terms.share.shape[1]
    n_cells = 2 + 2 * n_errors * (n_found // n_variants)
    whole = np.empty((4, n_cells), np.int64)
    return Sides(
        np.zeros(2, np.int64), np.zeros(2, np.int64), np.zeros((2, n_errors, n_found)),
        np.empty((2 * m, 7), np.int64),
    ), Cells(
        np.zeros(3, np.int64), whole[0], whole[1], whole[2], whole[3],
        np.empty((n_cells, n_variants)),
    )  # fmt: skip


@inner()
def limit_sides(leaf, cost, terms, budget, sides):
    """Most errors of the splits on both sides of one whose leaves and least costs are known."""
    for s in range(2):
        most = (budget - cost[1 - s] - 2 * terms.price) // terms.unit
        most = min(most, leaf[s] - 1) if terms.gain else most
        sides.most[s] = most if terms.depth > 1 else -1
        sides.high[s] = 0
        if sides.most[s] >= 0:
            sides.high[s] = np.searchsorted(terms.values, sides.most[s], side="right")


@inner(owns=True)
def _walk_lane(rows, h, i, terms, pack, sides):
    """List the splits of a column of a lane on the sides where it has any; returns how many."""
    stump, n = sides.stump, 0
    left = pack.errors[0, i, h] <= sides.most[0]
    right = pack.errors[1, i, h] <= sides.most[1]
    m, n_classes, smallest = rows.sequence.shape[1], terms.n_classes, terms.smallest
    bit, masks, totals, sizes = np.uint16(1 << i), pack.masks, pack.totals[i], pack.sizes[i]
    two = n_classes == 2
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
                a, b = np.int64(0), np.int64(0)
                for c in range(n_classes):
                    if counts[s, c] > a:
                        a, a_class = counts[s, c], c
                    if totals[s, c] - counts[s, c] > b:
                        b, b_class = totals[s, c] - counts[s, c], c
                errors = pack.weight[i, s] - a - b
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
def _find_stumps(rows, i, terms, pack, sides, by_column):
    """Add up the splits of all columns on both sides of lane i."""
    stump, found = sides.stump, sides.found
    for place in range(_columns_of_lane(pack.errors, i, sides.most, pack.within)):
        h = pack.within[place]
        for a in range(_walk_lane(rows, h, i, terms, pack, sides)):
            line, use = found[stump[a, 0], stump[a, 1]], terms.share[stump[a, 2]]
            for v in range(len(use)):
                line[h if by_column else v] += stump[a, 3] * use[v]


@inner()
def fill_cells(leaf, cost, terms, budget, sides, cells, n_columns):
    """List the cells on both sides of a split, a leaf and the splits found, and clear these.

    `leaf`, `cost`: (2,) errors of a leaf and least costs; `n_columns`: 0 unless found by column.
    """
    found, n = sides.found, 0
    for s in range(2):
        high, cells.start[s] = sides.high[s], n
        # Stumps of so few errors come before a leaf, if any tree has one.
        most = (terms.unit * leaf[s] - terms.price) // terms.unit
        before = np.searchsorted(terms.values[:high], most, side="right")
        if terms.unit * leaf[s] + terms.price + cost[1 - s] > budget:
            before = -1
        for e in range(high + 1):
            if e == before:
                cells.errors[n], cells.leaves[n] = terms.of_errors[leaf[s]], 1
                cells.shape[n] = n_columns
                for v in range(cells.counts.shape[1]):
                    cells.counts[n, v] = 1.0
                n += 1
            for g in range(max(1, n_columns) if e < high else 0):
                if found[s, e, g] > 0.0:
                    cells.errors[n], cells.leaves[n], cells.shape[n] = e, 2, g
                    for v in range(cells.counts.shape[1]):
                        cells.counts[n, v] = found[s, e, g + v]
                    n += 1
        _clear(found[s, :high])
    cells.start[2] = n
    for k in range(n):
        errors = terms.values[cells.errors[k]]
        cells.costs[k] = terms.unit * errors + terms.price * cells.leaves[k]


@inner(owns=True)
def _predict(rows, i, terms, pack, sides, cells, outside, shares):
    """Add what the cells on both sides, in lane i, predict for every row."""
    masks, bit, n_classes = pack.masks, np.uint16(1 << i), terms.n_classes
    # How often a leaf, and a stump of some errors, stands on a side.
    leaves, stumps = np.zeros(2), np.zeros((2, max(sides.high[0], sides.high[1])))
    for s in range(2):
        for k in range(cells.start[s], cells.start[s + 1]):
            if cells.leaves[k] == 1:
                leaves[s] = outside[k]
            else:
                stumps[s, cells.errors[k]] = outside[k]
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
        n = _walk_lane(rows, h, i, terms, pack, sides)
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


@inner(owns=True)
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
def solve(rows, keep, terms, usable, hint, bounds, budget, asked, cell, grid, shares):
    """Solve the splits of a subset that trees of depth two or less within a budget have.

    `rows`, `keep`, `usable`: as for `open_subset`.
    `hint`: first thresholds of what may be at the top, ascending; a first one of -1 stands for all.
    `bounds`: (2, n_columns, n_ranks) int64, bounds of the sides by rank, if it is longer than one;
        better ones are written into it.
    `budget`: largest scaled cost.
    `asked`: `ADD` counts into ``grid[0, leaves - 1, errors, variant]``, or with more than one grid
        into that of the split's column, `LEAST` finds the least cost alone, and `SHARES` adds to
        ``shares[row, class]`` what trees predict, each as often as ``grid[0, leaves - 1, errors,
        0]`` says.  `TALLY` fills ``shares[k, variant]`` with the trees that have the k-th split of
        `hint` at the top, and the cell (leaves - 1, errors), the grid being scratch.  `SHAPES`
        counts by the columns at the top and on both sides, n_columns for a leaf, in one number:
        ``(top * (n_columns + 1) + left) * (n_columns + 1) + right``.
    Returns errors of a leaf, -1 where it has too few rows.  The least cost; above the budget it is
        a lower bound.  Splits within the budget, shape (n, 6): first threshold, number of
        thresholds, errors of a leaf and least cost on both sides.  Keys ``shape * n_errors + number
        of the errors``, -1 for none, and numbers of trees.
    """
    own, n_columns = _subset(rows, keep), len(usable)
    splits, leaf, stump = _splits_of(own, terms, usable, hint, bounds)
    n_splits, best = splits.first[n_columns], FAR
    if leaf >= 0:
        best = terms.unit * leaf + terms.price
    if stump < FAR:
        best = min(best, terms.unit * stump + 2 * terms.price)
    pack, n_errors = _make_pack(own, splits, terms), len(terms.values) if asked != LEAST else 0
    n_found = n_columns if asked == SHAPES else terms.share.shape[1]
    sides, cells = make_sides(terms, len(own.y), n_errors, n_found)
    edge = np.zeros((1, 4), np.int64)
    edge[0, 3] = 1
    two = _make_narrow(own, terms, np.empty(0, np.int16))
    four = _make_narrow(own, terms, np.empty(0, np.int32))
    eight = _make_narrow(own, terms, np.empty(0, np.int64))
    part = np.zeros((len(own.y), shares.shape[1] if asked == SHARES else 0))
    outside = np.zeros(len(cells.errors) if asked == SHARES else 0)
    tally, allowed = new_tally(), terms.share
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
            limit_sides(splits.leaf[:, j], splits.cost[:, j], terms, budget, sides)
            _find_stumps(own, i, terms, pack, sides, asked == SHAPES)
            fill_cells(
                splits.leaf[:, j], splits.cost[:, j], terms, budget, sides, cells,
                n_columns if asked == SHAPES else 0,
            )  # fmt: skip
            target = grid[splits.column[j] if len(grid) > 1 else 0]
            edge[0, 0], edge[0, 1] = splits.number[j], splits.many[j]
            here = target[cell[0], cell[1]]
            for v in range(len(here) if asked == TALLY else 0):
                here[v] = 0.0
            for k in range(cells.start[2] if asked == SHARES else 0):
                outside[k] = 0.0
            tally = combine(
                asked, edge, cells, budget, terms, leaf, target, outside, n_columns + 1,
                tally,
            )  # fmt: skip
            if asked == SHARES:
                _predict(own, i, terms, pack, sides, cells, outside, part)
            for v in range(len(here) if asked == TALLY else 0):
                shares[np.searchsorted(hint, splits.number[j]), v] = here[v]
    for j in range(n_splits):
        best = min(best, splits.cost[0, j] + splits.cost[1, j])
        for t in range(splits.low[j], splits.high[j] if bounds.shape[2] > 1 else 0):
            for s in range(2):
                bounds[s, splits.column[j], t] = splits.cost[s, j]
    k = 0
    for r in range(len(keep) if asked == SHARES else 0):
        for c in range(part.shape[1] if keep[r] else 0):
            shares[r, c] += part[k, c]
        k += keep[r]
    return leaf, best, _tops(splits, n_splits, budget), tally.key, tally.amount


@kernel()
def stumps_within(rows, keep, terms, wanted, room):
    """Splits of wanted columns of a subset, of scaled cost `room` at most.

    `keep`, `wanted`: (n_rows,) and (n_columns,) uint8.
    Returns an array (n, 3): errors, first threshold and number of thresholds; thresholds ascending.
    """
    nothing, n = np.empty((2, 1, 1), np.int64), 0
    splits = _splits_of(_subset(rows, keep), terms, wanted, np.full(1, -1), nothing)[0]
    n_splits = splits.first[len(wanted)] if terms.depth > 1 else 0
    found = np.empty((n_splits, 3), np.int64)
    for j in range(n_splits):
        errors = splits.leaf[0, j] + splits.leaf[1, j]
        if terms.unit * errors + 2 * terms.price <= room:
            found[n, 0], found[n, 1], found[n, 2] = errors, splits.number[j], splits.many[j]
            n += 1
    return found[:n]
