"""Gains of the routing search's trials against the bound of the state that they foresee."""

from __future__ import annotations

import numpy as np
import pytest

from octcore.numerics.node_qp.rows import copy_node, load_rows, node_of
from octcore.search.margot.branching import trial_gain
from octcore.search.margot.core import RoutingSearch
from octcore.search.margot.records import RoutingProblem, Tracker, merged_rows
from octcore.search.margot.state import clear_bank, extend_path, lower_bound, solve_bank

# Rise of the bound from which a side counts as closed.
ROOM = 1e4


@pytest.mark.parametrize("seed", range(4))
def test_trial_gain_is_the_rise_of_the_bound(seed: int):
    """Also where the child's plane suits the sample and only the parent's plane must turn."""
    rng = np.random.default_rng(seed)
    x, y = rng.random((20, 3)), np.where(rng.random(20) < 0.5, -1.0, 1.0)
    problem, _ = merged_rows(RoutingProblem(x, y, 2, 1.0, 20.0))
    search = RoutingSearch(problem, Tracker())
    search.start()
    prefix = np.zeros(20, np.int64)
    clear_bank(search.bank)
    load_rows(node_of(search.bank, 0), np.zeros(20, np.int8))
    for sample, side in ((0, 1), (1, -1), (2, 1), (3, -1)):
        extend_path(search.bank, search.data, prefix, sample, side)
    assert solve_bank(search.bank, search.data, np.inf)
    before = lower_bound(search.bank)
    for sample in range(4, 20):
        for side in (-1, 1):
            moved = prefix.copy()
            for node in range(3):
                copy_node(node_of(search.bank, node), node_of(search.pair, node))
            extend_path(search.pair, search.data, moved, sample, side)
            possible = solve_bank(search.pair, search.data, before + ROOM)
            rise = lower_bound(search.pair) - before if possible else ROOM
            arguments = (search.bank, search.desk.trial, search.data, prefix, sample, side)
            gain = min(ROOM, trial_gain(*arguments, ROOM, 10_000))
            assert gain == pytest.approx(rise, abs=1e-5)
