"""The search over 0/1 columns: depth by depth, each giving bounds and trees to the next.

A limit on the leaves is looked at last: the best tree without it is often small enough, and if not,
a search by leaves finds the best one of every size.
"""

from collections.abc import Iterator

import numpy as np

from octcore.search.univariate.bit_table import make_bits
from octcore.search.univariate.bounds import INFINITE
from octcore.search.univariate.literal_node import LiteralNode, SearchState
from octcore.search.univariate.literals import Terms
from octcore.search.univariate.lookahead import Look, deeper_trees
from octcore.search.univariate.question import State
from octcore.search.univariate.table import Inquiry
from octcore.search.univariate.tree import Leaf, PathTree, count_leaves

_BOUND_STEPS = 3
"""In how many steps the bound of a root feature rises to the incumbent (a falling global bound)."""
_LARGE = 2_000_000
"""Rows times squared features from which a depth-four search takes more than some 50 ms."""
_DIVES = 3  # how many promising roots are solved first, for a good incumbent early
_PIECE = 100_000_000
"""Rows times squared features of the passes over pairs in a piece of work, some 2 ms."""


class BitSearch:
    """One run on 0/1 columns, of which the inquiry has at least one."""

    def __init__(self, inquiry: Inquiry) -> None:
        self.inquiry = inquiry
        question, table = inquiry.question, inquiry.table
        self.bits = make_bits(table, inquiry.roots, inquiry.smallest)
        self.known = State(table.n_columns)
        terms = Terms(inquiry.price, inquiry.slack, 0, inquiry.stop, self.known.work)
        self.state = SearchState(self.bits.rows, terms, question.threads)

    def pieces(self) -> Iterator[State]:
        """Search to the end, or until asked to stop; every step is a piece of the work."""
        inquiry, table = self.inquiry, self.inquiry.table
        if not inquiry.is_forced:
            errors = table.total - int(table.class_weight.max())
            self._offer(errors + inquiry.price, Leaf(int(table.class_weight.argmax())))
            yield self.known
        limit = inquiry.question.max_leaves
        if not inquiry.question.by_leaves:
            yield from self._by_depth()
        # Without the limit no tree is better: the one found is the answer if it is small enough.
        if inquiry.question.by_leaves or (
            limit is not None and self.known.best > self.known.lower + inquiry.slack
        ):
            self._limit_leaves()
            yield self.known

    def _node(
        self,
        state: SearchState,
        depth: int,
        shallow: LiteralNode | None = None,
        subset: np.ndarray | None = None,
    ) -> LiteralNode:
        """The node of some rows, by default of all, the root of the search."""
        rows = np.arange(len(self.bits.rows.block)) if subset is None else subset
        node = LiteralNode(state, rows, depth, shallow, self.inquiry.question.leaf_limit)
        if self.inquiry.is_forced and subset is None:
            node.restrict_root(np.flatnonzero(self.inquiry.roots[self.bits.column]))
        return node

    def _by_depth(self) -> Iterator[State]:
        """One D2S up to depth two; from three on each depth gives bounds and trees to the next."""
        depth, node = self.inquiry.question.depth, None
        n_features, n_rows = self.bits.rows.columns.shape
        is_large = n_rows * n_features**2 > _LARGE
        for current in range(1, depth + 1):
            if current == 4 < depth and is_large:
                yield from self._first_trees()
            # A root of depth two knows nothing of the literals below it.
            shallow, last = node if current > 3 else None, current == depth
            node = self._node(self.state, current, shallow)
            yield self._take_over(node, last)
            # A bound that falls in steps is worth its time where the search lasts.
            stepwise = node.keeps_children if current > 4 else is_large
            steps, dives = (_BOUND_STEPS if stepwise else 1), (_DIVES if current > 3 else 0)
            work, passes = self.known.work, _PIECE // (n_rows * n_features**2)
            if current > 4 and self.state.shares_subsets:
                passes = 0  # a subset counts as one pass, and may take seconds
            next_piece = int(work[0]) + passes
            for _ in node.tightenings(steps=steps, dives=dives):
                # To look at all bounds, and to change threads, costs as much as many a feature.
                if work[0] >= next_piece or node.best[0] < self.known.best - self.inquiry.slack:
                    yield self._take_over(node, last)
                    next_piece = int(work[0]) + passes
            if last and self.inquiry.question.all_roots:
                is_open = node.feature_lower < node.feature_upper - self.inquiry.slack
                for f in np.flatnonzero(is_open[:, 0]):
                    if self.inquiry.stop[0]:
                        break
                    node.tighten(int(f), np.full(1, INFINITE))
                    yield self._take_over(node, last)
            yield self._take_over(node, last)
            if self.inquiry.stop[0]:
                return

    def _first_trees(self) -> Iterator[State]:
        """Good trees of full depth, each better than the one before."""
        question = self.inquiry.question
        for cost, tree in deeper_trees(self._look, None, question.depth, 2**question.depth):
            if tree is not None and not self.inquiry.stop[0]:
                self._offer(cost, tree)
                yield self.known

    def _look(self, subset: np.ndarray | None, depth: int, leaves: int) -> Look:
        """The best tree of three levels; then columns by the best ones of two below them."""
        node, terms = self._node(self.state, min(3, depth), None, subset), self.state.terms
        node.search()
        cost, upper = float(node.best[0]), node.feature_upper[:, 0]
        order = np.argsort(upper, kind="stable").tolist()
        # Nothing costs less than two leaves without errors.
        if depth <= 3 or cost <= 2 * terms.penalty + terms.slack or terms.stop[0]:
            order = []
        sides = ((f, node.literal_rows(2 * f), node.literal_rows(2 * f + 1)) for f in order)
        return cost, node.tree, (split for split in sides if upper[split[0]] < INFINITE)

    def _take_over(self, node: LiteralNode, last: bool) -> State:
        """Take over a better tree, and the bounds of a node of full depth."""
        question, known = self.inquiry.question, self.known
        if node.best[0] < known.best - self.inquiry.slack:
            tree = node.tree()
            if tree is not None:
                self._offer(float(node.best[0]), tree)
        if last and node.complete:
            known.lower = float(node.bound[0])
            known.by_column = self.bits.of_columns(node.feature_lower[:, 0])
            if question.leaf_limit == 2**question.depth:
                known.reached = self.bits.of_columns(node.feature_upper[:, 0])
        return known

    def _limit_leaves(self) -> None:
        """The best of the trees of every size that is allowed; nothing when stopped early."""
        known = self.known
        node = self._node(self.state.by_leaves(), self.inquiry.question.depth)
        best = node.search()[1]
        if self.inquiry.stop[0]:
            return
        # An entry may have fewer leaves than it allows; then an entry before it has the same tree.
        for k in np.flatnonzero(best < INFINITE).tolist():
            tree = node.tree(k)
            if tree is not None:
                known.by_leaves.append((k + 1, float(best[k]), self.bits.of_table(tree)))
                self._offer(float(best[k]) + self.inquiry.price * (k + 1), tree)
        known.lower = max(known.lower, known.best)

    def _offer(self, cost: float, tree: PathTree) -> None:
        """Take a better tree that is small enough."""
        is_better = cost < min(self.known.best - self.inquiry.slack, INFINITE)
        if is_better and count_leaves(tree) <= self.inquiry.question.leaf_limit:
            self.known.best, self.known.tree = cost, self.bits.of_table(tree)
