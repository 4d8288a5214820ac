"""Build the whole model, hand it to HiGHS, and believe only what routing confirms."""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from octcore.engines.base import Attempt, Outcome, StopReason
from octcore.engines.events import CLAIM_TOLERANCE, claim_slack
from octcore.engines.highs import (
    HighsModel,
    SolverHooks,
    SolverResult,
    SolverSettings,
    SolverStatus,
    with_rows,
)
from octcore.engines.model_run import ModelRun
from octcore.numerics import kernels
from octcore.program import Cuts, Point, SearchState, Sense
from octcore.tree.tree import Tree

EXPLAINED_GAP = 1e-4
"""Relative gap of a finished solve that its tolerance explains: prices of slack multiply it."""
SMALLEST_OBJECTIVE = CLAIM_TOLERANCE / EXPLAINED_GAP
"""Below this, where slack is paid for, the tolerance itself is a gap that matters."""
ROUNDING = 1e-12  # sums over rows, as a share of the objective
ROOT_ROUNDS = 50  # separation rounds before the MIP; they stop earlier when the bound stalls
ROOT_STALL = 1e-3  # a round that improves the bound by a smaller share is the last
ROOT_TIME_SHARE = 0.25  # share of the time left that separation before the MIP may take


@dataclass(eq=False)
class _MonolithicRun(ModelRun):
    """State of one solve: what the solver claimed, and points it may still take up."""

    denied: float | None = None
    _queued: list[np.ndarray] = field(default_factory=list)

    def solve(self) -> Outcome:
        self.build()
        self.compile()
        with self.phase("solve"):
            if self.built.separators:
                self._root_rounds()
                self.guard()
            result = self._branch_and_bound()
        return self._conclude(result)

    def _root_rounds(self) -> None:
        """Strengthen the model with rows that its optional separators find at the root."""
        budget = self.clock.remaining * (1 - ROOT_TIME_SHARE)
        relaxation = HighsModel(self.compiled, relaxed=True)
        found: list[Cuts] = []
        last = None
        for round_number in range(ROOT_ROUNDS):
            hooks = SolverHooks(on_progress=lambda *_: bool(self.reached()))
            result = relaxation.run(self._settings(self.clock.remaining - budget), hooks)
            if (
                result.status is not SolverStatus.OPTIMAL
                or result.point is None
                or result.bound is None
            ):
                break
            bound = self.program.objective(result.bound)
            self.prove(bound)
            self.root_bound = bound
            if last is not None and abs(last - bound) <= ROOT_STALL * max(1e-9, abs(last)):
                break
            last = bound
            cuts = self._separate(result.point, round_number)
            if not cuts:
                break
            counts = Counter[str]()
            for family in cuts:
                relaxation.add_rows(family.matrix, family.rhs)
                counts[family.kind] += len(family.rhs)
            found += cuts
            self.recorder.cut_round(counts, tuple(p for c in cuts for p in c.pictures))
        self.compiled = with_rows(self.compiled, found)

    def _separate(self, x: np.ndarray, round_number: int) -> list[Cuts]:
        fractional = np.abs(x - np.round(x))[self.compiled.integer]
        state = SearchState(True, bool((fractional < CLAIM_TOLERANCE).all()), round_number)
        point = Point(self.compiled.columns, x)
        return [cuts for sep in self.built.separators for cuts in sep.separate(point, state)]

    def _branch_and_bound(self) -> SolverResult:
        if self.recorder.tree is not None:
            self._queue(self.recorder.tree)
        hooks = SolverHooks(
            self._receive, self.on_progress, lambda: self._queued.pop() if self._queued else None
        )
        result = HighsModel(self.compiled).run(self._settings(self.clock.remaining), hooks)
        if result.bound is not None:
            bound = self.program.objective(result.bound)
            self.see_bound(bound, result.nodes)
            is_root_done = result.status is SolverStatus.NODE_LIMIT and (result.nodes or 0) <= 1
            if is_root_done and self.root_bound is None:
                self.root_bound = bound  # even where the program knew a better one
        if result.point is not None and result.objective is not None:
            self._receive(result.point, result.objective)
        return result

    def _settings(self, time_limit: float) -> SolverSettings:
        program = self.program
        step = program.granularity / abs(program.scale)
        most = step / 10 / self.compiled.unit if step else 1.0  # trees that gain less are pruned
        return SolverSettings(
            time_limit=time_limit,
            # the relative gap of the model is ours only where the constant is nil
            relative_gap=self.gap if program.shift == 0 else 0.0,
            absolute_gap=max(1e-9 * self.compiled.unit, 0.99 * step),
            node_limit=self.node_limit,
            threads=self.threads,
            seed=self.seed,
            feasibility=max(1e-10, min(program.feasibility, most)),
        )

    def _receive(self, x: np.ndarray, model_value: float) -> None:
        """Read, route and record one point of the solver; polish it if the program can."""
        tree = self.tree_at(x)
        value = self.offer(tree, "solver")
        claimed = self.program.objective(model_value)
        if value is None or self._exceeds(claimed, value):
            self._deny(claimed, value)
        if self.program.improve is None:
            return
        better = self.program.improve(tree, self.patience)
        value = self.program.evaluate(better)
        if value is not None and self.recorder.incumbent(value, better, "polish"):
            self._queue(better)

    def _queue(self, tree: Tree) -> None:
        point = self.point_of(tree, np.nan)
        if not np.isnan(point).any():
            self._queued.append(point)

    def _exceeds(self, claimed: float, value: float) -> bool:
        slack = claim_slack(value, self.program.span)
        sign = 1.0 if self.program.sense.better(1.0, 0.0) else -1.0
        return sign * (claimed - value) > slack

    def _deny(self, claimed: float, value: float | None) -> None:
        if self.denied == claimed:
            return
        self.denied = claimed
        found = "a tree that breaks a side constraint" if value is None else f"{value:.9g}"
        message = f"The solver claimed {claimed:.9g}; routing gives {found}, and that counts."
        self.recorder.note(message, claimed=claimed, routed=value)

    def see_bound(self, bound: float, nodes: int | None) -> None:
        known = self.program.bound
        # Before its first LP the solver reports a bound from presolve alone, which says nothing.
        is_of_an_lp = known is None or not self.program.sense.better(bound, known)
        if is_of_an_lp and (self.root_bound is None or not nodes or nodes <= 1):
            self.root_bound = bound
        objective = self.recorder.objective
        if objective is not None and self._is_tiny(objective):
            # The solver prunes what gains its tolerance, which is not small beside this objective.
            bound -= CLAIM_TOLERANCE * (1 if self.program.sense is Sense.MINIMISE else -1)
        if objective is not None and self.program.sense.better(objective, bound):
            if self._exceeds(objective, bound):
                self.recorder.note(
                    f"The solver's bound {bound:.9g} denies the routed tree of {objective:.9g}; "
                    "it is not used."
                )
                return
            bound = objective
        self.prove(bound, nodes)

    def _is_tiny(self, objective: float) -> bool:
        """Whether a claim says nothing about an objective that is only computed to some digits."""
        return self.program.tolerance > 0.0 and 0.0 < abs(objective) < SMALLEST_OBJECTIVE

    def _conclude(self, result: SolverResult) -> Outcome:
        self._close(result)
        reached = self.reached()
        if reached is not None:
            return self.outcome(reached)
        if result.status is SolverStatus.OPTIMAL and self._is_within_tolerance():
            if self._is_proven_by_search():
                self.recorder.note("A search closed the gap that the solver's tolerance left.")
                return self.outcome(StopReason.OPTIMAL)
            self.recorder.note("The gap that is left is the solver's own tolerance.")
            return self.outcome(StopReason.GAP_LIMIT)
        if result.status is SolverStatus.INFEASIBLE:
            return self.infeasible()
        reasons = {
            SolverStatus.TIME_LIMIT: StopReason.TIME_LIMIT,
            SolverStatus.NODE_LIMIT: StopReason.NODE_LIMIT,
        }
        if result.status not in reasons:
            self.recorder.note(
                f"The solver ended with status {result.status.value!r}, but its bound does not "
                "prove the best routed tree."
            )
        return self.outcome(reasons.get(result.status, StopReason.ERROR))

    def _is_proven_by_search(self) -> bool:
        """Whether a search proves the best tree optimal that a solver is too inexact for."""
        objective = self.recorder.objective
        if self.program.prove is None or objective is None:
            return False
        kernels.require(*self.program.kernels, stop=self.cancel)
        target = objective - self.program.tolerance * abs(objective)
        steps = self.program.prove(target, lambda: self.cancel() or self.clock.remaining <= 0)
        while True:
            try:
                step = next(steps)
            except StopIteration as end:
                if end.value:
                    self.prove(target)
                return self.recorder.is_closed
            if isinstance(step, Tree):
                self.offer(step, "search")

    def _is_within_tolerance(self) -> bool:
        """Whether the bound misses the best tree by no more than rows that are nearly kept."""
        objective, bound = self.recorder.objective, self.recorder.best_bound
        if objective is None or bound is None:
            return False
        allowed = max(EXPLAINED_GAP * abs(objective), 2 * CLAIM_TOLERANCE)
        return abs(bound - objective) <= allowed

    def _close(self, result: SolverResult) -> None:
        """Move the bound onto the incumbent where granularity or tolerance proves it."""
        objective, bound = self.recorder.objective, self.recorder.best_bound
        if objective is None or bound is None:
            return
        proven = result.status is SolverStatus.OPTIMAL
        # Solvers prune what gains the tolerance itself; routing adds its rounding.
        allowed = (1 + ROUNDING / CLAIM_TOLERANCE) * claim_slack(objective, self.program.span)
        if self._is_tiny(objective):
            allowed = ROUNDING
        close = abs(bound - objective) <= allowed
        if self.recorder.is_closed or (proven and close):
            self.prove(objective)


def highs(attempt: Attempt) -> Outcome:
    """HiGHS' own branch and bound on the complete model."""
    return _MonolithicRun(**vars(attempt)).supervise()
