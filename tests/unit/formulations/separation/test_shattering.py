"""Shattering inequalities: found where no plane divides, never where one does."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from octcore.formulations.shared.separation.shattering import (
    SetFinder,
    ShatteredSet,
    ShatteringSeparator,
)
from octcore.numerics.hulls import widest_gap
from octcore.program import Point, SearchState

XOR = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])


def is_divisible(X: np.ndarray, left: list[int], right: list[int], epsilon: float) -> bool:
    if not left or not right:
        return True
    gap = widest_gap(X[left], X[right])
    return gap is not None and gap.width >= epsilon


def keeps_every_division(X: np.ndarray, found: ShatteredSet, epsilon: float) -> bool:
    """Whether every way to divide the members of a set by a plane satisfies its inequality."""
    members = [*found.left, *found.right]
    for sides in product((0, 1), repeat=len(members)):
        left = [i for i, s in zip(members, sides, strict=True) if s == 0]
        right = [i for i, s in zip(members, sides, strict=True) if s == 1]
        count = len(set(left) & set(found.left)) + len(set(right) & set(found.right))
        if count > len(found) - 1 and is_divisible(X, left, right, epsilon):
            return False
    return True


@pytest.mark.sampled(3)
@pytest.mark.parametrize("epsilon", [1e-5, 0.1])
@pytest.mark.parametrize("seed", range(30))
def test_sets_are_found_exactly_where_no_plane_divides(seed, epsilon):
    rng = np.random.default_rng(seed)
    p = int(rng.integers(1, 4))
    n = int(rng.integers(p + 2, 10))
    X = rng.integers(0, 4, (n, p)) / 3 if seed % 2 else rng.random((n, p))
    side = rng.random(n) < 0.5
    side[:2] = [True, False]
    left, right = np.flatnonzero(~side), np.flatnonzero(side)
    found = SetFinder(X, epsilon).find(left, right, 5)
    assert bool(found) != is_divisible(X, left.tolist(), right.tolist(), epsilon)
    assert len(set(found)) == len(found)
    for chosen in found:
        assert set(chosen.left) <= set(left.tolist())
        assert set(chosen.right) <= set(right.tolist())
        assert len(chosen) <= p + 2
        assert keeps_every_division(X, chosen, epsilon)
        for point in (*chosen.left, *chosen.right):  # irreducible
            rest_left = [i for i in chosen.left if i != point]
            rest_right = [i for i in chosen.right if i != point]
            assert is_divisible(X, rest_left, rest_right, epsilon * (1 - 1e-3))


def test_xor_corners_shatter_with_both_diagonals():
    finder = SetFinder(XOR, 1e-5)
    found = finder.find(np.array([0, 1]), np.array([2, 3]), 5)
    assert found == [ShatteredSet((0, 1), (2, 3))]
    assert found[0].mirrored == ShatteredSet((2, 3), (0, 1))
    assert not finder.find(np.array([0, 2]), np.array([1, 3]), 5)


def test_equal_points_travel_together():
    X = np.array([[0.2, 0.7], [0.2, 0.7], [0.9, 0.1]])
    assert SetFinder(X, 1e-5).find(np.array([0]), np.array([1, 2]), 5) == [ShatteredSet((0,), (1,))]


def test_fractional_points_need_less_than_one_missing():
    finder = SetFinder(XOR, 1e-5)
    left, right = np.array([0, 1]), np.array([2, 3])
    assert finder.find_fractional(left, right, np.array([0.0, 0.4, 0.0, 0.4]), 3)
    assert not finder.find_fractional(left, right, np.array([0.0, 0.6, 0.0, 0.6]), 3)


class Everything:
    """Columns of a model whose variables are "point i goes left / right at node t"."""

    n_columns = 16

    def of(self, component):
        raise AssertionError("the routing of this test needs no component")


def separator(n_cuts: int = 3, rounds: int | None = None) -> ShatteringSeparator:
    table = np.arange(16).reshape(4, 4)  # left and right at node 1, left and right at node 2
    routing = {1: (table[:, [0]], table[:, [1]]), 2: (table[:, [2]], table[:, [3]])}
    return ShatteringSeparator(XOR, lambda columns: routing, (1,), 1e-5, n_cuts, rounds=rounds)


def state(number: int = 0) -> SearchState:
    return SearchState(True, True, number)


def test_separator_returns_violated_rows_and_copies_them_to_other_nodes():
    x = np.zeros((4, 4))
    x[[0, 1], 0] = x[[2, 3], 1] = 1.0  # diagonals divided at node 1 …
    x[[2, 3], 2] = x[[0, 1], 3] = 1.0  # … and mirrored at node 2, which is not examined
    found = separator().separate(Point(Everything(), x.ravel()), state())
    assert len(found) == 1
    assert (found[0].matrix @ x.ravel() > found[0].rhs + 0.5).all()
    assert sorted(p["node"] for p in found[0].pictures) == [1, 2]


def test_a_row_admits_whoever_leaves_one_member_out():
    """All members on their sides break the row, all but one keep it to the last unit."""
    x = np.zeros((4, 4))
    x[[0, 1], 0] = x[[2, 3], 1] = 1.0
    (found,) = separator().separate(Point(Everything(), x.ravel()), state())
    assert found.matrix @ x.ravel() - found.rhs == pytest.approx(1.0)
    for point in range(4):
        y = x.copy()
        y[point, [0, 1]] = y[point, [1, 0]]
        assert found.matrix @ y.ravel() - found.rhs == pytest.approx(0.0)


def test_separator_remembers_sets_and_stops_after_its_rounds():
    x = np.zeros((4, 4))
    x[[0, 1], 0] = x[[2, 3], 1] = 1.0
    point = Point(Everything(), x.ravel())
    limited = separator(rounds=2)
    assert limited.separate(point, state(1))
    assert not limited.separate(point, state(2))
    assert len(limited.sets) == 1
    assert limited.separate(point, state(0))
    assert len(limited.sets) == 1


def test_tension_is_highest_where_a_tight_set_waits():
    x = np.zeros((4, 4))
    x[[0, 1], 0] = x[2, 1] = 1.0
    x[3] = 0.5
    cutter = separator()
    full = x.copy()
    full[3] = [0.0, 1.0, 0.0, 1.0]
    cutter.separate(Point(Everything(), full.ravel()), state())
    tension = cutter.tension(Point(Everything(), x.ravel()))
    assert set(tension) == {1, 2}
    assert (tension[1] > 0).all()
