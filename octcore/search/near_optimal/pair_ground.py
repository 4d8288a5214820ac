"""Subsets of rows where columns have few thresholds: trees by pairs of 0/1 columns, on bit sets.

The least cost of a subset and depth is found by depth-first search (bounds: a subtree is a leaf, a
stump or has three leaves and misclassifies the outvoted rows).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

import numpy as np

from octcore import kernels
from octcore.search.near_optimal.graph import BOTTOM, BYTES_PER_SUBSET, Edge, Node
from octcore.search.near_optimal.ground import Ground, lanes_of
from octcore.search.near_optimal.instance import Instance
from octcore.search.near_optimal.kernels import (
    LARGE,
    Work,
    count_below,
    least_cost,
    make_work,
    score,
)
from octcore.search.univariate.lane_rows import Rows

WORD = 32
"""Rows in a word."""
EVERY_COLUMN = np.zeros(0, np.int32)


class _Split(NamedTuple):
    """A column that parts a subset: lower bounds of both sides, and scaled outvoted weight."""

    column: int
    low_left: int
    low_right: int
    outvoted: tuple[int, int]


class _Shallow(NamedTuple):
    """What is known of a subset at depth two.

    `cost` is exact up to `limit`, beyond it a bound; the columns of `good` are complete for trees
    that cost `limit` at most, and `most` is the largest cost that is ever asked for.
    """

    cost: int
    good: bytes
    limit: int
    most: int

    def answers(self, cutoff: int) -> bool:
        """Whether a question with this cutoff needs no other look at the rows."""
        return self.cost > cutoff or min(cutoff, self.most) <= self.limit


class PairGround(Ground):
    """Subsets of rows that every threshold parts as a 0/1 column does; see `Ground`.

    They are bit sets, sorted by class so that a word has rows of one class.

    Parameters
    ----------
    instance : Instance
    guard : callable
        ``guard(done)`` is called often and raises when the search must stop.
    margin : int or None
        Largest scaled distance of a subtree from the best one on its rows; None if not known.

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

    def __init__(
        self, instance: Instance, guard: Callable[[int], None], margin: int | None = None
    ) -> None:
        super().__init__(instance, guard)
        assert instance.class_weight is not None
        table, known = self.table, instance.thresholds
        self.margin, self.weight = margin, instance.class_weight
        line, word_class = [], []
        for k in range(len(self.weight)):
            own = np.flatnonzero(table.y == k)
            rows = np.repeat(own, table.count[own])
            words = -(-len(rows) // WORD)
            line.append(np.pad(rows, (0, WORD * words - len(rows)), constant_values=-1))
            word_class += [k] * words
        self.line, self.word_class = np.concatenate(line), np.array(word_class, np.int64)
        self.bits = self._words(table.rank[known.place] > known.rank[:, None])
        self.minority = self._words(table.outvoted)
        self.work: Work = make_work(self.bits, len(self.weight))
        self._costs = np.zeros(len(self.bits), np.int64)
        self._shallow: dict[bytes, _Shallow] = {}
        self._deep: dict[tuple[bytes, int], tuple[int, bool]] = {}

    def _words(self, mask: np.ndarray) -> np.ndarray:
        """Pack marks on the rows of the table, shape ``(..., n_rows)``, into words."""
        marks = mask.take(self.line, axis=-1) & (self.line >= 0)
        return np.packbits(marks, axis=-1, bitorder="little").view(np.uint32)

    @cached_property
    def rows(self) -> Rows:
        """The table as kernels see it that are waited for only here: counts do without them."""
        kernels.require(lanes_of(self.table))
        return super().rows

    @property
    def all_rows(self) -> bytes:
        """The subset of all rows."""
        return self._words(np.ones(self.n_rows, bool)).tobytes()

    def mask(self, rows: bytes) -> np.ndarray:
        """Which rows of the table a subset has."""
        bits = np.unpackbits(np.frombuffer(rows, np.uint8), bitorder="little")
        inside = np.zeros(self.n_rows + 1, bool)
        inside[self.line] = bits  # that of the padding is the last one
        return inside[:-1]

    def weights(self, rows: bytes) -> tuple[np.ndarray, int]:
        """Weight by class, and the number of rows."""
        bits = np.bitwise_count(_subset(rows))
        counts = np.bincount(self.word_class, bits, len(self.weight)).astype(np.int64)
        return counts * self.weight, int(counts.sum())

    def sides(self, rows: bytes, threshold: int) -> tuple[bytes, bytes]:
        """Rows on both sides of a threshold."""
        left, right = self._parts(_subset(rows), threshold)
        return left.tobytes(), right.tobytes()

    def _parts(self, subset: np.ndarray, column: int) -> tuple[np.ndarray, np.ndarray]:
        bits = self.bits[column]
        return subset & ~bits, subset & bits

    def edges(self, rows: bytes, depth: int, budget: int, is_root: bool) -> list[Edge]:
        """Splits, with subtrees of depth two or more on both sides, within a budget, in order."""
        subset, found = _subset(rows), []
        splits, _ = self._splits(subset, budget, self.instance.roots if is_root else None)
        for split in sorted(splits):
            left_cost, right_cost = self._costs_of(subset, depth - 1, split, budget)
            if left_cost + right_cost <= budget:
                left, right = self._parts(subset, split.column)
                found.append(
                    Edge(split.column, 1, left.tobytes(), right.tobytes(), left_cost, right_cost)
                )
        return found

    def hint(self, rows: bytes) -> np.ndarray | None:
        """What may be at the top of a near-optimal subtree of depth two; None if not known."""
        known = self._shallow.get(rows)
        return np.frombuffer(known.good, np.int32).copy() if known and known.good else None

    def count(self, node: Node, share: np.ndarray, gain: bool, grid: np.ndarray) -> None:
        """Add the trees with a split at the top; see `Ground`."""
        wanted = EVERY_COLUMN if node.hint is None else node.hint
        n_active, leaf = self._scan(_subset(node.rows), node.depth, True, wanted)
        i, n, n_variants = self.instance, len(self.values), share.shape[1]
        active, spans, by_column = self.work.active[:n_active], [(0, n_active)], len(grid) > 1
        if node.is_root or by_column:
            tops = np.flatnonzero(i.roots[active]) if node.is_root else np.arange(n_active)
            spans = [(k, k + 1) for k in tops.tolist()]
        work = self.work._replace(
            options=np.zeros((2, n, n_variants)), seen=np.zeros((2, n), np.int64)
        )
        for first, last in spans:
            target = grid[i.thresholds.place[active[first]] if by_column else 0]
            count_below(
                work, n_active, leaf, i.unit, i.price, node.depth, node.budget, self.values,
                self.number, share, gain, first, last, target,
            )  # fmt: skip

    def _scan(
        self,
        subset: np.ndarray,
        depth: int,
        keep: bool = False,
        wanted: np.ndarray = EVERY_COLUMN,
    ) -> tuple[int, int]:
        """Run the kernel; return the number of active columns and the errors of a leaf."""
        self.look_at_clock()
        n_active, leaf = score(
            self.bits, self.word_class, self.weight, self.minority, self.instance.least, subset,
            self.work, depth, keep, wanted,
        )  # fmt: skip
        return int(n_active), int(leaf)

    def _splits(
        self, subset: np.ndarray, limit: int, roots: np.ndarray | None = None
    ) -> tuple[list[_Split], int]:
        """Splits with subtrees of depth two or more, most promising first, bounded by a limit.

        And the least lower bound of those left out.
        """
        i, work = self.instance, self.work
        n_active, _ = self._scan(subset, BOTTOM)
        active = work.active[:n_active]
        chosen = np.arange(n_active) if roots is None else np.flatnonzero(roots[active])
        part = np.index_exp[:, chosen]
        smaller = np.minimum(i.scaled(work.leaf[part], 1), i.scaled(work.stump[part], 2))
        outvoted = i.scaled(work.outvoted[part], 0)
        low = np.minimum(smaller, outvoted + 3 * i.price)
        total = low.sum(axis=0)
        order = np.argsort(total, kind="stable")
        left_out = int(total[total > limit].min(initial=LARGE))
        order = order[total[order] <= limit]
        columns = active[chosen]
        parts = (columns[order], *low[:, order], outvoted[:, order].T)
        return [
            _Split(c, a, b, (o, p))
            for c, a, b, (o, p) in zip(*(part.tolist() for part in parts), strict=True)
        ], left_out

    def _shallow_cost(self, subset: np.ndarray, depth: int, cutoff: int = LARGE) -> int:
        """Least cost at depth one or two, or a lower bound above the cutoff."""
        key = subset.tobytes()
        known = self._shallow.get(key)
        if known is not None and known.answers(cutoff):
            return known.cost
        self.look_at_clock()
        i, costs, margin = self.instance, self._costs, self.margin or 0
        # Budgets come later and lie about a margin beyond the cutoffs of the search before.
        n_active, best, limit = least_cost(
            self.bits, self.word_class, self.weight, self.minority, i.least, subset, self.work,
            i.unit, i.price, depth, min(LARGE, cutoff + margin), margin, costs,
        )  # fmt: skip
        good = b""
        if self.margin is not None and best <= limit:
            good = self.work.active[:n_active][costs[:n_active] <= best + margin].tobytes()
        cost = int(best) if best <= limit else limit + 1
        self._shallow[key] = _Shallow(cost, good, limit, cost + margin)
        if known is None:
            self.hold(len(key) + len(good) + BYTES_PER_SUBSET // 2)
        return cost

    def _least_of(
        self, subset: np.ndarray, depth: int, cutoff: int, roots: np.ndarray | None = None
    ) -> int:
        """Least cost of a tree up to a depth of two or more, or a lower bound above the cutoff.

        With columns that the root must be one of, it is not remembered.
        """
        if depth <= BOTTOM and roots is None:
            return self._shallow_cost(subset, depth, cutoff)
        key = (subset.tobytes(), depth)
        value, is_exact = self._deep.get(key, (0, False))
        if roots is None and (is_exact or value > cutoff):
            return value
        best = LARGE if roots is not None else self._least_of(subset, depth - 1, cutoff)
        splits, lower = self._splits(subset, min(best - 1, cutoff), roots)
        lower = min(lower, best)
        for split in splits:
            limit = min(best - 1, cutoff)
            if split.low_left + split.low_right > limit:
                lower = min(lower, split.low_left + split.low_right)
                break
            left, right = self._costs_of(subset, depth - 1, split, limit)
            lower = min(lower, left + right)
            if left + right <= limit:
                best = left + right
        is_exact = best <= cutoff
        value = best if is_exact else max(lower, cutoff + 1)
        if roots is None:
            self._deep[key] = (value, is_exact)
            self.hold(len(key[0]) + BYTES_PER_SUBSET // 2)
        return value

    def _costs_of(
        self, subset: np.ndarray, depth: int, split: _Split, limit: int
    ) -> tuple[int, int]:
        """Least costs of both sides, of trees of a depth of two or more.

        They are exact when their sum is within the limit, else lower bounds with a sum above it.
        """
        left, right = self._parts(subset, split.column)
        low = [split.low_left, split.low_right]
        parts = (left, right)
        # A subtree of full depth d has d + 1 leaves at least and errs on the outvoted rows.
        for below in range(BOTTOM, depth):
            for s in (0, 1):
                shallower = self._least_of(parts[s], below, limit - low[1 - s])
                deeper = split.outvoted[s] + (below + 2) * self.instance.price
                low[s] = max(low[s], min(shallower, deeper))
                if sum(low) > limit:
                    return low[0], low[1]
        first = int(low[0] < low[1])
        for s in (first, 1 - first):
            low[s] = max(low[s], self._least_of(parts[s], depth, limit - low[1 - s]))
            if sum(low) > limit:
                break
        return low[0], low[1]

    def forget(self) -> None:
        """Drop what only the search needs."""
        self._shallow.clear()
        self._deep.clear()

    def least_scaled(self, roots: np.ndarray | None) -> int:
        """Least scaled cost of a tree whose root is allowed, `LARGE` if there is none."""
        instance, everything = self.instance, _subset(self.all_rows)
        if instance.depth > BOTTOM or roots is None:
            return self._least_of(everything, instance.depth, LARGE - 1, roots)
        n_active, _ = self._scan(everything, instance.depth)
        allowed = roots[self.work.active[:n_active]]
        sides = instance.scaled(self.work.leaf[:, :n_active], 1)
        if instance.depth == BOTTOM:
            sides = np.minimum(sides, instance.scaled(self.work.stump[:, :n_active], 2))
        return int(sides.sum(axis=0)[allowed].min(initial=LARGE))


def _subset(rows: bytes) -> np.ndarray:
    return np.frombuffer(rows, np.uint32)
