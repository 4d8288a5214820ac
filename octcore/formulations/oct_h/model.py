"""The mixed-integer program of OCT-H."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyomo.environ as pyo

from octcore.formulations.oct_h.trees import OCTHTrees
from octcore.formulations.shared import terminals
from octcore.formulations.shared import tree_equations as equations
from octcore.formulations.shared.rows import linear
from octcore.formulations.shared.shattering_switch import shattering_at_leaves
from octcore.formulations.shared.tree_sets import TreeSets
from octcore.program import ModelSize, Point, Problem, PyomoModel
from octcore.tree import topology
from octcore.tree.tree import Tree


@dataclass(frozen=True, eq=False)
class OCTHModel:
    """Builders of the model; it counts errors (objective times L-hat)."""

    judge: OCTHTrees

    @property
    def problem(self) -> Problem:
        """The problem, with its smallest leaf filled in."""
        return self.judge.problem

    @property
    def sets(self) -> TreeSets:
        """I, K, B, L, and the columns J."""
        return self.judge.sets

    @property
    def size(self) -> ModelSize:
        """Estimate from the counts of rows and nodes."""
        sets = self.sets
        n, columns, classes = len(sets.I), len(sets.columns), len(sets.K)
        branch, leaves = len(sets.B), len(sets.L)
        routing = 2 * branch * n
        return ModelSize(
            rows=routing + n * (leaves + 1) + branch * (4 * columns + 5) + leaves * (classes + 2),
            columns=n * leaves + branch * (3 * columns + 2) + leaves * (classes + 2),
            binaries=n * leaves + branch * (columns + 1) + leaves * (classes + 1),
            nonzeros=routing * (columns + 1)
            + n * leaves * (self.problem.depth + classes + 3)
            + branch * columns * 10,
        )

    def build(self, guard: Callable[[], None]) -> PyomoModel:
        """Build variables, equations and the objective."""
        sets = self.sets
        model: Any = pyo.ConcreteModel("OCT-H")
        self._variables(model)
        self._planes(model)
        self._structure(model)
        self._routing(model, guard)
        terminals.add_leaf_size_rows(model, self.problem, sets.rows, model.z, model.l)
        terminals.add_error_rows(model, self.problem, sets.rows, model.z, model.c)
        price = self.judge.price
        model.objective = pyo.Objective(
            expr=pyo.quicksum(model.error[t] for t in sets.L)
            + price * pyo.quicksum(model.s[m, j] for m in sets.B for j in sets.columns),
            sense=pyo.minimize,
            doc="errors + price of the features, times L-hat",
        )
        separators: tuple[Any, ...] = ()
        if self.problem.params["shattering_cuts"]:
            X, epsilon = sets.rows.X[:, sets.columns], self.judge.epsilon
            cut = shattering_at_leaves(X, model.z, self.problem.depth, epsilon)
            separators = (cut,)
        return PyomoModel(
            model,
            partial(self.read_tree, model),
            partial(self.start_values, model),
            separators=separators,
        )

    def _variables(self, model: Any) -> None:
        sets = self.sets
        I, K, B, L, J = sets.I, sets.K, sets.B, sets.L, sets.columns
        model.a = pyo.Var(B, J, bounds=(-1, 1), doc="a_mj: weight of column j at node m")
        model.size = pyo.Var(B, J, bounds=(0, 1), doc="|a_mj|")
        model.b = pyo.Var(B, bounds=(-self.judge.reach, self.judge.reach), doc="b_m: threshold")
        model.s = pyo.Var(B, J, domain=pyo.Binary, doc="s_mj: node m uses column j")
        model.d = pyo.Var(B, domain=pyo.Binary, doc="d_m: node m splits")
        model.l = pyo.Var(L, domain=pyo.Binary, doc="l_t: terminal t holds rows")
        model.c = pyo.Var(L, K, domain=pyo.Binary, doc="c_tk: terminal t predicts k")
        model.z = pyo.Var(I, L, domain=pyo.Binary, doc="z_it: row i ends at t")

    def _planes(self, model: Any) -> None:
        a, size, b, s, d = model.a, model.size, model.b, model.s, model.d
        B, J = self.sets.B, self.sets.columns
        model.norm = pyo.Constraint(
            B,
            rule=lambda _, m: pyo.quicksum(size[m, j] for j in J) <= d[m],
            doc="sum_j |a_mj| <= d_m",
        )
        docs = "|a_mj| >= a_mj", "|a_mj| >= -a_mj"
        equations.add_within(model, "size", a, lambda m, j: size[m, j], docs)
        model.use = pyo.Constraint(
            B, J, rule=lambda _, m, j: size[m, j] <= s[m, j], doc="|a_mj| <= s_mj"
        )
        model.use_of_split = pyo.Constraint(
            B, J, rule=lambda _, m, j: s[m, j] <= d[m], doc="s_mj <= d_m"
        )
        model.split_uses = pyo.Constraint(
            B,
            rule=lambda _, m: pyo.quicksum(s[m, j] for j in J) >= d[m],
            doc="sum_j s_mj >= d_m",
        )
        docs = "b_m <= d_m", "b_m >= -d_m"
        equations.add_within(model, "threshold", b, lambda m: self.judge.reach * d[m], docs)

    def _structure(self, model: Any) -> None:
        d, sets = model.d, self.sets
        equations.add_split_below_split(model, sets, d, doc="d_m <= d_parent")
        equations.add_one_terminal(model, sets, model.z, doc="sum_t z_it = 1")
        equations.add_one_label(model, sets, model.c, doc="sum_k c_tk = l_t", used=model.l)
        limit = self.problem.constraints.leaf_limit
        if limit is not None:
            model.leaf_limit = pyo.Constraint(
                expr=pyo.quicksum(d[m] for m in self.sets.B) <= limit - 1,
                doc="leaves <= limit, since leaves = splits + 1",
            )

    def _routing(self, model: Any, guard: Callable[[], None]) -> None:
        sets = self.sets
        X, mu, depth = sets.rows.X[:, sets.columns], self.judge.epsilon, sets.depth
        big_m = np.abs(X).max(axis=1, initial=0.0) + self.judge.reach

        def terms(i: int, m: int, child: int) -> tuple[list[float], list[Any], list[Any]]:
            guard()
            used = np.flatnonzero(X[i])
            below = [model.z[i, t] for t in topology.terminals_below(child, depth)]
            values = [*(float(v) for v in X[i][used]), -1.0]
            return values, [*(model.a[m, sets.columns[j]] for j in used), model.b[m]], below

        def left(_: Any, i: int, m: int) -> Any:
            values, variables, below = terms(i, m, 2 * m)
            slack = float(big_m[i]) + mu
            values = [*values, *[slack] * len(below)]
            return None, linear(values, [*variables, *below]), slack - mu

        def right(_: Any, i: int, m: int) -> Any:
            values, variables, below = terms(i, m, 2 * m + 1)
            slack = float(big_m[i])
            return -slack, linear([*values, *[-slack] * len(below)], [*variables, *below]), None

        model.go_left = pyo.Constraint(
            sets.I, sets.B, rule=left, doc="a_m.x_i + mu <= b_m + (M_i + mu)(1 - sum_t z_it)"
        )
        model.go_right = pyo.Constraint(
            sets.I, sets.B, rule=right, doc="a_m.x_i >= b_m - M_i (1 - sum_t z_it)"
        )

    # --- reading and starting --------------------------------------------------------------

    def read_tree(self, model: Any, point: Point) -> Tree:
        """Read the planes; every one moves to the middle of its strip."""
        sets = self.sets
        problem, n = self.problem, len(sets.columns)
        a = point.table(model.a, len(sets.B), n)
        s = point.table(model.s, len(sets.B), n)
        b, d = point.array(model.b), point.array(model.d)
        planes = {}
        for m in sets.B:
            weights = np.zeros(problem.n_features)
            weights[sets.columns] = np.where(s[m - 1] > 0.5, a[m - 1], 0.0)
            if d[m - 1] > 0.5:  # without weights too: such a plane sends all rows to one side
                planes[m] = (weights, float(-b[m - 1] + self.judge.epsilon / 2))
            else:
                planes[m] = (np.zeros(problem.n_features), 1.0)
        return self.judge.tree(planes, sets.L)

    def start_values(self, model: Any, tree: Tree) -> list[tuple[Any, np.ndarray]]:
        """Values of all variables for a tree."""
        sets = self.sets
        values = terminals.TerminalValues(tree, self.problem, sets)
        a, b = np.zeros((len(sets.B), len(sets.columns))), np.zeros(len(sets.B))
        d = np.zeros(len(sets.B))
        visited = tree.node_rows(sets.rows.X)
        for node, split in tree.splits.items():
            weights = split.dense(self.problem.n_features)
            size = float(np.abs(weights).sum())
            scores = split.project(sets.rows.X[visited[node]]) / size
            right = scores > split.threshold / size
            a[node - 1], d[node - 1] = weights[sets.columns] / size, 1.0
            b[node - 1] = scores[right].min() if right.any() else scores.max() + self.judge.epsilon
        return [
            (model.a, a),
            (model.size, np.abs(a)),
            (model.b, b),
            (model.s, (a != 0).astype(np.float64)),
            (model.d, d),
            (model.l, values.held),
            (model.c, values.c),
            (model.z, values.z),
            *values.of(model),
        ]
