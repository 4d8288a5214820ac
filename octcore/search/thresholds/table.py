"""The rows as the search sees them: ranks by column, whole-number weights, equal rows merged.

The tree that the search returns does not depend on the order of the rows that came in: the search
adds up rows by their ranks, in whole numbers, and never asks for the number of a row.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from octcore.search.thresholds.problem import ThresholdProblem

LARGEST_COUNT = 2**30
"""Largest total of weights that are kept as they are; sums of two stay inside 32 bits."""
FLOAT_BITS = 50
"""Weights without a common unit are rounded to whole numbers with this many bits in their sum."""
LARGEST_DENOMINATOR = 100_000
HASH_FACTOR = 2**24
"""Factors of the hash of a column stay below this: its sums are exact."""
HASH_CELLS = 2**18
"""Cells that are hashed at once, so that the memory for it stays small."""
PROBE = 64
"""Values of a column that tell whether many are equal."""
SAME_RATIO = 1e-13
"""Ratios of weights closer than this are equal: class weights are quotients of counts."""


@dataclass(frozen=True, eq=False)
class Table:
    """Distinct rows of a problem by rank.

    Attributes
    ----------
    rank : ndarray of shape (n_columns, n_rows), int32
        Position of every row's value among the distinct values of the column.
    sequence : ndarray of shape (n_columns, n_rows), int32
        ``row << 1 | last``: rows by ascending value, and whether the value changes after the row.
    values : tuple of ndarray
        Distinct values of every column, ascending.
    y : ndarray of shape (n_rows,), int32
        Class index.
    weight, count : ndarray of shape (n_rows,), int64
        Weight in units, and the number of original rows that were merged.
    conflicts : int
        Weight that every tree misclassifies, as equal rows differ in their classes.
    unit : float
        Original weight of one unit.
    original : ndarray of shape (n_columns,), int64
        Column of the problem for every column here.
    twin : ndarray of shape (n_features,), int64
        Column here that splits like a column of the problem; -1 for one that cannot be tested.
    """

    rank: np.ndarray
    sequence: np.ndarray
    values: tuple[np.ndarray, ...]
    y: np.ndarray
    weight: np.ndarray
    count: np.ndarray
    conflicts: int
    unit: float
    original: np.ndarray
    twin: np.ndarray

    @property
    def total(self) -> int:
        """Sum of the weights in units."""
        return int(self.weight.sum())

    def threshold(self, column: int, rank: int) -> float:
        """Value that separates the rows up to a rank from the others."""
        low, high = float(self.values[column][rank]), float(self.values[column][rank + 1])
        middle = low + (high - low) / 2
        return middle if low <= middle < high else low


def make_table(problem: ThresholdProblem) -> Table:
    """Reduce a problem to what decides its optimum.

    Rows of weight 0 stay: leaf sizes count them, and a split may part them from the others.
    Columns that part the rows alike, also with the sides swapped, are kept once: the first of
    them that may be tested, and one that the root may test before others.
    """
    X, y = np.asarray(problem.X), np.asarray(problem.y, np.int32)
    whole, unit = integer_weights(problem.weights, len(y))
    kept, cells = _usable_columns(X, problem)
    merged = _merged_rows(cells, y, whole, problem.n_classes)
    if len(merged.first) < len(y):
        cells, y = np.take(cells, merged.first, axis=1), y[merged.first]
    order = _ascending(cells)
    place = order + np.arange(0, order.size, max(1, order.shape[1]))[:, None]
    cells = cells.reshape(-1)[place]
    is_new = np.zeros(cells.shape, bool)
    np.greater(cells[:, 1:], cells[:, :-1], out=is_new[:, 1:])
    sorted_rank = np.cumsum(is_new, axis=1, dtype=np.int32)
    rank = np.empty_like(sorted_rank)
    rank.reshape(-1)[place] = sorted_rank
    sequence = order.astype(np.int32) << 1
    sequence[:, :-1] |= is_new[:, 1:]
    chosen, twin = _distinct_columns(rank, kept, problem)
    is_new[:, :1] = True
    values = tuple(cells[h, is_new[h]] for h in chosen)
    if not np.array_equal(chosen, np.arange(len(rank))):
        rank, sequence = rank[chosen], sequence[chosen]
    return Table(
        rank=rank,
        sequence=sequence,
        values=values,
        y=y,
        weight=merged.weight,
        count=merged.count,
        conflicts=merged.conflicts,
        unit=unit,
        original=kept[chosen],
        twin=twin,
    )


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
    distinct = np.unique(values[values > 0])
    unit = _common_unit(distinct)
    if unit is None or values.sum() / unit > LARGEST_COUNT:
        unit = math.ldexp(1.0, math.frexp(float(values.sum()))[1] - FLOAT_BITS)
    return np.round(values / unit).astype(np.int64), unit


def _common_unit(distinct: np.ndarray) -> float | None:
    """Largest number of which all weights are whole multiples, None if there is none to speak of.

    Ratios to the smallest weight are tried as fractions.
    """
    if len(distinct) > 1000:
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
    multiples = [int(ratio * denominator) for ratio in ratios]
    return smallest / denominator * math.gcd(*multiples)


def _usable_columns(X: np.ndarray, problem: ThresholdProblem) -> tuple[np.ndarray, np.ndarray]:
    """Columns that vary and are not forbidden, and their cells, ``(n_columns, n_samples)``."""
    kept = np.arange(X.shape[1])
    if problem.forbidden is not None:
        kept = np.flatnonzero(~np.asarray(problem.forbidden, bool))
    cells = np.array(X.T if len(kept) == X.shape[1] else X.T[kept], np.float64, order="C")
    varies = (cells != cells[:, :1]).any(axis=1)
    return (kept, cells) if varies.all() else (kept[varies], cells[varies])


def _distinct_columns(
    rank: np.ndarray, kept: np.ndarray, problem: ThresholdProblem
) -> tuple[np.ndarray, np.ndarray]:
    """First of all columns that part the rows alike, and `Table.twin`."""
    twin = np.full(np.asarray(problem.X).shape[1], -1, np.int64)
    if not len(rank):
        return np.zeros(0, np.int64), twin
    top = rank.max(axis=1)
    factors = _factors(rank.shape[1], HASH_FACTOR)
    key = np.einsum("i,hi->h", factors, rank)
    key = np.minimum(key, top * factors.sum() - key)
    known: dict[tuple[int, int], list[int]] = {}
    chosen: list[int] = []
    place = {}
    wanted = set(kept.tolist() if problem.root_columns is None else problem.root_columns)
    # A forced root comes first, so that it is the one that stays.
    for h in sorted(range(len(kept)), key=lambda h: (int(kept[h]) not in wanted, h)):
        alike = known.setdefault((int(top[h]), int(key[h])), [])
        for other in alike:
            if (rank[h] == rank[other]).all() or (rank[h] + rank[other] == top[h]).all():
                place[h] = place[other]
                break
        else:
            place[h] = len(chosen)
            chosen.append(h)
            alike.append(h)
        twin[kept[h]] = place[h]
    return np.array(chosen, np.int64), twin


@functools.lru_cache(maxsize=4)
def _factors(n: int, below: int) -> np.ndarray:
    """Random factors of a hash; drawing them takes longer than a small search."""
    return np.random.default_rng(0).integers(1, below, n)


@dataclass(frozen=True, eq=False)
class _Merged:
    """Equal rows as one.

    Attributes
    ----------
    first : ndarray of shape (n_rows,)
        One of the rows of every number.
    weight, count : ndarray of shape (n_rows,), int64
        Sums over the rows of every number.
    conflicts : int
        Weight that every tree misclassifies, as equal rows differ in their classes.
    """

    first: np.ndarray
    weight: np.ndarray
    count: np.ndarray
    conflicts: int


def _merged_rows(cells: np.ndarray, y: np.ndarray, whole: np.ndarray, n_classes: int) -> _Merged:
    """Find equal rows by a hash of their cells."""
    n, n_columns = len(y), len(cells)
    group = np.zeros(n, np.int64)
    if n_columns:
        factors = _factors(n_columns, 2**63).astype(np.uint64) | np.uint64(1)
        key, step = np.zeros(n, np.uint64), max(1, HASH_CELLS // n)
        for h in range(0, n_columns, step):
            bits = (cells[h : h + step] + 0.0).view(np.uint64)  # the two zeros are equal
            bits ^= bits >> np.uint64(32)  # short numbers differ in their upper bits alone
            bits *= factors[h : h + step, None]
            key += bits.sum(axis=0)
        by_key = np.argsort(key)
        a, b = by_key[:-1], by_key[1:]
        is_same = key[a] == key[b]
        if not is_same.any():
            return _as_they_are(whole, 0)
        if (cells[:, a[is_same]] != cells[:, b[is_same]]).any():  # different rows of one hash
            by_key = np.lexsort(cells)
            a, b = by_key[:-1], by_key[1:]
            is_same = (cells[:, a] == cells[:, b]).all(axis=0)
        group[b] = np.cumsum(~is_same)
    # Groups of equal rows by class: which of them there are, numbered.
    label, size = group * n_classes + y, (int(group.max()) + 1) * n_classes
    count = np.bincount(label, minlength=size)
    weight = np.bincount(label, whole, size).astype(np.int64)  # exact, see FLOAT_BITS
    by_class = weight.reshape(-1, n_classes)
    there = count > 0
    conflicts = int(by_class.sum() - by_class.max(axis=1).sum())
    if np.count_nonzero(there) == n:
        return _as_they_are(whole, conflicts)
    place = (np.cumsum(there) - 1)[label]
    first = np.empty(int(there.sum()), np.int64)
    first[place[::-1]] = np.arange(n)[::-1]
    return _Merged(first, weight[there], count[there], conflicts)


def _as_they_are(whole: np.ndarray, conflicts: int) -> _Merged:
    return _Merged(np.arange(len(whole)), whole, np.ones(len(whole), np.int64), conflicts)
