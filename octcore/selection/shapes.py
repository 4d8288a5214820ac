"""Near-optimal trees by shape: which columns are asked where, and how far thresholds may move."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from octcore.data.serial import jsonable
from octcore.encoding.base import Encoding
from octcore.search.near_optimal.shapes import Shape
from octcore.tree.raw_units import THRESHOLD_DIGITS
from octcore.tree.tree import Split, Tree
from octcore.tree.wording import format_number, split_words

LEAF = "leaf"


@dataclass(frozen=True, eq=False)
class ThresholdRange:
    """The thresholds that the trees of a shape have for one column at one place."""

    where: str  # turns from the root down to it, as "left, right"; empty at the root
    column: int
    name: str  # `column`, `name`: of the encoding
    thresholds: np.ndarray  # those that some tree uses, ascending, shape ``(n,)``
    counts: np.ndarray  # trees with each of them, shape ``(n,)``

    @property
    def low(self) -> float:
        """Smallest threshold."""
        return float(self.thresholds[0])

    @property
    def high(self) -> float:
        """Largest threshold."""
        return float(self.thresholds[-1])

    def words(self, encoding: Encoding) -> str:
        """The column and its thresholds: ``area 865-1214``, one number where there is but one."""
        column, ends = encoding.columns[self.column], dict.fromkeys((self.low, self.high))
        if column.is_binary or column.levels:
            told = (split_words(Split.on_feature(self.column, end), encoding) for end in ends)
            words = " … ".join(one.test if column.is_binary else one.left for one in told)
        else:
            raw = sorted(column.shift + column.scale * end for end in ends)
            numbers = (format_number(r, THRESHOLD_DIGITS) for r in raw)
            words = f"{column.raw} {'–'.join(numbers)}"
        return f"{self.where}: {words}" if self.where else words


@dataclass(frozen=True, eq=False)
class TreeShape:
    """All good trees that ask the same columns at the same places, whatever the thresholds.

    Splits one after the other, each but the last with a leaf beside it, are one shape in whatever
    order they are asked: they ask for a conjunction.
    """

    words: str  # the columns: ``a + b`` one after the other, ``a (b | c)`` with more on both sides
    columns: tuple[str, ...]  # encoded columns that it asks, in the order of the encoding
    count: int  # exact number of trees
    objective: float
    leaves: int  # `objective`, `leaves`: of the best one
    _tree: Callable[[], Tree] = field(repr=False)
    _ranges: Callable[[], tuple[ThresholdRange, ...]] = field(repr=False)

    @cached_property
    def tree(self) -> Tree:
        """The best of its trees."""
        return self._tree()

    @cached_property
    def ranges(self) -> tuple[ThresholdRange, ...]:
        """Thresholds of every column at every place, from the root down; found when asked for."""
        return self._ranges()

    def __getstate__(self) -> dict[str, Any]:
        """Pickle and copy what would be found when asked for, without the set it is found in."""
        names = ("words", "columns", "count", "objective", "leaves", "tree", "ranges")
        return {name: getattr(self, name) for name in names}

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return jsonable(self.__getstate__())


def shape_words(shape: Shape, names: list[str]) -> str:
    """Say which columns a shape asks; `names` are those of the columns of the table."""
    if not shape.chain:
        return LEAF
    chain = " + ".join(names[column] for column in shape.chain)
    parts = " | ".join(shape_words(part, names) for part in shape.below)
    return f"{chain} ({parts})" if parts else chain
