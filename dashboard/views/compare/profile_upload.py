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
    _beside_the_paper(upload.getvalue())


def _beside_the_paper(content: bytes) -> None:
    """Draw what the file and the paper both report, and root bounds beside known optima."""
    lines = parse_bench(content)
    for measure, (_, _, words) in bench_plot.MEASURES.items():
        pairs = bench_plot.published_data(lines, measure)
        if not pairs:
            continue
        with st.expander(f"Beside the paper: {words}"):
            chart.show(
                bench_plot.published_figure(pairs, measure, session.palette()),
                key=f"published_{measure}",
                alt=f"{words} of {len(pairs)} instances, ours and the paper's",
            )
    roots = bench_plot.root_bounds(lines)
    if roots is not None:
        with st.expander("Distance of the root bound from the optimum"):
            chart.show(
                bench_plot.root_bound_figure(roots, session.palette()),
                key="root_bounds",
                alt=f"Root bounds of {len(roots.models)} models on {len(roots.instances)} "
                f"instances. {roots.words}",
            )
            st.caption(text.markdown(roots.words, 600))
