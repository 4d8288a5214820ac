"""LP-based branch and cut on one warm HiGHS LP.

HiGHS takes neither lazy constraints nor user cuts inside its own tree (measured with 1.15), so
programs whose rows arrive from separators are solved by this engine: it owns the tree, HiGHS solves
the linear programs.  Cuts, branching, rounding and tree reading come with the program; the engine
knows no formulation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from octcore.engines.base import Outcome, SolveLimits
from octcore.engines.branch_and_cut.lp import LpData
from octcore.engines.branch_and_cut.search import BranchAndCut, Relaxation, SearchOptions
from octcore.engines.compile import CompiledModel
from octcore.engines.events import Recorder
from octcore.engines.model_run import ModelRun
from octcore.program import Program, Sense


class BranchAndCutEngine:
    """Solves mixed-integer linear programs whose rows arrive from separators.

    Parameters
    ----------
    options : SearchOptions or None
        How to search; None for the defaults.
    """

    key = "branch-and-cut"

    def __init__(self, options: SearchOptions | None = None) -> None:
        self.options = options or SearchOptions()

    def solve(
        self, program: Program, limits: SolveLimits, recorder: Recorder, cancel: Callable[[], bool]
    ) -> Outcome:
        """Solve, sending incumbents and bounds to the recorder.

        Raises
        ------
        EngineError
            If the program has no model or HiGHS fails on a linear program.
        TooLargeError
            If the model would not fit into memory.
        """
        limits.say_one_thread(recorder, "Branch and cut")
        run = _SearchRun(program, limits, recorder, cancel, options=self.options)
        return run.supervise(run.solve)


@dataclass(eq=False)
class _SearchRun(ModelRun):
    """State of one solve."""

    options: SearchOptions = field(default_factory=SearchOptions)

    def solve(self) -> Outcome:
        model = self.build()
        compiled = self.compile(model)
        relaxation = relax(compiled, self.program)
        with self.phase("solve"):
            search = BranchAndCut(
                relaxation,
                model,
                self.program,
                self.limits,
                self.recorder,
                self.cancel,
                self.options,
            )
            reason = search.run()
        self.recorder.progress(search.nodes)
        if search.root_value is not None:
            self.root_bound = relaxation.objective(search.root_value)
        self.values |= {
            "nodes": search.nodes,
            "linear_programs": search.lp.solves,
            "cuts_by_family": dict(search.pool.added),
            "cuts_purged": search.pool.purged,
        }
        return self.outcome(reason)


def relax(compiled: CompiledModel, program: Program) -> Relaxation:
    """Drop the integrality and turn the model into a minimisation."""
    sign = -1.0 if compiled.sense is Sense.MAXIMISE else 1.0
    data = LpData(
        sign * compiled.cost,
        compiled.lower,
        compiled.upper,
        compiled.matrix,
        compiled.row_lower,
        compiled.row_upper,
    )
    return Relaxation(
        data,
        compiled.columns,
        np.flatnonzero(compiled.integer),
        program.scale * sign,
        program.scale * compiled.offset + program.shift,
    )
