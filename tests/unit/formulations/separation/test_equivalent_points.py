"""Equivalent points: sets, validity at every tree, and projected against explicit rows."""

from __future__ import annotations

from itertools import combinations, product
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import linprog, milp
from scipy.sparse import csr_matrix, vstack

from octcore.formulations.shared.separation.equivalent_points import (
    BLOCK_ROWS,
    EquivalentForm,
    EquivalentPointCuts,
    conflict_groups,
    find_sets,
)
from octcore.formulations.shared.separation.tree_rows import TreePoint
from tests.enumeration import all_trees
from tests.unit.formulations.separation.explicit_rows import explicit_rows
from tests.unit.formulations.separation.tree_cases import (
    flat_point,
    instance_of,
    mixture,
    random_instance,
    random_tree,
    slack,
)

FORMS = [
    EquivalentForm(indicator, disaggregated, group_selection)
    for indicator, disaggregated, group_selection in product(
        ("basic", "chain", "recursive"), (True, False), (True, False)
    )
]


def nobody():
    """Asks for nothing."""


def slow_sets(instance, split_size):
    """All maximal sets from the definition, if some pair differs in all of the split set."""
    found = set()
    n_features = instance.X.shape[1]
    hits = range(len(instance.pattern))
    x = instance.X[instance.pattern]
    for size in range(1, split_size + 1):
        for split_set in combinations(range(n_features), size):
            outside = [f for f in range(n_features) if f not in split_set]
            groups = {}
            for h in hits:
                groups.setdefault(tuple(x[h, outside]), []).append(h)
            pair = any(
                instance.target[g] != instance.target[h]
                and all(x[g, f] != x[h, f] for f in split_set)
                and tuple(x[g, outside]) == tuple(x[h, outside])
                for g, h in combinations(hits, 2)
            )
            for group in groups.values():
                classes = {int(instance.target[h]) for h in group}
                varies = all(len({int(x[h, f]) for h in group}) == 2 for f in split_set)
                if pair and len(classes) > 1 and varies:
                    found.add((split_set, frozenset(group)))
    return found


def test_pairs_of_many_rows_can_be_interrupted():
    asked = []
    instance = random_instance(np.random.default_rng(0), n=3 * BLOCK_ROWS, features=12)
    sets = find_sets(instance, 2, lambda: asked.append(1))
    assert len(asked) >= 3 + len(set(sets.split_sets))  # every block, every split set


def test_sets_follow_the_definition():
    rng = np.random.default_rng(0)
    for _ in range(20):
        instance = random_instance(rng, n=12)
        sets = find_sets(instance, 2, nobody)
        found = {
            (split_set, frozenset(int(h) for group in sets.groups(j) for h in group))
            for j, split_set in enumerate(sets.split_sets)
        }
        assert found == slow_sets(instance, 2)
        for j in range(len(sets)):
            for group in sets.groups(j):
                assert len(np.unique(instance.target[group])) == 1


def test_rows_that_only_their_keys_call_equal_are_no_set(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    instances = [random_instance(rng, n=12) for _ in range(4)]
    ones = SimpleNamespace(integers=lambda low, high, size, dtype: np.ones(size, dtype))
    monkeypatch.setattr(np.random, "default_rng", lambda seed: ones)
    for instance in instances:
        sets = find_sets(instance, 2, nobody)
        for j, split_set in enumerate(sets.split_sets):
            rows = instance.is_one[np.concatenate(sets.groups(j))]
            assert set(np.flatnonzero(np.ptp(rows.astype(int), axis=0))) == set(split_set)


def test_conflicts_are_patterns_with_several_classes():
    X = np.array([[0, 1], [0, 1], [1, 1], [0, 1]], np.uint8)
    instance = instance_of(X, np.array([0, 1, 0, 0]), 2)
    (group,) = conflict_groups(instance)
    assert sorted(instance.target[group].tolist()) == [0, 1]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("form", FORMS, ids=str)
def test_projected_rows_hold_at_every_tree(form):
    rng = np.random.default_rng(5)
    n_rows = 0
    for depth in (2, 3):
        for _ in range(4):
            instance = random_instance(rng, n=9, features=3)
            layout = instance.layout(depth)
            sets = find_sets(instance, 2, nobody)
            cuts = EquivalentPointCuts(layout, instance, sets, form)
            if depth == 2:
                trees = list(all_trees(3, 3, 2))
                trees = [trees[i] for i in rng.choice(len(trees), 300)]
            else:
                trees = [random_tree(rng, 3, 3, 3) for _ in range(200)]
            points = np.array([flat_point(tree, layout, instance) for tree in trees])
            for _ in range(5):
                mixed = [random_tree(rng, depth, 3, 3) for _ in range(3)]
                point = mixture(rng, mixed, layout, instance)
                for rows in cuts.separate(point, 1e-3):
                    n_rows += len(rows.rhs)
                    assert (slack(rows, point.flat) < -1e-9).all()
                    assert ((rows.matrix @ points.T).T <= rows.rhs + 1e-9).all()
    assert n_rows > 20


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_explicit_rows_admit_every_tree(form):
    """With the auxiliary variables free, every tree of depth two must stay feasible."""
    rng = np.random.default_rng(6)
    instance = random_instance(rng, n=7, features=3, classes=2)
    layout = instance.layout(2)
    explicit = explicit_rows(layout, instance, find_sets(instance, 2, nobody), form)
    assert explicit.rows is not None
    n = layout.n_variables
    fixed, auxiliary = explicit.rows.matrix[:, :n], explicit.rows.matrix[:, n:]
    trees = list(all_trees(3, 2, 2))
    for i in rng.choice(len(trees), 40, replace=False):
        room = explicit.rows.rhs - fixed @ flat_point(trees[i], layout, instance)
        solved = milp(
            np.zeros(auxiliary.shape[1]),
            constraints=(auxiliary, -np.inf, room + 1e-9),
            integrality=explicit.binary.astype(int),
            bounds=(0, 1),
        )
        assert solved.success


def relaxation_bound(instance, layout, form, projected):
    """LP bound of accuracy over plain trees and equivalent-point rows only."""
    n = layout.n_variables
    cost = np.zeros(n)
    cost[layout.hit_start :] = -instance.weight
    rows, rhs = [], []

    def equation(entries, value):
        row = np.zeros(n)
        for place, factor in entries:
            row[place] += factor
        rows.append(row)
        rhs.append(value)

    for m in range(1, layout.n_nodes + 1):
        own = [(layout.leaf(m), 1.0)]
        if m <= layout.n_branch:
            own.append((layout.mass(m), 1.0))
            tests = [(layout.branch(m, f), 1.0) for f in range(layout.n_features)]
            equation([*tests, (layout.mass(m), -1.0)], 0.0)
        above = [(layout.mass(m // 2), -1.0)] if m > 1 else []
        equation([*own, *above], 1.0 if m == 1 else 0.0)
        labels = [(layout.label(m, k), 1.0) for k in range(layout.n_classes)]
        equation([*labels, (layout.leaf(m), -1.0)], 0.0)
    equations = csr_matrix(np.array(rows))
    sets = find_sets(instance, 2, nobody)
    if not projected:
        explicit = explicit_rows(layout, instance, sets, form)
        matrix, limit = explicit.rows.matrix, explicit.rows.rhs
        wide = csr_matrix((equations.shape[0], matrix.shape[1] - n))
        equations = csr_matrix(np.hstack([equations.toarray(), wide.toarray()]))
        cost = np.concatenate([cost, np.zeros(matrix.shape[1] - n)])
        solved = linprog(cost, A_ub=matrix, b_ub=limit, A_eq=equations, b_eq=rhs, bounds=(0, 1))
        return -solved.fun
    cuts = EquivalentPointCuts(layout, instance, sets, form)
    matrix, limit = csr_matrix((0, n)), np.zeros(0)
    for _ in range(200):
        solved = linprog(
            cost,
            A_ub=matrix if matrix.shape[0] else None,
            b_ub=limit if matrix.shape[0] else None,
            A_eq=equations,
            b_eq=rhs,
            bounds=(0, 1),
        )
        found = cuts.separate(TreePoint(layout, solved.x), 1e-7)
        if not found:
            return -solved.fun
        matrix = csr_matrix(vstack([matrix, found[0].matrix]))
        limit = np.concatenate([limit, found[0].rhs])
    raise AssertionError("the cut loop did not end")


@pytest.mark.parametrize("indicator", ["basic", "chain", "recursive"])
def test_projection_is_as_strong_as_the_explicit_rows(indicator):
    rng = np.random.default_rng(11)
    for _ in range(2):
        instance = random_instance(rng, n=10, features=3, classes=2)
        layout = instance.layout(2)
        form = EquivalentForm(indicator, True, True)
        explicit = relaxation_bound(instance, layout, form, projected=False)
        projected = relaxation_bound(instance, layout, form, projected=True)
        # A beta above one makes a row idle; the explicit variable stops there and is idle too.
        assert projected == pytest.approx(explicit, abs=1e-5)


def test_order_of_strength():
    rng = np.random.default_rng(12)
    for _ in range(3):
        instance = random_instance(rng, n=10, features=4, classes=3)
        layout = instance.layout(2)
        bounds = {
            (indicator, choice): relaxation_bound(
                instance, layout, EquivalentForm(indicator, True, choice), projected=False
            )
            for indicator in ("basic", "chain", "recursive")
            for choice in (False, True)
        }
        for choice in (False, True):
            assert bounds["basic", choice] >= bounds["chain", choice] - 1e-6
            assert bounds["chain", choice] >= bounds["recursive", choice] - 1e-6
        for indicator in ("basic", "chain", "recursive"):
            assert bounds[indicator, False] >= bounds[indicator, True] - 1e-6
