"""What models over a perfect tree share: index sets, merged rows, equations about the tree.

=======  ============================================================================
I        groups of identical training rows
K        classes
B, L     branch nodes 1 .. 2^D - 1 and terminal nodes 2^D .. 2^(D+1) - 1;  N = B u L
columns  encoded columns that have a variable: F or J of the papers
=======  ============================================================================

OCT, its binary form and BinOCT write the equations in letters of their own, so the caller passes
the variables and the equation as it stands in the paper.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyomo.environ as pyo
from pyomo.core.expr.numeric_expr import LinearExpression

from octcore.data.distinct import distinct_rows
from octcore.tree import topology
from octcore.tree.tree import Tree


@dataclass(frozen=True, eq=False)
class TreeSets:
    """Sets of a model, by the letters above."""

    rows: Any  # what the members of I stand for: `MergedRows`, or `ClassCounts` of points
    columns: list[int]  # encoded columns that a branch node may test
    depth: int
    n_classes: int  # `depth`, `n_classes`: size of the tree and of K

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


@dataclass(frozen=True, eq=False)
class MergedRows:
    """Distinct rows with multiplicities."""

    X: np.ndarray  # shape ``(n_groups, n_features)``
    y: np.ndarray  # class of every group, shape ``(n_groups,)``
    weights: np.ndarray  # sum of the weights, shape ``(n_groups,)``
    counts: np.ndarray  # number of original rows, shape ``(n_groups,)``
    group_of: np.ndarray  # group of every original row, shape ``(n_samples,)``

    def __len__(self) -> int:
        return len(self.y)

    @cached_property
    def signs(self) -> np.ndarray:
        """-1 and +1 for the two classes 0 and 1, shape ``(n_groups,)``."""
        return np.where(self.y > 0, 1.0, -1.0)


def merge_rows(
    X: np.ndarray, y: np.ndarray, weights: np.ndarray, counts: np.ndarray | None = None
) -> MergedRows:
    """Merge rows that agree in all columns and in the class; each counts one by default."""
    first, group_of = distinct_rows(X, y)
    sums, numbers = (np.bincount(group_of, own, len(first)) for own in (weights, counts))
    return MergedRows(X[first], y[first], sums, numbers.astype(np.int64), group_of)


def linear(coefficients: Sequence[float], variables: Sequence[Any]) -> LinearExpression:
    """Make ``sum_j c_j x_j`` without operator overloading: half the time of ``quicksum``."""
    return LinearExpression(
        constant=0.0, linear_coefs=list(coefficients), linear_vars=list(variables)
    )


def paired(*terms: tuple[float, Any]) -> LinearExpression:
    """Make the sum of coefficients times their variables."""
    return linear(*zip(*terms, strict=True))


def score(
    model: Any, x: np.ndarray, t: int, *more: tuple[float, Any], sign: float = 1.0
) -> LinearExpression:
    """Make the score ``w_t.x + b_t`` of a row, times a sign, and more terms beside it."""
    own = [(sign * float(x[j]), model.w[t, j]) for j in np.flatnonzero(x).tolist()]
    return paired(*own, (sign, model.b[t]), *more)


def add_tested_column(model: Any, sets: TreeSets, tests: Any, splits: Any, doc: str) -> None:
    """A branch node that splits tests one column: ``sum_f b[m, f] = d[m]``."""

    @model.Constraint(sets.B, doc=doc)
    def one_column(_, m):
        return pyo.quicksum(tests[m, f] for f in sets.columns) - splits[m] == 0


def add_split_below_split(model: Any, sets: TreeSets, splits: Any, doc: str) -> None:
    """Nothing splits below a leaf: ``d[m] <= d[parent of m]``."""
    model.split_below_split = pyo.Constraint(
        sets.B[1:], rule=lambda _, m: splits[m] <= splits[m // 2], doc=doc
    )


def add_right_without_split(model: Any, sets: TreeSets, ends: Any, splits: Any, doc: str) -> None:
    """Without a split all rows go right: ``z[i, t] <= d[m]`` where t lies left of m."""

    @model.Constraint(sets.I, [(t, m) for t, m, side in sets.steps if side == 0], doc=doc)
    def right_without_split(_, i, t, m):
        return None, linear((1.0, -1.0), (ends[i, t], splits[m])), 0.0


def add_one_terminal(model: Any, sets: TreeSets, ends: Any, doc: str) -> None:
    """Every row ends at one terminal node: ``sum_t z[i, t] = 1``."""
    ones = [1.0] * len(sets.L)
    model.one_terminal = pyo.Constraint(
        sets.I, rule=lambda _, i: (1.0, linear(ones, [ends[i, t] for t in sets.L]), 1.0), doc=doc
    )


def add_one_label(
    model: Any, sets: TreeSets, labels: Any, doc: str, used: Any | None = None
) -> None:
    """A terminal node predicts one class, none if unused: ``sum_k c[t, k] = 1`` or ``l[t]``."""

    @model.Constraint(sets.L, doc=doc)
    def one_label(_, t):
        return pyo.quicksum(labels[t, k] for k in sets.K) == (1 if used is None else used[t])


def add_within(
    model: Any, name: str, values: Any, most: Callable[..., Any], docs: tuple[str, str]
) -> None:
    """``v <= most`` and ``-v <= most`` for all members v, as ``NAME_above`` and ``NAME_below``.

    `most`: what a member, by its index, is limited by.
    """
    for side, sign, doc in zip(("above", "below"), (1.0, -1.0), docs, strict=True):
        rows = pyo.Constraint(
            values.index_set(),
            rule=lambda _, *at, sign=sign: sign * values[at] <= most(*at),
            doc=doc,
        )
        model.add_component(f"{name}_{side}", rows)
