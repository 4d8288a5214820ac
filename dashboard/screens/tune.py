"""Model selection: values to try, cross-validation in the background, and the best of them."""

from functools import partial

import streamlit as st

from dashboard import session
from dashboard.server import jobs
from dashboard.views.data import column_editor
from dashboard.views.tune import view
from dashboard.widgets import inputs
from dashboard.widgets.frame import RESULT_FIRST, draw_title

draw_title("Tune")
with st.container(key=RESULT_FIRST):
    left, right = st.columns([2, 3], gap="large")
with right:
    # First: what runs is shown before the form counts the next one.
    view.draw(session.linked(session.TUNING_PARAMETER, session.look_at_tuning))
with left:
    plan = None if column_editor.asks_first() else view.draw_form(session.dataset())
    if plan is not None and view.start_button(session.dataset(), plan):
        make = partial(jobs.start_tuning, session.token(), session.dataset(), plan)
        if started := inputs.tried(make):
            session.look_at_tuning(started)
            st.rerun()
