"""What was still open at some moments of a search: for pictures, and thinned out as it goes on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from octcore.search.univariate.node import Node
from octcore.search.univariate.question import Moment
from octcore.search.univariate.table import Inquiry

MOST_MOMENTS = 48
MOST_COLUMNS = 12
MOST_SPANS = 24
"""Spans of a column at a moment; of more than these the closest ones become one."""


@dataclass(frozen=True)
class _Kept:
    """A moment as it is kept: spans as positions among the thresholds of the node."""

    seconds: float
    cost: float
    lower: float
    root: tuple[int, int]
    first: np.ndarray
    last: np.ndarray


class Moments:
    """Some moments of the search of one node, evenly spread over its pieces.

    Keeping one is a matter of microseconds; what it shows is worked out when somebody asks.

    `inquiry`: what is searched.
    `node`: searched from now on.
    """

    def __init__(self, inquiry: Inquiry, node: Node) -> None:
        self.inquiry, self.node = inquiry, node
        self._way = np.repeat(np.arange(len(node.column)), np.diff(node.start))
        self._kept: list[_Kept] = []
        self._every, self._seen = 1, 0

    def add(
        self, seconds: float, cost: float, lower: float, slack: float, plan: np.ndarray
    ) -> None:
        """Keep this moment, unless there are enough near it."""
        self._seen += 1
        if self._seen % self._every and lower < cost - slack:
            return
        if len(self._kept) == MOST_MOMENTS:
            self._kept, self._every = self._kept[::2], 2 * self._every
        first, last = self._spans(cost - slack)
        root = int(plan[1, 0]), int(plan[1, 1])
        self._kept.append(_Kept(seconds, cost, lower, root, first, last))

    def _spans(self, target: float) -> tuple[np.ndarray, np.ndarray]:
        """First and last thresholds of all runs of open ones; a run lies within one way."""
        node, way = self.node, self._way
        bound = node.sides.max(axis=0).sum(axis=0)
        is_open = np.flatnonzero((bound < target) & (node.bound < target)[way])
        ends = (is_open[1:] != is_open[:-1] + 1) | (way[is_open[1:]] != way[is_open[:-1]])
        edge = np.ones(min(1, len(is_open)), bool)
        return is_open[np.append(edge, ends)], is_open[np.append(ends, edge)]

    def of_columns(self) -> tuple[Moment, ...]:
        """The moments, with the columns that were open longest."""
        longest: dict[int, int] = {}
        for kept in self._kept:
            for column in np.unique(self.node.column[self._way[kept.first]]).tolist():
                longest[column] = longest.get(column, 0) + 1
        chosen = sorted(longest, key=lambda g: (-longest[g], g))[:MOST_COLUMNS]
        return tuple(self._moment(kept, chosen) for kept in self._kept)

    def _moment(self, kept: _Kept, chosen: list[int]) -> Moment:
        table, value = self.inquiry.table, self.inquiry.value
        column, rank = kept.root
        root = None
        if column >= 0:
            root = int(table.original[column]), table.threshold(column, rank)
        spans = {int(table.original[g]): tuple(self._span_values(kept, g)) for g in chosen}
        return Moment(
            kept.seconds,
            value(kept.cost),
            value(kept.lower),
            root,
            {j: runs for j, runs in spans.items() if runs},
        )

    def _span_values(self, kept: _Kept, column: int) -> Iterator[tuple[float, float]]:
        """Thresholds between which one column is open; its ways have the same thresholds."""
        way = self._way[kept.first]
        inside = self.node.column[way] == column
        start = self.node.start[way[inside]]
        runs: list[list[int]] = []
        for a, z in sorted(zip(kept.first[inside] - start, kept.last[inside] - start, strict=True)):
            if runs and a <= runs[-1][1] + 1:
                runs[-1][1] = max(runs[-1][1], int(z))
            else:
                runs.append([int(a), int(z)])
        gaps = sorted(range(1, len(runs)), key=lambda i: runs[i - 1][1] - runs[i][0])
        begins = [0, *sorted(gaps[: MOST_SPANS - 1])] if runs else []
        begin = self.node.start[np.flatnonzero(self.node.column == column)[0]]
        for i, k in enumerate(begins):
            end = begins[i + 1] - 1 if i + 1 < len(begins) else len(runs) - 1
            low, high = (int(self.node.rank[begin + j]) for j in (runs[k][0], runs[end][1]))
            table = self.inquiry.table
            yield table.threshold(column, low), table.threshold(column, high)
