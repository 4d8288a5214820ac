"""The table of columns whose through-value reaches a threshold, with the flow rows that join them.

The through-value of a column is the best value of any tree that uses it, side constraints priced
by their multipliers.  A tree at least as good as the threshold consists of columns that reach it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from octcore.search.univariate.columns import (
    ColumnSpace,
    PairScores,
    RootScores,
    root_scores,
    whole_leaf,
)

MOST_COMPARED = 600
"""Stumps of one node that are compared pair by pair; beyond it only equal ones are merged."""
SAME = 1e-9
"""Gains are counts and weights of rows; anything below this is rounding."""


class TooManyColumnsError(Exception):
    """More columns than a model can hold; the argument is the number reached."""


class Column(NamedTuple):
    """A split, a leaf with its label, or a stump with two labels, at one place of the tree.

    `node`, `feature`: number of the place in a heap; column of the space, -1 for a leaf.
    `labels`: of the leaves below, -1 where there is none.
    `row`, `below`: flow row that it is in, and those that a split opens on both sides, else -1.
    `gains`: value, and left sides of the linear rows.
    """

    node: int
    feature: int
    labels: tuple[int, int]
    row: int
    below: tuple[int, int]
    gains: np.ndarray


@dataclass(eq=False)
class ColumnTable:
    """Columns in a growing list.

    `payoff`: payoff under the multipliers, see `ColumnSpace.payoff`.
    `threshold`: smallest through-value on the scale of `payoff`.
    `by_raw`: whether a constraint counts raw features, so that stumps on different ones differ.
    `most`: largest number of columns.
    """

    space: ColumnSpace
    payoff: np.ndarray
    threshold: float
    by_raw: bool
    most: int
    columns: list[Column] = field(default_factory=list)
    n_rows: int = 1

    def __len__(self) -> int:
        """Number of columns."""
        return len(self.columns)

    @property
    def prices_predictions(self) -> bool:
        """Whether linear rows make the label of a leaf part of the question."""
        return len(self.space.rhs) > 0

    @cached_property
    def position(self) -> dict[tuple[int, int, tuple[int, int]], int]:
        """Column by flow row, feature (-1 for a leaf) and labels, once all are there."""
        return {(c.row, c.feature, c.labels): j for j, c in enumerate(self.columns)}

    def add_root(self, scores: RootScores) -> None:
        """Add the columns of all trees of one `RootScores`."""
        if scores.root is None:
            self._add_pair(1, 0, scores.parts[0], 0.0)
            return
        if not self._reaches(scores.best):
            return
        rows = self._add_split(1, 0, scores.root)
        for s, part in enumerate(scores.parts):
            self._add_pair(2 + s, rows[s], part, scores.parts[1 - s].best)

    def add_leaf(self, node: int, row: int, counts: np.ndarray, offset: float) -> None:
        """Add a leaf with every label that matters."""
        space = self.space
        if space.smallest > 0 and space.samples(counts) < space.smallest - 0.5:
            return
        payoff = self.payoff @ counts - space.penalty
        gains = space.gains @ counts
        gains[0] -= space.penalty
        chosen = range(len(payoff)) if self.prices_predictions else [int(payoff.argmax())]
        kept = [k for k in chosen if self._reaches(payoff[k] + offset)]
        for k in _undominated(gains[:, kept].T, np.zeros(len(kept), dtype=np.int64)):
            self._add(Column(node, -1, (kept[k], -1), row, (-1, -1), gains[:, kept[k]]))

    def _reaches(self, value: float) -> bool:
        return bool(np.isfinite(value)) and value >= self.threshold

    def _add_split(self, node: int, row: int, feature: int) -> tuple[int, int]:
        below = (self.n_rows, self.n_rows + 1)
        self.n_rows += 2
        self._add(Column(node, feature, (-1, -1), row, below, np.zeros(len(self.space.gains))))
        return below

    def _add(self, column: Column) -> None:
        if len(self.columns) >= self.most:
            raise TooManyColumnsError(len(self.columns))
        self.columns.append(column)

    def _add_pair(self, node: int, row: int, part: PairScores, offset: float) -> None:
        counts = part.counts
        if self._reaches(part.leaf + offset):
            self.add_leaf(node, row, counts.total, offset)
        for g in np.flatnonzero(part.split + offset >= max(self.threshold, -1e300)):
            rows = self._add_split(node, row, int(g))
            for t in (0, 1):
                elsewhere = offset + part.side[1 - t][g]
                self.add_leaf(2 * node + t, rows[t], counts.sides[t][:, g], elsewhere)
                if part.stump is not None:
                    reach = part.stump[t, g] + elsewhere >= max(self.threshold, -1e300)
                    cells = [counts.cells[t][v][:, g, reach] for v in (0, 1)]
                    self._add_stumps(2 * node + t, rows[t], np.flatnonzero(reach), cells, elsewhere)

    def _add_stumps(
        self, node: int, row: int, features: np.ndarray, cells: list[np.ndarray], offset: float
    ) -> None:
        """Add the stumps of one node; `cells` are counts of both sides, (channel, feature)."""
        if not len(features):
            return
        space, n_classes = self.space, len(self.payoff)
        payoff = [self.payoff @ cell - space.penalty for cell in cells]
        gains = [np.tensordot(space.gains, cell, 1) for cell in cells]
        if self.prices_predictions:
            pairs = [(a, b) for a in range(n_classes) for b in range(n_classes) if a != b]
            labels = np.repeat(np.array(pairs, int).reshape(-1, 2), len(features), axis=0)
            which = np.tile(np.arange(len(features)), len(pairs))
        else:
            labels = np.stack([values.argmax(axis=0) for values in payoff], axis=1)
            which = np.arange(len(features))
        through = payoff[0][labels[:, 0], which] + payoff[1][labels[:, 1], which] + offset
        # equal labels: the leaf above predicts the same with a leaf and a feature less
        kept = np.flatnonzero((through >= self.threshold) & (labels[:, 0] != labels[:, 1]))
        if not len(kept):
            return
        which, labels = which[kept], labels[kept]
        total = gains[0][:, labels[:, 0], which] + gains[1][:, labels[:, 1], which]
        total[0] -= 2 * space.penalty
        raw = space.groups[features[which]] if self.by_raw else np.zeros(len(which), dtype=np.int64)
        for j in _undominated(total.T, raw):
            pair = (int(labels[j, 0]), int(labels[j, 1]))
            self._add(Column(node, int(features[which[j]]), pair, row, (-1, -1), total[:, j]))


def _undominated(gains: np.ndarray, kind: np.ndarray) -> np.ndarray:
    """Positions that no other position of the same kind equals or exceeds in every gain.

    `gains`: shape ``(n, 1 + n_rows)``; more is better in every entry.
    `kind`: shape ``(n,)``.
    """
    n, n_gains = gains.shape
    if n < 2:
        return np.arange(n)
    order = np.lexsort((*(-gains.T[::-1]), kind))
    gains, kind = gains[order], kind[order]
    if n_gains == 1:
        return np.sort(order[np.append(True, kind[1:] != kind[:-1])])
    equal = (np.abs(gains[1:] - gains[:-1]) <= SAME).all(axis=1) & (kind[1:] == kind[:-1])
    order, gains, kind = (a[np.append(True, ~equal)] for a in (order, gains, kind))
    if len(order) > MOST_COMPARED:
        return np.sort(order)
    better = (gains[:, None, :] >= gains[None, :, :] - SAME).all(axis=2)
    # Sorted with the larger first, so of two that tie within rounding the earlier one stays.
    better &= (kind[:, None] == kind[None, :]) & np.tri(len(order), k=-1, dtype=bool).T
    return np.sort(order[~better.any(axis=0)])


def make_table(
    space: ColumnSpace,
    multipliers: np.ndarray,
    threshold: float,
    roots: np.ndarray,
    by_raw: bool,
    most: int,
    guard: Callable[[], None],
) -> ColumnTable:
    """Collect every column that a tree of value `threshold` or more may need.

    `multipliers`: non-negative prices of the linear rows; any give a valid table, good ones a small
        one.
    `threshold`: value that some feasible tree is known to have, less a little slack; -inf if none
        is known.
    `roots`: columns that may be roots of such a tree.
    `by_raw`: see `ColumnTable`.
    `most`: largest number of columns.
    `guard`: raises when the solve must stop.
    Raises `TooManyColumnsError` if there are more than `most`.
    """
    payoff = space.payoff(multipliers)
    level = threshold + float(multipliers @ space.rhs)
    table = ColumnTable(space, payoff, level, by_raw, most)
    if space.depth == 3 and np.isfinite(whole_leaf(space, payoff)):
        table.add_leaf(1, 0, space.whole.total, 0.0)
    for scores in root_scores(space, payoff, roots):
        guard()
        table.add_root(scores)
    return table
