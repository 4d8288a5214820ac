"""Linear programs for HiGHS: packing, a quiet solver, and a run that no other run can refuse."""

from collections.abc import Sequence

import highspy
import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from octcore.errors import EngineError

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
TOLERANCE = 1e-9  # of rows and duals, a hundredth of what HiGHS keeps by itself


def run(highs: highspy.Highs) -> None:
    """Run HiGHS with its own number of threads, whatever earlier runs in this process used.

    The scheduler of HiGHS is started by the first run of a thread, and every later run that asks
    for another number of threads is refused before it begins: with an error and no model status.
    """
    outcome = highs.run()
    if outcome == highspy.HighsStatus.kError and (
        highs.getModelStatus() == highspy.HighsModelStatus.kNotset
    ):
        highspy.Highs.resetGlobalScheduler(True)
        highs.run()


def solved(highs: highspy.Highs) -> highspy.HighsModelStatus:
    """Solve a small problem; a start that leads nowhere is forgotten and the problem solved cold.

    Rarely a warm start, or the simplex method itself, ends without an answer; presolve finds one.
    """
    statuses = highspy.HighsModelStatus
    ends = {statuses.kOptimal, statuses.kInfeasible, statuses.kTimeLimit}
    run(highs)
    if highs.getModelStatus() not in ends:
        highs.clearSolver()
        presolve = highs.getOptionValue("presolve")[1]
        highs.setOptionValue("presolve", "on")
        run(highs)
        highs.setOptionValue("presolve", presolve)
    return highs.getModelStatus()


def optimum_if_any(highs: highspy.Highs, what: str) -> FloatArray | None:
    """Columns of the optimum of a small problem; None where nothing is feasible.

    `EngineError`, which says what problem it was, if HiGHS has no answer; `TimeoutError` if it was
    given too little time for one.
    """
    status = solved(highs)
    if status == highspy.HighsModelStatus.kTimeLimit:
        raise TimeoutError
    if status == highspy.HighsModelStatus.kInfeasible:
        return None
    if status != highspy.HighsModelStatus.kOptimal:
        raise EngineError("LP_FAILED", f"HiGHS ended a {what} problem with {status.name}.")
    return np.array(highs.getSolution().col_value)


def optimum(highs: highspy.Highs, what: str) -> FloatArray:
    """The same of a problem that has one: `EngineError` also if HiGHS calls it infeasible."""
    found = optimum_if_any(highs, what)
    if found is None:
        raise EngineError("LP_FAILED", f"HiGHS finds no solution of a {what} problem that has one.")
    return found


class _Silent(highspy.Highs):
    """HiGHS that prints nothing, not even its name.

    From version 1.16 on, the first one of a process prints it while it is made.
    """

    def enableCallbacks(self) -> None:
        """Be silent before what the constructor does last, and prints at."""
        self.setOptionValue("output_flag", False)
        super().enableCallbacks()


ENUMERATION = 65536
"""Rule of presolve that is left out: where it has fixed columns, HiGHS 1.13 to 1.16 may drop a
row that asks for exactly one of some (its issue 3216), and other points become optimal, or none."""


def new_solver(**options: float | str) -> highspy.Highs:
    """Make a silent HiGHS with some options."""
    highs = _Silent()
    for name, value in {"presolve_rule_off": ENUMERATION, **options}.items():
        highs.setOptionValue(name, value)
    return highs


def quiet_solver(lp: highspy.HighsLp, **options: float | str) -> highspy.Highs:
    """Make a single-threaded HiGHS, for a program, that returns vertices at tight tolerances."""
    tight = {"primal_feasibility_tolerance": TOLERANCE, "dual_feasibility_tolerance": TOLERANCE}
    highs = new_solver(**{"threads": 1, "solver": "simplex", **tight, **options})
    highs.passModel(lp)
    return highs


def linear_program(
    cost: FloatArray,
    lower: FloatArray,
    upper: FloatArray,
    matrix: csr_matrix,
    row_lower: FloatArray,
    row_upper: FloatArray,
) -> highspy.HighsLp:
    """Pack arrays as the program ``min cost @ x``, ``row_lower <= matrix @ x <= row_upper``."""
    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = len(row_lower), len(cost)
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = cost, lower, upper
    lp.row_lower_, lp.row_upper_ = row_lower, row_upper
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.num_row_, lp.a_matrix_.num_col_ = len(row_lower), len(cost)
    lp.a_matrix_.start_ = matrix.indptr.astype(np.int32)
    lp.a_matrix_.index_ = matrix.indices.astype(np.int32)
    lp.a_matrix_.value_ = matrix.data.astype(np.float64)
    return lp


def sparse_rows(
    columns: Sequence[Sequence[int] | IntArray],
    width: int,
    values: Sequence[Sequence[float]] | None = None,
) -> csr_matrix:
    """Matrix of rows by their columns; all values are 1 where none are given."""
    ends = np.cumsum([0, *(len(row) for row in columns)])
    entries = np.ones(ends[-1]) if values is None else np.concatenate(values)
    return csr_matrix((entries, np.concatenate(columns), ends), (len(columns), width))


def add_rows(highs: highspy.Highs, matrix: csr_matrix, most: FloatArray) -> None:
    """Append rows ``matrix @ x <= most``; the last basis stays valid.

    `EngineError` where HiGHS takes none of them: rows would have other numbers than one believes.
    """
    ends = np.full(len(most), -np.inf), np.asarray(most, dtype=np.float64)
    places = matrix.indptr[:-1].astype(np.int32), matrix.indices.astype(np.int32)
    status = highs.addRows(len(most), *ends, matrix.nnz, *places, matrix.data.astype(np.float64))
    if status == highspy.HighsStatus.kError:
        raise EngineError("LP_FAILED", "HiGHS refused rows of a linear program.")
