"""Trees of OCT-H: how they are judged by routing, found and polished."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from octcore.constraints import Constraints, violations
from octcore.formulations.shared import side_constraints as side
from octcore.formulations.shared import terminals
from octcore.formulations.shared.error_weights import majority_errors
from octcore.formulations.shared.oblique import labelled_tree, least
from octcore.formulations.shared.tree_sets import TreeSets
from octcore.formulations.shared.univariate import drop_idle_splits, weight_unit
from octcore.numerics.hulls import Gap, widest_gap
from octcore.program import ENDLESS, Patience, Problem
from octcore.search.assignment.search import (
    AssignmentProblem,
    AssignmentTask,
    Planes,
    can_search,
)
from octcore.search.assignment.states import LEAST_WEIGHT
from octcore.tree import topology
from octcore.tree.tree import Split, Tree
from octcore.warmstart.goal import TreeGoal
from octcore.warmstart.greedy import greedy_starts
from octcore.warmstart.points import ClassCounts, count_classes, node_gaps, tree_leaves
from octcore.warmstart.sparse_search import SparseSearch
from octcore.warmstart.svm_tree import TreeSearch
from octcore.warmstart.tree_gaps import GAP_SLACK

LEAF_SHARE = 0.05
"""Smallest leaf when none is asked for: the share of the rows used in the comparisons."""
SPARSE_SHARE = 0.4
"""Share of the time for first trees that the search for few features gets."""
NORM = 1e-6
"""Price of a 1-norm in the exact search: nothing beside an error, and enough to choose by."""
POLISH_SECONDS = 0.5
"""Time to improve one tree of the solver by re-assigning rows."""


def with_leaf_size(problem: Problem) -> Problem:
    """Fill in the published smallest leaf, 5 % of the rows, where none was asked for."""
    if problem.constraints.min_samples_leaf is not None:
        return problem
    least = max(1, int(LEAF_SHARE * problem.n_samples))
    asked: Constraints = replace(problem.constraints, min_samples_leaf=least)
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
    def majority_errors(self) -> float:
        """L-hat: weight that the majority rule gets wrong; 1 if there is none."""
        return majority_errors(self.problem)

    @cached_property
    def reach(self) -> float:
        """Largest |b| that is ever needed: ``|a.x| <= max |x|`` for weights of 1-norm 1."""
        return max(1.0, float(np.abs(self.X).max(initial=0.0)))

    # --- judging and improving trees -------------------------------------------------------

    def evaluate(self, tree: Tree) -> float | None:
        """Objective by routing; None for a tree outside the model."""
        problem = self.problem
        if tree.max_depth > problem.depth:
            return None
        if violations(problem.constraints, tree, problem.context):
            return None
        gaps = node_gaps(tree, self.X)
        if any(gap < self.epsilon * (1 - GAP_SLACK) for gap in gaps.values()):
            return None
        wrong = float(problem.weights[tree.predict_codes(problem.X) != problem.y].sum())
        features = sum(len(split.weights) for split in tree.splits.values())
        return wrong / self.majority_errors + self.alpha * features

    def tree(self, planes: Mapping[int, tuple[np.ndarray, float]], leaves: Iterable[int]) -> Tree:
        """Make the tree of planes, right where ``w.x + b >= 0``, with the best labels."""
        return labelled_tree(planes, leaves, self.X, self.problem)

    # --- the exact search ------------------------------------------------------------------

    @property
    def task(self) -> AssignmentTask | None:
        """Problem of the exact search, which leaves side constraints out; None if it is too large.

        A plane with margins of 1 has a strip of mu or more where its 1-norm is 2 / mu at most.
        """
        problem, rows = self.problem, self.sets.rows
        if not self.sets.columns or not can_search(problem):
            return None
        largest = 2 / (self.epsilon * (1 - 2 * GAP_SLACK))
        return AssignmentTask(
            AssignmentProblem(
                rows.X[:, self.sets.columns],
                rows.y,
                rows.weights,
                problem.n_classes,
                problem.depth,
                2 * NORM * largest / float(rows.weights[rows.weights > 0].min()),
                NORM,
                1 + largest * self.reach,
                1e-9,
                NORM * largest,
                self.price,
                weight_unit(problem.weights) if self.price else 0.0,
                box=largest,
            ),
            self._of_search,
            rows.group_of,
            np.array(self.sets.columns),
        )

    def _of_search(self, planes: Planes) -> Tree:
        """Tree of the planes of the search, which have margins of 1."""
        dense: dict[int, tuple[np.ndarray, float]] = {}
        for node, (weights, threshold) in planes.items():
            size = np.abs(weights).sum()
            full = np.zeros(self.problem.n_features)
            full[self.sets.columns] = np.where(np.abs(weights) > LEAST_WEIGHT * size, weights, 0.0)
            dense[node] = full, -threshold if size > 0 else float(threshold < 0) - 0.5
        tree = self.tree(dense, topology.terminal_nodes(self.problem.depth))
        return self.fewest_features(tree)

    # --- finding and polishing trees -------------------------------------------------------

    @property
    def price(self) -> float:
        """Price of a feature in weight of errors."""
        return self.alpha * self.majority_errors

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

    def goal(self) -> TreeGoal:
        """What the search for accurate trees maximises; a split costs one feature at least."""
        problem = self.problem
        return TreeGoal(
            self.points, problem.depth, self.epsilon, self.price, self.most_splits, problem.seed
        )

    def sparse_search(self) -> SparseSearch:
        """Make the search for trees with few features."""
        least = self.problem.constraints.min_samples_leaf or 1
        goal = replace(self.goal(), split_price=0.0, feature_price=self.price, least_leaf=least)
        return SparseSearch(goal, self.sets.columns)

    def starts(self, patience: Patience) -> Iterator[tuple[str, Tree]]:
        """Yield CART trees, trees with few features, then oblique trees made sparse."""
        yield from greedy_starts(self.problem, self.price)
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
        """Fixed routing: give every split the fewest features that keep its strip."""
        tree = drop_idle_splits(tree, self.problem)
        return fewest_features(tree, self.X, self.epsilon, stop) if self.alpha > 0 else tree

    def improve(self, tree: Tree) -> Tree:
        """Polish a tree: fewest features, alternated with moving its planes."""
        candidates = [self.fewest_features(tree)]
        moved = self.sparse_search().improve(candidates[0], POLISH_SECONDS)
        if moved is not None:
            candidates.append(moved)
        search = TreeSearch(self.goal())
        leaf = tree_leaves(tree, self.points.X, self.problem.depth)
        if self.alpha == 0 and search.improve(leaf, time.perf_counter() + POLISH_SECONDS):
            candidates.append(search.best_tree())
        return least(self.evaluate, *candidates)


def fewest_features(tree: Tree, X: np.ndarray, epsilon: float, stop: Callable[[], bool]) -> Tree:
    """Same routing, fewer features: backward elimination at every split by the widest-gap LP.

    A split whose sides are not `epsilon` apart keeps its plane.

    `epsilon`: width of the empty strip that every split must keep, for weights of 1-norm 1.
    `stop`: asked before every LP; after a true answer features stay.
    """
    rows = tree.node_rows(X)
    splits = dict(tree.splits)
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
