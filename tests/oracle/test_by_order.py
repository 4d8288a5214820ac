"""Side constraints that tie subtrees together, on all thresholds, against every labelled tree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import octcore
from octcore.data.dataset import Dataset
from tests.referee.by_order import best
from tests.stages import later

pytestmark = pytest.mark.long

KINDS = (
    "monotone", "monotone", "all monotone", "recall", "features", "pairs", "once", "parity",
    "monotone and recall",
)  # fmt: skip


def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, int, float, dict[str, Any]]:
    """A few rows of whole numbers, now and then with a column that another one implies."""
    n, width = int(rng.integers(4, 9)), int(rng.integers(2, 4))
    X = rng.integers(0, int(rng.choice([2, 3])), (n, width)).astype(float)
    if rng.random() < 0.4:
        X[:, 1] = X[:, 0] * float(rng.choice([-1.0, 2.0]))
    y = np.unique(rng.integers(0, int(rng.choice([2, 2, 3])), n), return_inverse=True)[1]
    depth = 1 if width == 3 and n > 7 else int(rng.choice([1, 2, 2]))
    names, kind, asked = [f"f{j}" for j in range(width)], str(rng.choice(KINDS)), {}
    way = lambda: str(rng.choice(["up", "down"]))  # noqa: E731
    if "monotone" in kind:
        asked["monotone"] = {str(rng.choice(names)): way()}
    if kind == "all monotone":
        asked["monotone"] = {name: way() for name in names}
    if "recall" in kind:
        label = str(rng.integers(y.max() + 1))
        asked["min_recall"] = {label: float(rng.choice([0.5, 0.75, 1.0]))}
    if kind == "features":
        asked["max_features"] = int(rng.integers(0, 2))
    if kind == "pairs":
        asked["forbidden_pairs"] = [(names[0], names[1])]
    if kind == "once":
        asked["feature_once_per_path"] = True
    if kind == "parity" and y.max() == 1:
        gap = float(rng.choice([0.0, 0.25, 0.5]))
        asked["statistical_parity"] = {"attribute": names[-1], "max_gap": gap}
    others = {"min_samples_leaf": 2, "max_leaves": int(rng.choice([2, 3])), "root_feature": "f0"}
    asked |= {name: value for name, value in others.items() if rng.random() < 0.2}
    return X, y, depth, float(rng.choice([0.0, 0.01, 1 / 7, 0.2])), asked


def draw_task(
    rng: np.random.Generator, n_classes: int, is_monotone: bool
) -> tuple[np.ndarray, dict[str, Any]]:
    """What answers cost, as a table and as it is asked; two cases in three count errors."""
    costs, task = 1.0 - np.eye(n_classes), {}
    if rng.random() < 0.34:
        costs = rng.choice([0.0, 0.5, 1.0, 4.0], costs.shape) * costs
        costs[0, -1] = 3.0
        task["costs"] = {
            str(k): {str(j): float(costs[k, j]) for j in range(n_classes) if j != k}
            for k in range(n_classes)
        }
    least = costs[~np.eye(n_classes, dtype=bool)].min()
    if rng.random() < 0.25 and least > 0 and not is_monotone:
        task["refer"] = float(least) / 3  # a person costs less than guessing
        costs = np.column_stack([costs, np.full(n_classes, task["refer"])])
    return costs, task


def check(seed: int, number: int, is_weighted: bool = False) -> None:
    rng = np.random.default_rng((seed, number))
    X, y, depth, price, asked = draw(rng)
    if y.max() == 0:
        return
    names = [f"f{j}" for j in range(X.shape[1])]
    costs, task = draw_task(rng, y.max() + 1, "monotone" in asked)
    weights = rng.uniform(0.2, 3.0, len(y)) if is_weighted else None
    truth = best(X, y, depth, price, names, asked, costs, weights)
    data = Dataset.from_arrays(pd.DataFrame(X, columns=names), y.tolist())
    run = octcore.solve(
        data, "threshold-search", depth=depth, params={"leaf_penalty": price}, constraints=asked,
        sample_weight=weights, **task,
    )  # fmt: skip
    case = (seed, number, asked, task)
    assert run.certificate.verified is not False, (case, run.certificate)
    if truth is None:
        assert run.status == "infeasible", case
        return
    assert run.status == "optimal", case
    assert run.objective == pytest.approx(truth, abs=1e-9), case
    assert run.bound == pytest.approx(truth, abs=1e-9), case
    for event in run.trace.events:
        assert event.bound is None or event.bound >= truth - 1e-9, case
        assert event.incumbent is None or event.incumbent <= truth + 1e-9, case


@pytest.mark.sampled(2)
@pytest.mark.parametrize("part", [0, 1, *later(2, 3, 4, 5)])
def test_the_first_tree_that_keeps_the_constraints_is_the_best(part: int) -> None:
    for number in range(40):
        check(part, number)


@pytest.mark.slow
@pytest.mark.parametrize("part", [0, *later(1, 2, 3)])
def test_weights_of_many_digits_are_rounded_and_what_is_lost_is_counted(part: int) -> None:
    for number in range(30):
        check(500 + part, number, is_weighted=True)


def test_floors_have_prices_beside_costs() -> None:
    """Copies of rows had none: all trees better than the one that keeps it were listed."""
    frame, y = rare_rows(400)
    run = octcore.solve(
        Dataset.from_arrays(frame, y.astype(int)),
        constraints={"min_recall": {"1": 0.7}}, costs={"1": {"0": 0.5}}, refer=0.3,
        params={"leaf_penalty": 0.0},
    )  # fmt: skip
    assert run.is_optimal
    assert any(event.source == "price" for event in run.trace.events)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(20))
def test_two_thousand_cases(part: int) -> None:
    for number in range(100):
        check(1000 + part, number)


def test_a_direction_on_real_rows() -> None:
    data = octcore.load_sample("iris")
    asked = {"depth": 2, "params": {"leaf_penalty": 0.01}}
    free = octcore.solve(data, "threshold-search", **asked)
    run = octcore.solve(
        data, "threshold-search", constraints={"monotone": {"petal width (cm)": "down"}}, **asked
    )
    assert run.is_optimal
    assert run.objective < free.objective - 1e-9
    refused = octcore.solve(
        data, "threshold-search", constraints={"monotone": {"petal width (cm)": "up"}}, **asked
    )
    assert refused.objective == pytest.approx(free.objective)


def test_levels_without_order_have_no_direction() -> None:
    data = Dataset.from_arrays(pd.DataFrame({"a": ["x", "y", "z", "x"]}), [0, 1, 0, 1])
    with pytest.raises(octcore.SettingsError, match="no order"):
        octcore.solve(data, "threshold-search", constraints={"monotone": {"a": "up"}})
    data = Dataset.from_arrays(pd.DataFrame({"a": [0.0, 1.0, 2.0]}), [0, 1, 0])
    for wrong in ({"a": "sideways"}, "a:sideways", "a"):
        with pytest.raises(octcore.SettingsError):
            octcore.solve(data, "threshold-search", constraints={"monotone": wrong})


@pytest.mark.parametrize("encoding", ["QT-5", "QB-5", "raw"])
def test_a_direction_on_encoded_columns(encoding: str) -> None:
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"a": rng.random(60).round(2), "b": rng.random(60).round(2)})
    y = (frame["a"] > 0.4) ^ (rng.random(60) < 0.15)
    data = Dataset.from_arrays(frame, [int(v) for v in y])
    run = octcore.solve(
        data, "threshold-search", encoding=encoding, depth=2,
        constraints={"monotone": {"a": "up"}}, params={"leaf_penalty": 0.001},
    )  # fmt: skip
    assert run.status == "optimal"
    rows = pd.DataFrame({"a": np.linspace(-0.2, 1.2, 141), "b": 0.5})
    for b in np.linspace(-0.1, 1.1, 13):
        rows["b"] = b
        assert (np.diff(run.predict(rows)) >= 0).all()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("case", [*range(6), *later(*range(6, 20))])
def test_floors_on_classes_equal_the_model(case: int) -> None:
    rng = np.random.default_rng((77, case))
    n, n_classes = 60, 2 + case % 2
    X = rng.integers(0, 2, (n, 5))
    rare = (X[:, 0] & X[:, 1]) | (rng.random(n) < 0.15)
    y = np.where(rng.random(n) < 0.3, 0, rare) + (n_classes - 2) * (X[:, 2] & (rng.random(n) < 0.6))
    y = np.unique(y, return_inverse=True)[1]
    data = Dataset.from_arrays(pd.DataFrame(X).add_prefix("f"), y.tolist())
    floors = {k: float(rng.choice([0.4, 0.7, 0.9])) for k in rng.permutation(y.max() + 1)[:2]}
    asked: dict[str, Any] = {
        "depth": 2,
        "params": {"leaf_penalty": float(rng.choice([0.0, 0.02, 0.06]))},
        "constraints": {"min_recall": {str(k): floor for k, floor in floors.items()}},
        "sample_weight": rng.choice([1.0, 2.0, 0.5], n) if case % 3 == 0 else None,
    }
    truth = octcore.solve(data, "flow-oct", encoding="none", **asked)
    run = octcore.solve(data, "threshold-search", **asked)
    assert run.status == truth.status, asked
    assert run.certificate.verified is not False, asked
    if truth.status != "infeasible":
        assert run.objective == pytest.approx(truth.objective, abs=1e-6), asked
        for event in run.trace.events:
            assert event.bound is None or event.bound >= run.objective - 1e-9, asked


def rare_rows(n: int) -> tuple[pd.DataFrame, np.ndarray]:
    """One row in thirty is of class 1, and a column of many values tells of it."""
    rng = np.random.default_rng(0)
    a = rng.normal(size=n)
    return pd.DataFrame({"a": a, "b": rng.normal(size=n)}), a + rng.normal(size=n) > 2.6


def test_floors_that_no_tree_keeps_are_refuted_by_their_prices() -> None:
    """The mean of both recalls is never as large: balanced accuracy says that without a list."""
    frame, y = rare_rows(3000)
    data = Dataset.from_arrays(frame, y.astype(int))
    even = octcore.solve(data, constraints={"class_weight": "balanced"}, params={"leaf_penalty": 0})
    assert even.is_proven
    assert even.balanced_accuracy is not None
    floor = even.balanced_accuracy + 0.01
    run = octcore.solve(data, constraints={"min_recall": {"0": floor, "1": floor}})
    assert run.status == "infeasible"
    assert run.certificate.verified is not False
    frame["c"] = np.where(y, 1.0, 0.0)  # one column more, and one split keeps both
    again = octcore.solve(
        Dataset.from_arrays(frame, y.astype(int)), constraints={"min_recall": {"0": 1, "1": floor}}
    )
    assert again.is_optimal
    assert again.accuracy == 1.0


def test_floors_beside_weights_of_many_digits_are_proven() -> None:
    frame, y = rare_rows(1500)
    run = octcore.solve(
        Dataset.from_arrays(frame, y.astype(int)),
        constraints={"min_recall": {"1": 0.7}, "class_weight": {"0": np.pi / 3, "1": np.e / 7}},
    )
    assert run.is_optimal
    assert (run.predict(frame)[y] == 1).mean() >= 0.7


def test_limits_on_columns_are_searched_before_trees_are_listed() -> None:
    wine = octcore.load_sample("wine")
    limits = {"max_features": 2, "min_recall": {"Barbera": 0.9}}
    run = octcore.solve(wine, depth=3, constraints=limits)
    free = octcore.solve(wine, depth=3, constraints={"max_features": 2})
    assert (run.status, run.objective) == ("optimal", free.objective)
    none = {"max_features": 0, "root_feature": "alcohol", "feature_once_per_path": True}
    assert octcore.solve(wine, depth=3, constraints=none).status == "infeasible"
