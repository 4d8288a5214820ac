"""Columns of a tree of depth three at most: their exact values, and the table of those that matter.

A tree is put together from columns: a root feature; a feature below one side of the root; and at
the ends a leaf with its label or a stump with two labels.  What an end is worth depends only on how
many rows of every *channel* (class, or class and protected group) arrive there, and those counts
come from one matrix product per root feature.  Side constraints that are linear in the predictions
enter through multipliers, so that the dynamic program over the columns gives Lagrangian bounds.

The *through-value* of a column is the best value of any tree that uses it, side constraints priced
by their multipliers.  A tree at least as good as a threshold consists of columns that reach it; the
table has them, with the flow rows that join them.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from octcore.errors import TooLargeError
from octcore.search.univariate.tree import Branch, Leaf, PathTree

EXACT_IN_SINGLE = 2.0**24  # whole numbers below it are exact in single precision


@dataclass(frozen=True, eq=False)
class Channel:
    """Distinct rows of one kind and how much each counts."""

    X: np.ndarray  # (n_rows, n_features), values 0 and 1 as floats
    weights: np.ndarray  # (n_rows,)

    @classmethod
    def of(cls, X: np.ndarray, weights: np.ndarray) -> "Channel":
        """Merge identical rows."""
        distinct, place = np.unique(X, axis=0, return_inverse=True)
        merged = np.bincount(place.ravel(), weights, len(distinct))
        whole = (merged == np.round(merged)).all() and merged.sum() < EXACT_IN_SINGLE
        kind = np.float32 if whole else np.float64
        return cls(distinct.astype(kind), merged.astype(kind))

    def pairs(self, feature: int | None) -> np.ndarray:
        """Weight of rows where two features are 1; where a third one is too, if it is given."""
        X, weights = self.X, self.weights
        if feature is not None:
            here = X[:, feature] == 1
            X, weights = X[here], weights[here]
        return ((X * weights[:, None]).T @ X).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Counts:
    """Weight of every channel in a set of rows."""

    total: np.ndarray  # (n_channels,)
    pairs: np.ndarray  # (n_channels, n_features, n_features)

    @cached_property
    def sides(self) -> np.ndarray:
        """Weight with a feature at 0 and at 1, shape ``(2, n_channels, n_features)``."""
        ones = np.diagonal(self.pairs, axis1=1, axis2=2)
        return np.stack([self.total[:, None] - ones, ones])

    @cached_property
    def cells(self) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
        """Weight with g at a and h at b as ``cells[a][b]``, each ``(n_channels, g, h)``."""
        ones = self.sides[1]
        first = ones[:, :, None] - self.pairs
        second = ones[:, None, :] - self.pairs
        return (self.total[:, None, None] - ones[:, :, None] - second, second), (first, self.pairs)


@dataclass(frozen=True, eq=False)
class ColumnSpace:
    """What determines the columns of a problem."""

    channels: tuple[Channel, ...]  # kinds of rows
    gains: np.ndarray
    """``(1 + n_rows, n_classes, n_channels)``: what a unit of a channel adds when its leaf predicts
    a class, first to the value, then to the left side of every linear row ``>= rhs``."""
    rhs: np.ndarray  # (n_rows,)
    sizes: np.ndarray  # (n_channels,) samples that a unit of a channel stands for
    groups: np.ndarray  # (n_features,) raw feature of every column
    roots: np.ndarray  # (n_features,) bool, columns that the root may test
    penalty: float  # price of a leaf
    depth: int  # 1, 2 or 3
    smallest: int = 0  # fewest samples of a leaf; 0 allows empty leaves
    once_per_path: bool = False  # whether a raw feature is tested once at most on every path
    may_be_leaf: bool = True  # whether the whole tree may be one leaf

    @cached_property
    def whole(self) -> Counts:
        """Counts of all rows."""
        return Counts(
            np.array([channel.weights.sum(dtype=np.float64) for channel in self.channels]),
            np.stack([channel.pairs(None) for channel in self.channels]),
        )

    def below(self, feature: int) -> tuple[Counts, Counts]:
        """Counts of the rows with `feature` at 0 and at 1; one product serves both."""
        right = self.whole.sides[1][:, feature]
        ones = np.stack([channel.pairs(feature) for channel in self.channels])
        return Counts(self.whole.total - right, self.whole.pairs - ones), Counts(right, ones)

    def payoff(self, multipliers: np.ndarray) -> np.ndarray:
        """Gain of a unit of a channel under a label, shape ``(n_classes, n_channels)``."""
        return self.gains[0] + np.tensordot(multipliers, self.gains[1:], 1)

    def samples(self, counts: np.ndarray) -> np.ndarray:
        """Number of samples of counts whose first axis is the channel."""
        return np.tensordot(self.sizes, counts, 1)

    def leaf_values(self, payoff: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Value of the best label minus the price of a leaf; -inf where it is too small."""
        values = np.tensordot(payoff, counts, 1).max(axis=0) - self.penalty
        if self.smallest > 0:  # samples are whole, half of one is beyond rounding
            values = np.where(self.samples(counts) < self.smallest - 0.5, -np.inf, values)
        return values

    @cached_property
    def same_raw(self) -> np.ndarray:
        """Whether two columns stem from one raw feature, shape ``(n_features, n_features)``."""
        return self.groups[:, None] == self.groups[None, :]


@dataclass(frozen=True, eq=False)
class PairScores:
    """Best values of the trees of depth two on a set of rows, by what they test."""

    counts: Counts  # the rows
    leaf: float  # value of a single leaf
    side_leaf: np.ndarray  # (2, n_features) value of a leaf on each side of g
    stump: np.ndarray | None  # (2, g, h) of a split on h on each side of g, if there is depth left
    side: np.ndarray  # (2, n_features) the better of both on each side of g
    split: np.ndarray  # (n_features,) value with g on top

    @cached_property
    def best(self) -> float:
        """Value of the best tree."""
        return max(self.leaf, float(self.split.max(initial=-np.inf)))


def pair_scores(
    space: ColumnSpace,
    counts: Counts,
    payoff: np.ndarray,
    root: int | None,
    with_stumps: bool = True,
) -> PairScores:
    """Score all trees of depth two on the rows of `counts`.

    `root`: the column tested above, None if these rows are all rows and g is the root.
    `with_stumps`: whether there is a level below g.
    """
    # A split with all rows on one side is worth no more than what stands there.
    filled = [space.samples(side) > 0.5 for side in counts.sides]
    allowed = filled[0] & filled[1]
    if root is None:
        allowed &= space.roots
    elif space.once_per_path:
        allowed &= ~space.same_raw[root]
    side_leaf = np.stack([space.leaf_values(payoff, side) for side in counts.sides])
    stump = None
    side = side_leaf
    if with_stumps:
        stump = np.stack([_stumps(space, counts, payoff, t) for t in (0, 1)])
        if space.once_per_path:
            stump[:, space.same_raw] = -np.inf
            if root is not None:
                stump[:, :, space.same_raw[root]] = -np.inf
        side = np.maximum(side_leaf, stump.max(axis=2, initial=-np.inf))
    split = np.where(allowed, side[0] + side[1], -np.inf)
    is_free = root is not None or space.may_be_leaf
    leaf = float(space.leaf_values(payoff, counts.total)) if is_free else -np.inf
    return PairScores(counts, leaf, side_leaf, stump, side, split)


def _stumps(space: ColumnSpace, counts: Counts, payoff: np.ndarray, t: int) -> np.ndarray:
    """Value of a split on h on side t of g; both sides of it hold rows."""
    values, filled = 0.0, True
    for cell in counts.cells[t]:
        values = values + np.tensordot(payoff, cell, 1).max(axis=0)
        filled = filled & (space.samples(cell) >= max(space.smallest, 1) - 0.5)
    return np.where(filled, values - 2 * space.penalty, -np.inf)


@dataclass(frozen=True, eq=False)
class RootScores:
    """Values of the trees with one root."""

    root: int | None  # of depth three; None where one `PairScores` covers the whole tree
    parts: tuple[PairScores, ...]  # both sides of the root, or the whole

    @property
    def best(self) -> float:
        """Value of the best tree."""
        return sum(part.best for part in self.parts)


def root_scores(space: ColumnSpace, payoff: np.ndarray, roots: np.ndarray) -> Iterator[RootScores]:
    """Score the trees root by root, at depth three for some; else one table serves all roots."""
    if space.depth < 3:
        yield RootScores(None, (pair_scores(space, space.whole, payoff, None, space.depth == 2),))
        return
    filled = np.all([space.samples(side) > 0.5 for side in space.whole.sides], axis=0)
    for f in roots[(space.roots & filled)[roots]].tolist():
        yield RootScores(f, tuple(pair_scores(space, c, payoff, f) for c in space.below(f)))


def whole_leaf(space: ColumnSpace, payoff: np.ndarray) -> float:
    """Value of the tree that is one leaf; -inf if it may not be."""
    return float(space.leaf_values(payoff, space.whole.total)) if space.may_be_leaf else -np.inf


def best_tree(space: ColumnSpace, payoff: np.ndarray, scores: RootScores | None) -> PathTree:
    """Read a best tree of scores; None stands for a single leaf."""
    if scores is None:
        return _leaf(payoff, space.whole.total)
    trees = [_pair_tree(payoff, part) for part in scores.parts]
    return trees[0] if scores.root is None else Branch(scores.root, trees[0], trees[1])


def _leaf(payoff: np.ndarray, counts: np.ndarray) -> Leaf:
    return Leaf(int((payoff @ counts).argmax()))


def _pair_tree(payoff: np.ndarray, part: PairScores) -> PathTree:
    counts = part.counts
    if part.leaf >= part.split.max(initial=-np.inf):
        return _leaf(payoff, counts.total)
    g = int(part.split.argmax())
    sides: list[PathTree] = []
    for t in (0, 1):
        if part.stump is None or part.side_leaf[t, g] >= part.stump[t, g].max():
            sides.append(_leaf(payoff, counts.sides[t][:, g]))
            continue
        h = int(part.stump[t, g].argmax())
        ends = [_leaf(payoff, counts.cells[t][v][:, g, h]) for v in (0, 1)]
        sides.append(Branch(h, ends[0], ends[1]))
    return Branch(g, sides[0], sides[1])


def restrict(space: ColumnSpace, columns: np.ndarray) -> ColumnSpace:
    """The same question on some of the columns."""
    return replace(
        space,
        channels=tuple(Channel.of(c.X[:, columns], c.weights) for c in space.channels),
        groups=space.groups[columns],
        roots=space.roots[columns],
    )


MOST_COMPARED = 600
"""Stumps of one node that are compared pair by pair; beyond it only equal ones are merged."""
SAME = 1e-9  # gains are counts and weights of rows; anything below this is rounding


class Column(NamedTuple):
    """A split, a leaf with its label, or a stump with two labels, at one place of the tree."""

    node: int  # number of the place in a heap
    feature: int  # column of the space, -1 for a leaf
    labels: tuple[int, int]  # of the leaves below, -1 where there is none
    row: int  # flow row that it is in
    below: tuple[int, int]  # flow rows that a split opens on both sides, else -1
    gains: np.ndarray  # value, and left sides of the linear rows


@dataclass(eq=False)
class ColumnTable:
    """Columns in a growing list."""

    space: ColumnSpace
    payoff: np.ndarray  # payoff under the multipliers, see `ColumnSpace.payoff`
    threshold: float  # smallest through-value on the scale of `payoff`
    by_raw: bool  # whether raw features are counted, so that stumps on different ones differ
    most: int  # largest number of columns
    columns: list[Column] = field(default_factory=list)
    n_rows: int = 1

    def __len__(self) -> int:
        return len(self.columns)

    @cached_property
    def position(self) -> dict[tuple[int, int, tuple[int, int]], int]:
        """Column by flow row, feature (-1 for a leaf) and labels, once all are there."""
        return {(c.row, c.feature, c.labels): j for j, c in enumerate(self.columns)}

    def add_root(self, scores: RootScores) -> None:
        """Add the columns of all trees of one `RootScores`."""
        if scores.root is None:
            self._add_pair(1, 0, scores.parts[0], 0.0)
        elif self._reaches(scores.best):
            rows = self._add_split(1, 0, scores.root)
            for s, part in enumerate(scores.parts):
                self._add_pair(2 + s, rows[s], part, scores.parts[1 - s].best)

    def add_leaf(self, node: int, row: int, counts: np.ndarray, offset: float) -> None:
        """Add a leaf with every label that matters."""
        space = self.space
        if space.smallest > 0 and space.samples(counts) < space.smallest - 0.5:
            return
        payoff = self.payoff @ counts - space.penalty
        gains = space.gains @ counts
        gains[0] -= space.penalty
        # Linear rows make the label of a leaf part of the question.
        chosen = range(len(payoff)) if len(space.rhs) else [int(payoff.argmax())]
        kept = [k for k in chosen if self._reaches(payoff[k] + offset)]
        for k in _undominated(gains[:, kept].T, np.zeros(len(kept), dtype=np.int64)):
            self._add(Column(node, -1, (kept[k], -1), row, (-1, -1), gains[:, kept[k]]))

    def _reaches(self, value: Any) -> Any:
        """Whether a column of so much through-value may be in a tree that reaches the threshold."""
        return np.isfinite(value) & (value >= self.threshold)

    def _add_split(self, node: int, row: int, feature: int) -> tuple[int, int]:
        below = (self.n_rows, self.n_rows + 1)
        self.n_rows += 2
        self._add(Column(node, feature, (-1, -1), row, below, np.zeros(len(self.space.gains))))
        return below

    def _add(self, column: Column) -> None:
        if len(self.columns) >= self.most:
            raise TooLargeError(
                "TOO_LARGE",
                f"More than {self.most:,} columns could be part of an optimal tree; choose a "
                "smaller depth, a coarser encoding or a larger leaf penalty.",
                {"columns": float(self.most)},
            )
        self.columns.append(column)

    def _add_pair(self, node: int, row: int, part: PairScores, offset: float) -> None:
        counts = part.counts
        if self._reaches(part.leaf + offset):
            self.add_leaf(node, row, counts.total, offset)
        for g in np.flatnonzero(self._reaches(part.split + offset)):
            rows = self._add_split(node, row, int(g))
            for t in (0, 1):
                elsewhere = offset + part.side[1 - t][g]
                self.add_leaf(2 * node + t, rows[t], counts.sides[t][:, g], elsewhere)
                if part.stump is not None:
                    reach = self._reaches(part.stump[t, g] + elsewhere)
                    cells = [counts.cells[t][v][:, g, reach] for v in (0, 1)]
                    self._add_stumps(2 * node + t, rows[t], np.flatnonzero(reach), cells, elsewhere)

    def _add_stumps(
        self, node: int, row: int, features: np.ndarray, cells: list[np.ndarray], offset: float
    ) -> None:
        """Add the stumps of one node; `cells` are counts of both sides, (channel, feature)."""
        if not len(features):
            return
        space, n_classes = self.space, len(self.payoff)
        payoff = [self.payoff @ cell - space.penalty for cell in cells]
        gains = [np.tensordot(space.gains, cell, 1) for cell in cells]
        if len(space.rhs):
            pairs = [(a, b) for a in range(n_classes) for b in range(n_classes) if a != b]
            labels = np.repeat(np.array(pairs, int).reshape(-1, 2), len(features), axis=0)
            which = np.tile(np.arange(len(features)), len(pairs))
        else:
            labels = np.stack([values.argmax(axis=0) for values in payoff], axis=1)
            which = np.arange(len(features))
        through = payoff[0][labels[:, 0], which] + payoff[1][labels[:, 1], which] + offset
        # equal labels: the leaf above predicts the same with a leaf and a feature less
        kept = np.flatnonzero((through >= self.threshold) & (labels[:, 0] != labels[:, 1]))
        if not len(kept):
            return
        which, labels = which[kept], labels[kept]
        total = gains[0][:, labels[:, 0], which] + gains[1][:, labels[:, 1], which]
        total[0] -= 2 * space.penalty
        raw = space.groups[features[which]] if self.by_raw else np.zeros(len(which), dtype=np.int64)
        # Columns of one flow row replace each other in every tree.
        for j in _undominated(total.T, raw):
            pair = (int(labels[j, 0]), int(labels[j, 1]))
            self._add(Column(node, int(features[which[j]]), pair, row, (-1, -1), total[:, j]))


def _undominated(gains: np.ndarray, kind: np.ndarray) -> np.ndarray:
    """Positions whose gains no other one of the same kind equals or exceeds in every entry."""
    n, n_gains = gains.shape
    if n < 2:
        return np.arange(n)
    order = np.lexsort((*(-gains.T[::-1]), kind))
    gains, kind = gains[order], kind[order]
    if n_gains == 1:  # the first of every kind has the largest value
        return np.sort(order[np.append(True, kind[1:] != kind[:-1])])
    equal = (np.abs(gains[1:] - gains[:-1]) <= SAME).all(axis=1) & (kind[1:] == kind[:-1])
    order, gains, kind = (a[np.append(True, ~equal)] for a in (order, gains, kind))
    if len(order) > MOST_COMPARED:
        return np.sort(order)
    better = (gains[:, None, :] >= gains[None, :, :] - SAME).all(axis=2)
    # Sorted with the larger first, so of two that tie within rounding the earlier one stays.
    better &= (kind[:, None] == kind[None, :]) & np.tri(len(order), k=-1, dtype=bool).T
    return np.sort(order[~better.any(axis=0)])


def make_table(
    space: ColumnSpace,
    multipliers: np.ndarray,
    threshold: float,
    roots: np.ndarray,
    by_raw: bool,
    most: int,
    guard: Callable[[], None],
) -> ColumnTable:
    """Collect every column that a tree of value `threshold` or more may need.

    `multipliers`: non-negative prices of the linear rows; any give a valid table, good ones a small
        one.
    `threshold`: what some feasible tree is known to reach, less a little slack, or -inf.
    `roots`: columns that may be roots of such a tree.
    Raises `TooLargeError` if there are more than `most`.
    """
    payoff = space.payoff(multipliers)
    table = ColumnTable(space, payoff, threshold + float(multipliers @ space.rhs), by_raw, most)
    if space.depth == 3 and np.isfinite(whole_leaf(space, payoff)):
        table.add_leaf(1, 0, space.whole.total, 0.0)
    for scores in root_scores(space, payoff, roots):
        guard()
        table.add_root(scores)
    return table
