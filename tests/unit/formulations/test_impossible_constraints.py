"""Constraints that leave no column, no split or no tree: every formulation says the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from octcore.engines.base import StopReason
from octcore.formulations.base import get_formulation
from tests.brute import make_problem, run

UNIVARIATE = (
    "path-search",
    "path-columns",
    "flow-oct",
    "bend-oct",
    "accelerated-bend-oct",
    "oct-binary",
    "oct",
    "bin-oct",
)
X = np.array(
    [[0, 0, 1], [0, 1, 1], [1, 0, 1], [1, 1, 1], [0, 1, 1], [1, 1, 1], [0, 0, 1], [1, 0, 1]],
    np.uint8,
)
Y = np.array([0, 0, 1, 1, 1, 0, 0, 1])
NO_COLUMN = {"forbidden_features": ["f0", "f1", "f2"]}
ALONE = [
    {"max_splits": 0},
    {"max_features": 0},
    NO_COLUMN,
    NO_COLUMN | {"max_features": 1},
    NO_COLUMN | {"forbidden_pairs": [["f0", "f1"]]},
    NO_COLUMN | {"feature_once_per_path": True},
    NO_COLUMN | {"min_recall": {0: 1.0}},
    {"min_samples_leaf": 8},
    {"max_features": 0, "min_samples_leaf": 3},
]
"""A single leaf is the best that these allow."""
NOTHING = [
    {"root_feature": "f0", "forbidden_features": ["f0"]},
    NO_COLUMN | {"root_feature": "f0"},
    {"root_feature": "f0", "max_splits": 0},
    {"root_feature": "f0", "max_leaves": 1},
    {"root_feature": "f0", "max_features": 0},
    {"root_feature": "f0", "min_samples_leaf": 5},
    {"root_feature": "f2"},
    {"root_feature": "f2", "min_samples_leaf": 1},
    {"min_recall": {0: 1.0, 1: 1.0}, "max_splits": 0},
]
"""No tree keeps these."""


def _solved(key: str, depth: int, constraints: dict[str, Any]):
    info = get_formulation(key).info
    if set(constraints) - info.constraints:
        pytest.skip(f"{key} does not have these constraints")
    problem = make_problem(X, Y, 2, depth, constraints=constraints, formulation=key)
    return run(problem, key, info.engines[0])


@pytest.mark.sampled(12)
@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("key", UNIVARIATE)
@pytest.mark.parametrize("constraints", ALONE, ids=str)
def test_a_single_leaf_is_left(constraints: dict[str, Any], key: str, depth: int) -> None:
    outcome, recorder, _ = _solved(key, depth, constraints)
    assert outcome.stop_reason is StopReason.OPTIMAL
    assert recorder.tree is not None
    assert recorder.tree.n_leaves == 1
    assert recorder.best_bound == pytest.approx(recorder.objective)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("key", UNIVARIATE)
@pytest.mark.parametrize("constraints", NOTHING, ids=str)
def test_no_tree_is_left(constraints: dict[str, Any], key: str, depth: int) -> None:
    outcome, recorder, _ = _solved(key, depth, constraints)
    assert outcome.stop_reason is StopReason.INFEASIBLE
    assert recorder.tree is None


@pytest.mark.parametrize("key", [*UNIVARIATE[1:], "threshold-search"])
def test_a_floor_that_is_missed_by_rounding_is_kept(key: str) -> None:
    """10 of 30 rows keep a floor of 0.3333333335, as trees are judged."""
    rows = np.repeat(np.array([[1, 0], [0, 0], [0, 0]], np.uint8), [10, 20, 100], axis=0)
    labels = np.repeat([0, 0, 1], [10, 20, 100])
    constraints = {"min_recall": {0: 0.3333333335}}
    problem = make_problem(rows, labels, 2, 1, constraints=constraints, formulation=key)
    engine = get_formulation(key).info.engines[0]
    outcome, recorder, _ = run(problem, key, engine, starts=False)
    assert outcome.stop_reason is StopReason.OPTIMAL
    assert recorder.tree is not None
    assert (recorder.tree.predict_codes(rows) == labels).sum() == 110
