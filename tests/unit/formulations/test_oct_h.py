"""OCT-H: what counts, what is refused, and that every start is a point of the model."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from octcore.engines.highs import compile_model
from octcore.formulations.base import get_formulation
from octcore.program import ENDLESS, Point
from octcore.tree.tree import Split, Tree
from tests.brute import make_problem, run
from tests.model_point import check_starts

RNG = np.random.default_rng(0)
X = RNG.random((24, 3))
Y = ((X[:, 0] + X[:, 1] > 1).astype(int) + (X[:, 2] > 0.8)).astype(np.int64)


def _problem(params=None, constraints=None, depth=2, X=X, y=Y):
    params = {"start_seconds": 0.2, **(params or {})}
    return make_problem(X, y, 3, depth, params, constraints, formulation="oct-h")


@pytest.mark.sampled(8)
@pytest.mark.parametrize("alpha", [0.0, 0.02])
@pytest.mark.parametrize(
    "constraints", [{}, {"min_samples_leaf": 1}, {"max_splits": 1}, {"forbidden_features": ["f2"]}]
)
def test_starts_are_points_of_the_model(alpha, constraints):
    program = get_formulation("oct-h").build(_problem({"alpha": alpha}, constraints))
    assert check_starts(program) >= 2


def test_objective_counts_errors_and_features():
    tree = Tree({1: Split(((0, 1.0), (1, 1.0)), 1.0)}, {2: 0, 3: 1}, 3, 3)
    program = get_formulation("oct-h").build(_problem({"alpha": 0.1, "epsilon": 1e-4}))
    wrong = (tree.predict_codes(X) != Y).sum()
    majority = len(Y) - np.bincount(Y).max()
    assert program.evaluate(tree) == pytest.approx(wrong / majority + 0.2)


def test_thin_strips_and_small_leaves_are_refused():
    points = np.array([[0.0], [0.001], [0.002], [1.0]])
    y = np.array([0, 1, 1, 0])
    tree = Tree({1: Split.on_feature(0, 0.0005)}, {2: 0, 3: 1}, 1, 3)
    thin = _problem({"epsilon": 0.005}, {"min_samples_leaf": 1}, X=points, y=y)
    assert get_formulation("oct-h").build(thin).evaluate(tree) is None
    fine = _problem({"epsilon": 0.0005}, {"min_samples_leaf": 1}, X=points, y=y)
    assert get_formulation("oct-h").build(fine).evaluate(tree) is not None
    large = _problem({"epsilon": 0.0005}, {"min_samples_leaf": 2}, X=points, y=y)
    assert get_formulation("oct-h").build(large).evaluate(tree) is None


def test_thin_example_has_the_known_optima():
    points, y = np.outer([0.0, 0.001, 0.002, 1.0], [1.0, 1.0]), np.array([0, 1, 1, 0])
    for epsilon, right in ((0.005, 3), (0.0015, 3), (1e-4, 4)):
        problem = _problem(
            {"alpha": 0.0, "epsilon": epsilon}, {"min_samples_leaf": 1}, X=points, y=y
        )
        _, recorder, _ = run(problem, "oct-h", time_limit=30)
        assert recorder.is_closed
        assert recorder.objective == pytest.approx((4 - right) / 2)


def test_identical_rows_of_two_classes_cost_one_error():
    points, y = np.array([[0.3, 0.3], [0.3, 0.3], [0.9, 0.1]]), np.array([0, 1, 1])
    problem = _problem({"alpha": 0.0}, {"min_samples_leaf": 1}, depth=1, X=points, y=y)
    _, recorder, _ = run(problem, "oct-h", time_limit=30)
    assert recorder.objective == pytest.approx(1.0)  # one error of one by the majority rule


def test_shattering_cuts_keep_the_optimum():
    rng = np.random.default_rng(5)
    points, y = rng.random((7, 1)), rng.integers(0, 2, 7)
    values = []
    for switch in (False, True):
        problem = _problem(
            {"alpha": 0.02, "epsilon": 0.02, "shattering_cuts": switch},
            {"min_samples_leaf": 1},
            X=points,
            y=y,
        )
        _, recorder, _ = run(problem, "oct-h", time_limit=40)
        assert recorder.is_closed
        values.append(recorder.objective)
    assert values[0] == pytest.approx(values[1])


def test_polishing_never_worsens_a_tree():
    program = get_formulation("oct-h").build(_problem({"alpha": 0.02}))
    assert program.improve is not None
    for _, tree in program.starts(ENDLESS):
        before = program.evaluate(tree)
        if before is not None:
            after = program.evaluate(program.improve(tree, ENDLESS))
            assert after is not None
            assert after <= before + 1e-9


def test_default_leaf_size_is_a_twentieth_of_the_rows():
    program = get_formulation("oct-h").build(_problem(X=np.tile(X, (5, 1)), y=np.tile(Y, 5)))
    assert "leaves of 6 rows at least" in program.claims


def test_weights_count_as_repeated_rows():
    weights = np.where(Y == 0, 2.0, 1.0)
    problem = _problem({"alpha": 0.02}, {"min_samples_leaf": 1})
    program = get_formulation("oct-h").build(replace(problem, weights=weights))
    leaf = Tree.leaf(1, 3, 3)
    total = 2 * (Y == 0).sum() + (Y == 2).sum()
    shares = np.bincount(Y, weights)
    assert program.evaluate(leaf) == pytest.approx(total / (shares.sum() - shares.max()))


def test_a_plane_without_weights_sends_all_rows_to_the_side_that_its_threshold_says():
    program = get_formulation("oct-h").build(_problem({"epsilon": 0.01}))
    built = program.build(lambda: None)
    columns, model = compile_model(built.model).columns, built.model
    point = np.zeros(columns.n_columns)
    for component, at, value in (
        (model.d, 1, 1.0), (model.b, 1, 0.5),  # 0 + mu <= .5: all rows go left, to a plane
        (model.d, 2, 1.0), (model.a, (2, 0), 1.0), (model.s, (2, 0), 1.0), (model.b, 2, 0.5),
    ):  # fmt: skip
        point[columns.of(component)[list(component.keys()).index(at)]] = value
    tree = built.read_tree(Point(columns, point))
    assert np.unique(tree.predict_codes(X)).size == 2
