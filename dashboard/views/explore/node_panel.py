"""Under the tree: the selected node with its classes and rows, or the path of one row."""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from dashboard import cached, session
from dashboard.views.explore import why_split
from dashboard.views.what_if import questions
from dashboard.widgets import chart, inputs
from octcore.data.dataset import Dataset
from octcore.data.tasks import ASK
from octcore.plotting import row_path, text
from octcore.plotting.row_path import ChosenRow, ClassShare, RowPath
from octcore.solving.run import Run, SolvedRun
from octcore.tree.wording import class_name, path_words

SHARE = st.column_config.ProgressColumn(format="%.1f %%", min_value=0.0, max_value=100.0)
"""Column of a table that holds percentages, as bars."""


def draw(run_id: str, run: SolvedRun) -> None:
    """Draw the panel of the node that is selected in a run."""
    node = session.selected_node(run_id)
    if node not in run.tree.nodes:
        node = 1
    frame = cached.once_per_run(run_id, f"rows {node}", lambda: node_rows(run, run.train, node))
    st.markdown(f"**{_title(run, node)}** · {text.count(len(frame), 'row')}")
    conditions = path_words(run.tree, run.encoding, node, max_name=40)
    if conditions:
        st.caption(
            "Reached when " + " and ".join(text.markdown(text.words(c), 200) for c in conditions)
        )
    if node in run.tree.splits and questions.is_valued(run):
        why_split.draw(run_id, run, node)
    why_split.actions(run_id, run, node)
    draw_shares(run_id, run, node)
    key = session.widget_key("rows", run_id, node)
    file = ("Rows as CSV", f"node-{node}.csv", frame)
    alt = f"Training rows at node {node}, errors first"

    def ticked() -> None:
        if places := st.session_state[key]["selection"]["rows"]:
            choose_line(run_id, run, int(frame.iloc[places[0], 0]))

    st.caption("Errors first. Tick a row to see its path.")
    ticks: dict[str, Any] = {"on_select": ticked, "selection_mode": "single-row"}
    chart.rows(frame, key, alt, file, height=220, **ticks)


def known_shares(run_id: str, run: SolvedRun) -> dict[int, tuple[ClassShare, ...]]:
    """Rows by class at every node of a run, counted once."""
    return cached.once_per_run(
        run_id,
        "class shares",
        lambda: row_path.class_shares(run.tree, run.encoding, run.train, run.test),
    )


def draw_shares(run_id: str, run: SolvedRun, node: int) -> None:
    """Draw the classes at a node: at a leaf, how sure its prediction is."""
    tree, shares = run.tree, known_shares(run_id, run)[node]
    columns = {
        "class": [("→ " if tree.labels.get(node) == k else "") + s.label
                  for k, s in enumerate(shares)],
        "training": [s.train for s in shares],
        "share of training rows": [text.hundredfold(s.train_share) for s in shares],
    }  # fmt: skip
    if run.test is not None:
        columns["held out"] = [s.test for s in shares]
        columns["share of held-out rows"] = [text.hundredfold(s.test_share) for s in shares]
    key, alt = session.widget_key("shares", run_id), f"Rows of every class at node {node}"
    bars = {name: SHARE for name in columns if "share" in name}
    chart.table(columns, key, alt, counts=["training", "held out"], column_config=bars)


def _title(run: SolvedRun, node: int) -> str:
    if node in run.tree.labels:
        label = class_name(run.tree, run.tree.labels[node])
        says = "predicts " if run.tree.class_of(run.tree.labels[node]) >= 0 else ""
        return f"Leaf {node}: {says}{text.markdown(label)}"
    return "Root: all training rows" if node == 1 else f"Node {node}"


def node_rows(run: SolvedRun, data: Dataset, node: int) -> pd.DataFrame:
    """Rows of a data set that visit a node, wrong ones first, with line, class and prediction."""
    X = run.tree.encoded(run.encoding, data.frame)
    rows = run.tree.node_rows(X)[node]
    predicted = run.tree.predict_codes(X)[rows]
    wrong = run.tree.is_wrong(X, data.codes)[rows]
    order = np.argsort(~wrong, kind="stable")
    rows, predicted, wrong = rows[order], predicted[order], wrong[order]
    labels = np.array([str(label) for label in data.classes], dtype=object)
    about = pd.DataFrame(
        {
            "line": data.row_lines[rows],
            "true": labels[data.codes[rows]],
            "predicted": np.append(labels, ASK)[predicted],
            "right": np.where(wrong, "✗", np.where(predicted < len(labels), "✓", "–")),
        }
    )
    values = data.frame.iloc[rows].reset_index(drop=True)
    taken = set(values.columns)
    about.columns = [text.free(name, taken) for name in about.columns]
    return pd.concat([about, values], axis=1)


INPUTS_ACROSS = 3
PARTS = ("training", "held-out")
OF_TABLE, TYPED = "Row of the table", "Typed row"


def path_nodes(run_id: str, run: SolvedRun) -> tuple[int, ...]:
    """Nodes on the path of the chosen row; empty without one."""
    row = session.chosen_row(run_id)
    return () if row is None else _path(run, row).nodes


def choose_first(run_id: str, run: SolvedRun) -> None:
    """Show the path of the row that was chosen last, at first the first training row."""
    session.show_panel(run_id, session.ROW)
    _choose(run_id, run, session.chosen_row(run_id) or row_path.row_of(run.train, 0, "training"))


def draw_row(run_id: str, run: SolvedRun) -> None:
    """Draw the choice of the row, its path and the confidence of its leaf."""
    row = session.chosen_row(run_id)
    assert row is not None
    _choice(run_id, run, row)
    path = _path(run, row)
    shares = known_shares(run_id, run)[path.leaf]
    st.markdown(row_path.sentence(path, shares, row.title) + _truth(run, row, path))
    if path.steps:
        steps = [(s.node, s.question, s.value, "yes" if s.is_yes else "no") for s in path.steps]
        columns = ("node", "question", "this row", "answer")
        alt = "Questions on the way of the row and its answers"
        chart.table(steps, session.widget_key("steps", run_id), alt, columns, wide="question")
    draw_shares(run_id, run, path.leaf)


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
    return row_path.row_path_data(run.tree, run.encoding, row.frame)


def _choose(run_id: str, run: SolvedRun, row: ChosenRow) -> None:
    session.choose_row(run_id, row, _path(run, row).leaf)


def choose_line(run_id: str, run: SolvedRun, line: int) -> None:
    """Show the path of the row at a line of the table."""
    for source in PARTS:
        part = _part(run, source)
        if part is not None and len(rows := np.flatnonzero(part.row_lines == line)):
            _choose(run_id, run, row_path.row_of(part, int(rows[0]), source))


def _choice(run_id: str, run: SolvedRun, row: ChosenRow) -> None:
    """Draw where the row comes from, and which one it is."""
    source_key = session.widget_key("row_source", run_id)
    st.session_state[source_key] = OF_TABLE if row.line else TYPED

    def changed() -> None:
        if st.session_state[source_key] == OF_TABLE:
            _choose(run_id, run, row_path.row_of(run.train, 0, PARTS[0]))
        else:
            values = {name: row.frame[name].iloc[0] for name in run.train.feature_names}
            for name in run.train.feature_names:
                st.session_state.pop(_typed_key(run_id, name), None)
            _choose(run_id, run, row_path.typed_row(run.train, values))

    left, right = st.columns([3, 2], vertical_alignment="bottom")
    left.segmented_control(
        "Row",
        [OF_TABLE, TYPED],
        required=True,
        key=source_key,
        on_change=changed,
        width="stretch",
        wrap=True,
        help="A typed row begins with the values of the row before: change what the tree asks for "
        "and see what would be answered.",
    )
    if row.line:
        with right:
            _line(run_id, run, row)
    else:
        _typed(run_id, run, row)


def _line(run_id: str, run: SolvedRun, row: ChosenRow) -> None:
    key = session.widget_key("row_line", run_id)
    st.session_state[key] = row.line
    parts = [part.row_lines for part in map(partial(_part, run), PARTS) if part is not None]
    lines = np.sort(np.concatenate(parts))

    def changed() -> None:
        wanted = int(st.session_state[key])
        ahead = lines[lines >= wanted] if wanted > row.line else lines[lines <= wanted][::-1]
        choose_line(run_id, run, int(ahead[0]))

    low, high = int(lines[0]), int(lines[-1])
    st.number_input(
        f"Line, {low:,} to {high:,}",
        min_value=low,
        max_value=high,
        key=key,
        on_change=changed,
        help="Line of the file, names in the first; those that are left out are skipped. Or tick a "
        "row of a node, or click one in the plane.",
    )


def _typed_key(run_id: str, name: str) -> str:
    return session.widget_key("typed", run_id, name)


def _typed(run_id: str, run: SolvedRun, row: ChosenRow) -> None:
    """Draw one input for every column that the tree tests."""
    train = run.train
    names = run.encoding.tested(run.tree.used_features)

    def changed() -> None:
        values: dict[str, Any] = {name: row.frame[name].iloc[0] for name in train.feature_names}
        values |= {name: st.session_state[_typed_key(run_id, name)] for name in names}
        _choose(run_id, run, row_path.typed_row(train, values))

    places = st.columns(min(INPUTS_ACROSS, max(1, len(names))))
    for position, name in enumerate(names):
        with places[position % INPUTS_ACROSS]:
            value = row.frame[name].iloc[0]
            inputs.column_input(train, name, value, _typed_key(run_id, name), changed)
    if not names:
        st.caption("The tree tests no feature: every row ends in its only leaf.")
