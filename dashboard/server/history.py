"""The runs of one browser, from the history on disk and from memory; no Streamlit in here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dashboard.server.job_view import JobView
from dashboard.server.naming import HELPER
from dashboard.server.supervisor import Supervisor
from octcore.errors import OctError
from octcore.store import RunInfo, StoreSize
from octcore.store.records import run_summary


@dataclass(frozen=True)
class Entry:
    """One line of the history."""

    id: str
    name: str
    state: str
    created: float
    """Seconds since 1970."""
    settings: Mapping[str, Any]
    summary: Mapping[str, Any]
    """`settings`, `summary`: keywords of the solve; numbers of the result as far as there are
    any."""
    error: str = ""
    owner: str = ""

    @property
    def is_open(self) -> bool:
        """Whether it waits or runs."""
        return self.state in {"queued", "running", "stopping"}


def entries(supervisor: Supervisor, session: str) -> tuple[Entry, ...]:
    """Runs of a browser, newest first.

    Raises
    ------
    OctError
        If the history cannot be read.
    """
    live = {job.id: job for job in supervisor.jobs(session) if not job.task}
    found = [] if supervisor.store is None else list(supervisor.store.list(session))
    known = {info.id for info in found}
    lines = [_stored(info, live.get(info.id)) for info in found]
    lines += [_live(job) for job in live.values() if job.id not in known]
    lines = [line for line in lines if not line.name.startswith(HELPER)]
    return tuple(sorted(lines, key=lambda line: -line.created))


def entry(supervisor: Supervisor, run_id: str) -> Entry | None:
    """One run by its full id, whoever started it; None when there is none."""
    job = supervisor.get(run_id)
    job = None if job is not None and job.task else job
    try:
        info = None if supervisor.store is None else supervisor.store.info(run_id)
    except OctError:
        info = None
    if info is not None:
        return _stored(info, job)
    return None if job is None else _live(job)


def size(supervisor: Supervisor) -> StoreSize | None:
    """How much the history keeps; None when there is none."""
    return None if supervisor.store is None else supervisor.store.size()


def _stored(info: RunInfo, job: JobView | None) -> Entry:
    state = info.state.value if job is None else job.state
    return Entry(
        info.id, info.name, state, info.created, info.settings, info.summary, info.error,
        info.session,
    )  # fmt: skip


def _live(job: JobView) -> Entry:
    summary = {} if job.run is None else run_summary(job.run)
    error = "" if job.error is None else job.error.message
    return Entry(
        job.id, job.title, job.state, job.submitted, job.settings, summary, error, job.session
    )
