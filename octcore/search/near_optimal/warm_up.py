"""The set of kernels of the near-optimal trees, compiled once per installation."""

from fractions import Fraction

import numpy as np

from octcore.search.near_optimal.counting import TreeGraph, build_levels
from octcore.search.near_optimal.ground import Ground
from octcore.search.near_optimal.instance import make_instance
from octcore.search.near_optimal.shapes import Shapes
from octcore.search.near_optimal.tree_set import BITS, LANES, Conditions, TreeQuery
from octcore.search.univariate.question import Question

ALL = (LANES, BITS)  # every set


def compile_part(part: str) -> None:
    """Ask everything about a few rows; of rows as bits, only what no other set has."""
    rng = np.random.default_rng(0)
    X, y = rng.random((24, 3)), rng.integers(0, 2, 24)
    X, depth = (X, 3) if part == "lanes" else (np.round(X), 4)
    instance = make_instance(Question(X, y, 2, depth), Fraction(1, 50), Fraction(1, 10))
    leaf = instance.total - int(instance.table.class_weight.max())
    ground = Ground(instance, lambda done: None, instance.cost(leaf, 1))
    graph = TreeGraph(ground, build_levels(ground))
    if part != "lanes":
        return
    found = TreeQuery(graph, Conditions(instance.tolerance))
    found.class_shares()
    next(found.in_order())
    Shapes(found)
