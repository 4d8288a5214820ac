"""Incumbent, bound and reports of one routing search, in terms of the caller's rows."""

import threading
import time
from collections import deque
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from octcore.search.margot.records import Planes, RoutingProblem, Status
from octcore.search.report import Receive, Report, Stop, unheard

_BOUND_PERIOD = 0.1  # seconds between two reports of a bound, so that a trace stays readable


class Tracker:
    """Best tree and bound so far, and how the search ended; reports in the thread that made it."""

    def __init__(self, receive: Receive = unheard, stop: Stop = lambda states: False) -> None:
        self._receive, self._stop = receive, stop
        self.status: Status = "stopped"
        self.objective, self.lowest = np.inf, -np.inf
        self.planes = Planes(np.zeros((0, 0)), np.zeros(0))
        self.routing = np.zeros(0, np.int64)
        self.stopped, self.states = False, 0
        self._last_bound = -np.inf
        self._owner, self._lock = threading.get_ident(), threading.Lock()
        self._waiting: deque[Report] = deque()

    def stop(self) -> bool:
        """Whether the caller asked to stop."""
        if threading.get_ident() == self._owner:
            self._deliver()
            self.stopped = self.stopped or self._stop(self.states)
        return self.stopped

    def offer(
        self, objective: float, planes: Planes, routing: NDArray[np.int64], source: str
    ) -> bool:
        """Keep a tree if it is better; ``routing`` is 0-based and on merged rows."""
        with self._lock:
            if objective >= self.objective * (1.0 - 1e-12):  # less is rounding of sums
                return False
            self.objective, self.planes, self.routing = objective, planes, routing.copy()
            self._waiting.append(Report(self.states, planes, objective, source=source))
        if threading.get_ident() == self._owner:
            self._deliver()
        return True

    def bound(self, value: float, force: bool = False) -> None:
        """Report a bound if it rose and the last one is old enough."""
        value = min(value, self.objective)
        rose = value > self.lowest + 1e-9 * abs(value)
        now = time.monotonic()
        if rose and (force or now - self._last_bound >= _BOUND_PERIOD):
            self.lowest, self._last_bound = value, now
            self._waiting.append(Report(self.states, bound=value))
            self._deliver()

    def _deliver(self) -> None:
        """Hand over what is new; only the thread that made the tracker talks to the caller."""
        while self._waiting:
            self._receive(self._waiting.popleft())


def merged_rows(problem: RoutingProblem) -> tuple[RoutingProblem, NDArray[np.int64]]:
    """Problem with rows of equal features and label merged, and each row's merged position."""
    x = np.ascontiguousarray(problem.x, float)
    y = problem.y.astype(float)
    given = np.ones(len(y)) if problem.weights is None else np.asarray(problem.weights, float)
    table, inverse = np.unique(np.column_stack([x, y]), axis=0, return_inverse=True)
    inverse = inverse.ravel().astype(np.int64)
    weights = np.bincount(inverse, given)
    merged = replace(
        problem, x=np.ascontiguousarray(table[:, :-1]), y=table[:, -1].copy(), weights=weights
    )
    return merged, inverse


def merged_routing(routing: NDArray[np.int64], inverse: NDArray[np.int64]) -> NDArray[np.int64]:
    """Routing of the caller's rows (1-based heap) as one of the merged rows (0-based)."""
    merged = np.zeros(int(inverse.max()) + 1, np.int64)
    merged[inverse] = np.asarray(routing, np.int64) - 1
    return merged
