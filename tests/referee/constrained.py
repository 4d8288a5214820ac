"""All that trees on binary columns can do with the rows, one by one, for constraints over leaves.

Budgets of features, forbidden pairs, floors of recall and parity couple the leaves of a tree, so
the best leaf here is not the best leaf there.  The referee therefore lists every combination of
(predicted classes, tested features) that some tree attains, with the least number of leaves.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

CHUNK = 50_000
"""Outcomes whose labels are unpacked at once."""
Outcome = tuple[int, int]
"""Predicted classes (bit ``row * n_classes + class``) and tested raw features (bit per feature)."""


@dataclass(frozen=True, eq=False)
class OutcomeRules:
    """What a single split or leaf must respect.

    Parameters
    ----------
    X : numpy.ndarray
        Zeros and ones, shape ``(n_rows, n_columns)``.
    groups : numpy.ndarray
        Raw feature of every column.
    n_classes : int
        Labels a leaf may carry.
    smallest_leaf : int
        Rows of every leaf; no leaf is empty.
    allowed : numpy.ndarray
        Raw features that may be tested.
    once_per_path : bool
        Whether a raw feature may be tested once at most on a path.
    counted : int or None
        Rows that leaf sizes count, None for all; those behind them are only predicted.
    """

    X: np.ndarray
    groups: np.ndarray
    n_classes: int
    smallest_leaf: int = 1
    allowed: np.ndarray = field(default_factory=lambda: np.ones(64, bool))
    once_per_path: bool = False
    counted: int | None = None

    def outcomes(self, depth: int, root: int | None = None) -> dict[Outcome, int]:
        """Least number of leaves of every outcome of trees of a depth.

        Parameters
        ----------
        depth : int
            Most splits on a path.
        root : int or None
            Raw feature that the root must test.
        """
        memo: dict[tuple[bytes, int, int], dict[Outcome, int]] = {}
        return self._below(np.ones(len(self.X), bool), depth, 0, memo, root)

    def _below(
        self,
        rows: np.ndarray,
        depth: int,
        above: int,
        memo: dict[tuple[bytes, int, int], dict[Outcome, int]],
        root: int | None = None,
    ) -> dict[Outcome, int]:
        """Outcomes on some rows; `above` has the features tested on the path, if they matter."""
        key = (rows.tobytes(), depth, above)
        if key in memo:
            return memo[key]
        found: dict[Outcome, int] = {}
        if np.count_nonzero(rows[: self.counted]) < max(1, self.smallest_leaf):
            return found
        if root is None:
            found |= self._leaves(rows)
        for column in range(self.X.shape[1] if depth else 0):
            raw = int(self.groups[column])
            unwanted = root is not None and raw != root
            if unwanted or not self.allowed[raw] or above >> raw & 1:
                continue
            right = rows & (self.X[:, column] > 0)
            path = above | 1 << raw if self.once_per_path else 0
            second = self._below(right, depth - 1, path, memo)
            for (left_code, left_used), left_leaves in self._below(
                rows & ~right, depth - 1, path, memo
            ).items():
                for (code, used), leaves in second.items():
                    outcome = (left_code | code, left_used | used | 1 << raw)
                    count = left_leaves + leaves
                    if count < found.get(outcome, 1 << 30):
                        found[outcome] = count
        memo[key] = found
        return found

    def _leaves(self, rows: np.ndarray) -> dict[Outcome, int]:
        members = np.flatnonzero(rows).tolist()
        return {
            (sum(1 << row * self.n_classes + label for row in members), 0): 1
            for label in range(self.n_classes)
        }


def best_outcome(
    outcomes: dict[Outcome, int],
    costs: np.ndarray,
    value: Callable[[np.ndarray, np.ndarray], np.ndarray],
    admits: Callable[[np.ndarray, frozenset[int], int], bool],
) -> float | None:
    """Largest value over the admitted outcomes; None if there is none.

    Parameters
    ----------
    outcomes : dict
        From `OutcomeRules.outcomes`; there may be millions.
    costs : numpy.ndarray
        Cost of every label for every row, shape ``(n_rows, n_classes)``.
    value : callable
        ``(costs, leaves) -> values`` of outcomes by their cost and number of leaves.
    admits : callable
        ``(predicted, raw features, leaves) -> bool``.
    """
    best, width, listed = None, -(-costs.size // 8), list(outcomes.items())
    for start in range(0, len(listed), CHUNK):
        part = listed[start : start + CHUNK]
        codes = b"".join(code.to_bytes(width, "little") for (code, _), _ in part)
        packed = np.frombuffer(codes, np.uint8).reshape(len(part), width)
        labels = np.unpackbits(packed, axis=1, count=costs.size, bitorder="little")
        values = value(labels @ costs.ravel(), np.array([leaves for _, leaves in part]))
        for i in np.argsort(-values).tolist():
            if best is not None and values[i] <= best:
                break
            (code, used), leaves = part[i]
            features = frozenset(j for j in range(used.bit_length()) if used >> j & 1)
            if admits(decoded(code, *costs.shape), features, leaves):
                best = float(values[i])
    return best


def decoded(code: int, n_rows: int, n_classes: int) -> np.ndarray:
    """Class of every row of an outcome."""
    mask = (1 << n_classes) - 1
    return np.array([(code >> row * n_classes & mask).bit_length() - 1 for row in range(n_rows)])
