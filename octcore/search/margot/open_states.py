"""Open states of a routing search, and what each of its threads has in hand."""

import heapq
import threading
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Masks = NDArray[np.bool_]


class SideStates(NamedTuple):
    """Open states of the search for a tree below the root (`below`), never changed.

    ``low``: least bound; ``order`` (n_joined,): samples in the order in which they joined;
    ``bounds``, ``known`` (n_states,) and ``rows`` (n_states, n_joined * bytes of a sample).
    """

    low: float
    order: NDArray[np.int64]
    bounds: NDArray[np.float64]
    known: NDArray[np.int64]
    rows: NDArray[np.uint8]

    def at(self, places: NDArray[np.int64]) -> "SideStates":
        """Some of the states."""
        bounds = self.bounds[places]
        low = float(bounds.min()) if len(bounds) else np.inf
        return SideStates(low, self.order, bounds, self.known[places], self.rows[places])


class OpenState(NamedTuple):
    """Bound, serial number, path prefixes and packed row statuses; serials are never equal.

    Where the trees below the root are searched for by themselves (`nested`), ``below`` holds the
    open states of both; under feature budgets ``masks`` are the features that every plane is
    charged for, and those that it may use, both of shape (n_nodes, n_features).
    """

    bound: float
    serial: int
    prefix: NDArray[np.int8]
    packed: NDArray[np.uint8]
    below: tuple[SideStates, ...] = ()
    masks: tuple[Masks, Masks] | None = None


@dataclass(eq=False)
class OpenStates:
    """Heap of states by bound; a state that a thread works on counts as open until it says more.

    All methods may be called by any thread.
    """

    step: int = 1
    """1 or -1: of equal bounds the first state on the heap comes first, or the last one."""
    over: bool = False  # whether all threads are asked to end
    _heap: list[OpenState] = field(default_factory=list)
    _held: dict[int, float] = field(default_factory=dict)
    _serial: int = 0
    _change: threading.Condition = field(default_factory=threading.Condition)

    def __len__(self) -> int:
        return len(self._heap)

    def push(
        self, bound: float, prefix: NDArray[np.int64], packed: NDArray[np.uint8], **beside: Any
    ) -> None:
        """Put a state on the heap, with what it has `beside` prefixes and QPs."""
        with self._change:
            self._serial += self.step
            state = OpenState(bound, self._serial, prefix.astype(np.int8), packed, **beside)
            heapq.heappush(self._heap, state)
            self._change.notify()

    def pop(self, worker: int, patience: float = 0.0) -> OpenState | None:
        """Take the state of least bound in hand; None if none came within some seconds."""
        with self._change:
            if not self._heap and patience > 0.0:
                self._change.wait(patience)
            if not self._heap:
                return None
            state = heapq.heappop(self._heap)
            self._held[worker] = state.bound
            return state

    def hold(self, worker: int, bound: float) -> float:
        """Say what a thread has in hand, infinity for nothing; returns the least open bound."""
        with self._change:
            self._held[worker] = bound
            return min(self.lowest(), *self._held.values())

    def lowest(self) -> float:
        """Least bound on the heap, infinity without states."""
        with self._change:
            return self._heap[0].bound if self._heap else np.inf
