"""Slow independent solution of a node QP by an interior point method."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from octcore.errors import EngineError
from octcore.numerics.node_qp.plane import NodePlane
from tests.referee.convex import clarabel


def solve_node_qp_reference(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    upper: NDArray[np.float64],
    sides: NDArray[np.int8] | None = None,
    epsilon: float = 1e-3,
) -> NodePlane:
    """Solve the problem of `octcore.numerics.node_qp.plane.NodeProblem` with Clarabel."""
    if len(y) == 0:
        return NodePlane(np.zeros(x.shape[1]), 0.0, 0.0)
    side = np.zeros(len(y), np.int8) if sides is None else np.asarray(sides, np.int8)
    weights, bias = _clarabel(np.asarray(x, float), y, upper, side, epsilon)
    hinge = np.maximum(0.0, 1.0 - y * (x @ weights + bias))
    return NodePlane(weights, bias, float(0.5 * weights @ weights + upper @ hinge))


def _rows(
    x: NDArray[np.float64], y: NDArray[np.float64], side: NDArray[np.int8], epsilon: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Rows ``a.(w, b, xi) >= r`` of the problem: hinge rows, then routing rows."""
    n = len(y)
    ones = np.ones((n, 1))
    hinge = np.hstack([y[:, None] * x, y[:, None] * ones, np.eye(n)])
    routed = np.flatnonzero(side)
    sign = side[routed, None].astype(float)
    route = np.hstack([sign * x[routed], sign, np.zeros((len(routed), n))])
    right = np.concatenate([np.ones(n), np.where(side[routed] < 0, epsilon, 0.0)])
    return np.vstack([hinge, route]), right


def _clarabel(
    x: NDArray[np.float64],
    y: NDArray[np.float64],
    upper: NDArray[np.float64],
    side: NDArray[np.int8],
    epsilon: float,
) -> tuple[NDArray[np.float64], float]:
    n, p = x.shape
    rows, right = _rows(x, y, side, epsilon)
    rows = np.vstack([rows, np.hstack([np.zeros((n, p + 1)), np.eye(n)])])
    right = np.concatenate([right, np.zeros(n)])
    scale = float(upper.max()) or 1.0  # all rows may weigh nothing
    quadratic = sparse.diags(np.r_[np.full(p, 1.0 / scale), np.zeros(1 + n)], format="csc")
    linear = np.r_[np.zeros(p + 1), upper / scale]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    cones = [clarabel.NonnegativeConeT(len(right))]
    problem = clarabel.DefaultSolver(
        quadratic, linear, sparse.csc_matrix(-rows), -right, cones, settings
    )
    solution = problem.solve()
    if "Solved" not in str(solution.status):
        raise EngineError(
            "NODE_QP_FAILED",
            f"Clarabel ended a node QP with {n} samples as {solution.status}; "
            "check that the routing is separable.",
        )
    point = np.asarray(solution.x)
    return point[:p], float(point[p])
