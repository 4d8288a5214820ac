"""Exact search for optimal univariate trees: accuracy minus a penalty per leaf, at any depth.

The objective is turned into a cost in integer weight units, errors plus penalty per leaf, on the
reduced instance of `presolve`. Depths up to two are one D2S; deeper trees are searched depth by
depth (`path_node`), each depth giving bounds and an incumbent to the next.

Ties: at depths up to three the tree is the canonical one of D2S (fewest leaves, then the
lexicographically first structure); deeper, the same order is applied to the optimal roots found,
and the tree is the same in every run that finishes.

`path_search` returns the proof as well: a valid bound at any time, and for every feature the best
value with that feature at the root.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Literal, cast

import numpy as np

from octcore import kernels
from octcore.errors import SettingsError
from octcore.search.univariate.constant_root import (
    has_idle_root,
    may_be_idle,
    search_below_constant,
)
from octcore.search.univariate.depth_two import TIE
from octcore.search.univariate.kernels import INFEASIBLE
from octcore.search.univariate.large_price import LARGEST_PRICE, search_with_smaller_price
from octcore.search.univariate.leaves import search_by_leaves
from octcore.search.univariate.node import LiteralNode, SearchState, ShallowNode
from octcore.search.univariate.presolve import Presolved, presolve
from octcore.search.univariate.problem import PathEvent, PathProblem, PathSearchResult, Status
from octcore.search.univariate.runner import run_watched
from octcore.search.univariate.tree import (
    Branch,
    Leaf,
    PathTree,
    canonical_key,
    count_leaves,
    map_features,
)
from octcore.search.univariate.warm_up import sets

_BOUND_STEPS = 8
"""In how many steps the bound of a root feature rises to the incumbent (a falling global bound)."""
_SAME = 1e-9
"""Objectives closer than this are equal."""
_CLOSED = 3e-9
"""A bound this close to the incumbent is closed: the slack of the search, and rounding."""
_LARGE = 2_000_000
"""Rows times squared features from which a depth-four search takes more than some 50 ms."""
_DIVES = 3
"""How many promising roots are solved first, for a good incumbent early."""
_MOST_TIES = 200
"""How many roots of equal value are compared for the canonical choice."""


def path_search(
    problem: PathProblem,
    on_event: Callable[[PathEvent], None] | None = None,
    cancel: Callable[[], bool] | None = None,
    time_limit: float | None = None,
) -> PathSearchResult:
    """Find the optimal tree and prove it, or return the best tree and a valid bound.

    Parameters
    ----------
    problem : PathProblem
    on_event : callable, optional
        Receives every `PathEvent` on the calling thread as it comes.
    cancel : callable, optional
        Polled about every 50 ms on the calling thread; True ends the search.
    time_limit : float, optional
        Seconds of wall-clock time.

    Returns
    -------
    PathSearchResult

    Raises
    ------
    DataError, SettingsError
        If the problem makes no sense, see `PathProblem.check`.
    """
    problem.check()
    forced = problem.root_feature
    if forced is not None and problem.depth == 0:
        raise SettingsError(
            "CONFLICT", "A tree of depth 0 has no root split; drop root_feature.", "root_feature"
        )
    if problem.leaf_penalty > LARGEST_PRICE:
        return search_with_smaller_price(path_search, problem, on_event, cancel, time_limit)
    if forced is not None and has_idle_root(problem, forced):
        return search_below_constant(path_search, problem, on_event, cancel, time_limit)
    return _Search(problem, on_event).run(cancel, time_limit)


class _Search:
    """One run: the reduced instance, what is known so far, and the events."""

    def __init__(self, problem: PathProblem, on_event: Callable[[PathEvent], None] | None) -> None:
        self.problem = problem
        self.on_event = on_event
        self.begin = time.perf_counter()
        self.events: list[PathEvent] = []
        self.reduced: Presolved = presolve(
            problem.X,
            problem.y,
            problem.weights,
            problem.n_classes,
            problem.forbidden_features,
            problem.min_samples_leaf,
        )
        self.total = self.reduced.total
        slack = TIE * max(1.0, self.total)
        self.state = SearchState(
            self.reduced.rows, problem.leaf_penalty * self.total, slack, problem.threads
        )
        self.objective: float | None = None
        self.tree: PathTree | None = None
        self.bound = self.reduced.ceiling - problem.leaf_penalty
        self.node: LiteralNode | ShallowNode | None = None
        self.shallow: LiteralNode | ShallowNode | None = None
        self.compile_seconds = 0.0

    def run(self, cancel: Callable[[], bool] | None, time_limit: float | None) -> PathSearchResult:
        """Compile if needed, search on a second thread, and collect the result."""
        width = self.reduced.rows.bits.dtype.itemsize * 8
        needed = sets(width, self.problem.depth, self.problem.max_leaves is not None)
        self.compile_seconds = kernels.require(*needed, stop=cancel or (lambda: False))
        self.begin += self.compile_seconds
        self._emit(PathEvent("started", self._seconds(), bound=self.bound))
        if self._is_impossible():
            return self._result("infeasible")
        deadline = None if time_limit is None else self.begin + time_limit
        reason = run_watched(self._work, self.state.stop, self._emit, cancel, deadline)
        if self.objective is not None and self.objective >= self.bound - _CLOSED:
            return self._result("optimal")
        if reason == "finished":
            assert self.objective is None, "the search ended without closing its gap"
            return self._result("infeasible")
        return self._result(cast(Status, reason))

    def _is_impossible(self) -> bool:
        """Tell whether the leaf size or the root rules out every tree at first sight."""
        problem, root = self.problem, self.problem.root_feature
        if root is not None and (problem.max_leaves == 1 or self._position(root) < 0):
            return True
        return problem.min_samples_leaf > len(problem.y)

    def _work(self, post: Callable[[PathEvent], None]) -> None:
        """Body of the second thread."""
        problem = self.problem
        self._offer(problem.start, "warm start", post)
        self._offer(self._single_leaf(), "search", post)
        subset = np.arange(len(self.reduced.rows.block))
        depth = problem.depth if len(self.reduced.columns.kept) else 0
        if depth > 0:
            self._depth_by_depth(subset, depth, post)
        elif problem.root_feature is None:
            self._lower_bound(
                self.reduced.total - float(self.reduced.class_weight.max()) + self.state.penalty,
                post,
            )
        if problem.max_leaves is not None and not self.state.stop[0]:
            self._limit_leaves(subset, post)

    def _depth_by_depth(
        self, subset: np.ndarray, depth: int, post: Callable[[PathEvent], None]
    ) -> None:
        """Search every depth up to the last; each gives bounds and trees to the next."""
        node: LiteralNode | None = None
        if depth <= 2:
            self._finish(ShallowNode(self.state, subset, depth), True, post)
            if depth == 2:
                self.shallow = ShallowNode(self.state, subset, 1)
            return
        self.shallow = ShallowNode(self.state, subset, 2)
        for current in range(3, depth + 1):
            node = LiteralNode(self.state, subset, current, node)
            self.node, last = node, current == depth
            if self.problem.root_feature is not None:
                node.restrict_root(self._position(self.problem.root_feature))
            step = partial(self._progress, node, last, post)
            stepwise = self._is_large() if current <= 4 else node.keeps_children
            steps, dives = (_BOUND_STEPS if stepwise else 1), (_DIVES if current > 3 else 0)
            node.search(self._cutoff() if last else np.inf, steps, dives, step)
            if last and not self.state.stop[0]:
                # A claimed start value that nothing attains must not end the search.
                node.search(np.inf, steps, 0, step)
                self._close_roots(node, step)
            self._progress(node, last, post)
            if self.state.stop[0]:
                return
            if last:
                self._break_ties(node, post)
            else:
                self.shallow = node

    def _is_large(self) -> bool:
        """Tell whether the search lasts long enough for a bound that falls in steps."""
        n_rows, n_features = self.reduced.rows.bits.shape
        return n_rows * n_features**2 > _LARGE

    def _close_roots(self, node: LiteralNode, step: Callable[[], None]) -> None:
        """Make the value of every root feature exact if the caller wants that."""
        if not self.problem.all_root_values:
            return
        for f in np.flatnonzero(node.feature_lower < INFEASIBLE):
            if self.state.stop[0]:
                return
            node.tighten(int(f), INFEASIBLE)
            step()

    def _break_ties(self, node: LiteralNode, post: Callable[[PathEvent], None]) -> None:
        """Among roots that tie, prefer few leaves and then the canonical order."""
        tied = np.flatnonzero(node.feature_upper <= node.best + self.state.slack)[:_MOST_TIES]
        if node.root < 0 or len(tied) < 2 or self.problem.max_leaves is not None:
            return
        trees: list[PathTree] = []
        for f in tied:
            if self.state.stop[0]:
                return
            trees.append(self._original(node.root_tree(int(f))))
        tree = min(trees, key=lambda tree: (count_leaves(tree), canonical_key(tree)))
        if tree != self.tree and self.problem.objective(tree) >= (self.objective or 0.0) - _SAME:
            self.objective, self.tree = self.problem.objective(tree), tree
            post(self._event("incumbent", tree, "ties"))

    def _finish(self, node: ShallowNode, last: bool, post: Callable[[PathEvent], None]) -> None:
        self.node = node
        if self.problem.root_feature is not None:
            node.restrict_root(self._position(self.problem.root_feature))
        self._progress(node, last, post)

    def _limit_leaves(self, subset: np.ndarray, post: Callable[[PathEvent], None]) -> None:
        """Solve again with a limit on the leaves if the tree without it is too large."""
        if self.objective is not None and self.objective >= self.bound - _CLOSED:
            return
        root = self.problem.root_feature
        found = search_by_leaves(
            self.state,
            subset,
            self.problem.depth if len(self.reduced.columns.kept) else 0,
            int(self.problem.max_leaves or 1),
            None if root is None else self._position(root),
        )
        if self.state.stop[0]:
            return
        costs = [errors + self.state.penalty * leaves for leaves, errors, _ in found]
        if not costs:
            return
        best = int(np.argmin(costs))
        self._offer(self._original(found[best][2]), "search", post)
        self._lower_bound(costs[best], post)

    # Bookkeeping

    def _seconds(self) -> float:
        return time.perf_counter() - self.begin

    def _emit(self, event: PathEvent) -> None:
        self.events.append(event)
        if self.on_event is not None:
            self.on_event(event)

    def _position(self, f: int) -> int:
        return int(self.reduced.columns.position[f])

    def _cutoff(self) -> float:
        """Cost that a tree at least as good as the claimed start value must stay below."""
        if self.problem.start_value is None:
            return np.inf
        return (1.0 - self.problem.start_value) * self.total + 4 * self.state.slack

    def _single_leaf(self) -> Leaf:
        return Leaf(int(self.reduced.class_weight.argmax()))

    def _original(self, tree: PathTree) -> PathTree:
        """Rename kernel features; a forced complement at the root swaps the children."""
        columns = self.reduced.columns
        tree = map_features(tree, lambda f: int(columns.kept[f]))
        root = self.problem.root_feature
        if root is None or isinstance(tree, Leaf):
            return tree
        left, right = tree.left, tree.right
        return Branch(root, right, left) if columns.flipped[root] else Branch(root, left, right)

    def _offer(self, tree: PathTree | None, source: str, post: Callable[[PathEvent], None]) -> None:
        """Take a tree as incumbent if it is allowed and better."""
        if tree is None or not self.problem.allows(tree):
            return
        objective = self.problem.objective(tree)
        if self.objective is not None and objective <= self.objective + _SAME:
            return
        self.objective, self.tree = objective, tree
        self.bound = max(self.bound, objective)
        post(self._event("incumbent", tree, source))

    def _lower_bound(self, cost: float, post: Callable[[PathEvent], None]) -> None:
        """Take over a lower bound on the cost of the whole problem.

        That no tree is possible is no bound: the status says so in the end.
        """
        if cost >= INFEASIBLE:
            return
        bound = 1.0 - cost / self.total
        if self.objective is not None and bound < self.objective + _CLOSED:
            bound = self.objective
        if bound < self.bound - _SAME:
            self.bound = bound
            post(self._event("bound"))

    def _event(
        self, kind: Literal["incumbent", "bound"], tree: PathTree | None = None, source: str = ""
    ) -> PathEvent:
        runs = int(self.state.runs[0])
        return PathEvent(kind, self._seconds(), self.objective, self.bound, tree, source, runs)

    def _progress(
        self, node: LiteralNode | ShallowNode, last: bool, post: Callable[[PathEvent], None]
    ) -> None:
        """Report a better tree or bound of a node that covers the whole data set."""
        if node.best < INFEASIBLE:
            objective = 1.0 - node.best / self.total
            if self.objective is None or objective > self.objective + _SAME:
                self._offer(self._original(node.tree()), "search", post)
        if last:
            self._lower_bound(node.bound, post)

    # Result

    def _result(self, status: Status) -> PathSearchResult:
        values, exact = self._root_values()
        leaf = self._single_leaf()
        allowed = self.problem.min_samples_leaf <= len(self.problem.y)
        if status == "optimal":
            self.bound = self.objective if self.objective is not None else self.bound
        bound = None if status == "infeasible" else self.bound
        finished = PathEvent(
            "finished", self._seconds(), self.objective, bound, self.tree, "",
            int(self.state.runs[0]),
        )  # fmt: skip
        self._emit(finished)
        return PathSearchResult(
            status=status,
            tree=self.tree,
            objective=self.objective,
            bound=bound,
            root_values=values,
            root_exact=exact,
            leaf_value=self.problem.objective(leaf) if allowed else None,
            ceiling=self.reduced.ceiling,
            nodes=self.state.nodes,
            runs=int(self.state.runs[0]),
            compile_seconds=self.compile_seconds,
            search_seconds=self._seconds(),
            events=tuple(self.events),
        )

    def _root_values(self) -> tuple[np.ndarray, np.ndarray]:
        """Value of every original feature at the root, and whether it is exact."""
        problem, columns = self.problem, self.reduced.columns
        n_features = problem.X.shape[1]
        first = self.reduced.ceiling - 2 * problem.leaf_penalty
        values, exact = np.full(n_features, first), np.zeros(n_features, bool)
        if problem.depth == 0 or problem.min_samples_leaf > len(problem.y):
            return np.full(n_features, -np.inf), ~exact
        forbidden = np.zeros(n_features, bool)
        if problem.forbidden_features is not None:
            forbidden = np.asarray(problem.forbidden_features, bool)
        node = self.node
        # What a search of smaller depth has found says nothing about trees of this depth.
        if (
            node is not None
            and node.depth == problem.depth
            and (isinstance(node, ShallowNode) or node.complete)
        ):
            lower, upper = node.feature_costs()
            used = columns.position >= 0
            position = columns.position[used]
            cost = lower[position]
            values[used] = np.minimum(first, 1.0 - cost / self.total)
            values[used] = np.where(cost >= INFEASIBLE, -np.inf, values[used])
            exact[used] = (cost >= upper[position] - self.state.slack) | (cost >= INFEASIBLE)
        idle = (columns.position < 0) & ~forbidden
        values[idle], exact[idle] = self._idle_root_value(first)
        refused = idle & ~may_be_idle(problem)
        values[refused], exact[refused] = -np.inf, True
        if problem.max_leaves is not None and problem.max_leaves < 2**problem.depth:
            exact[:] = False
        values[forbidden], exact[forbidden] = -np.inf, True
        return values, exact

    def _idle_root_value(self, first: float) -> tuple[float, bool]:
        """Value of a root that separates nothing: one level less and one empty leaf."""
        problem = self.problem
        best, bound = INFEASIBLE, 0.0
        if problem.depth == 1 or not len(self.reduced.columns.kept):
            best = bound = self.total - float(self.reduced.class_weight.max()) + self.state.penalty
        elif self.shallow is not None and self.shallow.depth == problem.depth - 1:
            best, bound = self.shallow.best, self.shallow.bound
        if problem.root_feature is not None and problem.depth > 3:
            bound = 0.0
        value = 1.0 - (bound + self.state.penalty) / self.total
        return min(first, value), bound >= best - self.state.slack
