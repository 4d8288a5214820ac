"""Splits in raw units: the condition that sends rows left, or the hyperplane."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from octcore.encoding.base import Encoding
from octcore.tree.conditions import Condition, Levels, Numbers, below, condition_of, everything
from octcore.tree.tree import Split

THRESHOLD_DIGITS = 12

ANY_ROW = ""
"""Column name of the condition of a split without weights, which sends all rows one way."""


@dataclass(frozen=True)
class RawTerm:
    """One term of a hyperplane: ``weight * value``, or ``weight`` where a condition holds."""

    raw: str
    weight: float
    """Weight per raw unit, or of the condition."""
    condition: Condition | None = None
    """Of a term that counts only under a condition."""


@dataclass(frozen=True)
class RawPlane:
    """The hyperplane ``sum of terms + offset = 0`` in raw units."""

    terms: tuple[RawTerm, ...]
    """One per raw column of numbers and one per different condition."""
    offset: float
    threshold: float
    """Routing: ``sum of terms <= threshold`` goes left."""

    @property
    def sign(self) -> float:
        """-1 where the largest coefficient is negative: in words the plane is turned over."""
        largest = max(self.terms, key=lambda term: abs(term.weight), default=None)
        return -1.0 if largest is not None and largest.weight < 0 else 1.0


def left_condition(
    split: Split, encoding: Encoding, digits: int = THRESHOLD_DIGITS
) -> Condition | None:
    """Return the condition on a raw column under which rows go left; None for oblique splits.

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
    value = float(f"{value:.{digits}g}")
    condition = below(column.raw, value, inclusive=weight > 0, levels=column.levels)
    return condition if weight * column.scale > 0 else condition.negated()


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
    slopes: dict[str, float] = {}
    conditional: dict[tuple[str, Condition], float] = {}
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
    joined: dict[tuple[str, float], list[Levels]] = {}
    for term in terms:
        if isinstance(term.condition, Levels):
            joined.setdefault((term.raw, term.weight), []).append(term.condition)
    return [term for term in terms if not isinstance(term.condition, Levels)] + [
        RawTerm(raw, w, Levels(raw, sum((c.levels for c in same), ()), True, same[-1].pair))
        for (raw, w), same in joined.items()
    ]
