"""Tiny problems with every side constraint, and their optima by enumeration."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from octcore.formulations.base import get_formulation
from octcore.formulations.shared.univariate import UnivariateObjective
from octcore.program import Problem, Sense
from octcore.tree.tree import Tree
from tests.brute import best_objective, make_problem, random_rows, run
from tests.enumeration import best_by_leaves
from tests.stages import later

SEED = 20240
TOLERANCE = 1e-9
"""Objectives are recomputed by routing: only the order of sums differs."""

CONSTRAINTS = {
    "max_leaves": {"max_leaves": 2},
    "max_splits": {"max_splits": 1},
    "min_samples_leaf": {"min_samples_leaf": 4},
    "max_features": {"max_features": 1},
    "forbidden_features": {"forbidden_features": ["f0"]},
    "forbidden_pairs": {"forbidden_pairs": [["f0", "f3"], ["f0", "f1"]]},
    "root_feature": {"root_feature": "f2"},
    "feature_once_per_path": {"feature_once_per_path": True},
    "min_recall": {"min_recall": {0: 1.0}},
    "statistical_parity": {"statistical_parity": {"attribute": "g", "max_gap": 0.05}},
    "equal_opportunity": {"equal_opportunity": {"attribute": "g", "max_gap": 0.1}},
    "predictive_equality": {"predictive_equality": {"attribute": "g", "max_gap": 0.05}},
    "equalized_odds": {"equalized_odds": {"attribute": "g", "max_gap": 0.2}},
    "conditional_parity": {"conditional_parity": {"attribute": "g", "max_gap": 0.2, "given": "s"}},
    "several": {"max_leaves": 3, "min_samples_leaf": 3, "max_features": 2},
}
_SLOW = ("statistical_parity", "predictive_equality", "equalized_odds", "conditional_parity")


def staged(names: Iterable[str]) -> list[Any]:
    """Names for a test's parameter; most constraints on groups come in the second stage."""
    return [later(name)[0] if name in _SLOW else name for name in names]


def constrained_problem(
    name: str, seed: int, formulation: str = "flow-oct", **params: float
) -> Problem:
    """Rows with two raw features behind four columns (two each where pairs must repeat)."""
    rng = np.random.default_rng(seed)
    X, y = random_rows(rng, 12, 4, 2)
    groups = np.array([0, 0, 1, 1]) if name == "feature_once_per_path" else np.arange(4)
    attributes = {"g": X[:, 0].astype(int), "s": rng.integers(0, 2, len(y))}
    return make_problem(
        X, y, 2, 2, params, CONSTRAINTS[name], attributes=attributes, groups=groups,
        formulation=formulation,
    )  # fmt: skip


def optimum(problem: Problem) -> float:
    """Largest objective over every number of leaves, by recursion over rows."""
    objective = UnivariateObjective(problem)
    found = best_by_leaves(problem.X, problem.y, problem.n_classes, problem.depth, problem.weights)
    return max(objective.from_count(hits - objective.penalty * m) for m, (hits, _) in found.items())


def check_against_enumeration(problem: Problem, formulation: str) -> float | None:
    """Solve, compare with all trees one by one, return the optimum; None if there is no tree."""
    program = get_formulation(formulation).build(problem)
    sign = 1.0 if program.sense is Sense.MAXIMISE else -1.0

    def value(tree: Tree) -> float | None:
        objective = program.evaluate(tree)
        return None if objective is None else sign * objective

    best = best_objective(problem, value)
    outcome, recorder, events = run(problem, formulation)
    if best is None:
        assert outcome.stop_reason == "infeasible"
        return None
    assert outcome.stop_reason == "optimal"
    assert not [event for event in events if event.kind == "note"]
    assert recorder.objective == pytest.approx(sign * best, abs=TOLERANCE)
    return sign * best
