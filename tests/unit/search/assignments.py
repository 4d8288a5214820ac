"""Small problems over assignments of rows to leaves, and their least cost by enumeration."""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
from scipy.optimize import linprog

from octcore.search.assignment.search import AssignmentProblem


def small_problem(seed: int, n: int, depth: int, n_classes: int = 2) -> AssignmentProblem:
    """Rows whose classes overlap."""
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
    distance = np.where(side[:, 0] > 0, 0.0, problem.clearance)
    X, n, p = problem.X[rows], len(rows), problem.X.shape[1]
    scores = np.hstack([-side * X, side * X, side])
    program = np.vstack([np.hstack([scores, np.eye(n)]), np.hstack([scores, np.zeros((n, n))])])
    prices = problem.missing * problem.weights[rows]
    cost = np.concatenate([np.full(2 * p, problem.norm), [0.0], prices])
    bounds = [(0, None)] * (2 * p) + [(None, None)] + [(0, None)] * n
    least = np.append(np.maximum(1.0, distance), distance)
    found = linprog(cost, A_ub=-program, b_ub=-least, bounds=bounds)
    return float(found.fun) if found.success else np.inf


def by_enumeration(problem: AssignmentProblem) -> float:
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
