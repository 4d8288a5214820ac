"""Subsets of rows: what parts them, their least costs, and their trees of depth two or less.

Everything is found along sorted columns (`lane_kernels`).  Where columns have few thresholds,
`pair_ground` finds least costs and counts trees by pairs of 0/1 columns instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from octcore.search.near_optimal.graph import BOTTOM, BYTES_PER_SUBSET, Edge, Held, Node, Stumps
from octcore.search.near_optimal.instance import Instance, error_numbers
from octcore.search.near_optimal.lane_kernels import (
    ADD,
    FAR,
    LEAST,
    SHARES,
    TALLY,
    Scratch,
    Splits,
    Terms,
    choose,
    keep_bounds,
    least_of_columns,
    let_go,
    list_below,
    list_splits,
    make_scratch,
    sweep,
    walk_packs,
    walk_shapes,
)
from octcore.search.univariate.lane_rows import Rows, restrict
from octcore.search.univariate.lane_search import integer_width, kernel_rows
from octcore.search.univariate.table import Table

PIECE = 20_000_000
"""Steps of a kernel between two looks at the clock, about."""
SHORT = 8
"""Runs of so many open splits are not halved further, but solved one by one."""
LANES = {width: f"octcore.search.near_optimal.warm_up:lanes-{width}" for width in (2, 4, 8)}
"""Sets of compiled kernels by bytes of the integers; sums beyond four are rare."""
NO_GRID = np.zeros((1, 1, 1, 1))
NO_SHARES = np.zeros((1, 1))
NO_TABLE = np.zeros((2, 1, 1), np.int64)


def lanes_of(table: Table) -> str:
    """The set of kernels for a table."""
    return LANES[integer_width(table)]


class _Found(NamedTuple):
    """Trees of a subset of depth two within a budget: the grid, what was open, the least cost."""

    budget: int
    least: int
    hint: np.ndarray
    cells: tuple[np.ndarray, ...]


class Ground(Held):
    """Subsets of the rows of a table, each as the packed bits of its rows.

    Parameters
    ----------
    instance : Instance
    guard : callable
        ``guard(done)`` is called often and raises when the search must stop.

    Attributes
    ----------
    values, number : ndarray
        Errors by number, and number by errors; see `error_numbers`.
    """

    def __init__(self, instance: Instance, guard: Callable[[int], None]) -> None:
        super().__init__(guard)
        self.instance, self.table = instance, instance.table
        self.n_rows, self.n_columns = len(instance.table.y), instance.table.n_columns
        usable = np.zeros(self.n_columns, np.uint8)
        usable[instance.thresholds.place[instance.roots]] = 1
        self.usable_roots, self.usable = usable, np.ones(self.n_columns, np.uint8)
        self.every = np.ones((instance.n_thresholds, 1))
        self.set_budget(0)
        self._found: dict[bytes, _Found] = {}
        self._least: dict[tuple[bytes, int], tuple[int, int]] = {}

    @cached_property
    def rows(self) -> Rows:
        """The table as kernels see it."""
        return kernel_rows(self.table)

    def set_budget(self, budget: int) -> None:
        """Take over the largest scaled cost of a tree."""
        self.values, self.number = error_numbers(self.instance, budget)

    @property
    def all_rows(self) -> bytes:
        """The subset of all rows."""
        return _pack(np.ones(self.n_rows, bool))

    def mask(self, rows: bytes) -> np.ndarray:
        """Which rows of the table a subset has."""
        return np.unpackbits(np.frombuffer(rows, np.uint8), count=self.n_rows).view(bool)

    def weights(self, rows: bytes) -> tuple[np.ndarray, int]:
        """Weight by class, and the number of rows."""
        t, inside = self.table, self.mask(rows)
        weight = np.bincount(t.y[inside], t.weight[inside], t.n_classes)
        return weight.astype(np.int64), int(t.count[inside].sum())

    def sides(self, rows: bytes, threshold: int) -> tuple[bytes, bytes]:
        """Rows on both sides of a threshold."""
        known = self.instance.thresholds
        return self._sides(self.mask(rows), known.place[threshold], known.rank[threshold])

    def _sides(self, inside: np.ndarray, column: int, rank: int) -> tuple[bytes, bytes]:
        left = self.table.rank[column] <= rank
        return _pack(inside & left), _pack(inside & ~left)

    @cached_property
    def lines(self) -> np.ndarray:
        """A row of the table with its values for every training row."""
        t, X = self.table, np.asarray(self.instance.question.X)
        ranks = [np.searchsorted(v, X[:, j]) for v, j in zip(t.values, t.original, strict=True)]
        rows = np.concatenate([t.rank.T, np.array(ranks, np.int32).reshape(-1, len(X)).T])
        group = np.unique(rows, axis=0, return_inverse=True)[1].ravel()
        line = np.zeros(int(group.max()) + 1, np.int64)
        line[group[: self.n_rows]] = np.arange(self.n_rows)
        return line[group[self.n_rows :]]

    def edges(self, rows: bytes, depth: int, budget: int, is_root: bool) -> list[Edge]:
        """Splits, with subtrees of depth two or more on both sides, within a budget, in order.

        Long runs of splits that may be within the budget are halved, those in between bounded by
        the sweeps; what stays open is solved one after the other.
        """
        inside, own = self.mask(rows), self._rows(rows)
        terms = self._terms(depth, self.every)
        splits, _, _ = list_splits(
            own, terms, self.usable_roots if is_root else self.usable, 1, NO_TABLE
        )
        self._close(inside, depth, splits, budget, FAR, SHORT)
        found, cost = [], splits.cost
        # What bounds the sides of one split's children bounds those of the next one's, which have
        # more rows on the left; on the right they have fewer, each worth its weight at most.
        shape = (2, self.n_columns, self.instance.thresholds.number.shape[1])
        for h in range(self.n_columns):
            a, z, before = int(splits.first[h]), int(splits.first[h + 1]), -1
            tables = [NO_TABLE, NO_TABLE]
            for j in range(a, z):
                if cost[0, j] + cost[1, j] > budget:
                    continue
                low = int(splits.low[j])
                if before < 0:
                    tables = [
                        np.zeros(shape, np.int64) if s or terms.smallest == 1 else NO_TABLE
                        for s in range(2)
                    ]
                else:
                    let_go(tables[1], own, h, before, low, terms.unit)
                sides, before = self._sides(inside, h, low), low
                for s in (0, 1):
                    room = budget - int(cost[1 - s, j])
                    least = self._least_within(sides[s], depth - 1, room, tables[s])
                    cost[s, j] = max(cost[s, j], least)
                    if cost[s, j] > room:
                        break
                sweep(splits, terms.unit, terms.smallest, a, z)
                if cost[0, j] + cost[1, j] <= budget:
                    first, many = int(splits.number[j]), int(splits.many[j])
                    found.append(Edge(first, many, *sides, int(cost[0, j]), int(cost[1, j])))
                else:
                    for side in sides:
                        self._found.pop(side, None)
        return found

    def _least_within(self, rows: bytes, depth: int, room: int, table: np.ndarray) -> int:
        """Least cost of a subset, exact if it is at most the room; depth two is counted at once.

        The table has bounds of the splits' sides, and takes better ones.
        """
        if depth > BOTTOM:
            return self.least(rows, depth, room)
        known = self._found.get(rows)
        if known is None or (room > known.budget and known.least <= room):
            node = Node(rows, depth, room, False, None)
            known = self._count(node, self.every, False, self._grid(), table)
            if known.least <= room:
                self._found[rows] = known
        return known.least

    def least(self, rows: bytes, depth: int, cutoff: int) -> int:
        """Least cost of a tree up to a depth, or a lower bound above the cutoff.

        Parameters
        ----------
        rows : bytes
        depth : int
            Two or more.
        cutoff : int
            Costs above it need not be exact.
        """
        value, exact_to = self._least.get((rows, depth), (0, -1))
        if value > cutoff or value <= exact_to:
            return value
        own, inside = self._rows(rows), self.mask(rows)
        terms = self._terms(depth, self.every)
        splits, leaf, stump = list_splits(own, terms, self.usable, 1, NO_TABLE)
        best = terms.unit * leaf + terms.price if leaf >= 0 else FAR
        if depth <= BOTTOM:
            best = min(best, terms.unit * stump + 2 * terms.price if stump < FAR else FAR)
            scratch = make_scratch(own, splits, terms, best)
            self._walk(own, splits, terms, cutoff, scratch, LEAST, NO_GRID, NO_SHARES)
            best = int(scratch.state[0])
            lower = int(splits.cost.sum(axis=0).min(initial=best))
        else:
            best = min(best, self.least(rows, depth - 1, cutoff))
            lower = best = self._close(inside, depth, splits, cutoff, best, 0)
        value = best if best <= cutoff else max(cutoff + 1, lower)
        self._least[rows, depth] = (value, cutoff)
        self.hold(len(rows) + BYTES_PER_SUBSET)
        return value

    def _close(
        self, inside: np.ndarray, depth: int, splits: Splits, cutoff: int, best: int, short: int
    ) -> int:
        """Solve splits by halving until no run longer than `short` is open; returns the least cost.

        With `short` 0 only splits better than the best one stay open, else all within the cutoff.
        A least cost above the cutoff is a lower bound.
        """
        bounds = np.empty(self.n_columns, np.int64)
        least_of_columns(splits, bounds)
        unit, smallest, cost, lowest = self.instance.unit, self.instance.least, splits.cost, FAR
        while self.n_columns:
            limit = cutoff if short else min(cutoff, best - 1)
            h = int(bounds.argmin())
            if bounds[h] > limit:
                return best if best <= cutoff else min(best, int(bounds.min()), lowest)
            j, half = choose(splits, h, limit, short)
            if j < 0:
                if j == -1:
                    lowest, bounds[h] = min(lowest, int(bounds[h])), FAR
                continue
            sides = self._sides(inside, h, int(splits.low[j]))
            half = unit * half // 2
            larger = int(2 * splits.passed[j] < self._weight(inside))
            for s in (larger, 1 - larger):
                room = limit - int(cost[1 - s, j])
                if cost[s, j] > room + half:
                    break
                cost[s, j] = max(cost[s, j], self.least(sides[s], depth - 1, room + half))
            splits.open[j] = 0
            both = int(cost[0, j] + cost[1, j])
            best = min(best, both) if both <= limit else best
            a, z = splits.first[h], splits.first[h + 1]
            sweep(splits, unit, smallest, a, z)
            bounds[h] = cost[:, a:z].sum(axis=0).min()
        return best

    def _weight(self, inside: np.ndarray) -> int:
        return int(self.table.weight[inside].sum())

    def hint(self, rows: bytes) -> np.ndarray | None:
        """First thresholds of what may be at the top of a bottom node; None if not known."""
        known = self._found.get(rows)
        return None if known is None else known.hint

    def count(self, node: Node, share: np.ndarray, gain: bool, grid: np.ndarray) -> None:
        """Add the trees with a split at the top to ``grid[0, leaves - 1, errors, variant]``.

        Parameters
        ----------
        node : Node
            Of depth two or less.
        share : ndarray of shape (n_thresholds, n_variants), float64
            1 where a variant may use a threshold; what variant 0 may not use, none may.
        gain : bool
            Whether every split has to lower the errors.
        grid : ndarray of shape (places, leaves, n_errors, n_variants)
            With more than one place, trees are told apart by the column of the table at their root.
        """
        known = self._found.get(node.rows)
        if known is not None and not gain and share.shape[1] == 1 and share.all():
            leaves, errors, counts = known.cells
            cost = self.instance.unit * self.values[errors] + self.instance.price * (leaves + 1)
            inside = cost <= node.budget
            grid[0, leaves[inside], errors[inside], 0] += counts[inside]
            return
        self._count(node, share, gain, grid, NO_TABLE)

    def _grid(self) -> np.ndarray:
        return np.zeros((1, self.instance.most_leaves(BOTTOM), len(self.values), 1))

    def _count(
        self, node: Node, share: np.ndarray, gain: bool, grid: np.ndarray, table: np.ndarray
    ) -> _Found:
        own, terms = self._rows(node.rows), self._terms(node.depth, share, gain)
        splits, leaf = self._open(node, own, terms, table)
        scratch = make_scratch(own, splits, terms, FAR)
        self._walk(own, splits, terms, node.budget, scratch, ADD, grid, NO_SHARES)
        if table is not NO_TABLE:
            keep_bounds(splits, table)
        total = splits.cost.sum(axis=0)
        own_leaf = terms.unit * leaf + terms.price if leaf >= 0 else FAR
        cells = np.nonzero(grid[0, :, :, 0])
        return _Found(
            node.budget,
            min(own_leaf, int(total.min(initial=FAR))),
            splits.number[total <= node.budget],
            (*cells, grid[0, :, :, 0][cells]),
        )

    def _open(
        self, node: Node, own: Rows, terms: Terms, table: np.ndarray = NO_TABLE
    ) -> tuple[Splits, int]:
        """The splits of a bottom node that may be within its budget, open, and errors of a leaf."""
        usable = self.usable_roots if node.is_root else self.usable
        splits, leaf, _ = list_splits(own, terms, usable, int(node.hint is None), table)
        if node.hint is not None:
            splits.open[np.isin(splits.number, node.hint)] = 1
        return splits, leaf

    def _walk(
        self,
        own: Rows,
        splits: Splits,
        terms: Terms,
        budget: int,
        scratch: Scratch,
        asked: int,
        grid: np.ndarray,
        shares: np.ndarray,
    ) -> None:
        """Solve packs until none is open."""
        n_packs, goes_on = self._n_packs(own, scratch), True
        while goes_on:
            self.look_at_clock()
            goes_on = walk_packs(own, splits, terms, budget, scratch, asked, n_packs, grid, shares)
            if goes_on:
                self.guard(self.scored)

    def _n_packs(self, own: Rows, scratch: Scratch) -> int:
        """Packs between two looks at the clock."""
        return 1 + PIECE // (len(scratch.pick) * max(1, own.rank.size))

    def add_shares(
        self, node: Node, share: np.ndarray, gain: bool, weights: np.ndarray, shares: np.ndarray
    ) -> None:
        """Add to ``shares[row, class]`` what the trees with a split at the top predict.

        Parameters
        ----------
        weights : ndarray of shape (leaves, n_errors)
            How often every tree of a cell counts.
        """
        own, terms = self._rows(node.rows), self._terms(node.depth, share, gain)
        splits, _ = self._open(node, own, terms)
        scratch = make_scratch(own, splits, terms, FAR)
        inside = np.flatnonzero(self.mask(node.rows))
        part = np.zeros((len(inside), shares.shape[1]))
        grid = np.ascontiguousarray(weights)[None, :, :, None]
        self._walk(own, splits, terms, node.budget, scratch, SHARES, grid, part)
        shares[inside] += part

    def shapes(self, node: Node, gain: bool) -> tuple[np.ndarray, np.ndarray]:
        """Trees with a split at the top by shape and errors: keys (see `walk_shapes`), counts."""
        own, terms = self._rows(node.rows), self._terms(node.depth, self.every, gain)
        splits, _ = self._open(node, own, terms)
        scratch = make_scratch(own, splits, terms, FAR)
        keys, counts, goes_on = [], [], True
        while goes_on:
            n_packs = self._n_packs(own, scratch)
            goes_on, tally = walk_shapes(own, splits, terms, node.budget, scratch, n_packs)
            self.guard(self.scored)
            keys.append(tally.key[tally.key >= 0])
            counts.append(tally.amount[tally.key >= 0])
        found, which = np.unique(np.concatenate(keys), return_inverse=True)
        return found, np.bincount(which.ravel(), np.concatenate(counts), len(found))

    def _rows(self, rows: bytes) -> Rows:
        inside = self.mask(rows)
        if inside.all():
            return self.rows
        return Rows(*restrict(self.rows, inside.view(np.uint8), int(inside.sum())))

    def _terms(self, depth: int, share: np.ndarray, gain: bool = False) -> Terms:
        i = self.instance
        return Terms(
            i.question.n_classes, depth, i.least, i.unit, i.price, gain, i.thresholds.number,
            self.values, self.number, share,
        )  # fmt: skip

    def forget(self) -> None:
        """Drop what only the search needs."""
        self._found.clear()
        self._least.clear()


class Tops:
    """The splits at the top of a bottom node, in order.

    Attributes
    ----------
    first, many : ndarray of shape (n,)
        Thresholds, as those of an `Edge`.
    leaf : ndarray of shape (2, n)
        Errors of a leaf on both sides.
    low : ndarray of shape (n,)
        Least scaled cost of a tree.
    """

    def __init__(self, ground: Ground, node: Node) -> None:
        self.ground, self.node = ground, node
        self.own, self.terms = ground._rows(node.rows), ground._terms(node.depth, ground.every)
        splits, _ = ground._open(node, self.own, self.terms)
        scratch, was_open = make_scratch(self.own, splits, self.terms, FAR), splits.open.copy()
        ground._walk(
            self.own, splits, self.terms, node.budget, scratch, ADD, ground._grid(), NO_SHARES
        )
        total = splits.cost.sum(axis=0)
        self.inside = np.flatnonzero((was_open > 0) & (total <= node.budget))
        self.splits, self.low = splits, total[self.inside]
        self.first, self.many = splits.number[self.inside], splits.many[self.inside]
        self.leaf = splits.leaf[:, self.inside]

    @property
    def nbytes(self) -> int:
        """Size of what is held."""
        return sum(part.nbytes for part in (*self.own, *self.splits))

    def stumps(self, top: int, columns: Sequence[int] | None = None) -> tuple[Stumps, Stumps]:
        """Splits on both sides of a top that trees within the budget have; of some columns."""
        own, splits, terms, j = self.own, self.splits, self.terms, int(self.inside[top])
        if columns is not None:
            chosen = np.unique(np.array(columns, np.int64))
            rank = own.rank[np.append(chosen, splits.column[j])]
            own = own._replace(sequence=own.sequence[chosen], rank=rank)
            splits = splits._replace(column=np.full(len(splits.column), len(chosen)))
            terms = terms._replace(numbers=terms.numbers[chosen])
        found = list_below(own, splits, j, terms, self.node.budget)
        left = int(np.searchsorted(found[:, 0], 1))
        return (
            Stumps(found[:left, 1], found[:left, 2], found[:left, 3]),
            Stumps(found[left:, 1], found[left:, 2], found[left:, 3]),
        )

    def tally(self, cell: tuple[int, int], share: np.ndarray, gain: bool) -> np.ndarray:
        """Trees with some errors and leaves by top and variant, shape ``(n, n_variants)``."""
        ground, node = self.ground, self.node
        terms = ground._terms(node.depth, share, gain)
        splits, _ = ground._open(node, self.own, terms)
        scratch = make_scratch(self.own, splits, terms, FAR)
        scratch.state[3:] = cell[1] - 1, ground.number[cell[0]]
        counts, n_variants = np.zeros((len(splits.column), share.shape[1])), share.shape[1]
        grid = np.zeros((1, ground.instance.most_leaves(BOTTOM), len(ground.values), n_variants))
        ground._walk(self.own, splits, terms, node.budget, scratch, TALLY, grid, counts)
        return counts[self.inside]


def _pack(mask: np.ndarray) -> bytes:
    return np.packbits(mask).tobytes()
