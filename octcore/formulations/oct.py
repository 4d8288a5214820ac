"""OCT: optimal trees with thresholds on numeric columns (Bertsimas and Dunn).

=======  ============================================================================
I        training rows, identical ones merged with weights; columns scaled to [0, 1]
J        columns that take two values at least
K        classes
B, L     branch nodes 1 .. 2^D - 1 and terminal nodes 2^D .. 2^(D+1) - 1
eps_j    smallest gap between distinct values of column j, not below `SMALLEST_GAP`
=======  ============================================================================

What differs from the paper: the row ``z_it <= d_m`` left of m is added.  As printed, a branch node
without a split (a = 0, beta = 0) lets rows go left as well as right, and errors vanish illegally.
The threshold reported is the middle between the nearest rows, not beta.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyomo.environ as pyo

from octcore.errors import SettingsError
from octcore.formulations.base import BERTSIMAS_DUNN, FormulationInfo, TeachingText, formulation
from octcore.formulations.shared import constraint_kinds, terminals
from octcore.formulations.shared import side_constraints as side
from octcore.formulations.shared import tree_model as equations
from octcore.formulations.shared.tree_model import TreeSets, linear
from octcore.formulations.shared.univariate import smallest_step, weight_unit
from octcore.parameters import FloatRange, fraction_in_words
from octcore.program import ModelSize, Point, Problem, Program, PyomoModel, Sense
from octcore.tree.tree import Tree
from octcore.warmstart.amending import first_trees
from octcore.warmstart.points import node_gaps

SMALLEST_GAP = 1e-4
"""Rows closer than this cannot be separated: it must stay well above the solver's tolerance."""

INFO = FormulationInfo(
    key="oct",
    place=80,
    title="OCT",
    summary="Thresholds on the numeric columns themselves, no binarization: variables say which "
    "column a node tests, at which value, and where every row ends.",
    reference=BERTSIMAS_DUNN,
    hyperparameters=(
        FloatRange(
            "alpha",
            default=0.01,
            symbol="α",
            help="Price of a split in units of the majority rule's errors; a larger value gives a "
            "smaller tree.",
            low=0.0,
            high=10.0,
        ),
    ),
    constraints=constraint_kinds.ALL,
    has_costs=True,
    sense=Sense.MINIMISE,
    objective="errors / errors of the majority rule + alpha x splits",
    equations=(
        (r"\min \sum_t L_t / \hat L + \alpha \sum_m d_m", "errors and the price of the splits"),
        (
            r"\sum_j a_{mj}(x_{ij} + \epsilon_j) \le \beta_m + (1 + \epsilon_{\max})(1 - z_{it})",
            "rows at t lie below the threshold where t lies left of m",
        ),
        (
            r"\sum_j a_{mj} x_{ij} \ge \beta_m - (1 - z_{it})",
            "rows at t reach the threshold where t lies right of m",
        ),
        (r"z_{it} \le d_m", "without a split all rows go right"),
        (r"L_t \ge N_t - N_{kt} - M_k (1 - c_{tk})", "rows at t of another class are errors"),
    ),
    teaching=TeachingText(
        "OCT",
        "The first mixed-integer program for optimal trees: variables for splits, thresholds and "
        "the leaf of every point, tied together by large constants.",
        "Thresholds between any two neighbours. The large constants make its bound weak: watch how "
        "long the proof takes.",
    ),
    good_at="The classical model, exact on numeric data without binning; its big-M rows are weak, "
    "so that some hundred rows at depth 2 can already take minutes.",
)


@formulation(INFO)
def build(problem: Problem) -> Program:
    """Make the OCT program of a problem; `SettingsError` for numbers beyond its big-M."""
    if problem.X.min(initial=0.0) < 0 or problem.X.max(initial=1.0) > 1:
        message = f"The constants of {INFO.named} are for numbers from 0 to 1; use encoding scaled."
        raise SettingsError("ENCODING_NOT_SCALED", message, "encoding")
    model = OCT(problem)
    unit = weight_unit(problem.weights) / problem.majority_errors
    return Program(
        sense=Sense.MINIMISE,
        evaluate=model.evaluate,
        size=model.size,
        build=model.build,
        scale=1 / problem.majority_errors,
        shift=-problem.surplus / problem.majority_errors,
        granularity=smallest_step(unit, float(model.alpha), 2**problem.depth - 1),
        starts=partial(first_trees, problem, model.split_price),
        bound=terminals.fewest_errors(problem) / problem.majority_errors,
        feasibility=terminals.weight_tolerance(problem, model.split_price),
        claims=(
            f"Thresholds lie between values of a scaled column that differ by {SMALLEST_GAP:g} "
            "at least; closer rows count as inseparable.",
            f"the price of a split is {fraction_in_words(model.alpha)}",
        ),
    )


@dataclass(frozen=True, eq=False)
class OCT:
    """Sets and builders of the model; the model counts errors (objective times L-hat)."""

    problem: Problem

    @cached_property
    def sets(self) -> TreeSets:
        """I: all rows; J: columns that may be tested and vary."""
        return terminals.sets_of(self.problem, side.varying_columns(self.problem))

    @cached_property
    def gaps(self) -> dict[int, float]:
        """eps_j: smallest gap between distinct values, floored."""
        values = {j: np.unique(self.problem.X[:, j]) for j in self.sets.columns}
        least = {j: float(np.diff(x).min(initial=1.0)) for j, x in values.items()}
        return {j: max(SMALLEST_GAP, gap) for j, gap in least.items()}

    @cached_property
    def alpha(self) -> Fraction:
        """Price of a split in errors of the majority rule, as it is read."""
        return self.problem.fraction(self.problem.params["alpha"])

    @property
    def split_price(self) -> float:
        """Price of a split in weight of errors."""
        return float(self.alpha) * self.problem.majority_errors

    @property
    def size(self) -> ModelSize:
        """Estimate from the counts of rows and nodes."""
        sets = self.sets
        n, columns, classes = len(sets.I), len(sets.columns), len(sets.K)
        branch, leaves = len(sets.B), len(sets.L)
        steps = n * leaves * self.problem.depth
        return ModelSize(
            rows=steps + steps // 2 + n * (leaves + 1) + leaves * (classes + 2) + 3 * branch,
            columns=n * leaves + branch * (columns + 2) + leaves * (classes + 2),
            binaries=n * leaves + branch * (columns + 1) + leaves * (classes + 1),
            nonzeros=steps * (columns + 3) + n * leaves * (classes + 4) + branch * (columns + 4),
        )

    def evaluate(self, tree: Tree) -> float | None:
        """Objective by routing; None for a tree that breaks a side constraint.

        Nor for one that parts rows closer than `SMALLEST_GAP`: the bound is about the others.
        """
        problem = self.problem
        thinnest = min(node_gaps(tree, problem.X).values(), default=1.0)
        if thinnest < SMALLEST_GAP or not problem.admits(tree):
            return None
        wrong = terminals.tree_errors(problem, tree) / problem.majority_errors
        return wrong + float(self.alpha) * tree.n_splits

    def build(self, guard: Callable[[], None]) -> PyomoModel:
        """Build variables, equations and the objective."""
        model: Any = pyo.ConcreteModel("OCT")
        self._variables(model)
        self._structure(model)
        self._thresholds(model, guard)
        z, c, sets, rows = model.z, model.c, self.sets, self.sets.rows
        terminals.add_leaf_size_rows(model, self.problem, rows, z, model.l)
        terminals.add_error_rows(model, self.problem, rows, z, c)
        terminals.add_prediction_rows(model, self.problem, rows, z, c, guard)
        side.add_structural_rows(model, self.problem, model.a, sets.columns)
        self._both_sides(model)
        model.objective = pyo.Objective(
            expr=pyo.quicksum(model.error[t] for t in sets.L)
            + self.split_price * pyo.quicksum(model.d[m] for m in sets.B),
            sense=pyo.minimize,
            doc="errors + price of the splits, times L-hat",
        )
        return PyomoModel.of(model, self)

    def _variables(self, model: Any) -> None:
        I, B, L, J = self.sets.I, self.sets.B, self.sets.L, self.sets.columns
        model.a = pyo.Var(B, J, domain=pyo.Binary, doc="a_mj: node m tests column j")
        model.beta = pyo.Var(B, bounds=(0, 1), doc="beta_m: threshold")
        model.d = pyo.Var(B, domain=pyo.Binary, doc="d_m: node m splits")
        model.l = pyo.Var(L, domain=pyo.Binary, doc="l_t: terminal t holds rows")
        model.c = pyo.Var(L, self.sets.K, domain=pyo.Binary, doc="c_tk: terminal t predicts k")
        model.z = pyo.Var(I, L, domain=pyo.Binary, doc="z_it: row i ends at t")

    def _structure(self, model: Any) -> None:
        d, sets = model.d, self.sets
        equations.add_tested_column(model, sets, model.a, d, doc="sum_j a_mj = d_m")
        model.threshold_of_split = pyo.Constraint(
            sets.B, rule=lambda _, m: model.beta[m] <= d[m], doc="beta_m <= d_m"
        )
        equations.add_split_below_split(model, sets, d, doc="d_m <= d_parent")
        equations.add_one_terminal(model, sets, model.z, doc="sum_t z_it = 1")
        equations.add_one_label(model, sets, model.c, doc="sum_k c_tk = l_t", used=model.l)

    def _thresholds(self, model: Any, guard: Callable[[], None]) -> None:
        a, beta, z = model.a, model.beta, model.z
        I, J, X = self.sets.I, self.sets.columns, self.sets.rows.X
        left_steps = [(t, m) for t, m, s in self.sets.steps if s == 0]
        right_steps = [(t, m) for t, m, s in self.sets.steps if s == 1]
        # columns and thresholds lie in [0, 1], so no row can miss its side by more than these
        left_big_m, right_big_m = 1.0 + max(self.gaps.values(), default=0.0), 1.0

        doc = "sum_j a_mj (x_ij + eps_j) <= beta_m + (1 + eps_max)(1 - z_it)"

        @model.Constraint(I, left_steps, doc=doc)
        def left_of_threshold(_, i, t, m):
            guard()
            values = [float(X[i, j]) + self.gaps[j] for j in J]
            variables = [*(a[m, j] for j in J), beta[m], z[i, t]]
            return None, linear([*values, -1.0, left_big_m], variables), left_big_m

        @model.Constraint(I, right_steps, doc="sum_j a_mj x_ij >= beta_m - (1 - z_it)")
        def right_of_threshold(_, i, t, m):
            guard()
            values = [float(X[i, j]) for j in J]
            variables = [*(a[m, j] for j in J), beta[m], z[i, t]]
            return -right_big_m, linear([*values, -1.0, -right_big_m], variables), None

        doc = "z_it <= d_m left of m (missing in the paper)"
        equations.add_right_without_split(model, self.sets, z, model.d, doc)

    def _both_sides(self, model: Any) -> None:
        """Let a required root part the rows; other splits for show only cost."""
        sets = self.sets
        if self.problem.constraints.root_feature is not None:
            doc = "a required root sends a row to either side"

            @model.Constraint((0, 1) if sets.columns else (), doc=doc)
            def root_divides(_, s):
                return pyo.quicksum(
                    model.z[i, t] for i in range(len(sets.rows)) for t in sets.terminals_below(1, s)
                ) >= pyo.quicksum(model.a[1, j] for j in sets.columns)

    def read_tree(self, model: Any, point: Point) -> Tree:
        """Read columns and thresholds; thresholds move to the middle of their gap."""
        sets = self.sets
        a = point.table(model.a, len(sets.B), len(sets.columns))
        c = point.table(model.c, len(sets.L), len(sets.K))
        beta = point.array(model.beta)
        return terminals.read_tree(
            sets, self.problem, a, c, lambda m, j: float(beta[m - 1]) - self.gaps[j] / 2
        )

    def start_values(self, model: Any, tree: Tree) -> list[tuple[Any, np.ndarray]]:
        """Values of all variables for a tree."""
        sets = self.sets
        values = terminals.TerminalValues(tree, self.problem, sets)
        a, beta = sets.tests_of(tree), np.zeros(len(sets.B))
        node_rows = tree.node_rows(sets.rows.X)
        for node, split in tree.splits.items():
            there = split.project(sets.rows.X[node_rows[node]])
            right = there[there > split.threshold]
            beta[node - 1] = right.min() if len(right) else 1.0
        return [
            (model.a, a),
            (model.beta, beta),
            (model.d, a.sum(axis=1)),
            (model.l, values.held),
            (model.c, values.c * values.held[:, None]),
            (model.z, values.z),
            *values.of(model),
        ]
