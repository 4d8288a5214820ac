"""A forced root feature that separates no rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from octcore.search.path_problem import PathEvent, PathProblem, PathSearchResult
from octcore.search.path_tree import Branch, Leaf, PathTree


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
    f = problem.root_feature
    assert f is not None
    rows = slice(None) if problem.weights is None else np.asarray(problem.weights) > 0
    to_right = bool(problem.X[rows, f][0])
    spare = None if problem.max_leaves is None else max(1, problem.max_leaves - 1)
    inner = replace(
        problem, depth=problem.depth - 1, root_feature=None, max_leaves=spare, start=None,
        start_value=None,
    )  # fmt: skip

    def wrap(tree: PathTree | None) -> PathTree | None:
        if tree is None:
            return None
        return Branch(f, Leaf(0), tree) if to_right else Branch(f, tree, Leaf(0))

    def lift(event: PathEvent) -> PathEvent:
        shift = problem.leaf_penalty
        objective = None if event.objective is None else event.objective - shift
        bound = None if event.bound is None else event.bound - shift
        return replace(event, objective=objective, bound=bound, tree=wrap(event.tree))

    def forward(event: PathEvent) -> None:
        if on_event is not None:
            on_event(lift(event))

    below = solve(inner, forward, cancel, time_limit)
    impossible = problem.min_samples_leaf > 1 or (problem.max_leaves or 2) < 2
    values = np.full(problem.X.shape[1], 1.0 - 2 * problem.leaf_penalty)
    exact = np.zeros(len(values), bool)
    if impossible or below.tree is None or below.objective is None or below.bound is None:
        values[f], exact[f] = -np.inf, True
        return replace(
            below, status="infeasible", tree=None, objective=None, bound=None,
            root_values=values, root_exact=exact,
        )  # fmt: skip
    values[f], exact[f] = below.bound - problem.leaf_penalty, below.status == "optimal"
    return replace(
        below,
        tree=wrap(below.tree),
        objective=below.objective - problem.leaf_penalty,
        bound=below.bound - problem.leaf_penalty,
        root_values=values,
        root_exact=exact,
        events=tuple(lift(event) for event in below.events),
    )
