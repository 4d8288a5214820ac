"""Optima of small sets that travel with the package, as numbers.

Hayes-Roth (to depth 3), balance-scale and tic-tac-toe: proven by Keegan et al. (2025) with
Gurobi, rounded to nine digits.  Hayes-Roth at depth 4 and the complete monk's problems: counted by
plain enumeration, which runs here again.
"""

from __future__ import annotations

import numpy as np
import pytest

import octcore
from octcore.data.dataset import Dataset
from octcore.data.reading import make_dataset
from octcore.data.samples import read_sample_table, sample_info
from tests.referee.encoding import encode
from tests.referee.univariate import error_table

PUBLISHED = [
    ("hayes-roth", 2, 0.0004, 0.604460606),
    ("hayes-roth", 3, 0.0002, 0.740824242),
    ("balance-scale", 1, 0.0006, 0.5892),
    ("balance-scale", 2, 0.0004, 0.6804),
    ("balance-scale", 3, 0.001, 0.7312),
    ("balance-scale", 4, 0.008, 0.6992),
    ("tic-tac-toe", 1, 0.01, 0.679373695),
    ("tic-tac-toe", 2, 0.1, 0.553444676),
    ("tic-tac-toe", 3, 0.0006, 0.770330271),
]
COUNTED = [
    ("hayes-roth", 4, 0.002, 0.820909091),
    ("hayes-roth", 4, 0.0002, 0.838909091),
    ("hayes-roth", 4, 0.01, 0.740909091),
    ("monks-1", 2, 0.01, 0.737777778),
    ("monks-1", 3, 0.0002, 0.887488889),
    ("monks-2", 3, 0.002, 0.669296296),
    ("monks-3", 3, 0.002, 0.99),
]
SLOWEST = ("balance-scale", 4)
ROUNDING = 1e-9


def _categories(name: str) -> Dataset:
    """A sample with one 0/1 column per value, as published."""
    table, target = read_sample_table(name), sample_info(name).target
    kinds = {column: "categorical" for column in table.names if column != target}
    return make_dataset(table, target, kinds=kinds)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("name", "depth", "penalty", "optimum"), PUBLISHED + COUNTED)
def test_exact_search_attains_the_optimum(
    name: str, depth: int, penalty: float, optimum: float
) -> None:
    run = octcore.solve(
        _categories(name),
        "path-search",
        encoding="one-hot",
        depth=depth,
        params={"leaf_penalty": penalty},
    )
    assert run.status == "optimal"
    assert run.objective == pytest.approx(optimum, abs=ROUNDING)
    assert run.bound == pytest.approx(optimum, abs=ROUNDING)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("name", "depth", "penalty", "optimum"),
    [
        pytest.param(*row, marks=[pytest.mark.long] if row[:2] == SLOWEST else [])
        for row in PUBLISHED + COUNTED
        if row[1] > 1
    ],
)
def test_plain_enumeration_counts_the_same(
    name: str, depth: int, penalty: float, optimum: float
) -> None:
    data = _categories(name)
    assert data.y is not None
    columns = {column: tuple(data.frame[column]) for column in data.frame.columns}
    errors = error_table(encode(columns).cuts, data.y, depth).by_leaves[1:]
    leaves = np.arange(1, 2**depth + 1)
    best = (1 - errors / data.n_samples - penalty * leaves).max()
    assert best == pytest.approx(optimum, abs=ROUNDING)


def test_hayes_roth_by_leaves() -> None:
    path = octcore.penalty_path(octcore.load_sample("hayes-roth"), "one-hot", 4)
    wrong = {step.leaves: round(132 * (1 - step.accuracy)) for step in path.steps}
    assert wrong == {1: 81, 2: 68, 3: 56, 4: 46, 5: 38, 6: 36, 7: 31, 8: 27, 9: 24, 10: 21}
