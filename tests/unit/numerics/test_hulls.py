"""Hull distances, widest gaps and soft margins against independent linear programs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from octcore.numerics.hulls import HullDistance, soft_margin_plane, widest_gap


def best_gap(left: np.ndarray, right: np.ndarray) -> float:
    """Widest gap over planes with ``||a||_1 <= 1``, written out directly."""
    p = left.shape[1]
    n_left, n_right = len(left), len(right)
    # columns: plus, minus, low, gap
    rows = np.vstack(
        [
            np.column_stack([left, -left, -np.ones(n_left), np.zeros(n_left)]),
            np.column_stack([-right, right, np.ones(n_right), np.ones(n_right)]),
            np.append(np.ones(2 * p), [0, 0])[None, :],
        ]
    )
    rhs = np.append(np.zeros(n_left + n_right), 1.0)
    bounds = [(0, None)] * (2 * p) + [(None, None), (0, None)]
    cost = np.append(np.zeros(2 * p + 1), -1.0)
    return -linprog(cost, A_ub=rows, b_ub=rhs, bounds=bounds, method="highs").fun


@pytest.mark.parametrize("seed", range(25))
def test_distance_of_hulls_is_the_widest_gap(seed):
    rng = np.random.default_rng(seed)
    p = int(rng.integers(1, 4))
    X = rng.random((8, p)) if seed % 2 else rng.integers(0, 4, (8, p)) / 3
    cut = int(rng.integers(1, 8))
    order = np.argsort(X[:, 0]) if seed % 3 else np.arange(8)
    left, right = X[order[:cut]], X[order[cut:]]
    expected = best_gap(left, right)
    assert HullDistance(left, right).distance == pytest.approx(expected, abs=1e-7)
    found = widest_gap(left, right)
    if expected < 1e-9:
        assert found is None
    else:
        assert found is not None
        assert found.width == pytest.approx(expected, abs=1e-7)
        weights, offset = found.unit_margin
        assert (left @ weights + offset).max() == pytest.approx(-1)
        assert (right @ weights + offset).min() == pytest.approx(1)
        assert 2 / np.abs(weights).sum() == pytest.approx(expected, rel=1e-5)


def test_support_of_a_vertex_has_few_points():
    rng = np.random.default_rng(3)
    for p in (1, 2, 5):
        X = rng.random((40, p))
        hulls = HullDistance(X[:20], X[20:])
        assert hulls.distance == pytest.approx(0, abs=1e-8)
        assert (hulls.multipliers > 1e-9).sum() <= p + 2
        prices = rng.random(40)
        cheapest = hulls.cheapest(prices, 1e-6)
        assert cheapest is not None
        assert (cheapest > 1e-9).sum() <= p + 2
        assert prices @ cheapest <= prices @ hulls.multipliers + 1e-9


def test_soft_margin_separates_what_can_be_and_keeps_the_norm():
    rng = np.random.default_rng(0)
    X = rng.random((40, 2))
    right = X @ [1.0, 0.5] > 0.8
    weights, offset = soft_margin_plane(X, right, np.ones(40), 1e4)
    assert ((X @ weights + offset > 0) == right).all()
    weights, _ = soft_margin_plane(X, rng.random(40) < 0.5, np.ones(40), 5.0)
    assert np.abs(weights).sum() <= 5.0 + 1e-7
