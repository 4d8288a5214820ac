"""Raw columns to numbers, by the written rules, for routing and for enumerating splits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Encoded:
    """Encoded rows and every split that a univariate tree can make on them.

    Parameters
    ----------
    X : numpy.ndarray
        Encoded rows, shape ``(n_rows, n_columns)``; constant columns are left out.
    groups : numpy.ndarray
        Raw column of every encoded column.
    cuts : numpy.ndarray
        Zeros and ones, shape ``(n_rows, n_cuts)``: one column for every way to part the rows.
    cut_columns : numpy.ndarray
        Encoded column of every cut.
    """

    X: np.ndarray
    groups: np.ndarray
    cuts: np.ndarray
    cut_columns: np.ndarray

    @property
    def cut_groups(self) -> np.ndarray:
        """Raw column of every cut."""
        return self.groups[self.cut_columns]


def encode(columns: Mapping[str, Sequence[object]], scaled: bool = False) -> Encoded:
    """Encode text one-hot (two levels: one column) and numbers as they are, or to [0, 1].

    Parameters
    ----------
    columns : mapping of str to sequence
        Raw columns, numbers or text.
    scaled : bool
        Whether numbers are brought to [0, 1].
    """
    numbers: list[np.ndarray] = []
    groups: list[int] = []
    for raw, cells in enumerate(columns.values()):
        for column in _numbers(cells, scaled):
            numbers.append(column)
            groups.append(raw)
    n = len(next(iter(columns.values())))
    X = np.column_stack(numbers) if numbers else np.zeros((n, 0))
    cuts, owners = [], []
    for j in range(X.shape[1]):
        for value in np.unique(X[:, j])[:-1]:  # midpoints would round to one of their sides
            cuts.append(X[:, j] > value)
            owners.append(j)
    table = np.column_stack(cuts).astype(np.uint8) if cuts else np.zeros((n, 0), np.uint8)
    return Encoded(X, np.array(groups, int), table, np.array(owners, int))


def _numbers(cells: Sequence[object], scaled: bool) -> list[np.ndarray]:
    """Return the encoded columns of one raw column; none for a constant."""
    values = np.array(cells)
    levels = np.unique(values)
    if len(levels) < 2:
        return []
    if values.dtype.kind in "US":
        chosen = levels[1:] if len(levels) == 2 else levels
        return [(values == level).astype(float) for level in chosen]
    if len(levels) == 2:
        return [(values == levels[1]).astype(float)]
    values = values.astype(float)
    if scaled:
        low, high = values.min(), values.max()
        values = (values - low) / (high - low)
    return [values]
