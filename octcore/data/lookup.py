"""Finding a column by the name a user wrote."""

from __future__ import annotations

import difflib
import unicodedata
from collections.abc import Container, Iterable, Iterator, Sequence
from itertools import count

from octcore.data.findings import listing, quote
from octcore.errors import DataError


def find_column(name: str, names: Sequence[str], what: str = "column") -> str:
    """Return the table's own spelling of a column name; `DataError` with near matches if none fits.

    An exact match wins; otherwise the name is compared with spaces trimmed and composed (NFC).
    """
    if name in names:
        return name
    wanted = normal(name)
    matches = [candidate for candidate in names if normal(candidate) == wanted]
    if len(matches) == 1:
        return matches[0]
    raise unknown_column(name, names, what)


def normal(name: str) -> str:
    """Reduce a name to what a reader sees: composed, single spaces, no spaces around it."""
    return unicodedata.normalize("NFC", " ".join(str(name).split()))


def fresh_name(name: str, taken: Container[str], numbers: Iterator[int] | None = None) -> str:
    """Return a name that no column has, numbering it where needed.

    `numbers` go on where an earlier call with the same name has left them; else they start at 2.
    """
    fresh, numbers = name, numbers or count(2)
    while fresh in taken:
        fresh = f"{name} ({next(numbers)})"
    return fresh


def unknown_column(name: object, names: Iterable[str], what: str = "column") -> DataError:
    """Make the error for a column that is not there."""
    known = list(names)
    near = difflib.get_close_matches(str(name)[:200], known[:2000], n=3, cutoff=0.5)
    hint = f"did you mean {listing(near)}?" if near else f"the columns are {listing(known)}."
    return DataError(
        "UNKNOWN_COLUMN", f"There is no {what} {quote(name)}; {hint}", column=str(name)
    )
