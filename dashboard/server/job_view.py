"""One job of the supervisor: its own record, and the view that pages get."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from dashboard.server.task_job import TaskJob, TaskSnapshot
from octcore.data.dataset import Dataset
from octcore.engines.events import Event
from octcore.errors import OctError
from octcore.solving.run import Run
from octcore.worker import Job, JobState, Snapshot

QUEUED = "queued"


@dataclass(frozen=True)
class JobView:
    """A job at one moment.

    Parameters
    ----------
    id, session, name : str
        Full UUID; who asked; shown in the history.
    state : str
        ``"queued"``, ``"running"``, ``"stopping"``, ``"done"``, ``"stopped"`` or ``"failed"``.
    position : int
        Place in the queue from 1; 0 when not waiting.
    submitted, started, finished : float or None
        Seconds since 1970; two jobs ran together where these spans overlap.
    settings : mapping
        Keywords of the solve.
    data : Dataset
        Its rows.
    snapshot : Snapshot or None
        What the worker has said; None in the queue.
    error : OctError or None
        Why it failed.
    task : str
        What is done, for tasks of `dashboard.server.task_worker`; empty for a solve.
    """

    id: str
    session: str
    name: str
    state: str
    position: int
    submitted: float
    started: float | None
    finished: float | None
    settings: Mapping[str, Any]
    data: Dataset
    snapshot: Snapshot | TaskSnapshot | None = None
    error: OctError | None = None
    task: str = ""

    @property
    def is_final(self) -> bool:
        """Whether nothing will change any more."""
        return self.finished is not None

    @property
    def parts(self) -> tuple[Mapping[str, Any], ...]:
        """What a task has told so far; empty for solves."""
        return self.snapshot.parts if isinstance(self.snapshot, TaskSnapshot) else ()

    @property
    def result(self) -> Mapping[str, Any] | None:
        """What a task came to; None for solves and until it is done."""
        return self.snapshot.result if isinstance(self.snapshot, TaskSnapshot) else None

    @property
    def run(self) -> Run | None:
        """The result, once there is one."""
        return None if self.snapshot is None else self.snapshot.run

    @property
    def phase(self) -> str:
        """What is being done now."""
        return self.state if self.snapshot is None else self.snapshot.phase

    @property
    def elapsed(self) -> float:
        """Seconds since the start, up to the end; 0 in the queue."""
        return 0.0 if self.snapshot is None else self.snapshot.elapsed

    @property
    def incumbent(self) -> Event | None:
        """The last event that brought a tree."""
        return None if self.snapshot is None else self.snapshot.incumbent

    def overlaps(self, other: JobView) -> bool:
        """Whether two jobs ran at the same time, so that their clocks shared the machine."""
        if self.started is None or other.started is None:
            return False
        now = time.time()
        return self.started < (other.finished or now) and other.started < (self.finished or now)


@dataclass(eq=False)
class Entry:
    """The supervisor's own record of a job; changed under its lock only."""

    id: str
    session: str
    name: str
    data: Dataset
    settings: dict[str, Any]
    submitted: float
    started: float | None = None
    finished: float | None = None
    job: Job | TaskJob | None = None
    final_state: JobState | None = None
    error: OctError | None = None
    task: str = ""
    seconds: float = 0.0
    verified: Run | None = None
    """The run with a verification that came later."""

    @property
    def is_waiting(self) -> bool:
        """Whether it is in the queue."""
        return self.started is None and self.finished is None

    @property
    def is_running(self) -> bool:
        """Whether it has a worker."""
        return self.started is not None and self.finished is None

    @property
    def is_final(self) -> bool:
        """Whether it has ended."""
        return self.finished is not None

    def begin(self) -> None:
        """Leave the queue."""
        self.started = time.time()

    def end(self, state: JobState) -> None:
        """Be final."""
        self.finished, self.final_state = time.time(), state

    def view(self, position: int) -> JobView:
        """Return what pages may see."""
        snapshot = None if self.job is None else self.job.snapshot()
        if self.final_state is not None:
            state = self.final_state.value
        elif snapshot is None:
            state = QUEUED if self.is_waiting else JobState.RUNNING.value
        elif snapshot.state.is_final:
            # The result stands, but is being written down: not final for the pages yet.
            state = JobState.STOPPING.value
        else:
            state = snapshot.state.value
        if self.verified is not None and isinstance(snapshot, Snapshot):
            snapshot = replace(snapshot, run=self.verified)
        error = self.error or (None if snapshot is None else snapshot.error)
        return JobView(
            self.id,
            self.session,
            self.name,
            state,
            position,
            self.submitted,
            self.started,
            self.finished,
            self.settings,
            self.data,
            snapshot,
            error,
            self.task,
        )
