"""A tree as code that predicts a row without this package.

One expression of nested choices says the class; a row with a gap in a column that is tested, or
with none of its ordered categories, gets none, unless gaps are a category there.  Numbers are
written with all their digits, in the order in which `Tree.predict` computes; a spreadsheet takes
two numbers for one that agree in their first fifteen digits.
"""

import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, NamedTuple, Protocol

import numpy as np

from octcore.data.columns import MISSING_LEVEL, Column
from octcore.data.export import guard_cell
from octcore.data.findings import quote
from octcore.data.numbers import CODE, PLAIN
from octcore.data.text import MISSING_MARKS, clean_text
from octcore.encoding.base import EncodedColumn, Encoding
from octcore.errors import SettingsError
from octcore.tree.tree import Split, Tree

LARGEST = sys.float_info.max


class Form(Protocol):
    """What joins operands to an expression, as a text with ``{0}`` and so on does."""

    def format(self, *operands: str) -> str:
        """Write the expression."""
        ...


def _digits(number: float, spell: Callable[[float], str] = repr) -> str:
    """All digits of a number, in brackets if it is negative."""
    text = spell(float(np.float64(number)))
    return f"({text})" if text[0] == "-" else text


def _double(number: float) -> str:
    """Write a double for SQL, as single floats are compared with a decimal in single precision."""
    return repr(number) if "e" in repr(number) else f"{number!r}e0"


def _r_number(number: float) -> str:
    """Write long numbers in base 16: R may read more than fifteen digits as a neighbour."""
    return repr(number) if float(f"{number:.15g}") == number else number.hex()


class Asked(NamedTuple):
    """A column that a tree asks for."""

    name: str
    is_text: bool
    unit: str = ""  # `Column.unit`

    @property
    def titled(self) -> str:
        """Name with the unit."""
        return f"{self.name} ({self.unit})" if self.unit else self.name


@dataclass(frozen=True)
class Dialect:
    """How a language writes what a tree needs."""

    choose: Form  # condition, then, else
    both: Form
    either: Form
    neither: Form
    equal: Form
    equal_text: Form
    gap: Form
    gap_text: Form  # `gap`, `gap_text`: whether a number, or a text, is missing
    none: str
    column: Callable[[int, str], str]  # ``(number, name)``: value of a column of the row
    text: Callable[[str], str]
    frame: Callable[[str, Sequence[Asked]], str]  # ``(expression, columns)``: the whole text
    truth: Mapping[str, Form] = field(default_factory=dict)
    """Whether a value is true, by the text "True", or false, where `equal_text` does not say it of
    the truth values of the language."""
    greater: Form = "{0} > {1}"
    at_most: Form = "{0} <= {1}"
    plus: Form = "{0} + {1}"
    minus: Form = "({0} - {1})"
    times: Form = "{0} * {1}"
    over: Form = "({0} / {1})"
    group: Form = "({0})"
    number: Callable[[float], str] = _digits
    folds_names: bool = False  # whether names that differ in capitals only are one
    allows: Mapping[str, int] = field(default_factory=dict)  # how many "characters" or "columns"


def _by_name(head: str, line: str, tail: str, quoted: Callable[[str], str], mark: str) -> Any:
    """Frame of a language in which an expression finds the columns of a row by name.

    `line` makes ``number`` or ``text`` of the value of a column; `mark` begins a comment.
    """

    def frame(expression: str, columns: Sequence[Asked]) -> str:
        lines = (
            line.format(quoted(c.name), "text" if c.is_text else "number")
            + (f"  {mark} {c.unit}\n" if c.unit else "\n")
            for c in columns
        )
        return head + "".join(lines) + tail.format(expression)

    return frame


def _declared(head: str, text: str, number: str, tail: str) -> Any:
    """Frame of a language whose function declares its columns, named in a comment before it."""

    def frame(expression: str, columns: Sequence[Asked]) -> str:
        comments = "".join(f"   c{j}: {_in_comment(c.titled)}\n" for j, c in enumerate(columns))
        parameters = ", ".join(f"{(number, text)[c.is_text]}c{j}" for j, c in enumerate(columns))
        body = f"predict({parameters}) {{\n  return {expression};\n}}\n"
        return head.format(comments) + body + tail

    return frame


def _in_comment(name: str) -> str:
    return json.dumps(clean_text(name)).replace("*/", "* /")


def _sql(expression: str, columns: Sequence[Asked]) -> str:
    head = "-- Class of every row; NULL for gaps, and for texts in columns of numbers.\n"
    head += "".join(f"-- {_in_comment(column.titled)}\n" for column in columns if column.unit)
    return f'{head}SELECT *, {expression} AS prediction\nFROM "rows";\n'


def _excel(expression: str, columns: Sequence[Asked]) -> str:
    """Two lines of a sheet: names above cells, where rows are to stand, and the formula."""
    names = [str(guard_cell(clean_text(column.titled))) for column in columns]
    return "\t".join([*names, "prediction"]) + "\n" + "\t" * len(names) + f"={expression}\n"


def _cell(number: int) -> str:
    """Cell of a column in the second line of a sheet."""
    letters = ""
    while number >= 0:
        letters, number = chr(65 + number % 26) + letters, number // 26 - 1
    return letters + "2"


def _excel_text(value: str) -> str:
    """A text of a formula: at most 255 characters a piece, and none that would end the cell."""
    pieces = [value[start : start + 120] for start in range(0, len(value), 120)] or [""]
    written = '"&"'.join(piece.replace('"', '""') for piece in pieces)
    return '"' + re.sub(r"[\x00-\x1f]", lambda m: f'"&CHAR({ord(m[0])})&"', written) + '"'


def _spelled(value: str, kept: str, spell: Callable[[str], str]) -> str:
    """A text between quotes, spelled but for printable ASCII; nothing runs into what follows."""
    plain = (32 <= ord(c) < 127 and c not in kept for c in value)
    return '"' + "".join(c if p else spell(c) for c, p in zip(value, plain, strict=True)) + '"'


def _r_text(value: str) -> str:
    return _spelled(value, '"\\', lambda c: f"\\U{ord(c):08x}")


DIALECTS = {
    "py": Dialect(
        choose="({1} if {0} else {2})", both="{0} and {1}", either="{0} or {1}", neither="not {0}",
        equal="{0} == {1}", equal_text="{0} == {1}",
        gap="{0} is None", gap_text="{0} is None", none="None",
        column=lambda _, name: f"row[{name!r}]", text=repr, allows={"terms of a sum": 2500},
        frame=_by_name(
            "def predict(row):\n"
            '    """Class of a row, numbers and texts by column; None for gaps or no number."""\n'
            "    def number(value):\n"
            "        try:\n            have = float(value)\n"
            "        except (TypeError, ValueError, OverflowError):\n            return None\n"
            "        return have if have - have == 0 and '_' not in str(value) else None\n\n"
            "    def text(value):\n"
            "        if isinstance(value, str):\n"
            "            return value.strip() or None\n"
            "        whole = str(value).removesuffix('.0')\n"
            "        return None if value is None or value != value else whole\n\n"
            "    row = {\n",
            "        {0}: {1}(row[{0}]),", "    }}\n    return {0}\n", repr, "#",
        ),
    ),
    "js": Dialect(
        choose="({0} ? {1} : {2})", both="{0} && {1}", either="{0} || {1}", neither="!{0}",
        equal="{0} === {1}", equal_text="{0} === {1}",
        gap="({0} === null)", gap_text="({0} === null)", none="null",
        column=lambda _, name: f"row[{json.dumps(name)}]", text=json.dumps,
        frame=_by_name(
            "// Class of a row, an object from column to number or text; null for gaps.\n"
            "function predict(row) {\n"
            '  const isGap = (value) => value == null || value === "" || value !== value;\n'
            "  const plain = /^\\s*[+-]?(\\d+\\.?\\d*|\\.\\d+)(e[+-]?\\d+)?\\s*$/i;\n"
            '  const number = (value) => (typeof value === "boolean" || '
            "(plain.test(value) && isFinite(value)) ? Number(value) : null);\n"
            '  const truth = { true: "True", false: "False" };\n'
            '  const text = (value) => (isGap(value) ? null : typeof value === "boolean" '
            "? truth[value] : String(value).trim() || null);\n"
            "  row = {\n",
            "    [{0}]: {1}(row[{0}]),", "  }};\n  return {0};\n}}\n", json.dumps, "//",
        ),
    ),
    "sql": Dialect(
        choose="CASE WHEN {0} THEN {1} ELSE {2} END",
        both="{0} AND {1}", either="{0} OR {1}", neither="NOT {0}",
        equal="{0} = {1}", equal_text="{0} = {1}",
        # NaN is above all numbers, and so are texts in SQLite, which compares +x by its own type.
        gap=f"({{0}} IS NULL OR +{{0}} NOT BETWEEN -{LARGEST} AND {LARGEST})",
        gap_text="({0} IS NULL OR CAST({0} AS CHAR(5)) = '')", none="NULL",
        column=lambda _, name: '"rows"."' + name.replace('"', '""') + '"',
        text=lambda value: "'" + value.replace("'", "''") + "'",
        frame=_sql, folds_names=True, number=lambda number: _digits(number, _double),
        truth={
            text: f"UPPER(CAST({{0}} AS CHAR(5))) IN ('{text.upper()}', '{number}')"
            for text, number in (("True", 1), ("False", 0))
        },
    ),
    "c": Dialect(
        choose="({0} ? {1} : {2})", both="{0} && {1}", either="{0} || {1}", neither="!{0}",
        equal="{0} == {1}", equal_text="({0} && strcmp({0}, {1}) == 0)",
        gap="!isfinite({0})", gap_text="!{0}", none="NULL",
        column=lambda number, _: f"c{number}",
        text=lambda value: _spelled(
            value, '"\\?', lambda c: "".join(f"\\{byte:03o}" for byte in c.encode())
        ),
        frame=_declared(
            "#include <math.h>\n#include <string.h>\n\n"
            "/* Class of a row; NULL for gaps (NAN or NULL).\n{0}*/\nconst char *",
            "const char *", "double ", "",
        ),
    ),
    "java": Dialect(
        choose="({0} ? {1} : {2})", both="{0} && {1}", either="{0} || {1}", neither="!{0}",
        equal="{0} == {1}", equal_text="{1}.equals({0})",
        gap="({0} == null || !Double.isFinite({0}))", gap_text="({0} == null)", none="null",
        column=lambda number, _: f"c{number}", text=json.dumps, allows={"columns": 255},
        frame=_declared(
            "/* Class of a row; null for gaps (null or NaN).\n{0}*/\n"
            "final class DecisionTree {{\nstatic String ",
            "String ", "Double ", "}\n",
        ),
    ),
    "r": Dialect(
        # Rscript breaks lines of 4,096 bytes inside escapes.
        choose="ifelse({0},\n{1}, {2})", both="{0} &\n{1}", either="{0} |\n{1}", neither="!{0}",
        plus="{0} +\n{1}", equal="{0} %in% {1}", equal_text="{0} %in% {1}",
        gap="!is.finite({0})", gap_text="is.na({0})", none="NA_character_",
        column=lambda _, name: f"rows[[{_r_text(name)}]]", text=_r_text,
        frame=_by_name(
            "# Classes of the rows of a data frame; NA for gaps.\n"
            "predict_rows <- function(rows) {\n"
            "  number <- function(v) {\n"
            "    if (!is.numeric(v) && !is.logical(v)) stop(\"a column of numbers is needed\")\n"
            "    as.double(v)\n  }\n"
            "  text <- function(v) {\n"
            "    if (is.null(v)) stop(\"a column is lacking\")\n"
            "    if (is.logical(v)) v <- ifelse(v, \"True\", \"False\")\n"
            "    if (is.numeric(v)) v <- ifelse(is.na(v), NA, sprintf(\"%.15g\", v))\n"
            "    v <- trimws(as.character(v))\n    ifelse(v == \"\", NA_character_, v)\n  }\n",
            "  rows[[{0}]] <- {1}(rows[[{0}]])",
            "  rep_len({0}, nrow(rows))\n}}\n", _r_text, "#",
        ),
        number=lambda number: _digits(number, _r_number),
    ),
    "tsv": Dialect(
        choose="IF({0},{1},{2})", both="AND({0},{1})", either="OR({0},{1})", neither="NOT({0})",
        equal="{0}={1}", equal_text="EXACT({0},{1})",
        gap="NOT(ISNUMBER({0}))", gap_text='{0}=""', none='""', allows={"characters": 8000},
        column=lambda number, _: _cell(number), text=_excel_text, frame=_excel,
        truth={
            text: f'OR(AND({{0}}<>"",{{0}}={text.upper()}()),EXACT({{0}},"{text}"))'
            for text in ("True", "False")
        },
    ),
}  # fmt: skip
"""By the suffix of the file; ``tsv`` is a formula for Excel and other spreadsheets."""


def to_code(
    tree: Tree, encoding: Encoding, language: str | Dialect, columns: Iterable[Column] = ()
) -> str:
    """Write a tree as a function ``predict`` of a row; classes are written as text.

    In SQL it is a query of the table ``rows``, in R a function of a data frame, as ``tsv`` a header
    and a formula for spreadsheets.  `language`: a key of `DIALECTS`, or how another is written.
    `columns` as at training know which numbers the file writes otherwise, such as dates.
    """
    dialect = DIALECTS[language] if isinstance(language, str) else language
    return Writer(tree, encoding, dialect, columns).text()


def asked_columns(tree: Tree, encoding: Encoding, columns: Iterable[Column] = ()) -> list[Asked]:
    """Columns that a tree asks for."""
    used = [encoding.columns[j] for split in tree.splits.values() for j in split.features]
    is_text = {c.raw: bool(c.levels) or isinstance(c.level, str) for c in used}
    units = {c.name: c.unit for c in columns}
    return [Asked(n, is_text[n], units.get(n, "")) for n in encoding.raw_features if n in is_text]


class Writer:
    """An expression in a dialect for what a tree and its parts say."""

    def __init__(
        self, tree: Tree, encoding: Encoding, dialect: Dialect, columns: Iterable[Column] = ()
    ) -> None:
        self.tree, self.encoding, self.dialect = tree, encoding, dialect
        self.asked = asked_columns(tree, encoding, columns)
        self.columns = {column.name: column.is_text for column in self.asked}
        self.gaps = {c.name: {MISSING_LEVEL}.intersection(c.levels) for c in columns}
        # Texts of a file that were taken for another, or for a gap, and so are in new rows.
        self.meant = {
            c.name: (dict.fromkeys(MISSING_MARKS.difference(["", *c.levels]), "") | c.meant).items()
            for c in columns
            if c.number_format == "plain"
        }
        self.longest = 0  # terms of the longest sum; Python reads about 3,000, a level for each

    def text(self) -> str:
        """Write the whole."""
        if self.dialect.folds_names:
            self._refuse_folded()
        expression = self._node(1)
        unanswered = [self._gap(n) for n in self.columns if MISSING_LEVEL not in self._levels(n)]
        unanswered += [self._unknown(name) for name in self.columns if self._of(name)[0].levels]
        if unanswered:
            some = self._group(self.dialect.either, unanswered)
            expression = self.dialect.choose.format(some, self.dialect.none, expression)
        needs = {"characters": len(expression), "columns": len(self.columns)}
        needs["terms of a sum"] = self.longest
        for what, most in self.dialect.allows.items():
            if needs[what] > most:
                message = f"This tree needs {needs[what]:,} {what} in this form, which allows "
                message += f"{most:,}; use a smaller tree or another form."
                raise SettingsError("TOO_LONG", message)
        return self.dialect.frame(expression, self.asked)

    def _refuse_folded(self) -> None:
        folded = [name.casefold() for name in self.encoding.raw_features]
        twice = [name for name in self.columns if folded.count(name.casefold()) > 1]
        if twice:
            message = f"This form does not tell {quote(twice[0])} from a column whose name differs "
            message += "in capitals only; rename one of them."
            raise SettingsError("SAME_NAME", message)

    def _of(self, name: str) -> list[EncodedColumn]:
        return [column for column in self.encoding.columns if column.raw == name]

    def _levels(self, name: str) -> set[Any]:
        """All categories of a column that some part asks for, and gaps, seen in training or not."""
        own = {level for c in self._of(name) for level in (c.level, c.other, *c.levels)}
        return own | self.gaps.get(name, set())

    def _gap(self, name: str) -> str:
        form = self.dialect.gap_text if self.columns[name] else self.dialect.gap
        words = [self._is(name, text) for text in self._gap_texts(name)]
        return self._either([form.format(self._value(name)), *words])

    def _gap_texts(self, name: str) -> list[str]:
        gaps = [t for t, meant in self.meant.get(name, ()) if not meant]
        gaps += self._levels(name) & {MISSING_LEVEL}  # rows of a data set say so
        return [text for text in gaps if self.columns[name] or PLAIN.fullmatch(text)]

    def _is(self, name: str, text: str) -> str:
        """Whether a column holds a text, or the number that it is."""
        if self.columns[name]:
            few = len(self._levels(name) - {None, MISSING_LEVEL}) <= 2
            form = (few and self.dialect.truth.get(text)) or self.dialect.equal_text
            return form.format(self._value(name), self.dialect.text(text))
        return self.dialect.equal.format(self._value(name), self.dialect.number(float(text)))

    def _either(self, parts: Sequence[str]) -> str:
        return parts[0] if len(parts) == 1 else self._group(self.dialect.either, parts)

    def _unknown(self, name: str) -> str:
        """Whether a column holds none of its ordered categories."""
        known = [self._equals(name, str(level)) for level in self._of(name)[0].levels]
        return self.dialect.neither.format(self._group(self.dialect.either, known))

    def _value(self, name: str) -> str:
        return self.dialect.column(list(self.columns).index(name), name)

    def _joined(self, form: Form, parts: Sequence[str]) -> str:
        """Join any number of parts, nested as little as functions of two allow."""
        half = len(parts) // 2
        if not half:
            return parts[0]
        return form.format(self._joined(form, parts[:half]), self._joined(form, parts[half:]))

    def _group(self, form: Form, parts: Sequence[str]) -> str:
        return self.dialect.group.format(self._joined(form, parts))

    def _sum(self, parts: Sequence[str]) -> str:
        """Add in the order of the columns."""
        self.longest = max(self.longest, len(parts))
        return self.dialect.group.format(reduce(self.dialect.plus.format, parts))

    def _node(self, node: int) -> str:
        if node in self.tree.labels:
            return self.dialect.text(str(self.tree.classes[self.tree.labels[node]]))
        right = self._goes_right(self.tree.splits[node])
        return self.dialect.choose.format(right, self._node(2 * node + 1), self._node(2 * node))

    def _goes_right(self, split: Split) -> str:
        if split.is_univariate and split.weights[0][1] == 1.0:
            column = self.encoding.columns[split.features[0]]
            if column.is_binary and 0 <= split.threshold < 1:
                return self._holds(column)
        return self.dialect.greater.format(self._score(split), self.dialect.number(split.threshold))

    def _score(self, split: Split) -> str:
        """What a split compares with its threshold."""
        values = [self._number(self.encoding.columns[j]) for j in split.features]
        if split.is_univariate and split.weights[0][1] == 1.0:
            return values[0]
        weights = [self.dialect.number(weight) for _, weight in split.weights]
        parts = [*map(self.dialect.times.format, values, weights)]
        return self._sum(parts or [self.dialect.number(0.0)])

    def _holds(self, column: EncodedColumn) -> str:
        """What a binary column says, as a condition."""
        if column.kind == "level":
            return self._equals(column.raw, column.level)
        value, number = self._raw_number(column), self.dialect.number
        ends = (self.dialect.greater, column.lower), (self.dialect.at_most, column.upper)
        parts = [form.format(value, number(end)) for form, end in ends if end is not None]
        always = self.dialect.greater.format(number(1.0), number(0.0))
        return self._group(self.dialect.both, parts or [always])

    def _equals(self, name: str, level: Any) -> str:
        if level == MISSING_LEVEL:
            return self._gap(name)
        if isinstance(level, str):
            return self._either([self._is(name, text) for text in self._texts(name, level)])
        return self.dialect.equal.format(self._value(name), self.dialect.number(float(level)))

    def _texts(self, name: str, level: str) -> list[str]:
        """Texts that mean a category."""
        also = [text for text, meant in self.meant.get(name, ()) if meant == level]
        # Files have 1.0 for a whole number beside gaps; databases and sheets compare numbers.
        if not self.dialect.truth:
            also += [f"{t}.0" for t in (level, *also) if t.isdecimal() and not CODE.match(t)]
        return [t for t in (level, *also) if t not in self._levels(name) - {level}]

    def _number(self, column: EncodedColumn) -> str:
        if column.is_binary:
            return self._one_if(self._holds(column))
        value, number = self._raw_number(column), self.dialect.number
        if column.shift == 0.0 and column.scale == 1.0:
            return value
        distance = self.dialect.minus.format(value, number(column.shift))
        return self.dialect.over.format(distance, number(column.scale))

    def _one_if(self, condition: str) -> str:
        return self.dialect.choose.format(condition, *map(self.dialect.number, (1.0, 0.0)))

    def _raw_number(self, column: EncodedColumn) -> str:
        """Raw value as a number; an ordered category is its rank."""
        if not column.levels:
            return self._value(column.raw)
        parts = [
            self.dialect.times.format(
                self._one_if(self._equals(column.raw, str(level))), self.dialect.number(rank)
            )
            for rank, level in enumerate(column.levels)
        ]
        return self._sum(parts)
