"""Floors on how many rows of a class are right, as prices.

With a price l_k >= 0 on the rows of class k and its floor m_k, Lagrange's relaxation

    max_T value(T) + sum_k l_k (right_k(T) - m_k)

is the question of the search with rows that weigh more.  No tree that keeps the floors is worth
more than its optimum, and trees that are best at some prices often keep them.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from octcore.search.near_optimal.instance import MOST_ERROR_UNITS, TooManyDigitsError, common_unit
from octcore.search.univariate.question import Answer, Question
from octcore.search.univariate.table import SAME
from octcore.tree.tree import Tree

STEPS, WIDER = 24, 8
"""Effort only: most searches for prices, and how often limits grow before the next one."""
PARTS = 16  # prices are multiples of such a part of the smallest common weight, where they can be
TOLERANCE = 1e-6  # share of the weight by which a bound is below the worth of all trees


@dataclass(frozen=True)
class Floors:
    """Least numbers of rows of some classes that must be right, and a price for each."""

    least: Mapping[int, int]
    price: Mapping[int, Fraction]

    def surplus(self, tree: Tree, question: Question) -> Fraction:
        """What a tree is worth more at these prices than without them."""
        right = _right(tree.predict_codes(question.X) == question.y, question, self.least)
        over = (p * (right[k] - self.least[k]) for k, p in self.price.items())
        return sum(over, start=Fraction(0))

    def heavier(self, question: Question) -> Question:
        """The question at these prices; a leaf costs the same weight."""
        weights = np.ones(len(question.y)) if question.weights is None else question.weights
        more = weights.copy()
        for k, price in self.price.items():
            more[_of_class(question, k)] += float(price)
        share = float(weights.sum() / more.sum())
        return replace(question, weights=more, leaf_penalty=question.leaf_penalty * share)

    def added(self, question: Question) -> Fraction:
        """Weight that all rows have more."""
        more = (p * int(_of_class(question, k).sum()) for k, p in self.price.items())
        return sum(more, start=Fraction(0))

    def owed(self) -> Fraction:
        """Weight that the floors stand for."""
        return sum((p * self.least[k] for k, p in self.price.items()), start=Fraction(0))


FREE = Floors({}, {})  # no floor has a price


def _of_class(question: Question, k: int) -> np.ndarray:
    """The rows of a class; of copies by answer, those that are right where they get it."""
    of_class = question.y == k
    return of_class if question.counts is None else of_class & (question.counts > 0)


def _right(right: np.ndarray, question: Question, classes: Iterable[int]) -> dict[int, int]:
    """Numbers of rows of some classes that are right, of those that are."""
    return {k: int(right[_of_class(question, k)].sum()) for k in classes}


def priced(
    question: Question,
    least: Mapping[int, int],
    tree: Tree,
    solve: Callable[[Question], Answer],
    tell: Callable[[Answer, float], bool],
) -> tuple[Floors, Tree] | None:
    """Find prices whose relaxation bounds best, as far as searches end, and its best tree.

    None if a bound is below the worth of any tree: none keeps the floors.  Every tree met is worth
    something linear in the prices, the relaxation the most of all trees; where those met so far
    have their least is asked next (Kelley's cutting planes).

    `least`: floors by class.
    `tree`: optimum without prices.
    `solve`: searches.
    `tell`: receives every answer, and the bound on the value of the trees that keep the floors;
        returns whether there is more to do.
    """
    from scipy.optimize import linprog  # few runs have floors, and it takes time to import

    weights = np.ones(len(question.y)) if question.weights is None else question.weights
    whole, unit = float(weights.sum()), _unit(weights)
    worst = -question.leaf_penalty * min(2**question.depth, len(weights))
    largest = {k: whole / max(1, int(_of_class(question, k).sum())) for k in least}
    best, bound = (FREE, tree), np.inf
    worth: list[float] = []
    over: list[list[float]] = []
    asked_before: set[tuple[int, ...]] = set()
    for _ in range(STEPS):
        right = tree.predict_codes(question.X) == question.y
        worth.append(float(weights[right].sum()) - question.leaf_penalty * whole * tree.n_leaves)
        counts = _right(right, question, least)
        over.append([float(counts[k] - floor) for k, floor in least.items()])
        parts, is_new = (), False
        for _ in range(WIDER):
            between = [(None, None), *((0.0, largest[k]) for k in least)]
            planes = np.column_stack([-np.ones(len(worth)), over])
            lowest = linprog([1.0] + [0.0] * len(least), planes, -np.array(worth), bounds=between)
            parts = tuple(round(price / float(unit)) for price in lowest.x[1:])
            is_new = parts not in asked_before and lowest.fun / whole <= bound - SAME
            edge = [k for k, x in zip(least, lowest.x[1:], strict=True) if x >= largest[k] - 1e-9]
            if is_new or not edge:  # else larger prices may bound better
                break
            largest |= {k: 4 * largest[k] for k in edge}
        if not is_new:
            break
        asked_before.add(parts)
        floors = Floors(least, {k: unit * n for k, n in zip(least, parts, strict=True)})
        asked = floors.heavier(question)
        assert asked.weights is not None
        total = float(asked.weights.sum())
        found = solve(asked)
        if found.status != "optimal" or found.tree is None or found.bound is None:
            break
        tree = found.tree
        # Costs that differ by less than `SAME` are equal to the search.
        value = ((found.bound + SAME) * total - float(floors.owed())) / whole
        if value < worst - TOLERANCE:  # all trees are worth more: none keeps the floors
            return None
        if value < bound:
            best, bound = (floors, tree), value
        if not tell(found, value):
            break
    return best


def _unit(weights: np.ndarray) -> Fraction:
    """Prices are multiples of it: so fine that trees can be listed, where that is possible."""
    try:
        _, unit = common_unit(weights)
    except TooManyDigitsError:
        return Fraction(float(weights.sum())) / MOST_ERROR_UNITS
    room = MOST_ERROR_UNITS * unit / (4 * Fraction(float(weights.sum())))
    return unit / max(1, min(PARTS, int(room)))
