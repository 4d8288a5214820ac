"""The sets of kernels that a search compiles or loads before it starts."""

from __future__ import annotations

import numpy as np

from octcore import kernels

TWO, THREE, DEEPER, LEAVES = "depth-two", "depth-three", "deeper", "leaves"
WIDTHS = (32, 64)


def sets(width: int, depth: int, by_leaves: bool) -> tuple[str, ...]:
    """Names of the sets that a search needs.

    Parameters
    ----------
    width : int
        Bits of a counter: 32 serve all but large or fractional weights.
    depth : int
        Largest depth of a tree.
    by_leaves : bool
        Whether the number of leaves is limited, or asked for one by one.
    """
    parts = [TWO] + [THREE] * (depth > 2) + [DEEPER] * (depth > 3) + [LEAVES] * by_leaves
    return tuple(f"{__name__}:{width}-{part}" for part in parts)


ALL = tuple(name for width in WIDTHS for name in sets(width, 4, True))
"""Every set, those that most searches need first."""


def warm_up() -> None:
    """Load every kernel; the first time on a machine this compiles."""
    kernels.require(*ALL)


def compile_part(part: str) -> None:
    """Run the kernels of one set on a tiny instance."""
    from octcore.search.univariate.leaves import LeavesNode
    from octcore.search.univariate.node import LiteralNode, SearchState, ShallowNode
    from octcore.search.univariate.presolve import presolve

    width, _, name = part.partition("-")
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (24, 4))
    y = rng.integers(0, 3, 24)
    weights = np.full(24, 1.0 if int(width) == WIDTHS[0] else 2.0**30)
    rows = presolve(X, y, weights, 3).rows
    subset = np.arange(len(rows.block))
    state = SearchState(rows, 0.5, 1e-6)
    if name == TWO:
        ShallowNode(state, subset, 2).tree()
    elif name == LEAVES:
        LeavesNode(state, subset, 4, 16, None).search()
    else:
        LiteralNode(state, subset, 3 if name == THREE else 4).search()
