"""Equivalent-point sets: rows that agree outside a split set of features and differ in class.

References
----------
Keegan, Forbes, "Accelerated BendOCT": equivalent-point sets (13).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_matrix

from octcore.separation.tree_rows import Instance

MOST_SETS = 30_000
"""More sets than this cost more than they gain; smaller split sets come first."""
BLOCK_ROWS = 512
"""Rows compared with all others at once, so that memory stays flat."""


@dataclass(frozen=True, eq=False)
class EquivalentSets:
    """Equivalent-point sets with at least two classes."""

    split_sets: tuple[tuple[int, ...], ...]
    """Split set of every equivalent-point set."""
    members: np.ndarray
    """Hits, set by set and class by class within a set."""
    group_start: np.ndarray
    """Where the members of every (set, class) begin."""
    set_of_group: np.ndarray

    def __len__(self) -> int:
        """Number of sets."""
        return len(self.split_sets)

    def groups(self, j: int) -> list[np.ndarray]:
        """Hits of every class of a set."""
        chosen = np.flatnonzero(self.set_of_group == j)
        ends = np.append(self.group_start[1:], len(self.members))
        return [self.members[self.group_start[g] : ends[g]] for g in chosen]

    def incidence(self, X: np.ndarray) -> tuple[csr_matrix, csr_matrix, csr_matrix]:
        """Features of the split sets: all, those where the set is 0, those where it is 1.

        `X`: a row of every set, shape ``(n_sets, n_features)``, which is that of the three as well.
        """
        rows = np.repeat(np.arange(len(self)), [len(s) for s in self.split_sets])
        features = np.array([f for s in self.split_sets for f in s], np.int64)
        value = X[rows, features].astype(float) if len(rows) else np.zeros(0)

        def member(data: np.ndarray) -> csr_matrix:
            return csr_matrix((data, (rows, features)), shape=(len(self), X.shape[1]))

        return member(np.ones(len(rows))), member(1.0 - value), member(value)


def find_sets(instance: Instance, split_size: int) -> EquivalentSets:
    """Find maximal equivalent-point sets, split sets of one feature first.

    A split set is considered if some pair of hits of different classes differs exactly there; all
    hits that agree outside it are then one set.  Hits without weight are left out.

    `split_size`: largest number of features in a split set.
    """
    hits = np.flatnonzero(instance.weight > 0)
    X, y = instance.is_one[hits], instance.target[hits]
    generator = np.random.default_rng(1)
    keys = generator.integers(1, 2**63, X.shape[1], dtype=np.uint64)
    whole = (X * keys).sum(axis=1, dtype=np.uint64)
    split_sets: list[tuple[int, ...]] = []
    parts: list[list[np.ndarray]] = []
    for split_set in _differences(X, y, split_size):
        # Rows that agree outside the split set, of several classes, every feature of it varying.
        outside = whole - (X[:, split_set] * keys[list(split_set)]).sum(axis=1, dtype=np.uint64)
        order = np.argsort(outside, kind="stable")
        start = np.flatnonzero(np.append(True, np.diff(outside[order]) != 0))
        varies = np.ones(len(start), bool)
        for column in (y, *X.T[list(split_set)]):
            values = column[order]
            varies &= np.maximum.reduceat(values, start) != np.minimum.reduceat(values, start)
        end = np.append(start[1:], len(order))
        for g in np.flatnonzero(varies):
            group = order[start[g] : end[g]]
            split_sets.append(split_set)
            parts.append([hits[group[y[group] == k]] for k in np.unique(y[group])])
        if len(parts) >= MOST_SETS:
            break
    groups = [group for part in parts for group in part]
    sizes = np.array([len(group) for group in groups], np.int64)
    return EquivalentSets(
        tuple(split_sets),
        np.concatenate(groups) if groups else np.zeros(0, np.int64),
        np.cumsum(sizes) - sizes,
        np.repeat(np.arange(len(parts)), [len(part) for part in parts]),
    )


def _differences(X: np.ndarray, y: np.ndarray, split_size: int) -> list[tuple[int, ...]]:
    """Sets of at most `split_size` features in which two rows of different classes differ."""
    found: set[tuple[int, ...]] = set()
    values = X.astype(np.float32)
    ones = values.sum(axis=1)
    for start in range(0, len(X), BLOCK_ROWS):
        block = slice(start, min(start + BLOCK_ROWS, len(X)))
        distance = ones[block, None] + ones[None, :] - 2 * (values[block] @ values.T)
        near = (distance > 0.5) & (distance < split_size + 0.5)
        near &= y[block, None] != y[None, :]
        near &= np.arange(len(X))[None, :] > np.arange(block.start, block.stop)[:, None]
        i, j = np.nonzero(near)
        for size in range(1, split_size + 1):
            chosen = np.abs(distance[i, j] - size) < 0.5
            if chosen.any():
                differs = X[block][i[chosen]] ^ X[j[chosen]]
                sets = np.nonzero(differs)[1].reshape(-1, size)
                found.update(map(tuple, np.unique(sets, axis=0).tolist()))
    return sorted(found, key=lambda s: (len(s), s))


def conflict_groups(instance: Instance) -> list[np.ndarray]:
    """Hits with weight of every pattern that has several classes: the sets for S = {}."""
    used = np.flatnonzero(instance.weight > 0)
    order = used[np.argsort(instance.pattern[used], kind="stable")]
    starts = np.flatnonzero(np.diff(instance.pattern[order])) + 1
    return [hits for hits in np.split(order, starts) if len(hits) > 1]
