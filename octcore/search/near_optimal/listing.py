"""Trees out of a counted graph: in canonical order, or drawn uniformly.

A *spot* is where subtrees stand: a node of the graph, or a side of a split of depth two.  They are
told apart by *cells*: errors, leaves, and a kind, here the required features that they test, as
bits.  A walk asks for some cells and enters a spot only for those that exist, so that it never
ends without a tree.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Any, NamedTuple, TypeVar

import numpy as np

from octcore.data.distinct import grouped
from octcore.search.near_optimal.counting import Counted, TreeGraph
from octcore.search.near_optimal.ground import BOTTOM, Tops
from octcore.search.near_optimal.lane_kernels import FAR
from octcore.search.univariate.tree import Branch, Leaf, PathTree

Cell = tuple[int, int, int]  # Errors, leaves and kind
Sizes = dict[tuple[int, int], int]  # numbers of trees by errors and leaves
KEPT_BYTES = 200_000_000  # largest size of what is kept to be used again
BYTES_PER_ENTRY = 250  # a tuple of numbers and cells in a list, about
Kept = TypeVar("Kept")


class At(NamedTuple):
    """A node of the graph."""

    level: int
    node: int


@dataclass(frozen=True, eq=False)
class Side:
    """A side of a split of depth two: a leaf, or one of some stumps."""

    rows: bytes
    leaf: Cell
    stumps: list[tuple[int, int, Cell]]
    """First threshold, number of thresholds, and cell of each; thresholds ascending."""

    @cached_property
    def by_cell(self) -> dict[Cell, list[int]]:
        """Positions of the stumps of a cell."""
        return grouped((cell, k) for k, (_, _, cell) in enumerate(self.stumps))

    @cached_property
    def by_kind(self) -> dict[int, Sizes]:
        """Numbers of trees."""
        found: dict[int, Sizes] = {self.leaf[2]: {self.leaf[:2]: 1}}
        for (errors, leaves, kind), places in self.by_cell.items():
            found.setdefault(kind, {})[errors, leaves] = sum(self.stumps[k][1] for k in places)
        return found


Spot = At | Side
ROOT = At(0, 0)


class Split(NamedTuple):
    """Neighbouring thresholds at the top of subtrees, and the places on both sides."""

    first: int
    many: int
    left: Spot
    right: Spot


class Listing:
    """Walks through the trees of a counted graph.

    `counted`: variants by subset of the required features: variant v does without those in the bits
        of v.
    `kind_of`: (n_thresholds,) int64, kind of a stump by its threshold: bit of the required feature,
        0 for none.
    """

    def __init__(self, graph: TreeGraph, counted: Counted, kind_of: np.ndarray) -> None:
        self.graph, self.instance, self.ground = graph, graph.instance, graph.ground
        self.levels, self.counted, self.kind_of = graph.levels, counted, kind_of
        self.leaf_kinds = [0] * (len(self.levels) + 1)
        """Kind of a leaf by level; the last one is on a side of a split of depth two."""
        # Least cost of the trees of every node; some have none.
        self._low = [
            np.append(cells.costs, FAR)[np.where(np.diff(cells.start) > 0, cells.start[:-1], -1)]
            for cells in counted.cells
        ]
        self._by_kind: dict[At, dict[int, Sizes]] = {}
        self._kept: dict[Any, Any] = {}
        self._kept_bytes = 0

    def by_kind(self, spot: Spot) -> dict[int, Sizes]:
        """Numbers of trees at a spot."""
        if isinstance(spot, Side):
            return spot.by_kind
        known = self._by_kind.get(spot)
        if known is None:
            known = self._by_kind[spot] = {}
            cells = self.counted.cells[spot.level]
            part = cells.of(spot.node) if spot.level else slice(None)
            errors = self.ground.values[cells.errors[part]].tolist()
            columns = errors, cells.leaves[part].tolist(), cells.counts[part].tolist()
            for e, leaves, vector in zip(*columns, strict=True):
                for kind, n in enumerate(used_exactly([int(c) for c in vector])):
                    if n:
                        sizes = known.setdefault(kind, {})
                        sizes[e, leaves] = sizes.get((e, leaves), 0) + n
        return known

    def sizes(self, spot: Spot, kind: int) -> Sizes:
        """Numbers of trees of a kind at a spot."""
        return self.by_kind(spot).get(kind, {})

    def kinds(self, spot: At, split: Split, kind: int) -> Iterable[tuple[int, int]]:
        """Kinds left and right of a split that make a kind together."""
        own, others = int(self.kind_of[split.first]), self.by_kind(split.right)
        return [(a, b) for a in self.by_kind(split.left) for b in others if own | a | b == kind]

    def columns(self, spot: At, kind: int) -> tuple[int, ...] | None:
        """Columns at the top, left and right of trees of a kind; None for any."""
        return None

    def leaf(self, spot: Spot) -> Cell:
        """Cell of a leaf."""
        if isinstance(spot, Side):
            return spot.leaf
        level = self.levels[spot.level]
        return int(level.leaf_errors[spot.node]), 1, self.leaf_kinds[spot.level]

    def splits(self, spot: At, wanted: Collection[Cell]) -> Iterator[Split]:
        """Splits that may be at the top of trees of some cells, in order."""
        i, level, columns = self.instance, self.levels[spot.level], None
        most = max(i.unit * errors + i.price * leaves for errors, leaves, _ in wanted)
        for _, _, kind in wanted:
            columns = self.columns(spot, kind)
        if level.depth <= BOTTOM:
            tops = self.tops(spot)
            first, low, edges = tops.first, tops.low, None
        else:
            edges = level.edges_of(spot.node)
            first, low = edges[:, 0], self._low[spot.level + 1][edges[:, 2:]].sum(axis=1)
        # A tree costs both sides' least costs at least.
        inside = (low <= most) & self.counted.allow[first, 0]
        if columns is not None:
            inside &= self.instance.thresholds.place[first] == columns[0]
        for k in np.flatnonzero(inside).tolist():
            if edges is None:
                yield self.split(spot, k, columns and columns[1:])
            else:
                first, many, *below = edges[k].tolist()
                yield Split(first, many, *(At(spot.level + 1, node) for node in below))

    def tops(self, spot: At) -> Tops:
        """The splits at the top of a node of the lowest level."""
        node = self.levels[spot.level].nodes[spot.node]
        return self._once(spot, lambda: Tops(self.ground, node), lambda tops: len(tops.first))

    def split(self, spot: At, k: int, columns: tuple[int, ...] | None = None) -> Split:
        """A split at the top of a node of the lowest level, stumps on some columns below."""

        def make() -> Split:
            tops = self.tops(spot)
            first, many, leaf = int(tops.first[k]), int(tops.many[k]), tops.leaf[:, k].tolist()
            sides = self.ground.sides(tops.node.rows, first)
            parts = zip(sides, leaf, tops.stumps(k, sides, columns), strict=True)
            return Split(first, many, *(self._side(*part) for part in parts))

        return self._once((spot, k, columns), make, _size)

    def _side(self, rows: bytes, leaf: int, stumps: np.ndarray) -> Side:
        keep = self.counted.allow[stumps[:, 1], 0]
        if self.counted.gain:
            keep &= stumps[:, 0] < leaf
        kinds = self.kind_of[stumps[keep, 1]].tolist()
        listed = [
            (first, many, (errors, 2, kind))
            for (errors, first, many), kind in zip(stumps[keep].tolist(), kinds, strict=True)
        ]
        return Side(rows, (leaf, 1, self.leaf_kinds[-1]), listed)

    def pairs(self, spot: At, split: Split, cell: Cell) -> list[tuple[Cell, Cell, int, int]]:
        """Cells left and right of a split that make a cell, with their numbers of trees."""
        errors, leaves, kind = cell
        found = []
        for a, b in self.kinds(spot, split, kind):
            others = self.sizes(split.right, b)
            for (e, size), n in self.sizes(split.left, a).items():
                m = others.get((errors - e, leaves - size))
                if m:
                    found.append(((e, size, a), (errors - e, leaves - size, b), n, m))
        return found

    def _once(self, key: Any, make: Callable[[], Kept], size: Callable[[Kept], int]) -> Kept:
        """What was made before; all is forgotten when it becomes too much."""
        found = self._kept.get(key)
        if found is None:
            found = make()
            self._kept_bytes += BYTES_PER_ENTRY * (1 + size(found))
            if self._kept_bytes > KEPT_BYTES:
                self._kept.clear()
                self._kept_bytes = 0
            self._kept[key] = found
        return found

    def trees(self, cell: Cell) -> Iterator[PathTree]:
        """Trees of a cell: a leaf first, then by threshold, left and right subtree."""
        return (tree for tree, _ in self._walk(ROOT, (cell,)))

    def _walk(self, spot: Spot, wanted: Collection[Cell]) -> Iterator[tuple[PathTree, Cell]]:
        if self.leaf(spot) in wanted:
            yield self._leaf_tree(self._rows(spot)), self.leaf(spot)
        if isinstance(spot, Side):
            for k in sorted(k for cell in wanted for k in spot.by_cell.get(cell, ())):
                first, many, cell = spot.stumps[k]
                for threshold in range(first, first + many):
                    yield self._stump(spot, threshold), cell
            return
        for split in self.splits(spot, wanted):
            partners: dict[Cell, dict[Cell, Cell]] = {}
            for cell in wanted:
                key = spot, split.first, cell
                pairs = self._once(key, lambda c=cell, s=split: self.pairs(spot, s, c), len)
                for left, right, _, _ in pairs:
                    partners.setdefault(left, {})[right] = cell
            for threshold in range(split.first, split.first + split.many if partners else 0):
                for left, a in self._walk(split.left, partners):
                    for right, b in self._walk(split.right, partners[a]):
                        yield Branch(threshold, left, right), partners[a][b]

    def draw(self, cell: Cell, source: Random, spot: Spot = ROOT) -> PathTree:
        """Draw one of the trees of a cell, all equally likely."""
        if cell == self.leaf(spot):
            return self._leaf_tree(self._rows(spot))
        if isinstance(spot, Side):
            stumps = [spot.stumps[k] for k in spot.by_cell[cell]]
            first, many, _ = pick(stumps, [many for _, many, _ in stumps], source)
            return self._stump(spot, first + source.randrange(many))
        key = "splits", spot, cell
        known = self._once(key, lambda: self._tally(spot, cell), lambda found: len(found[0]))
        split = pick(*known, source)
        if isinstance(split, int):
            split = self.split(spot, split)
        pairs = self.pairs(spot, split, cell)
        left, right, _, _ = pick(pairs, [n * m for _, _, n, m in pairs], source)
        threshold = split.first + source.randrange(split.many)
        below = self.draw(left, source, split.left), self.draw(right, source, split.right)
        return Branch(threshold, *below)

    def _tally(self, spot: At, cell: Cell) -> tuple[list, list[int]]:
        """Splits, or places among the tops of the lowest level, with numbers of trees of a cell."""
        if self.levels[spot.level].depth <= BOTTOM:
            share = np.ascontiguousarray(self.counted.allow, float)
            counts = self.tops(spot).tally(cell[:2], share, self.counted.gain).tolist()
            numbers = [used_exactly([int(n) for n in vector])[cell[2]] for vector in counts]
            return list(range(len(numbers))), numbers
        splits = list(self.splits(spot, (cell,)))
        pairs = [self.pairs(spot, split, cell) for split in splits]
        trees = [sum(n * m for _, _, n, m in found) for found in pairs]
        return splits, [split.many * n for split, n in zip(splits, trees, strict=True)]

    def _rows(self, spot: Spot) -> bytes:
        if isinstance(spot, Side):
            return spot.rows
        return self.levels[spot.level].nodes[spot.node].rows

    def _leaf_tree(self, rows: bytes) -> Leaf:
        """Leaf of the heaviest class, the first of equal ones."""
        return Leaf(int(self.ground.weights(rows).argmax()))

    def _stump(self, side: Side, threshold: int) -> Branch:
        return Branch(threshold, *map(self._leaf_tree, self.ground.sides(side.rows, threshold)))


def _size(split: Split) -> int:
    return sum(len(side.stumps) for side in split[2:] if isinstance(side, Side))


def used_exactly(avoiding: list[int]) -> list[int]:
    """Numbers of trees by the set of required features that they test.

    `avoiding`: entry v: trees that do without the features in the bits of v.
    """
    exactly = avoiding[::-1]  # by the features that trees test at most
    for bit in (1 << k for k in range(len(avoiding).bit_length() - 1)):
        for mask in range(len(avoiding)):
            if mask & bit:
                exactly[mask] -= exactly[mask ^ bit]
    return exactly


def pick(options: list, counts: list[int], source: Random):
    """Draw an option in proportion to its count."""
    rest = source.randrange(sum(counts))
    for option, count in zip(options, counts, strict=True):
        if rest < count:
            return option
        rest -= count
    raise AssertionError("counts do not sum up")
