"""Solves as the pages see them: start one, look at it, stop it."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from octcore.data.dataset import Dataset
from octcore.engines.trace import Trace
from octcore.errors import OctError
from octcore.formulations.base import list_formulations
from octcore.run import Run
from octcore.worker import Job, Request, WorkerPool


@dataclass(frozen=True, eq=False)
class JobView:
    """One solve at one moment.

    Parameters
    ----------
    id : str
        Full UUID; knowing it is the right to see the run.
    data : Dataset
        All rows, the held-out ones included.
    settings : mapping
        Keywords of `octcore.solve`.
    state : str
        ``"queued"``, ``"running"``, ``"stopping"``, ``"done"``, ``"stopped"`` or ``"failed"``.
    phase : str
        What is being done now.
    position : int
        Place in the queue, 0 when it runs.
    elapsed : float
        Seconds since it started.
    trace : Trace
        Events so far.
    run : Run or None
        The result, once there is one.
    error : OctError or None
        Why it failed.
    """

    id: str
    data: Dataset
    settings: Mapping[str, Any]
    state: str
    phase: str
    position: int
    elapsed: float
    trace: Trace = field(default_factory=Trace)
    run: Run | None = None
    error: OctError | None = None

    @property
    def is_final(self) -> bool:
        """Whether nothing will change any more."""
        return self.state in {"done", "stopped", "failed"}

    @property
    def title(self) -> str:
        """Short name: formulation, data, depth."""
        depth = self.settings.get("depth", 2)
        return f"{self.settings['formulation']} on {self.data.name}, depth {depth}"


class _Jobs:
    def __init__(self) -> None:
        self.pool = WorkerPool(idle=1)
        self.jobs: dict[str, tuple[Dataset, Mapping[str, Any], Job]] = {}
        self.lock = threading.Lock()


@st.cache_resource(show_spinner=False)
def _jobs() -> _Jobs:
    return _Jobs()


def warm_up() -> None:
    """Start the idle worker and load the formulations before anybody asks for them."""
    _jobs()
    _load_formulations()


@st.cache_resource(show_spinner=False)
def _load_formulations() -> threading.Thread:
    """Load in the background: the first page needs none of them, the second all."""
    thread = threading.Thread(target=list_formulations, name="load-formulations", daemon=True)
    thread.start()
    return thread


def submit(data: Dataset, settings: Mapping[str, Any]) -> str:
    """Start a solve; returns its id."""
    jobs = _jobs()
    key = str(uuid.uuid4())
    job = jobs.pool.start(Request(data, dict(settings)))
    with jobs.lock:
        jobs.jobs[key] = (data, dict(settings), job)
    return key


def view(key: str | None) -> JobView | None:
    """Look at a solve; None when this server knows none of that id."""
    if key is None or key not in _jobs().jobs:
        return None
    data, settings, job = _jobs().jobs[key]
    shot = job.snapshot()
    return JobView(
        key,
        data,
        settings,
        shot.state.value,
        shot.phase,
        0,
        shot.elapsed,
        Trace(job.events()),
        shot.run,
        shot.error,
    )


def stop(key: str) -> None:
    """Ask a solve to stop and keep its incumbent."""
    _jobs().jobs[key][2].stop()
