"""Near-optimal trees by shape: the columns asked at each place, whatever the thresholds.

The trees of a node are counted by shape and errors, from the bottom of the graph up, and a shape's
trees by threshold, from the root down.  Splits one after the other, each but the last with a leaf
beside it, ask for a conjunction: in whatever order they are asked, they are one shape.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from octcore.errors import TooLargeError
from octcore.search.near_optimal.combining import MOST_SHAPES, SHAPES, Cells, combine, make_tally
from octcore.search.near_optimal.counting import EXACT, NO_OUTSIDE, Counted, Level, TreeGraph
from octcore.search.near_optimal.ground import BOTTOM
from octcore.search.near_optimal.listing import ROOT, At, Cell, Listing, Side, Sizes, Split, Spot
from octcore.search.near_optimal.tree_set import TreeQuery

Nested = tuple  # ``(column, left, right)`` with a column of the table, or ``()`` for a leaf
Place = tuple  # where splits stand: turns on the way ("left", "right"), then the column
LARGEST_KEY = 1 << 62  # of a shape and its errors, in 63 bits


@dataclass(frozen=True)
class Shape:
    """Trees that ask the same columns at the same places."""

    chain: tuple[int, ...] = ()
    """Columns of the table that are asked one after the other, each but the last with a leaf beside
    it, ascending; empty for a leaf."""
    below: "tuple[Shape, ...]" = ()  # what follows left and right of the last; empty: leaves

    @property
    def columns(self) -> frozenset[int]:
        """All columns."""
        return frozenset(self.chain).union(*(part.columns for part in self.below))


class Group(NamedTuple):
    """The trees of a shape: the orders in which its columns are asked, by number, and counts."""

    members: tuple[int, ...]
    count: int  # pyright: ignore[reportIncompatibleMethodOverride]
    best: tuple[int, int, int]
    """Errors and leaves of the best tree, and the member that it belongs to."""


class _Known(NamedTuple):
    """The shapes of the nodes of a level, by number."""

    base: int  # how many things can stand on a side of a split
    codes: np.ndarray
    """``(column at the top * base + left) * base + right``, ascending; that of a leaf has the
    number of columns as its column."""
    leaves: np.ndarray
    cells: Cells  # of the nodes


class Shapes(Listing):
    """The trees that a query admits by shape, which is their kind; that of a stump is its column.

    Raises `TooLargeError` if there are more trees, or shapes, than can be told apart.
    """

    def __init__(self, query: TreeQuery) -> None:
        graph, self.gain = query.graph, query.asked.gain
        self.n_columns, self.n_errors = graph.ground.n_columns, len(graph.ground.values)
        self.known: list[_Known] = []
        root, values = graph.everything.cells[0], graph.ground.values
        admits = np.frompyfunc(query.admits, 2, 1)
        size = graph.instance.most_leaves(max(BOTTOM, graph.levels[0].depth))
        for k, level in reversed(list(enumerate(graph.levels))):
            # Few trees may keep a limit of leaves where millions do not, which are not counted.
            wanted = np.zeros((size, self.n_errors, 1))
            wanted[: max(0, query.max_leaves - k)] = 1.0  # every split above has a leaf beside it
            if k == 0:
                wanted[root.leaves - 1, root.errors, 0] = admits(values[root.errors], root.leaves)
            self.known.insert(0, self._count(graph, level, wanted))
        cells = tuple(known.cells for known in self.known)
        counted = Counted(graph.everything.allow, self.gain, cells)
        super().__init__(graph, counted, graph.instance.thresholds.place)
        ends = ((known.codes, self.n_columns * known.base**2) for known in self.known)
        self.leaf_kinds = [*(int(np.searchsorted(*end)) for end in ends), self.n_columns]

    def groups(self) -> dict[Shape, Group]:
        """Shapes with at least one tree."""
        cells, found = self.known[0].cells, dict[Shape, Group]()
        columns = (cells.shape, self.ground.values[cells.errors], cells.leaves, cells.counts[:, 0])
        for number, errors, leaves, count in zip(*(c.tolist() for c in columns), strict=True):
            shape = _shape_of(self._nested(0, number))
            old = found.get(shape, Group((), 0, (errors, leaves, number)))
            members = old.members if number in old.members else (*old.members, number)
            found[shape] = Group(members, old.count + int(count), old.best)
        return found

    def by_threshold(self, group: Group) -> dict[Place, dict[int, int]]:
        """Trees of a shape by place, from the root down, and threshold."""
        found: dict[Place, dict[int, int]] = {}
        for number in group.members:
            ways = _ways(self._nested(0, number))
            top = {(*size, number): 1 for size in self.sizes(ROOT, number)}
            waiting: dict[tuple[At, int], dict[Cell, int]] = {(ROOT, 1): top}
            while waiting:
                following = {}
                for (spot, at), outside in waiting.items():
                    self._push(spot, at, outside, ways, found, following)
                waiting = following
        return {place: found[place] for place in sorted(found, key=lambda p: (p[:-1], p[-1]))}

    def _push(self, spot, at, outside, ways, found, following) -> None:
        """Add the trees around some cells of a node by place and threshold; what is below follows.

        `at`: number of the place in a heap.
        `outside`: ways to complete a tree around a subtree with the cell.
        """
        for split in self.splits(spot, outside) if outside else ():
            below: tuple[dict[Cell, int], ...] = ({}, {})
            trees = 0
            for cell, weight in outside.items():
                for a, b, n, m in self.pairs(spot, split, cell):
                    trees += weight * n * m
                    for own, side, others in zip((a, b), below, (m, n), strict=True):
                        side[own] = side.get(own, 0) + weight * others * split.many
            _add(found, ways[at], split.first, split.many, trees)
            for child, place, own in zip(split[2:], (2 * at, 2 * at + 1), below, strict=True):
                if isinstance(child, Side):
                    for first, many, cell in child.stumps:
                        if cell in own:
                            _add(found, ways[place], first, many, own[cell])
                    continue
                target = following.setdefault((child, place), {})
                for cell, weight in own.items():
                    target[cell] = target.get(cell, 0) + weight

    def sizes(self, spot: Spot, kind: int) -> Sizes:
        """Numbers of trees of a shape at a place."""
        if isinstance(spot, Side):
            return spot.by_kind.get(kind, {})
        cells = self.counted.cells[spot.level]
        part = cells.of(spot.node)
        own = part.start + np.flatnonzero(cells.shape[part] == kind)
        errors, leaves = self.ground.values[cells.errors[own]].tolist(), cells.leaves[own].tolist()
        counts = cells.counts[own, 0].astype(np.int64).tolist()
        return dict(zip(zip(errors, leaves, strict=True), counts, strict=True))

    def kinds(self, spot: At, split: Split, kind: int) -> Iterable[tuple[int, int]]:
        """Shapes on the sides of a split."""
        return (self.columns(spot, kind)[1:],)

    def columns(self, spot: At, kind: int) -> tuple[int, int, int]:
        """Column at the top of a shape, and what stands on the sides."""
        known = self.known[spot.level]
        code = int(known.codes[kind])
        return code // known.base**2, code // known.base % known.base, code % known.base

    def _nested(self, level: int, number: int) -> Nested:
        """A shape of a level as nested columns."""
        top, *sides = self.columns(At(level, 0), number)
        if top == self.n_columns:
            return ()
        if level + 1 < len(self.known):
            return (top, *(self._nested(level + 1, side) for side in sides))
        return (top, *(() if side == self.n_columns else (side, (), ()) for side in sides))

    def _count(self, graph: TreeGraph, level: Level, wanted: np.ndarray) -> _Known:
        """Count the trees of the nodes of a level by shape, if `wanted` by leaves and errors."""
        below = self.known[0] if self.known else None
        base = self.n_columns + 1 if below is None else max(1, len(below.codes))
        is_large = self.n_columns * base**2 * self.n_errors > LARGEST_KEY
        nodes = range(0 if is_large else len(level.nodes))
        raw = [(np.zeros(0, np.int64), np.zeros(0))]
        raw += [self._count_node(graph, level, v, base, wanted) for v in nodes]
        if is_large or max(len(keys) for keys, _ in raw) >= MOST_SHAPES:
            message = "The good trees have too many shapes; take a smaller tolerance or depth."
            raise TooLargeError("TOO_MANY_SHAPES", message, {})
        sizes = [len(keys) for keys, _ in raw[1:]]
        keys, counts = (np.concatenate(parts) for parts in zip(*raw, strict=True))
        codes, number = np.unique(keys // self.n_errors, return_inverse=True)
        errors, node = keys % self.n_errors, np.repeat(np.arange(len(sizes)), sizes)
        beside = np.where(np.arange(base) < self.n_columns, 2, 1)
        if below is not None:
            beside = np.append(below.leaves, 0)
        leaves = beside[codes // base % base] + beside[codes % base]
        leaves[codes == self.n_columns * base**2] = 1
        cost = graph.instance.unit * graph.ground.values[errors]
        cost += graph.instance.price * leaves[number]
        order = np.lexsort((cost, node))
        parts = (errors, leaves[number], cost, number, counts[:, None])
        start = np.cumsum([0, *sizes])
        return _Known(base, codes, leaves, Cells(start, *(part[order] for part in parts)))

    def _count_node(
        self, graph: TreeGraph, level: Level, v: int, base: int, wanted: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Trees of a node: ``code * n_errors + number of the errors``, and counts."""
        ground, node, leaf = graph.ground, level.nodes[v], int(level.leaf_errors[v])
        if level.depth <= BOTTOM:
            *_, keys, counts = ground.solve(node, SHAPES, gain=self.gain, grid=wanted[None])
        else:
            tally = combine(
                SHAPES, level.edges_of(v), self.known[0].cells, node.budget,
                ground.terms(level.depth, gain=self.gain), leaf, wanted, NO_OUTSIDE, base,
                make_tally(),
            )  # fmt: skip
            ground.guard(ground.scored)
            keys, counts = tally.key, tally.amount
        keys, counts = keys[keys >= 0], counts[keys >= 0]
        if counts.sum() >= EXACT:
            message = "There are too many good trees to count shapes; take a smaller tolerance."
            raise TooLargeError("TOO_MANY_TREES", message, {})
        if graph.leaf_counts(node, leaf) and wanted[0, ground.number[leaf]]:
            key = self.n_columns * base**2 * self.n_errors + ground.number[leaf]
            keys, counts = np.append(keys, key), np.append(counts, 1.0)
        return keys, counts


def _add(
    found: dict[Place, dict[int, int]], place: Place, first: int, many: int, each: int
) -> None:
    """Add a number of trees to every one of some neighbouring thresholds."""
    by_threshold = found.setdefault(place, {})
    for threshold in range(first, first + many if each else first):
        by_threshold[threshold] = by_threshold.get(threshold, 0) + each


def _shape_of(nested: Nested) -> Shape:
    """The shape of nested columns, in whatever order chains are asked."""
    chain, below = [], ()
    while nested:
        column, left, right = nested
        chain.append(column)
        if left and right:
            below = (_shape_of(left), _shape_of(right))
            break
        nested = left or right
    return Shape(tuple(sorted(chain)), below)


def _ways(nested: Nested, way: tuple[str, ...] = (), at: int = 1) -> dict[int, Place]:
    """Place of every split of nested columns, by its number in a heap; `at`: of the first one."""
    found: dict[int, Place] = {}
    while nested:
        column, left, right = nested
        found[at] = (*way, column)
        if left and right:
            found |= _ways(left, (*way, "left"), 2 * at)
            return found | _ways(right, (*way, "right"), 2 * at + 1)
        nested, at = (left, 2 * at) if left else (right, 2 * at + 1)
    return found
