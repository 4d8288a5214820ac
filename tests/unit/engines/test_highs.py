"""Compiling Pyomo models and running them in HiGHS."""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo
import pytest
from scipy.sparse import csr_matrix

from octcore.engines.highs import (
    HighsModel,
    InfeasibleModelError,
    SolverHooks,
    SolverSettings,
    SolverStatus,
    compile_model,
)
from octcore.program import Point, Sense


def knapsack():
    """Maximise 5a + 4b + 3c + 10 with 2a + 3b + c <= 5, and c fixed to 1."""
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(3), domain=pyo.Binary)
    model.idle = pyo.Var(range(2))
    model.x[2].fix(1)
    model.weight = pyo.Constraint(expr=2 * model.x[0] + 3 * model.x[1] + model.x[2] <= 5)
    model.range = pyo.Constraint(expr=(0, model.x[0] + model.x[1], 2))
    model.value = pyo.Objective(
        expr=5 * model.x[0] + 4 * model.x[1] + 3 * model.x[2] + 10, sense=pyo.maximize
    )
    return model


def test_compiled_arrays_remember_constant_sense_and_fixed_variables():
    model = knapsack()
    compiled = compile_model(model)
    assert compiled.sense is Sense.MAXIMISE
    assert compiled.offset == 13.0
    assert compiled.columns.of(model.x).tolist() == [0, 1, -1]
    assert compiled.columns.of(model.idle).tolist() == [-1, -1]
    assert compiled.columns.of(model.x) is compiled.columns.of(model.x)
    assert sorted(compiled.cost) == [4.0, 5.0]
    assert compiled.integer.all()
    assert compiled.size.to_dict() == {"rows": 3, "columns": 2, "binaries": 2, "nonzeros": 6}
    point = Point(compiled.columns, np.array([1.0, 0.5]))
    assert point.array(model.x).tolist() == [1.0, 0.5, 0.0]


def test_a_violated_row_without_variables_is_infeasible():
    model = knapsack()
    model.x.fix(1)
    with pytest.raises(InfeasibleModelError):
        compile_model(model)


def test_mip_and_relaxation():
    compiled = compile_model(knapsack())
    result = HighsModel(compiled).run(SolverSettings(10.0))
    assert result.status is SolverStatus.OPTIMAL
    assert result.objective == pytest.approx(18.0)
    assert result.bound == pytest.approx(18.0)
    relaxed = HighsModel(compiled, relaxed=True)
    assert relaxed.run(SolverSettings(10.0)).bound == pytest.approx(18 + 4 * 2 / 3)
    relaxed.add_rows(csr_matrix([[1.0, 1.0]]), np.array([1.0]))
    assert relaxed.run(SolverSettings(10.0)).bound == pytest.approx(18.0)


def long_knapsack():
    rng = np.random.default_rng(0)
    model = pyo.ConcreteModel()
    model.x = pyo.Var(range(60), domain=pyo.Binary)
    for r in range(5):
        row = rng.integers(1, 100, 60)
        setattr(
            model, f"row{r}",
            pyo.Constraint(expr=sum(int(v) * model.x[j] for j, v in enumerate(row)) <= 500),
        )  # fmt: skip
    gain = rng.integers(1, 100, 60)
    model.o = pyo.Objective(
        expr=sum(int(v) * model.x[j] for j, v in enumerate(gain)), sense=pyo.maximize
    )
    return model


def test_infeasible():
    model = knapsack()
    model.more = pyo.Constraint(expr=model.x[0] + model.x[1] >= 2)
    result = HighsModel(compile_model(model)).run(SolverSettings(10.0))
    assert result.status is SolverStatus.INFEASIBLE
    assert result.point is None


def test_the_start_is_asked_for_and_taken_up():
    offers = [np.array([1.0, *[0.0] * 59])]
    seen = []
    hooks = SolverHooks(
        lambda x, value: seen.append(x.tolist()),
        lambda bound, nodes: False,
        lambda: offers.pop() if offers else None,
    )
    start = offers[0].tolist()
    result = HighsModel(compile_model(long_knapsack())).run(SolverSettings(200.0), hooks)
    assert result.status is SolverStatus.OPTIMAL
    assert seen[0] == start


def test_an_error_in_a_hook_reaches_the_caller():
    def fail(x, value):
        raise RuntimeError("from the hook")

    with pytest.raises(RuntimeError, match="from the hook"):
        HighsModel(compile_model(long_knapsack())).run(
            SolverSettings(20.0), SolverHooks(fail, lambda bound, nodes: False, lambda: None)
        )
