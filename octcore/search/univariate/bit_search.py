"""The search over 0/1 columns: depth by depth, each giving bounds and trees to the next.

Depths up to two are one D2S.  A limit on the leaves is looked at last: the best tree without it is
often small enough, and if not, `leaves` finds the best one of every size.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from octcore.search.univariate.bit_table import make_bits
from octcore.search.univariate.leaves import search_by_leaves
from octcore.search.univariate.literal_node import LiteralNode, SearchState, ShallowNode
from octcore.search.univariate.pairs import INFEASIBLE
from octcore.search.univariate.question import INFINITE, Nested, State
from octcore.search.univariate.table import Inquiry
from octcore.search.univariate.tree import Leaf, PathTree, count_leaves

_BOUND_STEPS = 8
"""In how many steps the bound of a root feature rises to the incumbent (a falling global bound)."""
_LARGE = 2_000_000
"""Rows times squared features from which a depth-four search takes more than some 50 ms."""
_DIVES = 3
"""How many promising roots are solved first, for a good incumbent early."""


class BitSearch:
    """One run on 0/1 columns.

    Parameters
    ----------
    inquiry : Inquiry
        At least one column.
    report : callable
        Receives every `State`.
    """

    def __init__(self, inquiry: Inquiry, report: Callable[[State], None]) -> None:
        self.inquiry, self.report = inquiry, report
        question, table = inquiry.question, inquiry.table
        self.bits = make_bits(table, inquiry.roots, inquiry.smallest)
        self.state = SearchState(
            self.bits.rows, inquiry.price, inquiry.slack, question.threads, inquiry.stop
        )
        self.subset = np.arange(len(self.bits.rows.block))
        self.roots: np.ndarray | None = None
        if inquiry.is_forced:
            self.roots = np.flatnonzero(inquiry.roots[self.bits.column])
        self.best, self.lower = INFINITE, 0.0
        self.by_column = np.zeros(table.n_columns)
        self.reached = np.full(table.n_columns, INFINITE)
        self.nested: Nested | None = None

    def pieces(self) -> Iterator[None]:
        """Search to the end, or until asked to stop; every step is a piece of the work."""
        question, table = self.inquiry.question, self.inquiry.table
        if not self.inquiry.is_forced:
            errors = table.total - int(table.class_weight.max())
            self._offer(errors + self.inquiry.price, Leaf(int(table.class_weight.argmax())))
            self._tell()
        if question.depth <= 2:
            node = ShallowNode(self.state, self.subset, question.depth)
            if self.roots is not None:
                node.restrict_root(self.roots)
            self._take_over(node, True)
            yield
        else:
            yield from self._deep()
        if self._is_too_large() and not self.inquiry.stop[0]:
            self._limit_leaves()
            yield

    def _deep(self) -> Iterator[None]:
        """Depth three and more; each depth gives bounds and trees to the next."""
        depth, node = self.inquiry.question.depth, None
        for current in range(3, depth + 1):
            node, last = LiteralNode(self.state, self.subset, current, node), current == depth
            if self.roots is not None:
                node.restrict_root(self.roots)
            self._take_over(node, last)
            yield
            stepwise = self._is_large() if current <= 4 else node.keeps_children
            steps, dives = (_BOUND_STEPS if stepwise else 1), (_DIVES if current > 3 else 0)
            for _ in node.tightenings(steps=steps, dives=dives):
                self._take_over(node, last)
                yield
            if last and self.inquiry.question.all_roots:
                for f in np.flatnonzero(node.feature_lower < INFEASIBLE):
                    if self.inquiry.stop[0]:
                        return
                    node.tighten(int(f), INFEASIBLE)
                    self._take_over(node, last)
                    yield
            self._take_over(node, last)
            if self.inquiry.stop[0]:
                return

    def _is_large(self) -> bool:
        """Whether the search lasts long enough for a bound that falls in steps."""
        n_rows, n_features = self.bits.rows.bits.shape
        return n_rows * n_features**2 > _LARGE

    def _is_too_large(self) -> bool:
        """Whether the best tree has more leaves than are allowed."""
        limit = self.inquiry.question.max_leaves
        return limit is not None and self.best > self.lower + self.inquiry.slack

    def _take_over(self, node: LiteralNode | ShallowNode, last: bool) -> None:
        """Report a better tree, and the bounds of a node of full depth."""
        if node.best < self.best - self.inquiry.slack:
            self._offer(node.best, node.tree())
        if last and (isinstance(node, ShallowNode) or node.complete):
            self.lower = float(node.bound)
            lower, upper = node.feature_costs()
            self.by_column = self._of_columns(lower)
            if not self._has_limit:
                self.reached = self._of_columns(upper)
        self._tell()

    @property
    def _has_limit(self) -> bool:
        question = self.inquiry.question
        return question.leaf_limit < 2**question.depth

    def _of_columns(self, by_bit: np.ndarray) -> np.ndarray:
        by_column = self.bits.of_columns(by_bit)
        return np.where(by_column >= INFEASIBLE, INFINITE, by_column)

    def by_leaves(self) -> list[tuple[int, float, PathTree]]:
        """Most leaves, errors and the best tree for every number of leaves that is allowed."""
        question = self.inquiry.question
        return search_by_leaves(
            self.state, self.subset, question.depth, question.leaf_limit, self.roots
        )

    def _limit_leaves(self) -> None:
        """The best of the trees of every size that is allowed."""
        found = self.by_leaves()
        if self.inquiry.stop[0] or not found:
            return
        costs = [errors + self.inquiry.price * leaves for leaves, errors, _ in found]
        best = int(np.argmin(costs))
        self._offer(costs[best], found[best][2])
        self.lower = max(self.lower, costs[best])
        self._tell()

    def _offer(self, cost: float, tree: PathTree) -> None:
        """Take a better tree that is small enough."""
        is_better = cost < min(self.best - self.inquiry.slack, INFEASIBLE)
        if is_better and count_leaves(tree) <= self.inquiry.question.leaf_limit:
            self.best, self.nested = cost, self.nest(tree)

    def nest(self, tree: PathTree) -> Nested:
        """Name the thresholds of a tree in kernel features."""
        if isinstance(tree, Leaf):
            return tree.label
        column, rank = int(self.bits.column[tree.feature]), int(self.bits.rank[tree.feature])
        return column, rank, self.nest(tree.left), self.nest(tree.right)

    def _tell(self) -> None:
        lower = min(self.best, self.lower)
        self.report(
            State(
                self.best, lower, self.by_column, self.reached, self.nested,
                int(self.state.runs[0]),
            )
        )  # fmt: skip
        self.nested = None
