"""OCT on binary features: where every row ends, and how many are wrong there.

The binary form of Bertsimas and Dunn's model that serves as the baseline of the FlowOCT paper,
written from general knowledge (its appendix is not at hand) and checked by enumeration.

=======  ============================================================================
I        training rows, identical ones merged with weights
F        binary columns that may be tested;  F0_i: those where row i is 0
K        classes
B, L     branch nodes 1 .. 2^D - 1 and terminal nodes 2^D .. 2^(D+1) - 1
=======  ============================================================================

A branch node without a split (d = 0) sends all rows right.  By default the rows "z follows the
split" are aggregated over the features, which is tighter and smaller than the published one row
per feature (`disaggregated`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyomo.environ as pyo

from octcore.formulations.base import BERTSIMAS_DUNN, FormulationInfo, TeachingText, formulation
from octcore.formulations.shared import constraint_kinds, terminals
from octcore.formulations.shared import side_constraints as side
from octcore.formulations.shared import tree_model as equations
from octcore.formulations.shared.tree_model import TreeSets, linear
from octcore.formulations.shared.univariate import REGULARISERS, UnivariateObjective
from octcore.parameters import Flag
from octcore.program import ModelSize, Point, Problem, Program, PyomoModel
from octcore.tree.tree import Tree
from octcore.warmstart.amending import first_trees

INFO = FormulationInfo(
    key="oct-binary",
    place=90,
    class_name="OCTBinaryClassifier",
    title="OCT on binary features",
    summary="Variables say at which terminal node every row ends and how many rows are wrong "
    "there. The classical model, on the same binary columns as FlowOCT.",
    reference=BERTSIMAS_DUNN,
    needs_binary_features=True,
    hyperparameters=(
        *REGULARISERS,
        Flag(
            "disaggregated",
            default=False,
            help="One row per feature, as published: a larger model with a weaker relaxation.",
            advanced=True,
        ),
    ),
    constraints=constraint_kinds.ALL,
    has_costs=True,
    equations=(
        (r"\max\ n - \sum_t L_t - \lambda n \sum_m d_m", "correct rows minus the price of splits"),
        (r"z_{it} \le \sum_{f: x_{if} = 0} b_{mf}", "rows at t went left where t lies left"),
        (r"L_t \ge N_t - N_{kt} - M_k (1 - c_{tk})", "rows at t of another class are errors"),
    ),
    teaching=TeachingText(
        "OCT on yes/no features",
        "OCT where every feature is yes or no, so that a split only has to choose its feature.",
        "The same optimum as FlowOCT, but the relaxation claims at the start that no point need be "
        "wrong. That is why flow formulations were invented.",
    ),
    good_at="Shows why flow formulations were invented: its relaxation misclassifies nothing, so "
    "branch and bound has to do all the work.",
)


@formulation(INFO)
def build(problem: Problem) -> Program:
    """Make the program of OCT on binary features."""
    objective = UnivariateObjective(problem)
    oct_binary = OCTBinary(problem, objective)
    return objective.program(
        size=oct_binary.size,
        build=oct_binary.build,
        shift=objective.from_count(objective.weight_right - objective.penalty),
        starts=partial(first_trees, problem, objective.penalty),
        bound=objective.ceiling,
        feasibility=terminals.weight_tolerance(problem, objective.penalty),
    )


@dataclass(frozen=True, eq=False)
class OCTBinary:
    """Sets and builders of the model."""

    problem: Problem
    objective: UnivariateObjective

    @cached_property
    def sets(self) -> TreeSets:
        """I: all rows; F: columns that may be tested."""
        return terminals.sets_of(self.problem, side.allowed_columns(self.problem))

    @property
    def size(self) -> ModelSize:
        """Estimate from the counts of rows and nodes."""
        sets = self.sets
        n, f, classes = len(sets.I), len(sets.columns), len(sets.K)
        branch, leaves, depth = len(sets.B), len(sets.L), sets.depth
        arcs = n * leaves * depth
        routed = arcs * (max(1, f // 2) if self.problem.params["disaggregated"] else 1)
        dense = 2 * routed if self.problem.params["disaggregated"] else arcs * (f // 2 + 2)
        return ModelSize(
            rows=routed + n + leaves * (classes + 1) + 2 * branch,
            columns=n * leaves + branch * (f + 1) + leaves * (classes + 1),
            binaries=n * leaves + branch * (f + 1) + leaves * classes,
            nonzeros=dense + n * leaves * (classes + 1) + 2 * branch * f,
        )

    def build(self, guard: Callable[[], None]) -> PyomoModel:
        """Build variables, numbered equations and the objective."""
        model: Any = pyo.ConcreteModel("OCT on binary features")
        self._variables(model)
        self._constraints(model, guard)
        self._objective(model)
        return PyomoModel.of(model, self)

    def _variables(self, model: Any) -> None:
        I, B, L, F = self.sets.I, self.sets.B, self.sets.L, self.sets.columns
        model.b = pyo.Var(B, F, domain=pyo.Binary, doc="b_mf: node m tests column f")
        model.d = pyo.Var(B, domain=pyo.Binary, doc="d_m: node m splits")
        model.c = pyo.Var(L, self.sets.K, domain=pyo.Binary, doc="c_tk: terminal t predicts k")
        model.z = pyo.Var(I, L, domain=pyo.Binary, doc="z_it: row i ends at t")

    def _constraints(self, model: Any, guard: Callable[[], None]) -> None:
        b, d, c, z, sets = model.b, model.d, model.c, model.z, self.sets
        equations.add_tested_column(model, sets, b, d, doc="sum_f b_mf = d_m")
        equations.add_split_below_split(model, sets, d, doc="d_m <= d_parent")
        equations.add_one_terminal(model, sets, z, doc="sum_t z_it = 1")
        equations.add_one_label(model, sets, c, doc="sum_k c_tk = 1")
        if self.problem.params["disaggregated"]:
            self._route_by_feature(model, guard)
        else:
            self._route(model, guard)
        terminals.add_error_rows(model, self.problem, sets.rows, z, c)
        side.add_structural_rows(model, self.problem, b, sets.columns)
        if self.problem.constraints.min_samples_leaf is not None:
            model.l = pyo.Var(sets.L, domain=pyo.Binary, doc="l_t: terminal t holds rows")
            terminals.add_leaf_size_rows(model, self.problem, sets.rows, z, model.l)
            self._both_sides(model)
        terminals.add_prediction_rows(model, self.problem, sets.rows, z, c, guard)

    def _both_sides(self, model: Any) -> None:
        """A split needs N_min rows on each side, otherwise a leaf of the tree would be empty."""
        counts, smallest = self.sets.rows.counts, self.problem.constraints.min_samples_leaf

        @model.Constraint(self.sets.B, (0, 1), doc="both children of a split hold N_min rows")
        def split_size(_, m, s):
            below = self.sets.terminals_below(m, s)
            there = [float(count) * model.z[i, t] for i, count in enumerate(counts) for t in below]
            return pyo.quicksum(there) >= smallest * model.d[m]

    def _route(self, model: Any, guard: Callable[[], None]) -> None:
        b, z = model.b, model.z
        zeros = [[f for f in self.sets.columns if row[f] == 0] for row in self.sets.rows.X]
        doc = "z_it <= sum_{F0_i} b_mf left of m, z_it <= 1 - sum_{F0_i} b_mf right of m"

        @model.Constraint(self.sets.I, self.sets.steps, doc=doc)
        def follows_split(_, i, t, m, s):
            guard()
            left = [b[m, f] for f in zeros[i]]
            if s == 0:
                return None, linear([1.0] + [-1.0] * len(left), [z[i, t], *left]), 0.0
            return None, linear([1.0] * (len(left) + 1), [z[i, t], *left]), 1.0

    def _route_by_feature(self, model: Any, guard: Callable[[], None]) -> None:
        b, z, sets = model.b, model.z, self.sets
        doc = "(3) z_it <= 1 - b_mf where f sends row i the other way"

        @model.Constraint(sets.I, sets.steps, sets.columns, doc=doc)
        def follows_split(_, i, t, m, s, f):
            guard()
            if sets.rows.X[i, f] == s:
                return pyo.Constraint.Skip
            return None, linear((1.0, 1.0), (z[i, t], b[m, f])), 1.0

        doc = "z_it <= d_m left of m: without a split all rows go right"
        equations.add_right_without_split(model, sets, z, model.d, doc)

    def _objective(self, model: Any) -> None:
        price = self.objective.penalty
        model.objective = pyo.Objective(
            expr=-pyo.quicksum(model.error[t] for t in self.sets.L)
            - price * pyo.quicksum(model.d[m] for m in self.sets.B),
            sense=pyo.maximize,
            doc="minus errors, minus the price of the splits, on the scale of counts",
        )

    def read_tree(self, model: Any, point: Point) -> Tree:
        """Read the tree of a solution."""
        sets = self.sets
        b = point.table(model.b, len(sets.B), len(sets.columns))
        c = point.table(model.c, len(sets.L), len(sets.K))
        return terminals.read_tree(sets, self.problem, b, c)

    def start_values(self, model: Any, tree: Tree) -> list[tuple[Any, np.ndarray]]:
        """Values of all variables for a tree."""
        values = terminals.TerminalValues(tree, self.problem, self.sets)
        b = self.sets.tests_of(tree)
        start = [
            (model.b, b),
            (model.d, b.sum(axis=1)),
            (model.c, values.labels),
            (model.z, values.z),
            *values.of(model),
        ]
        if hasattr(model, "l"):
            start.append((model.l, values.used))
        return start
