"""Compiled kernels of the near-optimal trees along sorted columns: all thresholds, by packs.

Costs are ``unit * errors + price * leaves`` in whole numbers.  Along one column, with j < k two
thresholds and w the weight between them, the costs c of the two sides bound each other:

    left:   c(j) <= c(k) <= c(j) + w        right:   c(k) <= c(j) <= c(k) + w

So a few thresholds are solved exactly and two sweeps bound the others; those within the budget are
solved in turn.  Where leaves need more than one row, fewer rows may cost more and the first half
of the bounds fails; the second holds, since the larger side's leaves only gain rows.

A pass along a column (`octcore.search.univariate.lanes`) gives its least errors on both sides of a
pack of thresholds; only columns within a side's room are walked through and their splits counted.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from octcore.kernels import inner, kernel
from octcore.search.near_optimal.tally import add, ample, new_tally
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
ADD, LEAST, SHARES, TALLY = range(4)
"""What is asked: counts, the least cost alone, predictions, or how many trees of one cell every
split has at its top."""


class Splits(NamedTuple):
    """Thresholds that part a subset, column after column; neighbours that part it alike are one.

    first : (n_columns + 1,) first split of every column
    column, low, high : (n,) column of the table, the last rank on the left, the first on the right
    number, many : (n,) first threshold of the table, and how many the split stands for
    passed, size : (n,) weight and rows on the left
    leaf : (2, n) errors of a leaf on both sides
    cost : (2, n) lower bounds on the scaled cost of both sides
    open : (n,) uint8, whether it is to be solved if its bounds allow
    """

    first: np.ndarray
    column: np.ndarray
    low: np.ndarray
    high: np.ndarray
    number: np.ndarray
    many: np.ndarray
    passed: np.ndarray
    size: np.ndarray
    leaf: np.ndarray
    cost: np.ndarray
    open: np.ndarray


class Terms(NamedTuple):
    """What trees cost, and how they are counted.

    numbers : (n_columns, .) threshold numbers by rank, see `Thresholds`
    values, of_errors : errors by number, and number by errors
    share : (n_thresholds, n_variants) 1 where a variant may use a threshold
    """

    n_classes: int
    depth: int
    smallest: int
    unit: int
    price: int
    gain: bool
    numbers: np.ndarray
    values: np.ndarray
    of_errors: np.ndarray
    share: np.ndarray


class Scratch(NamedTuple):
    """Room for packs of thresholds, and how far they are.

    state : (5,) least cost found, next column in `order`, packs done; leaves less one and number
        of the errors of the cell of a tally
    order : (n_columns,) columns by their best single split
    active : (places,) columns at work, -1 for an empty place
    pick, waiting : lanes and open splits of a column
    masks : (n_rows,) which lanes have a row on the left
    sizes, out, counters, prefix : of the passes
    errors : (2, lanes, n_columns) least errors of a split on both sides
    found : (2, n_errors, n_variants) splits of both sides by errors
    """

    state: np.ndarray
    order: np.ndarray
    active: np.ndarray
    pick: np.ndarray
    waiting: np.ndarray
    masks: np.ndarray
    sizes: np.ndarray
    out: np.ndarray
    counters: np.ndarray
    prefix: np.ndarray
    errors: np.ndarray
    found: np.ndarray


@kernel()
def list_splits(rows, terms, usable, is_open, table):
    """List the splits of a subset that test a usable column, open or not.

    ``table`` (2, n_columns, n_ranks), if it is longer than one, has bounds of their sides by rank.

    Returns
    -------
    tuple of (Splits, int, int)
        The splits, the errors of a leaf (-1 where it has too few rows), and the least errors of a
        single split, `FAR` if there is none.
    """
    n_columns, m = rows.sequence.shape
    n_classes, smallest, numbers = terms.n_classes, terms.smallest, terms.numbers
    total = np.zeros(n_classes, np.int64)
    n_rows = 0
    for i in range(m):
        total[rows.y[i]] += rows.weight[i]
        n_rows += rows.copies[i]
    size = n_columns * max(m - 1, 0)
    splits = Splits(
        np.zeros(n_columns + 1, np.int64), np.empty(size, np.int64), np.empty(size, np.int64),
        np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64),
        np.empty(size, np.int64), np.empty(size, np.int64), np.empty((2, size), np.int64),
        np.empty((2, size), np.int64), np.empty(size, np.uint8),
    )  # fmt: skip
    n, least = 0, FAR
    counts = np.zeros(n_classes, np.int64)
    all_weight = total.sum()
    for h in range(n_columns):
        counts[:] = 0
        weight, passed = 0, 0
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
            left, right = 0, 0
            for c in range(n_classes):
                left, right = max(left, counts[c]), max(right, total[c] - counts[c])
            splits.column[n], splits.low[n], splits.high[n] = h, low, high
            splits.number[n], splits.many[n] = number, many
            splits.passed[n], splits.size[n] = weight, passed
            splits.leaf[0, n], splits.leaf[1, n] = weight - left, all_weight - weight - right
            splits.cost[0, n], splits.cost[1, n] = terms.price, terms.price
            if table.shape[2] > 1:
                splits.cost[0, n] = max(terms.price, table[0, h, low])
                splits.cost[1, n] = max(terms.price, table[1, h, low])
            splits.open[n] = is_open
            least = min(least, splits.leaf[0, n] + splits.leaf[1, n])
            n += 1
        splits.first[h + 1] = n
    leaf = all_weight - total.max() if n_rows >= smallest else -1
    return (
        Splits(
            splits.first, splits.column[:n], splits.low[:n], splits.high[:n], splits.number[:n],
            splits.many[:n], splits.passed[:n], splits.size[:n], splits.leaf[:, :n],
            splits.cost[:, :n], splits.open[:n],
        ),
        leaf,
        least,
    )  # fmt: skip


@kernel()
def keep_bounds(splits, table):
    """Write the bounds of the splits of a subset into a table by rank, see `list_splits`."""
    for j in range(len(splits.column)):
        for t in range(splits.low[j], splits.high[j]):
            table[0, splits.column[j], t] = splits.cost[0, j]
            table[1, splits.column[j], t] = splits.cost[1, j]


@kernel()
def let_go(table, rows, g, after, until, unit):
    """Lower a table so that it holds without the rows of ranks above `after` up to `until`."""
    for r in range(len(rows.y)):
        if after < rows.rank[g, r] <= until:
            step = unit * np.int64(rows.weight[r])
            for h in range(table.shape[1]):
                rank = rows.rank[h, r]
                table[0, h, rank:] -= step
                table[1, h, :rank] -= step


@kernel()
def sweep(splits, unit, smallest, a, z):
    """Carry the bounds of both sides to the neighbouring splits from a up to z."""
    left, right, passed = splits.cost[0], splits.cost[1], splits.passed
    for j in range(a + 1, z):
        step = unit * (passed[j] - passed[j - 1])
        right[j] = max(right[j], right[j - 1] - step)
        if smallest == 1:
            left[j] = max(left[j], left[j - 1])
    for j in range(z - 2, a - 1, -1):
        step = unit * (passed[j + 1] - passed[j])
        left[j] = max(left[j], left[j + 1] - step)
        if smallest == 1:
            right[j] = max(right[j], right[j + 1])


@kernel()
def choose(splits, h, limit, longest):
    """Next split to be solved of a column, and the weight of half of its open run.

    The run is that around the open split with the least bound.  Runs of `longest` splits or fewer
    are closed instead, to be solved one by one later.

    Returns
    -------
    tuple of (int, int)
        The split in the middle of the run by weight, -1 where nothing is open, -2 where a run was
        closed; and the weight.
    """
    a, z = splits.first[h], splits.first[h + 1]
    left, right = splits.cost[0], splits.cost[1]
    low, bound = -1, limit + 1
    for j in range(a, z):
        if splits.open[j] and left[j] + right[j] < bound:
            low, bound = j, left[j] + right[j]
    if low < 0:
        return -1, 0
    high = low
    while low > a and splits.open[low - 1] and left[low - 1] + right[low - 1] <= limit:
        low -= 1
    while high < z - 1 and splits.open[high + 1] and left[high + 1] + right[high + 1] <= limit:
        high += 1
    if high - low < longest:
        for j in range(low, high + 1):
            splits.open[j] = 0
        return -2, 0
    middle, j = (splits.passed[low] + splits.passed[high]) // 2, low
    while j < high and splits.passed[j] < middle:
        j += 1
    return j, (splits.passed[high] - splits.passed[low]) // 2


@kernel()
def least_of_columns(splits, bounds):
    """Fill `bounds` (n_columns,) with the least sum of bounds over the splits of every column."""
    for h in range(len(bounds)):
        bounds[h] = FAR
        for j in range(splits.first[h], splits.first[h + 1]):
            bounds[h] = min(bounds[h], splits.cost[0, j] + splits.cost[1, j])


@kernel()
def make_scratch(rows, splits, terms, best):
    """Room for the packs of a subset; `best` is the least cost known."""
    n_columns, m = rows.sequence.shape
    kind, lanes = rows.weight.dtype, VECTOR_BYTES // rows.weight.itemsize
    score = np.full(n_columns, FAR)
    for h in range(n_columns):
        for j in range(splits.first[h], splits.first[h + 1]):
            score[h] = min(score[h], splits.leaf[0, j] + splits.leaf[1, j])
    n_counters, n_prefix = (1, 1) if terms.n_classes == 2 else (terms.n_classes, m)
    state = np.zeros(5, np.int64)
    state[0] = best
    return Scratch(
        state, np.argsort(score, kind="mergesort"), np.full(max(1, lanes // EACH), -1),
        np.empty(lanes, np.int64), np.empty(max(1, len(splits.column)), np.int64),
        np.zeros(m, np.uint16), np.zeros((2, lanes), kind), np.empty((4, lanes), kind),
        np.zeros((n_counters, 4, lanes), kind),
        np.empty((n_prefix, 2, lanes), kind),
        np.empty((2, lanes, n_columns), np.int64),
        np.zeros((2, len(terms.values), terms.share.shape[1])),
    )  # fmt: skip


@inner()
def _pick_pack(splits, terms, scratch, limit):
    """Choose the splits of the next pack; returns how many."""
    n_columns, lanes, n_pick = len(scratch.order), len(scratch.pick), 0
    left, right = splits.cost[0], splits.cost[1]
    for place in range(len(scratch.active)):
        while True:
            if scratch.active[place] < 0:
                if scratch.state[1] == n_columns:
                    break
                scratch.active[place] = scratch.order[scratch.state[1]]
                scratch.state[1] += 1
            h, n_open = scratch.active[place], 0
            sweep(splits, terms.unit, terms.smallest, splits.first[h], splits.first[h + 1])
            for j in range(splits.first[h], splits.first[h + 1]):
                if splits.open[j] and left[j] + right[j] <= limit:
                    scratch.waiting[n_open] = j
                    n_open += 1
            if n_open:
                most = EACH if scratch.state[1] < n_columns else lanes - n_pick
                room = min(n_open, min(most, lanes - n_pick))
                for i in range(room):
                    scratch.pick[n_pick] = scratch.waiting[((2 * i + 1) * n_open) // (2 * room)]
                    n_pick += 1
                break
            scratch.active[place] = -1
    return n_pick


@inner()
def _mark_left(rows, splits, scratch, n_pick, totals, sizes):
    """Mark the rows left of every lane; fills totals (lanes, 2, classes) and sizes (lanes, 2)."""
    m = len(rows.y)
    scratch.masks[:] = 0
    totals[:] = 0
    sizes[:] = 0
    for i in range(n_pick):
        j = scratch.pick[i]
        rank, low, bit = rows.rank[splits.column[j]], splits.low[j], np.uint16(1 << i)
        for r in range(m):
            s = 0 if rank[r] <= low else 1
            scratch.masks[r] |= bit if s == 0 else np.uint16(0)
            totals[i, s, rows.y[r]] += rows.weight[r]
            sizes[i, s] += rows.copies[r]


@inner()
def _pass_column(rows, terms, h, n_pick, totals, sizes, scratch):
    """Least errors of a split of column h on both sides of every lane."""
    two, counted, out = terms.n_classes == 2, terms.smallest > 1, scratch.out
    sequence = rows.sequence[h]
    if counted:
        far = np.int64(1)
        for i in range(n_pick):
            far = max(far, totals[i].sum() + 1)
            scratch.sizes[0, i], scratch.sizes[1, i] = sizes[i, 0], sizes[i, 1]
        for i in range(out.shape[1]):
            for q in range(4):
                out[q, i] = (far if q % 2 == 0 else -far) if two else -1
    else:
        out[:] = 0
    if two and counted:
        two_classes_counted(
            sequence, scratch.masks, rows.signed, out, rows.copies, scratch.sizes, terms.smallest
        )
    elif two:
        two_classes(sequence, scratch.masks, rows.signed, out)
    else:
        scratch.counters[:] = 0
        if counted:
            more_classes_counted(
                sequence, scratch.masks, rows.weight, out, rows.y, scratch.counters,
                scratch.prefix, rows.copies, scratch.sizes, terms.smallest,
            )  # fmt: skip
        else:
            more_classes(
                sequence, scratch.masks, rows.weight, out, rows.y, scratch.counters, scratch.prefix
            )
    for i in range(n_pick):
        for s in range(2):
            if two:
                a, b = totals[i, s, 0], totals[i, s, 1]
                good = max(b + np.int64(out[2 * s + 1, i]), a - np.int64(out[2 * s, i]))
                good = max(good, max(a, b)) if good >= 0 else good  # two leaves of one class
            else:
                good = np.int64(out[s, i])
            scratch.errors[s, i, h] = totals[i, s].sum() - good if good >= 0 else FAR


@kernel()
def walk_packs(rows, splits, terms, budget, scratch, asked, n_packs, grid, shares):
    """Solve the open splits of a subset within a budget, a number of packs; whether any are left.

    Parameters
    ----------
    rows : Rows
    splits : Splits
        Bounds of the sides are exact where both are within the budget and the split was solved.
    asked : int
        `ADD` counts into ``grid[0, leaves - 1, errors, variant]``, or with more than one grid into
        that of the split's column, `LEAST` finds the least cost alone (``scratch.state[0]``), and
        `SHARES` adds to ``shares[row, class]`` what trees predict, each as often as ``grid[0,
        leaves - 1, errors, 0]`` says.  `TALLY` fills ``shares[split, variant]``, with the grid as
        scratch.
    """
    n_columns, lanes = rows.sequence.shape[0], len(scratch.pick)
    totals = np.zeros((lanes, 2, terms.n_classes), np.int64)
    sizes, cost = np.zeros((lanes, 2), np.int64), np.zeros(2, np.int64)
    for _ in range(n_packs):
        limit = min(budget, scratch.state[0] - 1) if asked == LEAST else budget
        n_pick = _pick_pack(splits, terms, scratch, limit)
        if n_pick == 0:
            return False
        scratch.state[2] += 1
        _mark_left(rows, splits, scratch, n_pick, totals, sizes)
        if terms.depth > 1:
            for h in range(n_columns):
                _pass_column(rows, terms, h, n_pick, totals, sizes, scratch)
        for i in range(n_pick):
            j = scratch.pick[i]
            splits.open[j] = 0
            _side_costs(splits, terms, scratch, i, j, cost)
            for s in range(2):
                splits.cost[s, j] = cost[s]
            scratch.state[0] = min(scratch.state[0], cost[0] + cost[1])
            if asked == LEAST or cost[0] + cost[1] > budget:
                continue
            weights = terms.share[splits.number[j]]
            if weights[0] > 0.0:
                _take_split(rows, splits, j, i, terms, budget, cost, totals[i], sizes[i], scratch,
                            asked, grid, shares)  # fmt: skip
    return True


@kernel()
def walk_shapes(rows, splits, terms, budget, scratch, n_packs):
    """Count the trees with a split at the top by shape and errors, as far as some packs go.

    A shape is the columns at the top and on both sides, n_columns for a leaf, in one number:
    ``(top * (n_columns + 1) + left) * (n_columns + 1) + right``.

    Returns
    -------
    tuple of (bool, Tally)
        Whether packs are left, and trees by ``shape * n_errors + number of the errors``.
    """
    n_columns, n_errors = rows.sequence.shape[0], len(terms.values)
    lanes, price = len(scratch.pick), terms.price
    totals = np.zeros((lanes, 2, terms.n_classes), np.int64)
    sizes, cost = np.zeros((lanes, 2), np.int64), np.zeros(2, np.int64)
    most, high = np.zeros(2, np.int64), np.zeros(2, np.int64)
    column = np.zeros((2, n_columns * n_errors + 1), np.int64)
    number = np.zeros((2, n_columns * n_errors + 1), np.int64)
    count = np.zeros((2, n_columns * n_errors + 1))
    n_found, walked = np.zeros(2, np.int64), np.zeros(2, np.bool_)
    tally = new_tally()
    for _ in range(n_packs):
        n_pick = _pick_pack(splits, terms, scratch, budget)
        if n_pick == 0:
            return False, tally
        _mark_left(rows, splits, scratch, n_pick, totals, sizes)
        for h in range(n_columns if terms.depth > 1 else 0):
            _pass_column(rows, terms, h, n_pick, totals, sizes, scratch)
        for i in range(n_pick):
            j, bit = scratch.pick[i], np.uint16(1 << i)
            splits.open[j] = 0
            _side_costs(splits, terms, scratch, i, j, cost)
            for s in range(2):
                splits.cost[s, j] = cost[s]
            if cost[0] + cost[1] > budget:
                continue
            for s in range(2):
                most[s] = _most_errors(terms, splits, j, s, budget, cost) if terms.depth > 1 else -1
                high[s] = 0 if most[s] < 0 else np.searchsorted(terms.values, most[s], side="right")
                n_found[s] = 0
                if terms.unit * splits.leaf[s, j] + price + cost[1 - s] <= budget:
                    column[s, 0], number[s, 0] = n_columns, terms.of_errors[splits.leaf[s, j]]
                    count[s, 0], n_found[s] = 1.0, 1
            for h in range(n_columns):
                for s in range(2):
                    walked[s] = most[s] >= 0 and scratch.errors[s, i, h] <= most[s]
                if not (walked[0] or walked[1]):
                    continue
                _add_stumps(
                    rows, h, terms, scratch.masks, bit, totals[i], sizes[i], most, walked,
                    scratch.found,
                )  # fmt: skip
                for s in range(2):
                    for e in range(high[s] if walked[s] else 0):
                        if scratch.found[s, e, 0] > 0.0:
                            k = n_found[s]
                            column[s, k], number[s, k] = h, e
                            count[s, k] = scratch.found[s, e, 0]
                            scratch.found[s, e, 0] = 0.0
                            n_found[s] += 1
            tally = ample(tally, min(n_found[0] * n_found[1], (n_columns + 1) ** 2 * n_errors))
            all_errors = totals[i].sum() - max_sum(totals[i])
            for a in range(n_found[0]):
                for b in range(n_found[1]):
                    errors = terms.values[number[0, a]] + terms.values[number[1, b]]
                    leaves = 2 + (column[0, a] < n_columns) + (column[1, b] < n_columns)
                    if terms.unit * errors + price * leaves > budget:
                        continue
                    if terms.gain and leaves == 2 and errors >= all_errors:
                        continue
                    shape = (splits.column[j] * (n_columns + 1) + column[0, a]) * (n_columns + 1)
                    key = (shape + column[1, b]) * n_errors + terms.of_errors[errors]
                    add(tally, key, splits.many[j] * count[0, a] * count[1, b])
    return True, tally


@inner()
def _side_costs(splits, terms, scratch, i, j, cost):
    """Least cost of both sides of split j in lane i."""
    for s in range(2):
        cost[s] = terms.unit * splits.leaf[s, j] + terms.price
        for h in range(len(scratch.order) if terms.depth > 1 else 0):
            if scratch.errors[s, i, h] < FAR:
                cost[s] = min(cost[s], terms.unit * scratch.errors[s, i, h] + 2 * terms.price)


@inner()
def _most_errors(terms, splits, j, s, budget, cost):
    """Most errors of a split on side s of split j."""
    most = (budget - cost[1 - s] - 2 * terms.price) // terms.unit
    return min(most, splits.leaf[s, j] - 1) if terms.gain else most


@inner()
def _take_split(
    rows, splits, j, i, terms, budget, cost, totals, sizes, scratch, asked, grid, shares
):
    """Count the trees with split j at the top, or add what they predict."""
    unit, price, found, values = terms.unit, terms.price, scratch.found, terms.values
    n_columns = rows.sequence.shape[0]
    leaf, most, high = splits.leaf, np.zeros(2, np.int64), np.zeros(2, np.int64)
    bit = np.uint16(1 << i)
    walked = np.zeros((2, n_columns), np.bool_)
    for s in range(2):
        most[s] = _most_errors(terms, splits, j, s, budget, cost) if terms.depth > 1 else -1
        for h in range(n_columns if most[s] >= 0 else 0):
            walked[s, h] = scratch.errors[s, i, h] <= most[s]
    for h in range(n_columns):
        if walked[0, h] or walked[1, h]:
            _add_stumps(
                rows, h, terms, scratch.masks, bit, totals, sizes, most, walked[:, h], found
            )
    for s in range(2):
        high[s] = 0 if most[s] < 0 else np.searchsorted(values, most[s], side="right")
    all_errors = totals.sum() - max_sum(totals)
    ways = splits.many[j] * terms.share[splits.number[j]]
    if asked == SHARES:
        _predict(rows, splits, j, terms, budget, totals, sizes, bit, most, walked, high, all_errors,
                 scratch, grid[0, :, :, 0], shares)  # fmt: skip
    else:
        target = grid[splits.column[j] if len(grid) > 1 else 0]
        if asked == TALLY:
            target[:] = 0.0
        both = leaf[0, j] + leaf[1, j]
        if unit * both + 2 * price <= budget and not (terms.gain and both >= all_errors):
            target[1, terms.of_errors[both]] += ways
        for s in range(2):
            for e in range(high[s]):
                if found[s, e, 0] > 0.0:
                    errors = values[e] + leaf[1 - s, j]
                    if unit * errors + 3 * price <= budget:
                        line = target[2, terms.of_errors[errors]]
                        for v in range(len(ways)):
                            line[v] += ways[v] * found[s, e, v]
        for e in range(high[0]):
            if found[0, e, 0] == 0.0:
                continue
            for f in range(high[1]):
                errors = values[e] + values[f]
                if unit * errors + 4 * price > budget:
                    break
                if found[1, f, 0] > 0.0:
                    line = target[3, terms.of_errors[errors]]
                    for v in range(len(ways)):
                        line[v] += ways[v] * found[0, e, v] * found[1, f, v]
        if asked == TALLY:
            shares[j] = target[scratch.state[3], scratch.state[4]]
    for s in range(2):
        found[s, : high[s]] = 0.0


@inner()
def max_sum(totals):
    """Weight of the heaviest class of both sides together."""
    most = np.int64(0)
    for c in range(totals.shape[1]):
        most = max(most, totals[0, c] + totals[1, c])
    return most


@inner()
def _step(rows, row, s, two, counts, seen):
    """Pass a row on its side."""
    seen[s] += rows.copies[row]
    if two:
        counts[s, 0] += rows.signed[row]
    else:
        counts[s, rows.y[row]] += rows.weight[row]


@inner()
def _split_errors(s, two, counts, totals):
    """Errors of a split of side s after the rows passed."""
    if two:
        a, b, d = totals[s, 0], totals[s, 1], counts[s, 0]
        return a + b - max(max(b + d, a - d), max(a, b))
    left, right, weight = np.int64(0), np.int64(0), np.int64(0)
    for c in range(totals.shape[1]):
        left, right = max(left, counts[s, c]), max(right, totals[s, c] - counts[s, c])
        weight += totals[s, c]
    return weight - left - right


@inner()
def _add_stumps(rows, h, terms, masks, bit, totals, sizes, most, walked, found):
    """Add to ``found[side, errors]`` the splits of column h on both sides of a threshold."""
    m, two, smallest = rows.sequence.shape[1], terms.n_classes == 2, terms.smallest
    counts, seen = np.zeros(totals.shape, np.int64), np.zeros(2, np.int64)
    for k in range(m - 1):
        code = rows.sequence[h, k]
        row = code >> 1
        _step(rows, row, 0 if masks[row] & bit else 1, two, counts, seen)
        if not code & 1:
            continue
        for s in range(2):
            if not walked[s] or seen[s] < smallest or sizes[s] - seen[s] < smallest:
                continue
            errors = _split_errors(s, two, counts, totals)
            if errors <= most[s]:
                number = terms.numbers[h, rows.rank[h, row]]
                following = rows.rank[h, rows.sequence[h, k + 1] >> 1]
                many = terms.numbers[h, following] - number
                if many:
                    line, e = terms.share[number], terms.of_errors[errors]
                    for v in range(len(line)):
                        found[s, e, v] += many * line[v]


@kernel()
def list_below(rows, splits, j, terms, budget):
    """Splits on both sides of split j that some tree within the budget has.

    The bounds of both sides are exact.  Returns ``(n, 4)``: side, errors, first threshold of the
    table and number of thresholds, by side and threshold.
    """
    n_columns, m = rows.sequence.shape
    two, smallest = terms.n_classes == 2, terms.smallest
    totals, sizes = np.zeros((2, terms.n_classes), np.int64), np.zeros(2, np.int64)
    masks = np.zeros(m, np.uint16)
    for r in range(m):
        s = 0 if rows.rank[splits.column[j], r] <= splits.low[j] else 1
        masks[r] = 1 - s
        totals[s, rows.y[r]] += rows.weight[r]
        sizes[s] += rows.copies[r]
    cost, found, n = splits.cost[:, j], np.empty((64, 4), np.int64), 0
    counts, seen = np.zeros(totals.shape, np.int64), np.zeros(2, np.int64)
    for s in range(2):
        most = _most_errors(terms, splits, j, s, budget, cost)
        for h in range(n_columns if terms.depth > 1 else 0):
            counts[:] = 0
            seen[:] = 0
            for k in range(m - 1):
                code = rows.sequence[h, k]
                row = code >> 1
                if (masks[row] == 1) == (s == 0):
                    _step(rows, row, s, two, counts, seen)
                if not code & 1 or seen[s] < smallest or sizes[s] - seen[s] < smallest:
                    continue
                errors = _split_errors(s, two, counts, totals)
                number = terms.numbers[h, rows.rank[h, row]]
                many = terms.numbers[h, rows.rank[h, rows.sequence[h, k + 1] >> 1]] - number
                if errors > most or many == 0:
                    continue
                if n == len(found):
                    longer = np.empty((2 * n, 4), np.int64)
                    longer[:n] = found
                    found = longer
                found[n, 0], found[n, 1], found[n, 2], found[n, 3] = s, errors, number, many
                n += 1
    return found[:n]


@inner()
def _predict(
    rows, splits, j, terms, budget, totals, sizes, bit, most, walked, high, all_errors, scratch,
    weights, shares,
):  # fmt: skip
    """Add what the trees with split j at the top predict for every row."""
    unit, price, found, values = terms.unit, terms.price, scratch.found, terms.values
    leaf, of_errors, masks = splits.leaf, terms.of_errors, scratch.masks
    many = np.float64(splits.many[j])
    # How often a leaf, and a stump of some errors, stands on a side.
    leaves, stumps = np.zeros(2), np.zeros((2, max(high[0], high[1])))
    both = leaf[0, j] + leaf[1, j]
    if unit * both + 2 * price <= budget and not (terms.gain and both >= all_errors):
        leaves[:] = many * weights[1, of_errors[both]]
    for s in range(2):
        for e in range(high[s]):
            errors = values[e] + leaf[1 - s, j]
            if found[s, e, 0] > 0.0 and unit * errors + 3 * price <= budget:
                amount = many * weights[2, of_errors[errors]]
                leaves[1 - s] += amount * found[s, e, 0]
                stumps[s, e] += amount
    for e in range(high[0]):
        for f in range(high[1] if found[0, e, 0] > 0.0 else 0):
            errors = values[e] + values[f]
            if unit * errors + 4 * price > budget:
                break
            if found[1, f, 0] > 0.0:
                amount = many * weights[3, of_errors[errors]]
                stumps[0, e] += amount * found[1, f, 0]
                stumps[1, f] += amount * found[0, e, 0]
    label = np.zeros(2, np.int64)
    for s in range(2):
        label[s] = totals[s].argmax()
    for r in range(len(rows.y)):
        s = 0 if masks[r] & bit else 1
        shares[r, label[s]] += leaves[s]
    for h in range(rows.sequence.shape[0]):
        for s in range(2):
            if walked[s, h]:
                _predict_column(rows, h, s, terms, masks, bit, totals, sizes, most, stumps, shares)


@inner()
def _predict_column(rows, h, s, terms, masks, bit, totals, sizes, most, stumps, shares):
    """Add what the splits of column h on side s predict, each as often as its errors say."""
    m, n_classes, smallest = rows.sequence.shape[1], terms.n_classes, terms.smallest
    counts, seen = np.zeros(n_classes, np.int64), 0
    amounts, labels = np.zeros(m), np.zeros((m, 2), np.int64)
    ahead, behind = np.zeros(n_classes), np.zeros(n_classes)
    for k in range(m - 1):
        code = rows.sequence[h, k]
        row = code >> 1
        if (masks[row] & bit != 0) == (s == 0):
            counts[rows.y[row]] += rows.weight[row]
            seen += rows.copies[row]
        if not code & 1 or seen < smallest or sizes[s] - seen < smallest:
            continue
        number = terms.numbers[h, rows.rank[h, row]]
        many = terms.numbers[h, rows.rank[h, rows.sequence[h, k + 1] >> 1]] - number
        if many == 0 or terms.share[number, 0] == 0.0:
            continue
        left, right, weight = np.int64(0), np.int64(0), np.int64(0)
        for c in range(n_classes):
            weight += totals[s, c]
            if counts[c] > left:
                left, labels[k, 0] = counts[c], c
            if totals[s, c] - counts[c] > right:
                right, labels[k, 1] = totals[s, c] - counts[c], c
        errors = weight - left - right
        if errors <= most[s]:
            amounts[k] = many * stumps[s, terms.of_errors[errors]]
            ahead[labels[k, 0]] += amounts[k]
    # Ahead: splits that have the row on their left; behind: on their right.
    for k in range(m):
        row = rows.sequence[h, k] >> 1
        if (masks[row] & bit != 0) == (s == 0):
            for c in range(n_classes):
                shares[row, c] += ahead[c] + behind[c]
        if amounts[k] > 0.0:
            ahead[labels[k, 0]] -= amounts[k]
            behind[labels[k, 1]] += amounts[k]
