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

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyomo.environ as pyo

from octcore.formulations.base import FormulationInfo, Reference, formulation
from octcore.formulations.components import side_constraints as side
from octcore.formulations.components import terminals
from octcore.formulations.components.rows import MergedRows, linear
from octcore.formulations.components.univariate import (
    REGULARISERS,
    UnivariateObjective,
    read_splits,
)
from octcore.parameters import Flag
from octcore.program import Capability, ModelSize, Point, Problem, Program, PyomoModel, Sense
from octcore.tree import topology
from octcore.tree.tree import Tree
from octcore.warmstart.greedy import greedy_starts

INFO = FormulationInfo(
    key="oct-binary",
    title="OCT on binary features",
    summary="Variables say at which terminal node every row ends and how many rows are wrong "
    "there. The classical model, on the same binary columns as FlowOCT.",
    reference=Reference(
        "Bertsimas, D., Dunn, J.",
        2017,
        "Optimal classification trees",
        "Machine Learning 106, 1039-1082",
        "10.1007/s10994-017-5633-9",
    ),
    split_kind="univariate",
    needs_binary_features=True,
    default_encoding="QT-5",
    hyperparameters=(
        *REGULARISERS,
        Flag(
            "disaggregated",
            default=False,
            help="One row per feature, as published: a larger model with a weaker relaxation.",
            advanced=True,
        ),
    ),
    constraints=side.STRUCTURAL | side.ROUTED | side.PREDICTION,
    engines=("highs", "scip", "gurobi"),
    equations=(
        (r"\max\ n - \sum_t L_t - \lambda n \sum_m d_m", "correct rows minus the price of splits"),
        (r"z_{it} \le \sum_{f: x_{if} = 0} b_{mf}", "rows at t went left where t lies left"),
        (r"L_t \ge N_t - N_{kt} - M_k (1 - c_{tk})", "rows at t of another class are errors"),
    ),
    good_at="Shows why flow formulations were invented: its relaxation misclassifies nothing, so "
    "branch and bound has to do all the work.",
)


@formulation(INFO)
def build(problem: Problem) -> Program:
    """Make the program of OCT on binary features."""
    objective = UnivariateObjective(problem)
    oct_binary = OCTBinary(problem, objective)
    return Program(
        sense=Sense.MAXIMISE,
        capabilities=(Capability.LINEAR,),
        n_features=problem.n_features,
        n_classes=problem.n_classes,
        evaluate=objective.evaluate,
        size=oct_binary.size,
        build=oct_binary.build,
        scale=objective.scale,
        shift=objective.from_count(objective.total_weight - objective.penalty),
        granularity=objective.granularity,
        starts=lambda: greedy_starts(problem, objective.penalty),
        bound=objective.ceiling,
    )


@dataclass(frozen=True, eq=False)
class OCTBinary:
    """Sets and builders of the model."""

    problem: Problem
    objective: UnivariateObjective

    @cached_property
    def rows(self) -> MergedRows:
        """I: merged rows."""
        return terminals.all_rows(self.problem)

    @cached_property
    def F(self) -> list[int]:
        """Columns that may be tested."""
        return side.allowed_columns(self.problem)

    @property
    def B(self) -> range:
        """Branch nodes."""
        return topology.branch_nodes(self.problem.depth)

    @property
    def L(self) -> range:
        """Terminal nodes."""
        return topology.terminal_nodes(self.problem.depth)

    @property
    def size(self) -> ModelSize:
        """Estimate from the counts of rows and nodes."""
        n, f, classes = len(self.rows), len(self.F), self.problem.n_classes
        branch, leaves, depth = len(self.B), len(self.L), self.problem.depth
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
        return PyomoModel(
            model,
            read_tree=lambda point: self.read_tree(model, point),
            start_values=lambda tree: self.start_values(model, tree),
        )

    def _variables(self, model: Any) -> None:
        I, K = range(len(self.rows)), range(self.problem.n_classes)
        model.b = pyo.Var(self.B, self.F, domain=pyo.Binary, doc="b_mf: node m tests column f")
        model.d = pyo.Var(self.B, domain=pyo.Binary, doc="d_m: node m splits")
        model.c = pyo.Var(self.L, K, domain=pyo.Binary, doc="c_tk: terminal t predicts k")
        model.z = pyo.Var(I, self.L, domain=pyo.Binary, doc="z_it: row i ends at t")

    def _constraints(self, model: Any, guard: Callable[[], None]) -> None:
        b, d, c, z = model.b, model.d, model.c, model.z
        model.one_column = pyo.Constraint(
            self.B,
            rule=lambda _, m: pyo.quicksum(b[m, f] for f in self.F) - d[m] == 0,
            doc="sum_f b_mf = d_m",
        )
        model.split_below_split = pyo.Constraint(
            [m for m in self.B if m > 1], rule=lambda _, m: d[m] <= d[m // 2], doc="d_m <= d_parent"
        )
        model.one_terminal = pyo.Constraint(
            range(len(self.rows)),
            rule=lambda _, i: (1.0, linear([1.0] * len(self.L), [z[i, t] for t in self.L]), 1.0),
            doc="sum_t z_it = 1",
        )
        model.one_label = pyo.Constraint(
            self.L,
            rule=lambda _, t: pyo.quicksum(c[t, k] for k in range(self.problem.n_classes)) == 1,
            doc="sum_k c_tk = 1",
        )
        if self.problem.params["disaggregated"]:
            self._route_by_feature(model, guard)
        else:
            self._route(model, guard)
        terminals.add_error_rows(model, self.problem, self.rows, z, c)
        side.add_structural_rows(model, self.problem, b, self.F)
        if self.problem.constraints.min_samples_leaf is not None:
            model.l = pyo.Var(self.L, domain=pyo.Binary, doc="l_t: terminal t holds rows")
            terminals.add_leaf_size_rows(model, self.problem, self.rows, z, model.l)
            self._both_sides(model)
        terminals.add_recall_rows(model, self.problem, self.rows, z, c)
        terminals.add_parity_rows(model, self.problem, self.rows, z, c, guard)

    def _both_sides(self, model: Any) -> None:
        """A split needs N_min rows on each side, otherwise a leaf of the tree would be empty."""
        counts, smallest = self.rows.counts, self.problem.constraints.min_samples_leaf

        def held(_, m, s):
            below = topology.terminals_below(2 * m + s, self.problem.depth)
            there = [float(count) * model.z[i, t] for i, count in enumerate(counts) for t in below]
            return pyo.quicksum(there) >= smallest * model.d[m]

        model.split_size = pyo.Constraint(
            self.B, (0, 1), rule=held, doc="both children of a split hold N_min rows"
        )

    def _steps(self) -> list[tuple[int, int, int]]:
        """``(t, m, side)`` for every ancestor m of a terminal t."""
        return [(t, m, child % 2) for t in self.L for m, child in topology.path(t)]

    def _route(self, model: Any, guard: Callable[[], None]) -> None:
        b, z = model.b, model.z
        zeros = [[f for f in self.F if row[f] == 0] for row in self.rows.X]

        def follows(_, i, t, m, s):
            guard()
            left = [b[m, f] for f in zeros[i]]
            if s == 0:
                return None, linear([1.0] + [-1.0] * len(left), [z[i, t], *left]), 0.0
            return None, linear([1.0] * (len(left) + 1), [z[i, t], *left]), 1.0

        model.follows_split = pyo.Constraint(
            range(len(self.rows)),
            self._steps(),
            rule=follows,
            doc="z_it <= sum_{F0_i} b_mf left of m, z_it <= 1 - sum_{F0_i} b_mf right of m",
        )

    def _route_by_feature(self, model: Any, guard: Callable[[], None]) -> None:
        b, d, z = model.b, model.d, model.z

        def follows(_, i, t, m, s, f):
            guard()
            if self.rows.X[i, f] == s:
                return pyo.Constraint.Skip
            return None, linear((1.0, 1.0), (z[i, t], b[m, f])), 1.0

        model.follows_split = pyo.Constraint(
            range(len(self.rows)),
            self._steps(),
            self.F,
            rule=follows,
            doc="(3) z_it <= 1 - b_mf where f sends row i the other way",
        )
        model.right_without_split = pyo.Constraint(
            range(len(self.rows)),
            [(t, m) for t, m, s in self._steps() if s == 0],
            rule=lambda _, i, t, m: (None, linear((1.0, -1.0), (z[i, t], d[m])), 0.0),
            doc="z_it <= d_m left of m: without a split all rows go right",
        )

    def _objective(self, model: Any) -> None:
        price = self.objective.penalty
        model.objective = pyo.Objective(
            expr=-pyo.quicksum(model.error[t] for t in self.L)
            - price * pyo.quicksum(model.d[m] for m in self.B),
            sense=pyo.maximize,
            doc="minus errors, minus the price of the splits, on the scale of counts",
        )

    def read_tree(self, model: Any, point: Point) -> Tree:
        """Read the tree of a solution."""
        b = point.table(model.b, len(self.B), len(self.F))
        c = point.table(model.c, len(self.L), self.problem.n_classes)
        return read_splits(
            lambda m: self.F[int(b[m - 1].argmax())] if b[m - 1].sum() > 0.5 else None,
            lambda m: int(
                c[terminals.rightmost_terminal(m, self.problem.depth) - len(self.L)].argmax()
            ),
            self.problem,
            keep_labels=side.fixes_labels(self.problem),
        )

    def start_values(self, model: Any, tree: Tree) -> list[tuple[Any, np.ndarray]]:
        """Values of all variables for a tree."""
        values = terminals.TerminalValues(tree, self.problem, self.rows)
        b = np.zeros((len(self.B), len(self.F)))
        place = {f: j for j, f in enumerate(self.F)}
        for node, split in tree.splits.items():
            b[node - 1, place[split.features[0]]] = 1.0
        labels = values.c.copy()
        labels[values.used == 0, 0] = 1.0  # every terminal predicts something
        start = [
            (model.b, b),
            (model.d, b.sum(axis=1)),
            (model.c, labels),
            (model.z, values.z),
            *values.of(model, self.problem),
            *side.structural_start_values(model, self.problem, tree, self.F),
        ]
        if hasattr(model, "l"):
            start.append((model.l, values.used))
        return start
