"""Which rows and classes a solve is given: one class against the rest, a selection of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from dashboard import session
from dashboard.server import families, jobs
from octcore.data.dataset import Dataset
from octcore.data.grouping import class_versus_rest
from octcore.errors import OctError
from octcore.formulations.base import FormulationInfo
from octcore.plotting import text

SECONDS_BETWEEN = 1.0
SELECT_SECONDS = 300.0
ONE, EVERY = "one class against the rest", "one tree for every class"
SELECTABLE = "svm1-odt"
RULES = {"hull": "corners of the clusters", "balanced": "few points whose hull holds many"}


@dataclass(frozen=True, eq=False)
class Rows:
    """What is solved.

    Parameters
    ----------
    data : Dataset
        The rows of the solve; the first of them for one tree per class.
    whole : Dataset
        All rows with all classes.
    every_class : bool
        Whether there is one tree for every class.
    n_selected : int
        Number of selected rows; 0 when all are used.
    """

    data: Dataset
    whole: Dataset
    every_class: bool = False
    n_selected: int = 0


def draw(info: FormulationInfo, data: Dataset, depth: int) -> Rows:
    """Draw what the formulation needs to know about the rows; nothing for most.

    Parameters
    ----------
    info : FormulationInfo
        The formulation.
    data : Dataset
        The current data.
    depth : int
        Of the tree, whose clusters a selection uses.
    """
    if data.y is not None and families.takes_too_few_classes(info, data):
        return _classes(info, data)
    if data.y is not None and info.key == SELECTABLE:
        return _selection(data, depth)
    return Rows(data, data)


def _classes(info: FormulationInfo, data: Dataset) -> Rows:
    with st.container(border=True):
        st.markdown(
            f"**{text.markdown(info.title)} separates {info.max_classes} classes; these data have "
            f"{data.n_classes}.**"
        )
        how = st.segmented_control(
            "Solve",
            [ONE, EVERY],
            default=ONE,
            required=True,
            key="classes_how",
            persist_state="session",
            help="One class against the rest is one tree. One tree for every class is several "
            "solves; together they give every row the class whose tree puts it farthest on its "
            "own side. Nothing is proven about them together.",
        )
        if how == EVERY:
            st.caption(f"{text.count(data.n_classes, 'solve')}, each with the whole time limit.")
            return Rows(class_versus_rest(data, data.classes[0]), data, every_class=True)
        label = st.selectbox(
            "Class",
            data.classes,
            format_func=lambda name: f"{text.printable(name, 40)} against the rest",
            key=session.widget_key("classes_label", hash(data.classes)),
        )
        return Rows(class_versus_rest(data, label), data)


def _selection(data: Dataset, depth: int) -> Rows:
    with st.expander("Train on a selection of the rows", icon=":material/filter_alt:"):
        st.caption(
            "For many rows: Algorithm 1 of the SVM1-ODT paper keeps those that can be corners of "
            "the clusters under a greedy tree. The proof then covers the selected rows only; the "
            "tree is judged on all."
        )
        left, right = st.columns([3, 2], vertical_alignment="bottom")
        rule = left.selectbox(
            "Keep", list(RULES), format_func=RULES.__getitem__, key="select_rule",
            persist_state="session",
        )  # fmt: skip
        purpose = ("select", jobs.data_token(data), rule, depth)
        task = session.side_run(*purpose)
        if right.button("Select", key="select_start", icon=":material/play_arrow:",
                        width="stretch"):  # fmt: skip
            settings = {"rule": rule, "depth": depth, "time_limit": SELECT_SECONDS}
            task = jobs.start_task(session.token(), data, families.SELECT_TASK, settings,
                                   1.2 * SELECT_SECONDS)  # fmt: skip
            if task is not None:
                session.remember_side_run(task, *purpose)
        if task is None:
            return Rows(data, data)
        final = jobs.is_task_final(task)
        st.fragment(_selecting, run_every=None if final else SECONDS_BETWEEN)(task, final)
        result = jobs.task_result(task)
        if result is None:
            return Rows(data, data)
        rows = np.array(result["rows"], dtype=np.int64)
        use = st.toggle(
            f"Solve on these {text.count(len(rows), 'row')}", value=True, key=f"select_use:{task}"
        )
    if not use:
        return Rows(data, data)
    return Rows(data.subset(rows), data, n_selected=len(rows))


def _selecting(task: str, was_final: bool) -> None:
    if jobs.is_task_final(task) and not was_final:
        st.rerun()
    result = jobs.task_result(task)
    if result is not None:
        share = 100 * len(result["rows"]) / result["n_samples"]
        st.markdown(
            f"**{len(result['rows']):,} of {result['n_samples']:,} rows** ({share:.2g} %) in "
            f"{text.count(result['clusters'], 'cluster')}, {text.seconds(result['seconds'])}."
        )
        return
    message = jobs.task_message(task)
    if message:
        st.warning(text.markdown(message, 400))
    if not jobs.is_task_final(task):
        st.caption(f":material/hourglass_top: {text.markdown(jobs.task_words(task), 120)}")
        if st.button("Stop", key=f"select_stop:{task}", icon=":material/stop_circle:"):
            jobs.stop(task)


def start(rows: Rows, settings: dict[str, Any]) -> bool:
    """Start what the form describes and look at it; says in a sentence why it cannot."""
    try:
        if rows.every_class:
            run = _start_family(rows.whole, settings)
        else:
            run = jobs.submit(session.token(), rows.data, settings)
            if rows.n_selected:
                jobs.families().note_selection(run, rows.whole, rows.n_selected)
    except OctError as error:
        st.error(text.markdown(error.message, 500), icon=":material/error:")
        return False
    session.remember_settings(settings)
    session.look_at(run)
    return True


def _start_family(data: Dataset, settings: dict[str, Any]) -> str:
    train, test, parts, each = families.one_for_every_class(data, settings)
    started: list[str] = []
    try:
        for part in parts:
            started.append(jobs.submit(session.token(), part, each))
    except OctError:
        for run in started:
            jobs.stop(run)
        raise
    jobs.families().add(started, train, test)
    for run in reversed(started):
        session.look_at(run)
    return started[0]
