"""Numbers that describe a tree on data; all by routing rows, never from model variables.

Everywhere `X` holds encoded rows, shape ``(n_samples, n_features)``, `y` class codes and `weights`
weights of rows, both of shape ``(n_samples,)``; without weights every row counts 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from octcore.data.distinct import distinct_rows
from octcore.encoding.quantile import short_threshold
from octcore.tree.tree import Split, Tree


def accuracy(tree: Tree, X: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Weighted share that is right of the rows that get a class; NaN if none does."""
    codes = tree.predict_codes(X)
    told = codes < tree.n_targets
    if not told.any():
        return float("nan")
    weights = None if weights is None else weights[told]
    return float(np.average((codes == y)[told], weights=weights))


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


def accuracy_ceiling(X: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None) -> float:
    """Best accuracy that any classifier reaches: identical rows get the same prediction."""
    weights = np.ones(len(y)) if weights is None else weights
    return float(1.0 - conflict_errors(X, y, weights) / weights.sum())


def conflict_errors(X: np.ndarray, y: np.ndarray, weights: np.ndarray) -> float:
    """Weight that any classifier gets wrong; exactly 0 where identical rows agree."""
    first, group = distinct_rows(X)
    table = np.zeros((len(first), int(y.max()) + 1))
    np.add.at(table, (group, y), weights)
    table.sort(axis=1)
    return float(table[:, :-1].sum())


@dataclass(frozen=True)
class NodeSummary:
    """What the training rows say about one node."""

    node: int
    n_samples: int
    class_counts: tuple[int, ...]
    errors: int
    """Rows that end below this node with a wrong prediction."""

    def right(self, label: int) -> int:
        """Rows of the class that a leaf answers; none where it asks a person."""
        return self.class_counts[label] if label < len(self.class_counts) else 0


def node_summaries(tree: Tree, X: np.ndarray, y: np.ndarray) -> dict[int, NodeSummary]:
    """Row and class counts of every node."""
    wrong = tree.is_wrong(X, y)
    return {
        node: NodeSummary(
            node,
            len(rows),
            tuple(int(c) for c in np.bincount(y[rows], minlength=tree.n_targets)),
            int(wrong[rows].sum()),
        )
        for node, rows in tree.node_rows(X).items()
    }


def feature_usage(tree: Tree, groups: np.ndarray) -> dict[int, dict[int, float]]:
    """Absolute weight of every raw feature at every branch node.

    Parameters
    ----------
    groups : numpy.ndarray
        Raw feature index of every encoded column, shape ``(n_features,)``.

    Returns
    -------
    dict of int to dict of int to float
        ``usage[node][raw_feature]``, the sum of absolute weights.
    """
    usage: dict[int, dict[int, float]] = {}
    for node, split in tree.splits.items():
        here: dict[int, float] = {}
        for j, value in split.weights:
            raw = int(groups[j])
            here[raw] = here.get(raw, 0.0) + abs(value)
        usage[node] = here
    return usage


def majority_labels(
    tree: Tree, X: np.ndarray, y: np.ndarray, weights: np.ndarray | None = None
) -> Mapping[int, int]:
    """Best label of every leaf; an empty leaf takes that of its nearest non-empty ancestor."""
    weights = np.ones(len(y)) if weights is None else weights
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
    splits = {}
    for node, rows in tree.node_rows(X).items():
        if node in tree.splits:
            splits[node] = _centred(tree.splits[node], X[rows])
    return Tree(splits, tree.labels, tree.n_features, tree.n_classes, tree.classes, tree.features)


def _centred(split: Split, X: np.ndarray) -> Split:
    values = split.project(X)
    right = values > split.threshold
    if not len(values) or right.all():
        return split
    low = float(values[~right].max())
    if not right.any():
        threshold = split.threshold if low < split.threshold else low + 1e-6 * max(1.0, abs(low))
    else:
        high = float(values[right].min())
        threshold = low + (high - low) / 2
        if (
            not low <= threshold < high
        ):  # neighbours in floating point: the left value itself routes
            threshold = low
        elif split.is_univariate:
            threshold = short_threshold(threshold, low, high)
    return Split(split.weights, threshold, split.offset, split.unit_margin)
