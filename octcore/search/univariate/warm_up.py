"""Compile or load the search kernels ahead of time, so that no solve pauses silently for it."""

from __future__ import annotations

import numpy as np

from octcore.search.univariate.leaves import LeavesNode
from octcore.search.univariate.node import LiteralNode, SearchState
from octcore.search.univariate.presolve import presolve

_done: set[int] = set()


def compiled(width: int = 32) -> bool:
    """Tell whether the kernels for counters of ``width`` bits (32 or 64) are loaded."""
    return width in _done


def warm_up(widths: tuple[int, ...] = (32, 64)) -> None:
    """Run every kernel once on a tiny instance.

    The first time on a machine this compiles for up to a minute; later the numba cache is read.

    Parameters
    ----------
    widths : tuple of int
        Counter widths to prepare: 32 bits serve all but large or fractional weights.
    """
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (24, 4))
    y = rng.integers(0, 3, 24)
    for width in widths:
        if width in _done:
            continue
        weights = np.full(24, 1.0 if width == 32 else 2.0**30)
        rows = presolve(X, y, weights, 3).rows
        subset = np.arange(len(rows.block))
        LiteralNode(SearchState(rows, 0.5, 1e-6), subset, 4).search()
        LeavesNode(SearchState(rows, 0.5, 1e-6), subset, 4, 16, None).search()
        _done.add(width)
