"""A run to take away in every form, the report included."""

import json
from collections.abc import Callable
from functools import partial

import streamlit as st

from dashboard import cached, session
from dashboard.server import jobs
from dashboard.views.compare.report import MOST_ENTRIES
from dashboard.views.explore.node_panel import node_rows
from dashboard.views.solve.new_rows import ON_NUMBERS
from dashboard.widgets import inputs, proofs
from dashboard.widgets.component import make_component
from octcore.data.export import frame_to_csv
from octcore.errors import OctError, refusal
from octcore.plotting import text
from octcore.reports.run_report import HEIGHT, WIDTH, report_html, slide_svg
from octcore.reports.scorer import scorer_html
from octcore.solving.model_file import model_files, whole_program
from octcore.solving.run import Run, SolvedRun

TREES = {
    "svg": "Tree (SVG)",
    "dot": "Tree (DOT)",
    "txt": "Tree (text)",
    "py": "Code (Python)",
    "js": "Code (JavaScript)",
    "sql": "Code (SQL)",
    "c": "Code (C)",
    "java": "Code (Java)",
    "r": "Code (R)",
    "tsv": "Formula (Excel)",
    "pmml": "Model (PMML)",
    "onnx": "Model (ONNX)",
}
"""Forms of `Run.export`."""
HELP = {
    "model.zip": "The mixed-integer model as LP and MPS, named as in its paper, and this tree as "
    "its start.",
    "report.html": "One file in plain words, with a questionnaire that sorts a new row, and the "
    "proof folded below. It needs no network.",
    "scorer.html": "One file that gives the rows of a CSV their classes in any browser; nothing "
    "leaves that computer.",
    "rows.csv": "Every training row with its prediction; cells that a spreadsheet would run as a "
    "formula get an apostrophe in front.",
    "tree.tsv": "The formula stands in the second line of a sheet, beside cells for a row: paste "
    "it and copy it down.",
}
"""What a file is good for, where its button does not say it."""


def draw(run_id: str, name: str, run: SolvedRun, across: int = 1) -> None:
    """Draw one button for every form, so many in a row; files are made when they are asked for."""
    forms: tuple[tuple[str, str, Callable[[], str | bytes]], ...] = (
        ("Report (HTML)", "report.html", lambda: _report(run_id, name, run)),
        ("Scorer (HTML)", "scorer.html", lambda: scorer_html(run, name)),
        ("Rows (CSV)", "rows.csv", lambda: frame_to_csv(node_rows(run, run.train, 1))),
        ("Everything (JSON)", "run.json", lambda: _json(run_id, run)),
        ("Log (text)", "solve.log", run.log),
        ("Trace (JSON lines)", "trace.jsonl", run.trace.to_json_lines),
        *((label, f"tree.{kind}", partial(run.export, kind)) for kind, label in TREES.items()),
        (
            "Model for other solvers",
            "model.zip",
            lambda: inputs.packed({f"model{end}": made for end, made in model_files(run).items()}),
        ),
    )
    # A model that takes too long to be written while the page waits is none.
    refused = cached.once_per_run(
        run_id,
        "exports",
        lambda: (
            {f"tree.{kind}": refusal(run.export, kind) for kind in ("tsv", "onnx")}
            | {"model.zip": refusal(whole_program, run, MOST_ENTRIES)}
        ),
    )
    places = st.columns(across)
    for position, (label, file_name, make) in enumerate(forms):
        with places[position % across]:
            key = session.widget_key("export", file_name, run_id)
            why_not = refused.get(file_name, "")
            help_text = text.markdown(why_not, 400) or HELP.get(file_name)
            inputs.download(label, file_name, make, key, disabled=bool(why_not), help=help_text)
    proofs.file(run_id, run, "no tree of the same question is better than this one")


_slide = make_component("slide", "saved")


def share(run_id: str, name: str, run: SolvedRun) -> None:
    """Draw what goes to others: the run as a picture with its sentence, its link, its files."""
    with st.popover("Share", icon=":material/share:"):
        draw_slide = partial(slide_svg, run, name)
        svg = cached.once_per_run(run_id, f"slide {name}, {run.badge}", draw_slide)
        data = {"svg": svg, "alt": f"Slide of {name}", "width": WIDTH, "height": HEIGHT}
        _slide(data, session.widget_key("slide", run_id), lambda _: None)
        files = (
            ("report", "description", lambda: _report(run_id, name, run)),
            ("scorer", "fact_check", lambda: scorer_html(run, name)),
        )
        for place, (what, icon, make) in zip(st.columns(2), files, strict=True):
            with place:
                inputs.download(
                    f"{what.capitalize()} for others",
                    f"{what}.html",
                    make,
                    session.widget_key(what, run_id),
                    icon=f":material/{icon}:",
                    help=HELP[f"{what}.html"],
                )
        address = (st.context.url or "").split("?", 1)[0]
        st.code(f"{address}?{session.RUN_PARAMETER}={run_id}", language=None, wrap_lines=True)
        st.caption("The link opens where this server, or its history, is within reach.")


def _report(run_id: str, name: str, run: SolvedRun) -> str:
    greedy = None
    if run.certificate.method != "heuristic":
        greedy = cached.greedy_baseline(run_id, run, ON_NUMBERS)
    return report_html(run, name, None if isinstance(greedy, str) else greedy)


def _json(run_id: str, run: Run) -> str:
    store = jobs.supervisor().store
    try:
        record = None if store is None else store.export(run_id)
    except OctError:
        record = None  # Not written down yet: the run itself says the same.
    return json.dumps(run.to_dict() if record is None else record, indent=1)
