"""Better trees near the best one: most rows keep their way, a short exact search routes the rest.

The search finds its best trees late where bounds are weak, and every state that a better tree would
have closed early is work for nothing.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from octcore.search.margot.open_states import OpenStates
from octcore.search.margot.start import node_membership
from octcore.search.margot.state import start_evaluation

if TYPE_CHECKING:
    from octcore.search.margot.core import RoutingSearch

# Shares of the rows that are routed anew, in turn; states of one try; fruitless tries in a row, at
# depth 3 and more in the first round: the next ones, after twice the work, take longer each.
_SHARES = (0.25, 0.4, 0.6)
_STATES, _PATIENCE = 100, 6


class Neighbourhoods:
    """Short searches near the incumbent, on QPs of their own.

    Parameters
    ----------
    search : RoutingSearch
        Whose incumbent is to be improved; its open states are not touched.
    """

    def __init__(self, search: RoutingSearch) -> None:
        self._search = copy.copy(search)
        self._search.make_banks()
        self._random = np.random.default_rng(search.number)
        self._tries, self._patience = 0, 0

    def improve(self) -> int:
        """Try neighbourhoods until some in a row gave nothing; returns the states processed."""
        search, idle, before = self._search, 0, self._search.nodes
        if self._patience == 0 or search.problem.depth > 2:
            self._patience += _PATIENCE
        while idle < self._patience and not search.tracker.stop():
            objective = search.tracker.objective
            self._route_anew(self._prefix())
            self._tries += 1
            idle = 0 if search.tracker.objective < objective * (1.0 - 1e-6) else idle + 1
        return search.nodes - before

    def _prefix(self) -> NDArray[np.int64]:
        """How far the ways of the rows are kept: all but some rows, or all but one branch."""
        search = self._search
        routing = search.tracker.routing
        if search.problem.depth <= 2 or self._tries % 3 < 2:
            return np.where(self._free_rows(), 0, routing)
        node = 1 + self._tries // 3 % (search.problem.n_upper - 1)
        return np.where(node_membership(routing, node) < 2, node, routing)

    def _free_rows(self) -> NDArray[np.bool_]:
        """Rows nearest to a plane on their way, or any rows; rows with equal features together."""
        search = self._search
        problem, routing = search.problem, search.tracker.routing
        weight = self._random.random(len(routing))
        if self._tries % 2 == 0:
            planes = search.tracker.planes
            scores = np.abs(problem.x @ planes.weights.T + planes.biases)
            nearest, node = np.full(len(routing), np.inf), routing
            while node.max() > 0:
                above = np.maximum(node - 1, 0) // 2
                score = scores[np.arange(len(routing)), above]
                nearest = np.where(node > 0, np.minimum(nearest, score), nearest)
                node = above
            weight = nearest * (0.5 + weight)
        share = _SHARES[self._tries // 2 % len(_SHARES)]
        free = weight <= np.quantile(weight, share)
        twins = search.data.twin[free]
        free[twins[twins >= 0]] = True
        return free

    def _route_anew(self, prefix: NDArray[np.int64]) -> None:
        search = self._search
        search.prefix = prefix
        search.states, search.team = OpenStates(), [search]
        search.alive, search.inherited = True, 0.0
        start_evaluation(search.bank, search.warm, search.prefix)
        if not search.settle():
            return
        last = search.nodes + _STATES
        while search.nodes < last and search.advance() and not search.tracker.stop():
            pass
