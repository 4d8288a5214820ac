"""Cases in which the exact search once proved what is not true, each as small as it gets."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from octcore.search.univariate import search
from octcore.search.univariate.literal_node import LiteralNode
from octcore.search.univariate.question import Question, Report
from octcore.search.univariate.search import answer
from octcore.selection.penalty_path import optimal_by_leaves
from tests.enumeration import best_by_leaves
from tests.fuzz.questions import answered_by


def _columns(*rows: str) -> np.ndarray:
    """Rows written as digits."""
    return np.array([[int(digit) for digit in row] for row in rows], np.uint8)


def _fewest_errors(X: np.ndarray, y: np.ndarray, weights: np.ndarray, depth: int) -> list[float]:
    """Least weight misclassified with at most 1, 2, ... leaves, by exhaustive recursion."""
    found = best_by_leaves(X, y, int(y.max()) + 1, depth, weights, 1)
    right = [max(found[k][0] for k in found if k <= leaves) for leaves in range(1, 2**depth + 1)]
    return [float(weights.sum()) - value for value in right]


def test_an_implied_literal_says_nothing_about_the_pair(kernel: str) -> None:
    """Where a feature does not split the rows of a literal, their pair is still worth a tree."""
    X = _columns("0011", "1000", "1010", "0001", "0100", "0000", "0010")
    found = answer(Question(X, np.array([0, 0, 0, 0, 1, 2, 1]), 3, 4, 0.05))
    assert found.status == "optimal"
    assert found.objective == pytest.approx(0.75)


def test_a_price_above_any_gain_is_put_back_in_every_report(kernel: str) -> None:
    X, y = _columns("00", "01", "10", "11"), np.array([0, 1, 1, 0])
    for roots, best in ((None, 0.5 - 1e6), ((1,), 0.5 - 2e6)):
        reports: list[Report] = []
        asked = Question(X, y, 2, 3, 1e6, roots=roots, all_roots=True)
        found = answer(asked, reports.append)
        assert found.status == "optimal"
        assert found.objective == found.bound == pytest.approx(best, abs=1e-6)
        assert found.root_values[1] == pytest.approx(0.5 - 2e6, abs=1e-6)
        assert found.root_exact.all()
        bounds = [report.bound for report in reports if report.bound is not None]
        assert min(bounds) == pytest.approx(best, abs=1e-6)


def test_leaf_sizes_count_rows_of_weight_zero(kernel: str) -> None:
    X = _columns("0", "0", "1", "1")
    y, weights = np.array([0, 0, 1, 1]), np.array([1.0, 0.0, 1.0, 1.0])
    found = answer(Question(X, y, 2, 1, 0.02, weights=weights, min_samples_leaf=2))
    assert found.status == "optimal"
    assert found.objective == pytest.approx(0.96)


def test_a_column_may_vary_on_rows_of_weight_zero_alone(kernel: str) -> None:
    """Forced to the root, it keeps a leaf of one row but not an empty one."""
    X = _columns("00", "01", "10")
    y, weights = np.array([0, 1, 0]), np.array([1.0, 1.0, 0.0])
    asked = Question(X, y, 2, 2, 0.01, weights=weights, roots=(0,))
    for smallest in (0, 1):
        found = answer(replace(asked, min_samples_leaf=smallest))
        assert found.status == "optimal"
        assert found.objective == pytest.approx(0.97)
        alone = replace(asked, X=X[:2], y=y[:2], weights=weights[:2], min_samples_leaf=smallest)
        assert answer(alone).status == "infeasible"


def test_a_leaf_of_rows_that_do_not_count_is_empty(kernel: str) -> None:
    """With the smallest leaf of one row, too, where kernels count no rows otherwise."""
    X, y = _columns("0", "1", "1"), np.array([0, 1, 1])
    asked = Question(X, y, 2, 1, 0.01, counts=np.array([0, 1, 1]))
    found = answer(asked)
    assert (found.status, found.objective) == ("optimal", pytest.approx(2 / 3 - 0.01))
    assert found.root_values.tolist() == [-np.inf]
    assert [optimum.accuracy for optimum in optimal_by_leaves(asked)] == pytest.approx([2 / 3] * 2)


def test_bounds_without_a_leaf_size_hold_where_rows_do_not_count(kernel: str) -> None:
    """A root on column 0 leaves rows that column 1 parts from those that column 2 parts.

    Its first threshold to be solved has four rows on the left that do not count; without errors,
    a tree has only these right of its root.  With a leaf size there would be none, and too high a
    bound for the next threshold, which leaves more rows there.
    """
    heavy = [(0, 0)] + [(1, k) for k in range(8)] + [(2, k) for k in range(4, 8)]
    X = np.array([(a, k, 5) for a, k in heavy] + [(3, 0, k) for k in range(8)], float)
    y = np.where(X[:, 0] < 3, X[:, 1], X[:, 2]).astype(int) % 2
    weights = np.where(X[:, 0] < 3, 3.0, 1.0)
    counts = np.where((X[:, 0] == 1) & (X[:, 1] > 3), 0, 1)
    found = answer(Question(X, y, 2, 4, weights=weights, counts=counts))
    assert (found.status, found.objective) == ("optimal", 1.0)


def test_a_forced_root_with_leaf_size_and_leaf_limit(kernel: str) -> None:
    """Equal rows are merged; the leaf size counts the rows."""
    X = np.repeat(_columns("00", "01", "10", "11"), 2, axis=0)
    y = np.array([0, 0, 1, 1, 0, 0, 2, 2])
    asked = Question(X, y, 3, 2, 0.01, min_samples_leaf=2, max_leaves=3, roots=(0,))
    reports: list[Report] = []
    found = answer(asked, reports.append)
    assert found.status == "optimal"
    assert found.objective == pytest.approx(0.72)
    assert all(report.bound is not None for report in reports if report.kind == "bound")
    assert min(r.bound for r in reports if r.bound is not None) >= 0.72 - 1e-9
    assert [o.accuracy for o in optimal_by_leaves(asked)] == pytest.approx([0.5, 0.75])


def test_no_bound_says_that_there_is_no_tree(kernel: str) -> None:
    X = np.repeat(_columns("00", "01", "10", "11"), 2, axis=0)
    reports: list[Report] = []
    asked = Question(X, np.arange(8) % 2, 2, 3, min_samples_leaf=5, roots=(0,))
    assert answer(asked, reports.append).status == "infeasible"
    assert all(report.bound is None or report.bound > -1 for report in reports)


@pytest.mark.sampled(2)
def test_every_number_of_leaves_has_its_tree_at_depth_five(kernel: str) -> None:
    """A side that was improved on the way to a limit counts, although the root is given up."""
    X = _columns("00001", "00010", "01000", "00100", "10000", "00000", "01110")
    y, weights = np.array([0, 0, 2, 0, 0, 1, 1]), np.array([3.0, 2.0, 3.0, 2.0, 3.0, 3.0, 1.0])
    optima = optimal_by_leaves(Question(X, y, 3, 5, weights=weights))
    found = [optimum.accuracy * 17 for optimum in optima[:5]]
    assert found == pytest.approx([17 - e for e in _fewest_errors(X, y, weights, 5)[:5]])


def test_rows_of_weight_zero_belong_to_the_set_that_holds_them(kernel: str) -> None:
    """With a leaf size, bounds pass only to subsets of rows, not of weights."""
    X = _columns(
        "10010", "01000", "00000", "11000", "01010", "00100", "11001", "00001", "01100", "10000"
    )
    y = np.array([0, 1, 0, 0, 1, 1, 1, 1, 0, 1])
    weights = np.array([1.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0])
    question = Question(X, y, 2, 4, weights=weights, min_samples_leaf=2, all_roots=True)
    assert answer(question).root_values == pytest.approx([0.75, 0.5, 1.0, 1.0, 1.0])


@pytest.mark.parametrize("depth", [4, 5])
def test_a_search_that_was_stopped_gives_bounds_of_the_asked_depth(
    depth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a shallower search has found bounds no deeper tree, nor its root values."""
    asked = threading.Event()

    class Stopped(LiteralNode):
        def tightenings(self, *arguments: Any, **named: Any) -> Iterator[None]:
            yield from super().tightenings(*arguments, **named)
            asked.set()
            while not self.state.terms.stop[0]:
                time.sleep(0.001)

    monkeypatch.setattr("octcore.search.univariate.bit_search.LiteralNode", Stopped)
    monkeypatch.setattr(search, "QUICK_CELLS", -1)  # at once on a thread that can be watched
    X = np.array([[(k >> b) & 1 for b in range(depth)] for k in range(2**depth)], np.uint8)
    y = X.sum(axis=1) % 2
    X = np.hstack([X, np.ones_like(X[:, :1])])
    with answered_by("bits"):
        found = answer(Question(X, y, 2, depth, 0.001), cancel=asked.is_set)
    best = 1 - 0.001 * 2**depth
    assert found.status == "cancelled"
    assert found.bound is not None
    assert found.bound >= best
    assert (found.root_values[:depth] >= best).all()
    assert not found.root_exact[:depth].any()
    assert found.root_values[depth] == -np.inf
