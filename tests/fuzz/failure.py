"""What a check raises."""

from __future__ import annotations


class Failure(AssertionError):
    """A run differs from what the referee found."""


def must(holds: bool, sentence: str) -> None:
    """Raise Failure with a sentence unless something holds."""
    if not holds:
        raise Failure(sentence)
