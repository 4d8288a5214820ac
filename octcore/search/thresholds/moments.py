"""What was still open at some moments of a search: for pictures, and thinned out as it goes on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from octcore.search.thresholds.node import Node
from octcore.search.thresholds.problem import Moment
from octcore.search.thresholds.table import Table

MOST_MOMENTS = 48
MOST_COLUMNS = 12
MOST_SPANS = 24
"""Spans of a column at a moment; of more than these the closest ones become one."""


class Moments:
    """Some moments of a search, evenly spread over its pieces.

    Parameters
    ----------
    table : Table
        The rows.
    """

    def __init__(self, table: Table) -> None:
        self.table = table
        self.kept: list[Moment] = []
        self._every, self._seen = 1, 0

    def add(
        self, seconds: float, node: Node, cost: float, lower: float, slack: float, plan: np.ndarray
    ) -> None:
        """Keep this moment, unless there are enough near it."""
        self._seen += 1
        if self._seen % self._every and lower < cost - slack:
            return
        if len(self.kept) == MOST_MOMENTS:
            self.kept, self._every = self.kept[::2], 2 * self._every
        column, rank = int(plan[1, 0]), int(plan[1, 1])
        root = None
        if column >= 0:
            root = int(self.table.original[column]), self.table.threshold(column, rank)
        value, bound = (1.0 - number / self.table.total for number in (cost, lower))
        self.kept.append(Moment(seconds, value, bound, root, self._open(node, cost - slack)))

    def _open(self, node: Node, target: float) -> dict[int, tuple[tuple[float, float], ...]]:
        """Runs of open thresholds by column."""
        left = np.maximum(node.left, node.own_left)
        bound = left + np.maximum(node.right, node.own_right)
        by_column: dict[int, np.ndarray] = {}
        for way in np.flatnonzero(node.bound < target):
            part = slice(node.start[way], node.start[way + 1])
            column = int(node.column[way])
            is_open = by_column.setdefault(column, np.zeros(part.stop - part.start, bool))
            is_open |= bound[part] < target  # ways of one column have the same thresholds
        found = {}
        for column, flags in by_column.items():
            edges = np.diff(flags.astype(np.int8), prepend=0, append=0)
            first, last = np.flatnonzero(edges > 0), np.flatnonzero(edges < 0) - 1
            if not len(first):
                continue
            wide = np.sort(np.argsort(-(first[1:] - last[:-1]), kind="stable")[: MOST_SPANS - 1])
            first, last = np.append(first[:1], first[1:][wide]), np.append(last[wide], last[-1:])
            way = int(np.flatnonzero(node.column == column)[0])
            rank = node.rank[node.start[way] : node.start[way + 1]]
            lows, highs = (
                [self.table.threshold(column, int(rank[j])) for j in ends] for ends in (first, last)
            )
            found[int(self.table.original[column])] = tuple(zip(lows, highs, strict=True))
        return found

    def of_columns(self) -> tuple[Moment, ...]:
        """The moments, with the columns that were open longest."""
        longest: dict[int, int] = {}
        for moment in self.kept:
            for column in moment.open:
                longest[column] = longest.get(column, 0) + 1
        chosen = sorted(longest, key=lambda j: (-longest[j], j))[:MOST_COLUMNS]
        return tuple(
            replace(m, open={j: m.open[j] for j in chosen if j in m.open}) for m in self.kept
        )
