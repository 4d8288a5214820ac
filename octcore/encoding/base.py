"""What an encoding is: encoded columns that remember their raw column and condition.

An encoding is fitted on training rows and applied to any rows.  Every encoded column says which
raw column it comes from and what it tests, so that splits can be worded in raw units.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from octcore.data.columns import Column
from octcore.data.distinct import grouped
from octcore.data.findings import Finding, count, listing, quote, refuse_rows, warning
from octcore.data.numbers import format_number, refuse_rounded
from octcore.data.text import fresh_name
from octcore.errors import DataError, read_in_words

BINARY_KINDS = frozenset({"above", "bucket", "level"})
KINDS = BINARY_KINDS | {"scaled", "value"}
NUMBERS = ("lower", "upper", "shift", "scale")  # fields of a column that hold numbers
PLAIN = (str, int, float, bool, type(None))
NUMBER_KINDS = "fiub"  # kinds of arrays of numbers and truth values
FEW_LEVELS = 8  # so few levels of numbers are compared one by one, quicker than by an index
NO_VALUE = "has no value; fill or leave out the row"


@dataclass(frozen=True)
class EncodedColumn:
    """One column of the encoded matrix."""

    raw: str
    kind: str
    """``"above"`` (1 when the value exceeds `lower`), ``"bucket"`` (1 when ``lower < value <=
    upper``; an end that is None is open), ``"level"`` (1 when the value equals `level`),
    ``"scaled"`` (``(value - shift) / scale``) or ``"value"`` (the number itself)."""
    lower: float | None = None
    upper: float | None = None  # both ends are in raw units
    level: Any = None  # the category of a ``"level"`` column
    other: Any = None  # the other category of a two-valued column, None elsewhere
    shift: float = 0.0
    scale: float = 1.0  # with the shift: of a ``"scaled"`` column
    levels: tuple[Any, ...] = ()
    """Ordered categories of an ordinal raw column that holds text; its numbers (in `lower`,
    `upper`, `shift`, `scale`) are ranks, from 0."""

    @property
    def name(self) -> str:
        """Name for exports and `get_feature_names_out`."""
        if self.kind == "above":
            return f"{self.raw}>{_shown(self.lower)}"
        if self.kind == "bucket":
            low = "-inf" if self.lower is None else _shown(self.lower)
            high = "inf" if self.upper is None else _shown(self.upper)
            return f"{self.raw} in ({low},{high}]"
        # A raw column that already holds the numbers 0 and 1 that are tested has its own name.
        if self.kind == "level" and (self.level, self.other) != (1.0, 0.0):
            return f"{self.raw}={self.level}"
        return self.raw

    @property
    def is_binary(self) -> bool:
        """Whether the column holds 0 and 1 only."""
        return self.kind in BINARY_KINDS

    def encode(self, values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Encode raw values of shape ``(n_samples,)`` to floats of the same shape."""
        return encoded_block((self,), values, self.raw)[:, 0].astype(np.float64)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields that differ from their defaults, as plain data."""
        record = {f.name: getattr(self, f.name) for f in fields(self)}
        defaults = {f.name: f.default for f in fields(self)}
        kept = {name: value for name, value in record.items() if value != defaults[name]}
        return kept | ({"levels": list(self.levels)} if self.levels else {})

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> EncodedColumn:
        """Read a column back from plain data."""
        given = {n: float(record[n]) for n in NUMBERS if record.get(n) is not None}
        column = cls(**{**record, **given, "levels": tuple(record.get("levels", ()))})
        numbers = [column.shift, column.scale, *_given(column.lower, column.upper)]
        if column.kind not in KINDS or not all(map(math.isfinite, numbers)):
            raise ValueError(f"column {record!r} is none of {', '.join(sorted(KINDS))}")
        if not isinstance(column.level, PLAIN) or not isinstance(column.other, PLAIN):
            raise ValueError(f"column {record!r} has a level that is no plain value")
        if column.scale == 0.0 or (column.kind == "above" and column.lower is None):
            raise ValueError(f"column {record!r} lacks its scale or threshold")
        return column


@dataclass(frozen=True)
class Encoding:
    """A fitted encoding."""

    key: str  # such as ``"QT-5"``
    columns: tuple[EncodedColumn, ...]
    raw_features: tuple[str, ...]
    """Names of the raw columns, in the order of the data set; also those that gave no column."""
    findings: tuple[str, ...] = ()  # remarks for the user, such as collapsed quantile edges

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the encoded columns; a name that came before gets a number."""
        names: dict[str, None] = {}
        numbers: defaultdict[str, Iterator[int]] = defaultdict(lambda: itertools.count(2))
        for name in (column.name for column in self.columns):
            names[fresh_name(name, names, numbers[name])] = None
        return tuple(names)

    @property
    def is_binary(self) -> bool:
        """Whether all columns hold 0 and 1 only."""
        return all(column.is_binary for column in self.columns)

    @property
    def groups(self) -> npt.NDArray[np.int64]:
        """Index into `raw_features` for every encoded column, shape ``(n_columns,)``."""
        position = {name: i for i, name in enumerate(self.raw_features)}
        return np.array([position[column.raw] for column in self.columns], dtype=np.int64)

    def transform(self, frame: pd.DataFrame, dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
        """Encode rows, which have the raw columns typed as at training, ``(n_samples, n_columns)``.

        Values beyond the outermost edges fall into the outermost buckets; a category that was never
        seen in training gives 0 in all its columns (`unseen` names them).  Bytes hold what is
        binary in an eighth of the memory.

        Raises `DataError` if a column is lacking, a value is missing or infinite, or text stands
        where a number is needed.
        """
        groups = group_slices(self)
        cells = raw_cells(frame, groups)
        if not groups:
            return np.empty((len(frame), 0), dtype)
        blocks = [
            encoded_block([self.columns[j] for j in positions], cells[raw], raw)
            for raw, positions in groups.items()
        ]
        encoded = np.concatenate(blocks, axis=1, dtype=dtype)
        order = np.concatenate([np.asarray(positions) for positions in groups.values()])
        return encoded if (np.diff(order) == 1).all() else encoded[:, np.argsort(order)]

    def unseen(self, frame: pd.DataFrame, columns: Iterable[Column] = ()) -> tuple[Finding, ...]:
        """Name the values of rows that never came up in training, one warning by raw column.

        Numbers that splits compare by size are none of them, wherever they lie.  `columns` as at
        training know the levels of an ordinal column of numbers.  Columns may be lacking.
        """
        levels = {column.name: column.levels for column in columns}
        groups = {raw: own for raw, own in group_slices(self).items() if raw in frame.columns}
        found, cells = [], raw_cells(frame, groups)
        for raw, positions in groups.items():
            own = [self.columns[j] for j in positions]
            known = levels.get(raw, ())
            taken = "compares it by size"
            if own[0].kind == "level":
                other = own[0].other
                known = [column.level for column in own] + _given(other)
                like = "none of those it knows" if other is None else quote(_shown(other))
                taken = f"takes it for {like}"
            if not known or own[0].levels:  # ranks refuse what they do not know
                continue
            values = cells[raw]
            new = values[~_are_levels(values, known).any(axis=1)]
            if len(new):
                shown = listing(dict.fromkeys(map(_shown, new.tolist())))
                have = "has" if len(new) == 1 else "have"
                message = f"{count(len(new), 'row')} of column {quote(raw)} {have} a value that "
                message += f"never came up in training ({shown}); a split on it {taken}."
                found.append(warning("UNSEEN_VALUES", message, column=raw))
        return tuple(found)

    def warn_unseen(self, frame: pd.DataFrame, columns: Iterable[Column] = ()) -> None:
        """Warn of what `unseen` finds, for a caller of the function that calls this one."""
        for finding in self.unseen(frame, columns):
            warnings.warn(finding.message, UserWarning, stacklevel=3)

    def tested(self, features: Iterable[int]) -> tuple[str, ...]:
        """Names of the raw columns that encoded ones are made from, in their order."""
        used = {self.columns[j].raw for j in features}
        return tuple(name for name in self.raw_features if name in used)

    def sources(self, columns: Iterable[Column], features: Iterable[int]) -> tuple[Column, ...]:
        """Of raw columns those that encoded ones are made from."""
        used = self.tested(features)
        return tuple(column for column in columns if column.name in used)

    @property
    def kinds(self) -> dict[str, str]:
        """Kinds of the raw columns as `octcore.read_csv` takes them, so that rows fit again."""
        return {
            raw: _kind([self.columns[j] for j in positions])
            for raw, positions in group_slices(self).items()
        }

    def renamed(self, names: Mapping[str, str]) -> Encoding:
        """Return the same encoding for raw columns of other names."""
        columns = tuple(replace(column, raw=names[column.raw]) for column in self.columns)
        raw_features = tuple(names[name] for name in self.raw_features)
        return Encoding(self.key, columns, raw_features, self.findings)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "key": self.key,
            "raw_features": list(self.raw_features),
            "columns": [column.to_dict() for column in self.columns],
            "notes": list(self.findings),  # their name in stored files
        }

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Encoding:
        """Read an encoding back from plain data; `ModelFileError` if it is none."""
        with read_in_words("BROKEN_ENCODING", "The stored encoding"):
            encoding = cls(
                str(record["key"]),
                tuple(EncodedColumn.from_dict(column) for column in record["columns"]),
                tuple(str(name) for name in record["raw_features"]),
                tuple(str(note) for note in record.get("notes", ())),
            )
            _ = encoding.groups
            return encoding


def _shown(value: Any) -> str:
    return format_number(value) if isinstance(value, float) else str(value)


def _kind(columns: Sequence[EncodedColumn]) -> str:
    first = columns[0]
    if first.kind == "level" and not _is_number(first.level):
        return "categorical"
    return "ordinal:" + "<".join(map(str, first.levels)) if first.levels else "numeric"


def group_slices(encoding: Encoding) -> dict[str, list[int]]:
    """Positions of the encoded columns of every raw column."""
    return grouped((column.raw, j) for j, column in enumerate(encoding.columns))


def as_numbers(
    values: npt.NDArray[Any], raw: str, levels: Sequence[Any] = ()
) -> npt.NDArray[np.float64]:
    """Return raw values as finite floats; ordered categories become ranks, from 0.

    `DataError` names row and column of a value that is missing, infinite, text or no category.
    """
    if values.dtype == np.float64 and not levels and np.isfinite(values).all():
        return values
    refuse_rows(pd.isna(values), raw, "MISSING_VALUE", NO_VALUE)
    if levels:
        ranks = _codes(values, levels)
        known = ", ".join(quote(level) for level in levels[:10])
        refuse_rows(ranks < 0, raw, "BAD_VALUE", f"holds none of {known}", values)
        return ranks.astype(np.float64)
    try:
        numbers = values.astype(np.float64)
    except (TypeError, ValueError):
        numbers = _parsed(values)
        what = "holds text where a number is needed"
        refuse_rows(np.isnan(numbers), raw, "BAD_VALUE", what, values)
    refuse_rounded(raw, values, numbers)
    what = "is infinite; a finite number is needed"
    refuse_rows(~np.isfinite(numbers), raw, "MISSING_VALUE", what, values)
    return numbers


def encoded_block(
    columns: Sequence[EncodedColumn], values: npt.NDArray[Any], raw: str
) -> npt.NDArray[Any]:
    """Encode one raw column to shape ``(n_samples, len(columns))``."""
    if columns[0].kind == "level":
        refuse_rows(pd.isna(values), raw, "MISSING_VALUE", NO_VALUE)
        return _are_levels(values, [column.level for column in columns])
    numbers = as_numbers(values, raw, columns[0].levels)[:, None]
    if not columns[0].is_binary:
        shifts = np.array([column.shift for column in columns])
        return (numbers - shifts) / np.array([column.scale for column in columns])
    inside = numbers > np.array([-np.inf if c.lower is None else c.lower for c in columns])
    if any(column.upper is not None for column in columns):
        inside &= numbers <= np.array([np.inf if c.upper is None else c.upper for c in columns])
    return inside


def _are_levels(values: npt.NDArray[Any], levels: Sequence[Any]) -> npt.NDArray[np.bool_]:
    """Which of the levels every value is, shape ``(n_values, n_levels)``."""
    few = values.dtype.kind in NUMBER_KINDS and len(levels) <= FEW_LEVELS
    if few and all(map(_is_number, levels)):
        # An array of them would round long whole numbers, and tell 0.1 from that of single floats.
        return np.array([values == level for level in levels]).T
    return _codes(values, levels)[:, None] == np.arange(len(levels))


def _codes(values: npt.NDArray[Any], levels: Sequence[Any]) -> npt.NDArray[np.int64]:
    """Position of every value among the levels, -1 where it is none of them."""
    index = pd.Index(levels)
    if pd.api.types.is_numeric_dtype(index.dtype) and values.dtype == object:
        values = _parsed(values)
    return np.asarray(index.get_indexer(pd.Index(values)), dtype=np.int64)


def _is_number(level: object) -> bool:
    return isinstance(level, (int, float)) and not isinstance(level, bool)


def raw_cells(frame: pd.DataFrame, names: Iterable[str]) -> dict[str, npt.NDArray[Any]]:
    """Values of raw columns by name; where all are numbers of a kind, they are taken at once.

    Raises `DataError` if one is lacking.
    """
    for raw in names:
        if raw not in frame.columns:
            message = f"The rows lack the column {quote(raw)} that the tree was trained with; add "
            message += "it."
            raise DataError("MISSING_COLUMN", message, column=raw)
    kinds = set(frame.dtypes)
    if len(kinds) == 1 and all(isinstance(k, np.dtype) and k.kind in NUMBER_KINDS for k in kinds):
        return dict(zip(frame.columns, frame.to_numpy().T, strict=True))
    found: dict[str, Any] = {raw: frame[raw] for raw in names}
    return {raw: values.to_numpy() for raw, values in found.items()}


def _parsed(values: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """Return numbers, NaN where a value is not one."""
    series: Any = pd.to_numeric(pd.Series(values, dtype=object), errors="coerce")
    return series.to_numpy(dtype=np.float64)


def _given(*values: Any) -> list[Any]:
    return [value for value in values if value is not None]
