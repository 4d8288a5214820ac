"""SVM1-ODT: 1-norm support vector machines at the branch nodes of an optimal tree.

=======  ============================================================================
I        training rows, identical ones merged with weights; columns scaled to [0, 1]
B, L     branch nodes 1 .. 2^D - 1 and terminal nodes 2^D .. 2^(D+1) - 1
h, g     hyperplane of a node: left when h.x <= g
e, c     row ends at terminal l; row is classified wrongly
p, m     score g - h.x = p+ - p-; margin that is missing to epsilon
F_c, V   categorical raw columns and their values: a node tests a plane or a subset of values
=======  ============================================================================

What differs from the paper: `strict` (on by default) keeps right-goers off the plane, since as
printed a row on the plane may go either way at a price of ``alpha1 * epsilon``; leaf labels may be
binaries (default), which bounds better than the published integer products; columns of subsets
stay out of planes and norms; all numbers come from routing rows.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyomo.environ as pyo

from octcore.formulations.base import FormulationInfo, Reference, TeachingText, formulation
from octcore.formulations.shared import oblique
from octcore.formulations.shared import tree_model as equations
from octcore.formulations.shared.terminals import TerminalValues
from octcore.formulations.shared.tree_model import MergedRows, linear, paired
from octcore.formulations.svm1_odt.trees import GAP, SVM1Trees
from octcore.numerics.linear import sparse_rows
from octcore.numerics.margin_lp import WEIGHT_BOX
from octcore.parameters import Choice, Flag, FloatRange
from octcore.program import (
    Capability,
    Cuts,
    ModelSize,
    Point,
    Problem,
    Program,
    PyomoModel,
    SearchState,
    Sense,
)
from octcore.search.assignment.search import ALL
from octcore.tree import metrics, topology
from octcore.tree.tree import Tree

VIOLATION = 1e-6  # a cut that is violated by less is not worth a row

INFO = FormulationInfo(
    key="svm1-odt",
    place=130,
    title="SVM1-ODT",
    summary="Every split is a 1-norm support vector machine: few errors first, then margins, then "
    "small weights. Categorical columns are split by subsets of their values.",
    reference=Reference(
        "Zhu, H., Murali, P., Phan, D., Nguyen, L., Kalagnanam, J.",
        2020,
        "A scalable MIP-based method for learning optimal multivariate decision trees",
        "Advances in Neural Information Processing Systems 33",
    ),
    split_kind="oblique",
    grid={"depth": (1, 2, 3), "margin_price": (0.3,), "norm_price": (0.3, 0.1)},
    choice="one-error",
    hyperparameters=(
        FloatRange(
            "alpha1",
            100.0,
            "α₁",
            "Price of margin that a row lacks at a split; with alpha1 x epsilon below 1 a row on "
            "the plane is cheaper than an error.",
            low=0.0,
            high=1e7,
            log=True,
        ),
        FloatRange("alpha2", 3.0, "α₂", "Price of the 1-norm of a split.", low=0.0, high=1e4),
        FloatRange(
            "epsilon",
            0.01,
            "ε",
            "Margin wanted on both sides of a split, where scores reach M.",
            low=1e-5,
            high=1.0,
        ),
        FloatRange(
            "margin_price",
            None,
            "α₁ε",
            "Price in errors of a row that lacks the whole margin; it replaces alpha1. With scaled "
            "weights only this and norm_price matter.",
            low=0.0,
            high=1e4,
            advanced=True,
        ),
        FloatRange(
            "norm_price",
            None,
            "α₂ε",
            "Price in errors of a plane whose margin is as wide as a column; it replaces alpha2.",
            low=0.0,
            high=1e3,
            advanced=True,
        ),
        Flag(
            "strict",
            True,
            help="Keep right-goers off the plane; as published, a row on it may go either way, "
            "which needs alpha1 x epsilon of 1 or more.",
        ),
        Choice(
            "labels",
            "binary",
            help="'published' multiplies leaf labels and routing, 'binary' has one variable per "
            "leaf and class and better bounds.",
            options=("binary", "published"),
            advanced=True,
        ),
        Choice(
            "categorical",
            "subsets",
            help="'subsets' tests a categorical column by a set of its values, 'one-hot' puts its "
            "indicators into the planes.",
            options=("subsets", "one-hot"),
        ),
        Flag("cuts", True, help="Add the published inequalities on class sizes.", advanced=True),
        FloatRange(
            "big_m",
            1.0,
            "M",
            "Largest score; it only fixes the scale of epsilon and the prices.",
            low=1e-2,
            high=1e3,
            advanced=True,
        ),
        oblique.SHATTERING,
        replace(oblique.START_SECONDS, default=6.0),
    ),
    constraints=frozenset({"class_weight"}),
    capabilities=(Capability.ASSIGNMENT_SEARCH, Capability.LINEAR),
    sense=Sense.MINIMISE,
    objective="errors + alpha1 x missing margins + alpha2 x 1-norms",
    max_depth=6,
    equations=(
        (
            r"\min \sum_i c_i + \alpha_1 \sum_{i,b} m_{ib} + \alpha_2 \sum_b \lVert h_b \rVert_1",
            "errors, missing margins and small weights",
        ),
        (r"g_b - h_b^\top x_i = p^+_{ib} - p^-_{ib}", "score of a row at a node"),
        (
            r"p^+_{ib} + m_{ib} \ge \varepsilon e_{il},\quad p^-_{ib} \le M(1 - e_{il})",
            "left of b: on the left side, with a margin",
        ),
        (
            r"p^-_{ib} + m_{ib} \ge \varepsilon e_{il},\quad p^+_{ib} \le M(1 - e_{il})",
            "right of b: on the right side, with a margin",
        ),
        (r"c_i \ge e_{il} - k_{l,y_i}", "a row in a leaf of another class is an error"),
    ),
    teaching=TeachingText(
        "SVM1-ODT",
        "Slanted splits with small weights (the 1-norm), and soft margins that cost where points "
        "come too close.",
        "The 1-norm prefers weights of zero: where the points allow it, a line stays square to an "
        "axis.",
    ),
    good_at="Many classes and categorical columns in one small oblique tree, proven on some "
    "hundred rows of numbers where few errors are left; on large data train on selected rows "
    "(`octcore.solve_selected`).",
)


@formulation(INFO)
def build(problem: Problem) -> Program:
    """Make the SVM1-ODT program of a problem."""
    judge = SVM1Trees(problem)
    judge.refuse_unfit()
    model = SVM1Model(judge)
    least = metrics.conflict_errors(problem.X, problem.y, problem.weights)
    task = judge.task
    exact = (Capability.ASSIGNMENT_SEARCH,) if task is not None else ()
    return Program(
        sense=Sense.MINIMISE,
        capabilities=(*exact, Capability.LINEAR),
        evaluate=judge.evaluate,
        size=model.size,
        build=model.build,
        search=task,
        prove=None if task is None else task.prove,
        kernels=ALL,
        tolerance=GAP,
        feasibility=judge.feasibility,
        starts=judge.starts,
        improve=judge.improve,
        bound=max(least, oblique.unnamed_classes(problem.class_weights, 2**problem.depth)),
        claims=judge.claims,
        findings=judge.findings,
    )


@dataclass(frozen=True, eq=False)
class SVM1Model:
    """Builders of the model; rows are merged by features and class."""

    judge: SVM1Trees

    @cached_property
    def values(self) -> np.ndarray:
        """Value of every row in every group of F_c, -1 for none."""
        return self.judge.space.values(self.judge.sets.rows.X)

    @property
    def size(self) -> ModelSize:
        """Estimate from the counts of rows and nodes."""
        sets = self.judge.sets
        n, branch, leaves = len(sets.I), len(sets.B), len(sets.L)
        values = sum(len(g) for g in self.judge.space.groups)
        groups, subsets = len(self.judge.space.groups), 2 * branch * n if values else 0
        published = self.judge.problem.params["labels"] == "published"
        return ModelSize(
            rows=5 * branch * n + subsets + n * (1 + leaves * (4 if published else 1)),
            columns=n * (3 * branch + leaves + 1) + branch * (2 * len(sets.columns) + values + 1),
            binaries=n * (leaves + 1) + branch * (values + groups) + leaves * len(sets.K),
            nonzeros=branch * n * (2 * len(sets.columns) + 9 + 4 * leaves) + n * leaves * 6,
        )

    def build(self, guard: Callable[[], None]) -> PyomoModel:
        """Build variables, numbered equations and the objective."""
        sets, problem = self.judge.sets, self.judge.problem
        model: Any = pyo.ConcreteModel("SVM1-ODT")
        self._variables(model)
        if self.judge.space.groups:
            self._subsets(model, guard)
        self._scores(model, guard)
        self._margins(model, guard)
        separators: tuple[Any, ...] = ()
        if problem.params["labels"] == "published":
            self._published_labels(model, guard)
            cut = ClassTransversalCuts(sets.rows, model.c, model.e, len(sets.K), len(sets.L))
            separators = (cut,) if problem.params["cuts"] else ()
        else:
            self._binary_labels(model, guard)
        if problem.params["cuts"]:
            add_class_size_rows(model, sets.rows, len(sets.K), list(sets.L))
        cuts = oblique.shattering_at_leaves(sets.rows.X, model.e, problem, self.judge.strip)
        self._objective(model)
        return PyomoModel.of(model, self, separators=(*separators, *cuts))

    def _variables(self, model: Any) -> None:
        sets = self.judge.sets
        I, B, L, F = sets.I, sets.B, sets.L, sets.columns
        prices = self.judge.prices
        # g is a score and h.x, of which no column is above 1; beyond the margin nothing is missing.
        reach = prices.big_m + WEIGHT_BOX * max(1, len(F))
        model.h_plus = pyo.Var(B, F, bounds=(0, WEIGHT_BOX), doc="h_bj = h+_bj - h-_bj")
        model.h_minus = pyo.Var(B, F, bounds=(0, WEIGHT_BOX), doc="h-_bj")
        model.g = pyo.Var(B, bounds=(-reach, reach), doc="g_b: threshold")
        model.p_plus = pyo.Var(I, B, bounds=(0, prices.big_m), doc="p+_ib: score on the left")
        model.p_minus = pyo.Var(I, B, bounds=(0, prices.big_m), doc="p-_ib: score on the right")
        model.m = pyo.Var(I, B, bounds=(0, prices.margin), doc="m_ib: missing margin")
        model.e = pyo.Var(I, L, domain=pyo.Binary, doc="e_il: row i ends at leaf l")
        model.c = pyo.Var(I, domain=pyo.Binary, doc="c_i: row i is wrong")
        equations.add_one_terminal(model, sets, model.e, doc="(1k) sum_l e_il = 1")

    def _tests_value(self, model: Any, b: int) -> list[Any]:
        """Terms of H_b, whether node b tests a categorical column."""
        return [model.h_cat[b, g] for g in range(len(self.judge.space.groups))]

    def _scores(self, model: Any, guard: Callable[[], None]) -> None:
        sets = self.judge.sets
        X = sets.rows.X[:, sets.columns]

        @model.Constraint(sets.I, sets.B, doc="(1f) g_b - h_b.x_i = p+_ib - p-_ib")
        def score(_: Any, i: int, b: int) -> Any:
            guard()
            x = [(float(X[i, j]), sets.columns[j]) for j in np.flatnonzero(X[i])]
            plus = ((-v, model.h_plus[b, j]) for v, j in x)
            minus = ((v, model.h_minus[b, j]) for v, j in x)
            apart = (-1.0, model.p_plus[i, b]), (1.0, model.p_minus[i, b])
            return 0.0, paired((1.0, model.g[b]), *plus, *minus, *apart), 0.0

    def _margins(self, model: Any, guard: Callable[[], None]) -> None:
        sets = self.judge.sets
        prices, depth = self.judge.prices, self.judge.problem.depth
        sides = {0: (model.p_plus, model.p_minus), 1: (model.p_minus, model.p_plus)}
        has_subsets = bool(self.judge.space.groups)

        def below(i: int, b: int, side: int) -> list[Any]:
            guard()
            return [model.e[i, leaf] for leaf in topology.terminals_below(2 * b + side, depth)]

        def kept(width: float, own: list[Any], i: int, b: int, side: int) -> Any:
            there = below(i, b, side)
            tests = self._tests_value(model, b) if has_subsets else []
            values = [*[1.0] * len(own), *[-width] * len(there), *[width] * len(tests)]
            return 0.0, linear(values, [*own, *there, *tests]), None

        doc = "(1g), (1i) p of the other side <= M (1 - sum_l e_il)"

        @model.Constraint(sets.I, sets.B, (0, 1), doc=doc)
        def wrong_side(_: Any, i: int, b: int, side: int) -> Any:
            there = below(i, b, side)
            values = [1.0, *[prices.big_m] * len(there)]
            return None, linear(values, [sides[side][1][i, b], *there]), prices.big_m

        doc = "(1h), (1j) p of the own side + m_ib >= epsilon (sum_l e_il - H_b)"

        @model.Constraint(sets.I, sets.B, (0, 1), doc=doc)
        def margin(_: Any, i: int, b: int, side: int) -> Any:
            return kept(prices.margin, [sides[side][0][i, b], model.m[i, b]], i, b, side)

        if prices.right:
            model.strict = pyo.Constraint(
                sets.I,
                sets.B,
                rule=lambda _, i, b: kept(prices.right, [model.p_minus[i, b]], i, b, 1),
                doc="right-goers are off the plane: p-_ib >= distance (sum_l e_il - H_b)",
            )

    def _subsets(self, model: Any, guard: Callable[[], None]) -> None:
        sets = self.judge.sets
        groups, B, depth = self.judge.space.groups, sets.B, self.judge.problem.depth
        G, pairs = range(len(groups)), [(g, v) for g, j in enumerate(groups) for v in range(len(j))]
        model.h_cat = pyo.Var(B, G, domain=pyo.Binary, doc="h_bj: node b tests categorical j")
        model.s = pyo.Var(B, pairs, domain=pyo.Binary, doc="s_bjv: value v goes left")
        model.one_test = pyo.Constraint(
            B, rule=lambda _, b: pyo.quicksum(self._tests_value(model, b)) <= 1, doc="H_b <= 1"
        )

        @model.Constraint(B, pairs, doc="s_bjv <= h_bj")
        def value_of_test(_, b, g, v):
            return model.s[b, g, v] <= model.h_cat[b, g]

        doc = "left: s of the value >= sum_l e_il + H_b - 1; right: <= 2 - sum_l e_il - H_b"

        @model.Constraint(sets.I, B, (0, 1), doc=doc)
        def go_by_value(_: Any, i: int, b: int, side: int) -> Any:
            guard()
            own = [model.s[b, g, int(v)] for g, v in enumerate(self.values[i]) if v >= 0]
            there = [model.e[i, leaf] for leaf in topology.terminals_below(2 * b + side, depth)]
            tests = self._tests_value(model, b)
            terms = [*own, *there, *tests]
            if side == 0:
                values = [1.0] * len(own) + [-1.0] * (len(there) + len(tests))
                return -1.0, linear(values, terms), None
            return None, linear([1.0] * len(terms), terms), 2.0

        doc = "H_b - 1 <= h_bj <= 1 - H_b, with the box of the weights"

        @model.Constraint(B, sets.columns, doc=doc)
        def no_plane(_: Any, b: int, j: int) -> Any:
            box = WEIGHT_BOX * (1 - pyo.quicksum(self._tests_value(model, b)))
            return model.h_plus[b, j] + model.h_minus[b, j] <= box

    def _binary_labels(self, model: Any, guard: Callable[[], None]) -> None:
        sets = self.judge.sets
        y = sets.rows.y
        model.k = pyo.Var(sets.L, sets.K, domain=pyo.Binary, doc="k_lc: leaf l predicts class c")
        equations.add_one_label(model, sets, model.k, doc="sum_c k_lc = 1")

        @model.Constraint(sets.I, sets.L, doc="c_i >= e_il - k_l,y(i)")
        def wrong(_: Any, i: int, leaf: int) -> Any:
            guard()
            terms = [model.c[i], model.e[i, leaf], model.k[leaf, int(y[i])]]
            return 0.0, linear([1.0, -1.0, 1.0], terms), None

    def _published_labels(self, model: Any, guard: Callable[[], None]) -> None:
        sets = self.judge.sets
        I, L, Y = sets.I, sets.L, len(sets.K)
        y = sets.rows.y + 1
        model.u = pyo.Var(L, bounds=(1, Y), doc="u_l: label of leaf l")
        model.w = pyo.Var(I, L, bounds=(0, Y), doc="w_il = u_l e_il")

        def predicted(i: int) -> Any:
            guard()
            return pyo.quicksum(model.w[i, leaf] for leaf in L)

        @model.Constraint(I, doc="(1b) (y_i - Y) c_i <= y_i - sum_l w_il")
        def error_above(_, i):
            return int(y[i]) - predicted(i) >= (int(y[i]) - Y) * model.c[i]

        @model.Constraint(I, doc="(1b) y_i - sum_l w_il <= (y_i - 1) c_i")
        def error_below(_, i):
            return int(y[i]) - predicted(i) <= (int(y[i]) - 1) * model.c[i]

        @model.Constraint(I, L, doc="(1d) w_il >= e_il")
        def product_low(_, i, leaf):
            return model.w[i, leaf] >= model.e[i, leaf]

        @model.Constraint(I, L, doc="(1d) u_l - w_il + e_il >= 1")
        def product_gap(_, i, leaf):
            return model.u[leaf] - model.w[i, leaf] + model.e[i, leaf] >= 1

        @model.Constraint(I, L, doc="(1e) Y e_il + u_l - w_il <= Y")
        def product_label(_, i, leaf):
            return Y * model.e[i, leaf] + model.u[leaf] - model.w[i, leaf] <= Y

        @model.Constraint(I, L, doc="(1e) w_il <= Y e_il")
        def product_high(_, i, leaf):
            return model.w[i, leaf] <= Y * model.e[i, leaf]

    def _objective(self, model: Any) -> None:
        sets = self.judge.sets
        prices, weights = self.judge.prices, [float(w) for w in sets.rows.weights]
        wrong = pyo.quicksum(w * model.c[i] for i, w in enumerate(weights))
        missing = pyo.quicksum(
            prices.missing * w * model.m[i, b] for i, w in enumerate(weights) for b in sets.B
        )
        sizes = (model.h_plus[b, j] + model.h_minus[b, j] for b in sets.B for j in sets.columns)
        norm = pyo.quicksum(prices.norm * size for size in sizes)
        model.objective = pyo.Objective(
            expr=wrong + missing + norm,
            sense=pyo.minimize,
            doc="(1a) errors + alpha1 x missing margin + alpha2 x 1-norms",
        )

    def read_tree(self, model: Any, point: Point) -> Tree:
        """Read the routing and the subsets; labels are the best ones for the routed rows.

        A plane is the best one for the rows that the model sends to its sides: its own plane keeps
        them there only up to the solver's tolerance.
        """
        sets, depth = self.judge.sets, self.judge.problem.depth
        shape = len(sets.B), len(sets.columns)
        h = point.table(model.h_plus, *shape) - point.table(model.h_minus, *shape)
        g, groups = point.array(model.g), self.judge.space.groups
        tests = point.table(model.h_cat, len(sets.B), len(groups)) if groups else np.zeros(shape)
        leaf = point.table(model.e, len(sets.I), len(sets.L)).argmax(axis=1) + sets.L.start
        planes = {}
        for b in sets.B:
            if groups and tests[b - 1].sum() > 0.5:
                planes[b] = self._read_subset(model, point, b, int(tests[b - 1].argmax()))
                continue
            below = (topology.terminals_below(child, depth) for child in topology.children(b))
            left, right = (np.flatnonzero(np.isin(leaf, ends)) for ends in below)
            weights = np.zeros(self.judge.problem.n_features)
            weights[sets.columns] = np.where(np.abs(h[b - 1]) > 1e-9, h[b - 1], 0.0)
            read = weights, float(-g[b - 1] - self.judge.distance)
            planes[b] = self.judge.margin_plane(left, right) or read
        return self.judge.tree(planes, sets.L)

    def _read_subset(
        self, model: Any, point: Point, b: int, group: int
    ) -> tuple[np.ndarray, float]:
        columns = [
            self.judge.space.groups[g][v]
            for (node, g, v), value in zip(model.s, point.array(model.s), strict=True)
            if node == b and g == group and value > 0.5
        ]
        return self.judge.space.subset_plane(columns)

    def start_values(self, model: Any, tree: Tree) -> list[tuple[Any, np.ndarray]]:
        """Values of all variables for a tree; nodes below a leaf send everything right."""
        sets = self.judge.sets
        judge, n, depth = self.judge, len(sets.I), self.judge.problem.depth
        terminal = TerminalValues(tree, self.judge.problem, sets)
        h = np.zeros((len(sets.B), len(sets.columns)))
        g = np.full(len(sets.B), -max(judge.prices.margin, judge.prices.right))
        groups = judge.space.groups
        cat = np.zeros((len(sets.B), len(groups)))
        left_values: set[tuple[int, int, int]] = set()
        for b, split in tree.splits.items():
            group = judge.space.group_of(split)
            if group is None:
                h[b - 1] = split.dense(self.judge.problem.n_features)[sets.columns]
                g[b - 1] = judge.threshold(split)
            else:
                cat[b - 1, group], g[b - 1] = 1.0, 0.0
                left_values |= {(b, group, groups[group].index(j)) for j in split.features}
        score = g - sets.rows.X[:, sets.columns] @ h.T
        passes = np.zeros((n, len(sets.B)))
        for b in sets.B:
            below = [leaf - sets.L[0] for leaf in topology.terminals_below(b, depth)]
            passes[:, b - 1] = terminal.z[:, below].sum(axis=1) * (1 - cat[b - 1].sum())
        missing = np.maximum(0.0, judge.prices.margin - np.abs(score)) * passes
        label = np.where(terminal.used > 0, terminal.c.argmax(axis=1), 0)
        predicted = (terminal.z @ label).round().astype(int)
        values: list[tuple[Any, np.ndarray]] = [
            (model.h_plus, np.maximum(h, 0)),
            (model.h_minus, np.maximum(-h, 0)),
            (model.g, g),
            (model.p_plus, np.maximum(score, 0)),
            (model.p_minus, np.maximum(-score, 0)),
            (model.m, missing),
            (model.e, terminal.z),
            (model.c, (predicted != sets.rows.y).astype(float)),
        ]
        if groups:
            values.append((model.h_cat, cat))
            values.append((model.s, np.array([float(key in left_values) for key in model.s])))
        if hasattr(model, "k"):
            values.append((model.k, np.eye(len(sets.K))[label]))
        else:
            values += [(model.u, label + 1.0), (model.w, terminal.z * (label + 1.0))]
        return values


class ClassTransversalCuts:
    """Separates class-transversal cuts of single leaves exactly.

    With at most one row per class in I, a leaf classifies at most one of them correctly::

        sum_{i in I} c_i >= sum_{i in I} e_il - 1

    `c`, `e`: ``c[i]``, row i is wrong; ``e[i, leaf]``, row i ends at leaf l.
    """

    kind = "class-transversal"

    def __init__(self, rows: MergedRows, c: Any, e: Any, n_classes: int, n_leaves: int) -> None:
        self.rows, self.c, self.e = rows, c, e
        self.n_classes, self.n_leaves = n_classes, n_leaves

    def separate(self, point: Point, state: SearchState) -> list[Cuts]:
        """Per leaf and class take the row with the largest ``e_il - c_i``, if positive."""
        n = len(self.rows)
        c, e = point.array(self.c), point.table(self.e, n, self.n_leaves)
        at_c, at_e = point.columns.of(self.c), point.columns.of(self.e).reshape(n, self.n_leaves)
        of_class = [np.flatnonzero(self.rows.y == k) for k in range(self.n_classes)]
        found: list[tuple[list[int], list[float]]] = []
        for leaf in range(self.n_leaves):
            worth = e[:, leaf] - c
            best = [int(rows[worth[rows].argmax()]) for rows in of_class if len(rows)]
            chosen = [i for i in best if worth[i] > 0]
            if sum(worth[i] for i in chosen) > 1 + VIOLATION:
                columns = [*(int(at_e[i, leaf]) for i in chosen), *(int(at_c[i]) for i in chosen)]
                found.append((columns, [1.0] * len(chosen) + [-1.0] * len(chosen)))
        if not found:
            return []
        columns, values = zip(*found, strict=True)
        matrix = sparse_rows(columns, point.columns.n_columns, values)
        return [Cuts(self.kind, matrix, np.ones(len(found)))]


def add_class_size_rows(
    model: Any, rows: MergedRows, n_classes: int, leaves: Sequence[int]
) -> None:
    """Add the corollaries for all rows; sizes are weights, s_1 the smallest, s_Y the largest."""
    c, e, weights = model.c, model.e, [float(w) for w in rows.weights]
    sizes = sorted(np.bincount(rows.y, rows.weights, n_classes))
    spare = n_classes - len(leaves)
    wrong = pyo.quicksum(w * c[i] for i, w in enumerate(weights))

    def inside(leaf: int) -> Any:
        return pyo.quicksum(w * e[i, leaf] for i, w in enumerate(weights))

    model.largest_class = pyo.Constraint(
        leaves,
        rule=lambda _, leaf: wrong >= inside(leaf) - float(sizes[-1]),
        doc="(proposition 1) a leaf gets no more right than the largest class",
    )
    if spare >= 0:
        model.smallest_class = pyo.Constraint(
            leaves,
            rule=lambda _, leaf: wrong + inside(leaf) >= float(sizes[0]) * (spare + 1),
            doc="(proposition 1) the other leaves leave Y - 2^D + 1 classes without a leaf",
        )
    if spare > 0:
        model.classes_without_leaf = pyo.Constraint(
            expr=wrong >= float(sum(sizes[:spare])),
            doc="(proposition 1) Y - 2^D classes have no leaf",
        )
