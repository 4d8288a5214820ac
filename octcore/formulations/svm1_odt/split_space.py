"""Splits on hyperplanes over numeric columns, and on subsets of the values of a categorical one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from octcore.tree.tree import Split, Tree, grown


@dataclass(frozen=True, eq=False)
class SplitSpace:
    """Which columns planes may use, and which belong to categorical raw columns."""

    X: np.ndarray
    """Rows as numbers, shape ``(n_samples, n_features)``."""
    groups: tuple[tuple[int, ...], ...]
    """Indicator columns of every categorical raw column."""

    @cached_property
    def columns(self) -> list[int]:
        """Columns of planes: numeric and not constant."""
        grouped = {j for group in self.groups for j in group}
        X = self.X
        return [j for j in range(X.shape[1]) if j not in grouped and np.ptp(X[:, j]) > 0]

    def values(self, X: np.ndarray) -> np.ndarray:
        """Value of every row in every group, -1 for none; shape ``(n_rows, n_groups)``."""
        found = np.full((len(X), len(self.groups)), -1)
        for g, group in enumerate(self.groups):
            part = X[:, list(group)]
            found[:, g] = np.where(part.any(axis=1), part.argmax(axis=1), -1)
        return found

    def subset_plane(self, columns: list[int]) -> tuple[np.ndarray, float]:
        """Plane that sends the rows of some values left, all others and unseen ones right."""
        weights = np.zeros(self.X.shape[1])
        weights[columns] = -1.0
        return weights, 0.5

    def group_of(self, split: Split) -> int | None:
        """Group whose values a split tests; None for a plane."""
        for g, group in enumerate(self.groups):
            if split.weights and set(split.features) <= set(group):
                return g
        return None

    def is_subset(self, split: Split) -> bool:
        """Whether a split tests a set of values of one categorical column."""
        return (
            self.group_of(split) is not None
            and all(value == -1.0 for _, value in split.weights)
            and -1.0 <= split.threshold < 0.0
        )

    def with_subsets(self, tree: Tree) -> Tree:
        """Same tree with every test of a single indicator written as a subset, mirrored."""

        def part(node: int) -> int | tuple[Split, int, int]:
            if node in tree.labels:
                return tree.labels[node]
            split = tree.splits[node]
            if self.group_of(split) is not None and split.is_univariate:
                plane = self.subset_plane([split.features[0]])
                return Split.on_plane(*plane), 2 * node + 1, 2 * node
            return split, 2 * node, 2 * node + 1

        return Tree(*grown(1, part), tree.n_features, tree.n_classes)
