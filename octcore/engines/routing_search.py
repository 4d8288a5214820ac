"""Engine of the exact search over routings: starts go in, its events become events of the trace."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from octcore.engines.base import Outcome, SolveLimits, StopReason, offer
from octcore.engines.events import Recorder
from octcore.program import Program
from octcore.search.margot.records import RoutingEvent, RoutingIncumbent
from octcore.search.margot.search import routing_search, warm_up

SHARE = 0.9
"""The search closes to less than what counts as closed, so that rounding cannot undo it."""


class RoutingSearchEngine:
    """Solves the typed problems of the MARGOT family."""

    key = "routing-search"

    def solve(
        self, program: Program, limits: SolveLimits, recorder: Recorder, cancel: Callable[[], bool]
    ) -> Outcome:
        """Search; incumbents are evaluated by routing before they count."""
        recorder.phase("compiling")
        compiling = warm_up()
        recorder.phase("search")
        task = program.search
        if task.problem.variant != "margot":
            limits.say_one_thread(recorder, "The search under feature budgets")
        task = replace(
            task,
            problem=replace(
                task.problem,
                gap=max(limits.gap, SHARE * program.tolerance),
                threads=limits.threads,
            ),
        )

        def receive(event: RoutingEvent) -> None:
            if isinstance(event, RoutingIncumbent):
                offer(program, recorder, task.to_tree(event.planes), event.source)
            else:
                recorder.bound(event.bound, event.nodes)

        limit = float("inf") if limits.node_limit is None else limits.node_limit
        start = None if recorder.tree is None else task.to_routing(recorder.tree)
        result = routing_search(
            task.problem,
            receive,
            cancel,
            limits.clock.remaining,
            limit,
            () if start is None else (start,),
        )
        recorder.bound(result.bound, result.nodes)
        if result.status == "stalled":
            recorder.note("Rounding kept the last routings from being decided; the gap stays.")
        is_open = result.status == "optimal" and not recorder.is_closed
        has_gap = is_open or result.status == "stalled"
        reason = StopReason.GAP_LIMIT if has_gap else StopReason(result.status)
        return Outcome(reason, self.key, seconds={"compile": compiling, "solve": result.seconds})
