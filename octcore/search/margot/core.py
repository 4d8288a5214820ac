"""Exact search for MARGOT trees over routings of the samples.

A state fixes a path prefix for every sample (`routing_state`); its bound is the sum of the node
QPs over the samples that are known to pass. Branching sends one sample one step down, so only
two QPs change and all are warm. States are explored by diving on the cheaper side and by best
bound on backtracking. The bound is the least bound over open states, less the most that the
bias penalty of the node QPs can amount to, so it holds whenever the search stops.
"""

from __future__ import annotations

import heapq
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from octcore.numerics.node_qp.factor import node_of
from octcore.numerics.node_qp.rows import load_rows
from octcore.numerics.node_qp.solver import GAVE_UP, OPTIMAL, PIVOT_LIMIT
from octcore.search.margot.branching import AGAIN, COMPLETE, PRUNED, branch, process
from octcore.search.margot.frame import SHARE, RoutingFrame
from octcore.search.margot.records import Planes, Status
from octcore.search.margot.start import (
    class_routing,
    node_membership,
    node_solver,
    svm_planes,
)
from octcore.search.margot.state import (
    clear_bank,
    pack,
    restart_node,
    solve_all_chunks,
    solve_chunk,
    unpack,
)

# Route by the current planes in each of the first states, then in every tenth.
EAGER_STATES, EVERY = 200, 10
# Leave a dive when its bound has climbed this far from the best open bound to the incumbent.
_DIVE = 0.5


class RoutingSearch(RoutingFrame):
    """One run of the search on merged rows; see `routing_search`."""

    heap: list[tuple[float, int, NDArray[np.int8], NDArray[np.uint8]]]
    alive: bool
    """Whether the current state is open; the other open ones are on the heap."""

    def start(self) -> None:
        """First incumbents; fixes the bias scale and makes the QPs."""
        problem = self.problem
        self.heap, self.alive, self.serial = [], True, 0
        plain = replace(problem, variant="margot")
        solve = node_solver(plain, problem.x, problem.y, self.penalties, self.tracker.stop)
        planes, routing = svm_planes(problem.x, problem.y, problem.depth, problem.epsilon, solve)
        self.tracker.offer(self.objective(planes, routing), planes, routing, "warm start")
        self.allocate()
        clear_bank(self.warm)
        self.try_routing(routing, "warm start")
        self.try_routing(class_routing(problem.y, problem.depth), "warm start")

    # -- the tree of states -------------------------------------------------------------------

    def run(self, node_limit: float = np.inf) -> Status:
        """Search until proven, stopped or out of nodes."""
        if self.tracker.objective <= 0.0:
            return "optimal"
        self.prefix = np.zeros(len(self.problem.y), np.int64)
        self.alive = True
        clear_bank(self.bank)
        load_rows(node_of(self.bank, 0), np.zeros(len(self.prefix), np.int8))
        if not self._settle():
            return self._stopped(self.value())
        self.report_bound(self.value())
        self.improve()
        self.descend()
        while True:
            lowest = self.heap[0][0] if self.heap else np.inf
            current = self.value() if self.alive else np.inf
            self.report_bound(min(lowest, current))
            if min(lowest, current) >= self.cutoff():
                return "optimal" if self.abandoned >= self.cutoff() else "stalled"
            if self.tracker.stop():
                return self._stopped(min(lowest, current))
            if self.nodes >= node_limit:
                return "node_limit"
            if self.alive and self.check is not None:
                self.check.look(self)
            self.alive = self._expand() if self.alive else self._pop()

    def _stopped(self, penalised: float) -> Status:
        self.report_bound(penalised)
        return "cancelled" if self.tracker.cancelled else "time_limit"

    def _settle(self, cold: bool = False) -> bool:
        """Solve the current QPs to the end; False if stopped.

        With ``cold``, QPs that rounding spoilt are solved once more from scratch.
        """
        code = solve_all_chunks(self.bank, self.data, self.chunk)
        if code == OPTIMAL or (code == GAVE_UP and not cold):
            return True
        return all(self._settle_node(node, cold) for node in range(self.problem.n_nodes))

    def _settle_node(self, node: int, cold: bool) -> bool:
        for _ in range(2):
            code = solve_chunk(self.bank, self.data, node, np.inf, self.chunk)
            while code == PIVOT_LIMIT:
                if self.tracker.stop():
                    return False
                code = solve_chunk(self.bank, self.data, node, np.inf, self.chunk)
            if code != GAVE_UP or not cold:
                break
            restart_node(self.bank, self.prefix, node)
        return True

    def _pop(self) -> bool:
        bound, _, prefix, packed = heapq.heappop(self.heap)
        if bound >= self.cutoff():
            return False
        self.prefix = prefix.astype(np.int64)
        unpack(self.bank, self.data, self.prefix, packed)
        if not self._settle():
            self._push(bound, prefix, packed)
            return False
        return self.value() < self.cutoff()

    def _push(self, bound: float, prefix: NDArray[Any], packed: NDArray[np.uint8]) -> None:
        self.serial += 1
        heapq.heappush(self.heap, (bound, self.serial, prefix.astype(np.int8), packed))

    def _expand(self) -> bool:
        """Process the current state; True when a state to continue with is in place."""
        ignored = SHARE * self.problem.gap * self.tracker.objective / len(self.prefix)
        arguments = (self.bank, self.data, self.prefix, self.desk, self.problem.n_upper)
        code = process(*arguments, self.cutoff(), ignored, self.rounds)
        if code == AGAIN:
            return True
        self.nodes += 1
        if code == PRUNED or self._is_closed_exactly():
            self._drop()
            return False
        if code == COMPLETE:
            return self._finish_complete()
        if self.nodes <= EAGER_STATES or self.nodes % EVERY == 0:
            self.descend()
        return self._split()

    def _split(self) -> bool:
        far_prefix = np.empty_like(self.prefix)
        packed = np.zeros((self.problem.n_nodes, (2 * len(self.prefix) + 3) // 4), np.uint8)
        arguments = (self.bank, self.pair, self.data, self.prefix)
        far, near = branch(*arguments, self.cutoff(), self.desk.choice, far_prefix, packed)
        if far < np.inf:
            self._push(far, far_prefix, packed)
        return near and self._dive(self.value())

    def _dive(self, bound: float) -> bool:
        """Go on with the nearer side, unless its bound has climbed too far above the best one."""
        if self.heap:
            lowest = self.heap[0][0]
            if bound > lowest + _DIVE * (self.tracker.objective - lowest):
                packed = np.zeros((self.problem.n_nodes, (2 * len(self.prefix) + 3) // 4), np.uint8)
                pack(self.bank, packed)
                self._push(bound, self.prefix, packed)
                return False
        return True

    def _finish_complete(self) -> bool:
        """A state whose planes already route all samples without further cost."""
        settled = self._settle(cold=True)
        if settled:
            self.descend()
        if self.value() >= self.cutoff():
            self._drop()
            return False
        if settled and self._choose_nearest():
            return self._split()
        exact = self._close_routing(self.prefix)
        if exact < self.finished():
            self.abandoned = min(self.abandoned, max(self.value(), exact + self.correction()))
        self._drop()
        return False

    def _drop(self) -> None:
        """Called with every state that is closed where it stands; a proof log writes it."""

    def _is_closed_exactly(self) -> bool:
        """Whether a state that only its bias penalties keep open is closed without them."""
        value = self.value()
        return self.finished() <= value < self.cutoff() and self._exact_bound() >= self.finished()

    def _exact_bound(self) -> float:
        """Bound of the current state by cold solves without bias penalties."""
        total = 0.0
        for node in range(self.problem.n_nodes):
            found = self.solve_node(node_membership(self.prefix, node), node)
            total += found.bound
        return total

    def _close_routing(self, routing: NDArray[np.int64]) -> float:
        """Bound of a complete routing by cold solves; its tree is offered."""
        nodes = range(self.problem.n_nodes)
        found = [self.solve_node(node_membership(routing, node), node) for node in nodes]
        planes = Planes(
            np.array([one.plane.weights for one in found]),
            np.array([one.plane.bias for one in found]),
        )
        if self.keeps_routing(planes, routing):
            self.tracker.offer(self.objective(planes, routing), planes, routing, "search")
        return sum(one.bound for one in found)

    def _choose_nearest(self) -> bool:
        """Choose the free sample nearest to its plane; for states that rounding left open."""
        free = np.flatnonzero(self.prefix < self.problem.n_upper)
        if len(free) == 0:
            return False
        distance = np.abs(self.bank.score[self.prefix[free], free])
        self.desk.choice[0] = free[np.argmin(distance)]
        score = self.bank.score[self.prefix[self.desk.choice[0]], self.desk.choice[0]]
        self.desk.choice[1] = 1 if score >= 0.0 else -1
        return True
