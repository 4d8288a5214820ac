"""HiGHS refuses a run whose number of threads differs from that of the first; ours goes on."""

from __future__ import annotations

import subprocess
import sys

import highspy
import numpy as np
import pytest
from scipy.sparse import csr_matrix

from octcore.errors import EngineError
from octcore.numerics.hulls import widest_gap
from octcore.numerics.linear import add_rows, new_solver, run


def foreign_run(threads: int) -> None:
    """Stand for a program of the user, or a solve with other settings, in this process."""
    highspy.Highs.resetGlobalScheduler(True)
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("threads", threads)
    highs.addVariable(0.0, 1.0, -1.0)
    assert highs.run() == highspy.HighsStatus.kOk


@pytest.mark.parametrize("threads", [2, 3])
def test_hulls_after_a_run_with_other_threads(threads: int) -> None:
    foreign_run(threads)
    gap = widest_gap(np.array([[0.0]]), np.array([[1.0]]))
    assert gap is not None
    assert gap.width == pytest.approx(1.0)


def test_a_refused_run_is_made_with_its_own_threads() -> None:
    foreign_run(2)
    highs = new_solver(threads=1)
    highs.addVariable(0.0, 1.0, -1.0)
    run(highs)
    assert highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    assert highs.getSolution().col_value == [1.0]


def test_the_first_solver_of_a_process_prints_nothing() -> None:
    code = (
        "from octcore.numerics.linear import new_solver, run\n"
        "solver = new_solver()\n"
        "solver.addVariable(0.0, 1.0, -1.0)\n"
        "run(solver)\n"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (said.stdout, said.stderr) == ("", "")


def test_rows_that_the_solver_refuses_are_no_rows():
    highs = new_solver()
    highs.addVars(2, np.zeros(2), np.ones(2))
    with pytest.raises(EngineError, match="refused rows"):
        add_rows(highs, csr_matrix(([1.0], [2], [0, 1]), (1, 3)), np.ones(1))
