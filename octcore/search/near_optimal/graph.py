"""Which subsets of rows the near-optimal trees pass through, found with exact least costs.

First the least cost of a subset and depth is found by depth-first search (bounds: a subtree is a
leaf, a stump or has three leaves and misclassifies the outvoted rows).  Then the subsets that some
near-optimal tree passes through are collected level by level, each with the largest budget that any
of its parents leaves it; nothing else is ever counted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from octcore.errors import TooLargeError
from octcore.search.near_optimal.instance import Instance, Work
from octcore.search.near_optimal.kernels import IMPOSSIBLE, LARGE, least_cost, score

GUARD_EVERY = 64
"""Scored subsets between two looks at the clock."""
BYTES_PER_SUBSET = 400
"""A stored subset with its dictionary entry and cells, measured; words and edges come on top."""
MEMORY = 700_000_000
"""Bytes that the search may hold; the process stays below one gigabyte with them."""
EVERY_COLUMN = np.zeros(0, np.int32)
BOTTOM = 2
"""Depth at which the kernels count trees without a graph."""


@dataclass(frozen=True, eq=False)
class Level:
    """Subsets at which subtrees of one depth start.

    Parameters
    ----------
    depth : int
        Largest depth of the subtrees.
    subsets : numpy.ndarray
        Bit sets, shape ``(n_nodes, n_words)``.
    budgets : numpy.ndarray
        Largest scaled cost of a subtree, shape ``(n_nodes,)``.
    leaf_errors : numpy.ndarray
        Errors of a leaf, shape ``(n_nodes,)``.
    edges : numpy.ndarray
        Column, left and right node of the next level, shape ``(n_edges, 3)``; empty at the bottom.
    first_edge : numpy.ndarray
        First edge of every node, shape ``(n_nodes + 1,)``.
    columns : tuple of numpy.ndarray
        At the bottom: columns that the top of a subtree may test, by node; see
        `LeastCosts.good_columns`.
    """

    depth: int
    subsets: np.ndarray
    budgets: np.ndarray
    leaf_errors: np.ndarray
    edges: np.ndarray
    first_edge: np.ndarray
    columns: tuple[np.ndarray, ...] = ()

    def edges_of(self, node: int) -> np.ndarray:
        """Edges of a node, columns ascending."""
        return self.edges[self.first_edge[node] : self.first_edge[node + 1]]


class _Split(NamedTuple):
    """A column that parts a subset: lower bounds of both sides, and scaled outvoted weight."""

    column: int
    low_left: int
    low_right: int
    outvoted: tuple[int, int]


class _Shallow(NamedTuple):
    """What is known of a subset at depth two.

    `cost` is exact up to `limit`, beyond it a bound; the columns of `good` are complete for trees
    that cost `limit` at most, and `most` is the largest cost that is ever asked for.
    """

    cost: int
    good: bytes
    limit: int
    most: int

    def answers(self, cutoff: int) -> bool:
        """Whether a question with this cutoff needs no other look at the rows."""
        return self.cost > cutoff or min(cutoff, self.most) <= self.limit


class LeastCosts:
    """Least scaled cost of a tree on a subset, remembered by subset and depth.

    Parameters
    ----------
    instance : Instance
        The rows.
    guard : callable
        ``guard(done)`` is called often and raises when the search must stop.
    margin : int or None
        Largest scaled distance of a subtree from the best one on its rows; None if not known.
    """

    def __init__(
        self, instance: Instance, guard: Callable[[int], None], margin: int | None = None
    ) -> None:
        self.instance = instance
        self.guard = guard
        self.margin = margin
        self.work: Work = instance.work()
        self.scored = 0
        self.stored_bytes = 0
        self._costs = np.zeros(len(instance.bits), np.int64)
        self._shallow: dict[bytes, _Shallow] = {}
        self._deep: dict[tuple[bytes, int], tuple[int, bool]] = {}

    def scan(
        self,
        subset: np.ndarray,
        depth: int,
        keep: bool = False,
        wanted: np.ndarray = EVERY_COLUMN,
    ) -> tuple[int, int]:
        """Run the kernel; return the number of active columns and the errors of a leaf."""
        self._look_at_clock()
        i = self.instance
        n_active, leaf = score(
            i.bits,
            i.word_class,
            i.weight,
            i.minority,
            i.least,
            subset,
            self.work,
            depth,
            keep,
            wanted,
        )
        return int(n_active), int(leaf)

    def leaf_errors(self, subset: np.ndarray) -> int:
        """Errors of a leaf on a subset, `IMPOSSIBLE` if it has too few rows."""
        i = self.instance
        counts = np.bincount(i.word_class, np.bitwise_count(subset), len(i.weight))
        weight = i.weight * counts
        is_allowed = counts.sum() >= i.least
        return int(weight.sum() - weight.max()) if is_allowed else int(IMPOSSIBLE)

    def _look_at_clock(self) -> None:
        self.scored += 1
        if self.scored % GUARD_EVERY == 0:
            self.guard(self.scored)

    def splits(
        self, subset: np.ndarray, limit: int, roots: np.ndarray | None = None
    ) -> tuple[int, list[_Split], int]:
        """Splits of a subset with subtrees of depth two or more, most promising first.

        Parameters
        ----------
        subset : ndarray of shape (n_words,)
        limit : int
            Splits whose lower bound is larger are left out.
        roots : ndarray of bool or None
            Columns to look at.

        Returns
        -------
        tuple of (int, list of _Split, int)
            Errors of a leaf, splits, and the least lower bound of those left out.
        """
        i, work = self.instance, self.work
        n_active, leaf = self.scan(subset, BOTTOM)
        active = work.active[:n_active]
        chosen = np.arange(n_active) if roots is None else np.flatnonzero(roots[active])
        part = np.index_exp[:, chosen]
        smaller = np.minimum(i.scaled(work.leaf[part], 1), i.scaled(work.stump[part], 2))
        outvoted = i.scaled(work.outvoted[part], 0)
        low = np.minimum(smaller, outvoted + 3 * i.price)
        total = low.sum(axis=0)
        order = np.argsort(total, kind="stable")
        left_out = int(total[total > limit].min(initial=LARGE))
        order = order[total[order] <= limit]
        columns = active[chosen]
        return (
            leaf,
            [
                _Split(
                    int(columns[p]),
                    int(low[0, p]),
                    int(low[1, p]),
                    (int(outvoted[0, p]), int(outvoted[1, p])),
                )
                for p in order
            ],
            left_out,
        )

    def shallow(self, subset: np.ndarray, depth: int, cutoff: int = LARGE) -> int:
        """Least cost at depth one or two, or a lower bound above the cutoff."""
        key = subset.tobytes()
        known = self._shallow.get(key)
        if known is not None and known.answers(cutoff):
            return known.cost
        self._look_at_clock()
        i, costs, margin = self.instance, self._costs, self.margin or 0
        # Budgets come later and lie about a margin beyond the cutoffs of the search before.
        n_active, best, limit = least_cost(
            i.bits,
            i.word_class,
            i.weight,
            i.minority,
            i.least,
            subset,
            self.work,
            i.unit,
            i.price,
            depth,
            min(LARGE, cutoff + margin),
            margin,
            costs,
        )
        good = b""
        if self.margin is not None and best <= limit:
            good = self.work.active[:n_active][costs[:n_active] <= best + margin].tobytes()
        cost = int(best) if best <= limit else limit + 1
        self._shallow[key] = _Shallow(cost, good, limit, cost + margin)
        if known is None:
            self.hold(len(key) + len(good) + BYTES_PER_SUBSET // 2)
        return cost

    def good_columns(self, subset: np.ndarray) -> np.ndarray:
        """Columns that the top of a near-optimal subtree of depth two may test.

        Empty, which stands for all, if there are none or they are not known.
        """
        known = self._shallow.get(subset.tobytes())
        return EVERY_COLUMN if known is None else np.frombuffer(known.good, np.int32).copy()

    def least(
        self, subset: np.ndarray, depth: int, cutoff: int, roots: np.ndarray | None = None
    ) -> int:
        """Least cost of a tree up to a depth, or a lower bound above the cutoff.

        Parameters
        ----------
        subset : ndarray of shape (n_words,)
        depth : int
            Two or more.
        cutoff : int
            Costs above it need not be exact.
        roots : ndarray of bool or None
            Columns the root must be one of; such a cost is not remembered.
        """
        if depth <= BOTTOM and roots is None:
            return self.shallow(subset, depth, cutoff)
        key = (subset.tobytes(), depth)
        value, is_exact = self._deep.get(key, (0, False))
        if roots is None and (is_exact or value > cutoff):
            return value
        best = LARGE if roots is not None else self.least(subset, depth - 1, cutoff)
        _, splits, lower = self.splits(subset, min(best - 1, cutoff), roots)
        lower = min(lower, best)
        for split in splits:
            limit = min(best - 1, cutoff)
            if split.low_left + split.low_right > limit:
                lower = min(lower, split.low_left + split.low_right)
                break
            left, right = self.split(subset, depth - 1, split, limit)
            lower = min(lower, left + right)
            if left + right <= limit:
                best = left + right
        is_exact = best <= cutoff
        value = best if is_exact else max(lower, cutoff + 1)
        if roots is None:
            self._deep[key] = (value, is_exact)
            self.hold(len(key[0]) + BYTES_PER_SUBSET // 2)
        return value

    def split(self, subset: np.ndarray, depth: int, split: _Split, limit: int) -> tuple[int, int]:
        """Least costs of both sides of a split, at least one of them a bound above the limit.

        Parameters
        ----------
        subset : ndarray of shape (n_words,)
        depth : int
            Of the subtrees on the sides, two or more.
        split : _Split
        limit : int
            If the costs sum up to more, they are only lower bounds.

        Returns
        -------
        tuple of (int, int)
            Left and right; exact when their sum is within the limit.
        """
        left, right = self.sides(subset, split.column)
        low = [split.low_left, split.low_right]
        parts = (left, right)
        # A subtree of full depth d has d + 1 leaves at least and errs on the outvoted rows.
        for below in range(BOTTOM, depth):
            for s in (0, 1):
                shallower = self.least(parts[s], below, limit - low[1 - s])
                deeper = split.outvoted[s] + (below + 2) * self.instance.price
                low[s] = max(low[s], min(shallower, deeper))
                if sum(low) > limit:
                    return low[0], low[1]
        first = int(low[0] < low[1])
        for s in (first, 1 - first):
            low[s] = max(low[s], self.least(parts[s], depth, limit - low[1 - s]))
            if sum(low) > limit:
                break
        return low[0], low[1]

    def sides(self, subset: np.ndarray, column: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows with a zero and rows with a one in a column."""
        bits = self.instance.bits[column]
        return subset & ~bits, subset & bits

    def forget(self) -> None:
        """Drop what only the search needs."""
        self._shallow.clear()
        self._deep.clear()

    def hold(self, size: int) -> None:
        """Account for memory.

        Raises
        ------
        TooLargeError
            Beyond `MEMORY`.
        """
        self.stored_bytes += size
        if self.stored_bytes > MEMORY:
            raise TooLargeError(
                "TOO_MANY_SUBSETS",
                f"The near-optimal trees pass through more subsets of rows than fit into "
                f"{MEMORY / 1e9:.1f} GB; take a smaller tolerance, a larger leaf penalty or a "
                "smaller depth.",
                {"bytes": float(self.stored_bytes)},
            )


def build_levels(costs: LeastCosts, budget: int) -> list[Level]:
    """Collect the subsets that trees within a scaled budget pass through, the root first.

    Parameters
    ----------
    costs : LeastCosts
    budget : int
        Largest scaled cost of a tree.
    """
    instance = costs.instance
    depth = instance.depth
    subsets, budgets = [instance.all_rows], [budget]
    levels: list[Level] = []
    while True:
        level_edges: list[tuple[int, int, int]] = []
        first_edge, leaf_errors = [0], []
        below = _Below(costs)
        for subset, room in zip(subsets, budgets, strict=True):
            if depth > BOTTOM:
                roots = instance.roots if not levels else None
                leaf, edges = _edges(costs, subset, depth, room, roots, below)
                level_edges += edges
            else:
                leaf = costs.leaf_errors(subset)
            leaf_errors.append(leaf)
            first_edge.append(len(level_edges))
        levels.append(
            Level(
                depth,
                np.array(subsets, np.uint32).reshape(-1, instance.bits.shape[1]),
                np.array(budgets, np.int64),
                np.array(leaf_errors, np.int64),
                np.array(level_edges, np.int64).reshape(-1, 3),
                np.array(first_edge, np.int64),
                tuple(costs.good_columns(s) for s in subsets) if depth <= BOTTOM else (),
            )
        )
        if depth <= BOTTOM:
            return levels
        depth -= 1
        subsets, budgets = below.subsets, below.budgets


class _Below:
    """Nodes of the next level, by subset."""

    def __init__(self, costs: LeastCosts) -> None:
        self.costs = costs
        self.number: dict[bytes, int] = {}
        self.subsets: list[np.ndarray] = []
        self.budgets: list[int] = []

    def add(self, subset: np.ndarray, budget: int) -> int:
        """Number of the node; its budget rises to the given one."""
        key = subset.tobytes()
        node = self.number.setdefault(key, len(self.subsets))
        if node == len(self.subsets):
            self.subsets.append(subset)
            self.budgets.append(budget)
            self.costs.hold(2 * len(key) + BYTES_PER_SUBSET)
        self.budgets[node] = max(self.budgets[node], budget)
        return node


def _edges(
    costs: LeastCosts,
    subset: np.ndarray,
    depth: int,
    budget: int,
    roots: np.ndarray | None,
    below: _Below,
) -> tuple[int, list[tuple[int, int, int]]]:
    """Errors of a leaf and the splits of a node within its budget."""
    leaf, splits, _ = costs.splits(subset, budget, roots)
    found = []
    for split in sorted(splits):
        left_cost, right_cost = costs.split(subset, depth - 1, split, budget)
        if left_cost + right_cost > budget:
            continue
        left, right = costs.sides(subset, split.column)
        found.append(
            (
                split.column,
                below.add(left, budget - right_cost),
                below.add(right, budget - left_cost),
            )
        )
        costs.hold(24)
    return leaf, found
