"""From solved hyperplanes to the frozen tree, and back to the smallest tree that routes alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from octcore.tree import topology
from octcore.tree.tree import Split, Tree, grown, midpoint

SCORE_TOLERANCE = 1e-12
"""A score of exactly 0 goes right; rounding must not send it left."""


def tree_from_planes(
    planes: Mapping[int, tuple[np.ndarray, float]],
    labels: Mapping[int, int],
    X: np.ndarray,
    n_classes: int,
    unit_margin: bool = False,
    tolerance: float = SCORE_TOLERANCE,
) -> Tree:
    """Make a tree from planes with the convention "right when ``w.x + b >= 0``".

    The routing threshold is put between the nearest training rows of the two sides, so that the
    package's rule (``w.x <= t`` goes left) routes every training row alike.  `planes` are weights
    of shape ``(n_features,)`` and offset by node; scores of at least ``-tolerance`` go right.
    """
    splits: dict[int, Split] = {}
    rows = {1: np.arange(len(X))}
    for node in sorted(planes):
        weights, offset = planes[node]
        split = Split.on_plane(weights, offset, unit_margin)
        here = rows[node]
        values = split.project(X[here])
        right = values + offset >= -tolerance
        threshold = _between(values[~right], values[right], -float(offset))
        splits[node] = Split(split.weights, threshold, float(offset), unit_margin)
        left_child, right_child = topology.children(node)
        rows[left_child], rows[right_child] = here[~right], here[right]
    return Tree(splits, labels, X.shape[1], n_classes)


def _between(left: np.ndarray, right: np.ndarray, plane: float) -> float:
    """Threshold with all of `left` at most and all of `right` above it, near the plane."""
    low = float(left.max()) if len(left) else -np.inf
    high = float(right.min()) if len(right) else np.inf
    if np.isfinite(low) and np.isfinite(high):
        return midpoint(low, high)
    step = 1e-9 * max(1.0, abs(plane))
    if np.isfinite(high):
        return min(plane, high - step)
    return max(plane, low) if np.isfinite(low) else plane


def drop_pass_through(tree: Tree) -> Tree:
    """Replace every branch node without weights by the child that all rows take.

    Models that keep a perfect tree mark an unused branch node by a zero plane; the result routes
    alike and has no such node.
    """

    def part(node: int) -> int | tuple[Split, int, int]:
        while node in tree.splits and not tree.splits[node].weights:
            node = 2 * node + int(tree.splits[node].threshold < 0)
        if node in tree.labels:
            return tree.labels[node]
        return tree.splits[node], 2 * node, 2 * node + 1

    splits, labels = grown(1, part)
    return replace(tree, splits=splits, labels=labels)
