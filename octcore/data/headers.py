"""Column names: cleaned, unique, and with everything odd about them said."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

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
    findings: list[Finding] = []
    cleaned = [clean_text(field) for field in header]
    changed = [name for field, name in zip(header, cleaned, strict=True) if field != name]
    if any(has_control(" ".join(field.split())) for field in header):
        findings.append(
            warning(
                "CONTROL_CHARS",
                "A column name holds control characters; they are written out, as in \\x07.",
                line=line,
            )
        )
    if changed:
        findings.append(
            warning(
                "TRIMMED",
                f"Spaces or line breaks were removed from {count(len(changed), 'column name')}: "
                f"{listing(changed)}.",
                line=line,
            )
        )
    named = _name_blanks(cleaned, line, findings)
    unique = _make_unique(named, line, findings)
    findings += _remarks(unique, line)
    return unique, findings


def _name_blanks(names: Sequence[str], line: int, findings: list[Finding]) -> list[str]:
    taken = set(names)
    named = []
    for position, name in enumerate(names, start=1):
        if name:
            named.append(name)
            continue
        fresh = _fresh(f"column {position}", taken)
        taken.add(fresh)
        named.append(fresh)
        findings.append(
            warning(
                "UNNAMED_COLUMN",
                f"Column {position} has no name; it is called {quote(fresh)} here.",
                line=line,
                column=fresh,
            )
        )
    return named


def _make_unique(names: Sequence[str], line: int, findings: list[Finding]) -> list[str]:
    taken, unique = set(names), []
    seen: set[str] = set()
    for name in names:
        if name not in seen:
            seen.add(name)
            unique.append(name)
            continue
        fresh = _fresh(name, taken, start=2)
        taken.add(fresh)
        unique.append(fresh)
        findings.append(
            warning(
                "DUPLICATE_HEADER",
                f"Two columns are called {quote(name)}; the later one is called "
                f"{quote(fresh)} here.",
                line=line,
                column=fresh,
            )
        )
    return unique


def _fresh(name: str, taken: set[str], start: int = 1) -> str:
    """Return a name that no column has, numbering it where needed."""
    if start == 1 and name not in taken:
        return name
    number = max(start, 2)
    while f"{name} ({number})" in taken:
        number += 1
    return f"{name} ({number})"


def _remarks(names: Sequence[str], line: int) -> list[Finding]:
    findings = []
    for name in names:
        if len(name) > LONG_NAME:
            findings.append(
                warning(
                    "LONG_NAME",
                    f"A column name has {len(name):,} characters; views cut it with an ellipsis, "
                    "exports keep it whole.",
                    line=line,
                    column=name,
                )
            )
    looks: dict[str, str] = {}
    for name in names:
        look = _appearance(name)
        other = looks.setdefault(look, name)
        if other != name:
            findings.append(
                warning(
                    "LOOKALIKE_NAMES",
                    f"Two column names look alike but are written with different characters: "
                    f"{quote(other)} and {quote(name)}; rename one.",
                    line=line,
                    column=name,
                )
            )
    numbers = [name for name in names if PLAIN.fullmatch(name)]
    if len(numbers) == len(names) or any("." in name for name in numbers):
        findings.append(
            warning(
                "NO_HEADER",
                f"The first line looks like data rather than names ({listing(numbers, 3)}); if so, "
                "add a line with column names above it.",
                line=line,
            )
        )
    folded = {name.casefold() for name in names}
    if len(folded) < len(set(names)):
        findings.append(
            info("CASE_NAMES", "Some column names differ only in upper and lower case.", line=line)
        )
    return findings


_CONFUSABLE = str.maketrans(
    "аеорсухіјѕԁһАВЕКМНОРСТХΑΒΕΖΗΙΚΜΝΟΡΤΥΧοι",
    "aeopcyxijsdhABEKMHOPCTXABEZHIKMNOPTYXoi",
)


def _appearance(name: str) -> str:
    """Reduce a name to what it looks like: composed, compatible, common letter twins merged."""
    return unicodedata.normalize("NFKC", name).translate(_CONFUSABLE)
