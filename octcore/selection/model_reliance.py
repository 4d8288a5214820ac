"""Model reliance: how much the good trees need a feature."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

import numpy as np

from octcore.selection.near_optimal import NearOptimalTrees
from octcore.tree.tree import Tree

MOST_LISTED = 2000
"""Up to so many trees are all looked at; of more, as many are drawn."""


@dataclass(frozen=True)
class FeatureUse:
    """How the trees of a set use a raw feature."""

    name: str
    trees: int
    at_root: int
    """`trees`, `at_root`: trees that test it anywhere, and at the root."""
    low: float
    high: float
    """`low`, `high`: smallest and largest loss of accuracy when its values are permuted, in shares
    of the rows."""
    is_exact: bool
    """Whether all trees were looked at for these losses; otherwise `high` may be too small, and
    `low` too large unless some tree does without the feature."""


def tree_reliance(tree: Tree, X: np.ndarray, y: np.ndarray, groups: np.ndarray) -> dict[int, float]:
    """Loss of accuracy of one tree when a raw feature is permuted, exactly.

    Every row keeps its values but those of the feature, which it gets from another row, each of
    the n rows being equally likely (itself included).  The loss is the expected rise of the share
    of misclassified rows: nothing is drawn, as a row's way depends on the others only through the
    share of rows that pass the tests of the feature on the path to a leaf.

    Returns the loss by raw feature, for those that the tree tests.

    References
    ----------
    Fisher, Rudin and Dominici (2019), "All models are wrong, but many are useful", JMLR 20.
    """
    right = {node: split.goes_right(X) for node, split in tree.splits.items()}
    feature = {node: int(groups[split.features[0]]) for node, split in tree.splits.items()}
    wrong = float(tree.is_wrong(X, y).mean())
    losses = {}
    for chosen in sorted(set(feature.values())):
        permuted = 0.0
        for leaf, label in tree.labels.items():
            stays, passes = np.ones(len(y), bool), np.ones(len(y), bool)
            node = leaf
            while node > 1:
                parent = node // 2
                here = right[parent] if node % 2 else ~right[parent]
                if feature[parent] == chosen:
                    passes = passes & here
                else:
                    stays = stays & here
                node = parent
            wrong_here = stays & (y != label) & (tree.class_of(label) >= 0)
            permuted += float(passes.mean()) * float(wrong_here.mean())
        losses[chosen] = permuted - wrong
    return losses


def model_reliance(found: NearOptimalTrees, most: int = MOST_LISTED) -> tuple[FeatureUse, ...]:
    """Smallest and largest loss over all good trees when a feature is permuted, by raw feature.

    With up to `most` trees all are looked at; of more, the best tree and `most` uniform draws are,
    and the smallest loss of a feature that some tree of the set does without is known to be at
    most 0.  A loss can be below 0 where a tree does better on permuted rows by chance.
    """
    groups, context = found.encoding.groups, found.prepared.problem.context
    is_exact = found.count <= most
    trees: Iterable[Tree] = found.walk()
    if not is_exact:
        trees = (*islice(found.walk(), 1), *found.sample(most))
    losses = [tree_reliance(tree, context.X, context.y, groups) for tree in trees]
    uses = []
    for f, name in enumerate(found.encoding.raw_features):
        seen, n_trees = [own.get(f, 0.0) for own in losses], found.features[name]
        low, high = min(seen, default=0.0), max(seen, default=0.0)
        if not is_exact and n_trees < found.count:
            low = min(low, 0.0)
        here = is_exact or n_trees == 0
        uses.append(FeatureUse(name, n_trees, found.roots[name], low, high, here))
    return tuple(uses)
