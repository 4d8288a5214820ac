"""The target column: which one it is likely to be, its labels, classes made of numbers."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np
import numpy.typing as npt

from octcore.data.columns import Label
from octcore.data.findings import Finding, count, error, quote, warning
from octcore.data.heading import LONG_TEXT
from octcore.data.numbers import (
    CODE,
    FEW_NUMBERS,
    MARKED,
    PLAIN,
    detect_date,
    detect_format,
    format_number,
    parse_plain,
)
from octcore.data.preparing import missing_words, words_in_rows
from octcore.data.table import RawColumn, RawTable, counts_rows
from octcore.data.text import MISSING_MARKS, MISSING_WORDS
from octcore.data.thresholds import short_threshold
from octcore.data.typed import type_column
from octcore.errors import DataError
from octcore.parameters import IntRange

MOST_CLASSES = 20  # numbers with more distinct values are a measurement, not a set of classes
MOST_GAPS = 0.1  # largest share of rows that a guessed target may leave out without a label
USUAL_NAMES = frozenset(
    {"class", "target", "label", "y", "species", "outcome", "diagnosis", "result", "category"}
)
BINS = (2, 3, 4, 5)
TARGET_BINS = IntRange("target_bins", low=BINS[0], high=BINS[-1])
_WHOLE = re.compile(r"[+-]?(?:0|[1-9]\d{0,17})(?:\.0*)?", re.ASCII)


@dataclass(frozen=True, eq=False)
class Target:
    """Classes and, for every row of the file, its class code (-1 without a label)."""

    classes: tuple[Label, ...]
    codes: npt.NDArray[np.int64]
    findings: tuple[Finding, ...]


def read_target(raw: RawColumn, table: RawTable) -> Target:
    """Read labels: whole numbers become ints, everything else stays text, and numbers are in order.

    Only an empty cell or ``?`` is a missing label; ``NA`` and ``None`` are missing among numbers
    and classes among texts, since a class may well be called so.
    """
    missing = {index for index, value in enumerate(raw.values) if value in MISSING_MARKS}
    words = {i for i, value in enumerate(raw.values) if value.lower() in MISSING_WORDS} - missing
    rest = [i for i in range(len(raw.values)) if i not in missing and i not in words]
    numeric = bool(rest) and all(PLAIN.fullmatch(raw.values[index]) for index in rest)
    findings: list[Finding] = []
    if numeric:
        missing |= words
    elif said := missing_words(raw):
        message = (
            f"The target {quote(raw.name)} has {words_in_rows(said)}, which may mean a missing "
            "label; kept as a class."
        )
        findings.append(warning("LOOKS_MISSING", message, column=raw.name))
    labels = _labels(raw, missing)
    classes = _ordered(labels, type_column(raw, table, "numeric").numbers)
    code_of = {label: code for code, label in enumerate(classes)}
    places = np.full(len(raw.values), -1, dtype=np.int64)
    for index, label in labels.items():
        places[index] = code_of[label]
    codes = places[raw.codes]
    findings += _missing_findings(raw, codes, table.lines)
    longest = max((len(label) for label in classes if isinstance(label, str)), default=0)
    if longest > LONG_TEXT:
        message = f"A label of {quote(raw.name)} has {longest:,} characters; views cut it with an "
        message += "ellipsis, exports keep it whole."
        findings.append(warning("LONG_NAME", message, column=raw.name))
    return Target(classes, codes, tuple(findings))


def _ordered(
    labels: Mapping[int, Label], numbers: npt.NDArray[np.float64] | None
) -> tuple[Label, ...]:
    """Classes by the numbers of values where all are numbers or dates, else in natural order."""
    first = {label: index for index, label in labels.items()}
    natural = sorted(first, key=_natural)
    if numbers is None or np.isnan(numbers[[*labels]]).any():
        return tuple(natural)
    return tuple(sorted(natural, key=lambda label: numbers[first[label]]))


def _natural(label: Label) -> tuple[tuple[object, ...], Label]:
    """Sort key that puts 2 before 10, in texts as well."""
    parts = re.split(r"(\d+)", str(label), flags=re.ASCII) if isinstance(label, str) else []
    spelled = tuple(int(part) if i % 2 else part for i, part in enumerate(parts))
    return spelled, label


def _labels(raw: RawColumn, missing: set[int]) -> dict[int, Label]:
    present = {i: value for i, value in enumerate(raw.values) if i not in missing}
    if present and all(_WHOLE.fullmatch(value) for value in present.values()):
        return {index: int(value.split(".")[0]) for index, value in present.items()}
    if all(PLAIN.fullmatch(value) and not CODE.match(value) for value in present.values()):
        first = {Decimal(value): value for value in reversed(present.values())}  # 1.5 is 1.50
        return {index: first[Decimal(value)] for index, value in present.items()}
    return dict(present)


def _missing_findings(
    raw: RawColumn, codes: npt.NDArray[np.int64], lines: npt.NDArray[np.int64]
) -> Iterator[Finding]:
    rows, name = np.flatnonzero(codes < 0), quote(raw.name)
    if len(rows) == 0:
        return
    line = int(lines[rows[0]])
    where = {"line": line, "column": raw.name}
    if len(rows) == len(codes):
        message = f"No row has a label in {name}; choose another target column."
        yield error("MISSING_TARGET", message, **where)
    else:
        without = f"{count(len(rows), 'row')} without a label in {name} left out"
        yield warning("MISSING_TARGET", f"{without}, the first is line {line}.", **where)


def likely_target(table: RawTable) -> str | None:
    """Name the column that most likely holds the classes; None where that is a guess.

    A usual name decides, else the last column, if it does not hold more than a few numbers; else
    the only one of text.  A column of many numbers is never taken, and neither is one of dates or
    of names that are nearly all different; one with many gaps only for its name.
    """
    columns = [column for column in table.columns if column.name != table.index_column]
    able = [column for column in columns if _can_hold_classes(column, table.delimiter)]
    for column in able:
        if column.name.strip().lower() in USUAL_NAMES:
            return column.name
    columns = [column for column in columns if _gaps(column) <= MOST_GAPS]
    able = [column for column in able if column in columns]
    if not able:
        return None
    texts = [column for column in able if not _is_numeric(column, table.delimiter)]
    last = columns[-1]
    if last in able and (last in texts or len(_present(last)) <= FEW_NUMBERS):
        return last.name
    return texts[0].name if len(texts) == 1 else None


def _can_hold_classes(column: RawColumn, delimiter: str) -> bool:
    n_rows, n_distinct = len(column.codes), len(_present(column))
    many = n_distinct > MOST_CLASSES
    if n_distinct < 2 or (many and (_is_numeric(column, delimiter) or 2 * n_distinct > n_rows)):
        return False
    return detect_date(_present(column), are_meant=False) is None


def _gaps(column: RawColumn) -> float:
    missing = [value in MISSING_MARKS for value in column.values]
    return float(np.array(missing)[column.codes].mean())


def is_continuous(column: RawColumn, delimiter: str) -> bool:
    """Whether a column holds so many different numbers that they are a measurement."""
    many = len(_present(column)) > MOST_CLASSES
    return many and _is_numeric(column, delimiter) and not counts_rows(column)


def _present(column: RawColumn) -> list[str]:
    return [v for v in column.values if v not in MISSING_MARKS and v.lower() not in MISSING_WORDS]


def _is_numeric(column: RawColumn, delimiter: str) -> bool:
    """Whether all values are numbers, some of them present; letters before them make names."""
    present = _present(column)
    if not present or (PLAIN.fullmatch(present[0]) and not np.isnan(parse_plain(present)).any()):
        return bool(present)
    found = detect_format(present, delimiter) or ""
    return found in MARKED if "dressed" not in found else not any(v[0].isalpha() for v in present)


def with_binned_target(table: RawTable, target: str, bins: int) -> RawTable:
    """Cut a column of numbers into 2 to 5 classes of about equally many rows.

    Fewer arise where many rows share one value.
    """
    bins, column = TARGET_BINS.check(bins), table.column(target)
    typed = type_column(column, table, "numeric")
    numbers = typed.numbers
    if numbers is None or typed.is_date or np.isnan(numbers).all():
        why = "is not a column of numbers"
        if typed.too_long:
            why = f"has {quote(typed.too_long)}, too long to be told from its neighbours"
        message = f"The target {quote(target)} {why}, so it cannot be binned."
        raise DataError("NOT_NUMERIC", message, column=target)
    rows = np.sort(numbers[column.codes])
    cuts = _cuts(rows[~np.isnan(rows)], bins)
    if not len(cuts):
        return table  # of one value, which is then said
    labels = ["" if np.isnan(v) else _label(int(np.sum(v > cuts)), cuts) for v in numbers]
    cut = replace(column.taken(dict(zip(column.values, labels, strict=True))), aliases=())
    columns = tuple(cut if c is column else c for c in table.columns)
    return replace(table, columns=columns, findings=(*table.findings, *typed.findings))


def _cuts(ordered: npt.NDArray[np.float64], bins: int) -> npt.NDArray[np.float64]:
    """Boundaries near the quantiles, each between two values that occur."""
    levels = np.unique(ordered)
    found: list[float] = []
    for k in range(1, bins):
        value = ordered[len(ordered) * k // bins]
        above = max(1, int(np.searchsorted(levels, value)))
        if above < len(levels):
            low, high = float(levels[above - 1]), float(levels[above])
            middle = low / 2 + high / 2  # of neighbours it may be one of them
            found.append(short_threshold(middle if middle < high else low, low, high, np.inf))
    return np.unique(np.array(found))


def _label(position: int, cuts: npt.NDArray[np.float64]) -> str:
    if position == 0:
        return f"1: up to {format_number(cuts[0])}"
    if position == len(cuts):
        return f"{position + 1}: over {format_number(cuts[-1])}"
    low, high = map(format_number, cuts[position - 1 : position + 1].tolist())
    return f"{position + 1}: {low} to {high}"
