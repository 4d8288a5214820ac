"""First trees of planes end when the time of the solve does, whatever they were given."""

import time
from dataclasses import replace

import numpy as np
import pytest

from octcore.data.samples import load_sample
from octcore.formulations.base import get_formulation
from octcore.formulations.s_oct import SearchRounding
from octcore.numerics.hulls import widest_gap
from octcore.program import Columns, Patience, Point
from octcore.solving.prepare import problem_of
from octcore.solving.solve import solve
from octcore.warmstart import greedy
from octcore.warmstart.margin_search import MarginSearch
from octcore.warmstart.sparse_search import SparseSearch
from octcore.warmstart.svm_tree import TreeSearch
from tests.brute import make_problem

NO_TIME = Patience(lambda: 0.0)


def noisy(formulation: str, **params: object):
    """Program of rows that no tree sorts, whose search would go on for long."""
    rng = np.random.default_rng(0)
    X = rng.random((200, 8))
    y = ((X[:, 0] > X[:, 1]) ^ (X[:, 2] > X[:, 3])).astype(np.int64) ^ (rng.random(200) < 0.2)
    return get_formulation(formulation).build(
        make_problem(X, y, 2, 2, params, formulation=formulation)
    )


@pytest.mark.parametrize("formulation", ["oct-h", "svm1-odt", "s-oct", "mm-svm-oct"])
def test_first_trees_take_no_longer_than_is_left(formulation: str) -> None:
    program = noisy(formulation, start_seconds=30.0)
    end = time.perf_counter() + 0.3
    trees = list(program.starts(Patience(lambda: max(0.0, end - time.perf_counter()))))
    assert trees
    assert time.perf_counter() < end + 10.0


@pytest.fixture
def asked(monkeypatch) -> list[float]:
    """Seconds that searches are given, instead of searching."""
    given: list[float] = []

    def until(result, deadline):
        given.append(deadline - time.perf_counter())
        return result

    monkeypatch.setattr(SparseSearch, "improve", lambda search, tree, left: given.append(left))
    monkeypatch.setattr(MarginSearch, "improve", lambda search, start, end: until(start, end))
    monkeypatch.setattr(TreeSearch, "improve", lambda search, leaf, end: until(False, end))
    monkeypatch.setattr(TreeSearch, "restart", lambda search, end: until(False, end))
    return given


@pytest.mark.parametrize("formulation", ["oct-h", "svm1-odt"])
def test_polishing_takes_no_longer_than_is_left(asked: list[float], formulation: str) -> None:
    program = noisy(formulation, start_seconds=0.1)
    *_, (_, tree) = program.starts(Patience(lambda: 0.1))
    assert program.improve is not None
    asked.clear()
    program.improve(tree, NO_TIME)
    assert asked
    assert max(asked) <= 0.0


@pytest.mark.long
def test_rounding_takes_no_longer_than_is_left(asked: list[float]) -> None:
    program = noisy("s-oct", start_seconds=0.0)
    assert program.build is not None
    rounding = program.build(lambda: None).rounding
    assert isinstance(rounding, SearchRounding)
    rounding.leaves = lambda point: np.arange(200) % 4 + 4
    for name in ("SLICE_SECONDS", "LONGEST_SECONDS"):
        setattr(rounding, name, 0.01)
    rounding(Point(Columns, np.zeros(0)), NO_TIME)  # type: ignore[arg-type]
    assert asked
    assert max(asked) <= 0.0


def test_a_gap_that_no_time_is_left_for_is_none() -> None:
    left, right = np.random.default_rng(0).random((2, 300, 20)) + np.array([[[0.0]], [[2.0]]])
    assert widest_gap(left, right) is not None
    assert widest_gap(left, right, 0.0) is None


def test_columns_of_0_and_1_beside_numbers_are_not_sorted_one_by_one(monkeypatch):
    run = solve(load_sample("finches"), "cart", depth=1, encoding="raw")
    sort, sorted_ = np.argsort, []
    problem = problem_of(run)
    assert problem.X.dtype == np.float64
    monkeypatch.setattr(np, "argsort", lambda *a, **k: sorted_.append(a) or sort(*a, **k))
    tree = greedy.grow(problem)
    assert len(sorted_) == sum(column.kind == "value" for column in run.encoding.columns)
    assert greedy.grow(replace(problem, categorical=())).splits == tree.splits
