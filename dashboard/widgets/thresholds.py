"""What is known of thresholds: what each is worth, how far it may move, what a search left open."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import streamlit as st

from dashboard import cached, session
from dashboard.server import jobs
from dashboard.server.job_view import JobView
from dashboard.widgets import chart, inputs, live
from octcore.formulations.base import loss_words
from octcore.plotting import text
from octcore.plotting.thresholds import (
    OpenColumn,
    curve_figure,
    open_columns,
    open_data,
    open_figure,
    open_words,
)
from octcore.solving.column_values import (
    ROUNDING,
    ThresholdValue,
    most_lost,
    own_column,
    span_at,
    threshold_at,
)
from octcore.solving.run import SolvedRun

TIME_LIMIT = 30.0  # for all thresholds of a column


def draw(run_id: str, run: SolvedRun, column: str, node: int, pressed: bool | None = None) -> None:
    """Draw the thresholds of a column at a node; `pressed` as in `live.ask`."""
    answer, words = partial(_drawn, run, column, node), "Searching the best tree of every threshold"
    question = _question(run_id, run, column, node)
    live.answer(*question, pressed=pressed, run=run, draw=answer, doing=words, at_once=True)


def draw_on_press(run_id: str, run: SolvedRun, node: int) -> None:
    """Draw how far the threshold of a split may move, once that was asked."""
    live.press(
        "How far may this threshold move?",
        *_question(run_id, run, own_column(run, node), node),
        run=run,
        icon=":material/swap_horiz:",
        help="What every threshold of the column is worth here, proven; the rest of the tree "
        "stays, what is below is searched again.",
    )
    draw(run_id, run, own_column(run, node), node, pressed=False)


def spans(run_id: str, run: SolvedRun) -> dict[int, tuple[float, float]]:
    """How far the thresholds of the tree may move, of the nodes of which that was asked."""
    found = {}
    for node in run.tree.splits if run.tree.is_univariate else ():
        column = own_column(run, node)
        task = live.ask(*_question(run_id, run, column, node), pressed=False)
        result = None if task is None else jobs.task(task).result
        if result is not None and (span := span_at(run, column, node, _points(result))):
            found[node] = span
    return found


def _question(run_id: str, run: SolvedRun, column: str, node: int) -> tuple[Any, ...]:
    asked = {"column": column, "node": node, "time_limit": TIME_LIMIT}
    return "curve", run_id, run.train, asked


def _points(result: Mapping[str, Any]) -> list[ThresholdValue]:
    return [ThresholdValue(**point) for point in result["points"]]


def _drawn(run: SolvedRun, column: str, node: int, job: JobView) -> None:
    place = "the root" if node == 1 else f"node {node}"
    points = _points(job.result or {"points": []})
    if all(point.value is None for point in points):
        st.caption(f"No tree may split by this column at {place}.")
        return
    exact = [(p, p.value) for p in points if p.is_exact and p.value is not None]
    most = max((value for _, value in exact), default=0.0)
    ends = [end for p, value in exact if value > most - ROUNDING for end in (p.low, p.high)]
    ends = [f"{end:.4g}" for end in ends if ends.count(end) == 1]  # neighbours are told as one
    late = sum(not point.is_exact for point in points)
    which = " of those that were searched" * bool(late)
    chosen, span = threshold_at(run, column, node), span_at(run, column, node, points)
    words = "No threshold was searched to its end."
    if ends:
        where = [" and ".join(pair) for pair in zip(ends[::2], ends[1::2], strict=True)]
        words = f"Best{which} between {', or between '.join(where)}."
    if span is not None:
        words += (
            f" Between {span[0]:.4g} and {span[1]:.4g} every threshold costs less than "
            f"{loss_words(most_lost(run), run.settings)}, what is below searched again; a band in "
            "the tree shows it."
        )
    if late:
        words += f" {late} dotted values are upper bounds: the time was over."
    st.caption(words)
    chart.show(
        curve_figure(points, column, session.palette(), chosen, span, place),
        key=session.widget_key("curve", job.id),
        alt=f"Best objective of a tree by the threshold of {column} at {place}. {words}",
    )


LIVE_WIDTH = 680
SHADED = (
    "Coloured: thresholds of the root that the search has not ruled out, between the smallest and "
    "the largest value of each column. The black line is where the best tree so far begins."
)


def draw_live(view: JobView) -> None:
    """Draw what is open in a search that goes on, if it tells that."""
    told = [e.details["open"] for e in view.trace.events if "open" in e.details]
    made = partial(_open, view, told[-1:])
    if record := cached.once_per_run(view.id, f"open thresholds {len(told)}", made):
        st.markdown("**Where a better tree may still begin**")
        chart.live(open_figure(record, session.palette()), open_words(told[-1], record), LIVE_WIDTH)
        st.caption(SHADED)


def _open(view: JobView, last: Sequence[Mapping[str, Any]]) -> tuple[OpenColumn, ...]:
    part = cached.training_part(view.data, view.settings) if last and view.data else None
    if part is None:
        return ()
    return open_data(last[0], open_columns(last, part[1], part[0]), part[1], part[0])


def _moments(run: SolvedRun) -> tuple[list[dict[str, Any]], tuple[int, ...]]:
    """Moments that a run kept of its search, and the columns to draw."""
    moments = run.extras.get("open_thresholds", ())
    return moments, open_columns(moments, run.encoding, run.train)


def has_moments(run: SolvedRun) -> bool:
    """Whether the run searched the thresholds of a numeric column, and kept moments of it."""
    return bool(_moments(run)[1])


def draw_moments(run_id: str, run: SolvedRun) -> None:
    """Draw one moment, to be chosen."""
    moments, columns = _moments(run)
    title = f"Moments of the search, {len(moments)} of them"
    key = session.widget_key("open_moment", run_id)
    moment = moments[inputs.moment(title, [text.seconds(m["seconds"]) for m in moments], key)]
    record = open_data(moment, columns, run.encoding, run.train)
    words = open_words(moment, record)
    st.markdown(text.markdown(words, 400))
    figure = open_figure(record, session.palette())
    chart.show(figure, key=session.widget_key("open_thresholds", run_id), alt=words)
    st.caption(SHADED)
