"""Which column is likely to hold the classes, and classes made of a column of numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from octcore.data.findings import quote
from octcore.data.numbers import PLAIN, detect_date, parse_plain
from octcore.data.table import RawColumn, RawTable, counts_rows
from octcore.data.text import MISSING_MARKS, MISSING_WORDS
from octcore.errors import DataError, SettingsError

MOST_CLASSES = 20
"""A column of numbers with more distinct values is a measurement, not a set of classes."""

USUAL_NAMES = frozenset(
    {"class", "target", "label", "y", "species", "outcome", "diagnosis", "result", "category"}
)
BINS = (2, 3, 4, 5)


def likely_target(table: RawTable) -> str | None:
    """Name the column that most likely holds the classes; None where that is a guess.

    A usual name decides, else the last column.  A column of many numbers is never taken, and
    neither is one of dates or of names that are nearly all different.
    """
    columns = [column for column in table.columns if column.name != table.index_column]
    able = [column for column in columns if _can_hold_classes(column)]
    for column in able:
        if column.name.strip().lower() in USUAL_NAMES:
            return column.name
    if able and columns[-1] is able[-1]:
        return able[-1].name
    texts = [column for column in able if _numbers(column) is None]
    return texts[0].name if len(texts) == 1 else None


def _can_hold_classes(column: RawColumn) -> bool:
    n_rows, n_distinct = len(column.codes), len(_present(column))
    few = n_distinct <= MOST_CLASSES
    if n_distinct < 2 or not (few or (_numbers(column) is None and 2 * n_distinct <= n_rows)):
        return False
    return detect_date(_present(column)) is None


def is_continuous(column: RawColumn) -> bool:
    """Whether a column holds so many different numbers that they are a measurement."""
    many = len(_present(column)) > MOST_CLASSES
    return many and _numbers(column) is not None and not counts_rows(column)


def _present(column: RawColumn) -> list[str]:
    return [v for v in column.values if v not in MISSING_MARKS and v.lower() not in MISSING_WORDS]


def _numbers(column: RawColumn) -> npt.NDArray[np.float64] | None:
    """Number of every distinct value, NaN for missing ones; None if one is no number."""
    present = _present(column)
    if not present or not all(PLAIN.fullmatch(value) for value in present):
        return None
    known = dict(zip(present, parse_plain(present), strict=True))
    return np.array([known.get(value, np.nan) for value in column.values])


def with_binned_target(table: RawTable, target: str, bins: int) -> RawTable:
    """Cut a column of numbers into classes of about equally many rows.

    Parameters
    ----------
    bins : int
        Number of classes, 2 to 5; fewer arise where many rows share one value.

    Raises
    ------
    SettingsError
        If the number of classes is none of `BINS`.
    DataError
        If the column does not hold numbers alone.
    """
    if bins not in BINS:
        low, high = BINS[0], BINS[-1]
        message = (
            f"target_bins must be a whole number from {low} to {high}, but {bins!r} was given."
        )
        raise SettingsError("OUT_OF_RANGE", message, "target_bins")
    column = table.column(target)
    numbers = _numbers(column)
    if numbers is None:
        message = f"The target {quote(target)} is not a column of numbers, so it cannot be binned."
        raise DataError("NOT_NUMERIC", message, column=target)
    rows = np.sort(numbers[column.codes])
    cuts = _cuts(rows[~np.isnan(rows)], bins)
    labels = ["" if np.isnan(v) else _label(int(np.sum(v > cuts)), cuts) for v in numbers]
    values = tuple(dict.fromkeys(labels))
    place = {label: code for code, label in enumerate(values)}
    codes = np.array([place[label] for label in labels], dtype=np.int64)[column.codes]
    cut = RawColumn(column.name, codes, values)
    return replace(table, columns=tuple(cut if c is column else c for c in table.columns))


def _cuts(ordered: npt.NDArray[np.float64], bins: int) -> npt.NDArray[np.float64]:
    """Boundaries near the quantiles, each between two values that occur."""
    levels = np.unique(ordered)
    found: list[float] = []
    for k in range(1, bins):
        value = ordered[len(ordered) * k // bins]
        above = max(1, int(np.searchsorted(levels, value)))
        if above < len(levels):
            found.append(_short_between(float(levels[above - 1]), float(levels[above])))
    return np.unique(np.array(found))


def _short_between(low: float, high: float) -> float:
    """Number with the fewest digits that is at least `low` and below `high`."""
    for digits in range(1, 17):
        value = float(f"{(low + high) / 2:.{digits}g}")
        if low <= value < high:
            return value
    return low


def _label(position: int, cuts: npt.NDArray[np.float64]) -> str:
    if not len(cuts):
        return "1"
    if position == 0:
        return f"1: up to {cuts[0]:g}"
    if position == len(cuts):
        return f"{position + 1}: over {cuts[-1]:g}"
    return f"{position + 1}: {cuts[position - 1]:g} to {cuts[position]:g}"
