"""Routing search under feature budgets (HFS- and SFS-MARGOT).

A state fixes path prefixes as in the plain search and, per node, features that are kept and
features that are allowed. Its bound is the sum over nodes of the exact node problem under the
budget. Where the budget costs a node more than the plain QP over the allowed features shows,
the search branches on "feature in / out at this node", else on a sample. Best bound first.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octcore.numerics.node_qp.rows import N_PIVOTS, N_ROWS, NodeData, copy_node, load_rows, node_of
from octcore.numerics.node_qp.sparse import SparseNode, solve_sparse_node, sparse_bound
from octcore.search.margot.branching import AGAIN, BRANCH, PRUNED
from octcore.search.margot.core import RoutingSearch
from octcore.search.margot.records import Masks, OpenStates, Planes, RoutingProblem, Tracker
from octcore.search.margot.start import local_svm, node_membership

_CACHE = 20_000  # bounds of nodes that are kept by sides and masks: some ten megabytes at 500 rows
# Solves for the bound of one node of a state: which features it uses is better decided by
# branching, once for all states below, than again in every one of them.
_STATE_STEPS = 20
# Work of one bound under a budget, in multiplications per pivot of a solve: some 0.2 seconds.
_STEP_WORK = 5_000_000
# Effort only: look for trees at the first states, then at every tenth, see `core`.
_EAGER_STATES, _EVERY = 100, 10
# Share of all pivots that looking for trees may take, since the features of their nodes are exact.
_TREE_SHARE = 0.3


class SparseBound(NamedTuple):
    """Bound of a node problem under its budget, and the features of the best choice found."""

    bound: float
    chosen: Masks


class SparseRoutingSearch(RoutingSearch):
    """One run of the search under feature budgets."""

    _next_nearby: float = np.inf

    def __init__(self, problem: RoutingProblem, tracker: Tracker) -> None:
        super().__init__(replace(problem, threads=1), tracker)
        self.cache: dict[tuple[int, bytes, bytes, bytes], SparseBound] = {}
        self.tree_pivots = 0
        self.one_root_feature = (
            problem.variant == "hfs" and problem.depth == 2 and self.budgets[0] == 1
        )

    def start(self) -> None:
        """Local SVM tree under the budget, and the tree that splits nothing below the root."""
        problem, stop = self.problem, self.tracker.stop
        self.states = OpenStates(step=-1)
        planes, routing = local_svm(problem, stop)
        self.offer(planes, routing, "warm start")
        _, other = local_svm(replace(problem, variant="margot"), stop)
        self.allocate()
        self.masked = self.rows.copy()
        self.scratch = node_of(self.desk.trial, 0)
        n, width = self.rows.shape
        self.steps = int(np.clip(_STEP_WORK // (n * width + 4 * width * width), 50, 2000))
        self.try_routing(routing, "warm start")
        self.try_routing(other, "warm start")

    def _bound_node(
        self, node: int, cutoff: float, kept: Masks, allowed: Masks, steps: int
    ) -> SparseBound:
        """Bound of the node problem whose rows the scratch QP holds, after so many solves."""
        data = NodeData(self.masked, self.data.y, self.data.upper[node], self.data.constants)
        chosen = np.zeros(len(kept), np.bool_)
        arguments = (kept, allowed, int(self.budgets[node]), self.price, cutoff, steps)
        bound = sparse_bound(self.scratch, data, self.rows, *arguments, chosen)
        return SparseBound(float(bound), chosen)

    def try_routing(self, routing: NDArray[np.int64], source: str) -> bool:
        """Solve the budgeted node problems of a routing and keep the tree if it is better."""
        key = routing.astype(np.int8).tobytes()
        if key in self.seen or self.tracker.stop():
            return False
        self.seen.add(key)
        before = int(self.scratch.count[N_PIVOTS])
        try:
            return self._solve_routing(routing, source)
        finally:
            self.tree_pivots += int(self.scratch.count[N_PIVOTS]) - before

    def _solve_routing(self, routing: NDArray[np.int64], source: str) -> bool:
        p, total, found = self.problem.x.shape[1], 0.0, []
        nothing, everything = np.zeros(p, np.bool_), np.ones(p, np.bool_)
        for node in range(self.problem.n_nodes):
            sides = node_membership(routing, node)
            labels = self.problem.y[sides < 2]
            if not len(labels) or (node >= self.problem.n_upper and np.ptp(labels) == 0):
                found.append(self.solve_node(sides, node).plane)
                continue
            load_rows(self.scratch, sides)
            room = self.tracker.objective - total + self.correction()
            bound = self._bound_node(node, room, nothing, everything, self.steps)
            if bound.bound >= room:  # the nodes so far cost what the incumbent does
                return False
            plane = self._sparse_node(node, sides).solve(np.flatnonzero(bound.chosen)).plane
            if plane.value == np.inf:
                return False
            total += plane.value
            found.append(plane)
        return self.offer(Planes.of(found), routing, source)

    def _sparse_node(self, node: int, sides: NDArray[np.int8]) -> SparseNode:
        return SparseNode(self.qp(sides, node), int(self.budgets[node]), self.price)

    def _expand(self) -> bool:
        """Tighten the current state and split it; its parts go among the open ones."""
        self.nodes += 1
        self._tighten()
        if self.value() >= self.cutoff():
            return False
        # Once the feature of the root is known, rows are split by intervals, many at once.
        if self.one_root_feature and self.allowed[0].sum() > 1:
            self._split_feature(0)
            return False
        axis = self._root_axis()
        if axis is not None and (self.prefix == 0).any():
            if self._descends():
                self.descend()
            self._split_interval(axis)
            return False
        code = AGAIN
        while code == AGAIN:
            if self.tracker.stop():
                self._leave()
                return False
            code = self.process(self.rounds)
        if code != PRUNED:
            costs = self._tighten()
            if self._descends() or code != BRANCH:
                self.descend()
            self._branch(costs, code)
        return False

    def _descends(self) -> bool:
        """Whether to look for a tree at this state."""
        if self.nodes > _EAGER_STATES and self.nodes % _EVERY:
            return False
        banks = [(s.bank, s.pair, s.complete, s.warm, s.desk.trial) for s in self.team]
        pivots = sum(int(bank.count[:, N_PIVOTS].sum()) for own in banks for bank in own)
        return self.tree_pivots <= _TREE_SHARE * pivots

    def _tighten(self) -> NDArray[np.float64]:
        """Raise the bound of the current state; what the budget costs nodes above plain QPs."""
        values = self.bank.value[:, 0].copy()
        costs, known = np.zeros(len(values)), values.copy()
        for node in range(len(values)):
            if self.bank.count[node, N_ROWS] == 0:
                continue
            found = self._budgeted(node, max(0.0, self.cutoff() - float(known.sum() - known[node])))
            known[node] = max(found.bound, values[node])
            costs[node] = known[node] - values[node]
            if known.sum() >= self.cutoff():  # closed, whatever the other nodes cost
                break
        self.inherited = max(self.inherited, float(known.sum()))
        return costs

    def _budgeted(self, node: int, room: float) -> SparseBound:
        """Bound of one node under its budget; exact only as far as ``room`` asks for."""
        kept, allowed = self.kept[node], self.allowed[node]
        sides = node_membership(self.prefix, node)
        key = (node, sides.tobytes(), kept.tobytes(), allowed.tobytes())
        found = self.cache.get(key)
        if found is None:
            copy_node(node_of(self.bank, node), self.scratch)
            found = self._bound_node(node, room, kept, allowed, _STATE_STEPS)
            if len(self.cache) >= _CACHE:
                self.cache.clear()
            self.cache[key] = found
        return found

    def _branch(self, costs: NDArray[np.float64], code: int) -> None:
        """Branch on a feature where the budget bites, else on the chosen sample."""
        room = self.cutoff() - self.value()
        if room <= 0.0:
            return
        costs = np.where((self.allowed & ~self.kept).any(axis=1), costs, 0.0)
        node = self.biting_node(costs, room, code == BRANCH)
        if node is not None:
            self._split_feature(node)
        elif code != BRANCH and not self.choose_nearest():
            self.give_up(self._accurate_bound())
        else:
            sample, parent = self.desk.choice[0], self.prefix[self.desk.choice[0]]
            for child in (2 * parent + 1, 2 * parent + 2):
                prefix = self.prefix.copy()
                prefix[sample] = child
                if self.data.twin[sample] >= 0:
                    prefix[self.data.twin[sample]] = child
                self.keep_open(self.value(), prefix, self.bank)

    def _accurate_bound(self) -> float:
        """Bound of a state without free samples by cold solves, where rounding spoils warm ones.

        Its tree is offered: the plane of a node is the best one that keeps to the state.
        """
        total, planes = 0.0, []
        for node in range(self.problem.n_nodes):
            sides = node_membership(self.prefix, node)
            if not (sides < 2).any():
                planes.append(self.solve_node(sides, node).plane)
                continue
            room = self.tracker.objective - total  # beyond it the state holds no better tree
            masks = self.kept[node], self.allowed[node]
            found = solve_sparse_node(self._sparse_node(node, sides), room, *masks)
            total += found.bound
            if found.plane.value == np.inf or total >= self.tracker.objective:
                return total
            planes.append(found.plane)
        self.offer(Planes.of(planes), self.prefix, "search")
        return total

    def _root_axis(self) -> NDArray[np.float64] | None:
        """Values of the only feature of the root plane (depth 2), or None."""
        used = np.flatnonzero(self.allowed[0])
        if self.problem.depth != 2 or len(used) != 1:
            return None
        return self.problem.x[:, used[0]]

    def _split_interval(self, axis: NDArray[np.float64]) -> None:
        """Halve the free samples along the root's feature; both sides are half-lines."""
        free = np.flatnonzero(self.prefix == 0)
        if (self.prefix == 0).all():
            sample = int(np.argmin(axis))
        else:
            sample = int(free[np.argsort(axis[free])[len(free) // 2]])
        for child in (1, 2):
            prefix = self.prefix.copy()
            prefix[sample] = child
            if half_lines(axis, prefix):  # else no plane on one feature sends rows so
                self.keep_open(self.value(), prefix, self.bank)

    def _split_feature(self, node: int) -> None:
        """Feature in / out at a node that has features to decide."""
        found = self._budgeted(node, np.inf)
        free = self.allowed[node] & ~self.kept[node]
        chosen = free & found.chosen if (free & found.chosen).any() else free
        for masks in self.feature_sides(node, chosen):
            self.keep_open(self.value(), self.prefix, self.bank, masks=masks)


def half_lines(axis: NDArray[np.float64], prefix: NDArray[np.int64]) -> bool:
    """Extend fixed sides (1 left, 2 right, 0 free) to what one threshold implies.

    Returns False when no threshold separates the sides. ``prefix`` is changed in place.
    """
    left, right = axis[prefix == 1], axis[prefix == 2]
    if len(left) == 0 or len(right) == 0:
        fixed = left if len(left) else right
        prefix[(axis >= fixed.min()) & (axis <= fixed.max())] = 1 if len(left) else 2
        return True
    for low, high, sides in ((left, right, (1, 2)), (right, left, (2, 1))):
        if low.max() < high.min():
            prefix[axis <= low.max()], prefix[axis >= high.min()] = sides
            return True
    return False
