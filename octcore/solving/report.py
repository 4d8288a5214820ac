"""One run as people read it: a report, a picture for notebooks, rules, one row explained."""

import json
from collections.abc import Iterator, Mapping
from html import escape
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from octcore.data.checks import BUCKETS
from octcore.data.distinct import grouped
from octcore.data.findings import count, percent, quote
from octcore.data.serial import jsonable, versions
from octcore.engines.events import Trace
from octcore.errors import DataError
from octcore.parameters import unknown_name
from octcore.tree.export.code import DIALECTS, asked_columns, to_code
from octcore.tree.export.drawings import to_graphviz, to_svg, to_text
from octcore.tree.export.onnx import to_onnx
from octcore.tree.export.pmml import to_pmml
from octcore.tree.metrics import confusion
from octcore.tree.wording import Rule, rules

if TYPE_CHECKING:
    from octcore.solving.run import Run


def run_report(run: "Run") -> str:
    """Tree, numbers and certificate of a run as text, in the order and the words of the app."""
    lines = []
    if run.tree is not None:
        lines += [export_tree(run, "txt").rstrip(), *dates(run), ""]
    if run.n_test:
        lines.append(f"accuracy, held out: {_right(run.test_accuracy, run.n_test_answered)}")
    most = f", no tree beyond {_percent(run.accuracy_ceiling)}" if run.asked.refer is None else ""
    lines.append(
        f"accuracy, training: {_right(run.accuracy, run.n_answered)}; always guessing the largest "
        f"class {_percent(run.majority_accuracy)}{most}"
    )
    lines += _recalls(run)
    if run.asked.has_task and run.tree is not None:
        parts = [("training", run.mean_cost, run.referred)]
        if run.n_test:
            parts.insert(0, ("held out", run.test_mean_cost, run.test_referred))
        for name, cost, asked in parts:
            share = f"; a person is asked about {_percent(asked)} of the rows"
            ask = "" if run.asked.refer is None else share
            lines.append(f"mean cost, {name}: {_number(cost)}{ask}")
    if run.tree is not None:
        lines.append(f"leaves: {run.tree.n_leaves}")
    lines += [
        f"proof: {run.badge} ({run.formulation}, stopped by {run.stop_reason})",
        f"objective {_number(run.objective)}  bound {_number(run.bound)}  gap {_percent(run.gap)}",
    ]
    spent = (f"{name.replace('_', ' ')} {seconds:.2f}" for name, seconds in run.timings.items())
    lines.append("seconds " + "  ".join(spent))
    if run.model_size:
        lines.append("model " + "  ".join(f"{v:,} {k}" for k, v in run.model_size.items()))
    findings = [*run.certificate.sentences, *run.findings]
    if run.train is not None:
        # Of quantiles that coincide the encoding says more, if it is made of any.
        apart = {"EDGES_COLLAPSED"}
        if run.encoding.key not in {f"QB-{BUCKETS}", f"QT-{BUCKETS}"}:
            apart.add("CONFLICTING_AFTER_BINNING")
        findings += [
            f.message for f in run.train.findings if f.severity == "warning" and f.code not in apart
        ]
    lines += [f"- {text}" for text in findings]
    return "\n".join(lines)


def dates(run: "Run") -> list[str]:
    """Say which numbers of the tree are days, and since when."""
    known = () if run.train is None else run.train.columns
    asked = asked_columns(run.final_tree, run.encoding, known)
    return [f"{quote(c.name)}: {c.unit}" for c in asked if c.unit.startswith("days since")]


def _recalls(run: "Run") -> Iterator[str]:
    """Say how many rows of every class with a floor on its recall get their class."""
    for label, floor in (run.constraints.get("min_recall") or {}).items():
        for part, rows in (("held out", run.test), ("training", run.train)):
            if run.tree is None or rows is None:
                continue
            counts = confusion(run.tree, run.tree.encoded(run.encoding, rows.frame), rows.codes)
            k = list(map(str, rows.classes)).index(str(label))
            found, named = int(counts[k, k]), int(counts[k].sum())
            share = _percent(found / named if named else None)
            least = f"; at least {_percent(floor)} are asked for" if part == "training" else ""
            yield f"recall of {label}, {part}: {share}, {found:,} of {named:,}{least}"


def _right(share: float | None, rows: int) -> str:
    """Say how many rows are right, and how many are not."""
    if share is None:
        return "-"
    return f"{_percent(share)}, errors: {round((1 - share) * rows):,} of {rows:,}"


HEAD = f"{'':10} {'seconds':>9} {'nodes':>9} {'cuts':>8} {'incumbent':>13} {'bound':>13} {'gap':>9}"
"""Of the table of a log; the first column says where an incumbent is from."""
ROW = "{:10.10} {:9.2f} {:9,} {:8,} {:>13} {:>13} {:>9}"


def run_log(run: "Run") -> str:
    """Write the solve as solvers write theirs: size, a line an event, the end with its proof."""
    about, record = run.about_data, run.settings
    costs = {name: record.get(name) for name in ("costs", "refer")}
    settings = {**run.params, **run.constraints, **costs}
    lines = [
        ", ".join(f"{name} {version}" for name, version in versions().items()),
        f"{run.formulation}, engine {record.get('engine')}, depth {run.depth}, encoding "
        f"{run.encoding.key}, seed {record.get('seed')}, threads {record.get('threads')}",
        f"data {about.get('name')} (sha256 {about.get('sha256')}), {run.n_train:,} training rows, "
        f"{run.n_test:,} held out",
        "settings " + (", ".join(f"{k}={v}" for k, v in settings.items() if v is not None) or "-"),
        "",
        HEAD,
    ]
    for event in run.trace:
        numbers = ROW.format(
            event.source if event.kind == "incumbent" else "", event.seconds, event.nodes,
            event.cuts, _number(event.incumbent), _number(event.bound), _percent(event.gap),
        )  # fmt: skip
        if event.kind in ("incumbent", "bound", "progress"):
            lines.append(numbers)
        elif event.kind == "model":
            sizes = "  ".join(f"{v:,} {k}" for k, v in event.details.items())
            lines.append(f"{event.seconds:20.2f}  model: {sizes}")
        elif event.kind == "phase":
            lines.append(f"{event.seconds:20.2f}  {event.source}")
        elif event.kind == "note":
            lines.append(f"{event.seconds:20.2f}  {event.details.get('text')}")
    cuts = "  ".join(f"{number:,} {name}" for name, number in cut_families(run).items())
    return "\n".join([*lines, "", *([f"cuts {cuts}"] if cuts else []), run_report(run)]) + "\n"


def cut_counts(trace: Trace) -> dict[str, tuple[tuple[float, ...], tuple[int, ...]]]:
    """Times and running totals of the cuts of every family."""
    added = grouped(
        (family, (event.seconds, int(number)))
        for event in trace
        for family, number in event.details.get("counts", {}).items()
        if event.kind == "cuts" and number
    )
    columns = {family: zip(*cuts, strict=True) for family, cuts in added.items()}
    return {family: (s, tuple(accumulate(numbers))) for family, (s, numbers) in columns.items()}


def cut_families(run: "Run") -> Mapping[str, int]:
    """Number of cuts of every family that were added during the solve."""
    return {family: totals[-1] for family, (_, totals) in cut_counts(run.trace).items()}


EXPORTS = ("txt", "dot", "svg", "json", *DIALECTS, "pmml", "onnx")
"""Formats of `export_file`; all but the last are text, of `export_tree`."""
LANGUAGES = {"python": "py", "javascript": "js", "excel": "tsv"}
"""Names of formats beside their endings."""
SHOWN_CLASSES = 8
"""Classes that a notebook names under a tree, as the counts in its boxes follow each other."""


def export_file(run: "Run", kind: str) -> str | bytes:
    """Write the tree of a run in one of `EXPORTS`, by its ending or as `LANGUAGES` call it."""
    kind = LANGUAGES.get(kind, kind)
    if kind != "onnx":
        return export_tree(run, kind)
    return to_onnx(run.final_tree, run.encoding, () if run.train is None else run.train.columns)


def export_tree(run: "Run", kind: str) -> str:
    """Write the tree of a run as text, with the counts of its training rows."""
    tree, (X, y) = run.final_tree, _rows(run)
    columns = () if run.train is None else run.train.columns
    if kind == "json":
        return json.dumps(jsonable(tree.to_dict()), indent=1, allow_nan=False) + "\n"
    if kind == "dot":
        return to_graphviz(tree, run.encoding, X, y).source
    if kind in DIALECTS:
        return to_code(tree, run.encoding, kind, columns)
    if kind == "pmml":
        return to_pmml(tree, run.encoding, columns)
    draw = {"txt": to_text, "svg": to_svg}
    if kind not in draw:
        raise unknown_name("UNKNOWN_FORMAT", "tree format", kind, EXPORTS, "octcore")
    return draw[kind](tree, run.encoding, X, y)


def _rows(run: "Run") -> tuple[np.ndarray | None, np.ndarray | None]:
    """Encoded training rows and their classes, where the run still has them."""
    if run.train is None:
        return None, None
    return run.final_tree.encoded(run.encoding, run.train.frame), run.train.y


def run_line(run: "Run") -> str:
    """One line: what was solved, what is proven, how many rows are right."""
    size = "no tree" if run.tree is None else count(run.tree.n_leaves, "leaf")
    return (
        f"<Run {run.formulation}: {run.certificate.badge}, {size}, "
        f"accuracy {_percent(run.accuracy)}, gap {_percent(run.gap)}>"
    )


def run_html(run: "Run") -> str:
    """Tree, badge and numbers of a run as HTML for a notebook; everything is escaped."""
    badge, proven = run.certificate.badge, run.certificate.proven
    ink = "#007a5a" if proven else "#b3261e" if run.certificate.verified is False else "#5c6675"
    facts = {
        "accuracy": _percent(run.accuracy),
        "held-out accuracy": _percent(run.test_accuracy) if run.n_test else "",
        "objective": _number(run.objective),
        "gap": _percent(run.gap),
        "leaves": "" if run.tree is None else str(run.tree.n_leaves),
        "seconds": f"{run.timings.get('total', 0.0):.2f}",
    }
    if run.tree is not None and run.train is not None and run.train.n_classes <= SHOWN_CLASSES:
        facts["rows in a box:"] = " / ".join(map(str, run.train.classes))
    words = " · ".join(f"{name} {escape(value)}" for name, value in facts.items() if value)
    picture = "" if run.tree is None else export_tree(run, "svg")
    return (
        f'<div><p><b>{escape(run.formulation)}</b> <span style="color:{ink};border:1px solid {ink};'
        f'border-radius:4px;padding:1px 6px">{escape(badge)}</span></p>{picture}'
        f"<p>{words}</p></div>"
    )


def run_rules(run: "Run") -> tuple[Rule, ...]:
    """Every leaf as a rule, with its training rows."""
    return rules(run.final_tree, run.encoding, *_rows(run))


def explain_row(run: "Run", row: Mapping[str, Any] | pd.Series | pd.DataFrame) -> Rule:
    """Return the rule of the leaf at which one raw row, values by raw column, arrives.

    `DataError` if the row lacks a column or a value, or is not one row.
    """
    frame = row if isinstance(row, pd.DataFrame) else pd.DataFrame([dict(row)])
    if len(frame) != 1:
        raise DataError("NOT_ONE_ROW", f"One row can be explained at a time, not {len(frame)}.")
    found = {rule.leaf: rule for rule in run_rules(run)}
    X = run.final_tree.encoded(run.encoding, run.prepared(frame))
    return found[int(run.final_tree.apply(X)[0])]


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.6g}"


def _percent(value: float | None) -> str:
    return "-" if value is None else percent(value, 2).replace(" ", "")
