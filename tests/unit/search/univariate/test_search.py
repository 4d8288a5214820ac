"""Path search against exhaustive recursion, its bounds, its restrictions and the edge cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from octcore.search.univariate.problem import PathEvent, PathProblem
from octcore.search.univariate.bit_search import path_search
from octcore.search.univariate.tree import (
    Branch,
    Leaf,
    PathTree,
)
from tests.enumeration import best_by_leaves


def random_problem(rng: np.random.Generator, depth: int, **settings: Any) -> PathProblem:
    """Return a small random problem with repeated columns, rows and conflicts now and then."""
    n_samples, n_features = int(rng.integers(2, 17)), int(rng.integers(1, 5 if depth < 3 else 4))
    X = rng.integers(0, 2, (n_samples, n_features)).astype(np.uint8)
    if n_features > 2 and rng.random() < 0.5:
        X[:, -1] = X[:, 0] if rng.random() < 0.5 else 1 - X[:, 0]
    n_classes = int(rng.integers(2, 4))
    y = rng.integers(0, n_classes, n_samples)
    penalty = float(rng.choice([0.0, 0.01, 0.05, 0.12]))
    return PathProblem(X, y, n_classes, depth, penalty, **settings)


def enumerated(problem: PathProblem, root: int | None = None) -> float:
    """Best objective by exhaustive recursion; minus infinity if there is no tree."""
    X, y, weights = problem.X, problem.y, problem.weights
    if problem.forbidden_features is not None:
        kept = np.flatnonzero(~problem.forbidden_features)
        X = X[:, kept]
        root = None if root is None else int(np.flatnonzero(kept == root)[0])
    least = problem.min_samples_leaf
    total = len(y) if weights is None else float(weights.sum())
    if root is None:
        found = best_by_leaves(X, y, problem.n_classes, problem.depth, weights, least)
    else:
        sides = []
        for side in (0, 1):
            rows = X[:, root] == side
            part = None if weights is None else weights[rows]
            sides.append(
                best_by_leaves(X[rows], y[rows], problem.n_classes, problem.depth - 1, part, least)
            )
        found = {}
        for i, (a, _) in sides[0].items():
            for j, (b, _) in sides[1].items():
                found[i + j] = (max(a + b, found.get(i + j, (0.0,))[0]), Leaf(0))
    most = problem.max_leaves or 2**problem.depth
    values = [v / total - problem.leaf_penalty * k for k, (v, _) in found.items() if k <= most]
    return max(values, default=-np.inf)


def check(problem: PathProblem) -> None:
    """Solve and compare objective, tree, bound and restrictions with enumeration."""
    result = path_search(problem)
    expected = enumerated(problem, problem.root_feature)
    if expected == -np.inf:
        assert result.status == "infeasible"
        assert result.tree is None
        return
    assert result.status == "optimal"
    assert result.objective == pytest.approx(expected, abs=1e-9)
    assert result.bound == pytest.approx(expected, abs=1e-9)
    assert result.tree is not None
    assert problem.allows(result.tree)
    assert problem.objective(result.tree) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_equals_enumeration(depth: int) -> None:
    rng = np.random.default_rng(depth)
    for _ in range(25):
        check(random_problem(rng, depth))


@pytest.mark.parametrize("kind", ["counts", "fractions", "zeros"])
def test_weights(kind: str) -> None:
    rng = np.random.default_rng(len(kind))
    for trial in range(20):
        problem = random_problem(rng, 2 + trial % 2)
        weights = rng.integers(1, 6, len(problem.y)).astype(float)
        if kind == "fractions":
            weights = rng.random(len(problem.y)) + 0.01
        elif kind == "zeros":
            weights[1:] *= rng.integers(0, 2, len(problem.y) - 1)
        check(PathProblem(**{**vars(problem), "weights": weights}))


def test_minimum_leaf_size_with_and_without_weights() -> None:
    rng = np.random.default_rng(5)
    for trial in range(60):
        least = int(rng.integers(2, 6))
        problem = random_problem(rng, 1 + trial % 3, min_samples_leaf=least)
        if trial % 2:
            weights = rng.integers(1, 9, len(problem.y)) / 4
            problem = PathProblem(**{**vars(problem), "weights": weights})
        check(problem)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_leaf_limit(depth: int) -> None:
    rng = np.random.default_rng(10 + depth)
    for trial in range(25):
        most = int(rng.integers(1, 2**depth + 1))
        least = 1 if trial % 3 else 2
        check(random_problem(rng, depth, max_leaves=most, min_samples_leaf=least))


def test_forbidden_features() -> None:
    rng = np.random.default_rng(20)
    for trial in range(30):
        problem = random_problem(rng, 1 + trial % 3)
        forbidden = rng.random(problem.X.shape[1]) < 0.4
        check(PathProblem(**{**vars(problem), "forbidden_features": forbidden}))


def test_forced_root_even_constant_or_complementary() -> None:
    rng = np.random.default_rng(21)
    for trial in range(60):
        settings = {"max_leaves": int(rng.integers(1, 6))} if trial % 2 else {}
        if trial % 5 == 0:
            settings["min_samples_leaf"] = 2
        problem = random_problem(rng, 1 + trial % 3, **settings)
        if trial % 4 == 0:
            problem.X[:, 0] = trial % 8 // 4
        root = int(rng.integers(problem.X.shape[1]))
        check(PathProblem(**{**vars(problem), "root_feature": root}))


@pytest.mark.parametrize("least", [0, 1, 3])
def test_root_values_are_exact_or_upper_bounds(least: int) -> None:
    rng = np.random.default_rng(30)
    for trial in range(30):
        depth = 1 + trial % 3
        wanted = random_problem(rng, depth, min_samples_leaf=least, all_root_values=True)
        lazy = PathProblem(**{**vars(wanted), "all_root_values": False})
        exact, bounds = path_search(wanted), path_search(lazy)
        if least > len(wanted.y):
            continue
        for f in range(wanted.X.shape[1]):
            value = enumerated(wanted, f)
            assert exact.root_exact[f]
            assert exact.root_values[f] == pytest.approx(value, abs=1e-9)
            assert bounds.root_values[f] >= value - 1e-9
            if bounds.root_exact[f]:
                assert bounds.root_values[f] == pytest.approx(value, abs=1e-9)


def parity(n_bits: int, repeats: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """Parity of ``n_bits`` bits: only a full tree of depth ``n_bits`` is right everywhere."""
    X = np.array([[(k >> b) & 1 for b in range(n_bits)] for k in range(2**n_bits)], np.uint8)
    X = np.repeat(X, repeats, axis=0)
    return X, X.sum(axis=1) % 2


@pytest.mark.parametrize("depth", [3, 4, 5, 6])
def test_parity_needs_the_full_depth(depth: int) -> None:
    X, y = parity(depth)
    full = path_search(PathProblem(np.hstack([X, 1 - X]), y, 2, depth, 0.001))
    assert full.objective == pytest.approx(1 - 0.001 * 2**depth)
    assert full.status == "optimal"


def test_depth_four_and_five_equal_search_over_the_roots() -> None:
    rng = np.random.default_rng(41)
    for trial in range(12):
        depth = 4 + trial % 2
        X = rng.integers(0, 2, (40, 5)).astype(np.uint8)
        y = rng.integers(0, 3, 40)
        problem = PathProblem(X, y, 3, depth, 0.01)
        best = max([r for f in range(5) for r in [_two_sides(problem, f)]])
        single = problem.objective(Leaf(int(np.bincount(y).argmax())))
        result = path_search(problem)
        assert result.objective == pytest.approx(max(best, single), abs=1e-9)
        forced = path_search(PathProblem(**{**vars(problem), "root_feature": 2}))
        assert forced.objective == pytest.approx(_two_sides(problem, 2), abs=1e-9)


def _two_sides(problem: PathProblem, f: int) -> float:
    """Objective with ``f`` at the root from two independent searches one level down."""
    value = 0.0
    for side in (0, 1):
        rows = problem.X[:, f] == side
        share = rows.mean()
        below = PathProblem(
            problem.X[rows], problem.y[rows], problem.n_classes, problem.depth - 1,
            problem.leaf_penalty / share,
        )  # fmt: skip
        objective = path_search(below).objective
        assert objective is not None
        value += share * objective
    return value


def hard_problem() -> PathProblem:
    """A random problem whose proof takes far longer than any test may."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (900, 260)).astype(np.uint8)
    return PathProblem(X, rng.integers(0, 2, 900), 2, 4, 0.0001)


def test_time_limit_gives_a_tree_and_a_valid_bound() -> None:
    problem = hard_problem()
    result = path_search(problem, time_limit=1.5)
    assert result.status == "time_limit"
    assert result.tree is not None
    assert result.objective is not None
    assert result.bound is not None
    assert problem.objective(result.tree) == pytest.approx(result.objective)
    assert result.bound > result.objective


def test_bounds_are_valid_when_stopped_early() -> None:
    rng = np.random.default_rng(2)
    X = (rng.random((200, 30)) < 0.4).astype(np.uint8)
    y = (X[:, 0] ^ X[:, 3] ^ (rng.random(200) < 0.2)).astype(int)
    problem = PathProblem(X, y, 2, 4, 0.002)
    optimum = path_search(problem).objective
    assert optimum is not None
    for calls in (0, 1, 2, 4):
        asked: list[int] = []

        def cancel(asked: list[int] = asked, calls: int = calls) -> bool:
            asked.append(1)
            return len(asked) > calls

        result = path_search(problem, cancel=cancel)
        assert result.objective is not None
        assert result.bound is not None
        assert result.objective <= optimum + 1e-9 <= result.bound + 2e-9
        assert (result.root_values.max() >= optimum - 1e-9) or result.leaf_value == optimum


def test_the_first_yes_of_cancel_ends_the_search() -> None:
    answers = [False] * 5 + [True]
    result = path_search(hard_problem(), cancel=lambda: answers.pop(0))
    assert result.status == "cancelled"
    assert not answers


def test_trace_is_monotone_and_ends_together() -> None:
    rng = np.random.default_rng(6)
    X = (rng.random((150, 20)) < 0.4).astype(np.uint8)
    y = (X[:, 0] & X[:, 3]) ^ (rng.random(150) < 0.2)
    events: list[PathEvent] = []
    problem = PathProblem(X, y.astype(int), 2, 4, 0.003)
    result = path_search(problem, on_event=events.append)
    assert tuple(events) == result.events
    bounds = [e.bound for e in events if e.bound is not None]
    objectives = [e.objective for e in events if e.objective is not None]
    assert bounds == sorted(bounds, reverse=True)
    assert objectives == sorted(objectives)
    assert bounds[-1] == objectives[-1] == result.objective
    for event in events:
        if event.kind == "incumbent":
            assert event.tree is not None
            assert problem.objective(event.tree) == event.objective
    assert [e.kind for e in events if e.kind in ("started", "finished")] == ["started", "finished"]


def test_same_tree_every_time() -> None:
    problem = random_problem(np.random.default_rng(3), 3)
    assert path_search(problem).tree == path_search(problem).tree


def test_threads_change_nothing_but_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("octcore.search.univariate.literal_node._SHARED_OUT", 0)
    rng = np.random.default_rng(8)
    for depth in (3, 3, 4, 4):
        X, y = rng.integers(0, 2, (60, 7)).astype(np.uint8), rng.integers(0, 3, 60)
        alone, together = (
            path_search(PathProblem(X, y, 3, depth, 0.01, threads=threads)) for threads in (1, 3)
        )
        assert together.tree == alone.tree
        assert together.bound == alone.bound == alone.objective
        assert (together.root_values == alone.root_values).all()
        assert together.runs == alone.runs


def test_start_tree_and_claimed_start_value() -> None:
    X, y = parity(3)
    start: PathTree = Branch(0, Leaf(0), Leaf(1))
    events: list[PathEvent] = []
    problem = PathProblem(X, y, 2, 3, 0.01, start=start)
    result = path_search(problem, on_event=events.append)
    first = next(e for e in events if e.kind == "incumbent")
    assert (first.source, first.tree) == ("warm start", start)
    claimed = path_search(PathProblem(X, y, 2, 3, 0.01, start_value=result.objective))
    assert claimed.objective == result.objective
    wrong = path_search(PathProblem(X, y, 2, 3, 0.01, start_value=0.999))
    assert (wrong.objective, wrong.status) == (result.objective, "optimal")


def test_leaf_size_beyond_half_and_beyond_all() -> None:
    X, y = parity(3)
    half = path_search(PathProblem(X, y, 2, 3, min_samples_leaf=5))
    assert half.tree == Leaf(0)
    none = path_search(PathProblem(X, y, 2, 3, min_samples_leaf=9))
    assert (none.status, none.tree, none.bound) == ("infeasible", None, None)
