"""Where the root of a better tree could still cut a column, at the moments of a search."""

from __future__ import annotations

from collections.abc import Sequence

import altair as alt
import pandas as pd
import streamlit as st

from dashboard import cached, session
from dashboard.server.job_view import JobView
from dashboard.widgets import chart
from octcore.plotting import text
from octcore.plotting.open_thresholds import (
    OpenNow,
    open_columns,
    open_now,
    open_thresholds_data,
    open_thresholds_figure,
    open_words,
)
from octcore.plotting.palette import Palette
from octcore.solving.run import SolvedRun

LINE_HEIGHT, LEAST_WIDTH = 28, 0.006
"""Pixels of a column in the live picture; width of a single threshold, as a share of it."""


def draw_live(view: JobView) -> None:
    """Draw what is open in a search that goes on, if it tells that."""
    told = [e.details["open"] for e in view.trace.events if "open" in e.details]
    if not told or view.data is None:
        return
    part = cached.training_part(view.data, cached.data_token(view.data), view.settings)
    record = None if part is None else open_now(told[-1], part[1], part[0])
    if record is None:
        return
    st.markdown("**Where a better tree may still begin**")
    st.altair_chart(
        _live_chart(record, session.palette()),
        width="stretch",
        key=session.widget_key("open_now", view.id),
        alt="Open parts of the columns: " + ", ".join(column.words for column in record),
    )
    st.caption(
        "Coloured: thresholds of the root that the search has not ruled out yet, between the "
        "smallest and the largest value of each column. The black line is where the best tree so "
        "far begins."
    )


def _live_chart(record: Sequence[OpenNow], palette: Palette) -> alt.LayerChart | alt.FacetChart:
    whole = pd.DataFrame([(c.column, 0.0, 1.0) for c in record], columns=["column", "low", "high"])
    spans = pd.DataFrame(
        [
            (c.column, low, max(high, low + LEAST_WIDTH), c.words)
            for c in record
            for low, high in c.shares
        ],
        columns=["column", "low", "high", "open"],
    )
    roots = pd.DataFrame(
        [(c.column, c.root) for c in record if c.root is not None], columns=["column", "low"]
    )
    y = alt.Y("column:N", sort=None, title=None, axis=alt.Axis(labelLimit=180, ticks=False))
    x = alt.X("low:Q", scale=alt.Scale(domain=[0, 1]), axis=None)
    size = 0.5 * LINE_HEIGHT
    return alt.layer(
        alt.Chart(whole).mark_bar(size=size, color=palette.grid).encode(x=x, x2="high", y=y),
        alt.Chart(spans)
        .mark_bar(size=size, color=palette.incumbent)
        .encode(x=x, x2="high", y=y, tooltip=["column", "open"]),
        alt.Chart(roots).mark_tick(size=size + 6, thickness=3, color=palette.text).encode(x=x, y=y),
    ).properties(height=LINE_HEIGHT * len(record))


def has_moments(run: SolvedRun) -> bool:
    """Whether the run searched the thresholds of a numeric column, and kept moments of it."""
    return bool(open_columns(run.extras, run.encoding, run.train))


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
    columns = open_columns(run.extras, run.encoding, run.train)
    column = left.selectbox("Column", columns, key=session.widget_key("open_column", run_id))
    record = cached.once_per_run(
        run_id,
        f"open thresholds {column}",
        lambda: open_thresholds_data(run.extras, run.encoding, run.train, column),
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
