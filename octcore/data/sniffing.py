"""From bytes to text: size, signature, NUL bytes, encoding, and the separator of the first line.

Everything here looks at the bytes before a parser does, so that a picture, a zip archive or a
header of 200,000 columns is refused in milliseconds.
"""

import codecs
import csv
import io
import json
import re
from collections.abc import Iterator, Sequence
from itertools import dropwhile, islice

from octcore.data.findings import Finding, count, refused, warning
from octcore.data.numbers import PLAIN

MAX_BYTES = 200_000_000  # largest file that is read; the app's own upload limit is lower
MAX_COLUMNS = 5_000  # parsing time grows with columns long before any model could be built
DELIMITERS = (",", ";", "\t", "|")
TITLES = 6  # up to so many lines may stand above the names
_SIGNATURES: dict[str, tuple[bytes, ...]] = {
    "a zip archive or an Excel or OpenDocument workbook": (b"PK\x03\x04", b"PK\x05\x06"),
    "an old Excel or Word file": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",),
    "a PDF or rich text document": (b"%PDF", b"{\\rtf"),
    "a Parquet, Arrow, Feather, Avro or ORC file": (
        b"PAR1", b"ARROW1", b"FEA1", b"Obj\x01", b"ORC",
    ),
    "an HDF5, NetCDF, NumPy or MATLAB file": (
        b"\x89HDF", b"CDF\x01", b"\x93NUMPY", b"MATLAB 5.0",
    ),
    "an SQLite database": (b"SQLite format 3",),
    "a data file of SAS, SPSS, Stata or R": (
        b"<HEADER RECORD*", b"$FL2", b"<stata_dta>", b"RDX2", b"RDX3",
    ),
    "a compressed file": (
        b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf\x27\x1c", b"Rar!", b"\x28\xb5\x2f\xfd",
        b"\x04\x22\x4d\x18",
    ),
    "a picture": (b"\x89PNG", b"\xff\xd8\xff", b"GIF87a", b"GIF89a"),
    "a sound or video file": (b"RIFF", b"OggS", b"ID3"),
    "a program": (b"\x7fELF", b"MZ\x90\x00"),
}  # fmt: skip
_READ = ("utf-8", "cp437", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be")
"""Of text; in cp437 every byte from 128 on is a character, as in the old ones of all letters."""
_PICKLE = re.compile(rb"\x80[\x02-\x05]")
_MARKUP = re.compile(
    rb"\s*(?:<!doctype|<html|<head\b|<body\b|<table\b|<\?xml|<svg\b|<!--|<\?php|<soap)",
    re.IGNORECASE,
)
_MARKS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def decode(data: bytes, findings: list[Finding]) -> tuple[str, str]:
    """Turn the bytes of a file into text; returns it and the name of its encoding.

    `findings` gets what is worth a word; `UnusableTableError` if this is no text, too large or
    empty.
    """
    if len(data) > MAX_BYTES:
        message = f"The file has more than {MAX_BYTES / 1e6:,.0f} MB; keep fewer rows or columns."
        raise refused("TOO_LARGE", message)
    if not data.strip(b" \t\r\n\f\v\xef\xbb\xbf"):
        raise refused("EMPTY_FILE", "The file is empty; choose a CSV file with a header and rows.")
    kind = _foreign_kind(data)
    if kind is not None:
        message = f"This is {kind}, not a CSV file; save the table as CSV (text with separators)"
        raise refused("NOT_CSV", f"{message} first.")
    mark, encoding = next((m for m in _MARKS if data.startswith(m[0])), (b"", "utf-8"))
    share = 0.0 if mark else data.count(0) / len(data)
    if share > 0.2:
        name = "UTF-32" if share > 0.6 else "UTF-16"
        message = f"The file looks like {name} without a byte order mark; save it as UTF-8."
        raise refused("ENCODING", message)
    is_wide = encoding.startswith(("utf-16", "utf-32"))
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as failure:
        if not is_wide:
            return _decode_other(data.removeprefix(mark), failure, findings)
        message = f"The file starts with a mark of {encoding.upper()} but is not valid "
        message += f"{encoding.upper()} at byte {failure.start + 1:,}; save it as UTF-8."
        raise refused("ENCODING", message) from failure
    if is_wide:
        message = f"The file is {encoding.upper()}, not UTF-8; it was converted while reading."
        findings.append(warning("ENCODING", message))
    return _without_nul(text), encoding


def _without_nul(text: str) -> str:
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        message = f"Line {line} holds a NUL byte, which no text file has; the file is damaged or"
        raise refused("NUL_BYTE", f"{message} not a CSV.", line)
    return text


def _foreign_kind(data: bytes) -> str | None:
    for kind, signatures in _SIGNATURES.items():
        for signature in signatures:
            # Short printable signatures may also begin an honest header.
            is_word = signature.isalnum() and signature.isascii()
            if data.startswith(signature) and not (is_word and _is_text(data[:4096], "utf-8")):
                return kind
    if _PICKLE.match(data):
        return "a Python pickle (never opened here)"
    if _MARKUP.match(data.removeprefix(codecs.BOM_UTF8)):
        return "a web page or an XML document"
    if any(data.startswith(mark) for mark, _ in _MARKS):
        return None
    if any(_is_text(data[:65536], encoding) for encoding in _READ):
        return _structured_text_kind(data)
    return "a binary file"


def _is_text(head: bytes, encoding: str) -> bool:
    """Say whether few characters are none of the encoding, or control characters."""
    text = head.decode(encoding, errors="replace").replace("\ufffd", "\0")
    return sum(c.isprintable() or c.isspace() for c in text) >= 0.95 * len(text)


def _structured_text_kind(data: bytes) -> str | None:
    head = data.lstrip()[:1]
    if head in (b"{", b"["):
        first_line = data.lstrip().split(b"\n", 1)[0]
        for piece in (data, first_line) if len(data) < 2_000_000 else (first_line,):
            try:
                if isinstance(json.loads(piece), dict | list):
                    return "a JSON document"
            except (ValueError, RecursionError):
                continue
    if re.match(rb"\s*(?:%[^\n]*\n\s*)*@relation\b", data[:65536], re.IGNORECASE):
        return "an ARFF file"
    return None


def _decode_other(
    data: bytes, failure: UnicodeDecodeError, findings: list[Finding]
) -> tuple[str, str]:
    """Read bytes that are not UTF-8: nearly UTF-8 with damage, or else Windows-1252."""
    line = data.count(b"\n", 0, failure.start) + 1
    text, encoding = data.decode("utf-8", errors="replace"), "utf-8"
    broken = text.count("\ufffd")
    if sum(ord(character) > 127 for character in text) - broken > 3 * broken:
        message = (
            f"Not valid UTF-8: {count(broken, 'byte')}, the first in line {line}, "
            "shown as \ufffd. Check the names and labels there."
        )
    else:
        text, encoding = data.decode("cp1252", errors="replace"), "windows-1252"
        message = (
            f"The file is not UTF-8 (first in line {line}) and was read as Windows-1252; check "
            "that names and labels are spelt rightly, or save the file as UTF-8."
        )
    findings.append(warning("ENCODING", message, line=line))
    return _without_nul(text), encoding


def take_separator_line(text: str) -> tuple[str, str | None, int]:
    """Obey Excel's ``sep=;`` first line: the rest, the separator if stated, the lines taken."""
    match = re.match(r"\ufeff?sep=([,;|\t])[ \t]*(?:\r\n|\r|\n)", text, re.IGNORECASE)
    if match is None:
        return text, None, 0
    return text[match.end() :], match[1], 1


def sniff_delimiter(text: str, skip: int = 0) -> str:
    """Choose the separator whose field counts agree best from the header on.

    More columns win between separators that agree equally well, then fewer titles.  The header is
    the first line, or the line after some titles where it then fits better; a line with numbers or
    with values that come again below it is none.  The first `skip` lines do not count.
    """
    lines = _first_lines(text, 40, skip)
    lines = list(dropwhile(lambda line: line.lstrip()[:1] == "#", lines)) or lines
    nothing = best_score = (0.0, 0, False)
    best = ","
    for delimiter in DELIMITERS:
        if not any(delimiter in line for line in lines):
            continue
        rows = _fields(lines, delimiter)
        for titles in range(min(TITLES, len(rows) - 2) if len(rows) > 2 else 1):
            if titles and any(data_like(rows[titles], rows[titles + 1 :])):
                continue
            header, *counts = [len(row) for row in rows[titles:]]
            agree = sum(1 for n in counts if n in (header, header + 1)) / max(1, len(counts))
            score = (round(agree, 1) if header > 1 else -1.0, header, not titles)
            if score > best_score or (best_score == nothing and not titles):
                best, best_score = delimiter, score
    return best


def data_like(row: Sequence[str], below: Sequence[Sequence[str]]) -> Iterator[bool]:
    """Say of every filled field whether it is a number or comes again below it."""
    for k, field in enumerate(map(str.strip, row)):
        if field:
            again = any(field == other[k].strip() for other in below if k < len(other))
            yield again or PLAIN.fullmatch(field) is not None


def _first_lines(text: str, limit: int, skip: int = 0) -> list[str]:
    after = islice(io.StringIO(text, newline=""), skip, None)
    return list(islice((line for line in after if line.strip()), limit))


def _fields(lines: list[str], delimiter: str) -> list[list[str]]:
    if len(lines[0]) > 100_000:  # a header this long is counted, not parsed
        return [[""] * (lines[0].count(delimiter) + 1)]
    try:
        return [unwrapped(row, delimiter) for row in csv.reader(lines, delimiter=delimiter) if row]
    except csv.Error:
        return [line.split(delimiter) for line in lines]


def unwrapped(row: list[str], delimiter: str) -> list[str]:
    """Fields within the only one of a row: spreadsheets keep a line of a CSV file as one value."""
    if delimiter not in row[0] or any(row[1:]):
        return row
    try:
        return next(csv.reader(row[:1], delimiter=delimiter, strict=True))
    except csv.Error:
        return row


def check_width(text: str, delimiter: str) -> None:
    """Refuse a header with too many columns before anything is parsed."""
    first = max(_first_lines(text, TITLES), key=lambda line: line.count(delimiter), default="")
    columns = first.count(delimiter) + 1
    if MAX_COLUMNS < columns <= 20 * MAX_COLUMNS and '"' in first:
        columns = len(_fields([first], delimiter)[0])  # separators inside quotes do not count
    if columns > MAX_COLUMNS:
        message = f"One of the first lines has {columns:,} columns, at most {MAX_COLUMNS:,} are "
        message += "read; keep the columns that matter."
        raise refused("TOO_MANY_COLUMNS", message)
