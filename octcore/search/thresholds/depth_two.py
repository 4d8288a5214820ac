"""Best subtree of depth two on a set of rows, over all thresholds: the kernel of the search.

Costs are errors plus `price` for every leaf, in units of weight.  Along one column, with j < k two
thresholds and w the weight between them, the costs c of the two sides bound each other:

    left:   c(j) <= c(k) <= c(j) + w        right:   c(k) <= c(j) <= c(k) + w

So thresholds are solved in packs, evenly spread over those still open, and the bounds of all others
follow from two sweeps.  With a smallest leaf, fewer rows may cost more and the first half of the
bounds fails; then the bounds come from costs without that limit, and only thresholds that these
leave open are solved with it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from octcore.search.thresholds.lanes import (
    VECTOR_BYTES,
    more_classes,
    more_classes_counted,
    two_classes,
    two_classes_counted,
)
from octcore.search.thresholds.rows import (
    class_weights,
    count_rows,
    inner,
    outer,
    sum_and_most,
    zeros,
)

INFINITE = 1e300
NO_ROOT = -1


class Column(NamedTuple):
    """The thresholds of one column on some rows that leave enough rows on both sides.

    rank, passed, zeros, size : rank of the last value left, weight, weight of class 0 and rows left
    leaf : (2, .) errors of a leaf on either side
    left, right : lower bounds on the cost of the sides, in any limit on leaves
    own : cost of the best tree with the threshold at the root, -1 while it is not known
    """

    rank: np.ndarray
    passed: np.ndarray
    zeros: np.ndarray
    size: np.ndarray
    leaf: np.ndarray
    left: np.ndarray
    right: np.ndarray
    own: np.ndarray


class Lanes(NamedTuple):
    """Room for one pack of thresholds; see `octcore.search.thresholds.lanes`."""

    pick: np.ndarray
    thresholds: np.ndarray
    sizes: np.ndarray
    out: np.ndarray
    counters: np.ndarray
    prefix: np.ndarray


class Terms(NamedTuple):
    """What the search minimises, and when it stops.

    n_classes : int
    price, slack : float; a difference below `slack` is none
    stop : (1,) uint8; soon after it becomes 1 the kernels return what they have
    work : (2,) int64: subtrees solved, row visits
    """

    n_classes: int
    price: float
    slack: float
    stop: np.ndarray
    work: np.ndarray


@inner
def shallow(rows, terms, total, leaves, smallest, roots, free, errors, places, plan):
    """Cost of the best leaf (if `free`) or single split, the latter written into ``plan[1]``.

    Filled: least errors of one split on every column, and after which position; -1 where none fits.
    """
    n_classes = terms.n_classes
    n_columns, m = rows.sequence.shape
    after = np.empty((m if n_classes > 2 else 1, 2), np.int64)
    counts = zeros(n_classes)
    n_rows = count_rows(rows)
    for h in range(n_columns):
        if n_classes == 2:
            two_class_stump(rows, h, total, n_rows, smallest, errors, places)
            continue
        sequence = rows.sequence[h]
        for i in range(n_classes):
            counts[i] = 0
        most, weight, size = np.int64(0), np.int64(0), np.int64(0)
        for k in range(m - 1, -1, -1):
            after[k, 0], after[k, 1] = weight - most, size
            row = sequence[k] >> 1
            counts[rows.y[row]] += rows.weight[row]
            most = max(most, counts[rows.y[row]])
            weight += rows.weight[row]
            size += rows.copies[row]
        for i in range(n_classes):
            counts[i] = 0
        most, weight, size = np.int64(0), np.int64(0), np.int64(0)
        best, place = np.int64(2**62), -1
        for k in range(m - 1):
            row = sequence[k] >> 1
            counts[rows.y[row]] += rows.weight[row]
            most = max(most, counts[rows.y[row]])
            weight += rows.weight[row]
            size += rows.copies[row]
            if sequence[k] & 1 and size >= smallest and after[k, 1] >= smallest:
                wrong = weight - most + after[k, 0]
                if wrong < best:
                    best, place = wrong, k
        errors[h], places[h] = best, place
    weight, most = sum_and_most(total)
    cost = weight - most + terms.price if free != 0 else INFINITE
    for h in range(n_columns):
        if leaves > 1 and places[h] >= 0 and roots[h]:
            here = errors[h] + 2 * terms.price
            if here < cost - terms.slack:
                cost = here
                plan[1, 0], plan[1, 1] = h, rows.rank[h, rows.sequence[h, places[h]] >> 1]
                plan[1, 2], plan[1, 3] = 1, 1
    return cost


@inner
def two_class_stump(rows, h, total, n_rows, smallest, errors, places):
    """The same for one column and two classes: extremes of the running signed weight."""
    sequence = rows.sequence[h]
    d, low, high = np.int64(0), np.int64(0), np.int64(0)
    low_at, high_at, first, size = -1, -1, -1, np.int64(0)
    for k in range(len(sequence) - 1):
        row = sequence[k] >> 1
        d += rows.signed[row]
        if smallest > 1:
            size += rows.copies[row]
            if size < smallest or n_rows - size < smallest:
                continue
        if sequence[k] & 1:
            if first < 0:
                first = k
            if d < low:
                low, low_at = d, k
            if d > high:
                high, high_at = d, k
    first_low, first_high = total[0] - low, total[1] + high
    errors[h] = total[0] + total[1] - max(first_low, first_high)
    places[h] = low_at if first_low > first_high else high_at
    if places[h] < 0:
        places[h] = first
    if first < 0:
        errors[h] = 2**62


@inner
def make_column(m):
    """Room for the thresholds of a column of m rows."""
    return Column(
        np.empty(m, np.int64), np.empty(m, np.int64), np.empty(m, np.int64), np.empty(m, np.int64),
        np.empty((2, m), np.int64), np.empty(m), np.empty(m), np.empty(m),
    )  # fmt: skip


@inner
def make_lanes(rows, n_classes):
    """Room for a pack of thresholds."""
    kind, n = rows.weight.dtype, VECTOR_BYTES // rows.weight.itemsize
    n_counters = n_classes if n_classes > 2 else 1
    n_prefix = len(rows.y) if n_classes > 2 else 1
    return Lanes(
        np.empty(n, np.int64), np.empty(n, kind), np.empty((2, n), kind), np.empty((4, n), kind),
        np.empty((n_counters, 4, n), kind), np.empty((n_prefix, 2, n), kind),
    )  # fmt: skip


@inner
def open_column(rows, g, smallest, total, price, column):
    """List the thresholds of a column; returns how many there are."""
    m = rows.sequence.shape[1]
    sequence = rows.sequence[g]
    counts = zeros(len(total))
    two, weights = len(total) == 2, sum_and_most(total)[0]
    n_rows = count_rows(rows) if smallest > 1 else np.int64(0)
    most, weight, size = np.int64(0), np.int64(0), np.int64(0)
    n = 0
    for k in range(m - 1):
        row = sequence[k] >> 1
        here = np.int64(rows.weight[row])
        weight += here
        if two:
            counts[0] += here if rows.signed[row] > 0 else 0
        else:
            counts[rows.y[row]] += here
            most = max(most, counts[rows.y[row]])
        if smallest > 1:
            size += rows.copies[row]
            if size < smallest or n_rows - size < smallest:
                continue
        if sequence[k] & 1:
            column.rank[n], column.passed[n] = rows.rank[g, row], weight
            column.zeros[n], column.size[n] = counts[0], size
            column.leaf[0, n] = weight - most
            if two:
                column.leaf[0, n] = min(counts[0], weight - counts[0])
                rest = total[0] - counts[0]
                column.leaf[1, n] = min(rest, weights - weight - rest)
            column.left[n], column.right[n], column.own[n] = price, price, -1.0
            n += 1
    if not two:
        leaf_errors_right(rows, g, len(total), column, n)
    return n


@inner
def leaf_errors_right(rows, g, n_classes, column, n):
    """Errors of a leaf right of every threshold of a column, for more than two classes."""
    counts = zeros(n_classes)
    most, weight = np.int64(0), np.int64(0)
    j = n - 1
    for k in range(len(rows.y) - 1, 0, -1):
        row, before = rows.sequence[g, k] >> 1, rows.sequence[g, k - 1]
        counts[rows.y[row]] += rows.weight[row]
        most = max(most, counts[rows.y[row]])
        weight += rows.weight[row]
        if j >= 0 and before & 1 and column.rank[j] == rows.rank[g, before >> 1]:
            column.leaf[1, j] = weight - most
            j -= 1


@inner
def sweep(left, right, passed, n):
    """Carry lower bounds of both sides to the neighbouring thresholds."""
    for j in range(1, n):
        if left[j] < left[j - 1]:
            left[j] = left[j - 1]
        bound = right[j - 1] - (passed[j] - passed[j - 1])
        if right[j] < bound:
            right[j] = bound
    for j in range(n - 2, -1, -1):
        if right[j] < right[j + 1]:
            right[j] = right[j + 1]
        bound = left[j + 1] - (passed[j + 1] - passed[j])
        if left[j] < bound:
            left[j] = bound


@inner
def pass_over_columns(rows, n_classes, g, usable, counted, smallest, lanes):
    """Best split of every side of every threshold of a pack, over all columns."""
    far, out = np.int64(1), lanes.out
    for i in range(len(rows.weight) if counted else 0):
        far += rows.weight[i]
    for i in range(out.shape[1]):
        for q in range(4):
            first = (far if q % 2 == 0 else -far) if n_classes == 2 else -1
            out[q, i] = first if counted else 0
    for h in range(len(usable)):
        if usable[h] < 0:
            continue
        sequence, rank = rows.sequence[h], rows.rank[g]
        if n_classes == 2:
            if counted:
                two_classes_counted(
                    sequence, rank, rows.signed, lanes.thresholds, out,
                    rows.copies, lanes.sizes, smallest,
                )  # fmt: skip
            else:
                two_classes(sequence, rank, rows.signed, lanes.thresholds, out)
            continue
        for k in range(n_classes):
            for q in range(4):
                for i in range(out.shape[1]):
                    lanes.counters[k, q, i] = 0
        if counted:
            more_classes_counted(
                sequence, rank, rows.weight, lanes.thresholds, out, rows.y,
                lanes.counters, lanes.prefix, rows.copies, lanes.sizes, smallest,
            )  # fmt: skip
        else:
            more_classes(
                sequence, rank, rows.weight, lanes.thresholds, out, rows.y,
                lanes.counters, lanes.prefix,
            )  # fmt: skip


@inner
def split_errors(column, j, i, total, n_classes, out):
    """Errors of the best single split left and right of a threshold, from a finished pass."""
    left, right = column.passed[j], sum_and_most(total)[0] - column.passed[j]
    if n_classes > 2:
        return left - max(0, np.int64(out[0, i])), right - max(0, np.int64(out[1, i]))
    a = column.zeros[j]
    b = left - a
    left -= max(b + np.int64(out[1, i]), a - np.int64(out[0, i]))
    a, b = total[0] - a, total[1] - b
    return left, right - max(b + np.int64(out[3, i]), a - np.int64(out[2, i]))


@inner
def list_open(column, n, target, open_ones):
    """List the thresholds that are not solved and may cost less than the target."""
    n_open = 0
    for j in range(n):
        if column.own[j] < 0 and column.left[j] + column.right[j] < target:
            open_ones[n_open] = j
            n_open += 1
    return n_open


@inner
def choose_pack(column, n_open, lanes, open_ones):
    """Spread a pack evenly over the open thresholds; returns how many it has."""
    room = len(lanes.pick)
    for i in range(room):
        place = ((2 * i + 1) * n_open) // (2 * room) if n_open > room else min(i, n_open - 1)
        lanes.pick[i] = open_ones[place]
        lanes.thresholds[i] = column.rank[open_ones[place]]
    return min(n_open, room)


@inner
def still_open(column, n_open, target, taken, lanes, open_ones):
    """Bound the open thresholds from the pack just solved, their nearest; returns how many stay."""
    left, right, passed = column.left, column.right, column.passed
    n_left, following = 0, 0
    for i in range(n_open):
        j = open_ones[i]
        if following < taken and lanes.pick[following] == j:
            following += 1
            continue
        if following > 0:
            p = lanes.pick[following - 1]
            if left[p] > left[j]:
                left[j] = left[p]
            if right[p] - (passed[j] - passed[p]) > right[j]:
                right[j] = right[p] - (passed[j] - passed[p])
        if following < taken:
            p = lanes.pick[following]
            if right[p] > right[j]:
                right[j] = right[p]
            if left[p] - (passed[p] - passed[j]) > left[j]:
                left[j] = left[p] - (passed[p] - passed[j])
        if left[j] + right[j] < target:
            open_ones[n_left] = j
            n_left += 1
    return n_left


@inner
def close_column(
    rows, terms, total, usable, leaves, smallest, g, column, n, lanes, open_ones, best, cutoff, plan
):
    """Solve thresholds of a column until none of them can beat the best tree and the cutoff.

    Returns the cost of the best tree; `plan` tells its root if it is a new one.
    """
    n_classes, price, slack = terms.n_classes, terms.price, terms.slack
    n_rows = count_rows(rows)
    target = min(best, cutoff) - slack
    n_open = list_open(column, n, target, open_ones)
    while n_open > 0 and not terms.stop[0]:
        taken = choose_pack(column, n_open, lanes, open_ones)
        is_open = True
        # First without a smallest leaf; then with it, where that leaves something open.
        for counted in range(1 + (smallest > 1)):
            if not is_open:
                break
            is_open = False
            terms.work[1] += len(rows.y) * len(usable)
            for i in range(len(lanes.pick) if counted else 0):
                lanes.sizes[0, i] = column.size[lanes.pick[i]]
                lanes.sizes[1, i] = n_rows - column.size[lanes.pick[i]]
            pass_over_columns(rows, n_classes, g, usable, counted == 1, smallest, lanes)
            for i in range(taken):
                j = lanes.pick[i]
                errors = split_errors(column, j, i, total, n_classes, lanes.out)
                a, b = column.leaf[0, j] + price, column.leaf[1, j] + price
                c, d = min(a, errors[0] + 2 * price), min(b, errors[1] + 2 * price)
                if not counted:
                    column.left[j] = max(column.left[j], c)
                    column.right[j] = max(column.right[j], d)
                    is_open = is_open or c + d < target
                    if smallest > 1:
                        continue
                column.own[j] = c + d if leaves > 3 else min(a + d, c + b)
                if column.own[j] < best - slack:
                    best = column.own[j]
                    plan[1, 0], plan[1, 1] = g, column.rank[j]
                    plan[1, 2] = 2 if leaves > 3 or a + d > c + b else 1
                    plan[1, 3] = 2 if leaves > 3 or a + d <= c + b else 1
        target = min(best, cutoff) - slack
        n_open = still_open(column, n_open, target, taken, lanes, open_ones)
    return best


@inner
def column_bound(column, n):
    """Lower bound on every tree with the column at the root."""
    bound = INFINITE
    for j in range(n):
        here = column.left[j] + column.right[j]
        if column.own[j] > here:
            here = column.own[j]
        if here < bound:
            bound = here
    return bound


@inner
def ascending(values):
    """Stable order of some values; sorting by insertion compiles ten times faster than numpy's."""
    order = np.empty(len(values), np.int64)
    for i in range(len(values)):
        j = i
        while j > 0 and values[order[j - 1]] > values[i]:
            order[j] = order[j - 1]
            j -= 1
        order[j] = i
    return order


@outer
def depth_two(rows, terms, leaves, smallest, cutoff, roots, free, score, plan):
    """Best tree of depth two at most, if it costs less than `cutoff`.

    Parameters
    ----------
    rows : Rows
    terms : Terms
    leaves : int
        Most leaves.
    smallest : int
        Rows that every leaf must have; the rows themselves are enough for one leaf.
    cutoff : float
        Trees of this cost or more are of no interest.
    roots : (n_columns,) uint8
        Whether the root may test a column.
    free : int
        Not 0 if a single leaf will do.
    score : (n_columns,) float64
        Filled: lower bound with every column at the root.
    plan : (., 4) int32
        Filled: column, rank, leaves left and leaves right of the root in row 1; column -1 stands
        for a leaf.

    Returns
    -------
    tuple of float
        Cost of a tree, and a lower bound on every tree: the same if it is below the cutoff.
    """
    n_columns, m = rows.sequence.shape
    price, slack = terms.price, terms.slack
    terms.work[0] += 1
    for i in range(len(plan)):
        plan[i, 0] = NO_ROOT
    total = class_weights(rows, terms.n_classes)
    errors, places = np.empty(n_columns, np.int64), np.empty(n_columns, np.int64)
    best = shallow(rows, terms, total, leaves, smallest, roots, free, errors, places, plan)
    for g in range(n_columns):
        score[g] = INFINITE
        if places[g] >= 0 and roots[g] and leaves > 1:
            score[g] = 2 * price + (errors[g] if leaves < 3 else 0)
    if leaves < 3 or best <= 2 * price + slack:
        return best, best
    if cutoff <= 2 * price + slack:
        return best, min(best, 2 * price)
    column, lanes = make_column(m), make_lanes(rows, terms.n_classes)
    open_ones = np.empty(m, np.int64)
    lower = best
    for g in ascending(errors):
        if places[g] < 0 or not roots[g]:
            continue
        n = open_column(rows, g, smallest, total, price, column)
        best = close_column(
            rows, terms, total, places, leaves, smallest, g, column, n, lanes, open_ones,
            best, cutoff, plan,
        )  # fmt: skip
        sweep(column.left, column.right, column.passed, n)
        score[g] = column_bound(column, n)
        lower = min(lower, score[g])
        if terms.stop[0]:
            return best, min(best, 2 * price)
    if best <= cutoff and lower >= best - 2 * slack:
        lower = best
    return best, min(best, lower)
