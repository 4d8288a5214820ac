"""The near-optimal trees of a run: the question, and six views of the answer."""

import json
from dataclasses import asdict
from functools import partial
from typing import Any

import streamlit as st

from dashboard import cached, session
from dashboard.server import jobs
from dashboard.server.job_view import JobView
from dashboard.views.alternatives import pictures, trees
from dashboard.views.what_if.questions import (
    Conditions,
    best_settings,
    columns_words,
    left_out,
    rows_of,
    search_settings,
)
from dashboard.widgets import live, proofs
from dashboard.widgets.inputs import lazy_tabs
from octcore.data.dataset import Dataset
from octcore.plotting import text
from octcore.plotting.alternatives import points_words
from octcore.plotting.difference import condition_words
from octcore.selection.alternatives import ROUNDING, Alternatives
from octcore.solving.prepare import split_rows
from octcore.solving.run import Run

POINTS = (0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0)
FIRST_POINTS = 1.0
TASK, TASK_SECONDS = "alternatives", 400.0
"""The search itself ends after a minute; compiling it, once per installation, may take longer."""
MOST_REQUIRED, MOST_GROUPS = 4, 10


def draw(view: JobView, run: Run) -> None:
    """Draw question and answer for a finished run."""
    data = rows_of(view)
    if data is None or data.y is None:
        st.warning("The rows of this run are gone; load the data and solve again.")
        return
    conditions = _form(run, data)
    search = search_settings(run, data, conditions.tolerance)
    settings = {"search": search, "conditions": asdict(conditions)}
    answer = partial(_answer, view.id, run, data, search, conditions)
    question = (TASK, view.id, data, settings, TASK_SECONDS)
    live.answer(*question, draw=answer, doing="Counting the good trees", at_once=True)


def _form(run: Run, data: Dataset) -> Conditions:
    """Draw the conditions; they hold for every view below."""
    places = st.columns([5, 4, 4, 2, 3], vertical_alignment="bottom")
    points = places[0].select_slider(
        "Within so many points of the optimum",
        POINTS,
        value=FIRST_POINTS,
        format_func=lambda v: f"{v:g}",
        key="alternatives_points",
        persist_state="session",
        help="In the objective: accuracy minus the price of the leaves. A tree exactly on the "
        "border is in.",
    )
    names = list(run.encoding.raw_features)
    required = places[1].multiselect(
        "Must use",
        names,
        max_selections=MOST_REQUIRED,
        key=session.widget_key("alternatives_with", *names),
        persist_state="session",
    )
    banned = places[2].multiselect(
        "Must not use",
        [name for name in names if name not in required],
        key=session.widget_key("alternatives_without", *names),
        persist_state="session",
    )
    leaves: dict[str, Any] = {"key": "alternatives_leaves", "persist_state": "session"}
    most = places[3].number_input("Most leaves", 1, 32, None, 1, placeholder="any", **leaves)
    groups = places[4].selectbox(
        "Groups to be fair to",
        [name for name in data.feature_names if len(data.frame[name].unique()) <= MOST_GROUPS],
        index=None,
        key=session.widget_key("alternatives_groups", *names),
        persist_state="session",
        placeholder="none",
        help="Shows how far the shares of positive predictions are apart between its groups.",
    )
    reaches = points / 100 >= float(search_settings(run, data, 0.0)["params"]["leaf_penalty"])
    gain = st.toggle(
        "Every split lowers the errors",
        value=reaches,
        key=f"alternatives_gain_{reaches}",
        persist_state="session",
        help="Within the price of a leaf of the optimum any tree may have a split that changes no "
        "answer; such trees are left out.",
    )
    return Conditions(
        points / 100,
        tuple(required),
        tuple(banned),
        None if most is None else int(most),
        groups,
        gain,
    )


def _answer(
    run_id: str,
    run: Run,
    data: Dataset,
    search: dict[str, Any],
    conditions: Conditions,
    job: JobView,
) -> None:
    task = job.id
    record = cached.once_per_run(
        task, TASK, lambda: Alternatives.from_dict((job.result or {})["alternatives"])
    )
    train = split_rows(data, float(search["test_size"]), int(search["seed"]))[0]
    _headline(run, record, search)
    if not record.count:
        _none(run_id, data, best_settings(search, conditions), record)
        return
    context = trees.Context(run_id, task, data, train, search)
    lazy_tabs(
        {
            "How many": partial(pictures.counts, task, record),
            "Features": partial(pictures.features, task, record),
            "Paths": partial(pictures.paths, task, record),
            "Shapes": partial(pictures.shapes, run_id, data, search, conditions),
            "Trees": partial(trees.draw, context, record),
            "Rows": partial(pictures.rows, task, record, train),
        },
        key="alternatives_tabs",
    )


def _none(
    run_id: str, data: Dataset, settings: dict[str, Any] | None, record: Alternatives
) -> None:
    """Say how far from the optimum the best tree under the conditions is, with its proof."""
    st.info("No tree meets all of this; allow more leaves, more points or other features.")
    if settings is None:
        st.caption("What the best such tree is cannot be asked: no search knows *must use*.")
        return
    if not settings["constraints"]:
        return
    words = condition_words(settings["constraints"])
    started = live.solve(f"best:{json.dumps(settings, default=str)}", run_id, data, settings)
    if started is None:
        return
    key = started.id

    def answer() -> None:
        view = jobs.view(key)
        if view is None or not view.is_final:
            st.caption(f"Searching the best tree {text.markdown(words, 200)} …")
        elif (run := view.solved) is None or run.objective is None:
            live.no_result(view, "No such tree was found in the time.")
        else:
            loss = record.optimum - run.objective
            below = points_words(max(loss, 0.0))
            proven = "proven" if run.is_proven else "not proven"
            best = f"The best tree {words} is {below} below the optimum ({proven}"
            st.markdown(f"**{text.markdown(best, 300)}).**")
            if record.same_columns and loss <= record.tolerance + ROUNDING:
                st.caption(
                    "It asks a column that parts the rows like one that must not be used; the "
                    "count takes both for one."
                )
            claim = f"no tree {words} has a higher objective than {text.fixed(run.objective)}"
            proofs.file(view.id, run, text.markdown(claim, 300))

    live.until(lambda: live.all_final([jobs.view(key)]), answer)


def _headline(run: Run, record: Alternatives, search: dict[str, Any]) -> None:
    shown = text.count(record.count, "tree")
    of_all = "" if record.count == record.total else f" of {record.total:,}"
    st.markdown(
        f"**{shown}{of_all}** within {points_words(record.tolerance)} of the proven optimum "
        f"{text.number(record.optimum)}; counted exactly in {text.seconds(record.seconds)}."
    )
    if record.statements:
        st.caption(text.markdown(f"Read so: {'; '.join(record.statements)}.", 400))
    notes = []
    if run.encoding.key != search["encoding"]:
        notes.append(
            f"The run tests {run.encoding.key} columns; near-optimal trees are counted on "
            f"{columns_words(search['encoding'])}, and their optimum is that of these."
        )
    missing = sorted(left_out(run))
    if missing:
        notes.append(
            f"Constraints that cannot be counted under are left out: {', '.join(missing)}."
        )
    for name, others in record.same_columns.items():
        notes.append(f"{name} stands for {', '.join(others)}, which part the rows alike.")
    for note in notes[:3]:
        st.caption(text.markdown(note, 400))
