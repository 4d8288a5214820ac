"""Weights of misclassified rows: of a tree, of the majority rule, and the least there can be."""

from __future__ import annotations

import numpy as np

from octcore.program import Problem
from octcore.tree import metrics
from octcore.tree.tree import Tree


def tree_errors(problem: Problem, tree: Tree) -> float:
    """Weight that a tree misclassifies."""
    return float(problem.weights[tree.predict_codes(problem.X) != problem.y].sum())


def majority_errors(problem: Problem) -> float:
    """L-hat of OCT: weight that the majority rule misclassifies; 1 if there is none."""
    shares = problem.class_weights
    wrong = float(shares.sum() - shares.max())
    return wrong if wrong > 0 else 1.0


def fewest_errors(problem: Problem) -> float:
    """Weight that every tree misclassifies, as identical rows differ in their classes."""
    ceiling = metrics.accuracy_ceiling(problem.X, problem.y, problem.weights)
    return float(problem.weights.sum() * (1 - ceiling))


def weight_tolerance(problem: Problem) -> float:
    """How closely a solver must keep the rows of errors, whose big-M is the weight of all rows.

    A label that is integral up to the tolerance may hide that share of all weights: far less than
    the lightest row, as far as double precision goes.
    """
    lightest = float(problem.weights[problem.weights > 0].min())
    return float(np.clip(1e-2 * lightest / problem.weights.sum(), 1e-10, 1e-6))
