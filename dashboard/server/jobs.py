"""Solves as the pages see them: start one, look at it, stop it."""

import contextlib
import gc
import importlib
import pkgutil
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st
from streamlit import runtime

from dashboard import views
from dashboard.server import history
from dashboard.server.families import Family
from dashboard.server.job_view import JobView
from dashboard.server.presses import outlive_redraws
from dashboard.server.supervisor import Supervisor
from dashboard.server.tables import Tables
from dashboard.server.tunings import START_SECONDS, TASK, Plan, Standing, standing_of, work_of
from octcore.data.dataset import Dataset
from octcore.data.serial import default_path
from octcore.engines.events import Trace
from octcore.errors import OctError, StoreError
from octcore.formulations.base import get_formulation, list_formulations
from octcore.solving.run import Run
from octcore.solving.settings import Asked
from octcore.store.proofs import bounded, proof_of
from octcore.store.runs import RunInfo

KEEP = 32  # tables and runs of all sessions; the oldest goes


@st.cache_resource(show_spinner=False)
def supervisor() -> Supervisor:
    """Return the one supervisor of this server."""
    return Supervisor()


def tables() -> Tables:
    """Return the tables that were read on this server; no worker is started for them."""
    return Tables(default_path().with_name("tables"))


def _load_libraries() -> None:
    list_formulations()
    for module in pkgutil.walk_packages(views.__path__, f"{views.__name__}."):
        importlib.import_module(module.name)
    # Streamlit collects garbage after every rerun: 0.2 s for the libraries alone, which stay.
    gc.collect()
    gc.freeze()


@st.cache_resource(show_spinner=False)
def warm_up() -> Supervisor:
    """Start the idle worker, and load what other pages need before anybody asks for them."""
    if runtime.exists():  # not where a process of other work runs this file as its parent did
        outlive_redraws(runtime.get_instance().media_file_mgr)
    threading.Thread(target=_load_libraries, name="load", daemon=True).start()
    return supervisor()


def submit(owner: str, data: Dataset, settings: Mapping[str, Any], title: str = "") -> str:
    """Queue a solve; returns its id.

    `title`: name in the history; by default made of settings and data.
    Raises `OctError` if settings or data are refused, or too many solves wait already.
    """
    return supervisor().submit(owner, data, settings, title)


def submit_all(
    owner: str, solves: Mapping[Any, tuple[Dataset, Mapping[str, Any]]]
) -> dict[Any, str]:
    """Queue several solves, all or none; returns their ids by name.

    Raises `OctError` as `submit` does.
    """
    started: dict[Any, str] = {}
    try:
        for name, (data, settings) in solves.items():
            started[name] = submit(owner, data, settings)
    except OctError:
        for run_id in started.values():
            supervisor().stop(run_id)
        raise
    return started


def view(run_id: str | None) -> JobView | None:
    """Look at a solve, in memory or in the history; None when there is none of that id."""
    if run_id is None:
        return None
    job = supervisor().get(run_id)
    if job is None:
        job = _from_history(run_id)
    return None if job is None or job.task else _bounded(job)


def _bounded(view: JobView) -> JobView:
    """A run that is not proven, with what the proof of another run says about it."""
    store = supervisor().store
    with contextlib.suppress(OctError):  # a run that is not in the history has no other beside it
        if store is not None and view.run is not None:
            return replace(view, run=bounded(store, view.id, view.run))
    return view


def proof(run_id: str) -> RunInfo | None:
    """A run of the same browser, rows and question that is proven optimal; None without one."""
    store = supervisor().store
    with contextlib.suppress(OctError):  # as above
        return None if store is None else proof_of(store, run_id)
    return None


def _from_history(run_id: str) -> JobView | None:
    view, store = history.entry(supervisor(), run_id), supervisor().store
    if view is None or store is None:
        return None
    try:  # not cached, so that what arrives later is found
        if not view.is_final:
            return replace(view, trace=Trace(store.events(run_id)))
        run = _load(run_id, str(view.summary.get("badge")))
        return replace(view, trace=run.trace, run=run, error=None)
    except OctError as error:  # it has no tree, or is damaged
        return replace(view, error=view.error or error)


def rows(view: JobView) -> Dataset | None:
    """All rows of a solve, the held-out ones included; None when this server has none."""
    try:
        return _stored_rows(view.id) if view.data is None else view.data
    except OctError:
        return None  # not cached, so that rows that arrive later are found


def rows_of(view: JobView) -> Dataset | None:
    """Rows to ask about again: all of them where the server has them, else the training rows."""
    found = rows(view)
    return found if found is not None or view.run is None else view.run.train


@st.cache_resource(max_entries=KEEP, show_spinner=False)
def _stored_rows(run_id: str) -> Dataset:
    store = supervisor().store
    if store is None:
        raise StoreError("NO_RESULT", "This server keeps no history.")
    return store.data(run_id)


@st.cache_resource(max_entries=KEEP, show_spinner=False)
def _load(run_id: str, badge: str) -> Run:
    """`badge`: of the history; a run that was checked meanwhile is read again."""
    return supervisor().load(run_id)


@st.cache_resource(show_spinner=False)
def followers() -> dict[tuple[str, str], str]:
    """Solves and tasks by what they are for and about which run or data: the same for everybody."""
    return {}


def start_tuning(owner: str, data: Dataset, plan: Plan) -> str:
    """Queue a model selection; returns its id."""
    name = f"{get_formulation(plan.formulation).info.title} on {data.name}"
    seconds = 1.1 * work_of(plan, data).longest + START_SECONDS
    return supervisor().submit_task(owner, data, TASK, plan.settings, name, seconds)


def tunings(owner: str, others: Iterable[str]) -> tuple[Standing, ...]:
    """Model selections of a browser and others that it knows by their link, newest first."""
    own = [job.id for job in reversed(supervisor().jobs(owner)) if job.task == TASK]
    found = (task(key) for key in dict.fromkeys((*own, *others)))
    return tuple(standing_of(job) for job in found if job.task == TASK)


GONE = StoreError("GONE", "This is not kept any more; start it again.")


def task(task_id: str) -> JobView:
    """How a task stands; one that is not kept any more has failed."""
    return supervisor().get(task_id) or JobView(task_id, "", {}, "failed", error=GONE)


def follower(key: tuple[str, str]) -> str | None:
    """The task of a question; None where there is none, or none that is kept."""
    known = followers().get(key)
    return None if known is None or task(known).error is GONE else known


def once(
    key: tuple[str, str],
    owner: str,
    data: Dataset,
    what: str,
    settings: Mapping[str, Any],
    seconds: float,
    run: Run | None = None,
    is_look: bool = False,
) -> str:
    """The task of a question: the one that goes on or has its result, else a new one.

    `is_look`: as for `Supervisor.submit_task`.
    """
    if follower(key) is None or failure(key):
        if run is not None:  # its by-products may be large, and are not asked about
            settings = {**settings, "run": {**run.to_dict(), "values": {}}}
        followers()[key] = supervisor().submit_task(
            owner, data, what, settings, what, seconds, is_look
        )
    return followers()[key]


def failure(key: tuple[str, str]) -> str:
    """Why the task of a question has no result; empty while it goes on or has one."""
    known = follower(key)
    return "" if known is None else task(known).message


def keep_family(
    runs: Sequence[str], whole: Dataset, settings: Mapping[str, Any], n_selected: int = 0
) -> None:
    """Keep from which rows those of some solves were made; see `Family`."""
    asked = Asked.of(settings)
    kept = Family(whole, tuple(runs), asked.test_size, asked.seed, n_selected)
    supervisor().keep_family(kept)
