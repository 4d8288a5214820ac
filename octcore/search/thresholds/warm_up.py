"""The sets of kernels that a search over thresholds compiles or loads before it starts."""

from __future__ import annotations

import numpy as np

TWO, DEEPER = "depth-two", "deeper"
_KINDS = {2: np.int16, 4: np.int32, 8: np.int64}


def sets(width: int, deep: bool) -> tuple[str, ...]:
    """Names of the sets that a search needs; see `octcore.kernels`.

    Parameters
    ----------
    width : int
        Bytes of the integers: 2 serve all problems of up to 32,000 rows without odd weights.
    deep : bool
        Whether trees of depth three and more are needed as well.
    """
    return tuple(f"{__name__}:{width}-{part}" for part in (TWO, DEEPER)[: 1 + deep])


ALL = tuple(name for width in _KINDS for name in sets(width, True))
"""Every set, those that most searches need first."""


def compile_part(part: str) -> None:
    """Run the kernels of one set once on a few rows."""
    from octcore.search.thresholds.depth_two import Terms, depth_two
    from octcore.search.thresholds.node import open_node, search
    from octcore.search.thresholds.plan import grow
    from octcore.search.thresholds.rows import Rows

    width, _, name = part.partition("-")
    kind = _KINDS[int(width)]
    sequence = np.array([[1, 3, 5, 6]], np.int32)
    ones = np.ones(4, kind)
    rows = Rows(
        sequence, np.arange(4, dtype=kind)[None, :], np.array([0, 1, 0, 1], np.int32),
        ones, np.array([1, -1, 1, -1], kind), ones,
    )  # fmt: skip
    terms = Terms(2, 0.1, 1e-9, np.zeros(1, np.uint8), np.zeros(2, np.int64))
    plan, score = np.zeros((8, 4), np.int32), np.zeros(1)
    if name == TWO:
        depth_two(rows, terms, 4, 1, 1e300, np.ones(1, np.uint8), 1, score, plan[:4])
        grow(rows, terms, 4, 1, plan, np.empty((16, 3), np.int64))
    else:
        node = open_node(rows, 0.1, 3, 8, 1)
        search(rows, terms, node, 3, 1, 1e300, 1e300, score, -1, -1, plan)
