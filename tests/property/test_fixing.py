"""Fixing of root features: only worse trees are excluded, and no optimum is lost."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from octcore.engines.base import Outcome
from octcore.formulations.base import get_formulation
from octcore.formulations.shared.root_values import SLACK, RootValues
from octcore.formulations.shared.univariate import UnivariateObjective
from octcore.program import Problem
from tests.brute import best_objective, every_tree, make_problem, random_rows, run
from tests.enumeration import best_by_leaves

pytestmark = pytest.mark.usefixtures("compiled_kernels")

SAME = 1e-9
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


def enumerated(problem: Problem, rows: np.ndarray, depth: int) -> float:
    """Best count value on some rows, one tree after another."""
    objective = UnivariateObjective(problem)
    if not rows.any():
        return -objective.penalty
    best = best_by_leaves(
        problem.X[rows], problem.y[rows], problem.n_classes, depth, problem.weights[rows]
    )
    return max(hits - objective.penalty * leaves for leaves, (hits, _) in best.items())


class Bounds:
    """Upper bounds of variables, as a model of Pyomo has them."""

    def __init__(self) -> None:
        self.zero: set[tuple[int, int]] = set()

    def __getitem__(self, at: tuple[int, int]) -> SimpleNamespace:
        return SimpleNamespace(setub=lambda bound: self.zero.add(at))


@pytest.mark.parametrize(
    ("constraints", "is_exact"),
    [(None, True), ({"min_samples_leaf": 2}, True), ({"max_leaves": 2}, False)],
    ids=str,
)
def test_only_what_keeps_every_constraint_is_called_exact(constraints, is_exact: bool):
    problem = make(20, 2, constraints, search_start=True)
    record = RootValues(problem, UnivariateObjective(problem), lambda: None).record
    assert any(record["root_values_exact"]) == is_exact


@pytest.mark.sampled(3)
@pytest.mark.parametrize("constraints", SIDE, ids=str)
def test_only_worse_trees_are_excluded(constraints):
    excluded = 0
    for seed in (20, 22, 24):
        problem = make(seed, 2, constraints, feature_fixing=True)
        objective = UnivariateObjective(problem)
        values = [(tree, objective.evaluate(tree)) for tree in every_tree(problem)]
        best, tree = max(
            ((v, k) for k, (_, v) in enumerate(values) if v is not None), default=(0, 0)
        )
        found, b = RootValues(problem, objective, lambda: None), Bounds()
        found.fix(b, range(problem.n_features), [values[tree][0]])
        assert b.zero == {(1, f) for f in found.excluded or ()}
        for tree, value in values:
            if 1 in tree.splits and (1, *tree.splits[1].features) in b.zero:
                excluded += 1
                is_idle = len(np.unique(tree.apply(problem.X))) < tree.n_leaves
                assert is_idle or value is None or value < best - SLACK / 2
    assert excluded


def excluded_roots(outcome: Outcome) -> int:
    fixing = outcome.values["fixing"]
    assert isinstance(fixing, dict)
    return fixing["root_features"]


@pytest.mark.sampled(10)
@pytest.mark.parametrize("formulation", ["accelerated-bend-oct", "flow-oct"])
@pytest.mark.parametrize("constraints", SIDE, ids=str)
def test_the_optimum_survives_in_the_model(constraints, formulation: str):
    engine = "highs" if formulation == "flow-oct" else "branch-and-cut"
    fixed = 0
    for seed in (30, 31, 32):
        problem = make(seed, 2, constraints, formulation, feature_fixing=True)
        best = best_objective(problem, get_formulation(formulation).build(problem).evaluate)
        outcome, recorder, _ = run(problem, formulation, engine, starts=False)
        if best is None:
            assert outcome.stop_reason == "infeasible"
            continue
        assert outcome.stop_reason == "optimal"
        assert recorder.objective == pytest.approx(best, abs=SAME)
        assert outcome.method == "mip+path-search"
        fixed += excluded_roots(outcome)
    assert fixed


def test_depth_three_keeps_the_optimum():
    fixed = 0
    for seed in range(40, 44):
        problem = make(seed, 3, feature_fixing=True)
        outcome, recorder, _ = run(problem, "accelerated-bend-oct", "branch-and-cut", starts=False)
        objective = UnivariateObjective(problem)
        best = objective.from_count(enumerated(problem, np.ones(len(problem.y), bool), 3))
        assert recorder.objective == pytest.approx(best, abs=SAME)
        fixed += excluded_roots(outcome)
    assert fixed
