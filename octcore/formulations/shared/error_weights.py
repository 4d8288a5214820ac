"""Cost of the answers: of a tree, of the best single answer, and the least there can be.

Without costs of their own these are weights of misclassified rows.
"""

from __future__ import annotations

import numpy as np

from octcore.program import Problem
from octcore.tree import metrics
from octcore.tree.tree import Tree

ROUNDING = 1e-12
"""Share of the total weight up to which a difference of sums is none."""


def tree_errors(problem: Problem, tree: Tree) -> float:
    """Cost of a tree's answers, the weight that it misclassifies."""
    wrong = tree.predict_codes(problem.X) != problem.y
    return float(problem.weights[wrong].sum()) - problem.surplus


def majority_errors(problem: Problem) -> float:
    """L-hat of OCT: cost of the best single answer, the majority; 1 if it costs nothing."""
    shares = problem.class_weights
    wrong = float(shares.sum() - shares.max()) - problem.surplus
    return wrong if wrong > ROUNDING * problem.weights.sum() else 1.0


def fewest_errors(problem: Problem) -> float:
    """Cost that every tree has, as identical rows differ in their classes."""
    return metrics.conflict_errors(problem.X, problem.y, problem.weights) - problem.surplus


def weight_tolerance(problem: Problem, price: float = 0.0) -> float:
    """How closely a solver must keep the rows of errors, whose big-M is the weight of all rows.

    A label that is integral up to the tolerance may hide that share of all weights: far less than
    the lightest row, as far as double precision goes, and less than the price of a split.
    """
    lightest = float(problem.weights[problem.weights > 0].min())
    lightest = min(lightest, price or lightest)
    return float(np.clip(1e-2 * lightest / problem.weights.sum(), 1e-10, 1e-6))
