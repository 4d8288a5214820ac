"""The search with compiled kernels: depth by depth, in pieces between which events go out.

Depth two comes first: its tree is the first good incumbent, and its bounds order the columns.  Then
the root of full depth is searched.  On small problems the kernel chooses what to solve next; on
large ones every round solves one threshold of the few most promising columns side by side, whether
by one thread or by several, so that threads change the time and nothing else.  What was open at
some moments is kept for pictures, and thinned out as the search goes on.

Where several trees cost the same, `FirstTree` names the first in this order: fewer levels up to
two, there fewer leaves, then the root with the smaller column, on it the smaller threshold, then
both sides by the same order.  It depends on the rows alone, so that `plain` and the kernels, which
meet trees in orders of their own, name one tree.
"""

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from octcore.numerics import kernels
from octcore.search.univariate.bounds import INFINITE
from octcore.search.univariate.depth_two import NO_ROOT, Terms, depth_two
from octcore.search.univariate.lane_rows import Rows, restrict
from octcore.search.univariate.lookahead import Look, deeper_trees
from octcore.search.univariate.node import Node, open_node, search
from octcore.search.univariate.question import Moment, State
from octcore.search.univariate.table import Inquiry, Table
from octcore.search.univariate.tree import Branch, Leaf, PathTree

ROUND = 4  # columns of one round; a constant, so that the number of threads does not matter
LARGE_WORK = {3: 2_000_000, 4: 50_000}
"""Row visits of depth two from which rounds are worth their overhead, by depth."""
FIRST_STEPS = 24
"""Thresholds that one thread solves before rounds begin: where the rows can be told apart without
errors, the best tree is often among them."""
PIECE_SECONDS = 0.03  # time between two reports, where the kernel chooses what to solve
GROWTH = 2.0
"""How much longer than the last piece the next one may be: the first ones are worth a picture."""
KINDS = {2: (np.int16, 2**15 - 2), 4: (np.int32, 2**30), 8: (np.int64, 2**62)}
"""Integers of the kernels by their bytes, and the largest sum each may hold."""
MOST_MOMENTS, MOST_COLUMNS = 48, 12
"""Moments that are kept for pictures, and columns of them (effort only: a picture shows eight)."""
MOST_SPANS = 24  # spans of a column at a moment; of more than these the closest ones become one


def parted(rows: Rows, column: int, rank: int) -> tuple[Rows, Rows]:
    """The rows left and right of a threshold."""
    left = (rows.rank[column] <= rank).view(np.uint8)
    n_left = int(left.sum())
    return restrict(rows, left, n_left), restrict(rows, 1 - left, len(left) - n_left)


@dataclass(frozen=True)
class FirstTree:
    """Finds the first of the best trees, and the tree of a plan, by the kernels of the search."""

    terms: Terms
    smallest: int  # rows that every leaf must have
    first: np.ndarray  # (n_columns + 1,) number of the first threshold of every column

    def tree(
        self, rows: Rows, depth: int, roots: np.ndarray, is_free: bool,
        node: Node | None = None, cost: float = INFINITE,
    ) -> PathTree | None:  # fmt: skip
        """First tree of a depth of three levels at most; None when stopped before it is found.

        `roots`: (n_columns,) uint8, whether the root may test a column.
        `is_free`: whether a single leaf will do.
        `node`, `cost`: a finished search of three levels, and what it found.
        """
        if cost == INFINITE:
            cost = self.two(rows, min(4, 2**depth), roots, is_free)[0]
        most = cost + self.terms.slack
        for leaves in (1, 2, 3, 4)[: 2**depth]:
            found, plan, score = self.two(rows, leaves, roots, is_free, cost)
            if found > most:
                continue
            if leaves < 3:
                return self.planned(rows, leaves, plan)
            fresh, depth = open_node(rows, self.terms.price, 2, leaves, self.smallest), 2
            root = self._root(rows, fresh, depth, score, cost, leaves)
            break
        else:
            if node is None:  # two levels suffice, but it was stopped
                return None
            score = np.full(len(rows.sequence), INFINITE)
            np.minimum.at(score, node.column, node.bound)
            root = self._root(rows, node, depth, score, cost)
        if root is None:
            return None
        (column, rank), sides, every = root, [], np.ones(len(rows.sequence), np.uint8)
        for part in parted(rows, column, rank):
            sides.append(self.tree(part, depth - 1, every, True))
        return None if None in sides else Branch(int(self.first[column]) + rank, *sides)

    def two(
        self, rows: Rows, leaves: int, roots: np.ndarray, is_free: bool, cost: float = INFINITE
    ) -> tuple[float, np.ndarray, np.ndarray]:
        """Two levels at most, of a cost at most: least cost, plan, lower bounds by root column."""
        plan, score = np.full((4, 4), NO_ROOT, np.int32), np.empty(len(rows.sequence))
        asked = self.terms, leaves, self.smallest, cost + 3 * self.terms.slack, roots
        least, _ = depth_two(rows, *asked, int(is_free), score, plan)
        return least, plan, score

    def _root(
        self, rows: Rows, node: Node, depth: int, score: np.ndarray, cost: float, leaves: int = 0
    ) -> tuple[int, int] | None:
        """Smallest column, and its smallest threshold, of a tree of a cost; None if none is found.

        `score`: (n_columns,) lower bound with every column at the root.
        `leaves`: most leaves, of trees of two levels.
        """
        most = cost + self.terms.slack
        for column in np.flatnonzero(score <= most).tolist():
            only = (np.arange(len(score)) == column).astype(np.uint8)
            if depth == 2 and self.two(rows, leaves, only, False, cost)[0] > most:
                continue
            ways = np.flatnonzero(node.column == column).tolist()
            ranks = [self._rank(rows, node, depth, way, cost) for way in ways]
            if max(ranks) >= 0:
                return column, min(rank for rank in ranks if rank >= 0)
        return None

    def _rank(self, rows: Rows, node: Node, depth: int, way: int, cost: float) -> int:
        """Smallest threshold of a way with a tree of a cost; -1 if there is none.

        The search ends with the first threshold it meets that costs less than it was told; then
        only smaller ones are left to it.
        """
        start, found, slack = node.start.copy(), -1, self.terms.slack
        left = node._replace(start=start, bound=node.bound.copy(), reached=node.reached.copy())
        plan, idle = np.full((2**depth, 4), NO_ROOT, np.int32), np.empty(len(rows.sequence))
        while start[way + 1] > start[way]:
            left.bound[way] = 0.0
            best = search(
                rows, self.terms, left, depth, self.smallest, cost + 3 * slack, INFINITE,
                idle, way, -1, plan,
            )  # fmt: skip
            if best > cost + slack:
                break
            found = int(plan[1, 1])
            here = left.rank[start[way] : start[way + 1]]
            start[way + 1] = start[way] + int(np.searchsorted(here, found))
        return found

    def planned(self, rows: Rows, leaves: int, plan: np.ndarray, node: int = 1) -> PathTree:
        """The tree of a plan; the last splits, which no plan tells, are found again.

        `rows`, `leaves`: of the node, and most leaves of its tree.
        `plan`: (2^depth, 4) column, rank, leaves left, leaves right by node, numbered as a heap;
            column -1 stands for a leaf or a single split, whichever is better.
        """
        split = plan[node].tolist() if node < len(plan) else [NO_ROOT]
        if split[0] < 0 and leaves > 1:
            every = np.ones(len(rows.sequence), np.uint8)
            split = self.two(rows, 2, every, True)[1][1].tolist()
        if split[0] < 0:
            return Leaf(int(np.bincount(rows.y, rows.weight).argmax()))
        column, rank, *shares = split
        is_left, sides = rows.rank[column] <= rank, []
        for side, keep in enumerate((is_left, ~is_left)):
            if shares[side] == 1:  # for a leaf, a million rows need not be renumbered
                sides.append(Leaf(int(np.bincount(rows.y[keep], rows.weight[keep]).argmax())))
                continue
            part = restrict(rows, keep.view(np.uint8), int(keep.sum()))
            sides.append(self.planned(part, shares[side], plan, 2 * node + side))
        return Branch(int(self.first[column]) + rank, *sides)


def integer_width(table: Table) -> int:
    """Bytes of the narrowest integers that hold all sums over a table."""
    longest = max((len(values) for values in table.values), default=0)
    largest = max(table.total, int(table.count.sum()), longest) + 1
    return next(width for width, (_, most) in KINDS.items() if largest <= most)


def kernel_rows(table: Table, kind: type) -> Rows:
    """Rows of a table in integers of some kind."""
    weight = table.weight.astype(kind)
    return Rows(
        table.sequence,
        table.rank.astype(kind),
        np.ascontiguousarray(table.y, np.int32),
        weight,
        np.where(table.y == 0, weight, -weight),
        table.count.astype(kind),
    )


class LaneSearch:
    """One run on all thresholds of the inquiry's columns, of which there is at least one.

    `names_first`: whether of several best trees the first is wanted, see `FirstTree`.
    """

    def __init__(self, inquiry: Inquiry, names_first: bool = False) -> None:
        self.inquiry, self.names_first = inquiry, names_first
        question, table = inquiry.question, inquiry.table
        self.rows = kernel_rows(table, KINDS[integer_width(table)][0])
        self.depth = question.depth
        self.leaves, self.smallest = question.leaf_limit, inquiry.smallest
        self.known = State(table.n_columns)
        self.known.by_column[:] = 2 * inquiry.price
        n_classes, self.work = max(2, table.n_classes), self.known.work
        self.terms = Terms(n_classes, inquiry.price, inquiry.slack, inquiry.stop, self.work)
        # What it counts is no work of the search.
        own = self.terms._replace(work=np.zeros(2, np.int64))
        self.first_tree = FirstTree(own, self.smallest, table.first)
        self.roots, self.is_free = inquiry.roots.astype(np.uint8), not inquiry.is_forced
        self.plan = np.full((max(4, 2**self.depth), 4), NO_ROOT, np.int32)
        self.best = INFINITE
        self.score = np.empty(table.n_columns)
        self.node: Node | None = None
        self.moments: Moments | None = None
        self.steps = 1
        self._pool = ThreadPoolExecutor(question.threads)  # no thread starts before it has work

    def pieces(self) -> Iterator[State]:
        """Search to the end, or until asked to stop; every step is a piece of the work."""
        try:
            yield self._shallow(min(2, self.leaves))
            if self.leaves > 2:
                yield self._shallow(self.leaves)
            wants_all = self.inquiry.question.all_roots
            # Nothing costs less than two leaves without errors.
            is_open = self.best > 2 * self.inquiry.price + self.inquiry.slack
            is_open = wants_all or (is_open and not self.inquiry.stop[0])
            if min(self.depth, self.leaves - 1) > 2 and is_open:
                yield from self._deep()
            if wants_all:
                yield from self._close_roots()
        finally:
            self._pool.shutdown()
        if not self.inquiry.stop[0]:
            yield self._now(finished=True)
            if self.names_first:
                asked = self.rows, self.depth, self.roots, self.is_free, self.node, self.best
                self.known.tree = self.first_tree.tree(*asked) or self.known.tree
                yield self.known

    def _shallow(self, leaves: int) -> State:
        """The best tree of one split at most, or of two levels where it may have more leaves."""
        known, is_free = self.known, int(self.is_free)
        self.best, _ = depth_two(
            self.rows, self.terms, leaves, self.smallest, self.best, self.roots, is_free,
            self.score, self.plan[:4],
        )  # fmt: skip
        is_last = leaves == self.leaves and min(self.depth, leaves - 1) <= 2
        if is_last and not self.inquiry.stop[0]:
            # Bounds of the columns are final; single splits attain them, of others the best tree.
            known.by_column = self.score.copy()
            if leaves <= 2:
                known.reached = known.by_column
            elif self.plan[1, 0] >= 0:
                known.reached[self.plan[1, 0]] = self.best
        return self._now()

    def _first_trees(self) -> Iterator[State]:
        """Good trees of full depth, each better than the one before."""
        known, slack = self.known, self.inquiry.slack
        for cost, tree in deeper_trees(self._look, self.rows, self.depth, self.leaves):
            if tree is not None and cost < self.best - slack and not self.inquiry.stop[0]:
                self.best = known.best = cost
                known.tree = tree
                assert isinstance(tree, Branch), "a leaf is among the trees of two levels"
                self.plan[1, :2] = [of[tree.feature] for of in self.inquiry.table.column_and_rank]
                yield known

    def _look(self, rows: Rows, depth: int, leaves: int) -> Look:
        """The best tree of two levels, and its split; then other columns with their best one."""
        first, terms, leaves = self.first_tree, self.terms, min(leaves, 4, 2**depth)
        is_top = rows is self.rows
        roots = self.roots if is_top else np.ones_like(self.roots)
        cost, plan, score = first.two(rows, leaves, roots, self.is_free or not is_top)
        tree = partial(first.planned, rows, leaves, plan)
        # Trees of three leaves have two levels, and nothing costs less than two without errors.
        if depth <= 2 or leaves < 4 or cost <= 2 * terms.price + terms.slack or terms.stop[0]:
            return cost, tree, ()

        def splits() -> Iterator[tuple[int, Rows, Rows]]:
            columns = np.arange(len(score))
            for g in np.lexsort((score, columns != plan[1, 0])).tolist():
                split = plan[1].tolist()
                if g != split[0]:
                    split = first.two(rows, leaves, roots * (columns == g), False)[1][1].tolist()
                if split[0] == g:
                    yield int(first.first[g]) + split[1], *parted(rows, g, split[1])

        return cost, tree, splits()

    def _deep(self) -> Iterator[State]:
        """Search the root of full depth."""
        inquiry, known = self.inquiry, self.known
        is_large = self.work[1] >= LARGE_WORK[min(4, self.depth)]
        if is_large and self.depth > 3:  # roots of three levels are solved as quickly
            yield from self._first_trees()
        node = open_node(self.rows, inquiry.price, self.depth, self.leaves, self.smallest)
        node.bound[~inquiry.roots[node.column]] = INFINITE  # no tree has them at its root
        self.node, self.moments = node, (moments := Moments(inquiry, node))
        moments.add(self.best, self.plan)
        alone = FIRST_STEPS if is_large else np.inf
        while not inquiry.stop[0]:
            steps = int(min(self.steps, alone))
            going = self._piece(node, steps) if steps else self._round(node)
            alone -= steps
            if inquiry.stop[0]:
                return
            known.by_column, known.reached = np.full((2, len(self.score)), INFINITE)
            np.minimum.at(known.by_column, node.column, node.bound)
            np.minimum.at(known.reached, node.column, node.reached)
            moments.add(self.best, self.plan)
            yield self._now()
            if not going:
                return

    def _piece(self, node: Node, steps: int) -> bool:
        """Let the kernel choose what to solve next; returns whether there is more to do."""
        # The length of a piece changes no result: all that is known stays in the node.
        begin = kernels.now()
        self.best = search(
            self.rows, self.terms, node, self.depth, self.smallest, self.best, INFINITE,
            self.score, -1, steps, self.plan,
        )  # fmt: skip
        share = PIECE_SECONDS / max(1e-4, kernels.now() - begin)
        self.steps = max(1, int(steps * min(GROWTH, share)))
        return bool(node.bound.min() < self.best - self.inquiry.slack)

    def _round(self, node: Node) -> bool:
        """One threshold of each of the most promising ways; returns whether there is more."""
        target = self.best - self.inquiry.slack
        open_ones = np.flatnonzero(node.bound < target)  # no tree of the others is better
        if not len(open_ones):
            return False
        order = np.lexsort((self.score[node.column[open_ones]], node.bound[open_ones]))
        ways = open_ones[order[:ROUND]]
        plans = np.full((len(ways), *self.plan.shape), NO_ROOT, np.int32)
        works = np.zeros((len(ways), 2), np.int64)
        known = self.best

        def solve_one(i: int) -> float:
            return search(
                self.rows, self.terms._replace(work=works[i]), node, self.depth, self.smallest,
                known, INFINITE, self.score, int(ways[i]), 1, plans[i],
            )  # fmt: skip

        each = map if self.inquiry.question.threads == 1 else self._pool.map
        for best, plan in zip(each(solve_one, range(len(ways))), plans, strict=True):
            if best < self.best - self.inquiry.slack:
                self.best, self.plan = best, plan
        self.work += works.sum(axis=0)
        return True

    def _close_roots(self) -> Iterator[State]:
        """Find the best tree with every column at the root."""
        known, slack = self.known, self.inquiry.slack
        for g in np.flatnonzero(self.roots & (known.by_column < INFINITE)).tolist():
            plan = np.full_like(self.plan, NO_ROOT)
            while known.reached[g] > known.by_column[g] + slack and not self.inquiry.stop[0]:
                self._close_root(g, plan)
                yield self._now()

    def _close_root(self, g: int, plan: np.ndarray) -> None:
        """Work on trees with one column at the root."""
        known, node = self.known, self.node
        best = float(known.reached[g])
        if node is None:
            only = (np.arange(len(self.score)) == g).astype(np.uint8)
            best, _ = depth_two(
                self.rows, self.terms, self.leaves, self.smallest, INFINITE, only, 0,
                np.empty(len(only)), plan[:4],
            )  # fmt: skip
            lower = best
        else:
            ways = np.flatnonzero(node.column == g)
            for way in ways:
                best = search(
                    self.rows, self.terms, node, self.depth, self.smallest, best, INFINITE,
                    self.score, int(way), FIRST_STEPS, plan,
                )  # fmt: skip
            lower = min(best, float(node.bound[ways].min()))
        # The search ends a slack below the best cost; the others are for rounding, level by level.
        is_closed = lower >= best - 4 * self.inquiry.slack
        known.by_column[g], known.reached[g] = best if is_closed else lower, best

    def recorded(self) -> tuple[Moment, ...]:
        """What was open at some moments."""
        return () if self.moments is None else self.moments.of_columns()

    def _now(self, finished: bool = False) -> State:
        """The state, with the tree if it is a new one."""
        known, slack = self.known, self.inquiry.slack
        if self.best < known.best - slack:
            known.best = self.best
            known.tree = self.first_tree.planned(self.rows, self.leaves, self.plan)
        known.lower = min(self.best, float(known.by_column.min(initial=INFINITE)))
        # As for one column; a bound that stays further below is told as it is.
        if finished and known.lower >= self.best - 4 * slack:
            known.lower = self.best
        return known


class Moments:
    """Some moments of the search of one node, from now on, evenly spread over its pieces.

    Keeping one is a matter of microseconds; what it shows is worked out when somebody asks.
    """

    def __init__(self, inquiry: Inquiry, node: Node) -> None:
        self.inquiry, self.node = inquiry, node
        self._way = np.repeat(np.arange(len(node.column)), np.diff(node.start))
        self._kept: list[tuple[Moment, np.ndarray, np.ndarray]] = []
        """Nothing open, then the first and last thresholds of the spans as places in the node."""
        self._every, self._seen = 1, 0

    def add(self, cost: float, plan: np.ndarray) -> None:
        """Keep this moment, unless there are enough near it."""
        table, value, target = self.inquiry.table, self.inquiry.value, cost - self.inquiry.slack
        lower = min(cost, float(self.node.bound.min(initial=INFINITE)))
        self._seen += 1
        if self._seen % self._every and lower < target:
            return
        if len(self._kept) == MOST_MOMENTS:
            self._kept, self._every = self._kept[::2], 2 * self._every
        column, rank = plan[1, :2].tolist()
        root = None if column < 0 else (int(table.original[column]), table.threshold(column, rank))
        moment = Moment(kernels.now(), value(cost), value(lower), root, {})
        self._kept.append((moment, *self._spans(target)))

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
        kept = tuple(self._kept)  # the search may keep another one meanwhile
        columns = [self.node.column[self._way[first]] for _, first, _ in kept]
        longest = Counter(g for own in columns for g in np.unique(own).tolist())
        chosen = sorted(longest, key=lambda g: (-longest[g], g))[:MOST_COLUMNS]
        number = self.inquiry.table.original
        return tuple(
            replace(moment, open={int(number[g]): runs for g in chosen if (runs := spans(g))})
            for (moment, first, last), own in zip(kept, columns, strict=True)
            for spans in [partial(self._values, first, last, own)]
        )

    def _values(
        self, first: np.ndarray, last: np.ndarray, own: np.ndarray, column: int
    ) -> tuple[tuple[float, float], ...]:
        """Between which thresholds a column is open, of spans of columns `own`; ways share them."""
        node, table, mine = self.node, self.inquiry.table, np.flatnonzero(own == column)
        if not len(mine):
            return ()
        start = node.start[self._way[first[mine]]]
        low, high = np.sort(first[mine] - start), np.sort(last[mine] - start)
        gap = low[1:] - high[:-1]  # of spans that overlap or touch none is above 1
        widest = np.argsort(-gap, kind="stable")[: MOST_SPANS - 1]
        cuts = sorted(widest[gap[widest] > 1].tolist())
        rank = node.rank[start[0] :]
        ends = rank[low[[0, *(k + 1 for k in cuts)]]].tolist(), rank[high[[*cuts, -1]]].tolist()
        values = ((table.threshold(column, end) for end in some) for some in ends)
        return tuple(zip(*values, strict=True))
