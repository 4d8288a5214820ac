"""The rows as the search sees them: ranks by column, whole-number weights, equal rows merged.

Nothing here depends on the order of the rows that came in, so neither does the tree that the
search returns: rows are numbered by a hash of their ranks, and all sums are of whole numbers.
"""

from __future__ import annotations

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
SAME_RATIO = 1e-13
"""Ratios of weights closer than this are equal: class weights are quotients of counts."""


@dataclass(frozen=True, eq=False)
class Table:
    """Distinct rows of a problem by rank.

    Attributes
    ----------
    rank : ndarray of shape (n_columns, n_rows), int32
        Position of every row's value among the distinct values of the column.
    order : ndarray of shape (n_columns, n_rows), int32
        Rows by ascending value.
    values : tuple of ndarray
        Distinct values of every column, ascending.
    y : ndarray of shape (n_rows,), int32
        Class index.
    weight, count : ndarray of shape (n_rows,), int64
        Weight in units, and the number of original rows that were merged.
    unit : float
        Original weight of one unit.
    original : ndarray of shape (n_columns,), int64
        Column of the problem for every column here.
    twin : ndarray of shape (n_features,), int64
        Column here that splits like a column of the problem; -1 for one that cannot be tested.
    """

    rank: np.ndarray
    order: np.ndarray
    values: tuple[np.ndarray, ...]
    y: np.ndarray
    weight: np.ndarray
    count: np.ndarray
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
    kept, twin = _usable_columns(X, problem)
    cells = np.ascontiguousarray(X[:, kept].T)
    order = np.argsort(cells, axis=1, kind="stable").astype(np.int32)
    cells = np.take_along_axis(cells, order, axis=1)
    step = np.zeros(cells.shape, np.int32)
    step[:, 1:] = cells[:, 1:] > cells[:, :-1]
    sorted_rank = np.cumsum(step, axis=1, dtype=np.int32)
    rank = np.empty_like(sorted_rank)
    np.put_along_axis(rank, order, sorted_rank, axis=1)
    firsts = [cells[h, np.append(True, step[h, 1:] > 0)] for h in range(len(kept))]
    chosen, twin = _distinct_columns(rank, kept, twin, problem)
    rank, order = rank[chosen], order[chosen]
    place, n_rows = _row_numbers(rank, y)
    weight = _sums(place, whole, n_rows)
    count = _sums(place, np.ones(len(y), np.int64), n_rows)
    first = np.empty(n_rows, np.int64)
    first[place[::-1]] = np.arange(len(y))[::-1]
    return Table(
        rank=np.ascontiguousarray(rank[:, first]),
        order=_merged_order(order, place, n_rows),
        values=tuple(firsts[h] for h in chosen),
        y=y[first],
        weight=weight,
        count=count,
        unit=unit,
        original=kept[chosen],
        twin=twin,
    )


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
    """Columns that vary and are not forbidden, and a table of twins that is still empty."""
    usable = (X != X[0]).any(axis=0)
    if problem.forbidden is not None:
        usable &= ~np.asarray(problem.forbidden, bool)
    return np.flatnonzero(usable), np.full(X.shape[1], -1, np.int64)


def _distinct_columns(
    rank: np.ndarray, kept: np.ndarray, twin: np.ndarray, problem: ThresholdProblem
) -> tuple[np.ndarray, np.ndarray]:
    """First of all columns that part the rows alike; `twin` is filled."""
    known: dict[bytes, int] = {}
    chosen: list[int] = []
    wanted = set(kept.tolist() if problem.root_columns is None else problem.root_columns)
    # A forced root comes first, so that it is the one that stays.
    for h in sorted(range(len(kept)), key=lambda h: (int(kept[h]) not in wanted, h)):
        mirrored = rank[h].max() - rank[h]
        key = min(rank[h].tobytes(), mirrored.tobytes())
        if key not in known:
            known[key] = len(chosen)
            chosen.append(h)
        twin[kept[h]] = known[key]
    return np.array(chosen, np.int64), twin


def _row_numbers(rank: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, int]:
    """Number of every row, the same for equal rows, whatever the order of the rows."""
    factors = np.random.default_rng(0).integers(1, 2**63, (len(rank), 1), np.uint64)
    key = (rank.astype(np.uint64) * factors).sum(axis=0, dtype=np.uint64)
    by_key = np.lexsort((y, key))
    if not _runs_are_equal(rank, key, by_key):  # two different rows of one hash
        by_key = np.lexsort((y, *rank))
    a, b = by_key[:-1], by_key[1:]
    new = (y[a] != y[b]) | (rank[:, a] != rank[:, b]).any(axis=0)
    place = np.empty(len(y), np.int64)
    place[by_key] = np.append(0, np.cumsum(new))
    return place, int(new.sum()) + 1


def _runs_are_equal(rank: np.ndarray, key: np.ndarray, by_key: np.ndarray) -> bool:
    a, b = by_key[:-1], by_key[1:]
    same = key[a] == key[b]
    return bool((rank[:, a[same]] == rank[:, b[same]]).all())


def _sums(place: np.ndarray, values: np.ndarray, n_rows: int) -> np.ndarray:
    sums = np.zeros(n_rows, np.int64)
    np.add.at(sums, place, values)
    return sums


def _merged_order(order: np.ndarray, place: np.ndarray, n_rows: int) -> np.ndarray:
    """Order of the merged rows; of equal rows the first one stays."""
    numbered = place[order].astype(np.int32)
    if n_rows == order.shape[1]:
        return numbered
    merged = np.empty((len(order), n_rows), np.int32)
    for h, row in enumerate(numbered):
        _, first = np.unique(row, return_index=True)
        merged[h] = row[np.sort(first)]
    return merged
