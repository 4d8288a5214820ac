"""Search in the objective of SVM1-ODT: costs by plain routing, monotone, and better than greedy."""

from __future__ import annotations

import time

import numpy as np
import pytest

from octcore.formulations.base import get_formulation
from octcore.formulations.svm1_odt import trees
from octcore.numerics.margin_lp import MarginPrices, soft_planes
from octcore.program import ENDLESS
from octcore.warmstart.margin_search import MarginGoal, MarginSearch
from octcore.warmstart.points import PlaneTree, count_classes, leaf_counts, leaf_labels
from tests.brute import make_problem

GOOD = 12.0
"""The rows weigh 60; a tree of two axis-parallel cuts pays for margins only."""
PRICES = MarginPrices(100.0, 3.0, 0.01, 1e-4, 1.0)


def goal_of(seed: int, n_classes: int = 3) -> MarginGoal:
    rng = np.random.default_rng(seed)
    X = rng.random((40, 2))
    y = (X[:, 0] > 0.5).astype(np.int64) + (X[:, 1] > 0.4) * (n_classes - 2)
    points = count_classes(X, y, rng.integers(1, 3, 40).astype(float), n_classes)
    return MarginGoal(points, 2, PRICES, PRICES.right / 2, seed=seed)


def plain_cost(goal: MarginGoal, tree: PlaneTree) -> float:
    """Send one point after the other; leaves take their best labels."""
    total, held = 0.0, {leaf: 0.0 for leaf in range(4, 8)}
    for x, counts in zip(goal.points.X, goal.points.counts, strict=True):
        node = 1
        while node < 2**goal.depth:
            h, side = tree.weights[node], int(tree.offsets[node] >= 0)
            if h.any():
                score = -tree.offsets[node] - goal.prices.right / 2 - float(h @ x)
                side = int(score <= -goal.prices.right / 2)
                lacking = max(0.0, goal.prices.margin - abs(score))
                total += counts.sum() * goal.prices.missing * lacking
            node = 2 * node + side
        held[node] = held[node] + counts
    errors = sum(float(np.sum(counts) - np.max(counts)) for counts in held.values())
    return total + errors + goal.prices.norm * float(np.abs(tree.weights).sum())


@pytest.mark.parametrize("seed", range(3))
def test_costs_are_those_of_routing_and_fall(seed):
    goal, last = goal_of(seed), np.inf
    search = MarginSearch(goal)
    for planes in search.search([], 60.0):
        assert -search.best_value == pytest.approx(plain_cost(goal, planes), rel=1e-9)
        assert -search.best_value <= last
        last = -search.best_value
        if last < GOOD:
            break
    assert last < GOOD


def test_a_refit_never_costs_more():
    goal = goal_of(5)
    search = MarginSearch(goal)
    for _ in range(5):
        start = search._start(np.inf)
        better = search.improve(start, time.perf_counter() + 5)
        assert plain_cost(goal, better) <= plain_cost(goal, start) + 1e-9
        assert -goal.value(better) == pytest.approx(plain_cost(goal, better), rel=1e-9)


def test_what_is_tried_at_a_node_has_the_cost_that_the_search_expects():
    """Costs to go add up: those at the root are the cost of the tree but for the norms."""
    goal = goal_of(3)
    search = MarginSearch(goal)
    planes, points = search._start(np.inf), goal.points
    labels = leaf_labels(leaf_counts(points, planes.descend(points.X), 2), 2)
    norms = goal.prices.norm * float(np.abs(planes.weights).sum())
    everywhere = search._to_go(planes, labels, 1, np.arange(len(points)))
    assert everywhere.sum() + norms == pytest.approx(plain_cost(goal, planes), rel=1e-9)


def test_a_soft_plane_lets_a_lone_row_pass():
    X = np.array([[0.1], [0.2], [0.8], [0.9], [0.85]])
    right = np.array([False, False, True, True, False])
    (plane,) = soft_planes(X, right, np.full(5, 10.0), (1.0,), PRICES)
    assert plane is not None
    h, g = plane
    assert ((X @ h > g) == [False, False, True, True, True]).all()


def test_scaled_prices_replace_the_others():
    points = goal_of(0).points
    for epsilon, big_m in ((0.01, 1.0), (0.05, 2.0)):
        params = {"margin_price": 1.0, "norm_price": 0.03, "epsilon": epsilon, "big_m": big_m}
        settings, y = {**params, "start_seconds": 0.5}, points.counts.argmax(axis=1)
        problem = make_problem(points.X, y, 3, 2, settings, formulation="svm1-odt")
        program = get_formulation("svm1-odt").build(problem)
        prices = program.build.__self__.judge.prices  # type: ignore[union-attr]
        assert prices.missing * epsilon == pytest.approx(1.0)
        assert prices.norm * epsilon == pytest.approx(0.03)
        sources = {source for source, _ in program.starts(ENDLESS)}
        assert "search with margins" in sources


@pytest.mark.long
def test_of_many_rows_samples_are_searched_and_improved_on_all(monkeypatch):
    monkeypatch.setattr(trees, "SAMPLED_ROWS", 60)
    rng = np.random.default_rng(0)
    X = rng.random((400, 3))
    y = (X @ [1.0, -0.7, 0.4] > 0.4).astype(np.int64) + (X[:, 0] > 0.6)
    problem = make_problem(X, y, 3, 2, {"start_seconds": 5.0}, formulation="svm1-odt")
    program = get_formulation("svm1-odt").build(problem)
    found = [tree for source, tree in program.starts(ENDLESS) if source == "search on samples"]
    values = [value for tree in found if (value := program.evaluate(tree)) is not None]
    assert min(values) < 60
    assert (found[-1].predict_codes(X) == y).mean() > 0.9


def test_dense_rows_leave_room_for_a_plane_nearby():
    """No right-goer may be too near: a plane through dense rows moves to a gap."""
    rng = np.random.default_rng(1)
    X = np.sort(rng.random((300, 1)), axis=0)
    prices = MarginPrices(100.0, 3.0, 0.01, 2e-3, 1.0)
    y = (X[:, 0] > 0.5).astype(np.int64)
    points = count_classes(X, y, np.ones(300), 2)
    search = MarginSearch(MarginGoal(points, 1, prices, prices.right / 2))
    start = PlaneTree.empty(1, 1)
    start.set(1, np.ones(1), -0.5 - prices.right / 2)
    made = search.made_exact(start)
    h, g = made.weights[1], -float(made.offsets[1]) - prices.right / 2
    scores = g - X @ h
    assert not ((scores < -1e-7) & (scores > -prices.right + 1e-7)).any()
    assert abs(g / h[0] - 0.5) < 0.05
