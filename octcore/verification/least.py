"""Least cost of the trees on some rows: errors plus a price for every leaf.

Every cut of a node has a lower bound for either side.  What is solved at one cut bounds the others
of its chain, as the rows on the left of one contain those of all before it:

- fewer rows cost no more:  c(S) <= c(S') for S inside S';
- rows cost at most their weight:  c(S') <= c(S) + w(S' minus S).

A node is *closed at* a cost when at every cut both sides together cost that much.  Cuts in the
middle of what is open are solved until all are closed: the sides of many at once where a side is a
single split at most, else one after the other, down to such sides.  A tree that costs less is met
on the way.

With a leaf size fewer rows may cost more.  Bounds are those without it; what they leave open is
solved with it, cut by cut.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from octcore.verification.base import Guard
from octcore.verification.sheet import Array, Sheet

ROUNDING = 1e-12
"""Share of all weight and prices by which costs may differ and count as equal."""
LANE_CELLS, FEWEST_LANES, MOST_LANES = 400_000, 24, 128
"""Rows times columns times lanes of one pass about, and fewest and most lanes."""
PASS_SECONDS, CALL_SECONDS = 1e-9, 1.5e-3
"""Measured: of a row, column and lane; and of a node."""
LANES_EACH, SIDES_EACH = 3.0, 1.2
"""Sides that are solved of a chain beyond two, in square roots of the number of its cuts: single
splits, and trees; measured."""
PRODUCTS = 20
"""Cells of 0/1 columns that cost as much as one of a column of many values."""
LONG_RUN = 8
"""Open cuts next to each other from which on a side is solved farther than its own cut needs."""


@dataclass(frozen=True, eq=False)
class Task:
    """What trees cost and may be."""

    price: float
    """Of a leaf, in weight."""
    least: int
    """Rows of a leaf at least, 1 or more."""
    tolerance: float
    """Costs closer than this are equal."""
    guard: Guard
    group: Array | None = None
    """Raw feature of every encoded column, where one may be tested once at most on a path."""
    known: dict[tuple[bytes, int, int, int], tuple[float, float]] = field(default_factory=dict)
    """Lower and upper bound by rows, depth, leaves and leaf size."""


def least_cost(
    task: Task,
    sheet: Sheet,
    depth: int,
    leaves: int,
    cutoff: float,
    relaxed: bool = False,
) -> float:
    """Least cost of a tree, or `cutoff` if none costs less.

    `depth`, `leaves`: most splits on a path, and most leaves.
    `relaxed`: whether leaves may be of any size.
    """
    task.guard()
    leaf = leaf_cost(task, sheet, relaxed)
    depth, floor = min(depth, leaves - 1), float(sheet.of_conflicts.sum())
    # A tree of some depth has more leaves than that, whatever else it does.
    while depth >= 0 and floor + (depth + 1) * task.price >= min(leaf, cutoff) - task.tolerance:
        depth -= 1
    if depth <= 0:
        return min(leaf, cutoff)
    leaves = min(leaves, 2**depth)
    key = sheet.key, depth, leaves, 1 if relaxed else task.least
    low, high = task.known.get(key, (0.0, np.inf))
    if low >= min(cutoff, high) - task.tolerance:
        return min(cutoff, high)
    reach = min(leaf, cutoff)
    found = float(by_column(task, sheet, depth, leaves, reach, relaxed=relaxed))
    if task.group is None:
        task.known[key] = max(low, found), found if found < cutoff else high
    return found


def leaf_cost(task: Task, sheet: Sheet, relaxed: bool = False) -> float:
    """Cost of a single leaf; infinite where there are too few rows."""
    if not relaxed and sheet.counts.sum() < task.least:
        return np.inf
    return float(sheet.by_class.sum() - sheet.by_class.max()) + task.price


def by_column(
    task: Task,
    sheet: Sheet,
    depth: int,
    leaves: int,
    cutoff: float | Array,
    roots: Array | None = None,
    relaxed: bool = False,
) -> Array:
    """Least cost with each encoded column at the root, or its cutoff if none costs less.

    `cutoff`: one for every column, or a single one, which falls with every better tree; the answer
    has its shape.
    `roots`: columns that the root may test; all by default.
    """
    cuts = sheet.cuts
    allowed = np.ones(len(cuts), bool) if roots is None else np.isin(cuts.column, roots)
    if task.least > 1 and not relaxed:
        n_rows = sheet.counts.sum()
        allowed &= (cuts.rows >= task.least) & (n_rows - cuts.rows >= task.least)
    target = np.array(cutoff, float)
    if task.group is None:
        parts = [(sheet, np.flatnonzero(allowed))]
    else:
        group = task.group[cuts.column]
        parts = [
            (sheet.on(np.flatnonzero(task.group != g)), np.flatnonzero(allowed & (group == g)))
            for g in np.unique(group[allowed])
        ]
    most = 2 ** (depth - 1)
    for below, chosen in parts:
        for left in range(max(1, leaves - most), min(most, leaves - 1) + 1):
            shares = left, min(most, leaves - left)
            node = _Node(task, sheet, below, chosen, depth - 1, shares, relaxed)
            target = node.close(target)
    return target


class _Node:
    """Cuts of some rows that are still open, with lower bounds on both sides of each.

    Both sides have a share of the leaves.  What a cut says about the others of its chain is told
    at once, so that cuts which are closed are left out.
    """

    def __init__(
        self,
        task: Task,
        sheet: Sheet,
        below: Sheet,
        cuts: Array,
        depth: int,
        shares: tuple[int, int],
        relaxed: bool,
    ) -> None:
        self.task, self.sheet, self.below, self.cuts = task, sheet, below, cuts
        self.depths = [min(share - 1, depth) for share in shares]
        self.shares, self.relaxed = shares, relaxed or task.least == 1
        every, total = sheet.cuts, sheet.by_class
        self.column, self.chain = every.column[cuts], every.chain[cuts]
        left, conflicts = every.left[cuts], every.conflicts[cuts]
        self.passed = left.sum(axis=1)
        self.leaf = [_errors(left) + task.price, _errors(total - left) + task.price]
        floors = conflicts, sheet.of_conflicts.sum() - conflicts
        self.low = [
            leaf if depth < 1 else np.minimum(leaf, floor + 2 * task.price)
            for leaf, floor, depth in zip(self.leaf, floors, self.depths, strict=True)
        ]
        self.is_done = np.zeros(len(cuts), bool)

    def close(self, target: Array) -> Array:
        """Solve cuts until none is open; returns the targets, lowered where a tree costs less."""
        while True:
            self.task.guard()
            is_open = ~self.is_done & (sum(self.low) < self._limit(target))
            if not is_open.any():
                return target
            if not is_open.all():
                self._keep(is_open)
            solve = self._solve_many if max(self.depths) <= 1 else self._solve_one
            target = solve(target)
            most = float(self.sheet.by_class.sum()) + self.task.price
            self.low = swept(self.low, self.chain, self.passed, most)

    def _limit(self, target: Array) -> Array:
        """Cost at which cuts are closed."""
        return (target[self.column] if target.ndim else target) - self.task.tolerance

    def _keep(self, kept: Array) -> None:
        self.cuts, self.column, self.chain, self.passed = (
            own[kept] for own in (self.cuts, self.column, self.chain, self.passed)
        )
        self.leaf, self.low = ([own[kept] for own in sides] for sides in (self.leaf, self.low))
        self.is_done = self.is_done[kept]

    def _solved(self, target: Array, chosen: Array, cost: Array) -> Array:
        """Take over what trees with some cuts at the root cost at least, and exactly if too little.

        Returns the targets.
        """
        self.is_done[chosen] = True
        limit = self._limit(target)
        better = cost < (limit[chosen] if target.ndim else limit)
        if not better.any():
            return target
        if not target.ndim:
            return np.array(cost.min())
        target = target.copy()
        np.minimum.at(target, self.column[chosen[better]], cost[better])
        return target

    def _solve_many(self, target: Array) -> Array:
        """Solve cuts whose sides are a leaf or a single split."""
        cells = self.below.order.size + self.below.bits.size // PRODUCTS
        n_open, room = len(self.cuts), LANE_CELLS // max(1, cells)
        room = min(max(room, FEWEST_LANES), MOST_LANES)
        n = min(n_open, room)
        chosen = (2 * np.arange(n) + 1) * n_open // (2 * n)
        left, limit = self.sheet.sides(self.cuts[chosen]), self._limit(target)
        limit = limit[chosen] if target.ndim else limit
        cost = np.stack([low[chosen] for low in self.low])
        self._split_sides(cost, chosen, left, limit, 1)
        for low, own in zip(self.low, cost, strict=True):
            low[chosen] = own
        if not self.relaxed:
            self._split_sides(cost, chosen, left, limit, self.task.least)
        return self._solved(target, chosen, cost.sum(axis=0))

    def _split_sides(
        self, cost: Array, chosen: Array, left: Array, limit: Array, least: int
    ) -> None:
        """Raise the costs of both sides, ``(2, n)``, where a split may cost less than a leaf.

        The heavier side comes first; where it costs enough already, the other one is left out.
        """
        leaf = np.stack([own[chosen] for own in self.leaf])
        heavy = np.asarray(2 * self.passed[chosen] < self.sheet.by_class.sum()).astype(int)
        every = np.arange(len(chosen))
        for side in (heavy, 1 - heavy):
            may_split = np.array(self.depths)[side] >= 1
            is_open = (cost.sum(axis=0) < limit) & may_split
            todo = np.flatnonzero(is_open & (cost[side, every] < leaf[side, every]))
            if len(todo):
                lanes = left[todo] ^ (side[todo] == 1)[:, None]
                split = self.below.best_splits(lanes, least) + 2 * self.task.price
                cost[side[todo], todo] = np.minimum(leaf[side[todo], todo], split)

    def _solve_one(self, target: Array) -> Array:
        """Solve the cut in the middle, by weight, of the first run of open ones."""
        follows = (np.diff(self.cuts) == 1) & (np.diff(self.chain) == 0)
        ends = np.flatnonzero(~follows)
        passed = self.passed[: ends[0] + 1 if len(ends) else len(self.cuts)]
        j = int(np.searchsorted(passed, (passed[0] + passed[-1]) / 2))
        limit = float(self._limit(target)[j] if target.ndim else self._limit(target))
        left = self.sheet.sides(self.cuts[[j]])[0]
        parts = [self.below.at(left), self.below.at(~left)]
        first = int(len(parts[1].number) > len(parts[0].number))
        # So far that all to one end of the run is closed, where it is long enough to pay.
        end = [len(passed) - 1, 0] if len(passed) >= LONG_RUN else [j, j]
        for side in (first, 1 - first):
            reach = limit + self.task.tolerance - self.low[1 - side][end[side]]
            cost = self._side(parts, side, reach, True)
            self.low[side][j] = max(self.low[side][j], cost)
            if self.low[0][j] + self.low[1][j] >= limit:
                return target
        costs = [float(low[j]) for low in self.low]
        for side in () if self.relaxed else (first, 1 - first):
            reach = limit + self.task.tolerance - costs[1 - side]
            costs[side] = self._side(parts, side, reach, False)
        return self._solved(target, np.array([j]), np.array([sum(costs)]))

    def _side(self, parts: list[Sheet], side: int, reach: float, relaxed: bool) -> float:
        is_relaxed = relaxed or self.task.least == 1
        depth, leaves = self.depths[side], self.shares[side]
        return least_cost(self.task, parts[side], depth, leaves, reach, is_relaxed)


def swept(low: list[Array], chain: Array, passed: Array, most: float) -> list[Array]:
    """Bounds of both sides of some cuts, raised by what those of other cuts of a chain say.

    `low`: lower bounds left and right, shape ``(n_cuts,)``.
    `chain`, `passed`: chain of every cut, and weight on its left, ascending in a chain.
    `most`: bounds and weights are not larger.
    """
    if not (chain[1:] == chain[:-1]).any() or most <= 0:
        return low
    # Chains are told apart by numbers so large that no bound reaches into the next one.
    width = 2.0 ** np.ceil(np.log2(4 * most))
    apart = np.cumsum(np.diff(chain, prepend=chain[:1]) != 0) * width

    def from_before(values: Array) -> Array:
        return np.maximum.accumulate(values + apart) - apart

    def from_behind(values: Array) -> Array:
        return (np.maximum.accumulate((values - apart)[::-1]))[::-1] + apart

    left = from_before(low[0])
    left = np.maximum(left, from_behind(left - passed) + passed)
    right = from_behind(low[1])
    right = np.maximum(right, from_before(right + passed) - passed)
    rounding = float(apart[-1] + width) * 2.0**-51
    return [np.maximum(own, new - rounding) for own, new in zip(low, (left, right), strict=True)]


def _errors(by_class: Array) -> Array:
    return by_class.sum(axis=1) - by_class.max(axis=1)


def expected_seconds(sheet: Sheet, depth: int) -> float:
    """Seconds that `least_cost` may take with the optimum as its cutoff, from counts alone."""
    sizes = np.unique(sheet.cuts.chain, return_counts=True)[1].astype(float)
    n_bits, n_many = sheet.bits.shape[1], len(sheet.column)

    def expected(n_rows: float, sizes: Array, depth: int) -> float:
        each = LANES_EACH if depth == 2 else SIDES_EACH
        sides = float(np.minimum(2 * sizes, 2 + each * np.sqrt(sizes)).sum())
        if depth <= 2:
            lanes = sides if depth == 2 else 0.0
            return CALL_SECONDS + PASS_SECONDS * lanes * n_rows * (n_bits / PRODUCTS + n_many)
        again = 0.5 if depth > 3 else 1.0  # the same rows are met in another order
        return again * sides * expected(n_rows / 2, np.maximum(1.0, sizes / 2), depth - 1)

    return expected(len(sheet.number), sizes, depth)
