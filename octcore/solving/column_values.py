"""What every column is worth at the root: the best tree that starts with it, proven."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from octcore import kernels
from octcore.data.dataset import Dataset
from octcore.encoding.base import Encoding
from octcore.errors import SettingsError
from octcore.formulations.base import get_formulation
from octcore.formulations.shared.constraint_kinds import refuse_coupled
from octcore.formulations.shared.question import question_of
from octcore.formulations.shared.univariate import UnivariateObjective
from octcore.program import Capability
from octcore.search.univariate.search import answer
from octcore.search.univariate.table import midpoint
from octcore.solving.prepare import problem_of
from octcore.tree.tree import Tree

if TYPE_CHECKING:
    from octcore.solving.run import Run


@dataclass(frozen=True)
class ColumnValue:
    """One raw column at the root."""

    column: str
    value: float | None
    """Best objective of a tree that starts with it, or a bound on that; None if there is none."""
    is_exact: bool
    """False where the time was over: no tree that starts with it is better than `value`."""
    threshold: float | None
    """At the root of `tree`, in units of the column; None for a category."""
    interval: tuple[float, float] | None
    """Any threshold from the first number up to, but without, the second parts the rows alike."""
    tree: Tree | None
    """The best tree that was found."""


def column_values(
    run: Run, time_limit: float = 60.0, cancel: Callable[[], bool] | None = None
) -> tuple[ColumnValue, ...]:
    """Search the best tree with every raw column at its root, on the rows and columns of a run.

    Parameters
    ----------
    time_limit : float
        Seconds in all, without those that compile kernels.
    cancel : callable or None
        Asked often; a true answer ends the search as the time limit does.

    Returns
    -------
    tuple of ColumnValue
        In the order of the columns; those of which no split may test one have no value.

    Raises
    ------
    SettingsError
        If the run is about other trees than those of one column per split, has another objective
        than accuracy and leaves, or keeps a constraint that ties subtrees together.
    ModelFileError
        If it comes without its training rows.
    """
    info = get_formulation(run.formulation).info
    if not (info.has_common_objective or Capability.THRESHOLD_SEARCH in info.capabilities):
        raise SettingsError(
            "NO_VALUES",
            f"Values of columns are those of trees with one column per split and a price for a "
            f"leaf; {info.title} has another objective. Solve with threshold-search.",
            "formulation",
        )
    refuse_coupled(run.constraints, "Columns have no values")
    train, encoding = run.needed.train, run.encoding
    problem = problem_of(run)
    objective = UnivariateObjective(problem)
    asked = question_of(problem, objective)
    required = asked.roots
    end = time.perf_counter() - kernels.spent() + time_limit
    found = []
    for number, name in enumerate(encoding.raw_features):
        columns = tuple(np.flatnonzero(problem.groups == number).tolist())
        columns = columns if required is None else tuple(j for j in columns if j in required)
        if not columns or run.depth == 0:
            found.append(ColumnValue(name, None, True, None, None, None))
            continue
        left = max(0.0, end - (time.perf_counter() - kernels.spent()))
        best = answer(replace(asked, roots=columns), cancel=cancel, time_limit=left)
        value = None
        if best.bound is not None:
            value = objective.from_count(best.bound * objective.weight_right)
        interval = None if best.tree is None else _interval(best.tree, encoding, train)
        threshold = None if interval is None else midpoint(*interval)
        exact = best.status in {"optimal", "infeasible"}
        answers = run.needed.tree.classes
        tree = None if best.tree is None else best.tree.named(answers, encoding.names)
        found.append(ColumnValue(name, value, exact, threshold, interval, tree))
    return tuple(found)


def _interval(tree: Tree, encoding: Encoding, train: Dataset) -> tuple[float, float] | None:
    """Raw values between which the root's threshold lies; None where it tests no order."""
    root = tree.splits[1]
    column = encoding.columns[root.features[0]]
    if column.kind not in {"above", "value", "scaled"} or column.levels:
        return None
    right = root.goes_right(encoding.transform(train.frame))
    values = train.frame[column.raw].to_numpy(float)
    return float(values[~right].max()), float(values[right].min())
