"""Which drawing and which check belong to a key."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.fuzz import agreement, near_optimal, oblique, questions, univariate
from tests.fuzz.case import Case


def keys() -> tuple[str, ...]:
    """Everything that can be fuzzed."""
    return (
        *univariate.KEYS,
        *questions.KEYS,
        *near_optimal.KEYS,
        *oblique.KEYS,
        *agreement.KEYS,
    )


def draw(rng: np.random.Generator, key: str) -> Case:
    """Draw one case of a key."""
    return _subject(key).draw(rng, key)


def check(case: Case) -> None:
    """Solve a case and compare with its referee.

    Raises
    ------
    Failure
        With one sentence about the first difference.
    Undecided
        If the referee itself cannot prove its answer.
    """
    _subject(case.key).check(case)


def _subject(key: str) -> Any:
    """Module with the drawing and the check of a key."""
    others = (questions, near_optimal, oblique, agreement)
    return next((m for m in others if key in m.KEYS), univariate)
