"""OCT-H against enumeration, with and without a price on features."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from octcore.formulations.base import get_formulation
from tests.brute import make_problem, run
from tests.oracle.oblique_brute import best_cost, errors, fewest_features

pytestmark = pytest.mark.long

TOLERANCE = 1e-6


def _data(seed):
    rng = np.random.default_rng(seed)
    return rng.random((6, 2)), rng.integers(0, 2 + seed % 2, 6)


@cache
def _reference(seed, depth, alpha, epsilon, least):
    X, y = _data(seed)
    majority = len(y) - np.bincount(y).max() or 1
    count = errors(y)
    return best_cost(
        len(y),
        depth,
        lambda rows: count(rows) / majority if len(rows) >= least else np.inf,
        lambda a, b: alpha * fewest_features(X[list(a)], X[list(b)], epsilon),
    )


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("seed", "depth", "alpha", "least"),
    [(0, 1, 0.05, 1), (1, 2, 0.05, 1), (2, 2, 0.2, 1), (3, 2, 0.0, 1), (4, 2, 0.02, 2)],
)
@pytest.mark.parametrize("starts", [True, False])
def test_optimum_equals_enumeration(seed, depth, alpha, least, starts):
    X, y = _data(seed)
    problem = make_problem(
        X,
        y,
        3,
        depth,
        {"alpha": alpha, "epsilon": 0.05, "start_seconds": 0.1},
        {"min_samples_leaf": least},
        formulation="oct-h",
    )
    _, recorder, _ = run(problem, "oct-h", starts=starts, time_limit=40)
    assert recorder.is_closed
    wanted = _reference(seed, depth, alpha, 0.05, least)
    assert recorder.objective == pytest.approx(wanted, abs=TOLERANCE)
    program = get_formulation("oct-h").build(problem)
    assert recorder.tree is not None
    assert program.evaluate(recorder.tree) == pytest.approx(wanted, abs=TOLERANCE)
