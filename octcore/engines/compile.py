"""From a Pyomo model to arrays, and from variables to columns of those arrays."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import highspy
import numpy as np
import pyomo.environ as pyo
from pyomo.common.errors import InfeasibleConstraintException
from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler
from scipy.sparse import csr_matrix, vstack

from octcore.numerics.linear import linear_program
from octcore.program import Cuts, ModelSize, Sense


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
    sense: Sense
    """Direction of the model's own objective."""
    cost: np.ndarray
    offset: float
    """`cost`, `offset`: linear objective, shape ``(n_columns,)``, and its constant."""
    matrix: csr_matrix
    """Shape ``(n_rows, n_columns)``."""
    row_lower: np.ndarray
    row_upper: np.ndarray
    """`row_lower`, `row_upper`: shape ``(n_rows,)``, infinite where open."""
    lower: np.ndarray
    upper: np.ndarray
    """`lower`, `upper`: column bounds, shape ``(n_columns,)``."""
    integer: np.ndarray
    """Boolean, shape ``(n_columns,)``."""
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

    def linear(self, sign: float = 1.0) -> highspy.HighsLp:
        """Minimisation of `sign` times the objective, without its constant and integrality."""
        return linear_program(
            sign * self.cost, self.lower, self.upper, self.matrix, self.row_lower, self.row_upper
        )


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
