"""What a certificate is about, in whole numbers, and the least cost of trees on some of the rows.

Rows that no threshold tells apart are one *pattern*.  A tree costs the weight of the rows that it
gets wrong, summed over pairs of pattern and label, and `price` for every leaf.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

IMPOSSIBLE = 1 << 62  # cost of a tree that has a leaf with too few rows
Sides = tuple[np.ndarray, np.ndarray]  # patterns on the left and on the right
Limits = tuple[int | None, int | None]  # of the trees on both sides of a split
Tree = tuple[int, int, "Tree", "Tree"] | int
"""``(column, number, left, right)``: rows whose rank is below the number go left; or a label."""


@dataclass(frozen=True, eq=False)
class Floor:
    """Least recall of a class: at most so many of its rows may be wrong."""

    label: int
    rows: np.ndarray  # of the class, by pattern; shape (n_patterns,), int64
    most_wrong: int


@dataclass(frozen=True, eq=False)
class Case:
    """Rows, weights and limits."""

    rank: np.ndarray  # by column and pattern, whole: how many thresholds lie below its value
    weight: np.ndarray  # by pattern and label, whole: what is lost by every leaf with another one
    size: np.ndarray  # rows by pattern, as leaf sizes count them
    depth: int
    price: int  # `depth`, `price`: most splits on a path; what a leaf costs
    names: tuple[str, ...]
    labels: tuple[str, ...]  # `names`, `labels`: of the columns and the labels, for the reader
    thresholds: tuple[np.ndarray, ...]  # by column, ascending: the largest value on the left
    roots: tuple[int, ...] | None = None  # columns one of which the root must test
    max_leaves: int | None = None
    min_rows: int | None = None
    """`max_leaves`, `min_rows`: limits on the leaves and on the rows of each."""
    floor: Floor | None = None  # there is none beside a limit on the leaves

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return self.weight.shape[1]

    @cached_property
    def n_thresholds(self) -> tuple[int, ...]:
        """By column."""
        return tuple(map(len, self.thresholds))

    def cost_of(self, tree: Tree, rows: np.ndarray | None = None) -> int:
        """Cost of a tree; `IMPOSSIBLE` and more where a leaf has too few rows."""
        rows = np.ones(len(self.size), bool) if rows is None else rows
        if isinstance(tree, tuple):
            column, number, *sides = tree
            left = self.rank[column] < number
            return sum(
                self.cost_of(side, rows & part)
                for side, part in zip(sides, (left, ~left), strict=True)
            )
        if self.size[rows].sum() < (self.min_rows or 0):
            return IMPOSSIBLE
        of_labels = self.weight[rows].sum(axis=0)
        return int(of_labels.sum() - of_labels[tree]) + self.price


@dataclass(eq=False)
class Costs:
    """Least costs of the trees of a depth on some patterns, found by a plain search.

    Where leaves have no least size, a tree on fewer rows costs no more.  So one bound closes all
    thresholds of a column from the first to the last for which the rows left of the first and those
    right of the last cost enough together: a *sweep*.
    """

    case: Case
    guard: Callable[[], None]  # called often; raises when the search has to end
    known: dict[tuple[bytes, int, int | None], tuple[int, int]] = field(default_factory=dict)
    """By rows, depth and limit: the least cost, or the number below which there is none, and the
    number up to which it was searched."""

    @cached_property
    def _sorted(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Patterns by rank; of every threshold its column and the patterns left of it."""
        rank = self.case.rank
        column = np.repeat(np.arange(len(rank)), self.case.n_thresholds)
        ends = [np.searchsorted(np.sort(r), np.arange(r.max(initial=0)), "right") for r in rank]
        return np.argsort(rank, axis=1), column, np.concatenate(ends).astype(int) - 1

    def of_labels(self, rows: np.ndarray, limit: int | None = None) -> list[int]:
        """Cost of a leaf with every label."""
        case = self.case
        if case.min_rows is not None and case.size[rows].sum() < case.min_rows:
            return [IMPOSSIBLE] * case.n_labels
        weight = rows @ case.weight
        costs = (weight.sum() - weight + case.price).tolist()
        if case.floor is None or self.limit_of(rows, limit) is None:
            return costs
        return [cost if k == case.floor.label else IMPOSSIBLE for k, cost in enumerate(costs)]

    def limit_of(self, rows: np.ndarray, limit: int | None) -> int | None:
        """The limit, or None where the rows themselves keep it."""
        floor = self.case.floor
        if floor is not None and limit is not None and floor.rows[rows].sum() <= limit:
            return None
        return limit

    def pairs(self, sides: Sides, depth: int, limit: int | None) -> list[Limits]:
        """Limits of both sides of a split, of which a tree keeps one at least."""
        if limit is None:
            return [(None, None)]
        if self.case.floor is not None:
            left, right = (int(self.case.floor.rows[rows].sum()) for rows in sides)
            return [(a, limit - a) for a in range(max(0, limit - right), min(limit, left) + 1)]
        full = 2 ** (depth - 1)
        return [
            (None if a == full else a, None if limit - a == full else limit - a)
            for a in range(max(1, limit - full), min(limit - 1, full) + 1)
        ]

    def cover(self, sides: Sides, depth: int, limit: int | None, cost: int) -> list[Limits] | None:
        """Limits of both sides, of which a tree keeps one, and that cost enough together.

        Under a floor neighbours are one: if the left side gets at least a rows of the class wrong
        and at most b, the right side has the limit without a.  None if some do not cost enough.
        """

        def is_enough(a: int | None, b: int | None) -> bool:
            on_left = self.least(sides[0], depth - 1, a, cost)
            return on_left + self.least(sides[1], depth - 1, b, cost - on_left) >= cost

        if self.case.floor is None or limit is None:
            pairs = self.pairs(sides, depth, limit)
            return pairs if all(is_enough(*pair) for pair in pairs) else None
        found: list[Limits] = []
        first = 0
        while first <= limit:
            if not is_enough(first, limit - first):
                return None
            low, high = first, limit + 1
            if is_enough(limit, limit - first):
                low = limit
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if is_enough(middle, limit - first) else (low, middle)
            found.append((low, limit - first))
            first = low + 1
        return found

    def least(self, rows: np.ndarray, depth: int, limit: int | None, cap: int) -> int:
        """Least cost, or the cap where that is no more.

        `rows` has the shape (n_patterns,), bool; `limit` is most leaves, None where the depth
        allows no more, or most wrong rows of the class that has a floor.
        """
        if cap <= self.case.price:  # no tree costs less than a leaf
            return cap
        limit = self.limit_of(rows, limit)
        key = np.packbits(rows).tobytes(), depth, limit
        found, searched = self.known.get(key, (0, 0))
        if found < searched or cap <= searched:
            return min(found, cap)
        best = min(cap, *self.of_labels(rows, limit))
        # A split has two leaves at least.
        if depth and (limit != 1 or self.case.floor) and best > 2 * self.case.price:
            self.guard()
            if depth == 1:
                best = min(best, self._stump(rows, limit))
            else:
                for j in range(len(self.case.rank)):
                    best = self._by_column(rows, depth, limit, j, best)
        self.known[key] = best, cap
        return best

    def _stump(self, rows: np.ndarray, limit: int | None) -> int:
        """Least cost of two leaves."""
        order, column, end = self._sorted
        case, floor = self.case, self.case.floor
        of_class = np.zeros_like(case.size) if floor is None else floor.rows
        values = np.column_stack([case.weight, case.size, of_class]) * rows[:, None]
        left = np.cumsum(values[order], axis=1)[column, end]
        sides = left, values.sum(axis=0) - left
        best = IMPOSSIBLE
        for labels in self._label_sets(limit):
            cost, wrong = np.full(len(end), 2 * case.price), np.zeros(len(end), np.int64)
            for side, allowed in zip(sides, labels, strict=True):
                weight = side[:, : case.n_labels]
                cost += weight.sum(axis=1) - weight[:, allowed].max(axis=1)
                cost[side[:, -2] < (case.min_rows or 0)] = IMPOSSIBLE
                if floor is not None and floor.label not in allowed:
                    wrong += side[:, -1]
            if limit is not None and floor is not None:
                cost[wrong > limit] = IMPOSSIBLE
            best = min(best, int(cost.min(initial=IMPOSSIBLE)))
        return best

    def _label_sets(self, limit: int | None) -> list[tuple[list[int], list[int]]]:
        """Labels of two leaves between which the limit makes no difference."""
        every, floor = list(range(self.case.n_labels)), self.case.floor
        if limit is None or floor is None:
            return [(every, every)]
        parts = [[floor.label], [k for k in every if k != floor.label]]
        parts = [part for part in parts if part]
        return [(a, b) for a in parts for b in parts]

    def _by_column(self, rows: np.ndarray, depth: int, limit: int | None, j: int, cap: int) -> int:
        """Least cost of a tree whose root tests a column, or the cap."""
        t = 0
        while t < self.case.n_thresholds[j]:
            left = rows & (self.case.rank[j] <= t)
            sides = left, rows & ~left
            if self.case.floor is None or self.cover(sides, depth, limit, cap) is None:
                for a, b in self.pairs(sides, depth, limit):
                    on_left = self.least(left, depth - 1, a, cap)
                    cap = min(cap, on_left + self.least(sides[1], depth - 1, b, cap - on_left))
            t = self.reach(rows, depth, limit, (j, t), cap) + 1
        return cap

    def reach(
        self, rows: np.ndarray, depth: int, limit: int | None, at: tuple[int, int], cost: int
    ) -> int:
        """Last threshold of the sweep that begins at one: twice as far, then halving."""
        j, first = at
        end = self.case.n_thresholds[j]
        if self.case.min_rows is not None:  # fewer rows may cost more: no sweeps
            return first
        rank = self.case.rank[j]
        left = rows & (rank <= first)

        def is_enough(t: int) -> bool:
            return self.cover((left, rows & (rank > t)), depth, limit, cost) is not None

        low, step = first, 1
        while low + step < end and is_enough(low + step):
            low, step = low + step, 2 * step
        high = min(end, low + step)
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if is_enough(middle) else (low, middle)
        return low
