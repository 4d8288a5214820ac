"""Node QP with a feature budget: which few features may the plane of a node use.

Features beyond ``budget`` cost ``price`` each (infinite for a hard budget). Branch and bound on
"feature in / out": the QP over the allowed features gives multipliers whose dual value stays a
bound when every feature may either pay for itself or be dropped, because dropping feature j
raises the dual value by ``w_j^2 / 2``.
"""

import heapq
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from octcore.numerics.node_qp.plane import NodePlane, NodeProblem, NodeSolution
from octcore.numerics.node_qp.sparse import SLACK

_NO_WEIGHT = 1e-7  # a weight below this share of the largest one is none


@dataclass(frozen=True)
class SparsePlane:
    """Best plane found; ``value`` includes the feature price, ``bound`` is below the optimum."""

    plane: NodePlane
    value: float
    bound: float


@dataclass(frozen=True)
class SparseNode:
    """A node QP with a feature budget."""

    qp: NodeProblem
    budget: int
    price: float

    def solve(self, features: NDArray[np.int64]) -> NodeSolution:
        """Solution over some features, with weights for all; no value where rows are missed.

        A weight that is nothing beside the largest one is rounding, not a use of its feature, so
        the plane is solved again without it.
        """
        if len(features) == 0:
            return self._constant()
        found = self.qp.solve(features)
        plane, size = found.plane, np.abs(found.plane.weights)
        used = np.flatnonzero(size > _NO_WEIGHT * size.max())
        if 0 < len(used) < len(features):
            fewer = self.solve(used)
            if fewer.plane.value < np.inf:
                return replace(found, plane=fewer.plane)
        value = np.inf if self.qp.misses(plane) else plane.value
        return replace(found, plane=replace(plane, value=value))

    def _constant(self) -> NodeSolution:
        y, upper, sides = self.qp.y, self.qp.upper, self.qp.sides
        weights, none = np.zeros(self.qp.x.shape[1]), np.zeros(2 * len(y))
        if sides.min() < 0 < sides.max():
            return NodeSolution(NodePlane(weights, 0.0, np.inf), np.inf, weights, none)
        bias = 1.0 if upper[y > 0].sum() >= upper[y < 0].sum() else -1.0
        if sides.any():
            bias = max(bias, 0.0) if sides.max() > 0 else min(bias, -self.qp.epsilon)
        value = float(upper @ np.maximum(0.0, 1.0 - y * bias))
        return NodeSolution(NodePlane(weights, bias, value), value, weights, none)

    def charge(self, n_features: int) -> float:
        """Price of a number of features."""
        beyond = max(0, n_features - self.budget)
        return beyond * self.price if beyond else 0.0  # the price may be infinite


def solve_sparse_node(
    node: SparseNode,
    cutoff: float = np.inf,
    kept: NDArray[np.bool_] | None = None,
    allowed: NDArray[np.bool_] | None = None,
) -> SparsePlane:
    """Best plane under the feature budget; its ``stop`` ends the search with the best plane so far.

    `cutoff`: planes worth this or more are of no interest.
    `kept`, `allowed`: masks of features that are charged anyway, and of those that may be used.
    """
    n_features = node.qp.x.shape[1]
    best = NodePlane(np.zeros(n_features), 0.0, np.inf)
    value, lowest = cutoff, np.inf
    first = np.zeros(n_features, bool) if kept is None else kept
    everything = np.ones(n_features, bool) if allowed is None else allowed
    heap: list[tuple[float, int, NDArray[np.bool_], NDArray[np.bool_]]] = []
    heapq.heappush(heap, (0.0, 0, first, everything))
    serial = 0
    while heap:
        bound, _, held, usable = heapq.heappop(heap)
        if bound >= value * (1.0 - SLACK):  # the least of the heap: what is left is no better
            return SparsePlane(best, value, min(lowest, value * (1.0 - SLACK)))
        if serial > 0 and node.qp.stop():
            return SparsePlane(best, value, min(lowest, bound))
        relaxed, bound, chosen = _relax(node, held, usable)
        if bound >= value * (1.0 - SLACK):  # `value` only falls, and the answer is no higher
            continue
        plane = relaxed.plane
        if not np.array_equal(chosen, usable):
            plane = node.solve(np.flatnonzero(chosen)).plane
        total = plane.value + node.charge(int(np.count_nonzero((plane.weights != 0) | first)))
        if total < value:
            best, value = plane, total
        free = np.flatnonzero(usable & ~held)
        if bound >= value * (1.0 - SLACK):
            continue
        if len(free) == 0:
            lowest = min(lowest, bound)
            continue
        feature = free[np.argmax(np.abs(relaxed.vector[free]))]
        inside, outside = held.copy(), usable.copy()
        inside[feature], outside[feature] = True, False
        full = node.price == np.inf and inside.sum() >= node.budget
        serial += 2
        heapq.heappush(heap, (bound, -serial, inside, inside.copy() if full else usable))
        heapq.heappush(heap, (bound, -serial + 1, held, outside))
    return SparsePlane(best, value, min(lowest, value * (1.0 - SLACK)))


def _relax(
    node: SparseNode, kept: NDArray[np.bool_], allowed: NDArray[np.bool_]
) -> tuple[NodeSolution, float, NDArray[np.bool_]]:
    """Solution over all allowed features, its bound under the budget, and the features to try."""
    relaxed = node.solve(np.flatnonzero(allowed))
    worth = 0.5 * relaxed.vector**2
    free = np.flatnonzero(allowed & ~kept)
    order = free[np.argsort(-worth[free])]
    slots = max(0, node.budget - int(kept.sum()))
    rest = order[slots:]
    bound = relaxed.bound + float(np.minimum(worth[rest], node.price).sum())
    chosen = kept.copy()
    chosen[order[:slots]] = True
    chosen[rest[worth[rest] > node.price]] = True
    return relaxed, bound + node.charge(int(kept.sum())), chosen
