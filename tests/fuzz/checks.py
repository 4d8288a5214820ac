"""Which drawing and which check belong to a key."""

from __future__ import annotations

import numpy as np

from tests.fuzz import univariate
from tests.fuzz.case import Case

UNIVARIATE = (
    "path-search",
    "penalty-path",
    "path-columns",
    "flow-oct",
    "bend-oct",
    "accelerated-bend-oct",
    "oct-binary",
    "threshold-search",
    "oct",
    "bin-oct",
)


def keys() -> tuple[str, ...]:
    """Everything that can be fuzzed."""
    return UNIVARIATE


def draw(rng: np.random.Generator, key: str) -> Case:
    """Draw one case of a key."""
    return univariate.draw(rng, key)


def check(case: Case) -> None:
    """Solve a case and compare with its referee.

    Raises
    ------
    Failure
        With one sentence about the first difference.
    """
    univariate.check(case)
