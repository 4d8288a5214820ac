"""Dataset: a table ready for training, checked on entry and never changed afterwards.

As bytes, for the worker's request and for the rows kept with a run, it is zlib-compressed JSON with
the arrays in base64, so that reading executes nothing and equal data sets give equal bytes (they
are told apart by a content hash).
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from octcore.data.arrays import columns_from_arrays, labels_from_array, prepare_rows
from octcore.data.columns import KINDS, Column, Label, Source
from octcore.data.findings import Finding, count, listing
from octcore.data.text import affirmed, unknown_column
from octcore.errors import DataError, ModelFileError, SettingsError, read_in_words
from octcore.parameters import at_the_door

COLUMNS_SHOWN = 30  # columns that the table of a notebook lists
FORMAT = "octcore-dataset"
VERSION = 1  # of the packed bytes; another one is refused


@dataclass(frozen=True, eq=False)
class Dataset:
    """Feature columns, classes and labels of a classification problem.

    Raises
    ------
    DataError
        If the parts do not fit together.
    """

    name: str
    frame: pd.DataFrame
    """Features, shape ``(n_samples, n_features)``: float64 for numbers, text for all else."""
    columns: tuple[Column, ...]  # in frame order
    target_name: str | None = None  # None when the table was read without choosing a target
    classes: tuple[Label, ...] = ()  # sorted as in scikit-learn, Python scalars
    y: npt.NDArray[np.int64] | None = None  # shape ``(n_samples,)``: codes of classes, read-only
    positive_class: Label | None = None  # coded as +1 with two classes, if the user chose one
    findings: tuple[Finding, ...] = ()
    row_lines: npt.NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    """Shape ``(n_samples,)``: line of the file each row came from, counted from 1."""
    source: Source = field(default_factory=Source)

    def __post_init__(self) -> None:
        """Check that the parts fit together and make the arrays read-only."""
        _check_frame(self.frame, self.columns)
        if self.y is not None:
            object.__setattr__(self, "y", _checked_codes(self.y, len(self.frame), self.classes))
        lines = self.row_lines
        if len(lines) == 0 and len(self.frame) > 0:
            lines = np.arange(2, len(self.frame) + 2)
        if len(lines) != len(self.frame):
            message = f"{len(self.frame)} rows came with {len(lines)} line numbers."
            raise DataError("INCONSISTENT", message)
        object.__setattr__(self, "row_lines", _read_only(np.asarray(lines, dtype=np.int64)))
        if self.positive_class is not None and self.positive_class not in self.classes:
            message = f"The positive class {self.positive_class!r} is none of the classes "
            message += f"{', '.join(map(str, self.classes[:10]))}."
            raise DataError("UNKNOWN_CLASS", message, column=self.target_name)

    @property
    def codes(self) -> npt.NDArray[np.int64]:
        """`y`, where there must be a target; `SettingsError` where there is none."""
        if self.y is None:
            raise SettingsError("NO_TARGET", "Choose the column to predict first.", "target")
        return self.y

    @property
    def focus(self) -> Label | None:
        """The class whose rows a tree must find; None for none.

        The chosen one; of two the one that says yes ("yes", 1, "ja", "malignant" or "x" beside
        "not x"), else the rarer.
        """
        if self.positive_class is not None or self.n_classes != 2:
            return self.positive_class
        place = affirmed(self.classes)
        first, second = self.class_counts
        if place is None and first == second:
            return None
        return self.classes[int(first > second) if place is None else place]

    def __repr__(self) -> str:
        target = "no target" if self.y is None else count(self.n_classes, "class")
        sizes = f"{count(self.n_samples, 'row')}, {count(self.n_features, 'feature')}, {target}"
        return f"<Dataset {self.name}: {sizes}>"

    def _repr_html_(self) -> str:
        """Table of the columns and the findings, for notebooks; everything is escaped."""
        lines = [f"<p><b>{escape(repr(self)[1:-1])}</b></p><table>"]
        lines.append("<tr><th>column</th><th>kind</th><th>values</th></tr>")
        for column in self.columns[:COLUMNS_SHOWN]:
            cells = (column.name, column.kind, self._values_in_words(column))
            lines.append(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>")
        lines.append("</table>")
        if self.n_features > COLUMNS_SHOWN:
            lines.append(f"<p>and {self.n_features - COLUMNS_SHOWN} more columns</p>")
        pairs = zip(self.classes, self.class_counts, strict=False)
        counts = ", ".join(f"{label}: {count(rows, 'row')}" for label, rows in pairs)
        lines.append(f"<p>{escape(counts)}</p><ul>")
        lines += [f"<li>{escape(f'{f.severity}: {f.message}')}</li>" for f in self.findings]
        return "".join([*lines, "</ul>"])

    def _values_in_words(self, column: Column) -> str:
        if column.levels or not self.n_samples:
            return listing(column.levels)
        values = self.frame[column.name].to_numpy(dtype=float)
        return f"{values.min():g} to {values.max():g}"

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.frame)

    @property
    def n_features(self) -> int:
        """Number of feature columns."""
        return len(self.columns)

    @property
    def n_classes(self) -> int:
        """Number of classes, 0 without a target."""
        return len(self.classes)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the feature columns in frame order."""
        return tuple(column.name for column in self.columns)

    @property
    def class_counts(self) -> tuple[int, ...]:
        """Number of rows of each class, in class order."""
        if self.y is None:
            return ()
        return tuple(int(n) for n in np.bincount(self.y, minlength=self.n_classes))

    def column(self, name: str) -> Column:
        """Return the column of that name; `DataError` names near matches if there is none."""
        for column in self.columns:
            if column.name == name:
                return column
        raise unknown_column(name, self.feature_names)

    def subset(self, rows: npt.ArrayLike) -> Dataset:
        """Return the data set of some rows, given by positions or a mask, otherwise unchanged."""
        chosen = np.asarray(rows)
        positions = np.flatnonzero(chosen) if chosen.dtype == bool else chosen.astype(np.int64)
        return replace(
            self,
            frame=self.frame.iloc[positions].reset_index(drop=True),
            y=None if self.y is None else self.y[positions],
            row_lines=self.row_lines[positions],
        )

    def prepare(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Check and type new rows, numbers or text, as at training; other columns are ignored.

        Categories never seen in training are kept.

        Raises
        ------
        DataError
            For a missing column, a missing value or a text where a number is needed.
        """
        return prepare_rows(frame, self.columns)

    @classmethod
    @at_the_door
    def from_arrays(
        cls,
        X: npt.ArrayLike | pd.DataFrame,
        y: npt.ArrayLike | None = None,
        feature_names: Sequence[str] | None = None,
        kinds: Mapping[str, str] | None = None,
        name: str = "data",
    ) -> Dataset:
        """Make a data set from arrays, as scikit-learn users have them.

        Numbers are numeric whatever their count of distinct values (two values are binary);
        text and pandas categories are categorical, ordered categories ordinal in their order,
        dates days since the first one. `kinds` overrides this by name. NaN, None, NaT, NA and the
        empty text are missing; "?" is a text like any other.

        Parameters
        ----------
        X : array or DataFrame, shape (n_samples, n_features)
            Features, finite and without missing values.
        y : array, shape (n_samples,), or None
            Labels.
        feature_names : sequence of str or None
            Names; by default those of the frame, or ``x0``, ``x1``, ...
        kinds : mapping or None
            Column kinds by name.
        name : str
            Short name for titles.

        Raises
        ------
        DataError
            If shapes do not fit or a value is missing or infinite.
        """
        frame, columns, findings = columns_from_arrays(X, feature_names, kinds)
        target, classes, codes = (None, (), None) if y is None else labels_from_array(y)
        return cls(name, frame, columns, target, classes, codes, findings=findings)

    def describe(self) -> dict[str, object]:
        """Return a summary of plain values that JSON can hold."""
        return {
            "name": self.name,
            "n_samples": self.n_samples,
            "n_features": self.n_features,
            "target": self.target_name,
            "classes": [
                {"label": label, "rows": rows}
                for label, rows in zip(self.classes, self.class_counts, strict=False)
            ],
            "positive_class": self.positive_class,
            "columns": [column.to_dict() for column in self.columns],
            "findings": [asdict(finding) for finding in self.findings],
            "source": asdict(self.source),
        }


def _check_frame(frame: pd.DataFrame, columns: tuple[Column, ...]) -> None:
    names = [column.name for column in columns]
    if list(frame.columns) != names:
        raise DataError("INCONSISTENT", "The frame's columns are not those that are described.")
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        message = f"Two columns are called {twice!r}; rename one."
        raise DataError("DUPLICATE_HEADER", message, column=twice)
    for column, (_, values) in zip(columns, frame.items(), strict=True):
        if column.kind not in KINDS:
            message = f"Kind {column.kind!r} is none of {', '.join(KINDS)}."
            raise DataError("INCONSISTENT", message, column=column.name)
        if column.holds_numbers and not np.isfinite(values.to_numpy(dtype=float)).all():
            message = f"Column {column.name!r} has a missing or infinite number."
            raise DataError("INFINITE", message, column=column.name)


def _checked_codes(
    y: npt.NDArray[np.int64], n_samples: int, classes: tuple[Label, ...]
) -> npt.NDArray[np.int64]:
    codes = np.asarray(y)
    if codes.shape != (n_samples,):
        message = f"{n_samples} rows came with labels of shape {codes.shape}."
        raise DataError("INCONSISTENT", message)
    if n_samples and (codes.min() < 0 or codes.max() >= len(classes)):
        raise DataError("INCONSISTENT", "A label code points outside the list of classes.")
    return _read_only(codes.astype(np.int64))


def _read_only(values: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    kept = values.copy()
    kept.flags.writeable = False
    return kept


def class_versus_rest(data: Dataset, label: Label) -> Dataset:
    """Group the classes of a data set as one label against all others.

    Parameters
    ----------
    data : Dataset
        With a target of at least two classes.
    label : object
        The class that stays; it becomes the positive class.

    Returns
    -------
    Dataset
        The same rows with the classes ``"not <label>"`` and ``label`` as text.

    Raises
    ------
    SettingsError
        If there is no target.
    DataError
        If no class has that label.
    """
    given, texts = data.codes, [str(known) for known in data.classes]
    if str(label) not in texts:
        message = f"The label {label!r} is none of the classes {', '.join(texts[:10])}."
        raise DataError("UNKNOWN_CLASS", message, column=data.target_name)
    one, rest = str(label), f"not {label}"
    classes = tuple(sorted((one, rest)))
    is_one = given == texts.index(one)
    codes = np.where(is_one, classes.index(one), classes.index(rest))
    return replace(data, name=f"{data.name}: {one}", classes=classes, y=codes, positive_class=one)


def pack(data: Dataset, level: int = 6) -> bytes:
    """Write a data set as bytes; equal data sets give equal ones. `level`: 0 compresses nothing."""
    record = {
        "format": FORMAT,
        "version": VERSION,
        "name": data.name,
        "columns": [column.to_dict() for column in data.columns],
        "values": [_column_record(data, column) for column in data.columns],
        "n_samples": data.n_samples,
        "target_name": data.target_name,
        "classes": list(data.classes),
        "y": None if data.y is None else _array_text(data.y, "<i4"),
        "positive_class": data.positive_class,
        "findings": [asdict(finding) for finding in data.findings],
        "row_lines": _array_text(data.row_lines, "<i8"),
        "source": asdict(data.source),
    }
    text = json.dumps(record, allow_nan=False, separators=(",", ":"), ensure_ascii=True)
    return zlib.compress(text.encode("ascii"), level)


def unpack(packed: bytes) -> Dataset:
    """Read a data set back; `ModelFileError` if the bytes are none of this version."""
    with read_in_words("BROKEN_DATASET", "The stored rows"):
        record = json.loads(zlib.decompress(packed))
        if record.get("format") != FORMAT or record.get("version") != VERSION:
            message = f"Expected {FORMAT} version {VERSION}, found {record.get('format')!r} "
            message += f"version {record.get('version')!r}."
            raise ModelFileError("NOT_A_DATASET", message)
        return _dataset_from(record)


def _dataset_from(record: dict[str, Any]) -> Dataset:
    columns = tuple(Column.from_dict(column) for column in record["columns"])
    series = {
        column.name: _column_values(values)
        for column, values in zip(columns, record["values"], strict=True)
    }
    index = pd.RangeIndex(record["n_samples"])
    return Dataset(
        name=record["name"],
        frame=pd.DataFrame(series, columns=[c.name for c in columns], index=index),
        columns=columns,
        target_name=record["target_name"],
        classes=tuple(record["classes"]),
        y=None if record["y"] is None else _array(record["y"], "<i4").astype(np.int64),
        positive_class=record["positive_class"],
        findings=tuple(Finding(**finding) for finding in record["findings"]),
        row_lines=_array(record["row_lines"], "<i8").astype(np.int64),
        source=Source.from_dict(record["source"]),
    )


def _column_record(data: Dataset, column: Column) -> dict[str, Any]:
    values = data.frame[column.name]
    if column.holds_numbers:
        return {"numbers": _array_text(values.to_numpy(dtype=float), "<f8")}
    codes, texts = pd.factorize(values)
    return {"texts": [str(text) for text in texts], "codes": _array_text(codes, "<i4")}


def _column_values(record: dict[str, Any]) -> np.ndarray | pd.Series:
    if "numbers" in record:
        return _array(record["numbers"], "<f8").astype(float)
    texts = np.array([*record["texts"], ""], dtype=object)
    return pd.Series(texts[_array(record["codes"], "<i4")], dtype=str)


def _array_text(values: np.ndarray, kind: str) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode("ascii")


def _array(text: str, kind: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), dtype=kind)
