"""Shattering inequalities as a switch for models that route rows to leaves."""

from __future__ import annotations

from typing import Any

import numpy as np

from octcore.parameters import Flag
from octcore.program import Columns
from octcore.separation.shattering import Routing, ShatteringSeparator
from octcore.tree import topology

SHATTERING = Flag(
    "shattering_cuts",
    False,
    help="Add shattering inequalities at the root: few rows that no hyperplane divides like this.",
    advanced=True,
)
CUTS_PER_NODE = 5
ROUNDS = 10


def shattering_at_leaves(
    X: np.ndarray, routed: Any, depth: int, epsilon: float
) -> ShatteringSeparator:
    """Make the separator for a model with one binary per row and leaf.

    `routed`: ``routed[i, leaf]``, row i ends at a leaf.
    `epsilon`: gap that every split must leave, for weights of 1-norm 1.
    """
    leaves = topology.terminal_nodes(depth)

    def routing(columns: Columns) -> Routing:
        table = columns.of(routed).reshape(len(X), len(leaves))
        below = {
            child: [leaf - leaves[0] for leaf in topology.terminals_below(child, depth)]
            for child in topology.all_nodes(depth)
        }
        return {
            node: (table[:, below[2 * node]], table[:, below[2 * node + 1]])
            for node in topology.branch_nodes(depth)
        }

    return ShatteringSeparator(
        X,
        routing,
        topology.branch_nodes(depth),
        epsilon,
        CUTS_PER_NODE,
        rounds=ROUNDS,
    )
