"""Whether values given for the variables of a Pyomo model satisfy all its rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyomo.environ as pyo

from octcore.program import ENDLESS, Program, PyomoModel
from octcore.tree.tree import Tree


def load(built: PyomoModel, tree: Tree) -> float:
    """Load the start values of a tree into the model; return the value of its objective."""
    model: Any = built.model
    for component, array in built.start_values(tree):
        for variable, value in zip(component.values(), np.ravel(array), strict=True):
            variable.set_value(float(value), skip_validation=True)
    missing = [v.name for v in model.component_data_objects(pyo.Var) if v.value is None]
    assert not missing, f"no start value for {missing[:3]}"
    return float(pyo.value(model.objective))


def largest_violation(built: PyomoModel) -> tuple[float, str]:
    """Largest violation of a row, bound or integrality at the loaded values, and where."""
    worst, where = 0.0, ""
    for row in built.model.component_data_objects(pyo.Constraint, active=True):
        body = float(pyo.value(row.body))
        for excess in (
            0.0 if row.lower is None else float(pyo.value(row.lower)) - body,
            0.0 if row.upper is None else body - float(pyo.value(row.upper)),
        ):
            if excess > worst:
                worst, where = excess, row.name
    for variable in built.model.component_data_objects(pyo.Var):
        value, (low, high) = float(variable.value), variable.bounds
        excess = max(value - high if high is not None else 0, low - value if low is not None else 0)
        if variable.is_integer():
            excess = max(excess, abs(value - round(value)))
        if excess > worst:
            worst, where = excess, variable.name
    return worst, where


def check_starts(program: Program) -> int:
    """Check every start that the program accepts; return how many there are."""
    trees = [tree for _, tree in program.starts(ENDLESS) if program.evaluate(tree) is not None]
    for tree in trees:
        check_start(program, tree)
    return len(trees)


def check_start(program: Program, tree: Tree, tolerance: float = 1e-6) -> None:
    """A tree that the program accepts is a feasible point of its model with the same objective."""
    value = program.evaluate(tree)
    assert value is not None
    assert program.build is not None
    built = program.build(lambda: None)
    claimed = program.scale * load(built, tree) + program.shift
    assert abs(claimed - value) <= tolerance * max(1.0, abs(value))
    worst, where = largest_violation(built)
    assert worst <= tolerance, f"{where} is violated by {worst:g}"
