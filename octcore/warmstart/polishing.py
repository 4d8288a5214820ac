"""Solution polishing: replace the lower parts of a tree by optimal subtrees of depth two.

The subtrees of a data set are kept in one cache that polishing, path bound cuts and value rows
share; its key is the set of rows, so different tests that select the same rows share an entry.

References
----------
Keegan et al., "Acceleration techniques for learning optimal classification trees", 5.2.
"""

from collections.abc import Callable

import numpy as np

from octcore.search.univariate.canonical import BestSubtree, DepthTwo
from octcore.search.univariate.tree import Branch, PathTree
from octcore.tree import topology
from octcore.tree.tree import Split, Tree

POLISHED_HEIGHT = 2  # what `DepthTwo` solves


class SubtreeCache:
    """Best subtrees of depth two at most on sets of merged rows ("hits").

    `X`: binary features of the hits, shape ``(n_hits, n_features)``.
    `y`, `weights`: class and weight of the hits, shape ``(n_hits,)``; without weight a hit is never
    right or wrong.
    `penalty`: price of a leaf on the scale of the weights.
    `guard`: called before every new subtree; whoever solves against a clock lets it raise.
    """

    def __init__(
        self, X: np.ndarray, y: np.ndarray, weights: np.ndarray, n_classes: int, penalty: float
    ) -> None:
        self.guard: Callable[[], None] = lambda: None
        self.penalty, self.n_classes = penalty, n_classes
        self._y, self._weights, self._is_one = y, weights, X.astype(bool)
        self._solver = DepthTwo(X, y, weights, n_classes, penalty)
        self._subtrees: dict[tuple[int, bytes], BestSubtree] = {}
        self._values: dict[bytes, float] = {}

    def _key(self, hits: np.ndarray) -> bytes:
        return np.packbits(hits & (self._weights > 0)).tobytes()

    def subtree(self, hits: np.ndarray, depth: int = POLISHED_HEIGHT) -> BestSubtree:
        """Best subtree on the hits of a boolean mask of shape ``(n_hits,)``."""
        key = (depth, self._key(hits))
        found = self._subtrees.get(key)
        if found is None:
            self.guard()
            found = self._subtrees[key] = self._solver.solve(hits, depth)
        return found

    def values_by_root(self, hits: np.ndarray, height: int) -> np.ndarray:
        """Best value by feature at the root of a subtree of height one to three.

        On the hits of a boolean mask of shape ``(n_hits,)``.
        """
        if height <= POLISHED_HEIGHT:
            self.guard()
            return self._solver.values_by_root(hits, height)
        right = self._is_one
        return np.array(
            [
                self.value(hits & ~right[:, f]) + self.value(hits & right[:, f])
                for f in range(right.shape[1])
            ]
        )

    def value(self, hits: np.ndarray) -> float:
        """Value of the best subtree of depth two on the hits of a boolean mask."""
        key = self._key(hits)
        value = self._values.get(key)
        if value is None:
            tally = np.bincount(self._y[hits], self._weights[hits])
            value = float(tally.max(initial=0.0)) - self.penalty
            if np.count_nonzero(tally) > 1:  # else a split gains nothing and costs a leaf
                self.guard()
                value = max(value, float(self._solver.values_by_root(hits).max(initial=-np.inf)))
            self._values[key] = value
        return value


class Polisher:
    """Replaces the lowest two levels of trees by optimal ones.

    `X`: all encoded columns of the hits, shape ``(n_hits, n_columns)``: trees from elsewhere may
    test columns that the cache does not know.
    `columns`: encoded column of every feature of the cache.
    """

    def __init__(self, cache: SubtreeCache, X: np.ndarray, columns: np.ndarray, depth: int) -> None:
        self.cache, self.X, self.columns, self.depth = cache, X, columns, depth

    def improve(self, tree: Tree) -> Tree:
        """Return a tree that is at least as good in value; side constraints are not looked at."""
        rows = tree.node_rows(self.X)
        splits, labels = dict(tree.splits), dict(tree.labels)
        for node in self._roots(tree):
            reach = min(POLISHED_HEIGHT, self.depth - topology.node_depth(node))
            for below in tree.walk(node):
                splits.pop(below, None)
                labels.pop(below, None)
            there = np.zeros(len(self.X), bool)
            there[rows[node]] = True
            best = self.cache.subtree(there, reach)
            self._plant(best.tree, node, splits, labels)
        return Tree(splits, labels, tree.n_features, tree.n_classes)

    def _roots(self, tree: Tree) -> list[int]:
        """Topmost nodes whose height in the tree is two at most."""
        heights: dict[int, int] = {}
        for node in sorted(tree.nodes, reverse=True):
            below = [heights[child] for child in topology.children(node) if child in heights]
            heights[node] = 1 + max(below) if below else 0
        return [
            node
            for node, height in heights.items()
            if height <= POLISHED_HEIGHT
            and (node == 1 or heights[topology.parent(node)] > POLISHED_HEIGHT)
        ]

    def _plant(
        self, part: PathTree, node: int, splits: dict[int, Split], labels: dict[int, int]
    ) -> None:
        if isinstance(part, Branch):
            splits[node] = Split.on_feature(int(self.columns[part.feature]))
            for child, below in zip(topology.children(node), (part.left, part.right), strict=True):
                self._plant(below, child, splits, labels)
        else:
            labels[node] = part.label
