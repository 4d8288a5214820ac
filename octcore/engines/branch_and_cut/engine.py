"""LP-based branch and cut on one warm HiGHS LP.

HiGHS takes neither lazy constraints nor user cuts inside its own tree (measured with 1.15), so
programs whose rows arrive from separators are solved by this engine: it owns the tree, HiGHS solves
the linear programs.  Cuts, branching, rounding and tree reading come with the program; the engine
knows no formulation.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from octcore.engines.base import Outcome
from octcore.engines.branch_and_cut.search import BranchAndCut, Relaxation
from octcore.engines.compile import CompiledModel
from octcore.engines.model_run import ModelEngine, ModelRun
from octcore.program import Program, Sense


@dataclass(eq=False)
class _SearchRun(ModelRun):
    """State of one solve."""

    def supervise(self) -> Outcome:
        """Say first what is not obeyed."""
        self.say_one_thread("Branch and cut")
        return super().supervise()

    def solve(self) -> Outcome:
        self.build()
        self.compile()
        relaxation = relax(self.compiled, self.program)
        with self.phase("solve"):
            search = BranchAndCut(relaxation, self.built, self)
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


class BranchAndCutEngine(ModelEngine):
    """Solves mixed-integer linear programs whose rows arrive from separators."""

    key = "branch-and-cut"
    run = _SearchRun


def relax(compiled: CompiledModel, program: Program) -> Relaxation:
    """Drop the integrality and turn the model into a minimisation."""
    sign = -1.0 if compiled.sense is Sense.MAXIMISE else 1.0
    return Relaxation(
        compiled.linear(sign),
        compiled.columns,
        np.flatnonzero(compiled.integer),
        program.scale * sign,
        program.scale * compiled.offset + program.shift,
    )
