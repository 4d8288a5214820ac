"""Greedy SVM trees, alternating search and what they promise."""

from __future__ import annotations

import numpy as np
import pytest

from octcore.tree import metrics
from octcore.tree.tree import Tree
from octcore.warmstart import svm_tree
from octcore.warmstart.goal import TreeGoal
from octcore.warmstart.points import (
    ClassCounts,
    count_classes,
    leaf_counts,
    leaf_labels,
    node_gaps,
    tree_leaves,
)
from octcore.warmstart.svm_tree import (
    GAP_SLACK,
    GreedySvmTrees,
    TreeSearch,
    impurity,
    machine_planes,
)


def cloud(seed: int, n: int = 60, p: int = 2, n_classes: int = 2):
    rng = np.random.default_rng(seed)
    X = rng.random((n, p))
    return X, rng.integers(0, n_classes, n)


def points_of(X: np.ndarray, y: np.ndarray) -> ClassCounts:
    return count_classes(X, y, np.ones(len(y)), int(y.max()) + 1)


def test_identical_rows_become_points_with_class_counts():
    X = np.array([[0.5, 0.5], [0.0, 1.0], [0.5, 0.5], [0.5, 0.5]])
    points = count_classes(X, np.array([0, 1, 1, 0]), np.array([1.0, 1.0, 1.0, 2.0]), 2)
    assert points.X.tolist() == [[0.5, 0.5], [0.0, 1.0]]
    assert points.counts.tolist() == [[3.0, 1.0], [0.0, 1.0]]
    assert points.point_of.tolist() == [0, 1, 0, 0]
    assert points.conflict_bound == 4.0


def test_empty_leaves_take_the_label_of_their_ancestor():
    points = points_of(np.array([[0.0], [1.0]]), np.array([1, 1]))
    labels = leaf_labels(leaf_counts(points, np.array([4, 4]), 2), 2)
    assert labels[4:].tolist() == [1, 1, 1, 1]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("epsilon", [1e-5, 0.02])
@pytest.mark.parametrize("seed", range(3))
def test_values_are_what_routing_says_and_gaps_reach_epsilon(seed, epsilon):
    X, y = cloud(seed)
    points = points_of(X, y)
    search = TreeSearch(TreeGoal(points, 2, epsilon))
    values = []
    for _, tree in search.trees(0.4):
        correct = metrics.accuracy(tree, X, y) * len(y)
        assert correct == pytest.approx(search.best_value)
        values.append(correct)
        assert min(node_gaps(tree, X).values()) >= epsilon * (1 - GAP_SLACK)
    assert values == sorted(values)
    assert search.best_value <= points.conflict_bound


def test_xor_needs_two_levels():
    X = np.array([[0, 0], [1, 1], [0, 1], [1, 0.0]])
    points = points_of(X, np.array([0, 0, 1, 1]))
    for depth, best in ((1, 3), (2, 4)):
        search = TreeSearch(TreeGoal(points, depth, 0.005))
        assert list(search.trees(1.0))
        assert search.best_value == best


def test_split_limit_and_price_are_respected():
    X, y = cloud(5, n=80)
    points = points_of(X, y)
    limited = TreeSearch(TreeGoal(points, 3, 1e-5, max_splits=2))
    assert all(tree.n_splits <= 2 for _, tree in limited.trees(0.4))
    dear = TreeSearch(TreeGoal(points, 2, 1e-5, split_price=1000.0))
    list(dear.trees(0.3))
    assert dear.best_tree().n_splits == 0


def test_greedy_trees_by_criterion_share_their_candidates():
    X, y = cloud(2, n_classes=3)
    greedy = GreedySvmTrees(TreeGoal(points_of(X, y), 2))
    for criterion in ("error", "gini", "entropy"):
        assert greedy.grow(criterion).splitting[1]


def test_no_machine_is_fitted_when_the_time_is_over(monkeypatch):
    """A greedy tree of 1,797 rows of 10 classes went on for 6 s after a limit of 2 s."""
    fitted = []

    def fit(machine, *given):
        fitted.append(machine)
        return machine_planes(machine, *given)

    monkeypatch.setattr(svm_tree, "machine_planes", fit)
    X, y = cloud(2, n_classes=3)
    greedy = GreedySvmTrees(TreeGoal(points_of(X, y), 2), lambda: len(fitted) >= 3)
    assert greedy.grow("error").splitting[1]
    assert len(fitted) == 3


def test_impurities_of_a_fair_coin():
    counts = np.array([2.0, 2.0])
    assert impurity(counts, "error") == 2.0
    assert impurity(counts, "gini") == pytest.approx(2.0)
    assert impurity(counts, "entropy") == pytest.approx(4.0)
    assert impurity(np.zeros(2), "gini") == 0.0


def test_rows_below_a_shallow_leaf_go_left_to_the_bottom():
    tree = Tree.leaf(0, 1, 2)
    assert tree_leaves(tree, np.zeros((2, 1)), 2).tolist() == [4, 4]
