"""Engines of the exact searches for trees of planes: their reports become events of the trace."""

import time

from octcore.engines.base import Attempt, Outcome, StopReason
from octcore.engines.monolithic import highs
from octcore.numerics import kernels
from octcore.search.report import PlaneTask, Report
from octcore.tree.tree import Tree

SHARE = 0.9  # the search closes to less than what counts as closed, so that rounding cannot undo it


def _search(attempt: Attempt, key: str, goes_on: bool) -> Outcome:
    """Search; trees are judged by routing before they count.

    `goes_on`: whether HiGHS gets what the search leaves open.
    """
    program, recorder = attempt.program, attempt.recorder
    recorder.phase("compiling")
    compiling = kernels.require(*program.kernels, stop=attempt.cancel)
    recorder.phase("search")
    task: PlaneTask = program.search
    if task.one_thread is not None:
        attempt.say_one_thread(task.one_thread)
    reason: StopReason | None = None

    def receive(report: Report) -> bool:
        if report.planes is not None:
            attempt.offer(task.to_tree(report.planes), report.source)
        if report.bound is not None:
            recorder.bound(program.scale * report.bound, report.states)
        return attempt.reached() is not None

    def stop(states: int) -> bool:
        nonlocal reason
        recorder.progress(nodes=states)
        reason = attempt.reached(states)
        return reason is not None

    def known() -> tuple[float, Tree] | None:
        objective, tree = recorder.objective, recorder.tree
        return None if objective is None or tree is None else (objective / program.scale, tree)

    begun = time.perf_counter()
    gap = max(attempt.gap, SHARE * program.tolerance)
    left = task.search(receive, stop, known, gap, attempt.threads)
    reason = attempt.reached() or reason
    if reason is None and left is not None:
        recorder.note(left)
        if goes_on:
            return highs(attempt)
    seconds = {"compile": compiling, "solve": time.perf_counter() - begun}
    return Outcome(reason or StopReason.GAP_LIMIT, key, seconds=seconds)


def routing_search(attempt: Attempt) -> Outcome:
    """Solve a typed problem of the MARGOT family."""
    return _search(attempt, "routing-search", goes_on=False)


def assignment_search(attempt: Attempt) -> Outcome:
    """Solve a typed problem of SVM1-ODT or OCT-H."""
    return _search(attempt, "assignment-search", goes_on=True)
