"""Convex hulls of point sets by small linear programs: distance, gap, soft margin, vertices.

The max-norm distance of two convex hulls equals the widest gap of a hyperplane whose weights have
1-norm 1, and it is 2 / ||a||_1 of the 1-norm hard-margin plane.  One linear program therefore gives
the distance, the points that show it (a vertex has few of them) and, by its duals, the plane.

Which points of a set are vertices, and how the others combine them, Clarkson's scheme finds: a
growing set of known vertices, one small linear program per point.  A point inside the hull of the
known vertices is settled; otherwise the dual direction points at a vertex not known yet.  The
program keeps its basis: only the right-hand side changes from point to point.
"""

from collections.abc import Callable
from dataclasses import dataclass

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import bmat, csr_matrix, hstack, identity, vstack

from octcore.numerics.linear import (
    TOLERANCE,
    linear_program,
    optimum,
    optimum_if_any,
    quiet_solver,
    run,
    sparse_rows,
)

FloatArray = NDArray[np.float64]
SUPPORT = 1e-9  # smaller multipliers are rounding
INSIDE = 1e-7  # 1-norm distance at which a point counts as inside (columns in [0, 1])
TIE = 1e-12  # of the largest score: rounding of an inner product
DIRECTIONS_PER_FEATURE = 50  # random ones, whose extreme points are vertices; effort only


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


@dataclass(frozen=True, eq=False)
class HullSplit:
    """Vertices of a point set and the combinations that give the other points."""

    vertices: NDArray[np.int64]  # positions of the vertices
    inner: NDArray[np.int64]  # positions of all other points
    members: list[NDArray[np.int64]]
    multipliers: list[FloatArray]
    """`members`, `multipliers`: for every inner point, at most d + 1 vertices and their positive
    multipliers."""


def split_hull(
    X: FloatArray,
    rng: np.random.Generator,
    stop: Callable[[], None] = lambda: None,
    epsilon: float = 0.0,
) -> HullSplit:
    """Find vertices of distinct points; all lie within epsilon (max norm) of the hull of these."""
    n, d = X.shape
    if n <= 1 or d == 0:
        return HullSplit(np.arange(n), np.zeros(0, dtype=np.int64), [], [])
    model = _HullModel(d, epsilon)
    known: list[int] = []
    is_known = np.zeros(n, dtype=bool)

    def learn(i: int) -> None:
        if not is_known[i]:
            is_known[i] = True
            known.append(i)
            model.add(X[i])

    directions = rng.normal(size=(0 if epsilon else DIRECTIONS_PER_FEATURE * d, d))
    for direction in np.vstack([np.eye(d), -np.eye(d), directions]):
        stop()  # here, too: of many clusters, each would spend a second after the limit
        learn(_furthest(X, direction))
    inner, members, multipliers = list[int](), list[NDArray[np.int64]](), list[FloatArray]()
    for i in range(n):
        stop()
        while not is_known[i]:
            found, direction = model.combine(X[i])
            if found is not None:
                used = np.flatnonzero(found > SUPPORT)
                inner.append(i)
                members.append(np.array(known)[used])
                multipliers.append(found[used] / found[used].sum())
                break
            vertex = _furthest(X, direction)
            # a direction blurred by rounding may point at a known vertex: then i is one as well
            learn(i if is_known[vertex] else vertex)
    return HullSplit(np.array(sorted(known)), np.array(inner, dtype=np.int64), members, multipliers)


def _furthest(X: FloatArray, direction: FloatArray) -> int:
    """Vertex that is furthest along a direction; ties are broken by the order of coordinates."""
    scores = X @ direction
    tied = np.flatnonzero(scores >= scores.max() - TIE * max(1.0, float(np.abs(scores).max())))
    return int(tied[np.lexsort(X[tied].T)[-1]]) if len(tied) > 1 else int(tied[0])


class _HullModel:
    """``min ||x - sum_i l_i v_i||_1`` beyond epsilon, ``sum_i l_i = 1`` over known vertices v_i."""

    def __init__(self, d: int, epsilon: float) -> None:
        self.d, self._reach = d, np.append(np.full(d, epsilon), 0.0)
        ones = identity(d)
        matrix = csr_matrix(vstack([hstack([ones, -ones]), csr_matrix((1, 2 * d))]))
        zero = np.zeros(d + 1)
        columns = np.ones(2 * d), np.zeros(2 * d), np.full(2 * d, 1e3)
        program = linear_program(*columns, matrix, zero, zero)
        self._highs = quiet_solver(program, presolve="off")
        self._rows = np.arange(d + 1, dtype=np.int32)

    def add(self, vertex: FloatArray) -> None:
        """Add a column for a vertex."""
        self._highs.addCol(0.0, 0.0, 1.0, self.d + 1, self._rows, np.append(vertex, 1.0))

    def combine(self, x: FloatArray) -> tuple[FloatArray | None, FloatArray]:
        """Multipliers of the known vertices (None if x is outside), and the dual direction."""
        for j, (value, reach) in enumerate(zip(np.append(x, 1.0), self._reach, strict=True)):
            self._highs.changeRowBounds(j, float(value - reach), float(value + reach))
        found = optimum(self._highs, "hull")
        direction = np.array(self._highs.getSolution().row_dual[: self.d])
        if self._highs.getInfo().objective_function_value > INSIDE:
            return None, direction
        return found[2 * self.d :], direction


def balanced_choice(X: FloatArray, epsilon: float, time_limit: float) -> NDArray[np.int64]:
    """Few points whose hull holds many others, by their positions: ``max sum_i b_i - a_i``, a = 1.

    The relaxation is solved first; ``b`` that come out 0 or 1 are fixed, the rest is a 0-1 program.

    `X`: distinct points; the program has n^2 columns.
    `epsilon`: largest distance in a coordinate of a point from the hull that is to hold it.
    `time_limit`: for the 0-1 program.
    """
    n = len(X)
    highs = quiet_solver(_balanced_program(X, epsilon), solver="choose")
    run(highs)
    b = np.array(highs.getSolution().col_value)[n : 2 * n]
    for i in range(n):
        if min(b[i], 1 - b[i]) < 1e-6:  # integral up to the tolerance of the program
            highs.changeColBounds(n + i, float(round(b[i])), float(round(b[i])))
    for column in range(2 * n):
        highs.changeColIntegrality(column, highspy.HighsVarType.kInteger)
    highs.setOptionValue("time_limit", highs.getRunTime() + time_limit)
    run(highs)
    chosen = np.array(highs.getSolution().col_value)
    has_point = highspy.SolutionStatus.kSolutionStatusFeasible
    if len(chosen) == 0 or highs.getInfo().primal_solution_status != has_point:
        return np.arange(n)
    return np.flatnonzero(chosen[:n] > 0.5)


def _balanced_program(X: FloatArray, epsilon: float) -> highspy.HighsLp:
    """Columns a, b, then l_ji for all pairs; rows as in the paper."""
    n, d = X.shape
    pairs = [(j, i) for j in range(n) for i in range(n) if i != j]
    at = {pair: 2 * n + k for k, pair in enumerate(pairs)}
    rows: list[tuple[list[int], list[float], float, float]] = []
    for j in range(n):
        others = [i for i in range(n) if i != j]
        columns = [n + j, *(at[j, i] for i in others)]
        for k in range(d):
            values = [float(X[j, k]), *(-float(X[i, k]) for i in others)]
            rows.append((columns, values, -epsilon, epsilon))
        rows.append((columns, [-1.0] + [1.0] * len(others), 0.0, 0.0))
        rows.append(([j, n + j], [1.0, 1.0], -np.inf, 1.0))
    rows += [([at[j, i], i], [1.0, -1.0], -np.inf, 0.0) for j, i in pairs]
    columns, values, low, high = zip(*rows, strict=True)
    width = 2 * n + len(pairs)
    cost = np.concatenate([np.ones(n), -np.ones(n), np.zeros(len(pairs))])
    matrix, ends = sparse_rows(columns, width, values), (np.array(low), np.array(high))
    return linear_program(cost, np.zeros(width), np.ones(width), matrix, *ends)
