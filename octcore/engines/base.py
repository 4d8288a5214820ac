"""The contract of an engine: a program in, an outcome out, events in between; engines by key."""

import importlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

from octcore.engines.events import Clock, Recorder
from octcore.errors import CancelledError
from octcore.parameters import looked_up
from octcore.program import ENGINES, ModelSize, Patience, Program
from octcore.tree.tree import Tree


class StopReason(StrEnum):
    """Why a solve stopped."""

    OPTIMAL = "optimal"  # optimality is proven
    GAP_LIMIT = "gap_limit"
    """The gap reached what the caller allowed, or what rounding or a solver's tolerance leaves; a
    heuristic allows any gap."""
    TIME_LIMIT = "time_limit"
    NODE_LIMIT = "node_limit"
    CANCELLED = "cancelled"
    INFEASIBLE = "infeasible"  # no tree satisfies the constraints; this is proven
    ERROR = "error"


class TimeUpError(Exception):
    """The time limit passed while the model was being built."""


class Cancel:
    """A flag that asks a solve to stop; safe to set from another thread."""

    def __init__(self) -> None:
        self._event = threading.Event()

    def set(self) -> None:
        """Ask to stop."""
        self._event.set()

    def __call__(self) -> bool:
        """Whether a stop was asked for."""
        return self._event.is_set()


@dataclass(eq=False)
class Attempt:
    """One attempt at a program: who is told what is found, and what may be spent."""

    program: Program
    recorder: Recorder  # holds the clock, which counts from the start of encoding
    cancel: Callable[[], bool]  # whether a stop was asked for
    gap: float = 0.0  # relative gap at which the solve may stop
    node_limit: int | None = None
    threads: int = 1
    seed: int = 0  # `threads`, `seed`: handed to the solver

    @property
    def clock(self) -> Clock:
        """Holds the time limit."""
        return self.recorder.clock

    @property
    def patience(self) -> Patience:
        """What heuristics ask how long they may take."""
        return Patience(lambda: self.clock.remaining, self.cancel)

    def offer(self, tree: Tree, source: str, or_equal: bool = False) -> float | None:
        """Record a tree that keeps the side constraints if it is the best; its objective."""
        objective = self.program.evaluate(tree)
        if objective is not None:
            self.recorder.incumbent(objective, tree, source, or_equal)
        return objective

    def reached(self, nodes: int | None = None) -> StopReason | None:
        """Why the solve has to stop, if it has; time and nodes count where `nodes` is given."""
        gap = self.recorder.state.gap
        if self.recorder.is_closed:
            return StopReason.OPTIMAL
        if self.cancel():
            return StopReason.CANCELLED
        if gap is not None and gap <= self.gap:
            return StopReason.GAP_LIMIT
        if nodes is None:
            return None
        if self.clock.remaining <= 0:
            return StopReason.TIME_LIMIT
        is_over = self.node_limit is not None and nodes >= self.node_limit
        return StopReason.NODE_LIMIT if is_over else None

    def guard(self) -> None:
        """Raise when the solve must stop; model builders call this often."""
        if self.cancel():
            raise CancelledError()
        if self.clock.remaining <= 0:
            raise TimeUpError()

    def say_one_thread(self, who: str) -> None:
        """Say that somebody works with one thread where more were asked for."""
        if self.threads > 1:
            self.recorder.note(f"{who} uses 1 thread, not {self.threads}.")


@dataclass(frozen=True)
class Outcome:
    """What an engine says at the end; the tree and the bound are with the recorder."""

    stop_reason: StopReason
    method: str  # what proves the bound; see `octcore.solving.run.Certificate`
    root_bound: float | None = None
    """Bound of the root relaxation after its cuts; None where there is no LP."""
    size: ModelSize | None = None
    seconds: dict[str, float] = field(default_factory=dict)  # seconds of build, compile and solve
    claims: tuple[str, ...] = ()  # what the engine adds to the certificate
    values: dict[str, object] = field(default_factory=dict)
    """Results beside the tree, such as the value of every root feature."""


Engine = Callable[[Attempt], Outcome]
"""Solves programs of the capabilities that `octcore.program.ENGINES` states, sending incumbents and
bounds to the recorder."""


def get_engine(key: str) -> Engine:
    """Find an engine; its module is imported now.

    Raises `SettingsError` if there is no engine of that key.
    """
    engine = looked_up("UNKNOWN_ENGINE", "engine", key, ENGINES, "octcore")
    module = importlib.import_module(f"octcore.engines.{engine.module}")
    return getattr(module, key.replace("-", "_"))


def greedy(attempt: Attempt) -> Outcome:
    """Stop with the gap as it is: a heuristic accepts any, and its tree was evaluated before."""
    attempt.say_one_thread("A heuristic")
    return Outcome(StopReason.GAP_LIMIT, attempt.program.method)
