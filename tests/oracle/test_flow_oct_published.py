"""FlowOCT on HiGHS against published optima of the accelerated BendOCT experiments."""

from __future__ import annotations

import csv
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from tests.brute import make_problem, run

MATCH = 1e-6
"""The published objectives are printed with nine digits."""
QUICK = {("monk1", 1), ("monk3", 1), ("iris", 1), ("iris", 2), ("soybean-small", 2)}


def instances() -> list[dict[str, str]]:
    """Rows of the table with fewer than 300 samples and 60 columns at depth 1 and 2."""
    table = _table()
    return [
        row
        for row in table
        if int(row["n_samples"]) < 300
        and int(row["n_binary_features"]) < 60
        and int(row["depth"]) <= 2
    ]


@cache
def _table() -> list[dict[str, str]]:
    import os

    folder = os.environ.get("OCT_REFERENCE")
    if not folder:
        return []
    with (Path(folder) / "oracle" / "univariate.csv").open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def name_of(row: dict[str, str]) -> str:
    return "-".join(row[key] for key in ("dataset", "encoding", "depth", "lambda"))


def check(row: dict[str, str], folder: Path, time_limit: float) -> str:
    suffix = "" if row["encoding"] == "none" else f"_{row['encoding']}"
    path = folder / "data" / "encoded" / f"{row['dataset']}{suffix}_enc.csv"
    with path.open(encoding="utf-8") as lines:
        records = list(csv.DictReader(lines))
    columns = [name for name in records[0] if name != "target"]
    X = np.array([[int(float(r[name])) for name in columns] for r in records], dtype=np.uint8)
    labels = [r["target"] for r in records]
    classes = sorted(set(labels))
    y = np.array([classes.index(label) for label in labels])
    params = {"leaf_penalty": float(row["lambda"])}
    problem = make_problem(X, y, len(classes), int(row["depth"]), params)
    outcome, recorder, _ = run(problem, time_limit=time_limit)
    published = float(row["objective"])
    assert recorder.objective <= published + MATCH
    assert recorder.best_bound >= published - MATCH
    if outcome.stop_reason == "optimal":
        assert recorder.objective == pytest.approx(published, abs=MATCH)
    return str(outcome.stop_reason)


ROWS = instances()


@pytest.mark.slow
@pytest.mark.reference
@pytest.mark.skipif(not ROWS, reason="OCT_REFERENCE names no table of published optima")
def test_small_published_optima(reference):
    quick = [row for row in ROWS if (row["dataset"], int(row["depth"])) in QUICK]
    assert quick
    for row in quick:
        assert check(row, reference, 60.0) == "optimal", name_of(row)


@pytest.mark.slow
@pytest.mark.reference
@pytest.mark.parametrize("row", ROWS, ids=name_of)
def test_published_optima(row, reference):
    check(row, reference, 120.0)
