"""Strengthening a model by exact search: start, value row, fixing of features.

A short exact search without the global side constraints gives ``V_f``, an upper bound on the
objective of every tree that tests column f at the root, and ``V_leaf``.  Side constraints only
remove trees, so the bounds hold with any of them::

    objective <= sum_f V_f b[1, f] + V_leaf (1 - sum_f b[1, f])        (value row)

``V_fsg`` bounds the objective of every tree whose root tests f and whose child on side s tests g:
the values of exact searches on the rows that arrive there, summed over the two sides.  With L the
objective of a known tree that keeps all side constraints::

    b[1, f] = 0                                  where V_f < L             (feature fixing)
    b[1, f] + sum_{g in G} b[2 + s, g] <= 1      G = {g: V_fsg < L}        (pair fixing)
    b[2 + s, g] = 0                              where g is in G of every f that is left

Ties are kept, for only strictly worse trees are cut off.
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
from octcore.program import Problem, root_record
from octcore.tree.tree import Tree
from octcore.warmstart.greedy import greedy_starts

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
STRENGTHENING = (
    Flag("search_start", default=False, help="Ours: start from the tree of an exact search."),
    Flag(
        "value_row",
        default=False,
        symbol="V_f",
        help="Ours: bound the objective by the exact value of every root feature; the proof is "
        "then shared between search and mixed-integer programming.",
    ),
    *FIXING,
)
SEARCH_SECONDS = 10.0
"""A search supports the model and must leave time for it."""
SLACK = 1e-7
"""Added to values so that rounding never cuts off an optimal tree; far below one row."""


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


def is_wanted(problem: Problem) -> bool:
    """Whether any switch needs the search."""
    return any(problem.params[flag.name] for flag in STRENGTHENING)


def proof_method(problem: Problem) -> str:
    """What proves the bound: the search takes part where its values enter the model."""
    shared = any(problem.params[name] for name in ("value_row", *(flag.name for flag in FIXING)))
    return "mip+path-search" if shared else "mip"


class RootValues:
    """Values of the root features and the best tree that is known."""

    def __init__(
        self, problem: Problem, objective: UnivariateObjective, guard: Callable[[], None]
    ) -> None:
        self.problem, self.objective, self.guard = problem, objective, guard
        self.fixing: Fixing | None = None
        asked = question_of(problem, objective, max_leaves=None, roots=None)
        found = guarded_answer(asked, guard, SEARCH_SECONDS)
        weight = objective.weight_right
        to_objective = np.vectorize(lambda v: objective.from_count(v * weight), otypes=[float])
        self.values = to_objective(found.root_values)
        self.exact = found.root_exact
        self.leaf_value = objective.from_count(
            np.bincount(problem.y, problem.weights).max() - objective.penalty
        )
        self.tree = found.tree

    @property
    def record(self) -> Mapping[str, Any]:
        """Plain data for the result."""
        record = root_record(self.values, self.exact, float(self.leaf_value))
        return record if self.fixing is None else record | {"fixing": self.fixing.record}

    @property
    def starts(self) -> tuple[tuple[str, Tree], ...]:
        """The tree of the search, if it is to be the start."""
        wanted = self.problem.params["search_start"]
        return (("search", self.tree),) if wanted and self.tree is not None else ()

    def strengthen(self, model: Any, b: Any, F: list[int], value: Any) -> None:
        """Add the value row and fix root features, as the switches say.

        `b`: ``b[m, f]``.
        `value`: the objective in its reported scale.
        """
        params = self.problem.params
        self.fix(model, b, F, (t for _, t in greedy_starts(self.problem, self.objective.penalty)))
        if params["value_row"]:
            gains = [
                (float(self.values[f]) - self.leaf_value, f)
                for f in F
                if np.isfinite(self.values[f])
            ]
            for f in F:
                if not np.isfinite(self.values[f]):
                    b[1, f].fix(0)
            model.value_row = pyo.Constraint(
                expr=value
                <= self.leaf_value + SLACK + pyo.quicksum(gain * b[1, f] for gain, f in gains),
                doc="(ours) objective <= sum_f V_f b_1f + V_leaf p_1",
            )

    def fix(self, model: Any, b: Any, F: Sequence[int], trees: Iterable[Tree]) -> None:
        """Exclude what cannot beat the best of some trees, as the switches say.

        `trees`: known trees beside the one of the search.
        """
        if not any(self.problem.params[flag.name] for flag in FIXING):
            return
        values = [self.objective.evaluate(tree) for tree in (*trees, self.tree) if tree is not None]
        known = max((value for value in values if value is not None), default=-np.inf)
        self.fixing = find_fixing(self.problem, self.objective, self.values, known, F, self.guard)
        self.fixing.apply(model, b, F)
