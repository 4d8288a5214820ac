"""Column program: optimal trees of depth three at most under global side constraints.

Exact search alone cannot see constraints that couple distant parts of a tree: a budget of features,
a floor on the recall of a class, parity between groups.  Here search and mixed-integer programming
share the work.  Search gives the exact value of every part of a tree and discards the parts that
no tree as good as the best feasible one can hold; a program without any variable per row puts the
remaining parts together.  Without side constraints its relaxation is the dynamic program itself.

The idea of columns with exact subtree values is ours; the objective is that of the accelerated
BendOCT paper.  Equations: (1) value of the columns, (2) flow of columns, (3) leaves, (4)-(6) raw
features, (7) predictions; see `model`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from octcore.errors import TooLargeError
from octcore.formulations.base import FormulationInfo, Reference, TeachingText, formulation
from octcore.formulations.path_columns.model import ColumnsModel
from octcore.formulations.path_columns.search import ColumnsSearch
from octcore.formulations.path_columns.space import ColumnsProblem
from octcore.formulations.shared import constraint_kinds
from octcore.formulations.shared.univariate import REGULARISERS, UnivariateObjective
from octcore.program import Capability, Problem, Program, PyomoModel
from octcore.search.univariate.column_table import ColumnTable, TooManyColumnsError, make_table
from octcore.tree.tree import Tree

MOST_COLUMNS = 400_000
"""Pyomo needs about 3 kB for a column with its rows; beyond it neither memory nor time suffice."""

INFO = FormulationInfo(
    key="path-columns",
    place=70,
    rank=2,
    title="Exact columns",
    summary="Optimal trees with a budget of features, a floor on recall or fairness limits: exact "
    "search values the parts of a tree, a small mixed-integer program puts them together.",
    reference=Reference(
        "Keegan, D. and Forbes, M.; the column program itself is ours",
        2025,
        "Accelerated BendOCT: advanced integer programming for optimal classification trees "
        "(objective and depth-two subtrees)",
    ),
    split_kind="univariate",
    needs_binary_features=True,
    default_encoding="QT-5",
    hyperparameters=REGULARISERS,
    constraints=constraint_kinds.ALL,
    capabilities=(Capability.LINEAR,),
    max_depth=3,
    equations=(
        (
            r"\max \sum_c v_c y_c",
            "every column is worth the rows it classifies correctly, less the price of its leaves",
        ),
        (
            r"\sum_{c \in r} y_c = y_{\mathrm{open}(r)}",
            "one column at the root, and one at each side of every split that is used",
        ),
        (
            r"\sum_{c \ni g \text{ at } m} y_c \le u_g,\quad \sum_g u_g \le Q",
            "at every place of the tree: a column may test a raw feature only if it is paid for",
        ),
        (
            r"\sum_c r_c y_c \ge \rho n_k",
            "recall floors and parity limits count rows, so they are linear in the columns",
        ),
    ),
    teaching=TeachingText(
        "Columns of paths",
        "Chooses among whole paths from the root to a leaf, each with the points that it gets "
        "right. Conditions on the whole tree, such as few features, become one row.",
        "The price of a condition: what the best tree loses when it has to keep to it.",
    ),
    good_at="Shows what a side constraint costs: the price is proven, usually within seconds.",
)


@formulation(INFO)
def build(problem: Problem) -> Program:
    """Make the program; search and columns wait until they are asked for."""
    objective = UnivariateObjective(problem)
    assembly = _Assembly(problem, objective)
    return objective.program(
        build=assembly.build,
        starts=lambda patience: assembly.search.trees(patience=patience),
        describe=assembly.describe,
        method="mip+path-search",
    )


@dataclass(frozen=True, eq=False)
class _Assembly:
    """Search first, columns next, then the model."""

    problem: Problem
    objective: UnivariateObjective

    @cached_property
    def search(self) -> ColumnsSearch:
        return ColumnsSearch(ColumnsProblem(self.problem, self.objective))

    def build(self, guard: Callable[[], None]) -> PyomoModel:
        search = self.search
        if search.best is None:
            for _ in search.trees(guard):
                guard()
        built = ColumnsModel(search.columns, self._table(guard), guard)
        best = search.best
        return PyomoModel(
            built.model,
            read_tree=built.read_tree,
            start_values=built.start_values,
            starts=() if best is None else (("search", best),),
            values={"columns": len(built.table)},
            bound=self.objective.from_count(search.bound),
        )

    def _table(self, guard: Callable[[], None]) -> ColumnTable:
        search, wanted = self.search, self.problem.constraints
        try:
            return make_table(
                search.columns.space,
                search.multipliers,
                search.incumbent - search.slack,
                np.flatnonzero(search.root_bounds >= search.incumbent - search.slack),
                by_raw=wanted.max_features is not None or bool(wanted.forbidden_pairs),
                most=MOST_COLUMNS,
                guard=guard,
            )
        except TooManyColumnsError as error:
            raise TooLargeError(
                "TOO_LARGE",
                f"More than {MOST_COLUMNS:,} columns could be part of an optimal tree; choose a "
                "smaller depth, a coarser encoding or a larger leaf penalty.",
                {"columns": float(MOST_COLUMNS)},
            ) from error

    def describe(self, tree: Tree) -> tuple[Mapping[str, Any], tuple[str, ...]]:
        """Price of the side constraints: what the objective loses against the free optimum."""
        free, mine = self.search.unconstrained_objective, self.objective.evaluate(tree)
        if free is None or mine is None or not self.problem.constraints.active:
            return {}, ()
        price = max(0.0, free - mine)
        sentence = (
            f"without the side constraints the optimum is {free:.6g} (proven by path-search), so "
            f"they cost {price:.6g}; that price is exact if this tree is proven optimal, and an "
            "upper bound otherwise"
        )
        return {"price": price, "unconstrained_objective": free}, (sentence,)
