"""Load a table, say how its columns are meant, and look at them before solving."""

import streamlit as st

from dashboard import session
from dashboard.views.data import column_editor, dataset_input, encoding_preview, repairs
from dashboard.widgets import chart, inputs
from dashboard.widgets.frame import draw_title
from dashboard.widgets.inputs import lazy_tabs
from dashboard.widgets.start import MARGIN_SETTINGS, start_button, suits_margins
from octcore.plotting.rows_plot import class_bars, class_bars_figure

draw_title("Data")
left, right = st.columns([3, 2], gap="large")
with left:
    dataset_input.draw()
    if session.state().problem:
        inputs.say(session.state().problem)
    dataset_input.draw_refused()
    dataset_input.describe_source()
data = session.dataset()
with right:
    column_editor.draw_target()
    repairs.draw_gaps()
    start_button("Find an optimal tree", key="start_from_data")
    if session.is_ready():
        if suits_margins(data):
            words = "Find a tree with margins"
            start_button(words, "start_margins", MARGIN_SETTINGS, is_first=False)
        chart.show(
            class_bars_figure(class_bars(data.classes, data.class_counts), session.palette()),
            key="class_bars",
            alt="Rows of every class as bars",
        )

lazy_tabs(
    {
        "Rows": dataset_input.preview,
        "Columns": column_editor.draw,
        encoding_preview.TAB: encoding_preview.draw,
        "Findings": repairs.draw_all,
    },
    key=encoding_preview.TABS,
    first="Columns" if data.y is None else "Rows",
)
