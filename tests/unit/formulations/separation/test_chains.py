"""Chains of rows along lines: no tree exceeds their bound, and few multipliers prove it."""

from __future__ import annotations

import numpy as np
import pytest

from octcore.formulations.shared.separation.chains import Chain, chain_bound, most_correct
from octcore.warmstart.points import count_classes
from tests.referee.oblique import Separating, Undecided
from tests.stages import later

pytestmark = pytest.mark.long  # kernels are compiled that other tests do without


def bound_of(X, y, weights, depth, gap):
    points = count_classes(X, y, weights, int(y.max()) + 1)
    return chain_bound(points.X, points.counts, 2**depth, gap), points


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", [*range(5), *later(*range(5, 25))])
def test_no_tree_gets_more_right(seed):
    rng = np.random.default_rng(seed)
    n, p, depth = int(rng.integers(5, 9)), int(rng.integers(1, 3)), int(rng.integers(1, 3))
    steps = int(rng.integers(3, 9))
    X = rng.integers(0, steps + 1, (n, p)) / steps
    if seed % 4 == 0:  # nearly on a line
        X = np.linspace(0, 1, n)[:, None] + rng.choice([-0.02, 0.0, 0.02], (n, p))
    X, gap = np.clip(X, 0, 1), float(rng.choice([1e-4, 0.005, 0.05]))
    y, weights = rng.integers(0, 3 if seed % 3 == 0 else 2, n), rng.integers(1, 4, n).astype(float)
    found, _ = bound_of(X, y, weights, depth, gap)
    try:
        cost = Separating(X, y, weights, depth, gap).cost()
    except Undecided:
        return
    assert found.correct >= weights.sum() - cost - 1e-6


def test_alternating_rows_of_a_line_cost_an_error_per_two_changes():
    X = np.linspace(0, 1, 9)[:, None]
    y = np.arange(9) % 2
    for depth, errors in ((1, 4), (2, 3), (3, 1)):
        found, _ = bound_of(X, y, np.ones(9), depth, 0.005)
        assert found.correct == pytest.approx(9 - errors)


@pytest.mark.slow
def test_one_long_line_is_no_burden():
    X = np.linspace(0, 1, 600)[:, None]
    found, _ = bound_of(X, np.arange(600) % 2, np.ones(600), 2, 1e-4)
    assert found.correct < 590


def test_rows_belong_to_a_line_that_the_gap_cannot_tell_from_it():
    X = np.array([[0.0, 0.0], [0.25, 0.012], [0.5, -0.0], [0.75, 0.012], [1.0, 0.0]])
    y = np.array([0, 1, 0, 1, 0])
    assert bound_of(X, y, np.ones(5), 2, 0.05)[0].correct == pytest.approx(4)
    assert bound_of(X, y, np.ones(5), 2, 0.005)[0].correct == pytest.approx(5)


def test_the_chains_with_their_multipliers_prove_the_bound():
    rng = np.random.default_rng(3)
    X = rng.integers(0, 5, (60, 2)) / 4
    y, weights = rng.integers(0, 3, 60), rng.integers(1, 4, 60).astype(float)
    found, points = bound_of(X, y, weights, 1, 0.005)
    assert found.correct < points.conflict_bound - 1
    assert found.correct == most_correct(points.counts, 2, found.chains)
    for chain in found.chains:
        assert all(a != b for a, b in zip(chain.classes, chain.classes[1:], strict=False))


def test_any_multipliers_prove_no_more_than_is_true():
    counts = np.array([[2.0, 0.0], [0.0, 3.0], [1.0, 0.0]])
    for multiplier in (0.0, 0.5, 1.0, 2.0, 5.0):
        chain = Chain((0, 1, 2), (0, 1, 0), multiplier)
        assert most_correct(counts, 2, (chain,)) >= 5.0 - 1e-9


def test_rows_that_a_strip_fits_between_are_no_chain():
    gap = 0.1
    X = np.column_stack([np.linspace(0, 1, 6), np.tile([0.0, 1.4 * gap], 3)])
    found, points = bound_of(X, np.arange(6) % 2, np.ones(6), 1, gap)
    assert found.correct == points.conflict_bound == 6
