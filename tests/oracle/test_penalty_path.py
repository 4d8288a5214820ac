"""The penalty path agrees with the exact search at every penalty."""

from __future__ import annotations

import pytest

import octcore


@pytest.mark.parametrize("name", ["iris", "monks-1"])
def test_every_step_is_the_optimum_of_its_penalties(name: str) -> None:
    data = octcore.load_sample(name)
    path = octcore.penalty_path(data, "QT-5", depth=2)
    on_path = [step for step in path.steps if step.low is not None]
    assert on_path[0].high is None
    assert on_path[-1].low == 0.0
    for step in on_path:
        top = step.low + 0.1 if step.high is None else step.high
        penalty = (step.low + top) / 2
        run = octcore.solve(
            data, "path-search", depth=2, params={"leaf_penalty": penalty}, time_limit=60
        )
        assert run.is_optimal
        assert run.objective == pytest.approx(step.accuracy - penalty * step.leaves, abs=1e-9)
        assert path.at(penalty) == step


@pytest.mark.parametrize(("name", "encoding"), [("wine", "QT-5"), ("iris", "QT-3")])
def test_more_leaves_gain(name: str, encoding: str) -> None:
    data = octcore.load_sample(name)
    path = octcore.penalty_path(data, encoding, depth=3, test_size=0.25)
    accuracies = [step.accuracy for step in path.steps]
    assert accuracies == sorted(set(accuracies))
    leaves = [step.leaves for step in path.steps]
    assert leaves == sorted(set(leaves))
    assert all(step.test_accuracy is not None for step in path.steps)
    assert all(step.tree.n_leaves == step.leaves for step in path.steps)
