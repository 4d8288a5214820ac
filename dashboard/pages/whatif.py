"""What if: conditions on a solved tree, and what they cost."""

from __future__ import annotations

import streamlit as st

from dashboard import session
from dashboard.views.what_if import view as what_if_view
from dashboard.widgets import run_picker
from dashboard.widgets.frame import draw_title
from dashboard.widgets.start import start_button

draw_title("What if")
view = run_picker.draw(session.run_id())
run = None if view is None else view.solved
if view is None:
    st.info("There is no solved tree yet. Solve one first; then ask here what a condition costs.")
    start_button("Find an optimal tree", key="start_from_whatif")
elif not view.is_final:
    st.info("This run is still going on; ask again when it has ended.")
    st.page_link("pages/solve.py", label="Watch it", query_params=session.run_query())
elif run is None:
    st.warning("This run ended without a tree, so there is nothing to compare with.")
    st.page_link("pages/solve.py", label="Solve again", query_params=session.run_query())
else:
    what_if_view.draw(view, run)
