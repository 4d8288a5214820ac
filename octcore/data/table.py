"""From text to a `RawTable`: names, fields and their lines, before any typing."""

from __future__ import annotations

import csv
import gc
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from octcore.data.findings import (
    Finding,
    Head,
    UnusableTableError,
    count,
    of_column,
    quote,
    refused,
    warning,
)
from octcore.data.heading import HEAD, WantedLines, clean_headers, find_lines
from octcore.data.numbers import PLAIN
from octcore.data.sniffing import (
    check_width,
    decode,
    sniff_delimiter,
    take_separator_line,
    unwrapped,
)
from octcore.data.text import clean_text, is_spaced, rewritten

MAX_FIELD = 100_000  # longest field, in characters; Python's own parser gives up at 131,072
MAX_CELLS = 20_000_000  # most cells of a table


@dataclass(frozen=True, eq=False)
class RawColumn:
    """A column as text: distinct values and, for every row, which of them."""

    name: str
    codes: npt.NDArray[np.int64]  # shape ``(n_rows,)``: positions in `values`
    values: tuple[str, ...]  # distinct cleaned texts as they appear; empty where nothing stands
    made_of: str = ""  # format of a part of dates (see `octcore.data.numbers`), else empty
    aliases: tuple[tuple[str, str], ...] = ()  # texts of the file, and what they were taken for

    def taken(self, aliases: Mapping[str, str]) -> RawColumn:
        """Return the column with some texts taken for others; the empty text makes gaps."""
        texts = np.array([aliases.get(value, value) for value in self.values], dtype=object)
        places, values = pd.factorize(texts)
        known = dict(self.aliases) | {a: b for a, b in aliases.items() if a in self.values}
        return replace(
            self, codes=places[self.codes], values=tuple(values), aliases=tuple(known.items())
        )

    def by_rows(self) -> list[tuple[str, int]]:
        """Return every value with its number of rows, the most frequent first."""
        rows = np.bincount(self.codes, minlength=len(self.values))
        return [(self.values[i], int(rows[i])) for i in np.argsort(-rows, kind="stable")]

    def texts(self) -> npt.NDArray[np.object_]:
        """Return the text of every row."""
        return np.array(self.values, dtype=object)[self.codes]


@dataclass(frozen=True, eq=False)
class RawTable:
    """A file that was read but not typed: cheap to turn into data sets again and again."""

    file_name: str
    sha256: str  # hash of the bytes; the name is for people
    n_bytes: int
    encoding: str
    delimiter: str
    columns: tuple[RawColumn, ...]
    lines: npt.NDArray[np.int64]  # shape ``(n_rows,)``: line of the file on which each row starts
    findings: tuple[Finding, ...]  # warnings about the file as a whole
    index_column: str | None = None  # that only numbers the rows, as pandas and R save it
    header: int = 1  # line of the file with the names
    head: Head = ()  # the first lines of the file that are not blank, whatever they were taken for
    typed: dict[Any, Any] = field(default_factory=dict, repr=False)  # before, by what was asked

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in file order."""
        return tuple(column.name for column in self.columns)

    @property
    def of_lines(self) -> tuple[Finding, ...]:
        """What was left out around the header."""
        return tuple(f for f in self.findings if f.code in {"TITLE_LINES", "UNITS_LINE"})

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


def parse_table(data: bytes, file_name: str, sha256: str, wanted: WantedLines) -> RawTable:
    """Read the bytes of a CSV file; `UnusableTableError` has all findings if it is no table."""
    findings: list[Finding] = []
    head: Head = ()
    try:
        text, encoding = decode(data, findings)
        text, delimiter, skipped = take_separator_line(text)
        header = min(wanted.header or 1, len(text))
        delimiter = delimiter or sniff_delimiter(text, max(0, header - 1 - skipped))
        check_width(text, delimiter)
        with _no_cycle_search():
            rows, lines = _parse_rows(text, delimiter, skipped, findings)
            head = tuple(zip(lines, map(tuple, rows[:HEAD]), strict=False))
            at, first = find_lines(rows, lines, wanted, findings)
            names = clean_headers(rows[at], lines[at], findings)
            index_title, line = rows[at][0].strip().lower(), lines[at]
            rows, lines = rows[first:], lines[first:]
            _fit_rows(len(names), rows, lines, findings)
            columns = _columns(names, rows, lines, findings)
    except UnusableTableError as failure:
        raise UnusableTableError([*findings, *failure.findings], head) from None
    # pandas and R write a first column that only numbers the rows, with gaps where some are gone.
    may_count = index_title in _INDEX_NAMES or index_title.startswith("unnamed: ")
    counts = may_count and len(columns) > 1 and _numbers_rows(columns[0])
    return RawTable(
        clean_text(file_name), sha256, len(data), encoding, delimiter, columns,
        lines=np.array(lines, dtype=np.int64), findings=tuple(findings),
        index_column=names[0] if counts else None, header=line, head=head,
    )  # fmt: skip


NUMBERED_ROWS = 10  # in fewer rows numbers may differ by chance, unless they count
_INDEX_NAMES = frozenset({"", "index", "rownames", "row.names", "row", "level_0"})


def _parse_rows(
    text: str, delimiter: str, skipped: int, findings: list[Finding]
) -> tuple[list[list[str]], list[int]]:
    """Split the text into rows without the blank ones, and their lines; rows[0] is the header."""
    rows, lines, blank = list[list[str]](), list[int](), list[int]()
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
                message = (
                    f"The table has more than {MAX_CELLS:,} cells (reached in line {start:,}); "
                    "keep fewer rows or columns."
                )
                raise refused("TOO_LARGE", message, start)
    except csv.Error as failure:
        raise _explained(failure, start, reader.line_num + skipped) from failure
    if not rows:
        what = "only separators" if text.strip() else "nothing"
        raise refused("EMPTY_FILE", f"The file holds {what}; a header and rows are needed.")
    _unwrap(rows, lines, delimiter, findings)
    _refuse_long(rows[0], lambda _: lines[0])
    inner = [line for line in blank if line < lines[-1]]
    if inner:
        message = f"{count(len(inner), 'blank line')} left out, the first is line {inner[0]}."
        findings.append(warning("BLANK_LINES", message, line=inner[0]))
    return rows, lines


def _unwrap(
    rows: list[list[str]], lines: Sequence[int], delimiter: str, findings: list[Finding]
) -> None:
    """Take lines apart that are one value with as many fields within as the header has."""
    width = len(unwrapped(rows[0], delimiter))
    found = {}
    for index, row in enumerate(rows):
        # A text with separators may stand beside empty fields; quotes within are of a line.
        if delimiter in row[0] and (len(row) == 1 or '"' in row[0]):
            fields = unwrapped(row, delimiter)
            if len(fields) == width and fields is not row:
                found[index] = fields
    if not found or (list(found) == [0] and not any(len(row) == width for row in rows[1:])):
        return
    line = lines[min(found)]
    message = (
        f"In {count(len(found), 'line')} (the first is line {line}) quotes make one value of all "
        "fields; the fields within were read."
    )
    findings.append(warning("WRAPPED_LINES", message, line=line))
    for index, fields in found.items():
        rows[index] = fields


def _refuse_long(fields: Sequence[str], line_of: Callable[[int], int]) -> None:
    longest = max(fields, key=len)
    if len(longest) > MAX_FIELD:
        raise _field_too_long(line_of(fields.index(longest)), f"{len(longest):,}")


def _field_too_long(line: int, size: str) -> UnusableTableError:
    return refused(
        "FIELD_TOO_LONG",
        f"Line {line} has a field of {size} characters; at most {MAX_FIELD:,} are read. Is a quote "
        "left open, or is a document stored in the cell?",
        line,
    )


def _explained(failure: csv.Error, start: int, reached: int) -> UnusableTableError:
    """Say in words what the parser met in the record that begins in line `start`."""
    message = str(failure)
    if "unexpected end of data" in message or ("field limit" in message and reached > start + 1):
        words = f'A quote (") opened in line {start} never closes; close it or remove it.'
        return refused("UNCLOSED_QUOTE", words, start)
    if "field limit" in message:
        return _field_too_long(start, "more than 100,000")
    words = (
        f'Line {start} has text right after a closing quote ("); write a quote inside a quoted '
        'field twice ("").'
    )
    return refused("BAD_QUOTES", words, start)


def _fit_rows(
    width: int, body: list[list[str]], lines: Sequence[int], findings: list[Finding]
) -> None:
    """Make every row as wide as the header, or say which one is not."""
    long = [index for index, row in enumerate(body) if len(row) > width]
    short = [index for index, row in enumerate(body) if len(row) < width]
    for index in long:
        if any(field.strip() for field in body[index][width:]):
            hint = "put fields that hold a separator in quotes."
            if len(long) == len(body):
                hint = "every row does: is a name missing in the header?"
            if width == 1:
                hint = "remove lines above the header; put numbers with a decimal comma in quotes."
            if any(field.startswith(" ") and field.lstrip()[:1] == '"' for field in body[index]):
                hint = 'take out the spaces between a separator and a quote (").'
            fields = count(len(body[index]), "field")
            message = f"Line {lines[index]} has {fields}, the header has {width}; {hint}"
            raise refused("RAGGED", message, lines[index])
    if long:
        rows = "every row" if len(long) == len(body) else count(len(long), "row")
        message = (
            f"One separator more than in the header ends {rows} (first in line {lines[long[0]]}); "
            "the empty extra field was left out and every column keeps its own name."
        )
        findings.append(warning("SHIFTED_COLUMNS", message, line=lines[long[0]]))
    if short:
        message = (
            f"Fewer fields than the header's {width} in {count(len(short), 'row')} (line "
            f"{lines[short[0]]} has {len(body[short[0]])}); the fields at the end count as missing."
        )
        findings.append(warning("SHORT_ROWS", message, line=lines[short[0]]))
    for index in [*long, *short]:
        body[index] = body[index][:width] + [""] * (width - len(body[index]))


def _columns(
    names: Sequence[str], body: list[list[str]], lines: Sequence[int], findings: list[Finding]
) -> tuple[RawColumn, ...]:
    columns: list[RawColumn] = []
    trimmed: list[str] = []
    for name, fields in zip(names, zip(*body, strict=True), strict=True):
        codes, values = pd.factorize(np.array(fields, dtype=object))
        raw: list[str] = values.tolist()
        _refuse_long(raw, lambda code, codes=codes: lines[int(np.argmax(codes == code))])
        cleaned = _clean_all(raw)
        if cleaned is not raw:
            pairs = zip(raw, cleaned, strict=True)
            if any(is_spaced(a) and not PLAIN.fullmatch(b) for a, b in pairs):
                trimmed.append(name)
            for code, words in rewritten(raw, cleaned):
                findings.append(of_column(name, code, f"has {words}."))
            merged, values = pd.factorize(np.array(cleaned, dtype=object))
            codes, cleaned = merged[codes], values.tolist()
        columns.append(RawColumn(name, codes.astype(np.int64), tuple(cleaned)))
    if trimmed:
        message = (
            "Spaces around values, or line breaks inside them, were removed in "
            f"{count(len(trimmed), 'column')}, first in {quote(trimmed[0])}."
        )
        findings.append(warning("TRIMMED", message, column=trimmed[0]))
    return tuple(columns)


def _clean_all(raw: list[str]) -> list[str]:
    """Clean every text; return the same list if nothing changes (one look at all of them)."""
    joined = "".join(raw)
    if joined.isascii() and joined.isprintable() and " " not in joined and '="' not in joined:
        return raw
    cleaned = [clean_text(value) for value in raw]
    return raw if cleaned == raw else cleaned


def counts_rows(column: RawColumn) -> bool:
    """Say whether a column is 0, 1, 2, ... or 1, 2, 3, ... down the file."""
    if len(column.values) != len(column.codes) or column.values[0] not in {"0", "1"}:
        return False
    return all(value == str(row) for row, value in enumerate(column.values, int(column.values[0])))


def _numbers_rows(column: RawColumn) -> bool:
    """Say whether every row has another whole number, in whatever order."""
    if len(column.values) != len(column.codes):
        return False
    are_whole = all(value.isascii() and value.isdigit() for value in column.values)
    return counts_rows(column) or (are_whole and len(column.values) >= NUMBERED_ROWS)
