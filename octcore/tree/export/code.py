"""A tree as code that predicts a row without this package: Python, JavaScript, SQL and C.

One expression of nested choices says the class; a row with a gap in a column that is tested, or
with none of its ordered categories, gets none, unless gaps are a category there.  Numbers are
written with all their digits, in the order in which `Tree.predict` computes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from octcore.data.columns import MISSING_LEVEL
from octcore.data.text import clean_text
from octcore.encoding.base import EncodedColumn, Encoding
from octcore.tree.tree import Split, Tree


@dataclass(frozen=True)
class Dialect:
    """How a language writes what a tree needs; ``{0}`` and so on are operands."""

    choose: str
    """Condition, then, else."""
    both: str
    either: str
    neither: str
    equal: str
    equal_text: str
    gap: str
    gap_text: str
    """`gap`, `gap_text`: whether a number, or a text, is missing."""
    none: str
    column: Callable[[int, str], str]
    """``(number, name)``: value of a column of the row."""
    text: Callable[[str], str]
    frame: Callable[[str, Sequence[tuple[str, bool]]], str]
    """``(expression, columns)``: the whole text; of every column its name and whether it is
    text."""


def _python(expression: str, columns: Sequence[tuple[str, bool]]) -> str:
    return (
        "def predict(row):\n"
        '    """Class of a row, a mapping from column to number or text; None for gaps."""\n'
        f"    return {expression}\n"
    )


def _javascript(expression: str, columns: Sequence[tuple[str, bool]]) -> str:
    return (
        "// Class of a row, an object from column to number or text; null for gaps.\n"
        f"function predict(row) {{\n  return {expression};\n}}\n"
    )


def _sql(expression: str, columns: Sequence[tuple[str, bool]]) -> str:
    return f'SELECT *, {expression} AS prediction\nFROM "rows";\n'


def _c(expression: str, columns: Sequence[tuple[str, bool]]) -> str:
    comments = "".join(
        f"   c{j}: {json.dumps(clean_text(name)).replace('*/', '* /')}\n"
        for j, (name, _) in enumerate(columns)
    )
    parameters = ", ".join(
        f"const char *c{j}" if is_text else f"double c{j}" for j, (_, is_text) in enumerate(columns)
    )
    return (
        "#include <math.h>\n#include <string.h>\n\n"
        f"/* Class of a row; NULL for gaps (NAN or NULL).\n{comments}*/\n"
        f"const char *predict({parameters or 'void'}) {{\n  return {expression};\n}}\n"
    )


DIALECTS = {
    "py": Dialect(
        choose="({1} if {0} else {2})", both="{0} and {1}", either="{0} or {1}", neither="not {0}",
        equal="{0} == {1}", equal_text="{0} == {1}",
        gap="({0} is None or {0} != {0})", gap_text="({0} is None or {0} != {0})", none="None",
        column=lambda _, name: f"row[{name!r}]", text=repr, frame=_python,
    ),
    "js": Dialect(
        choose="({0} ? {1} : {2})", both="{0} && {1}", either="{0} || {1}", neither="!{0}",
        equal="{0} === {1}", equal_text="{0} === {1}",
        gap="({0} == null || {0} !== {0})", gap_text="({0} == null)", none="null",
        column=lambda _, name: f"row[{json.dumps(name)}]", text=json.dumps, frame=_javascript,
    ),
    "sql": Dialect(
        choose="CASE WHEN {0} THEN {1} ELSE {2} END",
        both="{0} AND {1}", either="{0} OR {1}", neither="NOT {0}",
        equal="{0} = {1}", equal_text="{0} = {1}",
        gap="{0} IS NULL", gap_text="{0} IS NULL", none="NULL",
        column=lambda _, name: '"' + name.replace('"', '""') + '"',
        text=lambda value: "'" + value.replace("'", "''") + "'", frame=_sql,
    ),
    "c": Dialect(
        choose="({0} ? {1} : {2})", both="{0} && {1}", either="{0} || {1}", neither="!{0}",
        equal="{0} == {1}", equal_text="({0} && strcmp({0}, {1}) == 0)",
        gap="isnan({0})", gap_text="!{0}", none="NULL",
        column=lambda number, _: f"c{number}",
        text=lambda value: '"' + "".join(_c_byte(b) for b in value.encode()) + '"', frame=_c,
    ),
}  # fmt: skip
"""By the suffix of the file."""


def _c_byte(byte: int) -> str:
    """A byte of a text of C; three octal digits never run into what follows."""
    plain = 32 <= byte < 127 and chr(byte) not in '"\\?'
    return chr(byte) if plain else f"\\{byte:03o}"


def to_code(tree: Tree, encoding: Encoding, language: str) -> str:
    """Write a tree as code.

    Parameters
    ----------
    language : str
        A key of `DIALECTS`.  Classes are written as text.

    Returns
    -------
    str
        A function ``predict`` of a row; of SQL a query of the table ``rows``.
    """
    return _Writer(tree, encoding, DIALECTS[language]).text()


def asked_columns(tree: Tree, encoding: Encoding) -> list[tuple[str, bool]]:
    """Columns that a tree asks for, and whether they hold text."""
    used = [encoding.columns[j] for split in tree.splits.values() for j in split.features]
    is_text = {c.raw: bool(c.levels) or isinstance(c.level, str) for c in used}
    return [(name, is_text[name]) for name in encoding.raw_features if name in is_text]


class _Writer:
    def __init__(self, tree: Tree, encoding: Encoding, dialect: Dialect) -> None:
        self.tree, self.encoding, self.dialect = tree, encoding, dialect
        self.columns = dict(asked_columns(tree, encoding))

    def text(self) -> str:
        expression = self._node(1)
        unanswered = [self._gap(name) for name in self.columns if not self._has_gap_level(name)]
        unanswered += [self._unknown(name) for name in self.columns if self._of(name)[0].levels]
        if unanswered:
            some = self._joined(self.dialect.either, unanswered)
            expression = self.dialect.choose.format(some, self.dialect.none, expression)
        return self.dialect.frame(expression, list(self.columns.items()))

    def _of(self, name: str) -> list[EncodedColumn]:
        return [column for column in self.encoding.columns if column.raw == name]

    def _has_gap_level(self, name: str) -> bool:
        return any(MISSING_LEVEL in (column.level, column.other) for column in self._of(name))

    def _gap(self, name: str) -> str:
        form = self.dialect.gap_text if self.columns[name] else self.dialect.gap
        return form.format(self._value(name))

    def _unknown(self, name: str) -> str:
        """Whether a column holds none of its ordered categories."""
        known = [self._equals(name, str(level)) for level in self._of(name)[0].levels]
        return self.dialect.neither.format(self._joined(self.dialect.either, known))

    def _value(self, name: str) -> str:
        return self.dialect.column(list(self.columns).index(name), name)

    def _joined(self, form: str, parts: Sequence[str]) -> str:
        found = parts[0]
        for part in parts[1:]:
            found = form.format(found, part)
        return f"({found})"

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
            return f"{self._number(column)} > {_digits(split.threshold)}"
        parts = [
            f"{self._number(self.encoding.columns[j])} * {_digits(weight)}"
            for j, weight in split.weights
        ]
        return f"{self._joined('{0} + {1}', parts)} > {_digits(split.threshold)}"

    def _holds(self, column: EncodedColumn) -> str:
        """What a binary column says, as a condition."""
        if column.kind == "level":
            return self._equals(column.raw, column.level)
        value, parts = self._raw_number(column), []
        if column.lower is not None:
            parts.append(f"{value} > {_digits(column.lower)}")
        if column.upper is not None:
            parts.append(f"{value} <= {_digits(column.upper)}")
        return self._joined(self.dialect.both, parts or ["1 > 0"])

    def _equals(self, name: str, level: Any) -> str:
        if level == MISSING_LEVEL:
            return self._gap(name)
        if isinstance(level, str):
            return self.dialect.equal_text.format(self._value(name), self.dialect.text(level))
        return self.dialect.equal.format(self._value(name), _digits(float(level)))

    def _number(self, column: EncodedColumn) -> str:
        """Value of an encoded column."""
        if column.is_binary:
            return self.dialect.choose.format(self._holds(column), "1.0", "0.0")
        value = self._raw_number(column)
        if column.shift == 0.0 and column.scale == 1.0:
            return value
        return f"(({value} - {_digits(column.shift)}) / {_digits(column.scale)})"

    def _raw_number(self, column: EncodedColumn) -> str:
        """Raw value as a number; an ordered category is its rank."""
        if not column.levels:
            return self._value(column.raw)
        *ranks, last = range(len(column.levels))
        found = _digits(float(last))
        for rank in reversed(ranks):
            same = self._equals(column.raw, str(column.levels[rank]))
            found = self.dialect.choose.format(same, _digits(float(rank)), found)
        return found


def _digits(number: float) -> str:
    """All digits of a number, in brackets if it is negative."""
    text = repr(float(np.float64(number)))
    return f"({text})" if text[0] == "-" else text
