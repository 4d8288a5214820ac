"""The mixed-integer (quadratic) program of the MARGOT family, and the program around it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyomo.environ as pyo

from octcore.formulations.margot.family import MargotFamily
from octcore.formulations.shared.tree_model import add_within, linear, score_terms
from octcore.formulations.shared.two_classes import GAP
from octcore.program import BigM, Capability, ModelSize, Point, Program, PyomoModel, Sense
from octcore.search.margot.records import Planes
from octcore.search.margot.search import RoutingTask, kernel_set
from octcore.tree import topology
from octcore.tree.tree import Tree


def make_program(family: MargotFamily) -> Program:
    """Make the program of any variant: the routing search first, the model for other engines."""
    if family.is_decided:
        return _decided_program(family)
    model = MargotModel(family)
    task = RoutingTask(family.search_problem(), family.tree, family.routing)
    exact = (Capability.ROUTING_SEARCH, Capability.CONVEX_QUADRATIC)
    return Program(
        sense=Sense.MINIMISE,
        capabilities=(Capability.LINEAR,) if family.is_linear else exact,
        evaluate=family.evaluate,
        size=model.size,
        build=lambda guard: model.build(guard, model.big_m.asked),
        big_m=model.big_m,
        feasibility=1e-9,
        starts=family.starts,
        improve=family.refit,
        search=task,
        prove=None if family.is_linear else task.prove,
        kernels=(kernel_set(family.variant),),
        tolerance=GAP,
        bound=family.conflict_cost,
        claims=family.claims,
    )


def _decided_program(family: MargotFamily) -> Program:
    """Make the program of rows that no plane tells apart: its bound is what a single leaf costs."""
    problem = family.problem
    leaf = problem.majority_leaf
    return Program(
        sense=Sense.MINIMISE,
        capabilities=(
            Capability.ROUTING_SEARCH,
            Capability.CONVEX_QUADRATIC,
            Capability.LINEAR,
        ),
        evaluate=family.evaluate,
        tolerance=GAP,
        bound=family.evaluate(leaf),
        claims=family.claims,
    )


@dataclass(frozen=True, eq=False)
class MargotModel:
    """The mixed-integer (quadratic) program of the family."""

    family: MargotFamily

    @property
    def size(self) -> ModelSize:
        """Counts of rows and columns before building."""
        n, p = self.family.rows.X.shape
        nodes, last, upper = (len(s) for s in (self.family.T, self.family.last, self.family.upper))
        budgets = nodes * p if self.family.variant != "margot" else 0
        return ModelSize(
            rows=nodes * n + 2 * upper * n + n + 2 * budgets + nodes,
            columns=nodes * (p + 1 + n) + n * last + budgets,
            binaries=n * last + budgets,
            nonzeros=(nodes + 2 * upper) * n * (p + 2 + last) + n * last + 5 * budgets,
        )

    @property
    def big_m(self) -> BigM:
        """M_H; slacks get half of it, and weights what scores within it allow."""
        asked = self.family.price("big_m")
        return BigM(asked, lambda objective: 2.0 * (1.0 + self.family.reach(objective)), self.build)

    def build(self, guard: Callable[[], None], big_m: float) -> PyomoModel:
        """Build variables, numbered equations and the objective."""
        model: Any = pyo.ConcreteModel(self.family.variant.upper())
        box = self.family.weight_box(big_m / 2.0 - 1.0)
        self._variables(model, box)
        self._margins(model, guard, big_m / 2.0)
        self._routing(model, guard, big_m)
        if self.family.variant != "margot":
            self._budgets(model, box)
        self._objective(model)
        return PyomoModel(model, partial(self.read_tree, model), partial(self.start_values, model))

    def _variables(self, model: Any, box: float) -> None:
        n, p = self.family.rows.X.shape
        family = self.family
        # a plane that tells rows apart has a score within 1 at one of them
        reach = 1.0 + box * float(np.abs(self.family.rows.X).sum(axis=1).max())
        model.w = pyo.Var(family.T, range(p), bounds=(-box, box), doc="w_tj: weights of plane t")
        model.b = pyo.Var(family.T, bounds=(-reach, reach), doc="b_t: offset of plane t")
        model.xi = pyo.Var(
            family.T, range(n), domain=pyo.NonNegativeReals, doc="xi_ti: slack of row i at node t"
        )
        model.z = pyo.Var(
            range(n), family.last, domain=pyo.Binary, doc="z_it: row i reaches last-level node t"
        )

    def _below(self, node: int) -> list[int]:
        """S''(t): last-level nodes below (or equal to) a node."""
        return list(topology.terminals_below(node, self.family.problem.depth - 1))

    def _margins(self, model: Any, guard: Callable[[], None], big_m: float) -> None:
        n = len(self.family.rows)

        def margin(_: Any, t: int, i: int) -> Any:
            guard()
            sign, below = float(self.family.rows.signs[i]), self._below(t)
            coefficients, variables = score_terms(model, self.family.rows.X[i], t, sign)
            coefficients = [*coefficients, 1.0, *[-big_m] * len(below)]
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

    def _routing(self, model: Any, guard: Callable[[], None], big_m: float) -> None:
        n = len(self.family.rows)
        epsilon = self.family.price("epsilon")

        def right(_: Any, t: int, i: int) -> Any:
            guard()
            below = self._below(2 * t + 1)
            coefficients, variables = score_terms(model, self.family.rows.X[i], t)
            terms = [*variables, *(model.z[i, s] for s in below)]
            return -big_m, linear([*coefficients, *[-big_m] * len(below)], terms), None

        def left(_: Any, t: int, i: int) -> Any:
            guard()
            below = self._below(2 * t)
            coefficients, variables = score_terms(model, self.family.rows.X[i], t)
            terms = [*variables, *(model.z[i, s] for s in below)]
            return None, linear([*coefficients, *[big_m] * len(below)], terms), big_m - epsilon

        model.go_right = pyo.Constraint(
            self.family.upper, range(n), rule=right, doc="(9) right-goers have score >= 0"
        )
        model.go_left = pyo.Constraint(
            self.family.upper, range(n), rule=left, doc="(10) left-goers have score <= -epsilon"
        )

    def _budgets(self, model: Any, box: float) -> None:
        family, features = self.family, range(self.family.rows.X.shape[1])
        model.s = pyo.Var(family.T, features, domain=pyo.Binary, doc="s_tj: plane t uses feature j")
        docs = "(11) w_tj <= M_w s_tj", "(11) -M_w s_tj <= w_tj"
        add_within(model, "use", model.w, lambda t, j: box * model.s[t, j], docs)
        if family.variant == "sfs":
            model.u = pyo.Var(family.T, domain=pyo.NonNegativeReals, doc="u_t: features beyond B_t")
        model.budget = pyo.Constraint(
            family.T,
            rule=lambda _, t: (
                pyo.quicksum(model.s[t, j] for j in features)
                <= (family.budget(t) or 0) + (model.u[t] if family.variant == "sfs" else 0.0)
            ),
            doc="(section 4) features per plane within the budget B_t, plus u_t where it is soft",
        )

    def _objective(self, model: Any) -> None:
        family, features = self.family, range(self.family.rows.X.shape[1])
        weights = self.family.rows.weights
        slack = pyo.quicksum(
            family.penalty(t) * float(weights[i]) * model.xi[t, i]
            for t in family.T
            for i in range(len(self.family.rows))
        )
        size: Any
        if family.is_linear:
            model.a = pyo.Var(family.T, features, domain=pyo.NonNegativeReals, doc="|w_tj|")
            docs = "|w_tj| >= w_tj", "|w_tj| >= -w_tj"
            add_within(model, "a", model.w, lambda t, j: model.a[t, j], docs)
            size = 0.5 * pyo.quicksum(model.a.values())
        else:
            size = pyo.quicksum(0.5 * model.w[t, j] ** 2 for t in family.T for j in features)
        price: Any = 0.0
        if family.variant == "sfs":
            price = pyo.quicksum(family.alpha * model.u[t] for t in family.T)
        model.objective = pyo.Objective(
            expr=size + slack + price,
            sense=pyo.minimize,
            doc="(section 3) half the squared norms plus the slacks at the levels' prices",
        )

    def read_tree(self, model: Any, point: Point) -> Tree:
        """Read the planes of a solution; weights of features that are switched off are 0."""
        n_nodes, p = len(self.family.T), self.family.rows.X.shape[1]
        weights = point.table(model.w, n_nodes, p).copy()
        if self.family.variant != "margot":
            weights[point.table(model.s, n_nodes, p) < 0.5] = 0.0
        return self.family.tree(Planes(weights, point.array(model.b).copy()))

    def start_values(self, model: Any, tree: Tree) -> list[tuple[Any, np.ndarray]]:
        """Values of all variables for a perfect tree; nothing for a single leaf."""
        family, (n, p) = self.family, self.family.rows.X.shape
        if set(tree.splits) != set(family.T):
            return []
        w = np.array([tree.splits[t].dense(p) for t in family.T])
        b = np.array([tree.splits[t].solved_offset for t in family.T])
        visited = tree.node_rows(self.family.rows.X)
        xi, z = np.zeros((len(family.T), n)), np.zeros((n, len(family.last)))
        for t in family.T:
            here = visited[t]
            scores = self.family.rows.X[here] @ w[t - 1] + b[t - 1]
            xi[t - 1, here] = np.maximum(0.0, 1.0 - self.family.rows.signs[here] * scores)
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
