"""SCIP and Gurobi as optional engines through Pyomo: no live events, but quadratic objectives.

The Pyomo model goes to the solver as it stands; its point is read, routed and recorded as with
every other engine.
"""

import importlib
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.common.errors import InfeasibleConstraintException
from pyomo.contrib.solver.common.results import Results, TerminationCondition

from octcore.engines.base import Attempt, Outcome, StopReason
from octcore.engines.events import claim_slack, finite
from octcore.engines.highs import CompiledColumns
from octcore.engines.model_run import ModelRun
from octcore.errors import SettingsError
from octcore.program import ModelSize, Point

_REASONS = {
    TerminationCondition.maxTimeLimit: StopReason.TIME_LIMIT,
    TerminationCondition.iterationLimit: StopReason.NODE_LIMIT,
    TerminationCondition.interrupted: StopReason.CANCELLED,
}


def _solve(
    attempt: Attempt, key: str, package: str, interface: tuple[str, str], seed: str, nodes: str
) -> Outcome:
    """Solve a program with linear or convex quadratic objective; all arrives at the end.

    `interface`: module and class of Pyomo's solver, imported when a solve begins.
    `seed`, `nodes`: its options for the seed and the limit on nodes.
    Raises `SettingsError` if the package of the solver is not installed or has no licence.
    Raises `TooLargeError` if the model does not fit into memory.
    """
    module = importlib.import_module(f"pyomo.contrib.solver.solvers.{interface[0]}")
    solver: Any = getattr(module, interface[1])()
    solver.config.threads = attempt.threads
    options = {seed: attempt.seed}
    if attempt.node_limit is not None:
        options[nodes] = attempt.node_limit
    solver.config.solver_options = options
    if not solver.available():
        message = f"The engine {key!r} needs the package {package} (and its licence, if it has "
        message += f"one); run pip install 'octcore[{key}]' or choose engine 'highs'."
        raise SettingsError("ENGINE_NOT_INSTALLED", message, "engine")
    return _Run(**vars(attempt), solver=solver).supervise()


scip = partial(
    _solve, key="scip", package="pyscipopt", interface=("scip.scip_direct", "ScipDirect"),
    seed="randomization/randomseedshift", nodes="limits/nodes",
)  # fmt: skip
gurobi = partial(
    _solve, key="gurobi", package="gurobipy",
    interface=("gurobi.gurobi_direct_minlp", "GurobiDirectMINLP"), seed="Seed", nodes="NodeLimit",
)  # fmt: skip


@dataclass(eq=False)
class _Run(ModelRun):
    solver: Any = None

    def solve(self) -> Outcome:
        self.build()
        variables = list(self.built.model.component_data_objects(pyo.Var, active=True))
        self._count(variables)
        with self.phase("solve"):
            try:
                results = self._run()
            except InfeasibleConstraintException:
                return self.infeasible()
        return self._conclude(results, self._read(variables, results))

    def _count(self, variables: list[Any]) -> None:
        """Count what can be counted without compiling; non-zeros are the estimate's."""
        rows = self.built.model.component_data_objects(pyo.Constraint, active=True)
        binaries = sum(variable.is_integer() for variable in variables)
        estimated = 0 if self.program.size is None else self.program.size.nonzeros
        self.see_size(ModelSize(sum(1 for _ in rows), len(variables), int(binaries), estimated))

    def _run(self) -> Results:
        solver = self.solver
        solver.config.warmstart_discrete_vars = self.recorder.tree is not None
        if self.recorder.tree is not None:
            for component, array in self.built.start_values(self.recorder.tree):
                for variable, value in zip(component.values(), np.ravel(array), strict=True):
                    variable.set_value(float(value), skip_validation=True)
        program = self.program
        return solver.solve(
            self.built.model,
            load_solutions=False,
            raise_exception_on_nonoptimal_result=False,
            time_limit=max(0.01, self.clock.remaining),
            rel_gap=self.gap if program.shift == 0 else 0.0,
            abs_gap=max(1e-9, 0.99 * program.granularity / abs(program.scale)),
        )

    def _read(self, variables: list[Any], results: Results) -> float | None:
        """Record bound and tree; returns what the solver claims."""
        bound = finite(results.objective_bound)
        if bound is not None:
            self.prove(self.program.objective(bound))
        claimed = finite(results.incumbent_objective)
        if claimed is None:
            return None
        loader: Any = results.solution_loader
        found = loader.get_vars()
        x = np.array([0.0 if (v := found.get(var)) is None else v for var in variables])
        tree = self.built.read_tree(Point(CompiledColumns(variables), x))
        if self.offer(tree, "solver") is None:
            message = "A tree of the solver breaks a side constraint when rows are routed."
            self.recorder.note(message)
        return self.program.objective(claimed)

    def _conclude(self, results: Results, claimed: float | None) -> Outcome:
        objective, bound = self.recorder.objective, self.recorder.best_bound
        if objective is not None and bound is not None:
            close = abs(objective - bound) <= claim_slack(objective, self.program.span)
            if close or self.recorder.is_closed:
                self.prove(objective)
                return self.outcome(StopReason.OPTIMAL)
        gap = self.recorder.state.gap
        if gap is not None and gap <= self.gap:
            return self.outcome(StopReason.GAP_LIMIT)
        condition = results.termination_condition
        infeasible = (
            TerminationCondition.provenInfeasible,
            TerminationCondition.infeasibleOrUnbounded,
        )
        if condition in infeasible and objective is None:
            return self.outcome(StopReason.INFEASIBLE)
        if claimed is not None and objective is not None and condition not in _REASONS:
            message = f"The solver claimed {claimed:.9g}; routing the rows gives {objective:.9g}."
            self.recorder.note(message)
        return self.outcome(_REASONS.get(condition, StopReason.ERROR))
