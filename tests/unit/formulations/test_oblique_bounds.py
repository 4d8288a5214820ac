"""Bounds from counts: never above what any tree reaches, and not idle."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import octcore
from octcore.formulations.base import get_formulation, objective_words
from octcore.formulations.shared.oblique import (
    best_stump_errors,
    priced_bound,
    unnamed_classes,
)
from octcore.program import ENDLESS, Sense
from octcore.solving.prepare import prepare
from octcore.solving.settings import check_settings


def test_stump_errors_are_those_of_trying_every_split():
    rng = np.random.default_rng(5)
    for _ in range(20):
        X, y = rng.integers(0, 4, (9, 3)).astype(float), rng.integers(0, 3, 9)
        weights = rng.integers(1, 4, 9).astype(float)
        best = weights.sum() - np.bincount(y, weights).max()
        for j, cut in itertools.product(range(3), (0.5, 1.5, 2.5)):
            sides = (X[:, j] < cut, X[:, j] > cut)
            right = sum(np.bincount(y[s], weights[s], 3).max() for s in sides)
            best = min(best, weights.sum() - right)
        assert best_stump_errors(X, y, weights) == pytest.approx(best)


def test_few_leaves_leave_classes_out():
    assert unnamed_classes(np.array([5.0, 1.0, 3.0]), 2) == 1.0
    assert unnamed_classes(np.array([5.0, 1.0, 3.0]), 4) == 0.0
    shares = np.array([5.0, 1.0, 3.0])
    assert priced_bound(shares, 0.0, 2.0, 10.0, 3) == 4.0  # a leaf
    assert priced_bound(shares, 0.0, 2.0, 0.5, 3) == 1.0  # two features, three leaves
    assert priced_bound(shares, 0.0, 2.0, 0.5, 1) == 2.0  # two features in one split: two leaves
    assert priced_bound(shares, 0.0, 2.0, 0.0, 3) == 0.0
    assert priced_bound(shares, 0.0, 2.0, 0.0, 0) == 4.0


@pytest.mark.parametrize(("sample", "least"), [("iris", 2 * 2**-6), ("wdbc", 2 * 2**-6)])
def test_oct_h_starts_with_a_bound_above_zero(sample, least):
    settings = check_settings("oct-h", depth=2)
    problem = prepare(octcore.load_sample(sample), settings).problem
    program = get_formulation("oct-h").build(problem)
    assert program.bound == pytest.approx(least)
    for _, tree in itertools.islice(program.starts(ENDLESS), 3):
        objective = program.evaluate(tree)
        assert objective is None or objective >= program.bound


def test_the_objective_of_s_oct_depends_on_alpha():
    settings = check_settings("s-oct").to_dict()
    assert objective_words(settings) == "correctly classified rows"
    priced = check_settings("s-oct", params={"alpha": 0.01}).to_dict()
    assert objective_words(priced) == "share of errors + alpha x splits"
    info = get_formulation("s-oct").info
    assert info.objective_of({"alpha": 0.01})[0] is Sense.MINIMISE
    problem = prepare(octcore.load_sample("iris"), check_settings(**priced)).problem
    assert get_formulation("s-oct").build(problem).sense is Sense.MINIMISE
    assert objective_words({"formulation": "cart"}) == get_formulation("cart").info.objective
