"""The rows as the search sees them: ranks by column, whole-number weights, equal rows merged.

The tree that the search returns does not depend on the order of the rows that came in: the search
adds up rows by their ranks, in whole numbers, and never asks for the number of a row.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from octcore.data.distinct import factors_of, groups_of
from octcore.search.univariate.question import Question
from octcore.tree.tree import Split, midpoint

LARGEST_COUNT = 2**30
"""Largest total of weights that are kept as they are; sums of two stay inside 32 bits."""
FLOAT_BITS = 50
"""Weights without a common unit are rounded to whole numbers with this many bits in their sum."""
LARGEST_DENOMINATOR = 100_000
"""Of ratios of weights, as of quotients of class counts.  Any other ratio is as near to such a
fraction as `SAME_RATIO` in less than one case of a thousand (3e9 fractions up to 1)."""
MOST_DISTINCT = 1000
"""Weights that are tried as fractions (effort only: more are rounded, as `FLOAT_BITS` says)."""
HASH_FACTOR = 2**24  # factors of the hash of a column stay below this: its sums are exact
NEAR_CELLS = 2**18  # cells that are sorted at once, so that what is looked up by order stays near
PROBE = 64  # values of a column that tell whether many are equal
SAME = 1e-9  # costs closer than this share of the total weight are equal
LARGEST_PENALTY = 2.0
"""A leaf gains an accuracy of 1 at most: beyond this price the best trees are always those with
fewest leaves.  The search is asked with this one, so that its costs stay exact."""
SAME_RATIO = 1e-13
"""Ratios of weights closer than this are equal: class weights are quotients of counts."""


@dataclass(frozen=True, eq=False)
class Table:
    """Distinct rows of a question by rank."""

    rank: np.ndarray  # (n_columns, n_rows) int32, place of a row's value among those of the column
    values: tuple[np.ndarray, ...]  # distinct values of every column, ascending
    y: np.ndarray  # (n_rows,) int32, class index
    weight: np.ndarray  # (n_rows,) int64, in units
    count: np.ndarray  # (n_rows,) int64, original rows that were merged
    outvoted: np.ndarray  # (n_rows,) bool, whether equal rows have more weight in another class
    unit: float  # original weight of one unit
    original: np.ndarray  # (n_columns,) int64, column of the question for every column here
    twin: np.ndarray  # (n_features,) int64, column that splits like one of the question, or -1
    n_classes: int
    sorted: np.ndarray | None = None  # what `sequence` gives, where sorting has found it already

    @cached_property
    def total(self) -> int:
        """Sum of the weights in units."""
        return int(self.weight.sum())

    @property
    def n_columns(self) -> int:
        """Number of distinct columns."""
        return len(self.values)

    @cached_property
    def first(self) -> np.ndarray:
        """Number of the first threshold of every column, and of all, ``(n_columns + 1,)``."""
        return np.cumsum([0, *(len(values) - 1 for values in self.values)])

    @cached_property
    def column_and_rank(self) -> tuple[np.ndarray, np.ndarray]:
        """Column, and last rank on the left, of every threshold, ``(n_thresholds,)``."""
        column = np.repeat(np.arange(self.n_columns), np.diff(self.first))
        return column, np.arange(len(column)) - self.first[column]

    @property
    def n_thresholds(self) -> int:
        """Number of thresholds of all columns."""
        return int(self.first[-1])

    @cached_property
    def class_weight(self) -> np.ndarray:
        """Weight of every class in units, shape ``(n_classes,)``, int64."""
        return np.bincount(self.y, self.weight, self.n_classes).astype(np.int64)

    @cached_property
    def sequence(self) -> np.ndarray:
        """Rows of every column by ascending value, shape ``(n_columns, n_rows)``, int32.

        An entry is ``row << 1 | last``: whether the value changes after the row.
        """
        if self.sorted is not None:
            return self.sorted
        order = np.argsort(self.rank, axis=1, kind="stable")
        ordered = np.take_along_axis(self.rank, order, axis=1)
        sequence = order.astype(np.int32) << 1
        sequence[:, :-1] |= ordered[:, 1:] != ordered[:, :-1]
        return sequence

    def threshold(self, column: int, rank: int) -> float:
        """Value that separates the rows up to a rank from the others."""
        return midpoint(*self.values[column][rank : rank + 2].tolist())

    def split(self, number: int) -> Split:
        """The threshold of a number, on the columns of the question."""
        column = int(np.searchsorted(self.first, number, side="right")) - 1
        rank = number - int(self.first[column])
        return Split.on_feature(int(self.original[column]), self.threshold(column, rank))


@dataclass(frozen=True, eq=False)
class Inquiry:
    """A question in units of weight, for those who search."""

    question: Question
    table: Table  # its rows, with at least one column
    price: float  # of a leaf
    slack: float  # costs closer than it are equal
    smallest: int  # rows that a leaf must have, as the table counts them
    roots: np.ndarray  # (n_columns,) bool, columns that the root may test
    stop: np.ndarray  # (1,) uint8, the search ends soon after ``stop[0]`` becomes 1

    @property
    def is_forced(self) -> bool:
        """Whether the root must test one of some columns."""
        return self.question.roots is not None

    def value(self, cost: float, leaves: int = 0) -> float:
        """Accuracy minus penalties of a cost; the tree has so many leaves at least."""
        fewest = max(leaves, 2 if self.is_forced else 1)
        surplus = max(0.0, self.question.leaf_penalty - LARGEST_PENALTY)
        return 1.0 - cost / self.table.total - surplus * fewest


def make_inquiry(question: Question) -> Inquiry:
    """Put a question into units of weight."""
    table, smallest = make_table(question), question.smallest_leaf
    uncounted = table.count == 0
    if uncounted.any():  # to kernels every row counts, all of these less than a counted one
        share = int(uncounted.sum()) + 1
        table = replace(table, count=share * table.count + uncounted)
        smallest *= share
    roots = np.ones(table.n_columns, bool)
    if question.roots is not None:
        roots = np.isin(np.arange(table.n_columns), table.twin[list(question.roots)])
    return Inquiry(
        question=question,
        table=table,
        price=float(min(question.leaf_penalty, LARGEST_PENALTY) * table.total),
        slack=SAME * max(1.0, table.total),
        smallest=smallest,
        roots=roots,
        stop=np.zeros(1, np.uint8),
    )


def make_table(question: Question) -> Table:
    """Reduce a question to what decides its answer.

    Rows of weight 0 stay: leaf sizes count them, and a split may part them from the others.
    Columns that part the rows alike, also with the sides swapped, are kept once: the first of
    them that may be tested, and one that the root may test before others.
    """
    X, y = np.asarray(question.X), np.asarray(question.y, np.int32)
    whole, unit = integer_weights(question.weights, len(y))
    counts = np.ones(len(y), np.int64) if question.counts is None else question.counts
    kept, cells = usable_columns(X, question.forbidden)
    is_binary = cells.dtype == np.uint8
    if is_binary:  # lines are quicker to pack than columns
        group = groups_of(np.packbits(X if len(kept) == X.shape[1] else X[:, kept], axis=1).T)
    else:
        group = groups_of(cells)
    first, weight, count, outvoted = _merged_rows(group, y, whole, counts, question.n_classes)
    if len(first) < len(y):
        cells, y = np.take(cells, first, axis=1), y[first]
    in_order = None
    if is_binary:
        rank, values = cells.astype(np.int32), (np.arange(2.0),) * len(cells)
    else:
        rank, values, in_order = _ranks(cells)
    is_wanted = np.isin(kept, kept if question.roots is None else question.roots)
    chosen, place = distinct_columns(rank, is_wanted)
    twin = np.full(X.shape[1], -1, np.int64)
    twin[kept] = place
    if not np.array_equal(chosen, np.arange(len(rank))):
        rank, values = rank[chosen], tuple(values[h] for h in chosen)
        in_order = None if in_order is None else in_order[chosen]
    return Table(
        rank=rank,
        values=values,
        y=y,
        weight=weight,
        count=count,
        outvoted=outvoted,
        unit=unit,
        original=kept[chosen],
        twin=twin,
        n_classes=question.n_classes,
        sorted=in_order,
    )


def _ranks(cells: np.ndarray) -> tuple[np.ndarray, tuple[np.ndarray, ...], np.ndarray]:
    """Rank of every cell in its column, the distinct values of the columns, `Table.sequence`."""
    rank, sequence = np.empty(cells.shape, np.int32), np.empty(cells.shape, np.int32)
    values: list[np.ndarray] = []
    each = max(1, NEAR_CELLS // max(1, cells.shape[1]))
    for first in range(0, len(cells), each):
        part, mine = cells[first : first + each], rank[first : first + each]
        order = _ascending(part)
        place = order + np.arange(0, order.size, max(1, order.shape[1]))[:, None]
        part = part.reshape(-1)[place]
        is_new = np.zeros(part.shape, bool)
        np.greater(part[:, 1:], part[:, :-1], out=is_new[:, 1:])
        mine.reshape(-1)[place] = np.cumsum(is_new, axis=1, dtype=np.int32)
        sequence[first : first + each] = order << 1
        sequence[first : first + each, :-1] |= is_new[:, 1:]
        is_new[:, :1] = True
        values += [line[new] for line, new in zip(part, is_new, strict=True)]
    return rank, tuple(values), sequence


def _ascending(cells: np.ndarray) -> np.ndarray:
    """Order of every row of an array; how equal values stand is of no interest.

    Sorting by runs is up to ten times faster where values are equal, and else half as fast.
    """
    few = np.sort(cells[:, :PROBE], axis=1)
    is_tied = (few[:, 1:] == few[:, :-1]).sum(axis=1) * 16 > few.shape[1]
    order = np.empty(cells.shape, np.int64)
    for row, line, tied in zip(order, cells, is_tied.tolist(), strict=True):
        row[:] = np.argsort(line, kind="stable" if tied else "quicksort")
    return order


def integer_weights(weights: np.ndarray | None, n_samples: int) -> tuple[np.ndarray, float]:
    """Return whole-number weights and the original weight of one unit.

    Weights that are multiples of a common unit stay exact; others are rounded so finely that sums
    differ by less than the tolerance of the search.
    """
    if weights is None:
        return np.ones(n_samples, np.int64), 1.0
    values = np.asarray(weights, float)
    unit = _common_unit(np.unique(values[values > 0]))
    if unit is None or values.sum() / unit > LARGEST_COUNT:
        unit = math.ldexp(1.0, math.frexp(float(values.sum()))[1] - FLOAT_BITS)
    return np.round(values / unit).astype(np.int64), unit


def _common_unit(distinct: np.ndarray) -> float | None:
    """Largest number of which all weights are multiples, if any; ratios are tried as fractions."""
    if len(distinct) > MOST_DISTINCT:
        return None
    smallest = float(distinct[0])
    denominator, ratios = 1, []
    for value in distinct:
        exact = float(value) / smallest
        if exact > LARGEST_COUNT:
            return None
        ratio = Fraction(exact).limit_denominator(LARGEST_DENOMINATOR)
        if abs(float(ratio) - exact) > SAME_RATIO * exact:
            return None
        ratios.append(ratio)
        denominator = math.lcm(denominator, ratio.denominator)
        if denominator > LARGEST_COUNT:
            return None
    return smallest / denominator * math.gcd(*[int(ratio * denominator) for ratio in ratios])


def usable_columns(X: np.ndarray, forbidden: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Columns that vary and are not forbidden, and their cells: bytes where all are 0 or 1."""
    kept = np.arange(X.shape[1])
    if forbidden is not None:
        kept = np.flatnonzero(~np.asarray(forbidden, bool))
    kind = np.uint8 if X.dtype in (np.uint8, bool) and X.max(initial=0) <= 1 else np.float64
    cells = np.array(X.T if len(kept) == X.shape[1] else X.T[kept], kind, order="C")
    varies = (cells != cells[:, :1]).any(axis=1)
    return (kept, cells) if varies.all() else (kept[varies], cells[varies])


def distinct_columns(rank: np.ndarray, is_wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One of all columns that part the rows alike, also with the sides swapped.

    `rank`: (n_columns, n_rows) every column has a cell of rank 0 and at least two ranks.
    `is_wanted`: (n_columns,) bool, of equal columns a wanted one stays, and of several the first.
    Returns the columns that stay, ascending; and for every column the place of the one like it.
    """
    place = np.zeros(len(rank), np.int64)
    if not len(rank):
        return place, place
    top = rank.max(axis=1).astype(np.int64)
    factors = factors_of(rank.shape[1], HASH_FACTOR)
    key = np.einsum("i,hi->h", factors, rank)
    key = np.minimum(key, top * factors.sum() - key)
    known: dict[tuple[int, int], list[int]] = {}
    like = np.arange(len(rank))
    for h in np.argsort(~is_wanted, kind="stable").tolist():
        alike = known.setdefault((int(top[h]), int(key[h])), [])
        for other in alike:
            if (rank[h] == rank[other]).all() or (rank[h] + rank[other] == top[h]).all():
                like[h] = other
                break
        else:
            alike.append(h)
    chosen, place = np.unique(like, return_inverse=True)
    return chosen, place


def _merged_rows(
    group: np.ndarray, y: np.ndarray, whole: np.ndarray, counts: np.ndarray, n_classes: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Join the rows of a group that have the same class.

    Returns arrays (n_rows,): one of the rows of every number; sums of weights and counts over all
        of them; whether another class has more weight in the group.
    """
    label, size = group * n_classes + y, (int(group.max(initial=0)) + 1) * n_classes
    weight = np.bincount(label, whole, size).astype(np.int64)  # exact, see FLOAT_BITS
    there = np.bincount(label, minlength=size) > 0
    by_class = weight.reshape(-1, n_classes)
    loses = np.arange(n_classes) != by_class.argmax(axis=1)[:, None]
    if np.count_nonzero(there) == len(y):
        return np.arange(len(y)), whole, counts, loses.ravel()[label]
    place = (np.cumsum(there) - 1)[label]
    first = np.empty(int(there.sum()), np.int64)
    first[place[::-1]] = np.arange(len(y))[::-1]
    count = np.bincount(label, counts, size).astype(np.int64)
    return first, weight[there], count[there], loses.ravel()[there]
