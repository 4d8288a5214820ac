"""Published optima of univariate trees and, where installed, STreeD, as oracles."""

from __future__ import annotations

import csv
import os
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from octcore.search.univariate.question import Question
from octcore.search.univariate.search import answer

REFERENCE = os.environ.get("OCT_REFERENCE")
TOLERANCE = 1e-6
"""The published objectives are rounded to nine digits; one row of any set weighs more than this."""


def published() -> list[dict[str, str]]:
    """Return the rows of the published table, or nothing when the reference data are absent."""
    if REFERENCE is None:
        return []
    with (Path(REFERENCE) / "oracle" / "univariate.csv").open() as lines:
        return list(csv.DictReader(lines))


@lru_cache(maxsize=60)
def encoded(dataset: str, encoding: str) -> tuple[np.ndarray, np.ndarray]:
    """Read an encoded set: features and class indices."""
    assert REFERENCE is not None
    name = dataset if encoding == "none" else f"{dataset}_{encoding}"
    path = Path(REFERENCE) / "data" / "encoded" / f"{name}_enc.csv"
    with path.open() as lines:
        header = next(csv.reader(lines))
        table = list(csv.reader(lines))
    target = header.index("target")
    y = np.unique([row[target] for row in table], return_inverse=True)[1]
    X = np.array([[float(v) for j, v in enumerate(row) if j != target] for row in table])
    return X.astype(np.uint8), y.astype(np.int64)


def name_of(row: dict[str, str]) -> str:
    """Return a readable test name."""
    return f"{row['dataset']}-{row['encoding']}-D{row['depth']}-{row['lambda']}"


@pytest.mark.sampled(4)
@pytest.mark.reference
@pytest.mark.skipif(REFERENCE is None, reason="OCT_REFERENCE is not set: no published optima here")
@pytest.mark.parametrize("row", published(), ids=name_of)
def test_published_optimum(row: dict[str, str]) -> None:
    X, y = encoded(row["dataset"], row["encoding"])
    assert len(y) == int(row["n_samples"])
    depth, penalty = int(row["depth"]), float(row["lambda"])
    result = answer(Question(X, y, int(y.max()) + 1, depth, penalty), time_limit=60)
    expected = float(row["objective"])
    assert result.objective is not None
    assert result.bound is not None
    assert result.objective <= expected + TOLERANCE
    assert result.bound >= expected - TOLERANCE
    assert result.status == "optimal"
    assert result.objective == pytest.approx(expected, abs=TOLERANCE)


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_agrees_with_streed(depth: int) -> None:
    streed = pytest.importorskip("pystreed", reason="pystreed is not installed")
    rng = np.random.default_rng(depth)
    for penalty in (0.002, 0.02):
        X = (rng.random((150, 12)) < 0.4).astype(np.uint8)
        y = (X[:, 0] ^ (X[:, 1] & X[:, 2]) ^ (rng.random(150) < 0.2)).astype(np.int64)
        y = y + (X[:, 5] & X[:, 6])
        model = streed.STreeDClassifier(
            "cost-complex-accuracy", max_depth=depth, cost_complexity=penalty
        )
        model.fit(X, y)
        accuracy = float(np.mean(model.predict(X) == y))
        theirs = accuracy - penalty * model.get_n_leaves()
        ours = answer(Question(X, y, 3, depth, penalty)).objective
        assert ours == pytest.approx(theirs, abs=TOLERANCE)
