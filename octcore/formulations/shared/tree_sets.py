"""The index sets of a model over a perfect tree that tests one column per branch node.

=======  ============================================================================
I        groups of identical training rows
K        classes
B, L     branch nodes 1 .. 2^D - 1 and terminal nodes 2^D .. 2^(D+1) - 1;  N = B u L
columns  encoded columns that have a variable: F or J of the papers
=======  ============================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from octcore.tree import topology
from octcore.tree.tree import Tree


@dataclass(frozen=True, eq=False)
class TreeSets:
    """Sets of a model, by the letters above."""

    rows: Any
    """What the members of I stand for: `MergedRows`, or `ClassCounts` of points."""
    columns: list[int]
    """Encoded columns that a branch node may test."""
    depth: int
    n_classes: int
    """`depth`, `n_classes`: size of the tree and of K."""

    @property
    def I(self) -> range:  # noqa: E743 - the letter of the papers
        """Groups of identical rows."""
        return range(len(self.rows))

    @property
    def K(self) -> range:
        """Classes."""
        return range(self.n_classes)

    @property
    def B(self) -> range:
        """Branch nodes."""
        return topology.branch_nodes(self.depth)

    @property
    def L(self) -> range:
        """Terminal nodes."""
        return topology.terminal_nodes(self.depth)

    @property
    def N(self) -> range:
        """All nodes."""
        return topology.all_nodes(self.depth)

    @property
    def steps(self) -> list[tuple[int, int, int]]:
        """``(t, m, side)`` for every ancestor m of a terminal t; side 0 is left."""
        return [(t, m, child % 2) for t in self.L for m, child in topology.path(t)]

    def terminals_below(self, m: int, side: int) -> range:
        """Terminal nodes below one side of a branch node."""
        return topology.terminals_below(2 * m + side, self.depth)

    def tests_of(self, tree: Tree) -> np.ndarray:
        """Which column a node of a tree tests, as ones: shape ``(len(B), len(columns))``."""
        tests = np.zeros((len(self.B), len(self.columns)))
        place = {column: j for j, column in enumerate(self.columns)}
        for node, split in tree.splits.items():
            tests[node - 1, place[split.features[0]]] = 1.0
        return tests

    def tested_columns(self, tests: np.ndarray) -> dict[int, int]:
        """Column by branch node that tests one; the inverse of `tests_of` on fractions too."""
        return {
            m: self.columns[int(tests[m - 1].argmax())] for m in self.B if tests[m - 1].sum() > 0.5
        }
