"""The parent's side: a pool that keeps a worker warm, and the blocking call of the command line."""

import contextlib
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from octcore.data.dataset import Dataset
from octcore.engines.events import Event
from octcore.solving.run import Run
from octcore.solving.settings import check_against_data, check_settings
from octcore.worker.job import Job, Snapshot
from octcore.worker.process import COMMAND, SolveProcess
from octcore.worker.request import Request

WATCH_SECONDS = 0.25  # a dead worker is noticed within it
STALE_SECONDS = 5.0  # an idle worker that was not heard for so long is not used
HEAD_START = 2.0  # most first solves end within it; a worker's imports take a core for as long


class WorkerPool:
    """Starts workers, keeps idle ones imported and compiled, and watches the busy ones.

    `idle`: number of idle workers to keep; starting one costs 3 to 6 s.
    `niceness`: how far a busy worker stands back behind its parent, which other people wait for.
    """

    def __init__(self, idle: int = 1, command: Sequence[str] = COMMAND, niceness: int = 0) -> None:
        self._idle_count, self._command, self._niceness = idle, command, niceness
        self._lock = threading.Lock()
        self._idle: list[SolveProcess] = []
        self._jobs: set[Job] = set()
        self._taken = 0.0
        self._closing = threading.Event()
        self._refill()
        threading.Thread(target=self._watch, name="worker-watch", daemon=True).start()

    def start(
        self,
        request: Request,
        on_event: Callable[[Event], None] | None = None,
        on_end: Callable[[Job], None] | None = None,
        called: float | None = None,
    ) -> Job:
        """Start a solve or a task on a warm worker, or on a new one."""
        if self._closing.is_set():
            raise RuntimeError("The pool is closed.")
        process = self._take()
        if self._niceness:
            process.stand_back(self._niceness)
        job = Job(request, process, on_event, on_end, called)
        with self._lock:
            self._jobs.add(job)
        return job

    @property
    def is_warm(self) -> bool:
        """Whether an idle worker is ready."""
        with self._lock:
            return any(process.is_ready and process.is_alive for process in self._idle)

    def close(self) -> None:
        """End every worker, busy or idle."""
        self._closing.set()
        with self._lock:
            idle, self._idle = self._idle, []
            jobs = tuple(self._jobs)
        for job in jobs:
            job.stop(polite=0.2)
        for process in idle:
            process.kill()
        for process in idle:
            process.wait(2.0)
        for job in jobs:
            job.wait(5.0)

    def __enter__(self) -> "WorkerPool":
        """Use as a context: leaving it ends all workers."""
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _take(self) -> SolveProcess:
        with self._lock:
            # The one that has been warming longest.
            process = self._idle.pop(0) if self._idle else None
            self._taken = time.monotonic()
        if process is not None and not (process.is_alive and process.silence < STALE_SECONDS):
            process.kill()
            process = None
        return process or SolveProcess(self._command)

    def _refill(self) -> None:
        with self._lock:
            lost = [process for process in self._idle if not process.is_alive or process.is_lost]
            self._idle = [process for process in self._idle if process not in lost]
            missing = 0 if self._closing.is_set() else self._idle_count - len(self._idle)
            for _ in range(missing):
                with contextlib.suppress(OSError):
                    self._idle.append(SolveProcess(self._command))
        for process in lost:
            process.kill()

    def _watch(self) -> None:
        while not self._closing.wait(WATCH_SECONDS):
            with self._lock:
                self._jobs = {job for job in self._jobs if not job.is_final}
                jobs = tuple(self._jobs)
            for job in jobs:
                job.check()
            if not self._idle or time.monotonic() - self._taken > HEAD_START:
                self._refill()


def solve_in_child(
    data: Dataset,
    settings: Mapping[str, Any],
    on_event: Callable[[Event], None] | None = None,
    on_phase: Callable[[Snapshot], None] | None = None,
    process: SolveProcess | None = None,
    called: float | None = None,
    sample_weight: np.ndarray | None = None,
) -> Run:
    """Solve in a child process and wait; ends within the limit + max(5 s, 10 %) in every case.

    Ctrl-C stops the solve and returns what it has; a second Ctrl-C kills it.

    `on_event`: receives every event, from another thread.
    `on_phase`: receives a snapshot a few times a second, from the calling thread.
    `process`: a worker that has not served yet; by default one is started.
    `called`: `time.monotonic` of the moment from which the limit counts; now by default.
    Raises `OctError` if the settings or data are refused, or the worker died with nothing to
    return.
    """
    with process or SolveProcess() as process:  # it imports while settings are checked: both do
        accepted = check_against_data(check_settings(**settings), data)
        # As a number, also where the command line gave text: the hard deadline is made of it.
        settings = {**settings, "time_limit": accepted.time_limit}
        job = Job(
            Request(data, settings, sample_weight=sample_weight), process, on_event, called=called
        )
        try:
            while not job.wait(WATCH_SECONDS):
                job.check()
                if on_phase is not None:
                    on_phase(job.snapshot())
        except KeyboardInterrupt:
            try:
                job.stop(wait=True)
            except KeyboardInterrupt:
                job.kill()
        return job.result()
