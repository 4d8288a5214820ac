"""The optimum of a univariate claim: no tree costs less than it says, or the one that does.

Trees on some rows cost their errors plus a price for every leaf.  Every cut of a node has a lower
bound for either side.  What is solved at one cut bounds the others of its chain, as the rows on the
left of one contain those of all before it:

- fewer rows cost no more:  c(S) <= c(S') for S inside S';
- rows cost at most their weight:  c(S') <= c(S) + w(S' minus S).

A node is *closed at* a cost when at every cut both sides together cost that much.  Cuts in the
middle of what is open are solved until all are closed: the sides of many at once where a side is a
single split at most, else one after the other, down to such sides.  A tree that costs less is met
on the way.

With a leaf size fewer rows may cost more.  Bounds are those without it; what they leave open is
solved with it, cut by cut.
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from octcore.verification.base import Guard, NotProvenError, Proven
from octcore.verification.claim import SHARE_TOLERANCE, Array, Claim
from octcore.verification.sheet import Sheet, make_sheet, needed_bytes
from octcore.verification.value import TOLERANCE, Value, value_of_gains

ROUNDING = 1e-12  # share of all weight and prices by which costs may differ and count as equal
LANE_CELLS, FEWEST_LANES, MOST_LANES = 400_000, 24, 128
"""Rows times columns times lanes of one pass about, and fewest and most lanes."""
CUTS_EACH, FEWEST_SETS, MOST_SETS = 8, 8, 32
"""Sets of rows whose trees of depth two are found at once: lanes of each, fewest and most sets."""
PASS_SECONDS, CALL_SECONDS = 4e-9, 1.5e-3
"""Measured: of a row, column, lane and sum, two classes having one; and of a node."""
LANES_EACH, SIDES_EACH, ALONE = 3.0, 1.2, 1 / 3
"""Sides that are solved of a chain beyond two, in square roots of the number of its cuts: single
splits, and trees; and the share of the former in a tree of two levels alone; measured on noise."""
BEGUN = 8.0
"""Times a limit up to which trees of two levels are begun.  The estimate is right for noise and so
many times too high for rows with structure, which the cuts that one pass closes tell apart."""
PRODUCTS = 20  # cells of 0/1 columns that cost as much as one of a column of many values
LONG_RUN = 8
"""Open cuts next to each other from which on a side is solved farther than its own cut needs."""


@dataclass(frozen=True, eq=False)
class Task:
    """What trees cost and may be."""

    price: float  # of a leaf, in weight
    least: int  # rows of a leaf at least, 1 or more
    tolerance: float  # costs closer than this are equal
    guard: Guard
    group: Array | None = None
    """Raw feature of every encoded column, where one may be tested once at most on a path."""
    whole: Sheet | None = None
    known: dict[tuple[bytes, int, int, int], tuple[float, float]] = field(default_factory=dict)
    """Lower and upper bound by rows, depth, leaves and leaf size."""
    nodes: "dict[tuple[int, int], list[_Node]]" = field(default_factory=dict)
    """By depth and leaves, those of all rows and columns, which later targets go on with."""


def least_cost(
    task: Task, sheet: Sheet, depth: int, leaves: int, cutoff: float, relaxed: bool = False
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
    found = float(by_column(task, sheet, depth, leaves, min(leaf, cutoff), relaxed=relaxed))
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
    target = np.array(cutoff, float)
    nodes = task.nodes.get((depth, leaves)) if roots is None and sheet is task.whole else None
    if nodes is None:
        nodes = _nodes(task, sheet, depth, leaves, roots, relaxed)
        if roots is None and sheet is task.whole:
            task.nodes[depth, leaves] = nodes = list(nodes)
    for node in nodes:
        target = node.close(target)
    return target


def _nodes(
    task: Task, sheet: Sheet, depth: int, leaves: int, roots: Array | None, relaxed: bool
) -> "Iterator[_Node]":
    """Ways to share the leaves, and to choose a feature for the root where that is told."""
    cuts = sheet.cuts
    allowed = np.ones(len(cuts), bool) if roots is None else np.isin(cuts.column, roots)
    if task.least > 1 and not relaxed:
        allowed &= (cuts.rows >= task.least) & (sheet.counts.sum() - cuts.rows >= task.least)
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
            yield _Node(task, sheet, below, chosen, depth - 1, shares, relaxed)


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
        lanes: Array | None = None,
    ) -> None:
        self.task, self.sheet, self.below = task, sheet, below
        self.depths = [min(share - 1, depth) for share in shares]
        self.shares, self.relaxed = shares, relaxed or task.least == 1
        every = sheet.cuts
        each = np.column_stack([sheet.weights, sheet.of_conflicts])
        if lanes is None:
            self.lanes, self.lane = None, np.zeros(len(cuts), int)
            left = np.column_stack([every.left, every.conflicts])[cuts]
            total, self.column, self.chain = each.sum(axis=0), every.column[cuts], every.chain[cuts]
        else:
            # What is asked about each is a target, and its cuts are chains, of their own.
            sums, total, self.lanes = sheet.left_of(lanes, each), lanes @ each, lanes
            passed = sums[:, :, :-1].sum(axis=2)
            parts = (passed > 0) & (passed < total[:, :-1].sum(axis=1)[:, None])
            parts[:, 1:] &= (np.diff(every.chain) != 0) | (np.diff(passed) != 0)
            self.lane, cuts = np.nonzero(parts)
            left, total, self.column = sums[self.lane, cuts], total[self.lane], self.lane
            self.chain = every.chain[cuts] + self.lane * (every.chain.max(initial=0) + 1)
        right = total - left
        left, right, floors = left[:, :-1], right[:, :-1], (left[:, -1], right[:, -1])
        self.passed, self.is_right_heavy = left.sum(axis=1), left.sum(axis=1) < right.sum(axis=1)
        self.leaf = [_errors(left) + task.price, _errors(right) + task.price]
        self.low = [
            np.minimum(leaf, _floor(held, floor, share, task.price)) if depth else leaf
            for leaf, held, floor, share, depth in zip(
                self.leaf, (left, right), floors, shares, self.depths, strict=True
            )
        ]
        own = cuts, self.column, self.chain, self.passed, self.lane, self.is_right_heavy
        self.all = [*own, *self.leaf, *self.low]
        self.place, self.is_done = np.arange(len(cuts)), np.zeros(len(cuts), bool)

    def close(self, target: Array) -> Array:
        """Solve cuts until none is open; returns the targets, lowered where a tree costs less.

        What is known by then serves the next targets.
        """
        self._keep(np.arange(len(self.all[0])), np.zeros(len(self.all[0]), bool))
        solve = self._solve_many if max(self.depths) <= 1 else self._solve_one
        n_sets = min(LANE_CELLS // (2 * CUTS_EACH * self._cells), MOST_SETS)
        is_free = self.relaxed and self.task.group is None  # both levels test the same columns
        if max(self.depths) == 2 and is_free and n_sets >= FEWEST_SETS:
            solve = partial(self._solve_sets, n_sets)
        guard, begin, n_before = self.task.guard, self.task.guard.elapsed, 0
        while True:
            guard()
            is_open = ~self.is_done & (sum(self.low) < self._limit(target))
            if not is_open.any():
                return target
            if not is_open.all():
                self._keep(self.place[is_open], self.is_done[is_open])
            if n_before and (guard.estimate or 0.0) > guard.longest:  # see `BEGUN`
                left = len(self.cuts) / max(1, n_before - len(self.cuts))
                guard.expects(guard.elapsed + left * (guard.elapsed - begin))
            n_before = len(self.cuts)
            target = solve(target)
            most = float(self.sheet.by_class.sum()) + self.task.price
            self.low = swept(self.low, self.chain, self.passed, most)

    def _limit(self, target: Array) -> Array:
        """Cost at which cuts are closed."""
        return (target[self.column] if target.ndim else target) - self.task.tolerance

    def _keep(self, place: Array, is_done: Array) -> None:
        """Go on with some of all cuts."""
        for known, own in zip(self.all[-2:], self.low, strict=True):
            known[self.place] = own
        self.place, self.is_done = place, is_done
        own = [known[place] for known in self.all]
        self.cuts, self.column, self.chain, self.passed, self.lane, self.is_right_heavy = own[:-4]
        self.leaf, self.low = own[-4:-2], own[-2:]

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
        room = min(max(LANE_CELLS // self._cells, FEWEST_LANES), MOST_LANES)
        if self.lanes is not None:
            room = max(room, CUTS_EACH * len(self.lanes))
        chosen = _spread(len(self.cuts), room)
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
        heavy = self.is_right_heavy[chosen].astype(int)
        every = np.arange(len(chosen))
        for side in (heavy, 1 - heavy):
            is_open = (cost.sum(axis=0) < limit) & (np.array(self.depths)[side] >= 1)
            todo = np.flatnonzero(is_open & (cost[side, every] < leaf[side, every]))
            if len(todo):
                lanes = left[todo] ^ (side[todo] == 1)[:, None]
                lanes &= True if self.lanes is None else self.lanes[self.lane[chosen[todo]]]
                split = self.below.best_splits(lanes, least) + 2 * self.task.price
                cost[side[todo], todo] = np.minimum(leaf[side[todo], todo], split)

    @property
    def _cells(self) -> int:
        """Work on one lane."""
        return max(1, self.below.order.size + self.below.bits.size // PRODUCTS)

    def _solve_sets(self, n_sets: int, target: Array) -> Array:
        """Solve the cuts in the middle of some runs of open ones, without a leaf size."""
        first = np.append(True, (np.diff(self.cuts) != 1) | (np.diff(self.chain) != 0))
        begin, end = np.flatnonzero(first), np.flatnonzero(np.append(first[1:], True))
        runs = _spread(len(begin), n_sets)
        begin, end = begin[runs], end[runs]
        chosen, limit = (begin + end) // 2, self._limit(target)
        limit = (limit[chosen] if target.ndim else limit) + self.task.tolerance
        left, is_long = self.sheet.sides(self.cuts[chosen]), end - begin + 1 >= LONG_RUN
        for side in (0, 1):
            # So far that all to one end of the run is closed, where it is long enough to pay.
            far = np.where(is_long, begin if side else end, chosen)
            lanes, own = left ^ (side == 1), self.low[side]
            reach = limit - self.low[1 - side][far]
            own[chosen] = np.maximum(own[chosen], self._sets(lanes, side, reach))
        return self._solved(target, chosen, self.low[0][chosen] + self.low[1][chosen])

    def _sets(self, lanes: Array, side: int, reach: Array) -> Array:
        """Least costs of one side each of several cuts, or what they reach."""
        task, depth, leaves = self.task, self.depths[side], self.shares[side]
        target = np.minimum(_errors(lanes @ self.below.weights) + task.price, reach)
        if depth == 1:
            return np.minimum(target, self.below.best_splits(lanes, 1) + 2 * task.price)
        for share in range(max(1, leaves - 2), min(2, leaves - 1) + 1) if depth else ():
            shares, none = (share, min(2, leaves - share)), np.zeros(0, int)
            target = _Node(task, self.below, self.below, none, 1, shares, True, lanes).close(target)
        return target

    def _solve_one(self, target: Array) -> Array:
        """Solve the cut in the middle, by weight, of the first run of open ones."""
        ends = np.flatnonzero(~((np.diff(self.cuts) == 1) & (np.diff(self.chain) == 0)))
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
            self.low[side][j] = max(self.low[side][j], self._side(parts, side, reach, True))
            if self.low[0][j] + self.low[1][j] >= limit:
                return target
        costs = [float(low[j]) for low in self.low]
        for side in () if self.relaxed else (first, 1 - first):
            reach = limit + self.task.tolerance - costs[1 - side]
            costs[side] = self._side(parts, side, reach, False)
        return self._solved(target, np.array([j]), np.array([sum(costs)]))

    def _side(self, parts: list[Sheet], side: int, reach: float, relaxed: bool) -> float:
        own = self.depths[side], self.shares[side]
        return least_cost(self.task, parts[side], *own, reach, relaxed or self.task.least == 1)


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


def _spread(n: int, most: int) -> Array:
    """So many numbers below n at most, evenly."""
    return (2 * np.arange(min(n, most)) + 1) * n // (2 * min(n, most))


def _errors(by_class: Array) -> Array:
    return by_class.sum(axis=1) - by_class.max(axis=1)


def _floor(by_class: Array, conflicts: Array, leaves: int, price: float) -> Array:
    """Least cost of trees of two leaves and more: with so many answers the others are missed."""
    lost = by_class.sum(axis=1, keepdims=True) - np.cumsum(np.sort(by_class)[:, ::-1], axis=1)
    lost = np.maximum(lost[:, 1:leaves], conflicts[:, None])
    return (lost + price * np.arange(2, 2 + lost.shape[1])).min(axis=1, initial=np.inf)


def expected_seconds(sheet: Sheet, depth: int) -> float:
    """Seconds that `least_cost` may take with the optimum as its cutoff, from counts alone."""
    sizes = np.unique(sheet.cuts.chain, return_counts=True)[1].astype(float)
    n_bits, n_many, n_classes = sheet.bits.shape[1], len(sheet.column), sheet.weights.shape[1]
    of_row = PASS_SECONDS * (n_classes if n_classes > 2 else 1) * (n_bits / PRODUCTS + n_many)

    def expected(n_rows: float, sizes: Array, depth: int) -> float:
        each = LANES_EACH if depth == 2 else SIDES_EACH
        sides = float(np.minimum(2 * sizes, 2 + each * np.sqrt(sizes)).sum())
        if depth <= 2:
            lanes = sides if depth == 2 else 0.0
            return CALL_SECONDS + of_row * lanes * n_rows
        again = 0.5 if depth > 3 else 1.0  # the same rows are met in another order
        return again * sides * expected(n_rows / 2, np.maximum(1.0, sizes / 2), depth - 1)

    return (ALONE if depth == 2 else 1.0) * expected(len(sheet.number), sizes, depth)


CUTS, COUPLED = "all cuts by bounds from their neighbours", "all vectors of sums over leaves"
MOST_PAIRS = 12  # forbidden pairs; each may double the number of sets of features
SMALLEST_OCT_GAP = 1e-4  # values of a column that lie closer may count as equal in the model of OCT
LIMITS_OF_BIN_OCT = frozenset({"class_weight", "forbidden_features"})
"""Other limits count the idle splits of its full trees."""
SUM_SECONDS = 4e-8  # measured: one entry of one sum of two vectors, with its share of the sorting
SUMS_AT_ONCE = 200_000  # effort only: vectors, some megabytes
COPIES = 4  # of the vectors at once, while they are sorted


def derived(claim: Claim, guard: Guard) -> Proven:
    """Prove the bound of a univariate claim, or derive the optimum that is better."""
    if claim.formulation == "bin-oct" and set(claim.limits) - LIMITS_OF_BIN_OCT:
        raise NotProvenError("bin-oct counts idle splits in its side constraints")
    for j in claim.columns if claim.formulation == "oct" else ():
        guard()
        if np.diff(np.unique(claim.X[:, j]).astype(float)).min(initial=np.inf) < SMALLEST_OCT_GAP:
            raise NotProvenError("values lie closer than the model of OCT tells apart")
    value = value_of_gains(claim)
    cutoff = np.inf
    if claim.bound is not None:
        cutoff = (claim.bound - value.constant) / value.per_error
    is_coupled = bool(claim.recalls or claim.parities or claim.limits.get("monotone"))
    task, sheet = _task(claim, value, claim.columns, guard)
    found, method = 0.0, CUTS
    if cutoff < np.inf or not is_coupled:
        found, method = _uncoupled(claim, value, task, sheet, cutoff)
    if claim.limits.get("monotone") and found < cutoff:
        raise NotProvenError("trees that go one way along a column only are not searched again")
    if is_coupled and found < cutoff:  # more than the trees that are allowed cost less
        found, method = _coupled(claim, value, guard)
    if np.isinf(found):
        return Proven(None, method)
    by_root = partial(_root_optima, claim, value, task, sheet)
    if found >= cutoff:
        return Proven(claim.bound, method, by_root=by_root)
    return Proven(float(value.of(found, 0)), method, is_optimum=True, by_root=by_root)


def _uncoupled(
    claim: Claim, value: Value, task: Task, sheet: Sheet, cutoff: float
) -> tuple[float, str]:
    """Least cost, or the cutoff, and how it was found; the task is that on all columns."""
    n_sets, first = next(_feature_sets(claim))
    if n_sets == 1 and len(_columns(claim, first)) == len(claim.columns):
        return _least_on(claim, task, sheet, cutoff), CUTS
    # Where features are limited: first as if they were not.
    if cutoff < np.inf and _least_on(claim, task, sheet, cutoff) >= cutoff:
        return cutoff, CUTS
    task.guard.expects(n_sets * task.guard.elapsed)
    for _, chosen in _feature_sets(claim):
        cutoff = _least_on(claim, *_task(claim, value, _columns(claim, chosen), task.guard), cutoff)
    return cutoff, f"{CUTS} for each of {n_sets:,} sets of features"


def _least_on(claim: Claim, task: Task, sheet: Sheet, cutoff: float) -> float:
    """Least cost of the trees on some columns, or the cutoff."""
    root = claim.limits.get("root_feature")
    if root is None:
        return least_cost(task, sheet, claim.depth, claim.leaf_limit, cutoff)
    roots = np.flatnonzero(claim.group == claim.raw_indices([root])[0])
    return float(_by_root(claim, task, sheet, cutoff, roots))


def _by_root(
    claim: Claim, task: Task, sheet: Sheet, cutoff: float | Array, roots: Array | None
) -> Array:
    depth = min(claim.depth, claim.leaf_limit - 1)
    if depth < 1:
        return np.array(cutoff)
    return by_column(task, sheet, depth, min(claim.leaf_limit, 2**depth), cutoff, roots)


def _root_optima(
    claim: Claim, value: Value, task: Task, sheet: Sheet, said: Array, is_sought: Array
) -> Array:
    """`Proven.by_root`, with what the task knows already."""
    used = task.guard.elapsed  # what the estimate says was too much where that took less
    task.guard.expects(used + min(used, expected_seconds(sheet, claim.depth)))
    cutoff = (said - value.constant) / value.per_error
    room = 4 * TOLERANCE * (claim.span + value.price + np.abs(said / value.per_error))
    cutoff += np.where(is_sought, room, 0.0)
    found = _by_root(claim, task, sheet, np.where(np.isfinite(cutoff), cutoff, 0.0), None)
    rows = sheet.cuts.rows
    enough = (rows >= task.least) & (sheet.counts.sum() - rows >= task.least)
    there = np.isin(np.arange(len(said)), sheet.cuts.column[enough]) & (claim.leaf_limit > 1)
    return np.where(there, value.of(found, 0), np.nan)


def _task(claim: Claim, value: Value, columns: Array, guard: Guard) -> tuple[Task, Sheet]:
    guard.needs(needed_bytes(claim.X, columns, claim.costs.shape[1], guard))
    sheet, _ = make_sheet(claim.X, claim.gains, columns, claim.group, guard)
    group = claim.group if claim.limits.get("feature_once_per_path") else None
    is_one = claim.depth == 2 and group is None  # node, whose first pass tells of all
    guard.expects(expected_seconds(sheet, claim.depth), BEGUN if is_one else 1.0)
    tolerance = ROUNDING * (claim.span + value.price)
    return Task(value.price, claim.least_rows, tolerance, guard, group, sheet), sheet


def _coupled(claim: Claim, value: Value, guard: Guard) -> tuple[float, str]:
    """Least cost where limits look at the predictions of all leaves together."""
    n_sets, _ = next(_feature_sets(claim))
    best, method = np.inf, COUPLED
    if n_sets > 1:
        method += f" for each of {n_sets:,} sets of features"
    for number, (_, chosen) in enumerate(_feature_sets(claim)):
        guard()
        sums = make_sums(claim, _columns(claim, chosen), guard, n_sets - number)
        best = min(best, coupled_optimum(sums, claim, value.price))
    return best, method


def _feature_sets(claim: Claim) -> Iterator[tuple[int, Array]]:
    """Yield the number of sets and one largest set of raw features that a tree may use together."""
    limits = claim.limits
    free = sorted({int(g) for g in claim.group[claim.columns]})
    most = limits.get("max_features")
    pairs = [tuple(claim.raw_indices(pair)) for pair in limits.get("forbidden_pairs") or ()]
    pairs = [pair for pair in pairs if set(pair) <= set(free)]
    if len(pairs) > MOST_PAIRS:
        raise NotProvenError("too many pairs of features are forbidden")
    left_out = {frozenset(choice) for choice in itertools.product(*pairs)}
    remaining = [[raw for raw in free if raw not in out] for out in left_out]
    sizes = [len(raws) if most is None else min(int(most), len(raws)) for raws in remaining]
    count = sum(math.comb(len(raws), size) for raws, size in zip(remaining, sizes, strict=True))
    # A tree with fewer features is one on some largest set.
    for raws in itertools.chain.from_iterable(map(itertools.combinations, remaining, sizes)):
        yield count, np.array(list(raws), dtype=int)


def _columns(claim: Claim, raws: Array) -> Array:
    return claim.columns[np.isin(claim.group[claim.columns], raws)]


@dataclass(frozen=True, eq=False)
class Sums:
    """What limits that couple leaves look at, for every merged row, and the tests that part them.

    A floor on a recall and a parity limit look at the predictions of all leaves together, at sums
    over leaves: correct rows of a class, positive predictions in a group.  So a tree is a vector
    (errors, leaves, sums ...), and the vectors of the trees on some rows are those of a leaf and
    all sums of a vector from the right and one from the left side of a test.  Vectors that differ
    in their errors only are one.  This is small at depth two and seldom beyond.
    """

    right: Array  # whether rows go right of a test, shape ``(n_tests, n_distinct)``
    group: Array  # raw feature of every test, shape ``(n_tests,)``
    counts: Array  # training rows that were merged into one, shape ``(n_distinct,)``
    of_label: Array
    """What a row adds if it is predicted as class k: weight that is wrong, then the counted sums;
    shape ``(n_classes, n_distinct, 1 + n_sums)``."""
    floors: list[tuple[int, float]]  # sums (by position) and their least values
    gaps: list[tuple[int, float, int, float, float]]
    """Sum and size of one group, sum and size of the other, largest gap."""
    least: int  # rows of a leaf
    once: bool  # whether a raw feature is tested once at most on a path
    guard: Guard

    @property
    def width(self) -> int:
        """Length of a vector: errors, leaves, sums."""
        return self.of_label.shape[2] + 1

    def admit(self, vectors: Array) -> Array:
        """Which vectors of whole trees keep the limits."""
        kept = np.ones(len(vectors), dtype=bool)
        for position, least in self.floors:
            kept &= vectors[:, 2 + position] >= least
        for a, size_a, b, size_b, gap in self.gaps:
            shares = vectors[:, 2 + a] / size_a - vectors[:, 2 + b] / size_b
            kept &= np.abs(shares) <= gap + SHARE_TOLERANCE
        return kept

    def vectors(self, rows: Array, allowed: Array, depth: int) -> Array:
        """Vectors of all trees of some depth on some rows, the least errors of every kind."""
        self.guard()
        found = self.leaves(rows)
        if depth == 0 or self.counts[rows].sum() < 2 * self.least:  # no side holds enough
            return found
        for right, left in self.sides(rows, allowed, None, depth):
            for vectors in _all_sums(right, left):
                self.guard()
                self.guard.needs(COPIES * (found.nbytes + vectors.nbytes))
                found = _least(np.concatenate([found, vectors]))
        return found

    def sides(
        self, rows: Array, allowed: Array, roots: Array | None, depth: int
    ) -> Iterator[tuple[Array, Array]]:
        """Yield the vectors of both sides of every test."""
        counts, group = self.counts, self.group
        for f in allowed if roots is None else roots:
            inside = self.right[f, rows]
            below = allowed[group[allowed] != group[f]] if self.once else allowed
            parts = rows[inside], rows[~inside]
            if min(counts[part].sum() for part in parts) >= self.least:
                right, left = (self.vectors(part, below, depth - 1) for part in parts)
                yield right, left

    def leaves(self, rows: Array) -> Array:
        """One vector for every label of a leaf."""
        if self.counts[rows].sum() < self.least:
            return np.empty((0, self.width))
        return _least(np.insert(self.of_label[:, rows].sum(axis=1), 1, 1.0, axis=1))


def make_sums(claim: Claim, columns: Array, guard: Guard, times: int = 1) -> Sums:
    """Count what the limits of a claim look at on merged rows, for tests of some columns.

    `times`: how often an optimum like that will be derived; announced before rows are parted.
    """
    sheet, merged = make_sheet(claim.X, claim.gains, columns, claim.group, guard)
    n_distinct, n_tests = len(sheet.number), len(sheet.cuts)
    guard.needs(float(n_distinct) * n_tests)
    wrong = sheet.weights.sum(axis=1)[None] - sheet.weights.T
    blocks: list[Array] = [wrong]
    floors, gaps = [], []

    def add(counted: Array, label: int) -> int:
        block = np.zeros(wrong.shape)
        block[label] = np.bincount(merged, counted, n_distinct)
        blocks.append(block)
        return len(blocks) - 2

    for k, floor in claim.recalls:
        of_class = claim.y == k
        if of_class.any():
            floors.append((add(of_class, k), float((floor - SHARE_TOLERANCE) * of_class.sum())))
    known: dict[bytes, int] = {}
    for a, b, gap in claim.parities:
        at = []
        guard()
        for group in (a, b):
            key = group.tobytes()
            if key not in known:
                guard.needs(8.0 * wrong.size * (len(known) + 1))
                known[key] = add(group, claim.positive_class)
            at += [known[key], float(group.sum())]
        gaps.append((int(at[0]), at[1], int(at[2]), at[3], gap))
    guard.expects(times * coupled_seconds(n_tests, len(wrong), 1 + len(blocks), claim.depth))
    right = ~sheet.sides(np.arange(n_tests))
    group = claim.group[sheet.cuts.column]
    rules = claim.least_rows, bool(claim.limits.get("feature_once_per_path")), guard
    return Sums(right, group, sheet.counts, np.stack(blocks, axis=2), floors, gaps, *rules)


def coupled_seconds(n_tests: int, n_classes: int, width: int, depth: int) -> float:
    """Seconds of `coupled_optimum` at most: no two vectors are taken to be equal."""
    vectors, work = float(n_classes), 0.0
    for level in range(depth):
        work += (2.0 * n_tests) ** (depth - 1 - level) * n_tests * vectors**2
        vectors = n_classes + n_tests * vectors**2
    return SUM_SECONDS * width * work


def coupled_optimum(sums: Sums, claim: Claim, price: float) -> float:
    """Least errors + price x leaves of a tree that keeps the limits; infinite if there is none."""
    whole, allowed = np.arange(len(sums.counts)), np.arange(len(sums.group))
    root, roots, best = claim.limits.get("root_feature"), None, np.inf
    if root is not None:
        roots = np.flatnonzero(sums.group == claim.raw_indices([root])[0])

    def take(vectors: Array) -> float:
        kept = vectors[sums.admit(vectors) & (vectors[:, 1] <= claim.leaf_limit)]
        return float((kept[:, 0] + price * kept[:, 1]).min(initial=best))

    if roots is None:
        best = take(sums.leaves(whole))
    if claim.depth > 0:
        for right, left in sums.sides(whole, allowed, roots, claim.depth):
            for vectors in _all_sums(right, left):
                sums.guard()
                best = take(vectors)
    return best


def _all_sums(right: Array, left: Array) -> Iterator[Array]:
    """Yield the sums of all pairs, a part at a time."""
    step = max(1, SUMS_AT_ONCE // max(1, len(left)))
    for start in range(0, len(right), step):
        yield (right[start : start + step][:, None] + left[None]).reshape(-1, right.shape[1])


def _least(vectors: Array) -> Array:
    """Keep the least errors of vectors that agree in all else."""
    order = np.lexsort(vectors.T)  # the last column sorts first, errors last
    ordered = vectors[order]
    first = np.ones(len(ordered), dtype=bool)
    first[1:] = (ordered[1:, 1:] != ordered[:-1, 1:]).any(axis=1)
    return ordered[first]
