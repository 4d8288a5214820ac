"""HiGHS behind a small interface: Pyomo models as arrays in, status, point and bound out, events.

HiGHS takes neither lazy constraints nor user cuts inside its tree (measured with 1.15), so a MIP
goes in as it stands; solutions can be injected while it runs.
"""

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import highspy
import numpy as np
import pyomo.environ as pyo
from highspy import cb
from pyomo.common.errors import InfeasibleConstraintException
from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler
from scipy.sparse import csr_matrix, vstack

from octcore.engines.events import finite
from octcore.errors import EngineError
from octcore.numerics.linear import add_rows, linear_program, new_solver, run
from octcore.program import Cuts, ModelSize, Sense

SMALL_COSTS = 1e-3
"""Where no cost is larger, the tolerance of HiGHS for duals, 1e-7, would be no small share."""


class InfeasibleModelError(Exception):
    """A row of the model holds no variable and is violated: no solution can exist."""


class CompiledColumns:
    """Columns of the variables of a model (see `octcore.program.Columns`)."""

    def __init__(self, variables: Iterable[Any]) -> None:
        self._position = {id(variable): j for j, variable in enumerate(variables)}
        self.n_columns = len(self._position)
        self._cache: dict[int, np.ndarray] = {}

    def of(self, component: Any) -> np.ndarray:
        """Column of every member of a variable, in index order; -1 if it is in no row."""
        found = self._cache.get(id(component))
        if found is None:
            position = self._position
            members = component.values()
            found = np.fromiter((position.get(id(v), -1) for v in members), dtype=np.int64)
            found.setflags(write=False)
            self._cache[id(component)] = found
        return found


@dataclass(frozen=True, eq=False)
class CompiledModel:
    """``sense cost @ x + offset`` over ``row_lower <= matrix @ x <= row_upper`` and a box."""

    columns: CompiledColumns
    sense: Sense  # direction of the model's own objective
    cost: np.ndarray
    offset: float  # `cost`, `offset`: linear objective, shape ``(n_columns,)``, and its constant
    matrix: csr_matrix  # shape ``(n_rows, n_columns)``
    row_lower: np.ndarray
    row_upper: np.ndarray  # `row_lower`, `row_upper`: shape ``(n_rows,)``, infinite where open
    lower: np.ndarray
    upper: np.ndarray  # `lower`, `upper`: column bounds, shape ``(n_columns,)``
    integer: np.ndarray  # boolean, shape ``(n_columns,)``
    variables: tuple[Any, ...]
    """Pyomo variables in column order; kept alive because columns know them by identity."""

    @property
    def size(self) -> ModelSize:
        """Counted size."""
        rows, columns = len(self.row_lower), len(self.cost)
        return ModelSize(rows, columns, int(self.integer.sum()), int(self.matrix.nnz))

    def placed(self, start: Iterable[tuple[Any, np.ndarray]], point: np.ndarray) -> np.ndarray:
        """A point with the values of a start, given by component; some may be in no row."""
        point = point.copy()
        for component, array in start:
            positions = self.columns.of(component)
            known = positions >= 0
            point[positions[known]] = np.asarray(array, dtype=np.float64).ravel()[known]
        return point

    @property
    def unit(self) -> float:
        """Power of two in which HiGHS gets the costs."""
        largest = float(np.abs(self.cost).max(initial=0.0))
        return 2.0 ** math.floor(math.log2(largest)) if 0.0 < largest < SMALL_COSTS else 1.0

    def linear(self, sign: float = 1.0) -> highspy.HighsLp:
        """Minimisation of `sign` times the objective in units, without constant and integrality."""
        cost, box = sign / self.unit * self.cost, (self.lower, self.upper)
        return linear_program(cost, *box, self.matrix, self.row_lower, self.row_upper)


def compile_model(model: pyo.ConcreteModel) -> CompiledModel:
    """Compile a linear Pyomo model with one objective; fixed variables become constants.

    Raises `InfeasibleModelError` if a row without variables is violated.
    """
    try:
        form = LinearStandardFormCompiler().write(model, mixed_form=True, set_sense=None)
    except InfeasibleConstraintException as error:
        raise InfeasibleModelError(str(error)) from error
    kinds = np.fromiter((row.bound_type for row in form.rows), dtype=np.int64)
    rhs = np.asarray(form.rhs, dtype=np.float64)
    bounds = [variable.bounds for variable in form.columns]
    lower, upper = np.array(bounds, dtype=np.float64).reshape(-1, 2).T  # NaN where open
    return CompiledModel(
        columns=CompiledColumns(form.columns),
        sense=Sense.MAXIMISE if form.objectives[0].sense == pyo.maximize else Sense.MINIMISE,
        cost=np.asarray(form.c.todense(), dtype=np.float64)[0].ravel(),
        offset=float(form.c_offset[0]),
        matrix=csr_matrix(form.A),
        row_lower=np.where(kinds <= 0, rhs, -np.inf),
        row_upper=np.where(kinds >= 0, rhs, np.inf),
        lower=np.where(np.isnan(lower), -np.inf, lower),
        upper=np.where(np.isnan(upper), np.inf, upper),
        integer=np.array([variable.is_integer() for variable in form.columns], dtype=bool),
        variables=tuple(form.columns),
    )


def with_rows(compiled: CompiledModel, cuts: list[Cuts]) -> CompiledModel:
    """Return the model with more rows ``matrix @ x <= rhs``."""
    if not cuts:
        return compiled
    rhs = np.concatenate([family.rhs for family in cuts])
    return replace(
        compiled,
        matrix=vstack([compiled.matrix, *(family.matrix for family in cuts)]).tocsr(),
        row_lower=np.concatenate([compiled.row_lower, np.full(len(rhs), -np.inf)]),
        row_upper=np.concatenate([compiled.row_upper, rhs]),
    )


CALLBACK_SECONDS = 0.25
"""HiGHS interrupts thousands of times a second; looking four times is enough for a person."""


class SolverStatus(StrEnum):
    """How a run of the solver ended, in our words."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    TIME_LIMIT = "time_limit"
    NODE_LIMIT = "node_limit"
    INTERRUPTED = "interrupted"
    FAILED = "failed"


_STATUS = {
    highspy.HighsModelStatus.kOptimal: SolverStatus.OPTIMAL,
    highspy.HighsModelStatus.kModelEmpty: SolverStatus.OPTIMAL,
    highspy.HighsModelStatus.kInfeasible: SolverStatus.INFEASIBLE,
    highspy.HighsModelStatus.kUnbounded: SolverStatus.UNBOUNDED,
    highspy.HighsModelStatus.kUnboundedOrInfeasible: SolverStatus.INFEASIBLE,
    highspy.HighsModelStatus.kTimeLimit: SolverStatus.TIME_LIMIT,
    highspy.HighsModelStatus.kSolutionLimit: SolverStatus.NODE_LIMIT,
    highspy.HighsModelStatus.kInterrupt: SolverStatus.INTERRUPTED,
}
"""Any other has failed; `kUnboundedOrInfeasible` is infeasible here: all our models are boxed."""


@dataclass(frozen=True)
class SolverSettings:
    """Limits of one run."""

    time_limit: float  # seconds from now
    relative_gap: float = 0.0
    absolute_gap: float = 1e-6
    """`relative_gap`, `absolute_gap`: on the scale of the model's own objective."""
    node_limit: int | None = None
    threads: int = 1
    seed: int = 0
    feasibility: float = 1e-6  # how closely rows and integrality must be kept


@dataclass(frozen=True, eq=False)
class SolverResult:
    """What a run left behind; objective and bound on the model's own scale."""

    status: SolverStatus
    point: np.ndarray | None
    objective: float | None
    bound: float | None
    nodes: int


@dataclass(frozen=True)
class SolverHooks:
    """What a caller may do while a MIP runs."""

    on_solution: Callable[[np.ndarray, float], None] = lambda point, objective: None
    """``(point, objective)``, for every feasible point found."""
    on_progress: Callable[[float | None, int | None], bool] = lambda bound, nodes: False
    """``(bound, nodes) -> stop``, at most four times a second; both are None inside an LP.  A true
    answer stops the run."""
    inject: Callable[[], np.ndarray | None] = lambda: None
    """Returns a complete point to offer to the solver, or None; asked first for the start.

    A start is not given before presolve: HiGHS 1.15 takes its objective for a multiple of the
    steps of the *presolved* objective, which may have lost it, and prunes better trees."""


UNHEARD = SolverHooks()


class HighsModel:
    """One compiled model inside HiGHS."""

    def __init__(self, compiled: CompiledModel, relaxed: bool = False) -> None:
        self._highs = new_solver()
        self._is_mip = bool(compiled.integer.any()) and not relaxed
        self._unit = compiled.unit
        if self._highs.passModel(_highs_lp(compiled, relaxed)) == highspy.HighsStatus.kError:
            raise EngineError("SOLVER_REFUSED", "HiGHS refused the model; please report the data.")

    def add_rows(self, matrix: csr_matrix, rhs: np.ndarray) -> None:
        """Add rows ``matrix @ x <= rhs``; the last basis stays valid."""
        add_rows(self._highs, matrix, rhs)

    def run(self, settings: SolverSettings, hooks: SolverHooks = UNHEARD) -> SolverResult:
        """Solve within the limits; what a hook raised is raised again, after HiGHS has ended."""
        self._apply(settings)
        relay = _Relay(hooks, self._is_mip, self._unit)
        self._highs.setCallback(relay, None)
        for kind in relay.kinds:
            self._highs.startCallback(kind)
        run(self._highs)
        if relay.failure is not None:
            raise relay.failure
        return self._result()

    def _set(self, name: str, value: object) -> None:
        self._highs.setOptionValue(name, value)  # type: ignore[arg-type]

    def _apply(self, settings: SolverSettings) -> None:
        # time_limit counts over all runs of one object
        self._set("time_limit", self._highs.getRunTime() + max(settings.time_limit, 0.0))
        self._set("threads", settings.threads)
        self._set("random_seed", settings.seed)
        self._set("mip_feasibility_tolerance", settings.feasibility)
        self._set("primal_feasibility_tolerance", min(1e-7, settings.feasibility))
        self._set("mip_rel_gap", settings.relative_gap)
        self._set("mip_abs_gap", settings.absolute_gap / self._unit)
        if settings.node_limit is not None:
            self._set("mip_max_nodes", settings.node_limit)

    def _result(self) -> SolverResult:
        info = self._highs.getInfo()
        status = _STATUS.get(self._highs.getModelStatus(), SolverStatus.FAILED)
        solution = self._highs.getSolution()
        has_point = solution.value_valid and (
            info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
        )
        point = np.array(solution.col_value) if has_point else None
        objective = finite(info.objective_function_value * self._unit) if has_point else None
        bound = finite(info.mip_dual_bound * self._unit) if self._is_mip else None
        if not self._is_mip and status is SolverStatus.OPTIMAL:
            bound = objective
        nodes = max(0, int(info.mip_node_count)) if self._is_mip else 0
        return SolverResult(status, point, objective, bound, nodes)


class _Relay:
    """Turns HiGHS callbacks into hooks; an exception stops the run and is raised after it."""

    def __init__(self, hooks: SolverHooks, is_mip: bool, unit: float) -> None:
        self.hooks, self.unit = hooks, unit
        self.failure: BaseException | None = None
        self._stop = False
        self._looked = 0.0
        kinds = cb.HighsCallbackType
        mip = (
            kinds.kCallbackMipInterrupt,
            kinds.kCallbackMipSolution,
            kinds.kCallbackMipUserSolution,
        )
        lp = (kinds.kCallbackSimplexInterrupt, kinds.kCallbackIpmInterrupt)
        self.kinds = (*mip, *lp) if is_mip else lp

    def __call__(self, kind, message, out, answer, data) -> None:
        try:
            self._handle(kind, out, answer)
        except BaseException as error:
            self.failure, self._stop = error, True
        if answer is not None:
            answer.user_interrupt = self._stop  # sticky in HiGHS: always written

    def _handle(self, kind, out, answer) -> None:
        kinds = cb.HighsCallbackType
        if kind == kinds.kCallbackMipSolution:
            value = float(out.objective_function_value) * self.unit
            self.hooks.on_solution(np.array(out.mip_solution), value)
        elif kind == kinds.kCallbackMipUserSolution:
            point = self.hooks.inject()
            if point is not None:
                answer.setSolution(point)
        elif kind == kinds.kCallbackMipInterrupt:
            if self._is_due():
                bound = finite(out.mip_dual_bound * self.unit)
                self._stop = self.hooks.on_progress(bound, max(0, int(out.mip_node_count)))
        elif self._is_due():  # inside an LP: no bound of the MIP is at hand
            self._stop = self.hooks.on_progress(None, None)

    def _is_due(self) -> bool:
        now = time.perf_counter()
        if self._stop or now - self._looked < CALLBACK_SECONDS:
            return False
        self._looked = now
        return True


def _highs_lp(compiled: CompiledModel, relaxed: bool) -> highspy.HighsLp:
    lp = compiled.linear()
    if compiled.sense is Sense.MAXIMISE:
        lp.sense_ = highspy.ObjSense.kMaximize
    lp.offset_ = compiled.offset / compiled.unit
    if compiled.integer.any() and not relaxed:
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        lp.integrality_ = [kinds[int(flag)] for flag in compiled.integer]
    return lp
