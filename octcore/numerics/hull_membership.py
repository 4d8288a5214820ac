"""Which points of a set are vertices of its convex hull, and how the others combine them.

Clarkson's scheme: a growing set of known vertices, one small linear program per point.  A point
inside the hull of the known vertices is settled; otherwise the dual direction points at a vertex
not known yet.  The program keeps its basis: only the right-hand side changes from point to point.
"""

from collections.abc import Callable
from dataclasses import dataclass

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack, identity, vstack

from octcore.numerics.hulls import SUPPORT
from octcore.numerics.linear import linear_program, optimum, quiet_solver, run, sparse_rows

FloatArray = NDArray[np.float64]
INSIDE = 1e-7  # 1-norm distance at which a point counts as inside (columns in [0, 1])
TIE = 1e-12  # of the largest score: rounding of an inner product
DIRECTIONS_PER_FEATURE = 50  # random ones, whose extreme points are vertices; effort only


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
    inner: list[int] = []
    members: list[NDArray[np.int64]] = []
    multipliers: list[FloatArray] = []
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
        self._highs = quiet_solver(
            linear_program(
                np.ones(2 * d), np.zeros(2 * d), np.full(2 * d, 1e3), matrix, zero, zero
            ),
            presolve="off",
        )
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
