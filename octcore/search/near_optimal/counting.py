"""Numbers of trees by errors and leaves, from the bottom of the graph up.

Counts are vectors over *variants*, sets of columns that a tree may use: from the trees that do
without a feature follow those that use it, and from several variants by inclusion and exclusion
those that use all features of a list.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from octcore.kernels import kernel
from octcore.search.near_optimal.graph import BOTTOM, Level, Node
from octcore.search.near_optimal.ground import NO_GRID, Ground
from octcore.search.near_optimal.instance import Instance
from octcore.search.near_optimal.lane_kernels import ADD, SHAPES, SHARES, Terms
from octcore.search.near_optimal.tally import Tally, add, ample, make_tally

EXACT = 2.0**53
"""Sums of whole numbers are exact in doubles up to here; beyond, Python's integers count."""
GRID_BYTES = 1 << 26
"""Size of a table of counts; more variants are counted in several passes."""


class Cells(NamedTuple):
    """Trees of the nodes of one level, by errors and leaves, or by errors and shape.

    start : (n_nodes + 1,) first cell of every node; the cells of a node ascend in cost
    errors, leaves, costs : (n_cells,) number of the errors, leaves and scaled cost
    shape : (n_cells,) the shape where trees are told apart by it, else of no interest
    counts : (n_cells, n_variants) trees by variant; objects where doubles are not exact
    """

    start: np.ndarray
    errors: np.ndarray
    leaves: np.ndarray
    costs: np.ndarray
    shape: np.ndarray
    counts: np.ndarray

    def of(self, node: int) -> slice:
        """Cells of a node."""
        return slice(int(self.start[node]), int(self.start[node + 1]))


@kernel()
def combine(asked, edges, below, budget, terms, leaf, grid, outside, place, n_shapes, tally):
    """Go through the trees with a split at the top of one node, cells of both children in turn.

    Parameters
    ----------
    asked : int
        `ADD` adds them up in ``grid[leaves - 1, errors, variant]``.  `SHARES` adds to `outside` of
        the children's cells how often trees around them count, if those of a cell of the node
        count as often as ``grid[leaves - 1, errors, 0]`` says.  `SHAPES` adds up in `tally` by
        ``((column at the top * n_shapes + left) * n_shapes + right) * n_errors + errors``.
    edges : ndarray of shape (n_edges, 4)
        First threshold, number of thresholds, left and right child.
    below : Cells
        Of the children.
    budget : int
        Largest scaled cost.
    leaf : int
        Errors of a leaf, -1 where there is none: where every split has to lower the errors, trees
        of two leaves must have fewer.
    place : ndarray of shape (n_thresholds,)
        Column of every threshold.

    Returns
    -------
    Tally
    """
    values, costs, counts = terms.values, below.costs, below.counts
    for k in range(len(edges)):
        many, use, left, right = edges[k, 1], terms.share[edges[k, 0]], edges[k, 2], edges[k, 3]
        if use[0] == 0.0:
            continue
        first = place[edges[k, 0]] * n_shapes
        for a in range(below.start[left], below.start[left + 1]):
            if asked == SHAPES:
                tally = ample(tally, below.start[right + 1] - below.start[right])
            for b in range(below.start[right], below.start[right + 1]):
                if costs[a] + costs[b] > budget:
                    break
                leaves = below.leaves[a] + below.leaves[b]
                e = terms.of_errors[values[below.errors[a]] + values[below.errors[b]]]
                if terms.gain and leaves == 2 and values[e] >= leaf:
                    continue
                if asked == SHAPES:
                    shape = (first + below.shape[a]) * n_shapes + below.shape[b]
                    add(tally, shape * len(values) + e, many * counts[a, 0] * counts[b, 0])
                elif asked == SHARES:
                    weight = many * grid[leaves - 1, e, 0]
                    outside[a] += weight * counts[b, 0]
                    outside[b] += weight * counts[a, 0]
                else:
                    for v in range(len(use)):
                        grid[leaves - 1, e, v] += many * use[v] * counts[a, v] * counts[b, v]
    return tally


NO_OUTSIDE, NO_TALLY = np.zeros(0), make_tally()


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
        counted = self._count_levels(allow, gain, share, [])
        total = sum(c[0] for by_cell in counted.roots.values() for c in by_cell.values())
        if total < EXACT or not counted.cells:
            return counted
        # Above the bottom, whose counts are exact, once more with Python's integers.
        bottom = counted.cells[-1]
        bottom = bottom._replace(counts=bottom.counts.astype(np.int64).astype(object))
        return self._count_levels(allow, gain, share.astype(np.int64).astype(object), [bottom])

    def _count_levels(
        self, allow: np.ndarray, gain: bool, share: np.ndarray, cells: list[Cells]
    ) -> Counted:
        """Count from the lowest level on that has no cells yet."""
        for level in reversed(self.levels[1 : len(self.levels) - len(cells)]):
            grid = self._grid(level.depth, share)
            below = cells[0] if cells else None
            nodes = range(len(level.nodes))
            parts = [self._cells(level, v, share, gain, below, grid) for v in nodes]
            cells = [_stack(parts, allow.shape[1]), *cells]
        counted = Counted(allow, gain, self.ground.values, tuple(cells))
        self._count_roots(counted, share)
        return counted

    def _grid(self, depth: int, share: np.ndarray, places: int = 1) -> np.ndarray:
        shape = (self.instance.most_leaves(max(BOTTOM, depth)), len(self.ground.values))
        return np.zeros((places, *shape, share.shape[1]), share.dtype)

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
            grid[0, 0, self.ground.number[leaf]] += 1
        if below is None:
            self.ground.count(node, share, gain, grid)
        else:
            terms = self.ground.terms(level.depth, share, gain)
            self.combine(ADD, level.edges_of(v), below, node.budget, terms, leaf, grid[0])
            self.ground.guard(self.ground.scored)
        return self._gather(grid[0], node.budget)

    def leaf_counts(self, node: Node, leaf: int) -> bool:
        """Whether a single leaf is one of the trees of a node."""
        i, stands = self.instance, not node.is_root or self.instance.leaf_allowed
        return stands and leaf >= 0 and i.unit * leaf + i.price <= node.budget

    def combine(
        self,
        asked: int,
        edges: np.ndarray,
        below: Cells,
        budget: int,
        terms: Terms,
        leaf: int,
        grid: np.ndarray = NO_GRID[0],
        outside: np.ndarray = NO_OUTSIDE,
        n_shapes: int = 1,
        tally: Tally | None = None,
    ) -> Tally:
        """Go through the trees of one node; see `combine`."""
        count = combine
        if grid.dtype == object:  # of which only Python knows the arithmetic
            count, edges = getattr(combine, "py_func", combine), edges.astype(object)
        place, tally = self.instance.thresholds.place, NO_TALLY if tally is None else tally
        return count(
            asked, edges, below, budget, terms, leaf, grid, outside, place, n_shapes, tally
        )

    def _gather(self, grid: np.ndarray, budget: int) -> tuple:
        """Cells of a grid that hold trees, by cost: errors, leaves, costs, counts; clears it."""
        i, values = self.instance, self.ground.values
        n_errors = int(np.searchsorted(values, budget // i.unit, side="right"))
        row, errors = np.nonzero(grid[:, :n_errors, 0])
        costs = i.unit * values[errors] + i.price * (row + 1)
        order = np.argsort(costs, kind="stable")
        row, errors = row[order], errors[order]
        counts = grid[row, errors]
        grid[row, errors] = 0
        return errors, row + 1, costs[order], counts

    def _count_roots(self, counted: Counted, share: np.ndarray) -> None:
        """Fill `counted.roots`: the trees of the whole set by root column."""
        top, roots = self.levels[0], counted.roots
        node, leaf = top.nodes[0], int(top.leaf_errors[0])
        if self.leaf_counts(node, leaf):
            roots[-1] = {(leaf, 1): [1] * share.shape[1]}
        if top.depth <= BOTTOM:
            grid = self._grid(top.depth, share, max(1, self.instance.table.n_columns))
            self.ground.count(node, share, counted.gain, grid)
            found = ((column, self._gather(part, node.budget)) for column, part in enumerate(grid))
            roots |= {column: self._named(cells) for column, cells in found if len(cells[0])}
            return
        grid, cells = self._grid(top.depth, share), counted.cells[0]
        terms = self.ground.terms(top.depth, share, counted.gain)
        place = self.instance.thresholds.place[top.edges[:, 0]]
        for column in np.unique(place):
            edges = top.edges[place == column]
            self.combine(ADD, edges, cells, node.budget, terms, leaf, grid[0])
            roots[int(column)] = self._named(self._gather(grid[0], node.budget))

    def _named(self, gathered: tuple) -> dict[tuple[int, int], list[int]]:
        errors, leaves, _, counts = gathered
        return {
            (int(self.ground.values[e]), int(size)): [int(c) for c in vector]
            for e, size, vector in zip(errors, leaves, counts, strict=True)
        }


def _stack(parts: list[tuple], n_variants: int) -> Cells:
    """Join the cells of the nodes of a level."""
    nothing = np.zeros(0, np.int64)
    parts = parts or [(nothing, nothing, nothing, np.zeros((0, n_variants)))]
    start = np.concatenate([[0], np.cumsum([len(part[0]) for part in parts])]).astype(np.int64)
    errors, leaves, costs, counts = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Cells(start, errors, leaves, costs, errors, counts)


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
        level._replace(counts=np.column_stack(
            [level.counts[:, :1], *(part.cells[k].counts[:, 1:] for part in parts)]
        ))
        for k, level in enumerate(first.cells)
    )  # fmt: skip
    return replace(first, allow=allow, cells=cells, roots=roots)
