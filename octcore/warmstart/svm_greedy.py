"""Greedy SVM trees: the warm start of S-OCT.

Every split is one of the linear support vector machines of the node's rows, chosen by the errors,
the Gini impurity or the entropy that it leaves.
"""

from __future__ import annotations

import heapq
import warnings

import numpy as np
from sklearn.svm import SVC, LinearSVC

from octcore.warmstart.goal import Plane, TreeGoal
from octcore.warmstart.points import FloatArray, IntArray, PlaneTree

PENALTIES = tuple(2.0**k for k in range(11))
"""C of the candidate support vector machines, as published."""


def svm_planes(X: FloatArray, counts: FloatArray) -> list[Plane]:
    """Candidate planes of a node: one-vs-rest and one-vs-one linear machines for every C."""
    at, label = np.nonzero(counts)
    weight = counts[at, label]
    found: list[Plane] = []
    for C in PENALTIES:
        for machine in (LinearSVC(C=C, random_state=0), SVC(C=C, kernel="linear", max_iter=1000)):
            fit_machine(machine, X[at], label, weight)
            offsets = np.atleast_1d(np.asarray(machine.intercept_))
            found += [
                (w, float(b))
                for w, b in zip(np.asarray(machine.coef_, float), offsets, strict=True)
            ]
    return found


def fit_machine(
    machine: LinearSVC | SVC, X: FloatArray, label: IntArray, weight: FloatArray
) -> None:
    """Fit a machine to weighted points; one that stops early is still a candidate."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        machine.fit(X, label, sample_weight=weight / weight.mean())


def impurity(counts: FloatArray, criterion: str) -> float:
    """Weighted impurity of class weights; for "error" the weight outside the majority."""
    total = counts.sum()
    if total <= 0:
        return 0.0
    share = counts / total
    if criterion == "error":
        return float(total - counts.max())
    if criterion == "gini":
        return float(total * (1 - (share**2).sum()))
    share = share[share > 0]
    return float(-total * (share * np.log2(share)).sum())


class GreedySvmTrees:
    """Greedy trees by criterion; the candidates of a node are computed once for all of them."""

    def __init__(self, goal: TreeGoal) -> None:
        self.goal = goal
        self._candidates: dict[bytes, list[Plane]] = {}

    def grow(self, criterion: str) -> PlaneTree:
        """Grow best-first by the decrease of impurity until the limit of splits is reached."""
        goal, points = self.goal, self.goal.points
        planes = PlaneTree.empty(goal.depth, points.X.shape[1])
        queue: list[tuple[float, int, IntArray, Plane]] = []

        def offer(node: int, rows: IntArray) -> None:
            if node.bit_length() <= goal.depth:
                found = self._best_split(rows, criterion)
                if found is not None:
                    heapq.heappush(queue, (-found[0], node, rows, found[1]))

        offer(1, np.arange(len(points)))
        for _ in range(goal.split_limit):
            if not queue:
                break
            _, node, rows, plane = heapq.heappop(queue)
            planes.set(node, *plane)
            right = points.X[rows] @ plane[0] + plane[1] >= 0
            offer(2 * node, rows[~right])
            offer(2 * node + 1, rows[right])
        return planes

    def _best_split(self, rows: IntArray, criterion: str) -> tuple[float, Plane] | None:
        X, counts = self.goal.points.X[rows], self.goal.points.counts[rows]
        if np.count_nonzero(counts.sum(axis=0)) < 2 or len(rows) < 2:
            return None
        key = rows.tobytes()
        if key not in self._candidates:
            self._candidates[key] = svm_planes(X, counts)
        before, best = impurity(counts.sum(axis=0), criterion), None
        for plane in self._candidates[key]:
            right = X @ plane[0] + plane[1] >= 0
            if right.all() or not right.any():
                continue
            after = sum(impurity(counts[side].sum(axis=0), criterion) for side in (right, ~right))
            if best is None or before - after > best[0] + 1e-9:
                best = (before - after, plane)
        return best
