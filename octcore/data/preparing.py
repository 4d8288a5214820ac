"""What a user does to a table before it is typed; texts are taken for others, dates taken apart."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace

from octcore.data.findings import Finding, column_refused, count, listing, of_column, quote
from octcore.data.numbers import (
    DATE_PARTS,
    PLAIN,
    WEEKDAYS,
    date_parts,
    detect_date,
    slashed_order,
    spelling,
)
from octcore.data.table import RawColumn, RawTable
from octcore.data.text import LOOKS_MISSING, MISSING_MARKS, fresh_name, normal

Texts = Collection[str]
DATE = "date"  # what a user calls a column of which year, month and weekday are wanted
_WEEK = "ordinal:" + "<".join(WEEKDAYS)


def look_alikes(raw: RawColumn) -> tuple[tuple[str, ...], ...]:
    """Group the values of a column that differ only in capitals or spaces, or as 1 and 1.0 do.

    The most frequent spelling comes first.  Columns that hold numbers alone have no such values:
    there 1 and 1.0 are one number anyway.
    """
    if all(PLAIN.fullmatch(value) for value in raw.values if value):
        return ()
    groups: dict[str | float, list[str]] = {}
    for value, _ in raw.by_rows():
        same = spelling(value)
        key = normal(same).casefold() if isinstance(same, str) else same
        groups.setdefault(key, []).append(value)
    return tuple(tuple(group) for group in groups.values() if len(group) > 1)


def missing_words(raw: RawColumn) -> dict[str, int]:
    """Texts of a column that may mean that nothing is known, and their rows."""
    return {value: rows for value, rows in raw.by_rows() if value.lower() in LOOKS_MISSING}


def words_in_rows(words: Mapping[str, int]) -> str:
    """Name texts with their number of rows: ``“n/a” (183 rows)``."""
    return f"{listing(words)} ({count(sum(words.values()), 'row')})"


def prepare_table(
    table: RawTable, na_values: Mapping[str, Texts], merge: Iterable[str], dates: Texts
) -> RawTable:
    """Take texts for gaps or for another spelling, and dates for year, month and weekday.

    `na_values`: texts that mean a gap, by column, numbers in every spelling; `merge`: columns whose
    look-alikes are one value; `dates`: columns that are replaced by the parts of their dates.
    """
    taken, said = {column.name: column for column in table.columns}, list[Finding]()
    for name, texts in na_values.items():
        gaps, known = set(map(spelling, texts)), set(map(spelling, taken[name].values))
        if unknown := [text for text in texts if spelling(text) not in known]:
            words = f"has no {listing(unknown)}, which was to mean that a value is missing."
            said.append(of_column(name, "NO_SUCH_VALUE", words))
        taken[name] = taken[name].taken({v: "" for v in taken[name].values if spelling(v) in gaps})
    for name in merge:
        groups = look_alikes(taken[name])
        taken[name] = taken[name].taken({text: g[0] for g in groups for text in g[1:]})
    columns = [
        part
        for column in taken.values()
        for part in (_parts(column, table.names) if column.name in dates else [column])
    ]
    said += [_as_parts(taken[name]) for name in table.names if name in dates]
    return replace(table, columns=tuple(columns), findings=(*table.findings, *said))


def dates_of(column: RawColumn) -> list[str]:
    """Texts of a column that are dates if it holds dates; words among them are gaps."""
    return [v for v in column.values if v not in MISSING_MARKS and any(map(str.isdigit, v))]


def _parts(column: RawColumn, names: Collection[str]) -> Iterator[RawColumn]:
    """Year, month and weekday of dates, as columns of texts."""
    dates = dates_of(column)
    found = detect_date(dates)
    if found is None:
        texts = dates or filter(None, column.values)
        bad = next((text for text in texts if detect_date([text]) is None), "")
        why = f"it has {quote(bad)}" if bad else "which are not all written alike"
        words = f"cannot be read as dates, {why}; choose another kind for it."
        raise column_refused(column.name, "NOT_DATES", words)
    for part in DATE_PARTS:
        made_of = f"{part}:{found.rpartition(':')[2]}:{column.name}"
        told = dict(zip(column.values, date_parts(column.values, made_of), strict=True))
        name = fresh_name(f"{part} of {column.name}", names)
        yield replace(column.taken(told), name=name, made_of=made_of, aliases=column.aliases)


def _as_parts(column: RawColumn) -> Finding:
    dates = dates_of(column)
    how = slashed_order(dates, detect_date(dates) or "")
    words = f"is read as year, month and weekday{how}."
    if gaps := {v: n for v, n in column.by_rows() if v not in {*dates, *MISSING_MARKS}}:
        words += f" As in a column of numbers, words count as missing: {words_in_rows(gaps)}."
    return of_column(column.name, "DATE_PARTS", words, "info")


def names_of_parts(kinds: Mapping[str, str]) -> Iterator[str]:
    """Name the columns that take the place of those that are wanted as dates."""
    for name, kind in kinds.items():
        if kind == DATE:
            yield from (f"{part} of {name}" for part in DATE_PARTS)


def kinds_of_parts(table: RawTable) -> dict[str, str]:
    """Kinds of the columns that are parts of dates, where they are not the usual ones."""
    return {c.name: _WEEK for c in table.columns if c.made_of.startswith("weekday:")}
