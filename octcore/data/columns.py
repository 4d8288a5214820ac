"""Columns and sources: the small records beside a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Kind = Literal["numeric", "ordinal", "categorical", "binary"]
KINDS: tuple[Kind, ...] = get_args(Kind)

MISSING_LEVEL = "(missing)"
"""Level that stands for a missing value when missing values are a category of their own."""

Label = int | str | bool | float


@dataclass(frozen=True)
class Column:
    """A feature column and how it is meant."""

    name: str
    kind: Kind
    levels: tuple[float | str, ...] = ()
    """In order; floats if the frame holds numbers, otherwise text. Empty for numeric columns."""
    number_format: str = "plain"
    """How the file wrote the numbers (see `octcore.data.numbers`); new rows are read likewise."""

    @property
    def holds_numbers(self) -> bool:
        """Whether the frame stores this column as float64 rather than as text."""
        return self.kind == "numeric" or (
            len(self.levels) > 0 and all(isinstance(level, float) for level in self.levels)
        )


@dataclass(frozen=True)
class Source:
    """Where a data set came from and what was left out."""

    file_name: str = ""
    """Shown to people, never used as a path."""
    sha256: str = ""
    """Hash of the bytes that were read, empty for data that came as arrays."""
    n_bytes: int = 0
    n_rows_read: int = 0
    """`n_bytes`, `n_rows_read`: size of the file; data rows before any was left out."""
    rows_dropped: tuple[tuple[str, int], ...] = ()
    """Reason (a finding's code) and number of rows."""
    columns_dropped: tuple[tuple[str, str], ...] = ()
    """Column name and reason (a finding's code, or ``"USER"``)."""
    encoding: str = ""
    delimiter: str = ""
    """`encoding`, `delimiter`: how the bytes were read."""

    @property
    def n_rows_dropped(self) -> int:
        """Number of rows left out, for any reason."""
        return sum(number for _, number in self.rows_dropped)
