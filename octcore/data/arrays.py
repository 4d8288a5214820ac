"""Arrays and frames: to the columns and labels of a data set, or typed as at training."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import islice
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from octcore.data.columns import MISSING_LEVEL, Column, Kind, Label
from octcore.data.findings import Finding, column_refused, of_column, quote, refuse_rows
from octcore.data.numbers import (
    EXACT,
    LOOKED_AT,
    OTHER_MARK,
    PLAIN,
    date_parts,
    decimal_mark,
    format_number,
    parse,
    refuse_rounded,
    spelling,
)
from octcore.data.text import MISSING_MARKS, MISSING_WORDS, clean_text, find_column, normal
from octcore.data.typed import check_binary, check_order, split_kind
from octcore.errors import DataError

_MISSING = (
    "MISSING_VALUE",
    "is missing or infinite (NaN or inf); fill or leave out such rows first",
)
_Typed = tuple[Column, npt.NDArray[Any], tuple[Finding, ...]]
"""A column, its values as the frame holds them, and what is to be said about it."""


def columns_from_arrays(
    X: npt.ArrayLike | pd.DataFrame,
    feature_names: Sequence[str] | None,
    kinds: Mapping[str, str] | None,
) -> tuple[pd.DataFrame, tuple[Column, ...], tuple[Finding, ...]]:
    """Return the frame, its columns and the findings (see `Dataset.from_arrays`)."""
    raw = X.reset_index(drop=True) if isinstance(X, pd.DataFrame) else _frame_of(X)
    if feature_names is not None and len(feature_names) != raw.shape[1]:
        message = f"{raw.shape[1]} columns came with {len(feature_names)} feature names."
        raise DataError("INCONSISTENT", message)
    names = [str(name) for name in (raw.columns if feature_names is None else feature_names)]
    if nameless := [k for k, name in enumerate(names, start=1) if not clean_text(name).strip()]:
        raise DataError("NO_NAME", f"Column {nameless[0]} of the table has no name; give it one.")
    wanted = {find_column(name, names): kind for name, kind in (kinds or {}).items()}
    raw.columns = names
    typed = [_typed(str(name), values, wanted.get(str(name))) for name, values in raw.items()]
    frame = pd.DataFrame({k: values for k, (_, values, _) in enumerate(typed)}, index=raw.index)
    frame.columns = names
    findings = tuple(finding for _, _, found in typed for finding in found)
    return frame, tuple(column for column, _, _ in typed), findings


def labels_from_array(y: npt.ArrayLike) -> tuple[str, tuple[Label, ...], npt.NDArray[np.int64]]:
    """Return the target's name, the sorted classes and the codes into them."""
    name = str(y.name) if isinstance(y, pd.Series) and y.name is not None else "class"
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels.ravel()
    if labels.ndim != 1:
        raise DataError("INCONSISTENT", f"Labels must be one column, not of shape {labels.shape}.")
    refuse_missing_labels(labels)
    if labels.dtype.kind == "f" and (np.abs(labels) < EXACT).all() and not (labels % 1).any():
        labels = labels.astype(np.int64)
    if labels.dtype == object and len({type(label) for label in labels}) > 1:
        labels = labels.astype(str)
    values, codes = np.unique(labels, return_inverse=True)
    return name, tuple(values.tolist()), codes.astype(np.int64)


def refuse_missing_labels(y: npt.ArrayLike) -> None:
    """Refuse labels, shape ``(n_samples,)``, of which one is None, NaN or the like."""
    labels = np.atleast_1d(np.asarray(y))
    gone = np.asarray(pd.isna(labels))
    missing = np.flatnonzero(gone.any(axis=tuple(range(1, gone.ndim))))
    if len(missing):
        row = int(missing[0]) + 1
        raise DataError("MISSING_TARGET", f"Row {row} has no label; leave it out.", line=row)


def _frame_of(X: npt.ArrayLike) -> pd.DataFrame:
    array = np.asarray(X)
    if array.ndim != 2:
        message = "Features must be a table with two dimensions, not an array of shape "
        message += f"{array.shape}."
        raise DataError("INCONSISTENT", message)
    if array.dtype.kind == "f":
        refuse_rounded_table(X, array)
    return pd.DataFrame(array, columns=[f"x{k}" for k in range(array.shape[1])])


def refuse_rounded_table(
    given: npt.ArrayLike | pd.DataFrame, numbers: npt.NDArray[np.float64]
) -> None:
    """Refuse a table, as it came, with whole numbers that floating point takes for others.

    `numbers` are what it became, shape ``(n_samples, n_features)``; ``PRECISION_LOST`` names the
    row and the column.
    """
    if not (np.abs(numbers) >= EXACT).any():
        return
    is_frame = isinstance(given, pd.DataFrame)
    frame = given if is_frame else pd.DataFrame(np.array(given, object)).add_prefix("x")
    for position, name in enumerate(frame.columns):
        refuse_rounded(str(name), frame.iloc[:, position], numbers[:, position])


def _typed(name: str, values: pd.Series, wanted: str | None) -> _Typed:
    kind, order = (None, ()) if wanted is None else split_kind(wanted, name)
    if pd.api.types.is_datetime64_any_dtype(values.dtype):
        return _date_column(name, values, kind)
    numbers = as_numbers(values)
    if numbers is not None and not order:
        return _number_column(name, numbers, kind)
    if kind == "numeric":
        raise column_refused(name, "NOT_NUMERIC", "holds text, not numbers.")
    codes, cells = distinct_cells(values)
    texts = np.array([as_text(cell) for cell in cells], dtype=object)[codes]
    refuse_rows(pd.isna(values).to_numpy() | (texts == ""), name, *_MISSING)
    levels = tuple(sorted(set(texts)))
    if isinstance(values.dtype, pd.CategoricalDtype) and values.dtype.ordered and not order:
        order = tuple(as_text(level) for level in values.dtype.categories)
        kind = kind or "ordinal"
    chosen: Kind = kind or ("binary" if len(levels) == 2 else "categorical")
    check_binary(name, chosen, len(levels))
    if chosen == "ordinal" and order:
        check_order(name, levels, order)
        levels = order
    findings: tuple[Finding, ...] = ()
    is_plain = pd.api.types.infer_dtype(values) in {"string", "boolean"}
    if (values.dtype == object and not is_plain) or isinstance(values.array, _NO_TEXTS):
        found = " and ".join(sorted({type(value).__name__ for value in values})[:3])
        words = (
            f"holds objects ({found}) and is taken by their texts, as categories; convert it to "
            "numbers or text."
        )
        findings = (of_column(name, "OBJECTS", words),)
    elif is_plain and not kind and all(map(PLAIN.fullmatch, levels)) and "." in "".join(levels):
        words = "holds numbers as texts, taken for categories; convert it, or name its kind."
        findings = (of_column(name, "NUMBERS_AS_TEXTS", words),)
    return Column(name, chosen, levels), texts, findings


def _date_column(name: str, values: pd.Series, kind: Kind | None) -> _Typed:
    """Dates are days since the first one, unless the user wants categories."""
    refuse_rows(values.isna().to_numpy(), name, *_MISSING)
    if kind not in {None, "numeric"}:
        return _typed(name, values.astype(str), kind)
    first = "" if values.empty else values.min().date().isoformat()
    number_format = f"date:{first}:mdy"
    days = parse([as_text(value) for value in values], number_format)
    words = (
        f"holds dates and is read as days since {first}, without the time of day; convert it "
        "yourself if hours, months or weekdays matter."
    )
    column = Column(name, "numeric", (), number_format)
    return column, days, (of_column(name, "DATE_AS_NUMBER", words),)


def as_numbers(values: pd.Series) -> npt.NDArray[np.float64] | None:
    """Numbers of a column, NaN where missing; None for a column of truth values or texts.

    Whole numbers that floating point takes for others are refused.
    """
    is_objects = values.dtype == object
    if is_objects and pd.api.types.infer_dtype(values) not in _NUMBER_OBJECTS:
        return None
    if not is_objects and (
        not pd.api.types.is_numeric_dtype(values.dtype) or pd.api.types.is_bool_dtype(values.dtype)
    ):
        return None
    numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
    refuse_rounded(str(values.name), values, numbers)
    return numbers


_NO_TEXTS = (pd.arrays.TimedeltaArray, pd.arrays.PeriodArray, pd.arrays.IntervalArray)
_NUMBER_OBJECTS = frozenset({"integer", "floating", "mixed-integer-float", "decimal", "empty"})


def _number_column(name: str, numbers: npt.NDArray[np.float64], kind: Kind | None) -> _Typed:
    refuse_rows(~np.isfinite(numbers), name, *_MISSING)
    distinct = np.unique(numbers)
    chosen: Kind = kind or ("binary" if len(distinct) == 2 else "numeric")
    check_binary(name, chosen, len(distinct))
    if chosen == "categorical":
        levels = tuple(format_number(value) for value in distinct.tolist())
        texts = np.array([format_number(value) for value in numbers.tolist()], dtype=object)
        return Column(name, chosen, levels), texts, ()
    levels = () if chosen == "numeric" else tuple(distinct.tolist())
    return Column(name, chosen, levels), numbers, ()


def other_marks(frame: pd.DataFrame, columns: Iterable[Column]) -> dict[int, str]:
    """Positions of columns whose texts have another decimal mark than at training; their format.

    Columns that had the same mark at training tell together, so that 1.250 beside 0.5 is no 1,250.
    """
    names, found = [normal(str(name)) for name in frame.columns], dict[int, str]()
    here = [c for c in columns if c.holds_numbers and names.count(normal(c.name)) == 1]
    for mark, formats in OTHER_MARK.items():
        places = {names.index(normal(c.name)): c for c in here if c.number_format in formats}
        cells = (frame.iloc[:, place] for place in places)
        own = (c for c in cells if not pd.api.types.is_numeric_dtype(c.dtype))
        texts = [[*islice((v.strip() for v in c if isinstance(v, str)), LOOKED_AT)] for c in own]
        if decimal_mark(filter(None, texts)) == mark:
            found |= {place: formats[c.number_format] for place, c in places.items()}
    return found


def as_meant(frame: pd.DataFrame, columns: Iterable[Column]) -> pd.DataFrame:
    """Return new rows with their texts taken as at training, and with the parts of their dates.

    A part of dates that is there under its own name stays as it is.  Texts with the other decimal
    mark become numbers.
    """
    for position, number_format in other_marks(frame, columns).items():
        cells = frame.iloc[:, position].tolist()
        numbers = parse([as_text(cell) for cell in cells], number_format)
        mixed = [c if np.isnan(n) else n for c, n in zip(cells, numbers.tolist(), strict=True)]
        frame = frame.assign(**{str(frame.columns[position]): mixed})
    concerned = [c for c in columns if c.meant or c.source != c.name]
    names = [normal(str(name)) for name in frame.columns] if concerned else []
    made: dict[str, list[Any]] = {}
    for column in concerned:
        found = next((n for n in (column.name, column.source) if normal(n) in names), None)
        if found is None:
            continue
        place, meant = names.index(normal(found)), {spelling(a): b for a, b in column.meant.items()}
        values = frame.iloc[:, place].tolist()
        came = [as_text(value) for value in values]
        texts = [meant.get(spelling(text), text) for text in came]
        if found != column.name:
            made[column.name] = date_parts(texts, column.number_format)
        elif texts != came:
            kept = zip(values, came, texts, strict=True)
            made[str(frame.columns[place])] = [v if a == b else b for v, a, b in kept]
    return frame.assign(**made) if made else frame


def as_frame(X: Any) -> Any:
    """Return a pandas frame of any table that narwhals knows; everything else as it is."""
    if isinstance(X, (pd.DataFrame, np.ndarray)):
        return X
    import narwhals as nw  # not above: few tables need it, and every start would wait for it

    table: Any = nw.from_native(X, pass_through=True)
    if isinstance(table, nw.LazyFrame):
        raise DataError("LAZY_TABLE", "A lazy table holds no rows yet; collect it first.")
    if not isinstance(table, nw.DataFrame):
        return X
    return pd.DataFrame({name: _column(table[name]) for name in table.columns})


def _column(values: Any) -> Any:
    import narwhals as nw

    if isinstance(values.dtype, nw.Enum):  # its categories have an order
        return pd.Categorical(values.to_list(), values.dtype.categories, ordered=True)
    if isinstance(values.dtype, nw.Categorical):
        is_arrow = values.implementation.is_pyarrow()  # the one where they may have an order
        return values.to_native().to_pandas() if is_arrow else pd.Categorical(values.to_list())
    if values.dtype.is_numeric() or values.dtype.is_temporal():
        return values.to_numpy()
    return pd.Series(values.to_list(), dtype=object)


def prepare_rows(
    frame: pd.DataFrame,
    columns: Sequence[Column],
    missing_marks: Collection[str] = MISSING_MARKS,
    needed: Collection[Column] | None = None,
) -> pd.DataFrame:
    """Return the feature columns of `frame`, typed as `columns` say (see `Dataset.prepare`).

    `missing_marks` are the texts that stand for a missing value in files.
    `needed`: columns that are looked at, all by default; the others are made up.
    """
    needed, frame = columns if needed is None else needed, as_frame(frame)
    if not isinstance(frame, pd.DataFrame):
        message = f"Rows must come as a table with named columns, not as {type(frame).__name__}."
        raise DataError("NOT_A_TABLE", message)
    frame = as_meant(frame, needed)
    names = [str(name) for name in frame.columns]
    prepared: dict[str, Any] = {c.name: c.levels[0] if c.levels else 0.0 for c in columns}
    for column in needed:
        values = frame.iloc[:, names.index(find_column(column.name, names))]
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
        codes, cells = distinct_cells(values)
        texts = [as_text(cell) for cell in cells]
        read = parse(texts, column.number_format)
        for k, cell in enumerate(cells):
            if isinstance(cell, Real | np.bool_):
                read[k] = float(cell)  # 1.234 is not what a file writes so
        came, numbers = np.array(texts, dtype=object)[codes], read[codes]
    refuse_rounded(column.name, came, numbers, column.number_format)
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad):
        raise _refused(values, int(bad[0]), column, "a number")
    return numbers


def _texts(values: pd.Series, column: Column, missing_marks: Collection[str]) -> pd.Series:
    codes, cells = distinct_cells(values)
    texts = [as_text(cell) for cell in cells]
    missing_allowed = MISSING_LEVEL in column.levels
    if known := column.numbers_as_names:  # in a file 1.0 is 1, and a word is a gap
        texts = [known.get(spelling(text), text) for text in texts]
        if missing_allowed and missing_marks is MISSING_MARKS:
            texts = ["" if text.lower() in MISSING_WORDS else text for text in texts]
    for k, text in enumerate(texts):
        if text in missing_marks and text not in column.levels:
            if not missing_allowed:
                raise _refused(values, int(np.argmax(codes == k)), column, "a value")
            texts[k] = MISSING_LEVEL
        elif column.kind == "ordinal" and text not in column.levels:
            known = f"one of {', '.join(map(str, column.levels))}"
            raise _refused(values, int(np.argmax(codes == k)), column, known)
    return pd.Series(np.array(texts, dtype=object)[codes], index=values.index, dtype=str)


def distinct_cells(values: pd.Series) -> tuple[npt.NDArray[np.int64], list[Any]]:
    """Which cell every row has, shape ``(n_samples,)``, and the cells, of equal texts one.

    They come in the order of their first rows.  Objects stay apart: 1, 1.0 and True are equal.
    """
    are_texts = isinstance(values.dtype, pd.StringDtype)
    if not are_texts and pd.api.types.infer_dtype(values, skipna=False) != "string":
        return np.arange(len(values)), values.tolist()
    codes, cells = pd.factorize(values, use_na_sentinel=False)
    return codes.astype(np.int64), [*cells]


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
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.replace(tzinfo=None)  # the day where it was written down
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
