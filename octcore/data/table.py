"""From text to a `RawTable`: names, fields and their lines, before any typing."""

from __future__ import annotations

import csv
import gc
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from octcore.data.findings import Finding, count, error, quote, raise_if_unusable, warning
from octcore.data.headers import clean_headers
from octcore.data.numbers import PLAIN
from octcore.data.sniffing import check_width, decode, sniff_delimiter, take_separator_line
from octcore.data.text import clean_text, has_control

MAX_FIELD = 100_000
"""Longest field, in characters; Python's own parser gives up at 131,072."""

MAX_CELLS = 20_000_000
"""Most cells of a table."""

LONG_TEXT = 100
"""Names and labels beyond this are cut in views."""


@dataclass(frozen=True, eq=False)
class RawColumn:
    """A column as text: distinct values and, for every row, which of them."""

    name: str
    codes: npt.NDArray[np.int64]
    """Shape ``(n_rows,)``: positions in `values`."""
    values: tuple[str, ...]
    """Distinct cleaned texts in order of appearance; the empty text means nothing was written."""

    def texts(self) -> npt.NDArray[np.object_]:
        """Return the text of every row."""
        return np.array(self.values, dtype=object)[self.codes]


def look_alikes(raw: RawColumn) -> tuple[RawColumn, tuple[tuple[str, ...], ...]]:
    """Merge the values of a column that differ only in capitals, or as 1 and 1.0 do.

    Columns that hold numbers alone have no such values: there 1 and 1.0 are one number anyway.

    Returns
    -------
    RawColumn
        With the most frequent spelling of every group; the same column if there is none.
    tuple of tuple of str
        The groups of two and more spellings, each with the most frequent one first.
    """
    if all(PLAIN.fullmatch(value) for value in raw.values if value):
        return raw, ()
    rows = np.bincount(raw.codes, minlength=len(raw.values))
    groups: dict[str, list[int]] = {}
    for index in np.argsort(-rows, kind="stable"):
        value = raw.values[int(index)]
        key = repr(float(value)) if PLAIN.fullmatch(value) else value.casefold()
        groups.setdefault(key, []).append(int(index))
    twins = [group for group in groups.values() if len(group) > 1]
    if not twins:
        return raw, ()
    kept = np.arange(len(raw.values))
    for group in twins:
        kept[group] = group[0]
    used, position = np.unique(kept, return_inverse=True)
    merged = RawColumn(
        raw.name, position[raw.codes].astype(np.int64), tuple(raw.values[int(i)] for i in used)
    )
    return merged, tuple(tuple(raw.values[i] for i in group) for group in twins)


@dataclass(frozen=True, eq=False)
class RawTable:
    """A file that was read but not typed: cheap to turn into data sets again and again."""

    file_name: str
    sha256: str
    """`file_name`, `sha256`: name for people; hash of the bytes."""
    n_bytes: int
    encoding: str
    delimiter: str
    columns: tuple[RawColumn, ...]
    lines: npt.NDArray[np.int64]
    """Shape ``(n_rows,)``: line of the file on which each row starts."""
    findings: tuple[Finding, ...]
    """Warnings about the file as a whole."""
    index_column: str | None = None
    """A column that only counts the rows (unnamed, as pandas and R save it)."""

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in file order."""
        return tuple(column.name for column in self.columns)

    @property
    def n_rows(self) -> int:
        """Number of data rows."""
        return len(self.lines)

    def column(self, name: str) -> RawColumn:
        """Return the column of that exact name."""
        return self.columns[self.names.index(name)]

    def frame(self) -> pd.DataFrame:
        """Return the table as text, for display and for `Dataset.prepare`."""
        return pd.DataFrame({column.name: column.texts() for column in self.columns}, dtype=str)


@contextmanager
def _no_cycle_search() -> Iterator[None]:
    """Pause the search for reference cycles: millions of lists of texts have none (3 x faster)."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def parse_table(data: bytes, file_name: str, sha256: str) -> RawTable:
    """Read the bytes of a CSV file.

    Raises
    ------
    UnusableTableError
        A `DataError` that carries all findings, if the bytes hold no usable table.
    """
    decoded = decode(data)
    raise_if_unusable(decoded.findings)
    text, delimiter, skipped = take_separator_line(decoded.text)
    delimiter = delimiter or sniff_delimiter(text)
    too_wide = check_width(text, delimiter)
    raise_if_unusable([*decoded.findings, *([too_wide] if too_wide else [])])
    with _no_cycle_search():
        columns, lines, findings, counts = _split(text, delimiter, skipped, decoded.findings)
    return RawTable(
        file_name=clean_text(file_name),
        sha256=sha256,
        n_bytes=len(data),
        encoding=decoded.encoding,
        delimiter=delimiter,
        columns=columns,
        lines=np.array(lines, dtype=np.int64),
        findings=tuple(findings),
        index_column=counts,
    )


def _split(
    text: str, delimiter: str, skipped: int, before: Sequence[Finding]
) -> tuple[tuple[RawColumn, ...], list[int], list[Finding], str | None]:
    """Split text into columns; return them, their lines, all findings and the index column."""
    rows, lines, parse_findings = _parse_rows(text, delimiter, skipped)
    findings = [*before, *parse_findings]
    raise_if_unusable(findings)
    header, body, body_lines = rows[0], rows[1:], lines[1:]
    del rows
    body, shape_findings = _fit_rows(len(header), body, body_lines)
    findings += shape_findings
    raise_if_unusable(findings)
    names, header_findings = clean_headers(header, lines[0])
    columns, text_findings = _columns(names, body, body_lines)
    findings += [*header_findings, *text_findings]
    raise_if_unusable(findings)
    return columns, body_lines, findings, _index_column(header, columns)


def _parse_rows(
    text: str, delimiter: str, skipped: int
) -> tuple[list[list[str]], list[int], list[Finding]]:
    """Split the text into rows without the blank ones; rows[0] is the header."""
    rows: list[list[str]] = []
    lines: list[int] = []
    blank: list[int] = []
    cells, start = 0, 1 + skipped
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            # The first field mostly decides; looking at all of them is slow on long files.
            if (row and row[0].strip()) or any(field.strip() for field in row):
                rows.append(row)
                lines.append(start)
                cells += len(row)
            else:
                blank.append(start)
            start = reader.line_num + 1 + skipped
            if cells > MAX_CELLS:
                return rows, lines, [_too_many_cells(start)]
    except csv.Error as failure:
        return rows, lines, [_explain(failure, start, reader.line_num + skipped)]
    findings = _check_size(rows, lines, text)
    inner = [line for line in blank if rows and line < lines[-1]]
    if inner and not findings:
        findings.append(
            warning(
                "BLANK_LINES",
                f"{count(len(inner), 'blank line')} left out, the first is line {inner[0]}.",
                line=inner[0],
            )
        )
    return rows, lines, findings


def _check_size(rows: list[list[str]], lines: list[int], text: str) -> list[Finding]:
    if not rows:
        what = "only separators" if text.strip() else "nothing"
        return [error("EMPTY_FILE", f"The file holds {what}; a header and rows are needed.")]
    if len(rows) == 1:
        return [
            error(
                "NO_ROWS",
                f"The file has a header of {count(len(rows[0]), 'column')} and no rows below it.",
                line=lines[0],
            )
        ]
    longest = max(map(len, rows[0]))
    return [_field_too_long(lines[0], longest)] if longest > MAX_FIELD else []


def _too_many_cells(line: int) -> Finding:
    return error(
        "TOO_LARGE",
        f"The table has more than {MAX_CELLS:,} cells (reached in line {line:,}); keep fewer rows "
        "or columns.",
        line=line,
    )


def _field_too_long(line: int, length: int | None = None) -> Finding:
    size = f"of {length:,} characters" if length else "of more than 100,000 characters"
    return error(
        "FIELD_TOO_LONG",
        f"Line {line} has a field {size}; at most {MAX_FIELD:,} are read. Is a quote left open, or "
        "is a document stored in the cell?",
        line=line,
    )


def _explain(failure: csv.Error, start: int, reached: int) -> Finding:
    """Say in words what the parser met in the record that begins in line `start`."""
    message = str(failure)
    if "unexpected end of data" in message or ("field limit" in message and reached > start + 1):
        return error(
            "UNCLOSED_QUOTE",
            f'A quote (") opened in line {start} never closes; close it or remove it.',
            line=start,
        )
    if "field limit" in message:
        return _field_too_long(start)
    return error(
        "BAD_QUOTES",
        f'Line {start} has text right after a closing quote ("); write a quote inside a quoted '
        'field twice ("").',
        line=start,
    )


def _fit_rows(
    width: int, body: list[list[str]], lines: Sequence[int]
) -> tuple[list[list[str]], list[Finding]]:
    """Make every row as wide as the header, or say which one is not."""
    long = [index for index, row in enumerate(body) if len(row) > width]
    short = [index for index, row in enumerate(body) if len(row) < width]
    for index in long:
        if any(field.strip() for field in body[index][width:]):
            return body, [_ragged(body[index], width, lines[index], len(long), len(body))]
    findings: list[Finding] = []
    if long:
        rows = "Every row ends" if len(long) == len(body) else f"{count(len(long), 'row')} end"
        findings.append(
            warning(
                "SHIFTED_COLUMNS",
                f"{rows} with a separator more than the header (first in line {lines[long[0]]}); "
                "the empty extra field was left out and every column keeps its own name.",
                line=lines[long[0]],
            )
        )
    if short:
        fewest = body[short[0]]
        findings.append(
            warning(
                "SHORT_ROWS",
                f"{count(len(short), 'row')} have fewer fields than the header's {width} (line "
                f"{lines[short[0]]} has {len(fewest)}); the fields at the end count as missing.",
                line=lines[short[0]],
            )
        )
    for index in long:
        body[index] = body[index][:width]
    for index in short:
        body[index] = body[index] + [""] * (width - len(body[index]))
    return body, findings


def _ragged(row: list[str], width: int, line: int, n_long: int, n_rows: int) -> Finding:
    hint = (
        "remove title lines above the header."
        if width == 1
        else "every row does: is a name missing in the header?"
        if n_long == n_rows
        else "put fields that hold a separator in quotes."
    )
    return error(
        "RAGGED",
        f"Line {line} has {count(len(row), 'field')}, the header has {width}; {hint}",
        line=line,
    )


def _columns(
    names: Sequence[str], body: list[list[str]], lines: Sequence[int]
) -> tuple[tuple[RawColumn, ...], list[Finding]]:
    columns: list[RawColumn] = []
    findings: list[Finding] = []
    trimmed: list[str] = []
    for name, fields in zip(names, zip(*body, strict=True), strict=True):
        codes, values = pd.factorize(np.array(fields, dtype=object))
        raw: list[str] = values.tolist()
        lengths = [len(value) for value in raw]
        if max(lengths) > MAX_FIELD:
            row = int(np.flatnonzero(codes == int(np.argmax(lengths)))[0])
            return (), [_field_too_long(lines[row], max(lengths))]
        cleaned = _clean_all(raw)
        if cleaned is not raw:
            if any(a != b and not PLAIN.fullmatch(b) for a, b in zip(raw, cleaned, strict=True)):
                trimmed.append(name)
            if any(has_control(" ".join(value.split())) for value in raw):
                findings.append(_controls(name))
            merged, values = pd.factorize(np.array(cleaned, dtype=object))
            codes, cleaned = merged[codes], values.tolist()
        columns.append(RawColumn(name, codes.astype(np.int64), tuple(cleaned)))
    if trimmed:
        findings.append(
            warning(
                "TRIMMED",
                f"Spaces around values, or line breaks inside them, were removed in "
                f"{count(len(trimmed), 'column')}, first in {quote(trimmed[0])}.",
                column=trimmed[0],
            )
        )
    return tuple(columns), findings


def _clean_all(raw: list[str]) -> list[str]:
    """Clean every text; return the same list if nothing changes (one look at all of them)."""
    joined = "".join(raw)
    if joined.isascii() and joined.isprintable() and " " not in joined:
        return raw
    cleaned = [clean_text(value) for value in raw]
    return raw if cleaned == raw else cleaned


def _controls(name: str) -> Finding:
    return warning(
        "CONTROL_CHARS",
        f"Column {quote(name)} holds control characters; they are written out, as in \\x07.",
        column=name,
    )


def _index_column(header: list[str], columns: Sequence[RawColumn]) -> str | None:
    """Name the first column if it only counts the rows, as pandas and R write it."""
    title = header[0].strip().lower()
    if title not in {"", "index", "rownames", "row.names", "row", "level_0"} and not (
        title.startswith("unnamed: ")
    ):
        return None
    return columns[0].name if len(columns) > 1 and counts_rows(columns[0]) else None


def counts_rows(column: RawColumn) -> bool:
    """Say whether a column is 0, 1, 2, ... or 1, 2, 3, ... down the file."""
    if len(column.values) != len(column.codes) or not column.values[0].isdecimal():
        return False
    first = column.values[0]
    if first not in {"0", "1"}:
        return False
    start = int(first)
    return all(value == str(start + index) for index, value in enumerate(column.values))
