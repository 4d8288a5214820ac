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

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyomo.environ as pyo

from octcore.formulations.base import BERTSIMAS_DUNN, FormulationInfo, TeachingText, formulation
from octcore.formulations.shared import oblique, terminals
from octcore.formulations.shared import side_constraints as side
from octcore.formulations.shared import tree_model as equations
from octcore.formulations.shared.tree_model import TreeSets, paired
from octcore.formulations.shared.univariate import smallest_step, weight_unit
from octcore.numerics.hulls import Gap, widest_gap
from octcore.parameters import FloatRange
from octcore.program import (
    ENDLESS,
    Capability,
    ModelSize,
    Patience,
    Point,
    Problem,
    Program,
    PyomoModel,
    Sense,
)
from octcore.search.assignment import search as assignment
from octcore.search.assignment.states import LEAST_WEIGHT
from octcore.tree import metrics, topology
from octcore.tree.constraints import Constraints, violations
from octcore.tree.tree import Split, Tree
from octcore.warmstart.amending import drop_idle_splits
from octcore.warmstart.goal import TreeGoal
from octcore.warmstart.greedy import greedy_starts
from octcore.warmstart.points import ClassCounts, count_classes, node_gaps, tree_leaves
from octcore.warmstart.sparse_search import SparseSearch
from octcore.warmstart.svm_tree import GAP_SLACK, TreeSearch

LEAF_SHARE = 0.05
"""Smallest leaf when none is asked for: the share of the rows used in the comparisons."""
SPARSE_SHARE = 0.4  # share of the time for first trees that the search for few features gets
NORM = 1e-6
"""Price of a 1-norm in the exact search: nothing beside an error, and enough to choose by."""
POLISH_SECONDS = 0.5  # time to improve one tree of the solver by re-assigning rows

INFO = FormulationInfo(
    key="oct-h",
    place=120,
    title="OCT-H",
    summary="Optimal trees whose splits are hyperplanes; every feature that a hyperplane uses has "
    "a price, so that planes stay readable.",
    reference=BERTSIMAS_DUNN,
    split_kind="oblique",
    hyperparameters=(
        FloatRange(
            "alpha",
            2.0**-6,
            "α",
            "Price of a feature in a split, in units of the majority rule's errors; 0 leaves "
            "accuracy alone.",
            low=0.0,
            high=100.0,
        ),
        FloatRange(
            "epsilon",
            0.005,
            "μ",
            "Width of the empty strip at every split, for weights of 1-norm 1.",
            low=1e-4,
            high=1.0,
            advanced=True,
        ),
        oblique.SHATTERING,
        oblique.START_SECONDS,
    ),
    constraints=frozenset(
        {"min_samples_leaf", "max_leaves", "max_splits", "forbidden_features", "class_weight"}
    ),
    capabilities=(Capability.ASSIGNMENT_SEARCH, Capability.LINEAR),
    sense=Sense.MINIMISE,
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
    teaching=TeachingText(
        "OCT-H",
        "OCT with slanted splits: weights for all features, a price for every feature in a split, "
        "and large constants.",
        "Few errors, but nothing asks for a wide margin: lines may pass close to points.",
    ),
    good_at="Shows how few features an oblique split needs, and proves it on some hundred rows "
    "where few features and few errors do.",
)


def _bound(judge: "OCTHTrees") -> float:
    """What conflicting rows, the number of classes and the price of features allow."""
    problem = judge.problem
    X, y, weights = problem.X, problem.y, problem.weights
    least = metrics.conflict_errors(X, y, weights), oblique.best_stump_errors(X, y, weights)
    errors = oblique.priced_bound(problem.class_weights, *least, judge.price, judge.most_splits)
    return errors / problem.majority_errors


@formulation(INFO)
def build(problem: Problem) -> Program:
    """Make the OCT-H program of a problem."""
    judge = OCTHTrees(with_leaf_size(problem))
    model, problem = OCTHModel(judge), judge.problem
    unit = weight_unit(problem.weights) / problem.majority_errors
    most = len(judge.sets.columns) * len(judge.sets.B)
    task = judge.task
    exact = (Capability.ASSIGNMENT_SEARCH,) if task is not None else ()
    return Program(
        sense=Sense.MINIMISE,
        capabilities=(*exact, Capability.LINEAR),
        search=task,
        prove=None
        if task is None
        else lambda bound, stop: task.prove(bound * problem.majority_errors, stop),
        kernels=assignment.ALL,
        evaluate=judge.evaluate,
        size=model.size,
        build=model.build,
        scale=1 / problem.majority_errors,
        feasibility=terminals.weight_tolerance(problem, judge.price),
        granularity=smallest_step(unit, judge.alpha, most),
        starts=judge.starts,
        improve=judge.improve,
        bound=_bound(judge),
        claims=(
            f"every split leaves a strip of width {judge.epsilon:g} empty (weights of 1-norm 1): "
            "epsilon-feasible trees only",
            f"leaves of {problem.constraints.min_samples_leaf} rows at least",
        ),
    )


def with_leaf_size(problem: Problem) -> Problem:
    """Fill in the published smallest leaf, 5 % of the rows, where none was asked for."""
    if problem.constraints.min_samples_leaf is not None:
        return problem
    smallest = max(1, int(LEAF_SHARE * problem.n_samples))
    asked: Constraints = replace(problem.constraints, min_samples_leaf=smallest)
    return replace(problem, constraints=asked)


@dataclass(frozen=True, eq=False)
class OCTHTrees:
    """Rows and prices of a problem, and the trees that fit them."""

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
    def sets(self) -> TreeSets:
        """I: all rows; J: columns that may be tested and take two values at least."""
        return terminals.sets_of(self.problem, side.varying_columns(self.problem))

    @cached_property
    def X(self) -> np.ndarray:
        """All rows as numbers; columns that may not be used are zero."""
        X = np.zeros(self.problem.X.shape)
        X[:, self.sets.columns] = self.problem.X[:, self.sets.columns]
        return X

    @cached_property
    def reach(self) -> float:
        """Largest |b| that is ever needed: ``|a.x| <= max |x|`` for weights of 1-norm 1."""
        return max(1.0, float(np.abs(self.X).max(initial=0.0)))

    def evaluate(self, tree: Tree) -> float | None:
        """Objective by routing; None for a tree outside the model."""
        problem = self.problem
        if tree.max_depth > problem.depth or violations(problem.constraints, tree, problem.context):
            return None
        if any(gap < self.epsilon * (1 - GAP_SLACK) for gap in node_gaps(tree, self.X).values()):
            return None
        wrong = float(problem.weights[tree.predict_codes(problem.X) != problem.y].sum())
        features = sum(len(split.weights) for split in tree.splits.values())
        return wrong / problem.majority_errors + self.alpha * features

    def tree(self, planes: Mapping[int, tuple[np.ndarray, float]], leaves: Iterable[int]) -> Tree:
        """Make the tree of planes, right where ``w.x + b >= 0``, with the best labels."""
        return oblique.labelled_tree(planes, leaves, self.X, self.problem)

    @property
    def task(self) -> assignment.AssignmentTask | None:
        """Problem of the exact search, which leaves side constraints out; None if it is too large.

        A plane with margins of 1 has a strip of mu or more where its 1-norm is 2 / mu at most.
        """
        problem, rows = self.problem, self.sets.rows
        if not self.sets.columns or not assignment.can_search(problem.n_classes, problem.depth):
            return None
        largest = 2 / oblique.modelled(self.epsilon)
        # Margins are to be kept, not paid for: one costs any row twice what the largest norm does.
        missing = 2 * NORM * largest / float(rows.weights[rows.weights > 0].min())
        numbers = missing, NORM, 1 + largest * self.reach, 1e-9, NORM * largest, self.price
        unit = weight_unit(problem.weights) if self.price else 0.0
        merged = rows.X[:, self.sets.columns], rows.y, rows.weights, problem.n_classes, self.levels
        asked = assignment.AssignmentProblem(*merged, *numbers, unit, box=largest)
        columns = np.array(self.sets.columns)
        return assignment.AssignmentTask(asked, self._of_search, rows.group_of, columns)

    def _of_search(self, planes: assignment.Planes) -> Tree:
        """Tree of the planes of the search, which have margins of 1."""
        dense: dict[int, tuple[np.ndarray, float]] = {}
        for node, (weights, threshold) in planes.items():
            size = np.abs(weights).sum()
            full = np.zeros(self.problem.n_features)
            full[self.sets.columns] = np.where(np.abs(weights) > LEAST_WEIGHT * size, weights, 0.0)
            dense[node] = full, -threshold if size > 0 else float(threshold < 0) - 0.5
        return self.fewest_features(self.tree(dense, topology.terminal_nodes(self.levels)))

    @property
    def price(self) -> float:
        """Price of a feature in weight of errors."""
        return self.alpha * self.problem.majority_errors

    @cached_property
    def points(self) -> ClassCounts:
        """Distinct rows with class weights."""
        problem = self.problem
        return count_classes(self.X, problem.y, problem.weights, problem.n_classes)

    @property
    def most_splits(self) -> int:
        """Largest number of splits: leaves are limited, and hold rows."""
        asked, problem = self.problem.constraints, self.problem
        limits = [2**problem.depth, problem.n_samples // max(1, asked.min_samples_leaf or 1)]
        if asked.leaf_limit is not None:
            limits.append(asked.leaf_limit)
        return max(1, min(limits)) - 1

    @property
    def levels(self) -> int:
        """Levels that a tree of so many splits may have, one at least."""
        return min(self.problem.depth, max(1, self.most_splits))

    def goal(self) -> TreeGoal:
        """What the search for accurate trees maximises; a split costs one feature at least."""
        problem = self.problem
        limits = self.epsilon, self.price, self.most_splits
        return TreeGoal(self.points, problem.depth, *limits, seed=problem.seed)

    def sparse_search(self) -> SparseSearch:
        """Make the search for trees with few features."""
        smallest = self.problem.constraints.min_samples_leaf or 1
        goal = replace(self.goal(), split_price=0.0, feature_price=self.price, least_leaf=smallest)
        return SparseSearch(goal, self.sets.columns)

    def starts(self, patience: Patience) -> Iterator[tuple[str, Tree]]:
        """Yield CART trees, trees with few features, then oblique trees made sparse."""
        yield from greedy_starts(self.problem, self.price, patience)
        seconds = float(self.problem.params["start_seconds"])
        sparse = self.sparse_search()
        for tree in sparse.trees(patience.within(SPARSE_SHARE * seconds)):
            yield "sparse search", tree
        accurate = TreeSearch(self.goal())
        for source, tree in accurate.trees((1 - SPARSE_SHARE) * seconds, patience):
            simple = self.fewest_features(tree, patience)
            yield source, simple
            better = sparse.improve(simple, patience.within(POLISH_SECONDS))
            if better is not None:
                yield "sparse search", better

    def fewest_features(self, tree: Tree, stop: Callable[[], bool] = ENDLESS) -> Tree:
        """Same routing: the fewest features that keep strips; free ones stay if all are wide."""
        tree = drop_idle_splits(tree, self.problem)
        is_kept = self.alpha == 0 and self.evaluate(tree) is not None
        return tree if is_kept else fewest_features(tree, self.X, self.epsilon, stop)

    def improve(self, tree: Tree, patience: Patience) -> Tree:
        """Polish a tree: fewest features, alternated with moving its planes."""
        candidates = [self.fewest_features(tree, patience)]
        moved = self.sparse_search().improve(candidates[0], patience.within(POLISH_SECONDS))
        if moved is not None:
            candidates.append(moved)
        search = TreeSearch(self.goal())
        leaf = tree_leaves(tree, self.points.X, self.problem.depth)
        deadline = time.perf_counter() + patience.within(POLISH_SECONDS)
        if self.alpha == 0 and search.improve(leaf, deadline):
            candidates.append(search.best_tree())
        return oblique.least(self.evaluate, *candidates)


def fewest_features(tree: Tree, X: np.ndarray, epsilon: float, stop: Callable[[], bool]) -> Tree:
    """Same routing, fewer features: backward elimination at every split by the widest-gap LP.

    A split whose sides are not `epsilon` apart keeps its plane.

    `epsilon`: width of the empty strip that every split must keep, for weights of 1-norm 1.
    `stop`: asked before every LP; after a true answer features stay.
    """
    rows, splits = tree.node_rows(X), dict(tree.splits)
    for node, split in tree.splits.items():
        left, right = X[rows[2 * node]], X[rows[2 * node + 1]]
        if len(split.weights) > 1 and len(left) and len(right):
            left, right = np.unique(left, axis=0), np.unique(right, axis=0)
            found = _eliminate(left, right, np.array(split.features), epsilon, stop)
            if found is not None:
                columns, gap = found
                weights = np.zeros(X.shape[1])
                weights[columns] = gap.weights
                splits[node] = Split.on_plane(weights, -(gap.low + gap.high) / 2)
    return replace(tree, splits=splits)


def _eliminate(
    left: np.ndarray,
    right: np.ndarray,
    columns: np.ndarray,
    epsilon: float,
    stop: Callable[[], bool],
) -> tuple[np.ndarray, Gap] | None:
    """Drop features of small weight, many at a time first, as long as the gap stays."""
    best = None if stop() else _gap_on(left, right, columns, epsilon)
    if best is None:
        return None
    needed: set[int] = set()
    block = max(1, len(columns) // 2)
    while True:
        columns, gap = best
        order = [int(columns[k]) for k in np.argsort(np.abs(gap.weights))]
        free = [j for j in order if j not in needed]
        if not free or len(columns) == 1 or stop():
            return best
        block = min(block, len(free), len(columns) - 1)
        smaller = _gap_on(left, right, np.setdiff1d(columns, free[:block]), epsilon)
        if smaller is not None:
            best = smaller
        elif block > 1:
            block //= 2
        else:
            needed.add(free[0])


def _gap_on(
    left: np.ndarray, right: np.ndarray, columns: np.ndarray, epsilon: float
) -> tuple[np.ndarray, Gap] | None:
    gap = widest_gap(left[:, columns], right[:, columns])
    if gap is None or gap.width < epsilon:
        return None
    used = np.abs(gap.weights) > 0
    return columns[used], Gap(gap.weights[used], gap.low, gap.high)


@dataclass(frozen=True, eq=False)
class OCTHModel:
    """Builders of the model; it counts errors (objective times L-hat)."""

    judge: OCTHTrees

    @property
    def mu(self) -> float:
        """Width of the strips."""
        return oblique.modelled(self.judge.epsilon)

    @property
    def size(self) -> ModelSize:
        """Estimate from the counts of rows and nodes."""
        sets = self.judge.sets
        n, columns, classes = len(sets.I), len(sets.columns), len(sets.K)
        branch, leaves = len(sets.B), len(sets.L)
        routing = 2 * branch * n
        nonzeros = routing * (columns + 1) + branch * columns * 10
        return ModelSize(
            rows=routing + n * (leaves + 1) + branch * (4 * columns + 5) + leaves * (classes + 2),
            columns=n * leaves + branch * (3 * columns + 2) + leaves * (classes + 2),
            binaries=n * leaves + branch * (columns + 1) + leaves * (classes + 1),
            nonzeros=nonzeros + n * leaves * (self.judge.problem.depth + classes + 3),
        )

    def build(self, guard: Callable[[], None]) -> PyomoModel:
        """Build variables, equations and the objective."""
        sets = self.judge.sets
        model: Any = pyo.ConcreteModel("OCT-H")
        self._variables(model)
        self._planes(model)
        self._structure(model)
        self._routing(model, guard)
        terminals.add_leaf_size_rows(model, self.judge.problem, sets.rows, model.z, model.l)
        terminals.add_error_rows(model, self.judge.problem, sets.rows, model.z, model.c)
        price = self.judge.price
        model.objective = pyo.Objective(
            expr=pyo.quicksum(model.error[t] for t in sets.L)
            + price * pyo.quicksum(model.s[m, j] for m in sets.B for j in sets.columns),
            sense=pyo.minimize,
            doc="errors + price of the features, times L-hat",
        )
        X = sets.rows.X[:, sets.columns]
        cuts = oblique.shattering_at_leaves(X, model.z, self.judge.problem, self.mu)
        return PyomoModel.of(model, self, separators=cuts)

    def _variables(self, model: Any) -> None:
        sets = self.judge.sets
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
        B, J = self.judge.sets.B, self.judge.sets.columns

        @model.Constraint(B, doc="sum_j |a_mj| <= d_m")
        def norm(_, m):
            return pyo.quicksum(size[m, j] for j in J) <= d[m]

        docs = "|a_mj| >= a_mj", "|a_mj| >= -a_mj"
        equations.add_within(model, "size", a, lambda m, j: size[m, j], docs)
        model.use = pyo.Constraint(
            B, J, rule=lambda _, m, j: size[m, j] <= s[m, j], doc="|a_mj| <= s_mj"
        )
        model.use_of_split = pyo.Constraint(
            B, J, rule=lambda _, m, j: s[m, j] <= d[m], doc="s_mj <= d_m"
        )
        model.split_uses = pyo.Constraint(
            B, rule=lambda _, m: pyo.quicksum(s[m, j] for j in J) >= d[m], doc="sum_j s_mj >= d_m"
        )
        docs = "b_m <= d_m", "b_m >= -d_m"
        equations.add_within(model, "threshold", b, lambda m: self.judge.reach * d[m], docs)

    def _structure(self, model: Any) -> None:
        d, sets = model.d, self.judge.sets
        equations.add_split_below_split(model, sets, d, doc="d_m <= d_parent")
        equations.add_one_terminal(model, sets, model.z, doc="sum_t z_it = 1")
        equations.add_one_label(model, sets, model.c, doc="sum_k c_tk = l_t", used=model.l)
        limit = self.judge.problem.constraints.leaf_limit
        if limit is not None:
            model.leaf_limit = pyo.Constraint(
                expr=pyo.quicksum(d[m] for m in self.judge.sets.B) <= limit - 1,
                doc="leaves <= limit, since leaves = splits + 1",
            )

    def _routing(self, model: Any, guard: Callable[[], None]) -> None:
        sets = self.judge.sets
        X, mu, depth = sets.rows.X[:, sets.columns], self.mu, sets.depth
        big_m = np.abs(X).max(axis=1, initial=0.0) + self.judge.reach

        def scored(i: int, m: int, child: int, factor: float) -> Any:
            """Score of a row, and a factor where it ends below a child."""
            guard()
            own = ((float(X[i, j]), model.a[m, sets.columns[j]]) for j in np.flatnonzero(X[i]))
            below = ((factor, model.z[i, t]) for t in topology.terminals_below(child, depth))
            return paired(*own, (-1.0, model.b[m]), *below)

        @model.Constraint(sets.I, sets.B, doc="a_m.x_i + mu <= b_m + (M_i + mu)(1 - sum_t z_it)")
        def go_left(_: Any, i: int, m: int) -> Any:
            slack = float(big_m[i]) + mu
            return None, scored(i, m, 2 * m, slack), slack - mu

        @model.Constraint(sets.I, sets.B, doc="a_m.x_i >= b_m - M_i (1 - sum_t z_it)")
        def go_right(_: Any, i: int, m: int) -> Any:
            slack = float(big_m[i])
            return -slack, scored(i, m, 2 * m + 1, -slack), None

    def read_tree(self, model: Any, point: Point) -> Tree:
        """Read the planes; every one moves to the middle of its strip."""
        sets = self.judge.sets
        problem, n = self.judge.problem, len(sets.columns)
        a = point.table(model.a, len(sets.B), n)
        s = point.table(model.s, len(sets.B), n)
        b, d = point.array(model.b), point.array(model.d)
        planes = {}
        for m in sets.B:
            is_split = d[m - 1] > 0.5  # without weights too: it then sends all rows to one side
            weights = np.zeros(problem.n_features)
            weights[sets.columns] = np.where(is_split & (s[m - 1] > 0.5), a[m - 1], 0.0)
            planes[m] = weights, float(-b[m - 1] + self.mu / 2) if is_split else 1.0
        return self.judge.tree(planes, sets.L)

    def start_values(self, model: Any, tree: Tree) -> list[tuple[Any, np.ndarray]]:
        """Values of all variables for a tree."""
        sets = self.judge.sets
        values = terminals.TerminalValues(tree, self.judge.problem, sets)
        a, b = np.zeros((len(sets.B), len(sets.columns))), np.zeros(len(sets.B))
        d = np.zeros(len(sets.B))
        visited = tree.node_rows(sets.rows.X)
        for node, split in tree.splits.items():
            weights = split.dense(self.judge.problem.n_features)
            size = float(np.abs(weights).sum())
            scores = split.project(sets.rows.X[visited[node]]) / size
            right = scores > split.threshold / size
            a[node - 1], d[node - 1] = weights[sets.columns] / size, 1.0
            b[node - 1] = scores[right].min() if right.any() else scores.max() + self.mu
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
