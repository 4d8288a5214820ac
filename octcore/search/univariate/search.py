"""The exact search: what is asked, which kernels serve it, and the proof that comes back.

Costs are errors plus a price for every leaf, in units of weight.  Two kinds of kernels find the
best subtrees of depth two below a set of rows.  `pairs` counts rows by pairs of 0/1 columns, which
is quick where columns have few thresholds; `depth_two` goes through sorted columns for sixteen
thresholds at once.  The table decides.  While neither is compiled, `plain` answers small questions.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Literal, cast

import numpy as np

from octcore import kernels
from octcore.search.univariate import plain, warm_up
from octcore.search.univariate.bit_search import BitSearch
from octcore.search.univariate.bounds import INFINITE
from octcore.search.univariate.lane_search import LaneSearch, integer_width
from octcore.search.univariate.question import (
    Answer,
    Moment,
    Nested,
    Question,
    Report,
    State,
    Status,
)
from octcore.search.univariate.runner import run_watched
from octcore.search.univariate.table import LARGEST_PENALTY, Inquiry, Table, make_table
from octcore.tree.tree import Split, Tree

BEAT_SECONDS = 0.08
"""Longest silence of a search, about."""
QUICK_SECONDS = 0.02
"""How long a search goes on before it moves to a second thread, about."""
QUICK_CELLS = 60_000
"""Rows times columns up to which a first piece of work is short for certain."""
SAME, ROUNDING = 1e-9, 1e-6
"""Costs closer than this share of the total weight are equal; rounding, as a share of that."""
BITS_EACH, MOST_BITS = 12, 1000
"""Thresholds a column, and in all, up to which pairs of 0/1 columns are counted."""


def answer(
    question: Question,
    on_report: Callable[[Report], None] | None = None,
    cancel: Callable[[], bool] | None = None,
    time_limit: float | None = None,
) -> Answer:
    """Find the optimal tree and prove it, or return the best tree and a valid bound.

    Parameters
    ----------
    question : Question
    on_report : callable, optional
        Receives every `Report` on the calling thread.
    cancel : callable, optional
        Polled about every 50 ms on the calling thread; True ends the search.
    time_limit : float, optional
        Seconds of wall-clock time, without those that compile kernels.

    Raises
    ------
    DataError, SettingsError
        If the question makes no sense, see `Question.check`.
    """
    question.check()
    return _Search(question, on_report or (lambda report: None)).run(cancel, time_limit)


def make_inquiry(question: Question) -> Inquiry:
    """Put a question into units of weight."""
    table, smallest = make_table(question), question.smallest_leaf
    uncounted = table.count == 0
    if uncounted.any():  # to kernels every row counts, all of these less than a counted one
        share = int(uncounted.sum()) + 1
        table = replace(table, count=share * table.count + uncounted)
        smallest *= share
    return Inquiry(
        question=question,
        table=table,
        price=float(min(question.leaf_penalty, LARGEST_PENALTY) * table.total),
        slack=SAME * max(1.0, table.total),
        smallest=smallest,
        roots=_root_mask(question, table),
        stop=np.zeros(1, np.uint8),
    )


def is_feasible(inquiry: Inquiry) -> bool:
    """Whether there is any tree: a leaf, or one split at a forced root."""
    table, smallest = inquiry.table, inquiry.smallest
    if not inquiry.is_forced:
        return int(table.count.sum()) >= smallest
    roots = np.flatnonzero(inquiry.roots)
    enough = inquiry.question.leaf_limit > 1
    return enough and any(_splits(table, int(h), smallest) for h in roots)


def suits_bits(question: Question, table: Table) -> bool:
    """Whether 0/1 columns serve a question best.

    They show no split that parts rows of weight 0 alone from the others.
    """
    return bool((table.weight > 0).all()) and has_few_thresholds(table)


def has_few_thresholds(table: Table) -> bool:
    """Whether pairs of thresholds are quicker to count than thresholds in sorted order."""
    return table.n_thresholds <= min(MOST_BITS, BITS_EACH * table.n_columns)


class _Search:
    """One run: the table, what is known so far, and the reports."""

    def __init__(self, question: Question, on_report: Callable[[Report], None]) -> None:
        self.question, self.on_report = question, on_report
        self.inquiry = inquiry = make_inquiry(question)
        self.table, self.total = inquiry.table, inquiry.table.total
        self.price, self.slack, self.stop = inquiry.price, inquiry.slack, inquiry.stop
        self.post = self._forward
        self.tree: Tree | None = None
        self.cost = np.inf
        self.lower = self.table.conflicts + self.price
        self.by_column = np.full(self.table.n_columns, self.lower)
        self.exact = np.zeros(self.table.n_columns, bool)
        self.subtrees = 0
        self.plain = False
        self.recorded: Callable[[], tuple[Moment, ...]] = tuple
        self.by_leaves: tuple[tuple[int, float, Tree], ...] = ()
        self.last_report = time.perf_counter()
        self.compile_seconds = self.search_seconds = 0.0

    def run(self, cancel: Callable[[], bool] | None, time_limit: float | None) -> Answer:
        if not is_feasible(self.inquiry):
            return Answer("infeasible", None, None, None, *self._no_roots())
        pieces = self._pieces(cancel or (lambda: False))
        self.on_report(Report("started", bound=self.inquiry.value(self.lower)))
        begin = time.perf_counter()
        deadline = None if time_limit is None else begin + time_limit
        reason = "finished"
        if not self._at_once(pieces, cancel, deadline):

            def work(post: Callable[[Report], None]) -> None:
                self.post = post
                for _ in pieces:
                    pass

            reason = run_watched(work, self.stop, self._forward, self._beating(cancel), deadline)
        slack = self.slack * (1 + ROUNDING)
        proven = self.tree is not None and self.cost <= self.lower + slack
        self.search_seconds = time.perf_counter() - begin
        otherwise = "error" if reason == "finished" else reason
        return self._answer(cast(Status, "optimal" if proven else otherwise))

    def _pieces(self, stop: Callable[[], bool]) -> Iterator[None]:
        """The search in pieces, by the kernels that suit the table; they are compiled first."""
        question, table, inquiry = self.question, self.table, self.inquiry
        if not table.n_columns or question.depth == 0:
            return self._single_leaf()
        deep = min(question.depth, question.leaf_limit - 1)
        by_bits = suits_bits(question, table)
        needed = (
            warm_up.bit_sets(table.total, question.depth)
            if by_bits
            else warm_up.lane_sets(integer_width(table), deep > 2)
        )
        self.plain = plain.suits(inquiry) and not kernels.are_ready(*needed)
        if self.plain:
            kernels.prepare_later(*needed)
            return self._plain()
        self.compile_seconds = kernels.require(*needed, stop=stop)
        return self._compiled(by_bits)

    def _at_once(
        self, pieces: Iterator[None], cancel: Callable[[], bool] | None, deadline: float | None
    ) -> bool:
        """Whether the search was over after the first pieces.

        On few rows these are short, and take less time than a second thread that can be watched.
        """
        most = QUICK_CELLS if self.question.depth <= 3 else QUICK_CELLS // 10
        begin = before = time.perf_counter()
        while self.table.rank.size <= most:
            now = time.perf_counter()
            is_late = deadline is not None and now >= deadline
            if is_late or now - before > QUICK_SECONDS / 4 or now - begin > QUICK_SECONDS:
                break
            if cancel is not None and cancel():
                break
            before = now
            try:
                next(pieces)
            except StopIteration:
                return True
        return False

    def _forward(self, report: Report) -> None:
        self.last_report = time.perf_counter()
        self.on_report(report)

    def _beating(self, cancel: Callable[[], bool] | None) -> Callable[[], bool]:
        """Ask `cancel`, and say that the search goes on where nothing else was said for long."""

        def ask() -> bool:
            if time.perf_counter() - self.last_report > BEAT_SECONDS:
                self._forward(self._report("progress"))
            return cancel is not None and cancel()

        return ask

    def _single_leaf(self) -> Iterator[None]:
        """Where no column can be tested."""
        counts = self.table.class_weight
        self._offer(float(self.total - counts.max()) + self.price, int(counts.argmax()))
        self._bound(self.cost)
        yield

    def _compiled(self, by_bits: bool) -> Iterator[None]:
        """The search by kernels."""
        search = BitSearch(self.inquiry) if by_bits else LaneSearch(self.inquiry)
        if isinstance(search, LaneSearch):
            self.recorded = search.recorded
        for state in search.pieces():
            self._take_over(state)
            yield
        if isinstance(search, BitSearch):
            self.by_leaves = tuple(
                (leaves, 1.0 - errors / self.total, to_tree(nested, self.table, self.question))
                for leaves, errors, nested in search.by_leaves
            )

    def _take_over(self, state: State) -> None:
        """Take over what a search knows."""
        self.subtrees = state.subtrees
        if state.nested is not None:
            self._offer(state.best, state.nested)
        self.by_column = np.maximum(self.by_column, state.by_column)
        self.exact = (state.reached <= self.by_column + self.slack) | (self.by_column >= INFINITE)
        self._bound(state.lower)

    def _plain(self) -> Iterator[None]:
        """The search in plain array operations, all in one piece."""
        yield
        search = plain.PlainSearch(self.inquiry)

        def report(by_column: np.ndarray, best: plain.Found) -> None:
            self.subtrees = search.subtrees
            self._offer(best.cost, best.tree)
            self.by_column = np.maximum(self.by_column, by_column)
            self._bound(min(float(by_column.min()), best.cost))

        rows = np.arange(len(self.table.y))
        roots = self.inquiry.roots if self.inquiry.is_forced else None
        try:
            best = search.solve(rows, self.question.depth, roots, report)
        except plain.StoppedError:
            return
        self.subtrees = search.subtrees
        self._offer(best.cost, best.tree)
        self._bound(best.cost)

    def _offer(self, cost: float, nested: Nested) -> None:
        """Take a better tree."""
        if cost >= self.cost - self.slack:
            return
        self.cost = cost
        self.tree = to_tree(nested, self.table, self.question)
        self.post(Report("incumbent", tree=self.tree, subtrees=self.subtrees))

    def _bound(self, lower: float) -> None:
        """Take over a lower bound on the cost of every tree."""
        if lower > self.lower + self.slack:
            self.lower = lower
            self.post(self._report("bound", self.inquiry.value(lower)))

    def _report(self, kind: Literal["bound", "progress"], bound: float | None = None) -> Report:
        return Report(kind, bound, subtrees=self.subtrees, latest=self._latest)

    def _latest(self) -> Moment | None:
        return next(reversed(self.recorded()), None)

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
        leaf = None
        if self.question.roots is None:
            errors = self.total - int(table.class_weight.max())
            leaf = self.inquiry.value(errors + self.price)
        return Answer(
            status,
            self.tree,
            None if self.tree is None else self.inquiry.value(self.cost),
            self.inquiry.value(min(self.lower, self.cost)),
            values,
            exact,
            leaf,
            self.subtrees,
            self.compile_seconds,
            self.search_seconds,
            self.plain,
            self.recorded,
            self.by_leaves,
        )


def _root_mask(question: Question, table: Table) -> np.ndarray:
    """Columns of the table that the root may test, shape ``(n_columns,)``."""
    if question.roots is None:
        return np.ones(table.n_columns, bool)
    allowed = table.twin[list(question.roots)]
    return np.isin(np.arange(table.n_columns), allowed[allowed >= 0])


def _splits(table: Table, column: int, smallest: int) -> bool:
    """Whether some threshold of a column leaves enough rows on both sides."""
    sizes = np.bincount(table.rank[column], table.count)
    passed = np.cumsum(sizes)[:-1]
    return bool(((passed >= smallest) & (passed[-1] + sizes[-1] - passed >= smallest)).any())


def to_tree(nested: Nested, table: Table, question: Question) -> Tree:
    """Number the nodes of nested ``(column, rank, left, right)`` as a heap.

    Splits with the same label on both sides are dropped, except for a forced root.
    """
    splits: dict[int, Split] = {}
    labels: dict[int, int] = {}
    stack: list[tuple[Nested, int]] = [(nested, 1)]
    while stack:
        here, node = stack.pop()
        if not isinstance(here, tuple):
            labels[node] = int(here)
            continue
        column, rank, left, right = here
        threshold = table.threshold(column, rank)
        splits[node] = Split.on_feature(int(table.original[column]), threshold)
        stack += [(left, 2 * node), (right, 2 * node + 1)]
    tree = Tree(splits, labels, np.asarray(question.X).shape[1], question.n_classes)
    for node in sorted(tree.splits, reverse=True):
        pair = tree.labels.get(2 * node), tree.labels.get(2 * node + 1)
        forced = node == 1 and question.roots is not None
        if pair[0] is not None and pair[0] == pair[1] and not forced:
            tree = tree.collapse(node, pair[0])
    return tree
