"""From the plan of the kernels to nested splits: the last splits are found again here.

A plan holds ``column, rank, leaves left, leaves right`` by node (numbered as a heap).  Where it has
no column, the rows get a leaf or a single split, whichever is better.
"""

from __future__ import annotations

import numpy as np

from octcore.search.univariate.depth_two import NO_ROOT, Terms
from octcore.search.univariate.lane_rows import Rows, inner, outer, sum_and_most, zeros
from octcore.search.univariate.question import Nested


@inner
def class_totals(rows, at, n_classes, totals, sizes):
    """Fill class weights and original rows of every node; ``at`` tells where every row is."""
    for node in range(len(sizes)):
        sizes[node] = 0
        for k in range(n_classes):
            totals[node, k] = 0
    for i in range(len(at)):
        totals[at[i], rows.y[i]] += rows.weight[i]
        sizes[at[i]] += rows.copies[i]


@inner
def best_splits(rows, at, totals, sizes, smallest, most, split):
    """Write column and last rank on the left of the first best split of every node.

    One pass over every column serves all nodes.  A split must err less than ``most[node]``, which
    is lowered to its errors; the column is -1 where there is none.
    """
    n_nodes, n_classes = totals.shape
    counts, passed = np.empty((n_nodes, n_classes), np.int64), np.empty(n_nodes, np.int64)
    before = np.empty(n_nodes, np.int64)
    for h in range(rows.sequence.shape[0]):
        for node in range(n_nodes):
            passed[node], before[node] = 0, -1
            for k in range(n_classes):
                counts[node, k] = 0
        for i in range(len(rows.y)):
            row = rows.sequence[h, i] >> 1
            node = at[row]
            if most[node] <= 0:
                continue
            here, left_rows = np.int64(rows.rank[h, row]), passed[node]
            fits = left_rows >= smallest and sizes[node] - left_rows >= smallest
            if before[node] >= 0 and here != before[node] and fits:
                left, right, errors = np.int64(0), np.int64(0), np.int64(0)
                for k in range(n_classes):
                    left = max(left, counts[node, k])
                    right = max(right, totals[node, k] - counts[node, k])
                    errors += totals[node, k]
                errors -= left + right
                if errors < most[node]:
                    most[node] = errors
                    split[node, 0], split[node, 1] = h, before[node]
            counts[node, rows.y[row]] += rows.weight[row]
            passed[node] += rows.copies[row]
            before[node] = here


@inner
def descend(rows, at, node, column, rank):
    """Send the rows of a node to its children."""
    for i in range(len(at)):
        if at[i] == node:
            at[i] = 2 * node + (1 if rows.rank[column, i] > rank else 0)


@outer
def grow(rows, terms, leaves, smallest, plan, found):
    """Fill ``column, rank, label`` of the nodes of a tree, ``found`` of shape ``(n_nodes, 3)``.

    The column of a leaf is -1; `leaves` are the most that the tree may have.
    """
    n_nodes = len(found)
    at, may = np.empty(len(rows.y), np.int64), zeros(n_nodes)
    for i in range(len(at)):
        at[i] = 1
    for node in range(n_nodes):
        found[node, 0], found[node, 1], found[node, 2] = NO_ROOT, 0, 0
    may[1] = leaves
    for node in range(1, len(plan)):
        if may[node] > 0 and plan[node, 0] >= 0:
            found[node, 0], found[node, 1] = plan[node, 0], plan[node, 1]
            may[2 * node], may[2 * node + 1] = plan[node, 2], plan[node, 3]
            descend(rows, at, node, found[node, 0], found[node, 1])
    totals, sizes = np.empty((n_nodes, terms.n_classes), np.int64), np.empty(n_nodes, np.int64)
    class_totals(rows, at, terms.n_classes, totals, sizes)
    # A split beats a leaf only if it saves more than the price of one more leaf.
    enough = np.empty(n_nodes)
    for node in range(n_nodes):
        weight, most = sum_and_most(totals[node])
        enough[node] = weight - most - terms.price - terms.slack if may[node] > 1 else 0.0
    best_splits(rows, at, totals, sizes, smallest, enough, found)
    for node in range(len(plan)):
        if may[node] > 1 and found[node, 0] >= 0 and plan[node, 0] < 0:
            descend(rows, at, node, found[node, 0], found[node, 1])
    class_totals(rows, at, terms.n_classes, totals, sizes)
    for node in range(1, n_nodes):
        most = sum_and_most(totals[node])[1]
        while totals[node, found[node, 2]] < most:
            found[node, 2] += 1


def nested(rows: Rows, terms: Terms, leaves: int, smallest: int, plan: np.ndarray) -> Nested:
    """Nested splits of a plan.

    Parameters
    ----------
    rows : Rows
        All rows.
    terms : Terms
    leaves, smallest : int
        Most leaves of the tree, and rows that every leaf must have.
    plan : ndarray of shape (n_nodes, 4)
    """
    found = np.empty((2 * len(plan), 3), np.int64)
    grow(rows, terms, leaves, smallest, plan, found)
    return _nested(found.tolist(), 1)


def _nested(found: list[list[int]], node: int) -> Nested:
    column, rank, label = found[node]
    if column < 0:
        return label
    return column, rank, _nested(found, 2 * node), _nested(found, 2 * node + 1)
