"""The open nodes of branch and cut, the best bound first."""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from octcore.engines.branch_and_cut.lp import Basis
from octcore.program import Child


@dataclass(frozen=True, eq=False)
class Node:
    """A part of the search space."""

    bound: float
    """No solution in it has a smaller value."""
    depth: int
    """Number of branchings that lead to it."""
    changes: tuple[Child, ...] = ()
    """Bounds that differ from those of the whole problem."""
    basis: Basis | None = None
    separates: bool = True
    """Whether cuts are worth their time here."""

    def tightened(
        self, lower: np.ndarray, upper: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Bounds of the columns at this node; None if they contradict each other."""
        lower, upper = lower.copy(), upper.copy()
        for columns, low, high in self.changes:
            lower[columns] = np.maximum(lower[columns], low)
            upper[columns] = np.minimum(upper[columns], high)
        return None if (lower > upper).any() else (lower, upper)


@dataclass(eq=False)
class OpenNodes:
    """Nodes that wait, and the bounds of those that were given up unsolved."""

    unresolved: list[float] = field(default_factory=list)
    _heap: list[tuple[float, int, Node]] = field(default_factory=list)
    _pushed: int = 0

    def __len__(self) -> int:
        """Number of nodes that wait."""
        return len(self._heap)

    def push(self, nodes: Iterable[Node]) -> None:
        """Let nodes wait; of two with the same bound the earlier one comes first."""
        for node in nodes:
            self._pushed += 1
            heapq.heappush(self._heap, (node.bound, self._pushed, node))

    def pop(self, cutoff: float) -> Node | None:
        """Take the node with the best bound; None, and nothing left, once it reaches the cutoff."""
        if not self._heap or self._heap[0][0] >= cutoff:
            self._heap.clear()
            return None
        return heapq.heappop(self._heap)[2]

    def give_up(self, bound: float) -> None:
        """Remember a part of the search space that stays unsolved."""
        self.unresolved.append(bound)

    def least(self, current: float | None = None) -> float:
        """Smallest bound of all that is not solved; `current` is that of the node in hand."""
        values = [*self.unresolved, *(entry[0] for entry in self._heap[:1])]
        return min(values if current is None else [*values, current], default=np.inf)
