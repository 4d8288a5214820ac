"""Open states of one side: their least bound is that of the best tree for the samples there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from octcore.search.margot.nested import NestedSearch
from octcore.search.margot.records import RoutingProblem, Tracker, merged_rows
from tests.referee.routing_search import solved

N = 14


def nested(seed: int, n: int = N) -> NestedSearch:
    """A search of which no state closes another one."""
    rng = np.random.default_rng(seed)
    x, y = rng.random((n, 2)), np.where(rng.random(n) < 0.5, -1.0, 1.0)
    upper, last = ((0.1, 10.0), (1.0, 1.0), (1.0, 100.0))[seed % 3]
    problem, _ = merged_rows(RoutingProblem(x, y, 3, upper, last))
    made = NestedSearch(problem, Tracker())
    made.start()
    made.prefix = np.zeros(n, np.int64)
    made._load_root()
    made.cutoff = lambda: 1e9
    return made


@pytest.mark.parametrize("side", [0, 1])
@pytest.mark.parametrize("seed", range(6))
def test_samples_that_join_are_free_in_the_open_states(seed: int, side: int):
    """Of a side whose samples join in three parts, with some work between."""
    made = nested(seed)
    for last in (5, 9, N):
        made.prefix[:last] = side + 1
        complete = made._raise(side, 2)
    while not complete:
        complete = made._raise(side, 5)
    best = solved(replace(made.problem, depth=2)).objective
    low = made.heaps[side].low
    assert best * (1 - 1e-3) <= low <= best * (1 + 1e-4) + made.correction()


@pytest.mark.parametrize(("seed", "n"), [*((seed, 9) for seed in range(6)), (34, 7)])
def test_the_best_tree_stays_open_where_others_are_closed(seed: int, n: int):
    """States that cost more than a tree just above the best one go, whatever the bank holds.

    In the last case the bank holds a closed state where the next one is the first on the desk.
    """
    made = nested(seed, n)
    best = solved(replace(made.problem, depth=2)).objective
    made.cutoff = lambda: best * (1 + 1e-3) + made.correction()
    made.prefix[:] = 1
    while not made._raise(0, 5):
        assert made.heaps[0].low <= best * (1 + 1e-4) + made.correction()
    assert best * (1 - 1e-3) <= made.heaps[0].low <= best * (1 + 1e-4) + made.correction()


def test_a_desk_grows_with_its_states():
    made = nested(2)
    made.prefix[:] = 1
    made.side_desk = made.side_desk._replace(
        bounds=np.zeros(1), known=np.zeros(1, np.int64), rows=made.side_desk.rows[:1]
    )
    while not made._raise(0, 3):
        pass
    assert len(made.side_desk.bounds) >= len(made.heaps[0].bounds)
    best = solved(replace(made.problem, depth=2)).objective
    assert made.heaps[0].low <= best * (1 + 1e-4) + made.correction()
