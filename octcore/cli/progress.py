"""One line on a terminal that says how a solve stands; nothing when the output is piped."""

from __future__ import annotations

import contextlib
import sys

from octcore.engines.events import relative_gap
from octcore.worker import Snapshot

CLEAR = "\r\x1b[K"


class ProgressLine:
    """Rewrites one line of standard error while a solve runs."""

    def __init__(self) -> None:
        self.is_shown = sys.stderr.isatty()

    def __call__(self, snapshot: Snapshot) -> None:
        """Show a snapshot."""
        self._write(CLEAR + progress_text(snapshot))

    def close(self) -> None:
        """Remove the line."""
        self._write(CLEAR)

    def _write(self, text: str) -> None:
        if self.is_shown:
            # A terminal that was closed must not end the solve.
            with contextlib.suppress(OSError):
                sys.stderr.write(text)
                sys.stderr.flush()


def progress_text(snapshot: Snapshot) -> str:
    """Elapsed time, phase, incumbent, bound and gap in words."""
    last = snapshot.last
    incumbent = None if last is None else last.incumbent
    bound = None if last is None else last.bound
    gap = relative_gap(incumbent, bound)
    parts = [
        f"{snapshot.elapsed:6.1f} s",
        snapshot.phase,
        f"incumbent {_number(incumbent)}",
        f"bound {_number(bound)}",
        f"gap {'-' if gap is None else f'{gap:.2%}'}",
    ]
    return "  ".join(parts)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.6g}"
