from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import export_graphviz, export_text, plot_tree

from octcore.data.dataset import Dataset
from octcore.encoding.fit import fit_encoding
from octcore.errors import SettingsError
from octcore.tree.export.to_sklearn import SinglePrecisionWarning, to_sklearn
from octcore.tree.tree import Split, Tree


@pytest.fixture
def table() -> Dataset:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(80, 3)), columns=["a", "b", "c"])
    return Dataset.from_arrays(frame, (frame["a"] + frame["b"] > 0).astype(int))


def perfect(features: list[int], depth: int, n_features: int, classes: tuple[str, ...]) -> Tree:
    splits = {node: Split.on_feature(j) for node, j in enumerate(features, start=1)}
    labels = {node: node % 2 for node in range(2**depth, 2 ** (depth + 1))}
    return Tree(splits, labels, n_features, 2, classes)


@pytest.mark.parametrize("in_raw_units", [False, True])
def test_predictions_and_plots(table: Dataset, in_raw_units: bool) -> None:
    encoding = fit_encoding("QT-5", table)
    X = encoding.transform(table.frame)
    tree = perfect([1, 5, 6], 2, X.shape[1], ("no", "yes"))
    raw = table.frame.to_numpy() if in_raw_units else None
    assert table.y is not None
    model = to_sklearn(tree, encoding, X, table.y, raw)
    rows = X if raw is None else raw
    np.testing.assert_array_equal(model.predict(rows), tree.predict(X))
    assert model.get_depth() == 2
    assert model.get_n_leaves() == 4
    assert model.tree_.n_node_samples[0] == 80
    names = list(encoding.raw_features if in_raw_units else encoding.names)
    text = export_text(model, feature_names=names)
    assert names[1] in text if in_raw_units else encoding.names[1] in text
    assert names[1] in export_graphviz(model, feature_names=names)
    assert model.decision_path(rows).shape == (80, 7)


def test_numbers_beyond_single_precision_are_refused_in_words() -> None:
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [0.0, 1.0, 1e39]})
    table = Dataset.from_arrays(frame, [0, 1, 1])
    encoding = fit_encoding("raw", table)
    X = encoding.transform(table.frame)
    tree = Tree({1: Split.on_feature(0, 1.5)}, {2: 0, 3: 1}, 2, 2)
    with pytest.raises(SettingsError, match="'b' holds numbers beyond"):
        to_sklearn(tree, encoding, X, table.codes)


@pytest.mark.long
def test_plot_tree_draws_it(table: Dataset) -> None:
    pytest.importorskip("matplotlib", reason="plot_tree needs matplotlib, which we do not")
    encoding = fit_encoding("QT-5", table)
    X = encoding.transform(table.frame)
    tree = perfect([1, 5, 6], 2, X.shape[1], ("no", "yes"))
    assert table.y is not None
    model = to_sklearn(tree, encoding, X, table.y)
    assert len(plot_tree(model, feature_names=list(encoding.names))) >= 7


def test_buckets_swap_sides_in_raw_units(table: Dataset) -> None:
    encoding = fit_encoding("QB-5", table)
    X = encoding.transform(table.frame)
    assert table.y is not None
    tree = perfect([0, 4, 5], 2, X.shape[1], ("no", "yes"))  # outermost buckets are thresholds
    raw = table.frame.to_numpy()
    np.testing.assert_array_equal(
        to_sklearn(tree, encoding, X, table.y, raw).predict(raw), tree.predict(X)
    )
    inner = perfect([1], 1, X.shape[1], ("no", "yes"))
    with pytest.raises(SettingsError, match="no single threshold") as caught:
        to_sklearn(inner, encoding, X, table.y, raw)
    assert caught.value.code == "NOT_A_THRESHOLD"


def test_oblique_trees_are_refused(table: Dataset) -> None:
    encoding = fit_encoding("scaled", table)
    X = encoding.transform(table.frame)
    tree = Tree({1: Split.on_plane([1.0, 1.0, 0.0], -1.0)}, {2: 0, 3: 1}, 3, 2)
    assert table.y is not None
    with pytest.raises(SettingsError, match="exactly one"):
        to_sklearn(tree, encoding, X, table.y)


def test_a_leaf_keeps_its_label_against_the_majority(table: Dataset) -> None:
    encoding = fit_encoding("QT-5", table)
    X = encoding.transform(table.frame)
    assert table.y is not None
    label = 1 - int(np.argmax(np.bincount(table.y)))
    tree = Tree.leaf(label, X.shape[1], 2)
    assert (to_sklearn(tree, encoding, X, table.y).predict(X) == label).all()


def test_single_precision_is_repaired_where_it_can_be() -> None:
    # as float32 both neighbours round up past a threshold that lies between them
    low = float(np.float32(0.1)) - 1e-12
    X = np.array([[low], [low + 1e-6]])
    data = Dataset.from_arrays(X, np.array([0, 1]), kinds={"x0": "numeric"})
    encoding = fit_encoding("scaled", data)
    tree = Tree({1: Split.on_feature(0, 1e-9)}, {2: 0, 3: 1}, 1, 2)
    cells = encoding.transform(data.frame)
    assert data.y is not None
    model = to_sklearn(tree, encoding, cells, data.y, X)
    np.testing.assert_array_equal(model.predict(X), [0, 1])


def test_single_precision_is_reported_where_it_cannot_be_repaired() -> None:
    X = np.array([[1.0], [1.0 + 1e-12]])
    data = Dataset.from_arrays(X, np.array([0, 1]), kinds={"x0": "numeric"})
    encoding = fit_encoding("scaled", data)
    tree = Tree({1: Split.on_feature(0, 0.5)}, {2: 0, 3: 1}, 1, 2)
    assert data.y is not None
    with pytest.warns(SinglePrecisionWarning, match="1 of 2"):
        to_sklearn(tree, encoding, encoding.transform(data.frame), data.y, X)


def test_a_leaf_without_rows_keeps_its_class() -> None:
    table = Dataset.from_arrays(pd.DataFrame({"a": [1.0, 2.0, 3.0]}), [0, 1, 1])
    encoding = fit_encoding("raw", table)
    X = encoding.transform(table.frame)
    splits = {1: Split.on_feature(0, 1.5), 3: Split.on_feature(0, 9.0)}
    tree = Tree(splits, {2: 0, 6: 1, 7: 2}, 1, 3)
    model = to_sklearn(tree, encoding, X, table.codes)
    assert model.predict(np.array([[1.0], [2.0], [10.0]])).tolist() == [0, 1, 2]


def test_a_threshold_that_single_precision_cannot_place_stays_where_it_is() -> None:
    table = Dataset.from_arrays(pd.DataFrame({"a": [1.0, 1.0 + 1e-12, 2.0]}), [0, 1, 1])
    encoding = fit_encoding("raw", table)
    X = encoding.transform(table.frame)
    tree = Tree({1: Split.on_feature(0, 1.0 + 5e-13)}, {2: 0, 3: 1}, 1, 2)
    with pytest.warns(SinglePrecisionWarning, match="predicts 1 of 3 rows differently"):
        model = to_sklearn(tree, encoding, X, table.codes)
    assert model.tree_.threshold[0] == 1.0 + 5e-13
