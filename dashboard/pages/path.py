"""Accuracy against size: the optimal tree for every number of leaves."""

import streamlit as st

from dashboard import session
from dashboard.views.size import view as path_view
from dashboard.widgets.frame import draw_title

draw_title("Size")
data = session.dataset()
if data.y is None:
    st.info("Choose the column to predict on the Data page first.")
    st.page_link("pages/data.py", label="Choose it", icon=":material/table:")
else:
    path_view.draw(data)
