"""What a verification says, what a proof gives it, and how one is stopped."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from octcore.data.serial import Record

SECONDS = "<seconds>"  # stands in a statement until the time is known
WALL_FACTOR = 5.0
"""Clock time beside a limit of CPU time: on a busy machine a check has its CPU time all the same,
and one that waits for something else ends."""


class Verdict(StrEnum):
    """What came out."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    NOT_VERIFIED = "not verified"


@dataclass(frozen=True)
class Verification(Record):
    """The claim of a run, held against an independent derivation."""

    status: str  # one of "confirmed", "refuted" or "not verified"
    statement: str  # one sentence for the certificate: what was found, or why nothing was
    method: str = ""  # how the claim was checked, such as "conflicting rows"; empty if it was not
    optimum: float | None = None
    """The optimum as derived here, in the formulation's own sense; None where only the claim itself
    was checked, or nothing."""
    seconds: float = 0.0  # of CPU
    estimate: float | None = None
    """Seconds that it was expected to take; None where there is no check to estimate."""
    case: str | None = None  # file that keeps a refuted case for a report

    @property
    def verified(self) -> bool | None:
        """True if confirmed, False if refuted, None if not verified."""
        return {Verdict.CONFIRMED: True, Verdict.REFUTED: False}.get(Verdict(self.status))


@dataclass(frozen=True, eq=False)
class Proven:
    """What a proof says about all trees that the settings allow."""

    bound: float | None
    """No tree is better, in the formulation's own sense; None if there is no tree at all."""
    method: str  # how it was derived, in a few words
    is_optimum: bool = False  # whether a tree reaches the bound
    by_root: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None
    """``by_root(said, is_sought)``: optimum with each encoded column at the root, NaN where there
    is no tree; one that is worse than what is said, where it is sought by more than the tolerance
    of a search, is some value between.  None if it cannot be derived."""


class WrongError(Exception):
    """A claim is false; the text says which and why."""


class NotProvenError(Exception):
    """Nothing can be said about a claim; the text says why."""


@dataclass
class Guard:
    """Ends a verification at its limits or when it is cancelled; call it often.

    What is large is announced before it is allocated (`needs`), what is long before it is begun
    (`expects`).
    """

    time_limit: float
    """Seconds of CPU of this thread, and `WALL_FACTOR` times as many of the clock, from the making
    of the guard."""
    cancel: Callable[[], bool] | None = None
    longest: float = math.inf  # longest estimate in seconds with which a check is begun
    memory_limit: float = math.inf  # bytes that a check may take beside the run
    estimate: float | None = None  # seconds that were announced, or that did not suffice
    start: tuple[float, float] = field(
        default_factory=lambda: (time.thread_time(), time.perf_counter())
    )

    @property
    def elapsed(self) -> float:
        """Seconds of CPU so far."""
        return time.thread_time() - self.start[0]

    def __call__(self) -> None:
        """Raise `NotProvenError` if the verification was cancelled, or is at the time limit."""
        if self.cancel is not None and self.cancel():
            raise NotProvenError("it was stopped")
        waited = time.perf_counter() - self.start[1]
        is_over = self.elapsed > self.time_limit
        if is_over or waited > WALL_FACTOR * self.time_limit:
            self.estimate = max(self.estimate or 0.0, self.time_limit)
            clock = f"{waited:.2g} s of the clock, {self.elapsed:.2g} s of them with work"
            raise NotProvenError(f"not done in {f'{self.time_limit:g} s' if is_over else clock}")

    def needs(self, n_bytes: float) -> None:
        """Announce bytes that will be held at once; `NotProvenError` if they are too many."""
        if n_bytes > self.memory_limit:
            most = f"it may take {self.memory_limit / 1e9:.2g}"
            raise NotProvenError(f"it would need {n_bytes / 1e9:.2g} GB of memory, {most}")

    def expects(self, seconds: float, times: float = 1.0) -> None:
        """Announce how long a check may take; `NotProvenError` if it is so many times too long."""
        self.estimate = seconds if math.isfinite(seconds) else None
        if seconds > times * self.longest:
            raise NotProvenError(f"({_estimated(seconds)})")


def _estimated(seconds: float) -> str:
    """Say an estimate in a unit that can be read."""
    if math.isinf(seconds) or seconds > 100 * 24 * 3600:
        return "estimated far too long"
    for unit, name in ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes")):
        if seconds >= 2 * unit:
            return f"estimated {seconds / unit:.0f} {name}"
    return f"estimated {seconds:.2g} s" if seconds < 10 else f"estimated {seconds:.0f} s"
