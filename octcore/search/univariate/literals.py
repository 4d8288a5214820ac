"""Compiled search for optimal trees of depth three below one literal, with a table over pairs.

A *literal* ``2 f + s`` stands for "feature f has value s". The table holds, for a pair of
literals, lower bounds on the costs of the best depth-two trees on the rows that satisfy both, and
whether they are exact. A pair is reached from either of its literals, so the table serves the
whole node.

Costs are vectors.  By number of leaves, entry k is the least errors of a tree with at most k + 1
leaves; else the one entry is errors plus penalty per leaf.  Both are in integer weight units.
"""

from typing import NamedTuple

import numpy as np

from octcore.numerics.kernels import inner, kernel
from octcore.search.univariate.bit_lanes import TILE, count_tile
from octcore.search.univariate.bounds import INFINITE, deeper, similar
from octcore.search.univariate.lane_rows import ascending
from octcore.search.univariate.pairs import end_of_block, filter_rows, pack, pair_scores

WIDTH = 4  # leaves of a tree of depth two, and entries of its vector


class Terms(NamedTuple):
    """What is minimised, and when to stop."""

    penalty: float
    slack: float  # costs closer than that tie
    step: int  # 1 by number of leaves: sides of i + 1 and j + 1 leaves make entry i + j + 1; else 0
    stop: np.ndarray  # (1,) uint8
    runs: np.ndarray  # (1,) int64, passes over pairs so far


class Literals(NamedTuple):
    """What one D2S per literal tells about the rows of a node."""

    side_cost: np.ndarray
    """(n_literals, 2, n_features, 1 or 2) costs of the best depth-one tree on either side of a
    feature, below the literal; `INFINITE` for features that do not split these rows."""
    ones: np.ndarray  # (n_literals, n_features) int64, weight of its rows with the feature at 1
    depth_two: np.ndarray  # (n_literals, 1 or 4) best costs at depth two
    outvoted: np.ndarray  # (n_literals,) equivalent-point errors
    weight: np.ndarray  # (n_literals,) weight of the rows
    order: np.ndarray  # (n_literals, n_features) int32, roots of depth two, cheapest first
    usable: np.ndarray  # (n_literals,) int64, how many features at the front of ``order`` split


def make_literals(n_features: int, step: int) -> Literals:
    """Allocate the arrays of `Literals`."""
    n_literals = 2 * n_features
    return Literals(
        side_cost=np.full((n_literals, 2, n_features, 1 + step), INFINITE),
        ones=np.zeros((n_literals, n_features), np.int64),
        depth_two=np.full((n_literals, WIDTH if step else 1), INFINITE),
        outvoted=np.zeros(n_literals),
        weight=np.zeros(n_literals, np.int64),
        order=np.zeros((n_literals, n_features), np.int32),
        usable=np.zeros(n_literals, np.int64),
    )


@kernel()
def leaf_and_outvoted(rows, subset, n_subset, totals):
    """Return weight, largest class weight, equivalent-point errors and number of samples."""
    n_classes = rows.shape[0]
    totals[:] = 0
    outvoted, first = 0, 0
    for q in range(len(rows.block_channel)):
        last = end_of_block(rows, subset, first, n_subset, q)
        totals[rows.block_channel[q]] += rows.block_scale[q] * (last - first)
        first = last
    for k in range(n_subset):
        outvoted += rows.minority[subset[k]]
    weight = 0
    largest = 0
    for c in range(n_classes):
        weight += totals[c]
        largest = max(largest, totals[c])
    samples = totals[n_classes] if len(totals) > n_classes else weight
    return weight, largest, outvoted, samples


@kernel()
def shared_outvoted(rows, pairs, subset, child):
    """Weight of the outvoted rows that two literals share; `child` has room for all rows."""
    n, n_outvoted, lanes = len(rows.columns), 0, pairs.own.shape[1]
    for row in subset:
        child[n_outvoted] = row
        n_outvoted += rows.minority[row] > 0
    pack(rows, child, n_outvoted, pairs)
    shared = np.zeros((2 * n, 2 * n), np.int64)
    for f in range(0, n, TILE):
        pairs.counts[:] = 0
        for place in range(pairs.words.shape[1] // lanes):
            for q in range(len(rows.block_channel)):
                count_tile(
                    pairs.words, pairs.starts[q], pairs.starts[q + 1], f, place, pairs.counts,
                    0, rows.block_scale[q],
                )  # fmt: skip
        for t in range(min(TILE, n - f)):
            for g in range(n):
                shared[2 * (f + t) + 1, 2 * g + 1] = pairs.counts[t, g]
    total = pairs.totals.sum()
    for f in range(n):
        with_f = shared[2 * f + 1, 2 * f + 1]
        for g in range(n):
            both, with_g = shared[2 * f + 1, 2 * g + 1], shared[2 * g + 1, 2 * g + 1]
            shared[2 * f + 1, 2 * g] = with_f - both
            shared[2 * f, 2 * g + 1] = with_g - both
            shared[2 * f, 2 * g] = total - with_f - with_g + both
    return shared


@kernel()
def split_costs(rows, pairs, terms, side_cost, costs):
    """Turn the scores of `pair_scores` into costs of both sides, and lower ``costs`` to them."""
    weight = 0
    for c in range(rows.shape[0]):
        weight += pairs.totals[c]
    for f in range(len(rows.columns)):
        splits = pairs.leaf[0, f] >= 0 and pairs.leaf[1, f] >= 0
        for side in range(2):
            size = pairs.ones[f] if side == 1 else weight - pairs.ones[f]
            least = INFINITE
            for k in range(2):
                score = pairs.stump[side, f] if k else pairs.leaf[side, f]
                if splits and score >= 0:
                    least = min(least, size - score + (k + 1) * terms.penalty)
                side_cost[side, f, k * terms.step] = least
        for i in range(side_cost.shape[2] if splits else 0):
            for j in range(side_cost.shape[2]):
                k = i + j + terms.step
                costs[k] = min(costs[k], side_cost[0, f, i] + side_cost[1, f, j])
    for k in range(1, len(costs)):
        costs[k] = min(costs[k], costs[k - 1])


@kernel()
def score_literals(rows, pairs, subset, child, terms, literals, first, last):
    """Run D2S below the literals of a node from `first` to `last`; False when stopped early.

    What it writes for a literal no other literal needs: threads may share the literals out, each
    with `pairs` and `child` of its own.
    """
    totals, cost = np.zeros(len(pairs.totals), np.int64), np.empty(len(rows.columns))
    entry = literals.side_cost.shape[3] - 1
    for a in range(first, last):
        if terms.stop[0]:
            return False
        n = filter_rows(subset, len(subset), rows.columns[a >> 1], a & 1, child)
        weight, largest, outvoted, samples = leaf_and_outvoted(rows, child, n, totals)
        literals.weight[a] = weight
        literals.outvoted[a] = outvoted
        # No split has too few rows on a side, or all of them: the costs stay infinite.
        if samples < rows.shape[1] or n == 0 or n == len(subset):
            continue
        pair_scores(rows, child, n, pairs)
        literals.depth_two[a] = weight - largest + terms.penalty
        split_costs(rows, pairs, terms, literals.side_cost[a], literals.depth_two[a])
        # A loop: copying arrays by one statement compiles for seconds.
        for f in range(len(cost)):
            literals.ones[a, f] = pairs.ones[f]
            cost[f] = literals.side_cost[a, 0, f, entry] + literals.side_cost[a, 1, f, entry]
        order = ascending(cost)
        for t in range(len(cost)):
            literals.order[a, t] = order[t]
            literals.usable[a] += cost[order[t]] < INFINITE
    return True


@inner()
def add_sides(values, a, left, right, step, sums):
    """(min, +) convolution of ``values[a, left]`` and ``values[a, right]``, cut to ``sums``."""
    n, length = values.shape[2], len(sums)
    for k in range(length):
        sums[k] = INFINITE
    for i in range(n):
        for j in range(min(n, length - i - step)):
            cost = values[a, left, i] + values[a, right, j]
            sums[i + j + step] = min(sums[i + j + step], cost)
    for k in range(1, length):
        sums[k] = min(sums[k], sums[k - 1])


@kernel()
def feature_sums(values, step, allowed, sums):
    """Fill (n_features, n_leaves) costs with every allowed feature at the root, from the sides'."""
    for f in range(len(allowed)):
        if allowed[f]:
            add_sides(values, 0, 2 * f, 2 * f + 1, step, sums[f])
        else:
            for k in range(sums.shape[1]):
                sums[f, k] = INFINITE


@inner()
def _raise_similar(rows, pairs, table, known, a, b, weight):
    """Spread exact pair costs to the pairs that share a literal."""
    for q in range(len(rows.columns)):
        for literal, missing in ((2 * q + 1, weight - pairs.ones[q]), (2 * q, pairs.ones[q])):
            for base in (a, b):
                if known[base, literal]:
                    continue
                # The pair lacks only those rows of the solved one that the literal leaves out.
                for k in range(table.shape[2]):
                    bound = similar(table[a, b, k], missing)
                    if bound > table[base, literal, k]:
                        table[base, literal, k] = bound
                        table[literal, base, k] = bound


@inner()
def _solve_pair(rows, pairs, parent, n_parent, child, a, b, terms, table, known, scratch, totals):
    """Make the costs of the pair (a, b) exact."""
    n = filter_rows(parent, n_parent, rows.columns[b >> 1], b & 1, child)
    weight, largest, outvoted, samples = leaf_and_outvoted(rows, child, n, totals)
    known[a, b] = 1
    known[b, a] = 1
    leaf = weight - largest + terms.penalty
    costs = table[a, b]
    costs[:] = INFINITE if samples < rows.shape[1] else leaf
    # A split makes two leaves: where they cost no less than one leaf, none is looked at.
    if samples >= rows.shape[1] and leaf > deeper(outvoted, terms.penalty, 2):
        pair_scores(rows, child, n, pairs)
        split_costs(rows, pairs, terms, scratch, costs)
        terms.runs[0] += 1
        if rows.shape[1] <= 1:  # else leaves may be too small where rows are missing
            _raise_similar(rows, pairs, table, known, a, b, weight)
    for k in range(len(costs)):
        table[b, a, k] = costs[k]


@kernel()
def close_depth_three(
    rows, pairs, subset, parent, child, a, limit, terms, literals, table, known, best, roots, proven
):
    """Find the best depth-three trees below literal ``a``, or prove that they cost ``limit``.

    `subset`: rows of the node; ``parent`` and ``child`` have room for as many.
    `a`: the literal.
    `limit`: (n_entries,) trees of this cost or more are of no interest.
    `table`, `known`: (n_literals, n_literals, .) and (n_literals, n_literals), bounds on the pairs,
        changed.
    `best`, `roots`, `proven`: (n_entries,) least costs found and their root features, improved;
        lower bounds, filled.
    Returns False when stopped early: then nothing is proven.
    """
    n_parent = filter_rows(subset, len(subset), rows.columns[a >> 1], a & 1, parent)
    last = literals.side_cost.shape[3] - 1
    scratch = np.empty_like(literals.side_cost[a])
    totals = np.zeros(len(pairs.totals), np.int64)
    sums = np.empty(len(best))
    proven[:] = INFINITE
    for t in range(literals.usable[a]):
        f = literals.order[a, t]
        left, right = 2 * f, 2 * f + 1
        while True:
            add_sides(table, a, left, right, terms.step, sums)
            is_solved = known[a, left] and known[a, right]
            is_open = False
            for k in range(len(best)):
                if is_solved and sums[k] < best[k] - terms.slack:
                    best[k], roots[k] = sums[k], f
                # Bounds of both sides add up: no tree with this root is better, or of interest.
                is_open = is_open or sums[k] < min(best[k], limit[k]) - terms.slack
            if is_solved or not is_open:
                break
            if terms.stop[0]:
                return False
            if known[a, left]:
                b = right
            elif known[a, right]:
                b = left
            else:
                sides = literals.side_cost[a]
                # The side that costs more is likelier to close the feature alone (effort only).
                b = left if sides[0, f, last] >= sides[1, f, last] else right
            _solve_pair(
                rows, pairs, parent, n_parent, child, a, b, terms, table, known, scratch, totals
            )
        for k in range(len(best)):
            proven[k] = min(proven[k], sums[k])
    for k in range(len(best)):
        proven[k] = min(proven[k], best[k])
    return True
