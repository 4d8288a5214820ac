"""Rows encoded again: from the raw table and the description of the encoding that a run stores."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from octcore.verification.base import Guard, NotProvenError, WrongError

Array = np.ndarray
BYTES_AT_ONCE = 20_000_000
"""Of the rows that the run's own encoding is asked for at once."""
BINARY = frozenset({"above", "bucket", "level"})
NUMBERS = frozenset({"scaled", "value"})


def encode(encoding: Any, frame: Any, guard: Guard) -> Array:
    """Encode raw rows by the description of an encoding, and compare with its own ``transform``.

    `WrongError` if that gives other values than its description, `NotProvenError` if the
    description has a kind of column that is not known here.  The cells are bytes where all columns
    are binary.

    `encoding`: ``to_dict()`` describes it: of every column raw feature, kind, and threshold, ends,
    level or scale.
    `frame`: numbers, or text.
    """
    columns = encoding.to_dict()["columns"]
    kinds = {column["kind"] for column in columns}
    if kinds - BINARY - NUMBERS:
        raise NotProvenError(f"it cannot judge {min(kinds - BINARY - NUMBERS)} columns")
    kind = np.float64 if kinds & NUMBERS else np.uint8
    n_rows, width = len(frame), max(1, len(columns)) * np.dtype(kind).itemsize
    guard.needs(n_rows * (width + 100))
    X = np.zeros((n_rows, len(columns)), kind)
    places: dict[str, list[int]] = {}
    for j, column in enumerate(columns):
        places.setdefault(column["raw"], []).append(j)
    for raw, own in places.items():
        _fill(X, own, [columns[j] for j in own], frame[raw].to_numpy(), guard)
    step = max(1, BYTES_AT_ONCE // (8 * max(1, len(columns))))
    for start in range(0, n_rows, step):
        guard()
        part = slice(start, start + step)
        differs = (encoding.transform(frame.iloc[part], kind) != X[part]).any(axis=0)
        if differs.any():
            name = columns[int(np.flatnonzero(differs)[0])]["raw"]
            raise WrongError(f"the rows were not encoded as described, in a column of {name}")
    return X


def _fill(X: Array, places: list[int], columns: list[Mapping[str, Any]], values: Array, guard):
    """Write the encoded columns of one raw column."""
    if columns[0]["kind"] == "level":
        guard()
        place_of = {c["level"]: j for c, j in zip(columns, places, strict=True)}
        at = np.array([place_of.get(value, -1) for value in values.tolist()])
        X[np.flatnonzero(at >= 0), at[at >= 0]] = 1
        return
    levels = columns[0].get("levels")
    if levels:
        rank = {level: number for number, level in enumerate(levels)}
        values = np.array([rank[value] for value in values.tolist()])
    numbers = values.astype(np.float64)
    for j, column in zip(places, columns, strict=True):
        guard()
        if column["kind"] in NUMBERS:
            X[:, j] = (numbers - column.get("shift", 0.0)) / column.get("scale", 1.0)
            continue
        low, high = column.get("lower", -np.inf), column.get("upper", np.inf)
        X[:, j] = (numbers > low) & (numbers <= high)
