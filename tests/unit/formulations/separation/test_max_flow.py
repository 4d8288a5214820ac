"""Benders cuts: the minimum cut is a maximum flow, and no tree violates a cut."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from octcore.formulations.shared.separation.max_flow import BendersCuts, minimum_cuts
from octcore.formulations.shared.separation.tree_rows import Instance, TreeLayout, TreePoint
from tests.unit.formulations.separation.tree_cases import (
    flat_point,
    mixture,
    random_instance,
    random_tree,
    slack,
)

SAME = 1e-7


def maximum_flow(point: TreePoint, instance: Instance, hit: int) -> float:
    """The flow of one hit as a linear program: arcs to every node, absorption at every node."""
    layout = point.layout
    x, k = instance.X[instance.pattern[hit]], instance.target[hit]
    n = layout.n_nodes
    upper = np.zeros(2 * n)
    upper[0] = 1.0
    for m in range(1, layout.n_branch + 1):
        upper[2 * m - 1] = point.branch[m - 1][x == 0].sum()
        upper[2 * m] = point.branch[m - 1][x == 1].sum()
    upper[n:] = point.label[:, k]
    balance = np.zeros((n, 2 * n))
    for m in range(1, n + 1):
        balance[m - 1, m - 1], balance[m - 1, n + m - 1] = 1.0, -1.0
        if m <= layout.n_branch:
            balance[m - 1, 2 * m - 1] = balance[m - 1, 2 * m] = -1.0
    cost = np.concatenate([np.zeros(n), -np.ones(n)])
    solved = linprog(cost, A_eq=balance, b_eq=np.zeros(n), bounds=[(0, u) for u in upper])
    return -solved.fun


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_minimum_cut_is_the_maximum_flow(depth):
    rng = np.random.default_rng(depth)
    for _ in range(12):
        instance = random_instance(rng, n=4)
        layout = instance.layout(depth)
        trees = [random_tree(rng, depth, 4, 3) for _ in range(4)]
        point = mixture(rng, trees, layout, instance)
        value = minimum_cuts(point, instance).value
        flows = [maximum_flow(point, instance, h) for h in range(layout.n_hits)]
        np.testing.assert_allclose(value, flows, atol=SAME)


@pytest.mark.parametrize("strengthened", [False, True])
@pytest.mark.parametrize("fractional", [False, True])
def test_cuts_have_the_value_of_the_minimum_cut_and_hold_at_every_tree(strengthened, fractional):
    rng = np.random.default_rng(7)
    n_cuts = 0
    for _ in range(25):
        depth = int(rng.integers(1, 4))
        instance = random_instance(rng, n=8)
        layout = instance.layout(depth)
        chosen = [random_tree(rng, depth, 4, 3) for _ in range(4 if fractional else 1)]
        point = mixture(rng, chosen, layout, instance)
        finder = BendersCuts(layout, instance, strengthened=strengthened)
        value = minimum_cuts(point, instance).value
        for rows in finder.separate(point, 1e-6, is_integral=not fractional):
            n_cuts += len(rows.rhs)
            hits = rows.matrix[:, layout.hit_start :].toarray().argmax(axis=1)
            room = slack(rows, point.flat)
            assert (room < -1e-7).all()
            np.testing.assert_allclose(-room, (point.hit - value)[hits], atol=SAME)
            for _ in range(100):
                tree = random_tree(rng, depth, 4, 3)
                assert (slack(rows, flat_point(tree, layout, instance)) > -1e-9).all()
    assert n_cuts > 50


def test_strengthened_cuts_differ_from_plain_ones_at_terminal_nodes():
    rng = np.random.default_rng(3)
    kinds = set()
    for _ in range(20):
        instance = random_instance(rng, n=10)
        layout = instance.layout(2)
        point = mixture(rng, [random_tree(rng, 2, 4, 3, leaf=0.0)], layout, instance)
        plain = BendersCuts(layout, instance).separate(point, 1e-6, True)
        strong = BendersCuts(layout, instance, strengthened=True).separate(point, 1e-6, True)
        kinds |= {rows.kind for rows in strong}
        for a, b in zip(plain, strong, strict=True):
            assert len(a.rhs) == len(b.rhs)
            if b.kind == "strengthened":
                assert (a.matrix != b.matrix).nnz
    assert "strengthened" in kinds


def test_cut_of_the_worked_example():
    """x = (0, 0) of class 0 at the stump on f0 with labels 1 | 0 (the way goes left)."""
    X = np.array([[0, 0], [1, 0]], np.uint8)
    instance = Instance(
        X, np.array([0]), np.array([0]), np.ones(1), 2, np.array([0, 1]), np.arange(2)
    )
    layout = TreeLayout(1, 2, 2, 1)
    flat = np.zeros(layout.n_variables)
    flat[layout.branch(1, 0)] = flat[layout.mass(1)] = 1.0
    flat[layout.leaf(2)] = flat[layout.label(2, 1)] = 1.0
    flat[layout.leaf(3)] = flat[layout.label(3, 0)] = 1.0
    flat[layout.hit(0)] = 1.0
    (rows,) = BendersCuts(layout, instance).separate(TreePoint(layout, flat), 1e-6, True)
    row = rows.matrix.toarray()[0]
    expected = np.zeros(layout.n_variables)
    expected[layout.hit(0)] = 1.0
    expected[[layout.label(1, 0), layout.label(2, 0)]] = -1.0
    np.testing.assert_array_equal(row, expected)  # nothing sends (0, 0) right: an empty sum
    assert rows.pictures[0]["class"] == 0
