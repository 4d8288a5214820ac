"""The target column: labels, classes and codes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from octcore.data.columns import Label
from octcore.data.findings import Finding, count, error, listing, quote, warning
from octcore.data.numbers import PLAIN
from octcore.data.table import LONG_TEXT, RawColumn
from octcore.data.text import MISSING_MARKS, MISSING_WORDS

_WHOLE = re.compile(r"[+-]?(?:0|[1-9]\d{0,17})(?:\.0*)?", re.ASCII)


@dataclass(frozen=True, eq=False)
class Target:
    """Classes and, for every row of the file, its class code (-1 without a label)."""

    classes: tuple[Label, ...]
    codes: npt.NDArray[np.int64]
    findings: tuple[Finding, ...]


def read_target(raw: RawColumn, lines: npt.NDArray[np.int64]) -> Target:
    """Read labels: whole numbers become ints, everything else stays text.

    Only an empty cell or ``?`` is a missing label; ``NA`` and ``None`` are missing among numbers
    and classes among texts, since a class may well be called so.
    """
    missing = {index for index, value in enumerate(raw.values) if value in MISSING_MARKS}
    words = {i for i, value in enumerate(raw.values) if value.lower() in MISSING_WORDS} - missing
    rest = [i for i in range(len(raw.values)) if i not in missing and i not in words]
    numeric = bool(rest) and all(PLAIN.fullmatch(raw.values[index]) for index in rest)
    findings: list[Finding] = []
    if numeric:
        missing |= words
    elif words:
        findings.append(_words_kept(raw, words))
    labels = _labels(raw, missing)
    classes = tuple(sorted(set(labels.values()), key=_natural))
    code_of = {label: code for code, label in enumerate(classes)}
    table = np.full(len(raw.values), -1, dtype=np.int64)
    for index, label in labels.items():
        table[index] = code_of[label]
    codes = table[raw.codes]
    findings += _missing_findings(raw, codes, lines)
    findings += _long_labels(raw, classes)
    return Target(classes, codes, tuple(findings))


def _natural(label: Label) -> tuple[tuple[object, ...], Label]:
    """Sort key that puts 2 before 10, in texts as well."""
    parts = re.split(r"(\d+)", str(label), flags=re.ASCII) if isinstance(label, str) else []
    spelled = tuple(int(part) if i % 2 else part for i, part in enumerate(parts))
    return spelled, label


def _labels(raw: RawColumn, missing: set[int]) -> dict[int, Label]:
    present = {i: value for i, value in enumerate(raw.values) if i not in missing}
    if present and all(_WHOLE.fullmatch(value) for value in present.values()):
        return {index: int(value.split(".")[0]) for index, value in present.items()}
    return dict(present)


def _words_kept(raw: RawColumn, words: set[int]) -> Finding:
    shown = sorted(raw.values[index] for index in words)
    return warning(
        "LOOKS_MISSING",
        f"The target {quote(raw.name)} has {listing(shown)}, which may mean a missing label; kept "
        "as a class. Empty the cells if they are missing.",
        column=raw.name,
    )


def _missing_findings(
    raw: RawColumn, codes: npt.NDArray[np.int64], lines: npt.NDArray[np.int64]
) -> Iterator[Finding]:
    rows = np.flatnonzero(codes < 0)
    if len(rows) == 0:
        return
    line = int(lines[rows[0]])
    if len(rows) == len(codes):
        yield error(
            "MISSING_TARGET",
            f"No row has a label in {quote(raw.name)}; choose another target column.",
            line=line,
            column=raw.name,
        )
        return
    yield warning(
        "MISSING_TARGET",
        f"{count(len(rows), 'row')} without a label in {quote(raw.name)} left out, the first "
        f"is line {line}.",
        line=line,
        column=raw.name,
    )


def _long_labels(raw: RawColumn, classes: tuple[Label, ...]) -> Iterator[Finding]:
    longest = max((len(label) for label in classes if isinstance(label, str)), default=0)
    if longest <= LONG_TEXT:
        return
    yield warning(
        "LONG_NAME",
        f"A label of {quote(raw.name)} has {longest:,} characters; views cut it with an "
        "ellipsis, exports keep it whole.",
        column=raw.name,
    )
