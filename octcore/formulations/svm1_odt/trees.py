"""Trees of SVM1-ODT: how they are judged by routing, found and polished."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from octcore.errors import SettingsError
from octcore.formulations.shared import terminals
from octcore.formulations.shared.rows import MergedRows
from octcore.formulations.shared.univariate import drop_idle_splits
from octcore.formulations.svm1_odt.split_space import SplitSpace
from octcore.numerics.margin_lp import WEIGHT_BOX, MarginPrices, margin_plane
from octcore.program import Problem
from octcore.search.assignment.search import (
    AssignmentProblem,
    AssignmentTask,
    Planes,
    can_search,
)
from octcore.tree import metrics, topology
from octcore.tree.planes import drop_pass_through, tree_from_planes
from octcore.tree.tree import Split, Tree
from octcore.warmstart.greedy import greedy_starts
from octcore.warmstart.margin_search import MarginGoal, MarginSearch, MarginTree
from octcore.warmstart.points import count_classes
from octcore.warmstart.svm_tree import TreeGoal, TreeSearch

STRICT_DISTANCE = 1e-4
"""Distance of right-goers from the plane in strict mode, where scores are bounded by M = 1."""
TIE_DISTANCE = 1e-9
"""Scores closer to the plane go left without strict mode."""
SMALLEST_STRIP = 1e-5
"""Shattering inequalities take hulls nearer than this for not separable."""
SCORE_TOLERANCE = 1e-6
"""Solvers keep rows up to this."""
GAP = 1e-6
"""Relative gap that counts as closed."""
POLISH_SECONDS = 0.5
ACCURATE_SHARE = 0.3
"""Share of the time for first trees that goes to accurate trees, whatever their margins cost."""


@dataclass(frozen=True, eq=False)
class SVM1Trees:
    """How trees are judged, found and polished; the mixed-integer model is in `svm1_model`."""

    problem: Problem

    @cached_property
    def space(self) -> SplitSpace:
        """Columns of planes and groups of columns of categorical subsets."""
        subsets = self.problem.params["categorical"] == "subsets"
        groups = tuple(g for g in self.problem.categorical if len(g) > 1) if subsets else ()
        return SplitSpace(np.asarray(self.problem.X, dtype=np.float64), groups)

    @cached_property
    def prices(self) -> MarginPrices:
        """alpha1, alpha2, epsilon, the distance of right-goers and M."""
        params = self.problem.params
        big_m, epsilon = float(params["big_m"]), float(params["epsilon"])
        missing, norm = (
            float(params[price] if params[scaled] is None else params[scaled] / epsilon)
            for price, scaled in (("alpha1", "margin_price"), ("alpha2", "norm_price"))
        )
        return MarginPrices(
            missing,
            norm,
            epsilon,
            STRICT_DISTANCE * big_m if params["strict"] else 0.0,
            big_m,
        )

    @cached_property
    def rows(self) -> MergedRows:
        """I: rows merged by features and class."""
        rows = terminals.all_rows(self.problem)
        return replace(rows, X=np.asarray(rows.X, dtype=np.float64))

    @property
    def claims(self) -> tuple[str, ...]:
        """What a proof covers."""
        claims = [
            f"scores of all rows lie within {self.prices.big_m:g}, weights within {WEIGHT_BOX:g}"
        ]
        if self.prices.right:
            claims.append(f"right-goers keep a distance of {self.prices.right:g} from the plane")
        if self.problem.params["shattering_cuts"]:
            claims.append(f"splits leave a strip of {SMALLEST_STRIP:g} empty (1-norm 1)")
        return tuple(claims)

    @property
    def findings(self) -> tuple[str, ...]:
        """A warning where the price of a row on a plane is below that of an error."""
        if self._margin_price >= 1:
            return ()
        return (
            f"alpha1 x epsilon = {self._margin_price:g} is below 1: putting a row on a plane costs "
            "less than an error, so margins mean little; raise alpha1.",
        )

    @property
    def _margin_price(self) -> float:
        """Price of a row on a plane, in errors."""
        return self.prices.missing * self.prices.margin

    @property
    def feasibility(self) -> float:
        """Tolerance of the solver, so small that the objective does not see it.

        A row kept up to it costs its weight and alpha1 times as much; a side taken up to it moves
        scores by M times as much, and the norms, at alpha2, with them.
        """
        prices = self.prices
        by_margins = 1e-3 / max(1.0, prices.missing * float(self.rows.weights.max()))
        by_norms = 1e-6 / max(1.0, prices.norm * prices.big_m)
        return float(np.clip(min(by_margins, by_norms), 1e-9, 1e-6))

    def refuse_free_rows(self) -> None:
        """Refuse prices at which the published model is cheaper than all trees.

        Raises
        ------
        SettingsError
            Without strict mode, where rows on a plane go either way for less than an error.
        """
        if not self.prices.right and self._margin_price < 1:
            raise SettingsError(
                "STRICT_NEEDED",
                f"Without strict mode rows on a plane go either way for alpha1 x epsilon = "
                f"{self._margin_price:g} errors each, which no tree can do; make alpha1 x epsilon "
                "at least 1, or keep strict mode on.",
                "strict",
            )

    def evaluate(self, tree: Tree) -> float | None:
        """Routed errors plus the alpha terms; None for a tree outside the model."""
        problem = self.problem
        if tree.max_depth > problem.depth:
            return None
        visited = tree.node_rows(problem.X)
        total = float(problem.weights[tree.predict_codes(problem.X) != problem.y].sum())
        for node, split in tree.splits.items():
            cost = 0.0
            if not self.space.is_subset(split):
                cost = self._plane_cost(split, visited[node])
            if cost is None:
                return None
            total += cost
        return total

    def _plane_cost(self, split: Split, passing: np.ndarray) -> float | None:
        if not set(split.features) <= set(self.space.columns):
            return None
        prices, X = self.prices, self.space.X
        scores = self.threshold(split) - split.project(X)
        right = split.goes_right(X[passing])
        here = scores[passing]
        if np.abs(scores).max() > prices.big_m * (1 + SCORE_TOLERANCE):
            return None
        if max((abs(value) for _, value in split.weights), default=0.0) > WEIGHT_BOX:
            return None
        if (here[~right] < -SCORE_TOLERANCE).any():
            return None
        if (here[right] > SCORE_TOLERANCE - prices.right).any():
            return None
        margin = np.where(right, -here, here)
        missing = np.maximum(0.0, prices.margin - margin) @ self.problem.weights[passing]
        norm = sum(abs(value) for _, value in split.weights)
        return float(prices.missing * missing + prices.norm * norm)

    def threshold(self, split: Split) -> float:
        """Threshold g of the plane ``h.x <= g`` that a split was made of."""
        return -split.solved_offset - self.distance

    @property
    def distance(self) -> float:
        """How far behind ``h.x = g`` the split of a plane lies."""
        return self.prices.right / 2 or TIE_DISTANCE

    def tree(self, planes: Mapping[int, tuple[np.ndarray, float]], leaves: Iterable[int]) -> Tree:
        """Make the tree of planes, right where ``w.x + b >= 0``, with the best labels."""
        problem, X = self.problem, np.asarray(self.problem.X, dtype=np.float64)
        tree = tree_from_planes(planes, dict.fromkeys(leaves, 0), X, problem.n_classes)
        tree = drop_pass_through(tree)
        labels = metrics.majority_labels(tree, X, problem.y, problem.weights)
        return drop_idle_splits(tree.with_labels(labels), problem)

    # --- the exact search ------------------------------------------------------------------

    @property
    def task(self) -> AssignmentTask | None:
        """Problem of the exact search; None where it would not prove this model.

        Subsets of values are no planes; and where a row on a plane costs less than an error, the
        distance of right-goers decides, which the search leaves out.
        """
        problem, prices = self.problem, self.prices
        columns = self.space.columns
        if self.space.groups or self._margin_price < 1 or not can_search(problem):
            return None
        rows, reach = self.rows, prices.big_m + WEIGHT_BOX * max(1, len(columns))
        return AssignmentTask(
            AssignmentProblem(
                rows.X[:, columns],
                rows.y,
                rows.weights,
                problem.n_classes,
                problem.depth,
                self._margin_price,
                prices.norm * prices.margin,
                reach / prices.margin,
                0.5 * GAP,
            ),
            self._of_search,
        )

    def _of_search(self, planes: Planes) -> Tree:
        """Tree of the planes of the search, which have margins of 1."""
        margin = self.prices.margin
        scaled = {
            node: (margin * weights, margin * offset)
            for node, (weights, offset) in planes.items()
            if np.abs(weights).sum() > 0
        }
        sides = {node: int(planes[node][1] < 0) for node in planes if node not in scaled}
        return self.polish(self._of_margins(MarginTree(scaled, np.zeros(0, np.int64), sides=sides)))

    # --- finding and polishing trees -------------------------------------------------------

    @cached_property
    def goals(self) -> list[TreeGoal]:
        """Searches for accurate trees: with gaps that pay no margin, and with thin ones."""
        problem = self.problem
        points = count_classes(self.space.numeric, problem.y, problem.weights, problem.n_classes)
        wide = 2 * self.prices.margin / self.prices.big_m
        return [
            TreeGoal(points, problem.depth, epsilon=min(gap, 0.5), seed=problem.seed)
            for gap in (wide, wide / 20)
        ]

    def starts(self) -> Iterator[tuple[str, Tree]]:
        """Yield polished CART trees, then polished oblique trees."""
        for source, tree in greedy_starts(self.problem, 0.0):
            yield source, self.polish(self.space.with_subsets(tree))
        if not len(self.space.columns):
            return
        seconds = float(self.problem.params["start_seconds"])
        found: list[tuple[float, Tree]] = []
        for goal in self.goals:
            for source, tree in TreeSearch(goal).trees(ACCURATE_SHARE * seconds / len(self.goals)):
                polished = self.polish(tree)
                value = self.evaluate(polished)
                if value is not None and value < min((v for v, _ in found), default=np.inf):
                    found.append((value, polished))
                    yield source, polished
        starts = [self._margin_tree(tree) for _, tree in sorted(found, key=lambda pair: pair[0])]
        for tree in self.margin_search().search(starts, (1 - ACCURATE_SHARE) * seconds):
            yield "search with margins", self._of_margins(tree)

    def margin_search(self) -> MarginSearch:
        """Make the search in the objective itself."""
        rows, problem = self.rows, self.problem
        return MarginSearch(
            MarginGoal(
                rows.X[:, self.space.columns],
                rows.y,
                rows.weights,
                problem.n_classes,
                problem.depth,
                self.prices,
                problem.seed,
            )
        )

    def _margin_tree(self, tree: Tree) -> MarginTree:
        """Planes of a tree without subsets, and the labels of the perfect tree's leaves."""
        planes = {
            node: (split.dense(tree.n_features)[self.space.columns], self.threshold(split))
            for node, split in tree.splits.items()
        }
        labels = np.zeros(2 ** (self.problem.depth + 1), dtype=np.int64)
        for terminal in topology.terminal_nodes(self.problem.depth):
            above = (terminal >> level for level in range(terminal.bit_length()))
            labels[terminal] = next(tree.labels[node] for node in above if node in tree.labels)
        return MarginTree(planes, labels)

    def _of_margins(self, tree: MarginTree) -> Tree:
        planes = {}
        for node in topology.branch_nodes(self.problem.depth):
            weights, offset = np.zeros(self.problem.n_features), 2.0 * tree.sides.get(node, 0) - 1.0
            if node in tree.planes:
                weights[self.space.columns] = tree.planes[node][0]
                offset = -tree.planes[node][1] - self.distance
            planes[node] = weights, offset
        return self.tree(planes, topology.terminal_nodes(self.problem.depth))

    def polish(self, tree: Tree) -> Tree:
        """Fixed routing: give every plane the least missing margin and norm."""
        visited = tree.node_rows(self.rows.X)
        planes: dict[int, tuple[np.ndarray, float]] = {}
        for node, split in tree.splits.items():
            planes[node] = split.dense(self.problem.n_features), split.solved_offset
            if not self.space.is_subset(split):
                found = self.margin_plane(visited[2 * node], visited[2 * node + 1])
                planes[node] = found or planes[node]
        return self.tree(planes, tree.labels)

    def margin_plane(self, left: np.ndarray, right: np.ndarray) -> tuple[np.ndarray, float] | None:
        """Plane of least missing margin and norm between merged rows; None if there is none."""
        columns = self.space.columns
        X, weights = self.rows.X[:, columns], self.rows.weights
        others = np.setdiff1d(np.arange(len(X)), np.concatenate([left, right]))
        found = margin_plane(
            X[left], X[right], (weights[left], weights[right]), X[others], self.prices
        )
        if found is None:
            return None
        dense = np.zeros(self.problem.n_features)
        dense[columns] = found[0]
        return dense, -found[1] - self.distance

    def improve(self, tree: Tree) -> Tree:
        """Polish a tree of the solver, and refit its nodes in the objective itself."""
        candidates = [self.polish(tree)]
        if len(self.space.columns) and not any(map(self.space.is_subset, tree.splits.values())):
            start, deadline = self._margin_tree(candidates[0]), time.perf_counter() + POLISH_SECONDS
            candidates.append(self._of_margins(self.margin_search().improve(start, deadline)))
        judged = [(self.evaluate(found), found) for found in candidates]
        known = [(value, found) for value, found in judged if value is not None]
        return min(known, key=lambda pair: pair[0])[1] if known else tree
