"""Load a table, say how its columns are meant, and look at them before solving."""

from __future__ import annotations

import streamlit as st

from dashboard import session
from dashboard.views.data import column_editor, dataset_input, encoding_preview
from dashboard.widgets import chart
from dashboard.widgets.frame import draw_title
from dashboard.widgets.lazy_tabs import lazy_tabs
from dashboard.widgets.start import MARGIN_SETTINGS, start_button, suits_margins
from octcore.plotting import text
from octcore.plotting.class_bars import ClassBars, class_bars_figure

draw_title("Data")
left, right = st.columns([3, 2], gap="large")
with left:
    dataset_input.draw()
    if session.problem():
        st.error(text.markdown(session.problem(), 400), icon=":material/error:")
    dataset_input.describe_source()
data = session.dataset()
with right:
    if data.y is None:
        st.info("Choose the column to predict, below.", icon=":material/arrow_downward:")
    else:
        bars = ClassBars(data.classes, data.class_counts)
        st.markdown(f"**What is predicted: {text.markdown(data.target_name)}**")
        chart.show(
            class_bars_figure(bars, session.palette()),
            key="class_bars",
            alt="Rows of every class as bars",
        )
    start_button("Find an optimal tree", key="start_from_data")
    if data.y is not None and suits_margins(data):
        start_button("Find a tree with margins", "start_margins", MARGIN_SETTINGS, is_first=False)

lazy_tabs(
    {
        "Rows": dataset_input.preview,
        "Columns": column_editor.draw,
        "Encoding": encoding_preview.draw,
        "Findings": dataset_input.findings,
    },
    key="data_tabs",
    first="Columns" if data.y is None else "Rows",
)
