"""Arrays and frames, as scikit-learn users have them, to columns and labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pandas as pd

from octcore.data.columns import KINDS, Column, Kind, Label
from octcore.data.findings import quote
from octcore.data.lookup import find_column
from octcore.data.numbers import format_number
from octcore.data.text import MISSING_MARKS
from octcore.errors import DataError, SettingsError


def columns_from_arrays(
    X: npt.ArrayLike | pd.DataFrame,
    feature_names: Sequence[str] | None,
    kinds: Mapping[str, str] | None,
) -> tuple[pd.DataFrame, tuple[Column, ...]]:
    """Return the frame and its columns (see `Dataset.from_arrays`).

    Raises
    ------
    DataError
        If there are not as many names as columns.
    """
    raw = X.reset_index(drop=True) if isinstance(X, pd.DataFrame) else _frame_of(X)
    if feature_names is not None and len(feature_names) != raw.shape[1]:
        raise DataError(
            "INCONSISTENT", f"{raw.shape[1]} columns came with {len(feature_names)} feature names."
        )
    names = [str(name) for name in (raw.columns if feature_names is None else feature_names)]
    wanted = {find_column(name, names): kind for name, kind in (kinds or {}).items()}
    typed = [
        _typed(name, raw.iloc[:, position], wanted.get(name)) for position, name in enumerate(names)
    ]
    frame = pd.DataFrame(
        {position: values for position, (_, values) in enumerate(typed)}, index=raw.index
    )
    frame.columns = names
    return frame, tuple(column for column, _ in typed)


def labels_from_array(
    y: npt.ArrayLike,
) -> tuple[str, tuple[Label, ...], npt.NDArray[np.int64]]:
    """Return the target's name, the sorted classes and the codes into them."""
    name = str(y.name) if isinstance(y, pd.Series) and y.name is not None else "class"
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels.ravel()
    if labels.ndim != 1:
        raise DataError("INCONSISTENT", f"Labels must be one column, not of shape {labels.shape}.")
    missing = np.flatnonzero(pd.isna(labels))
    if len(missing):
        raise DataError(
            "MISSING_TARGET", f"Row {missing[0] + 1} has no label.", line=int(missing[0]) + 1
        )
    if labels.dtype.kind == "f" and np.isfinite(labels).all() and (labels == labels.round()).all():
        labels = labels.astype(np.int64)
    if labels.dtype == object and len({type(label) for label in labels}) > 1:
        labels = labels.astype(str)
    values, codes = np.unique(labels, return_inverse=True)
    return name, tuple(values.tolist()), codes.astype(np.int64)


def _frame_of(X: npt.ArrayLike) -> pd.DataFrame:
    array = np.asarray(X)
    if array.ndim != 2:
        raise DataError(
            "INCONSISTENT",
            f"Features must be a table with two dimensions, not an array of shape {array.shape}.",
        )
    return pd.DataFrame(array, columns=[f"x{index}" for index in range(array.shape[1])])


def _typed(name: str, values: pd.Series, kind: str | None) -> tuple[Column, Any]:
    if kind is not None and kind not in KINDS:
        raise SettingsError(
            "BAD_KIND", f"Kind {kind!r} of column {name!r} is none of {', '.join(KINDS)}.", "kinds"
        )
    is_number = pd.api.types.is_numeric_dtype(values.dtype) and values.dtype != bool
    numbers = _as_numbers(values) if values.dtype == object or is_number else None
    if numbers is not None:
        return _number_column(name, numbers, kind)
    if kind == "numeric":
        raise DataError(
            "NOT_NUMERIC", f"Column {quote(name)} holds text, not numbers.", column=name
        )
    texts = values.astype(str)
    _refuse_missing(name, pd.isna(values).to_numpy() | texts.isin(MISSING_MARKS).to_numpy())
    levels = tuple(sorted(set(texts)))
    chosen: Kind = (
        cast("Kind", kind) if kind is not None else "binary" if len(levels) == 2 else "categorical"
    )
    _check_binary(name, chosen, len(levels))
    return Column(name, chosen, levels), texts.to_numpy(dtype=object)


def _as_numbers(values: pd.Series) -> npt.NDArray[np.float64] | None:
    try:
        return np.asarray(values.to_numpy(), dtype=np.float64)
    except (TypeError, ValueError):
        return None


def _number_column(
    name: str, numbers: npt.NDArray[np.float64], kind: str | None
) -> tuple[Column, Any]:
    _refuse_missing(name, ~np.isfinite(numbers))
    distinct = np.unique(numbers)
    chosen: Kind = (
        cast("Kind", kind) if kind is not None else "binary" if len(distinct) == 2 else "numeric"
    )
    _check_binary(name, chosen, len(distinct))
    if chosen == "categorical":
        levels = tuple(format_number(value) for value in distinct.tolist())
        texts = np.array([format_number(value) for value in numbers.tolist()], dtype=object)
        return Column(name, chosen, levels), texts
    return Column(name, chosen, () if chosen == "numeric" else tuple(distinct.tolist())), numbers


def _refuse_missing(name: str, missing: npt.NDArray[np.bool_]) -> None:
    rows = np.flatnonzero(missing)
    if len(rows):
        raise DataError(
            "MISSING_VALUE",
            f"Row {rows[0] + 1} of column {quote(name)} is missing or infinite (NaN or inf); "
            "fill or leave out such rows first.",
            line=int(rows[0]) + 1,
            column=name,
        )


def _check_binary(name: str, kind: str, n_levels: int) -> None:
    if kind == "binary" and n_levels > 2:
        raise DataError(
            "NOT_BINARY",
            f"Column {quote(name)} has {n_levels} values, a binary column has two.",
            column=name,
        )
