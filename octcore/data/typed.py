"""Typing: what a column of texts holds, and which kind of feature it is."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from octcore.data.columns import KINDS, MISSING_LEVEL, Column, Kind
from octcore.data.findings import Finding, column_refused, count, info, listing, of_column, quote
from octcore.data.numbers import (
    CODE,
    INFINITE,
    PLAIN,
    decimal_mark,
    detect_date,
    detect_format,
    first_rounded,
    format_number,
    is_marked,
    parse,
    parse_plain,
    points_are_marks,
)
from octcore.data.preparing import missing_words, words_in_rows
from octcore.data.table import RawColumn, RawTable
from octcore.data.text import MISSING_MARKS, MISSING_WORDS
from octcore.errors import SettingsError

MOSTLY_NUMBERS = 0.8  # from this share on, the few texts beside numbers count as missing numbers
HALF = 0.5  # from this share of numbers on, it is said that the texts among them make texts of all
ORDERED = 3  # fewer distinct numbers have no order to lose, and a gap beside them is one more value
_DIGITS, _ZERO_FIRST = re.compile(r"\d+", re.ASCII), re.compile(r"0\d+", re.ASCII)


@dataclass(frozen=True, eq=False)
class TypedColumn:
    """Distinct values of a raw column, read as numbers or as text."""

    raw: RawColumn
    numbers: npt.NDArray[np.float64] | None
    """Shape ``(n_values,)``: number of each distinct value, NaN where missing; None for texts."""
    missing: npt.NDArray[np.bool_]  # shape ``(n_values,)``: which distinct values mean "missing"
    number_format: str = "plain"  # see `octcore.data.numbers`
    findings: tuple[Finding, ...] = ()
    too_long: str = ""  # the first whole number, if any, that floating point takes for another

    @property
    def name(self) -> str:
        """Name of the column."""
        return self.raw.name

    @property
    def is_date(self) -> bool:
        """Whether the numbers count days."""
        return self.number_format.startswith("date:")

    def used(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Return which of the distinct values stand in some rows."""
        return np.flatnonzero(np.bincount(self.raw.codes[rows], minlength=len(self.missing)))

    def missing_rows(self) -> npt.NDArray[np.bool_]:
        """Return which rows have no value, shape (n_rows,)."""
        return self.missing[self.raw.codes]


def type_column(
    raw: RawColumn, table: RawTable, wanted: Kind | None = None, mark: str | None = None
) -> TypedColumn:
    """Read a column of a table as numbers if it holds numbers, otherwise as text.

    `wanted`: the user's word.  Whole numbers with leading zeros (postcodes, 00123) are codes: they
    stay text unless they are wanted as numbers.  `mark`: `decimal_mark` of the table, if known;
    where it is a comma, points are none.  Texts without a digit among numbers are missing numbers
    where they are few; the user's word decides whether they are.
    """
    values, lines = raw.values, table.lines
    mark = decimal_mark(column.values for column in table.columns) if mark is None else mark
    # Beside decimal points, 80,931 has a mark of thousands, whatever separates the fields.
    delimiter, has_commas = "," if mark == "." else table.delimiter, mark == ","
    missing = np.fromiter(map(MISSING_MARKS.__contains__, values), bool, len(values))
    numbers = np.full(len(values), np.nan)
    present = np.flatnonzero(~missing)
    if len(present) == 0:
        return TypedColumn(raw, None, missing)
    written = [values[i] for i in present] if len(present) < len(values) else values
    are_digits = wanted in (None, "categorical") and all(map(_DIGITS.fullmatch, written))
    if are_digits and (zero_first := next(filter(_ZERO_FIRST.fullmatch, written), None)):
        message = (
            f"has codes with leading zeros ({quote(zero_first)}), which stay text; choose numeric "
            "to read them as numbers."
        )
        kept = of_column(raw.name, "LEADING_ZEROS", message, "info")
        return TypedColumn(raw, None, missing, findings=(kept,))
    numbers[present] = parse_plain(written)
    are_plain = ~np.isnan(numbers)
    odd: list[int] = np.flatnonzero(~(are_plain | missing)).tolist()
    number_format, plain = "plain", np.flatnonzero(are_plain)
    if table.delimiter != "," or has_commas:
        texts = [values[i] for i in plain]
        if points_are_marks(texts, has_commas):
            number_format, numbers[plain] = "decimal-comma", parse(texts, "decimal-comma")
    if not odd:
        findings = _format_findings(raw, number_format)
        column = TypedColumn(raw, numbers, missing, number_format, findings)
        return _with_infinities(column, lines)
    words = [i for i in odd if values[i].lower() in MISSING_WORDS or INFINITE.fullmatch(values[i])]
    texts = sorted({*odd}.difference(words))
    if not texts and len(words) == len(present):
        return TypedColumn(raw, None, missing, findings=_words_kept(raw))
    if texts:
        strays = [i for i in texts if not _has_digit(values[i])]
        rest = sorted({*present.tolist()}.difference(words, strays))
        if len(strays) < len(texts):
            texts_left = [values[index] for index in rest]
            found = detect_format(texts_left, delimiter, has_commas)
            if wanted == "numeric":
                found = found or detect_date(texts_left)
            read = np.nan if found is None else parse(texts_left, found)
            if found is None or np.isnan(read).any():
                return _mixed_or_text(raw, numbers, missing, texts, words, lines, wanted)
            number_format, numbers[rest] = found, read
        if strays:
            return _mixed_or_text(
                raw, numbers, missing, strays, words, lines, wanted, number_format
            )
    for index in words:
        missing[index] = True
        if INFINITE.fullmatch(values[index]):
            numbers[index] = np.inf
    column = TypedColumn(raw, numbers, missing, number_format, _format_findings(raw, number_format))
    return _with_infinities(column, lines)


def typed_once(table: RawTable, kinds: Mapping[str, str]) -> Callable[[RawColumn], TypedColumn]:
    """How columns of a table, some of a stated kind, are typed; what was typed before is kept."""
    mark = decimal_mark(raw.values for raw in table.columns)

    def typed(raw: RawColumn) -> TypedColumn:
        wanted = split_kind(kinds[raw.name], raw.name)[0] if raw.name in kinds else None
        key = raw, wanted, mark
        table.typed[key] = table.typed.get(key) or type_column(raw, table, wanted, mark)
        return table.typed[key]

    return typed


def _has_digit(text: str) -> bool:
    return any(map(str.isdigit, text))


def _with_infinities(column: TypedColumn, lines: npt.NDArray[np.int64]) -> TypedColumn:
    """Count infinite numbers as missing; a whole number that is too long makes texts of all."""
    numbers = column.numbers
    assert numbers is not None
    findings = list(column.findings)
    infinite = np.isinf(numbers)
    if infinite.any():
        rows = np.flatnonzero(infinite[column.raw.codes])
        line = int(lines[rows[0]])
        message = (
            f"has {count(len(rows), 'infinite value')} (line {line}: "
            f"{quote(column.raw.texts()[rows[0]])}), counted as missing."
        )
        findings.append(of_column(column.name, "INFINITE", message, line=line))
        numbers = np.where(infinite, np.nan, numbers)
    too_long = first_rounded(column.raw.values, numbers, column.number_format)
    return replace(
        column,
        numbers=numbers if too_long is None else None,
        missing=column.missing | infinite,
        findings=tuple(findings),
        too_long="" if too_long is None else column.raw.values[too_long],
    )


_FORMATS = {
    "decimal-comma": ("DECIMAL_COMMA", "writes numbers with a decimal comma ({}); converted."),
    "thousands-comma": ("THOUSANDS", "writes numbers with thousands marks ({}); converted."),
    "thousands-space": ("THOUSANDS", "writes numbers with thousands marks ({}); converted."),
    "accounting": (
        "TEXT_NUMBERS",
        "writes numbers as accounts do ({}), those below zero in brackets or with a minus at the "
        "end; converted.",
    ),
    "dressed": (
        "TEXT_NUMBERS",
        "holds numbers with a sign or unit ({}), which were converted to plain numbers; choose "
        "categorical to keep the texts.",
    ),
}
_FORMATS |= {f"{name}-comma": _FORMATS[name] for name in ("accounting", "dressed")}


def _format_findings(raw: RawColumn, number_format: str) -> tuple[Finding, ...]:
    if number_format not in _FORMATS:
        return ()
    example = next((value for value in raw.values if is_marked(value, number_format)), "")
    has_comma = number_format != "decimal-comma" or "," in example
    code, words = _FORMATS[number_format if has_comma else "thousands-comma"]
    bare = next((value for value in raw.values if PLAIN.fullmatch(value)), None)
    if number_format.startswith("dressed") and bare is not None:
        words += f" Numbers without one, such as {quote(bare)}, count as if they had it."
    return (of_column(raw.name, code, words.format(quote(example))),)


def _mixed_or_text(
    raw: RawColumn,
    numbers: npt.NDArray[np.float64],
    missing: npt.NDArray[np.bool_],
    texts: list[int],
    words: list[int],
    lines: npt.NDArray[np.int64],
    wanted: Kind | None,
    number_format: str = "plain",
) -> TypedColumn:
    """Decide between numbers with a few stray texts, and text."""
    if wanted == "categorical":
        return TypedColumn(raw, None, missing)
    rows = np.bincount(raw.codes, minlength=len(raw.values))
    n_numbers, n_texts = int(rows[np.isfinite(numbers)].sum()), int(rows[texts].sum())
    share = n_numbers / max(1, n_numbers + n_texts)
    first = int(np.flatnonzero(np.isin(raw.codes, texts))[0])
    are_words = not any(_has_digit(raw.values[i]) for i in texts)
    has_order = len(np.unique(numbers[np.isfinite(numbers)])) >= ORDERED
    are_bare = not number_format.startswith("dressed")  # 10 mg, 20 mg, placebo
    are_few = share >= MOSTLY_NUMBERS and are_bare
    is_wanted = wanted == "numeric" and are_words
    if not has_order or not (are_few or is_wanted):
        findings = _words_kept(raw)
        if has_order and share >= HALF and are_words:
            message = (
                f"holds numbers, but {n_texts:,} of {len(raw.codes):,} values are "
                f"none, such as {quote(raw.texts()[first])}, and all are read as texts; choose "
                "numeric to count these as missing."
            )
            findings = (of_column(raw.name, "MIXED_TEXT", message),)
        return TypedColumn(raw, None, missing, findings=findings)
    held = "dates" if number_format.startswith("date:") else "numbers"
    finding = of_column(
        raw.name,
        "MIXED_TYPES",
        f"holds {held} but line {lines[first]} has {quote(raw.texts()[first])}; "
        f"{count(n_texts, 'such value')} count{'s' * (n_texts == 1)} as missing. Choose "
        "categorical to keep the texts.",
        line=int(lines[first]),
    )
    absent = missing.copy()
    absent[[*texts, *words]] = True
    numbers = np.where(absent, np.nan, numbers)
    findings = (*_format_findings(raw, number_format), finding)
    return _with_infinities(TypedColumn(raw, numbers, absent, number_format, findings), lines)


def _words_kept(raw: RawColumn) -> tuple[Finding, ...]:
    words = missing_words(raw)
    if not words:
        return ()
    message = (
        f"has {words_in_rows(words)}, which may mean a missing value; it is kept as a category of "
        "its own, as a missing text would be."
    )
    return (of_column(raw.name, "LOOKS_MISSING", message),)


def split_kind(kind: str, name: str) -> tuple[Kind, tuple[str, ...]]:
    """Read a kind as users write it: ``ordinal`` or ``ordinal:small<medium<large``."""
    head, _, order = str(kind).partition(":")
    for known in KINDS:
        if head.strip().lower() == known and (not order or known == "ordinal"):
            return known, tuple(level.strip() for level in order.split("<")) if order else ()
    raise SettingsError(
        "BAD_KIND",
        f"Column {quote(name)} cannot be {quote(kind)}; choose numeric, ordinal, categorical or "
        "binary (ordinal:small<medium<large states an order), or date for dates of a file.",
        "kinds",
    )


def check_binary(name: str, kind: str, n_levels: int) -> None:
    """Refuse a binary column of more than two values."""
    if kind == "binary" and n_levels > 2:
        raise column_refused(name, "NOT_BINARY", f"has {n_levels} values, a binary column has two.")


def check_order(name: str, levels: Iterable[str], order: Sequence[str]) -> None:
    """Refuse levels that the stated order does not name."""
    unknown = [level for level in levels if level not in order]
    if unknown:
        words = f"has {listing(unknown)}, which the stated order of levels does not name."
        raise column_refused(name, "BAD_VALUE", words)


def default_kind(column: TypedColumn, used: npt.NDArray[np.int64]) -> Kind:
    """Apply the rule: two values are binary, numbers are numeric, texts are categorical.

    `used` says which of the distinct values count.
    """
    n_distinct = _count_distinct(column, used)
    if n_distinct == 2:
        return "binary"
    n_present = n_distinct - column.missing[used].any()
    is_ordered = column.numbers is not None and n_present >= ORDERED
    return "numeric" if is_ordered else "categorical"


def finish_column(
    column: TypedColumn, rows: npt.NDArray[np.int64], wanted: str | None
) -> tuple[Column, npt.NDArray[np.float64] | npt.NDArray[np.object_], tuple[Finding, ...]]:
    """Give a column its kind, levels and values on the rows that are kept.

    A missing value among them becomes a level of its own.  `wanted` is the user's word on the kind;
    `DataError` if the values do not allow it.
    """
    codes, used = column.raw.codes[rows], column.used(rows)
    kind, order = (
        split_kind(wanted, column.name) if wanted is not None else (default_kind(column, used), ())
    )
    known = dict(column.raw.aliases)  # an order may name what was merged since, or made a gap
    values = zip(column.raw.values, column.missing, strict=True)
    gone = {v: "" for v, is_gone in values if is_gone and v not in MISSING_MARKS}
    order = tuple(dict.fromkeys(now for level in order if (now := known.get(level, level))))
    check_binary(column.name, kind, _count_distinct(column, used))
    if column.too_long and kind != "categorical":
        words = (
            f"has {quote(column.too_long)}, a whole number too long to be told from its "
            "neighbours; make it categorical or leave it out."
        )
        raise column_refused(column.name, "PRECISION_LOST", words)
    has_missing = bool(column.missing[used].any())
    if column.numbers is not None and kind != "categorical" and not has_missing and not order:
        values = column.numbers[codes]
        levels = () if kind == "numeric" else tuple(np.unique(values).tolist())
        number_format = column.raw.made_of or column.number_format
        known |= {v: "" for v in gone if not PLAIN.fullmatch(v)}
        return Column(column.name, kind, levels, number_format, tuple(known.items())), values, ()
    if kind == "numeric":
        bad = next(v for v in column.raw.values if not PLAIN.fullmatch(v))
        words = f"cannot be numeric, it has {quote(bad)}; make it categorical or leave it out."
        raise column_refused(column.name, "NOT_NUMERIC", words)
    texts = _level_texts(column)
    # New rows may have what only rows that were left out had, which needs a place in an order.
    further = {*texts} - {MISSING_LEVEL} if kind == "ordinal" and not order else set[str]()
    levels, findings = _ordered_levels(column, further.union(texts[i] for i in used), kind, order)
    # 0501 beside 1.5 is the number 501 here, and so it is in new rows.
    taken = zip(column.raw.values, texts, strict=True)
    aliases = tuple((known | {v: t for v, t in taken if CODE.match(v) and v != t} | gone).items())
    described = Column(column.name, kind, levels, column.raw.made_of or "plain", aliases)
    return described, np.array(texts, dtype=object)[codes], findings


def _count_distinct(column: TypedColumn, used: npt.NDArray[np.int64]) -> int:
    gone = column.missing[used]
    present = used[~gone] if column.numbers is None else np.unique(column.numbers[used[~gone]])
    return len(present) + int(gone.any())


def _level_texts(column: TypedColumn) -> list[str]:
    texts = list(column.raw.values)
    if column.numbers is not None and column.number_format == "plain":
        texts = [format_number(number) for number in column.numbers.tolist()]
    return [
        MISSING_LEVEL if gone else text for text, gone in zip(texts, column.missing, strict=True)
    ]


def _ordered_levels(
    column: TypedColumn, texts: set[str], kind: Kind, order: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[Finding, ...]]:
    """Sort levels: as the user says, by their leading number, or by the alphabet."""
    distinct = sorted(texts)
    if order:
        if MISSING_LEVEL in distinct and MISSING_LEVEL not in order:
            order = (*order, MISSING_LEVEL)
        check_order(column.name, distinct, order)
        return order, ()
    leading = {text: re.match(r"\D{0,2}?([+-]?\d+(?:\.\d+)?)", text) for text in distinct}
    numbers = {text: float(match[1]) for text, match in leading.items() if match}
    if len(numbers) == len(distinct):
        return tuple(sorted(distinct, key=numbers.__getitem__)), ()
    if kind != "ordinal":
        return tuple(distinct), ()
    finding = info(
        "ORDINAL_ORDER",
        f"The levels of {quote(column.name)} are ordered by the alphabet: "
        f"{' < '.join(distinct[:8])}; state another order as ordinal:low<medium<high.",
        column=column.name,
    )
    return tuple(distinct), (finding,)
