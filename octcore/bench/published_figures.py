"""Published figures: compact tables of facts that travel with the package."""

import csv
from functools import cache
from importlib import resources


@cache
def published(name: str) -> tuple[dict[str, str], ...]:
    """Rows of one table: ``accelerated``, ``flow-oct``, ``margot``, ``s-oct`` or ``svm1-odt``."""
    file = resources.files("octcore.bench") / "published" / f"{name}.csv"
    return tuple(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))


def encoded_sets() -> tuple[tuple[str, str], ...]:
    """Set and encoding of every binary-encoded table of the accelerated BendOCT experiment."""
    rows = published("accelerated")
    return tuple(dict.fromkeys((row["dataset"], row["encoding"]) for row in rows))


def number(text: str | None) -> float | None:
    """A cell as a number, None where it is empty."""
    return float(text) if text else None
