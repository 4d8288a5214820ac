"""What engines that build a model have in common: room, phases, first trees, the outcome."""

import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
import psutil
from pyomo.common.gc_manager import PauseGC

from octcore.engines.base import Attempt, Outcome, StopReason, TimeUpError
from octcore.engines.highs import CompiledModel, InfeasibleModelError, compile_model
from octcore.errors import CancelledError, EngineError, TooLargeError
from octcore.program import ModelSize, Point, PyomoModel
from octcore.tree.tree import Tree

PYOMO_LOGGERS = ("pyomo.core", "pyomo.core.base")


@contextmanager
def ends_without_a_log() -> Iterator[None]:
    """Keep Pyomo from logging, to standard output, the end of the time or a stop as errors."""

    def is_news(record: logging.LogRecord) -> bool:
        return not isinstance(sys.exc_info()[1], TimeUpError | CancelledError | KeyboardInterrupt)

    loggers = [logging.getLogger(name) for name in PYOMO_LOGGERS]
    for logger in loggers:
        logger.addFilter(is_news)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(is_news)


@dataclass(eq=False)
class ModelRun(Attempt):
    """State of one solve of a program with a model."""

    built: PyomoModel = field(init=False)
    compiled: CompiledModel = field(init=False)
    """`built`, `compiled`: the model, and its matrices, from their phases on."""
    seconds: dict[str, float] = field(default_factory=dict)  # seconds by phase
    size: ModelSize | None = None  # counted size, once the model is compiled
    root_bound: float | None = None  # bound of the root relaxation, in the program's terms
    values: dict[str, object] = field(default_factory=dict)
    claims: tuple[str, ...] = ()  # what the engine adds to the certificate
    constant: float | None = None  # Big-M of the model that was built, where the program has one

    def solve(self) -> Outcome:
        """Build, compile and solve; each engine does it in its own way."""
        raise NotImplementedError

    def supervise(self) -> Outcome:
        """Solve unless nothing is left to do; what ends it early becomes an outcome.

        Raises `EngineError` if the program has no model, or the solver fails.
        Raises `TooLargeError` if the model does not fit into memory, by estimate or in fact.
        """
        self.recorder.bound(self.program.bound)
        if self.recorder.is_closed:
            return self.outcome(StopReason.OPTIMAL)
        check_size(self.program.size)
        try:
            return self.solve()
        except TimeUpError:
            return self.outcome(StopReason.TIME_LIMIT)
        except CancelledError:
            return self.outcome(StopReason.CANCELLED)
        except InfeasibleModelError:
            return self.infeasible()
        except MemoryError as error:
            raise too_large(self.program.size, "memory ran out while it was built") from error

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Announce a phase and time it; it does not begin after a stop was asked for."""
        self.recorder.phase(name)
        started = time.perf_counter()
        try:
            self.guard()
            yield
        finally:
            self.seconds[name] = time.perf_counter() - started

    def build(self) -> None:
        """Build the model and record the trees and the bound found on the way.

        Raises `EngineError` if the program has no model.
        """
        if self.program.build is None:
            raise EngineError("NO_MODEL", "This engine needs a program with a model.")
        # Every collection of garbage among millions of components takes most of a second.
        with self.phase("build"), ends_without_a_log(), PauseGC():
            built = self.built = self._built(self.program.build)
            self.values.update(built.values)
            for source, tree in built.starts:
                self.offer(tree, source)
            self.recorder.bound(built.bound)
            self.claims += built.claims

    def _built(self, build: Callable[[Callable[[], None]], PyomoModel]) -> PyomoModel:
        big_m = self.program.big_m
        if big_m is None:
            return build(self.guard)
        self.constant = big_m.choose(self.recorder.objective)
        if self.constant > big_m.asked:
            self.recorder.note(
                f"The big-M was raised from {big_m.asked:g} to {self.constant:.6g}, because trees "
                "as good as the best one may need it."
            )
        return big_m.build(self.guard, self.constant)

    @property
    def is_restricted(self) -> bool:
        """Whether the big-M of the model may forbid trees that are worth having."""
        big_m = self.program.big_m
        return (
            big_m is not None
            and self.constant is not None
            and big_m.forbids(self.constant, self.recorder.objective)
        )

    def prove(self, bound: float | None, nodes: int | None = None) -> None:
        """Record a bound of the model, which is none of the problem while the model is restricted.

        A bound beyond the incumbent says no more than the incumbent: worse trees may be missing.
        """
        objective = self.recorder.objective
        if bound is None or self.is_restricted:
            return
        if objective is not None and self.program.sense.better(objective, bound):
            bound = objective
        self.recorder.bound(bound, nodes)

    def see_bound(self, bound: float, nodes: int | None) -> None:
        """Take up a bound of the solver, in the program's terms; the first one is of the root."""
        if self.root_bound is None:
            self.root_bound = bound
        self.prove(bound, nodes)

    def on_progress(self, bound: float | None, nodes: int | None) -> bool:
        """Take up where a solver stands; returns whether it has to stop."""
        if bound is not None:
            self.see_bound(self.program.objective(bound), nodes)
        self.recorder.progress(nodes=nodes)
        return self.reached() is not None

    def compile(self) -> None:
        """Turn the model into matrices and report its size."""
        with self.phase("compile"), PauseGC():
            self.compiled = compile_model(self.built.model)
            self.see_size(self.compiled.size)

    def tree_at(self, x: np.ndarray) -> Tree:
        """Read the tree of a point of the compiled model."""
        return self.built.read_tree(Point(self.compiled.columns, x))

    def point_of(self, tree: Tree, rest: np.ndarray | float) -> np.ndarray:
        """Point of a tree; columns that the tree says nothing about are as in `rest`."""
        kept = np.broadcast_to(rest, len(self.compiled.cost))
        return self.compiled.placed(self.built.start_values(tree), kept)

    def see_size(self, size: ModelSize) -> None:
        """Keep and report the counted size of the model."""
        self.size = size
        self.recorder.model(size.to_dict())

    def outcome(self, reason: StopReason) -> Outcome:
        """Say why the solve ended, with what was counted so far."""
        counted = (None if self.is_restricted else self.root_bound, self.size, dict(self.seconds))
        claims = self.claims
        if self.constant is not None:
            effect = "forbids no tree that is at least as good"
            if self.is_restricted:
                effect = "may forbid trees as good as this one, so the model proves nothing"
            claims = (*claims, f"the big-M {self.constant:.6g} {effect}")
        return Outcome(reason, self.program.method, *counted, claims, self.values)

    def infeasible(self) -> Outcome:
        """Believe that no tree is feasible only while none is known."""
        if self.recorder.tree is None:
            return self.outcome(StopReason.INFEASIBLE)
        message = "The solver found the model infeasible although a feasible tree is known."
        self.recorder.note(message)
        return self.outcome(StopReason.ERROR)


def check_size(size: ModelSize | None, budget: float | None = None) -> None:
    """Refuse a model that will not fit.

    `size`: estimate; None passes.
    `budget`: bytes that may be taken; None for half of the available memory.
    Raises `TooLargeError` with the estimated size in words and numbers.
    """
    if size is None:
        return
    limit = psutil.virtual_memory().available / 2 if budget is None else budget
    if size.bytes > limit:
        raise too_large(size, f"only {limit / 1e9:.1f} GB may be used")


def too_large(size: ModelSize | None, reason: str) -> TooLargeError:
    """Build the error for a model that does not fit."""
    if size is None:
        return TooLargeError("TOO_LARGE", f"The model does not fit into memory: {reason}.", {})
    return TooLargeError(
        "TOO_LARGE",
        f"The model would have {size.columns:,} columns, {size.rows:,} rows and {size.nonzeros:,} "
        f"non-zeros and need about {size.bytes / 1e9:.1f} GB, but {reason}; choose a smaller "
        "depth, a coarser encoding, fewer rows or a search method.",
        {**size.to_dict(), "bytes": float(size.bytes)},
    )
