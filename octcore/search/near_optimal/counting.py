"""Numbers of trees by errors and leaves, from the bottom of the graph up.

Counts are vectors over *variants*, sets of columns that a tree may use: from the trees that do
without a feature follow those that use it, and from several variants by inclusion and exclusion
those that use all features of a list.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import floor

import numpy as np

from octcore.search.near_optimal.graph import BOTTOM, LeastCosts, Level
from octcore.search.near_optimal.instance import Instance, Work
from octcore.search.near_optimal.kernels import IMPOSSIBLE, combine, count_below, gather

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
        Whether a variant may use a column, shape ``(n_columns, n_variants)``.
    values, number : numpy.ndarray
        Errors by number, and number by errors.
    cells : tuple of Cells
        By level, the root last computed but first here.
    roots : mapping of int to mapping
        Trees of the whole set by root column (-1 for the single leaf), then by (errors, leaves):
        lists of Python integers by variant.
    """

    allow: np.ndarray
    values: np.ndarray
    number: np.ndarray
    cells: tuple[Cells, ...]
    roots: dict[int, dict[tuple[int, int], list[int]]] = field(default_factory=dict)


def error_numbers(instance: Instance, budget: int) -> tuple[np.ndarray, np.ndarray]:
    """Sums of row weights within a budget, and their numbers by value."""
    most = min(max(budget, 0) // instance.unit, instance.total)
    reached = np.zeros(most + 1, bool)
    reached[0] = True
    for weight in np.unique(instance.weight[instance.weight > 0]):
        padded = np.zeros(-(-(most + 1) // weight) * weight, bool)
        padded[: most + 1] = reached
        sums = np.logical_or.accumulate(padded.reshape(-1, weight), axis=0)
        reached = sums.ravel()[: most + 1]
    values = np.flatnonzero(reached).astype(np.int64)
    number = np.full(most + 1, -1, np.int64)
    number[values] = np.arange(len(values))
    return values, number


class Counter:
    """Counts the trees of a graph for some variants.

    Parameters
    ----------
    costs : LeastCosts
        The instance, its scratch, and the guard.
    levels : list of Level
        The graph, the root first.
    """

    def __init__(self, costs: LeastCosts, levels: list[Level]) -> None:
        self.costs = costs
        self.levels = levels
        self.instance: Instance = costs.instance
        self.budget = int(levels[0].budgets[0])
        self.values, self.number = error_numbers(self.instance, self.budget)

    def count(self, allow: np.ndarray) -> Counted:
        """Count the trees of every variant.

        Parameters
        ----------
        allow : ndarray of shape (n_columns, n_variants), bool
            Columns that a variant may use; variant 0 allows what any of them allows.
        """
        n_grid = self.instance.most_leaves(self.instance.depth) * len(self.values) * 8
        most = max(2, GRID_BYTES // n_grid)
        if allow.shape[1] <= most:
            return self._count(allow)
        parts = [
            self._count(np.column_stack([allow[:, 0], allow[:, first : first + most - 1]]))
            for first in range(1, allow.shape[1], most - 1)
        ]
        return _joined(parts, allow)

    def _count(self, allow: np.ndarray) -> Counted:
        share = np.ascontiguousarray(allow, float)
        cells: list[Cells] = []
        for level in reversed(self.levels[1:]):
            node_cells = self._bottom if level.depth <= BOTTOM else self._upper
            below = cells[0] if cells else None
            parts = [node_cells(level, v, share, below) for v in _nodes(level)]
            cells.insert(0, _stack(parts, allow.shape[1]))
        counted = Counted(allow, self.values, self.number, tuple(cells))
        self._count_roots(counted, share)
        total = sum(c[0] for by_cell in counted.roots.values() for c in by_cell.values())
        if total < EXACT:
            return counted
        exact = self._exactly(counted)
        self._count_roots(exact, share)
        return exact

    def _grid(self, n_variants: int, depth: int) -> np.ndarray:
        return np.zeros((self.instance.most_leaves(depth), len(self.values), n_variants))

    def _errors_within(self, budget: int) -> int:
        return int(np.searchsorted(self.values, budget // self.instance.unit, side="right"))

    def scratch(self, n_variants: int) -> Work:
        """Scratch of the kernels with room for the counts of options."""
        n = len(self.values)
        return self.costs.work._replace(
            options=np.zeros((2, n, n_variants)), seen=np.zeros((2, n), np.int64)
        )

    def _bottom(self, level: Level, node: int, share: np.ndarray, below: Cells | None) -> tuple:
        """Cells of a node of depth two or less; all allowed trees."""
        del below
        if node == 0:
            self._work, self._table = self.scratch(share.shape[1]), self._grid(share.shape[1], 2)
        i = self.instance
        n_active, leaf = self.costs.scan(
            level.subsets[node], level.depth, True, level.columns[node]
        )
        budget = int(level.budgets[node])
        count_below(
            self._work, n_active, leaf, i.unit, i.price, level.depth, budget, self.values,
            self.number, share, 0, n_active, self._table,
        )  # fmt: skip
        return self._gather(budget)

    def _upper(self, level: Level, node: int, share: np.ndarray, below: Cells | None) -> tuple:
        """Cells of a deeper node from those of its children."""
        assert below is not None
        if node == 0:
            self._table = self._grid(share.shape[1], level.depth)
        i, budget, leaf = self.instance, int(level.budgets[node]), int(level.leaf_errors[node])
        if leaf < IMPOSSIBLE and i.unit * leaf + i.price <= budget:
            self._table[0, self.number[leaf]] += 1.0
        self._combine(level.edges_of(node), below, budget, share)
        self.costs.guard(self.costs.scored)
        return self._gather(budget)

    def _combine(self, edges: np.ndarray, below: Cells, budget: int, share: np.ndarray) -> None:
        combine(
            edges, below.start, below.errors, below.leaves, below.costs, below.counts, budget,
            self.values, self.number, share, self._table,
        )  # fmt: skip

    def _gather(self, budget: int) -> tuple:
        i, n_errors = self.instance, self._errors_within(budget)
        return gather(self._table, n_errors, self.values, i.unit, i.price)

    def _count_roots(self, counted: Counted, share: np.ndarray) -> None:
        """Fill `counted.roots`: the trees of the whole set by root column."""
        top, i = self.levels[0], self.instance
        roots = counted.roots
        leaf = int(top.leaf_errors[0])
        if i.leaf_allowed and leaf < IMPOSSIBLE and i.unit * leaf + i.price <= self.budget:
            roots[-1] = {(leaf, 1): [1] * share.shape[1]}
        self._table = self._grid(share.shape[1], max(2, top.depth))
        if top.depth <= BOTTOM:
            self._shallow_roots(counted, share)
            return
        for edge in top.edges:
            if counted.cells[0].counts.dtype == object:
                roots[int(edge[0])] = self._exact_edge(edge, counted, self.budget)
                continue
            self._combine(edge[None, :], counted.cells[0], self.budget, share)
            roots[int(edge[0])] = self._named(self._gather(self.budget))

    def _shallow_roots(self, counted: Counted, share: np.ndarray) -> None:
        i, work = self.instance, self.scratch(share.shape[1])
        depth = self.levels[0].depth
        n_active, _ = self.costs.scan(self.levels[0].subsets[0], depth, keep=True)
        for position in np.flatnonzero(i.roots[work.active[:n_active]]):
            # Without the single leaf, which belongs to no root: it is taken out again.
            count_below(
                work, n_active, IMPOSSIBLE, i.unit, i.price, depth, self.budget, self.values,
                self.number, share, int(position), int(position) + 1, self._table,
            )  # fmt: skip
            found = self._named(self._gather(self.budget))
            counted.roots[int(work.active[position])] = found

    def _named(self, gathered: tuple) -> dict[tuple[int, int], list[int]]:
        errors, leaves, _, counts = gathered
        return {
            (int(self.values[e]), int(size)): [int(c) for c in vector]
            for e, size, vector in zip(errors, leaves, counts, strict=True)
        }

    def _exactly(self, counted: Counted) -> Counted:
        """Count the upper levels again in Python's integers; the bottom counts are exact."""
        cells = list(counted.cells)
        cells[-1] = _as_integers(cells[-1])
        for k in range(len(cells) - 2, -1, -1):
            level = self.levels[k + 1]
            lower = Counted(counted.allow, self.values, self.number, (cells[k + 1],))
            parts = [self._exact_node(level, v, lower) for v in _nodes(level)]
            cells[k] = _stack(parts, counted.allow.shape[1])
        return Counted(counted.allow, self.values, self.number, tuple(cells))

    def _exact_node(self, level: Level, node: int, lower: Counted) -> tuple:
        i, budget, leaf = self.instance, int(level.budgets[node]), int(level.leaf_errors[node])
        found: dict[tuple[int, int], list[int]] = {}
        if leaf < IMPOSSIBLE and i.unit * leaf + i.price <= budget:
            found[leaf, 1] = [1] * lower.allow.shape[1]
        for edge in level.edges_of(node):
            for cell, counts in self._exact_edge(edge, lower, budget).items():
                known = found.setdefault(cell, [0] * len(counts))
                found[cell] = [a + b for a, b in zip(known, counts, strict=True)]
        ordered = sorted((i.unit * e + i.price * size, size, e) for e, size in found)
        counts = np.empty((len(ordered), lower.allow.shape[1]), object)
        for k, (_, size, e) in enumerate(ordered):
            counts[k] = found[e, size]
        errors = np.array([self.number[e] for _, _, e in ordered], np.int64)
        leaves = np.array([size for _, size, _ in ordered], np.int64)
        return errors, leaves, np.array([c for c, _, _ in ordered], np.int64), counts

    def _exact_edge(
        self, edge: np.ndarray, lower: Counted, budget: int
    ) -> dict[tuple[int, int], list[int]]:
        """Trees with one split at the top, in Python's integers."""
        below, found = lower.cells[0], {}
        root = [int(a) for a in lower.allow[edge[0]]]
        left, right = below.of(int(edge[1])), below.of(int(edge[2]))
        if not root[0]:
            return found
        for a in range(left.start, left.stop):
            for b in range(right.start, right.stop):
                if below.costs[a] + below.costs[b] > budget:
                    break
                errors = int(self.values[below.errors[a]] + self.values[below.errors[b]])
                cell = (errors, int(below.leaves[a] + below.leaves[b]))
                known = found.setdefault(cell, [0] * len(root))
                for v, allowed in enumerate(root):
                    known[v] += allowed * int(below.counts[a, v]) * int(below.counts[b, v])
        return found


def exact_budget(instance: Instance, optimum: Fraction) -> int:
    """Scaled budget of the trees within the tolerance of an optimal cost; never too small."""
    return floor((optimum + instance.reach) * instance.unit)


def _nodes(level: Level) -> range:
    return range(len(level.subsets))


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
    return Counted(allow, first.values, first.number, cells, roots)
