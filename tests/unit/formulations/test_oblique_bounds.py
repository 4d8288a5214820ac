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
from tests.brute import make_problem, run


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


@pytest.mark.parametrize(
    ("key", "params"),
    [
        ("s-oct", {"cuts": "baseline"}),
        pytest.param("s-oct", {"cuts": "benders-all-10"}, marks=pytest.mark.long),
        ("oct-h", {"alpha": 0.01}),
        ("oct-h", {"alpha": 0.01, "shattering_cuts": True}),
    ],
)
def test_models_have_every_tree_whose_gaps_count(key, params):
    """A gap of 0.04998 counts as 0.05, so no model may say that nothing is as good."""
    X, y = np.repeat([[0.0], [0.04998], [0.7], [1.0]], [5, 5, 1, 1], axis=0), [0, 1, 0, 1]
    labels = np.repeat(y, [5, 5, 1, 1])
    asked = {"min_samples_leaf": 1} if key == "oct-h" else {}
    given = {"epsilon": 0.05, "start_seconds": 0.0, **params}
    problem = make_problem(X, labels, 2, 1, given, asked, formulation=key)
    engine = "branch-and-cut" if params.get("cuts") == "benders-all-10" else "highs"
    _, recorder, _ = run(problem, key, engine, starts=False)
    assert recorder.is_closed
    assert recorder.tree is not None
    assert (recorder.tree.predict_codes(X) == labels).sum() == 11


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
    weighed = {"constraints": {"class_weight": "balanced"}}
    for given, words in (({"refer": 0.1}, "1 - mean cost"), (weighed, "weighted accuracy")):
        said = objective_words({"formulation": "cart", **given})
        assert said == f"{words} - leaf_penalty x leaves"
