"""All solves of one server: a fair queue, at most as many at once as cores, and their history.

No page and no Streamlit in here; the app keeps one `Supervisor` as a cached resource.
"""

import atexit
import contextlib
import os
import threading
import time
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from dashboard.server.families import Family
from dashboard.server.job_view import JobView, title_of
from octcore.data.dataset import Dataset
from octcore.engines.events import Trace
from octcore.errors import EngineError, OctError, SettingsError, StoreError
from octcore.solving.run import JobState, Run
from octcore.solving.settings import check_against_data, check_settings
from octcore.store.runs import RunStore
from octcore.store.writer import RunWriter
from octcore.verification import Verification
from octcore.worker.client import WorkerPool
from octcore.worker.job import Job
from octcore.worker.request import Request

QUEUED_PER_SESSION = 8
QUEUED_ALTOGETHER = 100
KEPT = 16  # finished jobs kept in memory; older ones are read back from the history
KEPT_TASKS = 64
"""Finished tasks of a kind kept in memory; they are not in the history.  A tuning of an hour is not
forgotten for the nodes of a tree that somebody looked at."""
UNSEEN_SECONDS = 5.0  # pages look about once a second at what they wait for
TICK_SECONDS = 0.5
DRAIN_SECONDS = 2.0
VERIFY_TASK = "verify"
NICENESS = 5  # how far solves stand back behind the server: pages stay quick while all cores work


@dataclass(eq=False)
class Entry:
    """The supervisor's own record of a job; changed under its lock only."""

    known: JobView  # the job as far as its worker has no part in it
    seconds: float = 0.0
    job: Job | None = None
    verified: Run | None = None  # the run with a verification that came later
    is_look: bool = False
    """Whether nobody pressed anything for it: it gives way once no page waits for it."""
    seen: float = field(default_factory=time.monotonic)  # `time.monotonic` of the last look at it

    @property
    def is_waiting(self) -> bool:
        """Whether it is in the queue."""
        return self.known.started is None and not self.is_final

    @property
    def is_running(self) -> bool:
        """Whether it has a worker."""
        return self.known.started is not None and not self.is_final

    @property
    def is_final(self) -> bool:
        """Whether it has ended."""
        return self.known.finished is not None

    def now(self, **changes: Any) -> None:
        """Know something else of it."""
        self.known = replace(self.known, **changes)

    def view(self, position: int) -> JobView:
        """Return what pages may see."""
        if self.job is None:
            return replace(self.known, position=position, phase=self.known.state)
        now = self.job.snapshot()
        # A result that is being written down is not final for the pages yet.
        state = JobState.STOPPING if now.state.is_final else now.state
        return replace(
            self.known,
            state=self.known.state if self.is_final else state,
            phase=now.phase,
            elapsed=now.elapsed,
            trace=Trace(self.job.events()),
            run=self.verified or now.run,
            error=self.known.error or now.error,
            parts=now.parts,
            result=now.result,
        )


class Supervisor:
    """Queue, start, stop and watch solves; every method may be called from any thread.

    `cores`: solves at once; by default the cores of the machine.
    `store`: file of the history; by default the user's.
    `pool`: where workers come from; by default one that keeps two workers warm, so that the runs of
    a race start alike.
    """

    def __init__(
        self,
        cores: int | None = None,
        store: Path | str | None = None,
        pool: WorkerPool | None = None,
    ) -> None:
        self.cores = cores or os.cpu_count() or 1
        self._pool = pool or WorkerPool(min(2, self.cores), niceness=NICENESS)
        self._writer = RunWriter(store)
        self._lock = threading.RLock()
        self._entries: dict[str, Entry] = {}
        self._families: dict[str, Family] = {}
        self._served: Counter[str] = Counter()
        self._serial = 0
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="supervisor", daemon=True)
        self._thread.start()
        atexit.register(self.close)

    @property
    def store(self) -> RunStore | None:
        """The history; None when it cannot be used, see `history_problem`."""
        return self._writer.store

    @property
    def history_problem(self) -> str:
        """One sentence on why there is no history; empty when there is one."""
        return self._writer.problem

    @property
    def is_warm(self) -> bool:
        """Whether the next solve starts without delay."""
        return self._pool.is_warm

    def submit(
        self, session: str, data: Dataset, settings: Mapping[str, Any], name: str = ""
    ) -> str:
        """Queue a solve; returns its id, a full UUID, which is the right to see it.

        Raises `OctError` if settings or data are refused, or too many solves wait already.
        """
        accepted = check_against_data(check_settings(**settings), data)
        settings, run_id = {**settings, "time_limit": accepted.time_limit}, str(uuid.uuid4())
        name = name or title_of(settings, data.name)
        self._queue(Entry(JobView(run_id, name, settings, data=data, session=session)))
        return run_id

    def submit_task(
        self,
        session: str,
        data: Dataset,
        task: str,
        settings: Mapping[str, Any],
        name: str = "",
        seconds: float = 600.0,
        is_look: bool = False,
    ) -> str:
        """Queue a task of `octcore.selection.tasks`, which counts as one solve; returns its id.

        `seconds`: after so long it is ended.
        `is_look`: whether it is forgotten if no page looks at it while others wait.
        Raises `SettingsError` if too many wait already.
        """
        task_id, given = str(uuid.uuid4()), dict(settings)
        asked = JobView(task_id, name or task, given, data=data, session=session, task=task)
        self._queue(Entry(asked, seconds, is_look=is_look))
        return task_id

    def keep(self, session: str, data: Dataset, run: Run, name: str) -> str:
        """Put a run that was made without a solve into the history; returns its id.

        Raises `StoreError` if there is no history.
        """
        if self.store is None:
            raise StoreError("NO_HISTORY", "The tree cannot be kept: there is no history of runs.")
        run_id, write = str(uuid.uuid4()), self._writer.put
        settings = {key: value for key, value in run.settings.items() if key != "data"}
        write(run_id, RunStore.begin, data, settings, name, session, run_id)
        write(run_id, RunStore.append, run_id, run.trace.events)
        write(run_id, RunStore.finish, run_id, JobState.DONE, run)
        self._writer.drain(DRAIN_SECONDS)
        return run_id

    def keep_family(self, family: Family) -> None:
        """Keep from which rows those of some solves were made."""
        with self._lock:
            for run_id in family.runs:
                self._families[run_id] = family
            for old in list(self._families)[:-KEPT_TASKS]:
                del self._families[old]
        kept = (family.runs, family.whole, family.to_dict())
        self._writer.put(family.runs[0], RunStore.keep_family, *kept)

    def family(self, run_id: str) -> Family | None:
        """What a solve is a part of; None for most."""
        with self._lock:
            known = self._families.get(run_id)
        if known is not None or self.store is None:
            return known
        try:
            found = self.store.family(run_id)
        except OctError:
            return None
        return None if found is None else Family.from_dict(found[1], found[0])

    def get(self, job_id: str) -> JobView | None:
        """How a job stands now; None for ids that this server does not hold in memory."""
        with self._lock:
            entry = self._entries.get(job_id)
            if entry is None:
                return None
            entry.seen = time.monotonic()
            order = self._order() if entry.is_waiting else ()
            return entry.view(order.index(entry.known) + 1 if entry.known in order else 0)

    def load(self, job_id: str) -> Run:
        """The run of a finished job, from memory or from the history.

        Raises `OctError` if there is no such run, or it has no result.
        """
        view = self.get(job_id)
        if view is not None and view.run is not None:
            return view.run
        if view is not None and view.error is not None:
            raise view.error
        if self.store is None:
            raise StoreError("NO_SUCH_RUN", f"There is no run {job_id[:40]!r} on this server.")
        return self.store.load(job_id)

    def jobs(self, session: str | None = None) -> tuple[JobView, ...]:
        """Jobs in memory, oldest first; of one session only if one is given."""
        with self._lock:
            known = [entry.known for entry in self._entries.values()]
        views = (self.get(job.id) for job in known if session in (None, job.session))
        return tuple(view for view in views if view is not None)

    def stop(self, job_id: str, wait: bool = False) -> None:
        """Stop a job and keep its incumbent; a waiting one leaves the queue."""
        with self._lock:
            entry = self._entries.get(job_id)
            if entry is None or entry.is_final:
                return
            job = entry.job
            if job is None:
                self._end(entry, JobState.STOPPED, message="Stopped in the queue.")
        if job is not None:
            job.stop(wait=wait)

    def rename(self, job_id: str, name: str) -> None:
        """Give a run another name, in memory and in the history.

        Raises `StoreError` if it is in neither.
        """
        with self._lock:
            entry = self._entries.get(job_id)
            if entry is not None:
                entry.now(title=name)
        if self.store is not None:
            self.store.rename(job_id, name)
        elif entry is None:
            raise StoreError("NO_SUCH_RUN", "This run is not kept any more, so it has no name.")

    def delete(self, job_id: str) -> None:
        """Delete a run from memory and history; one that goes on must be stopped first."""
        with self._lock:
            entry = self._entries.get(job_id)
            if entry is not None and not entry.is_final:
                raise StoreError("RUN_ACTIVE", "This run is still being solved; stop it first.")
            self._entries.pop(job_id, None)
        if self.store is not None:
            self.store.delete(job_id)

    def wait(self, job_id: str, timeout: float) -> bool:
        """Wait until a job is final; returns whether it is."""
        end = time.monotonic() + timeout
        while time.monotonic() < end:
            view = self.get(job_id)
            if view is None or view.is_final:
                return True
            time.sleep(0.02)
        return False

    def close(self) -> None:
        """Stop everything, write the rest of the history; no worker is left."""
        if self._closing.is_set():
            return
        self._closing.set()
        atexit.unregister(self.close)
        for view in self.jobs():
            if view.state == JobState.QUEUED:
                self.stop(view.id)
        self._pool.close()
        self._thread.join(2.0)
        self._writer.close()

    def _queue(self, entry: Entry) -> None:
        entry.now(submitted=time.time())
        asked = entry.known
        with self._lock:
            waiting = [other for other in self._entries.values() if other.is_waiting]
            own = sum(other.known.session == asked.session for other in waiting)
            if own >= QUEUED_PER_SESSION or len(waiting) >= QUEUED_ALTOGETHER:
                message = f"{own} of your solves and {len(waiting)} altogether wait already; stop "
                message += "one or wait for one to end."
                raise SettingsError("QUEUE_FULL", message)
            self._entries[asked.id] = entry
        if not asked.task and asked.data is not None:
            given = (asked.data, asked.settings, asked.title, asked.session, asked.id)
            self._writer.put(asked.id, RunStore.begin, *given, JobState.QUEUED)
        self._dispatch()

    def _order(self) -> tuple[JobView, ...]:
        waiting = [entry.known for entry in self._entries.values() if entry.is_waiting]
        running = Counter(e.known.session for e in self._entries.values() if e.is_running)
        return fair_order(waiting, running, self._served)

    def _dispatch(self) -> None:
        with self._lock:
            self._leave_looks()
            while not self._closing.is_set():
                running = sum(entry.is_running for entry in self._entries.values())
                order = self._order()
                if running >= self.cores or not order:
                    break
                self._start(self._entries[order[0].id])
            self._forget_old()

    def _leave_looks(self) -> None:
        """Forget the looks that nobody waits for any more, if others wait for their place."""
        is_needed, since = bool(self._order()), time.monotonic() - UNSEEN_SECONDS
        for key, entry in [*self._entries.items()]:
            if is_needed and entry.is_look and not entry.is_final and entry.seen < since:
                del self._entries[key]
                if entry.job is not None:
                    entry.job.stop()

    def _start(self, entry: Entry) -> None:
        self._serial += 1
        asked = entry.known
        self._served[asked.session] = self._serial
        entry.now(started=time.time(), state=JobState.RUNNING)
        assert asked.data is not None
        request = Request(asked.data, asked.settings, task=asked.task, seconds=entry.seconds)
        if not asked.task:
            self._writer.put(asked.id, RunStore.start, asked.id)
        try:
            keep = partial(self._writer.append, asked.id)
            entry.job = self._pool.start(request, keep, partial(self._ended, entry))
        except (OSError, RuntimeError) as error:
            failure = EngineError("NO_WORKER", f"No worker could be started: {error}.")
            entry.now(error=failure)
            self._end(entry, JobState.FAILED, message=failure.message)

    def _keep_verification(self, run_id: str, found: Verification) -> None:
        try:
            run = self.load(run_id).with_verification(found)
        except OctError:
            return  # deleted meanwhile
        with self._lock:
            if run_id in self._entries:
                self._entries[run_id].verified = run
        self._writer.put(run_id, RunStore.replace_result, run_id, run)
        self._writer.drain(DRAIN_SECONDS)

    def _ended(self, entry: Entry, job: Job) -> None:
        snapshot = job.snapshot()
        asked = entry.known
        found = (snapshot.result or {}).get("verification") if asked.task == VERIFY_TASK else None
        if found is not None:
            self._keep_verification(str(asked.settings["run_id"]), Verification.from_dict(found))
        entry.job = job
        message = "" if snapshot.error is None else snapshot.error.message
        self._end(entry, snapshot.state, snapshot.run, message)
        self._dispatch()

    def _end(
        self, entry: Entry, state: JobState, run: Run | None = None, message: str = ""
    ) -> None:
        with self._lock:
            entry.now(finished=time.time(), state=state)
        if not entry.known.task:
            run_id = entry.known.id
            self._writer.put(run_id, RunStore.finish, run_id, state, run, message)

    def _forget_old(self) -> None:
        known = [entry.known for entry in self._entries.values() if entry.is_final]
        for task in {job.task for job in known}:
            final = [job for job in known if job.task == task]
            kept = KEPT_TASKS if task else KEPT
            for job in sorted(final, key=lambda job: job.finished or 0.0)[:-kept]:
                # One that the history lacks is nowhere else.
                if not self._writer.is_waiting(job.id):
                    del self._entries[job.id]

    def _watch(self) -> None:
        while not self._closing.wait(TICK_SECONDS):
            # A defect here must not end the watch of the server's life.
            with contextlib.suppress(Exception):
                self._writer.tick()
                self._dispatch()


def fair_order(
    waiting: Sequence[JobView], running: Mapping[str, int], served: Mapping[str, int]
) -> tuple[JobView, ...]:
    """Order waiting jobs fairly.

    The session with the fewest running jobs comes first, then the one served longest ago.

    `waiting`: in the order of submission.
    `served`: serial number of the last start by session.
    """
    left, order = list(waiting), []
    count, last = Counter(running), Counter(served)
    clock = max(last.values(), default=0)
    while left:
        chosen = min(left, key=lambda job: (count[job.session], last[job.session]))
        left.remove(chosen)
        order.append(chosen)
        clock += 1
        count[chosen.session] += 1
        last[chosen.session] = clock
    return tuple(order)
