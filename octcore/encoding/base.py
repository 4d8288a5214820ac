"""What an encoding is: encoded columns that remember their raw column and condition.

An encoding is fitted on training rows and applied to any rows.  Every encoded column says which
raw column it comes from and what it tests, so that splits can be worded in raw units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from octcore.errors import DataError


@dataclass(frozen=True)
class EncodedColumn:
    """One column of the encoded matrix.

    Parameters
    ----------
    raw : str
        Name of the raw column.
    kind : str
        ``"above"`` (1 when the value exceeds `lower`), ``"bucket"`` (1 when ``lower < value <=
        upper``; an end that is None is open), ``"level"`` (1 when the value equals `level`),
        ``"scaled"`` (``(value - shift) / scale``) or ``"value"`` (the number itself).
    lower, upper : float or None
        Ends in raw units.
    level : object
        The category of a ``"level"`` column.
    other : object
        The other category of a two-valued column, None elsewhere.
    shift, scale : float
        Of a ``"scaled"`` column.
    """

    raw: str
    kind: str
    lower: float | None = None
    upper: float | None = None
    level: Any = None
    other: Any = None
    shift: float = 0.0
    scale: float = 1.0

    @property
    def name(self) -> str:
        """Name for exports and `get_feature_names_out`; unique within an encoding."""
        if self.kind == "above":
            return f"{self.raw}>{self.lower:.12g}"
        if self.kind == "bucket":
            low = "-inf" if self.lower is None else f"{self.lower:.12g}"
            high = "inf" if self.upper is None else f"{self.upper:.12g}"
            return f"{self.raw} in ({low},{high}]"
        if self.kind == "level":
            return f"{self.raw}={self.level}"
        return self.raw

    @property
    def is_binary(self) -> bool:
        """Whether the column holds 0 and 1 only."""
        return self.kind in {"above", "bucket", "level"}

    def encode(self, values: np.ndarray) -> np.ndarray:
        """Encode raw values of shape ``(n_samples,)`` to floats of the same shape."""
        if self.kind == "level":
            return (values == self.level).astype(float)
        numbers = values.astype(float)
        if self.kind == "above":
            return (numbers > self.lower).astype(float)
        if self.kind == "bucket":
            inside = np.ones(len(numbers), dtype=bool)
            if self.lower is not None:
                inside &= numbers > self.lower
            if self.upper is not None:
                inside &= numbers <= self.upper
            return inside.astype(float)
        return (numbers - self.shift) / self.scale


@dataclass(frozen=True)
class Encoding:
    """A fitted encoding.

    Parameters
    ----------
    key : str
        Such as ``"QT-5"``.
    columns : tuple of EncodedColumn
        Encoded columns in order.
    raw_features : tuple of str
        Names of the raw columns, in the order of the data set; also those that gave no column.
    notes : tuple of str
        Remarks for the user, such as collapsed quantile edges.
    """

    key: str
    columns: tuple[EncodedColumn, ...]
    raw_features: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the encoded columns."""
        return tuple(column.name for column in self.columns)

    @property
    def is_binary(self) -> bool:
        """Whether all columns hold 0 and 1 only."""
        return all(column.is_binary for column in self.columns)

    @property
    def groups(self) -> np.ndarray:
        """Index into `raw_features` for every encoded column, shape ``(n_columns,)``."""
        position = {name: i for i, name in enumerate(self.raw_features)}
        return np.array([position[column.raw] for column in self.columns], dtype=np.int64)

    def transform(self, frame: pd.DataFrame) -> np.ndarray:
        """Encode rows given in raw columns.

        Parameters
        ----------
        frame : pandas.DataFrame
            Rows with at least the raw columns that the encoding uses, typed as at training.

        Returns
        -------
        numpy.ndarray
            Shape ``(n_samples, n_columns)``, float64.
        """
        missing = [c.raw for c in self.columns if c.raw not in frame.columns]
        if missing:
            raise DataError(
                "MISSING_COLUMN",
                f"The rows lack the column {missing[0]!r} that the tree was trained with.",
                column=missing[0],
            )
        values = {name: frame[name].to_numpy() for name in {c.raw for c in self.columns}}
        encoded = np.empty((len(frame), len(self.columns)))
        for j, column in enumerate(self.columns):
            encoded[:, j] = column.encode(values[column.raw])
        return encoded

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "key": self.key,
            "raw_features": list(self.raw_features),
            "columns": [
                {k: v for k, v in vars(column).items() if v is not None} for column in self.columns
            ],
            "notes": list(self.notes),
        }

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> Encoding:
        """Read an encoding back from plain data."""
        return cls(
            str(record["key"]),
            tuple(EncodedColumn(**column) for column in record["columns"]),
            tuple(record["raw_features"]),
            tuple(record.get("notes", ())),
        )


def group_slices(encoding: Encoding) -> dict[str, Sequence[int]]:
    """Positions of the encoded columns of every raw column."""
    positions: dict[str, list[int]] = {}
    for j, column in enumerate(encoding.columns):
        positions.setdefault(column.raw, []).append(j)
    return dict(positions)
