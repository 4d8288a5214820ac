"""Rows that stand at the terminal nodes of a perfect tree: errors, recall, parity, leaf size.

OCT, its binary form and BinOCT say where every row ends (``z[i, t]``) and what a terminal node
predicts (``c[t, k]``); what follows from those two is common to them.  Without costs of their own
errors are weights of misclassified rows.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pyomo.environ as pyo

from octcore.errors import SettingsError
from octcore.formulations.shared import side_constraints as side
from octcore.formulations.shared.constraint_kinds import recall_floors
from octcore.formulations.shared.tree_model import MergedRows, TreeSets, linear, merge_rows
from octcore.formulations.shared.univariate import read_splits
from octcore.program import Problem
from octcore.tree import metrics, topology
from octcore.tree.tree import Tree

LIGHTEST = 1e-7  # share of all weight; with lighter rows false optima were seen from 1e-8 on


def tree_errors(problem: Problem, tree: Tree) -> float:
    """Cost of a tree's answers, the weight that it misclassifies."""
    wrong = tree.predict_codes(problem.X) != problem.y
    return float(problem.weights[wrong].sum()) - problem.surplus


def fewest_errors(problem: Problem) -> float:
    """Cost that every tree has, as identical rows differ in their classes."""
    return metrics.conflict_errors(problem.X, problem.y, problem.weights) - problem.surplus


def weight_tolerance(problem: Problem, price: float = 0.0) -> float:
    """How closely a solver must keep the rows of errors, whose big-M is the weight of all rows.

    A label that is integral up to it may hide that share of all weights, far less than the lightest
    row as far as precision goes; trees better by less are pruned: it is below the price of a split.
    """
    lightest = float(problem.weights[problem.weights > 0].min())
    lightest = min(lightest, price or lightest)
    return float(np.clip(1e-2 * lightest / problem.weights.sum(), 1e-10, 1e-6))


def weight_scale(problem: Problem) -> float:
    """Power of two in which models count weights: solvers prune what gains less than a tolerance.

    1 where the majority rule's errors are of ordinary size: models stay as the papers write them.
    `SettingsError` where solvers would take a row for nothing, whatever the scale.
    """
    share = float(problem.weights[problem.weights > 0].min() / problem.weights.sum())
    if share < LIGHTEST:
        message = f"The lightest row has {share:.2g} of the weight of all rows, and a solver of "
        message += f"this model takes less than {LIGHTEST:g} for nothing; use threshold-search, or "
        message += "weights closer to each other."
        raise SettingsError("WEIGHTS_TOO_FAR_APART", message, "class_weight")
    majority = problem.majority_errors
    return 1.0 if 1.0 <= majority <= 1e6 else 2.0 ** math.floor(math.log2(majority))


def all_rows(problem: Problem) -> MergedRows:
    """Merge all training rows, as numbers; those of weight 0 still count for constraints."""
    X = np.asarray(problem.X, dtype=np.float64)
    return merge_rows(X, problem.y, problem.weights, problem.counts)


def sets_of(problem: Problem, columns: list[int]) -> TreeSets:
    """Sets of a model of all rows whose branch nodes may test some columns."""
    return TreeSets(all_rows(problem), columns, problem.depth, problem.n_classes)


def add_error_rows(model: Any, problem: Problem, rows: MergedRows, z: Any, c: Any) -> None:
    """Add ``L[t]``, the weight of the rows at terminal t that its label gets wrong.

    The big-M of class k is the weight of all rows of other classes: no terminal holds more.
    """
    L, unit = topology.terminal_nodes(problem.depth), weight_scale(problem)
    model.wrong = pyo.Var(L, domain=pyo.NonNegativeReals, doc="L_t: weight misclassified at t")
    model.error = pyo.Expression(L, rule=lambda _, t: unit * model.wrong[t])

    @model.Constraint(L, range(problem.n_classes), doc="L_t >= N_t - N_kt - M_k (1 - c_tk)")
    def misclassified(_, t, k):
        others = np.flatnonzero(rows.y != k)
        weights = [float(rows.weights[i]) / unit for i in others]
        big_m = sum(weights)
        # L_t >= sum_{y_i != k} w_i z_it - M_k (1 - c_tk)
        terms = linear(
            [1.0, *(-w for w in weights), -big_m],
            [model.wrong[t], *(z[i, t] for i in others), c[t, k]],
        )
        return -big_m, terms, None


def add_prediction_rows(
    model: Any, problem: Problem, rows: MergedRows, z: Any, c: Any, guard: Callable[[], None]
) -> None:
    """Add the rows of the side constraints on predictions: recall, then parity."""
    if problem.constraints.min_recall:
        _add_recall_rows(model, problem, rows, z, c)
    if problem.constraints.fairness:
        _add_parity_rows(model, problem, rows, z, c, guard)


def _add_recall_rows(model: Any, problem: Problem, rows: MergedRows, z: Any, c: Any) -> None:
    """Add ``s[t, k]``, rows of class k that are right at t (never overstated), and the floors."""
    L, least = topology.terminal_nodes(problem.depth), recall_floors(problem)
    of_class = {k: np.flatnonzero(rows.y == k) for k in least}
    model.right = pyo.Var(L, list(least), domain=pyo.NonNegativeReals, doc="s_tk: right at t")

    @model.Constraint(L, list(least), doc="s_tk <= N_kt")
    def right_counted(_, t, k):
        inside = [float(rows.counts[i]) * z[i, t] for i in of_class[k]]
        return model.right[t, k] <= pyo.quicksum(inside)

    @model.Constraint(L, list(least), doc="s_tk <= n_k c_tk")
    def right_labelled(_, t, k):
        # no more rows of class k exist than its count
        return model.right[t, k] <= float(rows.counts[of_class[k]].sum()) * c[t, k]

    @model.Constraint(list(least), doc="rows of class k that must be classified correctly")
    def recall(_, k):
        return pyo.quicksum(model.right[t, k] for t in L) >= least[k]


def _add_parity_rows(
    model: Any, problem: Problem, rows: MergedRows, z: Any, c: Any, guard: Callable[[], None]
) -> None:
    """Add ``v[i, t]``, row i ends at t and is predicted positive, and the parity limits."""
    L, positive = topology.terminal_nodes(problem.depth), problem.context.positive_class
    I = range(len(rows))
    model.positive = pyo.Var(I, L, bounds=(0, 1), doc="v_it: at t and predicted positive")
    v: Any = model.positive

    @model.Constraint(I, L, range(3), doc="v_it = z_it c_tk+")
    def positive_product(_, i, t, part):
        guard()
        if part == 0:
            return v[i, t] <= z[i, t]
        if part == 1:
            return v[i, t] <= c[t, positive]
        return v[i, t] >= z[i, t] + c[t, positive] - 1

    side.add_parity_rows(model, problem, rows.group_of, lambda i: pyo.quicksum(v[i, t] for t in L))


def add_leaf_size_rows(model: Any, problem: Problem, rows: MergedRows, z: Any, used: Any) -> None:
    """Add ``z[i, t] <= l[t]`` and ``sum_i z[i, t] >= N_min l[t]``: open leaves hold enough rows."""
    L, smallest = topology.terminal_nodes(problem.depth), problem.constraints.min_samples_leaf or 1
    counts = [float(count) for count in rows.counts]

    @model.Constraint(range(len(rows)), L, doc="z_it <= l_t")
    def only_open_leaves(_, i, t):
        return None, linear((1.0, -1.0), (z[i, t], used[t])), 0.0

    @model.Constraint(L, doc="sum_i z_it >= N_min l_t")
    def leaf_size(_, t):
        variables = [*(z[i, t] for i in range(len(rows))), used[t]]
        return 0.0, linear([*counts, -float(smallest)], variables), None


def rightmost_terminal(node: int, depth: int) -> int:
    """Terminal node that rows reach from a node when they always go right."""
    return topology.terminals_below(node, depth)[-1]


def read_tree(
    sets: TreeSets,
    problem: Problem,
    tests: np.ndarray,
    labels: np.ndarray,
    threshold_of: Callable[[int, int], float] | None = None,
) -> Tree:
    """Read the tree of a solution; a leaf has the label of its rightmost terminal.

    `tests`: which column a branch node tests, shape ``(len(B), len(columns))``.
    `labels`: what a terminal predicts, shape ``(len(L), n_classes)``.
    `threshold_of`: ``(node, column) -> threshold``; None on columns of 0 and 1.
    """
    tested, first = sets.tested_columns(tests), len(sets.L)
    return read_splits(
        tested.get,
        lambda m: int(labels[rightmost_terminal(m, sets.depth) - first].argmax()),
        problem,
        None if threshold_of is None else lambda m: threshold_of(m, tested[m]),
    )


class TerminalValues:
    """Values of the variables of this file for a tree whose leaves stand at given terminals."""

    def __init__(self, tree: Tree, problem: Problem, sets: TreeSets) -> None:
        self._tree, self._problem, self._sets = tree, problem, sets
        first = n_terminals = len(sets.L)
        self.z = np.zeros((len(sets.rows), n_terminals))
        self.c = np.zeros((n_terminals, problem.n_classes))
        self.used = np.zeros(n_terminals)
        node_rows = tree.node_rows(sets.rows.X)
        for leaf, label in tree.labels.items():
            place = rightmost_terminal(leaf, problem.depth) - first
            self.z[node_rows[leaf], place] = 1.0
            self.c[place, label] = 1.0
            self.used[place] = 1.0

    @property
    def held(self) -> np.ndarray:
        """Which terminals hold rows, as ones."""
        return (self.z.sum(axis=0) > 0).astype(np.float64)

    @property
    def labels(self) -> np.ndarray:
        """`c` where every terminal predicts something."""
        labels = self.c.copy()
        labels[self.used == 0, 0] = 1.0  # no row sees it
        return labels

    def of(self, model: Any) -> list[tuple[Any, np.ndarray]]:
        """Values of the errors and of the constraints' own variables that the model has."""
        rows, problem = self._sets.rows, self._problem
        wrong = self.z * (1.0 - self.c.T[rows.y])
        values: list[tuple[Any, np.ndarray]] = []
        if hasattr(model, "wrong"):
            values.append((model.wrong, rows.weights @ wrong / weight_scale(problem)))
        if hasattr(model, "right"):
            right = self.z * self.c.T[rows.y]
            counts = [(rows.counts * (rows.y == k)) @ right for k in recall_floors(problem)]
            values.append((model.right, np.stack(counts, axis=1)))
        if hasattr(model, "positive"):
            positive = self.c[:, problem.context.positive_class]
            values.append((model.positive, self.z * positive))
        return values + side.structural_start_values(model, problem, self._tree)
