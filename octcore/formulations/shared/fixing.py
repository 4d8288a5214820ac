"""Fixing by exact search: features that cannot be in a tree better than a known one.

``V_f`` bounds the objective of every tree that tests column f at the root, and ``V_fsg`` that of
every tree whose root tests f and whose child on side s tests g; both are the values of exact
searches on the rows that arrive there, summed over the two sides.  With L the objective of a known
tree that keeps all side constraints::

    b[1, f] = 0                                  where V_f < L             (feature fixing)
    b[1, f] + sum_{g in G} b[2 + s, g] <= 1      G = {g: V_fsg < L}        (pair fixing)
    b[2 + s, g] = 0                              where g is in G of every f that is left

Side constraints only remove trees, so values without them are bounds with them: no switch or
constraint makes the rows invalid.  Ties are kept, for only strictly worse trees are cut off.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyomo.environ as pyo

from octcore.formulations.shared.question import guarded_answer, question_below, question_of
from octcore.formulations.shared.univariate import UnivariateObjective
from octcore.parameters import Flag
from octcore.program import Problem
from octcore.tree.tree import Tree

SEARCH_SECONDS = 10.0
"""A search supports the model and must leave time for it."""
SLACK = 1e-7
"""Added to values so that rounding never cuts off an optimal tree; far below one row."""
FIXING = (
    Flag(
        "feature_fixing",
        default=False,
        symbol="V_f",
        help="Ours: exclude root features whose exact value is below a known tree.",
    ),
    Flag(
        "pair_fixing",
        default=False,
        symbol="V_{fg}",
        help="Ours: exclude pairs of a root feature and a feature below it whose exact value is "
        "below a known tree, and the root features themselves (10 seconds of search).",
    ),
)


@dataclass(frozen=True)
class Fixing:
    """What is excluded."""

    roots: frozenset[int]
    """Columns that the root does not test."""
    pairs: Mapping[tuple[int, int], frozenset[int]]
    """``(root column, side) -> columns`` that the child on side 0 (left) or 1 does not test."""
    children: tuple[frozenset[int], frozenset[int]]
    """Columns that the left and right child do not test, whatever the root."""

    @property
    def record(self) -> dict[str, int]:
        """Counts for the result."""
        return {
            "root_features": len(self.roots),
            "pairs": sum(len(below) for below in self.pairs.values()),
            "child_features": sum(len(below) for below in self.children),
        }

    def apply(self, model: Any, b: Any, columns: Sequence[int]) -> None:
        """Write bounds and rows.

        `b`: ``b[m, f]``.
        """
        # Bounds, not fixed variables: the columns of the model keep their places.
        for node, below in ((1, self.roots), (2, self.children[0]), (3, self.children[1])):
            for f in below & set(columns):
                b[node, f].setub(0)
        rows = {
            (f, side): sorted((below - self.children[side]) & set(columns))
            for (f, side), below in self.pairs.items()
            if f in columns
        }
        rows = {key: below for key, below in rows.items() if below}
        model.pair_fixing = pyo.Constraint(
            list(rows),
            rule=lambda _, f, s: b[1, f] + pyo.quicksum(b[2 + s, g] for g in rows[f, s]) <= 1,
            doc="(ours) b_1f + sum_g b_cg <= 1 for pairs that no better tree has",
        )


def best_known(objective: UnivariateObjective, trees: Iterable[Tree | None]) -> float:
    """Objective of the best tree that keeps the side constraints, minus infinity without one."""
    values = [objective.evaluate(tree) for tree in trees if tree is not None]
    return max((value for value in values if value is not None), default=-np.inf)


def find_fixing(
    problem: Problem,
    objective: UnivariateObjective,
    values: np.ndarray,
    known: float,
    columns: Sequence[int],
    guard: Callable[[], None],
) -> Fixing:
    """Say what can be excluded.

    `values`: bounds ``V_f``, shape ``(n_features,)``.
    `known`: objective of a tree that keeps the side constraints.
    """
    roots = frozenset(f for f in columns if values[f] < known - SLACK)
    left = sorted((f for f in columns if f not in roots), key=lambda f: -values[f])
    nothing: frozenset[int] = frozenset()
    pairs: dict[tuple[int, int], frozenset[int]] = {}
    if not problem.params["pair_fixing"] or problem.depth < 2:
        return Fixing(roots, pairs, (nothing, nothing))
    end = time.monotonic() + SEARCH_SECONDS
    for f in left:
        if time.monotonic() >= end:
            break
        for side, bounds in enumerate(pair_values(problem, objective, f, guard, end)):
            pairs[f, side] = frozenset(g for g in columns if bounds[g] < known - SLACK)
    children = (nothing, nothing)
    if left and len(pairs) == 2 * len(left):
        everywhere = [frozenset.intersection(*(pairs[f, side] for f in left)) for side in (0, 1)]
        children = (everywhere[0], everywhere[1])
    return Fixing(roots, pairs, children)


def pair_values(
    problem: Problem,
    objective: UnivariateObjective,
    f: int,
    guard: Callable[[], None],
    end: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Bounds on trees with column f at the root and every column at its left, its right child.

    `end`: monotonic time at which searches end with weaker bounds.
    """
    asked = question_of(problem, objective, all_roots=True)

    def side(rows: np.ndarray) -> tuple[np.ndarray, float]:
        """Count values with every column at the top of a subtree, and the best of all."""
        weight = float(problem.weights[rows].sum())
        if weight <= 0:
            # Nothing to gain: a split has two leaves at least.
            return np.full(problem.n_features, -2 * objective.penalty), -objective.penalty
        below, seconds = question_below(asked, rows, 1), max(0.0, end - time.monotonic())
        found = guarded_answer(below, guard, seconds)
        best = -np.inf if found.bound is None else found.bound
        return found.root_values * weight, best * weight

    to_objective = np.vectorize(objective.from_count, otypes=[float])
    (left, best_left), (right, best_right) = (side(problem.X[:, f] == s) for s in (0, 1))
    return to_objective(left + best_right), to_objective(right + best_left)
