"""LP-based branch and cut on one warm HiGHS LP.

HiGHS takes neither lazy constraints nor user cuts inside its own tree (measured with 1.15), so
programs whose rows arrive from separators are solved by this engine: it owns the tree, HiGHS solves
the linear programs.  Cuts, branching, rounding and tree reading come with the program; the engine
knows no formulation.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from octcore.engines.base import Outcome, SolveLimits, StopReason, TimeUpError, make_guard
from octcore.engines.bc_search import BranchAndCut, Relaxation, SearchOptions
from octcore.engines.compile import CompiledModel, InfeasibleModelError, compile_model
from octcore.engines.events import Recorder
from octcore.engines.lp import LpData
from octcore.engines.monolithic import check_size
from octcore.errors import CancelledError, EngineError
from octcore.program import Capability, Program, PyomoModel, Sense


class BranchAndCutEngine:
    """Solves mixed-integer linear programs whose rows arrive from separators.

    Parameters
    ----------
    options : SearchOptions or None
        How to search; None for the defaults.
    """

    key = "branch-and-cut"
    title = "branch and cut on HiGHS"
    supports = frozenset({Capability.SEPARATION})

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
        if program.build is None:
            raise EngineError("NO_MODEL", "Branch and cut needs a program with a model.")
        seconds: dict[str, float] = {}
        recorder.bound(program.bound)
        if recorder.is_closed:
            return Outcome(StopReason.OPTIMAL, program.method)
        check_size(program.size, None)
        try:
            recorder.phase("build")
            started = time.perf_counter()
            model = program.build(make_guard(limits, cancel))
            seconds["build"] = time.perf_counter() - started
            for source, tree in model.starts:
                value = program.evaluate(tree)
                if value is not None:
                    recorder.incumbent(value, tree, source)
            recorder.phase("compile")
            started = time.perf_counter()
            compiled = compile_model(model.model)
            seconds["compile"] = time.perf_counter() - started
        except TimeUpError:
            return Outcome(StopReason.TIME_LIMIT, program.method, seconds=seconds)
        except CancelledError:
            return Outcome(StopReason.CANCELLED, program.method, seconds=seconds)
        except InfeasibleModelError:
            return Outcome(StopReason.INFEASIBLE, program.method, seconds=seconds)
        recorder.model(compiled.size.to_dict())
        return self._search(program, model, compiled, limits, recorder, cancel, seconds)

    def _search(
        self,
        program: Program,
        model: PyomoModel,
        compiled: CompiledModel,
        limits: SolveLimits,
        recorder: Recorder,
        cancel: Callable[[], bool],
        seconds: dict[str, float],
    ) -> Outcome:
        recorder.phase("solve")
        started = time.perf_counter()
        relaxation = relax(compiled, program)
        search = BranchAndCut(relaxation, model, program, limits, recorder, cancel, self.options)
        reason = search.run()
        seconds["solve"] = time.perf_counter() - started
        recorder.progress(search.nodes)
        root = search.root_value
        return Outcome(
            reason,
            program.method,
            root_bound=None if root is None else relaxation.objective(root),
            size=compiled.size,
            seconds=seconds,
            values={
                **model.values,
                "nodes": search.nodes,
                "linear_programs": search.lp.solves,
                "cuts_by_family": dict(search.pool.added),
                "cuts_purged": search.pool.purged,
            },
        )


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
