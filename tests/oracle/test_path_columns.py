"""The column program against enumeration, against FlowOCT, and where its columns come from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import octcore
from octcore.data.dataset import Dataset
from octcore.errors import SettingsError
from octcore.formulations.base import get_formulation
from octcore.formulations.path_columns.search import ColumnsProblem, ColumnsSearch, _optimum
from octcore.formulations.shared.univariate import UnivariateObjective
from octcore.program import ENDLESS
from octcore.search.univariate.columns import pair_scores, whole_leaf
from tests.brute import best_objective, make_problem, random_rows, run
from tests.oracle.side_constraint_cases import (
    CONSTRAINTS,
    TOLERANCE,
    check_against_enumeration,
    constrained_problem,
    optimum,
    staged,
)
from tests.stages import later

pytestmark = pytest.mark.long

SEED = 5150


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", staged(CONSTRAINTS))
def test_side_constraints_equal_enumeration_and_bind(name):
    binding = 0
    for seed in range(SEED, SEED + 3):
        regulariser = {"split_weight": 0.05} if seed % 2 else {"leaf_penalty": 0.02}
        problem = constrained_problem(name, seed, "path-columns", **regulariser)
        best = check_against_enumeration(problem, "path-columns")
        binding += best is not None and best < optimum(problem) - TOLERANCE
    assert binding, "the constraint should matter in one case at least"


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "name", ["max_features", "min_recall", "several", *later("statistical_parity")]
)
def test_depth_three_equals_flow_oct(name):
    rng = np.random.default_rng(SEED)
    X, y = random_rows(rng, 14, 4, 2)
    attributes = {"g": rng.integers(0, 2, len(y)), "s": np.zeros(len(y), dtype=int)}
    found = []
    for key in ("path-columns", "flow-oct"):
        problem = make_problem(
            X, y, 2, 3, {"leaf_penalty": 0.02}, CONSTRAINTS[name],
            attributes=attributes, formulation=key,
        )  # fmt: skip
        outcome, recorder, _ = run(problem, key)
        assert outcome.stop_reason == "optimal"
        found.append(recorder.objective)
    assert found[0] == pytest.approx(found[1], abs=TOLERANCE)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", range(6))
def test_weights_classes_and_no_starts(case):
    rng = np.random.default_rng(SEED + case)
    X, y = random_rows(rng, 15, 4, 3)
    weights = rng.random(len(y)) if case % 2 else np.array([1.0, 2.5, 0.0])[y]
    constraints = [{"max_features": 2}, {"min_recall": {2: 0.5}}, {"min_samples_leaf": 3}][case % 3]
    problem = make_problem(
        X, y, 3, 2, {"leaf_penalty": 0.02}, constraints, weights, formulation="path-columns"
    )
    best = best_objective(problem, get_formulation("path-columns").build(problem).evaluate)
    outcome, recorder, _ = run(problem, "path-columns", starts=False)
    assert outcome.stop_reason == "optimal"
    assert recorder.objective == pytest.approx(best, abs=TOLERANCE)


def test_prices_bound_every_feasible_tree_by_its_root():
    for seed in range(SEED, SEED + 5):
        problem = constrained_problem("statistical_parity", seed, "path-columns")
        objective = UnivariateObjective(problem)
        search = ColumnsSearch(ColumnsProblem(problem, objective))
        list(search.trees(ENDLESS))
        assert search.best is not None
        assert objective.evaluate(search.best) is not None
        best = best_objective(problem, objective.evaluate)
        assert objective.from_count(search.bound) >= best - TOLERANCE


@pytest.mark.parametrize("name", ["statistical_parity", "min_recall"])
def test_the_bound_under_prices_is_that_of_the_best_root_or_leaf(name):
    problem = replace(constrained_problem(name, SEED, "path-columns"), depth=3)
    space = ColumnsProblem(problem, UnivariateObjective(problem)).space
    prices = np.linspace(0.5, 2.0, len(space.rhs))
    constant = float(prices @ space.rhs)
    assert constant
    value, _, by_root = _optimum(space, prices, np.arange(len(space.groups)))
    leaf = whole_leaf(space, space.payoff(prices)) - constant
    assert value == pytest.approx(max(leaf, by_root.max()))


def test_pair_scores_are_those_of_the_best_trees():
    rng = np.random.default_rng(SEED)
    X, y = random_rows(rng, 20, 4, 3)
    problem = make_problem(X, y, 3, 2, {"leaf_penalty": 0.03}, formulation="path-columns")
    objective = UnivariateObjective(problem)
    space = ColumnsProblem(problem, objective).space
    scores = pair_scores(space, space.whole, space.payoff(np.zeros(0)), None)
    assert objective.from_count(scores.best) == pytest.approx(optimum(problem), abs=TOLERANCE)


def test_price_is_the_difference_of_two_proven_optima():
    data = octcore.load_sample("4-partitions")
    free = octcore.solve(data, "path-search", depth=2, params={"leaf_penalty": 0.01})
    bound = octcore.solve(
        data, "path-columns", depth=2, params={"leaf_penalty": 0.01},
        constraints={"max_features": 1},
    )  # fmt: skip
    assert free.is_optimal
    assert bound.is_optimal
    assert bound.certificate.method == "mip+path-search"
    assert bound.extras["unconstrained_objective"] == pytest.approx(free.objective, abs=TOLERANCE)
    assert bound.extras["price"] == pytest.approx(free.objective - bound.objective, abs=TOLERANCE)
    assert any("cost" in sentence for sentence in bound.certificate.statements)


def test_a_tree_with_limits_is_no_better_than_the_best_without():
    X = np.array([[1, 0, 1, 1], [1, 1, 0, 0], [0, 0, 1, 0]], float)
    run = octcore.solve(
        Dataset.from_arrays(X, [0, 1, 1]), "path-columns", "none", 2, {"leaf_penalty": 0.0},
        constraints={"max_leaves": 4}, sample_weight=[1e9, 1e-9, 1.0],
    )  # fmt: skip
    assert (run.status, run.objective, run.extras["price"]) == ("optimal", 1.0, 0.0)
    assert run.certificate.verified


def test_deeper_trees_are_refused_in_words():
    data = octcore.load_sample("4-partitions")
    with pytest.raises(SettingsError, match="up to depth 3"):
        octcore.solve(data, "path-columns", depth=4)


def test_unconstrained_start_is_one_of_the_columns():
    X, y = random_rows(np.random.default_rng(SEED), 30, 5, 2)
    problem = make_problem(X, y, 2, 3, {"leaf_penalty": 0.02}, formulation="path-columns")
    outcome, recorder, _ = run(problem, "path-columns")
    free = ColumnsSearch(ColumnsProblem(problem, UnivariateObjective(problem))).unconstrained
    assert outcome.stop_reason == "optimal"
    assert recorder.objective == pytest.approx(free.objective, abs=TOLERANCE)
    assert free.tree is not None
    assert UnivariateObjective(problem).of(free.tree) == pytest.approx(
        free.objective, abs=TOLERANCE
    )


def test_constraints_that_cost_nothing_are_said_to_cost_nothing() -> None:
    """The optimum keeps them; rounding was told as a price of 1.11022e-16."""
    data, one = octcore.load_sample("iris"), {"max_features": 1}
    found = octcore.solve(data, "path-columns", encoding="QT-3", constraints=one)
    assert found.extras["price"] == 0.0
    assert "so they cost 0;" in " ".join(found.certificate.sentences)


def test_rows_are_priced_whatever_their_weight() -> None:
    rng = np.random.default_rng(3)
    data = Dataset.from_arrays(rng.integers(0, 2, (40, 5)).astype(float), rng.integers(0, 2, 40))
    floors = {"min_recall": {0: 0.9, 1: 0.5}}
    for weight in (1.0, 1e21):  # solvers take what is beyond 1e20 for infinite
        weights = np.full(40, weight)
        found = octcore.solve(
            data, "path-columns", depth=2, constraints=floors, sample_weight=weights, verify=False
        )
        assert found.tree is None
        assert found.bound is None or found.bound < 0.7
