"""The engine of heuristics: the program's own starts are the answer, nothing is proven."""

from __future__ import annotations

from collections.abc import Callable

from octcore.engines.base import Outcome, SolveLimits, StopReason
from octcore.engines.events import Recorder
from octcore.program import Program


class GreedyEngine:
    """Returns at once: the starts were evaluated before any engine is called."""

    key = "greedy"

    def solve(
        self, program: Program, limits: SolveLimits, recorder: Recorder, cancel: Callable[[], bool]
    ) -> Outcome:
        """Stop with the gap as it is: a heuristic accepts any gap."""
        limits.say_one_thread(recorder, "A heuristic")
        return Outcome(StopReason.GAP_LIMIT, program.method)
