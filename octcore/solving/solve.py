"""`octcore.solve`: the only place that joins data, encoding, formulation and engine.

The module is not called ``solve``: the package would show the module instead of the function.
"""

import contextlib
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from types import FrameType
from typing import Any

import numpy as np

from octcore.data.dataset import Dataset
from octcore.engines.base import Attempt, Cancel, Outcome, StopReason, TimeUpError, get_engine
from octcore.engines.events import Clock, Event, Recorder, Trace, relative_gap
from octcore.errors import CancelledError
from octcore.formulations.base import get_formulation
from octcore.numerics import kernels
from octcore.program import ENDLESS, ENGINES, Capability, Program
from octcore.solving.finish import REACHED, finish, limited, named
from octcore.solving.prepare import Prepared, prepare, with_engine
from octcore.solving.run import INTERRUPTED, Run
from octcore.solving.settings import AUTO, check_settings
from octcore.solving.telling import Teller, compiling_told
from octcore.solving.verified import after_solve
from octcore.tree.constraints import Constraints

BUILDS_MODEL = frozenset({Capability.LINEAR, Capability.SEPARATION, Capability.CONVEX_QUADRATIC})
"""What engines do that build a model in memory; searches work on the rows themselves."""

CONFLICT_CLAIM = (
    "proven without search: what identical rows of different classes, the number of leaves and the "
    "price of splits cost at least allows no better objective"
)
EARLY = frozenset({StopReason.TIME_LIMIT, StopReason.NODE_LIMIT, StopReason.CANCELLED})
SAME_NUMBER = 1e-14  # relative distance that is rounding of a sum over rows alone
FALLBACK_SECONDS = 1.0  # after the end; who asks a worker to stop waits for two
AGAIN_SECONDS = 3.0
"""An interrupt so soon after another one means the whole program, such as a loop of solves."""


def solve(
    data: Dataset,
    formulation: str = "threshold-search",
    encoding: str = "auto",
    depth: int = 2,
    params: Mapping[str, Any] | None = None,
    constraints: Mapping[str, Any] | Constraints | None = None,
    engine: str = "auto",
    time_limit: float = 60.0,
    gap: float = 0.0,
    node_limit: int | None = None,
    threads: int = 1,
    seed: int = 0,
    warm_start: str = "auto",
    test_size: float = 0.0,
    on_event: Callable[[Event], None] | None = None,
    cancel: Callable[[], bool] | None = None,
    sample_weight: np.ndarray | None = None,
    verify: bool = True,
    costs: Mapping[Any, Mapping[Any, float]] | str | None = None,
    refer: float | None = None,
    verbose: int = 0,
) -> Run:
    """Train one optimal classification tree.

    Parameters
    ----------
    data : Dataset
        Rows with a target, from `read_csv` or `load_sample`.
    formulation : str
        Key of a formulation; see `formulations`.
    encoding : str
        ``"QB-5"``, ``"QT-5"``, ``"class-change"``, ``"one-hot"``, ``"raw"``, ``"scaled"``,
        ``"none"`` or ``"auto"``: what the formulation needs.
    depth : int
        Largest depth of the tree.
    params, constraints : mapping or None
        Hyperparameters of the formulation and side constraints.
    engine : str
        Engine key, or ``"auto"`` for the formulation's default.
    time_limit : float
        Seconds from the start of encoding, building and compiling the model included.  Importing
        libraries and compiling search kernels, once per installation, do not count.
    gap : float
        Relative gap at which the solve may stop.
    node_limit : int or None
        Largest number of branch-and-bound nodes.
    threads, seed : int
        Handed to the solver; one thread is reproducible.  `Run.findings` say where a method uses
        one thread only.
    warm_start : str
        ``"auto"`` or ``"none"``.
    test_size : float
        Share of the rows held out, stratified by class.
    on_event : callable or None
        Receives every `Event` as it happens.
    cancel : callable or None
        Asked often; a true answer stops the solve and keeps the incumbent.  Without it an interrupt
        (Ctrl-C) does that, once; a second one raises `KeyboardInterrupt`.
    sample_weight : numpy.ndarray or None
        Non-negative weights of the rows, shape ``(n_samples,)``; only without a held-out part.
    verify : bool
        Whether to verify the result independently where that takes less than about a second; the
        time is not part of the search's.
    costs : mapping, str or None
        ``costs[true][answer]``: what a wrong answer costs, 1 where nothing is said; ``"ordinal"``
        for the distance of the classes in their order.
    refer : float or None
        What it costs to leave a row to a person; leaves may then answer ``"ask a person"``.
    verbose : int
        Whether to tell on standard error how the solve stands.  That searches are compiled, once
        per installation, is told anyway where there is no `on_event`.

    Returns
    -------
    Run
        Tree, numbers, certificate and trace.

    Warns
    -----
    UserWarning
        If it was interrupted; `Run.status` is then "interrupted".

    Raises
    ------
    SettingsError
        Before anything is built, for a setting that is wrong or does not fit the data.
    TooLargeError
        If the model would not fit into memory; it carries the estimated size.
    DataError
        If the rows cannot be encoded.
    """
    settings = check_settings(
        formulation, params, constraints, encoding=encoding, engine=engine, depth=depth,
        time_limit=time_limit, gap=gap, node_limit=node_limit, threads=threads, seed=seed,
        warm_start=warm_start, test_size=test_size, costs=costs, refer=refer,
    )  # fmt: skip
    # What will solve is imported before the clock starts: a solver's library may take seconds.
    engines = get_formulation(settings.formulation).info.engines
    get_engine(engines[0] if settings.engine == AUTO else settings.engine)
    clock = Clock(settings.time_limit)
    prepared = prepare(data, settings, sample_weight)
    heard = Teller(on_event) if verbose else on_event
    with contextlib.ExitStack() as around:
        if on_event is None:
            around.enter_context(compiling_told())
        if cancel is not None:
            return _solve_prepared(prepared, clock, heard, cancel, verify)
        interrupted = around.enter_context(interruptible())
        run = _solve_prepared(prepared, clock, heard, interrupted, verify)
    if run.tree is None or run.stop_reason != StopReason.CANCELLED:
        return run
    warnings.warn(
        "The search was interrupted: the tree is the best one found so far; interrupt twice to end "
        "the program.",
        stacklevel=2,
    )
    return replace(run, status=INTERRUPTED, stop_reason=INTERRUPTED)


def _solve_prepared(
    prepared: Prepared,
    clock: Clock,
    on_event: Callable[[Event], None] | None,
    cancel: Callable[[], bool],
    verify: bool,
) -> Run:
    program = get_formulation(prepared.settings.formulation).build(prepared.problem)
    prepared = with_engine(prepared, program)
    settings = prepared.settings
    events: list[Event] = []

    def emit(event: Event) -> None:
        if event.tree is not None:
            event = replace(event, tree=named(event.tree, prepared))
        events.append(event)
        if on_event is not None:
            on_event(event)

    _refuse_too_large(program, prepared)
    recorder = Recorder(
        program.sense, clock, emit, program.granularity, program.tolerance, program.span
    )
    spend = {name: getattr(settings, name) for name in ("gap", "node_limit", "threads", "seed")}
    attempt = Attempt(program, recorder, cancel, **spend)
    recorder.phase("warm start", encode_seconds=prepared.encode_seconds)
    with kernels.announced(recorder.phase):
        begun = clock.elapsed
        recorder.bound(program.bound)
        _offer_starts(attempt, prepared)
        start = clock.elapsed
        outcome = _run_engine(attempt, settings.engine)
        outcome.seconds.setdefault("solve", clock.elapsed - start)
        outcome.seconds.update(warm_start=start - begun, compile_kernels=clock.preparing)
    if outcome.stop_reason in EARLY and settings.warm_start != "none":
        for _, tree in program.fallback(ENDLESS.capped(FALLBACK_SECONDS)):
            attempt.offer(tree, "greedy")
    known = recorder.best_bound  # what the run ends with, its trace ends with as well
    if (bound := limited(program, known, recorder.objective)) != known:
        recorder.bound(bound)
        outcome = replace(outcome, claims=(*outcome.claims, REACHED))
    outcome = _closed(outcome, recorder, settings.gap > program.tolerance)
    recorder.finished(outcome.stop_reason.value)
    run = finish(prepared, tuple(events), outcome, clock.elapsed, program)
    return _verified(run, emit, cancel) if verify else run


def _verified(run: Run, emit: Callable[[Event], None], cancel: Callable[[], bool]) -> Run:
    """Verify a quick run; the time of the search does not grow by it."""
    run = after_solve(run, cancel)
    found, last = run.certificate.verification, run.trace.events[-1]
    if found is None:
        return run
    event = replace(last, kind="verified", source=found.status, tree=None, details=found.to_dict())
    emit(event)
    return replace(
        run,
        trace=Trace((*run.trace.events, event)),
        timings={**run.timings, "verify": found.seconds},
    )


def _refuse_too_large(program: Program, prepared: Prepared) -> None:
    """Refuse a model that would not fit before heuristics spend the time limit on it."""
    if not ENGINES[prepared.settings.engine].supports & BUILDS_MODEL:
        return
    # Such an engine has this module loaded already; searches go without any solver.
    from octcore.engines.model_run import check_size

    gap = relative_gap(program.evaluate(prepared.problem.majority_leaf), program.bound)
    if gap is None or gap > program.tolerance + 1e-9:  # else no model is built
        check_size(program.size)


def _offer_starts(attempt: Attempt, prepared: Prepared) -> None:
    """Evaluate the formulation's own starts until one is worth the bound that is known beforehand.

    The single leaf comes first and always.  What a proof takes for equal would leave better starts
    out where weights lie many decades apart.
    """
    attempt.offer(prepared.problem.majority_leaf, "warm start")
    if prepared.settings.warm_start == "none" or attempt.cancel():
        return
    patience, bound = attempt.patience, attempt.program.bound
    for source, tree in attempt.program.starts(patience):
        attempt.offer(tree, source)
        gap = relative_gap(attempt.recorder.state.incumbent, bound)
        if patience() or (gap is not None and gap <= SAME_NUMBER):
            return


def _run_engine(attempt: Attempt, key: str) -> Outcome:
    if attempt.recorder.is_closed:  # also where the starts took all the time
        return Outcome(StopReason.OPTIMAL, "conflict-bound", claims=(CONFLICT_CLAIM,))
    method = attempt.program.method_of(key)
    try:
        attempt.guard()
        return get_engine(key)(attempt)
    except CancelledError:
        return Outcome(StopReason.CANCELLED, method)
    except TimeUpError:
        return Outcome(StopReason.TIME_LIMIT, method)


def _closed(outcome: Outcome, recorder: Recorder, may_have_gap: bool) -> Outcome:
    """Call a solve optimal when its own trace proves it, and only then.

    An engine that says so beside an open gap is believed where a gap was asked for only.
    """
    stopped = outcome.stop_reason
    if recorder.tree is not None and recorder.is_closed and stopped is not StopReason.ERROR:
        return replace(outcome, stop_reason=StopReason.OPTIMAL)
    if stopped is StopReason.OPTIMAL and outcome.method != "heuristic":
        unclosed = StopReason.GAP_LIMIT if may_have_gap else StopReason.ERROR
        return replace(outcome, stop_reason=unclosed)
    return outcome


SIGNALS, _last = signal.valid_signals(), -AGAIN_SECONDS


@contextlib.contextmanager
def interruptible() -> Iterator[Cancel]:
    """A flag that the first interrupt sets; a second one raises `KeyboardInterrupt` as usual.

    An interrupt is every signal that raises it, for the commands also the wish to end the process.
    So Ctrl-C keeps the best tree that is known.  Outside the main thread, and where somebody else
    listens to interrupts, nothing changes.
    """
    flag = Cancel()

    def stop(number: int, frame: FrameType | None) -> None:
        global _last
        listen(usual)
        before, _last = _last, time.monotonic()
        if _last - before < AGAIN_SECONDS:
            raise KeyboardInterrupt
        flag.set()

    def listen(handler: Callable[[int, FrameType | None], Any]) -> None:
        for number in ours:
            signal.signal(number, handler)

    usual, is_main = (
        signal.default_int_handler,
        threading.current_thread() is threading.main_thread(),
    )
    ours = [n for n in SIGNALS if is_main and signal.getsignal(n) is usual]
    listen(stop)
    try:
        yield flag
    finally:
        listen(usual)
