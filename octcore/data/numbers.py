"""Numbers as people write them: plain, decimal comma, thousands marks, currency, per cent, dates.

A column's way of writing is a *number format*, a short text kept with the column so that new rows
are read in the same way:

``plain``, ``decimal-comma``, ``thousands-comma``, ``thousands-space``, ``accounting`` ((12.5) and
12.5- are below zero), ``dressed`` (with a sign or unit), ``accounting-comma``, ``dressed-comma``
(and points that mark thousands), ``date:YYYY-MM-DD:dmy`` (days since that date; the last part is
the order of 3/4/2026).

A column that is a part of the dates of another one has ``year:dmy:COLUMN``, ``month:dmy:COLUMN``
or ``weekday:dmy:COLUMN``.
"""

import math
import re
from collections.abc import Iterable, Sequence
from datetime import date
from typing import Any

import numpy as np
import numpy.typing as npt

from octcore.data.findings import refuse_rows

FEW_NUMBERS = 10  # up to so many distinct numbers a column has all its thresholds, whatever q is
LOOKED_AT = 100  # values of a column that tell how the numbers of a table are written
EXACT = 2.0**53  # from here on floating point does not hold every whole number
PLAIN = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
CODE = re.compile(r"[+-]?0\d")  # 01 is another code than 1
INFINITE = re.compile(r"[+-]?inf(?:inity)?|[+-]?∞", re.IGNORECASE)
_POINTS = r"[1-9]\d{0,2}(?:\.\d{3})+"
_COMMA = re.compile(rf"[+-]?(?:(?:\d+|{_POINTS})?,\d+(?:[eE][+-]?\d+)?|{_POINTS})", re.ASCII)
_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:,\d{3})+(?:\.\d*)?", re.ASCII)
_SURE_THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2}(?:(?:,\d{3}){2,}(?:\.\d*)?|,\d{3}\.\d*)", re.ASCII)
_GAPS = " '’\u00a0\u2009\u202f"  # that part thousands
_SPACES = rf"[1-9]\d{{0,2}}(?:[{_GAPS}]\d{{3}})+"
_SPACED = re.compile(rf"[+-]?(?:{_SPACES}|\d+(?=,))(?:[.,]\d+)?", re.ASCII)
_BOOKED, _BOOKED_COMMA = (
    rf"(?:[1-9]\d{{0,2}}(?:[{mark}{_GAPS}]\d{{3}})+|\d+)(?:[{point}]\d+)?"
    for mark, point in (",.", ".,")
)
MARKED = {
    "decimal-comma": (_COMMA, "."),
    "thousands-comma": (_THOUSANDS, ","),
    "thousands-space": (_SPACED, _GAPS),
    "dressed-comma": (_COMMA, "."),
    "accounting": (re.compile(rf"\({_BOOKED}\)|{_BOOKED}-?", re.ASCII), f",()-{_GAPS}"),
    "accounting-comma": (
        re.compile(rf"\({_BOOKED_COMMA}\)|{_BOOKED_COMMA}-?", re.ASCII), f".()-{_GAPS}",
    ),
}  # fmt: skip
"""What a marked number of a format looks like, and the marks that go before a comma is a point."""
_POINTED, _COMMAS = (
    ("plain", "thousands-comma", "accounting", "dressed"),
    ("decimal-comma", "decimal-comma", "accounting-comma", "dressed-comma"),
)
OTHER_MARK = {
    ",": dict(zip(_POINTED, _COMMAS, strict=True)),
    ".": dict(zip(_COMMAS, _POINTED, strict=True)),
}
"""By the decimal mark of new rows the format that a format of the other mark becomes."""
_SIGN = r"[$€£¥₹%‰°]"
_MONEY = r"[A-Z]{3}|kr|Kč|zł|Rs\.?|[A-Z]{1,2}\$"
_UNIT = r"[A-Za-zµ°²³/]{1,6}"
_NUMBER = (
    rf"(?:{_POINTS}(?=,)|[1-9]\d{{0,2}}(?:\.\d{{3}}){{2,}}|\d{{1,3}}(?:,\d{{3}})+|{_SPACES}|\d+)?"
    r"(?:[.,]\d+)?(?:[eE][+-]?\d+)?"
)
DRESSED = re.compile(
    rf"(?P<sign>[+-]?)\s?(?P<before>{_SIGN}|{_MONEY})?\s?(?P<inner>[+-]?)(?P<number>{_NUMBER})"
    rf"\s?(?P<after>{_SIGN}|{_UNIT})?"
)
_BRACKETS = re.compile(r"^(\D*)\(([^()]*)\)$")
_DATE = re.compile(
    r"(?:\d{4}([-/.])\d{1,2}\1\d{1,2}|\d{1,2}([-/.])\d{1,2}\2(?:\d{4}|\d\d(?<!-\d\d)))"
    r"(?:[T ]\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d| ?[AaPp][Mm])?)?"
)
"""Year first or last, of 26-03-04 nobody knows; a time of the day does not count."""
_VERSION = re.compile(r"(?:[1-9]|1[0-2])\.[1-9]\d?\.[1-9]\d")
"""Of a day of the month, too, but dates have days after the twelfth, or zeros in front of some."""
DATE_PARTS = ("year", "month", "weekday")
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_SMALL = re.compile(r"[+-]?\d{1,3}", re.ASCII)
_PLAIN_CHARACTERS = b"0123456789+-.eE"


def parse_plain(texts: Sequence[str]) -> npt.NDArray[np.float64]:
    """Read plain numbers; NaN where a text is none (``inf`` only for overflow such as 1e999)."""
    try:
        # float() takes more than we do (1_000, nan), so look at the characters first.
        if not "".join(texts).encode().translate(None, _PLAIN_CHARACTERS):
            return np.fromiter(map(float, texts), dtype=np.float64, count=len(texts))
    except ValueError:
        pass
    return np.array(
        [float(text) if PLAIN.fullmatch(text) else math.nan for text in texts], dtype=np.float64
    )


def parse(texts: Sequence[str], number_format: str) -> npt.NDArray[np.float64]:
    """Read texts in a number format; NaN where a text does not fit it."""
    if number_format == "plain":
        return parse_plain(texts)
    if number_format.startswith("date:"):
        _, first_day, order = number_format.split(":")
        first = date.fromisoformat(first_day)
        days = [_read_date(text, order) for text in texts]
        return np.array([math.nan if day is None else (day - first).days for day in days], float)
    return np.array([float(_plain(text, number_format)) for text in texts], dtype=np.float64)


def _plain(text: str, number_format: str) -> str:
    """Write a text as a plain number; ``nan`` where it does not fit its format."""
    shape, marks = MARKED.get(number_format, (None, ""))
    if shape and shape.fullmatch(text):  # first: where commas are decimal, 1.200 is no 1.2
        sign = "-" * (text[0] == "(" or text[-1] == "-")
        return sign + text.translate(dict.fromkeys(map(ord, marks))).replace(",", ".")
    if PLAIN.fullmatch(text):
        return text
    return _undress(text, number_format) if number_format.startswith("dressed") else "nan"


def is_marked(text: str, number_format: str) -> bool:
    """Whether a number is written otherwise than as a plain one."""
    return _plain(text, number_format) not in (text, "nan")


def points_are_marks(texts: Sequence[str], has_commas: bool = False) -> bool:
    """Whether the points of plain numbers mark thousands: 1.200 beside 950; commas are asked alike.

    Three digits follow every point and numbers without one are below 1,000.  Were the points
    decimal, zeros at the end would be written in some numbers and left out in the whole ones; or
    other columns of the table have decimal commas.
    """
    pointed = [text for text in texts if "." in text]
    whole = [text for text in texts if "." not in text]
    return (
        bool(pointed)
        and (has_commas or (bool(whole) and any(text.endswith("0") for text in pointed)))
        and all(_COMMA.fullmatch(text) for text in pointed)
        and all(_SMALL.fullmatch(text) for text in whole)
    )


def decimal_mark(columns: Iterable[Sequence[str]]) -> str:
    """The comma or point that marks decimals, and surely no thousands, in most texts of a column.

    Of those looked at; the comma if columns differ, the empty text if no column tells.
    """
    some = [texts[:LOOKED_AT] for texts in columns]
    for mark in ",.":
        shape = re.compile(rf"[+-]?(?:\d+[{mark}](?:\d{{1,2}}|\d{{4,}})|0[{mark}]\d+)", re.ASCII)
        told = ([t for t in own if mark in t and shape.fullmatch(t)] for own in some)
        if any(2 * len(texts) > len(own) for texts, own in zip(told, some, strict=True)):
            return mark
    return ""


def _dress(text: str) -> re.Match[str] | None:
    """Sign, unit and number of a text; accounts write ($12) or $(12) for -$12."""
    match = DRESSED.fullmatch(_BRACKETS.sub(r"-\1\2", text))
    if match is None or ("(" in text and not (match["before"] or match["after"])):
        return None  # (12) alone may number things
    return match


def _undress(text: str, number_format: str) -> str:
    match = _dress(text)
    if match is None or not match["number"]:
        return "nan"
    number, is_usual = match["number"], number_format == "dressed"
    marked = "thousands-space" if _SPACED.fullmatch(number) else "decimal-comma"
    marked = "thousands-comma" if is_usual and _THOUSANDS.fullmatch(number) else marked
    number = number if is_usual and PLAIN.fullmatch(number) else _plain(number, marked)
    if not PLAIN.fullmatch(number):
        return "nan"
    return f"-{number}" if "-" in (match["sign"], match["inner"]) else number


_WHOLE = re.compile(r"([+-]?\d+)\.?0*", re.ASCII)


def first_rounded(
    values: npt.ArrayLike, numbers: npt.NDArray[np.float64], number_format: str = "plain"
) -> int | None:
    """Position of the first whole number that floating point takes for another one, or None.

    `values` are the numbers or texts as they came.
    """
    with np.errstate(invalid="ignore"):
        large = np.flatnonzero(np.isfinite(numbers) & (np.abs(numbers) >= EXACT))
    if not len(large):
        return None
    came = np.asarray(values, dtype=object)
    rounded = (i for i in large if _whole(came[i], number_format, numbers[i]) != int(numbers[i]))
    return next((int(i) for i in rounded), None)


def _whole(value: Any, number_format: str, read: float) -> int:
    """Whole number that was meant; what was read where another sort of number came."""
    if not isinstance(value, str):
        return int(value)
    match = _WHOLE.fullmatch(_plain(value, number_format))
    return int(read) if match is None else int(match[1])


def refuse_rounded(
    name: str, values: npt.ArrayLike, numbers: npt.NDArray[np.float64], number_format: str = "plain"
) -> None:
    """Refuse whole numbers that floating point takes for others (``PRECISION_LOST``)."""
    row = first_rounded(values, numbers, number_format)
    if row is not None:
        shown = np.asarray(values, dtype=object)[row]
        refuse_rows(
            np.arange(len(numbers)) == row,
            name,
            "PRECISION_LOST",
            f"has {shown}, a whole number too long to be told from its neighbours; subtract a "
            "constant from the column, make it text or leave it out",
        )


def _dressed_format(texts: Sequence[str], delimiter: str, has_commas: bool) -> str | None:
    """The one of two formats in which half of the texts at least have the same sign or unit."""
    plain = [text for text in texts if PLAIN.fullmatch(text)]
    found = [_dress(text) for text in texts if not PLAIN.fullmatch(text)]
    bare = [match["number"] for match in found if match and match["number"]]
    same = {(match["before"] or "", match["after"] or "") for match in found if match}
    if len(bare) < max(len(found), len(plain)) or len(same) != 1:
        return None
    has_commas |= any(_COMMA.fullmatch(n) and not _THOUSANDS.fullmatch(n) for n in bare if "," in n)
    simple = [number for number in (*plain, *bare) if PLAIN.fullmatch(number)]
    points = delimiter != "," and points_are_marks(simple, has_commas)
    return "dressed-comma" if points or any(n.count(".") > 1 for n in bare) else "dressed"


def detect_format(texts: Sequence[str], delimiter: str, has_commas: bool = False) -> str | None:
    """Say in which format all of the texts are numbers, or None.

    The texts are distinct, neither missing nor infinite, and at least one of them is not plain.  A
    comma inside a file that is not separated by commas is first taken as decimal.  `has_commas`:
    whether columns of the table have decimal commas.
    """
    odd = [text for text in texts if not PLAIN.fullmatch(text)]
    grouped = all(_THOUSANDS.fullmatch(text) for text in odd)
    sure = grouped and any(_SURE_THOUSANDS.fullmatch(text) for text in odd)
    points = [text.replace(",", ".") for text in texts]
    if sure or (grouped and (delimiter == "," or (not has_commas and points_are_marks(points)))):
        return "thousands-comma"
    # (1), (2), (3) number things: some must be above zero.
    has_above = not all(text[0] == "(" or text[-1] == "-" for text in texts)
    commas = has_commas or (delimiter != "," and any("," in text for text in odd))
    booked = ("accounting-comma", "accounting")[:: 1 if commas else -1] if has_above else ()
    for number_format in ("decimal-comma", "thousands-space", *booked):
        if all(MARKED[number_format][0].fullmatch(text) for text in odd):
            return number_format
    return _dressed_format(texts, delimiter, has_commas) or detect_date(texts, are_meant=False)


def detect_date(texts: Sequence[str], are_meant: bool = True) -> str | None:
    """Return ``date:`` with first day and order if all texts are dates, or None.

    `are_meant`: whether texts that may be versions such as 1.2.10 are dates by the user's word.
    """
    if not are_meant and all(map(_VERSION.fullmatch, texts)):
        return None
    # Whether 03/04/2026 starts with the day or the month, values tell that can be one only.
    firsts = (re.match(r"(\d{1,2})/\d{1,2}/\d\d", text) for text in texts)
    order = "dmy" if any(first and int(first[1]) > 12 for first in firsts) else "mdy"
    days = []
    for text in texts:
        day = _read_date(text, order)
        if day is None:
            return None
        days.append(day)
    return f"date:{min(days).isoformat()}:{order}" if days else None


def date_parts(texts: Iterable[str], number_format: str) -> list[str]:
    """Write a part of every date: 2026, 3 or Tuesday; a word is a gap, all else stays as it is."""
    part, order, _ = number_format.split(":", 2)
    days = [(t if any(map(str.isdigit, t)) else "", _read_date(t, order)) for t in texts]
    if part == "weekday":
        return [text if day is None else WEEKDAYS[day.weekday()] for text, day in days]
    return [text if day is None else str(getattr(day, part)) for text, day in days]


def slashed_order(texts: Iterable[str], number_format: str) -> str:
    """Say how dates with slashes are read, ``, dates with day first``; nothing without any."""
    if not any("/" in text for text in texts):
        return ""
    how = {"dmy": "day first", "mdy": "month first", "ymd": "year first"}
    return f", dates with {how[number_format.rpartition(':')[2]]}"


def source_of_part(number_format: str) -> str | None:
    """Name of the column of dates of which a column is a part; None for other columns."""
    part, _, rest = number_format.partition(":")
    return rest.partition(":")[2] if part in DATE_PARTS else None


def _read_date(text: str, slashed_order: str) -> date | None:
    match = _DATE.fullmatch(text)
    if match is None:
        return None
    numbers = [int(part) for part in re.findall(r"\d+", text)[:3]]
    order = "ymd" if match[1] else slashed_order if match[2] == "/" else "dmy"
    year, month, day = (numbers[order.index(letter)] for letter in "ymd")
    if year < 30 or 69 <= year < 100:  # of 30 to 68, spreadsheets and C make different centuries
        year += 2000 if year < 30 else 1900
    try:
        return date(year, month, day) if year > 100 else None
    except ValueError:
        return None


def format_number(value: float) -> str:
    """Write a number as a category name: whole numbers without a decimal point."""
    return str(int(value)) if value.is_integer() and abs(value) < 2.0**53 else repr(float(value))


def spelling(text: str) -> str | float:
    """Return what all spellings of one value share: the number of 1 and 1.0, else the text."""
    return float(text) if PLAIN.fullmatch(text) and not CODE.match(text) else text
