"""What a search for trees of planes maximises, and how it climbs and starts again.

It changes one node's plane at a time.  The searches differ in the planes that they try at a node:
machines, exact steps and planes that leave a strip (`svm_tree`), one feature more or less
(`sparse_search`), programs with soft margins (`margin_search`).
"""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from octcore.warmstart.points import (
    ClassCounts,
    FloatArray,
    IntArray,
    PlaneTree,
    leaf_counts,
    leaf_labels,
    node_sides,
)

Plane = tuple[FloatArray, float]
GAIN = 1e-9  # what is better by less is not better
HEARTBEAT_SECONDS = 0.25
"""The caller of a search hears from it at least that often, if its starts are short."""


@dataclass(frozen=True, eq=False)
class Goal:
    """What a search maximises."""

    points: ClassCounts
    depth: int  # number of levels of branch nodes
    seed: int = field(default=0, kw_only=True)  # of everything random

    def value(self, planes: PlaneTree) -> float:
        """Value of a tree; ``-inf`` where it does not count."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class TreeGoal(Goal):
    """Correct weight minus prices, under limits."""

    epsilon: float = 0.0  # smallest admissible node gap for weights of 1-norm 1
    split_price: float = 0.0  # price of a split in weight of correct rows
    max_splits: int | None = None
    feature_price: float = 0.0  # price of a feature in a split, in weight of correct rows
    least_leaf: int = 1

    @property
    def split_limit(self) -> int:
        """Largest number of splits."""
        most = 2**self.depth - 1
        return most if self.max_splits is None else min(most, self.max_splits)

    @cached_property
    def sizes(self) -> IntArray:
        """Number of rows at every point."""
        return np.bincount(self.points.point_of, minlength=len(self.points))

    def value(self, planes: PlaneTree) -> float:
        """Value of a tree; ``-inf`` outside the limits."""
        splits, leaf = int(planes.splitting.sum()), planes.descend(self.points.X)
        if splits > self.split_limit:
            return -np.inf
        if self.least_leaf > 1:
            held = np.bincount(leaf, self.sizes)
            if ((held > 0) & (held < self.least_leaf)).any():
                return -np.inf
        correct = leaf_counts(self.points, leaf, self.depth).max(axis=1).sum()
        features = np.count_nonzero(planes.weights) if self.feature_price else 0
        return float(correct) - self.split_price * splits - self.feature_price * features


def climb(
    goal: Goal,
    planes: PlaneTree,
    trials: Callable[[PlaneTree, int], Iterable[PlaneTree]],
    deadline: float,
    ceiling: float = np.inf,
    admits: Callable[[PlaneTree, int], bool] = lambda trial, node: True,
) -> PlaneTree:
    """Take what is better, node by node, deepest first, until a whole pass changes nothing.

    `trials`: ``(tree, node) -> trees`` that may be better.
    `ceiling`: value at which nothing is left to gain.
    `admits`: asked of a tree that is better, and of the node that differs.
    """
    value, improved = goal.value(planes), True
    while improved and time.perf_counter() < deadline:
        improved = False
        for node in range(2**goal.depth - 1, 0, -1):
            for trial in trials(planes, node):
                reached = goal.value(trial)
                if reached > value + GAIN and admits(trial, node):
                    planes, value, improved = trial, reached, True
                if time.perf_counter() > deadline:
                    return planes
            if value >= ceiling - GAIN:
                return planes
    return planes


class LocalSearch:
    """The best tree of a goal so far, and the search that starts again and again."""

    def __init__(self, goal: Goal) -> None:
        self.rng = np.random.default_rng(goal.seed)
        self.best: PlaneTree | None = None
        self.best_value = -np.inf
        self._of = goal.value

    def keep(self, planes: PlaneTree) -> bool:
        """Keep a tree if it is better than the best one."""
        value = self._of(planes)
        if value <= self.best_value + GAIN:
            return False
        self.best, self.best_value = planes, value
        return True

    def restarts(
        self,
        once: Callable[[], bool],
        deadline: float,
        most: float = np.inf,
        ceiling: float = np.inf,
    ) -> Iterator[PlaneTree]:
        """Start again until the deadline, or until that many starts in a row gave nothing better.

        Yields the best tree when there is a new one, and now and then, so that callers can look at
        their clock.
        """
        seen, idle = time.perf_counter(), 0
        while time.perf_counter() < deadline and idle < most and self.best_value < ceiling:
            is_better = once()
            idle = 0 if is_better else idle + 1
            is_due = time.perf_counter() - seen > HEARTBEAT_SECONDS
            if self.best is not None and (is_better or is_due):
                seen = time.perf_counter()
                yield self.best


def side_gains(points: ClassCounts, planes: PlaneTree, node: int) -> tuple[IntArray, FloatArray]:
    """Points at a node, and what going right is worth to each with the labels as they are."""
    depth, leaf = planes.depth, planes.descend(points.X)
    labels = leaf_labels(leaf_counts(points, leaf, depth), depth)
    here = np.concatenate(node_sides(leaf, node, depth))
    X, counts, at = points.X[here], points.counts[here], np.arange(len(here))
    left = counts[at, labels[planes.descend(X, 2 * node)]]
    return here, counts[at, labels[planes.descend(X, 2 * node + 1)]] - left
