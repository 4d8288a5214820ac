"""Splits in words and raw units: the only place where a split is worded.

Texts are plain: whoever puts them into HTML, SVG or DOT escapes them there.
"""

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from octcore.data.distinct import grouped
from octcore.data.findings import count
from octcore.data.text import clean_text
from octcore.encoding.base import Encoding
from octcore.tree import topology
from octcore.tree.metrics import node_summaries
from octcore.tree.raw_units import (
    ANY_ROW,
    BOTTOM,
    THRESHOLD_DIGITS,
    TOP,
    Condition,
    Cut,
    Levels,
    Numbers,
    RawPlane,
    RawTerm,
    left_condition,
    raw_plane,
)
from octcore.tree.tree import Split, Tree

Rows = npt.NDArray[np.float64] | None
Codes = npt.NDArray[np.int64] | None
"""Encoded rows, shape ``(n_samples, n_features)``, and their class codes, where there are any."""
Most = int | None  # of the characters of a name, or the terms of a sum; None for all
WEIGHT_DIGITS = 4  # for reading; exports have all digits
_LAST_WORD = re.compile(r"[^\W_]*$")
_HYPHENS = re.compile(r"(?<![\w.)])-(?= ?[\d.]*\d)")


class SplitWords(NamedTuple):
    """A split in words: what holds on the left, on the right, and the question itself."""

    left: str
    right: str
    test: str


@dataclass(frozen=True)
class Rule:
    """One leaf as an IF-THEN rule."""

    leaf: int
    conditions: tuple[str, ...]
    """All must hold; one per raw column where the splits allow it, empty for a single leaf."""
    label: Any
    n_samples: int | None = None  # rows in the leaf, None when no rows were given
    class_counts: tuple[int, ...] = ()  # rows by class, empty when no rows were given
    right: int = 0  # rows of the class that the rule gives

    @property
    def text(self) -> str:
        """The rule as one sentence."""
        given = " and ".join(self.conditions) or "anything"
        rows = "" if self.n_samples is None else f" ({count(self.n_samples, 'row')})"
        return f"IF {given} THEN {clean_text(str(self.label))}{rows}"

    def __str__(self) -> str:
        return self.text


def split_words(
    split: Split,
    encoding: Encoding,
    digits: int = THRESHOLD_DIGITS,
    max_name: Most = None,
    max_terms: Most = None,
) -> SplitWords:
    """Word a split in raw units.

    `digits` are those of `left_condition`; thresholds stored in the encoding are written exactly.
    Names of more than `max_name` characters are cut with an ellipsis; of an oblique split
    `max_terms` terms are written, those of smallest weight are counted instead.
    """
    condition = left_condition(split, encoding, digits)
    names = short_names(encoding.raw_features, max_name)
    if condition is None:
        return _plane_words(raw_plane(split, encoding), names, max_name, max_terms)
    left = condition_words(condition, max_name, names)
    right = condition_words(condition.negated(), max_name, names)
    if isinstance(condition, Levels):
        is_better = condition.inside
    else:
        is_better = len(condition.intervals) <= len(condition.negated().intervals)
    return SplitWords(left, right, left if is_better else right)


def asks_for_right(split: Split, encoding: Encoding) -> bool:
    """Whether the question of a split is answered with yes on the right."""
    worded = split_words(split, encoding)
    return worded.test != worded.left


def _plane_words(
    plane: RawPlane, names: Mapping[str, str], max_name: Most, max_terms: Most
) -> SplitWords:
    """Word a hyperplane with its largest coefficient positive."""
    sign = plane.sign
    terms = [replace(term, weight=sign * term.weight) for term in plane.terms]
    total = _sum_text(terms, names, max_name, max_terms)
    threshold = format_number(sign * plane.threshold, WEIGHT_DIGITS)
    left, right = (">=", "<") if sign < 0 else ("<=", ">")
    test = f"{total} {left} {threshold}"
    return SplitWords(test, f"{total} {right} {threshold}", test)


def _sum_text(
    terms: Sequence[RawTerm], names: Mapping[str, str], max_name: Most, max_terms: Most
) -> str:
    """Write the weighted sum of an oblique split."""
    parts = []
    largest = sorted(terms, key=lambda term: -abs(term.weight))[:max_terms]
    for term in (term for term in terms if term in largest):
        name = names.get(term.raw) or shorten(term.raw, max_name)
        if term.condition is not None:
            name = f"[{condition_words(term.condition, max_name, names)}]"
        size = format_number(abs(term.weight), WEIGHT_DIGITS)
        sign = "-" if term.weight < 0 else "+"
        parts.append(f"{sign} {name}" if size == "1" else f"{sign} {size} {name}")
    if len(largest) < len(terms):
        parts.append(f"+ … ({len(terms) - len(largest)} more)")
    first = parts[0].removeprefix("+ ") if parts[0][0] == "+" else parts[0].replace("- ", "-", 1)
    return " ".join([first, *parts[1:]])


def condition_words(
    condition: Condition, max_name: Most = None, names: Mapping[str, str] | None = None
) -> str:
    """Word a condition on one raw column; `names`: those of `short_names`, by column."""
    name = (names or {}).get(condition.raw) or shorten(condition.raw, max_name)
    if condition.raw == ANY_ROW:
        return "always" if condition.is_everything else "never"
    if condition.is_everything:
        return f"{name} is anything"
    if condition.is_empty:
        return f"{name} is impossible"
    if isinstance(condition, Levels):
        return _level_words(condition, name, max_name)
    texts = [_interval_words(condition, a, b, name, max_name) for a, b in condition.intervals]
    return " or ".join(texts)


def _level_words(condition: Levels, name: str, max_name: Most) -> str:
    levels, inside = condition.levels, condition.inside
    if condition.pair and not inside and len(levels) == 1:
        levels = tuple(level for level in condition.pair if level not in levels)
        inside = True
    shown = [_level_text(level, max_name) for level in levels]
    if len(shown) == 1:
        return f"{name} is {shown[0]}" if inside else f"{name} is not {shown[0]}"
    if inside:
        return f"{name} is {', '.join(shown[:-1])} or {shown[-1]}"
    if len(shown) == 2:
        return f"{name} is neither {shown[0]} nor {shown[1]}"
    return f"{name} is none of {', '.join(shown)}"


def _interval_words(condition: Numbers, start: Cut, end: Cut, name: str, max_name: Most) -> str:
    if condition.levels:
        start, end = _on_rank(start), _on_rank(end)
    low = _end_text(start[0], condition.levels, max_name)
    high = _end_text(end[0], condition.levels, max_name)
    above, through = "<" if start[1] else "<=", "<=" if end[1] else "<"
    if end == TOP:
        return f"{name} {'>' if start[1] else '>='} {low}"
    if start == BOTTOM:
        return f"{name} {through} {high}"
    if start[0] == end[0]:
        return f"{name} = {low}"
    return f"{low} {above} {name} {through} {high}"


def _on_rank(cut: Cut) -> Cut:
    """Move a cut between two ranks to just above the lower one."""
    if not np.isfinite(cut[0]) or float(cut[0]).is_integer():
        return cut
    return float(np.floor(cut[0])), 1


def _end_text(value: float, levels: Sequence[Any], max_name: Most) -> str:
    if levels and np.isfinite(value) and 0 <= value < len(levels):
        return _level_text(levels[int(value)], max_name)
    return format_number(value)


def rules(
    tree: Tree, encoding: Encoding, X: Rows = None, y: Codes = None, max_name: Most = None
) -> tuple[Rule, ...]:
    """Write every leaf as an IF-THEN rule, from left to right.

    `X`, `y`: encoded rows, shape ``(n_samples, n_features)``, and class codes to count; both or
    none.  `max_name` is that of `split_words`.
    """
    counts = {} if X is None or y is None else node_summaries(tree, X, y)
    found = []
    for leaf in (node for node in tree.walk() if node in tree.labels):
        label, rows = tree.labels[leaf], counts.get(leaf)
        told: Any = (rows.n_samples, rows.class_counts, rows.right(label)) if rows else ()
        conditions = path_words(tree, encoding, leaf, max_name)
        found.append(Rule(leaf, conditions, class_name(tree, label), *told))
    return tuple(found)


def path_words(tree: Tree, encoding: Encoding, node: int, max_name: Most = None) -> tuple[str, ...]:
    """Word the way from the root to a node.

    Conditions on one raw column are joined, such as ``2 < x`` and ``x <= 3``.  `max_name` is that
    of `split_words`.
    """
    names = short_names(encoding.raw_features, max_name)
    told: dict[str | int, Any] = {}  # conditions, of one kind, by column, and planes by node
    for ancestor, child in topology.path(node):
        split, goes_right = tree.splits[ancestor], child % 2 == 1
        condition = left_condition(split, encoding)
        if condition is None:
            told[ancestor] = split_words(split, encoding, max_name=max_name)[int(goes_right)]
        else:
            condition = condition.negated() if goes_right else condition
            known = told.get(condition.raw)
            told[condition.raw] = condition if known is None else known.meet(condition)
    return tuple(
        text if isinstance(text, str) else condition_words(text, max_name, names)
        for text in told.values()
        if isinstance(text, str) or not text.is_everything
    )


def class_name(tree: Tree, label: int) -> Any:
    """Class label of a class index; the index itself if the tree carries no labels."""
    return tree.classes[label] if tree.classes else label


def shorten(name: object, max_name: Most = None) -> str:
    """Put a name on one line and cut it in the middle to at most `max_name` characters.

    Names of one table often share their beginning or their end; the middle tells least.
    """
    return cut(clean_text(str(name)), max_name)


def cut(text: str, max_name: Most = None) -> str:
    """Cut a text in the middle to at most `max_name` characters."""
    if max_name is None or len(text) <= max_name:
        return text
    end = max(0, (max_name - 1) // 2)
    start = max(1, max_name - 1 - end)
    return text[:start].rstrip() + "…" + (text[-end:].lstrip() if end else "")


@functools.lru_cache(maxsize=256)
def short_names(names: tuple[str, ...], max_name: Most = None) -> Mapping[str, str]:
    """Cut names as `shorten` does; those that would become alike show where they differ."""
    cut = {name: shorten(name, max_name) for name in names}
    for alike in grouped((short, name) for name, short in cut.items()).values():
        if len(alike) > 1 and max_name is not None:
            apart = _told_apart([clean_text(name) for name in alike], max_name)
            cut |= dict(zip(alike, apart, strict=True))
    return cut


def _told_apart(names: Sequence[str], max_name: int) -> list[str]:
    """Leave out what names begin and end with alike; longer if they stay alike then."""
    start = _alike(names)
    end = _alike([name[start:][::-1] for name in names])
    for most in range(max_name, max(map(len, names)), 8):
        short = [_part(name, start, len(name) - end, most) for name in names]
        if len(set(short)) == len(names):
            return short
    return list(names)


def _alike(names: Sequence[str]) -> int:
    """Number of first characters that are the same in all names, of whole words if there are."""
    same = 0
    while all(name[same : same + 1] == names[0][same : same + 1] != "" for name in names):
        same += 1
    begun = _LAST_WORD.search(names[0], 0, same)
    return begun.start() if begun is not None and begun.start() else same


def _part(name: str, start: int, end: int, max_name: int) -> str:
    """A part of a name, with as much before it as there is room for."""
    part, after = name[start:end].strip(), "…" * (end < len(name))
    room = max_name - len(after)
    if start + len(part) <= room:
        return name[:end].rstrip() + after
    head = name[: max(0, room - 1 - len(part))].rstrip()
    return f"{head}…{shorten(part, room - 1)}{after}"


def with_signs(split_text: str) -> str:
    """Give a worded split its proper mathematical signs, for people to read."""
    return minus(split_text.replace(" <= ", " ≤ ").replace(" >= ", " ≥ "))


def minus(written: str) -> str:
    """Give the negative numbers of a text a minus sign instead of a hyphen."""
    return _HYPHENS.sub("\N{MINUS SIGN}", written)


def format_number(value: float, digits: int = 17) -> str:
    """Write a number with up to `digits` significant digits, and no more than it needs."""
    value = float(value)
    if digits < 17:
        value = float(f"{value:.{digits}g}")
    if value == 0:
        return "0"
    if value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return repr(value).replace("e+", "e")


def _level_text(level: Any, max_name: Most) -> str:
    if isinstance(level, float):
        return format_number(level)
    return shorten(level, max_name) or "(empty)"
