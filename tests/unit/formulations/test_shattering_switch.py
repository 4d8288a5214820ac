"""Shattering inequalities on leaf variables: XOR corners at one node cannot be divided."""

from __future__ import annotations

import numpy as np
import pyomo.environ as pyo

from octcore.engines.highs import compile_model
from octcore.formulations.shared.oblique import shattering_at_leaves
from octcore.program import Point, SearchState
from tests.brute import make_problem

CORNERS = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])
AT = [4, 5, 6, 7]


def _separate(leaf_of_row):
    model = pyo.ConcreteModel()
    model.z = pyo.Var(range(4), AT, domain=pyo.Binary)
    model.all = pyo.Constraint(expr=pyo.quicksum(model.z.values()) == 4)
    model.objective = pyo.Objective(expr=model.z[0, 4])
    compiled = compile_model(model)
    x = np.zeros(len(compiled.cost))
    table = compiled.columns.of(model.z).reshape(4, 4)
    x[[table[i, AT.index(leaf)] for i, leaf in enumerate(leaf_of_row)]] = 1.0
    state = SearchState(True, True, 0)
    asked = {"shattering_cuts": True}
    problem = make_problem(CORNERS, np.zeros(4, int), 1, 2, asked, formulation="oct-h")
    (separator,) = shattering_at_leaves(CORNERS, model.z, problem, 0.01)
    return separator.separate(Point(compiled.columns, x), state), x


def test_corners_divided_across_are_cut_off():
    found, x = _separate([4, 4, 6, 7])
    assert found
    assert (found[0].matrix @ x > found[0].rhs + 0.5).any()


def test_sides_of_a_plane_stay():
    found, _ = _separate([4, 6, 4, 6])
    assert not found
