"""The engine of the exact univariate search: how it ends where trees are listed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import octcore
from octcore.data.dataset import Dataset
from octcore.engines import univariate_search
from octcore.errors import SettingsError
from octcore.search.univariate.question import Answer, Question


def listed() -> octcore.Run:
    """Solve with weights of many digits, where the best tree breaks a side constraint."""
    y = [0, 0, 1, 0, 1, 0]
    return octcore.solve(
        Dataset.from_arrays(np.arange(6.0)[:, None], y), "threshold-search", depth=1,
        constraints={"min_recall": {"1": 1.0}, "feature_once_per_path": True},
        sample_weight=np.sqrt([5.0, 7.0, 1e-7, 3.0, 1e-5, 11.0]), warm_start="none",
    )  # fmt: skip


@pytest.mark.long
def test_weights_of_many_digits_end_in_a_proof() -> None:
    run = listed()
    weights = np.sqrt([5.0, 7.0, 1e-7, 3.0, 1e-5, 11.0])
    assert run.status == "optimal"
    assert run.objective == pytest.approx(1 - weights[[3, 5]].sum() / weights.sum() - 0.02)


def test_another_wrong_setting_is_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise SettingsError("OUT_OF_RANGE", "depth must be at least 0, got -1.", "depth")

    monkeypatch.setattr(univariate_search, "_at_prices", refuse)
    with pytest.raises(SettingsError, match="depth must be"):
        listed()


def test_a_tree_better_than_the_bound_of_the_search_is_no_optimum(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answer = univariate_search.answer

    def wrong(asked: Question, *others: Any) -> Answer:
        answer(asked, *others)
        return answer(replace(asked, max_leaves=1))

    monkeypatch.setattr(univariate_search, "answer", wrong)
    rows = Dataset.from_arrays(np.arange(6.0)[:, None], [0, 0, 0, 1, 1, 1])
    run = octcore.solve(rows, "threshold-search", depth=1, verify=False)
    assert run.tree is not None
    assert run.tree.n_leaves == 2
    assert (run.status, run.bound) == ("feasible", None)
    assert any("contradict each other" in finding for finding in run.findings)


def test_a_search_that_ends_early_is_no_worse_than_the_greedy_tree() -> None:
    rng = np.random.default_rng(3)
    X = rng.integers(0, 60, (300, 8)).astype(float)
    data = Dataset.from_arrays(X, (X[:, 0] > 20).astype(int) + (X[:, 1] > 30) + (X[:, 2] > 40))
    asked: dict[str, Any] = {"depth": 4, "encoding": "raw", "params": {"leaf_penalty": 0.01}}
    greedy = octcore.solve(data, "cart", **asked)
    run = octcore.solve(data, "threshold-search", cancel=lambda: True, **asked)
    assert run.stop_reason == "cancelled"
    assert run.trace.incumbents[-1].source == "greedy"
    assert run.objective == greedy.objective
    asked |= {"warm_start": "none", "time_limit": 1e-6}
    bare = octcore.solve(data, "threshold-search", **asked)
    assert bare.tree is not None
    assert bare.tree.n_leaves == 1


def test_a_greedy_tree_that_reaches_what_its_leaves_can_is_proven() -> None:
    X = np.repeat(np.arange(4.0), 20)[:, None]
    data = Dataset.from_arrays(X, X[:, 0].astype(int))
    run = octcore.solve(data, depth=3, time_limit=1e-6)
    assert (run.status, run.accuracy, run.gap) == ("optimal", 1.0, 0.0)
    assert run.objective == pytest.approx(1 - 4 * 0.01)


def test_a_limit_that_the_search_does_not_know_is_said() -> None:
    run = octcore.solve(octcore.load_sample("iris"), depth=1, node_limit=1, verify=False)
    assert "which node_limit could count" in run.log()
