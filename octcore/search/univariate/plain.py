"""The search over all thresholds in plain array operations, for small problems.

It answers while the kernels of an installation are not compiled yet.  One matrix product per class
counts what every pair of thresholds selects, which gives the best subtree of depth two below every
threshold at once; above, thresholds of a column are bounded from their solved neighbours as by
`bounds.sweep`.

It knows weights, forbidden columns and forced roots, but no limits on leaves.

Of several optimal trees it names the first in the order of `FirstTree`, as the compiled search.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from octcore.search.univariate.bounds import INFINITE, similar_cost
from octcore.search.univariate.columns import EXACT_IN_SINGLE
from octcore.search.univariate.question import State
from octcore.search.univariate.table import Inquiry
from octcore.search.univariate.tree import Branch, Leaf, PathTree

MOST_WORK = 4e9
"""Products of the matrix product at the root up to which the search takes some seconds."""
MOST_THRESHOLDS = 2000  # four tables of their pairs take 128 megabytes in doubles
MOST_DEPTH = 3  # deeper trees need bounds between subtrees, which only the kernels keep


def is_small(inquiry: Inquiry) -> bool:
    """Whether a question is small enough, and free of limits on leaves."""
    question, table = inquiry.question, inquiry.table
    work = float(table.n_thresholds) ** 2 * len(table.y) * table.n_classes
    return (
        question.depth <= MOST_DEPTH
        and inquiry.smallest == 1
        and question.leaf_limit == 2**question.depth
        and table.n_thresholds <= MOST_THRESHOLDS
        and work * (1 if question.depth < MOST_DEPTH else 4) <= MOST_WORK
    )


def suits(inquiry: Inquiry) -> bool:
    """Whether a question is small, and asks for nothing but the best tree."""
    asks_more = inquiry.question.all_roots or inquiry.question.by_leaves
    return not asks_more and is_small(inquiry)


class StoppedError(Exception):
    """The search was asked to stop."""


@dataclass(frozen=True)
class Found:
    """A subtree: its cost, and the tree in numbers of thresholds of the table."""

    cost: float
    tree: PathTree


class PlainSearch:
    """Best trees on subsets of the rows of one table."""

    def __init__(self, inquiry: Inquiry) -> None:
        self.table, self.depth = inquiry.table, inquiry.question.depth
        self.price, self.slack, self.stop = inquiry.price, inquiry.slack, inquiry.stop
        self.roots = inquiry.roots if inquiry.is_forced else None
        self.known = State(self.table.n_columns)
        self.dtype = np.float32 if self.table.total < EXACT_IN_SINGLE else np.float64
        self.column = self.table.column_and_rank[0]

    @cached_property
    def left(self) -> np.ndarray:
        """Whether rows are on the left of thresholds, ``(n_rows, n_thresholds)``."""
        column, rank = self.table.column_and_rank
        return (self.table.rank[column].T <= rank).astype(self.dtype)

    @cached_property
    def weight(self) -> np.ndarray:
        """Weight of every row, in the column of its class, ``(n_rows, n_classes)``."""
        weight = np.zeros((len(self.table.y), self.table.n_classes), self.dtype)
        weight[np.arange(len(weight)), self.table.y] = self.table.weight
        return weight

    def pieces(self) -> Iterator[State]:
        """Search on: trees of two levels, found at once, give an incumbent for those of three."""
        rows = np.arange(len(self.table.y))
        try:
            best = self.solve(rows, min(2, self.depth), self.roots)
            if self.depth > 2:
                yield from self._by_bounds(rows, best)
            else:
                yield self._now(best, best.cost)
        except StoppedError:
            return

    def _now(self, best: Found, lower: float) -> State:
        self.known.best, self.known.tree, self.known.lower = best.cost, best.tree, lower
        return self.known

    def solve(
        self, rows: np.ndarray, depth: int, roots: np.ndarray | None = None, grown: bool = True
    ) -> Found:
        """Best tree of a depth of two levels at most on some rows.

        `roots`: columns that the root must test; None where the root is free.
        `grown`: whether the tree is wanted, not its cost alone.
        """
        if self.stop[0]:
            raise StoppedError
        self.known.work[0] += 1
        counts = self.weight[rows].sum(axis=0, dtype=float)
        best = Found(float(counts.sum() - counts.max()) + self.price, Leaf(int(counts.argmax())))
        if roots is not None:
            best = Found(INFINITE, Leaf(0))
        # No split costs less than two leaves without errors.
        if depth == 0 or best.cost <= 2 * self.price + self.slack:
            return best
        here = self._splitting(rows, roots)
        # By levels: of trees that cost the same the shallower one comes first.
        for levels in range(1 if grown else depth, (depth if len(here) else 0) + 1):
            cost, leaves = self._rooted(rows, here, levels)
            least = float(cost.min())
            if least < best.cost - self.slack:
                tied = np.flatnonzero(cost <= least + self.slack)
                place = int(here[tied[leaves[tied].argmin()]])
                best = self._joined(rows, place, levels) if grown else Found(least, Leaf(0))
        return best

    def _splitting(self, rows: np.ndarray, roots: np.ndarray | None) -> np.ndarray:
        """One threshold for every way in which a column parts the rows."""
        inside = self.left[rows].sum(axis=0)
        keep = (inside > 0) & (inside < len(rows))
        # Along a column the left sides grow: two with as many rows are the same.
        keep[1:] &= (inside[1:] != inside[:-1]) | (self.column[1:] != self.column[:-1])
        if roots is not None:
            keep &= roots[self.column]
        return np.flatnonzero(keep)

    def _rooted(
        self, rows: np.ndarray, here: np.ndarray, levels: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Least cost with every threshold at the root, of one or two levels; the fewest leaves."""
        left, weight = self.left[np.ix_(rows, here)], self.weight[rows]
        inside = left.T @ weight
        outside = weight.sum(axis=0) - inside
        stumps = self._stumps(rows, left, inside, outside) if levels == 2 else (None, None)
        cost, leaves = np.zeros(len(here)), np.full(len(here), 2)
        for part, stump in zip((inside, outside), stumps, strict=True):
            # Counts are whole in single precision; prices are not.
            weight = part.sum(axis=1).astype(float)
            leaf = side = weight - part.max(axis=1) + self.price
            if stump is not None:
                side = np.minimum(leaf, weight - stump + 2 * self.price)
            cost += side
            leaves += side < leaf - self.slack
        return cost, leaves

    def _stumps(
        self, rows: np.ndarray, left: np.ndarray, inside: np.ndarray, outside: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Most weight that one split classifies left and right of every threshold."""
        every = self._splitting(rows, None)
        other = self.left[np.ix_(rows, every)]
        best = [np.zeros((left.shape[1], other.shape[1]), left.dtype) for _ in range(4)]
        for k in range(self.weight.shape[1]):
            weight = self.weight[rows, k][:, None]
            both = left.T @ (other * weight)
            cells = (both, inside[:, k, None] - both, (other * weight).sum(axis=0) - both)
            for kept, cell in zip(best, (*cells, outside[:, k, None] - cells[2]), strict=True):
                np.maximum(kept, cell, out=kept)
        return (best[0] + best[1]).max(axis=1), (best[2] + best[3]).max(axis=1)

    def _joined(self, rows: np.ndarray, threshold: int, depth: int) -> Found:
        """Best tree below one threshold, both sides solved."""
        inside = self.left[rows, threshold] > 0
        left = self.solve(rows[inside], depth - 1)
        right = self.solve(rows[~inside], depth - 1)
        return Found(left.cost + right.cost, Branch(threshold, left.tree, right.tree))

    def _by_bounds(self, rows: np.ndarray, best: Found) -> Iterator[State]:
        """Solve thresholds in the order of their bounds, until none can beat the best tree."""
        here = self._splitting(rows, self.roots)
        column = self.column[here]
        passed = (self.left[np.ix_(rows, here)].T @ self.weight[rows].sum(axis=1)).astype(float)
        bounds = _Bounds(column, passed, np.full((2, len(here)), self.price))
        root = 0
        while True:
            lower = bounds.sides.sum(axis=0)
            self.known.by_column = by_column = np.full(self.table.n_columns, INFINITE)
            np.minimum.at(by_column, column, lower)
            open_ones = np.flatnonzero(lower < best.cost - self.slack)
            least = float(lower.min(initial=INFINITE))
            yield self._now(best, least if len(open_ones) else best.cost)
            if not len(open_ones):
                break
            j = bounds.middle_of_run(int(open_ones[np.argmin(lower[open_ones])]), open_ones)
            if self._beats(here[j], bounds, j, best.cost - self.slack):
                best, root = self._joined(rows, int(here[j]), self.depth), j
        # Proven; an earlier root may cost no more.
        for j in range(root):
            if self._beats(here[j], bounds, j, best.cost + 2 * self.slack):
                yield self._now(self._joined(rows, int(here[j]), self.depth), best.cost)
                return

    def _beats(self, threshold: int, bounds: "_Bounds", j: int, target: float) -> bool:
        """Whether the best tree with a threshold at the root costs less than a target.

        `j`: its place among those of the bounds, which rise.
        """
        sides = [np.flatnonzero(self.left[:, threshold] == is_left) for is_left in (1, 0)]
        # The larger side first: it costs more, and so alone may close the threshold.
        first = int(len(sides[1]) > len(sides[0]))
        for side in (first, 1 - first):
            if bounds.sides[:, j].sum() < target:
                cost = self.solve(sides[side], self.depth - 1, grown=False).cost
                bounds.solved(j, side, cost)
        return bool(bounds.sides[:, j].sum() < target)


@dataclass(frozen=True, eq=False)
class _Bounds:
    """Lower bounds on both sides of every threshold of the varying columns."""

    column: np.ndarray  # (n_thresholds,)
    passed: np.ndarray  # (n_thresholds,) weight on the left
    sides: np.ndarray  # (2, n_thresholds), left and right

    def middle_of_run(self, j: int, open_ones: np.ndarray) -> int:
        """Threshold in the middle, by weight, of the open ones around j."""
        column = self.column[open_ones]
        number = np.cumsum(np.append(False, (np.diff(open_ones) > 1) | (column[1:] != column[:-1])))
        run = open_ones[number == number[np.searchsorted(open_ones, j)]]
        middle = (self.passed[run[0]] + self.passed[run[-1]]) / 2
        return int(run[np.argmin(np.abs(self.passed[run] - middle))])

    def solved(self, j: int, side: int, cost: float) -> None:
        """Take over the exact cost of a side of a threshold, and bound the others of its column."""
        bound, same = self.sides[side], self.column == self.column[j]
        after = np.arange(len(bound)) >= j
        step = np.abs(self.passed - self.passed[j])
        # A side with more rows costs no less, one with fewer lacks at most their weight.
        grows = ~after if side else after
        np.maximum(bound, np.where(grows, cost, similar_cost(cost, step)), out=bound, where=same)
        bound[j] = max(bound[j], cost)
