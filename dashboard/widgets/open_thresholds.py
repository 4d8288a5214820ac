"""Where the root of a better tree could still cut a column, at the moments of a search."""

import streamlit as st

from dashboard import cached, session
from dashboard.server.job_view import JobView
from dashboard.widgets import chart, inputs
from octcore.plotting import text
from octcore.plotting.open_thresholds import (
    open_columns,
    open_now,
    open_now_figure,
    open_thresholds_data,
    open_thresholds_figure,
    open_words,
)
from octcore.solving.run import SolvedRun

LIVE_WIDTH = 680


def draw_live(view: JobView) -> None:
    """Draw what is open in a search that goes on, if it tells that."""
    told = [e.details["open"] for e in view.trace.events if "open" in e.details]
    if not told or view.data is None:
        return
    part = cached.training_part(view.data, view.settings)
    record = None if part is None else open_now(told[-1], part[1], part[0])
    if record is None:
        return
    st.markdown("**Where a better tree may still begin**")
    words = "Open parts of the columns: " + ", ".join(column.words for column in record)
    chart.live(open_now_figure(record, session.palette()), words, LIVE_WIDTH)
    st.caption(
        "Coloured: thresholds of the root that the search has not ruled out yet, between the "
        "smallest and the largest value of each column. The black line is where the best tree so "
        "far begins."
    )


def has_moments(run: SolvedRun) -> bool:
    """Whether the run searched the thresholds of a numeric column, and kept moments of it."""
    return bool(open_columns(run.extras, run.encoding, run.train))


def draw(run_id: str, run: SolvedRun) -> None:
    """Draw one moment, to be chosen, on the histogram of one column."""
    left, right = st.columns([1, 2], gap="large")
    columns = open_columns(run.extras, run.encoding, run.train)
    column = left.selectbox("Column", columns, key=session.widget_key("open_column", run_id))
    record = cached.once_per_run(
        run_id,
        f"open thresholds {column}",
        lambda: open_thresholds_data(run.extras, run.encoding, run.train, column),
    )
    moments, key = record.moments, session.widget_key("open_moment", run_id)
    with right:
        title = f"Moments of the search, {len(moments)} of them"
        position = inputs.moment(title, [text.seconds(m.seconds) for m in moments], key)
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
