"""Engine of the search over all thresholds: its events become events of the trace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from octcore.engines.base import Outcome, SolveLimits, StopReason, root_values
from octcore.engines.events import Recorder
from octcore.program import Program
from octcore.search.thresholds.problem import (
    Moment,
    ThresholdEvent,
    ThresholdProblem,
    ThresholdResult,
)
from octcore.search.thresholds.search import threshold_search

LIVE_SECONDS, LIVE_SHARE, LIVE_COLUMNS = 0.5, 0.05, 4
"""How soon, how often and of how many columns those that watch are told what is still open."""
PLAIN_CLAIM = "searched by plain array operations: the kernels of this machine were not compiled"


class ThresholdSearchEngine:
    """Solves the typed problem of `octcore.formulations.threshold_search`."""

    key = "threshold-search"
    title = "exact search on all thresholds"

    def solve(
        self, program: Program, limits: SolveLimits, recorder: Recorder, cancel: Callable[[], bool]
    ) -> Outcome:
        """Search; the limit on time does not count the compiling of kernels."""
        problem: ThresholdProblem = replace(program.search, threads=limits.threads)
        due = LIVE_SECONDS

        def receive(event: ThresholdEvent) -> None:
            if event.kind == "started":
                recorder.phase("search")
            if event.tree is not None:
                objective = program.evaluate(event.tree)
                if objective is not None:
                    recorder.incumbent(objective, event.tree, "search")
            if event.bound is not None:
                recorder.bound(program.scale * event.bound + program.shift, event.subtrees)
            nonlocal due
            now = limits.clock.elapsed
            moment = event.latest() if now >= due else None
            told = {} if moment is None else {"open": _plain(program, moment, LIVE_COLUMNS)}
            if recorder.progress(event.subtrees, None, **told) and told:
                due = now + max(LIVE_SECONDS, LIVE_SHARE * now)  # all of them are stored

        result = threshold_search(problem, receive, cancel, limits.clock.remaining)
        return Outcome(
            StopReason(result.status),
            program.method,
            seconds={"solve": result.search_seconds},
            claims=(PLAIN_CLAIM,) if result.plain else (),
            values=root_values(program, result.root_values, result.root_exact, result.leaf_value)
            | open_thresholds(program, result),
        )


def open_thresholds(program: Program, result: ThresholdResult) -> dict[str, object]:
    """Where a better root could still lie, at some moments of the search, as plain data."""
    moments = [_plain(program, moment) for moment in result.moments]
    return {"open_thresholds": moments} if moments else {}


def _plain(program: Program, moment: Moment, columns: int | None = None) -> dict[str, object]:
    shown = list(moment.open.items())[:columns]
    return {
        "seconds": moment.seconds,
        "value": program.scale * moment.value + program.shift,
        "bound": program.scale * moment.bound + program.shift,
        "root": None if moment.root is None else list(moment.root),
        "open": {str(j): [list(run) for run in runs] for j, runs in shown},
    }
