"""Conditions on one raw column, as sets that can be negated and joined along a path.

Numbers are unions of intervals whose ends are *cuts*: ``(v, 0)`` lies just below v, ``(v, 1)``
just above it.  So ``x > v`` starts at ``(v, 1)``, ``x <= v`` ends there, and tuples compare as
cuts do.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from octcore.encoding.base import EncodedColumn

Cut = tuple[float, int]
BOTTOM: Cut = (-math.inf, 0)
TOP: Cut = (math.inf, 1)


@dataclass(frozen=True)
class Numbers:
    """A set of numbers: disjoint ascending intervals ``[start, end)`` of cuts."""

    raw: str
    intervals: tuple[tuple[Cut, Cut], ...]
    """Empty for no number at all."""
    levels: tuple[Any, ...] = ()
    """Ordered categories if the numbers are ranks."""

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
    inside: bool
    """Whether they are meant, or everything else."""
    pair: tuple[Any, ...] = ()
    """Both categories of a two-valued column, empty elsewhere."""

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


def meet(first: Condition, second: Condition) -> Condition:
    """Return what holds when both conditions on one column hold.

    Raises
    ------
    TypeError
        If one is a set of numbers and the other one of categories.
    """
    if isinstance(first, Numbers) and isinstance(second, Numbers):
        return first.meet(second)
    if isinstance(first, Levels) and isinstance(second, Levels):
        return first.meet(second)
    raise TypeError(f"conditions on {first.raw!r} and {second.raw!r} are of different kinds")
