"""Subsets of rows that are parted by 0/1 columns: least costs, and trees by pairs of columns.

The least cost of a subset and depth is found by depth-first search (bounds: a subtree is a leaf, a
stump or has three leaves and misclassifies the outvoted rows).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from octcore.search.near_optimal.graph import BOTTOM, BYTES_PER_SUBSET, Edge, Held, Node, Stumps
from octcore.search.near_optimal.instance import Instance, error_numbers
from octcore.search.near_optimal.kernels import (
    IMPOSSIBLE,
    LARGE,
    Work,
    count_below,
    least_cost,
    make_work,
    predict_below,
    score,
)
from octcore.search.univariate.table import equal_groups

WORD = 32
"""Rows in a word."""
EVERY_COLUMN = np.zeros(0, np.int32)


class PairRows(NamedTuple):
    """Rows on 0/1 columns, one for every threshold, as bits.

    Parameters
    ----------
    bits : ndarray of shape (n_thresholds, n_words), uint32
        Rows on the right of the threshold.
    order : ndarray of shape (32 * n_words,)
        Row of every bit, -1 for padding.
    word_class : ndarray of shape (n_words,)
        Class of the rows of every word.
    minority : ndarray of shape (n_words,), uint32
        Rows outvoted among identical rows.
    """

    bits: np.ndarray
    order: np.ndarray
    word_class: np.ndarray
    minority: np.ndarray


def make_pair_rows(instance: Instance) -> PairRows:
    """Pack the rows of the question, those of a class together."""
    question, thresholds = instance.question, instance.thresholds
    X, y = np.asarray(question.X), np.asarray(question.y)
    right = X[:, thresholds.column] > thresholds.value
    order, word_class = _row_order(y, question.n_classes)
    real = np.maximum(order, 0)
    assert instance.class_weight is not None
    outvoted = _outvoted(right, y, instance.class_weight)
    return PairRows(
        pack_bits(right[real].T & (order >= 0)),
        order,
        word_class,
        pack_bits((outvoted[real] & (order >= 0))[None, :])[0],
    )


def _outvoted(X: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Rows that are not of the heaviest class among the rows equal to them."""
    group = equal_groups(X)
    tally = np.zeros((int(group.max()) + 1, len(weight)), np.int64)
    np.add.at(tally, (group, y), weight[y])
    return tally.argmax(axis=1)[group] != y


def _row_order(y: np.ndarray, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Row of every bit, each class padded to whole words; class of every word."""
    order, word_class = [], []
    for k in range(n_classes):
        rows = np.flatnonzero(y == k)
        words = -(-len(rows) // WORD)
        order.append(np.pad(rows, (0, WORD * words - len(rows)), constant_values=-1))
        word_class += [k] * words
    return np.concatenate(order).astype(np.int64), np.array(word_class, np.int64)


def pack_bits(mask: np.ndarray) -> np.ndarray:
    """Pack a boolean array of shape ``(n, 32 * n_words)`` into words ``(n, n_words)``."""
    packed = np.packbits(mask, axis=1, bitorder="little")
    return np.ascontiguousarray(packed).view(np.uint32)


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


class PairGround(Held):
    """Subsets of rows as bit sets; see `Ground`.

    Parameters
    ----------
    instance : Instance
    guard : callable
        ``guard(done)`` is called often and raises when the search must stop.
    margin : int or None
        Largest scaled distance of a subtree from the best one on its rows; None if not known.
    """

    def __init__(
        self, instance: Instance, guard: Callable[[int], None], margin: int | None = None
    ) -> None:
        super().__init__(guard)
        assert instance.class_weight is not None
        self.instance, self.margin = instance, margin
        self.rows, self.weight = make_pair_rows(instance), instance.class_weight
        self.work: Work = make_work(self.rows.bits, len(self.weight))
        self.set_budget(0)
        self._costs = np.zeros(len(self.rows.bits), np.int64)
        self._shallow: dict[bytes, _Shallow] = {}
        self._deep: dict[tuple[bytes, int], tuple[int, bool]] = {}

    def set_budget(self, budget: int) -> None:
        """Take over the largest scaled cost of a tree."""
        self.values, self.number = error_numbers(self.instance, budget)

    @property
    def all_rows(self) -> bytes:
        """Bit set of all rows."""
        return pack_bits((self.rows.order >= 0)[None, :])[0].tobytes()

    def weights(self, rows: bytes) -> tuple[np.ndarray, int]:
        """Weight by class, and the number of rows."""
        bits = np.bitwise_count(_subset(rows))
        counts = np.bincount(self.rows.word_class, bits, len(self.weight)).astype(np.int64)
        return counts * self.weight, int(counts.sum())

    def sides(self, rows: bytes, threshold: int) -> tuple[bytes, bytes]:
        """Rows on both sides of a threshold."""
        left, right = self._sides(_subset(rows), threshold)
        return left.tobytes(), right.tobytes()

    def _sides(self, subset: np.ndarray, column: int) -> tuple[np.ndarray, np.ndarray]:
        bits = self.rows.bits[column]
        return subset & ~bits, subset & bits

    def mask(self, rows: bytes) -> np.ndarray:
        """Which bits are set."""
        return np.unpackbits(np.frombuffer(rows, np.uint8), bitorder="little").astype(bool)

    def of_samples(self, shares: np.ndarray) -> np.ndarray:
        """Lines of shares by training row."""
        real = self.rows.order >= 0
        lines = np.empty((int(real.sum()), shares.shape[1]))
        lines[self.rows.order[real]] = shares[real]
        return lines

    @property
    def n_lines(self) -> int:
        """Lines of shares."""
        return len(self.rows.order)

    def edges(self, rows: bytes, depth: int, budget: int, is_root: bool) -> list[Edge]:
        """Splits, with subtrees of depth two or more on both sides, within a budget, in order."""
        subset, found = _subset(rows), []
        splits, _ = self.splits(subset, budget, self.instance.roots if is_root else None)
        for split in sorted(splits):
            left_cost, right_cost = self.split(subset, depth - 1, split, budget)
            if left_cost + right_cost <= budget:
                left, right = self._sides(subset, split.column)
                found.append(
                    Edge(split.column, 1, left.tobytes(), right.tobytes(), left_cost, right_cost)
                )
        return found

    def hint(self, rows: bytes) -> np.ndarray:
        """Columns that the top of a near-optimal subtree of depth two may test.

        Empty, which stands for all, if there are none or they are not known.
        """
        known = self._shallow.get(rows)
        return EVERY_COLUMN if known is None else np.frombuffer(known.good, np.int32).copy()

    def count(
        self, node: Node, share: np.ndarray, gain: bool, grid: np.ndarray, by_column: bool = False
    ) -> None:
        """Add the trees with a split at the top; see `Ground`."""
        everything = np.zeros(self.instance.n_thresholds, np.int64)
        places = self.instance.thresholds.place if by_column else everything
        self.count_tops(node, share, gain, grid, places)

    def count_tops(
        self, node: Node, share: np.ndarray, gain: bool, grid: np.ndarray, places: np.ndarray
    ) -> None:
        """Add the trees with a threshold at the top to the part of the grid at its place."""
        n_active, leaf = self._scan_node(node)
        spans = [(0, n_active)]
        if node.is_root or places.any():
            spans = [(int(i), int(i) + 1) for i in self._chosen(node, n_active)]
        i, n, n_variants = self.instance, len(self.values), share.shape[1]
        work = self.work._replace(
            options=np.zeros((2, n, n_variants)), seen=np.zeros((2, n), np.int64)
        )
        for first, last in spans:
            target = grid[places[self.work.active[first]] if first < n_active else 0]
            count_below(
                work, n_active, leaf, i.unit, i.price, node.depth, node.budget, self.values,
                self.number, share, gain, first, last, target,
            )  # fmt: skip

    def _scan_node(self, node: Node) -> tuple[int, int]:
        return self.scan(_subset(node.rows), node.depth, True, node.hint)

    def _chosen(self, node: Node, n_active: int) -> np.ndarray:
        """Active columns that may be at the top of a node."""
        if not node.is_root:
            return np.arange(n_active)
        return np.flatnonzero(self.instance.roots[self.work.active[:n_active]])

    def tops(self, node: Node) -> PairTops:
        """The splits at the top of a node."""
        return PairTops(self, node)

    def add_shares(
        self, node: Node, share: np.ndarray, gain: bool, weights: np.ndarray, shares: np.ndarray
    ) -> None:
        """Add what the trees with a split at the top predict; see `Ground`."""
        n_active, leaf = self.scan(_subset(node.rows), node.depth, True)
        i, n = self.instance, len(self.values)
        chosen = np.zeros(n_active, bool)
        chosen[self._chosen(node, n_active)] = True
        work = self.work._replace(options=np.zeros((2, n, 1)), seen=np.zeros((2, n), np.int64))
        predict_below(
            self.rows.bits, self.rows.word_class, self.weight, _subset(node.rows), work, n_active,
            leaf, i.unit, i.price, node.depth, node.budget, self.values, self.number, share, gain,
            chosen, weights, np.zeros((2, 2, n)), np.zeros(len(self.weight), np.int64), shares,
        )  # fmt: skip

    def shapes(self, node: Node, gain: bool) -> tuple[np.ndarray, np.ndarray]:
        """Trees with a split at the top by shape and errors; see `Ground`."""
        tops, i = self.tops(node), self.instance
        place, base = i.thresholds.place, i.table.n_columns + 1
        weight, _ = self.weights(node.rows)
        all_errors = int(weight.sum() - weight.max())
        keys = [np.zeros(0, np.int64)]
        for k, first in enumerate(tops.first):
            sides = []
            for s, stumps in enumerate(tops.stumps(k)):
                leaf = tops.leaf[s, k]
                keep = stumps.errors < leaf if gain else np.ones(len(stumps.errors), bool)
                columns = np.append(place[stumps.first[keep]], base - 1)
                sides.append((columns, np.append(stumps.errors[keep], leaf)))
            (left, e), (right, f) = sides
            errors = e[:, None] + f
            leaves = 2 + (left < base - 1)[:, None] + (right < base - 1)
            inside = i.unit * errors + i.price * leaves <= node.budget
            if gain:
                inside &= (leaves > 2) | (errors < all_errors)
            a, b = np.nonzero(inside)
            shape = (place[first] * base + left[a]) * base + right[b]
            keys.append(shape * len(self.values) + self.number[errors[a, b]])
        found, counts = np.unique(np.concatenate(keys), return_counts=True)
        return found, counts.astype(float)

    def scan(
        self,
        subset: np.ndarray,
        depth: int,
        keep: bool = False,
        wanted: np.ndarray = EVERY_COLUMN,
    ) -> tuple[int, int]:
        """Run the kernel; return the number of active columns and the errors of a leaf."""
        self.look_at_clock()
        r = self.rows
        n_active, leaf = score(
            r.bits, r.word_class, self.weight, r.minority, self.instance.least, subset, self.work,
            depth, keep, wanted,
        )  # fmt: skip
        return int(n_active), int(leaf)

    def splits(
        self, subset: np.ndarray, limit: int, roots: np.ndarray | None = None
    ) -> tuple[list[_Split], int]:
        """Splits of a subset with subtrees of depth two or more, most promising first.

        Parameters
        ----------
        subset : ndarray of shape (n_words,)
        limit : int
            Splits whose lower bound is larger are left out.
        roots : ndarray of bool or None
            Columns to look at.

        Returns
        -------
        tuple of (list of _Split, int)
            Splits, and the least lower bound of those left out.
        """
        i, work = self.instance, self.work
        n_active, _ = self.scan(subset, BOTTOM)
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
        splits = [
            _Split(
                int(columns[p]),
                int(low[0, p]),
                int(low[1, p]),
                (int(outvoted[0, p]), int(outvoted[1, p])),
            )
            for p in order
        ]
        return splits, left_out

    def shallow(self, subset: np.ndarray, depth: int, cutoff: int = LARGE) -> int:
        """Least cost at depth one or two, or a lower bound above the cutoff."""
        key = subset.tobytes()
        known = self._shallow.get(key)
        if known is not None and known.answers(cutoff):
            return known.cost
        self.look_at_clock()
        i, r, costs, margin = self.instance, self.rows, self._costs, self.margin or 0
        # Budgets come later and lie about a margin beyond the cutoffs of the search before.
        n_active, best, limit = least_cost(
            r.bits, r.word_class, self.weight, r.minority, i.least, subset, self.work, i.unit,
            i.price, depth, min(LARGE, cutoff + margin), margin, costs,
        )  # fmt: skip
        good = b""
        if self.margin is not None and best <= limit:
            good = self.work.active[:n_active][costs[:n_active] <= best + margin].tobytes()
        cost = int(best) if best <= limit else limit + 1
        self._shallow[key] = _Shallow(cost, good, limit, cost + margin)
        if known is None:
            self.hold(len(key) + len(good) + BYTES_PER_SUBSET // 2)
        return cost

    def least(
        self, subset: np.ndarray, depth: int, cutoff: int, roots: np.ndarray | None = None
    ) -> int:
        """Least cost of a tree up to a depth, or a lower bound above the cutoff.

        Parameters
        ----------
        subset : ndarray of shape (n_words,)
        depth : int
            Two or more.
        cutoff : int
            Costs above it need not be exact.
        roots : ndarray of bool or None
            Columns the root must be one of; such a cost is not remembered.
        """
        if depth <= BOTTOM and roots is None:
            return self.shallow(subset, depth, cutoff)
        key = (subset.tobytes(), depth)
        value, is_exact = self._deep.get(key, (0, False))
        if roots is None and (is_exact or value > cutoff):
            return value
        best = LARGE if roots is not None else self.least(subset, depth - 1, cutoff)
        splits, lower = self.splits(subset, min(best - 1, cutoff), roots)
        lower = min(lower, best)
        for split in splits:
            limit = min(best - 1, cutoff)
            if split.low_left + split.low_right > limit:
                lower = min(lower, split.low_left + split.low_right)
                break
            left, right = self.split(subset, depth - 1, split, limit)
            lower = min(lower, left + right)
            if left + right <= limit:
                best = left + right
        is_exact = best <= cutoff
        value = best if is_exact else max(lower, cutoff + 1)
        if roots is None:
            self._deep[key] = (value, is_exact)
            self.hold(len(key[0]) + BYTES_PER_SUBSET // 2)
        return value

    def split(self, subset: np.ndarray, depth: int, split: _Split, limit: int) -> tuple[int, int]:
        """Least costs of both sides of a split, at least one of them a bound above the limit.

        Parameters
        ----------
        subset : ndarray of shape (n_words,)
        depth : int
            Of the subtrees on the sides, two or more.
        split : _Split
        limit : int
            If the costs sum up to more, they are only lower bounds.

        Returns
        -------
        tuple of (int, int)
            Left and right; exact when their sum is within the limit.
        """
        left, right = self._sides(subset, split.column)
        low = [split.low_left, split.low_right]
        parts = (left, right)
        # A subtree of full depth d has d + 1 leaves at least and errs on the outvoted rows.
        for below in range(BOTTOM, depth):
            for s in (0, 1):
                shallower = self.least(parts[s], below, limit - low[1 - s])
                deeper = split.outvoted[s] + (below + 2) * self.instance.price
                low[s] = max(low[s], min(shallower, deeper))
                if sum(low) > limit:
                    return low[0], low[1]
        first = int(low[0] < low[1])
        for s in (first, 1 - first):
            low[s] = max(low[s], self.least(parts[s], depth, limit - low[1 - s]))
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
            return self.least(everything, instance.depth, LARGE - 1, roots)
        n_active, _ = self.scan(everything, instance.depth)
        allowed = roots[self.work.active[:n_active]]
        sides = instance.scaled(self.work.leaf[:, :n_active], 1)
        if instance.depth == BOTTOM:
            sides = np.minimum(sides, instance.scaled(self.work.stump[:, :n_active], 2))
        return int(sides.sum(axis=0)[allowed].min(initial=LARGE))


class PairTops:
    """The splits at the top of a bottom node, scored; see `Tops`."""

    def __init__(self, ground: PairGround, node: Node) -> None:
        self.ground, self.node = ground, node
        n, _ = ground.scan(_subset(node.rows), node.depth, True)
        i, work = ground.instance, ground.work
        top = ground._chosen(node, n)
        self.active = work.active[:n].astype(np.int64)
        self.first, self.many = self.active[top], np.ones(len(top), np.int64)
        self.leaf = work.leaf[:, top].astype(np.int64)
        self.table = np.full((2, len(top), n), IMPOSSIBLE, np.int32)
        if node.depth >= BOTTOM:
            self.table = work.table[:, top, :n].copy()
        stump = self.table.min(axis=2, initial=IMPOSSIBLE)
        self.room, self.scaled = node.budget, i.scaled
        cheapest = np.minimum(i.scaled(self.leaf, 1), i.scaled(stump, 2))
        self.low = cheapest.sum(axis=0)
        self.rest = cheapest[::-1]

    @property
    def nbytes(self) -> int:
        """Size of what is held."""
        return self.table.nbytes

    def stumps(self, top: int) -> tuple[Stumps, Stumps]:
        """Splits on both sides of a top that some tree within the budget has."""
        return self._side(0, top), self._side(1, top)

    def tally(self, cell: tuple[int, int], share: np.ndarray, gain: bool) -> np.ndarray:
        """Trees of a cell by top and variant; see `Tops`."""
        ground, (errors, leaves) = self.ground, cell
        shape = (ground.instance.most_leaves(BOTTOM), len(ground.values), share.shape[1])
        grid = np.zeros((ground.instance.n_thresholds, *shape))
        ground.count_tops(self.node, share, gain, grid, np.arange(len(grid)))
        return grid[self.first, leaves - 1, ground.number[errors]]

    def _side(self, side: int, top: int) -> Stumps:
        errors = self.table[side, top]
        chosen = np.flatnonzero(self.scaled(errors, 2) + self.rest[side, top] <= self.room)
        ones = np.ones(len(chosen), np.int64)
        return Stumps(errors[chosen].astype(np.int64), self.active[chosen], ones)


def _subset(rows: bytes) -> np.ndarray:
    return np.frombuffer(rows, np.uint32)
