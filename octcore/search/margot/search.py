"""Exact search for MARGOT trees over routings: the entry point.

`core` holds the plain search, `nested` the one from depth 3 on and `sparse` the one under feature
budgets.
"""

from collections.abc import Callable, Generator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from octcore.search.margot import records
from octcore.search.margot.core import RoutingSearch
from octcore.search.margot.nested import NestedSearch
from octcore.search.margot.proof import ClosedState, prove
from octcore.search.margot.sparse import SparseRoutingSearch
from octcore.search.report import Known, Receive, Stop, unheard
from octcore.tree.tree import Tree

UNDECIDED = "Rounding kept the last routings from being decided; the gap stays."


def routing_search(
    problem: records.RoutingProblem,
    receive: Receive = unheard,
    stop: Stop = lambda states: False,
    start: NDArray[np.int64] | None = None,
) -> records.Tracker:
    """Solve a MARGOT problem to the requested gap or until stopped; there is always a tree.

    `receive`: receives every better tree and bound as it happens.
    `stop`: asked at least every 0.3 s; the bound is valid whatever stopped the search.
    `start`: routing to try before it: the last-level node of each sample (1-based heap); rows with
    equal features must go together.
    """
    merged, inverse = records.merged_rows(problem)
    tracker = records.Tracker(receive, stop)
    kind = NestedSearch if problem.depth > 2 else RoutingSearch
    search = (kind if problem.variant == "margot" else SparseRoutingSearch)(merged, tracker)
    search.start()
    if start is not None:
        search.try_routing(records.merged_routing(start, inverse), "warm start")
    tracker.status = search.run()
    search.polish()
    tracker.bound(search.bound, force=True)
    return tracker


@dataclass(frozen=True, eq=False)
class RoutingTask:
    """A problem on arrays with the way to trees and back, see `PlaneTask`."""

    problem: records.RoutingProblem
    to_tree: Callable[[records.Planes], Tree]
    to_routing: Callable[[Tree], NDArray[np.int64] | None]
    """Last-level branch node of every row, to start from; None for a tree that has none."""

    @property
    def one_thread(self) -> str | None:
        """Name of the search that has no use for more threads."""
        return None if self.problem.variant == "margot" else "The search under feature budgets"

    def search(
        self, receive: Receive, stop: Stop, known: Known, gap: float, threads: int
    ) -> str | None:
        """Search, from the best tree among others."""
        best = known()
        start = None if best is None else self.to_routing(best[1])
        problem = replace(self.problem, gap=gap, threads=threads)
        found = routing_search(problem, receive, stop, start)
        return UNDECIDED if found.status == "stalled" else None

    def prove(
        self, target: float, stop: Callable[[], bool]
    ) -> Generator[ClosedState | Tree, None, bool]:
        """Yield closed states that prove a bound, or a better tree; returns whether they do."""
        return prove(self.problem, target, stop, self.to_tree)


PLAIN, BUDGETS = "plain", "budgets"
ALL = (f"{__name__}:{PLAIN}", f"{__name__}:{BUDGETS}")
"""Sets of kernels, see `octcore.numerics.kernels`."""


def kernel_set(variant: str) -> str:
    """Name of the set of kernels of a variant."""
    return ALL[0] if variant == "margot" else ALL[1]


def compile_part(part: str) -> None:
    """Run the kernels of one set on a few points."""
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [0.5, 0.6]])
    xor = np.array([-1.0, 1.0, 1.0, -1.0, 1.0])
    if part == BUDGETS:
        problem = records.RoutingProblem(corners, xor, 2, 1.0, 100.0, 1e-3, None, "hfs", 1, 1)
        routing_search(problem, stop=lambda states: states >= 20)
        return
    routing_search(records.RoutingProblem(corners, xor, 2, 1.0, 100.0))
    deep = records.RoutingProblem(corners, xor, 3, 1.0, 100.0)
    routing_search(deep, stop=lambda states: states >= 20)
