"""Search in the objective of SVM1-ODT: costs by plain routing, monotone, and better than greedy."""

from __future__ import annotations

import time

import numpy as np
import pytest

from octcore.formulations.base import get_formulation
from octcore.formulations.svm1_odt import trees
from octcore.numerics.margin_lp import MarginPrices, soft_planes
from octcore.warmstart.margin_search import MarginGoal, MarginSearch, MarginTree
from tests.brute import make_problem

GOOD = 12.0
"""The rows weigh 60; a tree of two axis-parallel cuts pays for margins only."""
PRICES = MarginPrices(100.0, 3.0, 0.01, 1e-4, 1.0)


def goal_of(seed: int, n_classes: int = 3) -> MarginGoal:
    rng = np.random.default_rng(seed)
    X = rng.random((40, 2))
    y = (X[:, 0] > 0.5).astype(np.int64) + (X[:, 1] > 0.4) * (n_classes - 2)
    return MarginGoal(X, y, rng.integers(1, 3, 40).astype(float), n_classes, 2, PRICES, seed)


def plain_cost(goal: MarginGoal, tree: MarginTree) -> float:
    """Send one row after the other."""
    total = 0.0
    for x, label, weight in zip(goal.X, goal.y, goal.weights, strict=True):
        node = 1
        while node < 2**goal.depth:
            side = tree.sides.get(node, 0)
            if node in tree.planes:
                h, g = tree.planes[node]
                score = g - float(h @ x)
                side = int(score < -goal.prices.right / 2)
                total += weight * goal.prices.missing * max(0.0, goal.prices.margin - abs(score))
            node = 2 * node + side
        total += weight * float(label != tree.labels[node])
    return total + goal.prices.norm * sum(float(np.abs(h).sum()) for h, _ in tree.planes.values())


@pytest.mark.parametrize("seed", range(3))
def test_costs_are_those_of_routing_and_fall(seed):
    goal, last = goal_of(seed), np.inf
    for tree in MarginSearch(goal).search([], 60.0):
        assert tree.cost == pytest.approx(plain_cost(goal, tree), rel=1e-9)
        assert tree.cost <= last
        last = tree.cost
        if last < GOOD:
            break
    assert last < GOOD


def test_a_refit_never_costs_more():
    goal = goal_of(5)
    search = MarginSearch(goal)
    for _ in range(5):
        start = search._start(np.inf)
        before = plain_cost(goal, start)
        better = search.improve(start, time.perf_counter() + 5)
        assert better.cost <= before + 1e-9
        assert better.cost == pytest.approx(plain_cost(goal, better), rel=1e-9)


def test_a_soft_plane_lets_a_lone_row_pass():
    X = np.array([[0.1], [0.2], [0.8], [0.9], [0.85]])
    right = np.array([False, False, True, True, False])
    (plane,) = soft_planes(X, right, np.full(5, 10.0), (1.0,), PRICES)
    assert plane is not None
    h, g = plane
    assert ((X @ h > g) == [False, False, True, True, True]).all()


def test_scaled_prices_replace_the_others():
    goal = goal_of(0)
    for epsilon, big_m in ((0.01, 1.0), (0.05, 2.0)):
        params = {"margin_price": 1.0, "norm_price": 0.03, "epsilon": epsilon, "big_m": big_m}
        problem = make_problem(
            goal.X, goal.y, 3, 2, {**params, "start_seconds": 0.5}, formulation="svm1-odt"
        )
        program = get_formulation("svm1-odt").build(problem)
        prices = program.build.__self__.judge.prices  # type: ignore[union-attr]
        assert prices.missing * epsilon == pytest.approx(1.0)
        assert prices.norm * epsilon == pytest.approx(0.03)
        sources = {source for source, _ in program.starts()}
        assert "search with margins" in sources


def test_of_many_rows_samples_are_searched_and_improved_on_all(monkeypatch):
    monkeypatch.setattr(trees, "SAMPLED_ROWS", 60)
    rng = np.random.default_rng(0)
    X = rng.random((400, 3))
    y = (X @ [1.0, -0.7, 0.4] > 0.4).astype(np.int64) + (X[:, 0] > 0.6)
    problem = make_problem(X, y, 3, 2, {"start_seconds": 0.5}, formulation="svm1-odt")
    program = get_formulation("svm1-odt").build(problem)
    found = [tree for source, tree in program.starts() if source == "search on samples"]
    values = [value for tree in found if (value := program.evaluate(tree)) is not None]
    assert min(values) < 60
    assert (found[-1].predict_codes(X) == y).mean() > 0.9


def test_dense_rows_leave_room_for_a_plane_nearby():
    """No right-goer may be too near: a plane through dense rows moves to a gap."""
    rng = np.random.default_rng(1)
    X = np.sort(rng.random((300, 1)), axis=0)
    prices = MarginPrices(100.0, 3.0, 0.01, 2e-3, 1.0)
    y = (X[:, 0] > 0.5).astype(np.int64)
    search = MarginSearch(MarginGoal(X, y, np.ones(300), 2, 1, prices))
    made = search.made_exact(MarginTree({1: (np.ones(1), 0.5)}, np.array([0, 0, 0, 1])))
    h, g = made.planes[1]
    scores = g - X @ h
    assert not ((scores < -1e-7) & (scores > -prices.right + 1e-7)).any()
    assert abs(g / h[0] - 0.5) < 0.05
