"""The runs of one browser, from the history on disk and from memory; no Streamlit in here."""

import contextlib
from dataclasses import replace

from dashboard.server.job_view import HELPER, JobView, title_of
from dashboard.server.supervisor import Supervisor
from octcore.errors import OctError, StoreError, read_in_words
from octcore.store.proofs import as_known
from octcore.store.runs import RunInfo, run_summary


def entries(supervisor: Supervisor, session: str) -> tuple[JobView, ...]:
    """Runs of a browser, newest first, those of the history without their trees.

    Raises `OctError` if the history cannot be read.
    """
    live = {job.id: job for job in supervisor.jobs(session) if not job.task}
    store, found = supervisor.store, {key: _live(job) for key, job in live.items()}
    stored = () if store is None else as_known(store, store.list(session))
    found |= {info.id: _stored(info, live.get(info.id)) for info in stored}
    lines = [line for line in found.values() if not line.title.startswith(HELPER)]
    return tuple(sorted(lines, key=lambda line: -line.submitted))


def entry(supervisor: Supervisor, run_id: str) -> JobView | None:
    """One run by its full id, whoever started it; None when there is none."""
    job, store = supervisor.get(run_id), supervisor.store
    job = None if job is not None and job.task else job
    with contextlib.suppress(OctError):  # not in the history, or not to be read
        if store is not None:
            return _stored(as_known(store, (store.info(run_id),))[0], job)
    return None if job is None else _live(job)


def _stored(info: RunInfo, job: JobView | None) -> JobView:
    settings, summary = dict(info.settings), dict(info.summary)
    error = StoreError("NO_RESULT", info.error) if info.error else None
    try:
        with read_in_words("BROKEN_RUN", "What this run was asked"):
            title = title_of(settings, "data")
    except OctError as broken:  # damaged, or of another version
        title, settings, error = info.id, {}, broken
    title = info.name or title
    if job is None:
        job = JobView(info.id, title, settings, info.state, session=info.session)
        job = replace(job, elapsed=float(summary.get("seconds") or 0.0), error=error)
    return replace(job, title=title, submitted=info.created, summary=summary)


def _live(job: JobView) -> JobView:
    return job if job.run is None else replace(job, summary=run_summary(job.run))
