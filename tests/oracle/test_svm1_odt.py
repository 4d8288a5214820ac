"""SVM1-ODT against enumeration: both label forms, cuts, subsets of values, strict mode."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tests.brute import make_problem, run
from tests.oracle.oblique_brute import best_cost, errors, margin_cost

pytestmark = pytest.mark.long

PARAMS = {"alpha1": 1000.0, "alpha2": 0.1, "epsilon": 0.02, "start_seconds": 0.1}
DISTANCE = 1e-4


def _plane_cost(X):
    def cost(left, right):
        others = np.setdiff1d(np.arange(len(X)), left + right)
        return margin_cost(X[list(left)], X[list(right)], X[others], 1000.0, 0.1, 0.02, DISTANCE)

    return cost


@pytest.mark.sampled(4)
@pytest.mark.parametrize("labels", ["binary", "published"])
@pytest.mark.parametrize("cuts", [True, False])
@pytest.mark.parametrize(
    ("seed", "depth", "classes"),
    [(0, 1, 3), (1, 2, 2), pytest.param(2, 2, 3, marks=pytest.mark.long), (3, 1, 4)],
)
def test_optimum_equals_enumeration(seed, depth, classes, labels, cuts):
    rng = np.random.default_rng(seed)
    X = rng.random((6, 2))
    y = np.append(np.arange(classes), rng.integers(0, classes, 6 - classes))
    problem = make_problem(
        X, y, classes, depth, {**PARAMS, "labels": labels, "cuts": cuts}, formulation="svm1-odt"
    )
    _, recorder, _ = run(problem, "svm1-odt", time_limit=40)
    wanted = best_cost(len(y), depth, errors(y), _plane_cost(X))
    assert recorder.objective == pytest.approx(wanted, abs=1e-5)
    assert recorder.best_bound == pytest.approx(wanted, abs=1e-4)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(4))
def test_subsets_of_values_equal_enumeration(seed):
    rng = np.random.default_rng(seed)
    codes, numeric = rng.integers(0, 3, 7), rng.random((7, 1))
    y = (codes == 1).astype(int) if seed % 2 else rng.integers(0, 2, 7)
    X = np.column_stack([numeric, np.eye(3)[codes]])
    problem = make_problem(
        X, y, 2, 1, PARAMS, groups=np.array([0, 1, 1, 1]), formulation="svm1-odt"
    )
    problem = replace(problem, categorical=((1, 2, 3),))
    plane = _plane_cost(numeric)

    def cost(left, right):
        divided = set(codes[list(left)]) & set(codes[list(right)])
        return plane(left, right) if divided else 0.0

    _, recorder, _ = run(problem, "svm1-odt", time_limit=40)
    wanted = best_cost(len(y), 1, errors(y), cost)
    assert recorder.objective == pytest.approx(wanted, abs=1e-5)
    assert recorder.best_bound == pytest.approx(wanted, abs=1e-4)
