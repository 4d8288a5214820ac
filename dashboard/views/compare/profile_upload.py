"""A performance profile from the CSV file that a benchmark writes."""

from __future__ import annotations

import streamlit as st

from dashboard import session
from dashboard.widgets import chart
from octcore.errors import OctError
from octcore.plotting import text
from octcore.plotting.profile_plot import COLUMNS, profile_data, profile_figure


def draw() -> None:
    """Draw the uploader, and the profile of the file."""
    st.caption(
        "A file written by `octcore bench SUITE --output results.csv`: how many instances each "
        "formulation proves within a time, and how far it is on the others when time is up."
    )
    upload = st.file_uploader("Bench file", type=["csv"], key="profile_file")
    if upload is None:
        return
    by = st.segmented_control(
        "One curve for every", COLUMNS, default="formulation", required=True, key="profile_by"
    )
    try:
        record = profile_data(upload.getvalue(), by)
    except OctError as error:
        st.error(text.markdown(error.message, 400), icon=":material/error:")
        return
    chart.show(
        profile_figure(record, session.palette()),
        key="profile",
        alt=f"Performance profile of {len(record.proven)} curves on {record.n_instances} instances",
    )
    st.caption(text.markdown(record.words, 600))
