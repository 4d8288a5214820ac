"""Fixing of root features and pairs: bounds equal enumeration, and no optimum is lost."""

from __future__ import annotations

import numpy as np
import pytest

from octcore import kernels
from octcore.engines.base import Outcome
from octcore.formulations.base import get_formulation
from octcore.formulations.shared.root_values import (
    SEARCH_SECONDS,
    SLACK,
    Fixing,
    RootValues,
    find_fixing,
    pair_values,
)
from octcore.formulations.shared.univariate import UnivariateObjective
from octcore.program import Problem
from octcore.search.univariate.warm_up import ALL
from tests.brute import best_objective, every_tree, make_problem, random_rows, run
from tests.enumeration import best_by_leaves

SAME = 1e-9
LATER = 1e12
SIDE = [
    None,
    {"max_leaves": 3},
    {"max_features": 1},
    {"min_samples_leaf": 4},
    {"forbidden_pairs": (("f0", "f1"),)},
    {"root_feature": "f1"},
    {"min_recall": {1: 0.5}},
    {"statistical_parity": {"attribute": "group", "max_gap": 0.1}},
]


@pytest.fixture(scope="module", autouse=True)
def _kernels() -> None:
    """Compile once: the time limits of the tests are for solving."""
    kernels.require(*ALL)


def make(seed: int, depth: int, constraints=None, formulation="accelerated-bend-oct", **params):
    rng = np.random.default_rng(seed)
    classes = 2 + seed % 2 if constraints is None else 2
    X, y = random_rows(rng, int(rng.integers(10, 20)), 3 + seed % 2, classes)
    given = {"leaf_penalty": float(rng.choice([0.0, 0.01, 0.04])), **params}
    # A recall floor counts rows of weight zero, which a model may leave out.
    light = 0.25 if constraints is not None and "min_recall" in constraints else 0.0
    weights = rng.choice([light, 0.5, 1.0, 2.0], len(y)) if seed % 3 == 2 else None
    group = {"group": rng.integers(0, 2, len(y))}
    return make_problem(X, y, classes, depth, given, constraints, weights, group, None, formulation)


def found(problem: Problem, known: float) -> Fixing:
    objective = UnivariateObjective(problem)
    values = RootValues(problem, objective, lambda: None)
    columns = range(problem.n_features)
    return find_fixing(problem, objective, values.values, known, columns, lambda: None)


def enumerated(problem: Problem, rows: np.ndarray, depth: int) -> float:
    """Best count value on some rows, one tree after another."""
    objective = UnivariateObjective(problem)
    if not rows.any():
        return -objective.penalty
    best = best_by_leaves(
        problem.X[rows], problem.y[rows], problem.n_classes, depth, problem.weights[rows]
    )
    return max(hits - objective.penalty * leaves for leaves, (hits, _) in best.items())


@pytest.mark.parametrize("depth", [2, 3])
@pytest.mark.parametrize("seed", range(9))
def test_pair_values_equal_enumeration(seed: int, depth: int):
    problem = make(seed, depth)
    objective = UnivariateObjective(problem)
    for f in range(problem.n_features):
        both = pair_values(problem, objective, f, lambda: None, LATER)
        for side, values in enumerate(both):
            here = problem.X[:, f] == side
            other = enumerated(problem, ~here, depth - 1)
            for g in range(problem.n_features):
                split = problem.X[:, g] == 1
                total = problem.weights[here].sum()
                if total > 0 and not ((here & split).any() and (here & ~split).any()):
                    assert values[g] == -np.inf, (f, side, g)
                    continue
                below = [enumerated(problem, here & part, depth - 2) for part in (~split, split)]
                best = objective.from_count(sum(below) + other)
                assert values[g] == pytest.approx(best, abs=SAME), (f, side, g)


def breaks(fixing: Fixing, tree) -> bool:
    root = tree.splits.get(1)
    if root is None:
        return False
    (f,) = root.features
    for side in (0, 1):
        child = tree.splits.get(2 + side)
        below = set() if child is None else set(child.features)
        if below & fixing.children[side] or below & fixing.pairs.get((f, side), frozenset()):
            return True
    return f in fixing.roots


@pytest.mark.parametrize("constraints", SIDE, ids=str)
def test_only_worse_trees_are_excluded(constraints):
    excluded = pairs = 0
    for seed in (20, 22, 24):
        problem = make(seed, 2, constraints, pair_fixing=True)
        objective = UnivariateObjective(problem)
        values = [(tree, objective.evaluate(tree)) for tree in every_tree(problem)]
        best = max((value for _, value in values if value is not None), default=-np.inf)
        fixing = found(problem, best)
        pairs += fixing.record["pairs"]
        for tree, value in values:
            if breaks(fixing, tree):
                excluded += 1
                is_idle = len(np.unique(tree.apply(problem.X))) < tree.n_leaves
                assert is_idle or value is None or value < best - SLACK / 2
    assert excluded
    assert pairs


def pair_count(outcome: Outcome) -> int:
    fixing = outcome.values["fixing"]
    assert isinstance(fixing, dict)
    return fixing["pairs"]


@pytest.mark.parametrize("formulation", ["accelerated-bend-oct", "flow-oct"])
@pytest.mark.parametrize("constraints", SIDE, ids=str)
def test_the_optimum_survives_in_the_model(constraints, formulation: str):
    engine = "highs" if formulation == "flow-oct" else "branch-and-cut"
    fixed = 0
    for seed in (30, 31, 32):
        problem = make(seed, 2, constraints, formulation, pair_fixing=True)
        best = best_objective(problem, get_formulation(formulation).build(problem).evaluate)
        outcome, recorder, _ = run(problem, formulation, engine, starts=False)
        if best is None:
            assert outcome.stop_reason == "infeasible"
            continue
        assert outcome.stop_reason == "optimal"
        assert recorder.objective == pytest.approx(best, abs=SAME)
        assert outcome.method == "mip+path-search"
        fixed += pair_count(outcome)
    assert fixed


def test_depth_three_keeps_the_optimum():
    fixed = 0
    for seed in range(40, 44):
        problem = make(seed, 3, pair_fixing=True)
        outcome, recorder, _ = run(problem, "accelerated-bend-oct", "branch-and-cut", starts=False)
        objective = UnivariateObjective(problem)
        best = objective.from_count(enumerated(problem, np.ones(len(problem.y), bool), 3))
        assert recorder.objective == pytest.approx(best, abs=SAME)
        fixed += pair_count(outcome)
    assert fixed


def test_nothing_is_known_without_time_or_depth():
    problem = make(1, 2, pair_fixing=True)
    objective = UnivariateObjective(problem)
    late = pair_values(problem, objective, 0, lambda: None, end=-LATER)
    exact = pair_values(problem, objective, 0, lambda: None, end=LATER)
    for early, full in zip(late, exact, strict=True):
        assert (early >= full - SAME).all()
    shallow = make(1, 1, pair_fixing=True)
    assert found(shallow, known=2.0).record["pairs"] == 0
    assert SEARCH_SECONDS < 60
