"""Small linear programs about two point sets: distance of hulls, the widest gap, soft margins.

The max-norm distance of two convex hulls equals the widest gap of a hyperplane whose weights have
1-norm 1, and it is 2 / ||a||_1 of the 1-norm hard-margin plane.  One linear program therefore gives
the distance, the points that show it (a vertex has few of them) and, by its duals, the plane.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import bmat, csr_matrix, identity

from octcore.numerics.linear import TOLERANCE, linear_program, optimum, optimum_if_any, quiet_solver

FloatArray = NDArray[np.float64]
SUPPORT = 1e-9  # smaller multipliers are rounding


@dataclass(frozen=True, eq=False)
class Gap:
    """A hyperplane between two point sets."""

    weights: FloatArray
    """1-norm 1, shape ``(n_features,)``; the score ``weights @ x`` grows to the right."""
    low: float
    high: float  # `low`, `high`: largest score on the left, smallest score on the right

    @property
    def width(self) -> float:
        """Width of the empty strip in scores; not positive when the sets are not separated."""
        return self.high - self.low

    @property
    def unit_margin(self) -> tuple[FloatArray, float]:
        """The same plane as ``a.x + b`` with scores -1 and 1 at the nearest points."""
        scale = 2.0 / self.width
        return self.weights * scale, -(self.low + self.high) / self.width


class HullDistance:
    """Max-norm distance of two convex hulls, and the few points that show that they are close.

    `left`, `right`: shape ``(n, n_features)``, not empty.
    Raises `TimeoutError` if so many `seconds` do not suffice.
    """

    def __init__(self, left: FloatArray, right: FloatArray, seconds: float = np.inf) -> None:
        self.left, self.right = left, right
        n_left, n_right, p = len(left), len(right), left.shape[1]
        count = n_left + n_right
        difference = np.hstack([left.T, -right.T])
        coordinates = np.column_stack([difference, -np.ones(p)])
        mirrored = np.column_stack([-difference, -np.ones(p)])
        sums = np.zeros((2, count + 1))
        sums[0, :n_left] = sums[1, n_left:count] = 1.0
        # No points of the hulls are further apart than twice the largest coordinate.
        high = np.append(np.ones(count), 2.0 * max(1.0, float(np.abs(difference).max())))
        cost, low = np.append(np.zeros(count), 1.0), np.zeros(count + 1)
        rows = csr_matrix(np.vstack([coordinates, mirrored, sums]))
        ends = [np.append(np.full(2 * p, least), [1.0, 1.0]) for least in (-np.inf, 0.0)]
        program = linear_program(cost, low, high, rows, *ends)
        self._highs = quiet_solver(program, time_limit=max(0.0, seconds))
        found = optimum(self._highs, "hull")
        self.distance = float(found[count])
        """Smallest ``r`` with ``|sum q_i x_i - sum q_j x_j| <= r`` in every coordinate, where ``q``
        is non-negative and sums to 1 on each side."""
        self.multipliers = found[:count]  # ``q`` at a vertex, left points first
        duals = np.array(self._highs.getSolution().row_dual)
        self._normal = duals[:p] - duals[p : 2 * p]

    def gap(self) -> Gap:
        """Return the widest gap between the sets; it is the distance when that is positive."""
        size = np.abs(self._normal).sum()
        weights = self._normal / size if size > 0 else np.eye(len(self._normal))[0]
        left, right = self.left @ weights, self.right @ weights
        return max(
            Gap(weights, float(left.max()), float(right.min())),
            Gap(-weights, float(-left.min()), float(-right.max())),
            key=lambda gap: gap.width,
        )

    def cheapest(self, prices: FloatArray, radius: float) -> FloatArray | None:
        """Multipliers of least price among those with ``r <= radius``; None if there are none."""
        count = len(prices)
        self._highs.changeColBounds(count, 0.0, radius)
        self._highs.changeColsCost(
            count + 1, np.arange(count + 1, dtype=np.int32), np.append(prices, 0.0)
        )
        found = optimum_if_any(self._highs, "hull")
        return None if found is None else found[:count]


def widest_gap(left: FloatArray, right: FloatArray, seconds: float = np.inf) -> Gap | None:
    """Widest gap of a hyperplane with weights of 1-norm 1.

    None when the hulls meet, or so many seconds do not suffice.
    """
    try:
        gap = HullDistance(left, right, seconds).gap()
    except TimeoutError:
        return None
    return gap if gap.width > TOLERANCE else None


def soft_margin_plane(
    X: FloatArray, right: NDArray[np.bool_], weights: FloatArray, largest_norm: float
) -> tuple[FloatArray, float]:
    """Plane ``a.x + b`` of least weighted slack ``sum v_i s_i``, with ``||a||_1 <= largest_norm``.

    `right`: which points should have a score of at least 1; the others of at most -1.
    `weights`: price of slack, shape ``(n_samples,)``.
    `largest_norm`: 2 / epsilon for planes whose gap is to reach epsilon.
    """
    n, p = X.shape
    side = np.where(right, 1.0, -1.0)
    # columns: a = plus - minus (both at least 0), b, slacks
    scores = csr_matrix(np.column_stack([side[:, None] * X, -side[:, None] * X, side]))
    norm = csr_matrix(np.append(np.ones(2 * p), 0.0)[None, :])
    rows = csr_matrix(bmat([[scores, identity(n)], [norm, None]]))
    # Some optimal b puts a row on its margin: it is a score and 1 at most, and so is a slack.
    reach = largest_norm * max(1.0, float(np.abs(X).max())) + 1.0
    cost = np.concatenate([np.zeros(2 * p + 1), weights])
    low = np.concatenate([np.zeros(2 * p), [-reach], np.zeros(n)])
    high = np.concatenate([np.full(2 * p, largest_norm), [reach], np.full(n, 2 * reach + 1)])
    ends = np.append(np.ones(n), -np.inf), np.append(np.full(n, np.inf), largest_norm)
    x = optimum(quiet_solver(linear_program(cost, low, high, rows, *ends)), "margin")
    return x[:p] - x[p : 2 * p], float(x[2 * p])
