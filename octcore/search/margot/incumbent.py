"""Incumbent, bound, clock and events of one routing search, in terms of the caller's rows."""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from octcore.search.margot.records import (
    Cancel,
    OnEvent,
    Planes,
    RoutingBound,
    RoutingEvent,
    RoutingIncumbent,
    RoutingProblem,
    RoutingResult,
    Status,
)

# Seconds between two bound events, so that a trace stays readable.
_BOUND_PERIOD = 0.1


class Tracker:
    """Best tree and bound so far; stores events and forwards them in the thread that made it."""

    def __init__(
        self,
        inverse: NDArray[np.int64],
        on_event: OnEvent | None,
        cancel: Cancel | None,
        time_limit: float | None,
    ) -> None:
        self.inverse = inverse
        self.on_event = on_event
        self.cancel = cancel
        self.begun = time.monotonic()
        self.deadline = np.inf if time_limit is None else self.begun + time_limit
        self.objective = np.inf
        self.planes = Planes(np.zeros((0, 0)), np.zeros(0))
        self.routing = np.zeros(0, np.int64)
        self.events: list[RoutingEvent] = []
        self.cancelled = False
        self._best_bound = -np.inf
        self._last_bound = -np.inf
        self._owner, self._lock = threading.get_ident(), threading.Lock()
        self._waiting: deque[RoutingEvent] = deque()

    def seconds(self) -> float:
        """Seconds since the search began."""
        return time.monotonic() - self.begun

    def stop(self) -> bool:
        """Whether the caller cancelled or time is over."""
        if threading.get_ident() == self._owner:
            self._deliver()
            if not self.cancelled and self.cancel is not None and self.cancel():
                self.cancelled = True
        return self.cancelled or time.monotonic() >= self.deadline

    def offer(
        self, objective: float, planes: Planes, routing: NDArray[np.int64], source: str
    ) -> bool:
        """Keep a tree if it is better; ``routing`` is 0-based and on merged rows."""
        with self._lock:
            if objective >= self.objective * (1.0 - 1e-12):
                return False
            self.objective, self.planes, self.routing = objective, planes, routing.copy()
            found = (objective, planes, self._caller_routing(), source)
            self._waiting.append(RoutingIncumbent(self.seconds(), *found))
        if threading.get_ident() == self._owner:
            self._deliver()
        return True

    def _caller_routing(self) -> NDArray[np.int64]:
        routing = self.routing[self.inverse] + 1
        routing.setflags(write=False)
        return routing

    def bound(self, value: float, nodes: int, force: bool = False) -> None:
        """Publish a bound if it rose and the last one is old enough."""
        rose = value > self._best_bound + 1e-9 * abs(value)
        now = self.seconds()
        if rose and (force or now - self._last_bound >= _BOUND_PERIOD):
            self._best_bound, self._last_bound = value, now
            self._waiting.append(RoutingBound(now, value, nodes))
            self._deliver()

    def _deliver(self) -> None:
        """Hand over what is new; only the thread that made the tracker talks to the caller."""
        while self._waiting:
            event = self._waiting.popleft()
            self.events.append(event)
            if self.on_event is not None:
                self.on_event(event)

    def result(
        self, status: Status, bound: float, nodes: int, pivots: int, compiled: float
    ) -> RoutingResult:
        """Final record."""
        self.bound(bound, nodes, force=True)
        return RoutingResult(
            status=status,
            planes=self.planes,
            routing=self._caller_routing(),
            objective=self.objective,
            bound=min(bound, self.objective),
            nodes=nodes,
            pivots=pivots,
            seconds=self.seconds(),
            compile_seconds=compiled,
            events=tuple(self.events),
        )


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
