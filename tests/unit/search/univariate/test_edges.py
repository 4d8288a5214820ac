"""The exact search on the smallest and oddest questions, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from octcore.search.univariate.question import Question
from octcore.search.univariate.search import answer
from octcore.search.univariate.table import LARGEST_PENALTY
from octcore.search.univariate.tree import Branch, Leaf, heap
from octcore.tree.tree import Tree
from tests.fuzz.kept import CASES


def test_constant_features_and_one_class(kernel: str) -> None:
    X = np.ones((5, 3), np.uint8)
    found = answer(Question(X, np.array([0, 1, 1, 0, 1]), 2, 3, 0.01))
    assert found.tree == Tree.leaf(1, 3, 2)
    assert found.objective == pytest.approx(0.59)
    assert (found.root_values == -np.inf).all()
    assert found.root_exact.all()
    pure = answer(Question(np.eye(4, dtype=np.uint8), np.zeros(4, int), 1, 4, 0.1))
    assert (pure.tree, pure.objective) == (Tree.leaf(0, 4, 1), pytest.approx(0.9))


def test_more_classes_than_leaves_and_an_absent_class(kernel: str) -> None:
    X = np.eye(6, dtype=np.uint8)
    found = answer(Question(X, np.arange(6), 8, 2, 0.0))
    assert found.objective == pytest.approx(3 / 6)
    assert found.tree is not None
    assert found.tree.n_leaves == 3


def test_ties_prefer_few_leaves_and_low_indices(kernel: str) -> None:
    X = np.array([[0, 0, 1], [0, 0, 1], [1, 1, 0], [1, 1, 0]], np.uint8)
    y = np.array([0, 0, 1, 1])
    split = heap(Branch(0, Leaf(0), Leaf(1)), 3, 2)
    assert answer(Question(X, y, 2, 2, 0.0)).tree == split
    assert answer(Question(X, y, 2, 3, 0.5)).tree == Tree.leaf(0, 3, 2)
    assert answer(Question(X, np.array([1, 0, 1, 0]), 2, 2, 0.0)).tree == Tree.leaf(0, 3, 2)


def test_large_penalty_gives_a_single_leaf(kernel: str) -> None:
    rng = np.random.default_rng(4)
    X, y = rng.integers(0, 2, (60, 8)), rng.integers(0, 2, 60)
    majority = np.bincount(y).max() / 60
    found = answer(Question(X, y, 2, 4, 1 - majority))
    assert found.tree is not None
    assert found.tree.n_leaves == 1


def test_a_price_of_the_slack_at_depth_five() -> None:
    """By rounding a sum is open whose sides are closed: that is an end, and a proof."""
    case = CASES["a-price-of-the-slack-at-depth-five"]
    X = np.array(list(case.columns.values()), np.uint8).T
    y = np.array(case.y)
    weights = (13 / 3 / np.bincount(y))[y]
    found = answer(Question(X, y, 3, 5, 1e-9, weights=weights, roots=(3,)), time_limit=20.0)
    assert found.status == "optimal"


@pytest.mark.parametrize("roots", [None, (1,)])
@pytest.mark.parametrize("price", [LARGEST_PENALTY, 3.0, 1e6])
def test_a_price_above_any_gain_leaves_as_few_leaves_as_there_can_be(
    price: float, roots: tuple[int, ...] | None, kernel: str
) -> None:
    """The best tree with fewest leaves, the values of roots and all bounds are at this price."""
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [1, 1]], np.uint8)
    y = np.array([0, 1, 1, 0, 0])
    found = answer(Question(X, y, 2, 3, price, roots=roots, all_roots=True))
    assert found.tree is not None
    assert found.tree.n_leaves == (1 if roots is None else 2)
    best = 0.6 - price * found.tree.n_leaves
    assert found.objective == found.bound == pytest.approx(best)
    assert found.root_values[1] == pytest.approx(0.6 - 2 * price)
    assert found.root_exact.all()


def test_tiny_data_and_useless_depth(kernel: str) -> None:
    one = answer(Question(np.array([[1]]), np.array([0]), 1, 1, 0.1))
    assert (one.tree, one.objective) == (Tree.leaf(0, 1, 1), pytest.approx(0.9))
    deep = answer(Question(np.array([[0], [1]]), np.array([1, 0]), 2, 6, 0.01))
    assert deep.tree is not None
    assert (deep.tree.n_leaves, deep.objective) == (2, pytest.approx(0.98))


def test_no_features_and_no_depth(kernel: str) -> None:
    for X, depth in ((np.zeros((3, 0)), 3), (np.arange(3.0)[:, None], 0)):
        found = answer(Question(X, np.array([0, 1, 1]), 2, depth, 0.1))
        assert (found.tree, found.status) == (Tree.leaf(1, X.shape[1], 2), "optimal")
        assert (found.root_values == -np.inf).all()
        assert found.root_exact.all()


def test_worked_example_of_six_rows(kernel: str) -> None:
    X = np.array([[0, 0], [0, 0], [0, 1], [1, 0], [1, 1], [1, 1]], np.uint8)
    y = np.array([0, 1, 1, 1, 0, 0])
    expected = heap(Branch(0, Leaf(1), Branch(1, Leaf(1), Leaf(0))), 2, 2)
    for penalty, value in ((0.05, 5 / 6 - 0.15), (0.1, 5 / 6 - 0.3)):
        found = answer(Question(X, y, 2, 2, penalty))
        assert found.objective == pytest.approx(value)
        assert found.tree is not None
        assert (found.tree.predict_codes(X) == expected.predict_codes(X)).all()
        assert found.tree.n_leaves == 3


@pytest.mark.parametrize(
    "settings",
    [
        {"depth": 0, "roots": (0,)},
        {"roots": (0,), "forbidden": np.array([True])},
        {"roots": (0,), "max_leaves": 1},
        {"roots": (0,), "min_samples_leaf": 2},
        {"min_samples_leaf": 3},
        {"counts": np.array([0, 0])},
        {"roots": (0,), "counts": np.array([0, 2])},
        {"roots": (0,), "X": np.array([[1], [1]])},
        {"roots": ()},
    ],
)
def test_questions_without_a_tree(settings: dict[str, Any], kernel: str) -> None:
    base: dict[str, Any] = {
        "X": np.array([[0], [1]]), "y": np.array([0, 1]), "n_classes": 2, "depth": 2,
    }  # fmt: skip
    found = answer(Question(**{**base, **settings}))
    assert (found.status, found.tree, found.bound) == ("infeasible", None, None)
    assert (found.root_values == -np.inf).all()
    assert found.root_exact.all()


LOSING_ROWS = ((8, 0, 5, 5, 4, 6, 5, 4, 2), (0, 3, 2, 3, 1, 4, 7, 9, 5))


@pytest.mark.parametrize(
    ("columns", "classes", "price", "best"),
    [
        ((tuple(range(8)) * 2,), (0, 1) * 8, 0.01, 0.92),
        (LOSING_ROWS, (0, 0, 1, 2, 2, 2, 1, 0, 2), 0.0, 6 / 9),
    ],
)
def test_leaf_sizes_at_the_thresholds_of_a_deep_node(
    columns: tuple[tuple[int, ...], ...],
    classes: tuple[int, ...],
    price: float,
    best: float,
    kernel: str,
) -> None:
    """Merged rows fill both sides; a side that loses rows may cost less by their weight."""
    X, y = np.array(columns, float).T, np.array(classes)
    found = answer(Question(X, y, 3, 3, price, min_samples_leaf=2))
    assert found.status == "optimal"
    assert found.objective == pytest.approx(best)


def test_bounds_with_a_leaf_size_are_no_bounds_on_fewer_rows(kernel: str) -> None:
    columns = (0, 3, 1, 2, 2, 1, 1, 0, 3, 0, 3, 0, 2, 0), (1, 2, 3, 0, 3, 3, 3, 3, 3, 0, 2, 0, 1, 3)
    y = np.array([2, 2, 2, 1, 1, 1, 1, 2, 1, 1, 0, 0, 0, 0])
    weights = np.array([15, 95, 38, 22, 55, 47, 71, 97, 24, 56, 33, 87, 22, 67.0])
    X = np.array(columns, float).T
    found = answer(Question(X, y, 3, 3, 0.01, weights, min_samples_leaf=3))
    assert found.status == "optimal"
    assert found.objective == pytest.approx(0.633525377229081)
