"""Which line of a file names the columns, on which the rows begin, and the names themselves."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from octcore.data.findings import Finding, count, info, listing, quote, refused, warning
from octcore.data.numbers import PLAIN
from octcore.data.sniffing import TITLES, data_like
from octcore.data.text import LOOKS_MISSING, clean_text, fresh_name, is_spaced, normal, rewritten
from octcore.errors import SettingsError

Fields = Sequence[Sequence[str]]  # those of several lines
PROSE_LINES = 5  # so few lines of sentences are no table
LOOKED_AT = 40  # rows that tell what is usual in a table
HEAD = TITLES + 2  # first lines that a table keeps, to be shown
LONG_TEXT = 100  # names and labels beyond this are cut in views
_BRACKETS = re.compile(r"\[[^\]]*\]|\([^)]*\)")
_UNIT = re.compile(r"[^\s,;]{0,14}[A-Za-zµΩ%‰°€$£][^,;]{0,14}(?<!\.)")
_NUMBER_LIKE = re.compile(r"[-+−]?[\d.,:/'’ ]*\d[\d.,:/'’ ]*(?:[eE][-+]?\d+)?%?")
_BLANKS = frozenset({"", "-", "–", "—"})


@dataclass(frozen=True)
class WantedLines:
    """Lines of a file, counted from 1, as a user chose them; what is None is found."""

    header: int | None = None  # line that names the columns
    first_row: int | None = None  # line on which the rows begin
    names: frozenset[str] = frozenset()  # the first line that names all of these is the header


def find_lines(
    rows: Fields, lines: Sequence[int], wanted: WantedLines, findings: list[Finding]
) -> tuple[int, int]:
    """Positions of the header and of the first row; what is left out around them is said."""
    at = _header_at(rows, wanted.names)
    if wanted.header is not None:
        at = _place(wanted.header, lines, "header")
    if at:
        message = (
            f"{count(at, 'line')} above the header left out ({quote(' '.join(rows[0]).strip())})."
        )
        findings.append(warning("TITLE_LINES", message, line=lines[0]))
    if wanted.first_row is not None:
        first = _place(wanted.first_row, lines, "first_row")
    else:
        first = at + 2 if _are_units(rows[at + 1 : at + LOOKED_AT]) else at + 1
    if first <= at:
        message = f"The rows begin in line {lines[first]}, which is not below the names in line "
        message += f"{lines[at]}."
        raise SettingsError("BAD_LINE", message, "first_row")
    if at + 1 < first:
        many, what = count(first - at - 1, "line"), quote(" ".join(_filled(rows[at + 1])))
        if wanted.first_row is None:
            message = f"Line {lines[at + 1]} below the header holds units ({what}); it is left out."
        else:
            message = f"{many} below the header left out ({what})."
        findings.append(warning("UNITS_LINE", message, line=lines[at + 1]))
    if first >= len(rows):
        width = count(len(rows[at]), "column")
        message = f"The file has a header of {width} and no rows below it."
        raise refused("NO_ROWS", message, lines[at])
    _refuse_prose([rows[at], *rows[first:]], lines[at])
    if wanted.header is None and _is_row(rows[at], rows[first : first + LOOKED_AT]):
        message = (
            f"The first line looks like data rather than names ({listing(rows[at], 3)}); if "
            "so, add a line with column names above it."
        )
        findings.append(warning("NO_HEADER", message, line=lines[at]))
    return at, first


def _place(line: int, lines: Sequence[int], setting: str) -> int:
    """Position of the row that starts in a line."""
    if line not in lines:
        raise SettingsError("BAD_LINE", f"No row of the file starts in line {line}.", setting)
    return lines.index(line)


def _filled(row: Sequence[str]) -> list[str]:
    return [field.strip() for field in row if field.strip()]


def _header_at(rows: Fields, names: frozenset[str]) -> int:
    """Position of the header: lines above it with at most half of the usual fields are titles.

    So are lines that begin with #, unless what follows looks like a row of data, which is no
    header: it has numbers, or texts that come again below it.
    Where gaps make the usual row narrow, a full line of names above numbers tells the width.
    """
    if names:
        for at, row in enumerate(rows[:TITLES]):
            if names <= {normal(field) for field in row}:
                return at
    widths = [len(_filled(row)) for row in rows[:LOOKED_AT]]
    usual = float(np.median(widths))
    notes = next((k for k, row in enumerate(rows[:LOOKED_AT]) if row[0].lstrip()[:1] != "#"), 0)
    usable = range(notes, min(len(widths), notes + TITLES))
    at = next((at for at in usable if widths[at] > max(1, usual / 2)), 0)
    if not at and _names_below_title(rows, widths):
        at = 1
    if not at or len(rows) <= at + 2:
        return 0
    return 0 if any(data_like(rows[at], rows[at + 1 : at + LOOKED_AT])) else at


def _is_row(header: Sequence[str], rows: Fields) -> bool:
    """Whether the names look like a row: no name but numbers, fractions, or values come again."""
    numbers = [field for field in _filled(header) if PLAIN.fullmatch(field)]
    fractions = any("." in field for field in numbers)
    return fractions or (bool(_filled(header)) and all(data_like(header, rows)))


def _names_below_title(rows: Fields, widths: Sequence[int]) -> bool:
    """Whether a first line, half of it empty or repeated, stands above one of distinct names."""
    if len(rows) <= PROSE_LINES or len({*_filled(rows[0])}) > len(rows[1]) / 2:
        return False
    below = [_texts(rows[2:LOOKED_AT], k) for k in range(len(rows[1]))]
    return widths[1] == len(rows[1]) == len({*_filled(rows[1])}) and any(
        column and all(_NUMBER_LIKE.fullmatch(field) for field in column) for column in below
    )


def _texts(rows: Fields, k: int) -> list[str]:
    return [row[k].strip() for row in rows if k < len(row) and row[k].strip()]


def _are_units(rows: Fields) -> bool:
    """Whether the first row names units: in brackets, or as words above numbers alone."""
    if len(rows) < 2:
        return False
    units = [(k, field.strip()) for k, field in enumerate(rows[0]) if field.strip() not in _BLANKS]
    return bool(units) and all(
        _BRACKETS.fullmatch(unit) or _is_unit(unit, _texts(rows[1:], k)) for k, unit in units
    )


def _is_unit(word: str, below: Sequence[str]) -> bool:
    if word.lower() in LOOKS_MISSING or _NUMBER_LIKE.fullmatch(word) or not _UNIT.fullmatch(word):
        return False
    known = [text for text in below if text.lower() not in LOOKS_MISSING]
    numbers = sum(1 for text in known if _NUMBER_LIKE.fullmatch(text))
    return word not in below and 0 < numbers >= 0.8 * len(known)


def _refuse_prose(rows: Fields, line: int) -> None:
    """Refuse a few lines of sentences, in which commas separate nothing."""
    if len(rows) > PROSE_LINES or len(rows[0]) > PROSE_LINES:
        return
    fields = [field for row in rows for field in _filled(row)]
    if all(len(field.split()) > 1 and not PLAIN.fullmatch(field) for field in fields):
        message = "These are a few lines of text, not a table: a line of column names and rows of"
        message = f"{message} values, with separators between them, is needed."
        raise refused("NO_TABLE", message, line)


def clean_headers(header: Sequence[str], line: int, findings: list[Finding]) -> list[str]:
    """Make names clean and unique."""
    cleaned = [clean_text(field) for field in header]
    names: dict[str, None] = {}
    taken = set(cleaned)
    renamed: list[Finding] = []
    for position, name in enumerate(cleaned, start=1):
        fresh = name
        if not name or name in names:
            fresh = fresh_name(name or f"column {position}", taken)
            code, said = (
                ("DUPLICATE_HEADER", f"Two columns are called {quote(name)}; the later one")
                if name
                else ("UNNAMED_COLUMN", f"Column {position} has no name; it")
            )
            message = f"{said} is called {quote(fresh)} here."
            renamed.append(warning(code, message, line=line, column=fresh))
            taken.add(fresh)
        names[fresh] = None
    findings += [*_changes(header, cleaned, line), *renamed, *_remarks([*names], line)]
    return [*names]


def _changes(header: Sequence[str], cleaned: Sequence[str], line: int) -> Iterator[Finding]:
    for code, words in rewritten(header, cleaned):
        yield warning(code, f"A column name has {words}.", line)
    changed = [name for field, name in zip(header, cleaned, strict=True) if is_spaced(field)]
    if changed:
        yield warning(
            "TRIMMED",
            f"Spaces or line breaks were removed from {count(len(changed), 'column name')}: "
            f"{listing(changed)}.",
            line=line,
        )


def _remarks(names: Sequence[str], line: int) -> Iterator[Finding]:
    for name in names:
        if len(name) > LONG_TEXT:
            yield warning(
                "LONG_NAME",
                f"A column name has {len(name):,} characters; views cut it with an ellipsis, "
                "exports keep it whole.",
                line=line,
                column=name,
            )
    looks: dict[str, str] = {}
    for name in names:
        look = unicodedata.normalize("NFKC", name).translate(_CONFUSABLE)
        other = looks.setdefault(look, name)
        if other != name:
            yield warning(
                "LOOKALIKE_NAMES",
                f"Two column names look alike but are written with different characters: "
                f"{quote(other)} and {quote(name)}; rename one.",
                line=line,
                column=name,
            )
    folded = {name.casefold() for name in names}
    if len(folded) < len(set(names)):
        message = "Some column names differ only in upper and lower case."
        yield info("CASE_NAMES", message, line=line)


_CONFUSABLE = str.maketrans(
    "аеорсухіјѕԁһАВЕКМНОРСТХΑΒΕΖΗΙΚΜΝΟΡΤΥΧοι", "aeopcyxijsdhABEKMHOPCTXABEZHIKMNOPTYXoi"
)
"""Letters that look like Latin ones, and those."""
