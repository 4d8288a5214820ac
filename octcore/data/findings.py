"""Findings: what reading a table noticed, as values."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from octcore.errors import DataError

Severity = Literal["error", "warning", "info"]
"""`error`: unusable. `warning`: usable, but look at it. `info`: said for completeness."""
SHOWN = 40  # longest piece of a user's text quoted in a message, in characters


@dataclass(frozen=True)
class Finding:
    """One thing noticed while reading."""

    code: str  # stable upper-case identifier, such as ``"MISSING_VALUES"``
    severity: Severity
    message: str  # one or two sentences for the user
    line: int | None = None  # of the file, counted from 1
    column: str | None = None


def warning(code: str, message: str, line: int | None = None, column: str | None = None) -> Finding:
    """Make a finding of severity ``"warning"``."""
    return Finding(code, "warning", message, line, column)


def error(code: str, message: str, line: int | None = None, column: str | None = None) -> Finding:
    """Make a finding of severity ``"error"``."""
    return Finding(code, "error", message, line, column)


def info(code: str, message: str, line: int | None = None, column: str | None = None) -> Finding:
    """Make a finding of severity ``"info"``."""
    return Finding(code, "info", message, line, column)


def of_column(
    name: str, code: str, words: str, severity: Severity = "warning", line: int | None = None
) -> Finding:
    """Make a finding on a column, with which its sentence begins."""
    return Finding(code, severity, f"Column {quote(name)} {words}", line, name)


def column_refused(name: str, code: str, words: str) -> DataError:
    """Make the error of a column, with which its sentence begins."""
    return DataError(code, f"Column {quote(name)} {words}", column=name)


Head = tuple[tuple[int, tuple[str, ...]], ...]  # first lines of a file: number from 1, and fields


class UnusableTableError(DataError):
    """A `DataError` that carries everything that was found, with the words of the first error.

    `findings` holds warnings as well, `head` the first lines of a file that has fields.
    """

    def __init__(self, findings: Iterable[Finding], head: Head = ()) -> None:
        self.findings: tuple[Finding, ...] = tuple(findings)
        self.head = head
        first = next(f for f in self.findings if f.severity == "error")
        super().__init__(first.code, first.message, first.line, first.column)


def refused(code: str, message: str, line: int | None = None) -> UnusableTableError:
    """Make the error of a single finding."""
    return UnusableTableError([error(code, message, line)])


def raise_if_unusable(findings: Iterable[Finding]) -> None:
    """Raise `UnusableTableError`, with all findings, if one of them is an error."""
    found = tuple(findings)
    if any(finding.severity == "error" for finding in found):
        raise UnusableTableError(found)


def refuse_rows(
    bad: npt.NDArray[np.bool_], name: str, code: str, what: str, values: Any = None
) -> None:
    """Raise `DataError` at the first row of a column that is bad; `values` are shown if given."""
    if bad.any():
        row = int(np.argmax(bad))
        came = "" if values is None or pd.isna(values[row]) else f" ({quote(values[row])})"
        message = f"Row {row + 1} of column {quote(name)}{came} {what}."
        raise DataError(code, message, line=row + 1, column=name)


def quote(text: object) -> str:
    """Quote a user's text for a message: one line, cut with an ellipsis, no control characters."""
    shown = "".join(c if c.isprintable() else f"\\x{ord(c):02x}" for c in str(text))
    return f"“{shown[:SHOWN]}…”" if len(shown) > SHOWN else f"“{shown}”"


def listing(names: Iterable[object], at_most: int = 5) -> str:
    """Quote a few names and count the rest: ``“a”, “b” and 3 more``."""
    return few([quote(name) for name in names], at_most)


def few(words: Sequence[object], at_most: int = 5) -> str:
    """Join a few words and count the rest: ``a, b and 3 more``."""
    more = f" and {len(words) - at_most:,} more" if len(words) > at_most else ""
    return ", ".join(map(str, words[:at_most])) + more


MOST_DIGITS = 4  # of a share in percent


def percent(share: float | None, digits: int = 1) -> str:
    """Write a share in percent; with more digits where it would look like none or all."""
    if share is None or np.isnan(share):
        return "–"
    shown = f"{100 * share:.{digits}f}"
    if digits < MOST_DIGITS and share not in (0, 1) and float(shown) in (0, 100):
        return percent(share, digits + 1)
    return f"{shown} %"


def count(number: int, noun: str) -> str:
    """Write a number with its noun: ``1 row``, ``1,200 rows``, ``3 classes``."""
    if number == 1:
        return f"1 {noun}"
    ending = "es" if noun.endswith("s") else "s"
    stem = "leave" if noun == "leaf" else noun
    return f"{number:,} {stem}{ending}"
