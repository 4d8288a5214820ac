"""Trees of planes by gradient descent."""

from __future__ import annotations

import numpy as np
import pytest

from octcore.warmstart.descent import LIKELIHOOD_SHARES, Descent, _Batch
from octcore.warmstart.points import count_classes, leaf_counts


def parted_by_two_planes(n: int = 120):
    """Rows whose label says on which side of two slanted planes they are, neither by itself."""
    X = np.random.default_rng(3).random((n, 4))
    first, second = X @ [1, -1, 0.5, 0] > 0.2, X @ [0, 1, -1, 0.7] > 0.3
    return count_classes(X, (first ^ second).astype(int), np.ones(n), 2)


def correct(points, tree) -> float:
    leaf = tree.descend(points.X)
    return float(leaf_counts(points, leaf, tree.depth).max(axis=1).sum())


def test_two_planes_at_once_are_found():
    points = parted_by_two_planes()
    descent = Descent(points, 2, 3, 1e-5, np.random.default_rng(0))
    best = max(correct(points, tree) for _ in LIKELIHOOD_SHARES for tree in descent.trees(np.inf))
    assert best >= 0.98 * points.total


def test_the_limit_of_splits_and_the_deadline_hold():
    points = parted_by_two_planes()
    limited = Descent(points, 3, 2, 0.01, np.random.default_rng(0)).trees(np.inf)
    assert limited
    assert all(np.flatnonzero(tree.splitting).tolist() == [1, 2] for tree in limited)
    assert not Descent(points, 2, 3, 0.01, np.random.default_rng(0)).trees(-np.inf)


def test_one_class_gives_no_tree():
    points = count_classes(np.eye(3), np.zeros(3, int), np.ones(3), 2)
    assert not Descent(points, 2, 3, 0.01, np.random.default_rng(0)).trees(np.inf)


def test_equal_rows_give_no_tree():
    points = count_classes(np.ones((4, 2)), np.array([0, 1, 0, 1]), np.ones(4), 2)
    assert Descent(points, 2, 3, 0.005, np.random.default_rng(0)).trees(np.inf) == []


def test_rows_without_weight_are_left_out():
    points = count_classes(np.eye(4), np.array([0, 1, 0, 1]), np.array([1.0, 1.0, 0.0, 0.0]), 2)
    trees = Descent(points, 1, 1, 0.01, np.random.default_rng(0)).trees(np.inf)
    assert max(correct(points, tree) for tree in trees) == 2


@pytest.mark.parametrize("steepest", [np.inf, 2.0])
def test_the_slope_is_that_of_the_expected_correct_weight(steepest):
    """Compared with differences; where a plane is steep its norm changes its scores too."""
    rng = np.random.default_rng(1)
    Z = np.column_stack([rng.normal(size=(30, 3)), np.ones(30)])
    counts = rng.random((30, 2))
    spread = rng.uniform(0.5, 2, size=3)
    batch = _Batch(Z, counts, 1 / spread[:, None, None], 2, 3, np.float64(steepest))
    planes, labels = rng.normal(size=(4, 2, 3)), np.array([[0, 1, 1, 0], [1, 0, 1, 0]])
    hardness = np.float64(1.5)

    def expected(planes):
        norm = (np.abs(planes[:-1]) / spread[:, None, None]).sum(axis=0)
        scores = np.einsum("ij,jkt->ikt", Z, planes) * np.minimum(hardness, steepest / norm)
        right = 1 / (1 + np.exp(-scores))
        reach = [
            (1 - right[:, :, 0]) * (1 - right[:, :, 1]),
            (1 - right[:, :, 0]) * right[:, :, 1],
            right[:, :, 0] * (1 - right[:, :, 2]),
            right[:, :, 0] * right[:, :, 2],
        ]
        share = [(reach[k] * counts[:, labels[:, k]]).sum() for k in range(4)]
        return sum(share) / counts.sum()

    slope = batch._slope(planes, hardness, labels, likely=False)
    for place in np.ndindex(planes.shape):
        step = np.zeros_like(planes)
        step[place] = 1e-6
        difference = (expected(planes + step) - expected(planes - step)) / 2e-6
        assert slope[place] == pytest.approx(difference, abs=1e-6)
