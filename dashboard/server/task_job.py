"""A longer task in a child process, as the supervisor sees it: parts that arrive, and a result."""

from __future__ import annotations

import base64
import json
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from octcore.data.dataset import Dataset
from octcore.data.packing import pack
from octcore.engines.base import StopReason
from octcore.engines.events import Event
from octcore.errors import OctError
from octcore.serial import jsonable
from octcore.worker.job import ENDING_SECONDS, ChildWork, JobState
from octcore.worker.process import SolveProcess
from octcore.worker.protocol import make_error

COMMAND = (sys.executable, "-P", "-m", "dashboard.server.task_worker")


@dataclass(frozen=True)
class TaskRequest:
    """What to do.

    Parameters
    ----------
    task : str
        Key of a task of `dashboard.server.task_worker`.
    data : Dataset
        Its rows.
    settings : mapping
        Keywords of the task; plain values.
    seconds : float
        After so long it is ended, whatever it does.
    """

    task: str
    data: Dataset
    settings: Mapping[str, Any]
    seconds: float

    def to_line(self) -> bytes:
        """Write the request line."""
        record = {
            "task": self.task,
            "settings": jsonable(dict(self.settings)),
            "data": base64.b64encode(pack(self.data)).decode("ascii"),
        }
        return json.dumps(record).encode() + b"\n"


@dataclass(frozen=True)
class TaskSnapshot:
    """A task at one moment.

    Parameters
    ----------
    state : JobState
        How it stands.
    phase : str
        What is being done now.
    elapsed : float
        Seconds since the start, up to the end.
    parts : tuple of mapping
        What it has told so far; stays when it is stopped.
    result : mapping or None
        The whole, once it is done.
    error : OctError or None
        Why it failed.
    """

    state: JobState
    phase: str
    elapsed: float
    parts: tuple[Mapping[str, Any], ...] = ()
    result: Mapping[str, Any] | None = None
    error: OctError | None = None
    run: None = None
    incumbent: None = None


class TaskJob(ChildWork):
    """One task on one child process.

    Parameters
    ----------
    request : TaskRequest
        What to do.
    on_end : callable
        Called once with the job when its state is final.
    process : SolveProcess or None
        Where it runs; by default a new process.
    """

    def __init__(
        self,
        request: TaskRequest,
        on_end: Callable[[TaskJob], None],
        process: SolveProcess | None = None,
    ) -> None:
        super().__init__(process or SolveProcess(COMMAND))
        self._on_end = on_end
        self._called = time.monotonic()
        self._ended: float | None = None
        self._parts: list[Mapping[str, Any]] = []
        self._result: Mapping[str, Any] | None = None
        self._error: OctError | None = None
        self._seconds = request.seconds
        self._process.serve(request.to_line(), self._receive, self._conclude)

    @property
    def deadline(self) -> float:
        """`time.monotonic` at which it is ended whatever it does."""
        return self._called + self._seconds + ENDING_SECONDS

    def events(self, start: int = 0) -> tuple[Event, ...]:
        """None: a task tells parts, not incumbents."""
        return ()

    def snapshot(self) -> TaskSnapshot:
        """Return how the task stands now."""
        with self._lock:
            elapsed = (self._ended or time.monotonic()) - self._called
            phase = self._process.warming or "working"
            return TaskSnapshot(
                self._state, phase, elapsed, tuple(self._parts), self._result, self._error
            )

    def _receive(self, message: dict[str, Any]) -> None:
        kind = message["kind"]
        if kind == "progress":
            with self._lock:
                self._parts.append(dict(message["part"]))
        elif kind == "done":
            self._result = dict(message["result"])
        elif kind == "error":
            self._refusal = make_error(message)

    def _conclude(self) -> None:
        with self._lock:
            if self._stop_reason is StopReason.TIME_LIMIT:
                self._death = self._death or "The time of this task was up"
            self._ended = time.monotonic()
            if self._result is not None:
                self._state = JobState.DONE
            elif self._stop_reason is StopReason.CANCELLED:
                self._state = JobState.STOPPED
            else:
                self._state = JobState.FAILED
                self._error = self._refusal or self._death_error("task")
        try:
            self._on_end(self)
        finally:
            self._final.set()
