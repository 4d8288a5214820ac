"""What every column is worth at the root, against enumeration of single searches."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

import octcore
from octcore.data.dataset import Dataset
from octcore.solving.column_values import ThresholdValue, own_column, span_within, threshold_spans
from tests.stages import later

PRICE = 0.02


@pytest.fixture(scope="module")
def table() -> Dataset:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "size": rng.integers(0, 6, 40).astype(float),
            "weight": rng.random(40).round(2),
            "colour": rng.choice(["red", "green", "blue"], 40),
        }
    )
    y = (frame["size"] > 2) ^ (frame["colour"] == "red") ^ (rng.random(40) < 0.15)
    return Dataset.from_arrays(frame, ["yes" if v else "no" for v in y])


def best_stump(table: Dataset, name: str) -> tuple[float, set[tuple[float, float]]]:
    """Best objective of one split on a column, and the intervals of thresholds that reach it."""
    values, y = table.frame[name].to_numpy(), table.codes

    def worth(left: np.ndarray) -> float:
        right = sum(np.bincount(y[side], minlength=2).max() for side in (left, ~left))
        return right / len(y) - 2 * PRICE

    if values.dtype.kind != "f":
        return max(worth(values == level) for level in set(values)), set()
    steps = np.unique(values)
    worths = {(low, high): worth(values <= low) for low, high in itertools.pairwise(steps)}
    best = max(worths.values())
    return best, {ends for ends, value in worths.items() if value > best - 1e-12}


def test_values_of_depth_one_are_those_of_all_splits(table: Dataset) -> None:
    run = octcore.solve(table, "threshold-search", depth=1, params={"leaf_penalty": PRICE})
    found = run.values()
    assert [entry.column for entry in found] == ["size", "weight", "colour"]
    for entry in found:
        value, intervals = best_stump(table, entry.column)
        assert entry.is_exact
        assert entry.value == pytest.approx(value, abs=1e-12)
        assert (entry.interval in intervals) if intervals else entry.interval is None
        if entry.interval is not None:
            assert entry.interval[0] <= entry.threshold < entry.interval[1]


@pytest.mark.parametrize("key", ["threshold-search", "path-search", *later("flow-oct")])
def test_values_are_the_optima_with_the_column_required(table: Dataset, key: str) -> None:
    asked = {"depth": 2, "params": {"leaf_penalty": PRICE}}
    for limits in ({}, {"min_samples_leaf": 4, "forbidden_features": ["weight"]}):
        run = octcore.solve(table, key, **asked, constraints=limits)
        for entry in run.values():
            if entry.column in limits.get("forbidden_features", ()):
                assert entry.value is None
                assert entry.is_exact
                continue
            required = {**limits, "root_feature": entry.column}
            other = octcore.solve(table, key, **asked, constraints=required)
            assert entry.value == pytest.approx(other.objective, abs=1e-9)
            assert entry.tree.n_leaves >= 2
        assert run.objective >= max(v.value for v in run.values() if v.value is not None) - 1e-9


@pytest.mark.parametrize("limits", [{}, {"max_leaves": 3}, {"min_samples_leaf": 3}])
def test_values_below_the_root_are_those_of_all_splits_there(table: Dataset, limits: dict) -> None:
    run = octcore.solve(table, depth=2, params={"leaf_penalty": PRICE}, constraints=limits)
    X, smallest = run.encoding.transform(table.frame), limits.get("min_samples_leaf", 1)
    nodes = [node for node in run.tree.splits if node > 1]
    assert nodes
    for node in nodes:
        rows, below = run.tree.node_rows(X)[node], {2 * node, 2 * node + 1}
        rest = sum(
            int((table.codes[there] == label).sum()) / len(X) - PRICE
            for leaf, label in run.tree.labels.items()
            if leaf not in below
            for there in [run.tree.node_rows(X)[leaf]]
        )
        y, frame = table.codes[rows], table.frame.iloc[rows]
        for entry in run.values(node=node):
            values = frame[entry.column].to_numpy()
            is_number = values.dtype.kind == "f"
            lefts = [values <= v if is_number else values == v for v in np.unique(values)]
            worths = [
                sum(np.bincount(y[side]).max() for side in (left, ~left)) / len(X)
                for left in lefts
                if smallest <= left.sum() <= len(y) - smallest
            ]
            best = rest + max(worths) - 2 * PRICE if worths else None
            assert entry.value == (None if best is None else pytest.approx(best, abs=1e-12))
            if entry.interval is not None:
                low, high = entry.interval
                assert {low, high} <= set(values)
                assert not ((values > low) & (values < high)).any()
        own = run.encoding.columns[run.tree.splits[node].features[0]].raw
        value = next(entry.value for entry in run.values(node=node) if entry.column == own)
        assert value == pytest.approx(run.objective, abs=1e-12)


def test_values_at_leaves_are_refused(table: Dataset) -> None:
    run = octcore.solve(table, depth=2, params={"leaf_penalty": PRICE})
    with pytest.raises(octcore.SettingsError, match="node 64"):
        run.values(node=64)


@pytest.mark.parametrize("limits", [{}, {"min_samples_leaf": 4}])
def test_values_with_asking_reach_the_optimum(table: Dataset, limits: dict) -> None:
    """Below a node, leaves count the rows that arrive there, each once."""
    asked = {"refer": 0.3, "params": {"leaf_penalty": PRICE}, "constraints": limits}
    run = octcore.solve(table, depth=2, **asked)
    assert len(run.tree.splits) > 1
    for node in run.tree.splits:
        best = max(v.value for v in run.values(node=node) if v.value is not None)
        assert best == pytest.approx(run.objective, abs=1e-9)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("key", ["threshold-search", "path-search"])
def test_the_curve_of_a_column_reaches_its_value(table: Dataset, key: str) -> None:
    for depth, limits in ((1, {}), (2, {"min_samples_leaf": 4}), (3, {})):
        asked = {"depth": depth, "params": {"leaf_penalty": PRICE}, "constraints": limits}
        run = octcore.solve(table, key, **asked, costs={"yes": {"no": 2.0}})
        for entry in run.values():
            if entry.interval is None:
                continue
            curve = run.curve(entry.column)
            assert all(point.is_exact for point in curve)
            assert [point.low for point in curve] == sorted(point.low for point in curve)
            chosen = next(p.value for p in curve if (p.low, p.high) == entry.interval)
            assert max(point.value for point in curve) == pytest.approx(entry.value, abs=1e-12)
            assert chosen == pytest.approx(entry.value, abs=1e-12)


def test_a_point_of_the_curve_is_the_optimum_with_its_split(table: Dataset) -> None:
    run = octcore.solve(table, depth=1, params={"leaf_penalty": PRICE})
    y, size = table.codes, table.frame["size"].to_numpy()
    for point in run.curve("size"):
        sides = (y[size <= point.low], y[size >= point.high])
        right = sum(np.bincount(side).max() for side in sides) / len(y)
        assert point.value == pytest.approx(right - 2 * PRICE, abs=1e-12)
    over = run.curve("size", time_limit=0.0)
    assert all(a.value >= b.value - 1e-9 for a, b in zip(over, run.curve("size"), strict=True))


@pytest.mark.parametrize("encoding", ["raw", "QT-5"])
def test_the_curve_below_the_root_reaches_the_values_there(table: Dataset, encoding: str) -> None:
    key = "threshold-search" if encoding == "raw" else "path-search"
    run = octcore.solve(table, key, encoding=encoding, depth=3, params={"leaf_penalty": PRICE})
    nodes = [node for node in run.tree.splits if node > 1]
    assert nodes
    for node in nodes:
        for entry in run.values(node=node):
            if entry.interval is not None:
                curve = run.curve(entry.column, node=node)
                spans = [(point.low, point.high) for point in curve]
                assert sorted(set(spans)) == spans
                assert max(point.value for point in curve) == pytest.approx(entry.value, abs=1e-12)
                chosen = next(p for p in curve if p.low <= entry.threshold < p.high)
                assert chosen.value == pytest.approx(entry.value, abs=1e-12)


def test_a_threshold_moves_as_far_as_every_step_is_good_enough() -> None:
    values = [0.7, 0.9, 0.95, None, 0.9, 0.9, 0.9]
    points = [ThresholdValue(k, k + 1, v, k != 5) for k, v in enumerate(values)]
    assert span_within(points, 2.5, 0.89) == (1, 3)
    assert span_within(points, 2.0, 0.9) == (2, 3)  # equal is not above
    assert span_within(points, 4.0, 0.8) == (4, 5)  # what is not exact ends it
    assert span_within(points, 3.5, 0.0) is None
    assert span_within(points, 0.5, 0.8) is None
    assert span_within(points, 9.0, 0.0) is None
    apart = [ThresholdValue(0, 1, 0.9, True), ThresholdValue(2, 3, 0.9, True)]
    assert span_within(apart, 0.5, 0.8) == (0, 1)  # no tree splits between 1 and 2


def test_thresholds_of_a_tree_move_as_far_as_trees_stay_good(table: Dataset) -> None:
    """Every step is the optimum with the split moved there, the rest of the tree kept."""
    run = octcore.solve(table, "threshold-search", depth=2, params={"leaf_penalty": PRICE}).needed
    spans = threshold_spans(run)
    numbers = {node for node in run.tree.splits if own_column(run, node) != "colour"}
    assert set(spans) == numbers
    for node, span in spans.items():
        assert span is not None
        points = run.curve(own_column(run, node), node=node)
        good = [p for p in points if p.value > run.objective - 0.01 + 1e-9]
        inside = [p for p in points if span[0] <= p.low and p.high <= span[1]]
        assert set(inside) <= set(good)
        assert all(p.high != span[0] and p.low != span[1] for p in good)


@pytest.mark.parametrize("node", [1, 2, 3])
def test_a_curve_without_time_is_bounds_at_the_same_thresholds(node: int) -> None:
    rng = np.random.default_rng(6)
    X = rng.random((50, 3)).round(2)
    y = (X[:, 0] > 0.5).astype(int) ^ (X[:, 1] > 0.4) ^ (rng.random(50) < 0.1)
    run = octcore.solve(Dataset.from_arrays(X, y), depth=2, params={"leaf_penalty": 0.005}).needed
    exact = run.curve(own_column(run, node), node=node)
    bounds = run.curve(own_column(run, node), node=node, time_limit=0.0)
    assert [(p.low, p.high) for p in bounds] == [(p.low, p.high) for p in exact]
    assert all(a.value >= b.value - 1e-9 for a, b in zip(bounds, exact, strict=True))
    assert not any(p.is_exact for p in bounds)


def test_thresholds_without_time_are_not_said_to_be_fixed() -> None:
    rng = np.random.default_rng(4)
    noise = Dataset.from_arrays(rng.random((300, 6)), rng.integers(0, 2, 300))
    run = octcore.solve(noise, depth=3, time_limit=5).needed
    assert set(threshold_spans(run, time_limit=0.0).values()) == {None}


def test_what_has_no_curve_is_said(table: Dataset) -> None:
    run = octcore.solve(table, depth=2, constraints={"max_leaves": 3})
    with pytest.raises(octcore.SettingsError, match="leaves"):
        run.curve("size")
    run = octcore.solve(table, depth=1)
    with pytest.raises(octcore.SettingsError, match="no order"):
        run.curve("colour")
    with pytest.raises(octcore.SettingsError, match="'age'"):
        run.curve("age")


@pytest.mark.parametrize("node", [1, 2])
def test_time_that_is_over_leaves_bounds_and_searches_nothing(
    table: Dataset, node: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = octcore.solve(table, "threshold-search", depth=3, params={"leaf_penalty": 0.01}).needed
    exact = {entry.column: entry.value for entry in run.values(node=node)}
    # Building the table of a search again for each of 500 columns took 20 s beyond the limit.
    monkeypatch.setattr("octcore.solving.column_values.answer", None)
    over = run.values(time_limit=0.0, node=node)
    for entry in over + run.values(cancel=lambda: True, node=node):
        assert not entry.is_exact
        assert entry.tree is None
        assert entry.value is not None
        assert entry.value >= exact[entry.column] - 1e-9


def test_other_objectives_have_no_values(table: Dataset) -> None:
    run = octcore.solve(table, "oct", depth=1, time_limit=10)
    with pytest.raises(octcore.SettingsError, match="threshold-search"):
        run.values()
