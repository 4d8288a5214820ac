"""BinOCT against brute force over thresholds without regulariser."""

from __future__ import annotations

import numpy as np
import pytest

from octcore.formulations.base import get_formulation
from octcore.formulations.bin_oct import BinOCT
from tests.brute import make_problem, run, threshold_tree
from tests.oracle.side_constraint_cases import (
    CONSTRAINTS,
    SEED,
    check_against_enumeration,
    constrained_problem,
    staged,
)
from tests.stages import later

pytestmark = pytest.mark.long

EXPRESSIBLE = [
    name
    for name, wanted in CONSTRAINTS.items()
    if set(wanted) <= get_formulation("bin-oct").info.constraints
]


def mixed_rows(seed: int, n: int = 12) -> tuple[np.ndarray, np.ndarray]:
    """One column with many values, one binary, one with up to seven values."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.random(n).round(1), rng.integers(0, 2, n), rng.integers(0, 7, n) / 6])
    return X, rng.integers(0, 3, n)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("case", [0, 1, 2, 4, 6, 7, 8, 10, 11, *later(3, 5, 9)])
def test_equals_brute_force(case):
    X, y = mixed_rows(SEED + case)
    smallest = 1 + case % 3
    constraints = {"min_samples_leaf": smallest} if case % 2 else None
    weights = np.random.default_rng(case).choice([0.5, 1.0, 2.0], len(y)) if case > 8 else None
    problem = make_problem(X, y, 3, 2, None, constraints, weights, formulation="bin-oct")
    least = min(
        threshold_tree(X, y, problem.weights, 3, 2, smallest if constraints else 0).values()
    )
    outcome, recorder, events = run(problem, "bin-oct", starts=case % 4 != 3)
    assert outcome.stop_reason == "optimal"
    assert recorder.objective == pytest.approx(least, abs=1e-9)
    assert not [event for event in events if event.kind == "note"]


def test_rows_of_one_class_may_have_to_be_parted():
    """The first column is cut where both neighbours are ones; without that cut 1 was "proven"."""
    first = [1, 9, 2, 4, 3, 7, 5, 0, 6, 8]
    X = np.column_stack([np.array(first) / 9, np.array([1, 1, 2, 2, 0, 1, 0, 0, 0, 2]) / 2])
    problem = make_problem(X, np.array([1, 1, 1, 0, 0, 1, 1, 0, 1, 0]), 2, 2, formulation="bin-oct")
    outcome, recorder, _ = run(problem, "bin-oct")
    assert (outcome.stop_reason, recorder.objective) == ("optimal", 0.0)


def test_number_of_thresholds_need_not_be_a_power_of_two():
    X = np.arange(8)[:, None] / 7
    y = np.array([0, 1, 0, 1, 0, 1, 0, 1])
    problem = make_problem(X, y, 2, 2, formulation="bin-oct")
    model = BinOCT(problem)
    assert len(model.thresholds[0]) == 7
    assert len(model.bits) == 3
    _, recorder, _ = run(problem, "bin-oct", starts=False)
    assert recorder.objective == min(threshold_tree(X, y, np.ones(8), 2, 2, 0).values())


def test_columns_without_two_values():
    X, y = np.full((4, 1), 0.3), np.array([0, 1, 1, 1])
    outcome, recorder, _ = run(make_problem(X, y, 2, 2, formulation="bin-oct"), "bin-oct")
    assert outcome.stop_reason == "optimal"
    assert recorder.objective == 1.0


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", staged(EXPRESSIBLE))
def test_side_constraints_equal_enumeration_on_binary_columns(name):
    for seed in (SEED, SEED + 1):
        check_against_enumeration(constrained_problem(name, seed, "bin-oct"), "bin-oct")


def test_only_constraints_on_the_shape_are_beyond_a_balanced_tree():
    missing = {"max_leaves", "max_splits", "feature_once_per_path", "several"}
    assert set(CONSTRAINTS) - set(EXPRESSIBLE) == missing
