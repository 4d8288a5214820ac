"""Engine of the exact univariate search: events of the search become events of the trace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from octcore.engines.base import Outcome, SolveLimits, StopReason, root_values
from octcore.engines.events import Recorder
from octcore.program import Program
from octcore.search.univariate.convert import from_tree, to_tree
from octcore.search.univariate.problem import PathEvent, PathProblem, PathSearchResult
from octcore.search.univariate.search import path_search


class PathSearchEngine:
    """Solves the typed problems of `octcore.formulations.path_search`.

    Their trees together are all trees of the program; without any problem there is no tree.
    """

    key = "path-search"
    title = "exact search (D2S)"

    def solve(
        self, program: Program, limits: SolveLimits, recorder: Recorder, cancel: Callable[[], bool]
    ) -> Outcome:
        """Solve every problem of the program; the best of their optima is the optimum."""
        problems: tuple[PathProblem, ...] = program.search
        bridge = _Bridge(program, recorder)
        results: list[PathSearchResult] = []
        for problem in problems:
            bridge.n_waiting = len(problems) - len(results) - 1
            start = None if recorder.tree is None else from_tree(recorder.tree)
            asked = replace(problem, start=start, threads=limits.threads)
            remaining = limits.clock.remaining
            results.append(path_search(asked, bridge.receive, cancel, remaining))
            bridge.close(results[-1])
            if results[-1].status in {"time_limit", "cancelled"}:
                break
        return _outcome(program, problems, results, recorder)


class _Bridge:
    """Turns events of one search into events of the trace; a bound counts when it covers all."""

    def __init__(self, program: Program, recorder: Recorder) -> None:
        self.program, self.recorder = program, recorder
        self.n_waiting = 0
        self.closed_bound = -np.inf

    def receive(self, event: PathEvent) -> None:
        """Pass one event on."""
        program, recorder = self.program, self.recorder
        if event.kind == "started":
            recorder.phase("search")
        elif event.kind == "incumbent" and event.tree is not None and event.source != "warm start":
            tree = to_tree(event.tree, program.n_features, program.n_classes)
            objective = program.evaluate(tree)
            if objective is not None:
                recorder.incumbent(objective, tree, "search")
        if event.bound is not None and self.n_waiting == 0:
            recorder.bound(self.scaled(max(event.bound, self.closed_bound)), event.runs)
        recorder.progress(nodes=event.runs)

    def close(self, result: PathSearchResult) -> None:
        """Remember what a finished search proves."""
        if result.status != "infeasible":
            bound = np.inf if result.bound is None else result.bound
            self.closed_bound = max(self.closed_bound, bound)
        if self.n_waiting == 0 and np.isfinite(self.closed_bound):
            self.recorder.bound(self.scaled(self.closed_bound), result.runs)

    def scaled(self, value: float) -> float:
        """Objective of the formulation for a value of the search."""
        return self.program.scale * value + self.program.shift


_ENDS = ("time_limit", "cancelled", "optimal")
"""What several searches together have reached, in the order in which it counts."""


def _outcome(
    program: Program,
    problems: tuple[PathProblem, ...],
    results: list[PathSearchResult],
    recorder: Recorder,
) -> Outcome:
    ended = {result.status for result in results}
    reason = next((StopReason(s) for s in _ENDS if s in ended), StopReason.INFEASIBLE)
    # A tree must contradict no search: nothing is proven when the two disagree.
    if (reason is StopReason.OPTIMAL and not recorder.is_closed) or (
        reason is StopReason.INFEASIBLE and recorder.tree is not None
    ):
        recorder.note("The search and the known trees contradict each other; nothing is proven.")
        reason = StopReason.ERROR
    values: dict[str, object] = {}
    if len(problems) == 1:
        only = results[0]
        values = root_values(program, only.root_values, only.root_exact, only.leaf_value)
    seconds = {"solve": sum(r.search_seconds for r in results)}
    return Outcome(reason, program.method, seconds=seconds, values=values)
