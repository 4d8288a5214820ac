"""Trees by number of leaves against enumeration, and the penalty path against single searches."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from octcore.errors import CancelledError
from octcore.search.univariate.question import Question
from octcore.search.univariate.search import answer
from octcore.selection.penalty_path import optimal_by_leaves, penalty_breakpoints
from tests.enumeration import best_by_leaves
from tests.fuzz.questions import Truth, check_leaves


@pytest.mark.sampled(3)
@pytest.mark.parametrize("depth", [0, 1, 2, 3])
@pytest.mark.parametrize("least", [1, 2])
def test_equals_enumeration(depth: int, least: int, kernel: str) -> None:
    rng = np.random.default_rng(10 * depth + least)
    for trial in range(12):
        n_samples = int(rng.integers(3, 20))
        X = rng.integers(0, 2, (n_samples, 3)).astype(np.uint8)
        y = rng.integers(0, 3, n_samples)
        weights = rng.integers(1, 4, n_samples).astype(float) if trial % 2 else None
        question = Question(X, y, 3, depth, 0.1, weights=weights, min_samples_leaf=least)
        found = best_by_leaves(X, y, 3, depth, weights, least)
        total = n_samples if weights is None else weights.sum()
        optima = optimal_by_leaves(question)
        allowed = {k for k in range(1, 2**depth + 1) if any(j <= k for j in found)}
        assert {item.max_leaves for item in optima} == allowed
        for item in optima:
            best = max(value for k, (value, _) in found.items() if k <= item.max_leaves)
            assert item.accuracy == pytest.approx(best / total)
            assert item.tree.n_leaves <= item.max_leaves
        check_leaves(Truth(question))


def test_restrictions_hold_and_may_leave_no_tree(kernel: str) -> None:
    rng = np.random.default_rng(12)
    X, y = rng.integers(0, 4, (20, 3)), rng.integers(0, 2, 20)
    asked = Question(X, y, 2, 3, max_leaves=5, min_samples_leaf=3, roots=(1, 2))
    forbidden = np.array([True, False, True])
    for question in (asked, replace(asked, forbidden=forbidden), replace(asked, depth=1)):
        check_leaves(Truth(question))
        assert optimal_by_leaves(question)[0].max_leaves == 2
    none = np.zeros(20, np.int64)
    for change in ({"max_leaves": 1}, {"roots": ()}, {"depth": 0}, {"counts": none}):
        assert optimal_by_leaves(replace(asked, **change)) == ()


@pytest.mark.sampled(2)
@pytest.mark.parametrize("depth", [3, 4, 5])
def test_breakpoints_agree_with_single_searches(depth: int, kernel: str) -> None:
    rng = np.random.default_rng(depth)
    X = (rng.random((120, 6)) < 0.5).astype(np.uint8)
    y = (X[:, 0] ^ X[:, 1] ^ (X[:, 2] & X[:, 3]) ^ (rng.random(120) < 0.15)).astype(int)
    question = Question(X, y, 2, depth)
    optima = optimal_by_leaves(question)
    accuracy = {optimum.tree.n_leaves: optimum.accuracy for optimum in optima}
    ranges = penalty_breakpoints(optima)
    lows, highs = zip(*ranges.values(), strict=True)
    assert (np.inf, *lows) == (*highs, 0.0)
    for leaves, (low, high) in ranges.items():
        assert low < high
        penalty = low + 0.4 * (min(high, 1.0) - low)
        found = answer(replace(question, leaf_penalty=penalty))
        expected = accuracy[leaves] - penalty * leaves
        assert found.objective == pytest.approx(expected, abs=1e-9)


def test_more_leaves_never_hurt_and_limits_agree_with_the_search(kernel: str) -> None:
    rng = np.random.default_rng(9)
    X = (rng.random((80, 7)) < 0.4).astype(np.uint8)
    y = rng.integers(0, 3, 80)
    optima = optimal_by_leaves(Question(X, y, 3, 4))
    accuracies = [item.accuracy for item in optima]
    assert [item.max_leaves for item in optima] == list(range(1, 17))
    assert accuracies == sorted(accuracies)
    for most in (2, 5, 9):
        found = answer(Question(X, y, 3, 4, 0.0, max_leaves=most))
        assert found.status == "optimal"
        assert found.objective == pytest.approx(accuracies[most - 1])


def test_stopping_early_is_an_error(kernel: str) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (900, 200)), rng.integers(0, 2, 900)
    with pytest.raises(CancelledError):
        optimal_by_leaves(Question(X, y, 2, 4), time_limit=0.5)
