"""What MARGOT, HFS-MARGOT and SFS-MARGOT share: signs, levels, and the true objective.

The tree is perfect: every branch node has a plane ``w_t.x + b_t``, right when it is not negative.
Leaves are signs of the last level: left is the first class (-1), right the second (+1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from octcore.formulations.shared.two_classes import TwoClassTrees
from octcore.search.margot.records import Planes, RoutingProblem, Variant
from octcore.search.margot.start import local_svm
from octcore.tree import metrics
from octcore.tree.tree import Tree

NULL_WEIGHTS = 1e-8
"""1-norm of a plane whose score is the same everywhere on columns in [0, 1]."""


@dataclass(frozen=True, eq=False)
class MargotFamily(TwoClassTrees):
    """One problem of the family."""

    variant: Variant
    """``"margot"``, ``"hfs"`` or ``"sfs"``."""

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
        if self.variant == "hfs":
            ranges = ranges[: max(self.budget(t) or len(ranges) for t in self.T)]
        return float(np.linalg.norm(ranges))

    @cached_property
    def conflict_cost(self) -> float:
        """What identical rows of both classes cost any tree: two slacks per level and pair."""
        problem = self.problem
        paired = metrics.conflict_errors(problem.X, problem.y, problem.weights)
        levels = range(problem.depth)
        return sum(2.0 * self.penalty(1 << level) * paired for level in levels)

    def reach(self, objective: float) -> float:
        """Largest score of any row in a tree of at most this objective.

        The norms are part of the objective, beside what no tree avoids, and the bias of a plane
        can be such that some row that passes has a score of -1, 0 or 1 (-epsilon at most), from
        which no row is further than norm times distance.
        """
        size = 2.0 * max(0.0, objective - self.conflict_cost)
        norm = size if self.is_linear else float(np.sqrt(size))
        return 1.0 + norm * self.spread

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
        return self.with_margins(by_node, labels)

    def routing(self, tree: Tree) -> np.ndarray | None:
        """Last-level branch node of every row; None unless all branch nodes have planes."""
        if set(tree.splits) != set(self.T):
            return None
        reached = np.zeros(self.problem.n_samples, dtype=np.int64)
        rows = tree.node_rows(self.X)
        for t in self.last:
            reached[rows[t]] = t
        return reached

    def refit(self, tree: Tree) -> Tree:
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
            planes[t] = self.node_plane(t, visited, self.signs[here], penalty, epsilon, columns)
        weights = np.array([planes[t][0] for t in self.T])
        return self.tree(Planes(weights, np.array([planes[t][1] for t in self.T])))

    def evaluate(self, tree: Tree) -> float | None:
        """True objective by routing all rows; None if a budget or a strip is not respected."""
        if set(tree.splits) != set(self.T):
            return self._evaluate_leaf(tree)
        total = 0.0
        rows = tree.node_rows(self.X)
        for node, split in tree.splits.items():
            weights = split.dense(self.problem.n_features)
            cost = self._node_cost(node, weights, split.solved_offset, rows[node])
            if cost is None:
                return None
            total += cost
        return total

    def _evaluate_leaf(self, tree: Tree) -> float | None:
        """A single leaf is the tree of zero planes that all rows pass on one side."""
        if tree.splits:
            return None
        sign = 1.0 if tree.labels[1] == self.positive else -1.0
        minority = float(self.problem.weights[self.signs != sign].sum())
        path = [1 << level for level in range(self.problem.depth)]
        return sum(2.0 * self.penalty(node) * minority for node in path)

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
        yield "warm start", self.tree(local_svm(self.search_problem(), stop)[0])

    @property
    def claims(self) -> tuple[str, ...]:
        """What a proof covers."""
        epsilon = self.price("epsilon")
        return self.coding_claims(f"upper planes keep an empty strip of width {epsilon:g}")
