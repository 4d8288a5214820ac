"""Inequalities over the variables of a tree model, without any solver or modelling package.

Variables are numbered in one flat order, node by node::

    branch[m, f]   1 if branch node m tests feature f           (b in the papers)
    mass[m]        sum of branch[m, f] over f: m is a branch node
    leaf[m]        1 if node m is a leaf                          (p)
    label[m, k]    1 if leaf m predicts class k                   (w)
    hit[h]         1 if pattern `pattern[h]` gets class `target[h]`  (theta)

A *pattern* is a group of rows with equal features; a *hit* is a pattern with a class.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

from octcore.program import Cuts


@dataclass(frozen=True, eq=False)
class TreeLayout:
    """Sizes and flat positions of the variables."""

    depth: int
    n_features: int
    n_classes: int
    n_hits: int

    @cached_property
    def n_branch(self) -> int:
        """Number of branch nodes; they are numbered 1 to `n_branch`."""
        return 2**self.depth - 1

    @cached_property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return 2 ** (self.depth + 1) - 1

    @cached_property
    def mass_start(self) -> int:
        """First mass."""
        return self.n_branch * self.n_features

    @cached_property
    def leaf_start(self) -> int:
        """First leaf."""
        return self.mass_start + self.n_branch

    @cached_property
    def label_start(self) -> int:
        """First label."""
        return self.leaf_start + self.n_nodes

    @cached_property
    def hit_start(self) -> int:
        """First hit."""
        return self.label_start + self.n_nodes * self.n_classes

    @cached_property
    def n_variables(self) -> int:
        """Number of variables."""
        return self.hit_start + self.n_hits

    def branch(self, node: Any, feature: Any) -> Any:
        """Position of ``branch[node, feature]``."""
        return (node - 1) * self.n_features + feature

    def mass(self, node: Any) -> Any:
        """Position of ``mass[node]``."""
        return self.mass_start + node - 1

    def leaf(self, node: Any) -> Any:
        """Position of ``leaf[node]``."""
        return self.leaf_start + node - 1

    def label(self, node: Any, k: Any) -> Any:
        """Position of ``label[node, k]``."""
        return self.label_start + (node - 1) * self.n_classes + k

    def hit(self, h: Any) -> Any:
        """Position of ``hit[h]``."""
        return self.hit_start + h

    def height(self, node: int) -> int:
        """Levels below a node."""
        return self.depth - node.bit_length() + 1

    def below(self, node: int, skip: int = 0) -> np.ndarray:
        """Nodes of the full subtree at a node, level by level, without the first levels."""
        levels = range(skip, self.height(node) + 1)
        return np.array([m for k in levels for m in range(node << k, (node + 1) << k)], np.int64)


@dataclass(frozen=True, eq=False)
class TreePoint:
    """Values of the variables."""

    layout: TreeLayout
    flat: np.ndarray  # values in flat order, shape ``(n_variables,)``

    @cached_property
    def branch(self) -> np.ndarray:
        """Shape ``(n_branch, n_features)``."""
        size = self.layout
        return self.flat[: size.mass_start].reshape(size.n_branch, size.n_features)

    @cached_property
    def mass(self) -> np.ndarray:
        """Shape ``(n_branch,)``."""
        return self.flat[self.layout.mass_start : self.layout.leaf_start]

    @cached_property
    def leaf(self) -> np.ndarray:
        """Shape ``(n_nodes,)``."""
        return self.flat[self.layout.leaf_start : self.layout.label_start]

    @cached_property
    def label(self) -> np.ndarray:
        """Shape ``(n_nodes, n_classes)``."""
        size = self.layout
        return self.flat[size.label_start : size.hit_start].reshape(size.n_nodes, size.n_classes)

    @cached_property
    def hit(self) -> np.ndarray:
        """Shape ``(n_hits,)``."""
        return self.flat[self.layout.hit_start :]


@dataclass(frozen=True, eq=False)
class Instance:
    """The rows a tree model is about."""

    X: np.ndarray  # features of the patterns, uint8, shape ``(n_patterns, n_features)``
    pattern: np.ndarray
    target: np.ndarray  # `pattern`, `target`: pattern and class of every hit, shape ``(n_hits,)``
    weight: np.ndarray  # weight of every hit in the objective, shape ``(n_hits,)``
    n_classes: int
    sample: np.ndarray  # a training row of every pattern, for pictures, shape ``(n_patterns,)``
    feature: np.ndarray
    """Encoded column of every feature, for pictures and trees, shape ``(n_features,)``."""

    def layout(self, depth: int) -> TreeLayout:
        """Variables of a model of a depth."""
        return TreeLayout(depth, self.X.shape[1], self.n_classes, len(self.pattern))

    @cached_property
    def is_one(self) -> np.ndarray:
        """Boolean features of the hits, shape ``(n_hits, n_features)``."""
        return self.X.astype(bool)[self.pattern]

    @cached_property
    def values(self) -> np.ndarray:
        """Features of the patterns as floats."""
        return self.X.astype(np.float64)


@dataclass
class RowBuilder:
    """Collects rows entry by entry; entries of one position add up."""

    layout: TreeLayout
    rhs: list[float] = field(default_factory=list)  # right-hand sides of the rows that are open
    pictures: list[Mapping[str, Any]] = field(default_factory=list)
    _rows: list[np.ndarray] = field(default_factory=list)
    _columns: list[np.ndarray] = field(default_factory=list)
    _values: list[np.ndarray] = field(default_factory=list)

    def add(self, rows: Any, columns: Any, values: Any) -> None:
        """Add entries; arguments broadcast against each other."""
        r, c, v = np.broadcast_arrays(rows, columns, np.asarray(values, float))
        self._rows.append(r.ravel())
        self._columns.append(c.ravel())
        self._values.append(v.ravel())

    def open_row(self, rhs: float) -> int:
        """Open one row and return its number."""
        self.rhs.append(float(rhs))
        return len(self.rhs) - 1

    def finish(self, kind: str, life: int | None) -> list[Cuts]:
        """All rows, over the variables in flat order, as one family; empty if there are none."""
        if not self.rhs:
            return []
        shape = (len(self.rhs), self.layout.n_variables)
        entries = (
            np.concatenate(self._values),
            (np.concatenate(self._rows), np.concatenate(self._columns)),
        )
        matrix = csr_matrix(entries, shape=shape)
        matrix.eliminate_zeros()
        return [Cuts(kind, matrix, np.array(self.rhs), life, tuple(self.pictures))]
