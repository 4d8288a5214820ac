"""Annealed trees leave their strips empty, and reach the optimum on a handful of rows."""

from __future__ import annotations

import numpy as np
import pytest

from octcore.warmstart import strip_search
from octcore.warmstart.points import (
    PlaneTree,
    centred_planes,
    count_classes,
    leaf_counts,
)
from octcore.warmstart.strip_search import StripSearch
from tests.referee.oblique import Separating, Undecided


def annealed(X, y, weights, depth, gap, rng):
    """The best of two annealings of random trees, with its value."""
    points = count_classes(X, y, weights, int(y.max()) + 1)
    search = StripSearch(points, gap, rng)
    best, value = None, -np.inf
    for _ in range(2):
        start = PlaneTree.empty(depth, X.shape[1])
        for node in range(1, 2**depth):
            weights_of = rng.normal(size=X.shape[1])
            start.set(node, weights_of, -float(weights_of @ X[rng.integers(len(X))]))
        search.begin(start)
        while search.is_running:
            found = search.go_on(np.inf)
            if found is None:
                continue
            reached = leaf_counts(points, found.descend(points.X), depth).max(axis=1).sum()
            if reached > value:
                best, value = found, float(reached)
    return points, best, value


@pytest.mark.parametrize("seed", range(10))
def test_strips_stay_empty_and_the_optimum_is_reached(seed, monkeypatch):
    monkeypatch.setattr(strip_search, "LENGTHS", (2_000,))
    rng = np.random.default_rng(seed)
    n, depth = int(rng.integers(5, 8)), int(rng.integers(1, 3))
    X = rng.integers(0, 5, (n, 2)) / 4 if seed % 2 else rng.random((n, 2))
    y, weights = rng.integers(0, 3, n), rng.integers(1, 4, n).astype(float)
    gap = float(rng.choice([0.01, 0.1]))
    points, best, value = annealed(X, y, weights, depth, gap, rng)
    assert best is not None
    _, gaps = centred_planes(points, best.descend(points.X), depth)
    assert all(found is not None and found.width >= gap for found in gaps.values())
    try:
        cost = Separating(X, y, weights, depth, gap).cost()
    except Undecided:
        return
    assert value <= weights.sum() - cost + 1e-9
    assert value >= weights.sum() - cost - 1e-9
