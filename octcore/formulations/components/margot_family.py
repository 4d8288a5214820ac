"""What MARGOT, HFS-MARGOT and SFS-MARGOT share: signs, levels, the true objective, the model.

The tree is perfect: every branch node has a plane ``w_t.x + b_t``, right when it is not negative.
Leaves are signs of the last level: left is the first class (-1), right the second (+1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyomo.environ as pyo

from octcore.formulations.components.rows import MergedRows, linear, merge_rows
from octcore.numerics.qp_plane import solve_node_plane
from octcore.parameters import Choice, FloatRange, IntRange, Parameter
from octcore.program import (
    Capability,
    ModelSize,
    Point,
    Problem,
    Program,
    PyomoModel,
    Sense,
)
from octcore.search.routing_records import Planes, RoutingProblem, Variant
from octcore.search.routing_task import RoutingTask
from octcore.tree import topology
from octcore.tree.planes import tree_from_planes
from octcore.tree.tree import Tree
from octcore.warmstart.local_svm import local_svm

BIG_M_WEIGHT = 50.0
"""M_w: largest weight that a chosen feature may have (the papers' value)."""
GAP = 1e-4
"""Relative gap that counts as closed: the node problems are solved in floating point."""
STRIP_TOLERANCE = 1e-7
"""Routed rows may miss an upper plane's strip by this much: half of HiGHS' tolerance."""
PENALTIES: tuple[Parameter, ...] = (
    FloatRange(
        "C_upper",
        100.0,
        r"C_t,\ t \in T'",
        "Price of slack above the last branching level; small values let upper planes only route.",
        low=0.0,
        low_open=True,
        high=1e9,
        log=True,
    ),
    FloatRange(
        "C_last",
        1000.0,
        r"C_t,\ t \in T''",
        "Price of slack on the last branching level, where the classes are decided.",
        low=0.0,
        low_open=True,
        high=1e9,
        log=True,
    ),
)
EPSILON = FloatRange(
    "epsilon",
    1e-3,
    r"\varepsilon",
    "Width of the strip left of every upper plane that holds no row.",
    low=1e-5,
    high=1.0,
    advanced=True,
)
BIG_M = FloatRange(
    "big_m",
    100.0,
    "M_H",
    "Bound on scores in the mixed-integer model (slacks get half of it); the routing search "
    "needs none.",
    low=1.0,
    high=1e6,
    advanced=True,
)
NORM = Choice(
    "norm",
    "l2",
    help="Norm of the weights in the objective; 'l1' is linear and is not the published MARGOT.",
    options=("l2", "l1"),
)


def budget(name: str, symbol: str, where: str, default: int) -> IntRange:
    """Declare a feature budget per node."""
    return IntRange(name, default, symbol, f"Features that a plane {where} may use.", low=1)


@dataclass(frozen=True, eq=False)
class MargotFamily:
    """One problem of the family.

    Parameters
    ----------
    problem : Problem
        Two classes, columns scaled to [0, 1].
    variant : str
        ``"margot"``, ``"hfs"`` or ``"sfs"``.
    """

    problem: Problem
    variant: Variant

    @property
    def is_linear(self) -> bool:
        """Whether the l1 norm replaces the squares."""
        return self.problem.params.get("norm") == "l1"

    @cached_property
    def signs(self) -> np.ndarray:
        """-1 or +1 of every row; +1 is the positive class."""
        return np.where(self.problem.y == self.problem.context.positive_class, 1.0, -1.0)

    @property
    def depth(self) -> int:
        """Number of branching levels."""
        return self.problem.depth

    @property
    def T(self) -> range:
        """Branch nodes."""
        return topology.branch_nodes(self.depth)

    @property
    def last(self) -> range:
        """T'': branch nodes of the last level."""
        return topology.terminal_nodes(self.depth - 1)

    @property
    def upper(self) -> range:
        """T': branch nodes above the last level."""
        return topology.branch_nodes(self.depth - 1)

    def penalty(self, node: int) -> float:
        """C_t."""
        params = self.problem.params
        return float(params["C_last"] if node in self.last else params["C_upper"])

    def budget(self, node: int) -> int | None:
        """B_t; None without budgets."""
        name = "budget_last" if node in self.last else "budget_upper"
        return self.problem.params.get(name)

    @property
    def alpha(self) -> float:
        """Price of a feature beyond the budget (SFS)."""
        return float(self.problem.params.get("alpha", 0.0))

    def search_problem(self) -> RoutingProblem:
        """State the problem for the routing search."""
        params = self.problem.params
        return RoutingProblem(
            x=np.ascontiguousarray(self.problem.X, dtype=np.float64),
            y=self.signs,
            depth=self.depth,
            c_upper=float(params["C_upper"]),
            c_last=float(params["C_last"]),
            epsilon=float(params["epsilon"]),
            weights=self.problem.weights,
            variant=self.variant,
            budget_upper=params.get("budget_upper"),
            budget_last=params.get("budget_last"),
            alpha=self.alpha,
        )

    def tree(self, planes: Planes) -> Tree:
        """Make the tree of the planes of all branch nodes."""
        positive = self.problem.context.positive_class
        labels = {2 * t: 1 - positive for t in self.last} | {2 * t + 1: positive for t in self.last}
        by_node = {t: (planes.weights[t - 1], float(planes.biases[t - 1])) for t in self.T}
        X = np.asarray(self.problem.X, dtype=np.float64)
        return tree_from_planes(by_node, labels, X, 2, unit_margin=True, tolerance=STRIP_TOLERANCE)

    def refit(self, tree: Tree) -> Tree:
        """Give every node the plane that is best for the rows and sides of `tree`.

        A plane uses the features that it used before where features are limited or priced.
        """
        if set(tree.splits) != set(self.T) or self.is_linear:
            return tree
        X = np.asarray(self.problem.X, dtype=np.float64)
        rows, planes = tree.node_rows(X), {}
        for t in self.T:
            here = rows[t]
            columns = np.arange(X.shape[1])
            if self.variant != "margot":
                columns = np.array(tree.splits[t].features, dtype=np.int64)
            sides = None
            if t in self.upper:
                sides = np.where(np.isin(here, rows[2 * t]), -1, 1).astype(np.int8)
            planes[t] = self._node_plane(t, here, columns, sides)
        weights = np.array([planes[t][0] for t in self.T])
        return self.tree(Planes(weights, np.array([planes[t][1] for t in self.T])))

    def _node_plane(
        self, node: int, rows: np.ndarray, columns: np.ndarray, sides: np.ndarray | None
    ) -> tuple[np.ndarray, float]:
        weights = np.zeros(self.problem.n_features)
        if not len(rows):
            return weights, -1.0 if node % 2 == 0 else 1.0
        X = np.ascontiguousarray(self.problem.X[rows][:, columns], dtype=np.float64)
        upper = self.penalty(node) * self.problem.weights[rows]
        epsilon = float(self.problem.params["epsilon"])
        plane = solve_node_plane(X, self.signs[rows], upper, sides, epsilon)
        weights[columns] = plane.weights
        return weights, float(plane.bias)

    def evaluate(self, tree: Tree) -> float | None:
        """True objective by routing all rows; None if a budget or a strip is not respected."""
        if set(tree.splits) != set(self.T):
            return self._evaluate_leaf(tree)
        total = 0.0
        X = np.asarray(self.problem.X, dtype=np.float64)
        rows = tree.node_rows(X)
        for node, split in tree.splits.items():
            cost = self._node_cost(node, split.dense(X.shape[1]), split.solved_offset, rows[node])
            if cost is None:
                return None
            total += cost
        return total

    def _evaluate_leaf(self, tree: Tree) -> float | None:
        """A single leaf is the tree of zero planes that all rows pass on one side."""
        if tree.splits:
            return None
        sign = 1.0 if tree.labels[1] == self.problem.context.positive_class else -1.0
        minority = float(self.problem.weights[self.signs != sign].sum())
        path = [1 << level for level in range(self.depth)]
        return sum(2.0 * self.penalty(node) * minority for node in path)

    def _node_cost(
        self, node: int, weights: np.ndarray, offset: float, rows: np.ndarray
    ) -> float | None:
        scores = np.asarray(self.problem.X, dtype=np.float64)[rows] @ weights + offset
        strip = (scores > -float(self.problem.params["epsilon"]) + STRIP_TOLERANCE) & (
            scores < -STRIP_TOLERANCE
        )
        if node in self.upper and strip.any():
            return None
        excess = max(0, np.count_nonzero(weights) - (self.budget(node) or len(weights)))
        if self.variant == "hfs" and excess:
            return None
        slack = np.maximum(0.0, 1.0 - self.signs[rows] * scores)
        size = np.abs(weights).sum() / 2 if self.is_linear else weights @ weights / 2
        price = self.alpha * excess if self.variant == "sfs" else 0.0
        return float(size + self.penalty(node) * (self.problem.weights[rows] @ slack) + price)

    def starts(self) -> Iterator[tuple[str, Tree]]:
        """Yield the tree of the local SVM heuristic."""
        yield "warm start", self.tree(local_svm(self.search_problem()).planes)

    @property
    def claims(self) -> tuple[str, ...]:
        """What a proof covers."""
        epsilon = float(self.problem.params["epsilon"])
        classes = self.problem.context.classes
        positive = self.problem.context.positive_class
        coding = (
            f"{classes[1 - positive]} is coded -1 (left leaves), {classes[positive]} +1 (right)"
        )
        return (f"upper planes keep an empty strip of width {epsilon:g}", coding)


def make_program(family: MargotFamily) -> Program:
    """Make the program of any variant: the routing search first, the model for other engines."""
    model = MargotModel(family)
    exact = (Capability.ROUTING_SEARCH, Capability.CONVEX_QUADRATIC)
    return Program(
        sense=Sense.MINIMISE,
        capabilities=(Capability.LINEAR,) if family.is_linear else exact,
        n_features=family.problem.n_features,
        n_classes=2,
        evaluate=family.evaluate,
        size=model.size,
        build=model.build,
        starts=family.starts,
        improve=family.refit,
        search=RoutingTask(family.search_problem(), family.tree),
        tolerance=GAP,
        bound=0.0,
        claims=family.claims,
    )


@dataclass(frozen=True, eq=False)
class MargotModel:
    """The mixed-integer (quadratic) program of the family."""

    family: MargotFamily

    @cached_property
    def rows(self) -> MergedRows:
        """Rows merged by features and class, with weights."""
        problem = self.family.problem
        return merge_rows(
            np.asarray(problem.X, dtype=np.float64),
            (self.family.signs > 0).astype(np.int64),
            problem.weights,
        )

    @cached_property
    def signs(self) -> np.ndarray:
        """y_i of the merged rows."""
        return np.where(self.rows.y > 0, 1.0, -1.0)

    @property
    def size(self) -> ModelSize:
        """Counts of rows and columns before building."""
        n, p = self.rows.X.shape
        nodes, last, upper = (len(s) for s in (self.family.T, self.family.last, self.family.upper))
        budgets = nodes * p if self.family.variant != "margot" else 0
        return ModelSize(
            rows=nodes * n + 2 * upper * n + n + 2 * budgets + nodes,
            columns=nodes * (p + 1 + n) + n * last + budgets,
            binaries=n * last + budgets,
            nonzeros=(nodes + 2 * upper) * n * (p + 2 + last) + n * last + 5 * budgets,
        )

    def build(self, guard: Callable[[], None]) -> PyomoModel:
        """Build variables, numbered equations and the objective."""
        model: Any = pyo.ConcreteModel(self.family.variant.upper())
        self._variables(model)
        self._margins(model, guard)
        self._routing(model, guard)
        if self.family.variant != "margot":
            self._budgets(model)
        self._objective(model)
        return PyomoModel(
            model,
            read_tree=lambda point: self.read_tree(model, point),
            start_values=lambda tree: self.start_values(model, tree),
        )

    def _variables(self, model: Any) -> None:
        n, p = self.rows.X.shape
        family = self.family
        box = BIG_M_WEIGHT if family.variant != "margot" else 1e3
        model.w = pyo.Var(family.T, range(p), bounds=(-box, box), doc="w_tj: weights of plane t")
        model.b = pyo.Var(family.T, bounds=(-1e4, 1e4), doc="b_t: offset of plane t")
        model.xi = pyo.Var(
            family.T, range(n), domain=pyo.NonNegativeReals, doc="xi_ti: slack of row i at node t"
        )
        model.z = pyo.Var(
            range(n), family.last, domain=pyo.Binary, doc="z_it: row i reaches last-level node t"
        )

    def _score(self, model: Any, i: int, t: int) -> tuple[list[float], list[Any]]:
        used = np.flatnonzero(self.rows.X[i])
        coefficients = [float(v) for v in self.rows.X[i][used]]
        return [*coefficients, 1.0], [*(model.w[t, int(j)] for j in used), model.b[t]]

    def _below(self, node: int) -> list[int]:
        """S''(t): last-level nodes below (or equal to) a node."""
        return list(topology.terminals_below(node, self.family.depth - 1))

    def _margins(self, model: Any, guard: Callable[[], None]) -> None:
        n = len(self.rows)
        big_m = float(self.family.problem.params["big_m"]) / 2

        def margin(_: Any, t: int, i: int) -> Any:
            guard()
            sign, (coefficients, variables) = float(self.signs[i]), self._score(model, i, t)
            below = self._below(t)
            coefficients = [sign * c for c in coefficients] + [1.0] + [-big_m] * len(below)
            variables = [*variables, model.xi[t, i], *(model.z[i, s] for s in below)]
            return 1.0 - big_m, linear(coefficients, variables), None

        model.one_node = pyo.Constraint(
            range(n),
            rule=lambda _, i: pyo.quicksum(model.z[i, t] for t in self.family.last) == 1,
            doc="(5) every row reaches one node of the last level",
        )
        model.margin = pyo.Constraint(
            self.family.T,
            range(n),
            rule=margin,
            doc="(7) y_i (w_t.x_i + b_t) >= 1 - xi_ti where row i passes node t",
        )

    def _routing(self, model: Any, guard: Callable[[], None]) -> None:
        n = len(self.rows)
        big_m = float(self.family.problem.params["big_m"])
        epsilon = float(self.family.problem.params["epsilon"])

        def right(_: Any, t: int, i: int) -> Any:
            guard()
            below = self._below(2 * t + 1)
            coefficients, variables = self._score(model, i, t)
            terms = [*variables, *(model.z[i, s] for s in below)]
            return -big_m, linear([*coefficients, *[-big_m] * len(below)], terms), None

        def left(_: Any, t: int, i: int) -> Any:
            guard()
            below = self._below(2 * t)
            coefficients, variables = self._score(model, i, t)
            terms = [*variables, *(model.z[i, s] for s in below)]
            return None, linear([*coefficients, *[big_m] * len(below)], terms), big_m - epsilon

        model.go_right = pyo.Constraint(
            self.family.upper, range(n), rule=right, doc="(9) right-goers have score >= 0"
        )
        model.go_left = pyo.Constraint(
            self.family.upper, range(n), rule=left, doc="(10) left-goers have score <= -epsilon"
        )

    def _budgets(self, model: Any) -> None:
        family, features = self.family, range(self.rows.X.shape[1])
        model.s = pyo.Var(family.T, features, domain=pyo.Binary, doc="s_tj: plane t uses feature j")
        model.use_above = pyo.Constraint(
            family.T,
            features,
            rule=lambda _, t, j: model.w[t, j] <= BIG_M_WEIGHT * model.s[t, j],
            doc="(13) w_tj <= M_w s_tj",
        )
        model.use_below = pyo.Constraint(
            family.T,
            features,
            rule=lambda _, t, j: -BIG_M_WEIGHT * model.s[t, j] <= model.w[t, j],
            doc="(13) -M_w s_tj <= w_tj",
        )
        if family.variant == "sfs":
            model.u = pyo.Var(family.T, domain=pyo.NonNegativeReals, doc="u_t: features beyond B_t")
        model.budget = pyo.Constraint(
            family.T,
            rule=lambda _, t: (
                pyo.quicksum(model.s[t, j] for j in features)
                <= (family.budget(t) or 0) + (model.u[t] if family.variant == "sfs" else 0.0)
            ),
            doc="(14) features per plane within the budget",
        )

    def _objective(self, model: Any) -> None:
        family, features = self.family, range(self.rows.X.shape[1])
        weights = self.rows.weights
        slack = pyo.quicksum(
            family.penalty(t) * float(weights[i]) * model.xi[t, i]
            for t in family.T
            for i in range(len(self.rows))
        )
        size: Any
        if family.is_linear:
            model.a = pyo.Var(family.T, features, domain=pyo.NonNegativeReals, doc="|w_tj|")
            model.a_above = pyo.Constraint(
                family.T, features, rule=lambda _, t, j: model.a[t, j] >= model.w[t, j]
            )
            model.a_below = pyo.Constraint(
                family.T, features, rule=lambda _, t, j: model.a[t, j] >= -model.w[t, j]
            )
            size = pyo.quicksum(0.5 * model.a[t, j] for t in family.T for j in features)
        else:
            size = pyo.quicksum(0.5 * model.w[t, j] ** 2 for t in family.T for j in features)
        price = 0.0
        if family.variant == "sfs":
            price = pyo.quicksum(family.alpha * model.u[t] for t in family.T)
        model.objective = pyo.Objective(
            expr=size + slack + price,
            sense=pyo.minimize,
            doc="(4) half the squared norms plus the slacks at the levels' prices",
        )

    def read_tree(self, model: Any, point: Point) -> Tree:
        """Read the planes of a solution; weights of features that are switched off are 0."""
        n_nodes, p = len(self.family.T), self.rows.X.shape[1]
        weights = point.table(model.w, n_nodes, p).copy()
        if self.family.variant != "margot":
            weights[point.table(model.s, n_nodes, p) < 0.5] = 0.0
        return self.family.tree(Planes(weights, point.array(model.b).copy()))

    def start_values(self, model: Any, tree: Tree) -> list[tuple[Any, np.ndarray]]:
        """Values of all variables for a perfect tree; nothing for a single leaf."""
        family, (n, p) = self.family, self.rows.X.shape
        if set(tree.splits) != set(family.T):
            return []
        w = np.array([tree.splits[t].dense(p) for t in family.T])
        b = np.array([tree.splits[t].solved_offset for t in family.T])
        visited = tree.node_rows(self.rows.X)
        xi, z = np.zeros((len(family.T), n)), np.zeros((n, len(family.last)))
        for t in family.T:
            here = visited[t]
            scores = self.rows.X[here] @ w[t - 1] + b[t - 1]
            xi[t - 1, here] = np.maximum(0.0, 1.0 - self.signs[here] * scores)
            if t in family.last:
                z[here, t - family.last[0]] = 1.0
        values = [(model.w, w), (model.b, b), (model.xi, xi), (model.z, z)]
        if family.variant != "margot":
            values.append((model.s, (w != 0).astype(float)))
        if family.variant == "sfs":
            over = [max(0, np.count_nonzero(w[t - 1]) - (family.budget(t) or p)) for t in family.T]
            values.append((model.u, np.array(over, dtype=float)))
        if family.is_linear:
            values.append((model.a, np.abs(w)))
        return values
