"""Numbers of trees by errors and leaves, from the bottom of the graph up.

Counts are vectors over *variants*, sets of columns that a tree may use: from the trees that do
without a feature follow those that use it, and from several variants by inclusion and exclusion
those that use all features of a list.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from octcore.search.near_optimal.graph import BOTTOM, Ground, Level, Node
from octcore.search.near_optimal.instance import Instance
from octcore.search.near_optimal.kernels import combine, gather

EXACT = 2.0**53
"""Sums of whole numbers are exact in doubles up to here; beyond, Python's integers count."""
GRID_BYTES = 1 << 26
"""Size of a table of counts; more variants are counted in several passes."""


@dataclass(frozen=True, eq=False)
class Cells:
    """Non-empty cells of the nodes of one level.

    Parameters
    ----------
    start : numpy.ndarray
        First cell of every node, shape ``(n_nodes + 1,)``; the cells of a node ascend in cost.
    errors, leaves, costs : numpy.ndarray
        Number of the errors, leaves and scaled cost, shape ``(n_cells,)``.
    counts : numpy.ndarray
        Trees by variant, shape ``(n_cells, n_variants)``; objects where doubles are not exact.
    """

    start: np.ndarray
    errors: np.ndarray
    leaves: np.ndarray
    costs: np.ndarray
    counts: np.ndarray

    def of(self, node: int) -> slice:
        """Cells of a node."""
        return slice(int(self.start[node]), int(self.start[node + 1]))


@dataclass(frozen=True, eq=False)
class Counted:
    """A counted graph.

    Parameters
    ----------
    allow : numpy.ndarray
        Whether a variant may use a threshold, shape ``(n_thresholds, n_variants)``.
    gain : bool
        Whether only trees count in which every split lowers the errors.
    values : numpy.ndarray
        Errors by number.
    cells : tuple of Cells
        By level, the root last computed but first here.
    roots : mapping of int to mapping
        Trees of the whole set by column of the table at the root (-1 for the single leaf), then by
        (errors, leaves): lists of Python integers by variant.
    """

    allow: np.ndarray
    gain: bool
    values: np.ndarray
    cells: tuple[Cells, ...]
    roots: dict[int, dict[tuple[int, int], list[int]]] = field(default_factory=dict)


class Counter:
    """Counts the trees of a graph for some variants.

    Parameters
    ----------
    ground : Ground
        The rows, and the trees of depth two.
    levels : list of Level
        The graph, the root first.
    """

    def __init__(self, ground: Ground, levels: list[Level]) -> None:
        self.ground = ground
        self.levels = levels
        self.instance: Instance = ground.instance
        self.budget = levels[0].nodes[0].budget

    def count(self, allow: np.ndarray, gain: bool) -> Counted:
        """Count the trees of every variant.

        Parameters
        ----------
        allow : ndarray of shape (n_thresholds, n_variants), bool
            Thresholds that a variant may use; variant 0 allows what any of them allows.
        gain : bool
            Whether every split has to lower the errors.
        """
        instance = self.instance
        places = max(1, instance.table.n_columns) if self.levels[0].depth <= BOTTOM else 1
        n_grid = places * instance.most_leaves(instance.depth) * len(self.ground.values) * 8
        most = max(2, GRID_BYTES // max(1, n_grid))
        if allow.shape[1] <= most:
            return self._count(allow, gain)
        parts = [
            self._count(np.column_stack([allow[:, 0], allow[:, first : first + most - 1]]), gain)
            for first in range(1, allow.shape[1], most - 1)
        ]
        return _joined(parts, allow)

    def _count(self, allow: np.ndarray, gain: bool) -> Counted:
        share = np.ascontiguousarray(allow, float)
        cells: list[Cells] = []
        for level in reversed(self.levels[1:]):
            grid = self._grid(level.depth, share)
            below = cells[0] if cells else None
            parts = [self._cells(level, v, share, gain, below, grid) for v in _nodes(level)]
            cells.insert(0, _stack(parts, allow.shape[1]))
        counted = Counted(allow, gain, self.ground.values, tuple(cells))
        self._count_roots(counted, share)
        total = sum(c[0] for by_cell in counted.roots.values() for c in by_cell.values())
        if total < EXACT:
            return counted
        exact = self._exactly(counted)
        self._count_roots(exact, share)
        return exact

    def _grid(self, depth: int, share: np.ndarray, places: int = 1) -> np.ndarray:
        shape = (self.instance.most_leaves(max(BOTTOM, depth)), len(self.ground.values))
        return np.zeros((places, *shape, share.shape[1]))

    def _cells(
        self,
        level: Level,
        v: int,
        share: np.ndarray,
        gain: bool,
        below: Cells | None,
        grid: np.ndarray,
    ) -> tuple:
        """Cells of a node, found by the ground or from those of its children."""
        node, leaf = level.nodes[v], int(level.leaf_errors[v])
        if self.leaf_counts(node, leaf):
            grid[0, 0, self.ground.number[leaf]] += 1.0
        if below is None:
            self.ground.count(node, share, gain, grid)
        else:
            self._combine(level.edges_of(v), below, node.budget, share, gain, leaf, grid[0])
            self.ground.guard(self.ground.scored)
        return self._gather(grid[0], node.budget)

    def leaf_counts(self, node: Node, leaf: int) -> bool:
        """Whether a single leaf is one of the trees of a node."""
        i, stands = self.instance, not node.is_root or self.instance.leaf_allowed
        return stands and leaf >= 0 and i.unit * leaf + i.price <= node.budget

    def _combine(
        self,
        edges: np.ndarray,
        below: Cells,
        budget: int,
        share: np.ndarray,
        gain: bool,
        leaf: int,
        grid: np.ndarray,
    ) -> None:
        combine(
            edges, below.start, below.errors, below.leaves, below.costs, below.counts, budget,
            self.ground.values, self.ground.number, share, gain, leaf, grid,
        )  # fmt: skip

    def _gather(self, grid: np.ndarray, budget: int) -> tuple:
        i, values = self.instance, self.ground.values
        n_errors = int(np.searchsorted(values, budget // i.unit, side="right"))
        return gather(grid, n_errors, values, i.unit, i.price)

    def _count_roots(self, counted: Counted, share: np.ndarray) -> None:
        """Fill `counted.roots`: the trees of the whole set by root column."""
        top, roots = self.levels[0], counted.roots
        node, leaf = top.nodes[0], int(top.leaf_errors[0])
        if self.leaf_counts(node, leaf):
            roots[-1] = {(leaf, 1): [1] * share.shape[1]}
        if top.depth <= BOTTOM:
            grid = self._grid(top.depth, share, max(1, self.instance.table.n_columns))
            self.ground.count(node, share, counted.gain, grid, by_column=True)
            found = ((column, self._gather(part, node.budget)) for column, part in enumerate(grid))
            roots |= {column: self._named(cells) for column, cells in found if len(cells[0])}
            return
        grid, cells = self._grid(top.depth, share), counted.cells[0]
        place = self.instance.thresholds.place[top.edges[:, 0]]
        for column in np.unique(place):
            edges = top.edges[place == column]
            if cells.counts.dtype == object:
                roots[int(column)] = self._exact_edges(edges, counted, node.budget, leaf)
                continue
            self._combine(edges, cells, node.budget, share, counted.gain, leaf, grid[0])
            roots[int(column)] = self._named(self._gather(grid[0], node.budget))

    def _named(self, gathered: tuple) -> dict[tuple[int, int], list[int]]:
        errors, leaves, _, counts = gathered
        return {
            (int(self.ground.values[e]), int(size)): [int(c) for c in vector]
            for e, size, vector in zip(errors, leaves, counts, strict=True)
        }

    def _exactly(self, counted: Counted) -> Counted:
        """Count the upper levels again in Python's integers; the bottom counts are exact."""
        cells = list(counted.cells)
        if cells:
            cells[-1] = _as_integers(cells[-1])
        for k in range(len(cells) - 2, -1, -1):
            level = self.levels[k + 1]
            lower = replace(counted, cells=(cells[k + 1],))
            parts = [self._exact_node(level, v, lower) for v in _nodes(level)]
            cells[k] = _stack(parts, counted.allow.shape[1])
        return replace(counted, cells=tuple(cells), roots={})

    def _exact_node(self, level: Level, v: int, lower: Counted) -> tuple:
        i, node, leaf = self.instance, level.nodes[v], int(level.leaf_errors[v])
        found = self._exact_edges(level.edges_of(v), lower, node.budget, leaf)
        if self.leaf_counts(node, leaf):
            found[leaf, 1] = [1] * lower.allow.shape[1]
        ordered = sorted((i.unit * e + i.price * size, size, e) for e, size in found)
        counts = np.empty((len(ordered), lower.allow.shape[1]), object)
        for k, (_, size, e) in enumerate(ordered):
            counts[k] = found[e, size]
        errors = np.array([self.ground.number[e] for _, _, e in ordered], np.int64)
        leaves = np.array([size for _, size, _ in ordered], np.int64)
        return errors, leaves, np.array([c for c, _, _ in ordered], np.int64), counts

    def _exact_edges(
        self, edges: np.ndarray, lower: Counted, budget: int, leaf: int
    ) -> dict[tuple[int, int], list[int]]:
        """Trees with one of some splits at the top, in Python's integers."""
        below, found = lower.cells[0], {}
        for first, many, left_node, right_node in edges.tolist():
            ways = [many * int(a) for a in lower.allow[first]]
            left, right = below.of(left_node), below.of(right_node)
            for a in range(left.start, left.stop) if ways[0] else ():
                for b in range(right.start, right.stop):
                    if below.costs[a] + below.costs[b] > budget:
                        break
                    errors = int(lower.values[below.errors[a]] + lower.values[below.errors[b]])
                    cell = (errors, int(below.leaves[a] + below.leaves[b]))
                    if lower.gain and cell[1] == 2 and errors >= leaf:
                        continue
                    known = found.setdefault(cell, [0] * len(ways))
                    for v, allowed in enumerate(ways):
                        known[v] += allowed * int(below.counts[a, v]) * int(below.counts[b, v])
        return found


def _nodes(level: Level) -> range:
    return range(len(level.nodes))


def _stack(parts: list[tuple], n_variants: int) -> Cells:
    """Join the cells of the nodes of a level."""
    nothing = np.zeros(0, np.int64)
    parts = parts or [(nothing, nothing, nothing, np.zeros((0, n_variants)))]
    start = np.concatenate([[0], np.cumsum([len(part[0]) for part in parts])]).astype(np.int64)
    errors, leaves, costs, counts = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Cells(start, errors, leaves, costs, counts)


def _as_integers(cells: Cells) -> Cells:
    whole = cells.counts.astype(np.int64).astype(object)
    return Cells(cells.start, cells.errors, cells.leaves, cells.costs, whole)


def _joined(parts: list[Counted], allow: np.ndarray) -> Counted:
    """Put variants counted in several passes side by side; the first one is in all of them."""
    first = parts[0]
    roots = {
        column: {
            cell: [counts[0], *(c for part in parts for c in part.roots[column][cell][1:])]
            for cell, counts in by_cell.items()
        }
        for column, by_cell in first.roots.items()
    }
    cells = tuple(
        replace(level, counts=np.column_stack(
            [level.counts[:, :1], *(part.cells[k].counts[:, 1:] for part in parts)]
        ))
        for k, level in enumerate(first.cells)
    )  # fmt: skip
    return replace(first, allow=allow, cells=cells, roots=roots)
