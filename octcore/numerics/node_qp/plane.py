"""Node QPs from plain arrays: one cold solve, its plane, and the best bias of a plane."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from octcore.numerics.node_qp.factor import NodeData, new_bank, node_of
from octcore.numerics.node_qp.rows import load_rows, refactor
from octcore.numerics.node_qp.solver import PIVOT_LIMIT, TOLERANCE, solve_node

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
    solve_node_plane(x, y, np.ones(3), np.array([-1, -1, 1], np.int8))


def bias_scale(
    value: float,
    radius: float,
    largest_penalty: float,
    error: float,
    rounding_limit: float = ROUNDING_LIMIT,
) -> float:
    """Constant feature BIG that keeps the bias penalty below ``error * value``.

    An optimal plane of a problem worth at most ``value`` has ``||w|| <= sqrt(2 value)``, and its
    bias can be chosen at a kink, so ``|b| <= 1 + ||w|| radius`` for centred rows of that radius
    (their largest Euclidean norm).

    `largest_penalty`: of a sample.
    `rounding_limit`: largest product of BIG squared and the largest penalty.
    """
    bias = 1.0 + np.sqrt(2.0 * value) * radius
    wanted = bias / np.sqrt(2.0 * error * max(value, 1e-12))
    allowed = np.sqrt(rounding_limit / max(largest_penalty, 1.0))
    # Beside squares of more than 3e4 the other columns would have less than seven digits.
    return float(max(min(wanted, allowed, 3e4), 10.0))


def chunk_pivots(n_samples: int, width: int) -> int:
    """Pivots that take some hundredths of a second."""
    return max(10, 20_000_000 // (n_samples * width + 4 * width * width))


def padded_rows(x: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """Centred rows with the bias column, padded with zeros to a multiple of four."""
    n, p = x.shape
    rows = np.zeros((n, (p + 4) // 4 * 4))
    rows[:, :p] = x - x.mean(axis=0)
    rows[:, p] = scale
    return rows


def best_bias(
    score: NDArray[np.float64],
    y: NDArray[np.float64],
    upper: NDArray[np.float64],
    low: float = -np.inf,
    high: float = np.inf,
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

    weights: NDArray[np.float64]
    bias: float
    value: float


@dataclass(frozen=True)
class NodeSolution:
    """Plane of a node with what proves it."""

    plane: NodePlane  # best plane found; its value is recomputed from it
    bound: float
    """Dual value of multipliers whose bias terms cancel: below the value of every plane that keeps
    the routing rows."""
    vector: NDArray[np.float64]  # weights that belong to those multipliers, shape ``(n_features,)``
    multipliers: NDArray[np.float64]
    """Of the slack rows, then the routing rows, before their bias terms are made to cancel."""

    def spread(self, columns: NDArray[np.int64], n_features: int) -> "NodeSolution":
        """Return the solution over some features as one over all."""
        weights, vector = np.zeros(n_features), np.zeros(n_features)
        weights[columns], vector[columns] = self.plane.weights, self.vector
        return replace(self, plane=replace(self.plane, weights=weights), vector=vector)


def solve_node_plane(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    upper: NDArray[np.float64],
    sides: NDArray[np.int8] | None = None,
    epsilon: float = 1e-3,
    stop: Callable[[], bool] | None = None,
    columns: NDArray[np.int64] | None = None,
) -> NodeSolution:
    """Solve one node QP: soft-margin rows for all samples, routing rows where a side is given.

    The bias penalty is centred at the last bias until it is negligible; where large penalties
    leave plane and bound apart, smaller bias scales, which rounding hurts less, are tried too.

    `x`, `y`: samples that pass through the node, and their labels -1 and +1.
    `upper`: penalty of each sample (C times its weight).
    `sides`: -1 (score at most -epsilon), +1 (score at least 0) or 0 (not routed), by sample.
    `stop`: asked between chunks of work; when it says so, the plane reached is returned (its value
    is recomputed, but it need not be optimal or respect the routing rows).
    `columns`: features that the plane may use; all by default.
    """
    n, p = x.shape
    if columns is not None:
        some = np.ascontiguousarray(x[:, columns])
        return solve_node_plane(some, y, upper, sides, epsilon, stop).spread(columns, p)
    if n == 0 or (y.max() == y.min() and sides is None):
        plane = NodePlane(np.zeros(p), float(y[0]) if n else 0.0, 0.0)
        return NodeSolution(plane, 0.0, plane.weights, np.zeros(2 * n))
    radius = float(np.linalg.norm(x - x.mean(axis=0), axis=1).max())
    minority = min(upper[y > 0].sum(), upper[y < 0].sum()) if sides is None else upper.sum()
    wanted = bias_scale(2.0 * float(minority), radius, float(upper.max()), BIAS_ERROR)

    def is_missed(plane: NodePlane) -> bool:
        return misses(plane, x, sides, epsilon)

    best: NodeSolution | None = None
    tries = [(wanted, TOLERANCE), *((s, _FINE) for s in _SMALL_SCALES if s < wanted)]
    for scale, tolerance in tries:
        centre = (
            0.0 if best is None else best.plane.bias + float(x.mean(axis=0) @ best.plane.weights)
        )
        for found in _centred(x, y, upper, sides, epsilon, scale, tolerance, centre, stop):
            best = found if best is None else _tighter(best, found, is_missed)
        assert best is not None
        if _is_settled(best, is_missed) or (stop is not None and stop()):
            break
    assert best is not None
    return best


def _centred(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    upper: NDArray[np.float64],
    sides: NDArray[np.int8] | None,
    epsilon: float,
    scale: float,
    tolerance: float,
    offset: float,
    stop: Callable[[], bool] | None,
) -> Iterator[NodeSolution]:
    """Solutions at one bias scale, each with the penalty centred at the bias of the last."""
    n, p = x.shape
    rows = padded_rows(x, scale)
    qp = node_of(new_bank(1, n, p + 1, rows.shape[1]), 0)
    load_rows(qp, np.zeros(n, np.int8) if sides is None else np.asarray(sides, np.int8))
    chunk = chunk_pivots(n, rows.shape[1])
    for turn in range(_CENTRING_ROUNDS):
        constants = np.array([epsilon, offset, tolerance])
        data = NodeData(rows, y.astype(float), upper.astype(float), constants)
        if turn > 0:
            refactor(qp, data)
        stopped = False
        while not stopped and solve_node(qp, data, np.inf, chunk) == PIVOT_LIMIT:
            stopped = stop is not None and stop()
        change = scale * float(qp.vector[p])
        offset += change
        plane = plane_of(qp.vector[:p], x, y, upper, sides, epsilon)
        hinge, route = qp.multiplier[:n], qp.multiplier[n:]
        dual = balanced_dual(x, y, sides, epsilon, hinge, route)
        yield NodeSolution(plane, *dual, qp.multiplier.copy())
        negligible = 2.0 * scale * scale * BIAS_ERROR * abs(float(qp.value[0]))
        if stopped or change * change <= negligible:
            return


def balanced_dual(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    sides: NDArray[np.int8] | None,
    epsilon: float,
    hinge: NDArray[np.float64],
    route: NDArray[np.float64],
) -> tuple[float, NDArray[np.float64]]:
    """Lower bound of a node QP without any bias penalty, and its weights, at given multipliers.

    The bias is free, so the signed multipliers must sum to zero; those of the heavier sign are
    scaled down until they do, which keeps them feasible.

    `hinge`, `route`: multipliers of the slack rows (at most the penalties) and of the routing rows.
    """
    side = np.zeros(len(y)) if sides is None else sides.astype(float)
    slack, force = hinge * y, route * side
    right = slack[slack > 0].sum() + force[force > 0].sum()
    left = -slack[slack < 0].sum() - force[force < 0].sum()
    scale_right = min(1.0, left / right) if right > 0 else 1.0
    scale_left = min(1.0, right / left) if left > 0 else 1.0
    slack = slack * np.where(slack > 0, scale_right, scale_left)
    force = force * np.where(force > 0, scale_right, scale_left)
    # The sum is zero now, so that rows may be centred: only rounding is less.
    vector = (x - x.mean(axis=0)).T @ (slack + force)
    linear = float(np.abs(slack).sum() + epsilon * np.abs(force[side < 0]).sum())
    return linear - 0.5 * float(vector @ vector), vector


def _tighter(
    one: NodeSolution, other: NodeSolution, is_missed: Callable[[NodePlane], bool]
) -> NodeSolution:
    """Better bound of two solutions, and the plane whose value is nearest to it.

    A value below the bound is no better: its plane misses routing rows within the tolerance.
    """
    dual = other if other.bound > one.bound else one
    distance = [
        np.inf if is_missed(found.plane) else abs(found.plane.value - dual.bound)
        for found in (one, other)
    ]
    plane = other.plane if distance[1] < distance[0] else one.plane
    return NodeSolution(plane, dual.bound, dual.vector, dual.multipliers)


def _is_settled(found: NodeSolution, is_missed: Callable[[NodePlane], bool]) -> bool:
    """Whether plane and bound meet, or the bound says that no plane routes like this."""
    if is_missed(found.plane):
        return found.bound >= _NO_PLANE
    return abs(found.plane.value - found.bound) <= _TIGHT * found.plane.value


def misses(
    plane: NodePlane, x: NDArray[np.float64], sides: NDArray[np.int8] | None, epsilon: float
) -> bool:
    """Whether a plane misses a routing row by more than the tolerance."""
    if sides is None or not sides.any():
        return False
    score = x @ plane.weights + plane.bias
    missed = np.where(sides < 0, score + epsilon, -score)
    return bool(missed[sides != 0].max() > routing_tolerance(plane.weights))


def routing_tolerance(weights: NDArray[np.float64]) -> float:
    """Miss of a routing row that rounding may cause; well inside the usual strip of 1e-3."""
    return min(1e-4, 5e-6 + 1e-8 * float(np.linalg.norm(weights)))


def plane_of(
    weights: NDArray[np.float64],
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    upper: NDArray[np.float64],
    sides: NDArray[np.int8] | None,
    epsilon: float,
) -> NodePlane:
    """Plane of given weights with the best bias inside the routing rows.

    Where rounding leaves no bias that keeps all rows, the weights grow until the strip between both
    sides is wide enough: who judges the tree allows less than the solver.  If that is more than
    rounding, the middle of the conflict is taken.
    """
    score = x @ weights
    low, high = -np.inf, np.inf
    if sides is not None:
        low = float(np.max(-score[sides > 0], initial=-np.inf))
        high = float(np.min(-epsilon - score[sides < 0], initial=np.inf))
    if low > high:
        if low - high <= min(2.0 * routing_tolerance(weights), 0.5 * epsilon):
            wider = epsilon / (epsilon - (low - high))
            weights, score = wider * weights, wider * score
            low, high = wider * low, wider * (high + epsilon) - epsilon
        low = high = 0.5 * (low + high)
    bias = best_bias(score, y, upper, low, high)
    hinge = np.maximum(0.0, 1.0 - y * (score + bias))
    return NodePlane(weights.copy(), bias, float(0.5 * weights @ weights + upper @ hinge))
