"""Engine of the exact search over assignments of rows to leaves; what it leaves open HiGHS gets."""

from __future__ import annotations

import time
from collections.abc import Callable

from octcore.engines.base import Outcome, SolveLimits, StopReason, offer
from octcore.engines.events import Recorder
from octcore.engines.monolithic import HighsEngine
from octcore.program import Program
from octcore.search.assignment.search import AssignmentSearch, AssignmentTask, warm_up

METHOD = "assignment-search"


class AssignmentSearchEngine:
    """Solves the typed problems of SVM1-ODT and OCT-H."""

    key = METHOD

    def solve(
        self, program: Program, limits: SolveLimits, recorder: Recorder, cancel: Callable[[], bool]
    ) -> Outcome:
        """Search; trees are polished and judged by routing before they count."""
        recorder.phase("compiling")
        compiling = warm_up(cancel)
        recorder.phase("search")
        limits.say_one_thread(recorder, "The search over assignments")
        begun = time.perf_counter()
        task: AssignmentTask = program.search
        assert recorder.objective is not None  # the single leaf is always offered first
        search = AssignmentSearch(task.problem, recorder.objective / program.scale)
        reason: StopReason | None = None
        for found in search.run():
            if found.planes is not None:
                offer(program, recorder, task.to_tree(found.planes), "search")
            if found.bound is not None:
                recorder.bound(program.scale * found.bound, found.states)
            recorder.progress(nodes=found.states)
            reason = limits.reached(recorder, cancel, found.states)
            if reason is not None:
                break
        if reason is None:
            recorder.note("The search ended with a gap that rounding or ties leave; HiGHS goes on.")
            return HighsEngine().solve(program, limits, recorder, cancel)
        seconds = {"compile": compiling, "solve": time.perf_counter() - begun}
        return Outcome(reason, METHOD, seconds=seconds)
