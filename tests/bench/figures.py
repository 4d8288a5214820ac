"""One line of the table of reliability: what was asked for, what was measured, whether it holds."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

HEADER = "| what | goal | measured | holds |\n|---|---|---|---|"


@dataclass(frozen=True)
class Figure:
    """A line of the table.

    Parameters
    ----------
    what, goal : str
        What is measured, and what it should be.
    measured : str
        What it was.
    holds : bool
        Whether the goal was reached.
    """

    what: str
    goal: str
    measured: str
    holds: bool

    def line(self) -> str:
        """Return the line in Markdown."""
        return f"| {self.what} | {self.goal} | {self.measured} | {'yes' if self.holds else 'NO'} |"


def spread(seconds: Sequence[float]) -> str:
    """Median and largest of some seconds, in words."""
    return f"median {statistics.median(seconds):.2f} s, at most {max(seconds):.2f} s"
