"""Trees out of a counted graph: in canonical order, or drawn uniformly.

A *demand* is a set of cells a subtree may have.  A node is only entered for cells that exist, so
that no walk ends without a tree.  With required features a cell also says which of them the subtree
tests; such counts follow from those of the variants by inclusion and exclusion.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

import numpy as np

from octcore.search.near_optimal.counting import Counted, Counter
from octcore.search.near_optimal.graph import BOTTOM, Stumps
from octcore.search.near_optimal.ground import Tops
from octcore.search.univariate.tree import Branch, Leaf, PathTree

Cell = tuple[int, int, int]
"""Errors, leaves, and the required features tested, as bits."""
NO_SPLIT = -1
"""Number of a leaf, which comes before all thresholds."""
PER_LEAF = 1 << 40
"""Larger than all errors, so that leaves and errors are added up in one number."""
KEPT_BYTES = 200_000_000
"""Largest size of the tables and lists that are kept to be used again."""


@dataclass(frozen=True, eq=False)
class Option:
    """One way to build a subtree above the bottom: thresholds at its top, and its two children.

    Parameters
    ----------
    first, many : int
        First threshold, `NO_SPLIT` for a leaf, and number of thresholds.
    left, right : tuple of (int, int)
        Level and node of the children.
    pairs : list of (Cell, Cell, int)
        Cells of the children that make the cell in question, with the number of trees.
    """

    first: int
    many: int = 1
    left: tuple[int, int] = (0, 0)
    right: tuple[int, int] = (0, 0)
    pairs: list[tuple[Cell, Cell, int]] = field(default_factory=list)

    @property
    def count(self) -> int:
        """Number of trees."""
        return 1 if self.first == NO_SPLIT else self.many * sum(n for _, _, n in self.pairs)


class _Side(NamedTuple):
    """What may stand on one side of the top of a bottom node: a leaf, then stumps.

    `size` is ``PER_LEAF * leaves + errors``; `first` and `many` are thresholds; `used` are the
    required features that it tests, as bits.
    """

    size: np.ndarray
    first: np.ndarray
    many: np.ndarray
    used: np.ndarray


class _Pairs(NamedTuple):
    """Sides that make a cell together; their thresholds, and the number of trees of every pair."""

    left: tuple[np.ndarray, np.ndarray]
    right: tuple[np.ndarray, np.ndarray]
    trees: np.ndarray


class Listing:
    """Walks through the trees of a counted graph.

    Parameters
    ----------
    counter : Counter
        The graph and its instance.
    counted : Counted
        Variants by subset of the required features: variant v does without those in the bits of v.
    required : ndarray of shape (n_thresholds,), int64
        Bit of the required feature that a threshold belongs to, 0 for none.
    """

    def __init__(self, counter: Counter, counted: Counted, required: np.ndarray) -> None:
        self.counter = counter
        self.ground, self.instance = counter.ground, counter.instance
        self.levels = counter.levels
        self.counted = counted
        self.required = required
        self.usable = counted.allow[:, 0]
        self._share = np.ascontiguousarray(counted.allow, float)
        self._cells: dict[tuple[int, int], dict[Cell, int]] = {}
        self._tops: dict[tuple[int, int], Tops] = {}
        self._sides: dict[tuple[int, int, int], tuple[_Side, _Side]] = {}
        self._kept_pairs: dict[tuple[int, int, int, Cell], _Pairs] = {}
        self._tallies: dict[tuple[int, int, Cell], tuple[list[int], list[int]]] = {}
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
                options.setdefault(option.first, []).append((cell, option))
        for first in sorted(options):
            ways = options[first]
            if first == NO_SPLIT:
                yield self.leaf(self.levels[level].nodes[node].rows), ways[0][0]
                continue
            for threshold in range(first, first + ways[0][1].many):
                yield from self._branches(threshold, ways)

    def _branches(
        self, threshold: int, ways: list[tuple[Cell, Option]]
    ) -> Iterator[tuple[PathTree, Cell]]:
        first = ways[0][1]
        partners: dict[Cell, dict[Cell, Cell]] = {}
        for cell, option in ways:
            for left, right, _ in option.pairs:
                partners.setdefault(left, {})[right] = cell
        for left, left_cell in self._walk(*first.left, dict.fromkeys(partners)):
            rights = partners[left_cell]
            for right, right_cell in self._walk(*first.right, dict.fromkeys(rights)):
                yield Branch(threshold, left, right), rights[right_cell]

    def draw(self, cell: Cell, source: Random) -> PathTree:
        """Draw one of the trees with a cell, all equally likely."""
        return self._draw(0, 0, cell, source)

    def _draw(self, level: int, node: int, cell: Cell, source: Random) -> PathTree:
        if self.levels[level].depth <= BOTTOM:
            return self._draw_bottom(level, node, cell, source)
        options = self.options(level, node, cell)
        option = pick(options, [o.count for o in options], source)
        if option.first == NO_SPLIT:
            return self.leaf(self.levels[level].nodes[node].rows)
        left, right, _ = pick(option.pairs, [n for _, _, n in option.pairs], source)
        return Branch(
            option.first + source.randrange(option.many),
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
        errors, size, _ = cell
        here = self.levels[level]
        if size == 1:
            if self._is_leaf(level, node, cell):
                yield Option(NO_SPLIT)
            return
        below, i = self.counted.cells[level], self.instance
        cost = i.unit * errors + i.price * size
        if self.counted.gain and size == 2 and errors >= here.leaf_errors[node]:
            return
        for first, many, left, right in here.edges_of(node).tolist():
            a, b = below.of(left), below.of(right)
            if not self.usable[first] or a.start == a.stop or b.start == b.stop:
                continue
            if below.costs[a.start] + below.costs[b.start] <= cost:
                pairs = self._edge_pairs(first, (level + 1, left), (level + 1, right), cell)
                if pairs:
                    yield Option(first, many, (level + 1, left), (level + 1, right), sorted(pairs))

    def _is_leaf(self, level: int, node: int, cell: Cell) -> bool:
        """Whether a single leaf is what a cell of one leaf stands for."""
        stands = level > 0 or self.instance.leaf_allowed
        return stands and cell == (int(self.levels[level].leaf_errors[node]), 1, 0)

    def _edge_pairs(
        self, first: int, left: tuple[int, int], right: tuple[int, int], cell: Cell
    ) -> list[tuple[Cell, Cell, int]]:
        errors, size, mask = cell
        own = int(self.required[first])
        if own & ~mask:
            return []
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
        return pairs

    def _walk_bottom(
        self, level: int, node: int, wanted: dict[Cell, None]
    ) -> Iterator[tuple[PathTree, Cell]]:
        rows, cells = self.levels[level].nodes[node].rows, list(wanted)
        for cell in cells:
            if cell[1] == 1 and self._is_leaf(level, node, cell):
                yield self.leaf(rows), cell
        most = max(self._cost(cell) for cell in cells)
        tops = self.tops_of(level, node)
        for top in np.flatnonzero(tops.low <= most).tolist():
            found = [self._pairs(level, node, top, cell) for cell in cells]
            triples = np.concatenate([_expanded(pairs, k) for k, pairs in enumerate(found)])
            triples = triples[np.lexsort(triples.T[::-1])]
            first = int(tops.first[top])
            for threshold in range(first, first + int(tops.many[top])) if len(triples) else ():
                for left, right, k in triples.tolist():
                    yield self.shallow_tree(rows, threshold, left, right), cells[k]

    def _draw_bottom(self, level: int, node: int, cell: Cell, source: Random) -> PathTree:
        rows = self.levels[level].nodes[node].rows
        if cell[1] == 1:
            return self.leaf(rows)
        top = pick(*self._tally(level, node, cell), source)
        tops, pairs = self.tops_of(level, node), self._pairs(level, node, top, cell)
        totals = np.cumsum(pairs.trees)
        k = int(np.searchsorted(totals, source.randrange(int(totals[-1])), side="right"))
        left, right = (int(first[k]) + source.randrange(int(many[k])) for first, many in pairs[:2])
        threshold = int(tops.first[top]) + source.randrange(int(tops.many[top]))
        return self.shallow_tree(rows, threshold, left, right)

    def _tally(self, level: int, node: int, cell: Cell) -> tuple[list[int], list[int]]:
        """Tops of a bottom node with trees of a cell, and how many trees."""
        key = (level, node, cell)
        known = self._tallies.get(key)
        if known is None:
            counts = self.tops_of(level, node).tally(cell[:2], self._share, self.counted.gain)
            exactly = [used_exactly([int(n) for n in vector])[cell[2]] for vector in counts]
            inside = [top for top, n in enumerate(exactly) if n]
            known = inside, [exactly[top] for top in inside]
            self._tallies[key] = known
        return known

    def _cost(self, cell: Cell) -> int:
        return self.instance.unit * cell[0] + self.instance.price * cell[1]

    def tops_of(self, level: int, node: int) -> Tops:
        """The splits at the top of a bottom node."""
        known = self._tops.get((level, node))
        if known is None:
            known = Tops(self.ground, self.levels[level].nodes[node])
            self._keep(2 * known.cost.nbytes)
            self._tops[level, node] = known
        return known

    def _pairs(self, level: int, node: int, top: int, cell: Cell) -> _Pairs:
        """What stands on the sides of a top in the trees of a cell."""
        key = (level, node, top, cell)
        known = self._kept_pairs.get(key)
        if known is None:
            known = self._find_pairs(level, node, top, cell)
            self._keep(5 * known.trees.nbytes)
            self._kept_pairs[key] = known
        return known

    def _find_pairs(self, level: int, node: int, top: int, cell: Cell) -> _Pairs:
        errors, size, mask = cell
        tops = self.tops_of(level, node)
        own, first = int(self.required[tops.first[top]]), int(tops.first[top])
        gains = errors < self.levels[level].leaf_errors[node] or not self.counted.gain or size > 2
        if own & ~mask or not self.usable[first] or not gains:
            return NO_PAIRS
        left, right = self._sides_of(level, node, top)
        order = np.argsort(right.size, kind="stable")
        rest = PER_LEAF * size + errors - left.size
        low, high = (np.searchsorted(right.size[order], rest, side) for side in ("left", "right"))
        a = np.repeat(np.arange(len(rest)), high - low)
        b = order[np.arange(len(a)) - np.repeat(np.cumsum(high - low) - high, high - low)]
        fits = own | left.used[a] | right.used[b] == mask
        a, b = a[fits], b[fits]
        count = left.many[a] * right.many[b]
        return _Pairs((left.first[a], left.many[a]), (right.first[b], right.many[b]), count)

    def _sides_of(self, level: int, node: int, top: int) -> tuple[_Side, _Side]:
        key = (level, node, top)
        known = self._sides.get(key)
        if known is None:
            tops = self.tops_of(level, node)
            left, right = tops.stumps(top)
            leaf = tops.leaf[:, top].tolist()
            known = self._side(left, leaf[0]), self._side(right, leaf[1])
            self._keep(sum(column.nbytes for side in known for column in side))
            self._sides[key] = known
        return known

    def _side(self, stumps: Stumps, leaf: int) -> _Side:
        """A leaf, and the stumps that may stand."""
        keep = self.usable[stumps.first]
        if self.counted.gain:
            keep = keep & (stumps.errors < leaf)
        errors, first, many = (column[keep] for column in stumps)
        return _Side(
            np.concatenate([[PER_LEAF + leaf], 2 * PER_LEAF + errors]),
            np.concatenate([[NO_SPLIT], first]),
            np.concatenate([[1], many]),
            np.concatenate([[0], self.required[first]]),
        )

    def _keep(self, size: int) -> None:
        """Forget what was kept when it becomes too much."""
        self._kept_bytes += size
        if self._kept_bytes > KEPT_BYTES:
            self._kept_bytes = size
            self._tops.clear()
            self._sides.clear()
            self._kept_pairs.clear()

    def shallow_tree(self, rows: bytes, top: int, left: int, right: int) -> PathTree:
        """Tree of a threshold and those on its sides, `NO_SPLIT` for a leaf."""
        below = [
            self.leaf(side) if threshold == NO_SPLIT else self._stump(side, threshold)
            for side, threshold in zip(self.ground.sides(rows, top), (left, right), strict=True)
        ]
        return Branch(top, below[0], below[1])

    def _stump(self, rows: bytes, threshold: int) -> Branch:
        left, right = self.ground.sides(rows, threshold)
        return Branch(threshold, self.leaf(left), self.leaf(right))

    def leaf(self, rows: bytes) -> Leaf:
        """Leaf of the heaviest class, the first of equal ones."""
        return Leaf(int(self.ground.weights(rows)[0].argmax()))


_NOTHING = np.zeros(0, np.int64)
NO_PAIRS = _Pairs((_NOTHING, _NOTHING), (_NOTHING, _NOTHING), _NOTHING)


def _expanded(pairs: _Pairs, k: int) -> np.ndarray:
    """Thresholds left and right of every tree of some pairs, and k, shape ``(n_trees, 3)``."""
    which = np.repeat(np.arange(len(pairs.trees)), pairs.trees)
    within = np.arange(len(which)) - np.repeat(np.cumsum(pairs.trees) - pairs.trees, pairs.trees)
    (left, _), (right, n_right) = pairs.left, pairs.right
    return np.column_stack(
        [left[which] + within // n_right[which], right[which] + within % n_right[which],
         np.full(len(which), k)]
    )  # fmt: skip


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
