"""First trees of planes by gradient descent: rows pass every split with a probability.

With soft splits the chance that a row meets its own label is a smooth function of all planes at
once, so that nodes move together, where searches that turn one plane at a time are stuck.  Splits
harden while the descent runs.  Many trees descend side by side, as entries of the same arrays.

What is maximised moves from the likelihood of the labels, which brings every row near a leaf of
its own class, to the expected number of correct rows, which gives up rows that cannot be right.  A
plane hardens only so far that a row at the edge of the gap asked for, for weights of 1-norm 1,
still has a chance to go astray: thin gaps cost something.
"""

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from octcore.warmstart.points import ClassCounts, IntArray, PlaneTree

SomeArray = NDArray[np.floating]  # in practice of single precision

STEPS = 400  # effort only: some 0.02 s a tree
RATE = 0.05  # of Adam, for standardised columns
HARDNESS = (1.0, 20.0)  # factor of the scores at the first and the last step
LIKELIHOOD_SHARES = (1.0, 0.5, 0.2)
"""Shares of the steps that follow the likelihood, by turns of the batches."""
LABELLED_SHARE = 0.6  # share of the steps in which leaves keep the labels that were drawn for them
LEAST_CHANCE = 0.02  # rows with less chance of being right pull no harder on the likelihood
LARGEST_SCORE = 9.0
"""Larger ones count like this: products of chances stay far from the smallest numbers."""
EDGE_HARDNESS = 3.0  # largest score of a row that is half of the gap asked for away from a plane
MOST_TREES = 16  # effort only: trees of a batch, which share every product
MOST_ROWS = 1_500  # rows drawn for one batch where there are more
MOST_CELLS = 100_000  # rows x trees x nodes of a batch


@dataclass(eq=False)
class Descent:
    """Trees by descent, batch after batch."""

    points: ClassCounts
    depth: int
    split_limit: int
    """`depth`, `split_limit`: levels, and the largest number of splits: the first nodes get
    them."""
    gap: float  # width of the empty strip that every plane is to have, for weights of 1-norm 1
    rng: np.random.Generator  # draws first planes, labels and, of many rows, some
    batches: int = 0

    def trees(self, deadline: float, levels: int | None = None) -> list[PlaneTree]:
        """Let one batch descend; none where there is nothing to part, or the time is over.

        Splits are on the first `levels` levels, on all of them for None.
        """
        points = self.points
        present = np.flatnonzero(points.counts.sum(axis=0) > 0)
        nodes = min(self.split_limit, 2 ** (levels or self.depth) - 1)
        rows = np.flatnonzero(points.counts.sum(axis=1) > 0)
        if len(present) < 2 or len(rows) < 2 or nodes < 1:
            return []
        if len(rows) > MOST_ROWS:
            rows = np.sort(self.rng.choice(rows, MOST_ROWS, replace=False))
        X, counts = points.X[rows], points.counts[rows]
        centre, spread = X.mean(axis=0), np.maximum(X.std(axis=0), 1e-9)
        size = int(np.clip(MOST_CELLS // (len(rows) * nodes), 1, MOST_TREES))
        share = LIKELIHOOD_SHARES[self.batches % len(LIKELIHOOD_SHARES)]
        self.batches += 1
        Z = np.column_stack([(X - centre) / spread, np.ones(len(X))]).astype(np.float32)
        steepest = 2 * EDGE_HARDNESS / self.gap if self.gap > 0 else np.inf
        inverse, steepest = (1 / spread).astype(np.float32)[:, None, None], np.float32(steepest)
        batch = _Batch(Z, counts.astype(np.float32), inverse, self.depth, nodes, steepest)
        first = self.rng.normal(size=(Z.shape[1], size, nodes)) / np.sqrt(X.shape[1])
        first[-1] *= 0.3
        labels = self._labels(present, counts.sum(axis=0), size)
        with threadpool_limits(1, user_api="blas"):  # the products are too small for threads
            planes = batch.descend(first.astype(np.float32), labels, share, deadline)
        if planes is None:
            return []
        weights = planes[:-1] / spread[:, None, None]
        offsets = planes[-1] - np.tensordot(centre, weights, axes=1)
        found = []
        for k in range(size):
            tree = PlaneTree.empty(self.depth, X.shape[1])
            tree.weights[1 : nodes + 1], tree.offsets[1 : nodes + 1] = weights[:, k].T, offsets[k]
            found.append(tree)
        return found

    def _labels(self, present: IntArray, weight: np.ndarray, size: int) -> IntArray:
        """Labels of all leaves of all trees; siblings differ."""
        chance = np.sqrt(weight[present])
        chance /= chance.sum()
        pairs = [
            self.rng.choice(present, 2, replace=False, p=chance)
            for _ in range(size * 2 ** (self.depth - 1))
        ]
        return np.array(pairs).reshape(size, 2**self.depth)


@dataclass(frozen=True, eq=False)
class _Batch:
    """Standardised rows with a column of ones, class weights, and the shape of the trees.

    `steepest` is the largest 1-norm of a plane's weights, in units of the columns, times hardness.
    Arrays over rows, trees and nodes have shape ``(n_points, n_trees, n_nodes)``; node ``t``, which
    counts from 1, stands at position ``t - 1``.
    """

    Z: SomeArray
    counts: SomeArray
    inverse_spread: SomeArray
    depth: int
    nodes: int
    steepest: np.floating

    def descend(
        self, planes: SomeArray, labels: IntArray, share: float, deadline: float
    ) -> SomeArray | None:
        """Planes of shape ``(n_features + 1, n_trees, n_nodes)`` after the steps of Adam.

        None where the time is over too early.
        """
        first, second = np.zeros_like(planes), np.zeros_like(planes)
        for step in range(STEPS):
            progress = step / STEPS
            if time.perf_counter() > deadline:
                return planes if progress >= LABELLED_SHARE else None
            hardness = HARDNESS[0] * (HARDNESS[1] / HARDNESS[0]) ** progress
            drawn = labels if progress < LABELLED_SHARE else None
            slope = self._slope(planes, np.float32(hardness), drawn, progress < share)
            first = 0.9 * first + 0.1 * slope
            second = 0.99 * second + 0.01 * slope * slope
            grown = 1 - 0.9 ** (step + 1), 1 - 0.99 ** (step + 1)
            planes = planes + np.float32(RATE) * (first / grown[0]) / (
                np.sqrt(second / grown[1]) + np.float32(1e-8)
            )
        return planes

    def _slope(
        self, planes: SomeArray, hardness: np.floating, labels: IntArray | None, likely: bool
    ) -> SomeArray:
        """Gradient of the likelihood, or of the expected weight of correct rows."""
        n, (size, trees, nodes) = len(self.Z), planes.shape
        scores = (self.Z @ planes.reshape(size, -1)).reshape(n, trees, nodes)
        norm = np.maximum((np.abs(planes[:-1]) * self.inverse_spread).sum(axis=0), 1e-12)
        is_steep = hardness * norm > self.steepest
        scale = np.where(is_steep, self.steepest / norm, hardness)
        right = 1 / (1 + np.exp(-np.clip(scale * scores, -LARGEST_SCORE, LARGEST_SCORE)))
        reach = self._reach(right)
        at_leaves = np.stack([reach[t] for t in range(2**self.depth, 2 ** (self.depth + 1))], 2)
        if labels is None:
            table = (self.counts.T @ at_leaves.reshape(n, -1)).reshape(-1, *at_leaves.shape[1:])
            labels = table.argmax(axis=0)
        correct = self.counts[:, labels]
        pull = np.ones((n, trees), dtype=np.float32)
        if likely:
            chance = (correct * at_leaves).sum(axis=2) / self.counts.sum(axis=1)[:, None]
            pull = 1 / np.maximum(chance, LEAST_CHANCE)
        value = {2**self.depth + k: correct[:, :, k] for k in range(2**self.depth)}
        slopes = np.empty_like(scores)
        for node in range(2**self.depth - 1, 0, -1):
            left_value, right_value = value.pop(2 * node), value.pop(2 * node + 1)
            if node > nodes:
                value[node] = left_value
                continue
            chance = right[:, :, node - 1]
            gain = right_value - left_value
            slopes[:, :, node - 1] = reach[node] * gain * chance * (1 - chance) * pull
            value[node] = left_value + chance * gain
        slope = (self.Z.T @ slopes.reshape(n, -1)).reshape(planes.shape)
        along_norm = np.where(is_steep, (slopes * scores).sum(axis=0) / norm, 0)
        slope[:-1] -= along_norm * np.sign(planes[:-1]) * self.inverse_spread
        return slope * (scale / self.counts.sum()).astype(np.float32)

    def _reach(self, right: SomeArray) -> dict[int, SomeArray]:
        """Probability that a row visits a node, by node; what does not split sends all left."""
        n, trees, nodes = right.shape
        reach: dict[int, SomeArray] = {1: np.ones((n, trees), dtype=np.float32)}
        for node in range(1, 2**self.depth):
            if node > nodes:
                reach[2 * node] = reach[node]
                reach[2 * node + 1] = np.zeros((n, trees), dtype=np.float32)
                continue
            reach[2 * node + 1] = reach[node] * right[:, :, node - 1]
            reach[2 * node] = reach[node] - reach[2 * node + 1]
        return reach
