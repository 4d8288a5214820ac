"""Alternatives: all trees that are nearly as good as the optimum, to choose from."""

from __future__ import annotations

import streamlit as st

from dashboard import session
from dashboard.views.alternatives import view as alternatives_view
from dashboard.widgets import run_picker
from dashboard.widgets.frame import draw_title
from dashboard.widgets.start import start_button

draw_title("Alternatives")
view = run_picker.draw(session.run_id())
run = None if view is None else view.solved
if view is None:
    st.info("There is no solved tree yet. Solve one first; here are then all trees as good.")
    start_button("Find an optimal tree", key="start_from_alternatives")
elif not view.is_final:
    st.info("This run is still going on; look at its alternatives when it has ended.")
    st.page_link("pages/solve.py", label="Watch it", query_params=session.run_query())
elif run is None:
    st.warning("This run ended without a tree, so there is nothing to compare with.")
    st.page_link("pages/solve.py", label="Solve again", query_params=session.run_query())
else:
    alternatives_view.draw(view, run)
