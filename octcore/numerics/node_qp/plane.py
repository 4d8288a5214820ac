"""Node QPs from plain arrays: one cold solve, its plane, and the best bias of a plane."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from octcore.numerics.node_qp.factor import NodeData, new_bank, node_of
from octcore.numerics.node_qp.reference import NodePlane
from octcore.numerics.node_qp.rows import load_rows, refactor
from octcore.numerics.node_qp.solver import PIVOT_LIMIT, TOLERANCE, solve_node

# The bias penalty may lift a value by this fraction of it at most.
BIAS_ERROR = 1e-9
# Solves with the bias penalty centred at the last bias, until the penalty is negligible.
_CENTRING_ROUNDS = 10
# BIG^2 times the largest penalty stays below this, or rounding reaches the row tolerance.
ROUNDING_LIMIT = 1e7


def bias_scale(
    value: float,
    radius: float,
    largest_penalty: float,
    error: float,
    rounding_limit: float = ROUNDING_LIMIT,
) -> float:
    """Constant feature BIG that keeps the bias penalty below ``error * value``.

    An optimal plane of a problem worth at most ``value`` has ``||w|| <= sqrt(2 value)``, and its
    bias can be chosen at a kink, so ``|b| <= 1 + ||w|| radius`` for centred rows of that radius.

    Parameters
    ----------
    value : float
        Upper bound of the objective.
    radius : float
        Largest Euclidean norm of a centred row.
    largest_penalty : float
        Largest penalty of a sample.
    error : float
        Accepted relative penalty.
    rounding_limit : float
        Largest product of BIG squared and the largest penalty.
    """
    bias = 1.0 + np.sqrt(2.0 * value) * radius
    wanted = bias / np.sqrt(2.0 * error * max(value, 1e-12))
    allowed = np.sqrt(rounding_limit / max(largest_penalty, 1.0))
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


def solve_node_plane(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    upper: NDArray[np.float64],
    sides: NDArray[np.int8] | None = None,
    epsilon: float = 1e-3,
    stop: Callable[[], bool] | None = None,
) -> NodePlane:
    """Solve one node QP by the fast kernel; arguments as `solve_node_qp_reference`.

    ``stop`` is asked between chunks of work; when it says so, the plane reached is returned
    (its value is recomputed, but it need not be optimal or respect the routing rows).
    """
    n, p = x.shape
    if n == 0 or (y.max() == y.min() and sides is None):
        return NodePlane(np.zeros(p), float(y[0]) if n else 0.0, 0.0)
    radius = float(np.linalg.norm(x - x.mean(axis=0), axis=1).max())
    minority = min(upper[y > 0].sum(), upper[y < 0].sum()) if sides is None else upper.sum()
    scale = bias_scale(2.0 * float(minority), radius, float(upper.max()), BIAS_ERROR)
    rows = padded_rows(x, scale)
    bank = new_bank(1, n, p + 1, rows.shape[1])
    qp = node_of(bank, 0)
    routed = np.zeros(n, np.int8) if sides is None else np.asarray(sides, np.int8)
    offset = 0.0
    for turn in range(_CENTRING_ROUNDS):
        constants = np.array([epsilon, offset, TOLERANCE])
        data = NodeData(rows, y.astype(float), upper.astype(float), constants)
        if turn == 0:
            load_rows(qp, routed)
        else:
            refactor(qp, data)
        chunk = chunk_pivots(n, rows.shape[1])
        while solve_node(qp, data, np.inf, chunk) == PIVOT_LIMIT:
            if stop is not None and stop():
                turn = _CENTRING_ROUNDS
                break
        change = scale * float(qp.vector[p])
        offset += change
        if turn == _CENTRING_ROUNDS or change * change <= 2.0 * scale * scale * BIAS_ERROR * abs(
            float(qp.value[0])
        ):
            break
    return plane_of(qp.vector[:p], x, y, upper, sides, epsilon)


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

    Where rounding leaves no bias that keeps all rows, the middle of the conflict is taken.
    """
    score = x @ weights
    low, high = -np.inf, np.inf
    if sides is not None:
        low = float(np.max(-score[sides > 0], initial=-np.inf))
        high = float(np.min(-epsilon - score[sides < 0], initial=np.inf))
    if low > high:
        low = high = 0.5 * (low + high)
    bias = best_bias(score, y, upper, low, high)
    hinge = np.maximum(0.0, 1.0 - y * (score + bias))
    return NodePlane(weights.copy(), bias, float(0.5 * weights @ weights + upper @ hinge))
