"""A univariate tree as scikit-learn's own classifier, so that its plots and tools work on it.

scikit-learn rounds rows to single precision before it compares them with thresholds in double
precision.  A row close to a threshold may therefore go the other way; this is repaired where
single precision can tell the rows apart, and said where it cannot.
"""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.tree import DecisionTreeClassifier
from sklearn.tree._tree import Tree as SklearnTree

from octcore.encoding.base import Encoding
from octcore.errors import SettingsError
from octcore.tree.raw_units import Numbers, left_condition
from octcore.tree.tree import Tree, labels_array
from octcore.tree.wording import condition_words

Floats = npt.NDArray[np.float64]


class SinglePrecisionWarning(UserWarning):
    """Some rows are predicted differently because scikit-learn rounds them to single precision."""


@dataclass(frozen=True)
class _Test:
    """``column <= threshold`` goes left, or right where the sides are swapped."""

    column: int
    threshold: float
    swapped: bool = False


def to_sklearn(
    tree: Tree, encoding: Encoding, X: Floats, y: npt.NDArray[np.int64], raw: Floats | None = None
) -> DecisionTreeClassifier:
    """Convert a univariate tree; ``feature_names_in_`` is left unset, names are in the encoding.

    `X`, shape ``(n_samples, n_features)``, are encoded rows for the counts that scikit-learn shows.
    Given the same rows as `raw`, in raw columns of numbers in the order of
    ``encoding.raw_features``, the classifier takes raw rows instead of encoded ones.
    `SettingsError` if a split is oblique or, for raw rows, no threshold on a column of numbers, or
    a number is beyond single precision.
    """
    rows = X if raw is None else np.asarray(raw, dtype=float)
    beyond = (np.abs(rows) > np.finfo(np.float32).max).any(axis=0)
    if beyond.any():
        names = encoding.names if raw is None else encoding.raw_features
        message = f"Column {names[beyond.argmax()]!r} holds numbers beyond 3.4e38, which "
        message += "scikit-learn's trees do not take; fit on a smaller unit of the column."
        raise SettingsError("TOO_LARGE_NUMBER", message)
    tests = {
        node: _repaired(_test(tree, encoding, node, raw is not None), rows[here])
        for node, here in tree.node_rows(X).items()
        if node in tree.splits
    }
    order = list(_preorder(tree, tests))
    model = _model(tree, tests, order, X, y, rows.shape[1])
    wrong = int((model.predict(rows) != tree.predict(X)).sum())
    if wrong:
        warnings.warn(
            f"scikit-learn rounds rows to single precision and so predicts {wrong} of {len(rows)} "
            "rows differently from this tree; scale the columns or use the encoded rows.",
            SinglePrecisionWarning,
            stacklevel=2,
        )
    return model


def _test(tree: Tree, encoding: Encoding, node: int, in_raw_units: bool) -> _Test:
    split = tree.splits[node]
    if len(split.weights) != 1:
        message = f"Node {node} tests {len(split.weights)} columns; scikit-learn trees test "
        message += "exactly one."
        raise SettingsError("NOT_UNIVARIATE", message)
    ((j, weight),) = split.weights
    if not in_raw_units:
        return _Test(j, split.threshold / weight, weight < 0)
    column = encoding.columns[j]
    place = encoding.raw_features.index(column.raw)
    pair = (column.level, column.other)
    if column.kind == "level" and all(isinstance(value, (int, float)) for value in pair):
        level, other = map(float, pair)  # a column of two numbers
        return _Test(place, (level + other) / 2, level < other)
    condition = left_condition(split, encoding, digits=17)
    if isinstance(condition, Numbers) and len(condition.intervals) == 1 and not column.levels:
        (low, _), (high, _) = condition.intervals[0]
        if np.isinf(low) != np.isinf(high):
            return _Test(place, high if np.isinf(low) else low, not np.isinf(low))
    shown = condition_words(condition) if condition is not None else column.name
    message = f"Node {node} asks whether {shown}, which is no single threshold on a column of "
    message += "numbers; convert the tree on encoded rows."
    raise SettingsError("NOT_A_THRESHOLD", message)


def _repaired(test: _Test, rows: Floats) -> _Test:
    """Move a threshold so that rounded rows go where the rows themselves go, if that exists."""
    values = rows[:, test.column]
    left = values <= test.threshold
    if left.all() or not left.any():
        return test
    low = float(values[left].max().astype(np.float32))
    high = float(values[~left].min().astype(np.float32))
    if low <= test.threshold < high or low >= high:
        return test
    return _Test(test.column, low + (high - low) / 2, test.swapped)


def _preorder(tree: Tree, tests: dict[int, _Test], node: int = 1) -> Iterator[int]:
    """Nodes in the order scikit-learn stores them: its left child follows its parent."""
    yield node
    if node in tests:
        for child in _children(node, tests):
            yield from _preorder(tree, tests, child)


def _children(node: int, tests: dict[int, _Test]) -> tuple[int, int]:
    left, right = 2 * node, 2 * node + 1
    return (right, left) if tests[node].swapped else (left, right)


def _model(
    tree: Tree,
    tests: dict[int, _Test],
    order: list[int],
    X: Floats,
    y: npt.NDArray[np.int64],
    n_features: int,
) -> DecisionTreeClassifier:
    classes = labels_array(tree.classes) if tree.classes else np.arange(tree.n_classes)
    outputs = np.array([tree.n_classes], dtype=np.intp)
    inner: Any = SklearnTree(n_features, outputs, 1)
    places = {node: i for i, node in enumerate(order)}
    dtype = inner.__getstate__()["nodes"].dtype
    nodes: Any = np.zeros(len(order), dtype=dtype)
    values = np.zeros((len(order), 1, tree.n_classes))
    for node, rows in tree.node_rows(X).items():
        i = places[node]
        counts = np.bincount(y[rows], minlength=tree.n_classes)
        values[i, 0] = _shares(counts, tree.labels.get(node))
        shares = counts / max(1, counts.sum())
        record = {"impurity": 1.0 - float(shares @ shares), "n_node_samples": len(rows)}
        record |= {"weighted_n_node_samples": float(len(rows)), "threshold": -2.0, "feature": -2}
        record |= {"left_child": -1, "right_child": -1}
        if node in tests:
            left, right = (places[child] for child in _children(node, tests))
            record |= {"left_child": left, "right_child": right}
            record |= {"feature": tests[node].column, "threshold": tests[node].threshold}
        for name, value in record.items():
            nodes[name][i] = value
    state = {"max_depth": tree.max_depth, "node_count": len(order), "nodes": nodes}
    inner.__setstate__(state | {"values": values})
    model: Any = DecisionTreeClassifier(max_depth=max(1, tree.max_depth))
    model.tree_, model.classes_, model.n_classes_ = inner, classes, tree.n_classes
    model.n_outputs_, model.n_features_in_, model.max_features_ = 1, n_features, n_features
    return model


def _shares(counts: npt.NDArray[np.int64], label: int | None) -> Floats:
    """Class shares of a node; of a leaf only if they predict its label."""
    total = counts.sum()
    if label is not None and (total == 0 or int(np.argmax(counts)) != label):
        return np.eye(len(counts))[label]
    return counts / total if total else np.full(len(counts), 1 / len(counts))
