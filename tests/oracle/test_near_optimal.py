"""Counts of near-optimal trees against the reference table."""

from __future__ import annotations

import csv
import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from octcore.search.near_optimal.instance import make_instance
from octcore.search.near_optimal.tree_set import TreeQuery, find_trees

REFERENCE = os.environ.get("OCT_REFERENCE")


def table() -> list[dict[str, str]]:
    """Rows of the reference table, or nothing when the reference data are absent."""
    if REFERENCE is None:
        return []
    with (Path(REFERENCE) / "oracle" / "near-optimal.csv").open() as lines:
        return list(csv.DictReader(lines))


@pytest.mark.reference
@pytest.mark.skipif(REFERENCE is None, reason="OCT_REFERENCE is not set: no reference counts here")
@pytest.mark.parametrize("row", table(), ids=lambda row: f"{row['dataset']}-D{row['depth']}")
def test_counts(row: dict[str, str]) -> None:
    assert REFERENCE is not None
    frame = pd.read_csv(Path(REFERENCE) / "data" / "encoded" / f"{row['dataset']}_enc.csv")
    y = np.unique(frame["target"].astype(str), return_inverse=True)[1]
    X = frame.drop(columns="target").to_numpy(np.uint8)
    instance = make_instance(
        X,
        y,
        int(y.max()) + 1,
        int(row["depth"]),
        Fraction(row["leaf_penalty"]),
        Fraction(row["tolerance"]),
    )
    graph = find_trees(instance, lambda done: None, lambda phase, done: None)
    assert graph is not None
    assert float(graph.optimum / len(y)) == pytest.approx(float(row["optimal_cost"]), abs=6e-6)
    query = TreeQuery(graph, instance.tolerance)
    assert query.count == int(row["trees"])
    best = [cell for cell in query.cells if instance.cost(cell[0], cell[1]) == graph.optimum]
    assert sum(query.cells[cell] for cell in best) == int(row["optimal_trees"])
