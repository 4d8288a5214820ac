"""A forced root feature that separates no rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from octcore.search.univariate.presolve import integer_weights, searched_rows
from octcore.search.univariate.problem import PathEvent, PathProblem, PathSearchResult
from octcore.search.univariate.tree import Branch, Leaf, PathTree


def is_constant(problem: PathProblem, f: int) -> bool:
    """Tell whether a feature separates none of the rows that the search has to see."""
    return len(np.unique(problem.X[_seen(problem), f])) == 1


def has_idle_root(problem: PathProblem, f: int) -> bool:
    """Tell whether a tree may start with a feature, and that feature separates nothing."""
    return is_constant(problem, f) and bool(may_be_idle(problem)[f]) and problem.max_leaves != 1


def may_be_idle(problem: PathProblem) -> np.ndarray:
    """Tell where a split that separates none of those rows keeps the leaf size, (n_features,).

    Its idle leaf holds the rows of the other value: none, or some of weight zero.
    """
    value = problem.X[np.flatnonzero(_seen(problem))[0]]
    return (problem.X != value).sum(axis=0) >= problem.min_samples_leaf


def _seen(problem: PathProblem) -> np.ndarray:
    whole, _ = integer_weights(problem.weights, len(problem.y))
    return searched_rows(whole, problem.min_samples_leaf)


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
    root = ConstantRoot(problem)

    def forward(event: PathEvent) -> None:
        if on_event is not None:
            on_event(root.lift(event))

    return root.result(solve(root.below, forward, cancel, time_limit))


@dataclass(frozen=True, eq=False)
class ConstantRoot:
    """A problem whose root feature sends all rows to one side, and the problem on that side."""

    problem: PathProblem

    @property
    def feature(self) -> int:
        """The forced root."""
        assert self.problem.root_feature is not None
        return self.problem.root_feature

    @property
    def below(self) -> PathProblem:
        """The problem on the side that gets the rows."""
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
        to_right = bool(problem.X[_seen(problem), f][0])
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
        """Answer for the whole problem; a smallest leaf may refuse the idle one."""
        problem, f, price = self.problem, self.feature, self.problem.leaf_penalty
        values = np.full(problem.X.shape[1], 1.0 - 2 * price)
        exact = np.zeros(len(values), bool)
        if below.status == "infeasible" or below.bound is None:
            values[f], exact[f] = -np.inf, True
            return replace(below, root_values=values, root_exact=exact)
        values[f], exact[f] = below.bound - price, below.status == "optimal"
        return replace(
            below,
            tree=None if below.tree is None else self.wrap(below.tree),
            objective=None if below.objective is None else below.objective - price,
            bound=below.bound - price,
            root_values=values,
            root_exact=exact,
            events=tuple(self.lift(event) for event in below.events),
        )
