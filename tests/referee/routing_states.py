"""``OCTCORE_CHECK=1``: bounds of MARGOT's states against a solver that shares nothing with them.

A state is looked at now and then: the value of one of its node QPs may not exceed that of the plane
which an independent solver finds, and a state that holds the incumbent may not be worth more than
it.  Without the variable nothing is looked at.
"""

from __future__ import annotations

import os

import numpy as np

from octcore.errors import EngineError
from octcore.search.margot.core import RoutingSearch
from octcore.search.margot.frame import RoutingFrame
from tests.referee.node_qp import solve_node_qp_reference

VARIABLE = "OCTCORE_CHECK"
_SHARE = 0.1
"""Share of the states that are looked at."""
_MOST_ROWS = 200
"""Rows of a node that is solved again."""
_ACCURACY = 1e-5
"""Relative, of the independent solver."""
_random = np.random.default_rng(0)


def look(search: RoutingSearch) -> None:
    """Look at the current state of a search.

    Raises
    ------
    AssertionError
        If a bound is larger than what it bounds.
    """
    if os.environ.get(VARIABLE) != "1" or _random.random() >= _SHARE:
        return
    _incumbent(search)
    node = int(_random.integers(search.problem.n_nodes))
    sides, value = search.in_hand(node)
    here = np.flatnonzero(sides < 2)
    if 0 < len(here) <= _MOST_ROWS:
        _node(search, node, sides, value)


def _incumbent(search: RoutingSearch) -> None:
    if search.has_budgets or not search.holds(search.tracker.routing):
        return
    bound, objective = search.value() - search.correction(), search.tracker.objective
    if bound > objective * (1.0 + _ACCURACY) + 1e-12:
        raise AssertionError(
            f"a state is bounded by {bound!r} and holds a tree worth {objective!r}"
        )


def _node(search: RoutingSearch, node: int, sides: np.ndarray, value: float) -> None:
    problem, here = search.problem, np.flatnonzero(sides < 2)
    columns = np.flatnonzero(search.allowed[node])
    x = np.ascontiguousarray(problem.x[here][:, columns])
    routed = sides[here] if sides[here].any() else None
    upper = search.penalties[node, here]
    if not x.shape[1] or (routed is None and np.ptp(problem.y[here]) == 0):
        return
    try:
        plane = solve_node_qp_reference(x, problem.y[here], upper, routed, problem.epsilon)
    except EngineError:
        return  # not solved there: nothing to compare with
    centred = plane.bias + float(problem.x.mean(axis=0)[columns] @ plane.weights)
    exact = plane.value + centred**2 / (2.0 * search.scale**2)
    # the independent solver keeps rows up to its own tolerance, which penalties multiply
    slack = _ACCURACY * abs(exact) + 1e-7 * float(upper.sum()) + 1e-12
    if value > exact + slack:
        raise AssertionError(f"node {node} is bounded by {value!r}, its plane costs {exact!r}")


RoutingFrame.check = look
