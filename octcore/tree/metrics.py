"""Numbers that describe a tree on data; all by routing rows, never from model variables.

Everywhere `X` holds encoded rows, shape ``(n_samples, n_features)``, `y` class codes and `weights`
weights of rows, both of shape ``(n_samples,)``; without weights every row counts 1.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from octcore.data.distinct import distinct_rows
from octcore.data.thresholds import short_threshold, tidy
from octcore.encoding.base import Encoding
from octcore.tree.tree import Split, Tree, midpoint


def accuracy(tree: Tree, X: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Weighted share that is right of the rows that get a class; NaN if none of any weight does."""
    codes = tree.predict_codes(X)
    weights = np.ones(len(y)) if weights is None else weights
    told = (codes < tree.n_targets) & (weights > 0)
    if not told.any():
        return float("nan")
    return float(np.average((codes == y)[told], weights=weights[told]))


def balanced_accuracy(tree: Tree, X: np.ndarray, y: np.ndarray) -> float:
    """Mean over the classes of the share that is right, of the rows that get a class."""
    codes = tree.predict_codes(X)
    told = codes < tree.n_targets
    hit, y = (codes == y)[told], y[told]
    return float(np.mean([hit[y == k].mean() for k in np.unique(y)]))


def confusion(tree: Tree, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Counts of true class (rows) against answer (columns; the last may be asking a person)."""
    table = np.zeros((tree.n_targets, tree.n_classes), dtype=np.int64)
    np.add.at(table, (y, tree.predict_codes(X)), 1)
    return table


def accuracy_ceiling(X: np.ndarray, y: np.ndarray, groups: np.ndarray | None = None) -> float:
    """Best accuracy that any classifier reaches: identical rows get the same prediction.

    `groups`: raw feature of every column; where several have one, they are 0 or 1 and tell a value.
    """
    if groups is not None and X.dtype != np.uint8:  # bits are packed, numbers are eight bytes each
        ends = np.flatnonzero(np.diff(groups, prepend=-1, append=-1))
        columns = (X[:, a:b] @ np.arange(1.0, b - a + 1) for a, b in pairwise(ends.tolist()))
        X = np.column_stack([*columns])
    return 1.0 - conflict_errors(X, y, np.ones(len(y))) / len(y)


def conflict_errors(X: np.ndarray, y: np.ndarray, weights: np.ndarray) -> float:
    """Weight that any classifier gets wrong; exactly 0 where identical rows agree."""
    first, group = distinct_rows(X)
    table = np.zeros((len(first), int(y.max()) + 1))
    np.add.at(table, (group, y), weights)
    table.sort(axis=1)
    return float(table[:, :-1].sum())


@dataclass(frozen=True)
class NodeSummary:
    """What rows say about one node."""

    n_samples: int
    class_counts: tuple[int, ...]
    errors: int  # rows that end below this node with a wrong prediction

    def right(self, label: int) -> int:
        """Rows of the class that a leaf answers; none where it asks a person."""
        return self.class_counts[label] if label < len(self.class_counts) else 0


def node_summaries(tree: Tree, X: np.ndarray, y: np.ndarray) -> dict[int, NodeSummary]:
    """Row and class counts of every node."""
    wrong = tree.is_wrong(X, y)
    return {
        node: NodeSummary(
            len(rows),
            tuple(int(c) for c in np.bincount(y[rows], minlength=tree.n_targets)),
            int(wrong[rows].sum()),
        )
        for node, rows in tree.node_rows(X).items()
    }


def feature_usage(tree: Tree, groups: np.ndarray) -> dict[int, dict[int, float]]:
    """``usage[node][raw_feature]``: the sum of its absolute weights at every branch node.

    `groups`: raw feature index of every encoded column, shape ``(n_features,)``.
    """
    usage: dict[int, dict[int, float]] = {node: {} for node in tree.splits}
    for node, split in tree.splits.items():
        for j, value in split.weights:
            raw = int(groups[j])
            usage[node][raw] = usage[node].get(raw, 0.0) + abs(value)
    return usage


def majority_labels(
    tree: Tree, X: np.ndarray, y: np.ndarray, weights: np.ndarray
) -> Mapping[int, int]:
    """Best label of every leaf; an empty leaf takes that of its nearest non-empty ancestor."""
    rows = tree.node_rows(X)
    labels = {}
    for leaf in tree.labels:
        node = leaf
        while node > 1 and len(rows[node]) == 0:
            node //= 2
        here = rows[node]
        labels[leaf] = int(np.argmax(np.bincount(y[here], weights[here], tree.n_classes)))
    return labels


def centre_thresholds(tree: Tree, X: np.ndarray) -> Tree:
    """Move every threshold into the middle of the gap between its nearest training rows.

    The routing of the training rows does not change.  Where a side is empty the threshold stays,
    unless a row lies on it.
    """
    rows = tree.node_rows(X)
    splits = {node: _centred(s, s.project(X, rows[node])) for node, s in tree.splits.items()}
    return replace(tree, splits=splits)


def tidied(tree: Tree, X: np.ndarray) -> Tree:
    """Write every threshold as it is read, where no row of all changes its side.

    A middle such as 2.1799999999999997 is told as 2.18, and a new row of just that goes left.
    """
    splits = {
        node: replace(split, threshold=tidy(split.threshold, X[:, split.features[0]]))
        for node, split in tree.splits.items()
    }
    return replace(tree, splits=splits)


def _centred(split: Split, values: np.ndarray) -> Split:
    right = values > split.threshold
    if not len(values) or right.all():
        return split
    low = float(values[~right].max())
    if not right.any():
        threshold = split.threshold if low < split.threshold else low + 1e-6 * max(1.0, abs(low))
    else:
        high = float(values[right].min())
        threshold = midpoint(low, high)
        if split.is_univariate and threshold > low:
            threshold = short_threshold(threshold, low, high)
    return replace(split, threshold=threshold)


def threshold_intervals(
    tree: Tree, X: np.ndarray, encoding: Encoding
) -> dict[int, tuple[float, float]]:
    """Largest value left and smallest value right at every branch node, in raw units.

    Any threshold from the first value up to, but without, the second one sends the same training
    rows left.  For a category, or one of two numbers, the values are those of its indicator, 0 and
    1; for ordered categories they are ranks.  Nodes that send no rows one way are left out.
    """
    found: dict[int, tuple[float, float]] = {}
    rows = tree.node_rows(X)
    for node, split in tree.splits.items():
        right = split.goes_right(X, rows[node])
        if right.any() and not right.all():
            column, values = encoding.columns[split.features[0]], X[rows[node], split.features[0]]
            low, high = float(values[~right].max()), float(values[right].min())
            found[node] = (column.shift + column.scale * low, column.shift + column.scale * high)
    return found
