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
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import numpy as np

from octcore.search.thresholds.depth_two import INFINITE, NO_ROOT, Terms, depth_two
from octcore.search.thresholds.moments import Moments
from octcore.search.thresholds.node import Node, open_node, search
from octcore.search.thresholds.plan import Nested, nested
from octcore.search.thresholds.problem import Moment, ThresholdProblem
from octcore.search.thresholds.rows import Rows
from octcore.search.thresholds.table import Table

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


@dataclass(frozen=True)
class State:
    """What is known.

    Parameters
    ----------
    best, lower : float
        Least cost found, and lower bound on every tree.
    by_column, reached : ndarray of shape (n_columns,)
        Lower bound, and least cost found, with every column at the root.
    nested : nested tuples or None
        The tree of the least cost, if it was not told before.
    subtrees : int
        Subtrees of depth two solved.
    """

    best: float
    lower: float
    by_column: np.ndarray
    reached: np.ndarray
    nested: Nested | None
    subtrees: int


Report = Callable[[State], None]
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Question:
    """What the kernels are asked.

    Parameters
    ----------
    table : Table
        The rows.
    problem : ThresholdProblem
        Depth, limits and threads.
    price, slack : float
        Of a leaf, in units of weight; costs closer than this are equal.
    roots : ndarray of bool or None
        Columns that the root must test.
    stop : ndarray of shape (1,)
        The search ends soon after ``stop[0]`` becomes 1.
    """

    table: Table
    problem: ThresholdProblem
    price: float
    slack: float
    roots: np.ndarray | None
    stop: np.ndarray


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


class CompiledSearch:
    """One run of the kernels.

    Parameters
    ----------
    question : Question
        At least one column.
    report : callable
        See `Report`.
    """

    def __init__(self, question: Question, report: Report) -> None:
        self.question, self.report = question, report
        problem, table = question.problem, question.table
        self.rows = kernel_rows(table)
        self.depth = problem.depth
        self.leaves, self.smallest = problem.leaf_limit, problem.smallest_leaf
        self.work = np.zeros(2, np.int64)
        self.terms = self._terms(self.work)
        n_columns = len(table.values)
        self.is_root = np.ones(n_columns, bool) if question.roots is None else question.roots
        self.best = INFINITE
        self.plan = np.full((max(4, 2**problem.depth), 4), NO_ROOT, np.int32)
        self.lower = np.full(n_columns, 2 * question.price)
        self.reached = np.full(n_columns, INFINITE)
        self.known = INFINITE
        self.moments: Moments | None = None
        self.begin = time.perf_counter()
        self.steps = 1
        self._pool: ThreadPoolExecutor | None = None

    def pieces(self) -> Iterator[None]:
        """Search to the end, or until asked to stop; every step is a piece of the work."""
        try:
            self._depth_one()
            yield
            if self.leaves > 2:
                yield from self._depth_two()
            if min(self.depth, self.leaves - 1) > 2 and not self._is_trivial():
                yield from self._deep()
        finally:
            if self._pool is not None:
                self._pool.shutdown()
        if not self.question.stop[0]:
            self._tell(finished=True)

    def _side_by_side(self, jobs: list[Callable[[], Answer]]) -> list[Answer]:
        """Answers of some jobs, in their order, computed by as many threads as were asked for."""
        threads = self.question.problem.threads
        if threads == 1:
            return [job() for job in jobs]
        if self._pool is None:
            self._pool = ThreadPoolExecutor(threads)
        return [waiting.result() for waiting in [self._pool.submit(job) for job in jobs]]

    def _terms(self, work: np.ndarray) -> Terms:
        question = self.question
        n_classes = max(2, question.problem.n_classes)
        return Terms(n_classes, question.price, question.slack, question.stop, work)

    def _is_trivial(self) -> bool:
        """Whether nothing can be better, or there is no time for it."""
        enough = self.best <= 2 * self.question.price + self.question.slack
        return enough or bool(self.question.stop[0])

    def _two(
        self, leaves: int, roots: np.ndarray, plan: np.ndarray, work: np.ndarray
    ) -> tuple[float, np.ndarray]:
        """Least cost with some columns at the root, and the bound of every column."""
        score = np.empty(len(self.lower))
        best, _ = depth_two(
            self.rows, self._terms(work), leaves, self.smallest, self.best,
            roots.astype(np.uint8), int(self.question.roots is None), score, plan,
        )  # fmt: skip
        return best, score

    def _depth_one(self) -> None:
        """The best leaf or single split."""
        leaves = min(2, self.leaves)
        self.best, self.score = self._two(leaves, self.is_root, self.plan[:4], self.work)
        if self.leaves <= 2:
            self.lower, self.reached = self.score.copy(), self.score.copy()
        elif self._is_wide():
            self._tell()

    def _is_wide(self) -> bool:
        """Whether depth two takes so long that it goes column by column."""
        n_columns, n = self.rows.sequence.shape
        return n * n_columns**2 >= WIDE_WORK

    def _depth_two(self) -> Iterator[None]:
        """Depth two at once, or in rounds of a few columns where that takes long enough."""
        is_last = min(self.depth, self.leaves - 1) == 2
        if self._is_wide():
            roots = np.flatnonzero(self.is_root)
            roots = roots[np.argsort(self.score[roots], kind="stable")]
            for first in range(0, len(roots), ROUND):
                batch = roots[first : first + ROUND]
                self._columns(batch)
                if self.question.stop[0]:
                    return
                if is_last:
                    self.lower[batch] = self.score[batch]
                self._tell()
                yield
        else:
            self.best, self.score = self._two(self.leaves, self.is_root, self.plan[:4], self.work)
        if is_last and not self.question.stop[0]:
            # Bounds of the columns are final; the best tree attains that of its own.
            self.lower = self.score.copy()
            if self.plan[1, 0] >= 0:
                self.reached[self.plan[1, 0]] = self.best
        self._tell()
        yield

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
        if best < self.best - self.question.slack:
            self.best = best
            self.plan[:] = NO_ROOT
            self.plan[: len(plan)] = plan

    def _deep(self) -> Iterator[None]:
        """Search the root of full depth."""
        question = self.question
        self.node = open_node(self.rows, question.price, self.depth, self.leaves, self.smallest)
        self.node.bound[~self.is_root[self.node.column]] = INFINITE
        self.moments = moments = Moments(question.table, self.node)
        self._remember(moments)
        is_large = self.work[1] >= LARGE_WORK[min(4, self.depth)]
        alone = FIRST_STEPS if is_large else None
        while not question.stop[0]:
            if alone == 0:
                going = self._round()
            else:
                taken = self.steps if alone is None else min(self.steps, alone)
                going = self._piece(taken)
                alone = None if alone is None else alone - taken
            if question.stop[0]:
                return
            self._take_over(self.node)
            self._remember(moments)
            self._tell()
            if not going:
                return
            yield

    def _piece(self, steps: int) -> bool:
        """Let the kernel choose what to solve next; returns whether there is more to do.

        The length of a piece changes no result: all that is known stays in the node.
        """
        begin = time.perf_counter()
        self.best = search(
            self.rows, self.terms, self.node, self.depth, self.smallest, self.best, INFINITE,
            self.score, -1, steps, self.plan,
        )  # fmt: skip
        share = PIECE_SECONDS / max(1e-4, time.perf_counter() - begin)
        self.steps = max(1, int(steps * min(GROWTH, share)))
        return bool(self.node.bound.min() < self.best - self.question.slack)

    def _round(self) -> bool:
        """One threshold of each of the most promising ways; returns whether there is more."""
        node, question = self.node, self.question
        target = self.best - question.slack
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

    def _take_over(self, node: Node) -> None:
        """Bounds by column from bounds by way."""
        lower, reached = np.full(len(self.lower), INFINITE), np.full(len(self.lower), INFINITE)
        np.minimum.at(lower, node.column, node.bound)
        np.minimum.at(reached, node.column, node.reached)
        self.lower, self.reached = lower, reached

    def _remember(self, moments: Moments) -> None:
        """Keep what is open now for the pictures."""
        lower = min(self.best, float(self.node.bound.min(initial=INFINITE)))
        seconds = time.perf_counter() - self.begin
        moments.add(seconds, self.best, lower, self.question.slack, self.plan)

    def recorded(self) -> tuple[Moment, ...]:
        """What was open at some moments."""
        return () if self.moments is None else self.moments.of_columns()

    def _tell(self, finished: bool = False) -> None:
        """Report the state, with the tree if it is a new one."""
        tree = None
        if self.best < self.known - self.question.slack:
            self.known = self.best
            tree = nested(self.rows, self.terms, self.leaves, self.smallest, self.plan)
        lower = min(self.best, float(self.lower.min(initial=INFINITE)))
        if finished and lower >= self.best - 4 * self.question.slack:
            lower = self.best
        self.report(State(self.best, lower, self.lower, self.reached, tree, int(self.work[0])))
