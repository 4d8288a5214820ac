"""CSV out, safe to open in a spreadsheet.

A text cell that starts with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return would be run as
a formula by a spreadsheet program; it gets an apostrophe in front. Numbers are left alone.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence

import pandas as pd

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def guard_cell(value: object) -> object:
    """Return a cell as it may be written: texts that look like formulas get an apostrophe."""
    if isinstance(value, str) and value.startswith(_FORMULA_STARTS):
        return f"'{value}"
    return value


def rows_to_csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Write rows as CSV text with guarded cells; None becomes an empty field."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([guard_cell(name) for name in header])
    writer.writerows([guard_cell(cell) for cell in row] for row in rows)
    return buffer.getvalue()


def frame_to_csv(frame: pd.DataFrame) -> str:
    """Write a frame as CSV text with guarded cells, without its index; missing cells are empty."""
    columns = [
        [None if missing else value for value, missing in zip(column.tolist(), gone, strict=True)]
        for column, gone in (
            (frame.iloc[:, i], frame.iloc[:, i].isna()) for i in range(frame.shape[1])
        )
    ]
    return rows_to_csv([str(name) for name in frame.columns], zip(*columns, strict=True))
