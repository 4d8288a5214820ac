"""Subsets of rows where columns have few thresholds: trees by pairs of 0/1 columns, on bit sets."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from octcore.search.near_optimal.graph import Node
from octcore.search.near_optimal.ground import NO_TABLE, Found, Ground
from octcore.search.near_optimal.instance import Instance
from octcore.search.near_optimal.kernels import IMPOSSIBLE, LARGE, count_below, make_work, score
from octcore.search.near_optimal.lane_kernels import Splits

WORD = 32
"""Rows in a word."""


class PairGround(Ground):
    """Subsets of rows that every threshold parts as a 0/1 column does; see `Ground`.

    Attributes
    ----------
    line : ndarray of shape (32 * n_words,)
        Row of the table of every bit, which has as many bits as copies; -1 for padding.
    word_class : ndarray of shape (n_words,)
        Class of the rows of every word.
    bits : ndarray of shape (n_thresholds, n_words), uint32
        Rows on the right of the threshold.
    minority : ndarray of shape (n_words,), uint32
        Rows outvoted among identical rows.
    """

    def __init__(self, instance: Instance, guard: Callable[[int], None]) -> None:
        super().__init__(instance, guard)
        assert instance.class_weight is not None
        table, known, self.weight = self.table, instance.thresholds, instance.class_weight
        line, word_class = [], []
        for k in range(len(self.weight)):
            own = np.flatnonzero(table.y == k)
            rows = np.repeat(own, table.count[own])
            words = -(-len(rows) // WORD)
            line.append(np.pad(rows, (0, WORD * words - len(rows)), constant_values=-1))
            word_class += [k] * words
        self.line, self.word_class = np.concatenate(line), np.array(word_class, np.int64)
        self.is_row = self.line >= 0
        self.bits = self._words(table.rank[known.place] > known.rank[:, None])
        self.minority = self._words(table.outvoted)
        self.work = make_work(self.bits, len(self.weight))

    def _words(self, mask: np.ndarray) -> np.ndarray:
        """Pack marks on the rows of the table, shape ``(..., n_rows)``, into words."""
        marks = mask.take(self.line, axis=-1) & self.is_row
        return np.packbits(marks, axis=-1, bitorder="little").view(np.uint32)

    def _score(self, rows: bytes, depth: int, limit: int, keep: bool) -> tuple[int, int, int]:
        """Run the kernel; return active columns, errors of a leaf and the least cost."""
        self.look_at_clock()
        i, subset = self.instance, self._words(self.mask(rows))
        return score(
            self.bits, self.word_class, self.weight, self.minority, i.least, subset, self.work,
            i.unit, i.price, depth, limit, keep,
        )  # fmt: skip

    def _bound_sides(self, rows: bytes, splits: Splits) -> None:
        """A side is a leaf, a stump, or has three leaves and errs on the outvoted rows."""
        i, work = self.instance, self.work
        n_active, _, _ = self._score(rows, 2, LARGE, True)
        errors = ((1, work.leaf), (2, work.stump), (3, work.outvoted))
        costs = [i.scaled(part[:, :n_active], leaves) for leaves, part in errors]
        place = np.searchsorted(work.active[:n_active], splits.number)
        splits.cost[:] = np.minimum.reduce(costs)[:, place]

    def _table(self) -> np.ndarray:
        return NO_TABLE

    def _least_at_bottom(self, rows: bytes, depth: int, cutoff: int) -> int:
        best = self._score(rows, depth, cutoff, False)[2]
        return best if best <= cutoff else cutoff + 1

    def _count(
        self, node: Node, share: np.ndarray, gain: bool, grid: np.ndarray, table: np.ndarray
    ) -> Found:
        i, n, n_variants = self.instance, len(self.values), share.shape[1]
        if self.work.options.shape != (2, n, n_variants):
            self.work = self.work._replace(
                options=np.zeros((2, n, n_variants)), seen=np.zeros((2, n), np.int64)
            )
        n_active, leaf, _ = self._score(node.rows, node.depth, node.budget, True)
        active, spans = self.work.active[:n_active], [(0, n_active)]
        tops, by_column = np.arange(n_active), len(grid) > 1
        if node.is_root or by_column:
            tops = np.flatnonzero(i.roots[active]) if node.is_root else tops
            spans = [(k, k + 1) for k in tops.tolist()]
        for first, last in spans:
            target = grid[i.thresholds.place[active[first]] if by_column else 0]
            count_below(
                self.work, n_active, leaf, i.unit, i.price, node.depth, node.budget, self.values,
                self.number, share, gain, first, last, target,
            )  # fmt: skip
        own_leaf = i.unit * int(leaf) + i.price if leaf < IMPOSSIBLE else LARGE
        return self._keep(node, own_leaf, active[tops], self.work.cost[tops], grid)
