"""A run of the history to take away, the report included."""

from __future__ import annotations

import json
from collections.abc import Callable

import streamlit as st

from dashboard import session
from dashboard.reports.run_report import report_html
from dashboard.server import jobs
from dashboard.views.explore.node_panel import node_rows
from octcore.data.export import frame_to_csv
from octcore.errors import OctError
from octcore.reports.tables import export_tree
from octcore.solving.run import Run


def draw(run_id: str, name: str, run: Run) -> None:
    """Draw one button for every form; files are made when they are asked for.

    Parameters
    ----------
    run_id, name : str
        The run.
    run : Run
        With a tree.
    """
    forms: list[tuple[str, str, str, Callable[[], str]]] = [
        ("Report (HTML)", "report.html", "text/html", lambda: report_html(run, name)),
        ("Everything (JSON)", "run.json", "application/json", lambda: _json(run_id, run)),
        ("Tree (SVG)", "tree.svg", "image/svg+xml", lambda: export_tree(run, "svg")),
        ("Tree (DOT)", "tree.dot", "text/vnd.graphviz", lambda: export_tree(run, "dot")),
    ]
    train = run.train
    if train is not None:
        forms.insert(
            1,
            ("Rows (CSV)", "rows.csv", "text/csv", lambda: frame_to_csv(node_rows(run, train, 1))),
        )
    for label, file_name, mime, make in forms:
        st.download_button(
            label,
            data=make,
            file_name=file_name,
            mime=mime,
            key=session.widget_key("export", file_name, run_id),
            on_click="ignore",
            width="stretch",
            icon=":material/download:",
        )
    st.caption(
        "The report is one file that needs no network: tree, plane, convergence, settings and "
        "certificate. The CSV has every training row with its prediction; cells that a "
        "spreadsheet would run as a formula get an apostrophe in front."
    )


def _json(run_id: str, run: Run) -> str:
    store = jobs.supervisor().store
    try:
        record = None if store is None else store.export(run_id)
    except OctError:
        record = None  # Not written down yet: the run itself says the same.
    return json.dumps(run.to_dict() if record is None else record, indent=1)
