"""The exact search on the smallest and oddest problems, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from octcore.errors import DataError, SettingsError
from octcore.search.univariate.problem import PathProblem
from octcore.search.univariate.bit_search import path_search
from octcore.search.univariate.tree import (
    Branch,
    Leaf,
    PathTree,
    canonical_key,
    count_leaves,
    tree_depth,
)
from tests.enumeration import best_tree


def test_constant_features_and_one_class() -> None:
    X = np.ones((5, 3), np.uint8)
    y = np.array([0, 1, 1, 0, 1])
    result = path_search(PathProblem(X, y, 2, 3, 0.01))
    assert result.tree == Leaf(1)
    assert result.root_values == pytest.approx(np.full(3, 0.6 - 0.02))
    assert result.root_exact.all()
    assert result.ceiling == pytest.approx(0.6)
    pure = path_search(PathProblem(np.eye(4, dtype=np.uint8), np.zeros(4, int), 1, 4, 0.1))
    assert (pure.tree, pure.objective) == (Leaf(0), pytest.approx(0.9))


def test_more_classes_than_leaves_and_an_absent_class() -> None:
    X = np.eye(6, dtype=np.uint8)
    result = path_search(PathProblem(X, np.arange(6), 8, 2, 0.0))
    assert result.objective == pytest.approx(3 / 6)
    assert result.tree is not None
    assert count_leaves(result.tree) == 3


def test_ties_prefer_few_leaves_and_low_indices() -> None:
    X = np.array([[0, 0, 1], [0, 0, 1], [1, 1, 0], [1, 1, 0]], np.uint8)
    y = np.array([0, 0, 1, 1])
    assert path_search(PathProblem(X, y, 2, 2, 0.0)).tree == Branch(0, Leaf(0), Leaf(1))
    assert path_search(PathProblem(X, y, 2, 3, 0.5)).tree == Leaf(0)
    assert path_search(PathProblem(X, np.array([1, 0, 1, 0]), 2, 2, 0.0)).tree == Leaf(0)


def test_large_penalty_gives_a_single_leaf() -> None:
    rng = np.random.default_rng(4)
    X, y = rng.integers(0, 2, (60, 8)), rng.integers(0, 2, 60)
    majority = np.bincount(y).max() / 60
    result = path_search(PathProblem(X, y, 2, 4, 1 - majority))
    assert isinstance(result.tree, Leaf)


def test_tiny_data_and_useless_depth() -> None:
    one = path_search(PathProblem(np.array([[1]]), np.array([0]), 1, 1, 0.1))
    assert (one.tree, one.objective) == (Leaf(0), pytest.approx(0.9))
    X, y = np.array([[0], [1]]), np.array([1, 0])
    deep = path_search(PathProblem(X, y, 2, 6, 0.01))
    assert deep.tree is not None
    assert (tree_depth(deep.tree), deep.objective) == (1, pytest.approx(0.98))


def test_no_features_at_all() -> None:
    result = path_search(PathProblem(np.zeros((3, 0)), np.array([0, 1, 1]), 2, 3, 0.1))
    assert (result.tree, result.status) == (Leaf(1), "optimal")


def test_worked_example_of_six_rows() -> None:
    X = np.array([[0, 0], [0, 0], [0, 1], [1, 0], [1, 1], [1, 1]], np.uint8)
    y = np.array([0, 1, 1, 1, 0, 0])
    expected = Branch(0, Leaf(1), Branch(1, Leaf(1), Leaf(0)))
    for penalty, value in ((0.05, 5 / 6 - 0.15), (0.1, 5 / 6 - 0.3)):
        result = path_search(PathProblem(X, y, 2, 2, penalty))
        assert (result.objective, result.tree) == (pytest.approx(value), expected)
        assert result.ceiling == pytest.approx(5 / 6)


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ({"y": np.array([0, 3])}, DataError),
        ({"X": np.array([[0], [2]])}, DataError),
        ({"y": np.array([0, 1, 1])}, DataError),
        ({"weights": np.array([1.0, -1.0])}, DataError),
        ({"weights": np.zeros(2)}, DataError),
        ({"depth": -1}, SettingsError),
        ({"leaf_penalty": -0.1}, SettingsError),
        ({"max_leaves": 0}, SettingsError),
        ({"root_feature": 1}, SettingsError),
        ({"depth": 0, "root_feature": 0}, SettingsError),
        ({"root_feature": 0, "forbidden_features": np.array([True])}, SettingsError),
    ],
)
def test_refusals(settings: dict[str, Any], error: type[Exception]) -> None:
    base: dict[str, Any] = {
        "X": np.array([[0], [1]]), "y": np.array([0, 1]), "n_classes": 2, "depth": 2,
    }  # fmt: skip
    with pytest.raises(error):
        path_search(PathProblem(**{**base, **settings}))


def canonical_depth_three(X: np.ndarray, y: np.ndarray, penalty: float) -> PathTree:
    """Canonical optimum at depth 3 from canonical depth-two optima on both sides of every root."""
    best, single = best_tree(X, y, 2, 0, penalty)
    assert single is not None
    options = [(best, single)]
    for f in range(X.shape[1]):
        on = X[:, f] > 0
        left = best_tree(X[~on], y[~on], 2, 2, penalty)
        right = best_tree(X[on], y[on], 2, 2, penalty)
        assert left[1] is not None
        assert right[1] is not None
        options.append((left[0] + right[0], Branch(f, left[1], right[1])))
    top = max(value for value, _ in options)
    tied = [tree for value, tree in options if value >= top - 1e-9 * len(y)]
    return min(tied, key=lambda tree: (count_leaves(tree), canonical_key(tree)))


def test_depth_three_is_canonical() -> None:
    rng = np.random.default_rng(50)
    for trial in range(16):
        X = rng.integers(0, 2, (int(rng.integers(4, 14)), 3)).astype(np.uint8)
        if trial % 2:
            X[:, 2] = X[:, trial % 4 // 2]
        y = rng.integers(0, 2, len(X))
        penalty = float(rng.choice([0.0, 0.25, 0.5]))
        result = path_search(PathProblem(X, y, 2, 3, penalty / len(y)))
        assert result.tree == canonical_depth_three(X, y, penalty), trial
