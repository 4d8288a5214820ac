"""Where the root of a better tree could still cut a column, at the moments of a search."""

from __future__ import annotations

import streamlit as st

from dashboard import cached, session
from dashboard.widgets import chart
from octcore.plotting import text
from octcore.plotting.open_thresholds import (
    open_columns,
    open_thresholds_data,
    open_thresholds_figure,
    open_words,
)
from octcore.solving.run import SolvedRun


def has_moments(run: SolvedRun) -> bool:
    """Whether the run searched the thresholds of a numeric column, and kept moments of it."""
    return bool(open_columns(run.values, run.encoding, run.train))


def draw(run_id: str, run: SolvedRun) -> None:
    """Draw one moment, to be chosen, on the histogram of one column.

    Parameters
    ----------
    run_id : str
        Of the run.
    run : SolvedRun
        With moments.
    """
    left, right = st.columns([1, 2], gap="large")
    columns = open_columns(run.values, run.encoding, run.train)
    column = left.selectbox("Column", columns, key=session.widget_key("open_column", run_id))
    record = cached.once_per_run(
        run_id,
        f"open thresholds {column}",
        lambda: open_thresholds_data(run.values, run.encoding, run.train, column),
    )
    moments, position = record.moments, 0
    if len(moments) > 1:
        position = right.select_slider(
            f"Moments of the search, {len(moments)} of them",
            range(len(moments)),
            format_func=lambda k: f"{k + 1}: {text.seconds(moments[k].seconds)}",
            key=session.widget_key("open_moment", run_id),
        )
    words = open_words(record, position)
    chart.show(
        open_thresholds_figure(record, position, session.palette()),
        key=session.widget_key("open_thresholds", run_id),
        alt=words,
    )
    st.caption(
        f"{text.markdown(words, 400)} Shaded: the search has not ruled out that a better tree "
        "begins here. The thick line is where the best tree so far begins."
    )
