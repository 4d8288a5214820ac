"""The sets of kernels of the near-optimal trees, compiled once per installation."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from octcore.search.near_optimal.instance import make_instance
from octcore.search.near_optimal.tree_set import COUNTING, SHARES, TreeQuery, find_trees_compiled

ALL = (COUNTING, SHARES)
"""Every set, in the order in which a question needs them."""


def warm_up() -> None:
    """Load every kernel; the first time on a machine this compiles."""
    from octcore import kernels

    kernels.require(*ALL)


def compile_part(part: str) -> None:
    """Run the kernels of one set on a tiny instance."""
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (24, 4)).astype(np.uint8), rng.integers(0, 3, 24)
    instance = make_instance(X, y, 3, 3, Fraction(1, 50), Fraction(1, 10))
    graph = find_trees_compiled(instance, lambda done: None, lambda phase, done: None)
    assert graph is not None
    if part == SHARES.partition(":")[2]:
        TreeQuery(graph, instance.tolerance).count_shares()
