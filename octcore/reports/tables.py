"""Several runs as a table."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from octcore.solving.report import cut_families
from octcore.solving.run import Run

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
    "nodes": lambda run: max((event.nodes for event in run.trace), default=0) or None,
    "cuts": lambda run: ", ".join(f"{n} {k}" for k, n in cut_families(run).items()) or None,
    "rows": lambda run: run.model_size.get("rows"),
    "binaries": lambda run: run.model_size.get("binaries"),
    "method": lambda run: run.certificate.method,
}


def comparison_table(runs: Sequence[Run]) -> pd.DataFrame:
    """One line per run; columns in which all are empty are left out."""
    table = pd.DataFrame([{name: get(run) for name, get in COLUMNS.items()} for run in runs])
    return table.dropna(axis="columns", how="all")


def repeats_table(runs: Sequence[Sequence[Run]]) -> pd.DataFrame:
    """One line per training: means over its repetitions, and the spread of the test accuracy."""
    lines = []
    for group in runs:
        tests = [run.test_accuracy for run in group if run.test_accuracy is not None]
        trained = [run.accuracy for run in group if run.accuracy is not None]
        leaves = [run.tree.n_leaves for run in group if run.tree is not None]
        lines.append(
            {
                "formulation": group[0].formulation,
                "splits": len(group),
                "proven": sum(run.is_optimal for run in group),
                "accuracy": float(np.mean(trained)) if trained else None,
                "test_accuracy": float(np.mean(tests)) if tests else None,
                "spread": float(np.std(tests)) if tests else None,
                "leaves": float(np.mean(leaves)) if leaves else None,
                "seconds": round(sum(run.timings["total"] for run in group), 3),
            }
        )
    return pd.DataFrame(lines)


def n_raw_features(run: Run) -> int:
    """Number of distinct raw features that the tree tests."""
    if run.tree is None:
        return 0
    groups = run.encoding.groups
    return len({int(groups[j]) for j in run.tree.used_features})
