"""Outer approximation: a convex quadratic objective through mixed-integer linear programs.

Squares in the objective, or in rows that bound them, are replaced by variables under tangents,
which under-estimate them: the dual bound of every master is a bound of the whole problem at any
time.  Trees of the master are polished (planes optimal for their routing) and judged by routing;
tangents at both points make sure that no routing has to be visited twice (Fletcher and Leyffer
1994).
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.repn import generate_standard_repn
from scipy.sparse import csr_matrix

from octcore.engines.base import Attempt, Outcome, StopReason
from octcore.engines.highs import HighsModel, SolverHooks, SolverSettings, SolverStatus, with_rows
from octcore.engines.model_run import ModelRun
from octcore.errors import EngineError
from octcore.program import Cuts

FIRST_TANGENTS = tuple(sign * 0.25 * 2.0**k for k in range(9) for sign in (-1, 1))
"""Points of the first tangents: 0.25 to 64 on both sides; 0 is implied by the bound."""
ROUND_GAP_SHARE = 0.1
"""A master is solved to this share of the current gap; exact masters early on are wasted."""
TANGENT_SHARE = 0.1
"""Squares under-estimated by less than this share of the tolerance, together, need no tangent."""


@dataclass(frozen=True, eq=False)
class Squares:
    """Terms ``c_k v_k**2`` of an objective, now ``c_k q_k`` with ``q_k >= v_k**2``."""

    v: np.ndarray
    q: np.ndarray  # `v`, `q`: columns of the squared variables and of their stand-ins

    def tangents(self, points: Iterable[tuple[int, float]], n_columns: int) -> Cuts:
        """Rows ``2 a v_k - q_k <= a**2`` for pairs ``(k, a)``."""
        pairs = list(points)
        k = np.array([pair[0] for pair in pairs], dtype=np.int64)
        a = np.array([pair[1] for pair in pairs])
        rows = np.arange(len(pairs))
        matrix = csr_matrix(
            (
                np.concatenate([2 * a, -np.ones(len(pairs))]),
                (np.concatenate([rows, rows]), np.concatenate([self.v[k], self.q[k]])),
            ),
            shape=(len(pairs), n_columns),
        )
        return Cuts("tangent", matrix, a**2)


@dataclass(eq=False)
class _Rounds(ModelRun):
    """State of one solve: the tangents so far."""

    claims: tuple[str, ...] = ("by outer approximation",)
    tangents: list[Cuts] = field(default_factory=list)
    squares: Squares = field(init=False)
    is_exact: bool = False
    """Whether masters are solved to the tolerance, because tangents no longer help."""

    def solve(self) -> Outcome:
        self.build()
        model = self.built.model
        _linearise(model)
        self.compile()
        columns = self.compiled.columns
        self.squares = Squares(columns.of(model.squared), columns.of(model.square))
        box = self.compiled.upper[self.squares.v]
        self._add([(k, a) for k in range(len(box)) for a in FIRST_TANGENTS if abs(a) <= box[k]])
        reason = None
        with self.phase("solve"):
            while reason is None:
                reason = self._round()
        return self.outcome(reason)

    def _round(self) -> StopReason | None:
        """Solve one master; returns why to stop, or None to go on."""
        master = HighsModel(with_rows(self.compiled, self.tangents))
        starts: list[np.ndarray] = []
        if self.recorder.tree is not None:
            point = self.point_of(self.recorder.tree, 0.0)
            point[self.squares.q] = point[self.squares.v] ** 2
            starts.append(point)
        found: list[np.ndarray] = []
        hooks = SolverHooks(
            lambda x, _: found.append(x), self.on_progress, lambda: starts.pop() if starts else None
        )
        result = master.run(self._settings(), hooks)
        if result.bound is not None:
            self.see_bound(self.program.objective(result.bound), result.nodes)
        if result.point is not None:
            found.append(result.point)
        points = [point for x in found[-3:] for point in self._judge(x)]
        reached = self.reached()
        if reached is not None:
            return reached
        if self.clock.remaining <= 0 or result.status is SolverStatus.TIME_LIMIT:
            return StopReason.TIME_LIMIT
        if result.status is SolverStatus.INFEASIBLE:
            return self.infeasible().stop_reason
        return self._refine(result.point, points)

    def _settings(self) -> SolverSettings:
        gap, objective = self.recorder.state.gap, abs(self.recorder.objective or 1.0)
        share = 0.0 if self.is_exact else ROUND_GAP_SHARE * (1.0 if gap is None else gap)
        return SolverSettings(
            time_limit=self.clock.remaining,
            relative_gap=min(0.05, max(share, self.program.tolerance / 2)),
            absolute_gap=0.0,
            threads=self.threads,
            seed=self.seed,
            # trees that gain less are pruned, which must not be the gap to close
            feasibility=max(1e-10, min(1e-6, self.program.tolerance * objective)),
        )

    def _judge(self, x: np.ndarray) -> list[np.ndarray]:
        """Judge the tree of a point and its polished version; returns both as points."""
        tree = self.tree_at(x)
        points = [x]
        candidates = [("solver", tree)]
        if self.program.improve is not None:
            candidates.append(("polish", self.program.improve(tree, self.patience)))
        for source, candidate in candidates:
            if self.offer(candidate, source) is not None:
                points.append(self.point_of(candidate, x))
        return points

    def _refine(self, best: np.ndarray | None, points: list[np.ndarray]) -> StopReason | None:
        """Add tangents at the points; with none left the master itself is the answer."""
        assert best is not None or not points
        v, q = self.squares.v, self.squares.q
        new: dict[tuple[int, float], None] = {}
        objective = abs(self.recorder.objective or 1.0)
        enough = TANGENT_SHARE * self.program.tolerance * objective / max(1, len(v))
        for x in points:
            under = x[v] ** 2 - best[q] if best is not None else 1.0
            for k in np.flatnonzero(np.broadcast_to(under, v.shape) > enough):
                new[(int(k), float(np.round(x[v[k]], 12)))] = None
        if not new and not self.is_exact:
            self.is_exact = True
            return None
        if not new:
            message = "The masters under-estimate no square any more; the gap left is theirs."
            self.recorder.note(message)
            return StopReason.GAP_LIMIT
        self._add(new)
        self.recorder.cut_round({"tangent": len(new)})
        return None

    def _add(self, points: Iterable[tuple[int, float]]) -> None:
        self.tangents.append(self.squares.tangents(points, len(self.compiled.cost)))


def outer_approximation(attempt: Attempt) -> Outcome:
    """HiGHS on a sequence of linear masters, each with more tangents."""
    return _Rounds(**vars(attempt)).supervise()


def _linearise(model: Any) -> None:
    """Replace the squares of a model by variables ``square``, of ``squared``.

    Squares may stand in a minimised objective and in rows ``convex expression <= number``; the
    members of a constraint component are all quadratic or none is.

    Raises `EngineError` if there are other quadratic terms than squares with positive factors.
    """
    rows = _quadratic_rows(model)
    forms = [_squares_of(part) for part in (model.objective.expr, *(row.body for row in rows))]
    place: dict[int, int] = {}
    squared: list[Any] = []
    for form in forms:
        for v, _ in form.quadratic_vars:
            if id(v) not in place:
                place[id(v)] = len(squared)
                squared.append(v)
    model.squared = pyo.Reference(squared)
    model.square = pyo.Var(range(len(squared)), domain=pyo.NonNegativeReals)

    def linear_part(form: Any) -> Any:
        terms = zip(form.linear_coefs, form.linear_vars, strict=True)
        squares = zip(form.quadratic_coefs, form.quadratic_vars, strict=True)
        return (
            form.constant
            + pyo.quicksum(c * v for c, v in terms)
            + pyo.quicksum(c * model.square[place[id(v)]] for c, (v, _) in squares)
        )

    model.objective.set_value(linear_part(forms[0]))
    for row, form in zip(rows, forms[1:], strict=True):
        row.set_value(linear_part(form) <= row.upper)


def _quadratic_rows(model: Any) -> list[Any]:
    found: list[Any] = []
    for component in model.component_objects(pyo.Constraint, active=True):
        members = list(component.values())
        if members and members[0].body.polynomial_degree() == 2:
            found += members
    for row in found:
        if row.lower is not None:
            message = f"The row {row.name} bounds squares from below; use another engine."
            raise EngineError("NOT_CONVEX", message)
    return found


def _squares_of(expression: Any) -> Any:
    form: Any = generate_standard_repn(expression, quadratic=True, compute_values=True)
    pairs = zip(form.quadratic_vars, form.quadratic_coefs, strict=True)
    if form.nonlinear_expr is not None or any(a is not b or c <= 0 for (a, b), c in pairs):
        message = "The model has other quadratic terms than squares, which outer approximation "
        message += "needs; use another engine."
        raise EngineError("NOT_SQUARES", message)
    return form
