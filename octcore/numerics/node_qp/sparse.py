"""Node QP with a feature budget: which few features may the plane of a node use.

Features beyond ``budget`` cost ``price`` each (infinite for a hard budget). Branch and bound on
"feature in / out": the QP over the allowed features gives multipliers whose dual value stays a
bound when every feature may either pay for itself or be dropped, because dropping feature j
raises the dual value by ``w_j^2 / 2``. `sparse_bound` does so inside a kernel, on the warm QP of
the routing search: depth first, features kept before they are forbidden.
"""

import heapq
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from octcore.numerics.node_qp.plane import NodePlane, NodeProblem, NodeSolution
from octcore.numerics.node_qp.rows import allocating_kernel, refactor
from octcore.numerics.node_qp.solver import solve_node

SLACK = 1e-7  # relative slack of comparisons, above the accuracy of a node value
_PIVOTS = np.int64(2_000)  # of one solve; beyond them its bound is valid but not yet the best
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


@allocating_kernel
def mask_rows(rows, x, usable):
    """Rows with the features that may not be used set to zero."""
    for i in range(rows.shape[0]):
        for j in range(usable.shape[0]):
            rows[i, j] = x[i, j] if usable[j] else 0.0


@allocating_kernel
def budget_rest(vector, held, usable, slots, price):
    """Least price of bringing the free features down to ``slots``: forbid them or pay."""
    worth = np.zeros(held.shape[0])
    count = 0
    for j in range(held.shape[0]):
        if usable[j] and not held[j]:
            worth[count] = min(0.5 * vector[j] * vector[j], price)
            count += 1
    if count <= slots:
        return 0.0
    ordered = np.sort(worth[:count])
    total = 0.0
    for k in range(count - slots):
        total += ordered[k]
    return total


@allocating_kernel
def heaviest_free(vector, held, usable):
    """Free feature of largest weight and the number of free features."""
    best, chosen, count = -1.0, -1, 0
    for j in range(held.shape[0]):
        if usable[j] and not held[j]:
            count += 1
            if abs(vector[j]) > best:
                best, chosen = abs(vector[j]), j
    return chosen, count


@allocating_kernel
def sparse_bound(qp, data, x, kept, allowed, budget, price, cutoff, steps, chosen):
    """Bound of the node problem over all ways to respect the budget; at least ``cutoff`` if so.

    ``qp`` holds the rows of the node with any multipliers, ``data.x`` is overwritten by masked
    copies of ``x``, ``kept`` features are charged anyway, ``allowed`` ones may be used. The
    features of the best choice found are written to ``chosen``. After ``steps`` solves the bound
    of what is left counts, so that callers can poll.
    """
    p = kept.shape[0]
    held_of, usable_of = np.zeros((2 * p + 3, p), np.bool_), np.zeros((2 * p + 3, p), np.bool_)
    inherited = np.zeros(2 * p + 3)
    held_of[0], usable_of[0] = kept, allowed
    depth, best, lowest = 1, cutoff, np.inf
    chosen[:] = kept
    for _ in range(steps):
        if depth == 0:
            return lowest
        depth -= 1
        held, usable = held_of[depth].copy(), usable_of[depth].copy()
        # What is closed unsolved enters the answer by its bound, so that nothing is lost.
        if inherited[depth] >= best * (1.0 - SLACK):
            lowest = min(lowest, inherited[depth])
            continue
        mask_rows(data.x, x, usable)
        refactor(qp, data)
        used = 0
        for j in range(p):
            used += held[j]
        charge = (used - budget) * price if used > budget else 0.0
        solve_node(qp, data, best - charge, _PIVOTS)
        slots = max(0, budget - used)
        bound = qp.value[0] + charge + budget_rest(qp.vector, held, usable, slots, price)
        bound = max(bound, inherited[depth])
        feature, free = heaviest_free(qp.vector, held, usable)
        if bound >= best * (1.0 - SLACK):
            lowest = min(lowest, bound)
            continue
        if free <= slots:
            best, lowest = bound, min(lowest, bound)
            chosen[:] = usable
            continue
        held_of[depth], usable_of[depth], inherited[depth] = held, usable, bound
        usable_of[depth, feature] = False
        held_of[depth + 1], usable_of[depth + 1], inherited[depth + 1] = held, usable, bound
        held_of[depth + 1, feature] = True
        if price == np.inf and used + 1 >= budget:  # the budget is used up: no other feature
            usable_of[depth + 1] = held_of[depth + 1]
        depth += 2
    for position in range(depth):
        lowest = min(lowest, inherited[position])
    return lowest
