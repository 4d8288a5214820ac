"""Node QPs from plain arrays: one cold solve, its plane, and the best bias of a plane."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from octcore.numerics.node_qp.rows import NodeData, load_rows, new_bank, node_of, refactor
from octcore.numerics.node_qp.solver import PIVOT_LIMIT, TOLERANCE, solve_node

FloatArray = NDArray[np.float64]

KERNELS = f"{__name__}:planes"
"""Set of kernels, see `octcore.numerics.kernels`: all that a cold solve of one node needs."""
BIAS_ERROR = 1e-9  # the bias penalty may lift a value by this fraction of it at most
# Solves with the bias penalty centred at the last bias, until the penalty is negligible.
_CENTRING_ROUNDS = 10
# BIG^2 times the largest penalty stays below this, or rounding reaches the row tolerance.
ROUNDING_LIMIT = 1e7
# Bias scales to try when plane and bound stay further apart than this share of the value.
_SMALL_SCALES = (100.0, 10.0, 1.0)
_FINE = 1e-9  # row tolerance at these scales, which can keep it
_TIGHT = 1e-7  # share of the value up to which plane and bound meet: as exact as the QP itself
_NO_PLANE = 1e9  # beyond this the kernel has followed a ray along which the dual grows without end


def compile_part(part: str) -> None:
    """Solve one small node with routing rows."""
    x, y = np.array([[0.0], [0.4], [1.0]]), np.array([-1.0, 1.0, 1.0])
    NodeProblem(x, y, np.ones(3), np.array([-1, -1, 1], np.int8)).solve()


def bias_scale(
    value: float, radius: float, largest_penalty: float, error: float, limit: float = ROUNDING_LIMIT
) -> float:
    """Constant feature BIG that keeps the bias penalty below ``error * value``.

    An optimal plane of a problem worth at most ``value`` has ``||w|| <= sqrt(2 value)``, and its
    bias can be chosen at a kink, so ``|b| <= 1 + ||w|| radius`` for centred rows of that radius
    (their largest Euclidean norm).

    `largest_penalty`: of a sample.
    `limit`: largest product of BIG squared and the largest penalty.
    """
    bias = 1.0 + np.sqrt(2.0 * value) * radius
    wanted = bias / np.sqrt(2.0 * error * max(value, 1e-12))
    allowed = np.sqrt(limit / max(largest_penalty, 1.0))
    # Beside squares of more than 3e4 the other columns would have less than seven digits.
    return float(max(min(wanted, allowed, 3e4), 10.0))


def chunk_pivots(n_samples: int, width: int) -> int:
    """Pivots that take some hundredths of a second."""
    return max(10, 20_000_000 // (n_samples * width + 4 * width * width))


def padded_rows(x: FloatArray, scale: float) -> FloatArray:
    """Centred rows with the bias column, padded with zeros to a multiple of four."""
    n, p = x.shape
    rows = np.zeros((n, (p + 4) // 4 * 4))
    rows[:, :p] = x - x.mean(axis=0)
    rows[:, p] = scale
    return rows


def best_bias(
    score: FloatArray, y: FloatArray, upper: FloatArray, low: float = -np.inf, high: float = np.inf
) -> float:
    """Bias in ``[low, high]`` that minimises the hinge loss of given scores ``w.x``.

    The loss is piecewise linear with kinks at ``y - score``; its slope starts at minus the
    weight of the positive samples and grows by a sample's weight at its kink. On a flat stretch
    the middle is taken.
    """
    kink = y - score
    order = np.argsort(kink)
    slope = np.cumsum(upper[order]) - upper[y > 0].sum()
    tiny = 1e-12 * max(1.0, float(upper.sum()))
    first = int(np.searchsorted(slope, -tiny))
    last = int(np.searchsorted(slope, tiny, side="right"))
    left = kink[order[min(first, len(kink) - 1)]]
    right = kink[order[min(last, len(kink) - 1)]]
    if y.max() == y.min():
        return float(np.clip(kink.max() if y[0] > 0 else kink.min(), low, high))
    return float(np.clip(0.5 * (left + right), low, high))


@dataclass(frozen=True)
class NodePlane:
    """Plane of one node and the value of its QP."""

    weights: FloatArray
    bias: float
    value: float


@dataclass(frozen=True)
class NodeSolution:
    """Plane of a node with what proves it."""

    plane: NodePlane  # best plane found; its value is recomputed from it
    bound: float
    """Dual value of multipliers whose bias terms cancel: below the value of every plane that keeps
    the routing rows."""
    vector: FloatArray  # weights that belong to those multipliers, shape ``(n_features,)``
    multipliers: FloatArray
    """Of the slack rows, then the routing rows, before their bias terms are made to cancel."""

    def spread(self, columns: NDArray[np.int64], n_features: int) -> "NodeSolution":
        """Return the solution over some features as one over all."""
        weights, vector = np.zeros(n_features), np.zeros(n_features)
        weights[columns], vector[columns] = self.plane.weights, self.vector
        return replace(self, plane=replace(self.plane, weights=weights), vector=vector)


@dataclass(frozen=True, eq=False)
class NodeProblem:
    """One node QP: soft-margin rows for all samples, routing rows where a side is given."""

    x: FloatArray
    y: FloatArray  # `x`, `y`: samples that pass through the node, and their labels -1 and +1
    upper: FloatArray  # penalty of each sample (C times its weight)
    sides: NDArray[np.int8]
    """-1 (score at most -epsilon), +1 (score at least 0) or 0 (not routed), by sample."""
    epsilon: float = 1e-3
    stop: Callable[[], bool] = lambda: False
    """Asked between chunks of work; when it says so, the plane reached is returned (its value is
    recomputed, but it need not be optimal or respect the routing rows)."""

    def solve(self, columns: NDArray[np.int64] | None = None) -> NodeSolution:
        """Solve over some features, all by default.

        The bias penalty is centred at the last bias until it is negligible; where large penalties
        leave plane and bound apart, smaller bias scales, which rounding hurts less, are tried too.
        """
        (n, p), y, upper = self.x.shape, self.y, self.upper
        if columns is not None:
            some = replace(self, x=np.ascontiguousarray(self.x[:, columns]))
            return some.solve().spread(columns, p)
        is_free = not self.sides.any()
        if n == 0 or (y.max() == y.min() and is_free):
            plane = NodePlane(np.zeros(p), float(y[0]) if n else 0.0, 0.0)
            return NodeSolution(plane, 0.0, plane.weights, np.zeros(2 * n))
        mean = self.x.mean(axis=0)
        radius = float(np.linalg.norm(self.x - mean, axis=1).max())
        minority = min(upper[y > 0].sum(), upper[y < 0].sum()) if is_free else upper.sum()
        wanted = bias_scale(2.0 * float(minority), radius, float(upper.max()), BIAS_ERROR)
        best: NodeSolution | None = None
        tries = [(wanted, TOLERANCE), *((s, _FINE) for s in _SMALL_SCALES if s < wanted)]
        for scale, tolerance in tries:
            centre = 0.0 if best is None else best.plane.bias + float(mean @ best.plane.weights)
            for found in self._centred(scale, tolerance, centre):
                best = found if best is None else self._tighter(best, found)
            assert best is not None
            if self._is_settled(best) or self.stop():
                break
        assert best is not None
        return best

    def _centred(self, scale: float, tolerance: float, offset: float) -> Iterator[NodeSolution]:
        """Solutions at one bias scale, each with the penalty centred at the bias of the last."""
        n, p = self.x.shape
        rows, given = padded_rows(self.x, scale), (self.y.astype(float), self.upper.astype(float))
        qp = node_of(new_bank(1, n, p + 1, rows.shape[1]), 0)
        load_rows(qp, self.sides)
        chunk = chunk_pivots(n, rows.shape[1])
        for turn in range(_CENTRING_ROUNDS):
            data = NodeData(rows, *given, np.array([self.epsilon, offset, tolerance]))
            if turn > 0:
                refactor(qp, data)
            stopped = False
            while not stopped and solve_node(qp, data, np.inf, chunk) == PIVOT_LIMIT:
                stopped = self.stop()
            change = scale * float(qp.vector[p])
            offset += change
            dual = self.dual(qp.multiplier[:n], qp.multiplier[n:])
            yield NodeSolution(self.plane(qp.vector[:p]), *dual, qp.multiplier.copy())
            negligible = 2.0 * scale * scale * BIAS_ERROR * abs(float(qp.value[0]))
            if stopped or change * change <= negligible:
                return

    def dual(self, hinge: FloatArray, route: FloatArray) -> tuple[float, FloatArray]:
        """Lower bound without any bias penalty, and its weights, at given multipliers.

        The bias is free, so the signed multipliers must sum to zero; those of the heavier sign are
        scaled down until they do, which keeps them feasible.

        `hinge`, `route`: of the slack rows (at most the penalties) and of the routing rows.
        """
        slack, force = hinge * self.y, route * self.sides
        right = slack[slack > 0].sum() + force[force > 0].sum()
        left = -slack[slack < 0].sum() - force[force < 0].sum()
        scale_right = min(1.0, left / right) if right > 0 else 1.0
        scale_left = min(1.0, right / left) if left > 0 else 1.0
        slack = slack * np.where(slack > 0, scale_right, scale_left)
        force = force * np.where(force > 0, scale_right, scale_left)
        # The sum is zero now, so that rows may be centred: only rounding is less.
        vector = (self.x - self.x.mean(axis=0)).T @ (slack + force)
        linear = float(np.abs(slack).sum() + self.epsilon * np.abs(force[self.sides < 0]).sum())
        return linear - 0.5 * float(vector @ vector), vector

    def _tighter(self, one: NodeSolution, other: NodeSolution) -> NodeSolution:
        """Better bound of two solutions, and the plane whose value is nearest to it.

        A value below the bound is no better: its plane misses routing rows within the tolerance.
        """
        dual = other if other.bound > one.bound else one
        distance = [
            np.inf if self.misses(found.plane) else abs(found.plane.value - dual.bound)
            for found in (one, other)
        ]
        return replace(dual, plane=other.plane if distance[1] < distance[0] else one.plane)

    def _is_settled(self, found: NodeSolution) -> bool:
        """Whether plane and bound meet, or the bound says that no plane routes like this."""
        if self.misses(found.plane):
            return found.bound >= _NO_PLANE
        return abs(found.plane.value - found.bound) <= _TIGHT * found.plane.value

    def misses(self, plane: NodePlane) -> bool:
        """Whether a plane misses a routing row by more than the tolerance."""
        score = self.x @ plane.weights + plane.bias
        missed = np.where(self.sides < 0, score + self.epsilon, -score)[self.sides != 0]
        return bool(missed.max(initial=0.0) > routing_tolerance(plane.weights))

    def plane(self, weights: FloatArray) -> NodePlane:
        """Plane of given weights with the best bias inside the routing rows.

        Where rounding leaves no bias that keeps all rows, the weights grow until the strip between
        both sides is wide enough: who judges the tree allows less than the solver.  If that is more
        than rounding, the middle of the conflict is taken.
        """
        score, sides, epsilon = self.x @ weights, self.sides, self.epsilon
        low = float(np.max(-score[sides > 0], initial=-np.inf))
        high = float(np.min(-epsilon - score[sides < 0], initial=np.inf))
        if low > high:
            if low - high <= min(2.0 * routing_tolerance(weights), 0.5 * epsilon):
                wider = epsilon / (epsilon - (low - high))
                weights, score = wider * weights, wider * score
                low, high = wider * low, wider * (high + epsilon) - epsilon
            low = high = 0.5 * (low + high)
        bias = best_bias(score, self.y, self.upper, low, high)
        hinge = np.maximum(0.0, 1.0 - self.y * (score + bias))
        return NodePlane(weights.copy(), bias, float(0.5 * weights @ weights + self.upper @ hinge))


def routing_tolerance(weights: FloatArray) -> float:
    """Miss of a routing row that rounding may cause; well inside the usual strip of 1e-3."""
    return min(1e-4, 5e-6 + 1e-8 * float(np.linalg.norm(weights)))
