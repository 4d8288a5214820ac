"""How many near-optimal trees give a row which class: weights pushed from the root down.

The weight of a cell of a node is the number of ways to complete a tree around a subtree with that
cell.  A leaf then predicts its class, for its rows, in as many trees as its weight says.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from octcore.kernels import inner, kernel
from octcore.search.near_optimal.counting import Cells, Counted, Counter
from octcore.search.near_optimal.graph import BOTTOM
from octcore.search.near_optimal.instance import unpack_bits
from octcore.search.near_optimal.kernels import IMPOSSIBLE, cheapest_side, list_options
from octcore.search.near_optimal.listing import heaviest_class
from octcore.search.univariate.intrinsics import shared_bits


@kernel()
def _push(
    edges, start, errors, leaves, costs, counts, budget, values, number, allow, weights, outside
):
    """Add to `outside` of the children's cells the weights ``[leaves - 1, errors]`` of a node."""
    for k in range(len(edges)):
        left, right = edges[k, 1], edges[k, 2]
        if allow[edges[k, 0], 0] == 0.0:
            continue
        for a in range(start[left], start[left + 1]):
            for b in range(start[right], start[right + 1]):
                if costs[a] + costs[b] > budget:
                    break
                e = number[values[errors[a]] + values[errors[b]]]
                weight = weights[leaves[a] + leaves[b] - 1, e]
                outside[a] += weight * counts[b, 0]
                outside[b] += weight * counts[a, 0]


@inner()
def _predict(words, word_class, class_weight, amount, rows, shares):
    """Add an amount to the class that a leaf on a bit set predicts, for its rows."""
    rows[:] = 0
    for q in range(len(words)):
        rows[word_class[q]] += shared_bits(words[q], words[q])
    best = 0
    for k in range(1, len(rows)):
        if class_weight[k] * rows[k] > class_weight[best] * rows[best]:
            best = k
    for q in range(len(words)):
        word = np.int64(words[q])
        while word:
            low = word & -word
            position = shared_bits(np.uint32(low - 1), np.uint32(low - 1))
            shares[q * 32 + position, best] += amount
            word ^= low


@inner()
def _weigh_sides(
    work, i, n_active, unit, price, depth, budget, values, number, allow, weights, grid
):
    """Weights ``grid[side, size - 1, errors]`` of a leaf (size 1) or a stump below column i."""
    e0, e1 = work.leaf[0, i], work.leaf[1, i]
    if unit * (e0 + e1) + 2 * price <= budget:
        weight = weights[1, number[e0 + e1]]
        grid[0, 0, number[e0]] += weight
        grid[1, 0, number[e1]] += weight
    found = np.zeros(2, np.int64)
    for s in range(2):
        room = budget - cheapest_side(work, 1 - s, i, unit, price, depth)
        found[s] = list_options(work, s, i, n_active, room, unit, price, number, allow)
    for s in range(2):
        other = work.leaf[1 - s, i]
        for a in range(found[s]):
            e = work.seen[s, a]
            errors = values[e] + other
            if unit * errors + 3 * price <= budget:
                weight = weights[2, number[errors]]
                grid[1 - s, 0, number[other]] += weight * work.options[s, e, 0]
                grid[s, 1, e] += weight
    for a in range(found[0]):
        left = work.seen[0, a]
        for b in range(found[1]):
            right = work.seen[1, b]
            errors = values[left] + values[right]
            if unit * errors + 4 * price <= budget:
                weight = weights[3, number[errors]]
                grid[0, 1, left] += weight * work.options[1, right, 0]
                grid[1, 1, right] += weight * work.options[0, left, 0]
    for s in range(2):
        for a in range(found[s]):
            work.options[s, work.seen[s, a], 0] = 0.0


@kernel()
def _predict_below(
    columns, word_class, class_weight, subset, work, n_active, unit, price, depth, budget, values,
    number, allow, roots, weights, grid, rows, shares,
):  # fmt: skip
    """Predictions of all trees with a split at the top of a bottom node."""
    part = np.empty((2, len(subset)), np.uint32)
    leaf = np.empty((2, len(subset)), np.uint32)
    for i in range(n_active):
        column = work.active[i]
        if allow[column, 0] == 0.0 or not roots[column]:
            continue
        grid[:] = 0.0
        stumps = n_active if depth >= 2 else 0
        _weigh_sides(
            work, i, stumps, unit, price, depth, budget, values, number, allow, weights, grid
        )
        for q in range(len(subset)):
            part[0, q] = subset[q] & ~columns[column, q]
            part[1, q] = subset[q] & columns[column, q]
        for s in range(2):
            if unit * work.leaf[s, i] + price <= budget:
                amount = grid[s, 0, number[work.leaf[s, i]]]
                if amount > 0.0:
                    _predict(part[s], word_class, class_weight, amount, rows, shares)
            for j in range(stumps):
                errors, other = work.table[s, i, j], work.active[j]
                if allow[other, 0] == 0.0 or errors >= IMPOSSIBLE:
                    continue
                if unit * errors + 2 * price > budget:
                    continue
                amount = grid[s, 1, number[errors]]
                if amount == 0.0:
                    continue
                for q in range(len(subset)):
                    leaf[0, q] = part[s, q] & ~columns[other, q]
                    leaf[1, q] = part[s, q] & columns[other, q]
                _predict(leaf[0], word_class, class_weight, amount, rows, shares)
                _predict(leaf[1], word_class, class_weight, amount, rows, shares)


def class_shares(
    counter: Counter, counted: Counted, admits: Callable[[int, int], bool]
) -> np.ndarray:
    """Number of trees by bit of the instance and predicted class.

    Parameters
    ----------
    counter : Counter
        The graph.
    counted : Counted
        Its counts; variant 0 is asked for.
    admits : callable
        ``admits(errors, leaves)``: which cells of the whole set count.

    Returns
    -------
    ndarray of shape (n_bits, n_classes)
        In doubles; shares are exact to about 15 digits.
    """
    instance, levels = counter.instance, counter.levels
    shares = np.zeros((len(instance.order), len(instance.weight)))
    weights = np.zeros((instance.most_leaves(instance.depth), len(counter.values)))
    for errors, leaves in {cell for by_cell in counted.roots.values() for cell in by_cell}:
        weights[leaves - 1, counter.number[errors]] = float(admits(errors, leaves))
    outside: list[np.ndarray] = [np.zeros(0)]
    for level in range(len(levels)):
        below = counted.cells[level] if level < len(counted.cells) else None
        outside.append(np.zeros(0 if below is None else len(below.errors)))
        pusher = _Pusher(counter, counted, level, below, outside[-1], shares)
        if level == 0:
            pusher.node(0, weights)
            continue
        here = counted.cells[level - 1]
        for node in range(len(levels[level].subsets)):
            part = here.of(node)
            weights[:] = 0.0
            weights[here.leaves[part] - 1, here.errors[part]] = outside[level][part]
            if weights.any():
                pusher.node(node, weights)
    return shares


class _Pusher:
    """Pushes the weights of the nodes of one level to the next, and predicts with leaves."""

    def __init__(
        self,
        counter: Counter,
        counted: Counted,
        level: int,
        below: Cells | None,
        outside: np.ndarray,
        shares: np.ndarray,
    ) -> None:
        self.counter, self.counted = counter, counted
        self.level, self.below = level, below
        self.outside, self.shares = outside, shares
        self.allow = np.ascontiguousarray(counted.allow[:, :1], float)
        self.work = counter.scratch(1)
        self.grid = np.zeros((2, 2, len(counter.values)))
        self.rows = np.zeros(len(counter.instance.weight), np.int64)
        everywhere = np.ones(len(counter.instance.bits), bool)
        self.roots = counter.instance.roots if level == 0 else everywhere
        if below is not None:
            self.counts = np.ascontiguousarray(below.counts[:, :1], float)

    def node(self, node: int, weights: np.ndarray) -> None:
        """Handle one node whose cells have weights ``[leaves - 1, errors]``."""
        i, here = self.counter.instance, self.counter.levels[self.level]
        subset, leaf = here.subsets[node], int(here.leaf_errors[node])
        budget, stands = int(here.budgets[node]), self.level > 0 or i.leaf_allowed
        if stands and leaf < IMPOSSIBLE and i.unit * leaf + i.price <= budget:
            amount = weights[0, self.counter.number[leaf]]
            self.shares[unpack_bits(subset), heaviest_class(i, subset)] += amount
        if here.depth > BOTTOM:
            assert self.below is not None
            b = self.below
            _push(
                here.edges_of(node), b.start, b.errors, b.leaves, b.costs, self.counts, budget,
                self.counter.values, self.counter.number, self.allow, weights, self.outside,
            )  # fmt: skip
            return
        n_active, _ = self.counter.costs.scan(subset, here.depth, keep=True)
        _predict_below(
            i.bits, i.word_class, i.weight, subset, self.work, n_active, i.unit, i.price,
            here.depth, budget, self.counter.values, self.counter.number, self.allow, self.roots,
            weights, self.grid, self.rows, self.shares,
        )  # fmt: skip
