"""D2S against full enumeration: value, structure, classified rows and root values."""

from __future__ import annotations

import numpy as np
import pytest

from octcore.search.univariate.bit_table import make_rows
from octcore.search.univariate.canonical import DepthTwo
from octcore.search.univariate.literals import shared_outvoted
from octcore.search.univariate.pairs import make_pairs, pair_scores
from octcore.search.univariate.tree import Branch, Leaf
from tests.enumeration import best_tree, tree_value
from tests.unit.search.univariate.depth_two_reference import reference_scores

WIDE = pytest.param(2**26, marks=pytest.mark.long)
"""A weight for which kernels are compiled that others do without."""


def random_set(
    rng: np.random.Generator, n_features: int = 3, n_classes: int = 3
) -> tuple[np.ndarray, np.ndarray]:
    """Return a small random set in which some columns repeat or complement others."""
    n_samples = int(rng.integers(1, 13))
    X = rng.integers(0, 2, (n_samples, n_features)).astype(np.uint8)
    trick = rng.integers(0, 4)
    if trick == 0:
        X[:, -1] = X[:, 0]
    elif trick == 1:
        X[:, -1] = 1 - X[:, 0]
    return X, rng.integers(0, n_classes, n_samples)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("block", range(6))
def test_value_and_structure_equal_enumeration(block: int) -> None:
    rng = np.random.default_rng(block)
    for trial in range(50):
        n_classes = 2 + trial % 2
        X, y = random_set(rng, n_features=3 if n_classes == 2 else 2, n_classes=n_classes)
        penalty = float(rng.choice([0.0, 0.25, 0.5, 1.0]))
        kinds = [None, rng.integers(1, 4, len(y)), rng.integers(1, 9, len(y)) / 4]
        weights = kinds[trial % 3]
        depth = int(rng.integers(0, 3))
        value, tree = best_tree(X, y, n_classes, depth, penalty, weights)
        got = DepthTwo(X, y, weights, n_classes, penalty).solve(np.ones(len(y), bool), depth)
        assert got.value == pytest.approx(value, abs=1e-9), (block, trial)
        assert got.tree == tree, (block, trial)
        share = np.ones(len(y)) if weights is None else weights
        hit = np.delete(share, got.wrong).sum()
        assert tree_value(got.tree, X, y, weights, 0.0) == pytest.approx(hit, abs=1e-9)


def test_root_values_equal_enumeration() -> None:
    rng = np.random.default_rng(8)
    for _ in range(40):
        X, y = random_set(rng, n_classes=2)
        rows = rng.random(len(y)) < 0.8
        solver = DepthTwo(X, y, None, 2, 0.5)
        values = solver.values_by_root(rows)
        for f in range(X.shape[1]):

            def rooted(tree: object, feature: int = f) -> bool:
                return isinstance(tree, Branch) and tree.feature == feature

            value, _ = best_tree(X[rows], y[rows], 2, 2, 0.5, accept=rooted)
            assert values[f] == pytest.approx(value)


def check_scores(expected, X, y, weights, rows) -> None:
    """A price between two gains makes the best tree one of every number of leaves in turn."""
    scores = np.array(expected)
    for price in (0.0, *np.abs(np.diff(scores)) * 0.999, scores.max()):
        got = DepthTwo(X, y, weights, int(y.max()) + 1, price).solve(rows)
        assert got.value == pytest.approx((scores - price * np.arange(1, 5)).max())


def test_compiled_scores_equal_matrix_products() -> None:
    rng = np.random.default_rng(3)
    for n_classes, n_samples, n_features in [(2, 300, 20), (4, 500, 17), (7, 90, 40)]:
        X = (rng.random((n_samples, n_features)) < rng.random(n_features)).astype(np.uint8)
        y = rng.integers(0, n_classes, n_samples)
        for weights in (None, rng.integers(1, 50, n_samples), rng.integers(1, 99, n_samples) / 8):
            rows = rng.random(n_samples) < 0.7
            share = np.ones(n_samples) if weights is None else weights.astype(float)
            expected, _, _ = reference_scores(X[rows], y[rows], share[rows], n_classes)
            check_scores(expected, X, y, weights, rows)


def test_empty_rows_and_single_feature() -> None:
    solver = DepthTwo(np.array([[0], [1]]), np.array([1, 0]), None, 2, 0.5)
    empty = solver.solve(np.zeros(2, bool))
    assert (empty.value, empty.tree) == (-0.5, Leaf(0))
    both = solver.solve(np.ones(2, bool))
    assert (both.value, both.tree) == (1.0, Branch(0, Leaf(1), Leaf(0)))


def test_no_features_at_all() -> None:
    solver = DepthTwo(np.zeros((3, 0)), np.array([1, 0, 1]), None, 2, 0.1)
    assert solver.solve(np.ones(3, bool)).tree == Leaf(1)


@pytest.mark.parametrize("weighted", [False, True])
def test_scores_of_very_unequal_classes(weighted: bool) -> None:
    rng = np.random.default_rng(12)
    for density in (0.1, 0.5):
        X = (rng.random((1500, 25)) < density).astype(np.uint8)
        y = ((X[:, 0] & X[:, 1]) & (rng.random(1500) < 0.5)) | (rng.random(1500) < 0.03)
        y = y.astype(np.int64) if density < 0.3 else 1 - y.astype(np.int64)
        weights = np.where(y == 1, 3, 5) if weighted else None
        share = np.ones(1500) if weights is None else weights.astype(float)
        every = np.ones(1500, bool)
        expected, leaf, stump = reference_scores(X, y, share, 2)
        check_scores(expected, X, y, weights, every)
        roots = np.maximum(leaf, stump).sum(axis=0)
        assert DepthTwo(X, y, weights, 2, 0.0).values_by_root(every) == pytest.approx(roots)


def brute_force_scores(X, y, weight, count, n_classes, smallest) -> tuple[np.ndarray, np.ndarray]:
    """Leaf and stump scores, (2, n_features): -1 for what cannot be, by looking at every cell."""
    n_features = X.shape[1]
    leaf, stump = np.full((2, 2, n_features), -1)

    def most(rows: np.ndarray) -> int:
        if count[rows].sum() < smallest:
            return -1
        return int(np.bincount(y[rows], weight[rows], minlength=n_classes).max())

    for f in range(n_features):
        sides = [X[:, f] == side for side in range(2)]
        if min(side.sum() for side in sides) == 0:
            continue
        for side, rows in enumerate(sides):
            leaf[side, f] = most(rows)
            stump[side, f] = -1 if smallest > 1 else leaf[side, f]
            for g in range(n_features):
                parts = most(rows & (X[:, g] == 0)), most(rows & (X[:, g] == 1))
                if min(parts) >= 0:
                    stump[side, f] = max(stump[side, f], sum(parts))
    return leaf, stump


@pytest.mark.sampled(6)
@pytest.mark.parametrize("n_features", [1, 2, 15, 16, 17, 33, 49])
@pytest.mark.parametrize("heavy", [1, WIDE])
def test_scores_of_every_feature_equal_brute_force(n_features: int, heavy: int) -> None:
    """Widths about whole vectors, rows about whole words, and columns that do not vary."""
    rng = np.random.default_rng(n_features)
    for n_rows, n_classes, smallest in [(31, 2, 1), (64, 3, 1), (97, 2, 4), (130, 5, 3)]:
        X = (rng.random((n_rows, n_features)) < rng.random(n_features)).astype(np.uint8)
        y, weight = rng.integers(0, n_classes, n_rows), np.ones(n_rows, np.int64)
        if n_rows % 2:
            weight = rng.integers(0, 4, n_rows)
        weight *= heavy
        index, rows = make_rows(X, y, weight, np.ones(n_rows, np.int64), n_classes, smallest)
        assert rows.block_scale.itemsize == (4 if heavy == 1 else 8)
        pairs = make_pairs(rows)
        for share in (1.0, 0.6, 0.1):  # the scratch is used again
            mine = rng.random(n_rows) < share
            subset = np.flatnonzero(mine[index])
            if not len(subset):
                continue
            n_active = pair_scores(rows, subset, len(subset), pairs)
            mine &= np.isin(np.arange(n_rows), index)  # rows of weight 0 may be left out
            expected = brute_force_scores(
                X[mine], y[mine], weight[mine], np.ones(mine.sum()), n_classes, smallest
            )
            assert n_active == (expected[0].max(axis=0) >= 0).sum() or smallest > 1
            np.testing.assert_array_equal(pairs.leaf, expected[0])
            np.testing.assert_array_equal(pairs.stump, expected[1])


def test_rows_of_more_words_than_a_byte_counts() -> None:
    """All rows of a class but few have both features: 32 words would fill a byte with 256 ones."""
    X, y, one = np.ones((2200, 3), np.uint8), np.repeat([0, 1], 1100), np.ones(2200, np.int64)
    X[[3, 1200, 1500], [0, 1, 2]] = 0
    rows = make_rows(X, y, one, one, 2, 1)[1]
    pairs = make_pairs(rows)
    pair_scores(rows, np.arange(2200), 2200, pairs)
    mixed = rows.columns.T, rows.block_channel[rows.block]
    expected = brute_force_scores(*mixed, one, one, 2, 1)
    np.testing.assert_array_equal(pairs.leaf, expected[0])
    np.testing.assert_array_equal(pairs.stump, expected[1])


@pytest.mark.parametrize("n_features", [1, 17, 33])
@pytest.mark.parametrize("heavy", [1, WIDE])
def test_outvoted_rows_of_two_literals(n_features: int, heavy: int) -> None:
    """Of a part of the rows, with a channel that counts them."""
    rng = np.random.default_rng(n_features)
    X = (rng.random((97, n_features)) < rng.random(n_features)).astype(np.uint8)
    y, weight = rng.integers(0, 3, 97), heavy * rng.integers(0, 4, 97)
    outvoted, mine = rng.random(97) < 0.4, rng.random(97) < 0.7
    index, rows = make_rows(X, y, weight, np.ones(97, np.int64), 3, 4, outvoted)
    subset = np.flatnonzero(mine[index])
    shared = shared_outvoted(rows, make_pairs(rows), subset, np.empty_like(subset))
    literals = np.stack([X == 0, X == 1], axis=2).reshape(97, -1).astype(np.int64)
    np.testing.assert_array_equal(shared, (literals.T * (weight * outvoted * mine)) @ literals)
