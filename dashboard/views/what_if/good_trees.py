"""How many of the nearly optimal trees meet the conditions, before anything is solved again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from dashboard import session
from dashboard.server import jobs
from dashboard.views.alternatives.question import columns_words, key_of, search_settings
from octcore.constraints import Constraints
from octcore.data.dataset import Dataset
from octcore.plotting import text
from octcore.plotting.alternatives import points_words
from octcore.selection.alternatives import Meeting
from octcore.solving.run import Run

TASK, TASK_SECONDS = "meeting", 400.0
TOLERANCE = 0.02
"""Distance from the optimum within which a tree is good."""
SECONDS_BETWEEN = 0.6


def draw(run_id: str, run: Run, data: Dataset, asked: Mapping[str, Any]) -> None:
    """Say how many good trees meet the conditions.

    Parameters
    ----------
    run_id : str
        The solved run.
    run : Run
        Its result; the good trees are those of its columns, rows and depth.
    data : Dataset
        The rows.
    asked : mapping
        Side constraints, those of the run among them.
    """
    if not Constraints.parse(asked).active - {"class_weight"}:
        return
    search = search_settings(run, data, TOLERANCE)
    settings = {"search": search, "constraints": dict(asked)}
    key = (f"{TASK}:{key_of(settings)}", run_id)
    if message := jobs.failure(key):
        st.caption(f"The good trees could not be counted: {text.markdown(message, 300)}")
        return
    task = jobs.once(key, session.token(), data, TASK, settings, TASK_SECONDS)
    if task is None:
        return
    is_final = jobs.task(task).is_final
    pace = None if is_final else SECONDS_BETWEEN
    st.fragment(_answer, run_every=pace)(task, search["encoding"], is_final)


def _answer(task: str, encoding: str, was_final: bool) -> None:
    job = jobs.task(task)
    if job.is_final and not was_final:
        st.rerun()
    if job.result is not None:
        st.markdown(meeting_words(Meeting(**job.result["meeting"]), encoding))
        st.page_link("pages/alternatives.py", label="Choose among the good trees",
                     query_params=session.run_query(), icon=":material/forest:")  # fmt: skip
    elif not was_final:
        st.caption(f"Counting the good trees that meet this: {text.markdown(job.words)}")


def meeting_words(found: Meeting, encoding: str) -> str:
    """Say it in a sentence.

    Parameters
    ----------
    found : Meeting
    encoding : str
        Of the good trees.
    """
    trees = (
        f"{found.total:,} trees on {columns_words(encoding)} within {points_words(TOLERANCE)} of "
        "their optimum"
    )
    verb = "meets" if found.count == 1 else "meet"
    if found.is_exact and found.count:
        return f"**{found.count:,}** of the {trees} {verb} this."
    if found.is_exact:
        return f"**None** of the {trees} meets this: it costs more than that."
    return (
        f"At least **{found.count:,}** of the {trees} {verb} this; the best {found.looked_at:,} "
        "were looked at."
    )
