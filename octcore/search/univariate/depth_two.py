"""Best subtree of depth two on a set of rows, over all thresholds: the kernel of the search.

Costs are errors plus `price` for every leaf, in units of weight.  Along one column, with j < k two
thresholds and w the weight between them, the costs c of the two sides bound each other:

    left:   c(j) <= c(k) <= c(j) + w        right:   c(k) <= c(j) <= c(k) + w

So thresholds are solved in packs, a few of each of some columns, evenly spread over those still
open, and the bounds of all others follow from two sweeps.  With a smallest leaf, fewer rows may
cost more and the first half of the bounds fails; then the bounds come from costs without that
limit, and only thresholds that these leave open are solved with it.
"""

from typing import NamedTuple

import numpy as np

from octcore.numerics.kernels import inner, kernel
from octcore.search.univariate.bounds import INFINITE, sweep
from octcore.search.univariate.intrinsics import lanes_of
from octcore.search.univariate.lane_rows import (
    ascending,
    class_weights,
    count_rows,
    sum_and_most,
    zeros,
)
from octcore.search.univariate.lanes import pass_over

NO_ROOT = -1  # column of a plan, or of a place, that has none
SOLVED = -1  # errors of a column that needs no more work
MANY_COLUMNS = 512
"""From which on all columns are first tried at one threshold: pairs that only help together show
there, which halves the work, and elsewhere it costs up to a fifth."""
LANES_EACH = 4
"""Lanes of a pack for one column, while there are others: what is learned from a few thresholds
leaves so many fewer open that packs of one column alone would be more than twice as many."""


class Columns(NamedTuple):
    """The thresholds of a few columns that are solved together, each in a place of its own.

    Only thresholds that leave enough rows on both sides are there.
    """

    rank: np.ndarray  # (places, .) rank of the last value left
    passed: np.ndarray  # (places, .) weight left
    zeros: np.ndarray  # (places, .) weight of class 0 left
    size: np.ndarray  # (places, .) rows left
    leaf: np.ndarray  # (places, 2, .) errors of a leaf on either side
    left: np.ndarray  # (places, .) lower bound on the cost of the side, in any limit on leaves
    right: np.ndarray  # (places, .) the same
    own: np.ndarray  # (places, .) cost of the best tree with it at the root, -1 while not known
    open: np.ndarray  # (places, .) thresholds that are not solved and may cost less than the target
    g: np.ndarray  # (places,) the column, -1 in an empty place
    n: np.ndarray  # (places,) how many thresholds
    n_open: np.ndarray  # (places,) how many are open


class Lanes(NamedTuple):
    """Room for one pack of thresholds; see `octcore.search.univariate.lanes`."""

    first: np.ndarray  # (places + 1,) first lane of every place
    pick: np.ndarray  # (lanes,) the threshold of every lane
    masks: np.ndarray  # (n_rows,) which lanes have a row on the left
    signed: np.ndarray  # (n_columns, n_rows) of two classes, signed weights in every column's order
    sizes: np.ndarray
    out: np.ndarray
    counters: np.ndarray
    prefix: np.ndarray


class Terms(NamedTuple):
    """What the search minimises, and when it stops."""

    n_classes: int
    price: float
    slack: float  # a difference below it is none
    stop: np.ndarray  # (1,) uint8; soon after it becomes 1 the kernels return what they have
    work: np.ndarray  # (2,) int64: subtrees solved, row visits


@inner(owns=True)
def shallow(rows, terms, total, leaves, smallest, roots, free, signed, errors, ranks, plan):
    """Cost of the best leaf (if `free`) or single split, the latter written into ``plan[1]``.

    Filled: least errors of one split on every column, and the last rank on its left, -1 where none
    fits; the signed weights of two classes in the order of every column.
    """
    n_columns, m = rows.sequence.shape
    n_rows = count_rows(rows)
    listed = make_columns(m if terms.n_classes > 2 else 1, 1)
    for h in range(n_columns):
        if terms.n_classes == 2:
            two_class_stump(rows, h, total, n_rows, smallest, signed[h], errors, ranks)
            continue
        open_column(rows, h, smallest, total, terms.price, listed, 0)
        errors[h], ranks[h] = 2**62, -1
        for j in range(listed.n[0]):
            wrong = listed.leaf[0, 0, j] + listed.leaf[0, 1, j]
            if wrong < errors[h]:
                errors[h], ranks[h] = wrong, listed.rank[0, j]
    weight, most = sum_and_most(total)
    cost = weight - most + terms.price if free != 0 else INFINITE
    for h in range(n_columns):
        if leaves > 1 and ranks[h] >= 0 and roots[h]:
            here = errors[h] + 2 * terms.price
            if here < cost - terms.slack:
                cost = here
                plan[1, 0], plan[1, 1], plan[1, 2], plan[1, 3] = h, ranks[h], 1, 1
    return cost


@inner()
def two_class_stump(rows, h, total, n_rows, smallest, signed, errors, ranks):
    """The same for one column and two classes: extremes of the running signed weight."""
    sequence = rows.sequence[h]
    d, low, high = np.int64(0), np.int64(0), np.int64(0)
    low_at, high_at, first, size = -1, -1, -1, np.int64(0)
    for k in range(len(sequence)):
        row = sequence[k] >> 1
        signed[k] = rows.signed[row]
        d += signed[k]
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
    if first_low == first_high:
        place = min(low_at, high_at)
    else:
        place = low_at if first_low > first_high else high_at
    place = first if place < 0 else place
    errors[h], ranks[h] = 2**62, -1
    if place >= 0:
        errors[h] = total[0] + total[1] - max(first_low, first_high)
        ranks[h] = rows.rank[h, sequence[place] >> 1]


@inner(owns=True)
def make_columns(m, n_places):
    """Room for the thresholds of some columns of m rows."""
    columns = Columns(
        np.empty((n_places, m), np.int64), np.empty((n_places, m), np.int64),
        np.empty((n_places, m), np.int64), np.empty((n_places, m), np.int64),
        np.empty((n_places, 2, m), np.int64), np.empty((n_places, m)), np.empty((n_places, m)),
        np.empty((n_places, m)), np.empty((n_places, m), np.int64),
        np.empty(n_places, np.int64), zeros(n_places), zeros(n_places),
    )  # fmt: skip
    for s in range(n_places):
        columns.g[s] = NO_ROOT
    return columns


@inner(owns=True)
def make_lanes(rows, signed, n_classes, n_places):
    """Room for a pack of thresholds."""
    kind, n, m = rows.weight.dtype, lanes_of(rows.weight.itemsize), len(rows.y)
    n_counters = n_classes if n_classes > 2 else 1
    return Lanes(
        np.empty(n_places + 1, np.int64), np.empty(n, np.int64), np.empty(m, np.uint16),
        signed, np.empty((2, n), kind), np.empty((4, n), kind),
        np.empty((n_counters, 4 * n), kind), np.empty((m if n_classes > 2 else 1, 2, n), kind),
    )  # fmt: skip


@inner(owns=True)
def open_column(rows, g, smallest, total, price, columns, s):
    """List the thresholds of a column in a place."""
    m = rows.sequence.shape[1]
    sequence = rows.sequence[g]
    counts = zeros(len(total))
    n_rows = count_rows(rows) if smallest > 1 else np.int64(0)
    two, whole = len(total) == 2, sum_and_most(total)[0]
    weight, size = np.int64(0), np.int64(0)
    n = 0
    for k in range(m - 1):
        row = sequence[k] >> 1
        here = np.int64(rows.weight[row])
        weight += here
        if two:
            counts[0] += here if rows.signed[row] > 0 else 0
        else:
            counts[rows.y[row]] += here
        if smallest > 1:
            size += rows.copies[row]
            if size < smallest or n_rows - size < smallest:
                continue
        if sequence[k] & 1:
            columns.rank[s, n], columns.passed[s, n] = rows.rank[g, row], weight
            columns.zeros[s, n], columns.size[s, n] = counts[0], size
            left, right = counts[0], total[0] - counts[0]
            if two:
                left, right = max(left, weight - left), max(right, whole - weight - right)
            for i in range(1, 0 if two else len(total)):
                left, right = max(left, counts[i]), max(right, total[i] - counts[i])
            columns.leaf[s, 0, n], columns.leaf[s, 1, n] = weight - left, whole - weight - right
            columns.left[s, n], columns.right[s, n], columns.own[s, n] = price, price, -1.0
            columns.open[s, n] = n
            n += 1
    columns.g[s], columns.n[s], columns.n_open[s] = g, n, n


@inner()
def pass_over_columns(rows, n_classes, usable, counted, smallest, lanes):
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
        pass_over(
            rows.sequence[h], rows.y, lanes.signed[h], lanes.masks, rows, lanes, n_classes == 2,
            counted, smallest,
        )  # fmt: skip


@inner()
def split_errors(columns, s, j, i, total, n_classes, out):
    """Errors of the best single split left and right of a threshold, from a finished pass."""
    left = columns.passed[s, j]
    right = sum_and_most(total)[0] - left
    if n_classes > 2:
        return left - max(0, np.int64(out[0, i])), right - max(0, np.int64(out[1, i]))
    a = columns.zeros[s, j]
    b = left - a
    left -= max(b + np.int64(out[1, i]), a - np.int64(out[0, i]))
    a, b = total[0] - a, total[1] - b
    return left, right - max(b + np.int64(out[3, i]), a - np.int64(out[2, i]))


@inner()
def choose_pack(rows, columns, lanes):
    """Share the lanes out among the columns, each spreading its own evenly over what is open."""
    n_places, waiting, lane = len(columns.g), 0, 0
    for s in range(n_places):
        waiting += columns.g[s] >= 0
    for s in range(n_places):
        lanes.first[s] = lane
        if columns.g[s] < 0:
            continue
        n_open, room = columns.n_open[s], (len(lanes.pick) - lane) // waiting
        waiting -= 1
        for i in range(min(n_open, room)):
            place = ((2 * i + 1) * n_open) // (2 * room) if n_open > room else i
            lanes.pick[lane] = columns.open[s, place]
            lane += 1
    lanes.first[n_places] = lane
    for k in range(len(lanes.masks)):
        lanes.masks[k] = 0
    for s in range(n_places):
        for i in range(lanes.first[s], lanes.first[s + 1], 4):
            mark_left(rows.rank[columns.g[s]], columns.rank[s], lanes, i, lanes.first[s + 1])


@inner()
def mark_left(rank, ranks, lanes, i, end):
    """Mark the rows left of four lanes, which is eight times as fast as one after the other."""
    kind = rank.dtype.type
    a = kind(ranks[lanes.pick[i]])
    b = kind(ranks[lanes.pick[i + 1]] if i + 1 < end else -1)
    c = kind(ranks[lanes.pick[i + 2]] if i + 2 < end else -1)
    d = kind(ranks[lanes.pick[i + 3]] if i + 3 < end else -1)
    shift = np.uint16(i)
    for k in range(len(rank)):
        r = rank[k]
        bits = (r <= a) | ((r <= b) << 1) | ((r <= c) << 2) | ((r <= d) << 3)
        lanes.masks[k] |= np.uint16(bits) << shift


@inner()
def still_open(columns, s, target, lanes):
    """Bound the open thresholds of a place by the lanes just solved, their nearest."""
    left, right, passed = columns.left[s], columns.right[s], columns.passed[s]
    lane, end, n_left, i = lanes.first[s], lanes.first[s + 1], 0, 0
    # `bounds.sweep` from the solved threshold before and the one behind, without branches.
    left_before = right_before = left_behind = right_behind = -INFINITE
    while i < columns.n_open[s]:
        until = columns.n_open[s]
        if lane < end:
            p = lanes.pick[lane]
            left_behind, right_behind = left[p] - passed[p], right[p]
            until = i
            while columns.open[s, until] < p:
                until += 1
        else:
            left_behind, right_behind = -INFINITE, -INFINITE
        for k in range(i, until):
            j = columns.open[s, k]
            weight = passed[j]
            a = max(max(left[j], left_before), left_behind + weight)
            b = max(max(right[j], right_behind), right_before - weight)
            left[j], right[j] = a, b
            columns.open[s, n_left] = j
            n_left += 1 if a + b < target else 0
        i = until + 1
        if lane < end:
            p = lanes.pick[lane]
            left_before, right_before = left[p], right[p] + passed[p]
            lane += 1
    columns.n_open[s] = n_left


@inner()
def solve_pack(rows, terms, total, usable, leaves, smallest, columns, lanes, best, cutoff, plan):
    """Solve a pack of thresholds; returns the least cost, whose root `plan` tells if it is new."""
    n_classes, price, slack = terms.n_classes, terms.price, terms.slack
    n_rows = count_rows(rows) if smallest > 1 else np.int64(0)
    target = min(best, cutoff) - slack
    choose_pack(rows, columns, lanes)
    is_open = True
    # First without a smallest leaf; then with it, where that leaves something open.
    for counted in range(1 + (smallest > 1)):
        if not is_open:
            break
        is_open = False
        terms.work[1] += len(rows.y) * len(usable)
        if counted:
            fill_sizes(columns, lanes, n_rows)
        pass_over_columns(rows, n_classes, usable, counted == 1, smallest, lanes)
        for s in range(len(columns.g)):
            for i in range(lanes.first[s], lanes.first[s + 1]):
                j = lanes.pick[i]
                errors = split_errors(columns, s, j, i, total, n_classes, lanes.out)
                a, b = columns.leaf[s, 0, j] + price, columns.leaf[s, 1, j] + price
                c, d = min(a, errors[0] + 2 * price), min(b, errors[1] + 2 * price)
                if not counted:  # sides without a smallest leaf bound all neighbours
                    columns.left[s, j] = max(columns.left[s, j], c)
                    columns.right[s, j] = max(columns.right[s, j], d)
                    is_open = is_open or c + d < target
                    if smallest > 1:
                        continue
                own = c + d if leaves > 3 else min(a + d, c + b)
                columns.own[s, j] = own
                if own < best - slack:
                    best = own
                    plan[1, 0], plan[1, 1] = columns.g[s], columns.rank[s, j]
                    plan[1, 2] = 2 if leaves > 3 or a + d > c + b else 1
                    plan[1, 3] = 2 if leaves > 3 or a + d <= c + b else 1
    return best


@inner()
def fill_sizes(columns, lanes, n_rows):
    """Rows on both sides of the threshold of every lane."""
    for s in range(len(columns.g)):
        for i in range(lanes.first[s], lanes.first[s + 1]):
            lanes.sizes[0, i] = columns.size[s, lanes.pick[i]]
            lanes.sizes[1, i] = n_rows - columns.size[s, lanes.pick[i]]
    for i in range(lanes.first[len(columns.g)], len(lanes.pick)):
        lanes.sizes[0, i], lanes.sizes[1, i] = 0, 0


@inner()
def close_column(columns, s):
    """Empty a place; returns the lower bound on every tree with its column at the root."""
    n = columns.n[s]
    left, right = columns.left[s], columns.right[s]
    sweep(left, right, columns.passed[s], n)
    bound = INFINITE
    for j in range(n):
        # A solved threshold has its own cost, above both sides where leaves are limited together.
        bound = min(bound, max(left[j] + right[j], columns.own[s, j]))
    columns.g[s] = NO_ROOT
    return bound


@inner()
def solve_columns(
    rows, terms, total, errors, order, ranks, roots, leaves, smallest, columns, lanes, is_survey,
    best, lower, cutoff, score, plan,
):  # fmt: skip
    """Solve the thresholds of all columns, in the order of their least errors.

    A survey solves one of each, and puts what two levels cost there for the errors, SOLVED where no
    other is open.  Returns the least cost and a lower bound on the trees of the columns solved.
    """
    following = occupied = 0
    while True:
        for s in range(len(columns.g)):
            while columns.g[s] < 0 and following < len(order):
                g = order[following]
                following += 1
                if ranks[g] >= 0 and roots[g] and errors[g] != SOLVED:
                    open_column(rows, g, smallest, total, terms.price, columns, s)
                    occupied += 1
        if occupied == 0:
            return best, lower
        best = solve_pack(
            rows, terms, total, ranks, leaves, smallest, columns, lanes, best, cutoff, plan
        )
        if terms.stop[0]:
            return best, lower
        target = min(best, cutoff) - terms.slack
        for s in range(len(columns.g)):
            g = columns.g[s]
            if g < 0:
                continue
            # What reaches the target is no better than the best tree, or of no interest.
            still_open(columns, s, target, lanes)
            if columns.n_open[s] == 0:
                score[g], errors[g] = close_column(columns, s), SOLVED
                lower = min(lower, score[g])
            elif is_survey:
                j, columns.g[s] = lanes.pick[lanes.first[s]], NO_ROOT
                errors[g] = np.int64(columns.left[s, j] + columns.right[s, j])
            occupied -= columns.g[s] < 0


@kernel()
def depth_two(rows, terms, leaves, smallest, cutoff, roots, free, score, plan):
    """Best tree of depth two at most, if it costs less than `cutoff`.

    `leaves`: most leaves.
    `smallest`: rows that every leaf must have; the rows themselves are enough for one leaf.
    `cutoff`: trees of this cost or more are of no interest.
    `roots`: (n_columns,) uint8, whether the root may test a column.
    `free`: not 0 if a single leaf will do.
    `score`: (n_columns,) float64, filled: lower bound with every column at the root.
    `plan`: (., 4) int32, filled: column, rank, leaves left and leaves right of the root in row 1;
        column -1 stands for a leaf.
    Returns the cost of a tree, and a lower bound on every tree: the same if it is below the cutoff.
    """
    n_columns, m = rows.sequence.shape
    price, slack = terms.price, terms.slack
    terms.work[0] += 1
    for i in range(len(plan)):
        plan[i, 0] = NO_ROOT
    total = class_weights(rows, terms.n_classes)
    errors, ranks = np.empty(n_columns, np.int64), np.empty(n_columns, np.int64)
    signed = np.empty((n_columns, m if terms.n_classes == 2 else 0), rows.signed.dtype)
    best = shallow(rows, terms, total, leaves, smallest, roots, free, signed, errors, ranks, plan)
    for g in range(n_columns):
        score[g] = INFINITE
        if ranks[g] >= 0 and roots[g] and leaves > 1:
            score[g] = 2 * price + (errors[g] if leaves < 3 else 0)
    # Single splits are all there is, or nothing is left below two leaves without errors.
    if leaves < 3 or best <= 2 * price + slack:
        return best, best
    if cutoff <= 2 * price + slack:
        return best, min(best, 2 * price)
    n_lanes, lower = lanes_of(rows.weight.itemsize), best
    for is_survey in range(n_columns >= MANY_COLUMNS, -1, -1):
        n_places = n_lanes if is_survey else max(1, n_lanes // LANES_EACH)
        columns = make_columns(m, n_places)
        lanes = make_lanes(rows, signed, terms.n_classes, n_places)
        best, lower = solve_columns(
            rows, terms, total, errors, ascending(errors), ranks, roots, leaves, smallest, columns,
            lanes, is_survey, best, lower, cutoff, score, plan,
        )  # fmt: skip
        if terms.stop[0]:
            return best, min(best, 2 * price)
    # Targets are a slack below the best cost, and rounding of sums is below another one.
    if best <= cutoff and lower >= best - 2 * slack:
        lower = best
    return best, min(best, lower)
