"""Compiled kernels of the near-optimal trees: errors of all stumps below a split, and counts.

Rows are bits in 32-bit words, sorted by class so that a word has rows of one class.  A *cell* is a
pair (errors, leaves); errors are numbered, as class weights leave gaps between their sums.  Counts
are vectors over *variants*: sets of columns that a tree may use.  They are doubles, exact below
2^53.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from octcore.kernels import inner, kernel
from octcore.search.univariate.intrinsics import (
    insert_bit,
    larger,
    minus,
    plus,
    shared_bits,
    times,
)

IMPOSSIBLE = np.int32(1 << 29)
"""Errors of a split that leaves a side empty or smaller than the leaf size.

Total weights are below 2^24, so that sums of errors stay in 32 bits; costs have 64.
"""

LARGE = 1 << 60
"""Cost of a tree that cannot be."""

GAPS = 0.25
"""Share of words to be saved from which on the rows of a subset are moved together."""


class Work(NamedTuple):
    """Scratch of the kernels."""

    totals: np.ndarray
    cell: np.ndarray
    ones: np.ndarray
    active: np.ndarray
    promising: np.ndarray
    leaf: np.ndarray
    outvoted: np.ndarray
    stump: np.ndarray
    weighted: np.ndarray
    weight_ones: np.ndarray
    n_ones: np.ndarray
    counts: np.ndarray
    best: np.ndarray
    rows: np.ndarray
    packed: np.ndarray
    live: np.ndarray
    held: np.ndarray
    gathered: np.ndarray
    table: np.ndarray
    options: np.ndarray
    seen: np.ndarray


def make_work(bits: np.ndarray, n_classes: int) -> Work:
    """Allocate scratch for columns of bits, shape ``(n_columns, n_words)``."""
    n_columns, n_words = bits.shape

    def whole(*shape: int) -> np.ndarray:
        return np.zeros(shape, np.int32)

    return Work(
        totals=whole(n_classes),
        cell=whole(n_classes),
        ones=whole(n_classes, n_columns),
        active=whole(n_columns),
        promising=whole(n_columns),
        leaf=whole(2, n_columns),
        outvoted=whole(2, n_columns),
        stump=whole(2, n_columns),
        weighted=whole(n_classes, n_columns),
        weight_ones=whole(n_columns),
        n_ones=whole(n_columns),
        counts=whole(n_classes, n_columns),
        best=whole(4, n_columns),
        rows=whole(2, n_columns),
        packed=np.zeros((n_words, n_columns), np.uint32),
        live=whole(n_words),
        held=np.zeros(n_words, np.uint32),
        gathered=np.zeros(n_columns, np.uint32),
        table=whole(2, n_columns, n_columns),
        options=np.zeros((2, 1, 1)),
        seen=np.zeros((2, 1), np.int64),
    )


@inner()
def _count_classes(words, other, word_class, out):
    """Rows per class in the intersection of two bit sets."""
    out[:] = 0
    for q in range(len(words)):
        out[word_class[q]] += shared_bits(words[q], other[q])


@inner()
def _errors(counts, weight, least):
    """Weight outside the heaviest class, `IMPOSSIBLE` for too few rows."""
    rows, total, most = 0, 0, 0
    for k in range(len(counts)):
        rows += counts[k]
        total += weight[k] * counts[k]
        most = max(most, weight[k] * counts[k])
    return total - most if rows >= least else IMPOSSIBLE


@inner()
def score_columns(columns, word_class, weight, minority, least, subset, work):
    """Leaf errors and outvoted weight on both sides of every column that parts the rows.

    Parameters
    ----------
    columns : ndarray of shape (n_columns, n_words), uint32
    word_class : ndarray of shape (n_words,)
    weight : ndarray of shape (n_classes,), int32
    minority : ndarray of shape (n_words,), uint32
        Rows whose class is outvoted among identical rows.
    least : int
        Rows that a leaf needs, 1 or more.
    subset : ndarray of shape (n_words,), uint32
    work : Work

    Returns
    -------
    int
        Number of columns that part the rows; their numbers are in `work.active`.
    """
    everything, counts, ones = work.totals, work.cell, work.ones
    _count_classes(subset, subset, word_class, everything)
    n_rows = everything.sum()
    active = 0
    for f in range(len(columns)):
        _count_classes(subset, columns[f], word_class, counts)
        right = counts.sum()
        if right < least or n_rows - right < least:
            continue
        work.active[active] = f
        work.leaf[1, active] = _errors(counts, weight, least)
        for k in range(len(counts)):
            ones[k, active] = counts[k]
            counts[k] = everything[k] - counts[k]
        work.leaf[0, active] = _errors(counts, weight, least)
        inside, outside = 0, 0
        for q in range(len(subset)):
            rows = np.uint32(minority[q] & subset[q])
            if rows:
                right = shared_bits(rows, columns[f, q])
                inside += weight[word_class[q]] * right
                outside += weight[word_class[q]] * (shared_bits(rows, rows) - right)
        work.outvoted[0, active], work.outvoted[1, active] = outside, inside
        active += 1
    return active


@inner()
def _pack_subset(columns, word_class, subset, n_active, work):
    """Copy the words of the subset that hold rows, by word and active column; return how many."""
    live = 0
    for q in range(len(subset)):
        if subset[q]:
            work.live[live] = word_class[q]
            work.held[live] = subset[q]
            for i in range(n_active):
                work.packed[live, i] = subset[q] & columns[work.active[i], q]
            live += 1
    needed = 0
    for k in range(len(work.totals)):
        needed += (work.totals[k] + 31) // 32
    # Every word costs a step for every pair of columns, closing the gaps one per row and column.
    return _close_gaps(work, live, n_active) if live - needed > GAPS * live else live


@inner()
def _close_gaps(work, live, n_active):
    """Move the rows of every class together, so that they fill whole words; return how many."""
    target, filled = 0, 0
    gathered = work.gathered[:n_active]
    gathered[:] = 0
    for q in range(live):
        row, held = work.packed[q, :n_active], work.held[q]
        for b in range(32):
            mask = np.uint32(np.uint32(1) << b)
            if not held & mask:
                continue
            place = np.uint32(filled)
            for i in range(len(row)):
                bit = np.uint32(1) if row[i] & mask else np.uint32(0)
                gathered[i] = insert_bit(gathered[i], bit, place)
            filled += 1
            # The word written to lies before the one that is read, or is that one at its end.
            if filled == 32:
                work.packed[target, :n_active] = gathered
                work.live[target] = work.live[q]
                gathered[:] = 0
                target, filled = target + 1, 0
        if filled and (q + 1 == live or work.live[q + 1] != work.live[q]):
            work.packed[target, :n_active] = gathered
            work.live[target] = work.live[q]
            gathered[:] = 0
            target, filled = target + 1, 0
    return target


@inner()
def _count_pairs(work, live, i, begin, n_active):
    """Rows per class with columns i and j both one, for columns j from `begin` (`work.counts`)."""
    for k in range(len(work.totals)):
        work.counts[k, begin:n_active] = 0
    q = 0
    while q < live:
        row, word = work.counts[work.live[q], begin:n_active], work.packed[q, i]
        others = work.packed[q, begin:n_active]
        if q + 1 < live and work.live[q] == work.live[q + 1]:
            second, more = work.packed[q + 1, i], work.packed[q + 1, begin:n_active]
            for j in range(len(row)):
                two = plus(shared_bits(word, others[j]), shared_bits(second, more[j]))
                row[j] = plus(row[j], two)
            q += 2
        else:
            for j in range(len(row)):
                row[j] = plus(row[j], shared_bits(word, others[j]))
            q += 1


@inner()
def _heaviest(work, weight, i, begin, n_active):
    """Weight of the heaviest class in the four cells of columns i and j, rows with j one.

    Fills ``work.best[0..3]`` for the cells (0, 0), (0, 1), (1, 0), (1, 1) and ``work.rows[0..1]``
    for (0, 1), (1, 1).  Short loops over few arrays: with many, the compiler gives up vectors.
    """
    none, second = work.best[0, begin:n_active], work.best[1, begin:n_active]
    first, both = work.best[2, begin:n_active], work.best[3, begin:n_active]
    on_left, on_right = work.rows[0, begin:n_active], work.rows[1, begin:n_active]
    none[:], second[:], first[:], both[:], on_left[:], on_right[:] = 0, 0, 0, 0, 0, 0
    for k in range(len(weight)):
        row, w = work.counts[k, begin:n_active], weight[k]
        ones = work.ones[k, begin:n_active]
        heavy = work.weighted[k, begin:n_active]
        p = work.weighted[k, i]
        rest = minus(times(w, work.totals[k]), p)
        for j in range(len(row)):
            on_right[j] = plus(on_right[j], row[j])
            on_left[j] = plus(on_left[j], minus(ones[j], row[j]))
        for j in range(len(row)):
            here = times(w, row[j])
            both[j] = larger(both[j], here)
            first[j] = larger(first[j], minus(p, here))
        for j in range(len(row)):
            here = minus(heavy[j], times(w, row[j]))
            second[j] = larger(second[j], here)
            none[j] = larger(none[j], minus(rest, here))


@inner()
def _stump_errors(work, least, i, begin, n_active, n_rows, weight_all):
    """Turn ``work.best[0..3]`` into the errors of four stumps, `IMPOSSIBLE` for small leaves.

    They are: the left and the right side of column i split by j, and the left and the right side
    of column j split by i.
    """
    none, second = work.best[0, begin:n_active], work.best[1, begin:n_active]
    first, both = work.best[2, begin:n_active], work.best[3, begin:n_active]
    on_left, on_right = work.rows[0, begin:n_active], work.rows[1, begin:n_active]
    heavy = work.weight_ones[begin:n_active]
    w_right = work.weight_ones[i]
    w_left = minus(weight_all, w_right)
    n_right = work.n_ones[i]
    n_left = minus(n_rows, n_right)
    need = np.int32(least)
    for j in range(len(none)):
        by_left = minus(minus(w_left, none[j]), second[j])
        by_right = minus(minus(w_right, first[j]), both[j])
        other = minus(minus(minus(weight_all, heavy[j]), none[j]), first[j])
        both[j] = minus(minus(heavy[j], second[j]), both[j])
        none[j], second[j], first[j] = by_left, by_right, other
    for j in range(len(none)):
        n01, n00 = on_left[j], minus(n_left, on_left[j])
        none[j] = none[j] if n00 >= need and n01 >= need else IMPOSSIBLE
        on_left[j] = n00
    for j in range(len(none)):
        n11, n10 = on_right[j], minus(n_right, on_right[j])
        second[j] = second[j] if n10 >= need and n11 >= need else IMPOSSIBLE
        n00 = on_left[j]
        first[j] = first[j] if n00 >= need and n10 >= need else IMPOSSIBLE
        n01 = minus(n_left, n00)
        both[j] = both[j] if n01 >= need and n11 >= need else IMPOSSIBLE


@inner()
def score_stumps(columns, word_class, weight, least, subset, n_active, work, keep, wanted):
    """Least errors of a stump on both sides of every active column (`work.stump`).

    With `keep`, `work.table[s, i, j]` gets the errors of splitting side s of column i by column j.
    Where `wanted` lists columns, only they are looked at as column i.
    """
    live = _pack_subset(columns, word_class, subset, n_active, work)
    stump, table, errors = work.stump, work.table, work.best
    stump[:, :n_active] = IMPOSSIBLE
    n_rows, weight_all = work.totals[0], times(weight[0], work.totals[0])
    for k in range(1, len(weight)):
        n_rows = plus(n_rows, work.totals[k])
        weight_all = plus(weight_all, times(weight[k], work.totals[k]))
    next_wanted = 0
    for i in range(n_active):
        begin = i + 1
        if len(wanted):
            while next_wanted < len(wanted) and wanted[next_wanted] < work.active[i]:
                next_wanted += 1
            if next_wanted == len(wanted) or wanted[next_wanted] != work.active[i]:
                continue
            begin = 0
        _count_pairs(work, live, i, begin, n_active)
        _heaviest(work, weight, i, begin, n_active)
        _stump_errors(work, least, i, begin, n_active, n_rows, weight_all)
        for s in range(2):
            mine = errors[s, begin:n_active]
            best = stump[s, i]
            for j in range(len(mine)):  # `min` would widen, and give up vectors
                if mine[j] < best:
                    best = mine[j]
            stump[s, i] = best
            if keep:
                table[s, i, begin:n_active] = mine
            if begin:
                _mirror(work, s, i, begin, n_active, keep)


@inner()
def _mirror(work, s, i, begin, n_active, keep):
    """Take up what the pairs (i, j) say about side s of the later columns j."""
    other, below = work.best[s + 2, begin:n_active], work.stump[s, begin:n_active]
    for j in range(len(other)):
        below[j] = min(below[j], other[j])
    if keep:
        work.table[s, begin:n_active, i] = other
        work.table[s, i, i] = IMPOSSIBLE


@inner()
def _score_sides(columns, word_class, weight, minority, least, subset, work):
    """Score the columns and weigh their ones; number of active columns and errors of a leaf."""
    n_active = score_columns(columns, word_class, weight, minority, least, subset, work)
    for i in range(n_active):
        rows, total = 0, 0
        for k in range(len(weight)):
            work.weighted[k, i] = weight[k] * work.ones[k, i]
            total += work.weighted[k, i]
            rows += work.ones[k, i]
        work.weight_ones[i], work.n_ones[i] = total, rows
    return n_active, _errors(work.totals, weight, least)


@kernel()
def score(columns, word_class, weight, minority, least, subset, work, depth, keep, wanted):
    """Score a subset of rows: columns, and with `depth` 2 the stumps below them.

    For `keep` and `wanted` see `score_stumps`.

    Returns
    -------
    tuple of (int, int)
        Number of active columns, and errors of a leaf (`IMPOSSIBLE` if it has too few rows).
    """
    n_active, leaf = _score_sides(columns, word_class, weight, minority, least, subset, work)
    if depth >= 2:
        score_stumps(columns, word_class, weight, least, subset, n_active, work, keep, wanted)
    return n_active, leaf


@kernel()
def least_cost(
    columns, word_class, weight, minority, least, subset, work, unit, price, depth, limit, margin,
    costs,
):  # fmt: skip
    """Score a subset and find its least cost with a tree of depth two or less.

    Parameters
    ----------
    columns, word_class, weight, minority, least, subset, work, depth
        As for `score`.
    unit, price : int
        Cost = unit * errors + price * leaves.
    limit, margin : int
        Columns whose trees all cost more than `limit`, or than the best tree of depth one and
        `margin`, are passed over.
    costs : ndarray of shape (n_columns,), int64
        Receives the least cost with a column at the top, by active column; `LARGE` where it was
        passed over.

    Returns
    -------
    tuple of (int, int, int)
        Number of active columns, the least cost found, and the limit: the given one, or `LARGE` if
        no column was passed over.  If the cost is above the limit, all are.
    """
    n_active, leaf = _score_sides(columns, word_class, weight, minority, least, subset, work)
    best = LARGE if leaf >= IMPOSSIBLE else unit * leaf + price
    for i in range(n_active):
        costs[i] = unit * (np.int64(work.leaf[0, i]) + work.leaf[1, i]) + 2 * price
        best = min(best, costs[i])
    if depth < 2:
        return n_active, best, LARGE
    most, found = min(limit, best + margin), 0
    for i in range(n_active):
        # A side has one leaf, or two and errs on the outvoted rows.
        low = 0
        for s in range(2):
            split = unit * work.outvoted[s, i] + 2 * price
            low += min(unit * work.leaf[s, i] + price, split)
        costs[i] = low
        if low <= most:
            work.promising[found] = work.active[i]
            found += 1
    if 2 * found >= n_active:
        # Every pair serves both of its columns unless some are passed over: this costs no more.
        found, most, limit = 0, LARGE - 1, LARGE
    if found or limit == LARGE:
        wanted = work.promising[:found]
        score_stumps(columns, word_class, weight, least, subset, n_active, work, False, wanted)
    for i in range(n_active):
        if costs[i] > most:
            costs[i] = LARGE
            continue
        costs[i] = cheapest_side(work, 0, i, unit, price, depth)
        costs[i] += cheapest_side(work, 1, i, unit, price, depth)
        best = min(best, costs[i])
    return n_active, best, limit


@inner()
def cheapest_side(work, side, i, unit, price, depth):
    """Least cost of a leaf or stump on one side of column i."""
    cost = unit * work.leaf[side, i] + price
    if depth >= 2 and work.stump[side, i] < IMPOSSIBLE:
        cost = min(cost, unit * work.stump[side, i] + 2 * price)
    return cost


@inner()
def _add_product(cell, first, second, third):
    """Add the product of three vectors over the variants."""
    for v in range(len(cell)):
        cell[v] += first[v] * second[v] * third[v]


@inner()
def list_options(work, side, i, n_active, budget, unit, price, number, allow, gain):
    """Count the stumps on one side of column i by errors; return how many errors occur."""
    options, seen, row = work.options[side], work.seen[side], work.table[side, i]
    found = 0
    for j in range(n_active):
        use = allow[work.active[j]]
        if row[j] >= IMPOSSIBLE or unit * row[j] + 2 * price > budget or use[0] == 0.0:
            continue
        if gain and row[j] >= work.leaf[side, i]:
            continue
        e = number[row[j]]
        if options[e, 0] == 0.0:
            seen[found] = e
            found += 1
        for v in range(len(use)):
            options[e, v] += use[v]
    return found


@kernel()
def count_below(
    work, n_active, leaf, unit, price, depth, budget, values, number, allow, gain, first, last, grid
):
    """Add the trees of depth one or two on a scored subset to ``grid[leaves - 1, errors]``.

    Parameters
    ----------
    work : Work
        After `score` with `keep`; columns that were not wanted are beyond the budget.
    n_active, leaf : int
        What `score` returned.
    unit, price, budget : int
        Cost = unit * errors + price * leaves, at most `budget`.
    values, number : ndarray
        Errors by number, and number by errors.
    allow : ndarray of shape (n_columns, n_variants), float64
        1 where a variant may use a column; what variant 0 may not use, none may.
    gain : bool
        Whether every split has to lower the errors.
    first, last : int
        Active columns that may be the root, ``first <= i < last``.
    grid : ndarray of shape (n_leaves, n_errors, n_variants)
    """
    nothing = np.ones(allow.shape[1])
    for i in range(first, last):
        root = allow[work.active[i]]
        cheap_left = cheapest_side(work, 0, i, unit, price, depth)
        cheap_right = cheapest_side(work, 1, i, unit, price, depth)
        if root[0] == 0.0 or cheap_left + cheap_right > budget:
            continue
        e0, e1 = work.leaf[0, i], work.leaf[1, i]
        if unit * (e0 + e1) + 2 * price <= budget and not (gain and e0 + e1 >= leaf):
            _add_product(grid[1, number[e0 + e1]], root, nothing, nothing)
        if depth >= 2:
            n_left = list_options(
                work, 0, i, n_active, budget - cheap_right, unit, price, number, allow, gain
            )
            n_right = list_options(
                work, 1, i, n_active, budget - cheap_left, unit, price, number, allow, gain
            )
            _add_stumps(work, root, n_left, n_right, e0, e1, unit, price, budget, values, number,
                        grid)  # fmt: skip


@inner()
def _add_stumps(work, root, n_left, n_right, e0, e1, unit, price, budget, values, number, grid):
    """Add the trees with a stump on one side or both; clears the options."""
    nothing = np.ones(len(root))
    for a in range(n_left):
        left_errors, left = values[work.seen[0, a]], work.options[0, work.seen[0, a]]
        if unit * (left_errors + e1) + 3 * price <= budget:
            _add_product(grid[2, number[left_errors + e1]], root, left, nothing)
        for b in range(n_right):
            errors = left_errors + values[work.seen[1, b]]
            if unit * errors + 4 * price <= budget:
                right = work.options[1, work.seen[1, b]]
                _add_product(grid[3, number[errors]], root, left, right)
    for b in range(n_right):
        errors, right = e0 + values[work.seen[1, b]], work.options[1, work.seen[1, b]]
        if unit * errors + 3 * price <= budget:
            _add_product(grid[2, number[errors]], root, nothing, right)
        right[:] = 0.0
    for a in range(n_left):
        work.options[0, work.seen[0, a]] = 0.0


@kernel()
def combine(
    edges, start, errors, leaves, costs, counts, budget, values, number, allow, gain, leaf, grid
):
    """Add the trees with a split at the top to ``grid[leaves - 1, errors]``.

    Parameters
    ----------
    edges : ndarray of shape (n_edges, 4)
        First threshold, number of thresholds, left and right child.
    gain : bool
        Whether every split has to lower the errors.
    leaf : int
        Errors of a leaf; without `gain` of no interest.
    start : ndarray
        First cell of every child; its cells ascend in cost.
    errors, leaves, costs : ndarray of shape (n_cells,)
    counts : ndarray of shape (n_cells, n_variants)
    """
    for k in range(len(edges)):
        ways = edges[k, 1] * allow[edges[k, 0]]
        left, right = edges[k, 2], edges[k, 3]
        if ways[0] == 0.0:
            continue
        for a in range(start[left], start[left + 1]):
            for b in range(start[right], start[right + 1]):
                if costs[a] + costs[b] > budget:
                    break
                e = number[values[errors[a]] + values[errors[b]]]
                if gain and leaves[a] + leaves[b] == 2 and values[e] >= leaf:
                    continue
                cell = grid[leaves[a] + leaves[b] - 1, e]
                for v in range(len(cell)):
                    cell[v] += ways[v] * counts[a, v] * counts[b, v]


@kernel()
def gather(grid, n_errors, values, unit, price):
    """Cells of a grid that hold trees, by cost: errors, leaves, costs, counts; clears the grid."""
    found = 0
    for leaf in range(len(grid)):
        for e in range(n_errors):
            if grid[leaf, e, 0] > 0.0:
                found += 1
    errors = np.empty(found, np.int64)
    leaves = np.empty(found, np.int64)
    costs = np.empty(found, np.int64)
    k = 0
    for leaf in range(len(grid)):
        for e in range(n_errors):
            if grid[leaf, e, 0] > 0.0:
                errors[k], leaves[k] = e, leaf + 1
                costs[k] = unit * values[e] + price * (leaf + 1)
                k += 1
    order = np.argsort(costs, kind="mergesort")
    counts = np.empty((found, grid.shape[2]), grid.dtype)
    for k in range(found):
        cell = grid[leaves[order[k]] - 1, errors[order[k]]]
        counts[k] = cell
        cell[:] = 0
    return errors[order], leaves[order], costs[order], counts
