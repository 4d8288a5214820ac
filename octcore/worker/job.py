"""Work in a child process: what has arrived, how it stands, and its result in every case."""

import logging
import signal
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from octcore.engines.base import StopReason
from octcore.engines.events import Event
from octcore.errors import DataError, EngineError, OctError, SettingsError
from octcore.numerics.kernels import PREPARING, PREPARING_AGAIN
from octcore.solving.finish import read_back, run_from_incumbent
from octcore.solving.run import JobState, Run
from octcore.worker.process import SolveProcess
from octcore.worker.protocol import WORKING, make_error
from octcore.worker.request import ENDING_SECONDS, Request

POLITE_SECONDS = 2.0  # to hand over the last tree
TERMINATE_SECONDS = 1.0  # before it is killed
KILL_BEFORE_SECONDS = 1.5
MOST_STARTING_SECONDS, MOST_PREPARING_SECONDS = 60.0, 300.0
"""After so long a worker that is not ready, or that compiles, uses up its time limit."""
PREPARING_PHASES = (PREPARING, PREPARING_AGAIN)
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Snapshot:
    """A job at one moment."""

    state: JobState
    phase: str  # what is being done now, such as "compiling kernels", "build" or "solve"
    elapsed: float
    """Seconds since the worker was ready, up to the end; 0 before, and standing still while kernels
    are compiled."""
    last: Event | None  # the last event, with incumbent value and bound
    incumbent: Event | None  # the last event that brought a tree
    run: Run | None  # the result, once the state is final; None only where there is nothing at all
    error: OctError | None  # why it failed; `run` may still hold what it had found
    parts: tuple[Mapping[str, Any], ...] = ()
    """What a task has told so far; stays when it is stopped."""
    result: Mapping[str, Any] | None = None  # the whole of a task, once it is done


class Stopwatch:
    """The clock of a solve as its parent sees it.

    It stands still before the worker is ready, and later while kernels are compiled.
    """

    def __init__(self) -> None:
        self._called = time.monotonic()
        self._begun: float | None = None
        self._prepared = 0.0
        self._since: float | None = None

    @property
    def begin(self) -> float:
        """`time.monotonic` at which the clock showed 0; ever later while it stands still."""
        now = time.monotonic()
        if self._begun is None:
            return min(now, self._called + MOST_STARTING_SECONDS)
        waiting = 0.0 if self._since is None else now - self._since
        return self._begun + self._prepared + min(waiting, MOST_PREPARING_SECONDS)

    @property
    def elapsed(self) -> float:
        """Seconds on the clock."""
        return max(0.0, time.monotonic() - self.begin)

    @property
    def runs(self) -> bool:
        """Whether the worker is ready."""
        return self._begun is not None

    def start(self) -> None:
        """Start the clock, once."""
        self._begun = self._begun or time.monotonic()

    def note(self, phase: str) -> None:
        """Stand still from the phase in which kernels are compiled to whatever is told next."""
        self.start()
        now = time.monotonic()
        if self._since is not None:
            self._prepared += min(now - self._since, MOST_PREPARING_SECONDS)
        self._since = now if phase in PREPARING_PHASES else None


class Job:
    """One request on one worker, a solve or a task; every method may be called from any thread.

    `process`: a worker that has not served yet.
    `on_event`: called from the reading thread with every event.
    `on_end`: called once with the job when its state is final.
    `called`: `time.monotonic` of the call, from which the time of starting up is told; now by
    default.
    """

    def __init__(
        self,
        request: Request,
        process: SolveProcess,
        on_event: Callable[[Event], None] | None = None,
        on_end: "Callable[[Job], None] | None" = None,
        called: float | None = None,
    ) -> None:
        self.request, self._process = request, process
        self._on_event, self._on_end = on_event, on_end
        self._lock = threading.Lock()
        self._final = threading.Event()
        self._state = JobState.RUNNING
        self._stop_reason: StopReason | None = None
        self._refusal: OctError | None = None
        self._death = ""
        self._watch = Stopwatch()
        self._ended_after: float | None = None
        self._events: list[Event] = []
        self._parts: list[Mapping[str, Any]] = []
        self._incumbent: Event | None = None
        self._phase = ""
        self._result: dict[str, Any] | None = None
        self._run: Run | None = None
        self._error: OctError | None = None
        line = request.to_line(time.monotonic() if called is None else called)
        process.serve(line, self._receive, self._conclude)

    @property
    def pid(self) -> int:
        """Process id of the worker."""
        return self._process.pid

    @property
    def deadline(self) -> float:
        """`time.monotonic` at which it is ended whatever it does; later while it gets ready."""
        return self._watch.begin + self.request.longest

    @property
    def is_final(self) -> bool:
        """Whether nothing will change any more."""
        return self._final.is_set()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is final; returns whether it is."""
        return self._final.wait(timeout)

    def stop(
        self,
        wait: bool = False,
        reason: StopReason = StopReason.CANCELLED,
        polite: float = POLITE_SECONDS,
    ) -> None:
        """End it and keep what it has found: ask, then terminate, then kill.

        `wait`: whether to return only when it is final.
        `reason`: why, if the worker has to be ended.
        `polite`: seconds that the worker has to answer.
        """
        with self._lock:
            first = self._state is JobState.RUNNING
            if first:
                self._state, self._stop_reason = JobState.STOPPING, reason
        if first:
            name = f"stop-{self.pid}"
            threading.Thread(target=self._escalate, args=(polite,), name=name, daemon=True).start()
        if wait:
            self._final.wait()

    def kill(self, reason: StopReason = StopReason.CANCELLED) -> None:
        """End the worker at once and keep what it has found."""
        with self._lock:
            self._stop_reason = self._stop_reason or reason
        self._process.kill()

    def check(self) -> None:
        """Enforce the hard deadline and the limit of silence; a watch calls this often."""
        if self.is_final:
            return
        left = self.deadline - time.monotonic()
        if left < KILL_BEFORE_SECONDS:
            self.kill(StopReason.TIME_LIMIT)
        elif left < ENDING_SECONDS:
            self.stop(reason=StopReason.TIME_LIMIT, polite=ENDING_SECONDS - KILL_BEFORE_SECONDS)
        elif self._process.is_lost:
            with self._lock:
                seconds = self._process.silence
                silent = f"The worker was not heard for {seconds:.0f} seconds and was ended"
                self._death = self._death or silent
            self._process.kill()
        elif self._process.silence > 1.0 and not self._process.is_alive:
            # A grandchild may hold the pipe open after the worker's death.
            self._process.kill()

    def snapshot(self) -> Snapshot:
        """Return how the job stands now."""
        with self._lock:
            ended = self._ended_after
            return Snapshot(
                state=self._state,
                phase=self._phase or self._process.warming or "starting",
                elapsed=self._watch.elapsed if ended is None else ended,
                last=self._events[-1] if self._events else None,
                incumbent=self._incumbent,
                run=self._run,
                error=self._error,
                parts=tuple(self._parts),
                result=self._result if self.request.task and self._state.is_final else None,
            )

    def events(self, start: int = 0) -> tuple[Event, ...]:
        """Return the events from a position on."""
        with self._lock:
            return tuple(self._events[start:])

    def result(self) -> Run:
        """Wait for the run; a failed job with an incumbent has one, too.

        `OctError` if the worker died with nothing to return.
        """
        self._final.wait()
        if self._run is None:
            raise self._error or EngineError("NO_RESULT", "The solve ended without a result.")
        return self._run

    def _escalate(self, polite: float) -> None:
        self._process.cancel()
        if self._final.wait(polite):
            return
        self._process.signal(signal.SIGTERM)
        if not self._process.wait(TERMINATE_SECONDS):
            self._process.kill()

    def _receive(self, message: dict[str, Any]) -> None:
        kind = message["kind"]
        if kind == "ready":
            self._watch.start()
            self._phase = WORKING if self.request.task else ""
        elif kind == "warming":
            self._phase = str(message.get("what", ""))
            if self._watch.runs:  # of a task; before it, the worker has told of its own start
                self._watch.note(self._phase)
        elif kind == "event":
            event = Event.from_dict(message["event"])
            with self._lock:
                self._watch.note(event.source if event.kind == "phase" else "")
                self._events.append(event)
                if event.tree is not None:
                    self._incumbent = event
                if event.kind == "phase":
                    self._phase = event.source
            if self._on_event is not None:
                self._on_event(event)
        elif kind == "part":
            with self._lock:
                self._parts.append(dict(message["part"]))
        elif kind == "done":
            self._result = dict(message["result"])
        elif kind == "error":
            self._refusal = make_error(message)

    def _conclude(self) -> None:
        """Make the result, whatever the end was; runs once, after the last message."""
        seconds = self._watch.elapsed
        try:
            state, run, error = (
                self._task_outcome() if self.request.task else self._outcome(seconds)
            )
        except Exception as failure:
            logger.warning("A result could not be made.", exc_info=True)
            words = f"The result could not be put together ({type(failure).__name__}: {failure})"
            defect = EngineError("DEFECT", f"{words}; please report this.")
            error = failure if isinstance(failure, OctError) else defect
            state, run = JobState.FAILED, None
        with self._lock:
            self._state, self._run, self._error = state, run, error
            self._ended_after = self._watch.elapsed
            self._phase = state
        try:
            if self._on_end is not None:
                self._on_end(self)
        finally:
            self._final.set()

    def _task_outcome(self) -> tuple[JobState, None, OctError | None]:
        if self._result is not None:
            return JobState.DONE, None, None
        if self._stop_reason is StopReason.CANCELLED:
            return JobState.STOPPED, None, None
        if self._stop_reason is StopReason.TIME_LIMIT:
            self._death = self._death or "The time of this task was up"
        return JobState.FAILED, None, self._refusal or self._death_error()

    def _outcome(self, seconds: float) -> tuple[JobState, Run | None, OctError | None]:
        events, asked = self.events(), self.request

        def recovered(reason: StopReason, note: str) -> Run:
            weight = asked.sample_weight
            return run_from_incumbent(
                asked.data, asked.settings, events, reason, seconds, note, weight
            )

        if self._result is not None:
            result, events = self._as_asked(self._result, events)
            return JobState.DONE, read_back(result, asked.data, events), None
        if isinstance(self._refusal, (SettingsError, DataError)):
            return JobState.FAILED, None, self._refusal  # as the library refuses it
        if self._stop_reason is not None and self._refusal is None:
            by_user = self._stop_reason is StopReason.CANCELLED
            why = "It could not be stopped at once" if by_user else "The time limit was overrun"
            note = f"{why}, so the solve was broken off; the tree is the best one found until then."
            return JobState.STOPPED, recovered(self._stop_reason, note), None
        error = self._refusal or self._death_error()
        if self._incumbent is None:
            return JobState.FAILED, None, error
        note = f"{error.message} The tree is the last incumbent."
        return JobState.FAILED, recovered(StopReason.ERROR, note), error

    def _death_error(self) -> EngineError:
        what = self._death or f"The worker {self._process.ending()}"
        work = "task" if self.request.task else "solve"
        return EngineError("WORKER_DIED", f"{what} before the {work} had ended; try again.")

    def _as_asked(
        self, result: dict[str, Any], events: tuple[Event, ...]
    ) -> tuple[dict[str, Any], tuple[Event, ...]]:
        """Say that time was up where it was: the worker knows only that it was asked to stop."""
        late = self._stop_reason is StopReason.TIME_LIMIT
        if not late or result.get("stop_reason") != StopReason.CANCELLED:
            return result, events
        result = result | {"stop_reason": StopReason.TIME_LIMIT.value}
        if result["status"] == "cancelled":
            result["status"] = "no_solution"
        reason = StopReason.TIME_LIMIT.value
        return result, tuple(
            replace(event, source=reason) if event.kind == "finished" else event for event in events
        )
