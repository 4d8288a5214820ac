"""The penalty path keeps every constraint that it takes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import octcore
from octcore.data.dataset import Dataset
from octcore.errors import SettingsError
from octcore.selection.penalty_path import LeavesOptimum, penalty_breakpoints
from octcore.tree import metrics
from octcore.tree.tree import Split, Tree


def _data() -> Dataset:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({name: rng.integers(0, 2, 24) for name in "abcd"})
    return Dataset.from_arrays(frame, ((frame.a + frame.b) % 2).tolist())


@pytest.mark.parametrize("root", ["b", "c", "d"])
def test_a_required_root_is_the_root_of_every_tree(root: str) -> None:
    data = _data()
    constraints = {"root_feature": root, "min_samples_leaf": 2}
    path = octcore.penalty_path(data, "none", depth=3, constraints=constraints)
    assert path.steps[0].leaves == 2
    for step in path.steps:
        assert step.tree.splits[1].features == ("abcd".index(root),)
        limited = octcore.solve(
            data,
            "path-search",
            encoding="none",
            depth=3,
            params={"leaf_penalty": 0.0},
            constraints={**constraints, "max_leaves": step.leaves},
        )
        assert limited.is_optimal
        assert limited.objective == pytest.approx(step.accuracy)


def test_constraints_that_no_tree_keeps_are_refused_in_a_sentence() -> None:
    with pytest.raises(SettingsError, match="No tree keeps"):
        octcore.penalty_path(
            _data(), "none", depth=2, constraints={"root_feature": "a", "max_splits": 0}
        )


def test_a_breakpoint_may_be_rounded_down() -> None:
    path = octcore.penalty_path(_data(), "none", depth=2)
    assert path.breakpoints
    for low in path.breakpoints:
        step = path.at(low)
        assert step.low == low
        assert path.at(float(np.nextafter(low, 0.0))) == step


def test_a_tree_between_two_that_are_as_good_is_best_at_no_penalty() -> None:
    """Both gains are a tenth; as doubles the second one is less."""
    assert 0.9 - 0.8 < 0.8 - 0.7
    trees = [Tree.leaf(0, 1, 2), *(_chain(n) for n in (1, 2))]
    optima = [
        LeavesOptimum(tree.n_leaves, worth, tree)
        for tree, worth in zip(trees, (0.7, 0.8, 0.9), strict=True)
    ]
    assert penalty_breakpoints(tuple(optima)) == {
        1: (pytest.approx(0.1), np.inf),
        3: (0.0, pytest.approx(0.1)),
    }


def _chain(n_splits: int) -> Tree:
    """Splits one below the other, on the right."""
    nodes = [2**k - 1 for k in range(1, n_splits + 1)]
    leaves = [*(2 * m for m in nodes), 2 * nodes[-1] + 1]
    return Tree(dict.fromkeys(nodes, Split.on_feature(0)), dict.fromkeys(leaves, 0), 1, 2)


def test_breakpoints_are_prices_of_a_leaf_beside_what_answers_cost() -> None:
    data = Dataset.from_arrays(np.array([[0], [0], [1], [1]]), [0, 0, 1, 0])
    path = octcore.penalty_path(data, "none", depth=1, costs={1: {0: 3.0}})
    # the answers of one leaf cost 3 / 4 a row, those of two 1 / 4
    assert path.breakpoints == (pytest.approx(0.5),)


def test_its_short_form_is_one_line() -> None:
    path = octcore.penalty_path(octcore.load_sample("iris"), depth=2)
    assert repr(path) == "<PenaltyPath: depth 2 on raw, leaves 1, 2, 3>"


@pytest.mark.long
@pytest.mark.parametrize("refer", [None, 0.1])
def test_held_out_rows_have_the_weights_of_their_classes_too(refer: float | None) -> None:
    """Beside a curve of balanced accuracy stood the plain accuracy of held-out rows."""
    data = octcore.load_sample("wdbc")
    asked: dict = {"constraints": {"class_weight": "balanced"}, "test_size": 0.3, "refer": refer}
    path = octcore.penalty_path(data, depth=2, time_limit=60, **asked)
    step = path.steps[-1]
    run = octcore.solve(data, params={"leaf_penalty": step.low}, **asked)
    assert run.test is not None
    codes = step.tree.predict_codes(path.encoding.transform(run.test.frame))
    cost = np.array([[0.0, 1.0, refer or 0.0], [1.0, 0.0, refer or 0.0]])[run.test.codes, codes]
    means = [cost[run.test.codes == k].mean() for k in (0, 1)]
    assert step.test_worth == pytest.approx(1 - np.mean(means))


def test_thresholds_are_where_runs_have_them() -> None:
    random = np.random.default_rng(4)
    frame = pd.DataFrame(random.integers(200, 240, (80, 2)) / 100, columns=["a", "b"])
    data = Dataset.from_arrays(frame, (random.random(80) < frame["a"] - 1.7).astype(int))
    path = octcore.penalty_path(data, depth=2)
    X = path.encoding.transform(data.frame)
    assert len(path.steps) > 2
    for step in path.steps:
        assert step.tree.splits == metrics.centre_thresholds(step.tree, X).splits
