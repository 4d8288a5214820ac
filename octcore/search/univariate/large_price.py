"""Prices so high that no tree has a leaf more than it needs.

A leaf gains an accuracy of 1 at most.  From a price of 2 on, the best trees are therefore the most
accurate ones among those with fewest leaves, whatever the price.  So the search is asked with a
price of 2, which keeps its costs far below what stands for "impossible", and what it says is put
back to the price that was asked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from octcore.search.univariate.problem import PathEvent, PathProblem, PathSearchResult

LARGEST_PRICE = 2.0


def search_with_smaller_price(
    solve: Callable[..., PathSearchResult],
    problem: PathProblem,
    on_event: Callable[[PathEvent], None] | None,
    cancel: Callable[[], bool] | None,
    time_limit: float | None,
) -> PathSearchResult:
    """Solve with the largest price that matters.

    Parameters
    ----------
    solve : callable
        `path_search`, for the problem with the smaller price.
    problem : PathProblem
        With a price above `LARGEST_PRICE`.
    on_event, cancel, time_limit
        As in `path_search`.
    """
    surplus = problem.leaf_penalty - LARGEST_PRICE
    fewest = 1 if problem.root_feature is None else 2
    claimed = problem.start_value
    start_value = None if claimed is None else claimed + surplus * fewest
    smaller = replace(problem, leaf_penalty=LARGEST_PRICE, start_value=start_value)
    events: list[PathEvent] = []

    def forward(event: PathEvent) -> None:
        known = events[-1].objective if events else None
        if event.tree is not None:
            known = problem.objective(event.tree)
        bound = None if event.bound is None else event.bound - surplus * fewest
        if event.objective is not None and event.objective == event.bound:
            bound = known  # closed: what is left of the difference is rounding
        events.append(replace(event, objective=known, bound=bound))
        if on_event is not None:
            on_event(events[-1])

    found = solve(smaller, forward, cancel, time_limit)
    # Whatever the root is, the best tree below it has two leaves.
    values = np.where(np.isfinite(found.root_values), found.root_values - surplus * 2, -np.inf)
    return replace(
        found,
        objective=events[-1].objective,
        bound=events[-1].bound,
        root_values=values,
        leaf_value=None if found.leaf_value is None else found.leaf_value - surplus,
        events=tuple(events),
    )
