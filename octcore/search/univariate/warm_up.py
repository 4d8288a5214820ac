"""The sets of kernels that a search compiles or loads before it starts (`numerics/kernels.py`)."""

import numpy as np

from octcore.search.univariate.bit_search import BitSearch
from octcore.search.univariate.bit_table import COUNTER_LIMIT
from octcore.search.univariate.lane_search import LaneSearch
from octcore.search.univariate.question import Question
from octcore.search.univariate.table import make_inquiry


def lane_sets(width: int, deep: bool) -> tuple[str, ...]:
    """Names of the sets of a search over all thresholds; `deep` for trees of three levels and more.

    `width`: bytes of the integers: 2 serve all tables of up to 32,000 rows without odd weights.
    """
    return tuple(f"{__name__}:lanes-{width}-{part}" for part in ("two", "deeper")[: 1 + deep])


def bit_sets(total: int, depth: int) -> tuple[str, ...]:
    """Names of the sets of a search over 0/1 columns, by the sum of the weights and the depth."""
    width = 4 if total < COUNTER_LIMIT else 8
    most = 4 if width == 4 else 3  # subsets are counted in 32 bits only
    parts = ("two", "three", "deeper", "deepest")[: max(1, min(most, depth - 1))]
    return tuple(f"{__name__}:bits-{width}-{part}" for part in parts)


ALL = tuple(
    [name for width in (2, 4, 8) for name in lane_sets(width, True)]
    + [name for total in (1, COUNTER_LIMIT) for name in bit_sets(total, 5)]
)
"""Every set, those that most searches need first."""


def compile_part(part: str) -> None:
    """Run the kernels of one set once, on a few rows of a weight that asks for its integers."""
    kind, width, name = part.split("-")
    rng, weights = np.random.default_rng(0), np.ones(24)
    heavy = {"lanes-4": 2.0**20, "lanes-8": np.pi, "bits-8": float(COUNTER_LIMIT)}
    weights[0] = heavy.get(f"{kind}-{width}", 1.0)
    depth = {"two": 2, "three": 3, "deeper": 4, "deepest": 5}[name]
    X, y = rng.integers(0, 2, (24, 4)).astype(np.uint8), rng.integers(0, 3, 24)
    inquiry = make_inquiry(Question(X, y, 3, depth, 0.5 / weights.sum(), weights))
    search = (LaneSearch if kind == "lanes" else BitSearch)(inquiry)
    for _ in search.pieces():
        pass
    if isinstance(search, BitSearch) and name == "deepest":
        search.state.subsets.least(np.ones(len(search.bits.rows.block), bool), 3, 0)
