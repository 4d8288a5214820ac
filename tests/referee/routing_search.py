"""The routing search under limits of states and time, with all that it told."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from octcore.search.margot.records import Planes, RoutingProblem, Status, merged_rows
from octcore.search.margot.search import routing_search
from octcore.search.report import Report


@dataclass(frozen=True, eq=False)
class Outcome:
    """How a search ended."""

    status: Status
    objective: float
    bound: float
    planes: Planes
    routing: np.ndarray
    """Last-level branch node of every row (1-based heap)."""
    reports: list[Report]

    @property
    def trees(self) -> list[Report]:
        """Reports of better trees."""
        return [report for report in self.reports if report.planes is not None]

    @property
    def falling(self) -> list[float]:
        """Objectives of better trees."""
        return [tree.objective for tree in self.reports if tree.objective is not None]

    @property
    def bounds(self) -> list[float]:
        """Bounds that were reported."""
        return [report.bound for report in self.reports if report.bound is not None]

    @property
    def gap(self) -> float:
        """Relative gap."""
        return (self.objective - self.bound) / max(1e-10, abs(self.objective))


def solved(
    problem: RoutingProblem,
    node_limit: float = np.inf,
    time_limit: float = np.inf,
    stop: Callable[[], bool] = lambda: False,
    **options: Any,
) -> Outcome:
    """Search until proven, or until a limit."""
    reports: list[Report] = []
    end = time.monotonic() + time_limit

    def receive(report: Report) -> bool:
        reports.append(report)
        return False

    def ends(states: int) -> bool:
        return stop() or states >= node_limit or time.monotonic() >= end

    found = routing_search(problem, receive, ends, **options)
    routing = found.routing[merged_rows(problem)[1]] + 1
    return Outcome(found.status, found.objective, found.lowest, found.planes, routing, reports)
