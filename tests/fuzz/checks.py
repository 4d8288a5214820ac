"""Which drawing and which check belong to a key."""

from __future__ import annotations

import numpy as np

from tests.fuzz import oblique, univariate
from tests.fuzz.case import Case


def keys() -> tuple[str, ...]:
    """Everything that can be fuzzed."""
    return (*univariate.KEYS, *oblique.KEYS)


def draw(rng: np.random.Generator, key: str) -> Case:
    """Draw one case of a key."""
    return (oblique if key in oblique.KEYS else univariate).draw(rng, key)


def check(case: Case) -> None:
    """Solve a case and compare with its referee.

    Raises
    ------
    Failure
        With one sentence about the first difference.
    Undecided
        If the referee itself cannot prove its answer.
    """
    (oblique if case.key in oblique.KEYS else univariate).check(case)
