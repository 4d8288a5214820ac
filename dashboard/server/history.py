"""The runs of one browser, from the history on disk and from memory; no Streamlit in here."""

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dashboard.server.job_view import HELPER, JobView, title_of
from dashboard.server.supervisor import Supervisor
from octcore.engines.events import relative_gap
from octcore.errors import OctError, StoreError, read_in_words
from octcore.solving.run import BEST_FOUND, best_found, tightened
from octcore.solving.settings import Asked, question
from octcore.store.runs import RunInfo, run_summary


def entries(supervisor: Supervisor, session: str) -> tuple[JobView, ...]:
    """Runs of a browser, newest first, those of the history without their trees.

    Raises `OctError` if the history cannot be read.
    """
    live = {job.id: job for job in supervisor.jobs(session) if not job.task}
    stored = [] if supervisor.store is None else supervisor.store.list(session)
    found, proofs = {key: _live(job) for key, job in live.items()}, _proofs(stored)
    found |= {info.id: _stored(info, live.get(info.id), proofs) for info in stored}
    lines = [line for line in found.values() if not line.title.startswith(HELPER)]
    return tuple(sorted(lines, key=lambda line: -line.submitted))


def entry(supervisor: Supervisor, run_id: str) -> JobView | None:
    """One run by its full id, whoever started it; None when there is none."""
    job, store = supervisor.get(run_id), supervisor.store
    job = None if job is not None and job.task else job
    try:
        info = None if store is None else store.info(run_id)
        # Only of an open run: the list is long, and this one line is asked for by every page.
        others = store.list(info.session) if store and info and _is_open(info) else ()
    except OctError:
        info, others = None, ()
    if info is not None:
        return _stored(info, job, _proofs(others))
    return None if job is None else _live(job)


def proof(supervisor: Supervisor, run_id: str) -> RunInfo | None:
    """A run of the same browser, rows and question that is proven optimal; None if there is none.

    Raises `OctError` if the history cannot be read.
    """
    store = supervisor.store
    if store is None:
        return None
    own = store.info(run_id)
    return _closing(own, _proofs(store.list(own.session)))


Proofs = Sequence[tuple[RunInfo, Mapping[str, Any]]]
"""Proven runs, each with what it asks."""


def _proofs(infos: Iterable[RunInfo]) -> Proofs:
    """Those among many: what a run asks is worked out once, not for every other run."""
    proven = (i for i in infos if i.summary.get("status") == "optimal")
    asked = ((i, _question(i)) for i in proven if i.summary.get("bound") is not None)
    return [(info, question) for info, question in asked if question is not None]


def _closing(own: RunInfo, proofs: Proofs) -> RunInfo | None:
    asked = _question(own)
    same = (i for i, question in proofs if i.rows_hash == own.rows_hash and question == asked)
    return next(same, None)


def _is_open(info: RunInfo) -> bool:
    return str(info.summary.get("badge")).startswith(BEST_FOUND)


def _question(info: RunInfo) -> dict[str, Any] | None:
    """What a run asks; None for what is damaged, or of another version."""
    with contextlib.suppress(OctError), read_in_words("BROKEN_RUN", info.id):
        return question(info.settings)
    return None


def _stored(info: RunInfo, job: JobView | None, proofs: Proofs) -> JobView:
    title, summary = info.name or title_of(info.settings, "data"), dict(info.summary)
    if _is_open(info) and (closing := _closing(info, proofs)) is not None:
        asked, objective = Asked.of(info.settings), summary["objective"]
        bound = tightened(asked, objective, summary["bound"], closing.summary["bound"])
        summary |= {"bound": bound, "gap": relative_gap(objective, bound)}
        summary["badge"] = best_found(asked, objective, bound)
    if job is None:
        error = StoreError("NO_RESULT", info.error) if info.error else None
        job = JobView(info.id, title, info.settings, info.state.value, session=info.session)
        job = replace(job, elapsed=float(summary.get("seconds") or 0.0), error=error)
    return replace(job, title=title, submitted=info.created, summary=summary)


def _live(job: JobView) -> JobView:
    return job if job.run is None else replace(job, summary=run_summary(job.run))
