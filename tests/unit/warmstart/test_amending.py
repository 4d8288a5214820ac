"""Amended trees: they keep all side constraints, and are found where greedy trees do not."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import octcore
from octcore.data.dataset import Dataset
from octcore.engines import univariate_search
from octcore.engines.base import TimeUpError
from octcore.formulations.base import get_formulation
from octcore.warmstart.amending import amended
from octcore.warmstart.greedy import greedy_starts
from tests.brute import best_objective
from tests.oracle.side_constraint_cases import CONSTRAINTS, constrained_problem

TIED = sorted(set(CONSTRAINTS) - {"max_leaves", "max_splits", "min_samples_leaf"})
TIED = [name for name in TIED if name not in {"forbidden_features", "root_feature"}]


@pytest.mark.long
@pytest.mark.sampled(12)
@pytest.mark.parametrize("name", TIED)
def test_amended_trees_keep_every_constraint_and_are_good(name: str) -> None:
    missing = []
    for seed in range(3):
        problem = constrained_problem(name, seed, leaf_penalty=0.01)
        evaluate = get_formulation("flow-oct").build(problem).evaluate
        greedy = [tree for _, tree in greedy_starts(problem, 0.12)]
        found = [evaluate(tree) for tree in amended(problem, 0.12, greedy)]
        values = [value for value in found if value is not None]
        assert values
        assert len(values) == len(found)
        assert all(a < b for a, b in pairwise(values))
        best = best_objective(problem, evaluate)
        assert best is not None
        missing.append(best - values[-1])
    assert np.mean(missing) < 0.08
    assert min(missing) < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize(
    ("formulation", "name", "second"),
    [
        ("threshold-search", "statistical_parity", {"attribute": "group", "max_gap": 0.01}),
        ("threshold-search", "monotone", {"score": "up"}),
        ("flow-oct", "statistical_parity", {"attribute": "group", "max_gap": 0.01}),
    ],
)
def test_a_floor_and_another_constraint_on_a_rare_class(
    formulation: str, name: str, second: dict
) -> None:
    """No pruned greedy tree finds half of a rare class; listing took a minute to one that does."""
    rng, n = np.random.default_rng(0), 4000
    group = rng.integers(0, 2, n)
    score = rng.normal(size=n) + 0.3 * group
    is_rare = score + rng.normal(size=n) > 2.8
    frame = pd.DataFrame({"score": score, "other": rng.normal(size=n), "group": group})
    run = octcore.solve(
        Dataset.from_arrays(frame, np.where(is_rare, "yes", "no")), formulation,
        params={"leaf_penalty": 0.001}, constraints={"min_recall": {"yes": 0.5}, name: second},
        time_limit=4, verify=False,
    )  # fmt: skip
    assert run.tree is not None
    assert run.objective is not None
    assert run.objective > (0.8 if formulation == "threshold-search" else 0.4)
    found = run.predict(frame) == "yes"
    assert found[is_rare].mean() >= 0.5
    if name == "statistical_parity":
        assert abs(found[group == 0].mean() - found[group == 1].mean()) <= 0.01 + 1e-9


def test_there_is_a_tree_although_searches_at_prices_take_all_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Depth 3 on 68 columns: one search took seconds, so prices left no time for a first tree."""

    def endless(*_: object) -> None:
        raise TimeUpError

    monkeypatch.setattr(univariate_search, "SLOW", -1.0)
    monkeypatch.setattr(univariate_search, "_at_prices", endless)
    a = np.random.default_rng(0).normal(size=300)
    y = (a > 1.5).astype(int)
    y[:40] = 1 - y[:40]
    run = octcore.solve(Dataset.from_arrays(a[:, None], y), constraints={"min_recall": {"1": 0.9}})
    assert run.stop_reason == "time_limit"
    assert run.tree is not None
    assert (run.predict(run.needed.train.frame)[y == 1] == 1).mean() >= 0.9
