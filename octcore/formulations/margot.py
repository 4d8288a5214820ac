"""MARGOT, HFS-MARGOT and SFS-MARGOT: trees of maximum-margin hyperplanes for two classes.

D'Onofrio, Grani, Monaci and Palagi.  Every branch node is a soft-margin SVM over the rows that pass
it; all of them are optimised together with the routing.

=====  ===============================================================
T_B    branch nodes; T'' those of the last level, T' those above
S''(t) last-level nodes below t
w, b   plane of a node: right when w_t.x + b_t >= 0
xi     slack of a row at a node that it passes
z      row i reaches last-level node t
=====  ===============================================================

Equation numbers are the paper's: assignment (5), (6), margins (7), (8), routing (9), (10), feature
selection (11), (12); objective and budgets have none.

The leaves are signs: below a last-level node the left leaf is the first class, the right leaf the
second.  What differs from the paper: nodes are numbered from 1; equal rows are merged with
weights; the default engine is an exact search over routings, with the mixed-integer quadratic
program as its definition, for export and for other solvers.

HFS- and SFS-MARGOT choose features, by ``-M_w s_tj <= w_tj <= M_w s_tj``: the first keeps to a
budget ``sum_j s_tj <= B_t``, the second pays ``alpha sum_t u_t`` for ``u_t >= sum_j s_tj - B_t``.
The papers' M_w is 50; here the search needs none, and in the model it is as large as the best tree
known shows to be enough.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyomo.environ as pyo

from octcore.errors import CancelledError
from octcore.formulations.base import FormulationInfo, Reference, TeachingText, formulation
from octcore.formulations.shared.tree_model import add_within, score
from octcore.formulations.shared.two_classes import EPSILON, GAP, STRIP_TOLERANCE, TwoClassTrees
from octcore.numerics import kernels
from octcore.numerics.node_qp import plane as node_qp
from octcore.parameters import Choice, FloatRange, IntRange, Parameter
from octcore.program import BigM, Capability, ModelSize, Patience, Point, Program, PyomoModel, Sense
from octcore.search.margot.records import Planes, RoutingProblem, Variant
from octcore.search.margot.search import RoutingTask, kernel_set
from octcore.search.margot.start import local_svm
from octcore.tree import metrics, topology
from octcore.tree.tree import Tree, drop_pass_through, tree_from_planes

UPPER = FloatRange(
    "C_upper",
    100.0,
    "Cₜ, t ∈ T′",
    "Price of slack above the last branching level; small values let upper planes only route.",
    low=0.0,
    low_open=True,
    high=1e9,
    log=True,
)
WORDS = "Price of slack on the last branching level, where the classes are decided."
LAST = replace(UPPER, name="C_last", default=1000.0, symbol="Cₜ, t ∈ T″", help=WORDS)
BIG_M = FloatRange(
    "big_m",
    100.0,
    "M(H)",
    "Least bound on scores in the mixed-integer model (slacks get half of it); it is raised where "
    "trees worth having need more. The routing search needs none.",
    low=1.0,
    high=1e6,
    advanced=True,
)
CAPABILITIES = (Capability.ROUTING_SEARCH, Capability.CONVEX_QUADRATIC)
OBJECTIVE = "half the squared norms + C x slacks"
MARGINS = (
    r"\min \sum_t \tfrac12 \lVert w_t \rVert^2 + C_t \sum_i \xi_{ti}",
    "wide margins at every branch node, few slacks, at a price by level",
)
NULL_WEIGHTS = 1e-8  # 1-norm of a plane whose score is the same everywhere on columns in [0, 1]


def budgets(default: int) -> tuple[IntRange, IntRange]:
    """Declare the feature budgets of planes above the last level and on it."""

    def budget(name: str, symbol: str, where: str) -> IntRange:
        return IntRange(name, default, symbol, f"Features that a plane {where} may use.", low=1)

    return (
        budget("budget_upper", "Bₜ, t ∈ T′", "above the last level"),
        budget("budget_last", "Bₜ, t ∈ T″", "on the last level"),
    )


def declare(variant: Variant, *extra: Parameter, **own: Any) -> None:
    """Declare and register a member of the family: two classes, margins, penalties by level.

    `extra`: hyperparameters besides the penalties, epsilon and big-M.
    `**own`: what a member says of itself, or in other words than the family.
    """
    family: dict[str, Any] = {
        "reference": Reference(
            "D'Onofrio, F., Grani, G., Monaci, M. and Palagi, L.",
            2024,
            "Margin optimal classification trees",
            "Computers & Operations Research",
            "10.1016/j.cor.2023.106441",
        ),
        "split_kind": "oblique",
        "hyperparameters": (UPPER, LAST, *extra, EPSILON, BIG_M),
        "constraints": frozenset({"class_weight"}),
        "capabilities": CAPABILITIES,
        "sense": Sense.MINIMISE,
        "objective": OBJECTIVE,
        "max_classes": 2,
        "max_depth": 4,
        "has_margins": True,
    }
    info = FormulationInfo(**family | own)
    formulation(info)(lambda problem: make_program(MargotFamily(problem, variant)))


declare(
    "margot",
    Choice(
        "norm",
        "l2",
        help="Norm of the weights in the objective; 'l1' takes half of it, is linear and not the "
        "published MARGOT.",
        options=("l2", "l1"),
    ),
    key="margot",
    place=140,
    class_name="MargotClassifier",
    title="MARGOT",
    summary="Every branch node is a support vector machine, and all planes are found together with "
    "the way that each row takes. Margins are part of the objective, so the picture generalises.",
    capabilities=(*CAPABILITIES, Capability.LINEAR),
    equations=(
        MARGINS,
        (
            r"y_i (w_t^\top x_i + b_t) \ge 1 - \xi_{ti}",
            "rows that pass a node lie on the side of their class, up to their slack",
        ),
        (
            r"w_t^\top x_i + b_t \ge 0 \ \text{(right)},\quad \le -\varepsilon \ \text{(left)}",
            "upper planes route: no row lies in the strip",
        ),
    ),
    teaching=TeachingText(
        "Optimal margins (MARGOT)",
        "Every split is a support vector machine, and all of them are trained together with the "
        "way that each point takes: wide margins, few points inside them.",
        "Slanted lines, each with its margin band. Ringed points hold the band in place: move one "
        "of them and the line follows; move another one and nothing happens.",
    ),
    good_at="Two-dimensional pictures with margins that a class can see; proves depth 2 in seconds "
    "on hundreds of rows.",
)

declare(
    "hfs",
    *budgets(2),
    key="hfs-margot",
    place=150,
    title="HFS-MARGOT (hard feature selection)",
    summary="MARGOT whose planes may each use a few features only. The tree stays readable, "
    "because every branch node names one or two columns.",
    equations=(
        MARGINS,
        (
            r"-M_w s_{tj} \le w_{tj} \le M_w s_{tj},\quad \sum_j s_{tj} \le B_t",
            "a plane uses at most B features; M_w cuts off no tree worth having",
        ),
    ),
    class_name="HFSMargotClassifier",
    teaching=TeachingText(
        "HFS-MARGOT",
        "MARGOT with a hard limit on the number of features in each split.",
        "With one feature per split the lines are square to the axes, yet they still stand in the "
        "middle of their margins.",
    ),
    good_at="Shows which one or two columns decide at every node, with margins.",
)

declare(
    "sfs",
    *budgets(1),
    FloatRange(
        "alpha",
        32.0,
        "α",
        "Price of every feature beyond the budget; larger values give sparser planes.",
        low=0.0,
        high=1e9,
    ),
    key="sfs-margot",
    place=160,
    title="SFS-MARGOT (soft feature selection)",
    summary="MARGOT whose planes pay for every feature beyond a budget, so that a feature is used "
    "where it is worth its price. Fewer features make a tree that is easier to read.",
    objective=f"{OBJECTIVE} + alpha x extra features",
    equations=(
        (
            r"\min \sum_t \tfrac12 \lVert w_t \rVert^2 + C_t \sum_i \xi_{ti} + \alpha \sum_t u_t",
            "the objective of MARGOT, and a price for features beyond the budget",
        ),
        (
            r"-M_w s_{tj} \le w_{tj} \le M_w s_{tj},\quad \sum_j s_{tj} \le B_t + u_t",
            "features beyond B are counted; M_w cuts off no tree worth having",
        ),
    ),
    class_name="SFSMargotClassifier",
    teaching=TeachingText(
        "SFS-MARGOT",
        "MARGOT with a soft limit: features beyond the budget of a split have a price.",
        "A line turns slanted only where that is worth the price.",
    ),
    good_at="Shows which columns decide at every node, and which are worth their price.",
)


@dataclass(frozen=True, eq=False)
class MargotFamily(TwoClassTrees):
    """One problem of the family: signs, levels, and the true objective.

    The tree is perfect: every branch node has a plane ``w_t.x + b_t``, right when it is not
    negative.
    """

    variant: Variant  # ``"margot"``, ``"hfs"`` or ``"sfs"``

    @property
    def is_linear(self) -> bool:
        """Whether the l1 norm replaces the squares."""
        return self.problem.params.get("norm") == "l1"

    def penalty(self, node: int) -> float:
        """C_t."""
        return self.price("C_last" if node in self.last else "C_upper")

    def budget(self, node: int) -> int | None:
        """B_t; None without budgets."""
        name = "budget_last" if node in self.last else "budget_upper"
        return self.problem.params.get(name)

    @property
    def alpha(self) -> float:
        """Price of a feature beyond the budget (SFS)."""
        return float(self.problem.params.get("alpha", 0.0))

    @cached_property
    def spread(self) -> float:
        """Farthest that two rows can be apart, in the norm dual to that of the weights."""
        ranges = np.sort(np.ptp(self.X, axis=0))[::-1]
        if self.is_linear:
            return float(ranges.max(initial=0.0))
        if self.variant == "hfs":  # a plane sees the distance in as many columns as it may use
            ranges = ranges[: max(self.budget(t) or len(ranges) for t in self.T)]
        return float(np.linalg.norm(ranges))

    @cached_property
    def conflict_cost(self) -> float:
        """What identical rows of both classes cost any tree: two slacks per level and pair."""
        problem = self.problem
        paired = metrics.conflict_errors(problem.X, problem.y, problem.weights)
        return sum(2.0 * self.penalty(1 << level) * paired for level in range(problem.depth))

    def reach(self, objective: float) -> float:
        """Largest score of any row in a tree of at most this objective.

        The norms are part of the objective, beside what no tree avoids, and the bias of a plane
        can be such that some row that passes has a score of -1, 0 or 1 (-epsilon at most), from
        which no row is further than norm times distance.
        """
        size = 2.0 * max(0.0, objective - self.conflict_cost)
        return 1.0 + (size if self.is_linear else float(np.sqrt(size))) * self.spread

    def search_problem(self) -> RoutingProblem:
        """State the problem for the routing search."""
        params = self.problem.params
        return RoutingProblem(
            x=self.X,
            y=self.signs,
            depth=self.problem.depth,
            c_upper=self.price("C_upper"),
            c_last=self.price("C_last"),
            epsilon=self.price("epsilon"),
            weights=self.problem.weights,
            variant=self.variant,
            budget_upper=params.get("budget_upper"),
            budget_last=params.get("budget_last"),
            alpha=self.alpha,
        )

    def tree(self, planes: Planes) -> Tree:
        """Make the tree of the planes of all branch nodes."""
        positive = self.positive
        labels = {2 * t: 1 - positive for t in self.last} | {2 * t + 1: positive for t in self.last}
        # A node that all rows pass on one side has weight zero up to the solver's tolerance.
        null = np.abs(planes.weights).sum(axis=1) <= NULL_WEIGHTS
        weights = np.where(null[:, None], 0.0, planes.weights)
        by_node = {t: (weights[t - 1], float(planes.biases[t - 1])) for t in self.T}
        return tree_from_planes(by_node, labels, self.X, 2, True, STRIP_TOLERANCE)

    def routing(self, tree: Tree) -> np.ndarray | None:
        """Last-level branch node of every row; None unless all branch nodes have planes."""
        if set(tree.splits) != set(self.T):
            return None
        reached = np.zeros(self.problem.n_samples, dtype=np.int64)
        rows = tree.node_rows(self.X)
        for t in self.last:
            reached[rows[t]] = t
        return reached

    def refit(self, tree: Tree, patience: Patience) -> Tree:
        """Give every node the plane that is best for the rows and sides of `tree`.

        A plane uses the features that it used before where features are limited or priced.
        """
        if set(tree.splits) != set(self.T) or self.is_linear:
            return tree
        visited, planes, epsilon = tree.node_rows(self.X), {}, self.price("epsilon")
        for t in self.T:
            here, columns = visited[t], None
            if self.variant != "margot":
                columns = np.array(tree.splits[t].features, dtype=np.int64)
            penalty = self.penalty(t) * self.problem.weights[here]
            planes[t] = self.node_plane(
                t, visited, self.signs[here], penalty, epsilon, patience, columns
            )
        weights = np.array([planes[t][0] for t in self.T])
        return self.tree(Planes(weights, np.array([planes[t][1] for t in self.T])))

    def evaluate(self, tree: Tree) -> float | None:
        """True objective by routing all rows; None if a budget or a strip is not respected."""
        if set(tree.splits) != set(self.T):
            return self._least_cost(drop_pass_through(tree))
        rows, total = tree.node_rows(self.X), 0.0
        for node, split in tree.splits.items():
            weights = split.dense(self.problem.n_features)
            cost = self._node_cost(node, weights, split.solved_offset, rows[node])
            if cost is None:
                return None
            total += cost
        return total

    def _least_cost(self, tree: Tree) -> float | None:
        """Objective of the cheapest perfect tree that stands for another one; None without any.

        It has branch nodes without weights, which all rows pass, above leaves and splits.
        """
        heights: dict[int, int] = {}
        for node in sorted(tree.splits, reverse=True):
            heights[node] = 1 + max(heights.get(child, 0) for child in (2 * node, 2 * node + 1))
        rows = tree.node_rows(self.X)

        def least(node: int, level: int) -> float:
            """Cost of what is below a node, if it stands on a level of the perfect tree."""
            if heights.get(node, 0) > self.problem.depth - level:
                return np.inf
            if level == self.problem.depth:
                return 0.0
            passed = self._passing_cost(level, rows[node], tree.labels.get(node))
            passed += least(node, level + 1)
            if node in tree.labels:
                return passed
            below, split, place = (2 * node, 2 * node + 1), tree.splits[node], 1 << level
            said = [tree.labels.get(child) for child in below]
            if place in self.last and said != [1 - self.positive, self.positive]:
                return passed
            weights = split.dense(self.problem.n_features)
            cost = self._node_cost(place, weights, split.solved_offset, rows[node])
            if cost is None:
                return passed
            return min(passed, cost + sum(least(child, level + 1) for child in below))

        found = least(1, 0)
        return float(found) if np.isfinite(found) else None

    def _passing_cost(self, level: int, rows: np.ndarray, label: int | None) -> float:
        """Slack of rows at a plane without weights, on the last level on the side of a label."""
        signs, weights = self.signs[rows], self.problem.weights[rows]
        wrong = [2.0 * float(weights[signs != sign].sum()) for sign in (-1.0, 1.0)]
        cost = min(wrong)
        if (1 << level) in self.last and label is not None:
            cost = min(wrong[int(label == self.positive)], float(weights.sum()))
        return self.penalty(1 << level) * cost

    def _node_cost(
        self, node: int, weights: np.ndarray, offset: float, rows: np.ndarray
    ) -> float | None:
        scores = self.X[rows] @ weights + offset
        if node in self.upper and not self.is_strip_empty(scores):
            return None
        excess = max(0, np.count_nonzero(weights) - (self.budget(node) or len(weights)))
        if self.variant == "hfs" and excess:
            return None
        slack = np.maximum(0.0, 1.0 - self.signs[rows] * scores)
        size = np.abs(weights).sum() / 2 if self.is_linear else weights @ weights / 2
        price = self.alpha * excess if self.variant == "sfs" else 0.0
        return float(size + self.penalty(node) * (self.problem.weights[rows] @ slack) + price)

    def starts(self, stop: Callable[[], bool]) -> Iterator[tuple[str, Tree]]:
        """Yield the tree of the local SVM heuristic."""
        # The search that shares these kernels has no use for the l1 norm.
        needed = node_qp.KERNELS if self.is_linear else kernel_set(self.variant)
        try:
            kernels.require(needed, stop=stop)
        except CancelledError:
            return
        yield "warm start", self.tree(local_svm(self.search_problem(), stop)[0])

    @property
    def claims(self) -> tuple[str, ...]:
        """What a proof covers."""
        epsilon = self.price("epsilon")
        return self.coding_claims(f"upper planes keep an empty strip of width {epsilon:g}")


def make_program(family: MargotFamily) -> Program:
    """Make the program of any variant: the routing search first, the model for other engines."""
    model = MargotModel(family)
    task = RoutingTask(family.search_problem(), family.tree, family.routing)
    return Program(
        sense=Sense.MINIMISE,
        capabilities=(Capability.LINEAR,) if family.is_linear else CAPABILITIES,
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
        # Rows that do not pass keep the margin row by half of M: scores are within that less 1.
        box = self.family.weight_box(big_m / 2.0 - 1.0)
        self._variables(model, box)
        self._margins(model, guard, big_m / 2.0)
        self._routing(model, guard, big_m)
        if self.family.variant != "margot":
            self._budgets(model, box)
        self._objective(model)
        return PyomoModel.of(model, self)

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

        @model.Constraint(range(n), doc="(5) every row reaches one node of the last level")
        def one_node(_, i):
            return pyo.quicksum(model.z[i, t] for t in self.family.last) == 1

        doc = "(7) y_i (w_t.x_i + b_t) >= 1 - xi_ti where row i passes node t"

        @model.Constraint(self.family.T, range(n), doc=doc)
        def margin(_: Any, t: int, i: int) -> Any:
            guard()
            sign, below = float(self.family.rows.signs[i]), self._below(t)
            more = (1.0, model.xi[t, i]), *((-big_m, model.z[i, s]) for s in below)
            return 1.0 - big_m, score(model, self.family.rows.X[i], t, *more, sign=sign), None

    def _routing(self, model: Any, guard: Callable[[], None], big_m: float) -> None:
        n = len(self.family.rows)
        epsilon = self.family.price("epsilon")

        def scored(t: int, i: int, child: int, factor: float) -> Any:
            """Score of a row, and a factor where it goes to a child."""
            guard()
            there = ((factor, model.z[i, s]) for s in self._below(child))
            return score(model, self.family.rows.X[i], t, *there)

        @model.Constraint(self.family.upper, range(n), doc="(9) right-goers have score >= 0")
        def go_right(_, t, i):
            return -big_m, scored(t, i, 2 * t + 1, -big_m), None

        @model.Constraint(self.family.upper, range(n), doc="(10) left-goers have score <= -epsilon")
        def go_left(_, t, i):
            return None, scored(t, i, 2 * t, big_m), big_m - epsilon

    def _budgets(self, model: Any, box: float) -> None:
        family, features = self.family, range(self.family.rows.X.shape[1])
        model.s = pyo.Var(family.T, features, domain=pyo.Binary, doc="s_tj: plane t uses feature j")
        docs = "(11) w_tj <= M_w s_tj", "(11) -M_w s_tj <= w_tj"
        add_within(model, "use", model.w, lambda t, j: box * model.s[t, j], docs)
        if family.variant == "sfs":
            model.u = pyo.Var(family.T, domain=pyo.NonNegativeReals, doc="u_t: features beyond B_t")
        doc = "(section 4) features per plane within the budget B_t, plus u_t where it is soft"

        @model.Constraint(family.T if features else (), doc=doc)
        def budget(_, t):
            soft = model.u[t] if family.variant == "sfs" else 0.0
            return pyo.quicksum(model.s[t, j] for j in features) <= (family.budget(t) or 0) + soft

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
