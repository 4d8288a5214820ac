"""Which subsets of rows the near-optimal trees pass through: the graph that is counted.

The subsets are collected level by level, each with the largest budget that any of its parents
leaves it; nothing else is ever counted.  What parts a subset, and the trees of depth two on it, is
found by a `Ground`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from octcore.errors import TooLargeError

if TYPE_CHECKING:
    from octcore.search.near_optimal.ground import Ground

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

    `hint` are the first thresholds of what may be at its top, None where that is not known.
    """

    rows: bytes
    depth: int
    budget: int
    is_root: bool
    hint: np.ndarray | None


class Stumps(NamedTuple):
    """Single splits of one side: errors, first threshold and number of thresholds, ascending."""

    errors: np.ndarray
    first: np.ndarray
    many: np.ndarray


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


def build_levels(ground: Ground, budget: int) -> list[Level]:
    """Collect the subsets that trees within a scaled budget pass through, the root first.

    Parameters
    ----------
    ground : Ground
    budget : int
        Largest scaled cost of a tree.
    """
    depth, rooms = ground.instance.depth, {ground.all_rows: budget}
    levels: list[Level] = []
    while True:
        nodes, leaf_errors, edges, first_edge = [], [], [], [0]
        below = _Below(ground)
        for rows, room in rooms.items():
            if depth > BOTTOM:
                for edge in ground.edges(rows, depth, room, not levels):
                    left = below.add(edge.left, room - edge.right_cost)
                    right = below.add(edge.right, room - edge.left_cost)
                    edges.append((edge.first, edge.many, left, right))
                    ground.hold(32)
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
