"""The tree that is named where several cost the same.

The first in this order: fewer levels up to two, there fewer leaves, then the root with the smaller
column, on it the smaller threshold, then both sides by the same order.  It depends on the rows
alone, so that `plain` and the kernels, which meet trees in orders of their own, name one tree.
"""

from dataclasses import dataclass

import numpy as np

from octcore.search.univariate.bounds import INFINITE
from octcore.search.univariate.depth_two import NO_ROOT, Terms, depth_two
from octcore.search.univariate.lane_rows import Rows, restrict
from octcore.search.univariate.node import Node, open_node, search
from octcore.search.univariate.tree import Branch, Leaf, PathTree


@dataclass(frozen=True)
class FirstTree:
    """Finds the first of the best trees, and the tree of a plan, by the kernels of the search."""

    terms: Terms
    smallest: int  # rows that every leaf must have
    first: np.ndarray  # (n_columns + 1,) number of the first threshold of every column

    def tree(
        self, rows: Rows, depth: int, roots: np.ndarray, is_free: bool,
        node: Node | None = None, cost: float = INFINITE,
    ) -> PathTree | None:  # fmt: skip
        """First tree of a depth of three levels at most; None when stopped before it is found.

        `roots`: (n_columns,) uint8, whether the root may test a column.
        `is_free`: whether a single leaf will do.
        `node`, `cost`: a finished search of three levels, and what it found.
        """
        if cost == INFINITE:
            cost = self._two(rows, min(4, 2**depth), roots, is_free)[0]
        most = cost + self.terms.slack
        for leaves in (1, 2, 3, 4)[: 2**depth]:
            found, plan, score = self._two(rows, leaves, roots, is_free, cost)
            if found > most:
                continue
            if leaves < 3:
                return self.planned(rows, leaves, plan)
            fresh, depth = open_node(rows, self.terms.price, 2, leaves, self.smallest), 2
            root = self._root(rows, fresh, depth, score, cost, leaves)
            break
        else:
            if node is None:  # two levels suffice, but it was stopped
                return None
            score = np.full(len(rows.sequence), INFINITE)
            np.minimum.at(score, node.column, node.bound)
            root = self._root(rows, node, depth, score, cost)
        if root is None:
            return None
        (column, rank), sides, every = root, [], np.ones(len(rows.sequence), np.uint8)
        is_left = rows.rank[column] <= rank
        for keep in (is_left, ~is_left):
            part = restrict(rows, keep.view(np.uint8), int(keep.sum()))
            sides.append(self.tree(part, depth - 1, every, True))
        return None if None in sides else Branch(int(self.first[column]) + rank, *sides)

    def _two(
        self, rows: Rows, leaves: int, roots: np.ndarray, is_free: bool, cost: float = INFINITE
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """Two levels at most, of a cost at most: least cost, plan, lower bounds by root column."""
        plan, score = np.full((4, 4), NO_ROOT, np.int32), np.empty(len(rows.sequence))
        asked = self.terms, leaves, self.smallest, cost + 3 * self.terms.slack, roots
        least, _ = depth_two(rows, *asked, int(is_free), score, plan)
        return least, plan, score

    def _root(
        self, rows: Rows, node: Node, depth: int, score: np.ndarray, cost: float, leaves: int = 0
    ) -> tuple[int, int] | None:
        """Smallest column, and its smallest threshold, of a tree of a cost; None if none is found.

        `score`: (n_columns,) lower bound with every column at the root.
        `leaves`: most leaves, of trees of two levels.
        """
        most = cost + self.terms.slack
        for column in np.flatnonzero(score <= most).tolist():
            only = (np.arange(len(score)) == column).astype(np.uint8)
            if depth == 2 and self._two(rows, leaves, only, False, cost)[0] > most:
                continue
            ways = np.flatnonzero(node.column == column).tolist()
            ranks = [self._rank(rows, node, depth, way, cost) for way in ways]
            if max(ranks) >= 0:
                return column, min(rank for rank in ranks if rank >= 0)
        return None

    def _rank(self, rows: Rows, node: Node, depth: int, way: int, cost: float) -> int:
        """Smallest threshold of a way with a tree of a cost; -1 if there is none.

        The search ends with the first threshold it meets that costs less than it was told; then
        only smaller ones are left to it.
        """
        start, found, slack = node.start.copy(), -1, self.terms.slack
        left = node._replace(start=start, bound=node.bound.copy(), reached=node.reached.copy())
        plan, idle = np.full((2**depth, 4), NO_ROOT, np.int32), np.empty(len(rows.sequence))
        while start[way + 1] > start[way]:
            left.bound[way] = 0.0
            best = search(
                rows, self.terms, left, depth, self.smallest, cost + 3 * slack, INFINITE,
                idle, way, -1, plan,
            )  # fmt: skip
            if best > cost + slack:
                break
            found = int(plan[1, 1])
            here = left.rank[start[way] : start[way + 1]]
            start[way + 1] = start[way] + int(np.searchsorted(here, found))
        return found

    def planned(self, rows: Rows, leaves: int, plan: np.ndarray, node: int = 1) -> PathTree:
        """The tree of a plan; the last splits, which no plan tells, are found again.

        `rows`, `leaves`: of the node, and most leaves of its tree.
        `plan`: (2^depth, 4) column, rank, leaves left, leaves right by node, numbered as a heap;
            column -1 stands for a leaf or a single split, whichever is better.
        """
        split = plan[node].tolist() if node < len(plan) else [NO_ROOT]
        if split[0] < 0 and leaves > 1:
            every = np.ones(len(rows.sequence), np.uint8)
            split = self._two(rows, 2, every, True)[1][1].tolist()
        if split[0] < 0:
            return Leaf(int(np.bincount(rows.y, rows.weight).argmax()))
        column, rank, *shares = split
        is_left, sides = rows.rank[column] <= rank, []
        for side, keep in enumerate((is_left, ~is_left)):
            if shares[side] == 1:  # for a leaf, a million rows need not be renumbered
                sides.append(Leaf(int(np.bincount(rows.y[keep], rows.weight[keep]).argmax())))
                continue
            part = restrict(rows, keep.view(np.uint8), int(keep.sum()))
            sides.append(self.planned(part, shares[side], plan, 2 * node + side))
        return Branch(int(self.first[column]) + rank, *sides)
