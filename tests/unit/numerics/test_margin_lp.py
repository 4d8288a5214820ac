"""Programs of one node of SVM1-ODT against scipy's solver of the program as it is written."""

import numpy as np
import pytest
from scipy.optimize import linprog

from octcore.numerics import margin_lp
from octcore.numerics.margin_lp import (
    WEIGHT_BOX,
    MarginPrices,
    clear_plane,
    margin_plane,
    soft_planes,
)


def value_by_scipy(X, right, costs, distance, others, prices):
    """Least cost of margins and norm; None where no plane keeps every row on its side."""
    n, p = X.shape
    sign = np.where(right, -1.0, 1.0)
    score = np.column_stack([-X, X, np.ones(n)]) * sign[:, None]
    rows, least = [np.column_stack([score, np.eye(n)])], [np.full(n, prices.margin)]
    if distance is not None:
        rows.append(np.column_stack([score, np.zeros((n, n))]))
        least.append(distance)
    every = np.vstack([X, others])
    for direction in (1.0, -1.0):
        box = np.column_stack([every, -every, -np.ones(len(every))]) * direction
        rows.append(np.column_stack([box, np.zeros((len(every), n))]))
        least.append(np.full(len(every), -prices.big_m))
    found = linprog(
        np.concatenate([np.full(2 * p, prices.norm), [0.0], costs]),
        A_ub=-np.vstack(rows),
        b_ub=-np.concatenate(least),
        bounds=[(0, WEIGHT_BOX)] * (2 * p) + [(None, None)] + [(0, None)] * n,
    )
    return found.fun if found.status == 0 else None


def value_of(plane, X, right, costs, prices):
    h, g = plane
    score = np.where(right, -1.0, 1.0) * (g - X @ h)
    missing = np.maximum(0.0, prices.margin - score)
    return prices.norm * np.abs(h).sum() + costs @ missing


def case(seed, separable):
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(4, 40)), int(rng.integers(1, 5))
    X, others = rng.random((n, p)), 3 * rng.random((5, p)) - 1
    score = (X - 0.5) @ rng.normal(size=p) + (0 if separable else 0.2 * rng.normal(size=n))
    prices = MarginPrices(
        float(rng.choice([1.0, 100.0])),
        float(rng.choice([1e-3, 0.1, 3.0])),
        float(rng.choice([0.01, 0.1, 0.3])),
        1e-4,
        1.0,
    )
    return X, score > np.median(score), rng.integers(1, 4, n).astype(np.float64), others, prices


@pytest.fixture(params=["all rows", "few rows first"])
def first_rows(request, monkeypatch):
    if request.param == "few rows first":
        monkeypatch.setattr(margin_lp, "FIRST_ROWS", 3)


@pytest.mark.usefixtures("first_rows")
@pytest.mark.parametrize("seed", range(12))
def test_exact_planes_cost_what_the_program_as_written_costs(seed):
    X, right, weights, others, prices = case(seed, separable=seed % 3 > 0)
    order = np.argsort(right, kind="stable")
    X, right, weights = X[order], right[order], weights[order]
    distance = np.where(right, prices.right, 0.0)
    costs = prices.missing * weights
    expected = value_by_scipy(X, right, costs, distance, others, prices)
    plane = margin_plane(X[~right], X[right], (weights[~right], weights[right]), others, prices)
    assert (plane is None) == (expected is None)
    if plane is not None:
        assert value_of(plane, X, right, costs, prices) == pytest.approx(expected, rel=1e-6)
        assert (np.abs(plane[1] - np.vstack([X, others]) @ plane[0]) < prices.big_m + 1e-7).all()
        assert (np.where(right, -1, 1) * (plane[1] - X @ plane[0]) > distance - 1e-7).all()


@pytest.mark.usefixtures("first_rows")
@pytest.mark.parametrize("seed", range(8))
def test_soft_planes_of_growing_costs_are_each_the_best(seed):
    X, right, weights, _, prices = case(seed, separable=False)
    factors = (0.03, 1.0, 30.0)
    for factor, plane in zip(factors, soft_planes(X, right, weights, factors, prices), strict=True):
        costs = factor * weights
        expected = value_by_scipy(X, right, costs, None, X[:0], prices)
        assert plane is not None
        assert expected is not None
        found = value_of(plane, X, right, costs, prices)
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_a_plane_moves_to_the_nearest_gap_that_is_wide_enough():
    prices = MarginPrices(1.0, 0.1, 0.01, 0.01, 1.0)
    X = np.array([[0.0], [0.1], [0.14], [0.15], [0.151], [1.0]])
    h, g = np.ones(1), 0.1505  # score 0.15 at the nearest rows, and 0.8495 at most
    assert clear_plane((h, g), X[:5], X[5:], prices) == (h, pytest.approx(0.1))
    shifted = clear_plane((h, g), X, X[:0], prices)
    assert shifted == (h, pytest.approx(0.151))
    assert clear_plane((h, g), X[3:5], X, prices) is None
