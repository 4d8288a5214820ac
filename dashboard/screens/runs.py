"""The history: every run of this browser, across restarts; to open, compare, export, delete."""

import streamlit as st

from dashboard import session
from dashboard.server import history, jobs
from dashboard.views.runs import history_table
from dashboard.widgets import live
from dashboard.widgets.frame import draw_title
from dashboard.widgets.start import start_button
from octcore.errors import OctError
from octcore.plotting import text

draw_title("Runs")
supervisor = jobs.supervisor()
if supervisor.history_problem:
    st.warning(text.markdown(supervisor.history_problem, 500), icon=":material/save:")
try:
    entries = list(history.entries(supervisor, session.token()))
except OctError as error:
    st.warning(text.markdown(error.message, 500), icon=":material/save:")
    entries = []

# A link to a run is the right to see it: those that were opened here belong to the list.
current, own = session.run_id(), {entry.id for entry in entries}
opened = (history.entry(supervisor, key) for key in session.state().runs if key not in own)
entries += [entry for entry in opened if entry is not None]
if not entries:
    st.info("Nothing has been solved from this browser yet. Every run is kept here.")
    start_button("Find an optimal tree", key="start_from_runs")
else:
    selected = history_table.draw(entries)
    if not selected:
        last = [entry for entry in entries if entry.id == current]
        selected, which = (last, "the one looked at last") if last else (entries[:1], "the newest")
        st.caption(
            "Tick runs in the first column to choose others: one to open it, two to four to "
            f"compare them, any number to delete them. Shown below: {which}."
        )
    history_table.draw_actions(selected)
going_on = [entry.id for entry in entries if not entry.is_final]
live.until(lambda: live.all_final(map(jobs.view, going_on)), lambda: None, not going_on)
history_table.storage_line(supervisor)
