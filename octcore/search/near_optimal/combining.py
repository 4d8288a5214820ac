"""Kernels that put the trees of two sides together, below any split; what they read and write.

Costs are ``unit * errors + price * leaves`` in whole numbers.
"""

from typing import NamedTuple

import numpy as np

from octcore.numerics.kernels import inner, kernel

ADD, LEAST, SHARES, TALLY, SHAPES = range(5)
"""What is asked: counts, the least cost alone, predictions, how many trees of one cell every split
has at its top, or counts by shape."""
FIRST_SIZE = 1 << 10  # room for cells or keys at first
MOST_SHAPES = 1 << 21  # of a node: many more would fill the memory
FACTOR = 0x1E3779B97F4A7C15
"""Odd, and without a pattern: the upper bits of its multiples tell neighbours apart."""


class Terms(NamedTuple):
    """What trees cost, and how they are counted."""

    n_classes: int
    depth: int
    smallest: int
    unit: int
    price: int
    width: int  # bytes of the integers of a pass
    gain: bool
    numbers: np.ndarray  # threshold numbers by column and rank, see `Thresholds`
    place: np.ndarray  # column by threshold
    values: np.ndarray  # errors by number
    of_errors: np.ndarray  # number by errors
    share: np.ndarray  # (n_thresholds, n_variants) 1 where a variant may use a threshold
    stop: np.ndarray  # (1,) uint8; soon after it becomes 1 the kernels return, with nothing of use


class Cells(NamedTuple):
    """Trees of some nodes, by errors and leaves, or by errors and shape."""

    start: np.ndarray  # (n_nodes + 1,) first cell of every node; the cells of a node ascend in cost
    errors: np.ndarray  # (n_cells,) number of the errors
    leaves: np.ndarray  # (n_cells,)
    costs: np.ndarray  # (n_cells,) scaled
    shape: np.ndarray  # (n_cells,) where trees are told apart by it, else of no interest
    counts: np.ndarray  # (n_cells, n_variants) trees; objects where doubles are not exact

    def of(self, node: int) -> slice:
        """Cells of a node."""
        return slice(int(self.start[node]), int(self.start[node + 1]))


class Tally(NamedTuple):
    """Amounts by key, found by the key's hash."""

    key: np.ndarray  # (2^k,) int64, -1 where the place is free
    amount: np.ndarray  # (2^k,) float64
    used: np.ndarray  # (1,) int64, how many places are taken


def make_cells(n_nodes: int, n_variants: int) -> Cells:
    """Room for the cells of some nodes, see `list_cells`."""
    whole = np.empty((3, FIRST_SIZE), np.int64)
    counts = np.empty((FIRST_SIZE, n_variants))
    return Cells(np.zeros(n_nodes + 1, np.int64), whole[0], whole[1], whole[2], whole[0], counts)


def make_tally():
    """An empty table."""
    return Tally(np.full(FIRST_SIZE, -1), np.zeros(FIRST_SIZE), np.zeros(1, np.int64))


new_tally = inner(owns=True)(make_tally)


@inner()
def _add(tally, key, amount):
    """Add an amount to that of a key, 0 or more; the table must be `_ample`."""
    last = len(tally.key) - 1
    place = ((key * np.int64(FACTOR)) >> 20) & last
    while tally.key[place] != key:
        if tally.key[place] < 0:
            tally.key[place] = key
            tally.used[0] += 1
            break
        place = (place + 1) & last
    tally.amount[place] += amount


@inner(owns=True)
def _ample(tally, more):
    """The table, or a larger one with its entries, if another `more` keys would fill half of it."""
    size = len(tally.key)
    if 2 * (tally.used[0] + more) <= size:
        return tally
    while 2 * (tally.used[0] + more) > size:
        size *= 2
    larger = Tally(np.full(size, -1), np.zeros(size), np.zeros(1, np.int64))
    for place in range(len(tally.key)):
        if tally.key[place] >= 0:
            _add(larger, tally.key[place], tally.amount[place])
    return larger


@kernel()
def combine(asked, edges, below, budget, terms, leaf, grid, outside, n_shapes, tally):
    """Go through the trees with a split at the top of one node, cells of both children in turn.

    `asked`: `SHARES` adds to `outside` of the children's cells how often trees around them count,
        if those of a cell of the node count as often as ``grid[leaves - 1, errors, 0]`` says.
        `SHAPES` adds up in `tally` by ``((column at the top * n_shapes + left) * n_shapes + right)
        * n_errors + errors``, up to `MOST_SHAPES`, where `grid` is not 0.  Anything else adds up in
        ``grid[leaves - 1, errors, variant]``.
    `edges`: (n_edges, 4) first threshold, number of thresholds, left and right child.
    `below`: of the children.
    `budget`: largest scaled cost.
    `leaf`: errors of a leaf, -1 where there is none: where every split has to lower the errors,
        trees of two leaves must have fewer.
    """
    values, costs, counts = terms.values, below.costs, below.counts
    for k in range(len(edges)):
        many, use, left, right = edges[k, 1], terms.share[edges[k, 0]], edges[k, 2], edges[k, 3]
        if use[0] == 0.0:
            continue
        first = terms.place[edges[k, 0]] * n_shapes
        for a in range(below.start[left], below.start[left + 1]):
            if asked == SHAPES:
                if tally.used[0] >= MOST_SHAPES:
                    return tally
                tally = _ample(tally, below.start[right + 1] - below.start[right])
            errors = values[below.errors[a]]
            for b in range(below.start[right], below.start[right + 1]):
                if costs[a] + costs[b] > budget:  # the cells to come cost no less
                    break
                leaves = below.leaves[a] + below.leaves[b]
                e = terms.of_errors[errors + values[below.errors[b]]]
                if terms.gain and leaves == 2 and values[e] >= leaf:
                    continue
                if asked == SHAPES:
                    shape = (first + below.shape[a]) * n_shapes + below.shape[b]
                    if grid[leaves - 1, e, 0] > 0.0:
                        _add(tally, shape * len(values) + e, many * counts[a, 0] * counts[b, 0])
                elif asked == SHARES:
                    weight = many * grid[leaves - 1, e, 0]
                    outside[a] += weight * counts[b, 0]
                    outside[b] += weight * counts[a, 0]
                else:
                    for v in range(len(use)):
                        grid[leaves - 1, e, v] += many * use[v] * counts[a, v] * counts[b, v]
    return tally


@inner(owns=True)
def _doubled(cells):
    """The same cells with room for as many more."""
    n, n_variants = cells.counts.shape
    whole, counts = np.empty((3, 2 * n), np.int64), np.empty((2 * n, n_variants))
    for k in range(n):
        whole[0, k], whole[1, k], whole[2, k] = cells.errors[k], cells.leaves[k], cells.costs[k]
        for v in range(n_variants):
            counts[k, v] = cells.counts[k, v]
    return Cells(cells.start, whole[0], whole[1], whole[2], whole[0], counts)


@kernel()
def list_cells(grid, budget, terms, cells, node):
    """List the cells of a grid that hold trees, by cost and then leaves, and clear the grid.

    `grid`: (leaves, n_errors, n_variants).
    `cells`: of the nodes before this one.
    Returns them and those of the node, in larger arrays where there is no more room.
    """
    n, values, at = cells.start[node], terms.values, np.zeros(len(grid), np.int64)
    high = np.searchsorted(values, budget // terms.unit, side="right")
    while True:
        row, least = -1, 0
        for r in range(len(grid)):
            while at[r] < high and grid[r, at[r], 0] == 0.0:
                at[r] += 1
            if at[r] < high:
                cost = terms.unit * values[at[r]] + terms.price * (r + 1)
                if row < 0 or cost < least:
                    row, least = r, cost
        if row < 0:
            break
        if n == len(cells.errors):
            cells = _doubled(cells)
        cells.errors[n], cells.leaves[n], cells.costs[n] = at[row], row + 1, least
        for v in range(grid.shape[2]):
            cells.counts[n, v] = grid[row, at[row], v]
            grid[row, at[row], v] = 0.0
        n += 1
    cells.start[node + 1] = n
    return cells


@kernel()
def count_level(first, edges, budgets, leaves, stands, below, terms, grid, cells):
    """Count the trees of nodes whose children are counted, and list their cells.

    `first`: (n_nodes + 1,) first edge of every node; for `edges` see `combine`.
    `budgets`, `leaves`, `stands`: (n_nodes,) largest scaled costs, errors of a leaf, and whether a
        leaf is one of the trees.
    `grid`: (leaves, n_errors, n_variants), empty.
    `cells`: see `list_cells`.
    """
    nothing, tally = np.zeros(0), new_tally()
    for k in range(len(budgets)):
        if terms.stop[0]:
            break
        for v in range(grid.shape[2] if stands[k] else 0):
            grid[0, terms.of_errors[leaves[k]], v] += 1.0
        some = edges[first[k] : first[k + 1]]
        if len(some) == 0 and not stands[k]:
            cells.start[k + 1] = cells.start[k]
            continue
        combine(ADD, some, below, budgets[k], terms, leaves[k], grid, nothing, 1, tally)
        cells = list_cells(grid, budgets[k], terms, cells, k)
    return cells
