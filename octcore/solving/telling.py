"""What a person is told on standard error while a function works: compiling, and how it stands."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from octcore.data.findings import percent
from octcore.engines.events import CLOSED, Event, relative_gap
from octcore.numerics import kernels

SECONDS_BETWEEN = 1.0  # between two lines that say the same with other numbers
_is_told = False


@contextlib.contextmanager
def compiling_told() -> Iterator[None]:
    """Say when searches have to be compiled: once per installation a call is silent for long."""
    global _is_told
    if _is_told:
        yield
        return
    _is_told = True
    try:
        with kernels.announced(_tell_compiling):
            yield
    finally:
        _is_told = False


def _tell_compiling(words: str) -> None:
    if words != kernels.PREPARED:
        tell(f"{words}; this may take a minute or two")


def tell(words: str) -> None:
    """Write a line for a person; nobody need be listening."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        print(f"octcore: {words}", file=sys.stderr, flush=True)


def standing(seconds: float, phase: str, incumbent: float | None, bound: float | None) -> str:
    """How a solve stands: time, phase, incumbent, bound and gap."""
    gap = relative_gap(incumbent, bound)
    shown = {"incumbent": incumbent, "bound": bound}
    parts = [f"{name} {'-' if value is None else f'{value:.6g}'}" for name, value in shown.items()]
    gap = 0.0 if gap is not None and gap <= CLOSED else gap
    parts.append(f"gap {'-' if gap is None else percent(gap, 2).replace(' ', '')}")
    return "  ".join([f"{seconds:6.1f} s", phase, *parts])


@dataclass
class Teller:
    """Tells the events of a solve, at most a line a second and the last one."""

    heard: Callable[[Event], None] | None = None  # receives every event as well
    phase: str = ""
    last: float = float("-inf")

    def __call__(self, event: Event) -> None:
        """Take an event."""
        if self.heard is not None:
            self.heard(event)
        self.phase = event.source if event.kind == "phase" else self.phase
        now = time.monotonic()
        if event.kind == "finished" or now >= self.last + SECONDS_BETWEEN:
            self.last = now
            phase = "finished" if event.kind == "finished" else self.phase
            tell(standing(event.seconds, phase, event.incumbent, event.bound))
