"""Node QP with a feature budget: which few features may the plane of a node use.

Features beyond ``budget`` cost ``price`` each (infinite for a hard budget). Branch and bound on
"feature in / out": the QP over the allowed features gives multipliers whose dual value stays a
bound when every feature may either pay for itself or be dropped, because dropping feature j
raises the dual value by ``w_j^2 / 2``.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from octcore.numerics.node_qp.plane import routing_tolerance, solve_node_plane
from octcore.numerics.node_qp.reference import NodePlane

# Relative slack of the comparison with the incumbent, above the accuracy of a node value.
_SLACK = 1e-7


@dataclass(frozen=True)
class SparsePlane:
    """Best plane found; ``value`` includes the feature price, ``bound`` is below the optimum."""

    plane: NodePlane
    value: float
    bound: float

    @property
    def exact(self) -> bool:
        """Whether the plane is proven optimal."""
        return self.value <= self.bound * (1.0 + 10 * _SLACK) + 1e-12


@dataclass(frozen=True)
class SparseNode:
    """A node QP with a feature budget; arrays as in `solve_node_plane`."""

    x: NDArray[np.float64]
    y: NDArray[np.float64]
    upper: NDArray[np.float64]
    sides: NDArray[np.int8] | None
    epsilon: float
    budget: int
    price: float
    stop: Callable[[], bool] | None = None

    def solve(self, features: NDArray[np.int64]) -> NodePlane:
        """Plane over some features, with weights for all."""
        weights = np.zeros(self.x.shape[1])
        if len(features) == 0:
            return self._constant(weights)
        rows = np.ascontiguousarray(self.x[:, features])
        plane = solve_node_plane(rows, self.y, self.upper, self.sides, self.epsilon, self.stop)
        weights[features] = plane.weights
        if not self._feasible(plane, rows):
            return NodePlane(weights, plane.bias, np.inf)
        return NodePlane(weights, plane.bias, plane.value)

    def _constant(self, weights: NDArray[np.float64]) -> NodePlane:
        routed = np.zeros(len(self.y)) if self.sides is None else self.sides
        if routed.min() < 0 < routed.max():
            return NodePlane(weights, 0.0, np.inf)
        bias = 1.0 if self.upper[self.y > 0].sum() >= self.upper[self.y < 0].sum() else -1.0
        if routed.any():
            bias = max(bias, 0.0) if routed.max() > 0 else min(bias, -self.epsilon)
        value = float(self.upper @ np.maximum(0.0, 1.0 - self.y * bias))
        return NodePlane(weights, bias, value)

    def _feasible(self, plane: NodePlane, rows: NDArray[np.float64]) -> bool:
        if self.sides is None:
            return True
        score = rows @ plane.weights + plane.bias
        missed = np.where(self.sides < 0, score + self.epsilon, -score)
        return bool(missed[self.sides != 0].max(initial=0.0) <= routing_tolerance(plane.weights))

    def charge(self, n_features: int) -> float:
        """Price of a number of features."""
        beyond = max(0, n_features - self.budget)
        return beyond * self.price if beyond else 0.0


def solve_sparse_node(
    node: SparseNode,
    cutoff: float = np.inf,
    kept: NDArray[np.bool_] | None = None,
    allowed: NDArray[np.bool_] | None = None,
) -> SparsePlane:
    """Best plane under the feature budget.

    Parameters
    ----------
    node : SparseNode
        The problem; its ``stop`` ends the search early with the best plane so far.
    cutoff : float
        Planes worth this or more are of no interest.
    kept, allowed : ndarray of shape (n_features,), optional
        Features that are charged anyway, and those that may be used.
    """
    best = NodePlane(np.zeros(node.x.shape[1]), 0.0, np.inf)
    value = cutoff
    n_features = node.x.shape[1]
    first = np.zeros(n_features, bool) if kept is None else kept
    everything = np.ones(n_features, bool) if allowed is None else allowed
    heap: list[tuple[float, int, NDArray[np.bool_], NDArray[np.bool_]]] = []
    heapq.heappush(heap, (0.0, 0, first, everything))
    serial = 0
    while heap:
        bound, _, held, usable = heapq.heappop(heap)
        if bound >= value * (1.0 - _SLACK):
            return SparsePlane(best, value, value * (1.0 - _SLACK))
        if serial > 0 and node.stop is not None and node.stop():
            return SparsePlane(best, value, bound)
        relaxed, bound, chosen = _relax(node, held, usable)
        if bound >= value * (1.0 - _SLACK):
            continue
        plane = relaxed if np.array_equal(chosen, usable) else node.solve(np.flatnonzero(chosen))
        total = plane.value + node.charge(int(np.count_nonzero((plane.weights != 0) | first)))
        if total < value:
            best, value = plane, total
        free = np.flatnonzero(usable & ~held)
        if len(free) == 0 or bound >= value * (1.0 - _SLACK):
            continue
        feature = free[np.argmax(np.abs(relaxed.weights[free]))]
        inside, outside = held.copy(), usable.copy()
        inside[feature], outside[feature] = True, False
        full = node.price == np.inf and inside.sum() >= node.budget
        serial += 2
        heapq.heappush(heap, (bound, -serial, inside, inside.copy() if full else usable))
        heapq.heappush(heap, (bound, -serial + 1, held, outside))
    return SparsePlane(best, value, value * (1.0 - _SLACK))


def _relax(
    node: SparseNode, kept: NDArray[np.bool_], allowed: NDArray[np.bool_]
) -> tuple[NodePlane, float, NDArray[np.bool_]]:
    """Plane over all allowed features, its bound under the budget, and the features to try."""
    plane = node.solve(np.flatnonzero(allowed))
    if plane.value == np.inf:
        return plane, np.inf, kept
    worth = 0.5 * plane.weights**2
    free = np.flatnonzero(allowed & ~kept)
    order = free[np.argsort(-worth[free])]
    slots = max(0, node.budget - int(kept.sum()))
    rest = order[slots:]
    bound = plane.value + float(np.minimum(worth[rest], node.price).sum())
    chosen = kept.copy()
    chosen[order[:slots]] = True
    chosen[rest[worth[rest] > node.price]] = True
    return plane, bound + node.charge(int(kept.sum())), chosen
