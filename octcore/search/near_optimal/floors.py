"""Floors on how many rows of a class are right, as prices.

With a price l_k >= 0 on the rows of class k and its floor m_k, Lagrange's relaxation

    max_T value(T) + sum_k l_k (right_k(T) - m_k)

is the question of the search with rows that weigh more.  No tree that keeps the floors is worth
more than its optimum, and trees that are best at some prices often keep them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from octcore.search.near_optimal.instance import MOST_ERROR_UNITS, common_unit
from octcore.search.univariate.question import Answer, Question
from octcore.search.univariate.table import SAME
from octcore.tree.tree import Tree

STEPS = 24
"""Searches for prices: some to find one that is high enough, as many to come down."""
PARTS = 16
"""Prices are multiples of such a part of the smallest common weight."""


@dataclass(frozen=True)
class Floors:
    """Least numbers of rows of some classes that must be right, and a price for each."""

    least: Mapping[int, int]
    price: Mapping[int, Fraction]

    def surplus(self, tree: Tree, question: Question) -> Fraction:
        """What a tree is worth more at these prices than without them."""
        right = tree.predict_codes(question.X) == question.y
        return sum(
            (p * int(right[question.y == k].sum() - self.least[k]) for k, p in self.price.items()),
            start=Fraction(0),
        )

    def heavier(self, question: Question) -> Question:
        """The question at these prices; a leaf costs the same weight."""
        weights = np.ones(len(question.y)) if question.weights is None else question.weights
        more = weights.copy()
        for k, price in self.price.items():
            more[question.y == k] += float(price)
        share = float(weights.sum() / more.sum())
        return replace(question, weights=more, leaf_penalty=question.leaf_penalty * share)

    def added(self, y: np.ndarray) -> Fraction:
        """Weight that all rows have more."""
        return sum((p * int((y == k).sum()) for k, p in self.price.items()), start=Fraction(0))

    def owed(self) -> Fraction:
        """Weight that the floors stand for."""
        return sum((p * self.least[k] for k, p in self.price.items()), start=Fraction(0))


FREE = Floors({}, {})
"""No floor has a price."""


def priced(
    question: Question,
    least: Mapping[int, int],
    tree: Tree,
    solve: Callable[[Question], Answer],
    tell: Callable[[Answer, float], bool],
) -> tuple[Floors, Tree]:
    """Find prices whose relaxation bounds best, as far as searches end, and its best tree.

    `least`: floors by class.
    `tree`: optimum without prices.
    `solve`: searches.
    `tell`: receives every answer, and the bound on the value of the trees that keep the floors;
        returns whether there is more to do.
    """
    weights = np.ones(len(question.y)) if question.weights is None else question.weights
    _, unit = common_unit(weights)
    whole = float(weights.sum())
    n_parts = dict.fromkeys(least, 0)
    step, turned = dict.fromkeys(least, PARTS), dict.fromkeys(least, False)
    best, bound = (FREE, tree), np.inf
    was_short: dict[int, bool] = {}
    for _ in range(STEPS):
        right, before = tree.predict_codes(question.X) == question.y, dict(n_parts)
        for k, floor in least.items():
            is_short = int(right[question.y == k].sum()) < floor
            turned[k] = turned[k] or was_short.get(k, is_short) != is_short
            if turned[k]:
                step[k] //= 2
            elif is_short and k in was_short:
                step[k] *= 2
            was_short[k] = is_short
            n_parts[k] = max(0, n_parts[k] + (step[k] if is_short else -step[k]))
        floors = Floors(least, {k: unit * n / PARTS for k, n in n_parts.items()})
        asked = floors.heavier(question)
        assert asked.weights is not None
        total = float(asked.weights.sum())
        is_long = total / float(unit) * PARTS > MOST_ERROR_UNITS  # sums would not be exact
        if is_long or n_parts == before:
            break
        found = solve(asked)
        if found.status != "optimal" or found.tree is None or found.bound is None:
            break
        tree = found.tree
        # Costs that differ by less than `SAME` are equal to the search.
        value = ((found.bound + SAME) * total - float(floors.owed())) / whole
        if value < bound:
            best, bound = (floors, tree), value
        if not tell(found, value):
            break
    return best
