"""OCT-H: optimal classification trees with hyperplanes (Bertsimas and Dunn).

=======  ============================================================================
I        training rows, identical ones merged with weights; columns scaled to [0, 1]
J        columns that take two values at least
K        classes
B, L     branch nodes 1 .. 2^D - 1 and terminal nodes 2^D .. 2^(D+1) - 1
a, b     hyperplane of a node, ``||a||_1 <= 1``: left when a.x + mu <= b, right when a.x >= b
s, d     node uses a column; node splits (without a split all rows go right)
=======  ============================================================================

The full text of the paper was not at hand; the model is restated from re-implementations.  What
differs: a routing row stands once per row, node and side, summed over the terminals below, which
is tighter and shorter than once per terminal; and the big-M of a row is ``max_j |x_ij| + max |b|``
instead of 2 (S-OCT's tightening).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyomo.environ as pyo

from octcore.constraints import Constraints, violations
from octcore.formulations.base import FormulationInfo, Reference, formulation
from octcore.formulations.components import side_constraints as side
from octcore.formulations.components import terminals
from octcore.formulations.components.fixed_routing import fewest_features, plane_starts
from octcore.formulations.components.rows import MergedRows, linear
from octcore.formulations.components.univariate import (
    drop_idle_splits,
    smallest_step,
    weight_unit,
)
from octcore.parameters import FloatRange
from octcore.program import Capability, ModelSize, Point, Problem, Program, PyomoModel, Sense
from octcore.tree import metrics, topology
from octcore.tree.planes import drop_pass_through, tree_from_planes
from octcore.tree.tree import Tree
from octcore.warmstart.greedy import greedy_starts
from octcore.warmstart.points import count_classes, node_gaps, tree_leaves
from octcore.warmstart.svm_tree import TreeGoal, TreeSearch

GAP_SLACK = 1e-3
"""Relative: a solver keeps the strip of width mu only up to its feasibility tolerance."""
LEAF_SHARE = 0.05
"""Smallest leaf when none is asked for: the share of the rows used in the comparisons."""
POLISH_SECONDS = 0.5
"""Time to improve one tree of the solver by re-assigning rows."""

INFO = FormulationInfo(
    key="oct-h",
    title="OCT-H",
    summary="Optimal trees whose splits are hyperplanes; every feature that a hyperplane uses has "
    "a price, so that planes stay readable.",
    reference=Reference(
        "Bertsimas, D., Dunn, J.",
        2017,
        "Optimal classification trees",
        "Machine Learning 106, 1039-1082",
        "10.1007/s10994-017-5633-9",
    ),
    split_kind="oblique",
    needs_binary_features=False,
    default_encoding="scaled",
    hyperparameters=(
        FloatRange(
            "alpha",
            2.0**-6,
            r"\alpha",
            "Price of a feature in a split, in units of the majority rule's errors; 0 leaves "
            "accuracy alone.",
            low=0.0,
            high=100.0,
        ),
        FloatRange(
            "epsilon",
            0.005,
            r"\mu",
            "Width of the empty strip at every split, for weights of 1-norm 1.",
            low=1e-4,
            high=1.0,
            advanced=True,
        ),
    ),
    constraints=frozenset(
        {"min_samples_leaf", "max_leaves", "max_splits", "forbidden_features", "class_weight"}
    ),
    engines=("highs", "scip", "gurobi"),
    sense="min",
    objective="errors / errors of the majority rule + alpha x features in splits",
    max_depth=6,
    equations=(
        (r"\min \sum_t L_t / \hat L + \alpha \sum_t \sum_j s_{tj}", "errors and used features"),
        (
            r"a_m^\top x_i + \mu \le b_m + (M_i + \mu)\bigl(1 - \textstyle\sum_t z_{it}\bigr)",
            "rows at terminals left of m lie below its strip",
        ),
        (
            r"a_m^\top x_i \ge b_m - M_i \bigl(1 - \textstyle\sum_t z_{it}\bigr)",
            "rows at terminals right of m lie above it",
        ),
        (
            r"\sum_j |a_{mj}| \le d_m,\quad |a_{mj}| \le s_{mj} \le d_m",
            "planes have 1-norm 1 at most and pay for the features that they use",
        ),
        (r"\sum_i z_{it} \ge N_{\min} l_t", "open leaves hold enough rows"),
    ),
    good_at="Shows how few features an oblique split needs; the big-M rows are weak, so proofs "
    "stay with small data.",
)


@formulation(INFO)
def build(problem: Problem) -> Program:
    """Make the OCT-H program of a problem."""
    model = OCTH(with_leaf_size(problem))
    problem = model.problem
    unit = weight_unit(problem.weights) / model.majority_errors
    most = len(model.J) * len(model.B)
    least = problem.weights.sum() * (
        1 - metrics.accuracy_ceiling(problem.X, problem.y, problem.weights)
    )
    return Program(
        sense=Sense.MINIMISE,
        capabilities=(Capability.LINEAR,),
        n_features=problem.n_features,
        n_classes=problem.n_classes,
        evaluate=model.evaluate,
        size=model.size,
        build=model.build,
        scale=1 / model.majority_errors,
        granularity=smallest_step(unit, [model.alpha * k for k in range(most + 1)]),
        starts=model.starts,
        improve=model.improve,
        bound=float(least) / model.majority_errors,
        claims=(
            f"every split leaves a strip of width {model.epsilon:g} empty (weights of 1-norm 1): "
            "epsilon-feasible trees only",
            f"leaves of {problem.constraints.min_samples_leaf} rows at least",
        ),
    )


def with_leaf_size(problem: Problem) -> Problem:
    """Fill in the published smallest leaf, 5 % of the rows, where none was asked for."""
    if problem.constraints.min_samples_leaf is not None:
        return problem
    least = max(1, int(LEAF_SHARE * problem.n_samples))
    asked: Constraints = replace(problem.constraints, min_samples_leaf=least)
    return replace(problem, constraints=asked)


@dataclass(frozen=True, eq=False)
class OCTH:
    """Sets and builders of the model; the model counts errors (objective times L-hat)."""

    problem: Problem

    @property
    def alpha(self) -> float:
        """Price of a feature in a split."""
        return float(self.problem.params["alpha"])

    @property
    def epsilon(self) -> float:
        """mu, the width of the strip."""
        return float(self.problem.params["epsilon"])

    @cached_property
    def rows(self) -> MergedRows:
        """I: merged rows."""
        rows = terminals.all_rows(self.problem)
        return replace(rows, X=np.asarray(rows.X, dtype=np.float64))

    @cached_property
    def J(self) -> list[int]:
        """Columns that may be tested and take two values at least."""
        X = self.problem.X
        return [j for j in side.allowed_columns(self.problem) if np.ptp(X[:, j]) > 0]

    @cached_property
    def X(self) -> np.ndarray:
        """All rows as numbers; columns that may not be used are zero."""
        X = np.zeros(self.problem.X.shape)
        X[:, self.J] = self.problem.X[:, self.J]
        return X

    @cached_property
    def majority_errors(self) -> float:
        """L-hat: weight that the majority rule gets wrong; 1 if there is none."""
        shares = np.bincount(self.problem.y, self.problem.weights, self.problem.n_classes)
        wrong = float(shares.sum() - shares.max())
        return wrong if wrong > 0 else 1.0

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
        n, columns, classes = len(self.rows), len(self.J), self.problem.n_classes
        branch, leaves = len(self.B), len(self.L)
        routing = 2 * branch * n
        return ModelSize(
            rows=routing + n * (leaves + 1) + branch * (4 * columns + 5) + leaves * (classes + 2),
            columns=n * leaves + branch * (3 * columns + 2) + leaves * (classes + 2),
            binaries=n * leaves + branch * (columns + 1) + leaves * (classes + 1),
            nonzeros=routing * (columns + 1)
            + n * leaves * (self.problem.depth + classes + 3)
            + branch * columns * 10,
        )

    # --- judging and improving trees -------------------------------------------------------

    def evaluate(self, tree: Tree) -> float | None:
        """Objective by routing; None for a tree outside the model."""
        problem = self.problem
        if tree.max_depth > problem.depth:
            return None
        if violations(problem.constraints, tree, problem.context):
            return None
        gaps = node_gaps(tree, self.X)
        if any(gap < self.epsilon * (1 - GAP_SLACK) for gap in gaps.values()):
            return None
        wrong = float(problem.weights[tree.predict_codes(problem.X) != problem.y].sum())
        features = sum(len(split.weights) for split in tree.splits.values())
        return wrong / self.majority_errors + self.alpha * features

    @cached_property
    def goal(self) -> TreeGoal:
        """What the search for starting trees maximises; a split costs one feature at least."""
        problem = self.problem
        limit = problem.constraints.leaf_limit
        return TreeGoal(
            count_classes(self.X, problem.y, problem.weights, problem.n_classes),
            problem.depth,
            epsilon=self.epsilon,
            split_price=self.alpha * self.majority_errors,
            max_splits=None if limit is None else limit - 1,
            seed=problem.seed,
        )

    def starts(self) -> Iterator[tuple[str, Tree]]:
        """Yield CART trees, then oblique trees on fewer and on more features, made sparse."""
        price = self.alpha * self.majority_errors
        yield from greedy_starts(self.problem, price)
        for source, tree in plane_starts(self.goal, self.J, sparse=self.alpha > 0):
            yield source, self.sparse(tree)

    def sparse(self, tree: Tree) -> Tree:
        """Fixed routing: give every split the fewest features that keep its strip."""
        tree = drop_idle_splits(tree, self.problem)
        if self.alpha == 0:
            return tree
        return fewest_features(tree, self.X, self.epsilon)

    def improve(self, tree: Tree) -> Tree:
        """Polish a tree: fewest features, alternated with re-assigning rows to leaves."""
        candidates = [self.sparse(tree)]
        search = TreeSearch(self.goal)
        leaf = tree_leaves(tree, self.goal.points.X, self.problem.depth)
        if search.improve(leaf, time.perf_counter() + POLISH_SECONDS):
            candidates.append(self.sparse(search.best_tree()))
        values = [self.evaluate(candidate) for candidate in candidates]
        known = [k for k, value in enumerate(values) if value is not None]
        return candidates[min(known, key=lambda k: values[k] or 0.0)] if known else tree

    # --- the model -------------------------------------------------------------------------

    def build(self, guard: Callable[[], None]) -> PyomoModel:
        """Build variables, equations and the objective."""
        model: Any = pyo.ConcreteModel("OCT-H")
        self._variables(model)
        self._planes(model)
        self._structure(model)
        self._routing(model, guard)
        terminals.add_leaf_size_rows(model, self.problem, self.rows, model.z, model.l)
        terminals.add_error_rows(model, self.problem, self.rows, model.z, model.c)
        price = self.alpha * self.majority_errors
        model.objective = pyo.Objective(
            expr=pyo.quicksum(model.error[t] for t in self.L)
            + price * pyo.quicksum(model.s[m, j] for m in self.B for j in self.J),
            sense=pyo.minimize,
            doc="errors + price of the features, times L-hat",
        )
        return PyomoModel(
            model,
            read_tree=lambda point: self.read_tree(model, point),
            start_values=lambda tree: self.start_values(model, tree),
        )

    @cached_property
    def reach(self) -> float:
        """Largest |b| that is ever needed: ``|a.x| <= max |x|`` for weights of 1-norm 1."""
        return max(1.0, float(np.abs(self.X).max(initial=0.0)))

    def _variables(self, model: Any) -> None:
        B, L, J = self.B, self.L, self.J
        K, I = range(self.problem.n_classes), range(len(self.rows))
        model.a = pyo.Var(B, J, bounds=(-1, 1), doc="a_mj: weight of column j at node m")
        model.size = pyo.Var(B, J, bounds=(0, 1), doc="|a_mj|")
        model.b = pyo.Var(B, bounds=(-self.reach, self.reach), doc="b_m: threshold")
        model.s = pyo.Var(B, J, domain=pyo.Binary, doc="s_mj: node m uses column j")
        model.d = pyo.Var(B, domain=pyo.Binary, doc="d_m: node m splits")
        model.l = pyo.Var(L, domain=pyo.Binary, doc="l_t: terminal t holds rows")
        model.c = pyo.Var(L, K, domain=pyo.Binary, doc="c_tk: terminal t predicts k")
        model.z = pyo.Var(I, L, domain=pyo.Binary, doc="z_it: row i ends at t")

    def _planes(self, model: Any) -> None:
        a, size, b, s, d = model.a, model.size, model.b, model.s, model.d
        B, J = self.B, self.J
        model.norm = pyo.Constraint(
            B,
            rule=lambda _, m: pyo.quicksum(size[m, j] for j in J) <= d[m],
            doc="(H5) sum_j |a_mj| <= d_m",
        )
        model.size_above = pyo.Constraint(
            B, J, rule=lambda _, m, j: size[m, j] >= a[m, j], doc="(H5) |a_mj| >= a_mj"
        )
        model.size_below = pyo.Constraint(
            B, J, rule=lambda _, m, j: size[m, j] >= -a[m, j], doc="(H5) |a_mj| >= -a_mj"
        )
        model.use = pyo.Constraint(
            B, J, rule=lambda _, m, j: size[m, j] <= s[m, j], doc="(H5) |a_mj| <= s_mj"
        )
        model.use_of_split = pyo.Constraint(
            B, J, rule=lambda _, m, j: s[m, j] <= d[m], doc="(H5) s_mj <= d_m"
        )
        model.split_uses = pyo.Constraint(
            B,
            rule=lambda _, m: pyo.quicksum(s[m, j] for j in J) >= d[m],
            doc="(H5) sum_j s_mj >= d_m",
        )
        model.threshold_above = pyo.Constraint(
            B, rule=lambda _, m: b[m] <= self.reach * d[m], doc="(H5) b_m <= d_m"
        )
        model.threshold_below = pyo.Constraint(
            B, rule=lambda _, m: b[m] >= -self.reach * d[m], doc="(H5) b_m >= -d_m"
        )

    def _structure(self, model: Any) -> None:
        d, z, c = model.d, model.z, model.c
        model.split_below_split = pyo.Constraint(
            [m for m in self.B if m > 1],
            rule=lambda _, m: d[m] <= d[m // 2],
            doc="(H6) d_m <= d_parent",
        )
        model.one_terminal = pyo.Constraint(
            range(len(self.rows)),
            rule=lambda _, i: (1.0, linear([1.0] * len(self.L), [z[i, t] for t in self.L]), 1.0),
            doc="(H3) sum_t z_it = 1",
        )
        model.one_label = pyo.Constraint(
            self.L,
            rule=lambda _, t: (
                pyo.quicksum(c[t, k] for k in range(self.problem.n_classes)) == model.l[t]
            ),
            doc="(H2) sum_k c_tk = l_t",
        )
        limit = self.problem.constraints.leaf_limit
        if limit is not None:
            model.leaf_limit = pyo.Constraint(
                expr=pyo.quicksum(d[m] for m in self.B) <= limit - 1,
                doc="leaves <= limit, since leaves = splits + 1",
            )

    def _routing(self, model: Any, guard: Callable[[], None]) -> None:
        X, mu, depth = self.rows.X[:, self.J], self.epsilon, self.problem.depth
        big_m = np.abs(X).max(axis=1, initial=0.0) + self.reach

        def terms(i: int, m: int, child: int) -> tuple[list[float], list[Any], list[Any]]:
            guard()
            used = np.flatnonzero(X[i])
            below = [model.z[i, t] for t in topology.terminals_below(child, depth)]
            values = [*(float(v) for v in X[i][used]), -1.0]
            return values, [*(model.a[m, self.J[j]] for j in used), model.b[m]], below

        def left(_: Any, i: int, m: int) -> Any:
            values, variables, below = terms(i, m, 2 * m)
            slack = float(big_m[i]) + mu
            values = [*values, *[slack] * len(below)]
            return None, linear(values, [*variables, *below]), slack - mu

        def right(_: Any, i: int, m: int) -> Any:
            values, variables, below = terms(i, m, 2 * m + 1)
            slack = float(big_m[i])
            return -slack, linear([*values, *[-slack] * len(below)], [*variables, *below]), None

        I = range(len(self.rows))
        model.go_left = pyo.Constraint(
            I, self.B, rule=left, doc="(H4) a_m.x_i + mu <= b_m + (M_i + mu)(1 - sum_t z_it)"
        )
        model.go_right = pyo.Constraint(
            I, self.B, rule=right, doc="(H4) a_m.x_i >= b_m - M_i (1 - sum_t z_it)"
        )

    # --- reading and starting --------------------------------------------------------------

    def read_tree(self, model: Any, point: Point) -> Tree:
        """Read the planes; every one moves to the middle of its strip."""
        problem, n = self.problem, len(self.J)
        a = point.table(model.a, len(self.B), n)
        s = point.table(model.s, len(self.B), n)
        b, d = point.array(model.b), point.array(model.d)
        planes = {}
        for m in self.B:
            weights = np.zeros(problem.n_features)
            weights[self.J] = np.where(s[m - 1] > 0.5, a[m - 1], 0.0)
            splits = d[m - 1] > 0.5 and weights.any()
            offset = -b[m - 1] + self.epsilon / 2 if splits else 1.0
            planes[m] = (weights if splits else np.zeros(problem.n_features), float(offset))
        labels = dict.fromkeys(self.L, 0)
        tree = drop_pass_through(tree_from_planes(planes, labels, self.X, problem.n_classes))
        tree = tree.with_labels(metrics.majority_labels(tree, self.X, problem.y, problem.weights))
        return drop_idle_splits(tree, problem)

    def start_values(self, model: Any, tree: Tree) -> list[tuple[Any, np.ndarray]]:
        """Values of all variables for a tree."""
        values = terminals.TerminalValues(tree, self.problem, self.rows)
        a, b = np.zeros((len(self.B), len(self.J))), np.zeros(len(self.B))
        d = np.zeros(len(self.B))
        visited = tree.node_rows(self.rows.X)
        for node, split in tree.splits.items():
            weights = split.dense(self.problem.n_features)
            size = float(np.abs(weights).sum())
            scores = split.project(self.rows.X[visited[node]]) / size
            right = scores > split.threshold / size
            a[node - 1], d[node - 1] = weights[self.J] / size, 1.0
            b[node - 1] = scores[right].min() if right.any() else scores.max() + self.epsilon
        return [
            (model.a, a),
            (model.size, np.abs(a)),
            (model.b, b),
            (model.s, (a != 0).astype(np.float64)),
            (model.d, d),
            (model.l, (values.z.sum(axis=0) > 0).astype(np.float64)),
            (model.c, values.c),
            (model.z, values.z),
            *values.of(model, self.problem),
        ]
