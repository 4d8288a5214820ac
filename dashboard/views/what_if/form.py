"""The question of a what-if: conditions on the tree, and how many good trees meet them."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import streamlit as st

from dashboard import session
from dashboard.server.job_view import JobView
from dashboard.views.what_if.questions import columns_words, search_settings
from dashboard.widgets import constraint_form, live
from octcore.constraints import ACCEPTED, Constraints, ParityLimit
from octcore.data.dataset import Dataset
from octcore.parameters import ByClass, Directions, Flag, IntRange, NamePairs, Parameter
from octcore.plotting import text
from octcore.plotting.alternatives import points_words
from octcore.plotting.root_values import RootValue
from octcore.plotting.row_path import used_columns
from octcore.selection.alternatives import Meeting
from octcore.solving.run import Run, SolvedRun

SAME = "max_splits"
"""Says the same of a tree as `max_leaves`; one of them is enough here."""


def _of(*kinds: type[Parameter]) -> list[Parameter]:
    """Side constraints of some kinds."""
    return [p for p in ACCEPTED if isinstance(p, kinds) and p.name != SAME]


def draw(
    run_id: str, run: SolvedRun, data: Dataset, values: tuple[RootValue, ...]
) -> dict[str, Any]:
    """Draw the conditions; returns those that are asked for.

    `values`: shown beside the features; empty while they are not known.
    """

    def key(*parts: object) -> str:
        return session.widget_key("whatif", run_id, *parts)

    asked: dict[str, Any] = {}
    known = {entry.feature: entry for entry in values}
    used = used_columns(run.tree, run.encoding)
    names = sorted(data.feature_names, key=lambda name: (name not in used, name))
    asked["forbidden_features"] = st.multiselect(
        "Drop features",
        names,
        format_func=lambda name: f"{text.printable(name)} (used)" if name in used else name,
        placeholder="none",
        help="Raw columns that no split may test; those in use come first.\n\n`forbidden_features`",
        key=key("drop"),
    )
    roots = sorted(data.feature_names, key=lambda n: -known[n].value if n in known else 1.0)
    asked["root_feature"] = st.selectbox(
        "Start with",
        roots,
        index=None,
        format_func=lambda name: (
            text.printable(name, 40) + (f" (V = {known[name].value:.4g})" if name in known else "")
        ),
        placeholder="any feature",
        help="Raw column that the root must test, with the best objective of any such tree.\n\n"
        "`root_feature`",
        key=key("root"),
    )
    asked |= constraint_form.constraint_inputs(_of(IntRange), data, key, per_line=3)
    with st.expander("Pairs and paths", icon=":material/link_off:"):
        asked |= constraint_form.constraint_inputs(_of(NamePairs, Flag), data, key)
    with st.expander("One way only: what may not turn round", icon=":material/trending_up:"):
        asked |= constraint_form.constraint_inputs(_of(Directions), data, key)
    with st.expander("Classes: recall and weights", icon=":material/balance:"):
        asked |= constraint_form.constraint_inputs(_of(ByClass), data, key)
    with st.expander("Fairness", icon=":material/groups:"):
        asked |= constraint_form.constraint_inputs(_of(ParityLimit), data, key)
    return constraint_form.asked_for(asked)


TASK, TASK_SECONDS = "meeting", 400.0
TOLERANCE = 0.02
"""Distance from the optimum within which a tree is good."""


def count_good_trees(run_id: str, run: Run, data: Dataset, asked: Mapping[str, Any]) -> None:
    """Say how many good trees meet the conditions.

    `asked`: side constraints, those of the run among them.
    """
    if not Constraints.parse(asked).active - {"class_weight"}:
        return
    search = search_settings(run, data, TOLERANCE)
    settings = {"search": search, "constraints": dict(asked)}
    question = (TASK, run_id, data, settings, TASK_SECONDS)
    answer = partial(_answer, search["encoding"])
    live.answer(*question, draw=answer, doing="Counting the good trees that meet this")


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
