"""From bytes to text: size, signature, NUL bytes, encoding, and the separator of the first line.

Everything here looks at the bytes before a parser does, so that a picture, a zip archive or a
header of 200,000 columns is refused in milliseconds.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
from dataclasses import dataclass

from octcore.data.findings import Finding, count, error, warning

MAX_BYTES = 200_000_000
"""Largest file that is read; the app's own upload limit is lower."""

MAX_COLUMNS = 5_000
"""Most columns of a table: parsing time grows with columns long before any model could be built."""

DELIMITERS = (",", ";", "\t", "|")

_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"\x1f\x8b", "a gzip archive"),
    (b"PK\x03\x04", "a zip archive or an Excel or OpenDocument workbook"),
    (b"PK\x05\x06", "an empty zip archive"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Excel or Word file"),
    (b"%PDF", "a PDF document"),
    (b"\x89PNG", "a PNG image"),
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"GIF87a", "a GIF image"),
    (b"GIF89a", "a GIF image"),
    (b"PAR1", "a Parquet file"),
    (b"ARROW1", "an Arrow file"),
    (b"FEA1", "a Feather file"),
    (b"Obj\x01", "an Avro file"),
    (b"ORC", "an ORC file"),
    (b"\x89HDF", "an HDF5 file"),
    (b"CDF\x01", "a NetCDF file"),
    (b"\x93NUMPY", "a NumPy file"),
    (b"MATLAB 5.0", "a MATLAB file"),
    (b"SQLite format 3", "an SQLite database"),
    (b"BZh", "a bzip2 archive"),
    (b"\xfd7zXZ", "an xz archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
    (b"Rar!", "a RAR archive"),
    (b"\x28\xb5\x2f\xfd", "a Zstandard archive"),
    (b"\x04\x22\x4d\x18", "an LZ4 archive"),
    (b"\x7fELF", "a program"),
    (b"MZ\x90\x00", "a program"),
    (b"RIFF", "a sound or video file"),
    (b"OggS", "a sound or video file"),
    (b"ID3", "a sound file"),
    (b"{\\rtf", "a rich text document"),
    (b"<HEADER RECORD*", "a SAS file"),
    (b"$FL2", "an SPSS file"),
    (b"<stata_dta>", "a Stata file"),
    (b"RDX2", "an R data file"),
    (b"RDX3", "an R data file"),
)
_PICKLE = re.compile(rb"\x80[\x02-\x05]")
_MARKUP = re.compile(
    rb"\s*(?:<!doctype|<html|<head\b|<body\b|<\?xml|<svg\b|<!--|<\?php|<soap)", re.IGNORECASE
)
_MARKS: tuple[tuple[bytes, str], ...] = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_TEXT_CONTROLS = frozenset(b"\t\n\r\f\x1b\x07")


@dataclass(frozen=True)
class Decoded:
    """Text of a file and how it was obtained."""

    text: str
    encoding: str
    findings: tuple[Finding, ...] = ()


def decode(data: bytes) -> Decoded:
    """Turn the bytes of a file into text.

    On an error the text is empty and the findings say why.
    """
    refused = _refuse_bytes(data)
    if refused is not None:
        return Decoded("", "", (refused,))
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _decode_marked(data, encoding)
    if b"\0" in data:
        return Decoded("", "", (_explain_nul(data),))
    try:
        return Decoded(data.decode("utf-8"), "utf-8")
    except UnicodeDecodeError as failure:
        return _decode_other(data, failure)


def _refuse_bytes(data: bytes) -> Finding | None:
    if len(data) > MAX_BYTES:
        return error(
            "TOO_LARGE",
            f"The file has {len(data) / 1e6:,.0f} MB, at most {MAX_BYTES / 1e6:,.0f} MB are read; "
            "keep fewer rows or columns.",
        )
    if not data.strip(b" \t\r\n\f\v\xef\xbb\xbf"):
        return error("EMPTY_FILE", "The file is empty; choose a CSV file with a header and rows.")
    kind = _foreign_kind(data)
    if kind is not None:
        return error(
            "NOT_CSV",
            f"This is {kind}, not a CSV file; save the table as CSV (text with separators) first.",
        )
    return None


def _foreign_kind(data: bytes) -> str | None:
    for signature, kind in _SIGNATURES:
        if data.startswith(signature):
            # Short printable signatures may also begin an honest header.
            if signature.isalnum() and signature.isascii() and _looks_like_text(data):
                continue
            return kind
    if _PICKLE.match(data):
        return "a Python pickle (never opened here)"
    if _MARKUP.match(data.removeprefix(codecs.BOM_UTF8)):
        return "a web page or an XML document"
    if any(data.startswith(mark) for mark, _ in _MARKS):
        return None
    return "a binary file" if _looks_random(data[:65536]) else _structured_text_kind(data)


def _looks_like_text(data: bytes) -> bool:
    try:
        return "\0" not in data[:4096].decode("utf-8", errors="strict")
    except UnicodeDecodeError as failure:
        return failure.start > len(data[:4096]) - 4


def _looks_random(head: bytes) -> bool:
    """Say whether bytes are no text of any encoding: control characters all over, not UTF-8."""
    controls = sum(1 for byte in head if byte < 32 and byte not in _TEXT_CONTROLS and byte != 0)
    high = sum(1 for byte in head if byte >= 128)
    return controls > 0.02 * len(head) and high > 0.1 * len(head) and not _looks_like_text(head)


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


def _decode_marked(data: bytes, encoding: str) -> Decoded:
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as failure:
        if encoding == "utf-8-sig":
            return _decode_other(data.removeprefix(codecs.BOM_UTF8), failure)
        found = error(
            "ENCODING",
            f"The file starts with a mark of {encoding.upper()} but is not valid "
            f"{encoding.upper()} at byte {failure.start + 1:,}; save it as UTF-8.",
        )
        return Decoded("", "", (found,))
    if "\0" in text:
        return Decoded("", "", (_nul_at(text.count("\n", 0, text.index("\0")) + 1),))
    if encoding == "utf-8-sig":
        return Decoded(text, encoding)
    found = warning(
        "ENCODING", f"The file is {encoding.upper()}, not UTF-8; it was converted while reading."
    )
    return Decoded(text, encoding, (found,))


def _explain_nul(data: bytes) -> Finding:
    share = data.count(0) / len(data)
    if share > 0.2:
        name = "UTF-32" if share > 0.6 else "UTF-16"
        return error(
            "ENCODING",
            f"The file looks like {name} without a byte order mark; save it as UTF-8.",
        )
    return _nul_at(data.count(b"\n", 0, data.index(0)) + 1)


def _nul_at(line: int) -> Finding:
    return error(
        "NUL_BYTE",
        f"Line {line} holds a NUL byte, which no text file has; the file is damaged or not a CSV.",
        line=line,
    )


def _decode_other(data: bytes, failure: UnicodeDecodeError) -> Decoded:
    """Read bytes that are not UTF-8: nearly UTF-8 with damage, or else Windows-1252."""
    line = data.count(b"\n", 0, failure.start) + 1
    damaged = data.decode("utf-8", errors="replace")
    broken = damaged.count("\ufffd")
    good = sum(1 for character in damaged if ord(character) > 127) - broken
    if good > 3 * broken:
        found = warning(
            "ENCODING",
            f"{count(broken, 'byte')} are not valid UTF-8, the first in line {line}; they are "
            "shown as \ufffd. Check the names and labels there.",
            line=line,
        )
        return Decoded(damaged, "utf-8", (found,))
    text = data.decode("cp1252", errors="replace")
    found = warning(
        "ENCODING",
        f"The file is not UTF-8 (first in line {line}) and was read as Windows-1252; check that "
        "names and labels are spelt rightly, or save the file as UTF-8.",
        line=line,
    )
    return Decoded(text, "windows-1252", (found,))


def take_separator_line(text: str) -> tuple[str, str | None, int]:
    """Obey Excel's ``sep=;`` first line.

    Returns
    -------
    tuple of (str, str or None, int)
        The rest of the text, the separator if one was stated, and the number of lines taken.
    """
    match = re.match(r"\ufeff?sep=([,;|\t])[ \t]*(?:\r\n|\r|\n)", text, re.IGNORECASE)
    if match is None:
        return text, None, 0
    return text[match.end() :], match[1], 1


def sniff_delimiter(text: str) -> str:
    """Choose the separator whose field counts agree best over the first lines.

    The header decides between separators that agree equally well: more columns win.
    """
    lines = _first_lines(text, 40)
    best, best_score = ",", (0.0, 0)
    for delimiter in DELIMITERS:
        if not any(delimiter in line for line in lines):
            continue
        counts = _field_counts(lines, delimiter)
        if not counts:
            continue
        header = counts[0]
        agree = sum(1 for n in counts[1:] if n in (header, header + 1)) / max(1, len(counts) - 1)
        score = (round(agree, 1) if header > 1 else -1.0, header)
        if score > best_score or (best_score == (0.0, 0) and score[1] > 0):
            best, best_score = delimiter, score
    return best


def _first_lines(text: str, limit: int) -> list[str]:
    lines = []
    for line in io.StringIO(text, newline=""):
        if line.strip():
            lines.append(line)
        if len(lines) == limit:
            break
    return lines


def _field_counts(lines: list[str], delimiter: str) -> list[int]:
    if len(lines[0]) > 100_000:  # a header this long is counted, not parsed
        return [lines[0].count(delimiter) + 1]
    try:
        return [len(row) for row in csv.reader(lines, delimiter=delimiter) if row]
    except csv.Error:
        return [line.count(delimiter) + 1 for line in lines]


def check_width(text: str, delimiter: str) -> Finding | None:
    """Refuse a header with too many columns before anything is parsed."""
    first = next(iter(_first_lines(text, 1)), "")
    columns = first.count(delimiter) + 1
    if columns <= MAX_COLUMNS:
        return None
    if columns <= 20 * MAX_COLUMNS and '"' in first:  # separators inside quotes do not count
        columns = _field_counts([first], delimiter)[0]
    if columns <= MAX_COLUMNS:
        return None
    return error(
        "TOO_MANY_COLUMNS",
        f"The first line has {columns:,} columns, at most {MAX_COLUMNS:,} are read; keep the "
        "columns that matter.",
        line=1,
    )
