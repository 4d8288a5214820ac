"""Oblique models that must agree: OCT-H without a price and S-OCT; SVM1-ODT and its rescaling."""

from __future__ import annotations

import numpy as np
import pytest

from octcore.data.dataset import class_versus_rest
from octcore.data.samples import load_sample
from octcore.solving.solve import solve
from tests.brute import make_problem, run


@pytest.mark.parametrize("seed", range(3))
def test_oct_h_without_price_is_as_accurate_as_s_oct(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.random((8, 2)), rng.integers(0, 2, 8)
    common = {"epsilon": 0.05, "start_seconds": 0.1}
    first = make_problem(
        X, y, 2, 2, {"alpha": 0.0, **common}, {"min_samples_leaf": 1}, formulation="oct-h"
    )
    second = make_problem(X, y, 2, 2, {"cuts": "baseline", **common}, formulation="s-oct")
    _, errors, _ = run(first, "oct-h", time_limit=40)
    _, hits, _ = run(second, "s-oct", time_limit=40)
    assert errors.is_closed
    assert hits.is_closed
    majority = len(y) - np.bincount(y).max()
    assert errors.objective * majority == pytest.approx(len(y) - hits.objective)


@pytest.mark.parametrize("strict", [True, False])
def test_rescaling_the_scores_rescales_the_planes(strict):
    rng = np.random.default_rng(3)
    X, y = rng.random((8, 2)), rng.integers(0, 2, 8)
    start = {"start_seconds": 0.1, "strict": strict}
    wide = {"alpha1": 50.0, "alpha2": 0.1, "big_m": 4.0, "epsilon": 0.04, **start}
    unit = {"alpha1": 200.0, "alpha2": 0.4, "big_m": 1.0, "epsilon": 0.01, **start}
    found = []
    for params in (wide, unit):
        problem = make_problem(X, y, 2, 1, params, formulation="svm1-odt")
        _, recorder, _ = run(problem, "svm1-odt", time_limit=40)
        assert recorder.best_bound == pytest.approx(recorder.objective, abs=1e-4)
        found.append((recorder.objective, recorder.tree))
    (first, tree), (second, scaled) = found
    assert first == pytest.approx(second, abs=1e-5)
    assert (tree.predict_codes(X) == scaled.predict_codes(X)).all()
    for node, split in tree.splits.items():
        other = scaled.splits[node].dense(2)
        np.testing.assert_allclose(split.dense(2) / 4, other, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("formulation", "least"), [("oct-h", 0.96), ("svm1-odt", 0.98), ("mm-svm-oct", 0.98)]
)
@pytest.mark.parametrize("sample", ["iris", "wine", "wdbc"])
def test_ten_seconds_give_a_usable_tree(sample, formulation, least):
    data = load_sample(sample)
    if formulation == "mm-svm-oct" and data.n_classes > 2:
        data = class_versus_rest(data, data.classes[0])
    found = solve(data, formulation, time_limit=10)
    assert found.accuracy is not None
    assert found.accuracy >= least
    assert found.timings["total"] < 15
