"""From the plan of the kernels to nested splits: the last splits are found again here.

A plan holds ``column, rank, leaves left, leaves right`` by node (numbered as a heap).  Where it has
no column, the rows get a leaf or a single split, whichever is better.
"""

from __future__ import annotations

import numpy as np

from octcore.search.thresholds.depth_two import NO_ROOT, Terms
from octcore.search.thresholds.rows import Rows, inner, outer, sum_and_most, zeros

Nested = tuple[int, int, "Nested", "Nested"] | int
"""``(column, rank, left, right)``: ranks up to this one go left; or the label of a leaf."""


@inner
def best_split(rows, at, node, total, size, smallest):
    """Errors, column and last rank on the left of the first best split of the rows at a node.

    Errors are -1 where no split leaves enough rows.
    """
    n_classes = len(total)
    weight = sum_and_most(total)[0]
    best, column, rank = np.int64(-1), np.int64(NO_ROOT), np.int64(0)
    counts = zeros(n_classes)
    for h in range(rows.sequence.shape[0]):
        for k in range(n_classes):
            counts[k] = 0
        passed, before = np.int64(0), np.int64(-1)
        for i in range(len(rows.y)):
            row = rows.sequence[h, i] >> 1
            if at[row] != node:
                continue
            here = np.int64(rows.rank[h, row])
            if before >= 0 and here != before and passed >= smallest and size - passed >= smallest:
                left, right = np.int64(0), np.int64(0)
                for k in range(n_classes):
                    left, right = max(left, counts[k]), max(right, total[k] - counts[k])
                if best < 0 or weight - left - right < best:
                    best, column, rank = weight - left - right, np.int64(h), before
            counts[rows.y[row]] += rows.weight[row]
            passed += rows.copies[row]
            before = here
    return best, column, rank


@outer
def grow(rows, terms, leaves, smallest, plan, found):
    """Fill ``column, rank, label`` of the nodes of a tree, ``found`` of shape ``(n_nodes, 3)``.

    The column of a leaf is -1; `leaves` are the most that the tree may have.
    """
    at, may = np.empty(len(rows.y), np.int64), zeros(len(found))
    for i in range(len(at)):
        at[i] = 1
    may[1] = leaves
    for node in range(1, len(found)):
        if may[node] == 0:
            continue
        total, size = zeros(terms.n_classes), np.int64(0)
        for i in range(len(at)):
            if at[i] == node:
                total[rows.y[i]] += rows.weight[i]
                size += rows.copies[i]
        weight, most = sum_and_most(total)
        label = 0
        while total[label] < most:
            label += 1
        column, rank, left, right = np.int64(NO_ROOT), np.int64(0), np.int64(1), np.int64(1)
        # A split beats a leaf only if it saves more than the price of one more leaf.
        enough = weight - most - terms.price - terms.slack
        if node < len(plan) and plan[node, 0] >= 0:
            column, rank, left, right = (
                np.int64(plan[node, 0]), np.int64(plan[node, 1]),
                np.int64(plan[node, 2]), np.int64(plan[node, 3]),
            )  # fmt: skip
        elif may[node] > 1 and enough > 0:
            errors, h, r = best_split(rows, at, node, total, size, smallest)
            if errors >= 0 and errors < enough:
                column, rank = h, r
        found[node, 0], found[node, 1], found[node, 2] = column, rank, label
        if column >= 0:
            may[2 * node], may[2 * node + 1] = left, right
            for i in range(len(at)):
                if at[i] == node:
                    at[i] = 2 * node + (1 if rows.rank[column, i] > rank else 0)


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
