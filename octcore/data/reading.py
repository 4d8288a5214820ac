"""CSV to `Dataset`: `read_csv` is `read_table` followed by `make_dataset`.

A `RawTable` is read once; changing the target, the kinds or the columns left out makes a new data
set from it without touching the bytes again.
"""

import hashlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import pandas as pd

from octcore.data.assembly import MISSING, Choices, GapPrice, Missing, assemble, gap_prices
from octcore.data.columns import Column, Label
from octcore.data.dataset import Dataset
from octcore.data.findings import UnusableTableError, error, quote, refused
from octcore.data.heading import WantedLines
from octcore.data.preparing import DATE, kinds_of_parts, prepare_table
from octcore.data.serial import digest
from octcore.data.sniffing import MAX_BYTES
from octcore.data.table import RawColumn, RawTable, parse_table
from octcore.data.target import with_binned_target
from octcore.data.text import find_column, normal
from octcore.data.typed import split_kind
from octcore.errors import SettingsError

Source = str | os.PathLike[str] | bytes | bytearray | memoryview | IO[bytes] | IO[str]


def read_csv(
    source: Source,
    target: str | None = None,
    drop: Iterable[str] = (),
    kinds: Mapping[str, str] | None = None,
    missing: str = "drop-rows",
    positive_class: Label | None = None,
    name: str | None = None,
    merge: Iterable[str] = (),
    target_bins: int | None = None,
    na_values: Mapping[str, str | Iterable[str]] | None = None,
    header: int | None = None,
    first_row: int | None = None,
) -> Dataset:
    """Read a CSV file into a `Dataset`.

    Parameters
    ----------
    source : path, bytes or file object
        Where the bytes are. Only bytes reach the parser.
    target : str or None
        Column that holds the classes; None reads the table without choosing one.
    drop : iterable of str
        Columns to leave out.
    kinds : mapping of str to str
        Kind of a column where the default is not meant: ``numeric``, ``ordinal``,
        ``categorical``, ``binary``, ``ordinal:small<medium<large`` to state an order, or ``date``,
        which makes the columns "year of ...", "month of ..." and "weekday of ..." of one of dates
        (``numeric`` makes it the days since the first date). By default two values are binary,
        other numbers are numeric however few they are, and text is categorical.
    missing : {"drop-rows", "drop-columns", "category", "auto"}
        What happens to missing feature values. ``category`` makes them a level of their own in
        columns of text, categories or two values; rows with another missing *number* are left out.
        ``auto``, with which the app starts, does the same, but leaves out the columns with most
        missing numbers where more than a tenth of the rows would be lost; the warning of
        ``drop-rows`` says what ``auto`` would cost.
    positive_class : label or None
        Class that two-class formulations code as +1.
    name : str or None
        Short name for titles; by default the file's name.
    merge : iterable of str
        Columns in which values that differ only in capitals (or as ``1`` and ``1.0`` do among
        texts) mean the same; the most frequent spelling stays.
    target_bins : int or None
        Cut a target of numbers into this many classes, 2 to 5, of about equally many rows.
    na_values : mapping of str to str or iterable of str
        By column the texts that mean that a value is missing, such as ``{"ward": "n/a"}``.
    header : int or None
        Line of the file, counted from 1, that names the columns; found by default. Lines above it
        are left out.
    first_row : int or None
        Line on which the rows begin; by default the one below the header, or below its units.

    Returns
    -------
    Dataset
        With everything noticed in `findings`.

    Raises
    ------
    DataError
        If the file or a column cannot be used; `findings` of the error has all that was found.
    SettingsError
        If a kind, the policy for missing values, the positive class or a line is none of the
        choices.
    """
    table = read_table(source, None, header, first_row)
    return make_dataset(
        table, target, drop=drop, kinds=kinds, missing=missing, positive_class=positive_class,
        name=name, merge=merge, target_bins=target_bins, na_values=na_values,
    )  # fmt: skip


def read_table(
    source: Source,
    file_name: str | None = None,
    header: int | None = None,
    first_row: int | None = None,
    names: Iterable[str] = (),
) -> RawTable:
    """Read the bytes of a CSV file as text columns (see `make_dataset`).

    `file_name` is shown to people, such as the name of an upload; it is never used as a path.
    `names` are columns that are needed: the first line that has them all is the header.
    `DataError` if the bytes hold no usable table.
    """
    data, found_name = _bytes_of(source)
    return parse_table(
        data,
        found_name if file_name is None else file_name,
        hashlib.sha256(data).hexdigest(),
        WantedLines(header, first_row, frozenset(map(normal, names))),
    )


def make_dataset(table: RawTable, target: str | None = None, **chosen: Any) -> Dataset:
    """Type and check a table that was read; choices and errors as in `read_csv`."""
    return assemble(*_chosen(table, target, **chosen))


def prices_of_gaps(table: RawTable, **chosen: Any) -> dict[Missing, GapPrice]:
    """What every policy for missing values costs; choices and errors as in `read_csv`.

    Empty where no value is missing.
    """
    return gap_prices(*_chosen(table, **chosen))


def table_in_use(
    table: RawTable,
    kinds: Mapping[str, str] | None,
    na_values: Mapping[str, str | Iterable[str]] | None = None,
    merge: Iterable[str] = (),
    drop: Iterable[str] = (),
) -> RawTable:
    """Return the table as it is typed; dates that are wanted as such have become their parts."""

    def found(name: str) -> str:
        return find_column(name, table.names)

    marks = {n: v if isinstance(v, Iterable) else [v] for n, v in (na_values or {}).items()}
    dates = {found(name) for name, kind in (kinds or {}).items() if kind == DATE}
    return prepare_table(
        table,
        {found(n): [v] if isinstance(v, str) else [*map(str, v)] for n, v in marks.items()},
        [found(name) for name in merge],
        dates.difference(drop),
    )


def _chosen(
    table: RawTable,
    target: str | None = None,
    drop: Iterable[str] = (),
    kinds: Mapping[str, str] | None = None,
    missing: str = "drop-rows",
    positive_class: Label | None = None,
    name: str | None = None,
    merge: Iterable[str] = (),
    target_bins: int | None = None,
    na_values: Mapping[str, str | Iterable[str]] | None = None,
) -> tuple[RawTable, Choices]:
    """Check what was chosen against the table, and do to that what comes before typing."""
    MISSING.check(missing)
    if len(table.names) == 1:
        message = (
            f"The file has a single column, {quote(table.names[0])}; none of the separators , ; "
            "tab | was found, or there is nothing beside the target."
        )
        found = error("NO_USABLE_FEATURES", message, column=table.names[0])
        raise UnusableTableError([*table.findings, found])
    dropped = tuple(drop)
    if target is not None and (kinds or {}).get(target) == DATE:
        raise _no_class(target, "taken apart as dates")
    table = table_in_use(table, kinds, na_values, merge, dropped)
    stated = {name: kind for name, kind in (kinds or {}).items() if kind != DATE}
    chosen = Choices(
        target=None if target is None else find_column(target, table.names, "target column"),
        drop=frozenset(find_column(column, table.names) for column in dropped),
        kinds=kinds_of_parts(table)
        | {find_column(column, table.names): kind for column, kind in stated.items()},
        missing=cast("Missing", missing),
        positive_class=positive_class,
        name=name or Path(table.file_name.replace("\\", "/")).stem[:60] or "data",
    )
    for column, kind in chosen.kinds.items():
        split_kind(kind, column)
    _refuse_contradiction(chosen)
    if chosen.target is not None and target_bins is not None:
        table = with_binned_target(table, chosen.target, target_bins)
    return table, chosen


def _refuse_contradiction(chosen: Choices) -> None:
    if chosen.target is None:
        return
    if chosen.target in chosen.drop:
        message = f"Column {quote(chosen.target)} is the target and cannot be left out; choose "
        message += "another target, or keep it."
        raise SettingsError("TARGET_DROPPED", message, "drop")
    if split_kind(chosen.kinds.get(chosen.target, "categorical"), chosen.target)[0] == "numeric":
        raise _no_class(chosen.target, "numeric")


def _no_class(target: str, what: str) -> SettingsError:
    return SettingsError(
        "NUMERIC_TARGET",
        f"Column {quote(target)} is the target, whose values are classes; it cannot be {what}.",
        "kinds",
    )


def _bytes_of(source: Source) -> tuple[bytes, str]:
    if isinstance(source, bytes | bytearray | memoryview):
        return bytes(source), "data.csv"
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        try:
            with path.open("rb") as file:
                return _first_bytes(file), path.name
        except (OSError, ValueError) as failure:
            reason = getattr(failure, "strerror", None) or str(failure)
            code = "FILE_NOT_FOUND" if isinstance(failure, FileNotFoundError) else "UNREADABLE"
            message = f"The file {quote(source)} cannot be read: {reason}."
            raise refused(code, message) from failure
    if not hasattr(source, "read"):
        message = f"A path, bytes or a file object was expected, not {type(source).__name__}."
        raise SettingsError("BAD_SOURCE", message, "source")
    return _first_bytes(source), os.path.basename(str(getattr(source, "name", "data.csv")))


def _first_bytes(file: IO[bytes] | IO[str]) -> bytes:
    """All bytes, or so many that they are seen to be too many: a device has no end."""
    content = file.read(MAX_BYTES + 1)
    return content.encode("utf-8") if isinstance(content, str) else bytes(content)


def table_of(data: Dataset) -> tuple[RawTable, dict[str, str]]:
    """Write the rows of a data set as a table, and its kinds as they are given to `read_csv`.

    Only its rows in use; the features come in their order, then the target.
    """
    cells: dict[Any, Any] = {name: pd.factorize(values) for name, values in data.frame.items()}
    if data.y is not None and data.target_name is not None:
        codes, classes = pd.factorize(data.y)
        cells[data.target_name] = codes, [data.classes[k] for k in classes]
    columns = [RawColumn(str(n), codes, tuple(map(str, v))) for n, (codes, v) in cells.items()]
    said = digest(*(part for c in columns for part in (repr(c.values).encode(), c.codes.tobytes())))
    lines, name = np.arange(2, data.n_samples + 2), f"{data.name}.csv"
    read = RawTable(name, said, 0, "utf-8", ",", tuple(columns), lines, ())
    return read, {column.name: _kind(column) for column in data.columns}


def _kind(column: Column) -> str:
    levels = column.levels or ()
    if column.kind == "ordinal" and levels and all(isinstance(level, str) for level in levels):
        return "ordinal:" + "<".join(str(level) for level in levels)
    return column.kind
