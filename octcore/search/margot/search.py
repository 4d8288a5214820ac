"""Exact search for MARGOT trees over routings: the entry point.

`core` holds the plain search, `nested` the one from depth 3 on and `sparse` the one under feature
budgets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from octcore import kernels
from octcore.search.margot.core import RoutingSearch
from octcore.search.margot.incumbent import Tracker, merged_routing, merged_rows
from octcore.search.margot.nested import NestedSearch
from octcore.search.margot.records import Cancel, OnEvent, RoutingProblem, RoutingResult
from octcore.search.margot.sparse import SparseRoutingSearch


def routing_search(
    problem: RoutingProblem,
    on_event: OnEvent | None = None,
    cancel: Cancel | None = None,
    time_limit: float | None = None,
    node_limit: float = np.inf,
    starts: Sequence[NDArray[np.int64]] = (),
) -> RoutingResult:
    """Solve a MARGOT problem to the requested gap or until stopped.

    Parameters
    ----------
    problem : RoutingProblem
        Data and settings.
    on_event : callable, optional
        Receives every `RoutingIncumbent` and `RoutingBound` as it happens.
    cancel : callable, optional
        Polled at least every 0.3 s; the search stops when it returns True.
    time_limit : float, optional
        Seconds, counted after the kernels are compiled (see `RoutingResult.compile_seconds`).
    node_limit : float
        States after which the search stops.
    starts : sequence of ndarray of shape (n_samples,)
        Routings to try before the search: the last-level node of each sample (1-based heap), as
        in `RoutingResult.routing`; rows with equal features must go together.

    Returns
    -------
    RoutingResult
        Always with a tree; its bound is valid whatever stopped the search.
    """
    compiled = kernels.require(kernel_set(problem.variant), stop=cancel or (lambda: False))
    return _solve(problem, on_event, cancel, time_limit, node_limit, compiled, starts)


def make_search(problem: RoutingProblem, tracker: Tracker) -> RoutingSearch:
    """Search for a problem's variant."""
    if problem.variant != "margot":
        return SparseRoutingSearch(problem, tracker)
    kind = NestedSearch if problem.depth > 2 else RoutingSearch
    return kind(problem, tracker)


def _solve(
    problem: RoutingProblem,
    on_event: OnEvent | None,
    cancel: Cancel | None,
    time_limit: float | None,
    node_limit: float,
    compiled: float,
    starts: Sequence[NDArray[np.int64]] = (),
) -> RoutingResult:
    merged, inverse = merged_rows(problem)
    tracker = Tracker(inverse, on_event, cancel, time_limit)
    search = make_search(merged, tracker)
    search.start()
    for routing in starts:
        search.try_routing(merged_routing(routing, inverse), "warm start")
    status = search.run(node_limit)
    search.polish()
    return tracker.result(status, search.bound, search.explored(), search.pivots(), compiled)


PLAIN, BUDGETS = "plain", "budgets"
ALL = (f"{__name__}:{PLAIN}", f"{__name__}:{BUDGETS}")
"""Sets of kernels, see `octcore.kernels`."""


def kernel_set(variant: str) -> str:
    """Name of the set of kernels of a variant."""
    return ALL[0] if variant == "margot" else ALL[1]


def warm_up() -> float:
    """Compile (or load) all kernels; seconds of the first call, 0 afterwards."""
    return kernels.require(*ALL)


def compile_part(part: str) -> None:
    """Run the kernels of one set on a few points."""
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.5, 0.6]])
    xor = np.array([-1.0, 1.0, 1.0, -1.0, 1.0])
    problem = RoutingProblem(corners, xor, 2, 1.0, 100.0)
    if part == BUDGETS:
        problem = replace(problem, variant="hfs", budget_upper=1, budget_last=1)
    else:
        _solve(problem, None, None, None, np.inf, 0.0)
    _solve(replace(problem, depth=2 if part == BUDGETS else 3), None, None, None, 20, 0.0)
