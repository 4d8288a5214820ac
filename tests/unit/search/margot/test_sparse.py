"""Feature budgets in the routing search: enumeration, and the limits where they vanish."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from octcore.numerics.node_qp.plane import NodeProblem
from octcore.numerics.node_qp.sparse import SparseNode, solve_sparse_node
from octcore.search.margot.records import RoutingProblem
from octcore.search.margot.sparse import half_lines
from octcore.search.margot.start import node_membership, tree_objective
from tests.referee.routing_search import solved

GAP = 1e-4
EXACT = 2e-6

pytestmark = pytest.mark.usefixtures("compiled_kernels")


def tiny(seed: int, n: int, p: int):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    y[:2] = -1.0, 1.0
    return rng.random((n, p)), y


def enumerated_optimum(problem: RoutingProblem) -> float:
    """Best objective over all routings, every node solved under its budget."""
    n, best = len(problem.y), np.inf
    penalties = problem.penalties()
    price = problem.alpha if problem.variant == "sfs" else np.inf
    known: dict[tuple[bool, bytes], float] = {}
    for choice in itertools.product((1, 2), repeat=n):
        total = 0.0
        for node in (2, 1, 0):
            sides = node_membership(np.array(choice), node)
            here = sides < 2
            key = (node == 0, sides.tobytes() if node == 0 else here.tobytes())
            labels = problem.y[here]
            if key not in known:
                trivial = node > 0 and (len(labels) == 0 or labels.max() == labels.min())
                rows = (problem.x[here], labels, penalties[node, here], sides[here])
                budget = int(problem.budgets()[node])
                sparse = SparseNode(NodeProblem(*rows, problem.epsilon), budget, price)
                known[key] = 0.0 if trivial else solve_sparse_node(sparse).value
            total += known[key]
            if total >= best:
                break
        best = min(best, total)
    return best


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("variant", "upper", "last", "alpha"),
    [("hfs", 1, 1, 0.0), ("hfs", 2, 1, 0.0), ("sfs", 1, 1, 0.7), ("sfs", 1, 2, 8.0)],
)
@pytest.mark.parametrize("seed", range(2))
def test_budgets_equal_enumeration(seed: int, variant, upper: int, last: int, alpha: float):
    x, y = tiny(seed, 7, 3)
    problem = RoutingProblem(x, y, 2, 1.0, 30.0, 1e-3, None, variant, upper, last, alpha)
    result = solved(problem, time_limit=60.0)
    optimum = enumerated_optimum(problem)
    assert result.status == "optimal"
    assert result.bound <= optimum * (1 + EXACT)
    assert optimum * (1 - EXACT) <= result.objective <= optimum * (1 + GAP + EXACT)
    used = np.count_nonzero(result.planes.weights, axis=1)
    beyond = np.maximum(0, used - problem.budgets())
    assert variant == "sfs" or not beyond.any()
    again = tree_objective(problem, result.planes, result.routing - 1)
    assert again == pytest.approx(result.objective, rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_budget_of_all_features_is_margot(seed: int):
    x, y = tiny(seed + 10, 12, 3)
    plain = solved(RoutingProblem(x, y, 2, 1.0, 50.0))
    hard = solved(RoutingProblem(x, y, 2, 1.0, 50.0, 1e-3, None, "hfs", 3, 3))
    soft = solved(RoutingProblem(x, y, 2, 1.0, 50.0, 1e-3, None, "sfs", 3, 3, 5.0))
    assert hard.status == soft.status == plain.status == "optimal"
    assert hard.objective == pytest.approx(plain.objective, rel=2 * GAP)
    assert soft.objective == pytest.approx(plain.objective, rel=2 * GAP)


def test_bound_holds_when_stopped_early():
    x, y = tiny(3, 16, 4)
    problem = RoutingProblem(x, y, 2, 1.0, 30.0, 1e-3, None, "hfs", 1, 2)
    full = solved(problem, time_limit=60.0)
    assert full.status == "optimal"
    for limit in (1, 5, 15):
        early = solved(problem, node_limit=limit)
        assert early.bound <= full.objective
        assert early.objective >= full.bound


def test_half_lines_follow_one_threshold():
    axis = np.array([0.1, 0.4, 0.2, 0.9, 0.6])
    prefix = np.array([1, 0, 0, 2, 0])
    assert half_lines(axis, prefix)
    assert prefix.tolist() == [1, 0, 0, 2, 0]
    prefix = np.array([0, 1, 0, 2, 0])
    assert half_lines(axis, prefix)
    assert prefix.tolist() == [1, 1, 1, 2, 0]
    assert not half_lines(axis, np.array([1, 2, 0, 1, 0]))
