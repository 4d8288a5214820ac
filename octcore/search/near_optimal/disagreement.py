"""How many near-optimal trees give a row which class: weights pushed from the root down.

The weight of a cell of a node is the number of ways to complete a tree around a subtree with that
cell.  A leaf then predicts its class, for its rows, in as many trees as its weight says.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from octcore.kernels import kernel
from octcore.search.near_optimal.counting import Cells, Counted, Counter
from octcore.search.near_optimal.graph import Level


@kernel()
def _push(
    edges, start, errors, leaves, costs, counts, budget, values, number, allow, gain, leaf,
    weights, outside,
):  # fmt: skip
    """Add to `outside` of the children's cells the weights ``[leaves - 1, errors]`` of a node."""
    for k in range(len(edges)):
        left, right = edges[k, 2], edges[k, 3]
        if allow[edges[k, 0], 0] == 0.0:
            continue
        for a in range(start[left], start[left + 1]):
            for b in range(start[right], start[right + 1]):
                if costs[a] + costs[b] > budget:
                    break
                e = number[values[errors[a]] + values[errors[b]]]
                if gain and leaves[a] + leaves[b] == 2 and values[e] >= leaf:
                    continue
                weight = edges[k, 1] * weights[leaves[a] + leaves[b] - 1, e]
                outside[a] += weight * counts[b, 0]
                outside[b] += weight * counts[a, 0]


def class_shares(
    counter: Counter, counted: Counted, admits: Callable[[int, int], bool]
) -> np.ndarray:
    """Number of trees by row and predicted class.

    Parameters
    ----------
    counter : Counter
        The graph.
    counted : Counted
        Its counts; variant 0 is asked for.
    admits : callable
        ``admits(errors, leaves)``: which cells of the whole set count.

    Returns
    -------
    ndarray of shape (n_samples, n_classes)
        In doubles; shares are exact to about 15 digits.
    """
    ground, levels = counter.ground, counter.levels
    instance, number = ground.instance, ground.number
    shares = np.zeros((ground.n_rows, instance.question.n_classes))
    weights = np.zeros((max(4, instance.most_leaves(instance.depth)), len(ground.values)))
    for errors, leaves in {cell for by_cell in counted.roots.values() for cell in by_cell}:
        weights[leaves - 1, number[errors]] = float(admits(errors, leaves))
    outside = np.zeros(0)
    for k, level in enumerate(levels):
        below = counted.cells[k] if k < len(counted.cells) else None
        following = np.zeros(0 if below is None else len(below.errors))
        pusher = _Pusher(counter, counted, below, following, shares)
        for v in range(len(level.nodes)):
            if k:
                here = counted.cells[k - 1]
                part = here.of(v)
                weights[:] = 0.0
                weights[here.leaves[part] - 1, here.errors[part]] = outside[part]
            if weights.any():
                pusher.node(level, v, weights)
        outside = following
    return shares[ground.lines]


class _Pusher:
    """Pushes the weights of the nodes of one level to the next, and predicts with leaves."""

    def __init__(
        self,
        counter: Counter,
        counted: Counted,
        below: Cells | None,
        outside: np.ndarray,
        shares: np.ndarray,
    ) -> None:
        self.counter, self.counted, self.below = counter, counted, below
        self.outside, self.shares = outside, shares
        self.allow = np.ascontiguousarray(counted.allow[:, :1], float)
        if below is not None:
            self.counts = np.ascontiguousarray(below.counts[:, :1], float)

    def node(self, level: Level, v: int, weights: np.ndarray) -> None:
        """Handle one node whose cells have weights ``[leaves - 1, errors]``."""
        node, leaf, ground = level.nodes[v], int(level.leaf_errors[v]), self.counter.ground
        if self.counter.leaf_counts(node, leaf):
            amount = weights[0, ground.number[leaf]]
            label = int(ground.weights(node.rows)[0].argmax())
            self.shares[ground.mask(node.rows), label] += amount
        gain, b = self.counted.gain, self.below
        if b is None:
            ground.add_shares(node, self.allow, gain, weights, self.shares)
            return
        _push(
            level.edges_of(v), b.start, b.errors, b.leaves, b.costs, self.counts, node.budget,
            ground.values, ground.number, self.allow, gain, leaf, weights, self.outside,
        )  # fmt: skip
