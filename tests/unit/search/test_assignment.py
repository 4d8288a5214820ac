"""Exact search over assignments of rows to leaves, beside plain enumeration."""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest
from scipy.optimize import linprog

from octcore.search.assignment.search import AssignmentProblem, AssignmentSearch, labellings


def _problem(seed: int, n: int, depth: int, n_classes: int = 2) -> AssignmentProblem:
    rng = np.random.default_rng(seed)
    X = np.round(rng.random((n, 2)), 1)
    y = np.arange(n) % n_classes
    weights = rng.integers(1, 3, n).astype(float)
    return AssignmentProblem(X, y, weights, n_classes, depth, 1.0, 0.1, 1e5, 1e-7)


def _node_cost(problem: AssignmentProblem, left: list[int], right: list[int]) -> float:
    """Cheapest plane for rows on given sides."""
    if problem.feature and left and right:
        return _price_of_columns(problem, left, right)
    return _soft_cost(problem, left, right) if left and right else 0.0


def _price_of_columns(problem: AssignmentProblem, left: list[int], right: list[int]) -> float:
    """Price of the fewest columns with a plane within the limit."""
    for size in range(1, problem.X.shape[1] + 1):
        for columns in combinations(range(problem.X.shape[1]), size):
            part = replace(problem, X=problem.X[:, columns], missing=1e3)
            if _soft_cost(part, left, right) <= problem.limit:
                return problem.feature * size
    return np.inf


def _soft_cost(problem: AssignmentProblem, left: list[int], right: list[int]) -> float:
    rows = [*left, *right]
    side = np.array([1.0] * len(left) + [-1.0] * len(right))[:, None]
    X, n, p = problem.X[rows], len(rows), problem.X.shape[1]
    scores = np.hstack([-side * X, side * X, side])
    program = np.vstack([np.hstack([scores, np.eye(n)]), np.hstack([scores, np.zeros((n, n))])])
    prices = problem.missing * problem.weights[rows]
    cost = np.concatenate([np.full(2 * p, problem.norm), [0.0], prices])
    bounds = [(0, None)] * (2 * p) + [(None, None)] + [(0, None)] * n
    least = np.append(np.ones(n), np.zeros(n))
    return float(linprog(cost, A_ub=-program, b_ub=-least, bounds=bounds).fun)


def _by_enumeration(problem: AssignmentProblem) -> float:
    """Least cost over all ways to send the rows to the leaves."""
    leaves, best = 2**problem.depth, np.inf
    rows = range(len(problem.y))
    for way in product(range(leaves), repeat=len(rows)):
        cost = 0.0
        for leaf in range(leaves):
            there = [i for i in rows if way[i] == leaf]
            counts = np.bincount(problem.y[there], problem.weights[there], problem.n_classes)
            cost += counts.sum() - counts.max()
        for node in range(1, leaves):
            level = node.bit_length() - 1
            below = {i: (way[i] + leaves) >> (problem.depth - level - 1) for i in rows}
            sides = [[i for i in rows if below[i] == 2 * node + side] for side in (0, 1)]
            if cost < best:
                cost += _node_cost(problem, *sides)
        best = min(best, cost)
    return best


def _bound(search: AssignmentSearch) -> float:
    for _ in search.run():
        pass
    return search.bound


@pytest.mark.parametrize(
    ("seed", "n", "depth", "n_classes"), [(0, 8, 1, 2), (1, 8, 1, 3), (2, 5, 2, 2), (3, 5, 2, 3)]
)
def test_bound_and_cost_are_the_least_of_all_assignments(
    seed: int, n: int, depth: int, n_classes: int
) -> None:
    problem = _problem(seed, n, depth, n_classes)
    least = _by_enumeration(problem)
    search = AssignmentSearch(problem, 1.5 * least + 1.0)
    bound = _bound(search)
    assert search.cost == pytest.approx(least, rel=1e-6)
    assert bound == pytest.approx(least, rel=1e-6)


@pytest.mark.parametrize("unit", [0.0, 1.0])
@pytest.mark.parametrize(("seed", "n", "depth"), [(0, 8, 1), (1, 8, 1), (4, 5, 2)])
def test_planes_within_a_limit_pay_for_columns_alone(
    seed: int, n: int, depth: int, unit: float
) -> None:
    norm, gap = 1e-6, 0.15
    limit = norm * 2 / gap
    problem = replace(
        _problem(seed, n, depth), missing=2 * limit, norm=norm, limit=limit, feature=0.4, unit=unit
    )
    least = _by_enumeration(problem)
    search = AssignmentSearch(problem, 2.0 * least + 1.0)
    found = [step.planes for step in search.run() if step.planes is not None]
    assert all(set(planes) == set(range(1, 2**depth)) for planes in found)
    assert search.cost == pytest.approx(least, abs=1e-3)
    assert search.bound == pytest.approx(least, abs=1e-3)


def test_bounds_never_exceed_the_least_cost_on_the_way() -> None:
    problem = _problem(5, 9, 1)
    least = _by_enumeration(problem)
    bounds = [found.bound for found in AssignmentSearch(problem, 2 * least).run() if found.bound]
    assert len(bounds) > 1
    assert max(bounds) <= least * (1 + 1e-9)


def test_states_too_deep_to_be_decided_hold_the_bound_down() -> None:
    problem = _problem(0, 8, 1)
    least = _by_enumeration(problem)
    search = AssignmentSearch(problem, 2 * least)
    search._levels = 3
    assert 0 < _bound(search) < 0.99 * least


def test_labellings_leave_out_exchanged_subtrees() -> None:
    assert labellings(2, 2) == [(0, 1, 0, 1)]
    assert len(labellings(3, 2)) == 6
    assert labellings(1, 2) == [(0, 0, 0, 0)]
