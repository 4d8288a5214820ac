"""A forced root feature that separates no rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from octcore.search.univariate.problem import PathEvent, PathProblem, PathSearchResult
from octcore.search.univariate.tree import Branch, Leaf, PathTree


def is_constant(problem: PathProblem, f: int) -> bool:
    """Tell whether a feature separates no rows of positive weight."""
    rows = slice(None) if problem.weights is None else np.asarray(problem.weights) > 0
    return len(np.unique(problem.X[rows, f])) == 1


def search_below_constant(
    solve: Callable[..., PathSearchResult],
    problem: PathProblem,
    on_event: Callable[[PathEvent], None] | None,
    cancel: Callable[[], bool] | None,
    time_limit: float | None,
) -> PathSearchResult:
    """Solve with a root that sends every row to one side: one level less and one empty leaf.

    Parameters
    ----------
    solve : callable
        `path_search`, for the problem below the root.
    problem : PathProblem
        Its root feature is constant.
    on_event, cancel, time_limit
        As in `path_search`.
    """
    root = _ConstantRoot(problem)

    def forward(event: PathEvent) -> None:
        if on_event is not None:
            on_event(root.lift(event))

    return root.result(solve(root.below, forward, cancel, time_limit))


@dataclass(frozen=True, eq=False)
class _ConstantRoot:
    """A problem whose root feature sends all rows to one side, and the problem on that side."""

    problem: PathProblem

    @property
    def feature(self) -> int:
        assert self.problem.root_feature is not None
        return self.problem.root_feature

    @property
    def below(self) -> PathProblem:
        spare = self.problem.max_leaves
        return replace(
            self.problem,
            depth=self.problem.depth - 1,
            root_feature=None,
            max_leaves=None if spare is None else max(1, spare - 1),
            start=None,
            start_value=None,
        )

    def wrap(self, tree: PathTree) -> PathTree:
        """Put the root and its empty leaf above a tree."""
        problem, f = self.problem, self.feature
        rows = slice(None) if problem.weights is None else np.asarray(problem.weights) > 0
        to_right = bool(problem.X[rows, f][0])
        return Branch(f, Leaf(0), tree) if to_right else Branch(f, tree, Leaf(0))

    def lift(self, event: PathEvent) -> PathEvent:
        """Charge the empty leaf to what is known below."""
        price = self.problem.leaf_penalty
        return replace(
            event,
            objective=None if event.objective is None else event.objective - price,
            bound=None if event.bound is None else event.bound - price,
            tree=None if event.tree is None else self.wrap(event.tree),
        )

    def result(self, below: PathSearchResult) -> PathSearchResult:
        """Answer for the whole problem; an empty leaf is refused by a smallest leaf."""
        problem, f, price = self.problem, self.feature, self.problem.leaf_penalty
        values = np.full(problem.X.shape[1], 1.0 - 2 * price)
        exact = np.zeros(len(values), bool)
        impossible = problem.min_samples_leaf > 1 or (problem.max_leaves or 2) < 2
        if impossible or below.tree is None or below.objective is None or below.bound is None:
            values[f], exact[f] = -np.inf, True
            return replace(
                below, status="infeasible", tree=None, objective=None, bound=None,
                root_values=values, root_exact=exact,
            )  # fmt: skip
        values[f], exact[f] = below.bound - price, below.status == "optimal"
        return replace(
            below,
            tree=self.wrap(below.tree),
            objective=below.objective - price,
            bound=below.bound - price,
            root_values=values,
            root_exact=exact,
            events=tuple(self.lift(event) for event in below.events),
        )
