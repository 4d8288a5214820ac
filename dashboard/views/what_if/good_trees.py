"""How many of the nearly optimal trees meet the conditions, before anything is solved again."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import streamlit as st

from dashboard import session
from dashboard.server.job_view import JobView
from dashboard.views.alternatives.question import columns_words, search_settings
from dashboard.widgets import live
from octcore.constraints import Constraints
from octcore.data.dataset import Dataset
from octcore.plotting.alternatives import points_words
from octcore.selection.alternatives import Meeting
from octcore.solving.run import Run

TASK, TASK_SECONDS = "meeting", 400.0
TOLERANCE = 0.02
"""Distance from the optimum within which a tree is good."""


def draw(run_id: str, run: Run, data: Dataset, asked: Mapping[str, Any]) -> None:
    """Say how many good trees meet the conditions.

    `run`: its result; the good trees are those of its columns, rows and depth.
    `asked`: side constraints, those of the run among them.
    """
    if not Constraints.parse(asked).active - {"class_weight"}:
        return
    search = search_settings(run, data, TOLERANCE)
    settings = {"search": search, "constraints": dict(asked)}
    task = live.ask(TASK, run_id, data, settings, TASK_SECONDS)
    if task is not None:
        draw = partial(_answer, search["encoding"])
        live.task(task, draw, "Counting the good trees that meet this")


def _answer(encoding: str, job: JobView) -> None:
    st.markdown(meeting_words(Meeting(**(job.result or {})["meeting"]), encoding))
    st.page_link("pages/alternatives.py", label="Choose among the good trees",
                 query_params=session.run_query(), icon=":material/forest:")  # fmt: skip


def meeting_words(found: Meeting, encoding: str) -> str:
    """Say it in a sentence."""
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
