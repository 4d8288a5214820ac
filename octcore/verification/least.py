"""Least cost of the trees on some rows: errors plus a price for every leaf.

Every cut of a node has a lower bound for either side.  What is solved at one cut bounds the others
of its column, as the rows on the left of one contain those of all before it:

- fewer rows cost no more:  c(S) <= c(S') for S inside S';
- rows cost at most their weight:  c(S') <= c(S) + w(S' minus S).

A node is *closed at* a cost when at every cut both sides together cost that much.  Cuts in the
middle of what is open are solved until all are closed: the sides of many at once where a side is a
single split at most, else one after the other, down to such sides.  Nothing is assumed about which
cuts are good, so that a tree that costs less is found.  *Advice* says which cuts to solve first, and
how much either side costs; it is checked like any cut, and what it leaves open is solved all the same.

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
LANE_CELLS, MOST_LANES = 600_000, 256
"""Rows times columns times lanes of one pass, and lanes at most."""
PASS_SECONDS, CALL_SECONDS = 1.5e-9, 1.5e-3
"""Measured: of a row, column and lane; and of a node."""
RUNS = 4.0
"""Sides that are solved of a column, in square roots of the number of its cuts; measured."""
ROOM = 0.25
"""By how much more than needed a side is solved, as a share of the weight of the open run: its bound
serves the neighbours too."""


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


@dataclass(frozen=True)
class Advice:
    """Cuts of a node that are worth solving first, and what their sides cost."""

    cuts: tuple[tuple[int, int, float, float, Advice | None, Advice | None], ...]
    """``(column, code, left, right, below left, below right)``: a cut as in `Cuts`, what its sides
    cost at least, and advice for them."""


def least_cost(
    task: Task,
    sheet: Sheet,
    depth: int,
    leaves: int,
    cutoff: float,
    relaxed: bool = False,
    advice: Advice | None = None,
) -> float:
    """Least cost of a tree, or `cutoff` if none costs less.

    Parameters
    ----------
    depth, leaves : int
        Most splits on a path, and most leaves.
    relaxed : bool
        Whether leaves may be of any size.
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
    found = float(
        by_column(task, sheet, depth, leaves, reach, relaxed=relaxed, advice=advice).min(
            initial=reach
        )
    )
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
    advice: Advice | None = None,
) -> Array:
    """Least cost with each column at the root, or its cutoff if none costs less.

    Parameters
    ----------
    cutoff : float or numpy.ndarray
        One for every encoded column; a single one falls with every better tree.
    roots : numpy.ndarray or None
        Encoded columns that the root may test; all by default.

    Returns
    -------
    numpy.ndarray
        By encoded column; for a single cutoff the least of all.
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
            target = node.close(target, advice)
    return target


class _Node:
    """Lower bounds on both sides of the cuts of some rows, with a share of leaves for each."""

    def __init__(
        self,
        task: Task,
        sheet: Sheet,
        below: Sheet,
        chosen: Array,
        depth: int,
        shares: tuple[int, int],
        relaxed: bool,
    ) -> None:
        self.task, self.sheet, self.below = task, sheet, below
        self.chosen, self.depth, self.shares, self.relaxed = chosen, depth, shares, relaxed
        cuts, total = sheet.cuts, sheet.by_class
        self.column, self.code = cuts.column[chosen], cuts.code[chosen]
        left, conflicts = cuts.left[chosen], cuts.conflicts[chosen]
        self.passed = left.sum(axis=1)
        self.leaf = [_errors(left) + task.price, _errors(total - left) + task.price]
        floors = conflicts, sheet.of_conflicts.sum() - conflicts
        self.low = [
            leaf if min(share - 1, depth) < 1 else np.minimum(leaf, floor + 2 * task.price)
            for leaf, floor, share in zip(self.leaf, floors, shares, strict=True)
        ]
        self.own = np.full(len(chosen), -np.inf)
        self._sweeps = _Sweeps(self.column, self.passed, self.task.price)

    def close(self, target: Array, advice: Advice | None) -> Array:
        """Solve cuts until none is open; returns the targets, lowered where a tree costs less."""
        for step in () if advice is None else advice.cuts:
            target = self._follow(target, step)
        while True:
            self.task.guard()
            is_open = np.flatnonzero(self._bound < self._limit(target))
            if not len(is_open):
                return target
            if min(self.depth, max(self.shares) - 1) <= 1:
                target = self._solve_many(target, is_open)
            else:
                target = self._solve(target, self._middle(is_open))
            self.low = self._sweeps(*self.low)

    @property
    def _bound(self) -> Array:
        return np.maximum(self.low[0] + self.low[1], self.own)

    def _limit(self, target: Array) -> Array:
        """Cost at which cuts are closed."""
        return (target if target.ndim == 0 else target[self.column]) - self.task.tolerance

    def _lowered(self, target: Array, chosen: Array) -> Array:
        if target.ndim == 0:
            return np.minimum(target, self.own[chosen].min())
        np.minimum.at(target, self.column[chosen], self.own[chosen])
        return target

    def _solve_many(self, target: Array, is_open: Array) -> Array:
        """Solve cuts whose sides are a leaf or a single split."""
        cells = self.below.order.size + self.below.bits.size
        room = max(4, min(MOST_LANES, LANE_CELLS // max(1, cells))) // 2
        n = min(len(is_open), room)
        chosen = is_open[(2 * np.arange(n) + 1) * len(is_open) // (2 * n)]
        left = self.sheet.sides(self.chosen[chosen])
        for least in (1, self.task.least):
            sides = []
            for side, lanes in enumerate((left, ~left)):
                cost = self.leaf[side][chosen]
                if min(self.shares[side] - 1, self.depth) >= 1:
                    split = self.below.best_splits(lanes, least) + 2 * self.task.price
                    cost = np.minimum(cost, split)
                sides.append(cost)
            if least == 1:
                for low, cost in zip(self.low, sides, strict=True):
                    low[chosen] = np.maximum(low[chosen], cost)
            self.own[chosen] = sides[0] + sides[1]
            if self.relaxed or self.task.least == 1:
                break
            still = self.own[chosen] < self._limit(target)[chosen] if target.ndim else (
                self.own[chosen] < self._limit(target)
            )
            chosen, left = chosen[still], left[still]
            if not len(chosen):
                return target
        return self._lowered(target, chosen)

    def _middle(self, is_open: Array) -> tuple[int, float]:
        """Cut in the middle, by weight, of the first run of open ones, and what the run weighs."""
        follows = (np.diff(is_open) == 1) & (np.diff(self.column[is_open]) == 0)
        ends = np.flatnonzero(~follows)
        run = is_open[: ends[0] + 1 if len(ends) else len(is_open)]
        passed = self.passed[run]
        middle = int(np.searchsorted(passed, (passed[0] + passed[-1]) / 2))
        return int(run[middle]), float(passed[-1] - passed[0])

    def _solve(self, target: Array, cut: tuple[int, float]) -> Array:
        """Solve one cut whose sides are trees."""
        j, weight = cut
        limit = float(self._limit(target) if target.ndim == 0 else self._limit(target)[j])
        left = self.sheet.sides(self.chosen[[j]])[0]
        masks = left, ~left
        first = int(np.count_nonzero(left) < len(left) / 2)
        for side in (first, 1 - first):
            room = ROOM * weight if side == first else 0.0
            reach = limit + self.task.tolerance - self.low[1 - side][j] + room
            self._solve_side(j, side, masks[side], reach, None)
            if self.low[0][j] + self.low[1][j] >= limit:
                return target
        self.own[j] = self.low[0][j] + self.low[1][j]
        if not self.relaxed and self.task.least > 1:
            costs = [self.low[0][j], self.low[1][j]]
            for side in (first, 1 - first):
                costs[side] = self._side(side, masks[side], limit - costs[1 - side], False, None)
            self.own[j] = sum(costs)
        return self._lowered(target, np.array([j]))

    def _follow(self, target: Array, step: tuple) -> Array:
        """Raise the bounds of a cut as advised."""
        column, code, *needs = step
        at = np.flatnonzero((self.column == column) & (self.code <= code))
        if not len(at):
            return target
        j = int(at[-1])
        left = self.sheet.sides(self.chosen[[j]])[0]
        for side, mask in enumerate((left, ~left)):
            if needs[side] > self.low[side][j] + self.task.tolerance:
                self._solve_side(j, side, mask, needs[side], needs[2 + side])
        return target

    def _solve_side(
        self, j: int, side: int, mask: Array, reach: float, advice: Advice | None
    ) -> None:
        cost = self._side(side, mask, reach, True, advice)
        self.low[side][j] = max(self.low[side][j], cost)

    def _side(
        self, side: int, mask: Array, reach: float, relaxed: bool, advice: Advice | None
    ) -> float:
        relaxed = relaxed or self.relaxed
        here = self.below.at(mask)
        return least_cost(
            self.task, here, self.depth, self.shares[side], reach, relaxed, advice
        )


class _Sweeps:
    """What bounds at one cut say about the others of its column."""

    def __init__(self, column: Array, passed: Array, price: float) -> None:
        number = np.cumsum(np.diff(column, prepend=column[:1]) != 0) if len(column) else column
        size = np.bincount(number, minlength=1)[number] if len(column) else column
        self.many = np.flatnonzero(size > 1)
        self.passed = passed[self.many]
        width = 8 * (float(passed.max(initial=0.0)) + price + 1.0)
        self.apart = number[self.many] * 2.0 ** np.ceil(np.log2(width))
        self.rounding = float(self.apart[-1]) * 2.0**-51 if len(self.many) else 0.0

    def __call__(self, left: Array, right: Array) -> list[Array]:
        """Return both bounds, raised."""
        if not len(self.many):
            return [left, right]
        left, right = left.copy(), right.copy()
        a, b = left[self.many], right[self.many]
        a = np.maximum(a, self._from_before(a))
        a = np.maximum(a, self._from_behind(a - self.passed) + self.passed)
        b = np.maximum(b, self._from_behind(b))
        b = np.maximum(b, self._from_before(b + self.passed) - self.passed)
        left[self.many], right[self.many] = a, b
        return [left, right]

    def _from_before(self, values: Array) -> Array:
        """Largest value at this cut and those before it in its column."""
        return np.maximum.accumulate(values + self.apart) - self.apart - self.rounding

    def _from_behind(self, values: Array) -> Array:
        apart = self.apart[::-1] - self.apart[-1]
        return (np.maximum.accumulate(values[::-1] - apart) + apart)[::-1] - self.rounding


def _errors(by_class: Array) -> Array:
    return by_class.sum(axis=1) - by_class.max(axis=1)


def expected_seconds(sheet: Sheet, depth: int) -> float:
    """Seconds that `least_cost` may take with the optimum as its cutoff, from counts alone."""
    many = np.bincount(sheet.cuts.column[sheet.bits.shape[1] :])
    return _expected(len(sheet.number), sheet.bits.shape[1], many[many > 0].astype(float), depth)


def _expected(n_rows: float, n_bits: int, many: Array, depth: int) -> float:
    sides = 2.0 * n_bits + float(np.minimum(2 * many, RUNS * np.sqrt(many)).sum())
    if depth <= 2:
        lanes = sides if depth == 2 else 0.0
        return CALL_SECONDS + PASS_SECONDS * lanes * n_rows * (n_bits / 20 + len(many))
    return sides * _expected(n_rows / 2, n_bits, many / 2, depth - 1)
