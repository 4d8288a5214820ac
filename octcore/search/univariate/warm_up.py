"""The sets of kernels that a search compiles or loads before it starts; see `octcore.kernels`."""

from __future__ import annotations

import numpy as np

LARGEST_NARROW = 2**28
"""Largest total weight for counters of 32 bits, on bit sets."""
_KINDS = {2: np.int16, 4: np.int32, 8: np.int64}


def lane_sets(width: int, deep: bool) -> tuple[str, ...]:
    """Names of the sets of a search over all thresholds.

    Parameters
    ----------
    width : int
        Bytes of the integers: 2 serve all tables of up to 32,000 rows without odd weights.
    deep : bool
        Whether trees of depth three and more are needed as well.
    """
    return tuple(f"{__name__}:lanes-{width}-{part}" for part in ("two", "deeper")[: 1 + deep])


def bit_sets(total: int, depth: int) -> tuple[str, ...]:
    """Names of the sets of a search over 0/1 columns.

    Parameters
    ----------
    total : int
        Sum of the weights.
    depth : int
        Largest depth of a tree.
    """
    parts = ("two", "three", "deeper")[: 1 + (depth > 2) + (depth > 3)]
    width = 4 if total < LARGEST_NARROW else 8
    return tuple(f"{__name__}:bits-{width}-{part}" for part in parts)


ALL = tuple(
    [name for width in _KINDS for name in lane_sets(width, True)]
    + [name for total in (1, LARGEST_NARROW) for name in bit_sets(total, 4)]
)
"""Every set, those that most searches need first."""


def warm_up() -> None:
    """Load every kernel; the first time on a machine this compiles."""
    from octcore import kernels

    kernels.require(*ALL)


def compile_part(part: str) -> None:
    """Run the kernels of one set once on a few rows."""
    kind, width, name = part.split("-")
    if kind == "lanes":
        _compile_lanes(int(width), name)
    else:
        _compile_bits(int(width), name)


def _compile_lanes(width: int, name: str) -> None:
    from octcore.search.univariate.depth_two import Terms, depth_two
    from octcore.search.univariate.lane_rows import Rows, restrict
    from octcore.search.univariate.node import open_node, search

    kind = _KINDS[width]
    sequence = np.array([[1, 3, 5, 6]], np.int32)
    ones = np.ones(4, kind)
    rows = Rows(
        sequence, np.arange(4, dtype=kind)[None, :], np.array([0, 1, 0, 1], np.int32),
        ones, np.array([1, -1, 1, -1], kind), ones,
    )  # fmt: skip
    terms = Terms(2, 0.1, 1e-9, np.zeros(1, np.uint8), np.zeros(2, np.int64))
    plan, score = np.zeros((8, 4), np.int32), np.zeros(1)
    if name == "two":
        depth_two(rows, terms, 4, 1, 1e300, np.ones(1, np.uint8), 1, score, plan[:4])
        restrict(rows, np.ones(4, np.uint8), 4)
    else:
        node = open_node(rows, 0.1, 3, 8, 1)
        search(rows, terms, node, 3, 1, 1e300, 1e300, score, -1, -1, plan)


def _compile_bits(width: int, name: str) -> None:
    from octcore.search.univariate.bit_table import make_bits
    from octcore.search.univariate.literal_node import LiteralNode, SearchState
    from octcore.search.univariate.question import Question
    from octcore.search.univariate.table import make_table

    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (24, 4)).astype(np.uint8)
    weights = np.full(24, 1.0)
    weights[0] = 1.0 if width == 4 else float(LARGEST_NARROW)
    table = make_table(Question(X, rng.integers(0, 3, 24), 3, 4, weights=weights))
    bits = make_bits(table, np.ones(table.n_columns, bool), 1)
    state, depth = SearchState(bits.rows, 0.5, 1e-6), {"two": 2, "three": 3, "deeper": 4}[name]
    LiteralNode(state, np.arange(len(bits.rows.block)), depth).search()
