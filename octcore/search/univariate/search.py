"""The exact search: what is asked, which kernels serve it, and the proof that comes back.

Costs are errors plus a price for every leaf, in units of weight.  Two kinds of kernels find the
best subtrees of depth two below a set of rows.  `pairs` counts rows by pairs of 0/1 columns, which
is quick where columns have few thresholds; `depth_two` goes through sorted columns for sixteen
thresholds at once.  The table decides.  While neither is compiled, `plain` answers small questions.
"""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Literal

import numpy as np

from octcore.numerics import kernels
from octcore.search.univariate import plain, warm_up
from octcore.search.univariate.bit_search import BitSearch
from octcore.search.univariate.bounds import INFINITE
from octcore.search.univariate.lane_search import LaneSearch, integer_width
from octcore.search.univariate.question import Answer, Moment, Question, Report, State, Status
from octcore.search.univariate.table import Inquiry, Table, make_inquiry
from octcore.search.univariate.tree import PathTree, heap
from octcore.tree.tree import Tree, join_equal_leaves

BEAT_SECONDS, POLL_SECONDS = 0.08, 0.05
"""Longest silence of a search, and time between two looks at the clock, about."""
QUICK_SECONDS = 0.02  # how long a search goes on before it moves to a second thread, about
QUICK_CELLS = 60_000
"""Rows times columns up to which a first piece of work is short for certain, to depth three; a
tenth of it for every level more."""
ROUNDING = 1e-6  # of costs, as a share of what makes two of them differ
BITS_EACH, MOST_BITS = 12, 1000
"""Thresholds a column, and in all, up to which pairs of 0/1 columns are counted."""


def answer(
    asked: Question | Inquiry,
    on_report: Callable[[Report], None] | None = None,
    cancel: Callable[[], bool] | None = None,
    time_limit: float | None = None,
) -> Answer:
    """Find the optimal tree and prove it, or return the best tree and a valid bound.

    `asked`: the question, or its inquiry where that was made already.
    `on_report`: receives every `Report` on the calling thread.
    `cancel`: polled about every 50 ms on the calling thread; True ends the search.
    `time_limit`: seconds of wall-clock time, without those that compile kernels.
    """
    inquiry = asked if isinstance(asked, Inquiry) else make_inquiry(asked)
    search = _Search(inquiry, on_report or (lambda report: None))
    return search.run(cancel or (lambda: False), np.inf if time_limit is None else time_limit)


def is_feasible(inquiry: Inquiry) -> bool:
    """Whether there is any tree: a leaf, or one split at a forced root."""
    table, smallest = inquiry.table, inquiry.smallest
    if not inquiry.is_forced:
        return int(table.count.sum()) >= smallest
    sizes = [np.bincount(rank, table.count) for rank in table.rank[inquiry.roots]]
    # The rows on both sides of every threshold.
    smaller = [np.minimum(np.cumsum(n), n.sum() - np.cumsum(n))[:-1] for n in sizes]
    return inquiry.question.leaf_limit > 1 and any(n.max() >= smallest for n in smaller)


def suits_bits(table: Table) -> bool:
    """Whether 0/1 columns serve a table best.

    They show no split that parts rows of weight 0 alone from the others; few thresholds are quicker
    to count by pairs than in sorted order.
    """
    few = table.n_thresholds <= min(MOST_BITS, BITS_EACH * table.n_columns)
    return few and bool((table.weight > 0).all())


class _Search:
    """One run: the table, what is known so far, and the reports."""

    def __init__(self, asked: Inquiry, on_report: Callable[[Report], None]) -> None:
        self.question, self.on_report = asked.question, on_report
        self.inquiry = inquiry = replace(asked, stop=np.zeros(1, np.uint8))  # it may be asked again
        self.table, self.total = inquiry.table, inquiry.table.total
        self.price, self.slack, self.stop = inquiry.price, inquiry.slack, inquiry.stop
        self.tree: Tree | None = None
        self.nested: PathTree | None = None  # the same in numbers of thresholds
        self.cost = INFINITE
        conflicts = int(self.table.weight[self.table.outvoted].sum())  # no tree avoids them
        self.lower = conflicts + self.price
        self.by_column = np.full(self.table.n_columns, self.lower)
        self.exact = np.zeros(self.table.n_columns, bool)
        self.subtrees = 0
        self.plain = False
        self.recorded: Callable[[], tuple[Moment, ...]] = tuple
        self.by_leaves: tuple[tuple[int, float, Tree], ...] = ()
        self.reason: Status | None = None
        self.last_report = time.perf_counter()
        self.search_seconds = 0.0

    def run(self, cancel: Callable[[], bool], time_limit: float) -> Answer:
        if not is_feasible(self.inquiry):
            return Answer("infeasible", None, None, None, *self._no_roots())
        pieces = self._pieces(cancel)
        self._say(Report("started", bound=self.inquiry.value(self.lower)))
        begin = time.perf_counter()
        self._advance(pieces, cancel, begin + time_limit)
        slack = self.slack * (1 + ROUNDING)  # the search stops where costs tie
        proven = self.tree is not None and self.cost <= self.lower + slack
        self.search_seconds = time.perf_counter() - begin
        return self._answer("optimal" if proven else self.reason or "error")

    def _pieces(self, stop: Callable[[], bool]) -> Iterator[State]:
        """The search in pieces, by the kernels that suit the table; they are compiled first."""
        question, table, inquiry = self.question, self.table, self.inquiry
        if not table.n_columns or question.depth == 0:
            return plain.PlainSearch(inquiry).pieces()
        deep, is_small = min(question.depth, question.leaf_limit - 1), plain.is_small(inquiry)
        by_bits = suits_bits(table)
        needed = (
            warm_up.bit_sets(table.total, question.depth)
            if by_bits
            else warm_up.lane_sets(integer_width(table), deep > 2 or is_small)
        )
        self.plain = plain.suits(inquiry) and not kernels.are_ready(*needed)
        if self.plain:
            kernels.prepare_later(*needed)
            return plain.PlainSearch(inquiry).pieces()
        kernels.require(*needed, stop=stop)
        if by_bits:
            return BitSearch(inquiry).pieces()
        lanes = LaneSearch(inquiry, is_small)
        self.recorded = lanes.recorded
        return lanes.pieces()

    def _advance(
        self, pieces: Iterator[State], cancel: Callable[[], bool], deadline: float
    ) -> None:
        """Search piece by piece, to the end or until asked to stop.

        Pieces are worked on by a second thread, while this one looks at the clock and asks
        `cancel`: kernels release the interpreter lock.  On few rows the first pieces are short, and
        take less time than that.
        """
        most = QUICK_CELLS // 10 ** max(0, self.question.depth - 3)
        quick = self.table.rank.size <= most and not self.plain
        begin = before = time.perf_counter()
        thread = ThreadPoolExecutor(1, "path-search")
        try:
            while True:
                self._watch(cancel, deadline)
                now = time.perf_counter()
                is_short = now - before <= QUICK_SECONDS / 4 and now - begin <= QUICK_SECONDS
                quick, before = quick and is_short, now
                piece = None if quick else thread.submit(next, pieces, None)
                while piece is not None and not piece.done():
                    wait([piece], max(0.001, min(POLL_SECONDS, deadline - time.perf_counter())))
                    self._watch(cancel, deadline)
                state = next(pieces, None) if piece is None else piece.result()
                if state is None:
                    return
                self._take_over(state)
        finally:
            self.stop[0] = 1
            thread.shutdown()

    def _watch(self, cancel: Callable[[], bool], deadline: float) -> None:
        """Stop where it is time to, and say that the search goes on where all was silent long."""
        if self.reason is None:
            if cancel():
                self.reason = "cancelled"
            elif time.perf_counter() >= deadline:
                self.reason = "time_limit"
            self.stop[0] = self.reason is not None
        if time.perf_counter() - self.last_report > BEAT_SECONDS:
            self._say(self._report("progress"))

    def _say(self, report: Report) -> None:
        self.last_report = time.perf_counter()
        self.on_report(report)

    def _take_over(self, state: State) -> None:
        self.subtrees = int(state.work[0])
        if state.best < INFINITE and state.tree != self.nested:  # better, or at the end first named
            self.nested, self.cost = state.tree, state.best
            self.tree = to_tree(state.tree, self.table, self.question)
            self._say(Report("incumbent", tree=self.tree, subtrees=self.subtrees))
        self.by_column = np.maximum(self.by_column, state.by_column)
        self.exact = state.reached <= self.by_column + self.slack
        self.by_leaves = tuple(
            (leaves, 1.0 - errors / self.total, to_tree(tree, self.table, self.question))
            for leaves, errors, tree in state.by_leaves
        )
        lower = min(state.best, state.lower)  # `lower` is on what costs less than the best tree
        if lower > self.lower + self.slack:
            self.lower = lower
            self._say(self._report("bound", self.inquiry.value(lower)))

    def _report(self, kind: Literal["bound", "progress"], bound: float | None = None) -> Report:
        latest = lambda: next(reversed(self.recorded()), None)  # noqa: E731
        return Report(kind, bound, subtrees=self.subtrees, latest=latest)

    def _no_roots(self) -> tuple[np.ndarray, np.ndarray]:
        n_features = np.asarray(self.question.X).shape[1]
        return np.full(n_features, -np.inf), np.ones(n_features, bool)

    def _answer(self, status: Status) -> Answer:
        table = self.table
        values, exact = self._no_roots()
        may = np.flatnonzero(table.twin >= 0)
        if self.question.roots is not None:
            may = may[np.isin(may, self.question.roots)]
        may = may[self.by_column[table.twin[may]] < INFINITE]
        if self.question.depth > 0:
            costs = self.by_column[table.twin[may]]
            values[may] = [self.inquiry.value(cost, 2) for cost in costs]
            exact[may] = self.exact[table.twin[may]]
        if self.tree is not None and self.tree.splits and status == "optimal":
            root = int(np.flatnonzero(table.original == self.tree.splits[1].features[0])[0])
            same = may[table.twin[may] == root]
            values[same], exact[same] = self.inquiry.value(self.cost, 2), True
        return Answer(
            status,
            self.tree,
            None if self.tree is None else self.inquiry.value(self.cost),
            self.inquiry.value(min(self.lower, self.cost)),
            values,
            exact,
            self.subtrees,
            self.search_seconds,
            self.plain,
            self.recorded,
            self.by_leaves,
        )


def to_tree(nested: PathTree, table: Table, question: Question) -> Tree:
    """The tree on the columns of the question, of one in numbers of thresholds of the table.

    Splits with the same label on both sides are dropped, except for a forced root.
    """
    tree = heap(nested, np.asarray(question.X).shape[1], question.n_classes, table.split)
    return join_equal_leaves(tree, keeps_root=question.roots is not None)
