"""Optima of trees of hyperplanes on a handful of rows, by all routings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from tests.referee.convex import (
    Plane,
    Undecided,
    missing_margin,
    strip_width,
    svm_plane,
    svm_plane_l1,
)
from tests.referee.partitions import Rows, cheapest_tree, equal_rows

NEAR = 2e-3
"""Strips this near (relative) to the least width could count or not."""


@dataclass(frozen=True, eq=False)
class Margot:
    """MARGOT, HFS-MARGOT and SFS-MARGOT.

    Parameters
    ----------
    X, signs, weights : numpy.ndarray
        Rows, their signs and weights.
    depth : int
        Levels of planes.
    prices : tuple of float
        Of slack above the last level, and on it.
    epsilon : float
        Strip of upper planes.
    budgets : tuple of int or None
        Most features above the last level, and on it.
    alpha : float or None
        Price of a feature beyond the budget; None when the budget is hard.
    linear : bool
        Whether the 1-norm replaces the square.
    """

    X: np.ndarray
    signs: np.ndarray
    weights: np.ndarray
    depth: int
    prices: tuple[float, float]
    epsilon: float
    budgets: tuple[int, int] | None = None
    alpha: float | None = None
    linear: bool = False

    def optimum(self) -> float:
        """Least objective."""

        def leaf(rows: Rows, levels: int) -> float:
            if not rows:
                return 0.0
            return np.inf if levels else self.node(rows, None, True).value

        def split(left: Rows, right: Rows) -> float:
            sides = np.array([-1] * len(left) + [1] * len(right))
            return self.node(left + right, sides, False).value

        return cheapest_tree(equal_rows(self.X), self.depth - 1, leaf, split, one_sided=True)

    def node(self, rows: Rows, sides: np.ndarray | None, last: bool) -> Plane:
        """Best plane of one node for its rows and sides."""
        p = self.X.shape[1]
        if self.budgets is None:
            return self._plane(rows, sides, last, range(p))
        budget = min(self.budgets[last], p)
        best = Plane(np.inf, np.zeros(p), 0.0)
        for size in range(budget, (budget if self.alpha is None else p) + 1):
            for chosen in combinations(range(p), size):
                found = self._plane(rows, sides, last, chosen)
                value = found.value + (self.alpha or 0.0) * (size - budget)
                if value < best.value:
                    best = Plane(value, found.weights, found.bias)
        return best

    def _plane(
        self, rows: Rows, sides: np.ndarray | None, last: bool, columns: Sequence[int]
    ) -> Plane:
        chosen, at = list(columns), list(rows)
        cost = self.prices[last] * self.weights[at]
        solve = svm_plane_l1 if self.linear else svm_plane
        found = solve(self.X[np.ix_(at, chosen)], self.signs[at], cost, sides, self.epsilon)
        weights = np.zeros(self.X.shape[1])
        weights[chosen] = found.weights
        return Plane(found.value, weights, found.bias)


@dataclass(frozen=True, eq=False)
class Separating:
    """Trees whose splits leave a strip empty: S-OCT and OCT-H.

    Parameters
    ----------
    X, y, weights : numpy.ndarray
        Rows, classes and weights.
    depth : int
        Levels of splits.
    epsilon : float
        Least width of a strip, weights of 1-norm 1.
    split_price, feature_price : float
        Of a split, and of every feature in it, in weight misclassified.
    smallest_leaf : int
        Rows of a leaf.
    most_splits : int or None
        Limit.
    """

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    depth: int
    epsilon: float
    split_price: float = 0.0
    feature_price: float = 0.0
    smallest_leaf: int = 0
    most_splits: int | None = None

    def cost(self) -> float:
        """Least weight misclassified plus prices.

        Raises
        ------
        Undecided
            If strips are so near to epsilon that the answer depends on rounding.
        """
        wide, narrow = (self._cost(self.epsilon * factor) for factor in (1 + NEAR, 1 - NEAR))
        if wide > narrow + 1e-12:
            raise Undecided("a strip of about the least width")
        return narrow

    def _cost(self, epsilon: float) -> float:
        def leaf(rows: Rows, _: int) -> float:
            if len(rows) < self.smallest_leaf:
                return np.inf
            shares = np.bincount(self.y[list(rows)], self.weights[list(rows)], minlength=1)
            return float(shares.sum() - shares.max())

        def split(left: Rows, right: Rows) -> float:
            features = self.fewest_features(left, right, epsilon)
            return self.split_price + self.feature_price * features

        return cheapest_tree(equal_rows(self.X), self.depth, leaf, split, self.most_splits)

    @cached_property
    def _widths(self) -> dict[tuple[Rows, Rows, Rows], float]:
        return {}

    def _width(self, left: Rows, right: Rows, columns: Rows) -> float:
        key = (left, right, columns)
        if key not in self._widths:
            L, R = (self.X[np.ix_(list(rows), list(columns))] for rows in (left, right))
            self._widths[key] = strip_width(L, R)
        return self._widths[key]

    def fewest_features(self, left: Rows, right: Rows, epsilon: float) -> float:
        """Fewest columns on which a strip is wide enough; infinite if there is none."""
        p = self.X.shape[1]
        if self._width(left, right, tuple(range(p))) < epsilon:
            return np.inf
        if self.feature_price == 0:
            return 0.0
        for size in range(1, p + 1):
            for chosen in combinations(range(p), size):
                if self._width(left, right, chosen) >= epsilon:
                    return float(size)
        return np.inf


@dataclass(frozen=True, eq=False)
class SVM1:
    """SVM1-ODT; a node tests a plane or a set of values of one category.

    Parameters
    ----------
    X, y, weights : numpy.ndarray
        Numeric columns, classes, weights.
    categories : numpy.ndarray
        Values of the categorical columns, shape ``(n_rows, n_categories)``.
    depth : int
        Levels of splits.
    prices : tuple of float
        alpha1 and alpha2.
    epsilon, distance, reach : float
        Wanted margin, least distance of right rows, largest score.
    """

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    categories: np.ndarray
    depth: int
    prices: tuple[float, float]
    epsilon: float
    distance: float
    reach: float = 1.0

    def optimum(self) -> float:
        """Least errors plus prices."""

        def leaf(rows: Rows, _: int) -> float:
            shares = np.bincount(self.y[list(rows)], self.weights[list(rows)], minlength=1)
            return float(shares.sum() - shares.max())

        together = np.hstack([self.X, self.categories])
        return cheapest_tree(equal_rows(together), self.depth, leaf, self._split)

    def _split(self, left: Rows, right: Rows) -> float:
        for values in self.categories.T:
            if not set(values[list(left)]) & set(values[list(right)]):
                return 0.0
        if not self.X.shape[1]:
            return np.inf
        at = list(left + right)
        others = np.setdiff1d(np.arange(len(self.y)), at)
        return missing_margin(
            self.X[list(left)],
            self.X[list(right)],
            self.X[others],
            self.weights[at],
            self.prices,
            self.epsilon,
            self.distance,
            self.reach,
        )
