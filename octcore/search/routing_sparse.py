"""Routing search under feature budgets (HFS- and SFS-MARGOT).

A state fixes path prefixes as in the plain search and, per node, features that are kept and
features that are allowed. Its bound is the sum over nodes of the exact node problem under the
budget. Where the budget costs a node more than the plain QP over the allowed features shows,
the search branches on "feature in / out at this node", else on a sample. Best bound first.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from octcore.numerics.node_qp import load_rows
from octcore.numerics.qp_factor import node_of
from octcore.numerics.qp_sparse import SparseNode, SparsePlane, solve_sparse_node
from octcore.search.routing_branching import AGAIN, BRANCH, PRUNED, process
from octcore.search.routing_core import RoutingSearch
from octcore.search.routing_incumbent import Tracker
from octcore.search.routing_records import Planes, RoutingProblem, Status
from octcore.search.routing_start import node_membership, node_solver, svm_planes, tree_objective
from octcore.search.routing_state import clear_bank, pack, unpack

# Branch on a feature when the budget costs a lower node this share of the room to the cutoff.
_FEATURE_SHARE = 0.2
_CACHE = 20_000
_EAGER_STATES, _EVERY = 100, 10


@dataclass(frozen=True)
class SparseState:
    """Prefixes, packed row statuses and feature masks (n_nodes, n_features) of an open state."""

    prefix: NDArray[np.int8]
    packed: NDArray[np.uint8]
    kept: NDArray[np.bool_]
    allowed: NDArray[np.bool_]


class SparseRoutingSearch(RoutingSearch):
    """One run of the search under feature budgets."""

    def __init__(self, problem: RoutingProblem, tracker: Tracker) -> None:
        shape = (problem.n_nodes, problem.x.shape[1])
        super().__init__(problem, tracker, np.ones(shape, bool))
        self.budgets = problem.budgets()
        self.price = problem.alpha if problem.variant == "sfs" else np.inf
        self.cache: dict[tuple[int, bytes, bytes, bytes], SparsePlane] = {}
        self.open: list[tuple[float, int, SparseState]] = []
        self.serial = 0

    def start(self) -> None:
        """Local SVM tree under the budget, and the tree that splits nothing below the root."""
        problem, stop = self.problem, self.tracker.stop
        solve = node_solver(problem, problem.x, problem.y, self.penalties, stop)
        planes, routing = svm_planes(problem.x, problem.y, problem.depth, problem.epsilon, solve)
        self.tracker.offer(self._objective(planes, routing), planes, routing, "warm start")
        plain = node_solver(
            replace(problem, variant="margot"), problem.x, problem.y, self.penalties, stop
        )
        _, other = svm_planes(problem.x, problem.y, problem.depth, problem.epsilon, plain)
        self._allocate()
        clear_bank(self.warm)
        self.try_routing(routing, "warm start")
        self.try_routing(other, "warm start")

    def _objective(self, planes: Planes, routing: NDArray[np.int64]) -> float:
        used = np.count_nonzero(planes.weights, axis=1)
        beyond = np.maximum(0, used - self.budgets)
        charge = float(self.price * beyond.sum()) if beyond.any() else 0.0
        problem = self.problem
        plain = tree_objective(problem.x, problem.y, self.penalties, planes, routing)
        return plain + charge

    def _sparse_node(self, node: int, sides: NDArray[np.int8]) -> SparseNode:
        here = np.flatnonzero(sides < 2)
        problem = self.problem
        routed = sides[here] if node < problem.n_upper else None
        rows = (problem.x[here], problem.y[here], self.penalties[node, here], routed)
        budget = int(self.budgets[node])
        return SparseNode(*rows, problem.epsilon, budget, self.price, self.tracker.stop)

    def try_routing(self, routing: NDArray[np.int64], source: str) -> bool:
        """Solve the budgeted node problems of a routing and keep the tree if it is better."""
        key = routing.astype(np.int8).tobytes()
        if key in self.seen or self.tracker.stop():
            return False
        self.seen.add(key)
        problem = self.problem
        weights, biases = np.zeros((problem.n_nodes, problem.x.shape[1])), np.zeros(problem.n_nodes)
        total = 0.0
        for node in range(problem.n_nodes):
            sides = node_membership(routing, node)
            labels = problem.y[sides < 2]
            if len(labels) == 0:
                biases[node] = -1.0 if node % 2 == 1 else 1.0
                continue
            if node >= problem.n_upper and labels.max() == labels.min():
                biases[node] = labels[0]
                continue
            room = self.tracker.objective - total
            found = solve_sparse_node(self._sparse_node(node, sides), room)
            if found.plane.value == np.inf:
                return False
            total += found.value
            weights[node], biases[node] = found.plane.weights, found.plane.bias
        planes = Planes(weights, biases)
        return self.tracker.offer(self._objective(planes, routing), planes, routing, source)

    def polish(self) -> None:
        """Nothing to do: the node problems are solved accurately already."""

    # -- states -------------------------------------------------------------------------------

    def run(self, node_limit: float = np.inf) -> Status:
        """Search until proven, stopped or out of nodes."""
        if self.tracker.objective <= 0.0:
            return "optimal"
        shape = (self.problem.n_nodes, self.problem.x.shape[1])
        self.prefix = np.zeros(len(self.problem.y), np.int64)
        clear_bank(self.bank)
        load_rows(node_of(self.bank, 0), np.zeros(len(self.prefix), np.int8))
        nothing = np.zeros(0, np.int8)
        root = SparseState(
            nothing, nothing.astype(np.uint8), np.zeros(shape, bool), np.ones(shape, bool)
        )
        if not self._settle():
            return self._stopped(0.0)
        bound, _ = self._bound(0.0, root)
        self._open(bound, self.prefix, root.kept, root.allowed)
        self.report_bound(bound + self.correction())
        self.improve()
        while True:
            lowest = self.open[0][0] if self.open else np.inf
            self.report_bound(lowest + self.correction())
            if lowest >= self.goal():
                return "optimal" if self.abandoned >= self.cutoff() else "stalled"
            if self.tracker.stop():
                return self._stopped(lowest + self.correction())
            if self.nodes >= node_limit:
                return "node_limit"
            self._step()

    def _open(
        self,
        bound: float,
        prefix: NDArray[np.int64],
        kept: NDArray[np.bool_],
        allowed: NDArray[np.bool_],
    ) -> None:
        packed = np.zeros((self.problem.n_nodes, (2 * len(prefix) + 3) // 4), np.uint8)
        pack(self.bank, packed)
        state = SparseState(prefix.astype(np.int8), packed, kept, allowed)
        self.serial += 1
        heapq.heappush(self.open, (bound, -self.serial, state))

    def _restore(self, state: SparseState) -> None:
        self.prefix = state.prefix.astype(np.int64)
        p = self.problem.x.shape[1]
        assert self.masks is not None
        for node in range(self.problem.n_nodes):
            if not np.array_equal(self.masks[node], state.allowed[node]):
                self.data.x[node, :, :p] = self.rows[:, :p] * state.allowed[node]
                self.masks[node] = state.allowed[node]
        unpack(self.bank, self.data, self.prefix, state.packed)

    def _step(self) -> None:
        """Take the state of least bound, tighten it, and split it."""
        bound, _, state = heapq.heappop(self.open)
        self._restore(state)
        if not self._settle():
            self._open(bound, self.prefix, state.kept, state.allowed)
            return
        self.nodes += 1
        bound, costs = self._bound(bound, state)
        if bound >= self.goal():
            return
        axis = self._root_axis(state)
        if axis is not None and (self.prefix == 0).any():
            if self._descends():
                self.descend()
            self._split_interval(bound, axis, state)
            return
        code = self._process()
        if code == PRUNED:
            return
        if code == AGAIN:
            self._open(bound, self.prefix, state.kept, state.allowed)
            return
        bound, costs = self._bound(bound, state)
        if self._descends() or code != BRANCH:
            self.descend()
        self._branch(bound, costs, code, state)

    def _descends(self) -> bool:
        return self.nodes <= _EAGER_STATES or self.nodes % _EVERY == 0

    def _process(self) -> int:
        ignored = 0.1 * self.problem.gap * self.tracker.objective / len(self.prefix)
        arguments = (self.bank, self.trial, self.data, self.prefix, self.problem.n_upper)
        code = AGAIN
        while code == AGAIN and not self.tracker.stop():
            cutoff = self.cutoff()
            code = process(*arguments, cutoff, ignored, self.pseudo, self.choice, self.rounds)
        return code

    def goal(self) -> float:
        """True value from which a state cannot hold a tree better than the gap allows."""
        return self.tracker.objective * (1.0 - self.problem.gap)

    def _bound(self, inherited: float, state: SparseState) -> tuple[float, NDArray[np.float64]]:
        """Bound of the current state, and what the budget costs each node above its plain QP.

        The node problems are solved without a bias penalty, so no correction is due.
        """
        values = self.bank.value[:, 0].copy()
        costs, known = np.zeros(len(values)), values.copy()
        for node in range(len(values)):
            sides = node_membership(self.prefix, node)
            if not (sides < 2).any():
                continue
            rest = float(known.sum() - known[node])
            exact = self._exact(node, sides, state, max(0.0, 1.001 * self.goal() - rest))
            known[node] = exact.bound
            costs[node] = max(0.0, exact.bound - values[node])
            if known.sum() - self.correction() >= self.goal():
                return self.goal(), costs
        return max(inherited, float(known.sum())), costs

    def _exact(
        self, node: int, sides: NDArray[np.int8], state: SparseState, room: float
    ) -> SparsePlane:
        kept, allowed = state.kept[node], state.allowed[node]
        key = (node, sides.tobytes(), kept.tobytes(), allowed.tobytes())
        found = self.cache.get(key)
        if found is None:
            found = solve_sparse_node(self._sparse_node(node, sides), room, kept, allowed)
            if len(self.cache) >= _CACHE:
                self.cache.clear()
            if found.plane.value < np.inf:
                self.cache[key] = found
        return found

    def _branch(
        self, bound: float, costs: NDArray[np.float64], code: int, state: SparseState
    ) -> None:
        """Branch on a feature where the budget bites, else on the chosen sample."""
        room = self.goal() - bound
        if room <= 0.0:
            return
        open_features = (state.allowed & ~state.kept).any(axis=1)
        costs = np.where(open_features, costs, 0.0)
        node = 0 if costs[0] > 0.01 * room else int(np.argmax(costs))
        bites = costs[node] > (_FEATURE_SHARE * room if node >= self.problem.n_upper else 0.0)
        if costs[node] > 0.0 and (bites or code != BRANCH):
            self._split_feature(bound, node, state)
            return
        if code != BRANCH and not self._choose_nearest():
            self.abandoned = min(self.abandoned, bound + self.correction())
            return
        sample, parent = self.choice[0], self.prefix[self.choice[0]]
        for child in (2 * parent + 1, 2 * parent + 2):
            prefix = self.prefix.copy()
            prefix[sample] = child
            if self.data.twin[sample] >= 0:
                prefix[self.data.twin[sample]] = child
            self._open(bound, prefix, state.kept, state.allowed)

    def _root_axis(self, state: SparseState) -> NDArray[np.float64] | None:
        """Values of the only feature of the root plane (depth 2), or None."""
        used = np.flatnonzero(state.allowed[0])
        if self.problem.depth != 2 or len(used) != 1:
            return None
        return self.problem.x[:, used[0]]

    def _split_interval(self, bound: float, axis: NDArray[np.float64], state: SparseState) -> None:
        """Halve the free samples along the root's feature; both sides are half-lines."""
        free = np.flatnonzero(self.prefix == 0)
        if (self.prefix == 0).all():
            sample = int(np.argmin(axis))
        else:
            sample = int(free[np.argsort(axis[free])[len(free) // 2]])
        for child in (1, 2):
            prefix = self.prefix.copy()
            prefix[sample] = child
            if half_lines(axis, prefix):
                self._open(bound, prefix, state.kept, state.allowed)

    def _split_feature(self, bound: float, node: int, state: SparseState) -> None:
        """Feature in / out at a node that has features to decide."""
        sides = node_membership(self.prefix, node)
        found = self._exact(node, sides, state, np.inf)
        free = state.allowed[node] & ~state.kept[node]
        p = self.problem.x.shape[1]
        weight = np.abs(found.plane.weights) * free
        if not weight.any():
            weight = np.abs(self.bank.vector[node, :p]) * free + 1e-12 * free
        feature = int(np.argmax(weight))
        kept, allowed = state.kept.copy(), state.allowed.copy()
        kept[node, feature] = True
        if self.price == np.inf and kept[node].sum() >= self.budgets[node]:
            allowed[node] = kept[node]
        self._open(bound, self.prefix, kept, allowed)
        allowed = state.allowed.copy()
        allowed[node, feature] = False
        self._open(bound, self.prefix, state.kept, allowed)


def half_lines(axis: NDArray[np.float64], prefix: NDArray[np.int64]) -> bool:
    """Extend fixed sides (1 left, 2 right, 0 free) to what one threshold implies.

    Returns False when no threshold separates the sides. ``prefix`` is changed in place.
    """
    left, right = axis[prefix == 1], axis[prefix == 2]
    if len(left) == 0 or len(right) == 0:
        fixed = left if len(left) else right
        inside = (axis >= fixed.min()) & (axis <= fixed.max())
        prefix[inside] = 1 if len(left) else 2
        return True
    if left.max() < right.min():
        prefix[axis <= left.max()] = 1
        prefix[axis >= right.min()] = 2
        return True
    if right.max() < left.min():
        prefix[axis <= right.max()] = 2
        prefix[axis >= left.min()] = 1
        return True
    return False
