"""The search with compiled kernels: depth by depth, in pieces between which events go out.

Depth two comes first: its tree is the first good incumbent, and its bounds order the columns.  Then
the root of full depth is searched.  On small problems the kernel chooses what to solve next; on
large ones every round solves one threshold of the few most promising columns side by side, whether
by one thread or by several, so that threads change the time and nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

import numpy as np

from octcore.search.univariate.bounds import INFINITE
from octcore.search.univariate.depth_two import NO_ROOT, Terms, depth_two
from octcore.search.univariate.lane_rows import Rows, restrict
from octcore.search.univariate.moments import Moments
from octcore.search.univariate.node import Node, open_node, search
from octcore.search.univariate.question import Moment, Nested, State
from octcore.search.univariate.table import Inquiry, Table

ROUND = 4
"""Columns of one round; a constant, so that the number of threads does not matter."""
LARGE_WORK = {3: 2_000_000, 4: 50_000}
"""Row visits of depth two from which rounds are worth their overhead, by depth."""
FIRST_STEPS = 24
"""Thresholds that one thread solves before rounds begin: where the rows can be told apart without
errors, the best tree is often among them."""
PIECE_SECONDS = 0.03
"""Time between two reports, where the kernel chooses what to solve."""
GROWTH = 2.0
"""How much longer than the last piece the next one may be: the first ones are worth a picture."""
WIDE_WORK = 20_000_000
"""Rows times squared columns from which depth two is searched column by column, with events."""
KINDS = {2: (np.int16, 2**15 - 2), 4: (np.int32, 2**30), 8: (np.int64, 2**62)}
"""Integers of the kernels by their bytes, and the largest sum each may hold."""

Result = TypeVar("Result")


def integer_width(table: Table) -> int:
    """Bytes of the narrowest integers that hold all sums over a table."""
    longest = max((len(values) for values in table.values), default=0)
    largest = max(table.total, int(table.count.sum()), longest) + 1
    return next(width for width, (_, most) in KINDS.items() if largest <= most)


def kernel_rows(table: Table) -> Rows:
    """Rows of a table in the narrowest integers that hold their sums."""
    kind = KINDS[integer_width(table)][0]
    weight = table.weight.astype(kind)
    return Rows(
        table.sequence,
        table.rank.astype(kind),
        np.ascontiguousarray(table.y, np.int32),
        weight,
        np.where(table.y == 0, weight, -weight).astype(kind),
        table.count.astype(kind),
    )


def nested(
    rows: Rows, terms: Terms, leaves: int, smallest: int, plan: np.ndarray, node: int = 1
) -> Nested:
    """Nested splits of a plan; the last ones, which no plan tells, are found again.

    Parameters
    ----------
    rows : Rows
        Those of the node.
    terms : Terms
    leaves, smallest : int
        Most leaves of the tree, and rows that every leaf must have.
    plan : ndarray of shape (2^depth, 4)
        Column, rank, leaves left, leaves right by node, numbered as a heap; column -1 stands for a
        leaf or a single split, whichever is better.
    """
    split = plan[node].tolist() if node < len(plan) else [NO_ROOT]
    if split[0] < 0 and leaves > 1:
        n_columns, last = len(rows.sequence), np.full((4, 4), NO_ROOT, np.int32)
        every = np.ones(n_columns, np.uint8)
        depth_two(rows, terms, 2, smallest, INFINITE, every, 1, np.empty(n_columns), last)
        split = last[1].tolist()
    if split[0] < 0:
        return int(np.bincount(rows.y, rows.weight).argmax())
    column, rank, *shares = split
    is_left = (rows.rank[column] <= rank).astype(np.uint8)
    left, right = (
        nested(restrict(rows, keep, int(keep.sum())), terms, most, smallest, plan, 2 * node + side)
        for side, (keep, most) in enumerate(zip((is_left, 1 - is_left), shares, strict=True))
    )
    return column, rank, left, right


class LaneSearch:
    """One run on all thresholds.

    Parameters
    ----------
    inquiry : Inquiry
        At least one column.
    """

    def __init__(self, inquiry: Inquiry) -> None:
        self.inquiry = inquiry
        question, table = inquiry.question, inquiry.table
        self.rows = kernel_rows(table)
        self.depth = question.depth
        self.leaves, self.smallest = question.leaf_limit, inquiry.smallest
        self.work = np.zeros(2, np.int64)
        self.terms = self._terms(self.work)
        n_columns = table.n_columns
        self.is_root = inquiry.roots
        self.best = INFINITE
        self.plan = np.full((max(4, 2**self.depth), 4), NO_ROOT, np.int32)
        self.lower = np.full(n_columns, 2 * inquiry.price)
        self.reached = np.full(n_columns, INFINITE)
        self.known = INFINITE
        self.node: Node | None = None
        self.moments: Moments | None = None
        self.begin = time.perf_counter()
        self.steps = 1
        self._pool: ThreadPoolExecutor | None = None

    def pieces(self) -> Iterator[State]:
        """Search to the end, or until asked to stop; every step is a piece of the work."""
        try:
            self._depth_one()
            yield self._now()
            if self.leaves > 2:
                yield from self._depth_two()
            wants_all = self.inquiry.question.all_roots
            if min(self.depth, self.leaves - 1) > 2 and (wants_all or not self._is_trivial()):
                yield from self._deep()
            if wants_all:
                yield from self._close_roots()
        finally:
            if self._pool is not None:
                self._pool.shutdown()
        if not self.inquiry.stop[0]:
            yield self._now(finished=True)

    def _side_by_side(self, jobs: list[Callable[[], Result]]) -> list[Result]:
        """Answers of some jobs, in their order, computed by as many threads as were asked for."""
        threads = self.inquiry.question.threads
        if threads == 1:
            return [job() for job in jobs]
        if self._pool is None:
            self._pool = ThreadPoolExecutor(threads)
        return [waiting.result() for waiting in [self._pool.submit(job) for job in jobs]]

    def _terms(self, work: np.ndarray) -> Terms:
        inquiry = self.inquiry
        n_classes = max(2, inquiry.table.n_classes)
        return Terms(n_classes, inquiry.price, inquiry.slack, inquiry.stop, work)

    def _is_trivial(self) -> bool:
        """Whether nothing can be better, or there is no time for it."""
        enough = self.best <= 2 * self.inquiry.price + self.inquiry.slack
        return enough or bool(self.inquiry.stop[0])

    def _two(
        self, leaves: int, roots: np.ndarray, plan: np.ndarray, work: np.ndarray
    ) -> tuple[float, np.ndarray]:
        """Least cost with some columns at the root, and the bound of every column."""
        score = np.empty(len(self.lower))
        best, _ = depth_two(
            self.rows, self._terms(work), leaves, self.smallest, self.best,
            roots.astype(np.uint8), int(not self.inquiry.is_forced), score, plan,
        )  # fmt: skip
        return best, score

    def _depth_one(self) -> None:
        """The best leaf or single split."""
        leaves = min(2, self.leaves)
        self.best, self.score = self._two(leaves, self.is_root, self.plan[:4], self.work)
        if self.leaves <= 2:
            self.lower, self.reached = self.score.copy(), self.score.copy()

    def _is_wide(self) -> bool:
        """Whether depth two takes so long that it goes column by column."""
        n_columns, n = self.rows.sequence.shape
        return n * n_columns**2 >= WIDE_WORK

    def _depth_two(self) -> Iterator[State]:
        """Depth two at once, or in rounds of a few columns where that takes long enough."""
        is_last = min(self.depth, self.leaves - 1) == 2
        if self._is_wide():
            roots = np.flatnonzero(self.is_root)
            roots = roots[np.argsort(self.score[roots], kind="stable")]
            for first in range(0, len(roots), ROUND):
                batch = roots[first : first + ROUND]
                self._columns(batch)
                if self.inquiry.stop[0]:
                    return
                if is_last:
                    self.lower[batch] = self.score[batch]
                yield self._now()
        else:
            self.best, self.score = self._two(self.leaves, self.is_root, self.plan[:4], self.work)
        if is_last and not self.inquiry.stop[0]:
            # Bounds of the columns are final; the best tree attains that of its own.
            self.lower = self.score.copy()
            if self.plan[1, 0] >= 0:
                self.reached[self.plan[1, 0]] = self.best
        yield self._now()

    def _columns(self, batch: np.ndarray) -> None:
        """Depth two with each of a few columns at the root, side by side."""
        every = np.arange(len(self.lower))
        plans = np.full((len(batch), 4, 4), NO_ROOT, np.int32)
        works = np.zeros((len(batch), 2), np.int64)
        answers = self._side_by_side(
            [partial(self._two, self.leaves, every == g, plans[i], works[i])
             for i, g in enumerate(batch)]
        )  # fmt: skip
        for i, (best, score) in enumerate(answers):
            self.score[batch[i]] = score[batch[i]]
            self._better(best, plans[i])
        self.work += works.sum(axis=0)

    def _better(self, best: float, plan: np.ndarray) -> None:
        """Take over a tree if it is better."""
        if best < self.best - self.inquiry.slack:
            self.best = best
            self.plan[:] = NO_ROOT
            self.plan[: len(plan)] = plan

    def _deep(self) -> Iterator[State]:
        """Search the root of full depth."""
        inquiry = self.inquiry
        node = open_node(self.rows, inquiry.price, self.depth, self.leaves, self.smallest)
        node.bound[~self.is_root[node.column]] = INFINITE
        self.node, self.moments = node, Moments(inquiry, node)
        self._remember(node)
        is_large = self.work[1] >= LARGE_WORK[min(4, self.depth)]
        alone = FIRST_STEPS if is_large else None
        while not inquiry.stop[0]:
            if alone == 0:
                going = self._round(node)
            else:
                taken = self.steps if alone is None else min(self.steps, alone)
                going = self._piece(node, taken)
                alone = None if alone is None else alone - taken
            if inquiry.stop[0]:
                return
            self._take_over(node)
            self._remember(node)
            yield self._now()
            if not going:
                return

    def _piece(self, node: Node, steps: int) -> bool:
        """Let the kernel choose what to solve next; returns whether there is more to do.

        The length of a piece changes no result: all that is known stays in the node.
        """
        begin = time.perf_counter()
        self.best = search(
            self.rows, self.terms, node, self.depth, self.smallest, self.best, INFINITE,
            self.score, -1, steps, self.plan,
        )  # fmt: skip
        share = PIECE_SECONDS / max(1e-4, time.perf_counter() - begin)
        self.steps = max(1, int(steps * min(GROWTH, share)))
        return bool(node.bound.min() < self.best - self.inquiry.slack)

    def _round(self, node: Node) -> bool:
        """One threshold of each of the most promising ways; returns whether there is more."""
        target = self.best - self.inquiry.slack
        open_ones = np.flatnonzero(node.bound < target)
        if not len(open_ones):
            return False
        order = np.lexsort((self.score[node.column[open_ones]], node.bound[open_ones]))
        ways = open_ones[order[:ROUND]]
        plans = np.full((len(ways), *self.plan.shape), NO_ROOT, np.int32)
        works = np.zeros((len(ways), 2), np.int64)
        jobs = [
            partial(
                search, self.rows, self._terms(works[i]), node, self.depth, self.smallest,
                self.best, INFINITE, self.score, int(way), 1, plans[i],
            )
            for i, way in enumerate(ways)
        ]  # fmt: skip
        for i, best in enumerate(self._side_by_side(jobs)):
            self._better(best, plans[i])
        self.work += works.sum(axis=0)
        return True

    def _close_roots(self) -> Iterator[State]:
        """Find the best tree with every column at the root."""
        slack = self.inquiry.slack
        for g in np.flatnonzero(self.is_root & (self.lower < INFINITE)):
            plan = np.full_like(self.plan, NO_ROOT)
            best = float(self.reached[g])
            while best > self.lower[g] + slack and not self.inquiry.stop[0]:
                best = self._close_root(int(g), best, plan)
                yield self._now()

    def _close_root(self, g: int, best: float, plan: np.ndarray) -> float:
        """Work on one column; returns the least cost found with it at the root."""
        only = np.arange(len(self.lower)) == g
        if self.node is None:
            score = np.empty(len(self.lower))
            best, _ = depth_two(
                self.rows, self.terms, self.leaves, self.smallest, INFINITE,
                only.astype(np.uint8), 0, score, plan[:4],
            )  # fmt: skip
            self.lower[g] = self.reached[g] = best
            return best
        node = self.node
        for way in np.flatnonzero(node.column == g):
            best = search(
                self.rows, self.terms, node, self.depth, self.smallest, best, INFINITE, self.score,
                int(way), FIRST_STEPS, plan,
            )  # fmt: skip
        self.lower[g] = min(best, float(node.bound[node.column == g].min()))
        if self.lower[g] >= best - 4 * self.inquiry.slack:
            self.lower[g] = best
        self.reached[g] = best
        return best

    def _take_over(self, node: Node) -> None:
        """Bounds by column from bounds by way."""
        lower, reached = np.full(len(self.lower), INFINITE), np.full(len(self.lower), INFINITE)
        np.minimum.at(lower, node.column, node.bound)
        np.minimum.at(reached, node.column, node.reached)
        self.lower, self.reached = lower, reached

    def _remember(self, node: Node) -> None:
        """Keep what is open now for the pictures."""
        assert self.moments is not None
        lower = min(self.best, float(node.bound.min(initial=INFINITE)))
        seconds = time.perf_counter() - self.begin
        self.moments.add(seconds, self.best, lower, self.inquiry.slack, self.plan)

    def recorded(self) -> tuple[Moment, ...]:
        """What was open at some moments."""
        return () if self.moments is None else self.moments.of_columns()

    def _now(self, finished: bool = False) -> State:
        """The state, with the tree if it is a new one."""
        tree = None
        if self.best < self.known - self.inquiry.slack:
            self.known = self.best
            terms = self._terms(np.zeros(2, np.int64))
            tree = nested(self.rows, terms, self.leaves, self.smallest, self.plan)
        lower = min(self.best, float(self.lower.min(initial=INFINITE)))
        if finished and lower >= self.best - 4 * self.inquiry.slack:
            lower = self.best
        return State(self.best, lower, self.lower, self.reached, tree, int(self.work[0]))
