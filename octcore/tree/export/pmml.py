"""A tree as PMML 4.4: a TreeModel, in which a score of several columns is a field of its own."""

import re
from collections.abc import Iterable, Sequence
from typing import Any
from xml.sax.saxutils import quoteattr

from octcore.data.columns import MISSING_LEVEL, Column
from octcore.data.text import free_name
from octcore.encoding.base import EncodedColumn, Encoding
from octcore.errors import SettingsError
from octcore.tree.export.code import Dialect, Writer
from octcore.tree.tree import Split, Tree


def to_pmml(tree: Tree, encoding: Encoding, columns: Iterable[Column] = ()) -> str:
    """Write a tree as PMML; a row without a class (see `to_code`) has no true child there."""
    return _Model(tree, encoding, FORMULAS, columns).text()


FORMULAS = Dialect(
    choose='<Apply function="if">{0}{1}{2}</Apply>', both='<Apply function="and">{0}{1}</Apply>',
    either='<Apply function="or">{0}{1}</Apply>', neither='<Apply function="not">{0}</Apply>',
    equal='<Apply function="equal">{0}{1}</Apply>', equal_text="",
    gap='<Apply function="isMissing">{0}</Apply>',
    gap_text='<Apply function="isMissing">{0}</Apply>', none="",
    column=lambda _, name: f"<FieldRef field={quoteattr(name)}/>",
    text=str, frame=lambda expression, _: expression,
    greater='<Apply function="greaterThan">{0}{1}</Apply>',
    at_most='<Apply function="lessOrEqual">{0}{1}</Apply>',
    minus='<Apply function="-">{0}{1}</Apply>',
    times='<Apply function="*">{0}{1}</Apply>', over='<Apply function="/">{0}{1}</Apply>',
    group="{0}", number=lambda value: f'<Constant dataType="double">{float(value)!r}</Constant>',
)  # fmt: skip
"""Formulas of derived fields."""
NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What no file of XML 1.0 may hold."""


class _Model(Writer):
    """The elements of the file."""

    def text(self) -> str:
        self.derived: list[str] = []
        filled = [name for name in self.columns if MISSING_LEVEL not in self._levels(name)]
        answered = [_compared(name, "isNotMissing") for name in filled]
        for name in self.columns:
            levels = [self._is_level(name, level) for level in self._of(name)[0].levels]
            answered += [_joined(levels, "or")] if levels else []
        tree = self._below(1, _joined(answered))
        target = free_name("class", self.columns, "_")
        values = "".join(f"<Value value={quoteattr(str(c))}/>" for c in self.tree.classes)
        fields = [
            _field(c.name, *_KINDS[c.is_text], self._gaps(c.name), title=c.titled if c.unit else "")
            for c in self.asked
        ]
        fields.append(_field(target, "categorical", "string", values))
        mined = [f"<MiningField name={quoteattr(name)}/>" for name in self.columns]
        parts = [
            '<?xml version="1.0" encoding="UTF-8"?>',
            '<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4">',
            '<Header description="A decision tree"><Application name="octcore"/></Header>',
            f'<DataDictionary numberOfFields="{len(fields)}">', *fields, "</DataDictionary>",
            '<TreeModel functionName="classification" missingValueStrategy="none" '
            'noTrueChildStrategy="returnNullPrediction" splitCharacteristic="multiSplit">',
            "<MiningSchema>", *mined, f'<MiningField name="{target}" usageType="target"/>',
            "</MiningSchema>", "<LocalTransformations>", *self.derived, "</LocalTransformations>",
            "<Node><True/>", tree, "</Node>", "</TreeModel>", "</PMML>",
        ]  # fmt: skip
        written = "\n".join(parts) + "\n"
        if NO_XML.search(written):
            message = "A name or class holds a control character, which XML cannot; rename it."
            raise SettingsError("NO_XML", message)
        return written

    def _sum(self, parts: Sequence[str]) -> str:
        # One function: readers give up where functions of two numbers stand deep inside each other.
        return f'<Apply function="sum">{"".join(parts)}</Apply>'

    def _gap(self, name: str) -> str:
        return self.dialect.gap.format(self._value(name))

    def _gaps(self, name: str) -> str:
        """Texts that are gaps, which `isMissing` knows by their field."""
        marks = map(quoteattr, self._gap_texts(name))
        return "".join(f'<Value value={mark} property="missing"/>' for mark in marks)

    def _is(self, name: str, text: str) -> str:
        """Compare a text as an attribute: some readers take a part of one between tags for all."""
        is_it = f"NormDiscrete field={quoteattr(name)} value={quoteattr(text)}"
        return self.dialect.equal.format(f'<{is_it} mapMissingTo="0"/>', FORMULAS.number(1.0))

    def _below(self, node: int, predicate: str) -> str:
        """A node with what is below it; a row goes to the first child that is true."""
        if node in self.tree.labels:
            label = quoteattr(str(self.tree.classes[self.tree.labels[node]]))
            return f'<Node id="{node}" score={label}>{predicate}</Node>'
        right = self._predicate(node, self.tree.splits[node])
        below = [self._below(2 * node + 1, right), self._below(2 * node, "<True/>")]
        return "\n".join([f'<Node id="{node}">{predicate}', *below, "</Node>"])

    def _predicate(self, node: int, split: Split) -> str:
        """Say which rows go right: by the column itself, or by a field made for the split."""
        column = self.encoding.columns[split.features[0]] if split.features else None
        plain = split.is_univariate and split.weights[0][1] == 1.0
        if column is not None and plain and not column.levels:
            if column.is_binary and 0 <= split.threshold < 1:
                return self._is_one(column)
            if (column.shift, column.scale) == (0.0, 1.0) and not column.is_binary:
                return _compared(column.raw, "greaterThan", split.threshold)
        name = free_name(f"split {node}", self.columns, "_")
        self.derived.append(_field(name, "continuous", "double", self._score(split), "Derived"))
        return _compared(name, "greaterThan", split.threshold)

    def _is_one(self, column: EncodedColumn) -> str:
        if column.kind == "level":
            return self._is_level(column.raw, column.level)
        ends = [("greaterThan", column.lower), ("lessOrEqual", column.upper)]
        return _joined([_compared(column.raw, way, end) for way, end in ends if end is not None])

    def _is_level(self, name: str, level: Any) -> str:
        if level == MISSING_LEVEL:
            return _compared(name, "isMissing")
        texts = self._texts(name, level) if isinstance(level, str) else [level]
        return _joined([_compared(name, "equal", text) for text in texts], "or")


_KINDS = {True: ("categorical", "string"), False: ("continuous", "double")}


def _field(
    name: str, kind: str, of: str, content: str = "", what: str = "Data", title: str = ""
) -> str:
    head = f'{what}Field name={quoteattr(name)} optype="{kind}" dataType="{of}"'
    head += f" displayName={quoteattr(title)}" if title else ""
    return f"<{head}>{content}</{what}Field>"


def _compared(name: str, operator: str, value: Any = None) -> str:
    given = "" if value is None else f" value={quoteattr(str(value))}"
    return f'<SimplePredicate field={quoteattr(name)} operator="{operator}"{given}/>'


def _joined(predicates: list[str], operator: str = "and") -> str:
    if len(predicates) < 2:
        return "".join(predicates) or "<True/>"
    head = f'CompoundPredicate booleanOperator="{operator}"'
    return f"<{head}>{''.join(predicates)}</CompoundPredicate>"
