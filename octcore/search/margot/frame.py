"""What the routing searches share: arrays, the bound of a state, incumbents and their planes.

The bound of a state is that of its node QPs, whose biases carry a small penalty; the most that
the penalties can amount to is subtracted before a bound is published.
"""

from collections.abc import Callable
from math import sqrt
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from octcore.numerics.node_qp.plane import (
    NodePlane,
    NodeProblem,
    NodeSolution,
    bias_scale,
    chunk_pivots,
    padded_rows,
)
from octcore.numerics.node_qp.rows import NO_PRODUCTS, NodeQp, new_bank
from octcore.numerics.node_qp.solver import CUTOFF, PIVOT_LIMIT, TOLERANCE
from octcore.search.margot import records
from octcore.search.margot.branching import new_desk, process
from octcore.search.margot.start import node_membership, own_side, rerouted, tree_objective
from octcore.search.margot.state import (
    SearchData,
    clear_bank,
    lower_bound,
    pack,
    route_by_planes,
    solve_chunk,
    start_evaluation,
    unpack,
)

# Share of the gap that the bias penalty, and the unpaid rest of a complete state, may use.
SHARE = 0.1
# The scale of the bias squared times the largest penalty stays below this, so that a violation is
# rounded to 1e-6 at most, see `allocate`; cold solves, which polish, have a smaller limit.
_ROUNDING_LIMIT = 3e9
# Effort only: decide a feature where the budget costs a lower node this share of the room.
_FEATURE_SHARE = 0.2
_MOST_PRODUCTS = 1_500  # rows whose inner products are kept: 18 megabytes


class RoutingFrame:
    """What the searches with and without feature budgets share, on merged rows."""

    check: ClassVar[Callable[[Any], None] | None] = None
    """Is shown every state with its search: the tests compare sampled bounds there."""

    states: records.OpenStates
    inherited: float = 0.0
    """Bound of the current state when it was made, where its QPs may not show it."""

    def __init__(self, problem: records.RoutingProblem, tracker: records.Tracker) -> None:
        self.problem = problem
        self.tracker = tracker
        self.penalties = problem.penalties()
        shape = problem.n_nodes, problem.x.shape[1]
        # Features that every plane of the current state is charged for, and those it may use.
        self.kept, self.allowed = np.zeros(shape, bool), np.ones(shape, bool)
        self.has_budgets = problem.variant != "margot"
        self.budgets, self.price = problem.budgets(), problem.price
        self.nodes: int = 0
        self.seen: set[bytes] = set()
        self.bound = 0.0
        # Least bound of states that rounding kept from being decided, without bias penalties.
        self.abandoned = np.inf
        self.prefix = np.zeros(len(problem.y), np.int64)
        # Searches of all threads, the one that began first.
        self.team: list[RoutingFrame] = [self]

    def allocate(self) -> None:
        """Fix the bias scale by the incumbent and make the QPs."""
        problem, n = self.problem, len(self.problem.y)
        self.radius = self._radius(problem.x - problem.x.mean(axis=0))
        largest = float(self.penalties.max())
        error = SHARE * problem.gap / problem.n_nodes
        scale = bias_scale(self.tracker.objective, self.radius, largest, error, _ROUNDING_LIMIT)
        self.scale, self.rows = scale, padded_rows(problem.x, scale)
        # Under budgets nodes see different features, each in a layer of rows of its own.
        layer = np.arange(problem.n_nodes) if self.has_budgets else np.zeros(problem.n_nodes, int)
        # Twice the rounding of a double, of such a bias; a tenth of the usual strip at most.
        tolerance = np.clip(4e-16 * scale**2 * largest, TOLERANCE, 1e-4)
        self.data = SearchData(
            x=np.repeat(self.rows[None], layer[-1] + 1, axis=0),
            layer=layer,
            y=problem.y.astype(float),
            upper=self.penalties,
            constants=np.array([problem.epsilon, 0.0, tolerance]),
            products=self._products(self.rows),
            twin=_twins(problem.x),
            trail=np.full(self._trail_length(), -1, np.int64),
        )
        width, dims = self.rows.shape[1], problem.x.shape[1] + 1
        self.chunk = chunk_pivots(n, width)
        # Rounds of fixing, each up to so many multiplications, between two looks at the clock.
        self.rounds = max(1, min(8, 40_000_000 // (n * dims * dims * 8)))
        self.make_banks()

    def make_banks(self) -> None:
        """Make what the kernels write on; a thread has its own."""
        n, width = self.rows.shape
        dims = self.problem.x.shape[1] + 1
        self.bank, self.pair, self.complete, self.warm = (
            new_bank(self.problem.n_nodes, n, dims, width) for _ in range(4)
        )
        for bank in (self.bank, self.warm):
            clear_bank(bank)
        self.current = self.bank
        self.desk = new_desk(n, dims, width)
        self.data = self.data._replace(trail=self.data.trail.copy())

    def _trail_length(self) -> int:
        """Room to keep the samples that the kernels move; only a proof asks for them."""
        return 2

    def _radius(self, centred: NDArray[np.float64]) -> float:
        """Largest norm of a row over the features that one plane may use."""
        radius = float(np.linalg.norm(centred, axis=1).max())
        if self.problem.variant == "hfs":
            budget = int(self.problem.budgets().max())
            radius = min(radius, float(np.sqrt(budget) * np.abs(centred).max()))
        return radius

    def _products(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        """Inner products of all rows, where there are not too many to be kept at hand."""
        if self.has_budgets or len(rows) > _MOST_PRODUCTS:
            return NO_PRODUCTS
        features = rows[:, : self.problem.x.shape[1]]
        return features @ features.T

    def packed(self, bank: NodeQp) -> NDArray[np.uint8]:
        """Row statuses of QPs, as they are stored with a state."""
        stored = np.zeros((len(bank.value), (2 * len(self.prefix) + 3) // 4), np.uint8)
        pack(bank, stored)
        return stored

    def restore(self, state: records.OpenState) -> None:
        """Take up a state."""
        self.prefix = state.prefix.astype(np.int64)
        if state.masks is not None:
            p, before = self.problem.x.shape[1], self.allowed
            self.kept, self.allowed = state.masks
            for node in np.flatnonzero((self.allowed != before).any(axis=1)):
                self.data.x[node, :, :p] = self.rows[:, :p] * self.allowed[node]
        unpack(self.bank, self.data, self.prefix, state.packed)

    def keep_open(
        self, bound: float, prefix: NDArray[np.int64], bank: NodeQp, **beside: Any
    ) -> None:
        """Put a state with the QPs of a bank among the open ones, with what else it consists of."""
        self.states.push(bound, prefix, self.packed(bank), **(beside or self.beside()))

    def beside(self) -> dict[str, Any]:
        """What the current state consists of beside prefixes and QPs, see `OpenState`."""
        return {"masks": (self.kept, self.allowed)} if self.has_budgets else {}

    def process(self, rounds: int) -> int:
        """Fix what can be fixed in the current state and choose a branching, see `branching`."""
        arguments = (self.bank, self.data, self.prefix, self.desk, self.problem.n_upper)
        return process(*arguments, self.cutoff(), self.ignored(), rounds)

    def ignored(self) -> float:
        """What a sample may pay below without being a candidate."""
        return SHARE * self.problem.gap * self.tracker.objective / len(self.prefix)

    def choose_nearest(self) -> bool:
        """Choose the free sample nearest to its plane; for states that rounding left open."""
        free = np.flatnonzero(self.prefix < self.problem.n_upper)
        return nearest(self.bank.score[self.prefix[free], free], free, self.desk.choice)

    def biting_node(self, costs: NDArray[np.float64], room: float, has_choice: bool) -> int | None:
        """Node where a feature is decided next, as its budget costs enough of a room; None if none.

        A node of the last level has to cost more, unless there is no sample to branch on.
        """
        node = 0 if costs[0] > 0.01 * room else int(np.argmax(costs))
        share = _FEATURE_SHARE if has_choice and node >= self.problem.n_upper else 0.0
        return node if costs[node] > share * room else None

    def feature_sides(
        self, node: int, chosen: NDArray[np.bool_]
    ) -> tuple[tuple[records.Masks, records.Masks], tuple[records.Masks, records.Masks]]:
        """Features kept and allowed where a node uses its heaviest one of some, and does not."""
        weight = np.abs(self.bank.vector[node, : len(chosen)]) + 1e-12
        feature = int(np.argmax(weight * chosen))
        inside, among, outside = self.kept.copy(), self.allowed.copy(), self.allowed.copy()
        inside[node, feature], outside[node, feature] = True, False
        # A hard budget that is used up leaves the node only what it keeps.
        if self.price == np.inf and inside[node].sum() >= self.budgets[node]:
            among[node] = inside[node]
        return (inside, among), (self.kept, outside)

    def value(self) -> float:
        """Bound of the current state with its bias penalties."""
        return max(self.inherited, sum(self.bank.value[:, 0].tolist()))

    def correction(self) -> float:
        """Most that the bias penalties of a tree worth the incumbent can add to its value.

        Every node of an optimal tree may keep its bias at a kink, so ``|b_t| <= 1 + R ||w_t||``
        with ``sum ||w_t||^2 <= 2 UB``; squares are summed by Cauchy's inequality.
        """
        count, value = self.problem.n_nodes, 2.0 * self.tracker.objective
        squares = count + 2.0 * self.radius * sqrt(count * value) + self.radius**2 * value
        return float(squares / (2.0 * self.scale**2))

    def cutoff(self) -> float:
        """Penalised value from which a state cannot hold a tree better than the gap allows."""
        return self.finished() + self.correction()

    def finished(self) -> float:
        """Value from which a state cannot hold a tree better than the gap allows."""
        return self.tracker.objective * (1.0 - self.problem.gap)

    def report_bound(self, penalised: float) -> None:
        """Publish the global bound that belongs to a penalised one."""
        allowed = min(penalised - self.correction(), self.least_abandoned())
        self.bound = max(self.bound, min(allowed, self.finished()))
        self.tracker.bound(self.bound)

    def try_routing(self, routing: NDArray[np.int64], source: str) -> bool:
        """Solve the node QPs of a routing and keep the tree if it is better."""
        key = routing.astype(np.int8).tobytes()
        if key in self.seen:
            return False
        self.seen.add(key)
        start_evaluation(self.complete, self.warm, routing)
        # Dual values and bias penalties included, a better tree stays below.
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
        nodes = range(self.problem.n_nodes)
        planes = records.Planes.of([self._warm_plane(routing, node) for node in nodes])
        return self.keeps_routing(planes, routing) and self.offer(planes, routing, source)

    def _warm_plane(self, routing: NDArray[np.int64], node: int) -> NodePlane:
        """Plane of a complete routing by its warm QP; by a cold one where rounding spoilt it."""
        sides = node_membership(routing, node)
        qp = self.qp(sides, node)
        if len(qp.y) and (node < self.problem.n_upper or qp.y.max() != qp.y.min()):
            plane = qp.plane(self.complete.vector[node, : qp.x.shape[1]])
            if not qp.misses(plane):
                return plane
        return self.solve_node(sides, node).plane

    def offer(self, planes: records.Planes, routing: NDArray[np.int64], source: str) -> bool:
        """Keep a tree if it is better."""
        objective = tree_objective(self.problem, planes, routing)
        return self.tracker.offer(objective, planes, routing, source)

    def qp(self, sides: NDArray[np.int8], node: int) -> NodeProblem:
        """QP of a node from plain arrays, with ``sides`` as in `node_membership`."""
        here, problem = np.flatnonzero(sides < 2), self.problem
        rows = np.ascontiguousarray(problem.x[here]), problem.y[here], self.penalties[node, here]
        return NodeProblem(*rows, sides[here], problem.epsilon, self.tracker.stop)

    def solve_node(
        self, sides: NDArray[np.int8], node: int, columns: NDArray[np.int64] | None = None
    ) -> NodeSolution:
        """Solve the QP of a node from scratch, over some features or all of them.

        A node without rows sends them to its own side.
        """
        if not (sides < 2).any():
            zero, none = np.zeros(self.problem.x.shape[1]), np.zeros(0)
            return NodeSolution(NodePlane(zero, own_side(node), 0.0), 0.0, zero, none)
        return self.qp(sides, node).solve(columns)

    def solve_nodes(self, prefix: NDArray[np.int64]) -> list[NodeSolution]:
        """Solve the QPs of a state from scratch, over the features that are allowed now."""
        return [
            self.solve_node(
                node_membership(prefix, node),
                node,
                np.flatnonzero(self.allowed[node]) if self.has_budgets else None,
            )
            for node in range(self.problem.n_nodes)
        ]

    def keeps_routing(self, planes: records.Planes, routing: NDArray[np.int64]) -> bool:
        """Whether planes send every sample where a complete routing says."""
        return not any(
            self.qp(node_membership(routing, node), node).misses(
                NodePlane(planes.weights[node], float(planes.biases[node]), 0.0)
            )
            for node in range(self.problem.n_upper)
        )

    def polish(self) -> None:
        """Replace the incumbent's planes by accurate ones for the same routing and features."""
        routing = self.tracker.routing
        weights, biases = self.tracker.planes.weights.copy(), self.tracker.planes.biases.copy()
        for node in range(self.problem.n_nodes):
            sides, columns = node_membership(routing, node), np.arange(weights.shape[1])
            if self.has_budgets:  # features that cost no other price
                columns = np.flatnonzero(self.tracker.planes.weights[node])
            if (sides < 2).any() and len(columns):
                qp = self.qp(sides, node)
                plane = qp.solve(columns).plane
                if not qp.misses(plane):
                    weights[node], biases[node] = plane.weights, plane.bias
        self.offer(records.Planes(weights, biases), routing, "polish")

    def improve(self) -> None:
        """Alternate re-routing and re-solving while the incumbent falls."""
        clear_bank(self.warm)
        better = True
        while better and not self.tracker.stop():
            planes, routing = self.tracker.planes, self.tracker.routing
            better = False
            for moved in rerouted(self.problem, planes, routing):
                before = self.tracker.objective
                self.try_routing(moved, "search")
                if self.tracker.objective < before * (1.0 - 1e-6):
                    better = True
                    break

    def descend(self) -> None:
        """Route the current state by its planes, then improve."""
        routing = self.prefix.copy()
        route_by_planes(self.bank, self.data, routing, self.problem.n_upper)
        kept, self.warm = self.warm, self.bank
        better = self.try_routing(routing, "search")
        self.warm = kept
        if better:
            self.improve()

    def least_abandoned(self) -> float:
        """Least bound, without bias penalties, of the states that no thread could decide."""
        return min(one.abandoned for one in self.team)


def nearest(
    scores: NDArray[np.float64], samples: NDArray[np.int64], choice: NDArray[np.int64]
) -> bool:
    """Choose the sample of the smallest score and the side where it lies; False without any."""
    if len(samples):
        first = int(np.argmin(np.abs(scores)))
        choice[:] = samples[first], 1 if scores[first] >= 0.0 else -1
    return len(samples) > 0


def _twins(x: NDArray[np.float64]) -> NDArray[np.int64]:
    """Position of the other row with equal features, or -1 (equal rows are merged per label)."""
    group = np.unique(x, axis=0, return_inverse=True)[1].ravel()
    order, twin = np.argsort(group, kind="stable"), np.full(len(x), -1, np.int64)
    is_pair = group[order[1:]] == group[order[:-1]]
    one, other = order[:-1][is_pair], order[1:][is_pair]
    twin[one], twin[other] = other, one
    return twin
