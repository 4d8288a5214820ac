"""What a verification says, and how one is stopped."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from octcore.errors import CancelledError

SECONDS = "<seconds>"
"""Stands in a statement until the time is known."""


class Verdict(StrEnum):
    """What came out."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    NOT_VERIFIED = "not verified"


@dataclass(frozen=True)
class Verification:
    """The claim of a run, held against an independent derivation."""

    status: str
    """One of "confirmed", "refuted" or "not verified"."""
    statement: str
    """One sentence for the certificate: what was found, or why nothing was."""
    method: str = ""
    """How the claim was checked, such as "all pairs of literals"; empty if it was not."""
    optimum: float | None = None
    """The optimum as derived here, in the formulation's own sense; None where only the claim itself
    was checked, or nothing."""
    seconds: float = 0.0
    estimate: float | None = None
    """Seconds that it was expected to take; None where there is no check to estimate."""
    case: str | None = None
    """File that keeps a refuted case for a report."""

    @property
    def verified(self) -> bool | None:
        """True if confirmed, False if refuted, None if not verified."""
        return {Verdict.CONFIRMED: True, Verdict.REFUTED: False}.get(Verdict(self.status))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Verification:
        """Read a verification back."""
        return cls(**{name: record[name] for name in cls.__dataclass_fields__ if name in record})


class OutOfTimeError(Exception):
    """The time limit of a verification has passed."""


@dataclass(frozen=True)
class Guard:
    """Ends a verification at its time limit or when it is cancelled; call it often."""

    time_limit: float
    """Seconds from the making of the guard."""
    cancel: Callable[[], bool] | None = None
    start: float = field(default_factory=time.perf_counter)

    @property
    def elapsed(self) -> float:
        """Seconds so far."""
        return time.perf_counter() - self.start

    def __call__(self) -> None:
        """Raise if the verification must end.

        Raises
        ------
        CancelledError
            If it was cancelled.
        OutOfTimeError
            At the time limit.
        """
        if self.cancel is not None and self.cancel():
            raise CancelledError("The verification was stopped.")
        if self.elapsed > self.time_limit:
            raise OutOfTimeError
