"""Good trees by shape, and the first that passes a test, against the list of all good trees."""

from __future__ import annotations

import copy
import pickle
from collections import Counter, defaultdict

import numpy as np
import pytest

import octcore
from octcore.data.dataset import Dataset
from octcore.search.near_optimal import shapes as counted_shapes
from octcore.selection.alternatives import shape_lines
from octcore.selection.near_optimal import NearOptimalTrees
from octcore.tree.tree import Tree

MOST_COMPARED = 10
"""Shapes, the best first, whose thresholds are compared."""
Shape = tuple[tuple[int, ...], tuple["Shape", ...]]


def few_rows(n_columns: int) -> Dataset:
    """Eight values of a column, whose classes alternate; others beside it are random."""
    rng = np.random.default_rng(n_columns)
    X = np.column_stack([np.arange(8), rng.integers(0, 3, (8, n_columns - 1))])
    return Dataset.from_arrays(X, np.arange(8) % 2)


@pytest.fixture(
    scope="module",
    params=[("iris", "raw", 2, 0.02), ("iris", "QT-3", 3, 0.02), (1, "auto", 3, 0.5),
            (3, "auto", 2, 0.3), (2, "auto", 3, 0.1)],
    ids=["iris-raw", "iris-encoded", "one-column", "three-columns", "two-columns"],
)  # fmt: skip
def good(request: pytest.FixtureRequest) -> NearOptimalTrees:
    rows, encoding, depth, tolerance = request.param
    data = octcore.load_sample(rows) if isinstance(rows, str) else few_rows(rows)
    params = {"leaf_penalty": 0.01}
    return octcore.near_optimal(data, encoding, depth, params=params, tolerance=tolerance)


def shape_of(tree: Tree, node: int = 1) -> Shape:
    """Columns asked one after the other, and what is asked where both sides go on."""
    if node in tree.labels:
        return (), ()
    column, sides = tree.splits[node].features[0], (2 * node, 2 * node + 1)
    inner = [side for side in sides if side not in tree.labels]
    if len(inner) == 2:
        return (column,), tuple(shape_of(tree, side) for side in sides)
    if not inner:
        return (column,), ()
    chain, below = shape_of(tree, inner[0])
    return tuple(sorted((column, *chain))), below


@pytest.mark.sampled(3)
def test_every_tree_has_one_shape(good: NearOptimalTrees) -> None:
    trees = list(good.walk())
    told = Counter(shape_of(tree) for tree in trees)
    shapes = good.shapes()
    assert sum(shape.count for shape in shapes) == good.count == len(trees)
    assert sorted(shape.count for shape in shapes) == sorted(told.values())
    best: dict[Shape, float] = {}
    for tree in trees:
        best.setdefault(shape_of(tree), good.objective(tree))
    for shape in shapes:
        own = shape_of(shape.tree)
        assert shape.count == told[own]
        assert shape.objective == pytest.approx(best[own], abs=1e-12)
        assert good.objective(shape.tree) == pytest.approx(shape.objective, abs=1e-12)


def test_a_shape_is_kept_without_its_set(good: NearOptimalTrees) -> None:
    shape = good.shapes()[0]
    kept = pickle.loads(pickle.dumps(shape))
    assert kept.to_dict() == copy.deepcopy(kept).to_dict() == shape.to_dict()
    assert repr(kept) == repr(shape)
    assert "function" not in repr(shape)


@pytest.mark.parametrize(("depth", "leaves"), [(1, 1), (2, 2), (2, 3), (3, 2), (3, 4), (4, 4)])
def test_trees_beyond_a_limit_of_leaves_are_not_counted_by_shape(depth: int, leaves: int) -> None:
    # Of 72 rows of two numbers three trees had two leaves; those of up to eight took 23 GB.
    asked = {"leaf_penalty": 0.0}, {"max_leaves": leaves}
    few = octcore.near_optimal(few_rows(2), "auto", depth, *asked, tolerance=0.1)
    told = Counter(shape_of(tree) for tree in few.walk())
    assert {shape_of(shape.tree): shape.count for shape in few.shapes()} == told
    assert len(few._shapes.known[0].codes) <= few.count


def test_more_shapes_than_fit_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counted_shapes, "MOST_SHAPES", 5)
    with pytest.raises(octcore.TooLargeError, match="too many shapes"):
        octcore.near_optimal(few_rows(2), "auto", 3, tolerance=0.5).shapes()


@pytest.mark.sampled(3)
def test_thresholds_of_a_shape_are_those_of_its_trees(good: NearOptimalTrees) -> None:
    used: defaultdict[Shape, Counter[tuple[int, float]]] = defaultdict(Counter)
    for tree in good.walk():
        splits = tree.splits.values()
        used[shape_of(tree)].update((split.features[0], split.threshold) for split in splits)
    for shape in good.shapes()[:MOST_COMPARED]:
        told: Counter[tuple[int, float]] = Counter()
        for part in shape.ranges:
            assert (np.diff(part.thresholds) > 0).all()
            assert part.low == part.thresholds[0]
            assert part.high == part.thresholds[-1]
            for threshold, count in zip(part.thresholds, part.counts, strict=True):
                told[part.column, float(threshold)] += int(count)
        assert told == used[shape_of(shape.tree)]


@pytest.mark.sampled(3)
def test_the_first_that_passes(good: NearOptimalTrees) -> None:
    def passes(tree: Tree) -> bool:
        return len(tree.used_features) > 2

    trees = list(good.walk())
    truth = next((tree for tree in trees if passes(tree)), None)
    found = good.first(passes)
    assert found.tree == truth
    if truth is not None:
        assert found.bound == pytest.approx(good.objective(truth))
    none = good.first(lambda tree: False)
    assert none.tree is None
    assert none.bound == pytest.approx(good.optimum - good.tolerance)
    short = good.first(lambda tree: False, most=3)
    assert short.tree is None
    assert short.bound == pytest.approx(good.objective(trees[3]))


def test_a_shape_says_how_many_rows_its_best_tree_has_right_whatever_errors_cost() -> None:
    data, dear = octcore.load_sample("iris"), {"virginica": {"versicolor": 3.0}}
    good = octcore.near_optimal(data, depth=2, costs=dear, tolerance=0.01)
    wrong = good.shapes()[0].tree.is_wrong(good.encoding.transform(data.frame), data.codes)
    assert shape_lines(good)[1][0].accuracy == pytest.approx(1 - wrong.mean())
