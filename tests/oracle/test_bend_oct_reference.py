"""BendOCT and accelerated BendOCT on published optima: bounds always valid, proofs always right."""

from __future__ import annotations

import csv
import os
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from octcore.engines.base import StopReason
from tests.brute import make_problem, run

SAME = 1e-6
"""The published values are rounded to nine digits."""
PUBLISHED = "accelerated-bend-oct"


@cache
def rows() -> tuple[dict[str, str], ...]:
    folder = os.environ.get("OCT_REFERENCE")
    if not folder:
        return ()
    with (Path(folder) / "oracle" / "univariate.csv").open() as handle:
        return tuple(csv.DictReader(handle))


def name(row: dict[str, str]) -> str:
    return f"{row['dataset']}-{row['encoding']}-{row['depth']}-{row['lambda']}"


def chosen(shallow: bool) -> list:
    """Depth one and two on small sets for every run; a sample of the deep ones for the slow run."""
    found = [
        row
        for row in rows()
        if (int(row["depth"]) <= 2) == shallow
        and (not shallow or (int(row["n_samples"]) <= 300 and int(row["n_binary_features"]) <= 50))
    ]
    return [pytest.param(row, id=name(row)) for row in (found if shallow else found[::6])]


def solve(row: dict[str, str], formulation: str, params: dict, seconds: float):
    folder = Path(os.environ["OCT_REFERENCE"]) / "data" / "encoded"
    encoding = "" if row["encoding"] == "none" else f"{row['encoding']}_"
    table = pd.read_csv(folder / f"{row['dataset']}_{encoding}enc.csv")
    y = np.unique(table.pop("target"), return_inverse=True)[1].astype(np.int64)
    problem = make_problem(
        table.to_numpy(np.uint8), y, int(y.max()) + 1, int(row["depth"]),
        {"leaf_penalty": float(row["lambda"]), **params}, formulation=formulation,
    )  # fmt: skip
    outcome, recorder, _ = run(problem, formulation, "branch-and-cut", time_limit=seconds)
    optimum = float(row["objective"])
    assert recorder.objective is not None
    assert recorder.objective <= optimum + SAME
    assert recorder.best_bound is not None
    assert recorder.best_bound >= optimum - SAME
    if outcome.stop_reason is StopReason.OPTIMAL:
        assert recorder.objective == pytest.approx(optimum, abs=SAME)
    return outcome.stop_reason


@pytest.mark.sampled(3)
@pytest.mark.reference
@pytest.mark.parametrize("row", chosen(shallow=True))
def test_shallow_rows_are_proven(row):
    assert solve(row, PUBLISHED, {}, 60.0) is StopReason.OPTIMAL


@pytest.mark.reference
@pytest.mark.parametrize("row", chosen(shallow=True)[::4])
@pytest.mark.parametrize("formulation", ["bend-oct", PUBLISHED])
def test_bounds_are_valid_when_stopped_early(row, formulation):
    solve(row, formulation, {}, 0.3)


@pytest.mark.slow
@pytest.mark.reference
@pytest.mark.parametrize("row", chosen(shallow=False))
@pytest.mark.parametrize(
    ("formulation", "params", "seconds"),
    [("bend-oct", {}, 10.0), (PUBLISHED, {}, 60.0), (PUBLISHED, {"value_row": True}, 60.0)],
)
def test_deep_rows_have_valid_bounds(row, formulation, params, seconds):
    reason = solve(row, formulation, params, seconds)
    assert reason in {StopReason.OPTIMAL, StopReason.TIME_LIMIT}
