"""Probing bounds every tree that a node allows, and refuses no split of a tree worth having."""

from __future__ import annotations

import numpy as np
import pytest

from octcore.formulations.shared.separation.path_bound import PathProbe
from octcore.search.univariate.tree import Branch
from tests.unit.formulations.separation.test_path_bound import cache_of, canonical, value_of
from tests.unit.formulations.separation.tree_cases import random_instance, random_tree

NEVER = -np.inf


def decide(upper, layout, node, feature):
    """Leave one split to a node."""
    upper[layout.leaf(node)] = 0.0
    others = np.delete(np.arange(layout.n_features), feature)
    upper[layout.branch(node, others)] = 0.0


def case(seed, depth=4):
    rng = np.random.default_rng(seed)
    penalty = float(rng.choice([0.0, 0.4, 1.0, 2.0]))
    instance = random_instance(rng, n=14, features=4)
    layout = instance.layout(depth)
    cache = cache_of(instance, penalty)
    return rng, penalty, instance, layout, cache, PathProbe(layout, instance, cache.value, penalty)


def test_an_open_root_is_not_probed():
    _, _, _, layout, _, probe = case(0)
    bound, refused = probe(np.ones(layout.n_variables), 1e6)
    assert bound == np.inf
    assert not len(refused)


@pytest.mark.parametrize("seed", range(6))
def test_below_a_decided_root_of_depth_four_the_bound_is_the_optimum(seed):
    _, penalty, instance, layout, cache, probe = case(seed)
    for feature in range(layout.n_features):
        upper = np.ones(layout.n_variables)
        decide(upper, layout, 1, feature)
        right = instance.is_one[:, feature]
        sides = [canonical(instance, cache, rows, 3, penalty)[0] for rows in (~right, right)]
        bound, _ = probe(upper, NEVER)
        assert bound == pytest.approx(sum(sides))


@pytest.mark.parametrize("seed", range(6))
def test_splits_are_refused_iff_no_better_tree_has_them(seed):
    rng, penalty, instance, layout, cache, probe = case(seed + 10)
    upper = np.ones(layout.n_variables)
    decide(upper, layout, 1, 0)
    right = instance.is_one[:, 0]
    halves = (~right, right)
    sides = [canonical(instance, cache, rows, 3, penalty)[0] for rows in halves]
    needed = sum(sides) - float(rng.choice([0.0, 0.5, 1.5]))
    _, refused = probe(upper, needed)
    for side, node in enumerate((2, 3)):
        for g in range(layout.n_features):
            own = instance.is_one[:, g]
            below = [
                canonical(instance, cache, halves[side] & rows, 2, penalty)[0]
                for rows in (~own, own)
            ]
            is_worth = sum(below) + sides[1 - side] > needed + 1e-9
            assert (layout.branch(node, g) in refused) == (not is_worth)


@pytest.mark.parametrize("depth", [3, 4, 5])
def test_the_bound_holds_at_every_tree_that_is_allowed(depth):
    tightened = 0
    for seed in range(4):
        rng, penalty, instance, layout, _, probe = case(20 + seed, depth)
        for _ in range(60):
            tree = random_tree(rng, depth, 4, 3, leaf=0.2)
            if not isinstance(tree, Branch):
                continue
            upper = np.ones(layout.n_variables)
            decide(upper, layout, 1, tree.feature)
            for child, part in ((2, tree.left), (3, tree.right)):
                if isinstance(part, Branch) and rng.random() < 0.7:
                    decide(upper, layout, child, part.feature)
            bound, _ = probe(upper, NEVER)
            assert value_of(tree, instance, penalty) <= bound + 1e-9
            tightened += bound < instance.weight.sum() - penalty - 1e-9
    assert tightened > 50


def test_a_node_that_may_only_be_a_leaf_gains_a_leaf():
    _, penalty, instance, layout, cache, probe = case(30)
    upper = np.ones(layout.n_variables)
    decide(upper, layout, 1, 1)
    upper[layout.branch(2, np.arange(layout.n_features))] = 0.0
    right = instance.is_one[:, 1]
    tally = np.bincount(instance.target[~right], instance.weight[~right])
    other = canonical(instance, cache, right, 3, penalty)[0]
    bound, refused = probe(upper, NEVER)
    assert bound == pytest.approx(tally.max() - penalty + other)
    assert not len(refused)
    upper[layout.leaf(2)] = 0.0
    assert probe(upper, NEVER)[0] == -np.inf


def test_a_subtree_too_deep_to_probe_gains_all_its_rows_at_most():
    _, penalty, instance, layout, _, probe = case(40, depth=5)
    upper = np.ones(layout.n_variables)
    decide(upper, layout, 1, 0)
    bound, _ = probe(upper, NEVER)
    assert bound == pytest.approx(instance.weight.sum() - 2 * penalty)
