"""CSV out, safe to open in a spreadsheet.

A text cell that starts with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return would be run as
a formula by a spreadsheet program; it gets an apostrophe in front. Numbers are left alone, those
that are texts, such as the cells of a file, too.
"""

import re
from collections.abc import Iterable, Sequence

import pandas as pd

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
_NUMBER = re.compile(r"[+-](?=[.,]*[0-9])[0-9.,]+(?:[eE][+-]?[0-9]+)?")


def guard_cell(value: object) -> object:
    """Return a cell as it may be written: texts that look like formulas get an apostrophe."""
    if isinstance(value, str) and value.startswith(_FORMULA_STARTS):
        return value if _NUMBER.fullmatch(value) else f"'{value}"
    return value


def rows_to_csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Write rows as CSV text with guarded cells; None becomes an empty field."""
    return "\n".join([_line(header), *(_line(row) for row in rows)]) + "\n"


def _line(cells: Sequence[object]) -> str:
    # Python's own writer leaves a carriage return unquoted before 3.13, which breaks the row.
    fields = [_field(guard_cell(cell)) for cell in cells]
    return '""' if fields == [""] else ",".join(fields)


def _field(cell: object) -> str:
    if cell is None:
        return ""
    text = repr(cell) if isinstance(cell, float) else str(cell)
    if any(mark in text for mark in ',"\r\n'):
        return '"' + text.replace('"', '""') + '"'
    return text


def frame_to_csv(frame: pd.DataFrame) -> str:
    """Write a frame as CSV text with guarded cells, without its index; missing cells are empty."""
    columns = [
        [None if missing else value for value, missing in zip(column.tolist(), gone, strict=True)]
        for column, gone in (
            (frame.iloc[:, i], frame.iloc[:, i].isna()) for i in range(frame.shape[1])
        )
    ]
    return rows_to_csv([str(name) for name in frame.columns], zip(*columns, strict=True))
