"""Fitting an encoding on training rows, by the key that users write, such as ``QT-5``."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress, groupby, pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import psutil

from octcore.data import thresholds
from octcore.data.columns import Column
from octcore.data.dataset import Dataset
from octcore.data.findings import count, listing, quote, refuse_rows
from octcore.data.numbers import FEW_NUMBERS
from octcore.encoding.base import (
    NUMBER_KINDS,
    EncodedColumn,
    Encoding,
    as_numbers,
    encoded_block,
    raw_cells,
)
from octcore.errors import DataError, SettingsError, TooLargeError
from octcore.parameters import unknown_name

Table = tuple[pd.DataFrame, Sequence[Column]]
Labels = npt.NDArray[np.int64]
CUTS = {"QB", "QT", "class-change"}  # cut numbers into parts, of which one may have all rows
BYTES_PER_CELL, BYTES_PER_COLUMN, BYTES_PER_QUANTILE = 16, 2000, 100
"""Peak while encoding: doubles and a temporary of them, a record by column, numpy's quantiles."""
SMALL = 1_000_000  # bytes that every machine has; asking how much is free takes longer
PLAIN_KEYS = ("class-change", "one-hot", "raw", "scaled", "none")
MANY_QUANTILES = 100  # above this q the model grows for little gain; accepted with a remark


@dataclass(frozen=True)
class EncodingKey:
    """An encoding key taken apart."""

    family: str  # ``"QB"``, ``"QT"`` or one of the keys without a number
    q: int = 0  # number of quantile steps; 0 for keys without one
    findings: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The key in its normal spelling."""
        return f"{self.family}-{self.q}" if self.q else self.family


def encoding_keys() -> tuple[str, ...]:
    """Return the encoding keys to offer; ``QB-q`` and ``QT-q`` exist for every q from 2."""
    return ("QB-5", "QT-5", *PLAIN_KEYS)


def parse_encoding_key(key: object) -> EncodingKey:
    """Take an encoding key apart, in any spelling."""
    text = str(key).strip()
    if text in PLAIN_KEYS:
        return EncodingKey(text)
    match = re.fullmatch(r"(QB|QT)[-_ ]?(.*)", text, re.IGNORECASE | re.DOTALL)
    if match is None:
        known = (*encoding_keys(), "auto")
        raise unknown_name("UNKNOWN_ENCODING", "encoding", text, known, "octcore")
    family, digits = match[1].upper(), match[2]
    if not re.fullmatch(r"[0-9]{1,9}", digits) or int(digits) < 2:
        message = f"{family}-q needs a whole number q of at least 2, but {text!r} was given; "
        message += f"write for example {family}-5."
        raise SettingsError("BAD_QUANTILES", message, "encoding")
    q = int(digits)
    many = (
        f"{family}-{q} makes up to {q if family == 'QB' else q - 1} columns of every numeric "
        f"column; the model grows accordingly, and {family}-5 to {family}-20 usually suffice."
    )
    return EncodingKey(family, q, (many,) if q > MANY_QUANTILES else ())


@dataclass(frozen=True, eq=False)
class _Raw:
    """One raw column that is not constant, its values and class codes."""

    column: Column
    cells: npt.NDArray[Any]
    y: Labels | None

    @property
    def name(self) -> str:
        return self.column.name

    @property
    def ranks(self) -> tuple[object, ...]:
        """Ordered levels of an ordinal text column, empty for columns of numbers."""
        is_text = self.column.kind == "ordinal" and not self.column.holds_numbers
        return tuple(self.column.levels) if is_text else ()

    @property
    def is_number(self) -> bool:
        return self.column.kind in {"numeric", "ordinal"}

    @cached_property
    def ends(self) -> tuple[Any, Any]:
        """Least and largest number."""
        numbers = self.cells if self.cells.dtype.kind in NUMBER_KINDS else self.numbers
        return numbers.min(), numbers.max()

    @cached_property
    def n_distinct(self) -> int:
        return len(pd.unique(self.cells))

    @cached_property
    def numbers(self) -> npt.NDArray[np.float64]:
        return as_numbers(self.cells, self.name, self.ranks)

    def indicators(self) -> list[EncodedColumn]:
        """Columns of the levels that occur: of the larger one of two, otherwise of every one."""
        present = set(pd.unique(self.cells).tolist())
        levels = [level for level in self.column.levels if level in present]
        levels += sorted(present.difference(levels))  # those the order does not know
        if len(levels) == 2:
            return [EncodedColumn(self.name, "level", level=levels[1], other=levels[0])]
        return [EncodedColumn(self.name, "level", level=level) for level in levels]


def fit_encoding(
    key: str, data: Dataset | Table, few: int = FEW_NUMBERS, times: np.ndarray | None = None
) -> Encoding:
    """Fit an encoding on training rows; columns that are constant there are left out.

    `key`: ``QB-q``, ``QT-q``, ``class-change``, ``one-hot``, ``raw``, ``scaled`` or ``none``.
    `data`: the training rows; frames typed as in a `Dataset`.
    `few`: under ``QB-q`` and ``QT-q``, up to so many distinct numbers a column has a threshold
    between every two neighbours, whatever q; 0 for quantiles of every column, as published.
    `times`: how often every row counts where numbers are cut at quantiles; once by default.
    Raises `SettingsError` for a wrong key, or columns that the encoding does not take.
    Raises `DataError` for missing values, or no rows.
    Raises `TooLargeError` if the encoded rows would not fit into memory.
    """
    parsed = parse_encoding_key(key)
    table = (data.frame, data.columns, data.y) if isinstance(data, Dataset) else (*data, None)
    frame, columns, labels = table
    if len(frame) == 0:
        raise DataError("NO_ROWS", "There are no rows to fit an encoding on.")
    if parsed.family == "class-change" and labels is None:
        message = "Encoding class-change needs classes; choose a target."
        raise SettingsError("NEEDS_CLASSES", message, "encoding")
    varying = _varying(frame, columns, labels, times if parsed.q else None)
    _refuse_unfit(parsed, varying)
    _refuse_too_large(parsed, varying, len(frame))
    findings = list(parsed.findings)
    encoded = _encode(parsed, varying, findings, few)
    if parsed.family in CUTS:
        encoded = _without_constants(parsed, encoded, varying, findings)
    return Encoding(parsed.key, tuple(encoded), tuple(c.name for c in columns), tuple(findings))


def _varying(
    frame: pd.DataFrame, columns: Sequence[Column], labels: Labels | None, times: np.ndarray | None
) -> list[_Raw]:
    """Raw columns with at least two distinct values; missing values are refused."""
    kept, values = [], raw_cells(frame, [column.name for column in columns])
    for column in columns:
        raw = _Raw(column, values[column.name], labels)
        if times is not None and raw.is_number:
            raw = replace(raw, cells=np.repeat(raw.cells, times))
        cells, what = raw.cells, "has no value; fill or leave out such rows first"
        are_numbers = cells.dtype.kind in NUMBER_KINDS
        varies = are_numbers and raw.ends[0] < raw.ends[1]  # not where one is missing
        if not varies:
            refuse_rows(pd.isna(cells), column.name, "MISSING_VALUE", what)
        if varies or (not are_numbers and raw.n_distinct > 1):
            kept.append(raw)
    return kept


def _refuse_unfit(key: EncodingKey, varying: Sequence[_Raw]) -> None:
    if key.family == "one-hot":
        wrong = [raw.name for raw in varying if raw.column.kind == "numeric"]
        hint = "choose QT-5, QB-5 or class-change, or declare the column categorical"
        what = "is numeric" if len(wrong) == 1 else "are numeric"
    elif key.family == "none":
        wrong = [raw.name for raw in varying if not _is_plain(raw)]
        hint = "choose QT-5 or scaled"
        what = "is not" if len(wrong) == 1 else "are not"
        what += " made of numbers from 0 to 1"
    else:
        return
    if wrong:
        message = f"Encoding {key.key} does not take column {listing(wrong)}, which {what}; {hint}."
        raise SettingsError("ENCODING_UNFIT", message, "encoding")


def _refuse_too_large(key: EncodingKey, varying: Sequence[_Raw], n_rows: int) -> None:
    """Refuse before allocating anything what would take more than half of the free memory."""
    n_columns = sum(_most_columns(key, raw) for raw in varying)
    need = n_columns * (BYTES_PER_CELL * n_rows + BYTES_PER_COLUMN) + BYTES_PER_QUANTILE * key.q
    if need < SMALL or need <= (limit := psutil.virtual_memory().available / 2):
        return
    counts = {"rows": n_rows, "columns": n_columns, "binaries": 0, "nonzeros": 0, "bytes": need}
    raise TooLargeError(
        "TOO_LARGE",
        f"Encoding {key.key} would make up to {n_columns:,} columns of {n_rows:,} rows and need "
        f"about {need / 1e9:.1f} GB, but only {limit / 1e9:.1f} GB may be used; choose fewer "
        "quantiles, such as QT-5, or leave out columns.",
        {name: float(value) for name, value in counts.items()},
    )


def _most_columns(key: EncodingKey, raw: _Raw) -> int:
    """Largest number of encoded columns that a raw column can give."""
    if key.family == "none" or (raw.is_number and key.family not in CUTS):
        return 1
    if raw.is_number and key.family == "QB":
        return max(key.q, FEW_NUMBERS)  # bucket edges lie anywhere
    # Midpoint quantiles lie on values or halfway between neighbours.
    most = min(max(key.q, FEW_NUMBERS), 2 * raw.n_distinct)
    return most if raw.is_number and key.family == "QT" else raw.n_distinct


def _is_plain(raw: _Raw) -> bool:
    if not raw.column.holds_numbers and raw.cells.dtype.kind not in NUMBER_KINDS:
        return False
    return bool(raw.ends[0] >= 0.0 and raw.ends[1] <= 1.0)


def _encode(
    key: EncodingKey, varying: Sequence[_Raw], findings: list[str], few: int
) -> list[EncodedColumn]:
    if key.family == "none":
        return [plain_column(raw.name, raw.numbers) for raw in varying]
    if key.family == "one-hot":
        return [column for raw in varying for column in raw.indicators()]
    encode_numbers: Callable[[_Raw], list[EncodedColumn]] = {
        "QB": lambda raw: _buckets(raw, thresholds.bucket_edges(raw.numbers, key.q)),
        "QT": lambda raw: _above(raw, thresholds.quantile_thresholds(raw.numbers, key.q)),
        "class-change": _class_changes,
        "raw": lambda raw: [plain_column(raw.name, raw.numbers, raw.ranks)],
        "scaled": lambda raw: [scaled_column(raw.name, raw.numbers, raw.ranks)],
    }[key.family]
    columns, collapsed = [], []
    expected = {"QB": key.q, "QT": key.q - 1}.get(key.family, 0)
    for raw in varying:
        if not raw.is_number:
            columns += raw.indicators()
            continue
        if expected and raw.n_distinct <= few:
            columns += _above(raw, thresholds.all_thresholds(raw.numbers))
            continue
        own = encode_numbers(raw)
        if len(own) < expected:
            collapsed.append(f"{quote(raw.name)} ({len(own)} of {expected})")
        columns += own
    if collapsed:
        shown = ", ".join(collapsed[:5]) + (", …" if len(collapsed) > 5 else "")
        what = "buckets" if key.family == "QB" else "thresholds"
        have = "has" if len(collapsed) == 1 else "have"
        findings.append(
            f"{key.key}: quantiles coincide, so {count(len(collapsed), 'numeric column')} {have} "
            f"fewer {what} than asked for: {shown}."
        )
    return columns


def _class_changes(raw: _Raw) -> list[EncodedColumn]:
    assert raw.y is not None  # checked by fit_encoding
    return _above(raw, thresholds.class_change_thresholds(raw.numbers, raw.y))


def _buckets(raw: _Raw, edges: npt.NDArray[np.float64]) -> list[EncodedColumn]:
    """Make the buckets between edges; the outermost ones are open for new rows."""
    ends = [None, *edges[1:-1].tolist(), None]
    return [
        EncodedColumn(raw.name, "bucket", lower=low, upper=high, levels=raw.ranks)
        for low, high in pairwise(ends)
    ]


def _above(raw: _Raw, cuts: npt.NDArray[np.float64]) -> list[EncodedColumn]:
    """Make one column per threshold that is 1 for values strictly above it."""
    return [EncodedColumn(raw.name, "above", lower=t, levels=raw.ranks) for t in cuts.tolist()]


def _without_constants(
    key: EncodingKey, encoded: Sequence[EncodedColumn], varying: Sequence[_Raw], findings: list[str]
) -> list[EncodedColumn]:
    """Leave out encoded columns with one value on the training rows, and say which were lost."""
    values = {raw.name: raw.cells for raw in varying}
    kept = []
    for raw, columns in groupby(encoded, lambda column: column.raw):
        own = list(columns)
        cells = encoded_block(own, values[raw], raw)
        kept += compress(own, (cells != cells[0]).any(axis=0))
    left = {column.raw for column in kept}
    lost = [raw.name for raw in varying if raw.name not in left]
    if lost:
        what, more = (
            ("quantiles do", "; more quantiles would") if key.q else ("class changes do", "")
        )
        findings.append(
            f"No split is possible on {listing(lost)}: its {what} not separate any rows{more}."
        )
    return kept


def scaled_column(
    raw: str, numbers: npt.NDArray[np.float64], levels: tuple[object, ...] = ()
) -> EncodedColumn:
    """Make the column that maps the range of the training values, if it is finite, to [0, 1]."""
    low, high = float(numbers.min()), float(numbers.max())
    with np.errstate(over="ignore"):
        scale = float(np.subtract(high, low))
    if not np.isfinite(scale) or scale <= 0:
        message = f"Column {quote(raw)} goes from {low:g} to {high:g}, too far apart to scale; "
        message += "use another unit or leave it out."
        raise DataError("RANGE_TOO_WIDE", message, column=raw)
    return EncodedColumn(raw, "scaled", shift=low, scale=scale, levels=levels)


def plain_column(
    raw: str, numbers: npt.NDArray[np.float64], levels: tuple[object, ...] = ()
) -> EncodedColumn:
    """Make the column that passes numbers on; 0 and 1 are known to be binary."""
    are_one = numbers == 1.0
    if not levels and ((numbers == 0.0) | are_one).all() and are_one.any() and not are_one.all():
        return EncodedColumn(raw, "level", level=1.0, other=0.0)
    return EncodedColumn(raw, "value", levels=levels)
