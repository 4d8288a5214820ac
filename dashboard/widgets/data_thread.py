"""The thread between a run and its data: restored by the link, said where they differ."""

import json
from collections.abc import Mapping
from typing import Any

import streamlit as st

from dashboard import cached, session
from dashboard.server import jobs
from dashboard.server.job_view import JobView
from dashboard.widgets import inputs
from octcore.data.dataset import Dataset, class_versus_rest
from octcore.errors import OctError
from octcore.plotting import text
from octcore.solving.recipe import DataChoice
from octcore.solving.settings import CLASSES, check_settings, without_retired


def forget_gone() -> None:
    """Say when the run that is looked at is not there any more, and look at it no more."""
    looked_at = st.query_params.get(session.RUN_PARAMETER) or session.state().run
    if looked_at and jobs.view(looked_at) is None:
        session.forget_run(looked_at)
        words = "The run that this page was to show is not in the history of this server: it was "
        words += "deleted, or made on another one. Ask there for its report, which opens anywhere."
        unread = text.markdown(jobs.supervisor().history_problem, 500)
        st.warning(unread or words, icon=":material/link_off:")


def restore() -> None:
    """Load what the link names into a session that has no data yet: data, and what to ask."""
    if session.state().choice is not None:
        return
    _restore_data()
    if written := st.query_params.get(session.FORM_PARAMETER):
        try:
            asked = without_retired(json.loads(written))
            check_settings(**{name: v for name, v in asked.items() if name != CLASSES.name})
        except (OctError, ValueError, TypeError, AttributeError, RecursionError):
            st.warning("The settings of this link cannot be read; the form on Solve is as usual.")
        else:
            session.offer(session.SOLVE, asked)


def _restore_data() -> None:
    """Load linked data, or those of a linked tuning or run, or of the first that are compared."""
    given = st.query_params
    tuning = given.get(session.TUNING_PARAMETER)
    if tuning is not None and (job := jobs.task(tuning)).data is not None:
        go_on(job.data, job.settings, session.TUNE)
        return
    view = jobs.view(given.get(session.RUN_PARAMETER) or next(iter(session.compared()), None))
    if name := given.get(session.DATA_PARAMETER):
        kept = jobs.tables().read(name)
        if kept is not None and _reopen(*kept):
            if view is not None:
                session.offer(session.SOLVE, view.settings)
            return
        st.warning("The data of this link are not on this server any more; load a table.")
    data = None if view is None else jobs.rows(view)
    if data is not None and view is not None:
        go_on(data, view.settings, run=view.id)


OF_RUN = b"\0run:"
"""Before the id of a run: kept in place of a table that is the rows of that run."""


def _reopen(content: bytes, chosen: DataChoice) -> bool:
    """Read a table again, or the rows of a run, as it was meant; returns whether it could be."""
    if not content.startswith(OF_RUN):
        return session.reopen(content, chosen)
    view = jobs.view(content.removeprefix(OF_RUN).decode())
    if view is None or (data := jobs.rows(view)) is None:
        return False
    session.adopt(data, cached.data_token)
    return chosen == session.choice() or session.change_choice(**vars(chosen))


def link() -> None:
    """Put the data into the URL, so that a reload finds them; the first sample needs no link."""
    now = session.state()
    name = ""
    if now.choice is not None and now.choice != session.choice_of_sample(session.FIRST_SAMPLE):
        name = jobs.tables().link(now.table.sha256, now.choice)
    session.link(session.DATA_PARAMETER, name)


def go_on(
    data: Dataset, settings: Mapping[str, Any], page: str = session.SOLVE, run: str = ""
) -> None:
    """Load rows, unless they are loaded, and have a form open with settings filled in.

    `run`: whose rows they are, so that a link finds them.
    """
    token = cached.data_token
    if session.state().choice is None or token(data) != token(session.dataset()):
        session.adopt(data, token)
        if run and not session.choice().sample:
            jobs.tables().keep(session.table().sha256, OF_RUN + run.encode())
    session.offer(page, settings)


def is_other(view: JobView | None) -> bool:
    """Whether a job is about other data than those that are loaded, or than one class of them."""
    data = None if view is None else jobs.rows(view)
    if view is None or data is None or data is session.dataset():
        return False
    if jobs.supervisor().family(view.id) is not None:
        return False
    loaded, label = session.dataset(), str(data.positive_class)
    if label in map(str, loaded.classes) and data.name == f"{loaded.name}: {label}":
        loaded = class_versus_rest(loaded, label)
    token = cached.once_per_run(view.id, "data token", lambda: cached.data_token(data))
    return token != cached.data_token(loaded)


def strip(view: JobView, what: str = "This run") -> None:
    """Say when a job is about other data than those that are loaded, and offer to load them."""
    data = jobs.rows(view)
    if data is None or not is_other(view):
        return
    left, right = st.columns([3, 2], vertical_alignment="center")
    loaded = session.dataset()
    other = f"are other data, **{text.markdown(loaded.name, 40)}**"
    if loaded.name == data.name:
        sides = ("without", data, loaded), ("with", loaded, data)
        told = [(word, [n for n in one.feature_names if n not in other.feature_names])
                for word, one, other in sides]  # fmt: skip
        how = " and ".join(f"{word} {text.few(names)}" for word, names in told if names)
        how = how or "other rows, labels or kinds of columns"
        other = f"is another version of it ({text.markdown(how, 200)})"
    left.caption(
        f":material/call_split: {what} is about **{text.markdown(data.name, 40)}** "
        f"({text.count(data.n_samples, 'row')}); loaded {other}."
    )
    with right:
        button(view)


def button(view: JobView) -> None:
    """Draw the button that loads the data and settings of a run."""
    key = session.widget_key("continue", view.id)
    if not inputs.wide_button("Load its data", "database", key, is_first=False):
        return
    data = jobs.rows(view)
    if data is None:
        st.warning("The rows of this run are not on this server any more.")
        return
    page, run = (session.TUNE, "") if view.task else (session.SOLVE, view.id)
    go_on(data, view.settings, page, run)
    st.rerun()
