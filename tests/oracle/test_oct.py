"""OCT against brute force over thresholds, and its binary form against enumeration."""

from __future__ import annotations

import numpy as np
import pytest

import octcore
from octcore.data.dataset import Dataset
from octcore.program import Problem
from tests.brute import make_problem, random_rows, run, threshold_tree
from tests.oracle.side_constraint_cases import (
    CONSTRAINTS,
    SEED,
    TOLERANCE,
    check_against_enumeration,
    constrained_problem,
    optimum,
    staged,
)

pytestmark = pytest.mark.long


def numeric_rows(seed: int, n: int = 11, classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """Two columns in [0, 1] with ties."""
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.integers(0, 9, n) / 8, rng.integers(0, 4, n) / 3])
    X[:2] = [[0, 0], [1, 1]]
    return X, rng.integers(0, classes, n)


def brute_force(problem: Problem, smallest: int = 1) -> float:
    """Least ``errors / L-hat + alpha * splits`` over all trees on middle thresholds."""
    errors = threshold_tree(problem.X, problem.y, problem.weights, 3, problem.depth, smallest)
    shares = np.bincount(problem.y, problem.weights)
    majority = (shares.sum() - shares.max()) or 1.0
    return min(e / majority + problem.params["alpha"] * splits for splits, e in errors.items())


@pytest.mark.parametrize("smallest", [1, 2, 3])
@pytest.mark.parametrize("case", range(4))
def test_oct_equals_brute_force_over_thresholds(case, smallest):
    X, y = numeric_rows(SEED + case)
    params = {"alpha": [0.0, 0.05, 0.2, 0.01][case]}
    problem = make_problem(X, y, 3, 2, params, {"min_samples_leaf": smallest}, formulation="oct")
    outcome, recorder, events = run(problem, "oct", starts=case % 2 == 0)
    assert outcome.stop_reason == "optimal"
    assert recorder.objective == pytest.approx(brute_force(problem, smallest), abs=TOLERANCE)
    assert not [event for event in events if event.kind == "note"]


def test_oct_with_weights():
    X, y = numeric_rows(SEED)
    weights = np.random.default_rng(1).choice([0.5, 1.0, 3.0], len(y))
    problem = make_problem(X, y, 3, 2, {"alpha": 0.02}, weights=weights, formulation="oct")
    outcome, recorder, _ = run(problem, "oct")
    assert outcome.stop_reason == "optimal"
    assert recorder.objective == pytest.approx(brute_force(problem), abs=TOLERANCE)


@pytest.mark.parametrize("formulation", ["oct", "oct-binary", "bin-oct"])
@pytest.mark.parametrize(
    ("rows", "weights", "most"),
    [
        ([[1, 0], [0, 1], [0, 0], [1, 0]], [11e-7, 9e-7, 4e-7, 12e-7], 25e-7),
        ([[0, 1], [0, 1], [1, 0], [0, 0]], [5e9, 3e9, 3e9, 3e9], 11e9),
    ],
)
def test_weights_of_any_size_have_an_optimum(formulation, rows, weights, most):
    """The majority was called the optimum: solvers' tolerances were not small, or far too small."""
    data = Dataset.from_arrays(np.array(rows), [0, 1, 0, 1] if most < 1 else [0, 1, 1, 1])
    params = {"leaf_penalty": 0.0} if formulation == "oct-binary" else {}
    params |= {"alpha": 0.0} if formulation == "oct" else {}
    run = octcore.solve(
        data, formulation, params=params, sample_weight=weights, warm_start="none", verify=False
    )
    assert run.status == "optimal"
    right = run.needed.tree.predict_codes(run.encoding.transform(data.frame)) == data.codes
    assert np.array(weights)[right].sum() == pytest.approx(most)


def test_rows_cannot_be_spread_below_a_node_without_split():
    X, y = numeric_rows(SEED)
    problem = make_problem(X, y, 3, 2, {"alpha": 5.0}, formulation="oct")
    _, recorder, _ = run(problem, "oct")
    assert recorder.tree.n_leaves == 1
    assert recorder.objective == pytest.approx(1.0)


def test_thresholds_lie_between_rows_and_constant_columns_are_harmless():
    X, y = numeric_rows(SEED + 2)
    X = np.column_stack([np.full(len(y), 0.5), X])
    problem = make_problem(X, y, 3, 2, {"alpha": 0.0}, formulation="oct")
    _, recorder, _ = run(problem, "oct")
    assert recorder.tree.n_splits > 1
    for node, rows in recorder.tree.node_rows(X).items():
        split = recorder.tree.splits.get(node)
        if split is not None and len(rows):
            assert np.abs(split.project(X[rows]) - split.threshold).min() > 1e-3


@pytest.mark.parametrize("case", range(12))
@pytest.mark.parametrize("disaggregated", [False, True])
def test_oct_binary_equals_enumeration(case, disaggregated):
    rng = np.random.default_rng(SEED + case)
    X, y = random_rows(rng, int(rng.integers(2, 15)), int(rng.integers(1, 5)), 3)
    regulariser = {"leaf_penalty": 0.03} if case % 2 else {"split_weight": 0.2}
    params = {**regulariser, "disaggregated": disaggregated}
    problem = make_problem(X, y, 3, 1 + case % 3 % 2, params, formulation="oct-binary")
    outcome, recorder, _ = run(problem, "oct-binary")
    assert outcome.stop_reason == "optimal"
    assert recorder.objective == pytest.approx(optimum(problem), abs=TOLERANCE)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", staged(CONSTRAINTS))
def test_oct_binary_side_constraints_equal_enumeration(name):
    for seed in (SEED, SEED + 1):
        problem = constrained_problem(name, seed, "oct-binary", leaf_penalty=0.01)
        check_against_enumeration(problem, "oct-binary")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", staged(CONSTRAINTS))
def test_oct_side_constraints_equal_enumeration_on_binary_columns(name):
    problem = constrained_problem(name, SEED, "oct", alpha=0.02)
    check_against_enumeration(problem, "oct")
