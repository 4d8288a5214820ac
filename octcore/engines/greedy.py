"""The engine of heuristics: the program's own starts are the answer, nothing is proven."""

from __future__ import annotations

from octcore.engines.base import Attempt, Outcome, StopReason


class GreedyEngine:
    """Returns at once: the starts were evaluated before any engine is called."""

    key = "greedy"

    def solve(self, attempt: Attempt) -> Outcome:
        """Stop with the gap as it is: a heuristic accepts any gap."""
        attempt.say_one_thread("A heuristic")
        return Outcome(StopReason.GAP_LIMIT, attempt.program.method)
