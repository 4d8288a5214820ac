"""Which subsets of rows the near-optimal trees pass through: the graph that is counted.

The subsets are collected level by level, each with the largest budget that any of its parents
leaves it; nothing else is ever counted.  What parts a subset, and the trees of depth two on it, is
found in two ways behind one contract (`Ground`): by pairs of 0/1 columns, or along sorted columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from octcore.errors import TooLargeError
from octcore.search.near_optimal.instance import Instance

BYTES_PER_SUBSET = 400
"""A stored subset with its dictionary entry and cells, measured; words and edges come on top."""
MEMORY = 700_000_000
"""Bytes that the search may hold; the process stays below one gigabyte with them."""
GUARD_EVERY = 64
"""Scored subsets between two looks at the clock."""
BOTTOM = 2
"""Depth at which the kernels count trees without a graph."""


class Edge(NamedTuple):
    """Neighbouring thresholds that part a subset alike, with what is left of the budget."""

    first: int
    many: int
    """`first`, `many`: number of the first threshold, and how many they are."""
    left: bytes
    right: bytes
    """`left`, `right`: the rows of both sides."""
    left_cost: int
    right_cost: int
    """`left_cost`, `right_cost`: least scaled cost of a subtree."""


class Node(NamedTuple):
    """A subset at which subtrees start.

    `hint` is what the ground knows of it, to be quicker when it is looked at again.
    """

    rows: bytes
    depth: int
    budget: int
    is_root: bool
    hint: Any


class Stumps(NamedTuple):
    """Single splits of one side: errors, first threshold and number of thresholds, ascending."""

    errors: np.ndarray
    first: np.ndarray
    many: np.ndarray


class Tops(Protocol):
    """The splits at the top of a node of depth two or less, in order.

    Parameters
    ----------
    first, many : ndarray of shape (n,)
        Thresholds, as those of an `Edge`.
    leaf : ndarray of shape (2, n)
        Errors of a leaf on both sides.
    low : ndarray of shape (n,)
        Lower bound on the scaled cost of a tree.
    """

    first: np.ndarray
    many: np.ndarray
    leaf: np.ndarray
    low: np.ndarray

    @property
    def nbytes(self) -> int:
        """Size of what is held."""
        ...

    def stumps(self, top: int) -> tuple[Stumps, Stumps]:
        """Splits on both sides of a top that some tree within the budget has."""
        ...

    def tally(self, cell: tuple[int, int], share: np.ndarray, gain: bool) -> np.ndarray:
        """Trees with some errors and leaves by top and variant, shape ``(n, n_variants)``."""
        ...


class Ground(Protocol):
    """Subsets of rows: what parts them, and their trees of depth two or less.

    Parameters
    ----------
    instance : Instance
    values, number : ndarray
        Errors by number, and number by errors; see `error_numbers`.
    n_lines : int
        Lines of shares.
    scored : int
        Subsets looked at so far.
    guard : callable
        ``guard(done)`` raises when the search must stop.
    """

    instance: Instance
    values: np.ndarray
    number: np.ndarray
    scored: int
    guard: Callable[[int], None]

    @property
    def all_rows(self) -> bytes:
        """The subset of all rows."""
        ...

    def sides(self, rows: bytes, threshold: int) -> tuple[bytes, bytes]:
        """Rows on both sides of a threshold."""
        ...

    def weights(self, rows: bytes) -> tuple[np.ndarray, int]:
        """Weight by class, shape ``(n_classes,)``, and the number of rows as leaf sizes count."""
        ...

    @property
    def n_lines(self) -> int:
        """Lines of shares."""
        ...

    def set_budget(self, budget: int) -> None:
        """Take over the largest scaled cost of a tree."""
        ...

    def edges(self, rows: bytes, depth: int, budget: int, is_root: bool) -> list[Edge]:
        """Splits, with subtrees of depth two or more on both sides, within a budget, in order."""
        ...

    def hint(self, rows: bytes) -> Any:
        """What to keep of a bottom node."""
        ...

    def count(
        self, node: Node, share: np.ndarray, gain: bool, grid: np.ndarray, by_column: bool = False
    ) -> None:
        """Add the trees with a split at the top to ``grid[column or 0, leaves - 1, errors]``.

        Parameters
        ----------
        node : Node
            Of depth two or less.
        share : ndarray of shape (n_thresholds, n_variants), float64
            1 where a variant may use a threshold; what variant 0 may not use, none may.
        gain : bool
            Whether every split has to lower the errors.
        by_column : bool
            Whether trees are told apart by the column of the table at their root.
        """
        ...

    def tops(self, node: Node) -> Tops:
        """The splits at the top of a node of depth two or less."""
        ...

    def add_shares(
        self, node: Node, share: np.ndarray, gain: bool, weights: np.ndarray, shares: np.ndarray
    ) -> None:
        """Add to ``shares[row, class]`` what the trees with a split at the top predict.

        Parameters
        ----------
        weights : ndarray of shape (leaves, n_errors)
            How often every tree of a cell counts.
        """
        ...

    def shapes(self, node: Node, gain: bool) -> tuple[np.ndarray, np.ndarray]:
        """Trees with a split at the top by shape and errors: keys (see `walk_shapes`), counts."""
        ...

    def mask(self, rows: bytes) -> np.ndarray:
        """Which of the lines of `shares` a subset is, boolean."""
        ...

    def of_samples(self, shares: np.ndarray) -> np.ndarray:
        """Lines of shares by training row."""
        ...

    def forget(self) -> None:
        """Drop what only the search needs."""
        ...


class Held:
    """Accounts for the memory and the time of a search.

    Parameters
    ----------
    guard : callable
    """

    def __init__(self, guard: Callable[[int], None]) -> None:
        self.guard = guard
        self.scored = 0
        self.stored_bytes = 0

    def look_at_clock(self) -> None:
        """Count a subset that was looked at."""
        self.scored += 1
        if self.scored % GUARD_EVERY == 0:
            self.guard(self.scored)

    def hold(self, size: int) -> None:
        """Account for memory.

        Raises
        ------
        TooLargeError
            Beyond `MEMORY`.
        """
        self.stored_bytes += size
        if self.stored_bytes > MEMORY:
            raise TooLargeError(
                "TOO_MANY_SUBSETS",
                f"The near-optimal trees pass through more subsets of rows than fit into "
                f"{MEMORY / 1e9:.1f} GB; take a smaller tolerance, a larger leaf penalty or a "
                "smaller depth.",
                {"bytes": float(self.stored_bytes)},
            )


@dataclass(frozen=True, eq=False)
class Level:
    """Subsets at which subtrees of one depth start.

    Parameters
    ----------
    depth : int
        Largest depth of the subtrees.
    nodes : tuple of Node
        With the largest scaled cost of a subtree as budget.
    leaf_errors : numpy.ndarray
        Errors of a leaf, shape ``(n_nodes,)``; -1 if it has too few rows.
    edges : numpy.ndarray
        First threshold, number of thresholds, left and right node of the next level, shape
        ``(n_edges, 4)``; empty at the bottom.
    first_edge : numpy.ndarray
        First edge of every node, shape ``(n_nodes + 1,)``.
    """

    depth: int
    nodes: tuple[Node, ...]
    leaf_errors: np.ndarray
    edges: np.ndarray
    first_edge: np.ndarray

    def edges_of(self, node: int) -> np.ndarray:
        """Edges of a node, thresholds ascending."""
        return self.edges[self.first_edge[node] : self.first_edge[node + 1]]


class _Below:
    """Nodes of the next level, by subset, with the largest room that any parent leaves them."""

    def __init__(self, held: Held) -> None:
        self.held = held
        self.number: dict[bytes, int] = {}
        self.rooms: list[int] = []

    def add(self, rows: bytes, room: int) -> int:
        """Number of the node."""
        node = self.number.setdefault(rows, len(self.rooms))
        if node == len(self.rooms):
            self.rooms.append(room)
            self.held.hold(2 * len(rows) + BYTES_PER_SUBSET)
        self.rooms[node] = max(self.rooms[node], room)
        return node


def build_levels(ground: Ground, held: Held, budget: int) -> list[Level]:
    """Collect the subsets that trees within a scaled budget pass through, the root first.

    Parameters
    ----------
    ground : Ground
    held : Held
        Accounts for the memory.
    budget : int
        Largest scaled cost of a tree.
    """
    depth, rooms = ground.instance.depth, {ground.all_rows: budget}
    levels: list[Level] = []
    while True:
        nodes, leaf_errors, edges, first_edge = [], [], [], [0]
        below = _Below(held)
        for rows, room in rooms.items():
            if depth > BOTTOM:
                for edge in ground.edges(rows, depth, room, not levels):
                    left = below.add(edge.left, room - edge.right_cost)
                    right = below.add(edge.right, room - edge.left_cost)
                    edges.append((edge.first, edge.many, left, right))
                    held.hold(32)
            leaf_errors.append(_leaf_errors(ground, rows))
            first_edge.append(len(edges))
            hint = ground.hint(rows) if depth <= BOTTOM else None
            nodes.append(Node(rows, depth, room, not levels, hint))
        levels.append(
            Level(
                depth,
                tuple(nodes),
                np.array(leaf_errors, np.int64),
                np.array(edges, np.int64).reshape(-1, 4),
                np.array(first_edge, np.int64),
            )
        )
        if depth <= BOTTOM:
            return levels
        depth -= 1
        rooms = dict(zip(below.number, below.rooms, strict=True))


def _leaf_errors(ground: Ground, rows: bytes) -> int:
    weight, n_rows = ground.weights(rows)
    return int(weight.sum() - weight.max()) if n_rows >= ground.instance.least else -1
