"""Routing of rows through the plain record of a tree, ``Tree.to_dict``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class RoutedTree:
    """A tree and where it sends the rows of a problem.

    Parameters
    ----------
    splits : mapping of int to (numpy.ndarray, float)
        Weights and threshold of every branch node; at most the threshold goes left.
    labels : mapping of int to int
        Class index of every leaf.
    rows : mapping of int to numpy.ndarray
        Row indices that reach every node.
    predicted : numpy.ndarray
        Class index of every row.
    """

    splits: Mapping[int, tuple[np.ndarray, float]]
    labels: Mapping[int, int]
    rows: Mapping[int, np.ndarray]
    predicted: np.ndarray

    @property
    def depth(self) -> int:
        """Most splits on a path."""
        return max(leaf.bit_length() - 1 for leaf in self.labels)

    @property
    def leaf_sizes(self) -> list[int]:
        """Rows in every leaf."""
        return [len(self.rows[leaf]) for leaf in self.labels]

    def columns(self, node: int) -> tuple[int, ...]:
        """Columns that a branch node tests."""
        return tuple(np.flatnonzero(self.splits[node][0]).tolist())

    @property
    def paths(self) -> list[list[int]]:
        """Branch nodes above every leaf, root first."""
        paths = []
        for leaf in self.labels:
            above = [leaf >> up for up in range(leaf.bit_length() - 1, 0, -1)]
            paths.append(above)
        return paths


def route(record: Mapping[str, Any], X: np.ndarray) -> RoutedTree:
    """Send rows through a tree record; a node without a record raises KeyError."""
    nodes = {entry["node"]: entry for entry in record["nodes"]}
    splits: dict[int, tuple[np.ndarray, float]] = {}
    labels: dict[int, int] = {}
    rows = {1: np.arange(len(X))}
    predicted = np.full(len(X), -1)
    pending = [1]
    while pending:
        node = pending.pop()
        entry = nodes.pop(node)
        if entry["kind"] == "leaf":
            labels[node] = int(entry["label"])
            predicted[rows[node]] = labels[node]
            continue
        weights = np.zeros(X.shape[1])
        for column, weight in entry["weights"]:
            weights[column] = weight
        threshold = float(entry["threshold"])
        splits[node] = weights, threshold
        right = X[rows[node]] @ weights > threshold
        rows[2 * node], rows[2 * node + 1] = rows[node][~right], rows[node][right]
        pending += [2 * node, 2 * node + 1]
    if nodes:
        raise ValueError(f"nodes {sorted(nodes)} hang below no branch node")
    return RoutedTree(splits, labels, rows, predicted)
