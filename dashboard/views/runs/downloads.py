"""A run to take away: DOT, SVG, JSON, text, trace and predictions."""

from __future__ import annotations

import json

import numpy as np
import streamlit as st

from dashboard import session
from dashboard.views.explore.node_panel import node_rows
from octcore.data.export import frame_to_csv
from octcore.solving.run import SolvedRun
from octcore.tree.export.dot import to_graphviz
from octcore.tree.export.svg import to_svg
from octcore.tree.export.text import to_text


def draw(run_id: str, run: SolvedRun) -> None:
    """Draw one button for every form; the files are made when they are asked for.

    Parameters
    ----------
    run_id : str
        The run.
    run : Run
        With tree and training rows.
    """
    tree, encoding, train = run.tree, run.encoding, run.train
    y = np.asarray(train.codes)

    def encoded() -> np.ndarray:
        return encoding.transform(train.frame)

    files = (
        ("Run as JSON", "run.json", lambda: json.dumps(run.to_dict(), indent=1)),
        ("Tree as SVG", "tree.svg", lambda: to_svg(tree, encoding, encoded(), y)),
        ("Tree as DOT", "tree.dot", lambda: to_graphviz(tree, encoding, encoded(), y).source),
        ("Tree as text", "tree.txt", lambda: to_text(tree, encoding, encoded(), y)),
        ("Trace as JSON lines", "trace.jsonl", run.trace.to_json_lines),
        ("Predictions as CSV", "predictions.csv", lambda: frame_to_csv(node_rows(run, train, 1))),
    )
    places = st.columns(3)
    for position, (label, name, make) in enumerate(files):
        places[position % 3].download_button(
            label,
            data=make,
            file_name=name,
            key=session.widget_key("save", name, run_id),
            on_click="ignore",
            width="stretch",
            icon=":material/download:",
        )
    st.caption(
        "The picture on screen can be saved as SVG or PNG from its own buttons. Cells of CSV files "
        "that a spreadsheet would run as a formula get an apostrophe in front."
    )
