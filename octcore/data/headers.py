"""Column names: cleaned, unique, and with everything odd about them said."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

from octcore.data.findings import Finding, count, info, listing, quote, warning
from octcore.data.numbers import PLAIN
from octcore.data.text import clean_text, has_control

LONG_NAME = 100
"""Names beyond this many characters are cut in views."""


def clean_headers(header: Sequence[str], line: int) -> tuple[list[str], list[Finding]]:
    """Make names clean and unique.

    Returns
    -------
    tuple of (list of str, list of Finding)
        Names in order, and what was changed.
    """
    cleaned = [clean_text(field) for field in header]
    names: dict[str, None] = {}
    taken = set(cleaned)
    renamed: list[Finding] = []
    for position, name in enumerate(cleaned, start=1):
        fresh = name
        if not name or name in names:
            fresh = _fresh(name or f"column {position}", taken)
            what = (
                (
                    "DUPLICATE_HEADER",
                    f"Two columns are called {quote(name)}; the later one is called "
                    f"{quote(fresh)} here.",
                )
                if name
                else (
                    "UNNAMED_COLUMN",
                    f"Column {position} has no name; it is called {quote(fresh)} here.",
                )
            )
            renamed.append(warning(*what, line=line, column=fresh))
            taken.add(fresh)
        names[fresh] = None
    changes = _changes(header, cleaned, line)
    return [*names], [*changes, *renamed, *_remarks([*names], line)]


def _fresh(name: str, taken: set[str]) -> str:
    """Return a name that no column has, numbering it where needed."""
    fresh, number = name, 1
    while fresh in taken:
        number += 1
        fresh = f"{name} ({number})"
    return fresh


def _changes(header: Sequence[str], cleaned: Sequence[str], line: int) -> Iterator[Finding]:
    if any(has_control(" ".join(field.split())) for field in header):
        yield warning(
            "CONTROL_CHARS",
            "A column name holds control characters; they are written out, as in \\x07.",
            line=line,
        )
    changed = [name for field, name in zip(header, cleaned, strict=True) if field != name]
    if changed:
        yield warning(
            "TRIMMED",
            f"Spaces or line breaks were removed from {count(len(changed), 'column name')}: "
            f"{listing(changed)}.",
            line=line,
        )


def _remarks(names: Sequence[str], line: int) -> Iterator[Finding]:
    for name in names:
        if len(name) > LONG_NAME:
            yield warning(
                "LONG_NAME",
                f"A column name has {len(name):,} characters; views cut it with an ellipsis, "
                "exports keep it whole.",
                line=line,
                column=name,
            )
    looks: dict[str, str] = {}
    for name in names:
        look = _appearance(name)
        other = looks.setdefault(look, name)
        if other != name:
            yield warning(
                "LOOKALIKE_NAMES",
                f"Two column names look alike but are written with different characters: "
                f"{quote(other)} and {quote(name)}; rename one.",
                line=line,
                column=name,
            )
    numbers = [name for name in names if PLAIN.fullmatch(name)]
    if len(numbers) == len(names) or any("." in name for name in numbers):
        yield warning(
            "NO_HEADER",
            f"The first line looks like data rather than names ({listing(numbers, 3)}); if so, "
            "add a line with column names above it.",
            line=line,
        )
    folded = {name.casefold() for name in names}
    if len(folded) < len(set(names)):
        yield info(
            "CASE_NAMES", "Some column names differ only in upper and lower case.", line=line
        )


_CONFUSABLE = str.maketrans(
    "аеорсухіјѕԁһАВЕКМНОРСТХΑΒΕΖΗΙΚΜΝΟΡΤΥΧοι",
    "aeopcyxijsdhABEKMHOPCTXABEZHIKMNOPTYXoi",
)


def _appearance(name: str) -> str:
    """Reduce a name to what it looks like: composed, compatible, common letter twins merged."""
    return unicodedata.normalize("NFKC", name).translate(_CONFUSABLE)
