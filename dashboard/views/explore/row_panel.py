"""The path of one row: chosen by its number, clicked in the plane, or typed in."""

from typing import Any

import streamlit as st

from dashboard import session
from dashboard.views.explore import node_panel
from dashboard.widgets import chart, inputs, run_summary
from octcore.data.dataset import Dataset
from octcore.plotting import text
from octcore.plotting.row_path import (
    ChosenRow,
    RowPath,
    row_of,
    row_path_data,
    sentence,
    typed_row,
    used_columns,
)
from octcore.solving.run import Run, SolvedRun

INPUTS_ACROSS = 3


def path_nodes(run_id: str, run: SolvedRun) -> tuple[int, ...]:
    """Nodes on the path of the chosen row; empty without one."""
    row = session.chosen_row(run_id)
    return () if row is None else _path(run, row).nodes


def choose_first(run_id: str, run: SolvedRun) -> None:
    """Show the path of the row that was chosen last, at first the first training row."""
    session.show_panel(run_id, session.ROW)
    _choose(run_id, run, session.chosen_row(run_id) or row_of(run.train, 0, "training"))


def draw(run_id: str, run: SolvedRun) -> None:
    """Draw the choice of the row, its path and the confidence of its leaf."""
    row = session.chosen_row(run_id)
    assert row is not None
    _choice(run_id, run, row)
    path = _path(run, row)
    shares = node_panel.known_shares(run_id, run)[path.leaf]
    st.markdown(sentence(path, shares, row.title) + _truth(run, row, path))
    if path.steps:
        steps = [(s.node, s.question, s.value, "yes" if s.is_yes else "no") for s in path.steps]
        columns = ("node", "question", "this row", "answer")
        alt = "Questions on the way of the row and its answers"
        chart.table(steps, session.widget_key("steps", run_id), alt, columns, wide="question")
    node_panel.draw_shares(run_id, run, path.leaf)


def _truth(run: Run, row: ChosenRow, path: RowPath) -> str:
    data = _part(run, row.source)
    if data is None or data.y is None or row.position < 0:
        return ""
    truth = int(data.y[row.position])
    if run.tree is not None and run.tree.class_of(path.label) < 0:
        return f" The row is {text.markdown(data.classes[truth])}."
    if truth == path.label:
        return " That is right."
    return f" **Wrong**: the row is {text.markdown(data.classes[truth])}."


def _part(run: Run, source: str) -> Dataset | None:
    return {"training": run.train, "held-out": run.test}.get(source)


def _path(run: SolvedRun, row: ChosenRow) -> RowPath:
    return row_path_data(
        run.tree, run.encoding, row.frame, run_summary.split_texts(run.tree, run.encoding)
    )


def _choose(run_id: str, run: SolvedRun, row: ChosenRow) -> None:
    session.choose_row(run_id, row, _path(run, row).leaf)


def _choice(run_id: str, run: SolvedRun, row: ChosenRow) -> None:
    """Draw where the row comes from, and which one it is."""
    source_key = session.widget_key("row_source", run_id)
    st.session_state[source_key] = row.source

    def changed() -> None:
        source = st.session_state[source_key]
        part = _part(run, source)
        if part is not None:
            _choose(run_id, run, row_of(part, 0, source))
        elif run.train is not None:
            values = {name: row.frame[name].iloc[0] for name in run.train.feature_names}
            for name in run.train.feature_names:
                st.session_state.pop(_typed_key(run_id, name), None)
            _choose(run_id, run, typed_row(run.train, values))

    sources = ["training", "typed"] if run.test is None else ["training", "held-out", "typed"]
    left, right = st.columns([3, 2], vertical_alignment="bottom")
    left.segmented_control(
        "Row", sources, required=True, key=source_key, on_change=changed, width="stretch",
        format_func={"training": "Training row", "held-out": "Held-out row",
                     "typed": "Typed row"}.get,  # type: ignore[arg-type]
    )  # fmt: skip
    part = _part(run, row.source)
    if part is None:
        _typed(run_id, run, row)
    else:
        with right:
            _number(run_id, run, row, part)


def _number(run_id: str, run: SolvedRun, row: ChosenRow, part: Dataset) -> None:
    key = session.widget_key("row_number", run_id, row.source)
    st.session_state[key] = row.position + 1

    def changed() -> None:
        _choose(run_id, run, row_of(part, int(st.session_state[key]) - 1, row.source))

    st.number_input(
        f"Number, 1 to {part.n_samples:,}",
        min_value=1,
        max_value=part.n_samples,
        key=key,
        on_change=changed,
        help="Or click a row in the plane.",
    )


def _typed_key(run_id: str, name: str) -> str:
    return session.widget_key("typed", run_id, name)


def _typed(run_id: str, run: SolvedRun, row: ChosenRow) -> None:
    """Draw one input for every column that the tree tests."""
    train = run.train
    names = used_columns(run.tree, run.encoding)

    def changed() -> None:
        values: dict[str, Any] = {name: row.frame[name].iloc[0] for name in train.feature_names}
        values |= {name: st.session_state[_typed_key(run_id, name)] for name in names}
        _choose(run_id, run, typed_row(train, values))

    places = st.columns(min(INPUTS_ACROSS, max(1, len(names))))
    for position, name in enumerate(names):
        with places[position % INPUTS_ACROSS]:
            value = row.frame[name].iloc[0]
            inputs.column_input(train, name, value, _typed_key(run_id, name), changed)
    if not names:
        st.caption("The tree tests no feature: every row ends in its only leaf.")
