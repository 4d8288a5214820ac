"""Numbers of trees by errors and leaves, from the bottom of the graph up, and what they predict.

Counts are vectors over *variants*, sets of columns that a tree may use: from the trees that do
without a feature follow those that use it, and from several variants by inclusion and exclusion
those that use all features of a list.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from octcore.search.near_optimal.combining import (
    ADD,
    SHARES,
    Cells,
    Tally,
    Terms,
    combine,
    make_tally,
)
from octcore.search.near_optimal.graph import Level
from octcore.search.near_optimal.ground import BOTTOM, NO_GRID, Ground, Node

EXACT = 2.0**53
"""Sums of whole numbers are exact in doubles up to here; beyond, Python's integers count."""
GRID_BYTES = 1 << 26
"""Size of a table of counts; more variants are counted in several passes."""
NO_OUTSIDE, NO_TALLY = np.zeros(0), make_tally()


class Counted(NamedTuple):
    """A counted graph.

    allow : (n_thresholds, n_variants) whether a variant may use a threshold
    gain : whether only trees count in which every split lowers the errors
    cells : by level, the root first; at the root, the first cells are those of the single leaf,
        the others those of the trees with a column of the table at the root
    """

    allow: np.ndarray
    gain: bool
    cells: tuple[Cells, ...]


class TreeGraph:
    """All near-optimal trees as a graph of row subsets; counts the trees for some variants.

    `ground`: the rows, and the trees of depth two.
    `levels`: the graph, the root first.
    `everything`: the counts where every column may be used.
    `optimum`: least cost of an allowed tree, in integer weight units.
    """

    def __init__(self, ground: Ground, levels: list[Level]) -> None:
        self.ground, self.instance, self.levels = ground, ground.instance, levels
        self.everything = self.count(ground.every > 0, False)
        most, root = self.instance.question.leaf_limit, self.everything.cells[0]
        costs = zip(ground.values[root.errors].tolist(), root.leaves.tolist(), strict=True)
        self.optimum = min(self.instance.cost(*cell) for cell in costs if cell[1] <= most)

    def count(self, allow: np.ndarray, gain: bool) -> Counted:
        """Count the trees of every variant.

        `allow`: (n_thresholds, n_variants) bool, thresholds that a variant may use; variant 0
            allows what any of them allows.
        `gain`: whether every split has to lower the errors.
        """
        instance = self.instance
        places = max(1, instance.table.n_columns) if self.levels[0].depth <= BOTTOM else 1
        leaves = instance.most_leaves(instance.question.depth)
        n_grid = places * leaves * len(self.ground.values) * 8
        most = max(2, GRID_BYTES // max(1, n_grid))
        # The first variant is in all passes: its counts say which cells there are.
        parts = [
            self._count(np.column_stack([allow[:, 0], allow[:, first : first + most - 1]]), gain)
            for first in range(1, max(2, allow.shape[1]), most - 1)
        ]
        cells = tuple(
            level._replace(counts=np.column_stack(
                [level.counts[:, :1], *(part[k].counts[:, 1:] for part in parts)]
            ))
            for k, level in enumerate(parts[0])
        )  # fmt: skip
        return Counted(allow, gain, cells)

    def _count(self, allow: np.ndarray, gain: bool) -> list[Cells]:
        cells = self._count_levels(np.ascontiguousarray(allow, float), gain, [])
        if cells[0].counts[:, 0].sum() < EXACT or len(cells) == 1:
            return cells
        # Above the bottom, whose counts are exact, once more with Python's integers.
        bottom = cells[-1]._replace(counts=cells[-1].counts.astype(np.int64).astype(object))
        return self._count_levels(allow.astype(np.int64).astype(object), gain, [bottom])

    def _count_levels(self, share: np.ndarray, gain: bool, cells: list[Cells]) -> list[Cells]:
        """Count from the lowest level on that has no cells yet."""
        for level in reversed(self.levels[: len(self.levels) - len(cells)]):
            parts = list(self._cells(level, share, gain, cells[0] if cells else None))
            nothing = np.zeros(0, np.int64)
            columns = zip(*parts or [(nothing, nothing, nothing, share[:0])], strict=True)
            start = np.cumsum([0, *(len(part[0]) for part in parts)])
            errors, leaves, costs, counts = map(np.concatenate, columns)
            cells = [Cells(start, errors, leaves, costs, errors, counts), *cells]
        return cells

    def _cells(
        self, level: Level, share: np.ndarray, gain: bool, below: Cells | None
    ) -> Iterator[tuple[np.ndarray, ...]]:
        """Cells of every node of a level, found by the ground or from those of its children."""
        ground, n_columns = self.ground, max(1, self.ground.n_columns)
        terms = ground.terms(level.depth, share, gain)
        is_root = level is self.levels[0]
        places = n_columns if is_root and below is None else 1
        size = self.instance.most_leaves(max(BOTTOM, level.depth)), len(ground.values)
        grid = np.zeros((places, *size, share.shape[1]), share.dtype)
        for v, node in enumerate(level.nodes):
            leaf, edges = int(level.leaf_errors[v]), level.edges_of(v)
            parts = [edges]
            if self.leaf_counts(node, leaf):
                grid[0, 0, ground.number[leaf]] += 1
            if is_root:
                yield self._gather(grid[0], node.budget)
                column = terms.place[edges[:, 0]]
                parts = np.split(edges, np.searchsorted(column, np.arange(1, n_columns)))
            if below is None:
                ground.count(node, leaf, share, gain, grid)
                yield from (self._gather(part, node.budget) for part in grid)
                continue
            for part in parts:
                self.combine(ADD, part, below, node.budget, terms, leaf, grid[0])
                yield self._gather(grid[0], node.budget)
            ground.guard(ground.scored)

    def leaf_counts(self, node: Node, leaf: int) -> bool:
        """Whether a single leaf is one of the trees of a node."""
        i = self.instance
        stands = not node.is_root or i.question.roots is None  # a required root is a split
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
        tally: Tally = NO_TALLY,
    ) -> Tally:
        """Go through the trees of one node; see `combine`."""
        count = combine
        if grid.dtype == object:  # of which only Python knows the arithmetic
            count, edges = getattr(combine, "py_func", combine), edges.astype(object)
        return count(asked, edges, below, budget, terms, leaf, grid, outside, n_shapes, tally)

    def _gather(self, grid: np.ndarray, budget: int) -> tuple[np.ndarray, ...]:
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

    def class_shares(self, counted: Counted, admits: Callable[[int, int], bool]) -> np.ndarray:
        """Number of trees by row and predicted class, shape ``(n_samples, n_classes)``.

        The weight of a cell of a node is the number of ways to complete a tree around a subtree
        with that cell; weights are pushed from the root down.  A leaf then predicts its class, for
        its rows, in as many trees as its weight says.

        `counted`: variant 0 is asked for.
        `admits`: ``admits(errors, leaves)``: which cells of the whole set count.
        Returns (n_samples, n_classes) in doubles; shares are exact to about 15 digits.
        """
        ground, instance = self.ground, self.instance
        shares = np.zeros((ground.n_rows, instance.question.n_classes))
        leaves = max(4, instance.most_leaves(instance.question.depth))
        weights = np.zeros((leaves, len(ground.values), 1))
        allow = np.ascontiguousarray(counted.allow[:, :1], float)
        root = counted.cells[0]
        asked = zip(ground.values[root.errors].tolist(), root.leaves.tolist(), strict=True)
        outside = np.array([float(admits(*cell)) for cell in asked])
        for k, level in enumerate(self.levels):
            here, terms = counted.cells[k], ground.terms(level.depth, allow, counted.gain)
            below = counted.cells[k + 1] if level.depth > BOTTOM else None
            following = np.zeros(0 if below is None else len(below.errors))
            if below is not None:
                below = below._replace(counts=below.counts[:, :1].astype(float))
            for v, node in enumerate(level.nodes):
                part, leaf = here.of(v) if k else slice(None), int(level.leaf_errors[v])
                weights[:] = 0.0
                weights[here.leaves[part] - 1, here.errors[part], 0] = outside[part]
                if not weights.any():
                    continue
                if self.leaf_counts(node, leaf):
                    label = int(ground.weights(node.rows)[0].argmax())
                    shares[ground.mask(node.rows), label] += weights[0, ground.number[leaf], 0]
                if below is None:
                    grid = weights[None]
                    ground.solve(node, SHARES, allow, counted.gain, grid=grid, shares=shares)
                else:
                    edges, budget = level.edges_of(v), node.budget
                    self.combine(SHARES, edges, below, budget, terms, leaf, weights, following)
            outside = following
        return shares[ground.lines]
