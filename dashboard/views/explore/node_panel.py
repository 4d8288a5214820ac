"""The selected node: the way to it in words, its classes and its rows."""

import numpy as np
import pandas as pd
import streamlit as st

from dashboard import cached, session
from dashboard.views.explore import why_split
from dashboard.widgets import chart
from octcore.data.dataset import Dataset
from octcore.plotting import text
from octcore.plotting.row_path import ClassShare, class_shares
from octcore.solving.run import SolvedRun
from octcore.tasks import ASK
from octcore.tree.wording import class_name, path_words

SHARE = st.column_config.ProgressColumn(format="%.1f %%", min_value=0.0, max_value=100.0)
"""Column of a table that holds percentages, as bars."""


def draw(run_id: str, run: SolvedRun) -> None:
    """Draw the panel of the node that is selected in a run."""
    node = session.selected_node(run_id)
    if node not in run.tree.nodes:
        node = 1
    train = run.train
    frame = cached.once_per_run(run_id, f"rows {node}", lambda: node_rows(run, train, node))
    st.markdown(f"**{_title(run, node)}** · {text.count(len(frame), 'row')}")
    conditions = path_words(run.tree, run.encoding, node, merge=True, max_name=40)
    if conditions:
        st.caption(
            "Reached when " + " and ".join(text.markdown(text.words(c), 200) for c in conditions)
        )
    if node in run.tree.splits and why_split.is_known(run):
        why_split.draw(run_id, run, node)
    why_split.actions(run_id, run, node)
    draw_shares(run_id, run, node)
    key = session.widget_key("rows", run_id, node)
    file = ("Rows as CSV", f"node-{node}.csv", frame)
    alt = f"Training rows at node {node}, errors first"
    chart.rows(frame, key, alt, file, height=220)


def known_shares(run_id: str, run: SolvedRun) -> dict[int, tuple[ClassShare, ...]]:
    """Rows by class at every node of a run, counted once."""
    return cached.once_per_run(
        run_id, "class shares", lambda: class_shares(run.tree, run.encoding, run.train, run.test)
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
    chart.table(columns, key, alt, column_config=bars)


def _title(run: SolvedRun, node: int) -> str:
    if node in run.tree.labels:
        label = class_name(run.tree, run.tree.labels[node])
        says = "predicts " if run.tree.class_of(run.tree.labels[node]) >= 0 else ""
        return f"Leaf {node}: {says}{text.markdown(label)}"
    return "Root: all training rows" if node == 1 else f"Node {node}"


def node_rows(run: SolvedRun, data: Dataset, node: int) -> pd.DataFrame:
    """Rows of a data set that visit a node, wrong ones first, with line, class and prediction."""
    X = run.encoding.transform(data.frame)
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
