"""Nested tree records of the exact search: a leaf with a label, or a branch on a binary feature."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from octcore.tree.tree import Split, Tree, grown


@dataclass(frozen=True, slots=True)
class Leaf:
    """A leaf that predicts class ``label``."""

    label: int


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch node: value 0 of ``feature`` goes left, value 1 goes right."""

    feature: int
    left: "PathTree"
    right: "PathTree"


PathTree = Leaf | Branch


def count_leaves(tree: PathTree) -> int:
    """Return the number of leaves."""
    if isinstance(tree, Leaf):
        return 1
    return count_leaves(tree.left) + count_leaves(tree.right)


def predict(tree: PathTree, X: np.ndarray) -> np.ndarray:
    """Route rows of binary features and return their labels."""
    if isinstance(tree, Leaf):
        return np.full(len(X), tree.label, np.int64)
    left, right = predict(tree.left, X), predict(tree.right, X)
    return np.where(X[:, tree.feature] > 0, right, left)


def heap(
    nested: PathTree,
    n_features: int,
    n_classes: int,
    split: Callable[[int], Split] = Split.on_feature,
) -> Tree:
    """Number the nodes of a nested record as a heap; `split` says what a feature number tests."""

    def part(here: PathTree) -> int | tuple[Split, PathTree, PathTree]:
        if isinstance(here, Leaf):
            return here.label
        return split(here.feature), here.left, here.right

    return Tree(*grown(nested, part), n_features, n_classes)


def map_features(tree: PathTree, rename: Callable[[int], int]) -> PathTree:
    """Return the tree with every feature number replaced by ``rename(feature)``."""
    if isinstance(tree, Leaf):
        return tree
    left, right = map_features(tree.left, rename), map_features(tree.right, rename)
    return Branch(rename(tree.feature), left, right)
