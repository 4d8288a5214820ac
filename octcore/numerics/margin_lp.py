"""The linear program of one branch node of SVM1-ODT when the routing is fixed."""

from __future__ import annotations

from dataclasses import dataclass

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack, identity, vstack

from octcore.numerics.linear import linear_program, quiet_solver, run

FloatArray = NDArray[np.float64]

WEIGHT_BOX = 1e3
"""Largest |h_j|: with scores within M = 1 it separates rows that are 1e-7 apart."""


@dataclass(frozen=True)
class MarginPrices:
    """Prices and widths of a node of SVM1-ODT."""

    missing: float
    norm: float
    """`missing`, `norm`: alpha1, the price of missing margin; alpha2, the price of the 1-norm."""
    margin: float
    """Epsilon, the margin wanted on both sides."""
    right: float
    """Distance that right-goers must keep from the plane (0 when ties are allowed)."""
    big_m: float


def margin_plane(
    left: FloatArray,
    right: FloatArray,
    weights: tuple[FloatArray, FloatArray],
    others: FloatArray,
    prices: MarginPrices,
) -> tuple[FloatArray, float] | None:
    """Plane ``h.x <= g`` (left) of least missing margin and norm; None if there is none.

    Parameters
    ----------
    left, right : numpy.ndarray
        Rows on the two sides, shape ``(n, n_features)``.
    weights : tuple of numpy.ndarray
        Weights of the rows of the two sides.
    others : numpy.ndarray
        Rows that do not pass the node; their scores are bounded all the same.
    prices : MarginPrices
        See there.
    """
    X = np.vstack([left, right])
    goes_right = np.arange(len(X)) >= len(left)
    distance = np.where(goes_right, prices.right, 0.0)
    costs = prices.missing * np.concatenate(weights)
    return _plane(X, goes_right, costs, distance, others, prices)


def soft_plane(
    X: FloatArray, goes_right: NDArray[np.bool_], costs: FloatArray, prices: MarginPrices
) -> tuple[FloatArray, float] | None:
    """Plane ``h.x <= g`` (left) that rows may also pass on the wrong side, at a price.

    Parameters
    ----------
    X : numpy.ndarray
        Rows, shape ``(n, n_features)``.
    goes_right : numpy.ndarray
        Side that every row is wanted on.
    costs : numpy.ndarray
        Price of a unit of margin that a row misses, without limit beyond the plane.
    prices : MarginPrices
        Price of the norm, margin and largest score.
    """
    return _plane(X, goes_right, costs, None, X[:0], prices)


def _plane(
    X: FloatArray,
    goes_right: NDArray[np.bool_],
    costs: FloatArray,
    distance: FloatArray | None,
    others: FloatArray,
    prices: MarginPrices,
) -> tuple[FloatArray, float] | None:
    """Solve without the bounds on scores, which seldom bind, and with them where they do."""
    every = np.vstack([X, others])
    found = _solve(X, goes_right, costs, distance, every[:0], prices)
    if found is None or (np.abs(found[1] - every @ found[0]) <= prices.big_m).all():
        return found
    return _solve(X, goes_right, costs, distance, every, prices)


def _solve(
    X: FloatArray,
    goes_right: NDArray[np.bool_],
    costs: FloatArray,
    distance: FloatArray | None,
    bounded: FloatArray,
    prices: MarginPrices,
) -> tuple[FloatArray, float] | None:
    """Solve the linear program: columns h = plus - minus, g, missing margins."""
    n, p = X.shape
    scores = np.column_stack([-X, X, np.ones(n)])
    sign = np.where(goes_right, -1.0, 1.0)[:, None]
    rows = [hstack([csr_matrix(sign * scores), identity(n)])]
    low, high = [np.full(n, prices.margin)], [np.full(n, np.inf)]
    if distance is not None:
        rows.append(hstack([csr_matrix(sign * scores), csr_matrix((n, n))]))
        low, high = [*low, distance], [*high, np.full(n, np.inf)]
    if len(bounded):
        box = csr_matrix(np.column_stack([-bounded, bounded, np.ones(len(bounded))]))
        rows.append(hstack([box, csr_matrix((len(bounded), n))]))
        low = [*low, np.full(len(bounded), -prices.big_m)]
        high = [*high, np.full(len(bounded), prices.big_m)]
    largest = max(float(np.abs(part).max(initial=0.0)) for part in (X, bounded))
    reach = prices.big_m + WEIGHT_BOX * p * max(1.0, largest)
    most = np.inf if distance is None else prices.margin
    highs = quiet_solver()
    highs.passModel(
        linear_program(
            np.concatenate([np.full(2 * p, prices.norm), [0.0], costs]),
            np.concatenate([np.zeros(2 * p), [-reach], np.zeros(n)]),
            np.concatenate([np.full(2 * p, WEIGHT_BOX), [reach], np.full(n, most)]),
            csr_matrix(vstack(rows)),
            np.concatenate(low),
            np.concatenate(high),
        )
    )
    run(highs)
    if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    x = np.array(highs.getSolution().col_value)
    return x[:p] - x[p : 2 * p], float(x[2 * p])
