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

import numpy as np
from numpy.typing import NDArray

from octcore.numerics.node_qp import CUTOFF, GAVE_UP, PIVOT_LIMIT, TOLERANCE, load_rows
from octcore.numerics.qp_factor import N_PIVOTS, new_bank, node_of
from octcore.numerics.qp_plane import (
    bias_scale,
    chunk_pivots,
    padded_rows,
    plane_of,
    routing_tolerance,
    solve_node_plane,
)
from octcore.numerics.qp_reference import NodePlane
from octcore.search.routing_branching import AGAIN, COMPLETE, PRUNED, branch, process
from octcore.search.routing_incumbent import Tracker
from octcore.search.routing_records import (
    Planes,
    RoutingProblem,
    Status,
)
from octcore.search.routing_start import (
    class_routing,
    node_membership,
    node_solver,
    rerouted,
    svm_planes,
    tree_objective,
)
from octcore.search.routing_state import (
    SearchData,
    clear_bank,
    lower_bound,
    pack,
    restart_node,
    route_by_planes,
    solve_chunk,
    start_evaluation,
    unpack,
)

# Share of the gap that the bias penalty, and the unpaid rest of a complete state, may use.
_SHARE = 0.1
# Route by the current planes in each of the first states, then in every tenth.
_EAGER_STATES, _EVERY = 200, 10
# Leave a dive when its bound has climbed this far from the best open bound to the incumbent.
_DIVE = 0.5
_ROUNDING_LIMIT = 3e9


class RoutingSearch:
    """One run of the search on merged rows; see `routing_search`."""

    def __init__(
        self,
        problem: RoutingProblem,
        tracker: Tracker,
        feature_masks: NDArray[np.bool_] | None = None,
    ) -> None:
        self.problem = problem
        self.tracker = tracker
        self.penalties = problem.penalties(np.asarray(problem.weights, float))
        self.masks = feature_masks
        self.nodes = 0
        self.seen: set[bytes] = set()
        self.abandoned = np.inf
        self.bound = 0.0

    # -- setting up ---------------------------------------------------------------------------

    def start(self) -> None:
        """First incumbents; fixes the bias scale and makes the QPs."""
        problem = self.problem
        plain = replace(problem, variant="margot")
        solve = node_solver(plain, problem.x, problem.y, self.penalties, self.tracker.stop)
        planes, routing = svm_planes(problem.x, problem.y, problem.depth, problem.epsilon, solve)
        objective = tree_objective(problem.x, problem.y, self.penalties, planes, routing)
        self.tracker.offer(objective, planes, routing, "warm start")
        self._allocate()
        clear_bank(self.warm)
        self.try_routing(routing, "warm start")
        self.try_routing(class_routing(problem.y, problem.depth), "warm start")

    def _allocate(self) -> None:
        problem, n = self.problem, len(self.problem.y)
        centred = problem.x - problem.x.mean(axis=0)
        self.radius = self._radius(centred)
        largest = float(self.penalties.max())
        error = _SHARE * problem.gap / problem.n_nodes
        scale = bias_scale(self.tracker.objective, self.radius, largest, error, _ROUNDING_LIMIT)
        rows = padded_rows(problem.x, scale)
        self.rows = rows
        layers, layer = self._layers(rows)
        self.scale = scale
        self.data = SearchData(
            x=layers,
            layer=layer,
            y=problem.y.astype(float),
            upper=self.penalties,
            constants=np.array([problem.epsilon, 0.0, self._tolerance(scale)]),
            twin=_twins(problem.x),
        )
        width, dims = rows.shape[1], problem.x.shape[1] + 1
        self.bank, self.pair, self.complete, self.warm = (
            new_bank(problem.n_nodes, n, dims, width) for _ in range(4)
        )
        self.trial = new_bank(1, n, dims, width)
        self.chunk = chunk_pivots(n, width)
        self.pseudo = np.zeros((4, n))
        self.choice = np.zeros(2, np.int64)
        self.rounds = max(1, min(8, 40_000_000 // (n * dims * dims * 8)))

    def _radius(self, centred: NDArray[np.float64]) -> float:
        """Largest norm of a row over the features that one plane may use."""
        radius = float(np.linalg.norm(centred, axis=1).max())
        if self.problem.variant == "hfs":
            budget = int(self.problem.budgets().max())
            radius = min(radius, float(np.sqrt(budget) * np.abs(centred).max()))
        return radius

    def _tolerance(self, scale: float) -> float:
        """Row violation above the rounding of a bias that is a sum of large multipliers."""
        rounding = 4e-16 * scale**2 * float(self.penalties.max())
        return float(np.clip(rounding, TOLERANCE, 1e-4))

    def _layers(self, rows: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        if self.masks is None:
            return rows[None], np.zeros(self.problem.n_nodes, np.int64)
        layers = np.repeat(rows[None], self.problem.n_nodes, axis=0)
        for node, mask in enumerate(self.masks):
            layers[node][:, : len(mask)] *= mask
        return layers, np.arange(self.problem.n_nodes)

    # -- bounds -------------------------------------------------------------------------------

    def correction(self) -> float:
        """Most that the bias penalties of a tree worth the incumbent can add to its value.

        Every node of an optimal tree may keep its bias at a kink, so ``|b_t| <= 1 + R ||w_t||``
        with ``sum ||w_t||^2 <= 2 UB``; squares are summed by Cauchy's inequality.
        """
        count, value = self.problem.n_nodes, 2.0 * self.tracker.objective
        squares = count + 2.0 * self.radius * np.sqrt(count * value) + self.radius**2 * value
        return float(squares / (2.0 * self.scale**2))

    def cutoff(self) -> float:
        """Penalised value from which a state cannot hold a tree better than the gap allows."""
        return self.tracker.objective * (1.0 - self.problem.gap) + self.correction()

    def report_bound(self, penalised: float) -> None:
        """Publish the global bound that belongs to a penalised one."""
        allowed = min(penalised, self.abandoned) - self.correction()
        finished = self.tracker.objective * (1.0 - self.problem.gap)
        self.bound = max(self.bound, min(allowed, finished))
        self.tracker.bound(self.bound, self.nodes)

    # -- incumbents ---------------------------------------------------------------------------

    def try_routing(self, routing: NDArray[np.int64], source: str) -> bool:
        """Solve the node QPs of a routing and keep the tree if it is better."""
        key = routing.astype(np.int8).tobytes()
        if key in self.seen:
            return False
        self.seen.add(key)
        start_evaluation(self.complete, self.warm, routing)
        cutoff = self.tracker.objective + self.correction()
        for node in range(self.problem.n_nodes - 1, -1, -1):
            while True:
                rest = lower_bound(self.complete) - self.complete.value[node, 0]
                limit = cutoff - rest
                code = solve_chunk(self.complete, self.data, node, limit, self.chunk)
                if code == CUTOFF:
                    return False
                if code != PIVOT_LIMIT:
                    break
                if self.tracker.stop():
                    self.seen.discard(key)
                    return False
        return self._accept(routing, source)

    def _accept(self, routing: NDArray[np.int64], source: str) -> bool:
        problem = self.problem
        p = problem.x.shape[1]
        weights, biases = np.zeros((problem.n_nodes, p)), np.zeros(problem.n_nodes)
        for node in range(problem.n_nodes):
            sides = node_membership(routing, node)
            here = sides < 2
            if not here.any():
                biases[node] = -1.0 if node % 2 == 1 else 1.0
                continue
            vector = self.complete.vector[node]
            x, y, upper = problem.x[here], problem.y[here], self.penalties[node, here]
            routed = sides[here] if node < problem.n_upper else None
            if routed is None and y.max() == y.min():
                biases[node] = y[0]
                continue
            rows = (x, y, upper, routed, problem.epsilon)
            plane = plane_of(vector[:p], *rows)
            if routed is not None and _missed(plane, x, routed, problem.epsilon):
                plane = solve_node_plane(*rows, self.tracker.stop)
                if _missed(plane, x, routed, problem.epsilon):
                    return False
            weights[node], biases[node] = plane.weights, plane.bias
        planes = Planes(weights, biases)
        objective = tree_objective(problem.x, problem.y, self.penalties, planes, routing)
        return self.tracker.offer(objective, planes, routing, source)

    def polish(self) -> None:
        """Replace the incumbent's planes by accurate ones for the same routing."""
        problem, routing = self.problem, self.tracker.routing
        weights, biases = self.tracker.planes.weights.copy(), self.tracker.planes.biases.copy()
        for node in range(problem.n_nodes):
            sides = node_membership(routing, node)
            here = sides < 2
            x, y, upper = problem.x[here], problem.y[here], self.penalties[node, here]
            if not here.any() or (node >= problem.n_upper and y.max() == y.min()):
                continue
            routed = sides[here] if node < problem.n_upper else None
            plane = solve_node_plane(x, y, upper, routed, problem.epsilon, self.tracker.stop)
            if routed is None or not _missed(plane, x, routed, problem.epsilon):
                weights[node], biases[node] = plane.weights, plane.bias
        planes = Planes(weights, biases)
        objective = tree_objective(problem.x, problem.y, self.penalties, planes, routing)
        self.tracker.offer(objective, planes, routing, "polish")

    def improve(self) -> None:
        """Alternate re-routing and re-solving while the incumbent falls."""
        clear_bank(self.warm)
        problem, better = self.problem, True
        while better and not self.tracker.stop():
            planes, routing = self.tracker.planes, self.tracker.routing
            better = False
            for moved in rerouted(problem.x, problem.y, self.penalties, planes, routing):
                before = self.tracker.objective
                self.try_routing(moved, "search")
                if self.tracker.objective < before * (1.0 - 1e-6):
                    better = True
                    break

    def descend(self) -> None:
        """Route the current state by its planes, then improve."""
        routing = route_by_planes(self.bank, self.data, self.prefix, self.problem.n_upper)
        kept, self.warm = self.warm, self.bank
        better = self.try_routing(routing, "search")
        self.warm = kept
        if better:
            self.improve()

    # -- the tree of states -------------------------------------------------------------------

    def run(self, node_limit: float = np.inf) -> Status:
        """Search until proven, stopped or out of nodes."""
        if self.tracker.objective <= 0.0:
            return "optimal"
        self.prefix = np.zeros(len(self.problem.y), np.int64)
        clear_bank(self.bank)
        load_rows(node_of(self.bank, 0), np.zeros(len(self.prefix), np.int8))
        if not self._settle():
            return self._stopped(lower_bound(self.bank))
        self.report_bound(lower_bound(self.bank))
        self.improve()
        self.descend()
        self.heap: list[tuple[float, int, NDArray[np.int8], NDArray[np.uint8]]] = []
        alive = True
        while True:
            lowest = self.heap[0][0] if self.heap else np.inf
            current = lower_bound(self.bank) if alive else np.inf
            self.report_bound(min(lowest, current))
            if min(lowest, current) >= self.cutoff():
                return "optimal" if self.abandoned >= self.cutoff() else "stalled"
            if self.tracker.stop():
                return self._stopped(min(lowest, current))
            if self.nodes >= node_limit:
                return "node_limit"
            if not alive:
                alive = self._pop()
                continue
            alive = self._expand()

    def _stopped(self, penalised: float) -> Status:
        self.report_bound(penalised)
        return "cancelled" if self.tracker.cancelled else "time_limit"

    def _settle(self, cold: bool = False) -> bool:
        """Solve the current QPs to the end; False if stopped.

        With ``cold``, QPs that rounding spoilt are solved once more from scratch.
        """
        for node in range(self.problem.n_nodes):
            for _ in range(2):
                code = PIVOT_LIMIT
                while code == PIVOT_LIMIT:
                    code = solve_chunk(self.bank, self.data, node, np.inf, self.chunk)
                    if code == PIVOT_LIMIT and self.tracker.stop():
                        return False
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
            heapq.heappush(self.heap, (bound, -self.nodes, prefix, packed))
            return False
        return lower_bound(self.bank) < self.cutoff()

    def _push(self, bound: float, prefix: NDArray[np.int64], packed: NDArray[np.uint8]) -> None:
        heapq.heappush(self.heap, (bound, self.nodes, prefix.astype(np.int8), packed))

    def _expand(self) -> bool:
        """Process the current state; True when a state to continue with is in place."""
        ignored = _SHARE * self.problem.gap * self.tracker.objective / len(self.prefix)
        arguments = (self.bank, self.trial, self.data, self.prefix, self.problem.n_upper)
        cutoff = self.cutoff()
        code = process(*arguments, cutoff, ignored, self.pseudo, self.choice, self.rounds)
        if code == AGAIN:
            return True
        self.nodes += 1
        if code == PRUNED:
            return False
        if code == COMPLETE:
            return self._finish_complete()
        if self.nodes <= _EAGER_STATES or self.nodes % _EVERY == 0:
            self.descend()
        return self._split()

    def _split(self) -> bool:
        far_prefix = np.empty_like(self.prefix)
        packed = np.zeros((self.problem.n_nodes, (2 * len(self.prefix) + 3) // 4), np.uint8)
        arguments = (self.bank, self.pair, self.data, self.prefix)
        far, near = branch(*arguments, self.cutoff(), self.choice, far_prefix, packed)
        if far < np.inf:
            self._push(far, far_prefix, packed)
        if not near:
            return False
        bound = lower_bound(self.bank)
        if self.heap:
            lowest = self.heap[0][0]
            if bound > lowest + _DIVE * (self.tracker.objective - lowest):
                packed = np.zeros_like(packed)
                pack(self.bank, packed)
                self._push(bound, self.prefix, packed)
                return False
        return True

    def _finish_complete(self) -> bool:
        """A state whose planes already route all samples without further cost."""
        settled = self._settle(cold=True)
        if settled:
            self.descend()
        if lower_bound(self.bank) >= self.cutoff():
            return False
        if settled and self._choose_nearest():
            return self._split()
        self.abandoned = min(self.abandoned, lower_bound(self.bank))
        return False

    def _choose_nearest(self) -> bool:
        """Choose the free sample nearest to its plane; for states that rounding left open."""
        free = np.flatnonzero(self.prefix < self.problem.n_upper)
        if len(free) == 0:
            return False
        distance = np.abs(self.bank.score[self.prefix[free], free])
        self.choice[0] = free[np.argmin(distance)]
        score = self.bank.score[self.prefix[self.choice[0]], self.choice[0]]
        self.choice[1] = 1 if score >= 0.0 else -1
        return True

    def pivots(self) -> int:
        """Pivots over all banks."""
        banks = (self.bank, self.pair, self.complete, self.warm, self.trial)
        return int(sum(bank.count[:, N_PIVOTS].sum() for bank in banks))


def _missed(
    plane: NodePlane, x: NDArray[np.float64], routed: NDArray[np.int8], epsilon: float
) -> bool:
    """Whether a plane misses a routing row by more than the tolerance."""
    score = x @ plane.weights + plane.bias
    return bool(
        np.where(routed < 0, score + epsilon, -score).max() > routing_tolerance(plane.weights)
    )


def _twins(x: NDArray[np.float64]) -> NDArray[np.int64]:
    """Position of the other row with equal features, or -1 (equal rows are merged per label)."""
    _, inverse = np.unique(x, axis=0, return_inverse=True)
    twin = np.full(len(x), -1, np.int64)
    first: dict[int, int] = {}
    for sample, group in enumerate(inverse.ravel().tolist()):
        if group in first:
            other = first[group]
            twin[sample], twin[other] = other, sample
        first[group] = sample
    return twin
