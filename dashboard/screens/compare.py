"""Two to four runs side by side: a race of gap curves, then trees, planes and what differs."""

import streamlit as st

from dashboard import session
from dashboard.server import jobs
from dashboard.views.compare import race_form, race_view
from dashboard.views.compare import side_by_side as beside
from dashboard.views.compare.race_view import labels_of
from dashboard.views.data import encoding_preview
from dashboard.widgets import data_thread
from dashboard.widgets.frame import draw_title
from dashboard.widgets.inputs import lazy_tabs
from octcore.plotting import text

draw_title("Race")
asked = session.compared()
found = [view for key in asked if (view := jobs.view(key)) is not None and view.settings]
views = found[: session.MOST_COMPARED]
of_all = f"Of {text.count(len(asked), 'run')} in this link,"
if missing := len(asked) - len(found):
    st.warning(f"{of_all} {missing:,} cannot be found, or read, on this server.")
if len(found) > len(views):
    st.warning(f"{of_all} the first {len(views)} found are shown: more do not fit side by side.")

if views:
    data_thread.strip(views[0], "The first of these runs")

# Folded below what is compared; before that there is nothing to fold, and no fold to be in the way.
with st.expander("Compare others", icon=":material/checklist:") if views else st.container():
    st.fragment(race_form.draw)(session.dataset())  # what is compared below is not drawn anew
encoding_preview.price_link()
if not views:
    st.info(
        "Press **Start**: the runs solve the same rows, their gaps close in one chart, "
        "and then trees, planes and numbers stand beside each other. To compare those that have "
        "ended, tick two to four of them on the page Runs.",
        icon=":material/arrow_upward:",
    )
else:
    views = race_view.draw(views)
    if all(view.is_final for view in views):
        labels = labels_of(views)
        runs = [
            beside.Finished(view.id, labels[i], i, view.run)
            for i, view in enumerate(views)
            if view.run is not None
        ]
        if runs:
            left, right = st.columns([3, 2], vertical_alignment="center")
            left.header("What differs", anchor=False)
            with right.container(horizontal=True):
                beside.file_buttons(views, runs)
            beside.differences([done.run for done in runs], [done.label for done in runs])
            lazy_tabs(
                {
                    "Trees": lambda: beside.trees(runs),
                    "Planes": lambda: beside.planes(runs),
                    "Features": lambda: beside.features(runs),
                    "Accuracy": lambda: beside.accuracy(runs),
                    "Certificates": lambda: beside.certificates(runs),
                },
                key="compare_tabs",
            )
