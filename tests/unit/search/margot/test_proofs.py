"""Proofs of the routing search where numbers are hard: tiny objectives, huge penalties."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from octcore.numerics.node_qp.plane import NodeProblem
from octcore.numerics.node_qp.sparse import SparseNode, solve_sparse_node
from octcore.search.margot.records import RoutingProblem
from tests.referee.node_qp import solve_node_qp_reference
from tests.referee.routing_search import solved

pytestmark = pytest.mark.usefixtures("compiled_kernels")


def tiny_problem(seed: int) -> RoutingProblem:
    """A few rows with penalties and weights over many decades."""
    rng = np.random.default_rng([1, seed])
    n, p, depth = int(rng.integers(3, 7)), int(rng.integers(1, 4)), int(rng.integers(1, 4))
    x = np.round(rng.random((n, p)), 1)
    y = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    y[:2] = -1.0, 1.0
    c_upper, c_last = (float(10.0 ** rng.integers(-4, 6)) for _ in range(2))
    weights = 10.0 ** rng.uniform(-2, 3, n)
    return RoutingProblem(x, y, depth, c_upper, c_last, weights=weights)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(40))
def test_tiny_problems_are_proven_whatever_their_scale(seed: int):
    result = solved(tiny_problem(seed), time_limit=60)
    assert result.status == "optimal"
    assert result.gap <= 1.01e-4


@pytest.mark.parametrize(
    ("rows", "labels", "penalties", "value"),
    [
        # one split at the root settles everything, at ||w||^2 / 2 with w = 2 / distance
        ([[0.0], [1.0]], [-1, 1], (1e6, 1e6), 2.0),
        ([[0.0], [0.1]], [-1, 1], (1e8, 1e8), 200.0),
        # slack is cheaper than any plane: 2 C per level and row of the smaller class
        ([[0.0], [0.1]], [-1, 1], (1e-5, 1e-5), 2e-5),
    ],
)
def test_depth_one_and_two_of_two_rows(
    rows: list[list[float]], labels: list[int], penalties: tuple[float, float], value: float
):
    x, y = np.array(rows), np.array(labels, float)
    result = solved(RoutingProblem(x, y, 1, *penalties), time_limit=60)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(value, rel=1e-5)
    assert result.bound <= value * (1 + 1e-9)


@pytest.mark.parametrize("penalty", [1e-4, 1.0, 1e4, 1e6])
@pytest.mark.parametrize("routed", [False, True])
def test_plane_and_bound_of_a_node_meet(penalty: float, routed: bool):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        x = rng.random((6, 2))
        y = np.where(rng.random(6) < 0.5, -1.0, 1.0)
        upper = penalty * 10.0 ** rng.uniform(-2, 2, 6)
        sides = np.where(x @ rng.normal(size=2) > 0.1, 1, -1) if routed else np.zeros(6)
        found = NodeProblem(x, y, upper, sides.astype(np.int8)).solve()
        assert found.bound <= found.plane.value * (1 + 1e-6)
        assert found.plane.value - found.bound <= 1e-6 * found.plane.value + 1e-12


def test_the_dual_is_a_bound_at_any_multipliers():
    rng = np.random.default_rng(3)
    x, y = rng.random((8, 2)), np.where(np.arange(8) % 2, 1.0, -1.0)
    upper, sides = np.full(8, 5.0), np.where(x[:, 0] > 0.5, 1, -1).astype(np.int8)
    value = solve_node_qp_reference(x, y, upper, sides).value
    for _ in range(500):
        hinge, route = rng.random(8) * upper, rng.random(8) * 10.0 ** rng.integers(-3, 3)
        assert NodeProblem(x, y, upper, sides).dual(hinge, route)[0] <= value * (1 + 1e-6)


USELESS_SECOND = np.array([[1.0, 0.5], [0.5, 1.0], [1.0, 0.5], [0.5, 0.0]])
LABELS = np.array([1.0, -1.0, 1.0, -1.0])


def test_rounding_is_no_use_of_a_feature():
    qp = NodeProblem(USELESS_SECOND, LABELS, np.full(4, 100.0), np.zeros(4, np.int8))
    node = SparseNode(qp, 1, 10.0)
    plane = node.solve(np.arange(2)).plane
    assert plane.weights[1] == 0.0
    assert plane.weights[0] == pytest.approx(4.0, rel=1e-5)
    assert solve_sparse_node(node).value == pytest.approx(8.0, rel=1e-5)  # one feature, no price


def budgeted(seed: int, variant: Any) -> RoutingProblem:
    """A tiny problem whose features beyond the first have a price or are forbidden."""
    rng = np.random.default_rng([2, seed])
    x = rng.integers(0, 3, (5, 2)) / 2.0
    y = np.where(rng.random(5) < 0.5, -1.0, 1.0)
    y[:2] = -1.0, 1.0
    budget = {"budget_upper": 1, "budget_last": 1}
    return RoutingProblem(x, y, 2, 1.0, 1000.0, variant=variant, alpha=10.0, **budget)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(15))
def test_a_price_is_worth_no_more_than_a_budget(seed: int):
    """With a free feature the two agree, else the price can only help: hard >= soft >= none."""
    hard = solved(budgeted(seed, "hfs"), time_limit=60)
    soft = solved(budgeted(seed, "sfs"), time_limit=60)
    free = solved(budgeted(seed, "margot"), time_limit=60)
    assert {hard.status, soft.status, free.status} == {"optimal"}
    assert soft.objective <= hard.objective * (1 + 1e-4)
    assert free.objective <= soft.objective * (1 + 1e-4)
    used = np.count_nonzero(soft.planes.weights, axis=1)
    tiny = np.abs(soft.planes.weights) <= 1e-7 * np.abs(soft.planes.weights).max(
        axis=1, keepdims=True
    )
    assert (used == (~tiny).sum(axis=1)).all() or not soft.planes.weights.any(axis=1).all()


def test_a_budgeted_search_finds_the_tree_that_its_bound_speaks_of():
    """Nearly no penalty above and a large one below: the best root plane is worth 0.0003."""
    x = np.array([[1.0, 1.0, 1.0], [0.5, 1.0, 0.0], [0.0, 1.0, 1.0], [0.5, 0.0, 1.0 / 3.0]])
    x = x[[0, 1, 2, 1, 3]]
    y = np.array([-1.0, -1.0, 1.0, -1.0, -1.0])
    problem = RoutingProblem(
        x, y, 2, 0.01, 1000.0, variant="sfs", budget_upper=1, budget_last=2, alpha=1.0
    )
    result = solved(problem, time_limit=60)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(0.0496875, rel=1e-4)
