"""Cases in which the exact search once proved what is not true, each as small as it gets."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from octcore.search.univariate.frontier import optimal_by_leaves
from octcore.search.univariate.literal_node import LiteralNode
from octcore.search.univariate.problem import PathEvent, PathProblem
from octcore.search.univariate.bit_search import path_search
from octcore.search.univariate.tree import Branch, Leaf
from tests.enumeration import best_by_leaves


def _columns(*rows: str) -> np.ndarray:
    """Rows written as digits."""
    return np.array([[int(digit) for digit in row] for row in rows], np.uint8)


def _fewest_errors(X: np.ndarray, y: np.ndarray, weights: np.ndarray, depth: int) -> list[float]:
    """Least weight misclassified with at most 1, 2, ... leaves, by exhaustive recursion."""
    found = best_by_leaves(X, y, int(y.max()) + 1, depth, weights, 1)
    right = [max(found[k][0] for k in found if k <= leaves) for leaves in range(1, 2**depth + 1)]
    return [float(weights.sum()) - value for value in right]


def test_an_implied_literal_says_nothing_about_the_pair() -> None:
    """Where a feature does not split the rows of a literal, their pair is still worth a tree."""
    X = _columns("0011", "1000", "1010", "0001", "0100", "0000", "0010")
    result = path_search(PathProblem(X, np.array([0, 0, 0, 0, 1, 2, 1]), 3, 4, 0.05))
    assert result.status == "optimal"
    assert result.objective == pytest.approx(0.75)


def test_a_price_above_any_gain_is_put_back_in_every_event() -> None:
    X, y = _columns("00", "01", "10", "11"), np.array([0, 1, 1, 0])
    start = Branch(0, Branch(1, Leaf(0), Leaf(1)), Branch(1, Leaf(1), Leaf(0)))
    asked = PathProblem(X, y, 2, 2, 1e6, start=start, all_root_values=True)
    result = path_search(asked)
    assert result.status == "optimal"
    assert result.objective == result.bound == 0.5 - 1e6
    assert result.root_values == pytest.approx([0.5 - 2e6] * 2, abs=1e-6)
    assert result.root_exact.all()
    trees = [event.objective for event in result.events if event.tree is not None]
    assert trees == pytest.approx([1 - 4e6, 0.5 - 1e6, 0.5 - 1e6], abs=1e-6)
    assert all(event.bound >= 0.5 - 1e6 for event in result.events if event.bound is not None)


def test_leaf_sizes_count_rows_of_weight_zero() -> None:
    X = _columns("0", "0", "1", "1")
    y, weights = np.array([0, 0, 1, 1]), np.array([1.0, 0.0, 1.0, 1.0])
    result = path_search(PathProblem(X, y, 2, 1, 0.02, weights=weights, min_samples_leaf=2))
    assert result.status == "optimal"
    assert result.objective == pytest.approx(0.96)


def test_a_column_may_vary_on_rows_of_weight_zero_alone() -> None:
    """Forced to the root, it keeps a leaf of one row but not an empty one."""
    X = _columns("00", "01", "10")
    y, weights = np.array([0, 1, 0]), np.array([1.0, 1.0, 0.0])
    asked = PathProblem(X, y, 2, 2, 0.01, weights=weights, root_feature=0)
    for smallest, objective in ((0, 0.97), (1, 0.97)):
        result = path_search(replace(asked, min_samples_leaf=smallest))
        assert result.status == "optimal"
        assert result.objective == pytest.approx(objective)
    alone = replace(asked, X=X[:2], y=y[:2], weights=weights[:2])
    assert path_search(alone).objective == pytest.approx(0.97)
    assert path_search(replace(alone, min_samples_leaf=1)).status == "infeasible"


def test_a_forced_root_with_leaf_size_and_leaf_limit() -> None:
    """Equal rows are merged; the leaf size counts the rows."""
    X = np.repeat(_columns("00", "01", "10", "11"), 2, axis=0)
    y = np.array([0, 0, 1, 1, 0, 0, 2, 2])
    problem = PathProblem(X, y, 3, 2, 0.01, min_samples_leaf=2, max_leaves=3, root_feature=0)
    events: list[PathEvent] = []
    result = path_search(problem, events.append)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(0.72)
    assert all(event.bound is not None for event in events if event.kind == "bound")
    assert min(event.bound for event in events if event.bound is not None) >= 0.72 - 1e-9
    assert [o.accuracy for o in optimal_by_leaves(problem)] == pytest.approx([0.5, 0.75])


def test_no_bound_says_that_there_is_no_tree() -> None:
    X = np.repeat(_columns("00", "01", "10", "11"), 2, axis=0)
    events: list[PathEvent] = []
    problem = PathProblem(X, np.arange(8) % 2, 2, 3, min_samples_leaf=5, root_feature=0)
    assert path_search(problem, events.append).status == "infeasible"
    assert all(event.bound is None or event.bound > -1 for event in events)


def test_every_number_of_leaves_has_its_tree_at_depth_five() -> None:
    """A side that was improved on the way to a limit counts, although the root is given up."""
    X = _columns("00001", "00010", "01000", "00100", "10000", "00000", "01110")
    y, weights = np.array([0, 0, 2, 0, 0, 1, 1]), np.array([3.0, 2.0, 3.0, 2.0, 3.0, 3.0, 1.0])
    optima = optimal_by_leaves(PathProblem(X, y, 3, 5, weights=weights))
    found = [optimum.accuracy * 17 for optimum in optima[:5]]
    assert found == pytest.approx([17 - e for e in _fewest_errors(X, y, weights, 5)[:5]])


def test_rows_of_weight_zero_belong_to_the_set_that_holds_them() -> None:
    """With a leaf size, bounds pass only to subsets of rows, not of weights."""
    X = _columns(
        "10010", "01000", "00000", "11000", "01010", "00100", "11001", "00001", "01100", "10000"
    )
    y = np.array([0, 1, 0, 0, 1, 1, 1, 1, 0, 1])
    weights = np.array([1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0])
    problem = PathProblem(X, y, 2, 4, weights=weights, min_samples_leaf=2, all_root_values=True)
    assert path_search(problem).root_values == pytest.approx([0.75, 0.5, 1.0, 1.0, 1.0])


@pytest.mark.parametrize("depth", [4, 5])
def test_a_search_that_was_stopped_gives_bounds_of_the_asked_depth(
    depth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a shallower search has found bounds no deeper tree, nor its root values."""
    asked = threading.Event()

    class Stopped(LiteralNode):
        def search(self, *arguments: Any, **named: Any) -> tuple[float, float]:
            found = super().search(*arguments, **named)
            asked.set()
            while not self.state.stop[0]:
                time.sleep(0.001)
            return found

    monkeypatch.setattr("octcore.search.univariate.bit_search.LiteralNode", Stopped)
    X = np.array([[(k >> b) & 1 for b in range(depth)] for k in range(2**depth)], np.uint8)
    y = X.sum(axis=1) % 2
    X = np.hstack([X, np.ones_like(X[:, :1])])
    result = path_search(PathProblem(X, y, 2, depth, 0.001), cancel=asked.is_set)
    best = 1 - 0.001 * 2**depth
    assert result.status == "cancelled"
    assert result.bound is not None
    assert result.bound >= best
    assert (result.root_values[:depth] >= best).all()
    assert result.root_values[depth] >= 0.5 - 0.002
    assert not result.root_exact.any()
