"""Numbers of trees by errors and leaves, from the bottom of a graph up, and what they predict.

The graph has the subsets of rows that near-optimal trees pass through, level by level, each with
the largest budget that any of its parents leaves it; nothing else is ever counted.

Counts are vectors over *variants*, sets of columns that a tree may use: from the trees that do
without a feature follow those that use it, and from several variants by inclusion and exclusion
those that use all features of a list.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from octcore.errors import TooLargeError
from octcore.search.near_optimal.combining import (
    ADD,
    SHARES,
    Cells,
    combine,
    count_level,
    make_cells,
    make_tally,
)
from octcore.search.near_optimal.ground import BOTTOM, BYTES_PER_SUBSET, Ground, Node

EXACT = 2.0**53
"""Sums of whole numbers are exact in doubles up to here; beyond, Python's integers count."""
LARGEST_CELL = EXACT  # of trees of depth two, which doubles alone count
GRID_BYTES = 1 << 26  # size of a table of counts; more variants are counted in several passes
BYTES_PER_EDGE = 32  # four whole numbers in the array of a level
NO_OUTSIDE, NO_TALLY = np.zeros(0), make_tally()


@dataclass(frozen=True, eq=False)
class Level:
    """Subsets at which subtrees of one depth start."""

    depth: int  # largest depth of the subtrees
    nodes: tuple[Node, ...]  # with the largest scaled cost of a subtree as budget
    leaf_errors: np.ndarray  # (n_nodes,) errors of a leaf; -1 if it has too few rows
    edges: np.ndarray
    """(n_edges, 4) first threshold, number of thresholds, left and right node of the next level;
    none at the bottom."""
    first_edge: np.ndarray  # (n_nodes + 1,) first edge of every node

    def edges_of(self, node: int) -> np.ndarray:
        """Edges of a node, thresholds ascending."""
        return self.edges[self.first_edge[node] : self.first_edge[node + 1]]


def build_levels(ground: Ground) -> list[Level]:
    """Collect the subsets that trees within the budget pass through, the root first."""
    everything = np.packbits(np.ones(ground.n_rows, bool)).tobytes()
    levels: list[Level] = []
    rooms = {everything: ground.budget}
    deepest = ground.instance.question.depth
    for depth in range(deepest, min(BOTTOM, deepest) - 1, -1):
        hint = ground.hint if depth <= BOTTOM else lambda rows, room: None
        nodes = tuple(Node(r, depth, room, not levels, hint(r, room)) for r, room in rooms.items())
        edges: list[tuple[int, ...]] = []
        above: list[int] = []  # the node of every edge
        number: dict[bytes, int] = {}  # of the nodes below
        below: list[int] = []  # the largest room that any parent leaves them
        for v, threshold, many, sides, costs in ground.edges(nodes) if depth > BOTTOM else ():
            children = []
            for side, rest in zip(sides, costs[::-1], strict=True):
                children.append(number.setdefault(side, len(below)))
                room = nodes[v].budget - rest  # what the cheapest tree of the other side leaves
                if children[-1] == len(below):
                    below.append(room)
                    ground.hold(2 * len(side) + BYTES_PER_SUBSET)
                below[children[-1]] = max(below[children[-1]], room)
            edges.append((threshold, many, *children))
            above.append(v)
            ground.hold(BYTES_PER_EDGE)
        found = np.array(edges, np.int64).reshape(-1, 4)
        first = np.searchsorted(above, np.arange(len(nodes) + 1))
        levels.append(Level(depth, nodes, ground.leaf_errors(nodes), found, first))
        rooms = dict(zip(number, below, strict=True))
    return levels


class Counted(NamedTuple):
    """A counted graph."""

    allow: np.ndarray  # (n_thresholds, n_variants) whether a variant may use a threshold
    gain: bool  # whether only trees count in which every split lowers the errors
    cells: tuple[Cells, ...]
    """By level, the root first; at the root, the first cells are those of the single leaf, the
    others those of the trees with a column of the table at the root."""


class TreeGraph:
    """All near-optimal trees as a graph of row subsets; counts the trees for some variants.

    `levels`: the graph, the root first.
    """

    def __init__(self, ground: Ground, levels: list[Level]) -> None:
        self.ground, self.instance, self.levels = ground, ground.instance, levels
        self.everything = self.count(ground.every > 0, False)
        most, root = self.instance.question.leaf_limit, self.everything.cells[0]
        by_size = ((n, root.errors[root.leaves == n]) for n in np.unique(root.leaves).tolist())
        self.optimum = min(
            self.instance.cost(int(ground.values[errors.min()]), n)
            for n, errors in by_size
            if n <= most
        )

    def count(self, allow: np.ndarray, gain: bool) -> Counted:
        """Count the trees of every variant; variant 0 allows what any of them allows.

        `allow`: (n_thresholds, n_variants) bool, thresholds that a variant may use.
        `gain`: whether every split has to lower the errors.
        """
        instance = self.instance
        places = max(1, instance.table.n_columns) if self.levels[0].depth <= BOTTOM else 1
        leaves = instance.most_leaves(instance.question.depth)
        most = max(2, GRID_BYTES // max(1, places * leaves * len(self.ground.values) * 8))
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
        share, cells = np.ascontiguousarray(allow, float), list[Cells]()
        for level in reversed(self.levels):
            cells.insert(0, self._count_level(level, share, gain, cells[0] if cells else None))
        # What a node counts and any tree uses is no more than the root counts, nor is a variant.
        if cells[0].counts[:, 0].sum() < EXACT:
            return cells
        if cells[-1].counts.max(initial=0.0) >= LARGEST_CELL:
            message = "There are too many good trees of depth two to be counted exactly; take a "
            raise TooLargeError("TOO_MANY_TREES", message + "smaller tolerance.", {})
        return cells if len(cells) == 1 else self._count_exactly(cells, allow, gain)

    def _count_level(
        self, level: Level, share: np.ndarray, gain: bool, below: Cells | None
    ) -> Cells:
        """Cells of the nodes of a level, found by the ground or from those of their children."""
        ground, is_root = self.ground, level is self.levels[0]
        columns = max(1, ground.n_columns) if is_root else 0
        cells = make_cells(columns + len(level.nodes), share.shape[1])
        grid = self._grid(level, columns if below is None else 1, share)
        first, *parts = self._parts(level)
        terms = ground.terms(level.depth, share, gain)
        if below is None:
            cells = ground.count(level.nodes, level.leaf_errors, parts[-1], terms, grid, cells)
        else:
            size = np.diff(below.start)
            work = int(size[level.edges[:, 2]] @ size[level.edges[:, 3]]) * share.shape[1]
            asked = first, level.edges, *parts, below, terms, grid[0], cells
            cells = ground.run(work, lambda: count_level(*asked))
        n = int(cells.start[-1])
        return Cells(cells.start, *(column[:n] for column in cells[1:]))

    def _count_exactly(self, cells: list[Cells], allow: np.ndarray, gain: bool) -> list[Cells]:
        """The same above the bottom, whose counts are exact, with Python's integers."""
        share = allow.astype(np.int64).astype(object)  # of which only Python knows the arithmetic
        add, below = getattr(combine, "py_func", combine), cells[-1]
        found = [below._replace(counts=below.counts.astype(np.int64).astype(object))]
        for level, known in zip(self.levels[-2::-1], cells[-2::-1], strict=True):
            terms, counts = self.ground.terms(level.depth, share, gain), known.counts.astype(object)
            grid = self._grid(level, 1, share)[0]
            first, *parts = self._parts(level)
            by_node = zip(*(part.tolist() for part in parts), strict=True)
            for v, (budget, leaf, stands) in enumerate(by_node):
                if stands:
                    grid[0, self.ground.number[leaf]] += 1
                edges = level.edges[first[v] : first[v + 1]].astype(object)
                add(ADD, edges, found[0], budget, terms, leaf, grid, NO_OUTSIDE, 1, NO_TALLY)
                own = known.of(v)
                counts[own] = grid[known.leaves[own] - 1, known.errors[own]]
                grid[:] = 0
                self.ground.guard(self.ground.scored)
            found.insert(0, known._replace(counts=counts))
        return found

    def _grid(self, level: Level, places: int, share: np.ndarray) -> np.ndarray:
        """Room for counts by leaves, errors and variant."""
        size = self.instance.most_leaves(max(BOTTOM, level.depth)), len(self.ground.values)
        return np.zeros((max(1, places), *size, share.shape[1]), share.dtype)

    def _parts(self, level: Level) -> tuple[np.ndarray, ...]:
        """First edges, budgets, errors of a leaf, and whether it counts, by node.

        The root is a leaf, and then a node for every column at the top.
        """
        budgets = np.array([node.budget for node in level.nodes], np.int64)
        leaves, first = level.leaf_errors, level.first_edge
        stands = np.array(list(map(self.leaf_counts, level.nodes, leaves.tolist())), bool)
        if level is self.levels[0] and level.depth > BOTTOM:
            n, column = max(1, self.ground.n_columns), self.instance.thresholds.place
            by_column = np.searchsorted(column[level.edges[:, 0]], np.arange(n + 1))
            first, stands = np.append(0, by_column), np.append(stands, np.zeros(n, bool))
            budgets, leaves = budgets.repeat(n + 1), leaves.repeat(n + 1)
        return first, budgets, leaves, stands

    def leaf_counts(self, node: Node, leaf: int) -> bool:
        """Whether a single leaf is one of the trees of a node."""
        i = self.instance
        stands = not node.is_root or i.question.roots is None  # a required root is a split
        return stands and leaf >= 0 and i.unit * leaf + i.price <= node.budget

    def class_shares(self, counted: Counted, admits: Callable[[int, int], bool]) -> np.ndarray:
        """Number of trees by row and predicted class, (n_samples, n_classes), to about 15 digits.

        The weight of a cell of a node is the number of ways to complete a tree around a subtree
        with that cell; weights are pushed from the root down.  A leaf then predicts its class, for
        its rows, in as many trees as its weight says.

        `counted`: variant 0 is asked for.
        `admits`: ``admits(errors, leaves)``: which cells of the whole set count.
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
                    label = int(ground.weights(node.rows).argmax())
                    shares[ground.mask(node.rows), label] += weights[0, ground.number[leaf], 0]
                if below is None:
                    grid = weights[None]
                    ground.solve(node, SHARES, allow, counted.gain, grid=grid, shares=shares)
                else:
                    edges, budget = level.edges_of(v), node.budget
                    combine(
                        SHARES, edges, below, budget, terms, leaf, weights, following, 1, NO_TALLY
                    )  # fmt: skip
            outside = following
        return shares[ground.lines]
