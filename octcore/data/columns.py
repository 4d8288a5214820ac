"""Columns and sources: the small records beside a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Literal, get_args

from octcore.data.numbers import format_number, source_of_part, spelling
from octcore.data.serial import Record

Kind = Literal["numeric", "ordinal", "categorical", "binary"]
KINDS: tuple[Kind, ...] = get_args(Kind)
MISSING_LEVEL = "(missing)"  # level of missing values where they are a category of their own
Label = int | str | bool | float


@dataclass(frozen=True)
class Column:
    """A feature column and how it is meant."""

    name: str
    kind: Kind
    levels: tuple[float | str, ...] = ()  # in order, as the frame holds them; none if numeric
    number_format: str = "plain"  # of the file, and so of new rows (see `octcore.data.numbers`)
    aliases: tuple[tuple[str, str], ...] = ()
    """Texts of the file and what they were taken for: another spelling, or the empty text where
    they mean that nothing is known."""

    @cached_property
    def holds_numbers(self) -> bool:
        """Whether the frame stores this column as float64 rather than as text."""
        are_numbers = (isinstance(level, float) for level in self.levels)
        return self.kind == "numeric" or (len(self.levels) > 0 and all(are_numbers))

    @cached_property
    def numbers_as_names(self) -> dict[float | str, str]:
        """Names by the number that each is written as; none if some are no numbers."""
        names = [str(level) for level in self.levels if level != MISSING_LEVEL]
        known = {spelling(name): name for name in names}
        is_so = [format_number(v) for v in known if isinstance(v, float)] == names
        return known if is_so and not self.holds_numbers else {}

    @property
    def meant(self) -> dict[str, str]:
        """What texts of new rows are taken for: `aliases`, and what programs make of a file.

        They take its TRUE or T for a truth value, True or true, and 00501 for the number 501.
        """
        names = [str(level) for level in self.levels if level != MISSING_LEVEL]
        told = {name.casefold(): name for name in names}
        for words in ({"true": "True", "false": "False"}, {"t": "True", "f": "False"}):
            if told.keys() == words.keys():
                also = {w: v for k, v in told.items() for w in (words[k], k, k.upper()) if w != v}
                return also | dict(self.aliases)
        # Floats keep fifteen digits apart.
        codes = {v.lstrip("0") or "0": v for v in names if len(v) <= 15 and v.isdecimal()}
        told = codes if len(codes) == len(names) else {}
        return {number: v for number, v in told.items() if number != v} | dict(self.aliases)

    @property
    def source(self) -> str:
        """Name of the column of the file that it is read from: itself, or one of dates."""
        return source_of_part(self.number_format) or self.name

    @property
    def unit(self) -> str:
        """What its numbers are where the file writes them otherwise; empty for other columns."""
        kind, *about = self.number_format.split(":")
        if kind == "plain" or about:
            return f"days since {about[0]}" if kind == "date" else ""
        return "a number such as 1234.5, not as the file has it"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; files of before have no aliases."""
        return {name: value for name, value in asdict(self).items() if name != "aliases" or value}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Column:
        """Read a column back; other programs may write a level 1.0 as 1."""
        levels = (float(v) if isinstance(v, int | float) else str(v) for v in record["levels"])
        return cls(
            str(record["name"]),
            record["kind"],
            tuple(levels),
            str(record.get("number_format", "plain")),
            tuple((str(text), str(meant)) for text, meant in record.get("aliases", ())),
        )


@dataclass(frozen=True)
class Source(Record):
    """Where a data set came from and what was left out."""

    file_name: str = ""  # shown to people, never used as a path
    sha256: str = ""  # hash of the bytes that were read, empty for data that came as arrays
    n_bytes: int = 0  # size of the file
    n_rows_read: int = 0  # data rows before any was left out
    rows_dropped: tuple[tuple[str, int], ...] = ()  # reason (a finding's code) and number of rows
    columns_dropped: tuple[tuple[str, str], ...] = ()  # name and reason: a finding's code or USER
    encoding: str = ""
    delimiter: str = ""  # how the bytes were read, as is the encoding

    @property
    def n_rows_dropped(self) -> int:
        """Number of rows left out, for any reason."""
        return sum(number for _, number in self.rows_dropped)
