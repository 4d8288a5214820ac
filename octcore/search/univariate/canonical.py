"""D2S: the canonical optimal tree of depth at most two on a set of rows.

For a root feature the two sides are optimised independently, so one pass over the feature pairs
gives the optimum for every root and for every number of leaves at once. Ties are resolved
canonically: fewer leaves, then leaf before branch, smaller label, smaller feature, left before
right. Structure cuts rely on that order, because then the canonical optimum of a whole tree has the
canonical optimum of its own rows at every node.

References
----------
Keegan et al., "Acceleration techniques for learning optimal classification trees", appendix B.1:
the depth-two subtree with penalty ``leaf_penalty`` per leaf on the scale of the weights.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from octcore.search.univariate.bit_table import make_rows, reduce_columns
from octcore.search.univariate.pairs import Pairs, Rows, make_pairs, pair_scores
from octcore.search.univariate.table import integer_weights
from octcore.search.univariate.tree import Branch, Leaf, PathTree, map_features, predict


@dataclass(frozen=True, eq=False)
class BestSubtree:
    """The canonical optimum on a set of rows."""

    value: float  # weight classified correctly minus ``leaf_penalty`` per leaf
    tree: PathTree  # in the features of the caller
    wrong: np.ndarray  # rows of the set that it misclassifies (J-), those without weight left out


class DepthTwo:
    """Optimal depth-two trees on row subsets of one data set.

    `X`: (n_samples, n_features) values 0 and 1.
    `y`: (n_samples,) class indices below ``n_classes``.
    `weights`: (n_samples,) or None, nonnegative; integers are handled exactly.
    `leaf_penalty`: per leaf, on the scale of the weights (``n_samples`` times the accuracy-scale
        penalty).
    """

    def __init__(
        self,
        X: np.ndarray,
        y: np.ndarray,
        weights: np.ndarray | None,
        n_classes: int,
        leaf_penalty: float,
    ) -> None:
        self.X = np.asarray(X, np.uint8)
        self.y = np.asarray(y, np.int64)
        self.n_classes = n_classes
        self.leaf_penalty = float(leaf_penalty)
        self._weights, self._unit = integer_weights(weights, len(self.y))
        self._kept, self._position = reduce_columns(self.X)
        reduced, every = self.X[:, self._kept], np.ones(len(self.y), np.int64)
        self._order, self._rows = make_rows(reduced, self.y, self._weights, every, n_classes, 1)
        self._pairs = make_pairs(self._rows)
        # Exact: of values that only nearly tie, a part and the whole could choose different ones.
        self._price = Fraction(self.leaf_penalty) / Fraction(self._unit)

    def solve(self, mask: np.ndarray, depth: int = 2) -> BestSubtree:
        """Return the canonical optimum on the rows of a boolean mask of shape (n_samples,)."""
        subset = np.flatnonzero(mask[self._order])
        value, reduced = canonical_tree(self._rows, self._pairs, subset, self._price, 0, depth)
        tree = map_features(reduced, lambda f: int(self._kept[f]))
        rows = np.flatnonzero(mask & (self._weights > 0))
        wrong = rows[predict(tree, self.X[rows]) != self.y[rows]]
        return BestSubtree(float(value) * self._unit, tree, wrong)

    def values_by_root(self, mask: np.ndarray, depth: int = 2) -> np.ndarray:
        """Return the best value with every feature at the root, on a mask's rows, at depth 1 or 2.

        A root that does not separate the rows has one empty leaf, which is charged too.
        """
        subset = np.flatnonzero(mask[self._order])
        count = pair_scores(self._rows, subset, len(subset), self._pairs)
        totals = self._pairs.totals[: self.n_classes].astype(np.int64)
        active = self._pairs.active[:count].copy()
        leaf, stump = self._pairs.leaf * self._unit, self._pairs.stump * self._unit
        a = self.leaf_penalty
        side = leaf - a if depth == 1 else np.maximum(leaf - a, stump - 2 * a)
        kept = side[0] + side[1]
        idle = totals.max() * self._unit - a
        if depth == 2 and len(active):
            idle = max(idle, float((leaf[0] + leaf[1])[active].max()) - 2 * a)
        idle -= a
        values = np.full(self.X.shape[1], idle)
        varying = np.zeros(len(kept), bool)
        varying[active] = True
        used = (self._position >= 0) & np.append(varying, False)[self._position]
        values[used] = kept[self._position[used]]
        return values


def canonical_tree(
    rows: Rows,
    pairs: Pairs,
    subset: np.ndarray,
    penalty: Fraction | float,
    slack: float,
    max_depth: int = 2,
    max_leaves: int = 4,
) -> tuple[Fraction | float, PathTree]:
    """Return the canonical optimum of depth at most ``max_depth`` (0, 1, 2) on kernel rows.

    `pairs`: scratch made for ``rows``.
    `subset`: kernel rows, ascending. They satisfy the minimum leaf size.
    `penalty`, `slack`: per leaf, and the distance below which values tie, both in integer weight
        units.
    Returns the value in weight units, and the tree in kernel features.
    """
    count = pair_scores(rows, subset, len(subset), pairs)
    active = pairs.active[:count].copy()
    leaf, stump = pairs.leaf[:, active].copy(), pairs.stump[:, active].copy()
    # A leaf on the left comes before a branch on the left for the same root feature.
    choices = [[(leaf, leaf)], [(leaf, stump), (stump, leaf)], [(stump, stump)]]
    sums = [
        [np.where((a[0] >= 0) & (b[1] >= 0), a[0] + b[1], -1) for a, b in sides]
        for sides in choices
    ]
    scores = [int(_tally(rows, subset).max())]
    scores += [int(np.max(found, initial=-1)) for found in sums]
    limit = min((1, 2, 4)[max_depth], max_leaves)
    values = [s - penalty * (j + 1) if s >= 0 else -np.inf for j, s in enumerate(scores[:limit])]
    best = max(values)
    # Of trees that tie the one with fewest leaves, see above.
    leaves = next(j for j, v in enumerate(values) if v >= best - slack) + 1
    if leaves == 1:
        return best, _leaf(rows, subset)
    attained = np.equal(sums[leaves - 2], scores[leaves - 1])
    root = int(attained.any(axis=0).argmax())
    chosen = choices[leaves - 2][int(attained[:, root].argmax())]
    feature = int(active[root])
    on = rows.columns[feature, subset] > 0
    sides = [
        _leaf(rows, part) if scored is leaf else _stump(rows, pairs, part)
        for scored, part in zip(chosen, (subset[~on], subset[on]), strict=True)
    ]
    return best, Branch(feature, sides[0], sides[1])


def _tally(rows: Rows, subset: np.ndarray) -> np.ndarray:
    block, n_classes = rows.block[subset], int(rows.shape[0])
    return np.bincount(rows.block_channel[block], rows.block_scale[block], n_classes)[:n_classes]


def _leaf(rows: Rows, subset: np.ndarray) -> Leaf:
    return Leaf(int(_tally(rows, subset).argmax()))


def _stump(rows: Rows, pairs: Pairs, subset: np.ndarray) -> PathTree:
    """Return the best single split of the rows, the smallest feature on ties."""
    pair_scores(rows, subset, len(subset), pairs)
    feature = int(np.where((pairs.leaf >= 0).all(axis=0), pairs.leaf.sum(axis=0), -1).argmax())
    on = rows.columns[feature, subset] > 0
    return Branch(feature, _leaf(rows, subset[~on]), _leaf(rows, subset[on]))
