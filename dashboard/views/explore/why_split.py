"""Why a tree splits so at a node: what the best other column costs there, and the rows that decide.

Exact: what is below the node is searched again for every column; the rest of the tree stays.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import streamlit as st

from dashboard import session
from dashboard.server.job_view import JobView
from dashboard.views.what_if import questions
from dashboard.widgets import chart, live, threshold_curve
from octcore.data.dataset import Dataset
from octcore.formulations.shared.constraint_kinds import BY_SUBTREE
from octcore.plotting import text
from octcore.plotting.root_values import first_split_words, node_values_data, root_values_figure
from octcore.solving.run import SolvedRun
from octcore.solving.threshold_span import ordered_columns, own_column, sides

if TYPE_CHECKING:
    from octcore.solving.column_values import ColumnValue

TASK, TIME_LIMIT = "values", 30.0
"""For all columns of a node."""
MOST_LINES = 6
NOTICED = 1e-7
"""Prices below this are rounding."""


def is_known(run: SolvedRun) -> bool:
    """Whether the columns of a run have values: one column per split, an objective of leaves."""
    is_asked = questions.is_searchable(run) and questions.has_values(run)
    return is_asked and set(run.constraints) <= BY_SUBTREE


def draw(run_id: str, run: SolvedRun, node: int) -> None:
    """Draw why the tree splits so at a branch node."""
    question = (TASK, run_id, run.train, {"node": node, "time_limit": TIME_LIMIT})
    words, answer = "Searching the best tree of every other column", partial(_answer, run_id, run)
    live.answer(*question, run=run, draw=partial(answer, node), doing=words, at_once=True)


def _answer(run_id: str, run: SolvedRun, node: int, job: JobView) -> None:
    # Not on top: the kernels of the search take a while to import.
    from octcore.solving.column_values import ColumnValue

    values = [ColumnValue.from_dict(record) for record in (job.result or {})["values"]]
    own = own_column(run, node)
    others = [v for v in values if v.column != own and v.value is not None]
    words = [*_threshold_words(run, node, own)]
    if others:
        words += price_words(run, node, max(others, key=lambda value: value.value or 0.0))
    else:
        words.append("No other column may be tested here.")
    st.markdown("**Why this split?** " + text.markdown(" ".join(words), 1500))
    record = node_values_data(values, run.encoding)
    if len(record) > 1:
        place = "the root" if node == 1 else f"node {node}"
        chart.show(
            root_values_figure(record, session.palette(), own, place, run.asked.has_task),
            key=session.widget_key("node_values", run_id, node),
            alt=f"Best objective by feature at {place}; the best is {record[0].feature}",
        )
    if own in ordered_columns(run):
        threshold_curve.draw_on_press(run_id, run, node)


def _threshold_words(run: SolvedRun, node: int, column: str) -> Iterator[str]:
    """Between which values any threshold does the same, and the rows that hold it there."""
    if run.train.column(column).kind != "numeric":
        return
    rows, values, right = sides(run, node)
    low, high = (
        f"{text.number(end, 6)} ({lines_words(run.train, rows[values == end])})"
        for end in (values[~right].max(), values[right].min())
    )
    yield f"Every threshold between {low} and {high} parts these rows alike."


def price_words(run: SolvedRun, node: int, other: ColumnValue) -> Iterator[str]:
    """What the best other column costs at a node, and the rows that decide between the two."""
    assert run.objective is not None
    assert other.value is not None
    loss = 100 * (run.objective - other.value)
    split = first_split_words(other.tree, run.encoding) or other.column
    if not other.is_exact or other.tree is None:
        yield f"The best other column is not known: of {split} the time gave but a bound."
        return
    X, y = run.encoding.transform(run.train.frame), run.train.codes
    rows = run.tree.node_rows(X)[node]
    mine = run.tree.predict_codes(X[rows]) == y[rows]
    its = other.tree.predict_codes(X[rows]) == y[rows]
    leaves = other.tree.n_leaves - len(np.unique(run.tree.apply(X[rows])))
    unit = "points of mean cost and leaves" if run.asked.has_task else "points"
    price = f"costs {loss:.2g} {unit}" if loss > NOTICED else "is as good"
    instead = "" if its.sum() == mine.sum() else f" instead of {int(mine.sum()):,}"
    if loss < -NOTICED:
        price = f"would be {-loss:.2g} {unit} better, since this tree is not proven optimal"
    yield (
        f"The best other column, {split}, {price}: {text.count(int(its.sum()), 'row')} of "
        f"{len(rows):,} right here{instead}, with {_more(leaves)}. "
        "This is proven."
    )
    for who, decide in (("this split", mine & ~its), ("the other", its & ~mine)):
        if decide.any():
            number = text.count(int(decide.sum()), "row")
            yield f"Right only with {who}: {number} ({lines_words(run.train, rows[decide])})."


def _more(leaves: int) -> str:
    if not leaves:
        return "as many leaves"
    return f"{text.count(abs(leaves), 'leaf')} {'more' if leaves > 0 else 'fewer'}"


def lines_words(data: Dataset, rows: np.ndarray) -> str:
    """Name the first lines of the file on which some rows stand."""
    lines = sorted(data.row_lines[rows].tolist())
    more = f" and {len(lines) - MOST_LINES} more" if len(lines) > MOST_LINES else ""
    what = "line" if len(lines) == 1 else "lines"
    return f"{what} {', '.join(map(str, lines[:MOST_LINES]))}{more}"
