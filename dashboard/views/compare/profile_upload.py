"""A performance profile from the CSV file that a benchmark writes."""

import streamlit as st

from dashboard import session
from dashboard.widgets import chart, inputs
from octcore.bench.profiles import GROUPS, parse_bench
from octcore.plotting import bench_plot, text


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
        "One curve for every", GROUPS, default="formulation", required=True, key="profile_by"
    )
    record = inputs.tried(lambda: bench_plot.profile_data(upload.getvalue(), by))
    if record is None:
        return
    chart.show(
        bench_plot.profile_figure(record, session.palette()),
        key="profile",
        alt=f"Performance profile of {len(record.proven)} curves on {record.n_instances} instances",
    )
    st.caption(text.markdown(record.words, 600))
    compared = bench_plot.beside_the_paper(parse_bench(upload.getvalue()), session.palette())
    for caption, figure, words in compared:
        with st.expander(caption):
            chart.show(figure, key=f"profile {caption}", alt=f"{caption}. {words}")
            st.caption(text.markdown(words, 600))
