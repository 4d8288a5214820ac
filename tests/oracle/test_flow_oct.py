"""FlowOCT against enumeration: both regularisations, every side constraint, every switch."""

from __future__ import annotations

import numpy as np
import pytest

from octcore.formulations.base import get_formulation
from octcore.tree.tree import Tree
from tests.brute import best_objective, make_problem, random_rows, run
from tests.oracle.side_constraint_cases import (
    CONSTRAINTS,
    SEED,
    TOLERANCE,
    check_against_enumeration,
    constrained_problem,
    optimum,
    staged,
)
from tests.stages import later

pytestmark = pytest.mark.long


@pytest.mark.parametrize("case", [*range(20), *later(*range(20, 50))])
def test_equals_enumeration_in_both_regularisations(case):
    rng = np.random.default_rng(SEED + case)
    n, features, classes = rng.integers(1, 17), rng.integers(1, 5), rng.integers(1, 4)
    depth = int(rng.integers(1, 3))
    X, y = random_rows(rng, int(n), int(features), int(classes))
    penalties = ({"leaf_penalty": float(rng.choice([0, 0.01, 0.05, 0.3]))},
                 {"split_weight": float(rng.choice([0, 0.1, 0.4]))})  # fmt: skip
    for params in penalties:
        params["class_cuts"] = bool(case % 2)
        problem = make_problem(X, y, int(classes), depth, params)
        outcome, recorder, _ = run(problem, starts=bool(case % 3))
        assert outcome.stop_reason == "optimal", f"seed {SEED + case}"
        assert recorder.objective == pytest.approx(optimum(problem), abs=TOLERANCE)
        assert recorder.best_bound == pytest.approx(recorder.objective, abs=TOLERANCE)


@pytest.mark.parametrize("case", range(6))
def test_weights_are_optimised_exactly(case):
    rng = np.random.default_rng(SEED + case)
    X, y = random_rows(rng)
    weights = rng.choice([0.0, 0.5, 1.0, 2.5], len(y)) if case % 2 else rng.random(len(y))
    problem = make_problem(X, y, 3, 2, {"leaf_penalty": 0.03}, weights=weights)
    outcome, recorder, _ = run(problem)
    assert outcome.stop_reason == "optimal"
    assert recorder.objective == pytest.approx(optimum(problem), abs=TOLERANCE)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", staged(CONSTRAINTS))
@pytest.mark.parametrize("regulariser", [{"leaf_penalty": 0.0}, *later({"split_weight": 0.05})])
def test_side_constraints_equal_enumeration_and_bind(name, regulariser):
    binding = 0
    for seed in range(SEED, SEED + 3):
        problem = constrained_problem(name, seed, **regulariser)
        best = check_against_enumeration(problem, "flow-oct")
        binding += best is not None and best < optimum(problem) - TOLERANCE
    assert binding, "the constraint should matter in one case at least"


@pytest.mark.sampled(3)
@pytest.mark.parametrize("switch", ["search_start", "value_row", "feature_fixing"])
@pytest.mark.parametrize("constraints", [None, {"max_features": 1}, {"min_samples_leaf": 4}])
def test_our_strengthening_keeps_the_optimum(switch, constraints):
    for case in range(2):
        X, y = random_rows(np.random.default_rng(SEED + case), 14, 4, 2)
        regulariser = {"leaf_penalty": 0.03} if case % 2 else {"split_weight": 0.1}
        problem = make_problem(X, y, 2, 2, {**regulariser, switch: True}, constraints)
        outcome, recorder, _ = run(problem)
        best = best_objective(problem, get_formulation("flow-oct").build(problem).evaluate)
        assert recorder.objective == pytest.approx(best, abs=TOLERANCE)
        assert outcome.stop_reason == "optimal"
        assert outcome.method == ("mip" if switch == "search_start" else "mip+path-search")


def test_value_row_closes_the_root():
    X, y = random_rows(np.random.default_rng(SEED), 40, 6, 3)
    plain, _, _ = run(make_problem(X, y, 3, 2, {"leaf_penalty": 0.02}))
    strong, recorder, _ = run(make_problem(X, y, 3, 2, {"leaf_penalty": 0.02, "value_row": True}))
    assert strong.root_bound == pytest.approx(recorder.objective, abs=1e-6)
    assert plain.root_bound > strong.root_bound
    assert len(strong.values["root_values"]) == 6


def test_worked_example():
    X = np.array([[0, 0], [0, 0], [0, 1], [1, 0], [1, 1], [1, 1]], dtype=np.uint8)
    y = np.array([0, 1, 1, 1, 0, 0])
    for penalty, value in ((0.05, 5 / 6 - 0.15), (0.1, 5 / 6 - 0.3)):
        _, recorder, _ = run(make_problem(X, y, 2, 2, {"leaf_penalty": penalty}))
        assert recorder.objective == pytest.approx(value, abs=TOLERANCE)
        assert recorder.tree.n_leaves == 3


@pytest.mark.parametrize(
    ("X", "y", "classes", "depth"),
    [
        (np.zeros((1, 1)), [0], 1, 1),  # one row, one constant feature
        (np.zeros((6, 2)), [0, 1, 1, 0, 1, 1], 2, 2),  # only constant features
        (np.zeros((6, 0)), [0, 1, 1, 0, 1, 1], 2, 2),  # no feature at all
        (np.eye(5), [0, 1, 2, 3, 4], 5, 2),  # more classes than leaves
        (np.eye(4), [0, 0, 3, 3], 4, 2),  # classes without rows
        (np.array([[0, 0, 1], [1, 1, 0]] * 3), [0, 1] * 3, 2, 2),  # duplicates and complements
        (np.array([[0], [1]] * 3), [0, 1] * 3, 2, 2),  # deeper than useful
        (np.array([[0], [0], [1]] * 2), [0, 1, 1] * 2, 2, 1),  # conflicting rows
    ],
)
@pytest.mark.parametrize("penalty", [0.0, 0.01, 0.6])
def test_edge_cases(X, y, classes, depth, penalty):
    problem = make_problem(
        X.astype(np.uint8), np.array(y), classes, depth, {"leaf_penalty": penalty}
    )
    outcome, recorder, _ = run(problem)
    assert outcome.stop_reason == "optimal"
    assert recorder.objective == pytest.approx(optimum(problem), abs=TOLERANCE)
    if penalty == 0.6:
        assert recorder.tree.n_leaves == 1


def test_large_smallest_leaf_forces_a_single_leaf_or_nothing():
    X, y = random_rows(np.random.default_rng(SEED), 10)
    half, recorder, _ = run(make_problem(X, y, 3, 2, None, {"min_samples_leaf": 6}))
    assert half.stop_reason == "optimal"
    assert recorder.tree.n_leaves == 1
    none, recorder, _ = run(make_problem(X, y, 3, 2, None, {"min_samples_leaf": 11}))
    assert none.stop_reason == "infeasible"
    assert recorder.tree is None


def test_identical_labels_are_merged_when_leaves_are_free():
    X, y = random_rows(np.random.default_rng(SEED + 1), 12)
    _, recorder, _ = run(make_problem(X, y, 3, 2, {"leaf_penalty": 0.0}))
    tree: Tree = recorder.tree
    for node in tree.splits:
        pair = [tree.labels.get(2 * node), tree.labels.get(2 * node + 1)]
        assert pair[0] is None or pair[0] != pair[1]
