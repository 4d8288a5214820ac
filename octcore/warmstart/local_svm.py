"""Local SVM heuristic: the published first tree of MARGOT, HFS-MARGOT and SFS-MARGOT.

Level by level, each node solves its own single-node problem on the samples it receives: a plain
soft-margin SVM, or one with a hard (HFS) or soft (SFS) feature budget. Where samples lie in the
forbidden strip of an upper plane, the plane is shifted into the nearest gap of the scores.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from octcore.search.margot.records import Planes, RoutingProblem
from octcore.search.margot.start import node_solver, svm_planes, tree_objective


@dataclass(frozen=True)
class LocalSvmTree:
    """Planes (1-based heap, position ``t - 1``), last-level node of each sample, objective."""

    planes: Planes
    routing: NDArray[np.int64]
    objective: float


def local_svm(problem: RoutingProblem, stop: Callable[[], bool] | None = None) -> LocalSvmTree:
    """Build the local SVM tree of a problem.

    Parameters
    ----------
    stop : callable, optional
        Asked during the node solves; the best plane so far is used when it says so.

    Returns
    -------
    LocalSvmTree
        ``objective`` is the true objective of the tree, feature prices included.
    """
    given = np.ones(len(problem.y)) if problem.weights is None else problem.weights
    penalties = problem.penalties(np.asarray(given, float))
    y = problem.y.astype(float)
    x = np.ascontiguousarray(problem.x, float)
    solve = node_solver(problem, x, y, penalties, stop)
    planes, routing = svm_planes(x, y, problem.depth, problem.epsilon, solve)
    objective = tree_objective(x, y, penalties, planes, routing)
    objective += feature_charge(problem, planes)
    return LocalSvmTree(planes, routing + 1, objective)


def feature_charge(problem: RoutingProblem, planes: Planes) -> float:
    """Price of the features beyond the budget (``alpha * sum_t u_t``; 0 unless SFS)."""
    if problem.variant != "sfs":
        return 0.0
    used = np.count_nonzero(planes.weights, axis=1)
    return float(problem.alpha * np.maximum(0, used - problem.budgets()).sum())
