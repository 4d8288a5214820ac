"""Small linear and quadratic programs whose answers are checked primal against dual.

A solver's multipliers are made feasible by hand and give a lower bound; its plane is made feasible
and gives an upper bound.  An answer counts only when the two meet; otherwise `Undecided` is raised
and nobody may draw a conclusion.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import clarabel as _clarabel
import numpy as np
from scipy import sparse
from scipy.optimize import linprog

clarabel: Any = _clarabel
"""The package has no type hints."""
AGREEMENT = 1e-6
"""Relative distance of primal and dual values that counts as solved."""


class Undecided(Exception):
    """Primal and dual values are too far apart, or a model refuses such weights."""


@dataclass(frozen=True, eq=False)
class Plane:
    """A plane ``w.x + b`` and what it costs.

    Parameters
    ----------
    value : float
        Cost; infinite when there is no plane.
    weights : numpy.ndarray
        w, shape ``(n_columns,)``.
    bias : float
        b.
    """

    value: float
    weights: np.ndarray
    bias: float


def agree(upper: float, lower: float, scale: float = 0.0) -> float:
    """Return the upper value if the lower one proves it.

    Raises
    ------
    Undecided
        If they are too far apart.
    """
    if upper - lower > AGREEMENT * max(abs(upper), 1e-3, scale):
        raise Undecided(f"primal {upper}, dual {lower}")
    return upper


# Strips between two sets


def strip_width(left: np.ndarray, right: np.ndarray) -> float:
    """Widest empty strip between two sets for weights of 1-norm 1; not positive when they mix."""
    p = left.shape[1]
    if p == 0:
        return 0.0
    # columns: a+, a-, b, width; a.left + width <= b <= a.right
    rows = np.vstack(
        [
            np.column_stack([left, -left, -np.ones(len(left)), np.ones(len(left))]),
            np.column_stack([-right, right, np.ones(len(right)), np.zeros(len(right))]),
            np.append(np.ones(2 * p), [0.0, 0.0])[None, :],
        ]
    )
    limits = np.append(np.zeros(len(left) + len(right)), 1.0)
    bounds = [(0, None)] * (2 * p) + [(None, None)] * 2
    found = linprog(np.append(np.zeros(2 * p + 1), -1.0), rows, limits, bounds=bounds)
    if found.status != 0:
        raise Undecided(found.message)
    a = found.x[:p] - found.x[p : 2 * p]
    a /= max(1.0, float(np.abs(a).sum()))
    lower = max(0.0, float((right @ a).min() - (left @ a).max()))
    q = np.maximum(0.0, -found.ineqlin.marginals[:-1])
    first, second = q[: len(left)], q[len(left) :]
    meeting = first @ left / first.sum() - second @ right / second.sum()
    return agree(float(np.abs(meeting).max()), lower, 1e-2)


# Support vector machines at one node


def svm_plane(
    x: np.ndarray,
    y: np.ndarray,
    cost: np.ndarray,
    sides: np.ndarray | None = None,
    epsilon: float = 0.0,
) -> Plane:
    """Least ``1/2 ||w||^2 + sum_i cost_i max(0, 1 - y_i (w.x_i + b))`` with rows kept to sides.

    Parameters
    ----------
    x : numpy.ndarray
        Rows, shape ``(n_rows, n_columns)``.
    y : numpy.ndarray
        Signs, shape ``(n_rows,)``.
    cost : numpy.ndarray
        Price of slack per row.
    sides : numpy.ndarray or None
        -1: score at most -epsilon, +1: score not negative; None leaves all rows free.
    epsilon : float
        Width of the strip that stays empty.
    """
    n, p = x.shape
    if sides is not None and (sides < 0).any() and (sides > 0).any():
        if strip_width(x[sides < 0], x[sides > 0]) <= 1e-9:
            return Plane(np.inf, np.zeros(p), 0.0)
    matrix, limits = _svm_rows(x, y, sides, epsilon)
    failure = Undecided("no solution")
    for scale in (1.0, max(1.0, float(cost.max(initial=1.0))) ** 0.5, 100.0):
        quadratic = sparse.csc_matrix(
            (np.full(p, 1.0 / scale), (range(p), range(p))), shape=(p + 1 + n,) * 2
        )
        linear = np.concatenate([np.zeros(p + 1), cost / scale])
        solution = _conic(quadratic, linear, matrix, limits)
        if solution is None:
            continue
        point, duals = solution
        plane = feasible_plane(point[:p], x, y, cost, sides, epsilon)
        try:
            lower = _svm_bound(duals * scale, x, y, cost, sides, epsilon)
            return Plane(agree(plane.value, lower), plane.weights, plane.bias)
        except Undecided as undecided:
            failure = undecided
    raise failure


def _svm_rows(
    x: np.ndarray, y: np.ndarray, sides: np.ndarray | None, epsilon: float
) -> tuple[sparse.csc_matrix, np.ndarray]:
    """Rows ``A (w, b, xi) <= limits``: hinges, slacks, sides."""
    n, p = x.shape
    blocks = [
        np.hstack([-(y[:, None] * x), -y[:, None], -np.eye(n)]),
        np.hstack([np.zeros((n, p + 1)), -np.eye(n)]),
    ]
    limits = [-np.ones(n), np.zeros(n)]
    if sides is not None:
        s = sides.astype(float)
        blocks.append(np.hstack([-(s[:, None] * x), -s[:, None], np.zeros((n, n))]))
        limits.append(np.where(s < 0, -epsilon, 0.0))
    return sparse.csc_matrix(np.vstack(blocks)), np.concatenate(limits)


def _conic(
    quadratic: sparse.csc_matrix, linear: np.ndarray, matrix: sparse.csc_matrix, limits: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    settings.max_iter = 200
    cones = [clarabel.NonnegativeConeT(len(limits))]
    solver = clarabel.DefaultSolver(
        sparse.triu(quadratic, format="csc"), linear, matrix, limits, cones, settings
    )
    found = solver.solve()
    point, duals = np.array(found.x), np.array(found.z)
    if not np.isfinite(point).all() or not np.isfinite(duals).all():
        return None
    return point, np.maximum(duals, 0.0)


def feasible_plane(
    w: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    cost: np.ndarray,
    sides: np.ndarray | None,
    epsilon: float,
) -> Plane:
    """Scale w until its strip is wide enough, then take the best b."""
    score = x @ w
    low, high = -np.inf, np.inf
    if sides is not None:
        left, right = score[sides < 0], score[sides > 0]
        if len(left) and len(right):
            width = right.min() - left.max()
            if width <= 0:
                return Plane(np.inf, w, 0.0)
            w = w * max(1.0, epsilon / width)
            score = x @ w
            left, right = score[sides < 0], score[sides > 0]
        if len(right):
            low = -right.min()
        if len(left):
            high = max(low, -epsilon - left.max())
    candidates = np.clip(np.concatenate([y - score, [low, high, 0.0]]), low, high)
    candidates = np.unique(candidates[np.isfinite(candidates)])
    slack = np.maximum(0.0, 1.0 - y * (score[None, :] + candidates[:, None]))
    totals = slack @ cost
    best = int(totals.argmin())
    return Plane(float(w @ w / 2 + totals[best]), w, float(candidates[best]))


def _svm_bound(
    duals: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    cost: np.ndarray,
    sides: np.ndarray | None,
    epsilon: float,
) -> float:
    """Weak duality with multipliers made feasible: capped by the costs, and balanced."""
    n = len(y)
    alpha = np.minimum(duals[:n], cost)
    routed = np.zeros(n) if sides is None else duals[2 * n :]
    s = np.zeros(n) if sides is None else sides.astype(float)
    alpha, routed = balanced(alpha, routed, y, s)
    v = (alpha * y) @ x + (routed * s) @ x
    return float(alpha.sum() + epsilon * routed[s < 0].sum() - v @ v / 2)


def balanced(
    alpha: np.ndarray, routed: np.ndarray, y: np.ndarray, s: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Shrink the heavier side until the multipliers of both signs add up to the same."""
    sums = {sign: float(alpha[y * sign > 0].sum() + routed[s * sign > 0].sum()) for sign in (1, -1)}
    heavy = 1 if sums[1] > sums[-1] else -1
    factor = sums[-heavy] / sums[heavy] if sums[heavy] > 0 else 1.0
    return (
        np.where(y * heavy > 0, alpha * factor, alpha),
        np.where(s * heavy > 0, routed * factor, routed),
    )


def svm_plane_l1(
    x: np.ndarray,
    y: np.ndarray,
    cost: np.ndarray,
    sides: np.ndarray | None = None,
    epsilon: float = 0.0,
) -> Plane:
    """Least ``1/2 ||w||_1`` plus slacks; arguments as `svm_plane`."""
    n, p = x.shape
    matrix, limits = _svm_rows(x, y, sides, epsilon)
    matrix = matrix.toarray()
    rows = np.hstack([matrix[:, :p], -matrix[:, :p], matrix[:, p:]])
    keep = np.r_[0:n, 2 * n : len(rows)]  # slacks are bounded below by their bounds
    found = linprog(
        np.concatenate([np.full(2 * p, 0.5), [0.0], cost]),
        rows[keep],
        limits[keep],
        bounds=[(0, None)] * (2 * p) + [(None, None)] + [(0, None)] * n,
    )
    if found.status == 2:
        return Plane(np.inf, np.zeros(p), 0.0)
    if found.status != 0:
        raise Undecided(found.message)
    lower = float(found.ineqlin.marginals @ limits[keep])
    value = agree(float(found.fun), lower)
    return Plane(value, found.x[:p] - found.x[p : 2 * p], float(found.x[2 * p]))


# Margins of SVM1-ODT at one node


def missing_margin(
    left: np.ndarray,
    right: np.ndarray,
    others: np.ndarray,
    weights: np.ndarray,
    prices: tuple[float, float],
    epsilon: float,
    distance: float,
    reach: float,
) -> float:
    """Least price of missing margins and 1-norm of a plane ``h.x <= g`` between two sets.

    Parameters
    ----------
    left, right, others : numpy.ndarray
        Rows that go left, right, and elsewhere.
    weights : numpy.ndarray
        Of the left rows, then of the right rows.
    prices : tuple of float
        Of a missing margin and of the 1-norm.
    epsilon, distance, reach : float
        Wanted margin, least distance of right rows, largest score of any row.
    """
    p, n = left.shape[1], len(left) + len(right)
    everything = np.vstack([left, right, others])
    score = np.column_stack([-everything, everything, np.ones(len(everything))])
    score = np.column_stack([score, np.zeros((len(everything), n))])
    own = np.vstack([score[: len(left)], -score[len(left) : n]])
    margin = own.copy()
    margin[:, 2 * p + 1 :] += np.eye(n)
    least = np.append(np.zeros(len(left)), np.full(len(right), distance))
    rows = np.vstack([-own, -margin, score, -score])
    limits = np.concatenate([-least, np.full(n, -epsilon), np.full(2 * len(everything), reach)])
    found = linprog(
        np.concatenate([np.full(2 * p, prices[1]), [0.0], prices[0] * weights]),
        rows,
        limits,
        bounds=[(0, None)] * (2 * p) + [(None, None)] + [(0, None)] * n,
    )
    if found.status == 2:
        return np.inf
    if found.status != 0:
        raise Undecided(found.message)
    return agree(float(found.fun), float(found.ineqlin.marginals @ limits))
