"""Problems and referees that several test files share; trees are enumerated one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from octcore.engines.base import Attempt, Outcome, get_engine
from octcore.engines.events import Clock, Event, Recorder
from octcore.formulations.base import get_formulation
from octcore.parameters import check_all
from octcore.program import ENDLESS, Problem
from octcore.search.univariate.tree import heap
from octcore.tree.constraints import ConstraintContext, Constraints
from octcore.tree.tree import Tree
from tests.enumeration import all_trees


def make_problem(
    X: np.ndarray,
    y: np.ndarray,
    n_classes: int,
    depth: int,
    params: Mapping[str, Any] | None = None,
    constraints: Mapping[str, Any] | None = None,
    weights: np.ndarray | None = None,
    attributes: Mapping[str, np.ndarray] | None = None,
    groups: np.ndarray | None = None,
    formulation: str = "flow-oct",
) -> Problem:
    """Make a problem whose features are called f0, f1, … and whose classes are 0, 1, …"""
    info = get_formulation(formulation).info
    groups = np.arange(X.shape[1]) if groups is None else groups
    names = tuple(f"f{j}" for j in range(int(groups.max(initial=-1)) + 1))
    context = ConstraintContext(X, y, groups, names, tuple(range(n_classes)), attributes or {}, 1)
    return Problem(
        X,
        y,
        np.ones(len(y)) if weights is None else weights,
        n_classes,
        depth,
        check_all(info.hyperparameters, params, info.key),
        Constraints.parse(constraints),
        context,
    )


def run(
    problem: Problem,
    formulation: str = "flow-oct",
    engine: str = "highs",
    time_limit: float = 600.0,
    gap: float = 0.0,
    starts: bool = True,
    cancel: Callable[[], bool] = lambda: False,
) -> tuple[Outcome, Recorder, list[Event]]:
    """Solve as `octcore.solve` does, without data and encoding around it.

    The time limit is far beyond what any test needs, so that a busy machine fails none.
    """
    program = get_formulation(formulation).build(problem)
    events: list[Event] = []
    clock = Clock(time_limit)
    recorder = Recorder(program.sense, clock, events.append, program.granularity)
    if starts:
        for source, tree in program.starts(ENDLESS):
            value = program.evaluate(tree)
            if value is not None:
                recorder.incumbent(value, tree, source)
    outcome = get_engine(engine)(Attempt(program, recorder, cancel, gap))
    return outcome, recorder, events


def every_tree(problem: Problem) -> list[Tree]:
    """All trees of the depth of a problem on binary columns; use tiny problems."""
    shape = (problem.n_features, problem.n_classes)
    return [heap(t, *shape) for t in all_trees(*shape, problem.depth)]


def best_objective(problem: Problem, evaluate: Callable[[Tree], float | None]) -> float | None:
    """Largest objective over all trees that keep the constraints; None if there is none."""
    values = [evaluate(tree) for tree in every_tree(problem)]
    return max((value for value in values if value is not None), default=None)


def random_rows(
    rng: np.random.Generator, n: int = 16, features: int = 4, classes: int = 3
) -> tuple[np.ndarray, np.ndarray]:
    """Tiny binary rows with labels that depend on them a little."""
    X = rng.integers(0, 2, (n, features)).astype(np.uint8)
    signal = X[:, 0] + X[:, -1] * (features > 1)
    y = np.where(rng.random(n) < 0.5, signal % classes, rng.integers(0, classes, n))
    return X, y.astype(np.int64)


def threshold_tree(
    X: np.ndarray, y: np.ndarray, weights: np.ndarray, classes: int, depth: int, smallest: int
) -> dict[int, float]:
    """Least weight misclassified for every number of splits, over all middle thresholds."""
    best: dict[int, float] = {}
    if len(y) >= smallest:
        best[0] = float(weights.sum() - np.bincount(y, weights, classes).max(initial=0.0))
    if depth == 0:
        return best
    for j in range(X.shape[1]):
        values = np.unique(X[:, j])
        for threshold in (values[1:] + values[:-1]) / 2:
            right = X[:, j] > threshold
            parts = [
                threshold_tree(X[rows], y[rows], weights[rows], classes, depth - 1, smallest)
                for rows in (~right, right)
            ]
            for a, left in parts[0].items():
                for c, below in parts[1].items():
                    splits = a + c + 1
                    best[splits] = min(best.get(splits, np.inf), left + below)
    return best
