"""Choose finished runs of the history to stand side by side."""

import streamlit as st

from dashboard import session
from dashboard.server import history, jobs
from dashboard.views.runs.history_table import SPLIT, name_of, when
from octcore.errors import OctError
from octcore.plotting import text


def draw() -> None:
    """Draw a list of runs with a tree; the button compares those that are chosen."""
    try:
        found = history.entries(jobs.supervisor(), session.token())
    except OctError as error:
        st.warning(text.markdown(error.message, 400))
        return
    known = {
        line.id: line
        for line in found
        # Repetitions on other splits belong to the run that they repeat.
        if line.summary.get("objective") is not None and not SPLIT.search(line.title)
    }
    for run_id in (*session.state().runs, *session.compared()):
        line = history.entry(jobs.supervisor(), run_id)
        if run_id not in known and line is not None and line.is_final:
            known[run_id] = line
    if len(known) < 2:
        st.info("There are not two finished runs yet. Start new ones in the tab beside this one.")
        return
    chosen = st.multiselect(
        "Runs, newest first",
        list(known),
        default=[key for key in session.compared() if key in known],
        max_selections=session.MOST_COMPARED,
        format_func=lambda key: f"{name_of(known[key])} · {when(known[key].submitted)}",
        key=session.widget_key("compare_history", *session.compared()),
        placeholder="Choose two to four",
    )
    if st.button(
        "Compare these",
        key="compare_these",
        type="primary",
        icon=":material/compare:",
        disabled=len(chosen) < 2,
    ):
        session.compare(chosen)
        st.rerun()
