"""Accuracy against size: the optimal tree for every number of leaves, and the penalty path.

For a leaf penalty the optimal tree maximises accuracy - penalty * leaves, so as the penalty grows
the optimum moves along the upper concave envelope of (leaves, accuracy). The breakpoints are the
slopes of that envelope.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from octcore import kernels
from octcore.errors import CancelledError
from octcore.search.univariate.constant_root import ConstantRoot, has_idle_root
from octcore.search.univariate.depth_two import TIE
from octcore.search.univariate.leaves import search_by_leaves
from octcore.search.univariate.node import SearchState
from octcore.search.univariate.presolve import presolve
from octcore.search.univariate.problem import PathProblem
from octcore.search.univariate.runner import run_watched
from octcore.search.univariate.tree import Branch, PathTree, count_leaves, map_features
from octcore.search.univariate.warm_up import sets


@dataclass(frozen=True)
class LeavesOptimum:
    """The most accurate tree with at most ``max_leaves`` leaves.

    Attributes
    ----------
    max_leaves : int
    leaves : int
        Leaves the tree really has; fewer than allowed when more would not help.
    accuracy : float
        Weighted share of correctly classified rows, without penalty.
    tree : Leaf or Branch
    """

    max_leaves: int
    leaves: int
    accuracy: float
    tree: PathTree


@dataclass(frozen=True)
class PenaltyRange:
    """A tree that is optimal for every leaf penalty from ``low`` to ``high``."""

    low: float
    high: float
    optimum: LeavesOptimum


def optimal_by_leaves(
    problem: PathProblem,
    cancel: Callable[[], bool] | None = None,
    time_limit: float | None = None,
) -> tuple[LeavesOptimum, ...]:
    """Find the most accurate tree for every number of leaves up to 2^depth (or max_leaves).

    The penalty, the start and the claimed start value of the problem do not matter here; all
    restrictions hold.

    Parameters
    ----------
    problem : PathProblem
    cancel : callable, optional
        Polled about every 50 ms.
    time_limit : float, optional
        Seconds of wall-clock time.

    Returns
    -------
    tuple of LeavesOptimum
        Numbers of leaves for which no tree is allowed are left out.

    Raises
    ------
    CancelledError
        If it was stopped or ran out of time: half a table proves nothing.
    DataError, SettingsError
        If the problem makes no sense.
    """
    problem.check()
    if problem.root_feature is not None and problem.depth == 0:
        return ()
    if problem.root_feature is not None and has_idle_root(problem, problem.root_feature):
        return _below_constant(ConstantRoot(problem), cancel, time_limit)
    begin = time.perf_counter()
    reduced = presolve(
        problem.X, problem.y, problem.weights, problem.n_classes,
        problem.forbidden_features, problem.min_samples_leaf,
    )  # fmt: skip
    width = reduced.rows.bits.dtype.itemsize * 8
    begin += kernels.require(*sets(width, 2, True), stop=cancel or (lambda: False))
    root = None
    if problem.root_feature is not None:
        root = int(reduced.columns.position[problem.root_feature])
    if problem.min_samples_leaf > len(problem.y) or (root is not None and root < 0):
        return ()
    state = SearchState(reduced.rows, 0.0, TIE * max(1.0, reduced.total))
    depth = problem.depth if len(reduced.columns.kept) else 0
    most = 2**depth if problem.max_leaves is None else min(problem.max_leaves, 2**depth)
    found: list[tuple[int, float, PathTree]] = []

    def work(post: Callable[[object], None]) -> None:
        subset = np.arange(len(reduced.rows.block))
        found.extend(search_by_leaves(state, subset, depth, most, root))

    deadline = None if time_limit is None else begin + time_limit
    reason = run_watched(work, state.stop, lambda event: None, cancel, deadline)
    if reason != "finished" and not found:
        raise CancelledError("The search over all numbers of leaves was stopped before its end.")
    bare = replace(problem, leaf_penalty=0.0)
    optima = []
    for leaves, _, reduced_tree in found:
        kept = reduced.columns.kept
        tree = map_features(reduced_tree, lambda f, kept=kept: int(kept[f]))
        if problem.root_feature is not None and isinstance(tree, Branch):
            sides = (tree.left, tree.right)
            if reduced.columns.flipped[problem.root_feature]:
                sides = sides[::-1]
            tree = Branch(problem.root_feature, *sides)
        optima.append(LeavesOptimum(leaves, count_leaves(tree), bare.objective(tree), tree))
    return tuple(optima)


def _below_constant(
    root: ConstantRoot, cancel: Callable[[], bool] | None, time_limit: float | None
) -> tuple[LeavesOptimum, ...]:
    """Every tree below a root that separates nothing, with one idle leaf more."""
    below = optimal_by_leaves(root.below, cancel, time_limit)
    return tuple(
        LeavesOptimum(o.max_leaves + 1, o.leaves + 1, o.accuracy, root.wrap(o.tree)) for o in below
    )


def penalty_breakpoints(optima: tuple[LeavesOptimum, ...]) -> tuple[PenaltyRange, ...]:
    """Return which of the trees is optimal for which leaf penalties.

    Parameters
    ----------
    optima : tuple of LeavesOptimum
        From `optimal_by_leaves`.

    Returns
    -------
    tuple of PenaltyRange
        By falling penalty, from infinity to 0; the ranges touch. Where two trees tie, at a
        breakpoint, the one with fewer leaves is the canonical choice.
    """
    hull: list[LeavesOptimum] = []
    for point in sorted(optima, key=lambda item: (item.leaves, -item.accuracy)):
        if hull and point.accuracy <= hull[-1].accuracy + TIE:
            continue
        while len(hull) > 1 and _slope(hull[-1], point) >= _slope(hull[-2], hull[-1]) - TIE:
            hull.pop()
        hull.append(point)
    ranges = []
    high = float("inf")
    for k, point in enumerate(hull):
        low = _slope(point, hull[k + 1]) if k + 1 < len(hull) else 0.0
        ranges.append(PenaltyRange(low, high, point))
        high = low
    return tuple(ranges)


def _slope(first: LeavesOptimum, second: LeavesOptimum) -> float:
    """Accuracy gained per further leaf."""
    return (second.accuracy - first.accuracy) / (second.leaves - first.leaves)
