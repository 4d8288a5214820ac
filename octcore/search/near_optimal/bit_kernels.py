"""Kernel that counts trees of depth two where columns have few thresholds, on rows as bits."""

import numpy as np

from octcore.numerics.kernels import inner, kernel
from octcore.search.near_optimal.combining import ADD, combine, list_cells, new_tally
from octcore.search.near_optimal.lane_kernels import fill_cells, limit_sides, make_sides
from octcore.search.univariate.subsets import count_shared, part_rows, shallow_costs


@inner()
def _errors(bits, total, right):
    """Errors of a split, of weights by channel; -1 where a side has too few rows for a leaf."""
    n_classes, smallest = bits.rows.shape[0], max(1, bits.rows.shape[1])
    errors, most_left, most_right, n_left, n_right = 0, 0, 0, 0, 0
    for c in range(len(total)):
        if c >= n_classes or len(total) == n_classes:
            n_left += total[c] - right[c]
            n_right += right[c]
        if c < n_classes:
            errors += total[c]
            most_left = max(most_left, total[c] - right[c])
            most_right = max(most_right, right[c])
    return errors - most_left - most_right if min(n_left, n_right) >= smallest else -1


@inner(owns=True)
def _count_top(bits, f, there, whole, total, right, cost, terms, budget, sides, cells):
    """Fill the cells on both sides of a threshold at the top.

    `there`: rows on its right.
    `whole`: (n_thresholds + 1, n_channels) weight on the right of every threshold, and of all rows.
    `total`, `right`: (2, n_channels) room for weights of the sides.
    """
    leaves = np.empty(2, np.int64)
    total[0], total[1] = whole[-1] - whole[f], whole[f]
    for s in range(2):
        by_class = total[s, : terms.n_classes]
        leaves[s] = by_class.sum() - by_class.max()
    limit_sides(leaves, cost[:, f], terms, budget, sides)
    for g in range(len(bits.across) if max(sides.high) else 0):
        if terms.share[g, 0] == 0.0:
            continue
        count_shared(bits, there, bits.across[g], right[1])
        for c in range(len(right[0])):
            right[0, c] = whole[g, c] - right[1, c]
        for s in range(2):
            errors = _errors(bits, total[s], right[s])
            if 0 <= errors <= sides.most[s]:
                line, use = sides.found[s, terms.of_errors[errors]], terms.share[g]
                for v in range(len(use)):
                    line[v] += use[v]
    fill_cells(leaves, cost[:, f], terms, budget, sides, cells, 0)


@kernel()
def count_bottom(bits, masks, budgets, usable, leaves, stands, apart, terms, grid, cells, node):
    """Count the trees of depth two of subsets, and list their cells.

    `usable`: (n_thresholds,) uint8, thresholds that may be at the top.
    `budgets`, `leaves`, `stands`, `cells`: as for `combining.count_level`.
    `apart`: whether the cells of the leaf are those of a node by itself, before the others.
    `grid`: (places, leaves, n_errors, n_variants), empty; with more than one place, the trees are
        those of a node for every column of the table at the top.
    `node`: number of the first subset.
    """
    n, n_channels = len(bits.across), len(bits.pairs.totals)
    sides, below = make_sides(terms, 0, len(terms.values), terms.share.shape[1])
    there, whole = np.empty(masks.shape[1], masks.dtype), np.empty((n + 1, n_channels), np.int64)
    total, right = np.empty((2, n_channels), np.int64), np.empty((2, n_channels), np.int64)
    cost, many, larger = np.empty((2, n), np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    edge, outside, tally = np.zeros((1, 4), np.int64), np.zeros(0), new_tally()
    edge[0, 3] = 1
    for k in range(len(masks)):
        if terms.stop[0]:
            break
        for v in range(grid.shape[3] if stands[k] else 0):
            grid[0, 0, terms.of_errors[leaves[k]], v] += 1.0
        if apart:
            cells = list_cells(grid[0], budgets[k], terms, cells, node)
            node += 1
        shallow_costs(bits, masks[k], usable, cost, many, larger)
        count_shared(bits, masks[k], masks[k], whole[n])
        for f in range(n):
            count_shared(bits, masks[k], bits.across[f], whole[f])
        for f in range(n):
            # The best trees of both sides are beyond the budget, or no variant has the threshold.
            if cost[0, f] + cost[1, f] > budgets[k] or terms.share[f, 0] == 0.0 or terms.stop[0]:
                continue
            part_rows(bits, masks[k], f, 1, there)
            _count_top(bits, f, there, whole, total, right, cost, terms, budgets[k], sides, below)
            edge[0, 0], edge[0, 1] = f, many[f]
            target = grid[bits.place[f] if len(grid) > 1 else 0]
            combine(ADD, edge, below, budgets[k], terms, leaves[k], target, outside, 1, tally)
        for place in range(len(grid)):
            cells = list_cells(grid[place], budgets[k], terms, cells, node)
            node += 1
    return cells
