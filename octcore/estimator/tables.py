"""Tables as users of scikit-learn have them, to the frame that training takes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from octcore.data.arrays import as_numbers
from octcore.data.columns import MISSING_LEVEL
from octcore.data.text import free_name
from octcore.parameters import Choice

REFUSE, BRANCH = "refuse", "branch"
MISSING = Choice("missing", REFUSE, options=(REFUSE, BRANCH))
"""What a missing value may be: refused, or told apart by a branch of its own."""


def as_labels(y: Any) -> Any:
    """Return labels whose whole numbers and truth values, where none is missing, stay such.

    scikit-learn makes floats of nullable ones, and nothing of Python's own in an array of objects.
    """
    array = np.asarray(y) if hasattr(y, "dtype") else np.empty(0)
    if array.dtype == object and {type(label) for label in array.flat} in ({int}, {bool}):
        return np.array(array.tolist())
    is_nullable = isinstance(getattr(y, "dtype", None), pd.api.extensions.ExtensionDtype)
    return array if is_nullable and array.dtype.kind in "iub" else y


def all_numbers(frame: pd.DataFrame) -> bool:
    """Whether there are columns, and every one holds numbers."""
    return frame.shape[1] > 0 and all(map(pd.api.types.is_numeric_dtype, frame.dtypes))


@dataclass(frozen=True)
class Gaps:
    """What stands for the missing values of the columns that had some in training."""

    fills: Mapping[str, Any] = field(default_factory=dict)
    """Columns of numbers or dates and the median of their known values, anything if none is known;
    a second column says where one was missing, so that a split can send these rows where they
    belong."""
    names: Mapping[str, str] = field(default_factory=dict)  # name of that second column by column
    texts: tuple[str, ...] = ()
    """Columns of categories; a missing value is a level of its own, the first in an order."""

    @classmethod
    def of(cls, frame: pd.DataFrame, counted: np.ndarray) -> Gaps:
        """Find the columns with missing values, and by the rows that count what these are."""
        fills, texts = dict[str, Any](), list[str]()
        for name in frame.columns[frame.isna().any()]:
            values = _series(frame, name)
            numbers, known = as_numbers(values), values.notna().to_numpy() & counted
            if numbers is not None:
                fills[name] = float(np.median(numbers[known])) if known.any() else 0.0
            elif pd.api.types.is_datetime64_any_dtype(values.dtype):
                fills[name] = values.where(known).median() if known.any() else pd.Timestamp(0)
            else:
                texts.append(name)
        names = {name: free_name(f"{name} is missing", frame.columns, "*") for name in fills}
        return cls(fills, names, tuple(texts))

    def close(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return a frame without the gaps that training had, its second columns at the end."""
        closed = frame.copy()
        for name in self.texts:
            closed[name] = _with_level(_series(frame, name))
        for name, fill in self.fills.items():
            values = _series(frame, name)
            numbers = as_numbers(values)
            if numbers is not None:
                closed[name] = np.where(np.isnan(numbers), fill, numbers)
            elif isinstance(values.dtype, pd.DatetimeTZDtype):
                closed[name] = values.fillna(fill.tz_localize(values.dtype.tz))
            else:
                is_date = pd.api.types.is_datetime64_dtype(values.dtype)
                closed[name] = values.fillna(fill if is_date else str(fill))
            closed[self.names[name]] = np.where(values.isna(), "yes", "no")
        return closed


def _series(frame: pd.DataFrame, name: str) -> pd.Series:
    values: Any = frame[name]  # names are distinct, which type checkers cannot know
    return values


def _with_level(values: pd.Series) -> pd.Series:
    if isinstance(values.dtype, pd.CategoricalDtype):
        levels = [level for level in values.cat.categories if level != MISSING_LEVEL]
        values = values.cat.set_categories([MISSING_LEVEL, *levels])
        return values.fillna(MISSING_LEVEL)
    if pd.api.types.infer_dtype(values) == "boolean":
        values = values.map(str, na_action="ignore")
    return values.astype(object).where(values.notna(), MISSING_LEVEL)


@contextlib.contextmanager
def advised() -> Iterator[None]:
    """Say what can be done about missing values and texts where scikit-learn refuses them."""
    try:
        yield
    except ValueError as error:
        first = str(error).partition("\n")[0]
        advice = next((words for what, words in _ADVICE.items() if what in first), None)
        if advice is None:
            raise
        raise ValueError(f"{first.rstrip('.')}. {advice}") from None


_ADVICE = {
    "contains NaN": f"Fill or drop the missing values, or fit with missing={BRANCH!r}, which gives "
    "them a branch of their own.",
    "convert string": "An array is of numbers; give texts in a table, such as a pandas.DataFrame.",
}
