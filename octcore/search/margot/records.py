"""What a routing search takes and holds: problem, planes, incumbent and bound, open states."""

import heapq
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from octcore.numerics.node_qp.plane import NodePlane
from octcore.search.report import Receive, Report, Stop, unheard

_BOUND_PERIOD = 0.1  # seconds between two reports of a bound, so that a trace stays readable
Masks = NDArray[np.bool_]
Variant = Literal["margot", "hfs", "sfs"]
Status = Literal["optimal", "stalled", "stopped"]
"""How a search ended: proven, with states that rounding kept from being decided, or early."""


@dataclass(frozen=True)
class RoutingProblem:
    """A MARGOT problem on arrays."""

    x: NDArray[np.float64]  # features scaled to [0, 1]
    y: NDArray[np.float64]  # -1 and +1
    depth: int  # number of branching levels, at least 1
    c_upper: float
    c_last: float  # `c_upper`, `c_last`: penalty of slack above the last branching level and on it
    epsilon: float = 1e-3  # width of the strip left of an upper plane that holds no sample
    weights: NDArray[np.float64] | None = None
    """Finite and not negative; they multiply the penalties. Rows of weight 0 cost nothing, but lie
    in no strip either."""
    variant: Variant = "margot"  # hard (``hfs``) or soft (``sfs``) feature budget per node, or none
    budget_upper: int | None = None
    budget_last: int | None = None
    """`budget_upper`, `budget_last`: features per node and level for ``hfs`` and ``sfs``."""
    alpha: float = 0.0  # price of each feature beyond the budget (``sfs``)
    gap: float = 1e-4  # relative gap at which the search stops
    threads: int = 1
    """How many share the open states; more than one is not reproducible. Under feature budgets
    there is one."""

    @property
    def n_nodes(self) -> int:
        """Number of branch nodes."""
        return 2**self.depth - 1

    @property
    def n_upper(self) -> int:
        """Number of branch nodes above the last level."""
        return 2 ** (self.depth - 1) - 1

    @property
    def price(self) -> float:
        """Price of each feature beyond the budget."""
        return self.alpha if self.variant == "sfs" else np.inf

    def penalties(self) -> NDArray[np.float64]:
        """Penalty of each sample at each node, shape (n_nodes, n_samples)."""
        weights = np.ones(len(self.y)) if self.weights is None else np.asarray(self.weights, float)
        c = np.where(np.arange(self.n_nodes) < self.n_upper, self.c_upper, self.c_last)
        return c[:, None] * weights[None, :]

    def budgets(self) -> NDArray[np.int64]:
        """Feature budget of each node; the number of features without a budget."""
        p = self.x.shape[1]
        upper = p if self.variant == "margot" else min(self.budget_upper or p, p)
        last = p if self.variant == "margot" else min(self.budget_last or p, p)
        return np.where(np.arange(self.n_nodes) < self.n_upper, upper, last)


@dataclass(frozen=True)
class Planes:
    """Planes of all branch nodes, position ``t - 1`` for node ``t`` of the 1-based heap.

    ``score = weights[t-1] @ x + biases[t-1]``: at upper nodes right-goers have score >= 0 and
    left-goers score <= -epsilon; on the last level the sign is the predicted class.
    """

    weights: NDArray[np.float64]
    biases: NDArray[np.float64]

    @classmethod
    def of(cls, nodes: Sequence[NodePlane]) -> "Planes":
        """Planes of all branch nodes in their order."""
        return cls(np.array([one.weights for one in nodes]), np.array([one.bias for one in nodes]))

    def __post_init__(self) -> None:
        self.weights.setflags(write=False)
        self.biases.setflags(write=False)


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
