"""Solution polishing: never worse, optimal at depth two, one cache for all row sets."""

from __future__ import annotations

import numpy as np
import pytest

from octcore.tree.tree import Split, Tree
from octcore.warmstart.polishing import Polisher, SubtreeCache
from tests.enumeration import best_by_leaves


def random_tree(rng, depth, features, classes) -> Tree:
    splits, labels, queue = {}, {}, [(1, depth)]
    while queue:
        node, left = queue.pop()
        if left and rng.random() < 0.85:
            splits[node] = Split.on_feature(int(rng.integers(features)))
            queue += [(2 * node, left - 1), (2 * node + 1, left - 1)]
        else:
            labels[node] = int(rng.integers(classes))
    return Tree(splits, labels, features, classes)


def value(tree, X, y, weights, penalty):
    return float(weights[tree.predict_codes(X) == y].sum()) - penalty * tree.n_leaves


def case(seed, features=4):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (24, features)).astype(np.uint8)
    y, weights = rng.integers(0, 3, 24), rng.integers(1, 4, 24).astype(float)
    penalty = float(rng.choice([0.0, 0.5, 2.0]))
    return rng, X, y, weights, penalty


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_polishing_never_worsens_and_keeps_the_depth(depth):
    for seed in range(8):
        rng, X, y, weights, penalty = case(seed)
        polisher = Polisher(SubtreeCache(X, y, weights, 3, penalty), X, np.arange(4), depth)
        tree = random_tree(rng, depth, 4, 3)
        better = polisher.improve(tree)
        assert better.max_depth <= depth
        assert value(better, X, y, weights, penalty) >= value(tree, X, y, weights, penalty) - 1e-9
        again = polisher.improve(better)
        assert value(again, X, y, weights, penalty) >= value(better, X, y, weights, penalty) - 1e-9


@pytest.mark.parametrize("depth", [1, 2])
def test_trees_of_depth_two_become_optimal(depth):
    for seed in range(6):
        rng, X, y, weights, penalty = case(seed)
        polisher = Polisher(SubtreeCache(X, y, weights, 3, penalty), X, np.arange(4), depth)
        found = value(polisher.improve(random_tree(rng, depth, 4, 3)), X, y, weights, penalty)
        best = best_by_leaves(X, y, 3, depth, weights)
        assert found == pytest.approx(max(v - penalty * j for j, (v, _) in best.items()))


def test_columns_that_the_cache_does_not_know():
    """A tree from elsewhere tests column 0, which duplicates column 1; the cache knows only 1-3."""
    _, X, y, weights, penalty = case(3)
    X[:, 0] = X[:, 1]
    cache = SubtreeCache(X[:, 1:], y, weights, 3, penalty)
    polisher = Polisher(cache, X, np.array([1, 2, 3]), 3)
    below = {2: Split.on_feature(0), 4: Split.on_feature(2)}
    tree = Tree({1: Split.on_feature(0), **below}, {3: 0, 5: 1, 8: 2, 9: 0}, 4, 3)
    better = polisher.improve(tree)
    assert better.splits[1] == tree.splits[1]
    assert value(better, X, y, weights, penalty) >= value(tree, X, y, weights, penalty)


@pytest.mark.parametrize("height", [1, 2, 3])
def test_values_by_root_equal_enumeration(height):
    rng, X, y, weights, penalty = case(5, features=3)
    weights[:4] = 0.0
    cache = SubtreeCache(X, y, weights, 3, penalty)
    hits = rng.random(24) < 0.7
    values = cache.values_by_root(hits, height)
    for f in range(3):
        total = 0.0
        for side in (0, 1):
            rows = hits & (X[:, f] == side)
            found = best_by_leaves(X[rows], y[rows], 3, height - 1, weights[rows])
            total += max(v - penalty * j for j, (v, _) in found.items())
        assert values[f] == pytest.approx(total)


def test_equal_row_sets_share_an_entry():
    _, X, y, weights, penalty = case(1)
    cache = SubtreeCache(X, y, weights, 3, penalty)
    hits = X[:, 0] > 0
    calls = []
    cache.guard = lambda: calls.append(1)
    assert cache.subtree(hits) is cache.subtree(hits.copy())
    assert len(calls) == 1
    cache.subtree(~hits)
    assert len(calls) == 2
