"""Columns with levels: one indicator per level, or a single one for two levels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from octcore.encoding.base import EncodedColumn


def present_levels(values: Iterable[Any], order: Sequence[Any]) -> list[Any]:
    """Levels that occur, in the column's order; those the order does not know come sorted last."""
    present = set(pd.unique(pd.Series(values)).tolist())
    known = [level for level in order if level in present]
    return known + sorted(present.difference(known))


def level_columns(raw: str, levels: Sequence[Any]) -> list[EncodedColumn]:
    """Make the indicators of the levels: the larger one of two, otherwise every one."""
    if len(levels) == 2:
        return [EncodedColumn(raw, "level", level=levels[1], other=levels[0])]
    return [EncodedColumn(raw, "level", level=level) for level in levels]
