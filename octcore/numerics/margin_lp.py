"""The linear program of one branch node of SVM1-ODT when the routing is fixed."""

from __future__ import annotations

from dataclasses import dataclass

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack, identity, vstack

from octcore.numerics.hulls import linear_program, quiet_solver

FloatArray = NDArray[np.float64]

WEIGHT_BOX = 1e3
"""Largest |h_j|: with scores within M = 1 it separates rows that are 1e-7 apart."""


@dataclass(frozen=True)
class MarginPrices:
    """Prices and widths of a node of SVM1-ODT.

    Parameters
    ----------
    missing, norm : float
        alpha1, the price of missing margin; alpha2, the price of the 1-norm.
    margin : float
        Epsilon, the margin wanted on both sides.
    right : float
        Distance that right-goers must keep from the plane (0 when ties are allowed).
    big_m : float
        Largest absolute score.
    """

    missing: float
    norm: float
    margin: float
    right: float
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
    n_left, n_right, p = len(left), len(right), left.shape[1]
    passing = n_left + n_right
    # columns: h = plus - minus, g, missing margin of the passing rows; scores are g - h.x
    X = np.vstack([left, right, others])
    scores = csr_matrix(np.column_stack([-X, X, np.ones(len(X))]))
    box = hstack([scores, csr_matrix((len(X), passing))])
    sign = np.append(np.ones(n_left), -np.ones(n_right))
    margins = hstack([csr_matrix(sign[:, None] * scores[:passing].toarray()), identity(passing)])
    low = np.concatenate(
        [np.zeros(n_left), np.full(n_right, -prices.big_m), np.full(len(others), -prices.big_m)]
    )
    high = np.concatenate(
        [
            np.full(n_left, prices.big_m),
            np.full(n_right, -prices.right),
            np.full(len(others), prices.big_m),
        ]
    )
    reach = prices.big_m + WEIGHT_BOX * p * max(1.0, float(np.abs(X).max(initial=0.0)))
    highs = quiet_solver()
    highs.passModel(
        linear_program(
            np.concatenate(
                [np.full(2 * p, prices.norm), [0.0], prices.missing * np.concatenate(weights)]
            ),
            np.concatenate([np.zeros(2 * p), [-reach], np.zeros(passing)]),
            np.concatenate([np.full(2 * p, WEIGHT_BOX), [reach], np.full(passing, prices.margin)]),
            csr_matrix(vstack([box, margins])),
            np.concatenate([low, np.full(passing, prices.margin)]),
            np.concatenate([high, np.full(passing, np.inf)]),
        )
    )
    highs.run()
    if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    x = np.array(highs.getSolution().col_value)
    return x[:p] - x[p : 2 * p], float(x[2 * p])
