"""The master problem of BendOCT, and how an engine works with it: separators, branching, trees.

Sets: branch nodes B, all nodes N of the perfect tree, features F, classes K, hits H (groups of
rows with equal features and class).  Variables (letters of the paper): ``b[m, f]`` node m tests f,
``p[m]`` node m is a leaf, ``w[m, k]`` leaf m predicts k, ``theta[h]`` hit h is classified
correctly; ``s[m] = sum_f b[m, f]`` is ours and only makes rows sparser.  Equation numbers are those
of Keegan et al.: objective (4a), tree (3b) to (3d), theta at most 1 (4b), Benders cuts (4c).

With a recall floor or a fairness limit the model needs to know what *wrong* rows are predicted
too.  Then hits are all pairs of a pattern and a class and the hits of a pattern sum to one, which
makes them exact at integer points in both directions.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyomo.environ as pyo
from scipy.sparse import csr_matrix

from octcore.data.distinct import distinct_rows
from octcore.formulations.shared import side_constraints as side
from octcore.formulations.shared.constraint_kinds import PREDICTION, recall_floors
from octcore.formulations.shared.separation.max_flow import BendersCuts
from octcore.formulations.shared.separation.tree_rows import Instance, TreeLayout, TreePoint
from octcore.formulations.shared.tree_model import linear
from octcore.formulations.shared.univariate import read_splits
from octcore.program import Child, Columns, Cuts, ModelSize, Point, Problem, SearchState
from octcore.search.univariate.bit_table import reduce_columns
from octcore.tree import topology
from octcore.tree.constraints import Constraints
from octcore.tree.tree import Tree

NAMES_FEATURES = frozenset(
    {"max_features", "forbidden_pairs", "root_feature", "feature_once_per_path"}
)
"""With these constraints equal columns of different raw features are not interchangeable."""
HARMLESS = frozenset({"forbidden_features"})
"""Constraints that change the data only: every subtree stays independent."""


@dataclass(frozen=True, eq=False)
class ReducedProblem:
    """A problem after merging equal rows and dropping useless columns."""

    problem: Problem
    instance: Instance
    counts: np.ndarray
    """Number of rows of every pattern and class, shape ``(n_patterns, n_classes)``."""
    pattern_of_row: np.ndarray  # shape ``(n_samples,)``
    all_pairs: bool  # whether hits are all pairs of a pattern and a class

    @property
    def layout(self) -> TreeLayout:
        """Variables of the model."""
        return self.instance.layout(self.problem.depth)

    @property
    def couples(self) -> bool:
        """Whether a side constraint couples a subtree with the rest of the tree."""
        return bool(self.problem.constraints.active - HARMLESS)


def reduce_problem(problem: Problem) -> ReducedProblem:
    """Drop forbidden and interchangeable columns and merge rows that no tree can tell apart."""
    wanted, excluded = problem.constraints, problem.forbidden_columns
    if wanted.active & NAMES_FEATURES:  # a column may be allowed where an equal one is not
        kept = np.flatnonzero(~excluded)
    else:
        kept, _ = reduce_columns(problem.X, excluded)
    X = np.ascontiguousarray(problem.X[:, kept], np.uint8)
    if len(kept):
        sample, pattern = distinct_rows(X)
    else:
        sample, pattern = np.zeros(1, np.int64), np.zeros(len(X), np.int64)
    shape = (len(sample), problem.n_classes)
    counts, weights = np.zeros(shape, np.int64), np.zeros(shape)
    np.add.at(counts, (pattern, problem.y), problem.counts)
    np.add.at(weights, (pattern, problem.y), problem.weights)
    all_pairs = bool(wanted.active & PREDICTION)
    rows, targets = np.nonzero(np.ones(shape, bool) if all_pairs else weights > 0)
    instance = Instance(
        X[sample], rows, targets, weights[rows, targets], problem.n_classes, sample, kept
    )
    return ReducedProblem(problem, instance, counts, pattern, all_pairs)


class TreeVariables:
    """The variables of the master and their flat order.

    `instance`: features; variables are indexed by their encoded columns.
    """

    def __init__(
        self, model: Any, layout: TreeLayout, instance: Instance, binary_labels: bool
    ) -> None:
        self.layout = layout
        self._positions: np.ndarray | None = None
        self.features = [int(j) for j in instance.feature]
        branch = pyo.RangeSet(1, layout.n_branch)
        nodes = pyo.RangeSet(1, layout.n_nodes)
        classes = pyo.RangeSet(0, layout.n_classes - 1)
        labels = pyo.Binary if binary_labels else pyo.UnitInterval
        model.b = pyo.Var(branch, self.features, domain=pyo.Binary)
        model.s = pyo.Var(branch, domain=pyo.UnitInterval)
        model.p = pyo.Var(nodes, domain=pyo.Binary)
        model.w = pyo.Var(nodes, classes, domain=labels)
        model.theta = pyo.Var(pyo.RangeSet(0, layout.n_hits - 1), domain=pyo.UnitInterval)
        self.components = (model.b, model.s, model.p, model.w, model.theta)

    def positions(self, columns: Columns) -> np.ndarray:
        """Column of every variable in flat order."""
        if self._positions is None:
            self._positions = np.concatenate([columns.of(part) for part in self.components])
        return self._positions

    def read(self, point: Point) -> TreePoint:
        """Values in flat order."""
        return TreePoint(self.layout, point.x[self.positions(point.columns)])


def make_master(
    name: str,
    reduced: ReducedProblem,
    penalty: float,
    guard: Callable[[], None],
    binary_labels: bool = False,
) -> tuple[Any, TreeVariables]:
    """Make the master problem, to which cuts are added: tree, objective and side constraints.

    `penalty`: price of a leaf on the count scale.
    `binary_labels`: whether labels are integral; those that side constraints look at always are.
    """
    model: Any = pyo.ConcreteModel(name=name)
    variables = TreeVariables(
        model, reduced.layout, reduced.instance, binary_labels or reduced.all_pairs
    )
    _add_tree(model, variables)
    gained = pyo.quicksum(
        float(weight) * model.theta[h] for h, weight in enumerate(reduced.instance.weight) if weight
    )
    model.count_value = pyo.Objective(
        expr=gained - penalty * pyo.quicksum(model.p.values()),
        sense=pyo.maximize,
        doc="(4a) weight of hits minus the penalties, on the scale of counts",
    )
    # Data changes such as class weights are done; the other side constraints are rows.
    problem, smallest = reduced.problem, reduced.problem.constraints.min_samples_leaf
    side.add_structural_rows(model, problem, model.b, variables.features)
    if smallest is not None:
        # Only correct rows flow in the master, so the leaf sizes need rows for all of them.
        only_size = replace(problem, constraints=Constraints(min_samples_leaf=smallest))
        side.FullRouting(model, only_size, model.b, model.w, model.p, variables.features, guard)
    if reduced.all_pairs:
        _add_prediction_rows(model, reduced)
    return model, variables


def _add_tree(model: Any, variables: TreeVariables) -> None:
    """Add the rows of the perfect tree: one decision per node, one label per leaf."""
    layout, features = variables.layout, variables.features
    classes = range(layout.n_classes)

    @model.Constraint(pyo.RangeSet(1, layout.n_branch), doc="(ours) s_m = sum_f b_mf")
    def branching_mass(model: Any, m: int) -> Any:
        return pyo.quicksum(model.b[m, f] for f in features) == model.s[m]

    doc = "(3b), (3d) as differences: p_m + s_m = s_parent; every path has exactly one leaf"

    @model.Constraint(pyo.RangeSet(1, layout.n_nodes), doc=doc)
    def one_decision(model: Any, m: int) -> Any:
        own = model.p[m] + (model.s[m] if m <= layout.n_branch else 0)
        return own == (1 if m == 1 else model.s[m // 2])

    @model.Constraint(pyo.RangeSet(1, layout.n_nodes), doc="(3c) sum_k w_mk = p_m")
    def one_label(model: Any, m: int) -> Any:
        return pyo.quicksum(model.w[m, k] for k in classes) == model.p[m]


def _add_prediction_rows(model: Any, reduced: ReducedProblem) -> None:
    problem, counts = reduced.problem, reduced.counts
    n_classes, theta = problem.n_classes, model.theta
    model.one_prediction = pyo.Constraint(
        range(len(counts)),
        rule=lambda _, i: pyo.quicksum(theta[i * n_classes + k] for k in range(n_classes)) == 1,
        doc="every pattern gets exactly one class, so hits are exact at integer points",
    )
    floors = recall_floors(problem)

    @model.Constraint(list(floors), doc="enough rows of a class are classified correctly")
    def recall_floor(_, k):
        return _right(theta, counts[:, k], k, n_classes) >= floors[k]

    positive = problem.context.positive_class
    side.add_parity_rows(
        model, problem, reduced.pattern_of_row, lambda i: theta[i * n_classes + positive]
    )


def _right(theta: Any, counts: np.ndarray, k: int, n_classes: int) -> Any:
    """Number of the rows of a class that are right."""
    used = np.flatnonzero(counts)
    if not len(used):  # an expression all the same: Pyomo takes no row without a variable
        return 0 * theta[0]
    return linear(counts[used].tolist(), [theta[int(i) * n_classes + k] for i in used])


def estimate_size(reduced: ReducedProblem) -> ModelSize:
    """Estimate the size before the model is built: the master and one round of cuts.

    A cut at a fractional point names at every branch node the columns that send its hit one way,
    half of them on average, and without a cut per hit the model proves nothing.
    """
    layout = reduced.layout
    rows, columns, nonzeros = (0, 0, 0)
    if reduced.problem.constraints.min_samples_leaf is not None:
        rows, columns, nonzeros = side.routing_size(reduced.problem)
    own = layout.n_branch + 2 * layout.n_nodes
    entries = layout.mass_start + layout.n_nodes * (layout.n_classes + 4)
    cuts = layout.n_hits * (layout.n_nodes + layout.mass_start // 2)
    return ModelSize(
        rows + own + layout.n_hits,
        columns + layout.n_variables,
        layout.mass_start + layout.n_nodes,
        nonzeros + entries + cuts,
    )


@dataclass(frozen=True, eq=False)
class LinkedSeparator:
    """Hands points to a separator of tree rows and gives its rows to the engine."""

    variables: TreeVariables
    find: Callable[[TreePoint, SearchState], list[Cuts]]  # ``(point, state) -> rows``

    def separate(self, point: Point, state: SearchState) -> list[Cuts]:
        """Return violated inequalities; empty when there are none."""
        found = self.find(self.variables.read(point), state)
        return renumbered(found, self.variables.positions(point.columns), len(point.x))


def renumbered(found: list[Cuts], columns: np.ndarray, n_columns: int) -> list[Cuts]:
    """Rows over the variables in flat order as rows over the columns of the compiled model."""

    def matrix(cuts: Cuts) -> csr_matrix:
        entries, shape = cuts.matrix.tocoo(), (len(cuts.rhs), n_columns)
        return csr_matrix((entries.data, (entries.row, columns[entries.col])), shape)

    return [replace(cuts, matrix=matrix(cuts)) for cuts in found]


INTEGRAL_TOLERANCE, ROOT_TOLERANCE, NODE_TOLERANCE = 1e-6, 1e-3, 1e-2
"""Violations worth a row: all of them where the model would be wrong, clear ones elsewhere."""


def cut_tolerance(state: SearchState) -> float:
    """Smallest violation that counts at a node."""
    if state.is_integral:
        return INTEGRAL_TOLERANCE
    return ROOT_TOLERANCE if state.is_root else NODE_TOLERANCE


def benders_separator(variables: TreeVariables, instance: Instance) -> LinkedSeparator:
    """Benders cuts at every point, as the engine asks for them."""
    cuts = BendersCuts(variables.layout, instance)
    return LinkedSeparator(
        variables,
        lambda point, state: cuts.separate(point, cut_tolerance(state), state.is_integral),
    )


class TreeReader:
    """Reads trees from points and writes trees as starting values."""

    def __init__(self, reduced: ReducedProblem, variables: TreeVariables) -> None:
        self.reduced, self.variables = reduced, variables

    def read(self, point: Point) -> Tree:
        """Tree of any point: from the root, a node branches if most of its mass does."""
        layout, instance = self.variables.layout, self.reduced.instance
        values = self.variables.read(point)

        def feature_of(m: int) -> int | None:
            if m > layout.n_branch or values.mass[m - 1] <= 0.5:
                return None
            return int(instance.feature[int(values.branch[m - 1].argmax())])

        return read_splits(
            feature_of, lambda m: int(values.label[m - 1].argmax()), self.reduced.problem
        )

    def start_values(self, tree: Tree) -> list[tuple[pyo.Var, np.ndarray]]:
        """Values of the variables at a tree, by component."""
        layout, instance = self.variables.layout, self.reduced.instance
        place = {int(column): f for f, column in enumerate(instance.feature)}
        flat = np.zeros(layout.n_variables)
        for m, split in tree.splits.items():
            feature = place.get(split.features[0])
            if feature is None:
                return []
            flat[layout.branch(m, feature)] = flat[layout.mass(m)] = 1.0
        for m, k in tree.labels.items():
            flat[layout.leaf(m)] = flat[layout.label(m, k)] = 1.0
        predicted = tree.predict_codes(self.reduced.problem.X[instance.sample])
        flat[layout.hit_start :] = predicted[instance.pattern] == instance.target
        ends = [layout.mass_start, layout.leaf_start, layout.label_start, layout.hit_start]
        return list(zip(self.variables.components, np.split(flat, ends), strict=True))


class TopDownBranching:
    """Branches at the shallowest fractional node: its heaviest decision, yes or no.

    Plain most-fractional branching fails on tree models (measured): a decision far down means
    little while those above it are open.
    """

    def __init__(self, variables: TreeVariables) -> None:
        self.variables, self.layout = variables, variables.layout

    def __call__(self, point: Point, lower: np.ndarray, upper: np.ndarray) -> list[Child]:
        """Children of a node: the decision is taken, or it is forbidden."""
        values = self.variables.read(point)
        node = self._node(values)
        if node is None:
            return []
        columns = self.variables.positions(point.columns)
        weights = values.branch[node - 1]
        feature = int(weights.argmax()) if len(weights) else -1
        if not len(weights) or values.leaf[node - 1] > weights[feature]:
            feature = -1
        zeros = [columns[flat] for flat in self._zeros(node, feature)]
        return [(fixed, lower[fixed], np.zeros(len(fixed))) for fixed in zeros]

    def _node(self, values: TreePoint) -> int | None:
        """Shallowest node with a fractional decision; the most fractional one of its level."""
        branch, leaf = values.branch, values.leaf[: self.layout.n_branch]
        distance = np.minimum(branch, 1 - branch).sum(axis=1) + np.minimum(leaf, 1 - leaf)
        for level in range(self.layout.depth):
            nodes = np.arange(2**level, 2 ** (level + 1))
            best = int(nodes[distance[nodes - 1].argmax()])
            if distance[best - 1] > INTEGRAL_TOLERANCE:
                return best
        return None

    def _zeros(self, node: int, feature: int) -> tuple[np.ndarray, np.ndarray]:
        """Flat variables that vanish when the decision is taken, and when it is refused."""
        layout = self.layout
        features = np.arange(layout.n_features)
        above = [layout.leaf(a) for a in topology.ancestors(node)]
        others = layout.branch(node, features[features != feature])
        if feature < 0:
            return np.array([*above, *others]), np.array([layout.leaf(node)])
        # A second test of the same feature further down separates nothing.
        below = [layout.branch(m, feature) for m in layout.below(node, 1) if m <= layout.n_branch]
        taken = np.array([*above, layout.leaf(node), *others, *below])
        return taken, np.array([layout.branch(node, feature)])
