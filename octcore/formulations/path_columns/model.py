"""Column program: optimal trees of depth three at most under global side constraints.

Exact search alone cannot see constraints that couple distant parts of a tree: a budget of features,
a floor on the recall of a class, parity between groups.  Here search and mixed-integer programming
share the work.  Search gives the exact value of every part of a tree and discards the parts that
no tree as good as the best feasible one can hold; a program without any variable per row puts the
remaining parts together.  Without side constraints its relaxation is the dynamic program itself.

The idea of columns with exact subtree values is ours; the objective is that of the accelerated
BendOCT paper.  Equations: (1) value of the columns, (2) flow of columns, (3) leaves, (4)-(6) raw
features, (7) predictions, over these sets:

=======  ============================================================================
C        columns: a split, a leaf with its label, or a stump with two labels
R        flow rows: row 0 is the root, every split column opens one for each side
G        raw features;  u_g = 1 where raw feature g occurs
=======  ============================================================================
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyomo.environ as pyo

from octcore.data.distinct import grouped
from octcore.formulations.base import ACCELERATIONS, FormulationInfo, TeachingText, formulation
from octcore.formulations.path_columns.search import ColumnsProblem, ColumnsSearch
from octcore.formulations.shared import constraint_kinds
from octcore.formulations.shared.question import stopped_by
from octcore.formulations.shared.side_constraints import limit_features, structural_start_values
from octcore.formulations.shared.tree_model import linear
from octcore.formulations.shared.univariate import REGULARISERS, UnivariateObjective, decode
from octcore.program import Patience, Point, Problem, Program, PyomoModel
from octcore.search.univariate.columns import ColumnTable, make_table
from octcore.tree.tree import Tree
from octcore.warmstart.amending import drop_idle_splits

ROUNDING = 1e-9  # objectives closer than this are the same
MOST_COLUMNS = 400_000
"""Pyomo needs about 3 kB for a column with its rows; beyond it neither memory nor time suffice."""

INFO = FormulationInfo(
    key="path-columns",
    place=70,
    rank=2,
    title="Exact columns",
    summary="Optimal trees with a budget of features, a floor on recall or fairness limits: exact "
    "search values the parts of a tree, a small mixed-integer program puts them together.",
    reference=replace(
        ACCELERATIONS, authors=f"{ACCELERATIONS.authors}; the column program itself is ours"
    ),
    needs_binary_features=True,
    hyperparameters=REGULARISERS,
    constraints=constraint_kinds.ALL,
    has_costs=True,
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
        "Columns",
        "Chooses among parts of trees: splits and leaves at the end of every path, each with the "
        "points that it gets right. Conditions on the whole tree, such as few features, are a row.",
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
        starts=lambda patience: assembly.search.trees(patience),
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
            for _ in search.trees(Patience(cancel=stopped_by(guard))):
                guard()
            guard()
        least = search.incumbent - search.slack  # columns of trees that are as good stay
        roots, wanted = np.flatnonzero(search.root_bounds >= least), self.problem.constraints
        asked = search.columns.space, search.multipliers, least, roots
        by_raw = wanted.max_features is not None or bool(wanted.forbidden_pairs)
        table = make_table(*asked, by_raw=by_raw, most=MOST_COLUMNS, guard=guard)
        built = ColumnsModel(search.columns, table, guard)
        best = search.best
        return PyomoModel(
            built.model,
            read_tree=built.read_tree,
            start_values=built.start_values,
            starts=() if best is None else (("search", best),),
            values={"columns": len(built.table)},
            bound=self.objective.from_count(search.bound),
        )

    def describe(self, tree: Tree) -> tuple[Mapping[str, Any], tuple[str, ...]]:
        """Price of the side constraints: what the objective loses against the free optimum."""
        free = self.search.unconstrained_objective if self.problem.constraints.active else None
        mine = self.objective.evaluate(tree)
        if free is None or mine is None:
            return {}, ()
        free = max(free, mine)  # the search misses what weighs less than its tolerance
        price = free - mine if free - mine > ROUNDING else 0.0
        sentence = (
            f"without the side constraints the optimum is {free:.6g} (proven by path-search), so "
            f"they cost {price:.6g}; that price is exact if this tree is proven optimal, and an "
            "upper bound otherwise"
        )
        return {"price": price, "unconstrained_objective": free}, (sentence,)


@dataclass(frozen=True, eq=False)
class ColumnsModel:
    """Builds and reads the program."""

    columns: ColumnsProblem
    table: ColumnTable
    guard: Callable[[], None]  # raises when the solve must stop

    @cached_property
    def gains(self) -> np.ndarray:
        """Value and left sides of the linear rows, shape ``(n_columns, 1 + n_rows)``."""
        gains = [column.gains for column in self.table.columns]
        return np.reshape(gains, (-1, 1 + len(self.columns.rows.rhs)))

    @cached_property
    def model(self) -> Any:
        """The Pyomo model."""
        model: Any = pyo.ConcreteModel("path-columns")
        model.y = pyo.Var(range(len(self.table)), domain=pyo.Binary, doc="y_c: column c is used")
        self._flow(model)
        self._size(model)
        self._features(model)
        self._predictions(model)
        value = self.gains[:, 0]
        here = np.flatnonzero(value)
        model.objective = pyo.Objective(
            expr=linear(value[here].tolist(), [model.y[int(c)] for c in here]),
            sense=pyo.maximize,
            doc="(1) correct rows minus the price of the leaves, on the scale of counts",
        )
        return model

    def _flow(self, model: Any) -> None:
        uses: list[list[int]] = [[] for _ in range(self.table.n_rows)]
        opened_by = [-1] * self.table.n_rows
        for c, column in enumerate(self.table.columns):
            uses[column.row].append(c)
            for child in column.below:
                if child >= 0:
                    opened_by[child] = c
        doc = "(2) one column at the root; one at each side of every split that is used"

        @model.Constraint(range(self.table.n_rows), doc=doc)
        def flow(_, r):
            if r % 1000 == 0:
                self.guard()
            variables = [model.y[c] for c in uses[r]]
            if r == 0:
                return 1.0, linear([1.0] * len(variables), variables), 1.0
            coefficients = [1.0] * len(variables) + [-1.0]
            return 0.0, linear(coefficients, [*variables, model.y[opened_by[r]]]), 0.0

    def _size(self, model: Any) -> None:
        limit = self.columns.problem.constraints.leaf_limit
        if limit is not None:
            leaves = np.array([sum(k >= 0 for k in c.labels) for c in self.table.columns])
            ends = np.flatnonzero(leaves)
            model.leaf_limit = pyo.Constraint(
                expr=linear(leaves[ends].tolist(), [model.y[int(c)] for c in ends]) <= limit,
                doc="(3) number of leaves",
            )

    def _features(self, model: Any) -> None:
        wanted = self.columns.problem.constraints
        if wanted.max_features is None and not wanted.forbidden_pairs:
            return
        raw, columns = self.columns.space.groups, enumerate(self.table.columns)
        uses = grouped(((c.node, int(raw[c.feature])), k) for k, c in columns if c.feature >= 0)
        present = sorted({g for _, g in uses})
        model.uses_feature = pyo.Var(present, domain=pyo.Binary, doc="u_g: raw feature g occurs")
        u = model.uses_feature
        doc = "(4) at every place of the tree: columns that test g <= u_g"

        @model.Constraint(list(uses), doc=doc)
        def feature_use(_, node, g):
            here = [model.y[c] for c in uses[node, g]]
            return None, linear([1.0] * len(here) + [-1.0], [*here, u[g]]), 0.0

        limit_features(model, self.columns.problem)  # (5) at most so many, (6) no forbidden pair

    def _predictions(self, model: Any) -> None:
        rhs = self.columns.rows.rhs
        doc = "(7) recall floors and fairness limits, in counts of rows"

        @model.Constraint(range(len(rhs)), doc=doc)
        def predictions(_, r):
            here = np.flatnonzero(self.gains[:, 1 + r])
            left = linear(self.gains[here, 1 + r].tolist(), [model.y[int(c)] for c in here])
            if not len(here):
                return pyo.Constraint.Feasible if rhs[r] <= 0 else pyo.Constraint.Infeasible
            return float(rhs[r]), left, None

    def read_tree(self, point: Point) -> Tree:
        """Read the tree of a solution."""
        kept = self.columns.kept
        features: dict[int, int] = {}
        labels: dict[int, int] = {}
        for c in np.flatnonzero(point.array(self.model.y) > 0.5).tolist():
            node, feature, (first, second), *_ = self.table.columns[c]
            if feature >= 0:
                features[node] = int(kept[feature])
            if second >= 0:
                labels[2 * node], labels[2 * node + 1] = first, second
            elif first >= 0:
                labels[node] = first
        tree = decode(features.get, lambda m: labels.get(m, 0), self.columns.problem)
        return drop_idle_splits(tree, self.columns.problem)

    def start_values(self, tree: Tree) -> list[tuple[Any, np.ndarray]]:
        """Values of the columns of a tree; none if a column of it was replaced by a better one."""
        try:
            chosen = self._columns_of(tree, 1, 0)
        except KeyError:
            return []
        y = np.zeros(len(self.table))
        y[chosen] = 1.0
        return [(self.model.y, y), *structural_start_values(self.model, self.columns.problem, tree)]

    def _columns_of(self, tree: Tree, node: int, row: int) -> list[int]:
        """Columns of the subtree at `node`, which stands at flow row `row`."""
        position = self.table.position
        if node in tree.labels:
            return [position[row, -1, (tree.labels[node], -1)]]
        feature, flipped = self.columns.column_of(tree.splits[node].features[0])
        below = (2 * node + flipped, 2 * node + 1 - flipped)
        ends = (tree.labels.get(below[0], -1), tree.labels.get(below[1], -1))
        if min(ends) >= 0 and (row, feature, ends) in position:
            return [position[row, feature, ends]]
        split = position[row, feature, (-1, -1)]
        places = zip(below, self.table.columns[split].below, strict=True)
        return [split, *(c for place in places for c in self._columns_of(tree, *place))]
