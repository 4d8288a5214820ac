"""The best tree under any side constraints, among all labelled trees on numbers, one by one.

It shares no idea with the package: trees are nested tuples, classes of leaves are free, and a
direction is looked at on the grid of all values that the columns hold.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

Nested = tuple[Any, ...]
"""``(label,)`` or ``(column, threshold, left, right)``."""
TOLERANCE = 1e-9


def every_tree(X: np.ndarray, n_classes: int, depth: int, rows: np.ndarray) -> Iterator[Nested]:
    """Yield every tree of which each split parts its rows."""
    yield from ((label,) for label in range(n_classes))
    if depth == 0:
        return
    for j in range(X.shape[1]):
        for low, high in itertools.pairwise(np.unique(X[:, j])):
            left = rows & (X[:, j] <= low)
            right = rows & ~left
            if left.any() and right.any():
                below = list(every_tree(X, n_classes, depth - 1, right))
                for first in every_tree(X, n_classes, depth - 1, left):
                    yield from ((j, (low + high) / 2, first, second) for second in below)


def predict(tree: Nested, X: np.ndarray) -> np.ndarray:
    """Class of every row."""
    if len(tree) == 1:
        return np.full(len(X), tree[0])
    column, threshold, left, right = tree
    return np.where(X[:, column] <= threshold, predict(left, X), predict(right, X))


def leaves(tree: Nested, X: np.ndarray) -> list[int]:
    """Rows of every leaf."""
    if len(tree) == 1:
        return [len(X)]
    column, threshold, left, right = tree
    goes = X[:, column] <= threshold
    return leaves(left, X[goes]) + leaves(right, X[~goes])


def paths(tree: Nested) -> list[list[int]]:
    """Columns on the path to every leaf."""
    if len(tree) == 1:
        return [[]]
    return [[tree[0], *path] for side in tree[2:] for path in paths(side)]


def keeps(
    tree: Nested, X: np.ndarray, y: np.ndarray, names: list[str], asked: Mapping[str, Any]
) -> bool:
    """Whether a tree keeps all side constraints; the last class of two is the positive one."""
    below = paths(tree)
    tested = {column for path in below for column in path}
    sizes, predicted = leaves(tree, X), predict(tree, X)
    pairs = [{names.index(a), names.index(b)} for a, b in asked.get("forbidden_pairs", ())]
    root = asked.get("root_feature")
    if (
        len(sizes) > asked.get("max_leaves", np.inf)
        or min(sizes) < asked.get("min_samples_leaf", 1)
        or len(tested) > asked.get("max_features", np.inf)
        or any(pair <= tested for pair in pairs)
        or (root is not None and (len(tree) == 1 or tree[0] != names.index(root)))
        or (asked.get("feature_once_per_path") and any(len(set(p)) < len(p) for p in below))
    ):
        return False
    for label, floor in asked.get("min_recall", {}).items():
        of_class = y == int(label)
        if of_class.any() and (predicted[of_class] == int(label)).mean() < floor - TOLERANCE:
            return False
    if "statistical_parity" in asked:
        groups = X[:, names.index(asked["statistical_parity"]["attribute"])]
        shares = [(predicted[groups == g] == 1).mean() for g in np.unique(groups)]
        if max(shares) - min(shares) > asked["statistical_parity"]["max_gap"] + TOLERANCE:
            return False
    for name, way in asked.get("monotone", {}).items():
        column = names.index(name)
        held = [np.unique(values) for values in X.T]
        held.append(held.pop(column))
        grid = np.array(list(itertools.product(*held)))
        order = [j for j in range(X.shape[1]) if j != column] + [column]
        at = predict(tree, grid[:, np.argsort(order)]).reshape(-1, len(held[-1]))
        steps = np.diff(at, axis=1)
        if (steps < 0).any() if way == "up" else (steps > 0).any():
            return False
    return True


def best(
    X: np.ndarray, y: np.ndarray, depth: int, price: float, names: list[str],
    asked: Mapping[str, Any], costs: np.ndarray, weights: np.ndarray | None = None,
) -> float | None:  # fmt: skip
    """Best 1 - mean cost - price x leaves of a tree that keeps the constraints; None if none.

    `costs`: (n_classes, n_answers), an answer behind the classes is a person's.
    `weights`: of the rows.
    """
    found: float | None = None
    everything = np.ones(len(y), bool)
    for tree in every_tree(X, costs.shape[1], depth, everything):
        cost = np.average(costs[y, predict(tree, X)], weights=weights)
        value = 1 - float(cost) - price * len(paths(tree))
        if (found is None or value > found + 1e-12) and keeps(tree, X, y, names, asked):
            found = value
    return found
