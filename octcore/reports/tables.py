"""What a person reads: one run as text, several runs as a table."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pandas as pd

from octcore.errors import ModelFileError
from octcore.parameters import unknown_name
from octcore.serial import jsonable
from octcore.solving.run import Run
from octcore.tree.export.dot import to_graphviz
from octcore.tree.export.svg import to_svg
from octcore.tree.export.text import to_text


def run_report(run: Run) -> str:
    """Tree, numbers and certificate of a run as text."""
    lines = []
    if run.tree is not None:
        lines += [_tree_text(run), ""]
    lines += [
        f"{run.formulation}: {run.status} ({run.badge}), stopped by {run.stop_reason}",
        f"objective {_number(run.objective)}  bound {_number(run.bound)}  gap {_percent(run.gap)}",
        f"accuracy {_percent(run.accuracy)} of {run.n_train} training rows"
        f"  (ceiling {_percent(run.accuracy_ceiling)},"
        f" always the largest class {_percent(run.majority_accuracy)})",
    ]
    if run.n_test:
        lines.append(f"accuracy {_percent(run.test_accuracy)} of {run.n_test} held-out rows")
    if run.tree is not None:
        lines.append(f"{run.tree.n_leaves} leaves, {run.tree.n_splits} splits")
    spent = (f"{name.replace('_', ' ')} {seconds:.2f}" for name, seconds in run.timings.items())
    lines.append("seconds " + "  ".join(spent))
    if run.model_size:
        lines.append("model " + "  ".join(f"{v:,} {k}" for k, v in run.model_size.items()))
    remarks = [*run.certificate.sentences, *run.findings]
    if run.train is not None:
        remarks += [f.message for f in run.train.findings if f.severity == "warning"]
    lines += [f"- {text}" for text in remarks]
    return "\n".join(lines)


def _tree_text(run: Run) -> str:
    return export_tree(run, "txt").rstrip()


EXPORTS = ("txt", "dot", "svg", "json")
"""Formats of `export_tree`."""


def export_tree(run: Run, kind: str) -> str:
    """Write the tree of a run, with the counts of its training rows.

    Parameters
    ----------
    run : Run
        A run with a tree.
    kind : str
        One of `EXPORTS`.

    Raises
    ------
    ModelFileError
        If the run has no tree.
    SettingsError
        If the format is unknown; near matches are named.
    """
    if run.tree is None:
        raise ModelFileError("NO_TREE", "This run has no tree to export.")
    X = y = None
    if run.train is not None:
        X, y = run.encoding.transform(run.train.frame), run.train.y
    if kind == "json":
        return json.dumps(jsonable(run.tree.to_dict()), indent=1, allow_nan=False) + "\n"
    if kind == "dot":
        return to_graphviz(run.tree, run.encoding, X, y).source
    draw = {"txt": to_text, "svg": to_svg}
    if kind not in draw:
        raise unknown_name("UNKNOWN_FORMAT", "tree format", kind, EXPORTS, "octcore")
    return draw[kind](run.tree, run.encoding, X, y)


COLUMNS = {
    "formulation": lambda run: run.formulation,
    "encoding": lambda run: run.encoding.key,
    "status": lambda run: run.status,
    "objective": lambda run: run.objective,
    "bound": lambda run: run.bound,
    "gap": lambda run: run.gap,
    "root_bound": lambda run: run.root_bound,
    "accuracy": lambda run: run.accuracy,
    "test_accuracy": lambda run: run.test_accuracy,
    "leaves": lambda run: None if run.tree is None else run.tree.n_leaves,
    "features": lambda run: None if run.tree is None else n_raw_features(run),
    "seconds": lambda run: round(run.timings["total"], 3),
    "rows": lambda run: run.model_size.get("rows"),
    "binaries": lambda run: run.model_size.get("binaries"),
    "method": lambda run: run.certificate.method,
}


def comparison_table(runs: Sequence[Run]) -> pd.DataFrame:
    """One line per run; columns in which all are empty are left out."""
    table = pd.DataFrame([{name: get(run) for name, get in COLUMNS.items()} for run in runs])
    return table.dropna(axis="columns", how="all")


def n_raw_features(run: Run) -> int:
    """Number of distinct raw features that the tree tests."""
    if run.tree is None:
        return 0
    groups = run.encoding.groups
    return len({int(groups[j]) for j in run.tree.used_features})


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.6g}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.2%}"
