"""The penalty path: the optimal tree for every number of leaves, and where they take over.

For a leaf penalty the optimal tree maximises accuracy - penalty * leaves, so as the penalty grows
the optimum moves along the upper concave envelope of (leaves, accuracy). The breakpoints are the
slopes of that envelope.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from octcore.data.dataset import Dataset
from octcore.data.serial import Record
from octcore.encoding.base import Encoding
from octcore.engines.events import Clock, finite
from octcore.errors import CancelledError, SettingsError
from octcore.formulations.base import accuracy_words
from octcore.formulations.shared.constraint_kinds import refuse_coupled
from octcore.formulations.shared.question import question_of
from octcore.formulations.shared.univariate import UnivariateObjective
from octcore.numerics import kernels
from octcore.parameters import FloatRange
from octcore.search.univariate.question import Answer, Question
from octcore.search.univariate.search import answer
from octcore.search.univariate.table import SAME
from octcore.solving.prepare import Prepared, prepare
from octcore.solving.settings import check_settings, class_weights
from octcore.solving.telling import compiling_told
from octcore.tree import metrics
from octcore.tree.tree import Tree

FORMULATION = "threshold-search"
TIE = 1e-12  # accuracies closer than this are equal; they are ratios of weights


@dataclass(frozen=True)
class LeavesOptimum:
    """The most accurate tree with at most ``max_leaves`` leaves."""

    max_leaves: int
    accuracy: float  # weighted share of correctly classified rows, without penalty
    tree: Tree  # it may have fewer leaves than allowed, when more would not help


def optimal_by_leaves(
    question: Question, cancel: Callable[[], bool] | None = None, time_limit: float | None = None
) -> tuple[LeavesOptimum, ...]:
    """Find the most accurate tree for every number of leaves up to 2^depth (or max_leaves).

    The penalty of the question does not matter here; all restrictions hold.

    `cancel`, `time_limit`: as for `answer`.
    Numbers of leaves for which no tree is allowed are left out.
    Raises `CancelledError` if it was stopped or ran out of time: half a table proves nothing.
    """
    bare = replace(question, leaf_penalty=0.0, by_leaves=True)
    begin = kernels.now()

    def best(most: int | None) -> Answer | None:
        """The answer for so many leaves; None if there is no tree."""
        spent = kernels.now() - begin
        left = None if time_limit is None else max(0.0, time_limit - spent)
        found = answer(replace(bare, max_leaves=most), cancel=cancel, time_limit=left)
        if found.status not in ("optimal", "infeasible"):
            words = "The search over all numbers of leaves was stopped before its end."
            raise CancelledError(words)
        return found if found.status == "optimal" else None

    free = best(question.max_leaves)
    if free is None:
        return ()
    if free.by_leaves:
        return tuple(LeavesOptimum(*optimum) for optimum in free.by_leaves)
    assert free.objective is not None
    optima: list[LeavesOptimum] = []
    for limit in range(1, question.leaf_limit + 1):
        if not optima or optima[-1].accuracy < free.objective - SAME:  # else none is better
            found = best(limit)
            if found is not None:
                assert found.objective is not None
                assert found.tree is not None
                optima.append(LeavesOptimum(limit, found.objective, found.tree))
                continue
        if optima:
            optima.append(replace(optima[-1], max_leaves=limit))
    return tuple(optima)


def penalty_breakpoints(optima: tuple[LeavesOptimum, ...]) -> dict[int, tuple[float, float]]:
    """Lowest and highest penalty at which some of the trees are optimal, by number of leaves.

    Ranges come by falling penalty, from infinity to 0, and touch.  Where two trees tie, at a
    breakpoint, the one with fewer leaves is the canonical choice.
    """
    hull: list[LeavesOptimum] = []
    for point in sorted(optima, key=lambda item: (item.tree.n_leaves, -item.accuracy)):
        if hull and point.accuracy <= hull[-1].accuracy + SAME:
            continue
        # Below the line between its neighbours a tree is best at no penalty.
        while len(hull) > 1 and _slope(hull[-1], point) >= _slope(hull[-2], hull[-1]) - SAME:
            hull.pop()
        hull.append(point)
    slopes = [float("inf"), *map(_slope, hull, hull[1:]), 0.0]
    return {point.tree.n_leaves: (slopes[k + 1], slopes[k]) for k, point in enumerate(hull)}


def _slope(first: LeavesOptimum, second: LeavesOptimum) -> float:
    """Accuracy gained per further leaf."""
    return (second.accuracy - first.accuracy) / (second.tree.n_leaves - first.tree.n_leaves)


@dataclass(frozen=True)
class PathStep:
    """The most accurate tree with at most so many leaves."""

    leaves: int  # number of leaves of the tree
    accuracy: float | None
    """Weighted share of the training rows with a class that have the right one, by routing; None
    where all are left to a person."""
    test_accuracy: float | None  # the same of the held-out rows
    low: float | None
    high: float | None
    """`low`, `high`: the tree is optimal for leaf penalties in ``[low, high]``; both None when
    another tree is at least as good for every penalty.  `high` None alone means no upper end."""
    tree: Tree
    mean_cost: float | None = None  # weighted mean cost of a training row, where answers have costs
    test_mean_cost: float | None = None  # the same of a held-out row

    @property
    def worth(self) -> float:
        """What a leaf's price is taken from: 1 minus the mean cost, which is the accuracy."""
        if self.mean_cost is not None:
            return 1.0 - self.mean_cost
        assert self.accuracy is not None
        return self.accuracy

    @property
    def test_worth(self) -> float | None:
        """The same on the held-out rows."""
        return self.test_accuracy if self.test_mean_cost is None else 1.0 - self.test_mean_cost

    @property
    def wins(self) -> bool:
        """Whether some penalty makes this tree optimal."""
        return self.low is not None

    @property
    def range_words(self) -> str:
        """For which penalties it is optimal."""
        if self.low is None:
            return "optimal for no leaf penalty: a larger or smaller tree is always as good"
        if self.high is None:
            return f"optimal for leaf penalties from {self.low:.4g}"
        return f"optimal for leaf penalties from {self.low:.4g} to {self.high:.4g}"


@dataclass(frozen=True, eq=False)
class PenaltyPath(Record):
    """All steps, from one leaf up."""

    steps: tuple[PathStep, ...]
    """By number of leaves; numbers at which a further leaf gains nothing are left out."""
    encoding: Encoding
    depth: int
    seconds: float  # time of the search; every step is proven optimal by it
    measure: str = "accuracy"  # what the worth of its trees is, in words

    def __repr__(self) -> str:
        leaves = ", ".join(str(step.leaves) for step in self.steps)
        return f"<PenaltyPath: depth {self.depth} on {self.encoding.key}, leaves {leaves}>"

    @property
    def breakpoints(self) -> tuple[float, ...]:
        """Leaf penalties at which the optimal tree changes, descending."""
        return tuple(s.low for s in self.steps if s.low is not None and s.low > 0)

    def at(self, leaf_penalty: float) -> PathStep:
        """Return the step that is optimal for a penalty; of two, the one with fewer leaves."""
        on_path = [step for step in self.steps if step.low is not None]
        price = FloatRange("leaf_penalty", 0.0, low=0.0).check(leaf_penalty)
        return next(step for step in on_path if price >= (step.low or 0.0) - TIE)

    def table(self) -> pd.DataFrame:
        """One line per number of leaves."""
        scores = ["accuracy", "test_accuracy", "mean_cost", "test_mean_cost"]
        table = pd.DataFrame(map(vars, self.steps), columns=["leaves", *scores, "low", "high"])
        table = table.rename(columns={"low": "penalty_from", "high": "penalty_to"})
        return table.dropna(axis="columns", how="all")

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        head = {"format": "octcore-path", "version": 1, "breakpoints": list(self.breakpoints)}
        return head | super().to_dict()


@compiling_told()
def penalty_path(
    data: Dataset,
    encoding: str = "auto",
    depth: int = 3,
    constraints: Mapping[str, Any] | None = None,
    time_limit: float = 60.0,
    test_size: float = 0.0,
    seed: int = 0,
    cancel: Callable[[], bool] | None = None,
    costs: Mapping[Any, Mapping[Any, float]] | str | None = None,
    refer: float | None = None,
) -> PenaltyPath:
    """Find the optimal tree for every number of leaves and the breakpoints of the penalty.

    Parameters
    ----------
    data : Dataset
        Rows with a target.
    encoding : str
        What splits test; ``"auto"``: all thresholds, the columns that `octcore.solve` works on.
    depth : int
        Largest depth.
    constraints : mapping or None
        Those that tie no two subtrees together.
    time_limit : float
        Seconds; half a path proves nothing, so an early end is an error.
    test_size : float
        Share of the rows held out, on which every tree is judged as well.
    seed : int
        Of the split.
    cancel : callable or None
        Asked often; a true answer ends the search.
    costs, refer
        What answers cost, as for `octcore.solve`; the trees are those of least mean cost.

    Raises
    ------
    SettingsError, DataError
        As `octcore.solve`; also if no tree keeps the constraints.
    CancelledError
        If it was stopped or the time ran out.
    """
    settings = check_settings(
        FORMULATION, None, constraints, encoding=encoding, depth=depth, time_limit=time_limit,
        test_size=test_size, seed=seed, costs=costs, refer=refer,
    )  # fmt: skip
    refuse_coupled(settings.constraints.active, "The best tree of every size cannot be searched")
    clock = Clock(settings.time_limit)
    prepared = prepare(data, settings)
    if prepared.test is not None:  # refused before the search, not after it
        class_weights(settings.constraints, prepared.test.codes, data.classes)
    objective = UnivariateObjective(prepared.problem)
    asked = question_of(prepared.problem, objective)
    try:
        optima = optimal_by_leaves(asked, cancel, settings.time_limit)
    except CancelledError:
        if cancel is not None and cancel():
            raise
        raise CancelledError(
            f"The best tree of every size takes longer than {settings.time_limit:g} s; take a "
            "smaller depth, a coarser encoding such as QT-5, or more time."
        ) from None
    if not optima:
        message = "No tree keeps these constraints; relax one of them."
        raise SettingsError("NO_TREE", message, "constraints")
    ranges = penalty_breakpoints(optima)
    steps: list[PathStep] = []
    for optimum in optima:
        step = _step(prepared, objective, optimum.tree)
        if steps and step.worth <= steps[-1].worth + TIE:  # fewer leaves are worth as much
            continue
        if step.leaves in ranges:
            # the search takes shares of the weight with all copies
            share = objective.weight_right / objective.problem.total_weight
            low, high = (share * end for end in ranges[step.leaves])
            step = replace(step, low=low, high=None if np.isinf(high) else high)
        steps.append(step)
    measure = accuracy_words(settings.to_dict())
    return PenaltyPath(tuple(steps), prepared.encoding, settings.depth, clock.elapsed, measure)


def _step(prepared: Prepared, objective: UnivariateObjective, tree: Tree) -> PathStep:
    train, test = prepared.train, prepared.test
    tree = tree.named(prepared.task.answers, prepared.encoding.names)
    tree = metrics.centre_thresholds(tree, prepared.problem.X)  # as a run has it
    mean_cost = test_accuracy = test_cost = None

    def weights(rows: Dataset) -> np.ndarray:
        return class_weights(prepared.settings.constraints, rows.codes, rows.classes)

    if not prepared.task.is_errors:
        mean_cost = 1.0 - objective.of(tree) - float(objective.price) * tree.n_leaves
    if test is not None and test.y is not None:
        X = tree.encoded(prepared.encoding, test.frame)
        test_accuracy = finite(metrics.accuracy(tree, X, test.codes, weights(test)))
        if mean_cost is not None:
            answers = tree.predict_codes(X)
            test_cost = prepared.task.mean_cost(test.codes, answers, weights(test))
    X = tree.encoded(prepared.encoding, train.frame)
    accuracy = finite(metrics.accuracy(tree, X, train.codes, weights(train)))
    return PathStep(tree.n_leaves, accuracy, test_accuracy, None, None, tree, mean_cost, test_cost)
