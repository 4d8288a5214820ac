"""Accuracy against size: the optimal tree for every number of leaves, and the penalty path.

For a leaf penalty the optimal tree maximises accuracy - penalty * leaves, so as the penalty grows
the optimum moves along the upper concave envelope of (leaves, accuracy). The breakpoints are the
slopes of that envelope.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from octcore.errors import CancelledError
from octcore.numerics import kernels
from octcore.search.univariate.question import Answer, Question
from octcore.search.univariate.search import answer
from octcore.search.univariate.table import SAME
from octcore.tree.tree import Tree


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
