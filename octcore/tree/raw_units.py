"""Splits in raw units: the condition that sends rows left, or the hyperplane.

Conditions on one raw column are sets that can be negated and joined along a path.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from octcore.data.distinct import grouped
from octcore.encoding.base import EncodedColumn, Encoding
from octcore.tree.tree import Split

THRESHOLD_DIGITS = 12
SURE_DIGITS = 15  # of a number that a sum or a mean of doubles leaves as they are
ANY_ROW = ""
"""Column name of the condition of a split without weights, which sends all rows one way."""
Cut = tuple[float, int]
BOTTOM: Cut = (-math.inf, 0)
TOP: Cut = (math.inf, 1)


@dataclass(frozen=True)
class Numbers:
    """A set of numbers: disjoint ascending intervals ``[start, end)`` of cuts.

    A cut ``(v, 0)`` lies just below v, ``(v, 1)`` just above it.  So ``x > v`` starts at
    ``(v, 1)``, ``x <= v`` ends there, and tuples compare as cuts do.
    """

    raw: str
    intervals: tuple[tuple[Cut, Cut], ...]  # empty for no number at all
    levels: tuple[Any, ...] = ()  # ordered categories if the numbers are ranks

    @property
    def is_everything(self) -> bool:
        """Whether no number is left out."""
        return self.intervals == ((BOTTOM, TOP),)

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left."""
        return not self.intervals

    def negated(self) -> Numbers:
        """Return all other numbers."""
        edges = [BOTTOM, *(cut for interval in self.intervals for cut in interval), TOP]
        pairs = zip(edges[::2], edges[1::2], strict=True)
        return Numbers(self.raw, tuple((a, b) for a, b in pairs if a < b), self.levels)

    def meet(self, other: Numbers) -> Numbers:
        """Return the numbers in both sets."""
        common = [(max(a, c), min(b, d)) for a, b in self.intervals for c, d in other.intervals]
        return Numbers(self.raw, tuple(sorted((a, b) for a, b in common if a < b)), self.levels)


@dataclass(frozen=True)
class Levels:
    """A set of categories, or all but those."""

    raw: str
    levels: tuple[Any, ...]
    inside: bool  # whether they are meant, or everything else
    pair: tuple[Any, ...] = ()  # both categories of a two-valued column, empty elsewhere

    @property
    def is_everything(self) -> bool:
        """Whether no category is left out."""
        return not self.inside and not self.levels

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left."""
        return self.inside and not self.levels

    def negated(self) -> Levels:
        """Return all other categories; the other one of a pair."""
        return Levels(self.raw, self.levels, not self.inside, self.pair)

    def meet(self, other: Levels) -> Levels:
        """Return the categories in both sets."""
        if self.inside:
            kept = tuple(x for x in self.levels if (x in other.levels) == other.inside)
            return Levels(self.raw, kept, True, self.pair)
        if other.inside:
            return other.meet(self)
        added = tuple(x for x in other.levels if x not in self.levels)
        return Levels(self.raw, self.levels + added, False, self.pair)


Condition = Numbers | Levels


def below(raw: str, value: float, inclusive: bool = True, levels: Sequence[Any] = ()) -> Numbers:
    """Make the set of numbers up to a value."""
    return Numbers(raw, ((BOTTOM, (value, int(inclusive))),), tuple(levels))


def condition_of(column: EncodedColumn) -> Condition:
    """Return the condition under which a binary encoded column is 1."""
    if column.kind == "level":
        pair = () if column.other is None else (column.other, column.level)
        return Levels(column.raw, (column.level,), True, pair)
    low = BOTTOM if column.lower is None else (column.lower, 1)
    high = TOP if column.upper is None else (column.upper, 1)
    return Numbers(column.raw, ((low, high),), column.levels)


def everything(condition: Condition) -> Condition:
    """Return the condition on the same column that always holds."""
    if isinstance(condition, Numbers):
        return Numbers(condition.raw, ((BOTTOM, TOP),), condition.levels)
    return Levels(condition.raw, (), False, condition.pair)


@dataclass(frozen=True)
class RawTerm:
    """One term of a hyperplane: ``weight * value``, or ``weight`` where a condition holds."""

    raw: str
    weight: float  # weight per raw unit, or of the condition
    condition: Condition | None = None  # of a term that counts only under a condition


@dataclass(frozen=True)
class RawPlane:
    """The hyperplane ``sum of terms + offset = 0`` in raw units."""

    terms: tuple[RawTerm, ...]  # one per raw column of numbers and one per different condition
    offset: float
    threshold: float  # routing: ``sum of terms <= threshold`` goes left

    @property
    def sign(self) -> float:
        """-1 where the largest coefficient is negative: in words the plane is turned over."""
        largest = max(self.terms, key=lambda term: abs(term.weight), default=None)
        return -1.0 if largest is not None and largest.weight < 0 else 1.0


def left_condition(
    split: Split, encoding: Encoding, digits: int = THRESHOLD_DIGITS
) -> Condition | None:
    """Return the condition on a raw column under which rows go left; None for oblique splits.

    `digits`: of a threshold on a scaled column, within the range of the column; others are written
    as they are, since each has as few digits as part its training rows.
    Equal weights on levels of one column ask for a set of levels.
    """
    if not split.weights:
        return _two_way(Numbers(ANY_ROW, ()), 0.0, split.threshold)
    if len(split.weights) > 1:
        return _level_set_condition(split, encoding)
    j, weight = next(iter(split.weights))
    column = encoding.columns[j]
    if column.is_binary:
        return _two_way(condition_of(column), weight, split.threshold)
    value = column.shift + column.scale * (split.threshold / weight)
    if column.kind == "scaled" or weight != 1:
        value = _rounded(value, column.scale, digits)
    elif digits < THRESHOLD_DIGITS:  # of a tree that the search still works on, perhaps
        short = float(f"{value:.{SURE_DIGITS}g}")
        value = short if abs(short - value) <= 2 * math.ulp(value) else value
    condition = below(column.raw, value, inclusive=weight > 0, levels=column.levels)
    return condition if weight * column.scale > 0 else condition.negated()


def _rounded(value: float, scale: float, digits: int) -> float:
    """A number without the digits of a calculation, of which so many count within a range."""
    size = max(abs(value), math.ulp(0.0))
    lost = max(0, math.floor(math.log10(size)) - math.floor(math.log10(abs(scale))))
    return float(f"{value:.{min(17, digits + lost)}g}")


def _level_set_condition(split: Split, encoding: Encoding) -> Condition | None:
    columns = [encoding.columns[j] for j in split.features]
    weight = split.weights[0][1]
    is_one_set = {(c.raw, c.kind) for c in columns} == {(columns[0].raw, "level")}
    if not is_one_set or any(value != weight for _, value in split.weights):
        return None
    levels = Levels(columns[0].raw, tuple(column.level for column in columns), True)
    return _two_way(levels, weight, split.threshold)


def _two_way(condition: Condition, weight: float, threshold: float) -> Condition:
    """Condition to go left when `weight` counts where a condition holds, and 0 elsewhere."""
    one_left, zero_left = weight <= threshold, threshold >= 0
    if one_left and zero_left:
        return everything(condition)
    if not one_left and not zero_left:
        return everything(condition).negated()
    return condition if one_left else condition.negated()


def raw_plane(split: Split, encoding: Encoding) -> RawPlane:
    """Return the hyperplane of a split in raw units.

    A scaled column j contributes ``w_j / scale_j`` per raw unit and ``-w_j shift_j / scale_j`` to
    the offset; binary columns keep their weight under their condition.  Conditions of one column
    with equal weights become one term.
    """
    slopes, conditional = dict[str, float](), dict[tuple[str, Condition], float]()
    constant = 0.0
    for j, weight in split.weights:
        column = encoding.columns[j]
        if column.is_binary:
            key = (column.raw, condition_of(column))
            conditional[key] = conditional.get(key, 0.0) + weight
        else:
            slopes[column.raw] = slopes.get(column.raw, 0.0) + weight / column.scale
            constant -= weight * column.shift / column.scale
    terms = [RawTerm(raw, weight) for raw, weight in slopes.items() if weight]
    terms += _merged([RawTerm(raw, w, condition) for (raw, condition), w in conditional.items()])
    return RawPlane(tuple(terms), constant + split.solved_offset, split.threshold - constant)


def _merged(terms: Sequence[RawTerm]) -> list[RawTerm]:
    """Join the levels of one column that have the same weight."""
    levels = ((t, t.condition) for t in terms if isinstance(t.condition, Levels))
    joined = grouped(((term.raw, term.weight), condition) for term, condition in levels)
    return [term for term in terms if not isinstance(term.condition, Levels)] + [
        RawTerm(raw, w, Levels(raw, sum((c.levels for c in same), ()), True, same[-1].pair))
        for (raw, w), same in joined.items()
    ]
