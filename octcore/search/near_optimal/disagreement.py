"""How many near-optimal trees give a row which class: weights pushed from the root down.

The weight of a cell of a node is the number of ways to complete a tree around a subtree with that
cell.  A leaf then predicts its class, for its rows, in as many trees as its weight says.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from octcore.search.near_optimal.counting import Counted, Counter
from octcore.search.near_optimal.lane_kernels import SHARES


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
    allow = np.ascontiguousarray(counted.allow[:, :1], float)
    outside = np.zeros(0)
    for k, level in enumerate(levels):
        below = counted.cells[k] if k < len(counted.cells) else None
        following = np.zeros(0 if below is None else len(below.errors))
        if below is not None:
            below = below._replace(counts=below.counts[:, :1].astype(float))
        for v, node in enumerate(level.nodes):
            if k:
                here = counted.cells[k - 1]
                part = here.of(v)
                weights[:] = 0.0
                weights[here.leaves[part] - 1, here.errors[part]] = outside[part]
            if not weights.any():
                continue
            leaf = int(level.leaf_errors[v])
            if counter.leaf_counts(node, leaf):
                label = int(ground.weights(node.rows)[0].argmax())
                shares[ground.mask(node.rows), label] += weights[0, number[leaf]]
            if below is None:
                ground.add_shares(node, allow, counted.gain, weights, shares)
                continue
            terms, grid = ground.terms(level.depth, allow, counted.gain), weights[:, :, None]
            counter.combine(
                SHARES, level.edges_of(v), below, node.budget, terms, leaf, grid, following
            )
        outside = following
    return shares[ground.lines]
