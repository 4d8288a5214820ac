"""Near-optimal trees by shape: the columns asked at each place, whatever the thresholds.

The trees of a node are counted by shape and errors, from the bottom of the graph up, and a shape's
trees by threshold, from the root down.  Splits one after the other, each but the last with a leaf
beside it, ask for a conjunction: in whatever order they are asked, they are one shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from octcore.errors import TooLargeError
from octcore.search.near_optimal.counting import EXACT, Cells, Counter
from octcore.search.near_optimal.graph import BOTTOM, Level
from octcore.search.near_optimal.lane_kernels import SHAPES
from octcore.search.near_optimal.listing import NO_SPLIT, Listing
from octcore.search.near_optimal.tally import make_tally
from octcore.search.univariate.tree import Branch, PathTree

Nested = tuple
"""``(column, left, right)`` with a column of the table, or ``()`` for a leaf."""
Place = tuple
"""Where splits stand: turns on the way ("left", "right"), then the column."""
LARGEST_KEY = 1 << 62


@dataclass(frozen=True)
class Shape:
    """Trees that ask the same columns at the same places.

    Parameters
    ----------
    chain : tuple of int
        Columns of the table that are asked one after the other, each but the last with a leaf
        beside it, ascending; empty for a leaf.
    below : tuple of Shape
        What follows on the left and on the right of the last of them; empty where leaves do.
    """

    chain: tuple[int, ...] = ()
    below: tuple[Shape, ...] = ()

    @property
    def columns(self) -> frozenset[int]:
        """All columns."""
        return frozenset(self.chain).union(*(part.columns for part in self.below))

    def places(self, way: tuple[str, ...] = ()) -> Iterator[Place]:
        """Where its splits stand, from the root down; equal columns of a chain are one place."""
        yield from ((*way, column) for column in sorted(set(self.chain)))
        for turn, part in zip(("left", "right"), self.below, strict=False):
            yield from part.places((*way, turn))


class Group(NamedTuple):
    """The trees of a shape: the orders in which its columns are asked, by number, and counts."""

    members: tuple[int, ...]
    count: int  # pyright: ignore[reportIncompatibleMethodOverride]
    best: tuple[int, int, int]
    """Errors and leaves of the best tree, and the member that it belongs to."""


class _Known(NamedTuple):
    """The shapes of the nodes of a level.

    `codes` are their keys without errors, ascending; `leaves` theirs.
    """

    codes: np.ndarray
    leaves: np.ndarray
    cells: Cells


class Shapes:
    """The trees of a graph by shape.

    Parameters
    ----------
    counter : Counter
    listing : Listing
        What finds the splits of bottom nodes.
    gain : bool
        Whether every split has to lower the errors.

    Raises
    ------
    TooLargeError
        If there are more trees, or shapes, than can be told apart.
    """

    def __init__(self, counter: Counter, listing: Listing, gain: bool) -> None:
        self.counter, self.listing, self.gain = counter, listing, gain
        self.ground, self.levels = counter.ground, counter.levels
        self.instance = counter.instance
        self.n_columns, self.n_errors = self.instance.table.n_columns, len(self.ground.values)
        self.place = self.instance.thresholds.place
        self.known: list[_Known] = []
        for level in reversed(self.levels):
            self.known.insert(0, self._level(level, self.known[0] if self.known else None))

    def groups(self, admits: Callable[[int, int], bool]) -> dict[Shape, Group]:
        """Shapes with at least one tree whose errors and leaves are admitted."""
        top, cells = self.known[0], self.known[0].cells
        found: dict[Shape, Group] = {}
        columns = (cells.shape, self.ground.values[cells.errors], cells.leaves, cells.counts[:, 0])
        for number, errors, leaves, count in zip(*(c.tolist() for c in columns), strict=True):
            if not admits(errors, leaves):
                continue
            shape = self._shapes[number]
            old = found.get(shape, Group((), 0, (errors, leaves, number)))
            members = old.members if number in old.members else (*old.members, number)
            found[shape] = Group(members, old.count + int(count), old.best)
        assert len(top.codes) == len(self._shapes)
        return found

    @cached_property
    def _shapes(self) -> list[Shape]:
        return [_shape_of(self._nested(0, k)) for k in range(len(self.known[0].codes))]

    def tree(self, group: Group) -> PathTree:
        """The best tree of a shape."""
        errors, _, number = group.best
        tree = self._tree(0, 0, number, errors)
        assert tree is not None, "a counted tree is there"
        return tree

    def by_threshold(
        self, group: Group, admits: Callable[[int, int], bool]
    ) -> dict[Place, dict[int, int]]:
        """Trees of a shape by place and threshold."""
        found: dict[Place, dict[int, int]] = {}
        for number in group.members:
            way = _ways(self._nested(0, number))
            weights = np.zeros(self.n_errors)
            cells = self.known[0].cells
            own = cells.shape == number
            for e, leaves in zip(cells.errors[own], cells.leaves[own], strict=True):
                weights[e] = float(admits(int(self.ground.values[e]), int(leaves)))
            self._push(number, weights, way, found)
        return found

    # Counting

    def _level(self, level: Level, below: _Known | None) -> _Known:
        """Count the trees of the nodes of a level by shape."""
        raw = [self._node(level, v, below) for v in range(len(level.nodes))]
        codes = np.unique(np.concatenate([shape for shape, _, _ in raw]))
        leaf = self._leaf_code(below)
        leaves = np.ones(len(codes), np.int64)
        split = codes != leaf
        left, right = self._sides(codes[split], below)[1:]
        if below is None:
            leaves[split] = 2 + (left < self.n_columns) + (right < self.n_columns)
        else:
            leaves[split] = below.leaves[left] + below.leaves[right]
        shape, errors, count = (np.concatenate(parts) for parts in zip(*raw, strict=True))
        number, sizes = np.searchsorted(codes, shape), [len(part[0]) for part in raw]
        own, node = leaves[number], np.repeat(np.arange(len(raw)), sizes)
        cost = self.instance.unit * self.ground.values[errors] + self.instance.price * own
        order = np.lexsort((cost, node))
        start = np.concatenate([[0], np.cumsum(sizes)])
        parts = (part[order] for part in (errors, own, cost, number, count[:, None]))
        return _Known(codes, leaves, Cells(start, *parts))

    def _node(
        self, level: Level, v: int, below: _Known | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Shape, number of errors, and count of the trees of a node."""
        node, leaf = level.nodes[v], int(level.leaf_errors[v])
        if below is None:
            keys, counts = self.ground.shapes(node, self.gain)
        else:
            n = len(below.codes)
            if self._leaf_code(below) * self.n_errors > LARGEST_KEY:
                raise TooLargeError(
                    "TOO_MANY_SHAPES",
                    f"The good trees have too many shapes ({n:,} at depth {level.depth - 1}); take "
                    "a smaller tolerance or depth.",
                    {},
                )
            tally = self.counter.combine(
                SHAPES, level.edges_of(v), below.cells, node.budget,
                self.ground.terms(level.depth, gain=self.gain), leaf,
                n_shapes=n, tally=make_tally(),
            )  # fmt: skip
            self.ground.guard(self.ground.scored)
            used = tally.key >= 0
            keys, counts = tally.key[used], tally.amount[used]
        if counts.sum() >= EXACT:
            raise TooLargeError(
                "TOO_MANY_TREES",
                "There are too many good trees to be counted by shape; take a smaller tolerance.",
                {},
            )
        shape, errors = keys // self.n_errors, keys % self.n_errors
        if self.counter.leaf_counts(node, leaf):
            shape = np.append(shape, self._leaf_code(below))
            errors, counts = np.append(errors, self.ground.number[leaf]), np.append(counts, 1.0)
        return shape, errors, counts

    def _base(self, below: _Known | None) -> int:
        """How many things can stand on a side of a split, the sides being numbered so."""
        return self.n_columns + 1 if below is None else len(below.codes)

    def _leaf_code(self, below: _Known | None) -> int:
        """Number of a single leaf, behind those of all splits."""
        return self.n_columns * self._base(below) ** 2

    def _sides(
        self, codes: np.ndarray, below: _Known | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Column at the top of splits, and what stands on their sides."""
        base = self._base(below)
        return codes // base**2, codes // base % base, codes % base

    def _below(self, level: int) -> _Known | None:
        return self.known[level + 1] if level + 1 < len(self.known) else None

    def _nested(self, level: int, number: int) -> Nested:
        """A shape of a level as nested columns."""
        split = self._split(level, number)
        if split is None:
            return ()
        top, *sides = split
        if self._below(level) is None:
            stumps = (() if side == self.n_columns else (side, (), ()) for side in sides)
            return (top, *stumps)
        return (top, *(self._nested(level + 1, side) for side in sides))

    # Trees and thresholds of one shape

    def _split(self, level: int, number: int) -> tuple[int, int, int] | None:
        """Column at the top and what stands on the sides of a shape; None for a leaf."""
        below, code = self._below(level), self.known[level].codes[number]
        if code == self._leaf_code(below):
            return None
        top, left, right = self._sides(code, below)
        return int(top), int(left), int(right)

    def _tree(self, level: int, v: int, number: int, errors: int) -> PathTree | None:
        """A tree of a node with a shape and so many errors."""
        node, split = self.levels[level].nodes[v], self._split(level, number)
        if split is None:
            return self.listing.leaf(node.rows)
        top, *sides = split
        if self.levels[level].depth <= BOTTOM:
            for threshold, _, left, right in self._tops(level, v, top, sides):
                fits = np.argwhere(left.errors[:, None] + right.errors == errors)
                if len(fits):
                    a, b = fits[0]
                    below = int(left.first[a]), int(right.first[b])
                    return self.listing.shallow_tree(node.rows, threshold, *below)
            return None
        for first, _, *children in self._edges(level, v, top):
            left, right = (
                self._cells(level + 1, child, side)
                for child, side in zip(children, sides, strict=True)
            )
            fits = np.argwhere(left[2][:, None] + right[2] == errors)
            if len(fits):
                parts = [
                    self._tree(level + 1, child, side, int(cells[2][k]))
                    for child, side, cells, k in zip(
                        children, sides, (left, right), fits[0], strict=True
                    )
                ]
                assert parts[0] is not None
                assert parts[1] is not None
                return Branch(first, parts[0], parts[1])
        return None

    def _edges(self, level: int, v: int, top: int) -> list[list[int]]:
        edges = self.levels[level].edges_of(v)
        return edges[self.place[edges[:, 0]] == top].tolist()

    def _cells(self, level: int, v: int, number: int) -> tuple[np.ndarray, ...]:
        """Numbers of errors, counts and errors of the trees of a node with a shape."""
        cells = self.known[level].cells
        part = cells.of(v)
        own = part.start + np.flatnonzero(cells.shape[part] == number)
        return cells.errors[own], cells.counts[own, 0], self.ground.values[cells.errors[own]]

    def _tops(self, level: int, v: int, top: int, sides: list[int]) -> Iterator[tuple]:
        """Splits of a column at a bottom node, with what stands on their sides.

        Yields the first threshold, how many they are, and the `Stumps` on both sides: those of the
        side's column, or a leaf.
        """
        tops, leaf = self.listing.tops_of(level, v), int(self.levels[level].leaf_errors[v])
        columns = [side for side in sides if side < self.n_columns]
        for k in np.flatnonzero(self.place[tops.first] == top).tolist():
            parts, below = [], tops.stumps(k, columns)
            for side, stumps, own in zip(sides, below, tops.leaf[:, k], strict=True):
                if side == self.n_columns:
                    parts.append(type(stumps)(*(np.array([x]) for x in (own, NO_SPLIT, 1))))
                    continue
                keep = self.place[stumps.first] == side
                if self.gain:
                    keep &= stumps.errors < own
                parts.append(type(stumps)(*(column[keep] for column in stumps)))
            is_stump = sides == [self.n_columns] * 2
            if self.gain and is_stump and tops.leaf[:, k].sum() >= leaf:
                continue
            yield int(tops.first[k]), int(tops.many[k]), *parts

    def _push(
        self, number: int, weights: np.ndarray, ways: dict, found: dict[Place, dict[int, int]]
    ) -> None:
        """Add the trees of one order of columns by place and threshold, level by level."""
        waiting = {(0, number, 1): weights}
        for level, here in enumerate(self.levels):
            following: dict[tuple[int, int, int], np.ndarray] = {}
            for (v, own, at), outside in waiting.items():
                split = self._split(level, own)
                if split is None:
                    continue
                top, *sides = split
                if here.depth > BOTTOM:
                    self._push_edges(level, v, top, sides, at, outside, ways, found, following)
                    continue
                for threshold, many, left, right in self._tops(level, v, top, sides):
                    ways_of = self._weights(outside, left.errors, right.errors)
                    a, b = ways_of @ right.many, left.many @ ways_of
                    _add(found, ways[at], threshold, many, float(left.many @ a))
                    for child, stumps, amounts in ((2 * at, left, a), (2 * at + 1, right, b)):
                        each = zip(stumps.first, stumps.many, many * amounts, strict=True)
                        for first, n, amount in each:
                            if first != NO_SPLIT:
                                _add(found, ways[child], int(first), int(n), float(amount))
            waiting = following

    def _push_edges(
        self, level: int, v: int, top: int, sides: list[int], at: int, outside: np.ndarray,
        ways: dict, found: dict[Place, dict[int, int]],
        following: dict[tuple[int, int, int], np.ndarray],
    ) -> None:  # fmt: skip
        for first, many, *children in self._edges(level, v, top):
            (e, n, left), (f, m, right) = (
                self._cells(level + 1, child, side)
                for child, side in zip(children, sides, strict=True)
            )
            ways_of = self._weights(outside, left, right)
            a, b = ways_of @ m, n @ ways_of
            _add(found, ways[at], first, many, float(n @ a))
            for child, side, place, numbers, amounts in (
                (children[0], sides[0], 2 * at, e, a),
                (children[1], sides[1], 2 * at + 1, f, b),
            ):
                target = following.setdefault((child, side, place), np.zeros(self.n_errors))
                target[numbers] += many * amounts

    def _weights(self, outside: np.ndarray, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """How often trees with some errors on the left and on the right count."""
        errors = left[:, None] + right
        inside = errors < len(self.ground.number)
        number = self.ground.number[np.where(inside, errors, 0)]
        return np.where(inside & (number >= 0), outside[number], 0.0)


def _add(
    found: dict[Place, dict[int, int]], place: Place, first: int, many: int, each: float
) -> None:
    """Add a number of trees to every one of some neighbouring thresholds."""
    if each:
        by_threshold = found.setdefault(place, {})
        for threshold in range(first, first + many):
            by_threshold[threshold] = by_threshold.get(threshold, 0) + int(each)


def _chain(nested: Nested) -> tuple[list[tuple[int, int]], Nested, int]:
    """Columns of a chain with the steps to them (heap numbers), its last split and that's step."""
    found, at = [], 1
    while True:
        found.append((nested[0], at))
        left, right = nested[1:]
        if bool(left) == bool(right):
            return found, nested, at
        nested, at = (left, 2 * at) if left else (right, 2 * at + 1)


def _shape_of(nested: Nested) -> Shape:
    """The shape of nested columns, in whatever order chains are asked."""
    if not nested:
        return Shape()
    chain, last, _ = _chain(nested)
    below = tuple(_shape_of(part) for part in last[1:]) if last[1] else ()
    return Shape(tuple(sorted(column for column, _ in chain)), below)


def _ways(nested: Nested, way: tuple[str, ...] = (), root: int = 1) -> dict[int, Place]:
    """Place of every split of nested columns, by its number in a heap."""
    if not nested:
        return {}
    chain, last, end = _chain(nested)

    def under(step: int) -> int:
        levels = step.bit_length() - 1
        return (root << levels) + step - (1 << levels)

    found: dict[int, Place] = {under(step): (*way, column) for column, step in chain}
    for k, turn in enumerate(("left", "right") if last[1] else ()):
        found |= _ways(last[1 + k], (*way, turn), under(2 * end + k))
    return found
