"""Subtrees of depth three and more: thresholds by intervals, children solved with cutoffs.

A node keeps, for every way to use its root (a column, and how many leaves each side may have), a
lower bound on the cost of both sides of every threshold.  The search takes the way with the lowest
bound, the run of open thresholds around its best one, and solves the threshold in the middle of
that run by weight: then `bounds.sweep` closes most of the run at once.  A child
is solved somewhat beyond what its own threshold needs (half of the run's half weight), because its
bound serves the neighbours as well.

With a smallest leaf, fewer rows may cost more.  Then there are two kinds of bounds, those without
that limit, which `sweep` carries on, and those with it, for which `carry_similar` holds.
"""

from typing import NamedTuple

import numpy as np

from octcore.numerics.kernels import inner, kernel
from octcore.search.univariate.bounds import INFINITE, carry_similar, sweep
from octcore.search.univariate.depth_two import NO_ROOT, depth_two
from octcore.search.univariate.lane_rows import count_rows, restrict, zeros

SLACK_SHARE = 0.5
"""How far beyond its cutoff a child is solved, as a share of half the weight of the open run."""


class Node(NamedTuple):
    """State of the search below one set of rows."""

    start: np.ndarray  # (ways + 1,) first threshold of every way
    column: np.ndarray  # (ways,) root column
    leaves: np.ndarray  # (ways, 2) most leaves left and right
    bound: np.ndarray  # (ways,) lower bound on every tree of the way
    reached: np.ndarray  # (ways,) least cost of a tree found
    sides: np.ndarray  # (1 or 2, 2, thresholds) bounds left and right, without and with a leaf size
    passed: np.ndarray  # (thresholds,) weight on the left
    rank: np.ndarray  # (thresholds,) last rank on the left


@kernel()
def open_node(rows, price, depth, leaves, smallest):
    """State of a node of depth three and four leaves or more, of which nothing is known yet."""
    n_columns, m = rows.sequence.shape
    n_rows, n = count_rows(rows), np.int64(0)
    # Shares of the leaves that use all of them are enough: fewer leaves are trees of these, too.
    most = 2 ** (depth - 1)
    lowest = max(1, leaves - most)
    n_shares = max(1, min(most, leaves - 1) - lowest + 1)
    n_ways = n_columns * n_shares
    start, column = zeros(n_ways + 1), np.empty(n_ways, np.int64)
    shares = np.empty((n_ways, 2), np.int64)
    passed, rank = np.empty(n_ways * m, np.int64), np.empty(n_ways * m, np.int64)
    bound, reached = np.empty(n_ways), np.empty(n_ways)
    for way in range(n_ways):
        bound[way], reached[way] = INFINITE, INFINITE
        column[way], i = way // n_shares, way % n_shares
        shares[way, 0], shares[way, 1] = lowest + i, min(most, leaves - lowest - i)
        weight, size = np.int64(0), np.int64(0)
        for k in range(m - 1):
            code = rows.sequence[column[way], k]
            row = code >> 1
            weight += rows.weight[row]
            size += rows.copies[row]
            if code & 1 and size >= smallest and n_rows - size >= smallest:
                passed[n], rank[n] = weight, rows.rank[column[way], row]
                bound[way] = 2 * price  # a leaf on either side, without errors
                n += 1
        start[way + 1] = n
    sides = np.empty((1 + (smallest > 1), 2, n))
    sides[:] = price
    return Node(start, column, shares, bound, reached, sides, passed[:n], rank[:n])


@inner()
def graft(plan, part, side):
    """Copy the plan of a child below row 1 of a plan."""
    first = 1
    while first < len(part):
        for i in range(first, min(2 * first, len(part))):
            for q in range(4):
                plan[i + first * (1 + side), q] = part[i, q]
        first *= 2


@inner()
def choose_way(node, target, score):
    """The way with the lowest bound below the target, by score of its column on ties; or -1."""
    best = -1
    for way in range(len(node.bound)):
        if node.bound[way] >= target:
            continue
        if best < 0 or node.bound[way] < node.bound[best]:
            best = way
        elif node.bound[way] == node.bound[best]:
            if score[node.column[way]] < score[node.column[best]]:
                best = way
    return best


@inner()
def side_bound(node, side, j):
    """Lower bound on the cost of one side of a threshold."""
    return max(node.sides[0, side, j], node.sides[-1, side, j])


@inner()
def bound_at(node, j):
    """Lower bound on every tree with a threshold at the root."""
    return side_bound(node, 0, j) + side_bound(node, 1, j)


@inner()
def proven(node, best, cutoff, slack):
    """Lower bound of a finished node: the cost of its best tree if that is below the cutoff."""
    low = best
    for way in range(len(node.bound)):
        low = min(low, node.bound[way])
    # Thresholds are closed a slack below the best cost, and rounding of sums is below another one.
    return best if best <= cutoff and low >= best - 2 * slack else low


@inner()
def choose_threshold(node, way, target):
    """Middle of the open run around the best threshold of a way, or -1; half the run's weight."""
    a, z = node.start[way], node.start[way + 1]
    low = a
    for j in range(a, z):
        if bound_at(node, j) < bound_at(node, low):
            low = j
    if bound_at(node, low) >= target:
        return np.int64(-1), 0.0
    high = low
    while low > a and bound_at(node, low - 1) < target:
        low -= 1
    while high < z - 1 and bound_at(node, high + 1) < target:
        high += 1
    middle = 0.5 * (node.passed[low] + node.passed[high])
    half = 0.5 * (node.passed[high] - node.passed[low])
    j = low
    while j < high and node.passed[j] < middle:
        j += 1
    return j, half


@inner()
def carry_over(node, way):
    """Sweep the bounds of a way, and take over its lowest."""
    a, z = node.start[way], node.start[way + 1]
    sides, passed = node.sides, node.passed[a:z]
    sweep(sides[0, 0, a:z], sides[0, 1, a:z], passed, z - a)
    if len(sides) > 1:
        carry_similar(sides[1, 0, a:z], sides[1, 1, a:z], passed, z - a)
    low = INFINITE
    for j in range(a, z):
        low = min(low, bound_at(node, j))
    node.bound[way] = max(node.bound[way], low)


@kernel()
def search(rows, terms, node, depth, smallest, best, cutoff, score, only, steps, plan):
    """Solve thresholds of a node until no tree can beat the best one and the cutoff.

    `node`: changed: bounds rise.
    `depth`: most splits on a path, 3 or more.
    `smallest`: rows that every leaf must have.
    `best`, `cutoff`: cost of the best tree; trees of the cutoff or more are of no interest.
    `score`: (n_columns,) float64, columns of low score are tried first.
    `only`: the only way to look at; -1 for all.
    `steps`: thresholds to solve at most; -1 for no limit.
    `plan`: (2^depth, 4) int32, filled where a better tree is found.
    Returns the cost of the best tree.
    """
    slack = terms.slack
    n_columns, m = rows.sequence.shape
    keep = np.empty((2, m), np.uint8)
    part = np.empty((2, 2 ** (depth - 1), 4), np.int32)
    below = np.empty(n_columns)
    size, got = np.empty(2, np.int64), np.empty(2)
    roots = np.empty(n_columns, np.uint8)
    for g in range(n_columns):
        roots[g] = 1
    # Literals would make second specialisations, which cost time and break the cache.
    every, free = np.int64(-1), np.int64(1)
    while steps != 0 and not terms.stop[0]:
        steps -= 1
        target = min(best, cutoff) - slack
        way = only if only >= 0 else choose_way(node, target, score)
        if way < 0 or node.bound[way] >= target:
            break
        j, half = choose_threshold(node, way, target)
        if j < 0:  # all of its thresholds reach the target
            node.bound[way] = target
            continue
        size[0], size[1] = 0, 0
        for i in range(m):
            side = 0 if rows.rank[node.column[way], i] <= node.rank[j] else 1
            keep[side, i], keep[1 - side, i] = 1, 0
            size[side] += 1
        # First without a smallest leaf; then with it, where that leaves the threshold open.
        for counted in range(1 + (smallest > 1)):
            got[0], got[1] = INFINITE, INFINITE
            for turn in range(2):
                # The second side is worth solving beyond the target, for its neighbours' bounds.
                if bound_at(node, j) >= target + turn * SLACK_SHARE * half:
                    break
                side = turn if size[0] >= size[1] else 1 - turn
                reach = target + 2 * slack - side_bound(node, 1 - side, j) + SLACK_SHARE * half
                child = restrict(rows, keep[side], size[side])
                leaves, least = node.leaves[way, side], smallest if counted else 1
                got[side], low = depth_two(
                    child, terms, leaves, least, reach, roots, free, below, part[side]
                )
                # A tree deeper than two has more than two leaves.
                trivial = min(got[side], reach) <= 2 * terms.price + slack
                if depth > 3 and leaves > 3 and not trivial and not terms.stop[0]:
                    inside = open_node(child, terms.price, depth - 1, leaves, least)
                    got[side] = search(
                        child, terms, inside, depth - 1, least, got[side], reach, below,
                        every, every, part[side],
                    )  # fmt: skip
                    low = proven(inside, got[side], reach, slack)
                if terms.stop[0]:
                    return best
                node.sides[counted, side, j] = max(node.sides[counted, side, j], low)
            # Trees found without a smallest leaf may break it; their costs are bounds all the same.
            cost = got[0] + got[1] if counted or smallest == 1 else INFINITE
            node.reached[way] = min(node.reached[way], cost)
            if cost < best - slack:
                best = cost
                for i in range(len(plan)):
                    plan[i, 0] = NO_ROOT
                plan[1, 0], plan[1, 1] = node.column[way], node.rank[j]
                plan[1, 2], plan[1, 3] = node.leaves[way, 0], node.leaves[way, 1]
                for side in range(2):
                    graft(plan, part[side], side)
        carry_over(node, way)
    return best
