"""The linear program of one branch node of SVM1-ODT when the routing is fixed.

HiGHS gets the dual program, which has a row per column of the data and a column per row of it: few
rows, so that its bases are small.  Rows that have their margin do not matter to it, so that of many
rows some are enough: those that lack margin join them until there are none.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from octcore.numerics.linear import FloatArray, linear_program, quiet_solver, run

WEIGHT_BOX = 1e3  # largest |h_j|: with scores within M = 1 it separates rows that are 1e-7 apart
FIRST_ROWS = 1_500  # rows that the first program has, where there are more
LACKING = 1e-9  # margin that a row may lack, of the one wanted, before it joins
CLEARANCE = 2.5
"""Gap between rows, as a multiple of the distance of right-goers, where a plane is shifted to; a
shift moves the largest score, too."""
DUAL_SIMPLEX, PRIMAL_SIMPLEX = 1, 4  # methods of HiGHS


@dataclass(frozen=True)
class MarginPrices:
    """Prices and widths of a node of SVM1-ODT."""

    missing: float
    norm: float
    """`missing`, `norm`: alpha1, the price of missing margin; alpha2, the price of the 1-norm."""
    margin: float  # epsilon, the margin wanted on both sides
    right: float  # distance that right-goers must keep from the plane (0 when ties are allowed)
    big_m: float


def margin_plane(
    left: FloatArray,
    right: FloatArray,
    weights: tuple[FloatArray, FloatArray],
    others: FloatArray,
    prices: MarginPrices,
) -> tuple[FloatArray, float] | None:
    """Plane ``h.x <= g`` (left) of least missing margin and norm; None if there is none.

    `weights`: of the rows of the two sides.
    `others`: rows that do not pass the node; their scores are bounded all the same.
    """
    X = np.vstack([left, right])
    goes_right = np.arange(len(X)) >= len(left)
    distance = np.where(goes_right, prices.right, 0.0)
    costs = prices.missing * np.concatenate(weights)
    return _DualProgram(X, goes_right, costs, distance, others, prices).plane()


def clear_plane(
    plane: tuple[FloatArray, float], X: FloatArray, others: FloatArray, prices: MarginPrices
) -> tuple[FloatArray, float] | None:
    """Shift a plane to the nearest place with no right-goer too near; None if there is none.

    Where rows are dense, few planes leave right-goers the distance that they must keep.

    `plane`: ``(h, g)``, left where ``h.x <= g``.
    `X`, `others`: rows that pass the node, and others, whose scores are bounded all the same.
    """
    h, g = plane
    scores = np.sort(g - X @ h)
    reach = float(np.abs(g - np.vstack([X, others]) @ h).max(initial=0.0))
    gaps = np.flatnonzero(np.diff(scores) > CLEARANCE * prices.right * reach / prices.big_m)
    if not len(gaps):
        return None
    ends = scores[gaps + 1]
    return h, g - float(ends[np.abs(ends).argmin()])


def soft_planes(
    X: FloatArray,
    goes_right: NDArray[np.bool_],
    costs: FloatArray,
    factors: Sequence[float],
    prices: MarginPrices,
) -> Iterator[tuple[FloatArray, float] | None]:
    """Yield planes ``h.x <= g`` (left) that rows may also pass on the wrong side, at a price.

    `goes_right`: side that every row is wanted on.
    `costs`: price of a unit of margin that a row misses, without limit beyond the plane.
    `factors`: of the costs, one plane for each; every program starts where the one before ended.
    """
    program = _DualProgram(X, goes_right, costs, None, X[:0], prices)
    for factor in factors:
        yield program.plane(factor)


class _DualProgram:
    """Dual of the program of one node, with margins of 1.

    Columns: a multiplier of every row, at most its price; with `distance` a second one, which keeps
    the row on its side; a pair that bounds every weight; those of rows whose score is bounded.
    Rows: the balance of the sides, which gives g, and one for every weight.

    `distance`: least score of every row on its side; None where rows may pass on the wrong one.
    `others`: rows that do not pass the node; their scores are bounded all the same.
    """

    def __init__(
        self,
        X: FloatArray,
        goes_right: NDArray[np.bool_],
        costs: FloatArray,
        distance: FloatArray | None,
        others: FloatArray,
        prices: MarginPrices,
    ) -> None:
        self.X, self.others, self.prices, self.costs = X, others, prices, costs
        self.sign = np.where(goes_right, -1.0, 1.0)
        self.distance = distance
        n, p = X.shape
        self._factor = 1.0
        self._inside = np.zeros(n, dtype=bool)
        self._rows = np.zeros(0, dtype=np.int64)
        self._places = np.zeros(0, dtype=np.int32)
        box = np.vstack([np.zeros((1, 2 * p)), np.hstack([np.eye(p), -np.eye(p)])])
        limits = np.concatenate([[0.0], np.full(p, prices.norm)])
        cost, high = np.full(2 * p, WEIGHT_BOX / prices.margin), np.full(2 * p, np.inf)
        program = linear_program(cost, np.zeros(2 * p), high, csr_matrix(box), -limits, limits)
        method = DUAL_SIMPLEX if distance is None else PRIMAL_SIMPLEX
        self._highs = quiet_solver(program, presolve="off", simplex_strategy=method)
        self._add_rows(np.linspace(0, n - 1, min(n, FIRST_ROWS)).astype(np.int64))

    def plane(self, factor: float = 1.0) -> tuple[FloatArray, float] | None:
        """Best plane with the costs times a factor; None if there is none."""
        if factor != self._factor:
            self._factor, upper = factor, factor * self.costs[self._rows]
            self._highs.changeColsBounds(len(upper), self._places, np.zeros(len(upper)), upper)
        while True:
            run(self._highs)
            if self._highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
                return None
            multipliers = np.array(self._highs.getSolution().row_dual)
            h, g = multipliers[1:], -float(multipliers[0])
            lacking = np.flatnonzero(~self._inside & (self.sign * (g - self.X @ h) < 1 - LACKING))
            if len(lacking):
                worst = np.argsort(self.sign[lacking] * (g - self.X[lacking] @ h), kind="stable")
                self._add_rows(lacking[worst[:FIRST_ROWS]])
            elif not self._bound_scores(h, g):
                margin = self.prices.margin
                return margin * h, margin * g

    def _add_rows(self, rows: NDArray[np.int64]) -> None:
        self._inside[rows] = True
        first = self._highs.getNumCol()
        self._places = np.concatenate(
            [self._places, np.arange(first, first + len(rows), dtype=np.int32)]
        )
        self._rows = np.concatenate([self._rows, rows])
        signed = self._columns(self.X[rows], self.sign[rows])
        self._add(signed, np.full(len(rows), -1.0), self._factor * self.costs[rows])
        if self.distance is not None:
            self._add(signed, -self.distance[rows] / self.prices.margin, np.full(len(rows), np.inf))

    def _bound_scores(self, h: FloatArray, g: float) -> bool:
        """Bound the scores that are too large; returns whether there are any."""
        most = self.prices.big_m / self.prices.margin
        before = self._highs.getNumCol()
        for X in (self.X, self.others):
            scores = g - X @ h
            far = np.abs(scores) > most * (1 + LACKING)
            signed = self._columns(X[far], -np.sign(scores[far]))
            self._add(signed, np.full(len(signed), most), np.full(len(signed), np.inf))
        return self._highs.getNumCol() > before

    @staticmethod
    def _columns(X: FloatArray, sign: FloatArray) -> FloatArray:
        return np.column_stack([np.ones(len(X)), X]) * sign[:, None]

    def _add(self, columns: FloatArray, cost: FloatArray, upper: FloatArray) -> None:
        """Add columns, given as rows of an array."""
        n, size = columns.shape
        if not n:
            return
        starts = np.arange(0, n * size, size, dtype=np.int32)
        rows = np.tile(np.arange(size, dtype=np.int32), n)
        self._highs.addCols(n, cost, np.zeros(n), upper, n * size, starts, rows, columns.ravel())
