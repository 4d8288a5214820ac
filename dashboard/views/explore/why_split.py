"""Why a tree splits so at a node: what the best other column costs there, and the rows that decide.

Exact: what is below the node is searched again for every column; the rest of the tree stays.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import streamlit as st

from dashboard import session
from dashboard.server import jobs
from dashboard.server.job_view import JobView
from dashboard.views.what_if import questions
from dashboard.views.what_if import view as what_if_view
from dashboard.widgets import chart, live, thresholds
from octcore.data.dataset import Dataset
from octcore.encoding.base import EncodedColumn, Encoding
from octcore.formulations.base import loss_words
from octcore.plotting import text
from octcore.plotting.row_path import value_text
from octcore.plotting.thresholds import (
    first_split_words,
    measure_of,
    node_values_data,
    root_values_figure,
)
from octcore.solving.column_values import ColumnValue, ordered_columns, own_column, sides
from octcore.solving.run import SolvedRun
from octcore.tree import metrics
from octcore.tree.raw_units import BOTTOM, TOP, Condition, Numbers, left_condition
from octcore.tree.tree import Split, Tree

TASK, TIME_LIMIT = "values", 30.0  # for all columns of a node
MOST_LINES = 6
NOTICED = 1e-9  # prices below this are rounding


def draw(run_id: str, run: SolvedRun, node: int) -> None:
    """Draw why the tree splits so at a branch node."""
    question = (TASK, run_id, run.train, {"node": node, "time_limit": TIME_LIMIT})
    words, answer = "Searching the best tree of every other column", partial(_answer, run_id, run)
    live.answer(*question, run=run, draw=partial(answer, node), doing=words, at_once=True)


def _answer(run_id: str, run: SolvedRun, node: int, job: JobView) -> None:
    values = [ColumnValue.from_dict(record) for record in (job.result or {})["values"]]
    own = own_column(run, node)
    others = [v for v in values if v.column != own and v.value is not None]
    words = [*_threshold_words(run, node, own)]
    if others:
        words += price_words(run, node, max(others, key=lambda value: value.value or 0.0))
    else:
        words.append("No other column parts these rows, or may be tested here.")
    if node == 1 and closes(run, values):
        words.append("No column does better at the root, so this tree is optimal, whatever its "
                     "solve left open.")  # fmt: skip
    st.markdown("**Why this split?** " + text.markdown(" ".join(words), 1500))
    if run.is_proven:  # that of the tree's own column is known, whatever the search found in time
        values = [
            replace(v, value=run.objective, is_exact=True) if v.column == own else v for v in values
        ]
    record = node_values_data(values, run.encoding)
    if len(record) > 1 and own in {entry.feature for entry in record}:  # else none is known best
        place = "the root" if node == 1 else f"node {node}"
        chart.show(
            root_values_figure(record, session.palette(), own, place, measure_of(run)),
            key=session.widget_key("node_values", run_id, node),
            alt=f"Best objective by feature at {place}; the best is {record[0].feature}",
        )
    if own in ordered_columns(run):
        thresholds.draw_on_press(run_id, run, node)


def _threshold_words(run: SolvedRun, node: int, column: str) -> Iterator[str]:
    """Between which values any threshold does the same, and the rows that hold it there."""
    if run.train.column(column).kind != "numeric":
        return
    rows, values, right = sides(run, node)
    low, high = (
        f"{value_text(end)} ({lines_words(run.train, rows[values == end])})"
        for end in (values[~right].max(), values[right].min())
    )
    yield f"Every threshold between {low} and {high} parts these rows alike."


def closes(run: SolvedRun, values: Sequence[ColumnValue]) -> bool:
    """Whether the values of all columns at the root prove what the solve of the run did not."""
    assert run.objective is not None
    most = max((value.value for value in values if value.value is not None), default=np.inf)
    # A solve looks at the single leaf, too; a tree that was kept or grown may be worth less.
    is_solved = run.certificate.method not in {"heuristic", "near-optimal"}
    return is_solved and not run.is_proven and most <= run.objective + NOTICED


def price_words(run: SolvedRun, node: int, other: ColumnValue) -> Iterator[str]:
    """What the best other column costs at a node, and the rows that decide between the two."""
    assert run.objective is not None
    assert other.value is not None
    loss = run.objective - other.value
    split = first_split_words(other.tree, run.encoding) or other.column
    if not other.is_exact or other.tree is None:
        yield f"The best other column is not known: of {split} the time gave but a bound."
        return
    X, Z = (tree.encoded(run.encoding, run.train.frame) for tree in (run.tree, other.tree))
    y = run.train.codes
    rows = run.tree.node_rows(X)[node]
    mine = (run.tree.predict_codes(X) == y)[rows]
    its = (other.tree.predict_codes(Z) == y)[rows]
    leaves = other.tree.n_leaves - len(np.unique(run.tree.apply(X)[rows]))
    told = loss_words(abs(loss), run.settings)
    price = f"costs {told}" if loss > NOTICED else "is as good"
    instead = "" if its.sum() == mine.sum() else f" instead of {int(mine.sum()):,}"
    if loss < -NOTICED:
        price = f"would be {told} better, since this tree is not proven optimal"
    more = f"{text.count(abs(leaves), 'leaf')} {'more' if leaves > 0 else 'fewer'}"
    yield (
        f"The best other column, {split}, {price}: {text.count(int(its.sum()), 'row')} of "
        f"{len(rows):,} right here{instead}, with {more if leaves else 'as many leaves'}. This is "
        "proven."
    )
    for who, decide in (("this split", mine & ~its), ("the other", its & ~mine)):
        if decide.any():
            number = text.count(int(decide.sum()), "row")
            yield f"Right only with {who}: {number} ({lines_words(run.train, rows[decide])})."


def lines_words(data: Dataset, rows: np.ndarray) -> str:
    """Name the first lines of the file on which some rows stand."""
    lines = sorted(data.row_lines[rows].tolist())
    return f"{'line' if len(lines) == 1 else 'lines'} {text.few(lines, MOST_LINES)}"


@dataclass(frozen=True)
class Cut:
    """One threshold on a raw column of numbers; `is_left_below` says which side goes left."""

    raw: str
    value: float
    is_left_below: bool


def cut_of(condition: Condition | None) -> Cut | None:
    """Read the one threshold of a condition to go left; None where it has none or several."""
    if not isinstance(condition, Numbers) or condition.levels or len(condition.intervals) != 1:
        return None
    start, end = condition.intervals[0]
    if start == BOTTOM and end != TOP:
        return Cut(condition.raw, end[0], True)
    return Cut(condition.raw, start[0], False) if end == TOP and start != BOTTOM else None


def moved_accuracy(
    tree: Tree, encoding: Encoding, data: Dataset, node: int, cut: Cut, *values: float
) -> tuple[float, ...]:
    """Share right when one split cuts at each of some raw values and all else stays."""
    wider = replace(encoding, columns=(*encoding.columns, EncodedColumn(cut.raw, "value")))
    shares = []
    for value in values:
        split = Split.on_feature(tree.n_features, value)
        if not cut.is_left_below:  # what is above goes left, the value itself right
            split = Split(((tree.n_features, -1.0),), float(np.nextafter(-value, -np.inf)))
        splits = {**tree.splits, node: split}
        moved = replace(tree, splits=splits, n_features=tree.n_features + 1, features=())
        X = moved.encoded(wider, data.frame)
        shares.append(metrics.accuracy(moved, X, data.codes))
    return tuple(shares)


def actions(run_id: str, run: SolvedRun, node: int) -> None:
    """Draw what can be done at a node."""
    if node in run.tree.labels:
        _why(run, node)
        return
    split = run.tree.splits[node]
    names = sorted({run.encoding.columns[j].raw for j in split.features})
    with st.container(horizontal=True):
        if len(names) == 1 and st.button(
            f"Without {text.markdown(text.apart(run.train.feature_names, 30)[names[0]])}: "
            "what does it cost?",
            icon=":material/block:",
            key=session.widget_key("without", run_id, node),
        ):
            view, asked = jobs.view(run_id), {"forbidden_features": names}
            data = None if view is None else jobs.rows_of(view)
            able = questions.able_for(run, questions.together(run, asked))
            if data is not None and able:  # else the page says why
                what_if_view.start(run_id, run, data, asked, able[0])
            session.open_page("whatif")
        cut = cut_of(left_condition(split, run.encoding))
        if cut is not None:
            with st.popover("Move the threshold", icon=":material/straighten:"):
                _move(run_id, run, node, cut)


def _why(run: SolvedRun, node: int) -> None:
    rows = run.tree.node_rows(run.tree.encoded(run.encoding, run.train.frame))[node]
    label = run.tree.labels[node]
    if run.tree.class_of(label) < 0:
        st.caption("Any class would cost more on the training rows that come here than asking.")
        return
    here = int(np.sum(run.train.codes[rows] == label))
    st.caption(
        f"Why {text.markdown(run.train.classes[label])}? {here:,} of the "
        f"{text.count(len(rows), 'training row')} that come here are of this class."
    )


def _move(run_id: str, run: SolvedRun, node: int, cut: Cut) -> None:
    """Judge another threshold at once: rows are routed again, nothing is solved."""
    values = run.train.frame[cut.raw].to_numpy(dtype=float)
    low, high = float(values.min()), float(values.max())
    value = st.slider(
        text.markdown(cut.raw, 40),
        low,
        high,
        min(high, max(low, cut.value)),
        step=(high - low) / 200 or None,
        key=session.widget_key("moved", run_id, node),
        help="The other splits and all labels stay as they are.",
    )
    parts = []
    for name, data in (("held out", run.test), ("training", run.train)):
        if data is not None:
            before, after = moved_accuracy(
                run.tree, run.encoding, data, node, cut, cut.value, value
            )
            points = f" ({text.minus(f'{100 * (after - before):+.1f}')} points)"
            parts.append(f"{name} {text.percent(after)}{points * math.isfinite(after - before)}")
    st.markdown(f"Accuracy with the cut at {text.number(value)}: {', '.join(parts)}")
