"""A big-M that could forbid trees is raised, or the model proves nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from octcore.engines.base import Attempt, StopReason
from octcore.engines.events import Clock, Recorder
from octcore.engines.monolithic import highs
from octcore.formulations.base import get_formulation
from octcore.program import ENDLESS, BigM
from tests.brute import make_problem, run

PAIRS = np.array([[0.0, 0.0], [0.01, 0.02], [0.98, 0.97], [1.0, 1.0]])
LABELS = np.array([0, 1, 0, 1])
WANTED = {("l1", 100.0, 100.0): 196.969697, ("l1", 1.0, 1000.0): 4.096475}
"""By exhaustion over all routings, with a linear program per node."""


@pytest.mark.parametrize("big_m", [1.0, 100.0, 1e4])
@pytest.mark.parametrize(("norm", "upper", "last"), list(WANTED))
def test_margot_with_the_l1_norm_needs_no_large_constant(norm, upper, last, big_m):
    params = {"norm": norm, "C_upper": upper, "C_last": last, "big_m": big_m}
    problem = make_problem(PAIRS, LABELS, 2, 2, params, formulation="margot")
    outcome, recorder, _ = run(problem, "margot", time_limit=40)
    wanted = WANTED[norm, upper, last]
    assert recorder.objective == pytest.approx(wanted, rel=1e-5)
    assert recorder.best_bound == pytest.approx(wanted, rel=2e-4)
    assert any("forbids no tree" in claim for claim in outcome.claims)


@pytest.mark.parametrize(
    ("upper", "last", "wanted"), [(100.0, 100.0, 398.9192), (0.1, 100.0, 0.409499)]
)
@pytest.mark.parametrize("key", ["margot", "hfs-margot"])
def test_outer_approximation_needs_no_large_constant(key, upper, last, wanted):
    params = {"C_upper": upper, "C_last": last, "big_m": 1.0}
    if key == "hfs-margot":
        params |= {"budget_upper": 2, "budget_last": 2}
    problem = make_problem(PAIRS, LABELS, 2, 2, params, formulation=key)
    _, recorder, _ = run(problem, key, engine="outer-approximation", time_limit=40)
    assert recorder.objective == pytest.approx(wanted, rel=1e-4)
    assert recorder.best_bound <= wanted * (1 + 1e-6)


@pytest.mark.parametrize("big_m", [2.0, 60.0, 1e4])
def test_mm_svm_oct_reaches_narrow_margins(big_m):
    """Two rows 0.01 apart with dear slack want scores of 100 at the far row."""
    X, y = np.array([[0.0], [0.01], [1.0]]), np.array([0, 1, 1])
    params = {"c1": 1e6, "c3": 0.0, "big_m": big_m, "start_seconds": 0.1}
    problem = make_problem(X, y, 2, 1, params, formulation="mm-svm-oct")
    _, recorder, _ = run(problem, "mm-svm-oct", engine="outer-approximation", time_limit=40)
    assert recorder.objective == pytest.approx((2 / 0.01) ** 2 / 2, rel=1e-3)


def test_a_model_that_may_forbid_trees_proves_nothing():
    params = {"norm": "l1", "C_upper": 100.0, "C_last": 100.0, "big_m": 1.0}
    problem = make_problem(PAIRS, LABELS, 2, 2, params, formulation="margot")
    program = get_formulation("margot").build(problem)
    assert program.big_m is not None
    capped = replace(program, big_m=replace(program.big_m, limit=4.0))
    clock = Clock(30.0)
    recorder = Recorder(program.sense, clock, lambda event: None, tolerance=program.tolerance)
    for source, tree in program.starts(ENDLESS):
        value = program.evaluate(tree)
        assert value is not None
        recorder.incumbent(value, tree, source)
    outcome = highs(Attempt(capped, recorder, lambda: False))
    assert recorder.best_bound == 0.0  # the program's own bound, not the model's
    assert outcome.root_bound is None
    assert outcome.stop_reason is not StopReason.OPTIMAL
    assert any("proves nothing" in claim for claim in outcome.claims)


def test_the_constant_follows_the_best_tree():
    constants = BigM(100.0, lambda objective: 2 * objective, lambda guard, constant: None, 1e4)  # type: ignore[arg-type]
    assert constants.choose(None) == 1e4
    assert constants.choose(10.0) == 100.0
    assert constants.choose(300.0) == 600.0
    assert constants.choose(1e9) == 1e4
    assert constants.forbids(100.0, None)
    assert constants.forbids(100.0, 51.0)
    assert not constants.forbids(100.0, 50.0)


def test_what_identical_rows_cost_any_tree_needs_no_constant():
    """Two equal rows of unlike classes and large weights: the price of their slack is no norm."""
    X, y = np.array([[1.0], [0.0], [1.0]]), np.array([0, 0, 1])
    weights = np.array([2176.4, 1545.8, 60.8])
    params = {"norm": "l1", "C_upper": 100.0, "C_last": 1000.0}
    problem = make_problem(X, y, 2, 1, params, formulation="margot")
    program = get_formulation("margot").build(replace(problem, weights=weights))
    assert program.bound == pytest.approx(2 * 1000.0 * 60.8)
    assert program.big_m is not None
    assert program.big_m.needed(2 * 1000.0 * 60.8 + 1.0) < 100.0
