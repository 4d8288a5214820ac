"""Model selection: values to try, cross-validation in the background, and the best of them."""

from functools import partial

import streamlit as st

from dashboard import session
from dashboard.server import jobs
from dashboard.views.tune import form as tune_form
from dashboard.views.tune import view as tune_view
from dashboard.widgets import inputs
from dashboard.widgets.frame import draw_title

draw_title("Tune")
left, right = st.columns([2, 3], gap="large")
with right:
    # First: what runs is shown before the form counts the next one.
    tune_view.draw(session.tuning_id())
with left:
    plan = tune_form.draw(session.dataset())
    if plan is not None and tune_form.start_button(session.dataset(), plan):
        make = partial(jobs.start_tuning, session.token(), session.dataset(), plan)
        if started := inputs.tried(make):
            session.look_at_tuning(started)
            st.rerun()
