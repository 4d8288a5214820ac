"""The sets of kernels of the near-optimal trees, compiled once per installation."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from octcore.search.near_optimal.ground import LANES
from octcore.search.near_optimal.instance import make_instance
from octcore.search.near_optimal.shapes import Shapes
from octcore.search.near_optimal.tree_set import PAIRS, TreeQuery, find_trees_compiled

ALL = (LANES[2], PAIRS, LANES[4])
"""Every set that most questions need, in their order."""


def warm_up() -> None:
    """Load every kernel; the first time on a machine this compiles."""
    from octcore import kernels

    kernels.require(*ALL)


def compile_part(part: str) -> None:
    """Run the kernels of one set on a tiny instance."""
    rng = np.random.default_rng(0)
    n, kind, _, width = 24, *part.partition("-")
    X, y = rng.integers(0, 2, (n, 4)).astype(np.uint8), rng.integers(0, 3, n)
    weights = counts = None
    if kind == "lanes":  # rows of different weight, and for the widest integers of many rows
        weights = np.where(np.arange(n) < 2, {"2": 2.0, "4": 40_000.0, "8": 2.0}[width], 1.0)
        counts = np.full(n, 2**27 if width == "8" else 1)
    for n_classes in (2, 3) if kind == "lanes" else (3,):
        codes = np.minimum(y, n_classes - 1)
        instance = make_instance(
            X, codes, n_classes, 3, Fraction(1, 50), Fraction(1, 10), weights, counts
        )
        leaf = instance.total - int(instance.table.class_weight.max())
        known = instance.cost(leaf, 1) if kind == "lanes" else None
        graph = find_trees_compiled(instance, lambda done: None, lambda phase, done: None, known)
        assert graph is not None
        found = TreeQuery(graph, instance.tolerance)
        if kind == "lanes":
            found.class_shares()
            next(found.in_order())
            Shapes(graph.counter, found.listing, False)
