"""A routing problem with the way to trees and back: what formulations hand to the engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from octcore.search.margot.records import Planes, RoutingProblem
from octcore.search.margot.search import routing_search
from octcore.search.report import Best, Receive, Stop
from octcore.tree.tree import Tree

UNDECIDED = "Rounding kept the last routings from being decided; the gap stays."


@dataclass(frozen=True, eq=False)
class RoutingTask:
    """A problem on arrays with the way to trees and back, see `PlaneTask`."""

    problem: RoutingProblem
    to_tree: Callable[[Planes], Tree]
    to_routing: Callable[[Tree], NDArray[np.int64] | None]
    """Last-level branch node of every row, to start from; None for a tree that has none."""

    @property
    def one_thread(self) -> str | None:
        """Name of the search that has no use for more threads."""
        return None if self.problem.variant == "margot" else "The search under feature budgets"

    def search(
        self, receive: Receive, stop: Stop, best: Best, gap: float, threads: int
    ) -> str | None:
        """Search, from the best tree among others."""
        start = None if best is None else self.to_routing(best[1])
        problem = replace(self.problem, gap=gap, threads=threads)
        found = routing_search(problem, receive, stop, () if start is None else (start,))
        return UNDECIDED if found.status == "stalled" else None
