"""Slow, obviously right enumeration of small trees: the oracle of the tests.

Nothing here is fast or clever on purpose.

Everywhere `X` holds zeros and ones, shape ``(n_samples, n_features)``, `y` class codes and
`weights` weights of rows, both of shape ``(n_samples,)``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from octcore.search.univariate.tree import (
    Branch,
    Leaf,
    PathTree,
    count_leaves,
    predict,
)

_TIE = 1e-9
"""Values closer than this share of the total weight are ties."""


def all_trees(n_features: int, n_classes: int, depth: int) -> Iterator[PathTree]:
    """Yield every tree of at most ``depth`` splits per path (use depth <= 2)."""
    for label in range(n_classes):
        yield Leaf(label)
    if depth == 0:
        return
    below = list(all_trees(n_features, n_classes, depth - 1))
    for feature in range(n_features):
        for left in below:
            for right in below:
                yield Branch(feature, left, right)


def tree_value(
    tree: PathTree, X: np.ndarray, y: np.ndarray, weights: np.ndarray | None, penalty: float
) -> float:
    """Return the weight classified correctly minus ``penalty`` per leaf (count scale)."""
    share = np.ones(len(y)) if weights is None else np.asarray(weights, float)
    return float(share[predict(tree, X) == y].sum()) - penalty * count_leaves(tree)


def leaf_sizes(tree: PathTree, X: np.ndarray) -> list[int]:
    """Number of rows in every leaf, left to right."""
    if isinstance(tree, Leaf):
        return [len(X)]
    right = X[:, tree.feature] > 0
    return leaf_sizes(tree.left, X[~right]) + leaf_sizes(tree.right, X[right])


def canonical_key(tree: PathTree) -> tuple[object, ...]:
    """Sort key: leaf before branch, label or feature, then left, then right."""
    if isinstance(tree, Leaf):
        return (0, tree.label)
    return (1, tree.feature, canonical_key(tree.left), canonical_key(tree.right))


def best_tree(
    X: np.ndarray,
    y: np.ndarray,
    n_classes: int,
    depth: int,
    penalty: float = 0.0,
    weights: np.ndarray | None = None,
    accept: Callable[[PathTree], bool] | None = None,
    min_samples_leaf: int = 0,
) -> tuple[float, PathTree | None]:
    """Return the canonical best tree among all that ``accept`` allows, by full enumeration.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features), values 0 and 1
    y : ndarray of shape (n_samples,)
    n_classes : int
    depth : int
        At most 2.
    penalty : float
        Per leaf, on the scale of the weights.
    weights : ndarray, optional
    accept : callable, optional
        Constraint on whole trees.
    min_samples_leaf : int

    Returns
    -------
    tuple of (float, tree or None)
        Value and tree; minus infinity and None if no tree is allowed.
    """
    slack = _TIE * (len(y) if weights is None else float(np.sum(weights)) + 1)
    best: tuple[float, PathTree | None] = (-np.inf, None)
    for tree in all_trees(X.shape[1], n_classes, depth):
        if accept is not None and not accept(tree):
            continue
        if min_samples_leaf and min(leaf_sizes(tree, X)) < min_samples_leaf:
            continue
        value = tree_value(tree, X, y, weights, penalty)
        if best[1] is None or value > best[0] + slack:
            best = (value, tree)
        elif value >= best[0] - slack and _before(tree, best[1]):
            best = (value, tree)
    return best


def _before(tree: PathTree, other: PathTree) -> bool:
    """Tell whether ``tree`` comes first in the canonical order among trees of equal value."""
    mine, theirs = count_leaves(tree), count_leaves(other)
    return mine < theirs or (mine == theirs and canonical_key(tree) < canonical_key(other))


def best_by_leaves(
    X: np.ndarray,
    y: np.ndarray,
    n_classes: int,
    depth: int,
    weights: np.ndarray | None = None,
    min_samples_leaf: int = 0,
) -> dict[int, tuple[float, PathTree]]:
    """Return for every exact number of leaves the most weight classified correctly, and a tree.

    The recursion over (rows, depth) is exhaustive: every feature at every node. Only numbers of
    leaves that some allowed tree has appear. With ``min_samples_leaf=0`` empty leaves count.
    """
    share = np.ones(len(y)) if weights is None else np.asarray(weights, float)
    found: dict[int, tuple[float, PathTree]] = {}
    if len(y) >= min_samples_leaf:
        tally = np.bincount(y, share, minlength=n_classes)
        found[1] = (float(tally.max()), Leaf(int(tally.argmax())))
    if depth == 0:
        return found
    for feature in range(X.shape[1]):
        right = X[:, feature] > 0
        sides = []
        for rows in (~right, right):
            part = None if weights is None else share[rows]
            sides.append(
                best_by_leaves(X[rows], y[rows], n_classes, depth - 1, part, min_samples_leaf)
            )
        for i, (a, left) in sides[0].items():
            for j, (b, below) in sides[1].items():
                if i + j not in found or a + b > found[i + j][0] + _TIE:
                    found[i + j] = (a + b, Branch(feature, left, below))
    return found
