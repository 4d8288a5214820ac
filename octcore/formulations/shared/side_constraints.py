"""Side constraints as linear rows over ``b[m, f]`` (node m tests column f).

Rows about features and size need `b` alone.  Rows about *all* training rows (smallest leaf,
fairness) need full routing, since flows only track rows that are classified correctly::

    (FR) R[i,1] = 1,   R[i,m] = R[i,2m] + R[i,2m+1] + sum_k q[i,m,k]
         R[i,2m] <= sum_{f: x_if = 0} b[m,f],   R[i,2m+1] <= sum_{f: x_if = 1} b[m,f]
         sum_k q[i,m,k] <= p[m],   q[i,m,k] <= w[m,k]

and ``sum_m q[i,m,k]`` is the indicator that row i is predicted k.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pyomo.environ as pyo

from octcore.data.distinct import distinct_rows, grouped
from octcore.formulations.shared.constraint_kinds import needs_routing
from octcore.formulations.shared.tree_model import linear, merge_rows
from octcore.program import Problem
from octcore.tree import topology
from octcore.tree.constraints import parity_cells
from octcore.tree.tree import Tree


def allowed_columns(problem: Problem) -> list[int]:
    """Encoded columns of features that are not forbidden; the others get no variable."""
    return np.flatnonzero(~problem.forbidden_columns).tolist()


def varying_columns(problem: Problem) -> list[int]:
    """Allowed columns that take two values at least."""
    return [j for j in allowed_columns(problem) if np.ptp(problem.X[:, j]) > 0]


def add_structural_rows(model: Any, problem: Problem, b: Any, F: list[int]) -> None:
    """Add the rows about size and features that were asked for.

    `model`: receives variables ``uses_feature[g]`` and the rows.
    `b`: ``b[m, f]``, one where branch node m tests encoded column f.
    """
    wanted, groups = problem.constraints, grouped((int(problem.groups[j]), j) for j in F)
    B = topology.branch_nodes(problem.depth)
    if wanted.leaf_limit is not None and F:
        model.leaf_limit = pyo.Constraint(
            expr=pyo.quicksum(b[m, f] for m in B for f in F) <= wanted.leaf_limit - 1,
            doc="leaves <= C, since leaves = splits + 1",
        )
    if (roots := problem.root_columns) is not None:
        columns = [f for f in F if roots[f] and np.ptp(problem.X[:, f]) > 0]
        model.root_feature = pyo.Constraint(
            expr=(1.0, linear([1.0] * len(columns), [b[1, f] for f in columns]), 1.0),
            doc="the root tests the given raw feature, and parts the rows",
        )
    if wanted.feature_once_per_path:
        doc = "a raw feature is tested once at most on the path to terminal t"

        @model.Constraint(topology.terminal_nodes(problem.depth), list(groups), doc=doc)
        def feature_once_per_path(_, t, g):
            return pyo.quicksum(b[a, f] for a in topology.ancestors(t) for f in groups[g]) <= 1

    if groups and (wanted.max_features is not None or wanted.forbidden_pairs):
        u: Any = pyo.Var(list(groups), domain=pyo.Binary, doc="u_g: raw feature g occurs")
        model.uses_feature = u
        model.feature_use = pyo.Constraint(
            B,
            list(groups),
            rule=lambda _, m, g: pyo.quicksum(b[m, f] for f in groups[g]) <= u[g],
            doc="u_g = 1 where any column of raw feature g is tested",
        )
        limit_features(model, problem)


def limit_features(model: Any, problem: Problem) -> None:
    """Add the rows about ``uses_feature[g]``: how many raw features occur, and which together."""
    wanted, context, u = problem.constraints, problem.context, model.uses_feature
    if wanted.max_features is not None and len(u):
        model.feature_limit = pyo.Constraint(
            expr=pyo.quicksum(u[g] for g in u) <= wanted.max_features,
            doc="number of distinct raw features",
        )
    pairs = [(context.raw_index(a), context.raw_index(c)) for a, c in wanted.forbidden_pairs]
    pairs = [(a, c) for a, c in pairs if a in u and c in u]

    @model.Constraint(range(len(pairs)), doc="two raw features never occur in one tree")
    def forbidden_pairs(_, r):
        return linear((1.0, 1.0), [u[g] for g in pairs[r]]) <= 1


def parity_limits(problem: Problem) -> list[tuple[np.ndarray, np.ndarray, float]]:
    """Masks of two groups of rows, and the largest gap of their shares of positive predictions."""
    return [
        (first, second, limit.max_gap)
        for name, limit in problem.constraints.fairness
        for first, second in parity_cells(name, limit, problem.context)
    ]


def add_parity_rows(
    model: Any, problem: Problem, group_of: np.ndarray, positive: Callable[[int], Any]
) -> None:
    """Add the limits on the gaps of shares of positive predictions.

    `group_of`: what every training row was merged into, shape ``(n_samples,)``.
    `positive`: ``group -> expression`` that is 1 where the group is predicted positive.
    """
    limits = parity_limits(problem)
    if not limits:
        return
    doc = "shares of positive predictions differ by max_gap at most"

    @model.Constraint(range(len(limits)), (1, -1), doc=doc)
    def parity(_, r, sign):
        first, second, gap = limits[r]
        shares = np.zeros(int(group_of.max()) + 1)
        np.add.at(shares, group_of[first], 1.0 / first.sum())
        np.add.at(shares, group_of[second], -1.0 / second.sum())
        here = np.flatnonzero(np.abs(shares) > 1e-12).tolist()  # others cancel, but for rounding
        if not here:
            return pyo.Constraint.Skip
        return sign * pyo.quicksum(float(shares[i]) * positive(i) for i in here) <= gap


class FullRouting:
    """The rows (FR), and the constraints that stand on them.

    `model`: receives variables ``route``, ``absorbed`` and the rows.
    `b`, `w`: ``b[m, f]`` as above and ``w[m, k]``, node m predicts class k.
    `leaf`: expression by node that is 1 where the node is a leaf.
    """

    def __init__(
        self,
        model: Any,
        problem: Problem,
        b: Any,
        w: Any,
        leaf: Mapping[int, Any],
        F: list[int],
        guard: Callable[[], None],
    ) -> None:
        self.model, self.problem = model, problem
        nobody = np.zeros(problem.n_samples, dtype=np.int64)
        self.rows = merge_rows(problem.X, nobody, np.ones(problem.n_samples), problem.counts)
        self.nodes = list(topology.all_nodes(problem.depth))
        self._add_routing(b, w, leaf, F, guard)
        if problem.constraints.min_samples_leaf is not None:
            self._add_leaf_size(leaf)
        q, positive = model.absorbed, problem.context.positive_class
        add_parity_rows(
            model,
            problem,
            self.rows.group_of,
            lambda i: pyo.quicksum(q[i, m, positive] for m in self.nodes),
        )

    def _add_routing(
        self, b: Any, w: Any, leaf: Mapping[int, Any], F: list[int], guard: Callable[[], None]
    ) -> None:
        model, problem, X = self.model, self.problem, self.rows.X
        I, K = range(len(self.rows)), range(problem.n_classes)
        B = topology.branch_nodes(problem.depth)
        model.route = pyo.Var(I, self.nodes, bounds=(0, 1), doc="R_im: row i visits node m")
        model.absorbed = pyo.Var(
            I, self.nodes, K, bounds=(0, 1), doc="q_imk: row i ends at leaf m with prediction k"
        )
        R, q = model.route, model.absorbed

        model.routing_source = pyo.Constraint(
            I, rule=lambda _, i: R[i, 1] == 1, doc="(FR) every row enters at the root"
        )

        @model.Constraint(I, self.nodes, doc="(FR) rows go on or are absorbed")
        def routing_conservation(_, i, m):
            out = [q[i, m, k] for k in K]
            if m in B:
                out += [R[i, 2 * m], R[i, 2 * m + 1]]
            return 0, linear([1.0] + [-1.0] * len(out), [R[i, m], *out]), 0

        @model.Constraint(I, B, (0, 1), doc="(FR) rows follow the split")
        def routing_direction(_, i, m, side):
            if m == 1:
                guard()
            there = [b[m, f] for f in F if X[i, f] == side]
            return None, linear([1.0] + [-1.0] * len(there), [R[i, 2 * m + side], *there]), 0

        @model.Constraint(I, self.nodes, doc="(FR) only leaves absorb")
        def absorbed_at_leaf(_, i, m):
            return pyo.quicksum(q[i, m, k] for k in K) <= leaf[m]

        @model.Constraint(I, self.nodes, K, doc="(FR) the prediction is the label of the leaf")
        def absorbed_label(_, i, m, k):
            return q[i, m, k] <= w[m, k]

    def _add_leaf_size(self, leaf: Mapping[int, Any]) -> None:
        q, counts = self.model.absorbed, self.rows.counts
        smallest, K = self.problem.constraints.min_samples_leaf, range(self.problem.n_classes)

        @self.model.Constraint(self.nodes, doc="every leaf holds N_min rows at least")
        def leaf_size(_, m):
            return (
                pyo.quicksum(
                    float(counts[i]) * q[i, m, k] for i in range(len(self.rows)) for k in K
                )
                >= smallest * leaf[m]
            )

    def start_values(self, tree: Tree) -> list[tuple[Any, np.ndarray]]:
        """Values of the routing variables for a tree."""
        route = np.zeros((len(self.rows), len(self.nodes)))
        absorbed = np.zeros((len(self.rows), len(self.nodes), self.problem.n_classes))
        for node, rows in tree.node_rows(self.rows.X).items():
            route[rows, node - 1] = 1.0
            if node in tree.labels:
                absorbed[rows, node - 1, tree.labels[node]] = 1.0
        return [(self.model.route, route), (self.model.absorbed, absorbed)]


def structural_start_values(
    model: Any, problem: Problem, tree: Tree
) -> list[tuple[Any, np.ndarray]]:
    """Values of the variables of `add_structural_rows` for a tree."""
    if not hasattr(model, "uses_feature"):
        return []
    used = {int(problem.groups[j]) for j in tree.used_features}
    u = model.uses_feature
    return [(u, np.array([float(g in used) for g in u]))]


def routing_size(problem: Problem) -> tuple[int, int, int]:
    """Rows, columns and non-zeros of (FR), for the estimate before building."""
    if not needs_routing(problem):
        return 0, 0, 0
    n, k = len(distinct_rows(problem.X)[0]), problem.n_classes
    branch, nodes = 2**problem.depth - 1, 2 ** (problem.depth + 1) - 1
    rows = n * (1 + nodes + 2 * branch + nodes + nodes * k)
    columns = n * nodes * (1 + k)
    nonzeros = n * (1 + nodes * (k + 3) + branch * (problem.n_features + 2) + nodes * (k + 1))
    return rows, columns, nonzeros + n * nodes * k * 2
