"""Trees out of a counted graph: in canonical order, or drawn uniformly.

A *demand* is a set of cells a subtree may have.  A node is only entered for cells that exist, so
that no walk ends without a tree.  With required features a cell also says which of them the subtree
tests; such counts follow from those of the variants by inclusion and exclusion.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

import numpy as np

from octcore.search.near_optimal.counting import Counted, Counter
from octcore.search.near_optimal.graph import BOTTOM
from octcore.search.near_optimal.instance import Instance
from octcore.search.near_optimal.kernels import IMPOSSIBLE
from octcore.search.univariate.tree import Branch, Leaf, PathTree

Cell = tuple[int, int, int]
"""Errors, leaves, and the required features tested, as bits."""
NO_SPLIT = -1
"""Column of a leaf, which comes before all others."""
KEPT_BYTES = 200_000_000
"""Largest size of the tables and lists that are kept to be used again."""


@dataclass(frozen=True, eq=False)
class Option:
    """One way to build a subtree above the bottom: the column at its top, and its two children.

    Parameters
    ----------
    column : int
        `NO_SPLIT` for a leaf.
    left, right : tuple of (int, int)
        Level and node of the children.
    pairs : list of (Cell, Cell, int)
        Cells of the children that make the cell in question, with the number of trees.
    """

    column: int
    left: tuple[int, int] = (0, 0)
    right: tuple[int, int] = (0, 0)
    pairs: list[tuple[Cell, Cell, int]] = field(default_factory=list)

    @property
    def count(self) -> int:
        """Number of trees."""
        return 1 if self.column == NO_SPLIT else sum(n for _, _, n in self.pairs)


@dataclass(frozen=True, eq=False)
class _Table:
    """A bottom node scored: errors of leaves and of stumps, with the columns they are on.

    Parameters
    ----------
    columns : numpy.ndarray
        `NO_SPLIT`, then the active columns, shape ``(n,)``.
    sides : numpy.ndarray
        Errors on a side of column i of a leaf (first) or a stump, shape ``(2, n - 1, n)``.
    """

    columns: np.ndarray
    sides: np.ndarray


class Listing:
    """Walks through the trees of a counted graph.

    Parameters
    ----------
    counter : Counter
        The graph and its instance.
    counted : Counted
        Variants by subset of the required features: variant v does without those in the bits of v.
    required : ndarray of shape (n_columns,), int64
        Bit of the required feature that a column belongs to, 0 for none.
    """

    def __init__(self, counter: Counter, counted: Counted, required: np.ndarray) -> None:
        self.counter = counter
        self.instance = counter.instance
        self.levels = counter.levels
        self.counted = counted
        self.required = required
        self.usable = counted.allow[:, 0]
        self._cells: dict[tuple[int, int], dict[Cell, int]] = {}
        self._tables: dict[tuple[int, int], _Table] = {}
        self._triples: dict[tuple[int, int, Cell], np.ndarray] = {}
        self._options: dict[tuple[int, int, Cell], list[Option]] = {}
        self._kept_bytes = 0

    def cells(self, level: int, node: int) -> dict[Cell, int]:
        """Number of trees of a node by cell; level 0 is the root."""
        key = (level, node)
        known = self._cells.get(key)
        if known is None:
            cells = self.counted.cells[level - 1]
            part = cells.of(node)
            known = {}
            for e, size, vector in zip(
                cells.errors[part], cells.leaves[part], cells.counts[part], strict=True
            ):
                for mask, n in enumerate(used_exactly([int(c) for c in vector])):
                    if n:
                        known[int(self.counted.values[e]), int(size), mask] = n
            self._cells[key] = known
        return known

    def root_cells(self) -> dict[Cell, int]:
        """Number of trees of the whole set by cell."""
        total: dict[Cell, int] = {}
        for by_cell in self.counted.roots.values():
            for (errors, size), vector in by_cell.items():
                for mask, n in enumerate(used_exactly(vector)):
                    if n:
                        total[errors, size, mask] = total.get((errors, size, mask), 0) + n
        return total

    def trees(self, cell: Cell, level: int = 0, node: int = 0) -> Iterator[PathTree]:
        """Trees of a node with a cell: a leaf first, then by column, left and right subtree."""
        for tree, _ in self._walk(level, node, {cell: None}):
            yield tree

    def _walk(
        self, level: int, node: int, wanted: dict[Cell, None]
    ) -> Iterator[tuple[PathTree, Cell]]:
        if self.levels[level].depth <= BOTTOM:
            yield from self._walk_bottom(level, node, wanted)
            return
        options: dict[int, list[tuple[Cell, Option]]] = {}
        for cell in wanted:
            for option in self.options(level, node, cell):
                options.setdefault(option.column, []).append((cell, option))
        for column in sorted(options):
            ways = options[column]
            if column == NO_SPLIT:
                yield self._leaf(self.levels[level].subsets[node]), ways[0][0]
                continue
            yield from self._branches(column, ways)

    def _branches(
        self, column: int, ways: list[tuple[Cell, Option]]
    ) -> Iterator[tuple[PathTree, Cell]]:
        first = ways[0][1]
        partners: dict[Cell, dict[Cell, Cell]] = {}
        for cell, option in ways:
            for left, right, _ in option.pairs:
                partners.setdefault(left, {})[right] = cell
        for left, left_cell in self._walk(*first.left, dict.fromkeys(partners)):
            rights = partners[left_cell]
            for right, right_cell in self._walk(*first.right, dict.fromkeys(rights)):
                yield Branch(self._original(column), left, right), rights[right_cell]

    def draw(self, cell: Cell, source: Random) -> PathTree:
        """Draw one of the trees with a cell, all equally likely."""
        return self._draw(0, 0, cell, source)

    def _draw(self, level: int, node: int, cell: Cell, source: Random) -> PathTree:
        subset = self.levels[level].subsets[node]
        if self.levels[level].depth <= BOTTOM:
            triples = self.triples(level, node, cell)
            return self._shallow_tree(subset, triples[source.randrange(len(triples))])
        options = self.options(level, node, cell)
        option = pick(options, [o.count for o in options], source)
        if option.column == NO_SPLIT:
            return self._leaf(subset)
        left, right, _ = pick(option.pairs, [n for _, _, n in option.pairs], source)
        return Branch(
            self._original(option.column),
            self._draw(option.left[0], option.left[1], left, source),
            self._draw(option.right[0], option.right[1], right, source),
        )

    def options(self, level: int, node: int, cell: Cell) -> list[Option]:
        """Ways to build a subtree of a node with a cell; none if there is no such tree."""
        key = (level, node, cell)
        known = self._options.get(key)
        if known is None:
            known = list(self._find_options(level, node, cell))
            self._options[key] = known
        return known

    def _find_options(self, level: int, node: int, cell: Cell) -> Iterator[Option]:
        errors, size, mask = cell
        here = self.levels[level]
        if size == 1:
            if mask == 0 and int(here.leaf_errors[node]) == errors and self._leaf_stands(level):
                yield Option(NO_SPLIT)
            return
        below, i = self.counted.cells[level], self.instance
        cost = i.unit * errors + i.price * size
        for column, left, right in here.edges_of(node):
            a, b = below.of(left), below.of(right)
            if not self.usable[column] or a.start == a.stop or b.start == b.stop:
                continue
            if below.costs[a.start] + below.costs[b.start] <= cost:
                yield from self._edge_options(
                    int(column), (level + 1, int(left)), (level + 1, int(right)), cell
                )

    def _leaf_stands(self, level: int) -> bool:
        return level > 0 or self.instance.leaf_allowed

    def _edge_options(
        self, column: int, left: tuple[int, int], right: tuple[int, int], cell: Cell
    ) -> Iterator[Option]:
        errors, size, mask = cell
        own = int(self.required[column])
        if own & ~mask:
            return
        partners = self.cells(*right)
        pairs = []
        for (e, leaves, used), n in self.cells(*left).items():
            if e > errors or leaves >= size or used & ~mask:
                continue
            for other in _completing(mask, own | used):
                partner = (errors - e, size - leaves, other)
                ways = partners.get(partner)
                if ways:
                    pairs.append(((e, leaves, used), partner, n * ways))
        if pairs:
            yield Option(column, left, right, sorted(pairs))

    def _original(self, column: int) -> int:
        return int(self.instance.columns.kept[column])

    def _walk_bottom(
        self, level: int, node: int, wanted: dict[Cell, None]
    ) -> Iterator[tuple[PathTree, Cell]]:
        subset, cells = self.levels[level].subsets[node], list(wanted)
        lists = [self.triples(level, node, cell) for cell in cells]
        triples = np.concatenate(lists)
        which = np.repeat(np.arange(len(cells)), [len(part) for part in lists])
        for k in np.lexsort(triples.T[::-1]) if len(cells) > 1 else range(len(triples)):
            yield self._shallow_tree(subset, triples[k]), cells[which[k]]

    def triples(self, level: int, node: int, cell: Cell) -> np.ndarray:
        """Trees of a bottom node with a cell: columns at the top, left and right, in order.

        Returns
        -------
        ndarray of shape (n_trees, 3)
            `NO_SPLIT` for a leaf.
        """
        key = (level, node, cell)
        known = self._triples.get(key)
        if known is None:
            known = self._find_triples(level, node, cell)
            self._keep(known.nbytes)
            self._triples[key] = known
        return known

    def _find_triples(self, level: int, node: int, cell: Cell) -> np.ndarray:
        errors, size, mask = cell
        here = self.levels[level]
        if size == 1:
            stands = int(here.leaf_errors[node]) == errors and mask == 0
            n = int(stands and self._leaf_stands(level))
            return np.full((n, 3), NO_SPLIT, np.int32)
        table = self._table(level, node)
        positions = _positions(table.sides, errors, size)
        found = table.columns[positions]
        bits = np.append(self.required, 0)  # NO_SPLIT is the last entry
        keep = np.append(self.usable, True)[found].all(axis=1)
        keep &= np.bitwise_or.reduce(bits[found], axis=1) == mask
        if level == 0:
            keep &= self.instance.roots[found[:, 0]]
        return found[keep]

    def _table(self, level: int, node: int) -> _Table:
        known = self._tables.get((level, node))
        if known is None:
            costs, here = self.counter.costs, self.levels[level]
            n, _ = costs.scan(here.subsets[node], here.depth, keep=True)
            work = costs.work
            sides = np.full((2, n, n + 1), IMPOSSIBLE, np.int32)
            sides[:, :, 0] = work.leaf[:, :n]
            if here.depth >= BOTTOM:
                sides[:, :, 1:] = work.table[:, :n, :n]
            columns = np.concatenate([[NO_SPLIT], work.active[:n]]).astype(np.int32)
            known = _Table(columns, sides)
            self._keep(sides.nbytes)
            self._tables[level, node] = known
        return known

    def _keep(self, size: int) -> None:
        """Forget what was kept when it becomes too much."""
        self._kept_bytes += size
        if self._kept_bytes > KEPT_BYTES:
            self._kept_bytes = size
            self._tables.clear()
            self._triples.clear()

    def _shallow_tree(self, subset: np.ndarray, triple: np.ndarray) -> PathTree:
        top, left, right = (int(column) for column in triple)
        if top == NO_SPLIT:
            return self._leaf(subset)
        sides = self.counter.costs.sides(subset, top)
        below = [
            self._leaf(rows) if column == NO_SPLIT else self._stump(rows, column)
            for rows, column in zip(sides, (left, right), strict=True)
        ]
        return Branch(self._original(top), below[0], below[1])

    def _stump(self, subset: np.ndarray, column: int) -> Branch:
        left, right = self.counter.costs.sides(subset, column)
        return Branch(self._original(column), self._leaf(left), self._leaf(right))

    def _leaf(self, subset: np.ndarray) -> Leaf:
        """Leaf of the heaviest class, the first of equal ones."""
        return Leaf(heaviest_class(self.instance, subset))


def heaviest_class(instance: Instance, subset: np.ndarray) -> int:
    """Class of a leaf on a subset; the first of equally heavy ones."""
    rows = np.bincount(
        instance.word_class, np.bitwise_count(subset), minlength=len(instance.weight)
    )
    return int(np.argmax(rows.astype(np.int64) * instance.weight))


def used_exactly(avoiding: list[int]) -> list[int]:
    """Numbers of trees by the set of required features that they test.

    Parameters
    ----------
    avoiding : list of int
        Entry v: trees that do without the features in the bits of v.
    """
    everything = len(avoiding) - 1
    exactly = [0] * len(avoiding)
    for mask in range(len(avoiding)):
        for part in _parts(mask):
            sign = -1 if part.bit_count() % 2 else 1
            exactly[mask] += sign * avoiding[(everything & ~mask) | part]
    return exactly


def _parts(mask: int) -> Iterator[int]:
    """Every subset of the bits of a mask."""
    part = mask
    while True:
        yield part
        if part == 0:
            return
        part = (part - 1) & mask


def _completing(mask: int, have: int) -> Iterator[int]:
    """Sets of features that make a mask together with those there are."""
    for part in _parts(have):
        yield (mask & ~have) | part


def pick(options: list, counts: list[int], source: Random):
    """Draw an option in proportion to its count."""
    rest = source.randrange(sum(counts))
    for option, count in zip(options, counts, strict=True):
        if rest < count:
            return option
        rest -= count
    raise AssertionError("counts do not sum up")


def _positions(sides: np.ndarray, errors: int, size: int) -> np.ndarray:
    """Top column and option on either side of the trees with so many errors and leaves.

    Parameters
    ----------
    sides : ndarray of shape (2, n, n + 1)
        Errors of the options on both sides of a column; option 0 is the leaf.
    errors, size : int
        Two to four leaves.

    Returns
    -------
    ndarray of shape (n_trees, 3)
        Positions in the table's columns, in order.
    """
    left, right = sides
    if size == 2:
        top = np.flatnonzero(left[:, 0] + right[:, 0] == errors)
        return np.column_stack([top + 1, np.zeros((len(top), 2), np.int64)])
    found = []
    if size == 3:
        top, option = np.nonzero(left[:, :1] + right[:, 1:] == errors)
        found.append(np.column_stack([top + 1, np.zeros_like(top), option + 1]))
        top, option = np.nonzero(left[:, 1:] + right[:, :1] == errors)
        found.append(np.column_stack([top + 1, option + 1, np.zeros_like(top)]))
    else:
        found.append(np.zeros((0, 3), np.int64))
        least_right = right[:, 1:].min(axis=1, initial=IMPOSSIBLE)
        least_left = left[:, 1:].min(axis=1, initial=IMPOSSIBLE)
        for top in np.flatnonzero(least_left + least_right <= errors):
            a = np.flatnonzero(left[top, 1:] + least_right[top] <= errors) + 1
            b = np.flatnonzero(right[top, 1:] + least_left[top] <= errors) + 1
            i, j = np.nonzero(left[top, a][:, None] + right[top, b] == errors)
            found.append(np.column_stack([np.full(len(i), top + 1), a[i], b[j]]))
    positions = np.concatenate(found)
    return positions[np.lexsort(positions.T[::-1])]
