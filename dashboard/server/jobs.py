"""Solves as the pages see them: start one, look at it, stop it."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from dashboard import cached
from dashboard.server.families import Families
from dashboard.server.naming import title_of
from dashboard.server.supervisor import VERIFY_TASK, Supervisor
from dashboard.server.tunings import START_SECONDS, TASK, Plan, Standing, standing_of, work_of
from octcore.data.dataset import Dataset
from octcore.engines.trace import Trace
from octcore.errors import OctError, StoreError
from octcore.formulations.base import get_formulation, list_formulations
from octcore.plotting import text
from octcore.solving.run import Run

KEEP = 32


@dataclass(frozen=True, eq=False)
class RunView:
    """One solve at one moment, whether it waits, runs, has ended or comes from the history.

    Parameters
    ----------
    id : str
        Full UUID; knowing it is the right to see the run.
    title : str
        Short name: formulation, data, depth.
    settings : mapping
        Keywords of `octcore.solve`.
    state : str
        ``"queued"``, ``"running"``, ``"stopping"``, ``"done"``, ``"stopped"``, ``"failed"`` or
        ``"interrupted"`` when the program died during the solve.
    phase : str
        What is being done now.
    position : int
        Place in the queue, 0 when it does not wait.
    elapsed : float
        Seconds since it started.
    trace : Trace
        Events so far.
    data : Dataset or None
        All rows, the held-out ones included; None for runs from the history.
    run : Run or None
        The result, once there is one.
    error : OctError or None
        Why it failed.
    started, finished : float or None
        Seconds since 1970; None while it waits or goes on, and for runs from the history.
    """

    id: str
    title: str
    settings: Mapping[str, Any]
    state: str
    phase: str = ""
    position: int = 0
    elapsed: float = 0.0
    trace: Trace = field(default_factory=Trace)
    data: Dataset | None = None
    run: Run | None = None
    error: OctError | None = None
    started: float | None = None
    finished: float | None = None

    @property
    def is_final(self) -> bool:
        """Whether nothing will change any more."""
        return self.state in {"done", "stopped", "failed", "interrupted"}


@st.cache_resource(show_spinner=False)
def supervisor() -> Supervisor:
    """Return the one supervisor of this server."""
    return Supervisor()


@st.cache_resource(show_spinner=False)
def _load_formulations() -> threading.Thread:
    """Load in the background: the first page needs none of them, the second all."""
    thread = threading.Thread(target=list_formulations, name="load-formulations", daemon=True)
    thread.start()
    return thread


def warm_up() -> None:
    """Start the idle worker and load the formulations before anybody asks for them."""
    supervisor()
    _load_formulations()


def submit(owner: str, data: Dataset, settings: Mapping[str, Any], title: str = "") -> str:
    """Queue a solve; returns its id.

    Parameters
    ----------
    owner : str
        The browser session.
    data : Dataset
        Rows with a target.
    settings : mapping
        Keywords of `octcore.solve`.
    title : str
        Name in the history; by default made of settings and data.

    Raises
    ------
    OctError
        If settings or data are refused, or too many solves wait already.
    """
    title = title or title_of(settings, data.name)
    return supervisor().submit(owner, data, settings, title)


def view(run_id: str | None) -> RunView | None:
    """Look at a solve, in memory or in the history; None when there is none of that id."""
    if run_id is None:
        return None
    job = supervisor().get(run_id)
    if job is None:
        return _from_history(run_id)
    if job.task:
        return None
    shot = job.snapshot
    return RunView(
        job.id,
        job.name or title_of(job.settings, job.data.name),
        job.settings,
        job.state,
        "" if shot is None else shot.phase,
        job.position,
        0.0 if shot is None else shot.elapsed,
        Trace(supervisor().events(run_id)),
        job.data,
        job.run,
        job.error,
        job.started,
        job.finished,
    )


def _from_history(run_id: str) -> RunView | None:
    store = supervisor().store
    try:
        info = None if store is None else store.info(run_id)
    except OctError:
        return None
    if store is None or info is None:
        return None
    run = None if info.state.is_open else _loaded(run_id)
    error = StoreError("NO_RESULT", info.error or "It ended without a tree.")
    return RunView(
        run_id,
        info.name or title_of(info.settings, "data"),
        info.settings,
        info.state.value,
        elapsed=float(info.summary.get("seconds") or 0.0),
        trace=Trace(store.events(run_id)) if run is None else run.trace,
        run=run,
        error=error if run is None and not info.state.is_open else None,
    )


def rows(run_id: str) -> Dataset | None:
    """All rows of a solve, the held-out ones included; None when this server has none."""
    job = supervisor().get(run_id)
    if job is not None:
        return None if job.task else job.data
    try:
        return _stored_rows(run_id)
    except OctError:
        return None  # not cached, so that rows that arrive later are found


@st.cache_resource(max_entries=KEEP, show_spinner=False)
def _stored_rows(run_id: str) -> Dataset:
    store = supervisor().store
    if store is None:
        raise StoreError("NO_RESULT", "This server keeps no history.")
    return store.data(run_id)


def _loaded(run_id: str) -> Run | None:
    try:
        return _load(run_id)
    except OctError:
        return None  # not cached, so that a run that arrives later is found


@st.cache_resource(max_entries=KEEP, show_spinner=False)
def _load(run_id: str) -> Run:
    return supervisor().load(run_id)


@st.cache_resource(show_spinner=False)
def followers() -> dict[tuple[str, str], str]:
    """Solves that follow from a run alone, by purpose and run: the same for every browser."""
    return {}


def stop(run_id: str) -> None:
    """Ask a solve to stop and keep its incumbent; one that waits leaves the queue."""
    supervisor().stop(run_id)


def cores() -> int:
    """Return how many solves run at once."""
    return supervisor().cores


def delete(run_id: str) -> None:
    """Delete a run that has ended, here and in the history.

    Raises
    ------
    OctError
        If it still goes on, or the history cannot be changed.
    """
    supervisor().delete(run_id)


def start_tuning(owner: str, data: Dataset, plan: Plan) -> str | None:
    """Queue a model selection; returns its id, or None after saying why it cannot be started."""
    name = f"{get_formulation(plan.formulation).info.title} on {data.name}"
    try:
        seconds = 1.1 * work_of(plan, data).longest + START_SECONDS
        return supervisor().submit_task(owner, data, TASK, plan.settings, name, seconds)
    except OctError as error:
        st.error(text.markdown(error.message, 400), icon=":material/error:")
        return None


def tuning(tuning_id: str) -> Standing | None:
    """How a model selection stands; None when this server does not keep it."""
    job = supervisor().get(tuning_id)
    return standing_of(job) if job is not None and job.task == TASK else None


def tunings(owner: str, others: Iterable[str]) -> tuple[Standing, ...]:
    """Model selections of a browser and others that it knows by their link, newest first."""
    own = [job.id for job in reversed(supervisor().jobs(owner)) if job.task == TASK]
    found = (tuning(key) for key in dict.fromkeys((*own, *others)))
    return tuple(standing for standing in found if standing is not None)


def start_task(
    owner: str, data: Dataset, task: str, settings: Mapping[str, Any], seconds: float
) -> str | None:
    """Queue a task; returns its id, or None after saying why it cannot be started."""
    try:
        return supervisor().submit_task(owner, data, task, settings, task, seconds)
    except OctError as error:
        st.error(text.markdown(error.message, 400), icon=":material/error:")
        return None


def keep(owner: str, data: Dataset, run: Run, title: str) -> str | None:
    """Keep a run that was made without a solve; returns its id, or None after saying why not."""
    try:
        return supervisor().keep(owner, data, run, title)
    except OctError as error:
        st.error(text.markdown(error.message, 400), icon=":material/error:")
        return None


def start_verification(owner: str, run_id: str, run: Run, seconds: float) -> str | None:
    """Queue the independent check of a run; returns the id of the task, as `start_task`.

    When it ends, the run has its answer, in memory and in the history.
    """
    assert run.train is not None
    settings = {"run_id": run_id, "run": run.to_dict(), "time_limit": seconds}
    _load.clear(run_id)  # is read again, with its answer
    return start_task(owner, run.train, VERIFY_TASK, settings, 1.2 * seconds + START_SECONDS)


def is_task_final(task_id: str) -> bool:
    """Whether a task has ended, or is not kept any more."""
    job = supervisor().get(task_id)
    return job is None or job.is_final


def task_message(task_id: str) -> str:
    """Why a task has no result, in one sentence; empty while it goes on or has one."""
    job = supervisor().get(task_id)
    if job is None:
        return "This is not kept any more; start it again."
    if not job.is_final or job.result is not None:
        return ""
    return "It was stopped." if job.error is None else job.error.message


def task_words(task_id: str) -> str:
    """What a task does now, and for how long."""
    job = supervisor().get(task_id)
    if job is None:
        return ""
    if job.position:
        return f"waiting, place {job.position} in the queue"
    return f"{job.phase}, {text.seconds(job.elapsed)}"


@st.cache_resource(show_spinner=False)
def families() -> Families:
    """Return what this server knows about solves that belong together."""
    return Families()


def data_token(data: Dataset) -> str:
    """Content hash of a data set."""
    return cached.data_token(data)


def task_result(task_id: str) -> Mapping[str, Any] | None:
    """The whole result of a task; None until it is done."""
    job = supervisor().get(task_id)
    return None if job is None else job.result


def task_parts(task_id: str) -> tuple[Mapping[str, Any], ...]:
    """What a task has told so far; stays when it is stopped."""
    job = supervisor().get(task_id)
    return () if job is None else job.parts
