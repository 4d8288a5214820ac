"""The penalty path: the optimal tree for every number of leaves, and where they take over."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from octcore.constraints import Constraints
from octcore.data.dataset import Dataset
from octcore.encoding.base import Encoding
from octcore.search.univariate.convert import to_tree
from octcore.search.univariate.frontier import optimal_by_leaves, penalty_breakpoints
from octcore.search.univariate.problem import PathProblem
from octcore.solving.prepare import Prepared, prepare
from octcore.solving.run import jsonable
from octcore.solving.settings import check_settings
from octcore.tree import metrics
from octcore.tree.tree import Tree

PATH_CONSTRAINTS = frozenset(
    {"max_leaves", "max_splits", "min_samples_leaf", "forbidden_features", "class_weight"}
)
TIE = 1e-12
"""Accuracies closer than this are equal; they are ratios of weights."""


@dataclass(frozen=True)
class PathStep:
    """The most accurate tree with at most so many leaves.

    Parameters
    ----------
    leaves : int
        Number of leaves of the tree.
    accuracy : float
        Weighted training accuracy, by routing.
    test_accuracy : float or None
        Accuracy on the held-out rows.
    low, high : float or None
        The tree is optimal for leaf penalties in ``[low, high]``; both None when another tree is
        at least as good for every penalty.  `high` None alone means no upper end.
    tree : Tree
        The tree.
    """

    leaves: int
    accuracy: float
    test_accuracy: float | None
    low: float | None
    high: float | None
    tree: Tree

    @property
    def is_on_path(self) -> bool:
        """Whether some penalty makes this tree optimal."""
        return self.low is not None


@dataclass(frozen=True, eq=False)
class PenaltyPath:
    """All steps, from one leaf up.

    Parameters
    ----------
    steps : tuple of PathStep
        By number of leaves; numbers at which a further leaf gains nothing are left out.
    encoding : Encoding
        Of the trees.
    depth : int
        Largest depth.
    seconds : float
        Time of the search; every step is proven optimal by it.
    """

    steps: tuple[PathStep, ...]
    encoding: Encoding
    depth: int
    seconds: float

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Leaf penalties at which the optimal tree changes, descending."""
        return tuple(s.low for s in self.steps if s.low is not None and s.low > 0)

    def at(self, leaf_penalty: float) -> PathStep:
        """Return the step that is optimal for a penalty; of two, the one with fewer leaves."""
        on_path = [step for step in self.steps if step.low is not None]
        return next(step for step in on_path if leaf_penalty >= (step.low or 0.0) - 1e-12)

    def table(self) -> pd.DataFrame:
        """One line per number of leaves."""
        return pd.DataFrame(
            [
                {
                    "leaves": step.leaves,
                    "accuracy": step.accuracy,
                    "test_accuracy": step.test_accuracy,
                    "penalty_from": step.low,
                    "penalty_to": step.high,
                }
                for step in self.steps
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        steps = [{**vars(step), "tree": step.tree.to_dict()} for step in self.steps]
        return jsonable(
            {
                "format": "octcore-path",
                "version": 1,
                "depth": self.depth,
                "encoding": self.encoding.to_dict(),
                "seconds": self.seconds,
                "breakpoints": self.breakpoints,
                "steps": steps,
            }
        )


def penalty_path(
    data: Dataset,
    encoding: str = "auto",
    depth: int = 3,
    constraints: Mapping[str, Any] | None = None,
    time_limit: float = 60.0,
    test_size: float = 0.0,
    seed: int = 0,
    cancel: Callable[[], bool] | None = None,
) -> PenaltyPath:
    """Find the optimal tree for every number of leaves and the breakpoints of the penalty.

    Parameters
    ----------
    data : Dataset
        Rows with a target.
    encoding : str
        A binary encoding, or ``"auto"`` for QT-5.
    depth : int
        Largest depth.
    constraints : mapping or None
        Size limits, forbidden features and class weights.
    time_limit : float
        Seconds; half a path proves nothing, so an early end is an error.
    test_size : float
        Share of the rows held out, on which every tree is judged as well.
    seed : int
        Of the split.
    cancel : callable or None
        Asked often; a true answer ends the search.

    Raises
    ------
    SettingsError, DataError
        As `octcore.solve`.
    CancelledError
        If it was stopped or the time ran out.
    """
    settings = check_settings(
        formulation="path-search",
        encoding=encoding,
        depth=depth,
        constraints=constraints,
        time_limit=time_limit,
        test_size=test_size,
        seed=seed,
    )
    start = time.perf_counter()
    prepared = prepare(data, settings)
    optima = optimal_by_leaves(_path_problem(prepared), cancel, settings.time_limit)
    ranges = {r.optimum.leaves: r for r in penalty_breakpoints(optima)}
    steps: list[PathStep] = []
    for optimum in optima:
        span = ranges.get(optimum.leaves)
        step = _step(prepared, to_tree(optimum.tree, *_shape(prepared)))
        if steps and step.accuracy <= steps[-1].accuracy + TIE:
            continue
        if span is not None:
            high = None if np.isinf(span.high) else span.high
            step = replace(step, low=span.low, high=high)
        steps.append(step)
    return PenaltyPath(tuple(steps), prepared.encoding, settings.depth, time.perf_counter() - start)


def _shape(prepared: Prepared) -> tuple[int, int]:
    return prepared.problem.n_features, prepared.problem.n_classes


def _path_problem(prepared: Prepared) -> PathProblem:
    problem = prepared.problem
    constraints: Constraints = problem.constraints
    banned = [problem.context.raw_index(name) for name in constraints.forbidden_features]
    return PathProblem(
        X=problem.X,
        y=problem.y,
        n_classes=problem.n_classes,
        depth=problem.depth,
        weights=problem.weights,
        min_samples_leaf=constraints.min_samples_leaf or 1,
        max_leaves=constraints.leaf_limit,
        forbidden_features=np.isin(problem.groups, banned) if banned else None,
    )


def _step(prepared: Prepared, tree: Tree) -> PathStep:
    problem, test = prepared.problem, prepared.test
    test_accuracy = None
    if test is not None and test.y is not None:
        X = prepared.encoding.transform(test.frame)
        test_accuracy = metrics.accuracy(tree, X, test.y)
    return PathStep(
        tree.n_leaves,
        metrics.accuracy(tree, problem.X, problem.y, problem.weights),
        test_accuracy,
        None,
        None,
        tree.named(prepared.train.classes, prepared.encoding.names),
    )
