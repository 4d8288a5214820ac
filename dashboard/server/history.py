"""The runs of one browser, from the history on disk and from memory; no Streamlit in here."""

from dataclasses import replace

from dashboard.server.job_view import HELPER, JobView, title_of
from dashboard.server.supervisor import Supervisor
from octcore.errors import OctError, StoreError
from octcore.solving.settings import question
from octcore.store.runs import RunInfo, run_summary


def entries(supervisor: Supervisor, session: str) -> tuple[JobView, ...]:
    """Runs of a browser, newest first, those of the history without their trees.

    Raises `OctError` if the history cannot be read.
    """
    live = {job.id: job for job in supervisor.jobs(session) if not job.task}
    stored = [] if supervisor.store is None else supervisor.store.list(session)
    found = {key: _live(job) for key, job in live.items()}
    found |= {info.id: _stored(info, live.get(info.id)) for info in stored}
    lines = [line for line in found.values() if not line.title.startswith(HELPER)]
    return tuple(sorted(lines, key=lambda line: -line.submitted))


def entry(supervisor: Supervisor, run_id: str) -> JobView | None:
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


def proof(supervisor: Supervisor, run_id: str) -> RunInfo | None:
    """A run of the same browser, rows and question that is proven optimal; None if there is none.

    Raises `OctError` if the history cannot be read.
    """
    store = supervisor.store
    if store is None:
        return None
    own = store.info(run_id)
    asked = question(own.settings)
    return next(
        (
            info
            for info in store.list(own.session)
            if info.rows_hash == own.rows_hash
            and info.summary.get("status") == "optimal"
            and info.summary.get("bound") is not None
            and question(info.settings) == asked
        ),
        None,
    )


def _stored(info: RunInfo, job: JobView | None) -> JobView:
    title = info.name or title_of(info.settings, "data")
    if job is not None:
        return replace(job, title=title, submitted=info.created, summary=info.summary)
    return JobView(
        info.id,
        title,
        info.settings,
        info.state.value,
        elapsed=float(info.summary.get("seconds") or 0.0),
        error=StoreError("NO_RESULT", info.error) if info.error else None,
        submitted=info.created,
        session=info.session,
        summary=info.summary,
    )


def _live(job: JobView) -> JobView:
    return job if job.run is None else replace(job, summary=run_summary(job.run))
