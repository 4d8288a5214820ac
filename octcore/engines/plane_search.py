"""Engines of the exact searches for trees of planes: their reports become events of the trace."""

from __future__ import annotations

import time
from collections.abc import Callable

from octcore import kernels
from octcore.engines.base import Outcome, SolveLimits, StopReason, offer
from octcore.engines.events import Recorder
from octcore.engines.monolithic import HighsEngine
from octcore.program import Program
from octcore.search.report import PlaneTask, Report

SHARE = 0.9
"""The search closes to less than what counts as closed, so that rounding cannot undo it."""


class RoutingSearchEngine:
    """Solves the typed problems of the MARGOT family."""

    key = "routing-search"
    goes_on = False
    """Whether HiGHS gets what the search leaves open."""

    def solve(
        self, program: Program, limits: SolveLimits, recorder: Recorder, cancel: Callable[[], bool]
    ) -> Outcome:
        """Search; trees are judged by routing before they count."""
        recorder.phase("compiling")
        compiling = kernels.require(*program.kernels, stop=cancel)
        recorder.phase("search")
        task: PlaneTask = program.search
        if task.one_thread is not None:
            limits.say_one_thread(recorder, task.one_thread)
        reason: StopReason | None = None

        def receive(report: Report) -> bool:
            if report.planes is not None:
                offer(program, recorder, task.to_tree(report.planes), report.source)
            if report.bound is not None:
                recorder.bound(program.scale * report.bound, report.states)
            return limits.reached(recorder, cancel) is not None

        def stop(states: int) -> bool:
            nonlocal reason
            recorder.progress(nodes=states)
            reason = limits.reached(recorder, cancel, states)
            return reason is not None

        begun = time.perf_counter()
        known, tree = recorder.objective, recorder.tree
        best = None if known is None or tree is None else (known / program.scale, tree)
        gap = max(limits.gap, SHARE * program.tolerance)
        left = task.search(receive, stop, best, gap, limits.threads)
        reason = limits.reached(recorder, cancel) or reason
        if reason is None and left is not None:
            recorder.note(left)
            if self.goes_on:
                return HighsEngine().solve(program, limits, recorder, cancel)
        seconds = {"compile": compiling, "solve": time.perf_counter() - begun}
        return Outcome(reason or StopReason.GAP_LIMIT, self.key, seconds=seconds)


class AssignmentSearchEngine(RoutingSearchEngine):
    """Solves the typed problems of SVM1-ODT and OCT-H."""

    key = "assignment-search"
    goes_on = True
