"""Compiled search for optimal trees of depth three below one literal, with a table over pairs.

A *literal* ``2 f + s`` stands for "feature f has value s". The table holds, for a pair of
literals, a lower bound on the cost of the best depth-two tree on the rows that satisfy both, and
whether it is the exact cost. A pair is reached from either of its literals, so the table serves
the whole node.

Costs are errors plus penalty per leaf, in integer weight units.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from octcore.kernels import inner, kernel
from octcore.search.univariate.bit_rows import filter_rows
from octcore.search.univariate.pairs import INFEASIBLE, pair_scores


class Literals(NamedTuple):
    """What one D2S per literal tells about the rows of a node.

    Attributes
    ----------
    side_cost : ndarray of shape (n_literals, 2, n_features)
        Cost of the best depth-one tree on either side of a feature, below the literal;
        `INFEASIBLE` for features that do not split these rows.
    ones : ndarray of shape (n_literals, n_features), int64
        Weight of the literal's rows with the feature at 1.
    depth_two, leaf, outvoted, weight : ndarray of shape (n_literals,)
        Best cost at depth two and of a single leaf, equivalent-point errors, weight of the rows.
    samples : ndarray of shape (n_literals,), int64
        Number of kernel rows.
    order : ndarray of shape (n_literals, n_features), int32
        Features by increasing cost as the root of a depth-two tree.
    usable : ndarray of shape (n_literals,), int64
        How many features at the front of ``order`` split the rows.
    """

    side_cost: np.ndarray
    ones: np.ndarray
    depth_two: np.ndarray
    leaf: np.ndarray
    outvoted: np.ndarray
    weight: np.ndarray
    samples: np.ndarray
    order: np.ndarray
    usable: np.ndarray


def make_literals(n_features: int) -> Literals:
    """Allocate the arrays of `Literals`."""
    n_literals = 2 * n_features
    return Literals(
        side_cost=np.full((n_literals, 2, n_features), INFEASIBLE),
        ones=np.zeros((n_literals, n_features), np.int64),
        depth_two=np.full(n_literals, INFEASIBLE),
        leaf=np.full(n_literals, INFEASIBLE),
        outvoted=np.zeros(n_literals),
        weight=np.zeros(n_literals, np.int64),
        samples=np.zeros(n_literals, np.int64),
        order=np.zeros((n_literals, n_features), np.int32),
        usable=np.zeros(n_literals, np.int64),
    )


@kernel()
def leaf_and_outvoted(rows, subset, n_subset, totals):
    """Return weight, largest class weight, equivalent-point errors and number of samples."""
    n_classes = rows.shape[0]
    totals[:] = 0
    outvoted = 0
    for k in range(n_subset):
        q = rows.block[subset[k]]
        totals[rows.block_channel[q]] += rows.block_scale[q]
        outvoted += rows.minority[subset[k]]
    weight = 0
    largest = 0
    for c in range(n_classes):
        weight += totals[c]
        largest = max(largest, totals[c])
    samples = totals[n_classes] if len(totals) > n_classes else weight
    return weight, largest, outvoted, samples


@kernel()
def side_costs(rows, pairs, weight, penalty, side_cost):
    """Turn the scores of `pair_scores` into costs; return the best cost with a root split."""
    best = INFEASIBLE
    for f in range(rows.bits.shape[1]):
        side_cost[0, f] = INFEASIBLE
        side_cost[1, f] = INFEASIBLE
        if pairs.leaf[0, f] < 0 or pairs.leaf[1, f] < 0:
            continue
        right = pairs.ones[f]
        for side in range(2):
            size = right if side == 1 else weight - right
            cost = size - pairs.leaf[side, f] + penalty
            if pairs.stump[side, f] >= 0:
                cost = min(cost, size - pairs.stump[side, f] + 2 * penalty)
            side_cost[side, f] = cost
        best = min(best, side_cost[0, f] + side_cost[1, f])
    return best


@inner()
def depth_two_cost(rows, pairs, subset, n_subset, penalty, side_cost):
    """Best cost at depth two on a subset, given that splitting can pay; fills ``side_cost``."""
    pair_scores(rows, subset, n_subset, pairs)
    weight = 0
    largest = 0
    for c in range(rows.shape[0]):
        weight += pairs.totals[c]
        largest = max(largest, pairs.totals[c])
    return min(weight - largest + penalty, side_costs(rows, pairs, weight, penalty, side_cost))


@inner()
def _rank(side_cost, order):
    """Write the features that split to ``order`` by increasing cost; return their number."""
    usable = 0
    for f in range(side_cost.shape[1]):
        cost = side_cost[0, f] + side_cost[1, f]
        if cost < INFEASIBLE:
            k = usable
            while k > 0 and side_cost[0, order[k - 1]] + side_cost[1, order[k - 1]] > cost:
                order[k] = order[k - 1]
                k -= 1
            order[k] = f
            usable += 1
    return usable


@kernel()
def score_literals(rows, pairs, subset, child, penalty, literals, stop, first, last):
    """Run D2S below the literals of a node from `first` to `last`; False when stopped early.

    What it writes for a literal no other literal needs: threads may share the literals out, each
    with `pairs` and `child` of its own.
    """
    n_features = rows.bits.shape[1]
    min_leaf = rows.shape[1]
    totals = np.zeros(len(pairs.totals), np.int64)
    for a in range(first, last):
        if stop[0]:
            return False
        n = filter_rows(subset, len(subset), rows.columns[a >> 1], a & 1, child)
        weight, largest, outvoted, samples = leaf_and_outvoted(rows, child, n, totals)
        literals.weight[a] = weight
        literals.outvoted[a] = outvoted
        literals.samples[a] = samples
        literals.usable[a] = 0
        literals.side_cost[a] = INFEASIBLE
        literals.leaf[a] = INFEASIBLE
        literals.depth_two[a] = INFEASIBLE
        if samples < min_leaf or n == 0 or n == len(subset):
            continue
        literals.leaf[a] = weight - largest + penalty
        literals.depth_two[a] = depth_two_cost(
            rows, pairs, child, n, penalty, literals.side_cost[a]
        )
        # Loops: copying and sorting arrays by one statement compiles for seconds.
        for f in range(n_features):
            literals.ones[a, f] = pairs.ones[f]
        literals.usable[a] = _rank(literals.side_cost[a], literals.order[a])
    return True


@inner()
def _raise_similar(rows, pairs, lower, known, a, b, cost, weight):
    """Spread an exact pair cost: removing rows saves at most their weight."""
    for q in range(rows.bits.shape[1]):
        on = 2 * q + 1
        for literal, missing in ((on, weight - pairs.ones[q]), (on - 1, pairs.ones[q])):
            bound = cost - missing
            if bound > lower[a, literal] and not known[a, literal]:
                lower[a, literal] = bound
                lower[literal, a] = bound
            if bound > lower[b, literal] and not known[b, literal]:
                lower[b, literal] = bound
                lower[literal, b] = bound


@inner()
def _solve_pair(rows, pairs, parent, n_parent, child, a, b, penalty, lower, known, scratch, totals):
    """Make the cost of the pair (a, b) exact; return the number of D2S runs (0 or 1)."""
    n = filter_rows(parent, n_parent, rows.columns[b >> 1], b & 1, child)
    weight, largest, outvoted, samples = leaf_and_outvoted(rows, child, n, totals)
    known[a, b] = 1
    known[b, a] = 1
    cost = weight - largest + penalty
    runs = 0
    if samples < rows.shape[1]:
        cost = INFEASIBLE
    elif cost > outvoted + 2 * penalty:
        cost = depth_two_cost(rows, pairs, child, n, penalty, scratch)
        runs = 1
        if rows.shape[1] <= 1:
            _raise_similar(rows, pairs, lower, known, a, b, cost, weight)
    lower[a, b] = cost
    lower[b, a] = cost
    return runs


@kernel()
def close_depth_three(
    rows, pairs, subset, parent, child, a, limit, penalty, slack, literals, lower, known, stop, runs
):
    """Find the best depth-three tree below literal ``a``, or prove that it costs ``limit`` or more.

    Returns
    -------
    tuple of (float, float, int)
        Lower bound, best cost found, and the root feature of that tree (-1: depth two or less).
        The two costs agree when the literal is solved.
    """
    best = min(literals.depth_two[a], literals.leaf[a])
    feature = -1
    proven = INFEASIBLE
    n_parent = filter_rows(subset, len(subset), rows.columns[a >> 1], a & 1, parent)
    side_cost = literals.side_cost[a]
    scratch = np.empty_like(side_cost)
    totals = np.zeros(len(pairs.totals), np.int64)
    for t in range(literals.usable[a]):
        f = literals.order[a, t]
        left, right = 2 * f, 2 * f + 1
        while True:
            bound = lower[a, left] + lower[a, right]
            target = min(best, limit)
            if bound >= target - slack:
                proven = min(proven, bound)
                break
            if known[a, left] and known[a, right]:
                best = bound
                feature = f
                break
            if stop[0]:
                return -1.0, best, feature
            if known[a, left]:
                b = right
            elif known[a, right]:
                b = left
            else:
                b = left if side_cost[0, f] >= side_cost[1, f] else right
            runs[0] += _solve_pair(
                rows, pairs, parent, n_parent, child, a, b, penalty, lower, known, scratch, totals
            )
    return min(best, proven), best, feature
