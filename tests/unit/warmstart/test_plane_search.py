"""Exact steps of a plane for the weighted 0-1 loss."""

from __future__ import annotations

import numpy as np
import pytest

from octcore.warmstart.plane_search import (
    best_step,
    improve_plane,
    improve_strip,
    shift_into_gap,
)


@pytest.mark.parametrize("seed", range(20))
def test_best_step_beats_every_step_of_a_fine_grid(seed):
    rng = np.random.default_rng(seed)
    scores, slopes, gains = rng.normal(size=(3, 12))
    slopes[0] = 0.0
    step, value = best_step(scores, slopes, gains)
    assert gains[scores + step * slopes >= 0].sum() == pytest.approx(value)
    grid = np.linspace(-50, 50, 4001)[:, None]
    reached = ((scores + grid * slopes >= 0) * gains).sum(axis=1)
    assert value >= reached.max() - 1e-9


def test_shift_keeps_the_strip_empty():
    X = np.array([[0.0], [0.1], [0.5], [0.52], [0.9]])
    gains = np.array([-1.0, -1.0, -1.0, 1.0, 1.0])
    offset, value = shift_into_gap(X, np.ones(1), gains, 0.0)
    assert value == pytest.approx(2)
    assert -offset == pytest.approx(0.51)
    offset, value = shift_into_gap(X, np.ones(1), gains, 0.1)
    assert value == pytest.approx(1)
    assert (np.abs(X[:, 0] + offset) >= 0.05 - 1e-12).all()


def test_plane_is_found_that_machines_with_outliers_miss():
    rng = np.random.default_rng(1)
    X = rng.random((80, 3))
    gains = np.where(X @ [1.0, -2.0, 0.5] > -0.2, 1.0, -1.0)
    planes = [improve_plane(X, rng.normal(size=3), 0.0, gains, rng, rounds=20) for _ in range(5)]
    best = max(gains[X @ weights + offset >= 0].sum() for weights, offset in planes)
    assert best >= gains[gains > 0].sum() - 2


def test_strip_search_never_closes_the_strip():
    rng = np.random.default_rng(2)
    X = rng.random((60, 2))
    gains = np.where(X[:, 0] > X[:, 1], 1.0, -1.0)
    start = np.array([1.0, 0.0])
    weights, offset = improve_strip(X, start, gains, 0.01, rng, 300)
    assert np.abs(weights).sum() == pytest.approx(1)
    assert (np.abs(X @ weights + offset) >= 0.005 - 1e-12).all()
    gain = gains[X @ weights + offset > 0].sum()
    assert gain > shift_into_gap(X, start, gains, 0.01)[1]
