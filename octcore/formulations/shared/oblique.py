"""What S-OCT, OCT-H and their relatives share: points, objective, starts, routing and big-M rows.

Columns are scaled to [0, 1].  A plane of weights with 1-norm 1 then has scores in [-1, 1], and the
width of the empty strip around it is its *gap*; trees count only if all their gaps reach epsilon.
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyomo.environ as pyo
from numpy.typing import NDArray

from octcore.formulations.shared.separation.shattering import Routing, ShatteringSeparator
from octcore.formulations.shared.tree_model import add_within, linear
from octcore.formulations.shared.univariate import smallest_step, weight_unit
from octcore.parameters import Flag, FloatRange
from octcore.program import Columns, Problem, Sense
from octcore.tree import metrics, topology
from octcore.tree.constraints import violations
from octcore.tree.tree import Tree, drop_pass_through, tree_from_planes
from octcore.warmstart.amending import drop_idle_splits
from octcore.warmstart.goal import TreeGoal
from octcore.warmstart.points import (
    ClassCounts,
    IntArray,
    PlaneTree,
    centred_planes,
    count_classes,
    node_gaps,
    to_tree,
)
from octcore.warmstart.svm_tree import GAP_SLACK, TreeSearch

USUAL_EPSILON = 0.005  # that of S-OCT's paper
EPSILON = FloatRange(
    "epsilon",
    USUAL_EPSILON,
    "ε",
    "Smallest gap between the two sides of a split, for weights of 1-norm 1 on columns in [0, 1]. "
    "1e-5 stands for any strict separation.",
    low=1e-5,
    high=0.5,
    log=True,
)
START_SECONDS = FloatRange(
    "start_seconds",
    3.0,
    help="Longest time for the heuristic that finds the first trees.",
    low=0.0,
    high=30.0,
    unit="s",
    advanced=True,
)
FloatArray = NDArray[np.float64]
SHATTERING = Flag(
    "shattering_cuts",
    False,
    help="Add shattering inequalities at the root: few rows that no hyperplane divides like this.",
    advanced=True,
)
CUTS_PER_NODE, ROUNDS = 5, 10
"""As published for the initial cuts of S-OCT (init-5): so many sets, until ten rounds are over."""


@dataclass(frozen=True, eq=False)
class CountObjective:
    """Objectives A (correct rows) and B (share of errors plus a price per split)."""

    problem: Problem  # columns in [0, 1]
    alpha: float  # price of a split in accuracy; 0 for objective A
    epsilon: float  # smallest admissible node gap

    @cached_property
    def points(self) -> ClassCounts:
        """Rows of positive weight, merged."""
        problem = self.problem
        counts = problem.weights > 0
        return count_classes(
            problem.X[counts], problem.y[counts], problem.weights[counts], problem.n_classes
        )

    @property
    def sense(self) -> Sense:
        """Direction: A is maximised, B minimised."""
        return Sense.MAXIMISE if self.alpha == 0 else Sense.MINIMISE

    @property
    def max_splits(self) -> int:
        """Largest number of splits (beta)."""
        most = 2**self.problem.depth - 1
        leaves = self.problem.constraints.leaf_limit
        return most if leaves is None else min(most, leaves - 1)

    @property
    def split_price(self) -> float:
        """Price of a split in weight of correct rows."""
        return self.alpha * self.points.total

    def of(self, correct: float, splits: int) -> float:
        """Objective of a number of correct rows and splits."""
        if self.alpha == 0:
            return correct
        return 1.0 - correct / self.points.total + self.alpha * splits

    @property
    def bound(self) -> float:
        """What conflicting identical rows allow, without any split in B."""
        return self.best_with(self.points.conflict_bound)

    def best_with(self, correct: float) -> float:
        """Best objective of trees that get no more than this weight right."""
        step = weight_unit(self.problem.weights)
        if step > 0:
            # Sums of the weights are whole steps; a bound may fall short of one by its rounding.
            correct = step * math.floor(correct / step + 1e-6)
        if self.alpha == 0:
            return correct
        # Without a split the majority is right; with one the price of a split is paid.
        return min(self.of(float(self.points.counts.sum(axis=0).max()), 0), self.of(correct, 1))

    @property
    def granularity(self) -> float:
        """Smallest difference of two values; 0 when rows have no common measure."""
        unit = weight_unit(self.problem.weights)
        if self.alpha == 0:
            return unit
        return smallest_step(unit / self.points.total, self.alpha, self.max_splits)

    def evaluate(self, tree: Tree) -> float | None:
        """Objective by routing; None if a gap is below epsilon or a side constraint is broken."""
        tree = drop_pass_through(tree)
        if any(gap < self.epsilon * (1 - GAP_SLACK) for gap in self.gaps(tree).values()):
            return None
        if violations(self.problem.constraints, tree, self.problem.context):
            return None
        right = tree.predict_codes(self.problem.X) == self.problem.y
        return self.of(float(self.problem.weights[right].sum()), tree.n_splits)

    def gaps(self, tree: Tree) -> dict[int, float]:
        """Gap of every split with rows on both sides."""
        return node_gaps(tree, self.points.X)

    def describe(self, tree: Tree) -> tuple[str, ...]:
        """What the certificate says of the gaps of the final tree."""
        smallest, usual = min(self.gaps(tree).values(), default=None), USUAL_EPSILON
        if smallest is None:
            return ()
        if smallest >= usual * (1 - GAP_SLACK):
            return (f"epsilon-feasible: every node gap reaches {usual} (smallest {smallest:.3g})",)
        return (
            f"separable: the smallest node gap is {smallest:.3g}, below the usual epsilon {usual}",
        )


class Starts(TreeSearch):
    """The heuristic of one program; the solver's points feed it, and it goes on between them."""

    def __init__(self, objective: CountObjective) -> None:
        self.objective, problem = objective, objective.problem
        asked = objective.epsilon, objective.split_price, objective.max_splits
        super().__init__(TreeGoal(objective.points, problem.depth, *asked, seed=problem.seed))

    def tree_of(self, leaf: IntArray) -> Tree:
        """Tree of a routing: widest gaps, and slack where no plane separates."""
        points = self.goal.points
        planes, gaps = centred_planes(points, leaf, self.goal.depth)
        least = self.objective.epsilon * (1 - GAP_SLACK)
        if all(gap is not None and gap.width >= least for gap in gaps.values()):
            return to_tree(points, planes)
        return to_tree(points, self.repaired(leaf))


def modelled(epsilon: float) -> float:
    """Strip that rows and cuts of a model ask for: narrower than any that `evaluate` accepts.

    Else a tree whose gap misses epsilon by less than `GAP_SLACK` would beat a proven bound.
    """
    return epsilon * (1 - 2 * GAP_SLACK)


def leaf_table(leaf: IntArray, depth: int) -> np.ndarray:
    """Which nodes every point visits, shape ``(n_points, 2**(depth + 1) - 1)``, node 1 first."""
    visits = np.zeros((len(leaf), 2 ** (depth + 1) - 1))
    for up in range(depth + 1):
        visits[np.arange(len(leaf)), (leaf >> up) - 1] = 1.0
    return visits


def add_big_m(
    model: Any,
    nodes: list[int],
    X: np.ndarray,
    epsilon: float,
    goes_left: Callable[[int, int], Any],
    goes_right: Callable[[int, int], Any],
    guard: Callable[[], None],
) -> None:
    """Add planes ``a_t, b_t`` and the rows that make routed points keep to their sides.

    Equations (5) and (6) of S-OCT.  The constants (7) are as small as columns in [0, 1] allow:
    ``|a.x_i| <= max_j x_ij`` when the 1-norm of ``a`` is at most 1, and ``|b| <= 1``, (5d).

    `model`: receives ``a``, ``a_size``, ``b`` and the rows.
    `goes_left`, `goes_right`: ``(point, node) -> variable`` that is 1 when the point goes there.
    """
    features = range(X.shape[1])
    reach = (X.max(axis=1, initial=0.0) + 1.0).tolist()
    rows = X.tolist()
    points = range(len(X))
    model.a = pyo.Var(nodes, features, bounds=(-1, 1), doc="a_tj: weight of column j at node t")
    model.a_size = pyo.Var(nodes, features, bounds=(0, 1), doc="at least |a_tj|")
    model.b = pyo.Var(nodes, bounds=(-1, 1), doc="b_t: offset of the plane of node t")

    @model.Constraint(nodes if features else (), doc="(5a) ||a_t||_1 <= 1")
    def unit_norm(m, t):
        return pyo.quicksum(m.a_size[t, j] for j in features) <= 1

    add_within(model, "size", model.a, lambda t, j: model.a_size[t, j], ("(5b)", "(5c)"))

    @model.Constraint(points, nodes, doc="(6a) a_t.x_i <= b_t + M_i (1 - w_i,2t)")
    def left_side(m: Any, i: int, t: int) -> Any:
        guard()
        terms = [*(m.a[t, j] for j in features), m.b[t], goes_left(i, t)]
        return None, linear([*rows[i], -1.0, reach[i]], terms), reach[i]

    @model.Constraint(points, nodes, doc="(6b) a_t.x_i - eps >= b_t - (M_i + eps)(1 - w_i,2t+1)")
    def right_side(m: Any, i: int, t: int) -> Any:
        terms = [*(m.a[t, j] for j in features), m.b[t], goes_right(i, t)]
        most = reach[i] + epsilon
        return epsilon - most, linear([*rows[i], -1.0, -most], terms), None


def plane_values(
    planes: PlaneTree, nodes: list[int], epsilon: float
) -> tuple[np.ndarray, np.ndarray]:
    """Weights of 1-norm 1 and offsets ``b_t`` of big-M nodes for planes with unit margins."""
    a, b = np.zeros((len(nodes), planes.weights.shape[1])), np.zeros(len(nodes))
    for k, node in enumerate(nodes):
        size = np.abs(planes.weights[node]).sum()
        if size > 0:
            # left: a.x <= b, right: a.x >= b + eps; the strip of the plane is 2 / size wide
            a[k] = planes.weights[node] / size
            b[k] = (-planes.offsets[node]) / size - epsilon / 2
        else:  # everything on one side: 0 <= b, or 0 >= b + eps
            b[k] = 1.0 if planes.offsets[node] < 0 else -1.0
    return a, np.clip(b, -1.0, 1.0)


def sibling_leaves(depth: int) -> list[tuple[int, int]]:
    """Pairs of terminal nodes with one parent."""
    return [topology.children(t) for t in topology.branch_nodes(depth) if t >= 2 ** (depth - 1)]


def labelled_tree(
    planes: Mapping[int, tuple[np.ndarray, float]],
    leaves: Iterable[int],
    X: np.ndarray,
    problem: Problem,
) -> Tree:
    """Make the tree of planes, right where ``w.x + b >= 0``, with the best labels."""
    tree = tree_from_planes(planes, dict.fromkeys(leaves, 0), X, problem.n_classes)
    tree = drop_pass_through(tree)
    labels = metrics.majority_labels(tree, X, problem.y, problem.weights)
    return drop_idle_splits(tree.with_labels(labels), problem)


def least(evaluate: Callable[[Tree], float | None], *trees: Tree) -> Tree:
    """The tree of least objective, the first one where all are outside the model."""
    judged = [(value, k) for k, tree in enumerate(trees) if (value := evaluate(tree)) is not None]
    return trees[min(judged)[1]] if judged else trees[0]


def unnamed_classes(shares: FloatArray, leaves: int) -> float:
    """Weight of the rows whose class no leaf can name, when there are fewer leaves than classes."""
    return float(np.sort(shares)[: max(0, len(shares) - leaves)].sum())


def best_stump_errors(X: FloatArray, y: NDArray[np.int64], weights: FloatArray) -> float:
    """Errors of the best tree with one split on one column."""
    table = np.zeros((len(y), int(y.max(initial=0)) + 1))
    table[np.arange(len(y)), y] = weights
    total = table.sum(axis=0)
    best = float(total.max(initial=0.0))
    for column in X.T:
        order = np.argsort(column, kind="stable")
        below = np.cumsum(table[order], axis=0)
        cut = np.append(np.diff(column[order]) > 0, False)
        if cut.any():
            right = below[cut].max(axis=1) + (total - below[cut]).max(axis=1)
            best = max(best, float(right.max()))
    return float(weights.sum()) - best


def priced_bound(
    shares: FloatArray, least_errors: float, stump_errors: float, price: float, max_splits: int
) -> float:
    """Least errors plus price of the features, over the number of features in splits.

    With k features there are at most k splits and k + 1 leaves, and with one feature it is a stump;
    beyond as many features as splits only the price grows.

    `least_errors`: errors that identical rows of different classes make unavoidable.
    `stump_errors`: errors of the best tree with one split on one column.
    `price`: of a feature in a split, in errors.
    """
    best = unnamed_classes(shares, 1)
    for k in range(1, max(max_splits, 2) + 1 if max_splits > 0 else 1):
        errors = max(least_errors, unnamed_classes(shares, min(k, max_splits) + 1))
        if k == 1:
            errors = max(errors, stump_errors)
        best = min(best, errors + price * k)
    return best


def shattering_at_leaves(
    X: np.ndarray, routed: Any, problem: Problem, epsilon: float
) -> tuple[ShatteringSeparator, ...]:
    """The separator, if it is asked for, of a model with one binary per row and leaf.

    `routed`: ``routed[i, leaf]``, row i ends at a leaf.
    `epsilon`: gap that every split must leave, for weights of 1-norm 1.
    """
    if not problem.params[SHATTERING.name]:
        return ()
    depth = problem.depth
    leaves, nodes = topology.terminal_nodes(depth), topology.branch_nodes(depth)

    def routing(columns: Columns) -> Routing:
        table = columns.of(routed).reshape(len(X), len(leaves))

        def side(child: int) -> IntArray:
            below = topology.terminals_below(child, depth)
            return table[:, below.start - leaves.start : below.stop - leaves.start]

        return {node: (side(2 * node), side(2 * node + 1)) for node in nodes}

    return (ShatteringSeparator(X, routing, nodes, epsilon, CUTS_PER_NODE, rounds=ROUNDS),)
