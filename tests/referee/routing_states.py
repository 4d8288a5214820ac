"""``OCTCORE_CHECK=1``: bounds of MARGOT's states against a solver that shares nothing with them.

A state is looked at now and then: the value of one of its node QPs may not exceed that of the plane
which an independent solver finds, and a state that holds the incumbent may not be worth more than
it.  Without the variable nothing is looked at.
"""

from __future__ import annotations

import os

import numpy as np

from octcore.errors import EngineError
from octcore.search.margot.below import width_of
from octcore.search.margot.core import RoutingSearch
from octcore.search.margot.frame import RoutingFrame
from octcore.search.margot.nested import NestedSearch, full_node
from octcore.search.margot.start import node_membership
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
    sides, value = _in_hand(search, node)
    here = np.flatnonzero(sides < 2)
    if 0 < len(here) <= _MOST_ROWS:
        _node(search, node, sides, value)


def _in_hand(search: RoutingSearch, node: int) -> tuple[np.ndarray, float]:
    """Sides of the samples at a node and its value, of the state that the QPs hold."""
    if not isinstance(search, NestedSearch):
        return node_membership(search.prefix, node), float(search.bank.value[node, 0])
    if node == 0:
        return node_membership(search.prefix, 0), float(search.root.value[0, 0])
    side = (node + 1) >> ((node + 1).bit_length() - 2) & 1
    below = next(k for k in range(search.problem.n_upper) if full_node(side, k) == node)
    sides = node_membership(search.below_prefix[side], below)
    return sides, float(search.below[side].value[below, 0])


def _is_above(prefix: np.ndarray, routing: np.ndarray) -> np.ndarray:
    """Whether the nodes of ``prefix`` lie on the ways of a complete routing, or are their ends."""
    ways, inside = routing, np.zeros(np.broadcast_shapes(prefix.shape, routing.shape), np.bool_)
    while (ways >= 0).any():
        inside |= ways == prefix
        ways = np.where(ways >= 0, (ways - 1) // 2, ways)
    return inside


def _holds(search: RoutingSearch, routing: np.ndarray) -> bool:
    """Whether a complete routing is one of those of the current state, and of its sides."""
    here = bool(_is_above(search.prefix, routing).all())
    if not isinstance(search, NestedSearch):
        return here
    return here and all(_side_holds(search, side, routing) for side in (0, 1))


def _side_holds(search: NestedSearch, side: int, routing: np.ndarray) -> bool:
    states, n_upper = search.heaps[side], search.problem.n_upper
    nodes = states.rows[:, :: width_of(n_upper)].copy()
    nodes[np.arange(len(states.order)) >= states.known[:, None]] = 0
    full = np.array([full_node(side, node) for node in range(n_upper)])
    return bool(_is_above(full[nodes], routing[states.order]).all(axis=1).any())


def _incumbent(search: RoutingSearch) -> None:
    if search.has_budgets or not _holds(search, search.tracker.routing):
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
