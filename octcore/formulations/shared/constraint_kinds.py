"""Which side constraints need what of a model; read by searches, too, so without Pyomo."""

import math
from collections.abc import Iterable

import numpy as np

from octcore.errors import SettingsError
from octcore.program import Problem
from octcore.tree.constraints import BY_SUBTREE, FAIRNESS, TOLERANCE

STRUCTURAL = frozenset(
    {
        "max_leaves",
        "max_splits",
        "max_features",
        "forbidden_features",
        "forbidden_pairs",
        "root_feature",
        "feature_once_per_path",
        "class_weight",
    }
)
"""Constraints that rows over `b` (and weights in the objective) express."""
ROUTED = frozenset({"min_samples_leaf", *FAIRNESS})  # constraints that need full routing
PREDICTION = frozenset(ROUTED - {"min_samples_leaf"} | {"min_recall"})
"""Constraints on predictions: leaf labels may not be changed afterwards."""

ALL = STRUCTURAL | ROUTED | PREDICTION  # what a model with one column per split can express
OF_COLUMNS = frozenset({"max_features", "forbidden_pairs", "feature_once_per_path", "monotone"})
"""Constraints that look at which columns are tested where."""
BY_ORDER = ALL | {"monotone"}
"""What can be tested on a whole tree, when trees come in the order of their cost."""


def recall_floors(problem: Problem) -> dict[int, int]:
    """Smallest number of rows that must be classified correctly, by class index.

    As `violations` counts: a share that misses the floor by `TOLERANCE` keeps it.
    """
    found = {}
    for label, share in (problem.constraints.min_recall or {}).items():
        k = problem.context.class_index(label)
        found[k] = math.ceil((share - TOLERANCE) * np.count_nonzero(problem.context.y == k))
    return found


def refuse_coupled(active: Iterable[str], what: str) -> None:
    """Refuse side constraints that tie subtrees together.

    Raises `SettingsError` with a sentence that begins with `what`.
    """
    for name in sorted(set(active) - BY_SUBTREE):
        message = f"{what} under {name}, which ties the subtrees together; leave it out."
        raise SettingsError("CONSTRAINT_NOT_EXPRESSIBLE", message, name)


def needs_routing(problem: Problem) -> bool:
    """Whether a constraint concerns all rows, not only those classified correctly."""
    return bool(problem.constraints.active & ROUTED)


def fixes_labels(problem: Problem) -> bool:
    """Whether a constraint concerns predictions, so that leaf labels are part of the solution."""
    return bool(problem.constraints.active & PREDICTION)
