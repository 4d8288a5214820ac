"""Encoding preview: a raw column, its classes and the thresholds that would be put on it."""

import streamlit as st

from dashboard import cached, session
from dashboard.views.data import binarization
from dashboard.widgets import chart
from octcore.data.numbers import FEW_NUMBERS
from octcore.encoding.keys import encoding_keys
from octcore.plotting import text
from octcore.plotting.rows_plot import encoding_plot_data, encoding_plot_figure

TABS, TAB = "data_tabs", "Encoding"
"""Key of the tabs of the page Data, and the label of this one."""


def draw() -> None:
    """Draw the choice of encoding and column, the histogram and what the encoding remarks."""
    data = session.dataset()
    if not data.feature_names:
        st.info("No feature column is left; take one back under Columns.")
        return
    st.caption(
        "For formulations that see 0/1 columns alone: an encoding makes them of numbers. The "
        "search on all thresholds needs none."
    )
    first, second = st.columns(2)
    column = first.selectbox(
        "Column", data.feature_names, key=session.widget_key("preview", hash(data.feature_names))
    )
    keys = encoding_keys()
    key = second.selectbox(
        "Encoding",
        keys,
        index=keys.index("QT-5"),
        key="preview_encoding",
        help="QT-q puts q-1 thresholds at quantiles; QB-q makes q buckets between them; both cut "
        f"between all neighbours where a column has at most {FEW_NUMBERS} numbers; class-change "
        "cuts between neighbours of different class.",
        accept_new_options=True,
    )
    fitted = cached.encoding(data, key or "QT-5")
    if isinstance(fitted, str):
        st.warning(text.markdown(fitted, 300))
    record = encoding_plot_data(data, None if isinstance(fitted, str) else fitted, column)
    chart.show(
        encoding_plot_figure(record, session.palette()),
        key="encoding_plot",
        alt=f"Rows by value of the column, with {len(record.thresholds)} thresholds",
    )
    if isinstance(fitted, str):
        return
    st.caption(
        f"{text.markdown(column)} becomes {text.count(record.n_encoded, 'encoded column')}; "
        f"all columns together become {len(fitted.columns):,}."
    )
    for finding in fitted.findings:
        st.caption(f":material/info: {text.markdown(finding, 400)}")
    binarization.draw(data, column)


def price_link() -> None:
    """Draw the way from another page to the price of binarization."""
    if st.button(
        "Compare encodings: what do coarser thresholds cost?",
        icon=":material/compare_arrows:",
        type="tertiary",
        key="price_link",
    ):
        st.session_state[TABS] = TAB
        st.switch_page("pages/data.py")
