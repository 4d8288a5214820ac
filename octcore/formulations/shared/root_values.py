"""Strengthening a model by exact search: start, value row, fixing of features.

A short exact search without the global side constraints gives ``V_f``, an upper bound on the
objective of every tree that tests column f at the root, and ``V_leaf``.  Side constraints only
remove trees, so the bounds hold with any of them::

    objective <= sum_f V_f b[1, f] + V_leaf (1 - sum_f b[1, f])        (value row)

With L the objective of a known tree that keeps all side constraints::

    b[1, f] = 0                                  where V_f < L             (feature fixing)

Ties are kept, for only strictly worse trees are cut off.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyomo.environ as pyo

from octcore.formulations.shared.question import guarded_answer, question_of
from octcore.formulations.shared.univariate import UnivariateObjective
from octcore.parameters import Flag
from octcore.program import Problem, root_record
from octcore.tree.tree import Tree
from octcore.warmstart.greedy import greedy_starts

FEATURE_FIXING = Flag(
    "feature_fixing",
    default=False,
    symbol="V(f)",
    help="Ours: exclude root features whose exact value is below a known tree.",
)
STRENGTHENING = (
    Flag("search_start", default=False, help="Ours: start from the tree of an exact search."),
    Flag(
        "value_row",
        default=False,
        symbol="V(f)",
        help="Ours: bound the objective by the exact value of every root feature; the proof is "
        "then shared between search and mixed-integer programming.",
    ),
    FEATURE_FIXING,
)
SEARCH_SECONDS = 10.0  # a search supports the model and must leave time for it
SLACK = 1e-7  # added to values so that rounding never cuts off an optimal tree; far below one row


def is_wanted(problem: Problem) -> bool:
    """Whether any switch needs the search."""
    return any(problem.params[flag.name] for flag in STRENGTHENING)


def proof_method(problem: Problem) -> str:
    """What proves the bound: the search takes part where its values enter the model."""
    shared = problem.params["value_row"] or problem.params["feature_fixing"]
    return "mip+path-search" if shared else "mip"


class RootValues:
    """Values of the root features and the best tree that is known."""

    def __init__(
        self, problem: Problem, objective: UnivariateObjective, guard: Callable[[], None]
    ) -> None:
        self.problem, self.objective = problem, objective
        self.excluded: frozenset[int] | None = None
        """Columns that the root does not test, where that was asked for."""
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
        # What is asked without a limit of the whole tree bounds the trees that keep it.
        is_whole = self.problem.constraints.active <= {"min_samples_leaf", "forbidden_features"}
        record = root_record(self.values, self.exact & is_whole)
        if self.excluded is None:
            return record
        return record | {"fixing": {"root_features": len(self.excluded)}}

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
        self.fix(b, F, (t for _, t in greedy_starts(self.problem, self.objective.penalty)))
        if params["value_row"]:
            has_tree = [f for f in F if np.isfinite(self.values[f])]
            for f in set(F) - set(has_tree):
                b[1, f].fix(0)
            gained = pyo.quicksum(
                (float(self.values[f]) - self.leaf_value) * b[1, f] for f in has_tree
            )
            model.value_row = pyo.Constraint(
                expr=value <= self.leaf_value + SLACK + gained,
                doc="(ours) objective <= sum_f V_f b_1f + V_leaf p_1",
            )

    def fix(self, b: Any, F: Sequence[int], trees: Iterable[Tree]) -> None:
        """Exclude root features that cannot beat the best of some trees, if that is asked for.

        `trees`: known trees beside the one of the search.
        """
        if not self.problem.params["feature_fixing"]:
            return
        values = [self.objective.evaluate(tree) for tree in (*trees, self.tree) if tree is not None]
        known = max((value for value in values if value is not None), default=-np.inf)
        self.excluded = frozenset(f for f in F if self.values[f] < known - SLACK)
        # Bounds, not fixed variables: the columns of the model keep their places.
        for f in self.excluded:
            b[1, f].setub(0)
