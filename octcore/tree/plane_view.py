"""A look at a tree in the plane of two raw columns, the others held at given values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from octcore.data.findings import quote
from octcore.encoding.base import EncodedColumn, Encoding
from octcore.errors import SettingsError
from octcore.tree.polygons import Line, Point
from octcore.tree.tree import Split

Range = tuple[float, float]


@dataclass(frozen=True)
class PlaneView:
    """The plane to look at."""

    encoding: Encoding
    x: str
    y: str
    """`x`, `y`: raw columns on the axes."""
    x_range: Range
    y_range: Range
    """`x_range`, `y_range`: the visible box in raw units; on an axis of categories their positions,
    from 0."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Value of every other raw column that the tree may use, raw units."""
    levels: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Categories of an axis that has such, in order; each takes the strip of width 1 around its
    position.  Other axes must hold numbers."""

    def __post_init__(self) -> None:
        """Check that the axes are two columns that can be axes and the box has an inside."""
        for axis in (self.x, self.y):
            own = [column for column in self.encoding.columns if column.raw == axis]
            if axis not in self.encoding.raw_features:
                raise SettingsError("UNKNOWN_COLUMN", f"There is no column {quote(axis)}.", axis)
            if axis not in self.levels and any(c.kind == "level" for c in own):
                raise SettingsError(
                    "AXIS_NOT_NUMERIC",
                    f"Column {quote(axis)} is split by single values; state its levels.",
                    axis,
                )
        if self.x == self.y:
            raise SettingsError("SAME_AXES", f"Both axes show {quote(self.x)}; choose two columns.")
        for name, (low, high) in (("x_range", self.x_range), ("y_range", self.y_range)):
            if not (np.isfinite(low) and np.isfinite(high) and low < high):
                raise SettingsError(
                    "BAD_RANGE", f"{name} must go from low to high, but ({low}, {high}) came.", name
                )

    def axis_of(self, column: EncodedColumn) -> int | None:
        """0 or 1 for a column on an axis, None for one that is held fixed."""
        return {self.x: 0, self.y: 1}.get(column.raw)

    def fixed_value(self, column: EncodedColumn) -> float:
        """Encoded value of a column that is held fixed; `SettingsError` if none is given."""
        if column.raw not in self.fixed:
            raise SettingsError(
                "NOT_FIXED",
                f"The tree also uses {quote(column.raw)}; give the value at which to hold it.",
                column.raw,
            )
        value = self.fixed[column.raw]
        return float(column.encode(np.array([value], dtype=object))[0])

    def is_stepwise(self, column: EncodedColumn) -> bool:
        """Whether a column is constant between its cuts."""
        return column.is_binary or column.raw in self.levels

    def cuts(self, split: Split) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Values of x and y at which a stepwise column of a split may change."""
        found: tuple[set[float], set[float]] = (set(), set())
        for column in (self.encoding.columns[j] for j in split.features):
            axis = self.axis_of(column)
            if axis is None or not self.is_stepwise(column):
                continue
            if column.raw in self.levels:
                steps = np.flatnonzero(np.diff(self._at_levels(column)))
                found[axis].update(float(k) + 0.5 for k in steps)
            else:
                found[axis].update(e for e in (column.lower, column.upper) if e is not None)
        return tuple(sorted(found[0])), tuple(sorted(found[1]))

    def _at_levels(self, column: EncodedColumn) -> npt.NDArray[np.float64]:
        """Encoded value of a column at every category of its axis."""
        return column.encode(np.array(self.levels[column.raw], dtype=object))

    def _value_at(self, column: EncodedColumn, value: float) -> float:
        """Encoded value of a stepwise column at a place of its axis."""
        if column.raw in self.levels:
            values = self._at_levels(column)
            return float(values[np.clip(int(np.ceil(value - 0.5)), 0, len(values) - 1)])
        lower = -np.inf if column.lower is None else column.lower
        upper = np.inf if column.upper is None else column.upper
        return float(lower < value <= upper)

    def score_line(self, split: Split, level: float, inside: Point) -> Line:
        """Return where ``w.x`` equals a level, as a line in raw units.

        Stepwise columns on the axes are constant between their cuts; they take the values they have
        at the point `inside`.  Columns that are scaled give ``w' = w / scale`` and move the level
        by ``w shift / scale``.
        """
        slope = [0.0, 0.0]
        for j, weight in split.weights:
            column = self.encoding.columns[j]
            axis = self.axis_of(column)
            if axis is None:
                level -= weight * self.fixed_value(column)
            elif self.is_stepwise(column):
                level -= weight * self._value_at(column, inside[axis])
            else:
                slope[axis] += weight / column.scale
                level += weight * column.shift / column.scale
        return Line(slope[0], slope[1], level)
