"""New rows for prediction: the raw columns checked and typed as at training."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from octcore.data.columns import MISSING_LEVEL, Column
from octcore.data.findings import quote
from octcore.data.lookup import find_column
from octcore.data.numbers import format_number, parse, refuse_rounded
from octcore.data.text import MISSING_MARKS, clean_text
from octcore.errors import DataError


def prepare_rows(
    frame: pd.DataFrame,
    columns: Sequence[Column],
    missing_marks: Collection[str] = MISSING_MARKS,
) -> pd.DataFrame:
    """Return the feature columns of `frame`, typed as `columns` say (see `Dataset.prepare`).

    `missing_marks` are the texts that stand for a missing value in files.
    """
    names = [str(name) for name in frame.columns]
    prepared: dict[str, npt.NDArray[np.float64] | pd.Series] = {}
    for column in columns:
        position = names.index(find_column(column.name, names))
        values = frame.iloc[:, position]
        prepared[column.name] = (
            _numbers(values, column)
            if column.holds_numbers
            else _texts(values, column, missing_marks)
        )
    return pd.DataFrame(prepared, columns=[column.name for column in columns], index=frame.index)


def _numbers(values: pd.Series, column: Column) -> npt.NDArray[np.float64]:
    came: Any = values
    if pd.api.types.is_numeric_dtype(values.dtype):
        numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        came = [as_text(value) for value in values]
        numbers = parse(came, column.number_format)
    refuse_rounded(column.name, came, numbers, column.number_format)
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad):
        raise _refused(values, int(bad[0]), column, "a number")
    return numbers


def _texts(values: pd.Series, column: Column, missing_marks: Collection[str]) -> pd.Series:
    texts = [as_text(value) for value in values]
    missing_allowed = MISSING_LEVEL in column.levels
    for row, text in enumerate(texts):
        if text in missing_marks and text not in column.levels:
            if not missing_allowed:
                raise _refused(values, row, column, "a value")
            texts[row] = MISSING_LEVEL
        elif column.kind == "ordinal" and text not in column.levels:
            raise _refused(values, row, column, f"one of {', '.join(map(str, column.levels))}")
    return pd.Series(texts, index=values.index, dtype=str)


def as_text(value: object) -> str:
    """Write one cell as reading a file would have it."""
    if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, float | np.floating):
        return format_number(float(value))
    return clean_text(str(value))


def _refused(values: pd.Series, row: int, column: Column, expected: str) -> DataError:
    text = as_text(values.iloc[row])
    code = "MISSING_VALUE" if text in MISSING_MARKS else "BAD_VALUE"
    came = "nothing" if text in MISSING_MARKS else quote(text)
    return DataError(
        code,
        f"Row {row + 1} of the new rows has {came} in column {quote(column.name)} where {expected} "
        "is needed; correct or leave out the row.",
        line=row + 1,
        column=column.name,
    )
