"""Path bound cuts keep the canonical optimum; objective form and value rows hold always."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from octcore.formulations.shared.separation.path_bound import (
    PathBoundCuts,
    PathBoundForms,
    TreePath,
    ValueRows,
)
from octcore.formulations.shared.separation.tree_rows import TreePoint
from octcore.search.univariate.tree import Branch, Leaf, count_leaves, predict
from octcore.warmstart.polishing import SubtreeCache
from tests.unit.formulations.separation.tree_cases import (
    flat_point,
    instance_of,
    random_instance,
    random_tree,
    slack,
)

PUBLISHED = PathBoundForms(basic=True, negative=True, structure=True)
VALID_FOR_ALL = PathBoundForms(negative=False, structure=False, objective=True)


def cache_of(instance, penalty):
    X = instance.X[instance.pattern]
    return SubtreeCache(X, instance.target, instance.weight, instance.n_classes, penalty)


def canonical(instance, cache, hits, depth, penalty):
    """Canonical optimum by recursion: value, then leaves, then structure."""
    if depth <= 2:
        best = cache.subtree(hits, depth)
        return best.value, best.tree
    counts = np.bincount(instance.target[hits], instance.weight[hits], minlength=instance.n_classes)
    best_value, best = float(counts.max()) - penalty, Leaf(int(counts.argmax()))
    for f in range(instance.X.shape[1]):
        right = instance.is_one[:, f]
        parts = [
            canonical(instance, cache, hits & rows, depth - 1, penalty) for rows in (~right, right)
        ]
        value = parts[0][0] + parts[1][0]
        tree = Branch(f, parts[0][1], parts[1][1])
        better = value > best_value + 1e-9
        fewer = abs(value - best_value) <= 1e-9 and count_leaves(tree) < count_leaves(best)
        if better or fewer:
            best_value, best = value, tree
    return best_value, best


def all_paths(instance, layout):
    """Paths of length 0 and 1, and some of length 2 at depth four."""
    paths, queue = [], [TreePath.root(instance)]
    while queue:
        path = queue.pop()
        paths.append(path)
        if layout.height(path.end) > 2:
            for f in range(instance.X.shape[1]):
                queue += path.step(f, instance)
    return paths


def value_of(tree, instance, penalty):
    hit = predict(tree, instance.X)[instance.pattern] == instance.target
    return float(instance.weight[hit].sum()) - penalty * count_leaves(tree)


@pytest.mark.parametrize("depth", [3, 4])
@pytest.mark.parametrize("penalty", [0.0, 0.3, 1.0])
def test_canonical_optimum_satisfies_the_published_cuts(depth, penalty):
    rng = np.random.default_rng(depth)
    n_rows = 0
    for _ in range(6 if depth == 3 else 2):
        instance = random_instance(rng, n=14, features=3 if depth == 4 else 4)
        layout = instance.layout(depth)
        cache = cache_of(instance, penalty)
        everything = np.ones(layout.n_hits, bool)
        _, tree = canonical(instance, cache, everything, depth, penalty)
        cuts = PathBoundCuts(layout, instance, cache.subtree, penalty, PUBLISHED)
        for rows in cuts.rows(all_paths(instance, layout)):
            n_rows += len(rows.rhs)
            assert (slack(rows, flat_point(tree, layout, instance)) > -1e-9).all()
    assert n_rows > 50


@pytest.mark.parametrize("depth", [2, 3, 4])
def test_objective_form_holds_at_every_tree(depth):
    rng = np.random.default_rng(20 + depth)
    for _ in range(4):
        penalty = float(rng.choice([0.0, 0.4, 1.5]))
        instance = random_instance(rng, n=12, features=3)
        layout = instance.layout(depth)
        cuts = PathBoundCuts(
            layout, instance, cache_of(instance, penalty).subtree, penalty, VALID_FOR_ALL
        )
        (rows,) = cuts.rows(all_paths(instance, layout))
        for _ in range(150):
            tree = random_tree(rng, depth, 3, 3)
            assert (slack(rows, flat_point(tree, layout, instance)) > -1e-9).all()


def test_random_ties_cut_off_what_canonical_ties_keep():
    """Two equal columns: whichever of them the subtree uses, the other optimal trees go."""
    X = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]], np.uint8)
    instance = instance_of(X, np.array([0, 1, 1, 0]), 2)
    layout, penalty = instance.layout(3), 0.1
    cache = cache_of(instance, penalty)
    first, second = (
        Branch(f, Branch(2, Leaf(0), Leaf(1)), Branch(2, Leaf(1), Leaf(0))) for f in (0, 1)
    )
    assert value_of(first, instance, penalty) == value_of(second, instance, penalty)
    cuts = PathBoundCuts(layout, instance, cache.subtree, penalty, PUBLISHED)
    (rows,) = cuts.rows([TreePath.root(instance)])
    assert (slack(rows, flat_point(first, layout, instance)) > -1e-9).all()
    assert slack(rows, flat_point(second, layout, instance)).min() < -0.5


@pytest.mark.long  # kernels are compiled that other tests do without
def test_near_ties_cut_off_no_optimal_tree() -> None:
    """Two splits that each gain next to nothing, and together more: parts agree with the whole."""
    X = np.array([[0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 0, 1]], np.uint8)
    instance = replace(
        instance_of(X, np.array([0, 1, 1, 0]), 2), weight=np.array([5e5, 1000.0006, 5e5, 1000.0006])
    )
    layout, cache = instance.layout(3), cache_of(instance, 1000.0)
    tree = Branch(0, Branch(1, Leaf(0), Leaf(1)), Branch(2, Leaf(1), Leaf(0)))
    cuts = PathBoundCuts(layout, instance, cache.subtree, 1000.0, PUBLISHED)
    (rows,) = cuts.rows(all_paths(instance, layout))
    assert (slack(rows, flat_point(tree, layout, instance)) > -1e-9).all()


def test_separation_finds_only_violated_paths():
    rng = np.random.default_rng(4)
    n_rows = 0
    for _ in range(20):
        instance = random_instance(rng, n=14)
        layout = instance.layout(3)
        cuts = PathBoundCuts(layout, instance, cache_of(instance, 0.2).subtree, 0.2, PUBLISHED)
        tree = random_tree(rng, 3, 4, 3, leaf=0.0)
        flat = flat_point(tree, layout, instance)
        flat[layout.hit_start :] = 1.0
        for rows in cuts.separate(TreePoint(layout, flat)):
            n_rows += len(rows.rhs)
            assert slack(rows, flat).min() < -1e-3
    assert n_rows > 20


def test_decided_paths_follow_the_bounds():
    instance = random_instance(np.random.default_rng(1))
    layout = instance.layout(3)
    cuts = PathBoundCuts(layout, instance, cache_of(instance, 0.1).subtree, 0.1, PUBLISHED)
    upper = np.ones(layout.n_variables)
    assert cuts.fixed_paths(upper) == []
    upper[layout.leaf(1)] = 0.0
    upper[layout.branch(1, np.array([0, 1, 3]))] = 0.0
    assert {path.steps for path in cuts.fixed_paths(upper)} == {((1, 2, 0),), ((1, 2, 1),)}


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_value_rows_hold_at_every_tree_and_are_tight_at_the_optimum(depth):
    rng = np.random.default_rng(30 + depth)
    for _ in range(4):
        penalty = float(rng.choice([0.0, 0.5, 2.0]))
        instance = random_instance(rng, n=12, features=3)
        layout = instance.layout(depth)
        cache = cache_of(instance, penalty)
        everything = np.ones(layout.n_hits, bool)
        best, tree = canonical(instance, cache, everything, depth, penalty)
        finder = ValueRows(layout, instance, cache.values_by_root, penalty)
        flat = flat_point(tree, layout, instance)
        found = finder.separate(TreePoint(layout, flat))
        assert finder.separate(TreePoint(layout, flat)) == []
        if depth < 4:
            (rows,) = found
            np.testing.assert_allclose(slack(rows, flat), 0.0, atol=1e-9)
            assert value_of(tree, instance, penalty) == pytest.approx(best)
        for rows in found:
            for _ in range(150):
                other = random_tree(rng, depth, 3, 3)
                assert (slack(rows, flat_point(other, layout, instance)) > -1e-9).all()
