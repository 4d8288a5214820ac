"""Choose formulation and settings, solve, and watch incumbent and bound meet."""

from __future__ import annotations

import streamlit as st

from dashboard import session
from dashboard.widgets import progress, solve_form
from dashboard.widgets.start import start

st.title("Solve")
data = session.dataset()
left, right = st.columns([2, 3], gap="large")
with left:
    settings = solve_form.draw(data)
    if solve_form.solve_button(data, settings):
        start(settings)
        st.rerun()
    solve_form.copy_as(settings)
with right:
    progress.draw(session.run_id())
