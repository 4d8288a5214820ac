"""BendOCT and its accelerated form against enumeration: every switch, every side constraint."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import product

import numpy as np
import pytest

from octcore.engines.base import Attempt, StopReason
from octcore.engines.branch_and_cut.search import branch_and_cut
from octcore.engines.events import Clock, Recorder
from octcore.errors import SettingsError
from octcore.formulations.base import get_formulation
from octcore.formulations.shared.univariate import UnivariateObjective
from octcore.tree.constraints import violations
from tests.brute import best_objective, every_tree, make_problem, random_rows, run
from tests.enumeration import best_by_leaves
from tests.stages import later

pytestmark = [pytest.mark.long, pytest.mark.usefixtures("compiled_kernels")]

SAME = 1e-9


PLAIN, FAST = "bend-oct", "accelerated-bend-oct"
NOTHING = {"solution_polishing": False, "eqp": "off", "path_bound_cuts": False}
EQP = [
    {**NOTHING, "eqp": form, "eqp_disaggregated": split, "eqp_group_selection": choose}
    for form, split, choose in product(
        ("basic", "chain", "recursive"), (True, False), (True, False)
    )
]
PATHS = [
    {**NOTHING, "path_bound_cuts": True, "bound_negative_samples": a, "bound_structure": b}
    for a, b in product(("on", "off"), ("on", "off"))
]
OTHERS = [
    {},
    NOTHING,
    {**NOTHING, "solution_polishing": True},
    {**NOTHING, "strengthened_cuts": True},
    {"strengthened_cuts": True, "eqp_split_size": 3},
    {"eqp_split_size": 0},
    {"probing": False},
    {"value_row": True},
    {"search_start": True},
    {"feature_fixing": True},
    {"value_row": True, "search_start": True, "feature_fixing": True},
]


def tiny(seed: int):
    rng = np.random.default_rng(seed)
    classes = int(rng.integers(2, 4))
    X, y = random_rows(rng, int(rng.integers(6, 17)), int(rng.integers(1, 5)), classes)
    return X, y, classes, int(rng.integers(1, 3)), float(rng.choice([0.0, 0.01, 0.05, 0.15]))


def optimum(X, y, classes, depth, penalty):
    found = best_by_leaves(X, y, classes, depth)
    return max(value / len(y) - penalty * leaves for leaves, (value, _) in found.items())


def check_optimal(outcome, recorder, best):
    assert outcome.stop_reason is StopReason.OPTIMAL
    assert recorder.objective == pytest.approx(best, abs=SAME)
    assert recorder.best_bound == pytest.approx(best, abs=SAME)


@pytest.mark.parametrize("seed", [*range(20), *later(*range(20, 50))])
def test_plain_form_equals_enumeration(seed):
    X, y, classes, depth, penalty = tiny(seed)
    problem = make_problem(X, y, classes, depth, {"leaf_penalty": penalty}, formulation=PLAIN)
    outcome, recorder, _ = run(problem, PLAIN, "branch-and-cut", starts=seed % 2 == 0)
    check_optimal(outcome, recorder, optimum(X, y, classes, depth, penalty))


@pytest.mark.parametrize("switches", [*EQP, *PATHS, *OTHERS], ids=str)
def test_every_switch_equals_enumeration(switches):
    for seed in range(100, 106):
        X, y, classes, depth, penalty = tiny(seed)
        params = {"leaf_penalty": penalty, **switches}
        problem = make_problem(X, y, classes, depth, params, formulation=FAST)
        outcome, recorder, _ = run(problem, FAST, "branch-and-cut", starts=seed % 2 == 0)
        check_optimal(outcome, recorder, optimum(X, y, classes, depth, penalty))


@pytest.mark.parametrize("seed", [*range(4), *later(*range(4, 12))])
@pytest.mark.parametrize("value_row", [False, True])
def test_depth_three_equals_enumeration(seed, value_row):
    rng = np.random.default_rng(300 + seed)
    X, y = random_rows(rng, 24, 4, 2 + seed % 2)
    penalty = (0.0, 0.01, 0.04)[seed % 3]
    params = {"leaf_penalty": penalty, "value_row": value_row}
    problem = make_problem(X, y, 2 + seed % 2, 3, params, formulation=FAST)
    outcome, recorder, _ = run(problem, FAST, "branch-and-cut", starts=False)
    check_optimal(outcome, recorder, optimum(X, y, 2 + seed % 2, 3, penalty))


@pytest.mark.parametrize("formulation", [PLAIN, FAST])
def test_weights_and_split_weight(formulation):
    rng = np.random.default_rng(8)
    for params in ({"split_weight": 0.3}, {"leaf_penalty": 0.03}):
        X, y = random_rows(rng, 14, 3, 2)
        weights = rng.choice([0.0, 0.5, 1.0, 2.5], 14)
        problem = make_problem(X, y, 2, 2, params, weights=weights, formulation=formulation)
        best = best_objective(problem, UnivariateObjective(problem).evaluate)
        outcome, recorder, _ = run(problem, formulation, "branch-and-cut")
        check_optimal(outcome, recorder, best)


ATTRIBUTE = {"attribute": "group", "max_gap": 0.1}
MAY_BE_IDLE = {"feature_once_per_path", "conditional_parity"}
SIDE = [
    {"max_leaves": 2},
    {"max_leaves": 3},
    {"max_splits": 1},
    {"min_samples_leaf": 4},
    {"max_features": 1},
    {"max_features": 2, "max_leaves": 3},
    {"forbidden_features": ("f0",)},
    {"forbidden_pairs": (("f0", "f1"), ("f1", "f2"))},
    {"root_feature": "f2"},
    {"feature_once_per_path": True},
    {"min_recall": {1: 0.95}},
    {"statistical_parity": ATTRIBUTE},
    {"equal_opportunity": ATTRIBUTE},
    {"predictive_equality": ATTRIBUTE},
    {"equalized_odds": ATTRIBUTE},
    {"conditional_parity": {**ATTRIBUTE, "given": "level"}},
    {"statistical_parity": ATTRIBUTE, "min_samples_leaf": 3, "root_feature": "f1"},
]


def side_problem(constraints, penalty, formulation):
    """Rows that need two features and four leaves, so that most constraints bind."""
    rng = np.random.default_rng(17 if penalty else 18)
    X = rng.integers(0, 2, (20, 3)).astype(np.uint8)
    y = ((X[:, 0] ^ X[:, 1]) ^ (rng.random(20) < 0.15)).astype(np.int64)
    attributes = {"group": rng.integers(0, 2, 20), "level": rng.integers(0, 2, 20)}
    params = {"leaf_penalty": penalty}
    return make_problem(
        X, y, 2, 2, params, constraints, attributes=attributes, formulation=formulation
    )


@cache
def enumerated(penalty):
    """All trees with their objectives, without side constraints."""
    problem = side_problem(None, penalty, PLAIN)
    return [(UnivariateObjective(problem).of(tree), tree) for tree in every_tree(problem)]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("constraints", SIDE, ids=str)
def test_side_constraints_equal_enumeration(constraints):
    binding = 0
    for penalty in (0.0, 0.02):
        unlimited = max(value for value, _ in enumerated(penalty))
        problem = side_problem(constraints, penalty, PLAIN)
        allowed = (
            value
            for value, tree in sorted(enumerated(penalty), key=lambda pair: -pair[0])
            if not violations(problem.constraints, tree, problem.context)
        )
        best = next(allowed, None)
        binding += best is not None and best < unlimited - 1e-6
        for formulation in (PLAIN, FAST):
            problem = side_problem(constraints, penalty, formulation)
            outcome, recorder, _ = run(problem, formulation, "branch-and-cut", starts=penalty > 0)
            if best is None:
                assert outcome.stop_reason is StopReason.INFEASIBLE
            else:
                check_optimal(outcome, recorder, best)
    assert binding or MAY_BE_IDLE & set(constraints), "the constraint changes nothing"


def test_features_of_one_raw_column_count_once():
    """Columns 0 and 1 come from one raw feature; a budget of one lets a tree use both."""
    rng = np.random.default_rng(2)
    X, y = random_rows(rng, 16, 4, 2)
    X[:, 1] = X[:, 0]  # equal columns of two raw features must both stay usable
    groups = np.array([0, 1, 1, 2])
    for constraints in (
        {"max_features": 1},
        {"root_feature": "f1"},
        {"feature_once_per_path": True},
    ):
        problem = make_problem(
            X, y, 2, 2, {"leaf_penalty": 0.01}, constraints, groups=groups, formulation=FAST
        )
        best = best_objective(problem, UnivariateObjective(problem).evaluate)
        outcome, recorder, _ = run(problem, FAST, "branch-and-cut")
        check_optimal(outcome, recorder, best)


@pytest.mark.parametrize("formulation", [PLAIN, FAST])
def test_impossible_constraints_are_proven_impossible(formulation):
    X, y = random_rows(np.random.default_rng(1), 10, 3, 2)
    for constraints in ({"min_samples_leaf": 11}, {"root_feature": "f0", "max_leaves": 1}):
        problem = make_problem(X, y, 2, 2, {}, constraints, formulation=formulation)
        outcome, recorder, _ = run(problem, formulation, "branch-and-cut")
        assert outcome.stop_reason is StopReason.INFEASIBLE
        assert recorder.tree is None


@pytest.mark.parametrize(
    "params",
    [{"bound_structure": "on"}, {"bound_negative_samples": "on"}],
    ids=str,
)
@pytest.mark.parametrize(
    "constraints",
    [{"max_leaves": 3}, {"min_samples_leaf": 2}, {"max_features": 2}, {"root_feature": "f0"}],
    ids=str,
)
def test_cuts_that_would_be_invalid_are_refused(params, constraints):
    X, y = random_rows(np.random.default_rng(1), 10, 3, 2)
    problem = make_problem(X, y, 2, 2, params, constraints, formulation=FAST)
    with pytest.raises(SettingsError, match="side constraints") as caught:
        get_formulation(FAST).build(problem)
    assert caught.value.setting in params


def test_forms_without_path_bound_cuts_are_refused():
    X, y = random_rows(np.random.default_rng(1), 10, 3, 2)
    params = {"bound_structure": "on", "path_bound_cuts": False}
    with pytest.raises(SettingsError, match="path_bound_cuts is off"):
        get_formulation(FAST).build(make_problem(X, y, 2, 2, params, formulation=FAST))


@pytest.mark.parametrize("formulation", [PLAIN, FAST])
def test_odd_data(formulation):
    cases = [
        (np.zeros((5, 2), np.uint8), np.array([0, 1, 1, 0, 1]), 2),  # constant columns
        (np.zeros((4, 0), np.uint8), np.array([0, 1, 1, 1]), 2),  # no columns
        (np.array([[0], [1]], np.uint8), np.array([0, 0]), 2),  # one class present
        (np.array([[1]], np.uint8), np.array([1]), 3),  # one row
        (np.array([[0, 1], [1, 0], [0, 1], [1, 0]], np.uint8), np.array([0, 1, 0, 2]), 5),
    ]
    for X, y, classes in cases:
        for depth in (1, 3):
            problem = make_problem(
                X, y, classes, depth, {"leaf_penalty": 0.01}, formulation=formulation
            )
            outcome, recorder, _ = run(problem, formulation, "branch-and-cut", starts=False)
            check_optimal(outcome, recorder, optimum(X, y, classes, depth, 0.01))


@pytest.mark.parametrize(("seed", "penalty"), [(309, 0.002), (304, 0.01), (305, 0.02)])
def test_probing_cuts_off_no_better_tree(seed, penalty):
    """Without first trees, rounding and polishing, the optimum must come out of the search."""
    X, y = random_rows(np.random.default_rng(seed), 22, 6, 2)
    params = {"leaf_penalty": penalty, "solution_polishing": False}
    problem = make_problem(X, y, 2, 4, params, formulation=FAST)
    program = get_formulation(FAST).build(problem)
    assert program.build is not None
    build = program.build
    program = replace(program, build=lambda guard: replace(build(guard), rounding=None))
    clock, events = Clock(600.0), []
    recorder = Recorder(program.sense, clock, events.append, program.granularity)
    outcome = branch_and_cut(Attempt(program, recorder, lambda: False))
    check_optimal(outcome, recorder, optimum(X, y, 2, 4, penalty))


def test_method_of_the_certificate():
    X, y = random_rows(np.random.default_rng(1), 10, 3, 2)
    for params, method in (
        ({}, "mip"),
        ({"search_start": True}, "mip"),
        ({"value_row": True}, "mip+path-search"),
        ({"feature_fixing": True}, "mip+path-search"),
    ):
        outcome, _, _ = run(
            make_problem(X, y, 2, 2, params, formulation=FAST), FAST, "branch-and-cut"
        )
        assert outcome.method == method
