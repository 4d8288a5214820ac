"""From a problem of the package to the question of the exact search, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from octcore.formulations.shared.univariate import UnivariateObjective
from octcore.parameters import Flag
from octcore.program import Problem
from octcore.search.univariate.question import Answer, Question
from octcore.search.univariate.search import answer

EXACT_ROOT_VALUES = Flag(
    "exact_root_values",
    False,
    "V_f",
    "Go on until the value of every root feature is exact, not only an upper bound.",
)


def question_of(
    problem: Problem, objective: UnivariateObjective, bare: bool = False, **settings: Any
) -> Question:
    """Ask the search about the rows and the side constraints of a problem.

    Parameters
    ----------
    problem : Problem
        Rows, weights, depth, and the constraints that hold for every subtree or its root.
    objective : UnivariateObjective
        Price of a leaf.
    bare : bool
        Whether all side constraints are left out; they only remove trees.
    **settings
        Other fields of `Question`, instead of what the problem says.
    """
    all_roots = bool(problem.params.get(EXACT_ROOT_VALUES.name))
    asked: dict[str, Any] = {
        "X": problem.X,
        "y": problem.y,
        "n_classes": problem.n_classes,
        "depth": problem.depth,
        "leaf_penalty": objective.leaf_price,
        "weights": problem.weights,
        "counts": None if problem.copies is None else problem.counts,
        "all_roots": all_roots and not bare,
    }
    return Question(**asked | ({} if bare else _limits(problem)) | settings)


def _limits(problem: Problem) -> dict[str, Any]:
    """Side constraints in the terms of the search."""
    wanted = problem.constraints
    roots = None
    if wanted.root_feature is not None:
        raw = problem.context.raw_index(wanted.root_feature)
        roots = tuple(int(j) for j in np.flatnonzero(problem.groups == raw))
    return {
        "min_samples_leaf": wanted.min_samples_leaf or 1,
        "max_leaves": wanted.leaf_limit,
        "forbidden": problem.forbidden_columns,
        "roots": roots,
    }


def guarded_answer(asked: Question, guard: Callable[[], None], seconds: float) -> Answer:
    """Search for a time; an interruption is raised after the search has ended."""
    caught: list[Exception] = []

    def cancel() -> bool:
        try:
            guard()
        except Exception as error:
            caught.append(error)
        return bool(caught)

    found = answer(asked, cancel=cancel, time_limit=seconds)
    if caught:
        raise caught[0]
    return found
