"""threshold-search against enumeration of all thresholds."""

from __future__ import annotations

import numpy as np
import pytest

import octcore
from octcore.formulations.shared.univariate import UnivariateObjective
from octcore.search.univariate import lane_search
from octcore.search.univariate.question import Question
from octcore.search.univariate.search import answer
from tests.brute import make_problem, run, threshold_tree

TOLERANCE = 1e-9


def optimum(problem) -> float | None:
    """Largest objective over every number of splits, by recursion over rows."""
    objective = UnivariateObjective(problem)
    wanted = problem.constraints
    allowed = np.flatnonzero(~problem.forbidden_columns)
    found = threshold_tree(
        problem.X[:, allowed], problem.y, problem.weights, problem.n_classes, problem.depth,
        wanted.min_samples_leaf or 1,
    )  # fmt: skip
    limit = wanted.leaf_limit
    return max(
        (
            objective.from_count(
                objective.problem.total_weight - wrong - objective.penalty * (splits + 1)
            )
            for splits, wrong in found.items()
            if limit is None or splits + 1 <= limit
        ),
        default=None,
    )


WIDE = {9, 27, 30, 39}
"""Seeds of weights for which kernels are compiled that others do without."""


def random_problem(rng: np.random.Generator, constraints=None, depth: int | None = None):
    """Few rows with ties, columns of 0 and 1 beside numbers, weights now and then."""
    depth = int(rng.integers(1, 4)) if depth is None else depth
    n = int(rng.integers(2, {1: 30, 2: 20, 3: 11}[depth]))
    X = rng.integers(0, rng.integers(2, 8, 3), (n, 3)).astype(float) * 0.5
    classes = int(rng.integers(2, 5))
    kinds = [None, rng.integers(1, 5, n).astype(float), rng.random(n), rng.integers(0, 3, n) * 0.7]
    weights = kinds[int(rng.integers(4))]
    if weights is not None and not weights.sum():
        weights = None
    params = {"leaf_penalty": float(rng.choice([0.0, 0.01, 0.05, 0.2]))}
    return make_problem(
        X, rng.integers(0, classes, n), classes, depth, params, constraints, weights,
        formulation="threshold-search",
    )  # fmt: skip


def check(problem) -> None:
    outcome, recorder, events = run(problem, "threshold-search", "threshold-search")
    expected = optimum(problem)
    if expected is None:
        assert outcome.stop_reason.value == "infeasible"
        return
    assert recorder.objective == pytest.approx(expected, abs=TOLERANCE)
    assert recorder.is_closed
    bounds = [event.bound for event in events if event.bound is not None]
    assert min(bounds) >= expected - TOLERANCE
    assert problem.admits(recorder.tree)


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "seed", [pytest.param(k, marks=pytest.mark.long if k in WIDE else ()) for k in range(60)]
)
def test_optimum_is_that_of_enumeration(seed: int) -> None:
    check(random_problem(np.random.default_rng(seed)))


def test_run_says_what_is_proven_and_how_far_thresholds_move() -> None:
    data = octcore.load_sample("iris")
    solved = octcore.solve(data, "threshold-search", depth=2)
    assert solved.encoding.key == "raw"
    assert solved.status == "optimal"
    assert solved.accuracy == pytest.approx(0.96)
    assert "optimal among all axis-parallel trees of depth 2 on these rows" in (
        solved.certificate.statements
    )
    X = solved.encoding.transform(data.frame)
    intervals = solved.extras["threshold_intervals"]
    assert set(intervals) == set(solved.tree.splits)
    rows = solved.tree.node_rows(X)
    for node, (low, high) in intervals.items():
        split = solved.tree.splits[node]
        values = X[rows[node], split.features[0]]
        assert low < split.threshold < high
        assert not ((values > low) & (values < high)).any()


@pytest.mark.long
def test_order_of_rows_does_not_matter() -> None:
    rng = np.random.default_rng(3)
    for _ in range(10):
        problem = random_problem(rng, depth=2)
        order = rng.permutation(problem.n_samples)
        shuffled = make_problem(
            problem.X[order], problem.y[order], problem.n_classes, problem.depth, problem.params,
            None, problem.weights[order], formulation="threshold-search",
        )  # fmt: skip
        trees = [
            run(p, "threshold-search", "threshold-search")[1].tree for p in (problem, shuffled)
        ]
        assert trees[0] == trees[1]


def test_threads_and_rounds_change_no_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(8)
    X, y = rng.integers(0, 25, (36, 2)).astype(float), rng.integers(0, 2, 36)
    monkeypatch.setattr(lane_search, "LARGE_WORK", {3: 0, 4: 0})
    monkeypatch.setattr(lane_search, "FIRST_STEPS", 1)
    results = [answer(Question(X, y, 2, 3, 0.002, threads=threads)) for threads in (1, 3)]
    assert results[0].status == results[1].status == "optimal"
    assert results[0].tree == results[1].tree
    assert results[0].bound == results[1].bound
