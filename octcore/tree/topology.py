"""Node numbers of binary trees: root 1, children of m are 2m and 2m + 1."""

import itertools


def branch_nodes(depth: int) -> range:
    """Branch nodes of the perfect tree of a depth, breadth first."""
    return range(1, 2**depth)


def terminal_nodes(depth: int) -> range:
    """Terminal nodes of the perfect tree of a depth."""
    return range(2**depth, 2 ** (depth + 1))


def all_nodes(depth: int) -> range:
    """All nodes of the perfect tree of a depth, breadth first."""
    return range(1, 2 ** (depth + 1))


def node_depth(node: int) -> int:
    """Depth of a node; the root has depth 0."""
    return node.bit_length() - 1


def parent(node: int) -> int:
    """Parent of a node; 0 for the root."""
    return node // 2


def children(node: int) -> tuple[int, int]:
    """Left and right child of a node."""
    return 2 * node, 2 * node + 1


def ancestors(node: int) -> tuple[int, ...]:
    """Proper ancestors of a node, root first."""
    return tuple(node >> shift for shift in range(node_depth(node), 0, -1))


def path(node: int) -> tuple[tuple[int, int], ...]:
    """Steps ``(ancestor, child)`` from the root to a node."""
    steps = [node >> shift for shift in range(node_depth(node), -1, -1)]
    return tuple(itertools.pairwise(steps))


def terminals_below(node: int, depth: int) -> range:
    """Terminal nodes of the perfect tree of a depth below (or equal to) a node."""
    levels = depth - node_depth(node)
    return range(node << levels, (node + 1) << levels)
