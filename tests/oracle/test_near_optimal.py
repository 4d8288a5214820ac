"""Counts of near-optimal trees against the reference table."""

from __future__ import annotations

import csv
import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import octcore
from octcore.bench.suites.thresholds import loader
from octcore.data.dataset import Dataset
from octcore.search.near_optimal.instance import make_instance
from octcore.search.near_optimal.tree_set import Conditions, TreeQuery, find_trees
from octcore.search.univariate.question import Question
from octcore.search.univariate.search import answer

REFERENCE = os.environ.get("OCT_REFERENCE")


def table(name: str) -> list[dict[str, str]]:
    """Rows of a reference table, or nothing when the reference data are absent."""
    if REFERENCE is None:
        return []
    with (Path(REFERENCE) / "oracle" / name).open() as lines:
        return list(csv.DictReader(lines))


@pytest.mark.reference
@pytest.mark.skipif(REFERENCE is None, reason="OCT_REFERENCE is not set: no reference counts here")
@pytest.mark.parametrize(
    "row", table("near-optimal.csv"), ids=lambda row: f"{row['dataset']}-D{row['depth']}"
)
def test_counts(row: dict[str, str]) -> None:
    assert REFERENCE is not None
    frame = pd.read_csv(Path(REFERENCE) / "data" / "encoded" / f"{row['dataset']}_enc.csv")
    y = np.unique(frame["target"].astype(str), return_inverse=True)[1]
    X = frame.drop(columns="target").to_numpy(np.uint8)
    instance = make_instance(
        Question(X, y, int(y.max()) + 1, int(row["depth"])),
        Fraction(row["leaf_penalty"]),
        Fraction(row["tolerance"]),
    )
    tree = answer(instance.question).tree
    assert tree is not None
    known = instance.cost_of(tree)
    graph = find_trees(instance, lambda done: None, lambda phase, done: None, known)
    assert float(graph.optimum / len(y)) == pytest.approx(float(row["optimal_cost"]), abs=6e-6)
    query = TreeQuery(graph, Conditions(instance.tolerance))
    assert query.count == int(row["trees"])
    best = [cell for cell in query.cells if instance.cost(cell[0], cell[1]) == graph.optimum]
    assert sum(query.cells[cell] for cell in best) == int(row["optimal_trees"])


@pytest.mark.sampled(3)
@pytest.mark.reference
@pytest.mark.skipif(REFERENCE is None, reason="OCT_REFERENCE is not set: no reference counts here")
@pytest.mark.parametrize(
    "row",
    table("near-thresholds.csv"),
    ids=lambda row: f"{row['dataset']}-D{row['depth']}-{row['leaf_penalty']}",
)
def test_counts_on_all_thresholds(row: dict[str, str]) -> None:
    assert REFERENCE is not None
    found = octcore.near_optimal(
        _raw(Path(REFERENCE) / "data", row["dataset"]),
        depth=int(row["depth"]),
        params={"leaf_penalty": float(row["leaf_penalty"])},
        tolerance=float(row["tolerance"]),
    )
    assert found.count == int(row["trees"])


def _raw(folder: Path, name: str) -> Dataset:
    """Raw rows of a set; those of "credit" without gaps, and with columns of text."""
    if name != "credit":
        return loader(folder, name)()
    frame = pd.read_csv(folder / "raw" / "credit.data", header=None, na_values="?")
    text = frame.add_prefix("c").to_csv(index=False)
    return octcore.read_csv(text.encode(), target="c15")
