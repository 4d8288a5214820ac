"""One persistent linear program on HiGHS: bounds, rows and bases change, the factorisation stays.

Measured: keeping the object is up to twice faster than passing the model anew at every node;
presolve off and the dual simplex keep every basis dual feasible, because all columns are boxed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import highspy
import numpy as np
from scipy.sparse import csr_matrix

from octcore.errors import EngineError
from octcore.numerics.linear import add_rows, new_solver, run

INFINITY = highspy.kHighsInf
SLICE_SECONDS = 1.0  # a long LP is cut into slices of this length, so that a stop request is heard
PERTURBATION = "dual_simplex_cost_perturbation_multiplier"
"""Warm programs take few steps, and undoing perturbed costs takes more (measured: 19 % of CPU); but
a degenerate program may not end without (sonar QB-5 at depth 4: 173 instead of 7.5 CPU s)."""
PLAIN_STEPS, NO_LIMIT = 500, highspy.kHighsIInf
"""Simplex steps of one solve without perturbed costs; a program that needs more keeps them."""
MANY_ROWS = 50  # new rows after which a program counts as cold


class LpStatus(Enum):
    """What an LP said."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    CUT_OFF = "cut off"  # the LP value is proven to be at least the cutoff
    STOPPED = "stopped"  # out of time, or the caller asked to stop


@dataclass(frozen=True, eq=False)
class Basis:
    """A simplex basis and the identities of the rows it was stored with."""

    stored: highspy.HighsBasis
    row_ids: np.ndarray


class PersistentLp:
    """A minimisation LP that is changed and solved many times.

    `lp`: boxed columns and the first rows, which are never deleted.
    """

    def __init__(self, lp: highspy.HighsLp, threads: int = 1, seed: int = 0) -> None:
        self.n_columns, self.n_base = lp.num_col_, lp.num_row_
        self.lower, self.upper = np.array(lp.col_lower_), np.array(lp.col_upper_)
        self.row_ids = np.arange(self.n_base)
        self._next_id = self.n_base
        self._is_perturbed, self._solved_ids = False, 0
        self.solves = 0
        self.value = -np.inf
        self.x = np.zeros(self.n_columns)
        self._highs = new_solver(
            threads=threads, random_seed=seed, presolve="off", solver="simplex", simplex_strategy=1
        )
        self._highs.passModel(lp)

    @property
    def n_rows(self) -> int:
        """Number of rows now."""
        return len(self.row_ids)

    def set_bounds(self, lower: np.ndarray, upper: np.ndarray) -> None:
        """Change the column bounds; only real changes reach the solver."""
        changed = np.flatnonzero((lower != self.lower) | (upper != self.upper))
        if len(changed):
            self._highs.changeColsBounds(
                len(changed), changed.astype(np.int32), lower[changed], upper[changed]
            )
            self.lower, self.upper = lower.copy(), upper.copy()

    def add_rows(self, matrix: csr_matrix, rhs: np.ndarray) -> None:
        """Append rows ``matrix @ x <= rhs``."""
        # HiGHS takes no row that names a column twice; older versions of scipy leave such rows.
        matrix = matrix.copy()
        matrix.sum_duplicates()
        add_rows(self._highs, matrix, rhs)
        first, self._next_id = self._next_id, self._next_id + len(rhs)
        self.row_ids = np.concatenate([self.row_ids, np.arange(first, self._next_id)])

    def delete_rows(self, positions: np.ndarray) -> None:
        """Delete rows by position, none of the first `n_base`."""
        self._highs.deleteRows(len(positions), positions.astype(np.int32))
        self.row_ids = np.delete(self.row_ids, positions)

    def basis(self) -> Basis:
        """Store the current basis."""
        return Basis(self._highs.getBasis(), self.row_ids)

    def set_basis(self, basis: Basis) -> None:
        """Start from a stored basis; rows that came later are basic, deleted ones are dropped."""
        stored = basis.stored
        if not np.array_equal(basis.row_ids, self.row_ids):
            place = {int(i): k for k, i in enumerate(basis.row_ids)}
            old, basic = list(stored.row_status), highspy.HighsBasisStatus.kBasic
            mapped = highspy.HighsBasis()
            mapped.col_status = stored.col_status
            mapped.row_status = [
                old[place[i]] if i in place else basic for i in self.row_ids.tolist()
            ]
            mapped.valid = True
            mapped.alien = True  # deleted rows may leave too many basic variables: let HiGHS repair
            stored = mapped
        self._highs.setBasis(stored)

    def solve(self, cutoff: float, remaining: Callable[[], float]) -> LpStatus:
        """Solve from the current basis.

        `cutoff`: the LP may stop as soon as its value is proven to reach this; infinite for none.
        `remaining`: seconds that may still be used; zero or less stops the solve.
        Raises `EngineError` if HiGHS fails on the linear program.
        """
        highs = self._highs
        highs.setOptionValue("objective_bound", float(min(cutoff, INFINITY)))
        repaired = False
        plain = not self._is_perturbed and self._next_id - self._solved_ids <= MANY_ROWS
        self._solved_ids = self._next_id
        highs.setOptionValue(PERTURBATION, 0.0 if plain else 1.0)
        highs.setOptionValue("simplex_iteration_limit", PLAIN_STEPS if plain else NO_LIMIT)
        while True:
            left = remaining()
            if left <= 0:
                return LpStatus.STOPPED
            # The limit of HiGHS counts all runs of one object.
            highs.setOptionValue("time_limit", highs.getRunTime() + min(left, SLICE_SECONDS))
            run(highs)
            self.solves += 1
            status = highs.getModelStatus()
            if status == highspy.HighsModelStatus.kOptimal:
                self.value = highs.getInfo().objective_function_value
                self._solution = highs.getSolution()
                self.x = np.array(self._solution.col_value)
                return LpStatus.OPTIMAL
            if status == highspy.HighsModelStatus.kInfeasible:
                return LpStatus.INFEASIBLE
            if status == highspy.HighsModelStatus.kObjectiveBound:
                return LpStatus.CUT_OFF
            if status == highspy.HighsModelStatus.kIterationLimit:
                self._is_perturbed = True
                highs.setOptionValue(PERTURBATION, 1.0)
                highs.setOptionValue("simplex_iteration_limit", NO_LIMIT)
            elif status != highspy.HighsModelStatus.kTimeLimit:
                if repaired:
                    message = f"HiGHS ended a linear program with {status.name}, twice."
                    raise EngineError("LP_FAILED", message)
                repaired = True
                highs.clearSolver()

    def row_duals(self) -> np.ndarray:
        """Dual values of the rows at the last optimum."""
        return np.array(self._solution.row_dual)

    def reduced_costs(self) -> np.ndarray:
        """Reduced costs of the columns at the last optimum."""
        return np.array(self._solution.col_dual)
