"""Exact search over all thresholds: what is asked, who searches, and the proof that comes back."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Literal, cast

import numpy as np

from octcore import kernels
from octcore.search.thresholds import compiled, plain
from octcore.search.thresholds.plan import Nested
from octcore.search.thresholds.problem import (
    Moment,
    Status,
    ThresholdEvent,
    ThresholdProblem,
    ThresholdResult,
)
from octcore.search.thresholds.table import Table, make_table
from octcore.search.thresholds.warm_up import sets
from octcore.search.univariate.runner import run_watched
from octcore.tree.tree import Split, Tree

BEAT_SECONDS = 0.08
"""Longest silence of a search, about."""
QUICK_SECONDS = 0.02
"""How long a search goes on before it moves to a second thread, about."""
QUICK_CELLS = 60_000
"""Rows times columns up to which a first piece of work is short for certain."""
SAME = 1e-9
"""Costs closer than this share of the total weight are equal."""


def threshold_search(
    problem: ThresholdProblem,
    on_event: Callable[[ThresholdEvent], None] | None = None,
    cancel: Callable[[], bool] | None = None,
    time_limit: float | None = None,
) -> ThresholdResult:
    """Find the optimal tree and prove it, or return the best tree and a valid bound.

    Parameters
    ----------
    problem : ThresholdProblem
    on_event : callable, optional
        Receives every `ThresholdEvent` on the calling thread.
    cancel : callable, optional
        Polled about every 50 ms on the calling thread; True ends the search.
    time_limit : float, optional
        Seconds of wall-clock time, without those that compile kernels.

    Raises
    ------
    DataError, SettingsError
        If the problem makes no sense, see `ThresholdProblem.check`.
    """
    problem.check()
    return _Search(problem, on_event or (lambda event: None)).run(cancel, time_limit)


class _Search:
    """One run: the reduced rows, what is known so far, and the events."""

    def __init__(
        self, problem: ThresholdProblem, on_event: Callable[[ThresholdEvent], None]
    ) -> None:
        self.problem, self.on_event = problem, on_event
        self.begin = time.perf_counter()
        self.table = make_table(problem)
        self.total = self.table.total
        self.price = problem.leaf_penalty * self.total
        self.slack = SAME * max(1.0, self.total)
        self.stop = np.zeros(1, np.uint8)
        self.post = self._forward
        self.tree: Tree | None = None
        self.cost = np.inf
        self.lower = self.table.conflicts + self.price
        self.by_column = np.full(len(self.table.values), self.lower)
        self.exact = np.zeros(len(self.table.values), bool)
        self.subtrees = 0
        self.plain = False
        self.recorded: Callable[[], tuple[Moment, ...]] = tuple
        self.last_event = time.perf_counter()
        self.compile_seconds = self.search_seconds = 0.0

    def run(self, cancel: Callable[[], bool] | None, time_limit: float | None) -> ThresholdResult:
        if not self._is_feasible():
            return ThresholdResult("infeasible", None, None)
        width = compiled.integer_width(self.table)
        deep = min(self.problem.depth, self.problem.leaf_limit - 1) > 2
        needed = sets(width, deep)
        self.plain = plain.suits(self.problem, self.table) and not kernels.are_ready(*needed)
        if self.plain:
            kernels.prepare_later(*needed)
        else:
            self.compile_seconds = kernels.require(*needed, stop=cancel or (lambda: False))
        self.on_event(ThresholdEvent("started", bound=self._value(self.lower)))
        begin = time.perf_counter()
        deadline = None if time_limit is None else begin + time_limit
        pieces = self._plain() if self.plain else self._compiled()
        reason = "finished"
        if not self._at_once(pieces, cancel, deadline):

            def work(post: Callable[[ThresholdEvent], None]) -> None:
                self.post = post
                for _ in pieces:
                    pass

            reason = run_watched(work, self.stop, self._forward, self._beating(cancel), deadline)
        proven = self.tree is not None and self.cost <= self.lower + self.slack
        self.search_seconds = time.perf_counter() - begin
        return self._result(cast(Status, "optimal" if proven else reason))

    def _at_once(
        self, pieces: Iterator[None], cancel: Callable[[], bool] | None, deadline: float | None
    ) -> bool:
        """Whether the search was over after the first pieces.

        On few rows these are short, and take less time than a second thread that can be watched.
        """
        most = QUICK_CELLS if self.problem.depth <= 3 else QUICK_CELLS // 10
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

    def _forward(self, event: ThresholdEvent) -> None:
        self.last_event = time.perf_counter()
        self.on_event(event)

    def _beating(self, cancel: Callable[[], bool] | None) -> Callable[[], bool]:
        """Ask `cancel`, and say that the search goes on where nothing else was said for long."""

        def ask() -> bool:
            if time.perf_counter() - self.last_event > BEAT_SECONDS:
                self._forward(self._event("progress"))
            return cancel is not None and cancel()

        return ask

    def _is_feasible(self) -> bool:
        """Whether there is any tree: a leaf, or one split at a forced root."""
        table, smallest = self.table, self.problem.smallest_leaf
        if self.problem.root_columns is None:
            return int(table.count.sum()) >= smallest
        if self.problem.leaf_limit < 2:
            return False
        return any(
            _splits(table, int(h), smallest) for h in np.flatnonzero(root_mask(self.problem, table))
        )

    def _compiled(self) -> Iterator[None]:
        """The search by compiled kernels."""
        problem, table = self.problem, self.table
        if not len(table.rank):
            counts = np.bincount(table.y, table.weight, problem.n_classes)
            self._offer(float(counts.sum() - counts.max()) + self.price, int(counts.argmax()))
            self._bound(self.cost)
            return

        def report(state: compiled.State) -> None:
            self.subtrees = state.subtrees
            if state.nested is not None:
                self._offer(state.best, state.nested)
            self.by_column = np.maximum(self.by_column, state.by_column)
            self.exact = state.reached <= self.by_column + self.slack
            self._bound(state.lower)

        roots = None if problem.root_columns is None else root_mask(problem, table)
        question = compiled.Question(table, problem, self.price, self.slack, roots, self.stop)
        search = compiled.CompiledSearch(question, report)
        self.recorded = search.recorded
        yield from search.pieces()

    def _plain(self) -> Iterator[None]:
        """The search in plain array operations, all in one piece."""
        yield
        problem, table = self.problem, self.table
        search = plain.PlainSearch(table, problem.n_classes, self.price, self.slack, self.stop)
        roots = None if problem.root_columns is None else root_mask(problem, table)

        def report(by_column: np.ndarray, best: plain.Found) -> None:
            self.subtrees = search.subtrees
            self._offer(best.cost, best.tree)
            self.by_column = np.maximum(self.by_column, by_column)
            self._bound(min(float(by_column.min()), best.cost))

        rows = np.arange(len(table.y))
        try:
            best = search.solve(rows, problem.depth, roots, report)
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
        self.tree = to_tree(nested, self.table, self.problem)
        self.post(ThresholdEvent("incumbent", tree=self.tree, subtrees=self.subtrees))

    def _bound(self, lower: float) -> None:
        """Take over a lower bound on the cost of every tree."""
        if lower > self.lower + self.slack:
            self.lower = lower
            self.post(self._event("bound", self._value(lower)))

    def _event(
        self, kind: Literal["bound", "progress"], bound: float | None = None
    ) -> ThresholdEvent:
        return ThresholdEvent(kind, bound, subtrees=self.subtrees, latest=self._latest)

    def _latest(self) -> Moment | None:
        return next(reversed(self.recorded()), None)

    def _value(self, cost: float) -> float:
        """Accuracy minus penalties of a cost."""
        return 1.0 - cost / self.total

    def _result(self, status: Status) -> ThresholdResult:
        problem, table = self.problem, self.table
        n_features = np.asarray(problem.X).shape[1]
        values = np.full(n_features, np.nan)
        exact = np.zeros(n_features, bool)
        may = np.flatnonzero(table.twin >= 0)
        may = may[self.by_column[table.twin[may]] < compiled.INFINITE]
        values[may] = 1.0 - self.by_column[table.twin[may]] / self.total
        exact[may] = self.exact[table.twin[may]]
        if self.tree is not None and self.tree.splits and status == "optimal":
            root = int(np.flatnonzero(table.original == self.tree.splits[1].features[0])[0])
            same = table.twin == root
            values[same], exact[same] = self._value(self.cost), True
        counts = np.bincount(table.y, table.weight, problem.n_classes)
        leaf = None
        if problem.root_columns is None:
            leaf = 1.0 - (self.total - counts.max() + self.price) / self.total
        return ThresholdResult(
            status,
            self.tree,
            self._value(self.lower),
            values,
            exact,
            leaf,
            self.subtrees,
            self.compile_seconds,
            self.search_seconds,
            self.plain,
            self.recorded,
        )


def root_mask(problem: ThresholdProblem, table: Table) -> np.ndarray:
    """Columns of the table that the root may test, shape ``(n_columns,)``."""
    if problem.root_columns is None:
        return np.ones(len(table.values), bool)
    allowed = table.twin[list(problem.root_columns)]
    return np.isin(np.arange(len(table.values)), allowed[allowed >= 0])


def _splits(table: Table, column: int, smallest: int) -> bool:
    """Whether some threshold of a column leaves enough rows on both sides."""
    sizes = np.bincount(table.rank[column], table.count)
    passed = np.cumsum(sizes)[:-1]
    return bool(((passed >= smallest) & (passed[-1] + sizes[-1] - passed >= smallest)).any())


def to_tree(nested: Nested, table: Table, problem: ThresholdProblem) -> Tree:
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
    tree = Tree(splits, labels, np.asarray(problem.X).shape[1], problem.n_classes)
    for node in sorted(tree.splits, reverse=True):
        pair = tree.labels.get(2 * node), tree.labels.get(2 * node + 1)
        forced = node == 1 and problem.root_columns is not None
        if pair[0] is not None and pair[0] == pair[1] and not forced:
            tree = tree.collapse(node, pair[0])
    return tree
