"""Which subsets of rows the near-optimal trees pass through: the graph that is counted.

The subsets are collected level by level, each with the largest budget that any of its parents
leaves it; nothing else is ever counted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from octcore.search.near_optimal.ground import BOTTOM, BYTES_PER_SUBSET, Ground, Node

BYTES_PER_EDGE = 32


@dataclass(frozen=True, eq=False)
class Level:
    """Subsets at which subtrees of one depth start.

    `depth`: largest depth of the subtrees.
    `nodes`: with the largest scaled cost of a subtree as budget.
    `leaf_errors`: errors of a leaf, shape ``(n_nodes,)``; -1 if it has too few rows.
    `edges`: first threshold, number of thresholds, left and right node of the next level, shape
        ``(n_edges, 4)``; empty at the bottom.
    `first_edge`: first edge of every node, shape ``(n_nodes + 1,)``.
    """

    depth: int
    nodes: tuple[Node, ...]
    leaf_errors: np.ndarray
    edges: np.ndarray
    first_edge: np.ndarray

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
        nodes = tuple(
            Node(rows, depth, room, not levels, ground.hint(rows) if depth <= BOTTOM else None)
            for rows, room in rooms.items()
        )
        edges: list[tuple[int, ...]] = []
        above: list[int] = []  # the node of every edge
        number: dict[bytes, int] = {}  # of the nodes below
        below: list[int] = []  # the largest room that any parent leaves them
        for v, first, many, sides, costs in ground.edges(nodes) if depth > BOTTOM else ():
            children = []
            for side, rest in zip(sides, costs[::-1], strict=True):
                children.append(number.setdefault(side, len(below)))
                room = nodes[v].budget - rest
                if children[-1] == len(below):
                    below.append(room)
                    ground.hold(2 * len(side) + BYTES_PER_SUBSET)
                below[children[-1]] = max(below[children[-1]], room)
            edges.append((first, many, *children))
            above.append(v)
            ground.hold(BYTES_PER_EDGE)
        levels.append(
            Level(
                depth,
                nodes,
                ground.leaf_errors(nodes),
                np.array(edges, np.int64).reshape(-1, 4),
                np.searchsorted(above, np.arange(len(nodes) + 1)),
            )
        )
        rooms = dict(zip(number, below, strict=True))
    return levels
