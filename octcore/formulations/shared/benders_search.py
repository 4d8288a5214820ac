"""How an engine works with the Benders master: separators, tree reading, branching.

See `benders` for the variables.  Nothing here builds rows of the model.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pyomo.environ as pyo
from scipy.sparse import csr_matrix

from octcore.formulations.shared.benders import ReducedProblem, TreeVariables
from octcore.formulations.shared.univariate import read_splits
from octcore.program import Child, Cuts, Point, SearchState
from octcore.separation.max_flow import BendersCuts
from octcore.separation.tree_rows import Instance, TreePoint
from octcore.tree import topology
from octcore.tree.tree import Tree


@dataclass(frozen=True, eq=False)
class LinkedSeparator:
    """Hands points to a separator of tree rows and gives its rows to the engine."""

    variables: TreeVariables
    find: Callable[[TreePoint, SearchState], list[Cuts]]
    """``(point, state) -> rows``."""

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

    def find(point: TreePoint, state: SearchState) -> list[Cuts]:
        return cuts.separate(point, cut_tolerance(state), state.is_integral)

    return LinkedSeparator(variables, find)


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

    TOLERANCE = 1e-6

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
            if distance[best - 1] > self.TOLERANCE:
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
