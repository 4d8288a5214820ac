"""The search that treats the two trees below the root by themselves, against the plain one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from octcore.search.margot.core import RoutingSearch
from octcore.search.margot.nested import NestedSearch, full_node
from octcore.search.margot.records import RoutingProblem, Tracker, merged_rows
from octcore.search.margot.state import lower_bound
from tests.referee.routing_search import solved

GAP = 1e-4


def case(seed: int, n: int = 9) -> RoutingProblem:
    """A few points on a grid, so that equal rows with both labels occur."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 4, (n, 2)) / 3.0
    y = np.where(rng.random(n) < 0.5, -1.0, 1.0)
    y[:2] = -1.0, 1.0
    upper, last = ((0.1, 10.0), (1.0, 1.0), (1.0, 100.0))[seed % 3]
    return RoutingProblem(x, y, 3, upper, last)


def plainly(problem: RoutingProblem) -> float:
    """Objective by the search whose states fix the whole way of a sample."""
    merged, _ = merged_rows(problem)
    plain = RoutingSearch(merged, Tracker())
    plain.start()
    assert plain.run() == "optimal"
    return plain.tracker.objective


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("seed", "n"), [*((seed, 9) for seed in range(6)), (7, 5), (28, 5)])
def test_it_finds_what_the_plain_search_finds(seed: int, n: int):
    problem = case(seed, n)
    found, plain = solved(problem), plainly(problem)
    assert found.status == "optimal"
    assert found.objective == pytest.approx(plain, rel=2 * GAP, abs=1e-6)
    assert found.bound <= plain * (1 + 1e-6)


@pytest.mark.parametrize("threads", [1, 2])
def test_bounds_hold_whenever_it_stops(threads: int):
    rng = np.random.default_rng(2)
    x, y = rng.random((14, 2)), np.where(rng.random(14) < 0.5, -1.0, 1.0)
    problem = replace(RoutingProblem(x, y, 3, 1.0, 50.0), threads=threads)
    full = solved(problem)
    assert full.status == "optimal"
    for node_limit in (1, 5, 20, 60):
        early = solved(problem, node_limit=node_limit)
        assert early.bound <= full.objective
        assert full.bound <= early.objective


@pytest.mark.slow
def test_what_is_closed_is_what_the_node_programs_hold(monkeypatch: pytest.MonkeyPatch):
    """A state that turns out complete may not be the first of its side any longer."""
    finish, held = NestedSearch._finish, []

    def watched(self: NestedSearch) -> bool:
        held.extend(
            lower_bound(bank) <= side.low * (1.0 + 1e-9) + 1e-12
            for bank, side in zip(self.below, self.heaps, strict=True)
        )
        return finish(self)

    monkeypatch.setattr(NestedSearch, "_finish", watched)
    rng = np.random.default_rng(1004)
    for _ in range(200):
        x, y = rng.random((7, 1)), np.where(rng.random(7) < 0.5, -1.0, 1.0)
        solved(RoutingProblem(x, y, 3, 1.0, 10.0, gap=1e-7), node_limit=500)
    assert held
    assert all(held)


def test_nodes_of_both_sides_are_those_of_the_whole_tree():
    assert [full_node(0, node) for node in range(7)] == [1, 3, 4, 7, 8, 9, 10]
    assert [full_node(1, node) for node in range(7)] == [2, 5, 6, 11, 12, 13, 14]
