"""FlowOCT: a flow of correctly classified rows through the tree.

Aghaei, Gómez and Vayanos, "Strong Optimal Classification Trees".  A row sends one unit from the
source through the branch nodes to the sink if and only if it is classified correctly.  Equations
(1.1) to (1.9) and (4) are those of its first form, "Learning Optimal Classification Trees: Strong
Max-Flow Formulations", and (3a) to (3d) those of Keegan et al., "Acceleration techniques".

=======  ============================================================================
I        training rows, identical ones merged with weights
F        binary columns that may be tested;  F0_i, F1_i: those where row i is 0, is 1
K        classes
B, L     branch nodes 1 .. 2^D - 1 and terminal nodes 2^D .. 2^(D+1) - 1;  N = B u L
A(m)     proper ancestors of node m
=======  ============================================================================

When leaves are penalised, nodes below a leaf are cut, as there.  With `split_weight` the model is
the first form, with labels everywhere; ours is that nothing splits below a leaf, which a weight of
0 would not charge.  The labels `w` are continuous, since for a fixed structure the best label is a
vertex, unless a side constraint looks at predictions.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import pyomo.environ as pyo

from octcore.formulations.base import STRONG_TREES, FormulationInfo, TeachingText, formulation
from octcore.formulations.shared import constraint_kinds, root_values
from octcore.formulations.shared import side_constraints as side
from octcore.formulations.shared import tree_model as equations
from octcore.formulations.shared.tree_model import MergedRows, TreeSets, linear, merge_rows
from octcore.formulations.shared.univariate import REGULARISERS, UnivariateObjective, read_splits
from octcore.numerics.linear import sparse_rows
from octcore.parameters import Flag
from octcore.program import Cuts, ModelSize, Point, Problem, Program, PyomoModel, SearchState
from octcore.tree import topology
from octcore.tree.tree import Tree
from octcore.warmstart.amending import first_trees

VIOLATION = 1e-4  # smaller violations cost more rows than they gain

INFO = FormulationInfo(
    key="flow-oct",
    place=20,
    rank=4,
    title="FlowOCT",
    summary="Correctly classified rows flow from the root to a leaf; a mixed-integer program finds "
    "the tree with the largest flow. Its relaxation is stronger than those of OCT and BinOCT.",
    reference=STRONG_TREES,
    needs_binary_features=True,
    hyperparameters=(
        *REGULARISERS,
        Flag(
            "class_cuts",
            default=False,
            help="Add violated class inequalities at the root: rows of different classes that a "
            "split sends to one side cannot all be right below the other.",
        ),
        *root_values.STRENGTHENING,
    ),
    constraints=constraint_kinds.ALL,
    has_costs=True,
    equations=(
        (
            r"\max \sum_{i,m} t_{im} / n - \lambda \sum_m p_m",
            "accuracy minus the price of the leaves",
        ),
        (
            r"\sum_f b_{mf} + p_m + \sum_{a \in A(m)} p_a = 1",
            "a node branches, is a leaf, or is cut",
        ),
        (r"z_{im} = z_{i,2m} + z_{i,2m+1} + t_{im}", "flow is conserved"),
        (r"z_{i,2m} \le \sum_{f: x_{if} = 0} b_{mf}", "flow follows the split"),
        (r"t_{im} \le w_{m, y_i}", "flow reaches the sink at a leaf of the right class"),
    ),
    teaching=TeachingText(
        "FlowOCT",
        "Every point is a unit of flow that starts at the root and may reach the sink only through "
        "a leaf of its own class. The splits that let most flow through are the best tree.",
        "Once proven, it is as good as the optimal thresholds; where the time ends first, it may "
        "be worse. The proof comes from a mixed-integer program with a tight relaxation.",
    ),
    good_at="Proves small sets (some hundred rows, depth 2) and shows what a strong relaxation "
    "buys; it grows with rows x nodes and is slow beyond depth 3.",
)


@formulation(INFO)
def build(problem: Problem) -> Program:
    """Make the FlowOCT program of a problem."""
    objective = UnivariateObjective(problem)
    flow = FlowOCT(problem, objective)
    return objective.program(
        size=flow.size,
        build=flow.build,
        scale=flow.scale,
        shift=objective.scale * problem.offset,
        starts=partial(first_trees, problem, objective.penalty),
        bound=objective.ceiling,
        method=root_values.proof_method(problem),
    )


@dataclass(frozen=True, eq=False)
class FlowOCT:
    """Sets and builders of the model."""

    problem: Problem
    objective: UnivariateObjective

    @property
    def has_split_weight(self) -> bool:
        """Whether the paper's own regulariser is used."""
        return self.objective.split_weight is not None

    @property
    def scale(self) -> float:
        """Of the model's objective: it has the paper's own weights with `split_weight`."""
        return 1.0 if self.has_split_weight else 1 / self.objective.problem.total_weight

    @cached_property
    def sets(self) -> TreeSets:
        """I: rows that count in the objective or a recall floor; F: columns that may be tested."""
        problem = self.problem
        counts = problem.weights > 0
        if problem.constraints.min_recall:  # floors count rows, whatever their weight
            counts = np.ones_like(counts)
        rows = merge_rows(problem.X[counts], problem.y[counts], problem.weights[counts])
        return TreeSets(rows, side.allowed_columns(problem), problem.depth, problem.n_classes)

    @property
    def size(self) -> ModelSize:
        """Estimate from the counts of rows and nodes."""
        sets = self.sets
        n, f = len(sets.I), len(sets.columns)
        branch, nodes, classes = len(sets.B), len(sets.N), len(sets.K)
        rows, columns, nonzeros = side.routing_size(self.problem)
        nonzeros += n * (branch * (f + 4) + 4 * nodes) + branch * f
        return ModelSize(
            rows=rows + n * (2 * nodes + 2 * branch) + 3 * nodes,
            columns=columns + branch * f + nodes * (classes + 1) + 2 * n * nodes,
            binaries=branch * f + nodes,
            nonzeros=nonzeros + nodes * (classes + self.problem.depth),
        )

    def build(self, guard: Callable[[], None]) -> PyomoModel:
        """Build variables, numbered equations and the objective."""
        searched = None
        if root_values.is_wanted(self.problem):
            searched = root_values.RootValues(self.problem, self.objective, guard)
        model: Any = pyo.ConcreteModel("FlowOCT")
        self._variables(model)
        guard()
        routing = self._constraints(model, guard)
        self._objective(model)
        if searched is not None:
            value = self.scale * model.objective.expr + self.objective.scale * self.problem.offset
            searched.strengthen(model, model.b, self.sets.columns, value)
        cuts = ClassCuts(model, self.sets.rows, self.sets.columns, self.problem.depth)
        return PyomoModel(
            model,
            partial(self.read_tree, model),
            partial(self.start_values, model, routing),
            separators=(cuts,) if self.problem.params["class_cuts"] else (),
            starts=() if searched is None else searched.starts,
            values={} if searched is None else searched.record,
        )

    def _variables(self, model: Any) -> None:
        labels = pyo.Binary if constraint_kinds.fixes_labels(self.problem) else pyo.UnitInterval
        I, N, F = self.sets.I, self.sets.N, self.sets.columns
        model.b = pyo.Var(self.sets.B, F, domain=pyo.Binary, doc="b_mf: node m tests column f")
        model.w = pyo.Var(N, self.sets.K, domain=labels, doc="w_mk: node m predicts class k")
        if self.has_split_weight:
            model.p = pyo.Expression(N, rule=self._leaf_indicator, doc="p_m: node m is a leaf")
        else:
            model.p = pyo.Var(N, domain=pyo.Binary, doc="p_m: node m is a leaf")
        model.z = pyo.Var(I, N, domain=pyo.UnitInterval, doc="z_im: flow into node m")
        model.t = pyo.Var(I, N, domain=pyo.UnitInterval, doc="t_im: flow from m to the sink")

    def _leaf_indicator(self, model: Any, m: int) -> Any:
        F = self.sets.columns
        here = pyo.quicksum(model.b[m, f] for f in F) if m in self.sets.B else 0.0
        return (1.0 if m == 1 else pyo.quicksum(model.b[m // 2, f] for f in F)) - here

    def _constraints(self, model: Any, guard: Callable[[], None]) -> side.FullRouting | None:
        if self.has_split_weight:
            self._labels_everywhere(model)
        else:
            self._one_leaf_per_path(model)
        self._flow(model, guard)
        side.add_structural_rows(model, self.problem, model.b, self.sets.columns)
        self._recall(model)
        if not constraint_kinds.needs_routing(self.problem):
            return None
        return side.FullRouting(
            model, self.problem, model.b, model.w, model.p, self.sets.columns, guard
        )

    def _labels_everywhere(self, model: Any) -> None:
        b, w, sets = model.b, model.w, self.sets
        F, K = sets.columns, sets.K

        @model.Constraint(sets.B, doc="(1.2) a branch node tests one column or predicts one class")
        def branch_or_label(_, m):
            return pyo.quicksum(b[m, f] for f in F) + pyo.quicksum(w[m, k] for k in K) == 1

        equations.add_one_label(model, sets, w, doc="(1.3) a terminal node predicts one class")

        @model.Constraint(sets.B[1:] if F else [], doc="no split below a leaf")
        def split_below_split(_, m):
            return pyo.quicksum(b[m, f] for f in F) <= pyo.quicksum(b[m // 2, f] for f in F)

    def _one_leaf_per_path(self, model: Any) -> None:
        b, p, w, sets = model.b, model.p, model.w, self.sets
        doc = "(3b) a branch node tests one column, is a leaf, or lies below a leaf"

        @model.Constraint(sets.B, doc=doc)
        def branch_leaf_or_cut(_, m):
            tests = pyo.quicksum(b[m, f] for f in sets.columns)
            return tests + p[m] + pyo.quicksum(p[a] for a in topology.ancestors(m)) == 1

        model.one_leaf_per_path = pyo.Constraint(
            sets.L,
            rule=lambda _, m: p[m] + pyo.quicksum(p[a] for a in topology.ancestors(m)) == 1,
            doc="(3d) one leaf on every path from the root to a terminal node",
        )

        @model.Constraint(sets.N, doc="(3c) a leaf predicts one class, other nodes none")
        def leaf_label(_, m):
            return pyo.quicksum(w[m, k] for k in sets.K) == p[m]

    def _flow(self, model: Any, guard: Callable[[], None]) -> None:
        b, w, z, t = model.b, model.w, model.z, model.t
        I, B, L, N, F = self.sets.I, self.sets.B, self.sets.L, self.sets.N, self.sets.columns
        X, y = self.sets.rows.X, self.sets.rows.y.tolist()
        sides = [[[f for f in F if row[f] == s] for s in (0, 1)] for row in X]
        minus = [[1.0] + [-1.0] * count for count in range(len(F) + 1)]

        @model.Constraint(I, N, doc="(1.4), (1.5) z_im = z_i,2m + z_i,2m+1 + t_im")
        def flow_conservation(_, i, m):
            if m == 1:
                guard()
            if m in L:
                return 0.0, linear((1.0, -1.0), (z[i, m], t[i, m])), 0.0
            out = (z[i, m], z[i, 2 * m], z[i, 2 * m + 1], t[i, m])
            return 0.0, linear((1.0, -1.0, -1.0, -1.0), out), 0.0

        @model.Constraint(I, B, (0, 1), doc="(1.7), (1.8) flow follows the split")
        def flow_direction(_, i, m, s):
            if m == 1:
                guard()
            there = sides[i][s]
            arcs = [z[i, 2 * m + s], *(b[m, f] for f in there)]
            return None, linear(minus[len(there)], arcs), 0.0

        @model.Constraint(
            I, N, doc="(1.9) t_im <= w_m,y_i: flow leaves at a leaf of the right class"
        )
        def flow_label(_, i, m):
            return None, linear((1.0, -1.0), (t[i, m], w[m, y[i]])), 0.0

    def _recall(self, model: Any) -> None:
        rows, N = self.sets.rows, self.sets.N
        floors = constraint_kinds.recall_floors(self.problem)

        @model.Constraint(list(floors), doc="rows of class k that must be classified correctly")
        def recall(_, k):
            of_class = np.flatnonzero(rows.y == k)
            if not len(of_class):
                return pyo.Constraint.Skip
            flow = pyo.quicksum(float(rows.counts[i]) * model.t[i, m] for i in of_class for m in N)
            return flow >= floors[k]

    def _objective(self, model: Any) -> None:
        weights, N = self.sets.rows.weights.tolist(), self.sets.N
        right = [(v, model.t[i, m]) for i, v in enumerate(weights) for m in N]
        if self.has_split_weight:
            share = self.objective.split_weight or 0.0
            price = [(-share, model.b[m, f]) for m in self.sets.B for f in self.sets.columns]
            right = [((1 - share) * v, variable) for v, variable in right]
            doc = "(1.1) weighted number of correct rows minus weighted number of splits"
        else:
            price = [(-self.objective.penalty, model.p[m]) for m in N]
            doc = "(3a) correct rows minus the price of the leaves, on the scale of counts"
        coefficients, variables = zip(*right, *price, strict=True) if right or price else ((), ())
        model.objective = pyo.Objective(
            expr=linear(coefficients, variables), sense=pyo.maximize, doc=doc
        )

    def read_tree(self, model: Any, point: Point) -> Tree:
        """Read the tree of a solution; labels are the majority unless a constraint fixes them."""
        sets = self.sets
        tested = sets.tested_columns(point.table(model.b, len(sets.B), len(sets.columns)))
        w = point.table(model.w, len(sets.N), len(sets.K))
        return read_splits(tested.get, lambda m: int(w[m - 1].argmax()), self.problem)

    def start_values(
        self, model: Any, routing: side.FullRouting | None, tree: Tree
    ) -> list[tuple[Any, np.ndarray]]:
        """Values of all variables for a tree."""
        sets = self.sets
        n, nodes = len(sets.I), len(sets.N)
        p, w = np.zeros(nodes), np.zeros((nodes, len(sets.K)))
        z, t = np.zeros((n, nodes)), np.zeros((n, nodes))
        for leaf, label in tree.labels.items():
            p[leaf - 1] = 1.0
            w[leaf - 1, label] = 1.0
        if self.has_split_weight:
            for node in sets.N:
                above = [a for a in topology.ancestors(node) if a in tree.labels]
                if above:
                    w[node - 1, tree.labels[above[0]]] = 1.0
        right = tree.predict_codes(sets.rows.X) == sets.rows.y
        for node, rows in tree.node_rows(sets.rows.X).items():
            z[rows, node - 1] = right[rows]
            if node in tree.labels:
                t[rows, node - 1] = right[rows]
        values: list[tuple[Any, np.ndarray]] = []
        values += [(model.b, sets.tests_of(tree)), (model.w, w), (model.z, z), (model.t, t)]
        if not self.has_split_weight:
            values.append((model.p, p))
        values += side.structural_start_values(model, self.problem, tree)
        return values + ([] if routing is None else routing.start_values(tree))


class ClassCuts:
    """Separates inequality (4) of the paper exactly: one leaf is right for one class only.

    For a branch node m whose children are terminal, a column f and rows H of pairwise different
    classes that all have ``x_f = 1``::

        sum_{i in H} z[i, 2m] <= 1 - b[m, f]

    If m tests f, the rows of H go right; otherwise those of H that arrive at 2m share its one
    label.  The mirror image takes ``x_f = 0`` and the child 2m + 1.

    `model`: holds ``b[m, f]`` and ``z[i, m]``, indices in order.
    """

    kind = "class"

    def __init__(self, model: Any, rows: MergedRows, columns: list[int], depth: int) -> None:
        self._model, self._rows, self._depth = model, rows, depth
        self._X = rows.X[:, columns].astype(bool)
        self._classes = [np.flatnonzero(rows.y == k) for k in np.unique(rows.y)]

    def separate(self, point: Point, state: SearchState) -> list[Cuts]:
        """Return the most violated inequality for every (node, side, column)."""
        b_columns = point.columns.of(self._model.b).reshape(2**self._depth - 1, -1)
        z_columns = point.columns.of(self._model.z).reshape(len(self._rows), -1)
        b = point.array(self._model.b).reshape(b_columns.shape)
        z = point.array(self._model.z).reshape(z_columns.shape)
        found: list[np.ndarray] = []
        for m in range(2 ** (self._depth - 1), 2**self._depth):
            for child, there in ((2 * m, self._X), (2 * m + 1, ~self._X)):
                best, flow = self._best_rows(z[:, child - 1], there)
                for f in np.flatnonzero(flow > 1 - b[m - 1] + VIOLATION):
                    members = best[:, f][best[:, f] >= 0]
                    found.append(np.append(z_columns[members, child - 1], b_columns[m - 1, f]))
        if not found:
            return []
        return [Cuts(self.kind, sparse_rows(found, point.columns.n_columns), np.ones(len(found)))]

    def _best_rows(self, z: np.ndarray, there: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Row of the largest flow per (class, column), -1 if it has none; and the sum of flows."""
        best = np.full((len(self._classes), there.shape[1]), -1)
        flow = np.zeros(there.shape[1])
        for k, members in enumerate(self._classes):
            inflow = np.where(there[members], z[members, None], 0.0)
            place = inflow.argmax(axis=0)
            largest = inflow[place, np.arange(inflow.shape[1])]
            best[k] = np.where(largest > 0, members[place], -1)
            flow += largest
        return best, flow
