"""What can be done at a node: another cut, judged at once; without its feature; why at a leaf."""

from dataclasses import dataclass

import numpy as np
import streamlit as st

from dashboard import session
from dashboard.server import jobs
from dashboard.views.what_if import questions
from dashboard.views.what_if import view as what_if_view
from octcore.data.dataset import Dataset
from octcore.encoding.base import Encoding
from octcore.plotting import text
from octcore.solving.run import SolvedRun
from octcore.tree.conditions import BOTTOM, TOP, Condition, Numbers
from octcore.tree.raw_units import left_condition
from octcore.tree.tree import Tree


@dataclass(frozen=True)
class Cut:
    """One threshold on a raw column of numbers; `is_left_below` says which side goes left."""

    raw: str
    value: float
    is_left_below: bool


def cut_of(condition: Condition | None) -> Cut | None:
    """Read the one threshold of a split; None where it has none or several.

    `condition`: under which rows go left.
    """
    if not isinstance(condition, Numbers) or condition.levels or len(condition.intervals) != 1:
        return None
    start, end = condition.intervals[0]
    if start == BOTTOM and end != TOP:
        return Cut(condition.raw, end[0], True)
    return Cut(condition.raw, start[0], False) if end == TOP and start != BOTTOM else None


def moved_accuracy(
    tree: Tree, encoding: Encoding, data: Dataset, node: int, cut: Cut, *values: float
) -> tuple[float, ...]:
    """Share of rows that are right when one split cuts elsewhere and all else stays.

    `values`: new thresholds, in raw units; there is one share for each.
    """
    X = encoding.transform(data.frame)
    predicted = tree.predict_codes(X)
    rows = tree.node_rows(X)[node]
    numbers = data.frame[cut.raw].to_numpy(dtype=float)[rows]
    shares = []
    for value in values:
        goes_left = (numbers <= value) == cut.is_left_below
        places = np.where(goes_left, 2 * node, 2 * node + 1)
        for branch in tree.splits:  # ascending: a parent comes before its children
            here = places == branch
            places[here] = 2 * branch + tree.splits[branch].goes_right(X[rows[here]])
        predicted[rows] = [tree.labels[place] for place in places]
        told = predicted < data.n_classes  # the others are left to a person
        right = predicted[told] == data.codes[told]
        shares.append(float(right.mean()) if told.any() else float("nan"))
    return tuple(shares)


def draw(run_id: str, run: SolvedRun, node: int) -> None:
    """Draw what can be done at a node."""
    if node in run.tree.labels:
        _why(run, node)
        return
    split = run.tree.splits[node]
    names = sorted({run.encoding.columns[j].raw for j in split.features})
    with st.container(horizontal=True):
        if len(names) == 1 and st.button(
            f"Without {text.markdown(names[0], 30)}: what does it cost?",
            icon=":material/block:",
            key=session.widget_key("without", run_id, node),
        ):
            st.session_state.update({session.widget_key("whatif", run_id, "drop"): names})
            _without(run_id, run, names)
            session.open_page("whatif")
        cut = cut_of(left_condition(split, run.encoding))
        if cut is not None:
            with st.popover("Move the threshold", icon=":material/straighten:"):
                _move(run_id, run, node, cut)


def _without(run_id: str, run: SolvedRun, names: list[str]) -> None:
    """Ask at once for the best tree without columns; where that cannot be, the page says why."""
    view = jobs.view(run_id)
    data = None if view is None else questions.rows_of(view)
    asked = {"forbidden_features": names}
    able = questions.able_for(run, questions.together(run, asked))
    if data is not None and able:
        what_if_view.start(run_id, run, data, asked, able[0])


def _why(run: SolvedRun, node: int) -> None:
    rows = run.tree.node_rows(run.encoding.transform(run.train.frame))[node]
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
            points = text.minus(f"{100 * (after - before):+.1f}")
            parts.append(f"{name} {text.percent(after)} ({points} points)")
    st.markdown(f"Accuracy with the cut at {text.number(value)}: {', '.join(parts)}")
