"""Choose formulation and settings, solve, and watch incumbent and bound meet."""

import streamlit as st

from dashboard import session
from dashboard.views.data import column_editor
from dashboard.views.solve import progress, solve_form
from dashboard.widgets.frame import RESULT_FIRST, draw_title

draw_title("Solve")
data = session.dataset()
with st.container(key=RESULT_FIRST):
    left, right = st.columns([2, 3], gap="large")
with right:
    # First: what runs is shown before the form estimates the size of the next model.
    if session.run_id() or session.is_ready():
        progress.draw(session.run_id())
with left:
    if not column_editor.asks_first():
        settings, place, rows = solve_form.draw(data)
        with place:
            pressed = solve_form.solve_button(rows.data, settings)
            solve_form.remember(settings, rows)
        if pressed and solve_form.start(rows, settings):
            st.rerun()
        solve_form.copy_as(settings, rows)
