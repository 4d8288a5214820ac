"""Subsets of rows: what parts them, their least costs, and their trees of depth two or less.

Trees are counted along sorted columns (`lane_kernels`); where columns have few thresholds, on rows
as bits (`bit_kernels`), with the least costs of `octcore.search.univariate.subsets`.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from octcore.errors import TooLargeError
from octcore.search.near_optimal import lane_kernels
from octcore.search.near_optimal.bit_kernels import count_bottom
from octcore.search.near_optimal.combining import ADD, LEAST, TALLY, Cells, Terms, list_cells
from octcore.search.near_optimal.instance import Instance, error_numbers
from octcore.search.near_optimal.lane_kernels import FAR, SOLVED, Splits
from octcore.search.univariate.bit_table import make_rows
from octcore.search.univariate.lane_rows import Rows
from octcore.search.univariate.lane_search import integer_width, kernel_rows
from octcore.search.univariate.subsets import BitSubsets

BOTTOM = 2  # depth at which the kernels count trees without a graph
BYTES_PER_SUBSET = 400
"""A stored subset with its dictionary entry and cells, measured; words and edges come on top."""
MEMORY = 700_000_000
"""Bytes that the search may hold; the process stays below one gigabyte with them."""
GUARD_EVERY = 64  # scored subsets between two looks at the clock
WATCHED_WORK = 100_000_000
"""Rows times columns times thresholds at the top, or words of bits, from which a kernel may take
some 10 ms, long enough to be interrupted."""
BEAT_SECONDS = 0.05  # time between two looks at the clock meanwhile
MOST_AT_ONCE, CELLS_AT_ONCE = 256, 1 << 21
"""Subsets that a kernel is asked about at once, and numbers that it takes for them."""
SHORT = 8  # runs of so many open splits are not halved further, but solved one by one
EVERYTHING = np.full(1, -1)  # hint that anything may be at the top
NO_GRID = np.zeros((1, 1, 1, 1))
NO_SHARES = np.zeros((1, 1))
NO_TABLE = np.zeros((2, 1, 1), np.int64)


class Node(NamedTuple):
    """A subset at which subtrees of a largest depth and scaled cost start."""

    rows: bytes
    depth: int
    budget: int
    is_root: bool = False
    hint: np.ndarray | None = None  # first thresholds of what may be at its top, if that is known


class _Found(NamedTuple):
    """Trees of a subset of depth two within a budget: what was open, the least cost, the grid."""

    budget: int
    least: int
    hint: np.ndarray
    cells: tuple[np.ndarray, ...]


class Ground:
    """Subsets of the rows of a table, each as the packed bits of its rows.

    `guard`, `known_cost`: as for `find_trees`.
    """

    def __init__(
        self, instance: Instance, guard: Callable[[int], None], known_cost: Fraction | None
    ) -> None:
        self.instance, self.table, self.guard = instance, instance.table, guard
        self.n_rows, self.n_columns = len(instance.table.y), instance.table.n_columns
        usable = np.zeros(self.n_columns, np.uint8)
        usable[instance.thresholds.place[instance.roots]] = 1
        self.usable_roots, self.usable = usable, np.ones(self.n_columns, np.uint8)
        self.every = np.ones((len(instance.roots), 1))
        self.width, self.stop = integer_width(self.table), np.zeros(1, np.uint8)
        self.scored = self.stored_bytes = 0  # subsets that were looked at, bytes of those kept
        self.bits = self._make_bits() if instance.by_bits else None
        if known_cost is None and self.bits is not None:
            known_cost = self._optimum(self.bits)
        # Largest scaled cost of a tree; negative where there is none.
        self.budget = -1 if known_cost is None else instance.budget(known_cost)
        self.values, self.number = error_numbers(instance, self.budget)
        self._found: dict[bytes, _Found] = {}
        self._least: dict[tuple[bytes, int], tuple[int, int]] = {}

    def _make_bits(self) -> BitSubsets:
        i, t, known = self.instance, self.table, self.instance.thresholds
        right = (t.rank[known.place] > known.rank[:, None]).T
        self.left = np.packbits(~right, axis=0).T  # rows on the left of every threshold
        self.line, rows = make_rows(right, t.y, t.weight, t.count, t.n_classes, i.least, t.outvoted)
        return BitSubsets(rows, known.place, i.unit, i.price, i.question.depth, self.stop)

    def _optimum(self, bits: BitSubsets) -> Fraction:
        """Cost of the best tree, or a little more where scaled costs are rounded."""
        i, rows = self.instance, np.packbits(np.ones(self.n_rows, bool)).tobytes()
        node = Node(rows, i.question.depth, 0, is_root=True)
        leaf = i.unit * int(self.leaf_errors([node])[0]) + i.price
        # Where the price of a leaf is rounded down, a unit is next to nothing.
        rounded = i.most_leaves(i.question.depth) if i.price != i.penalty * i.unit else 0
        margin = i.budget(Fraction(0))
        node = node._replace(budget=leaf + margin + rounded)
        costs, _ = self._side_costs(bits, [node], margin + rounded)
        return Fraction(min(leaf, int(costs.sum(axis=1).min(initial=FAR))) + rounded, i.unit)

    @cached_property
    def rows(self) -> Rows:
        """Rows of the table along sorted columns."""
        return kernel_rows(self.table, np.int64)

    def look_at_clock(self, more: int = 1) -> None:
        """Count subsets that were looked at."""
        before, self.scored = self.scored, self.scored + more
        if before // GUARD_EVERY < self.scored // GUARD_EVERY:
            self.guard(self.scored)

    def hold(self, size: int) -> None:
        """Account for memory; raises `TooLargeError` beyond `MEMORY`."""
        self.stored_bytes += size
        if self.bits is not None and self.stored_bytes + self.bits.stored_bytes > MEMORY:
            self.bits.forget()
        if self.stored_bytes > MEMORY:
            message = "The near-optimal trees pass through more subsets of rows than fit into "
            message += f"{MEMORY / 1e9:.1f} GB; take a smaller tolerance, a larger leaf penalty or "
            sizes = {"bytes": float(self.stored_bytes)}
            raise TooLargeError("TOO_MANY_SUBSETS", message + "a smaller depth.", sizes)

    def mask(self, rows: bytes) -> np.ndarray:
        """Which rows of the table a subset has."""
        return np.unpackbits(np.frombuffer(rows, np.uint8), count=self.n_rows).view(bool)

    def weights(self, rows: bytes) -> np.ndarray:
        """Weight by class."""
        return self.table_weights[:-1, self.mask(rows)].sum(axis=1)

    @cached_property
    def table_weights(self) -> np.ndarray:
        """Weight by class and count of every row, ``(n_classes + 1, n_rows)``; sums are exact."""
        by_class = np.arange(self.table.n_classes)[:, None] == self.table.y
        return np.vstack([by_class * self.table.weight, self.table.count]) * 1.0

    def leaf_errors(self, nodes: Sequence[Node]) -> np.ndarray:
        """Errors of a leaf of every node; -1 where it has too few rows."""
        held: list[np.ndarray] = [np.zeros((0, len(self.table_weights)))]
        for some in self._at_once(nodes):
            inside = np.unpackbits(self._packed(some), axis=1, count=self.n_rows)
            # No matrix product: it wakes threads, which go on spinning for longer than it takes.
            held.append(np.einsum("ij,kj->ik", inside, self.table_weights))
        *weight, count = np.concatenate(held).T
        errors = np.sum(weight, axis=0) - np.max(weight, axis=0)
        return np.where(count >= self.instance.least, errors, -1).astype(np.int64)

    def _at_once(self, nodes: Sequence[Node]) -> Iterator[Sequence[Node]]:
        """Nodes, by as many as a kernel is asked about at once."""
        most = max(1, min(MOST_AT_ONCE, CELLS_AT_ONCE // (self.n_rows + 3 * len(self.every))))
        return (nodes[k : k + most] for k in range(0, len(nodes), most))

    def _packed(self, nodes: Sequence[Node]) -> np.ndarray:
        """Rows of some nodes as packed bits, shape ``(n_nodes, n_bytes)``."""
        together = np.frombuffer(b"".join(node.rows for node in nodes), np.uint8)
        return together.reshape(len(nodes), -(-self.n_rows // 8))

    def _for_bits(self, bits: BitSubsets, nodes: Sequence[Node]) -> tuple[np.ndarray, ...]:
        """Words and budgets of some nodes of a level, and which thresholds may be at their tops."""
        self.look_at_clock(len(nodes))
        inside = np.unpackbits(self._packed(nodes), axis=1, count=self.n_rows).view(bool)
        usable = self.instance.roots if nodes[0].is_root else self.every[:, 0]
        budgets = np.array([node.budget for node in nodes], np.int64)
        return bits.words(inside[:, self.line]), budgets, usable.astype(np.uint8)

    def sides(self, rows: bytes, threshold: int) -> tuple[bytes, bytes]:
        """Rows on both sides of a threshold."""
        known, inside = self.instance.thresholds, np.frombuffer(rows, np.uint8)
        column, rank = known.place[threshold], known.rank[threshold]
        left = inside & np.packbits(self.table.rank[column] <= rank)
        return left.tobytes(), (inside ^ left).tobytes()

    @cached_property
    def lines(self) -> np.ndarray:
        """A row of the table with its values for every training row."""
        t, X = self.table, np.asarray(self.instance.question.X)
        ranks = [np.searchsorted(v, X[:, j]) for v, j in zip(t.values, t.original, strict=True)]
        rows = np.concatenate([t.rank.T, np.array(ranks, np.int32).reshape(-1, len(X)).T])
        group = np.unique(rows, axis=0, return_inverse=True)[1].ravel()
        line = np.zeros(int(group.max()) + 1, np.int64)
        line[group[: self.n_rows]] = np.arange(self.n_rows)
        return line[group[self.n_rows :]]

    def edges(
        self, nodes: Sequence[Node]
    ) -> Iterator[tuple[int, int, int, tuple[bytes, bytes], list[int]]]:
        """Splits of nodes, with subtrees of depth two or more on both sides, within the budgets.

        Yields in order the place of the node, the first of some neighbouring thresholds that part
        it alike, how many they are, the rows of both sides, and their least costs.
        """
        if self.bits is None:
            for v, node in enumerate(nodes):
                for edge in self._edges_along(node):
                    yield v, *edge
            return
        begin = 0
        for some in self._at_once(nodes):
            costs, many = self._side_costs(self.bits, some)
            budgets = np.array([node.budget for node in some], np.int64)
            of, t = np.nonzero(costs.sum(axis=1) <= budgets[:, None])
            rows = self._packed(some)[of]
            left = rows & self.left[t]
            columns = (c.tolist() for c in (begin + of, t, many[of, t], costs[of, :, t]))
            for v, first, n, cost, *sides in zip(*columns, left, rows ^ left, strict=True):
                yield v, first, n, (sides[0].tobytes(), sides[1].tobytes()), cost
            begin += len(some)

    def _edges_along(self, node: Node) -> Iterator[tuple[int, int, tuple[bytes, bytes], list[int]]]:
        """The same of one node along sorted columns.

        Long runs of splits that may be within the budget are halved, those in between bounded by
        the sweeps; what stays open is solved one after the other.
        """
        rows, depth, budget, inside = node.rows, node.depth, node.budget, self.mask(node.rows)
        splits, _ = self._open(inside, depth, self.usable_roots if node.is_root else self.usable)
        self._close(rows, depth, splits, budget, FAR, SHORT)
        i, terms, cost = self.instance, self.terms(depth), splits.cost
        # What bounds the sides of one split's children bounds those of the next one's, which have
        # more rows on the left; on the right they have fewer, each worth its weight at most.
        shape = (2, self.n_columns, i.thresholds.number.shape[1])
        for h in range(self.n_columns):
            a, z, before = int(splits.first[h]), int(splits.first[h + 1]), -1
            tables = [NO_TABLE, NO_TABLE]
            for j in range(a, z):
                if cost[0, j] + cost[1, j] > budget:
                    continue
                low = int(splits.low[j])
                if before < 0:
                    left, right = np.zeros((2, *shape), np.int64)
                    tables = [left if i.least == 1 else NO_TABLE, right]
                else:
                    lane_kernels.let_go(tables[1], self.rows, inside, h, before, low, i.unit)
                sides, before = self.sides(rows, int(splits.number[j])), low
                for s in (0, 1):
                    room = budget - int(cost[1 - s, j])
                    least = self._least_within(sides[s], depth - 1, room, tables[s])
                    cost[s, j] = max(cost[s, j], least)
                    if cost[s, j] > room:
                        break
                lane_kernels.sweep(splits, terms, a, z)
                if cost[0, j] + cost[1, j] <= budget:
                    yield int(splits.number[j]), int(splits.many[j]), sides, cost[:, j].tolist()
                else:
                    for side in sides:
                        self._found.pop(side, None)

    def _least_within(self, rows: bytes, depth: int, room: int, table: np.ndarray) -> int:
        """Least cost of a subset, exact if it is at most the room; depth two is counted at once.

        The table has bounds of the splits' sides, and takes better ones.
        """
        if depth > BOTTOM:
            return self.least(rows, depth, room)
        known = self._found.get(rows)
        # A least cost beyond its budget is a bound, and enough where it is beyond the room.
        if known is None or (room > known.budget and known.least <= room):
            grid, node = self._grid(), Node(rows, BOTTOM, room)
            _, least, tops, *_ = self.solve(node, ADD, bounds=table, grid=grid)
            cells = np.nonzero(grid[0, :, :, 0])
            known = _Found(room, least, tops[:, 0].copy(), (*cells, grid[0, :, :, 0][cells]))
            if least <= room:
                self._found[rows] = known
        return known.least

    def least(self, rows: bytes, depth: int, cutoff: int) -> int:
        """Least cost of a tree of depth two or more, or a lower bound above the cutoff."""
        value, exact_to = self._least.get((rows, depth), (0, -1))
        if value > cutoff or value <= exact_to:  # enough, or exact
            return value
        if depth > BOTTOM:
            splits, leaf = self._open(self.mask(rows), depth, self.usable)
            best = self.instance.unit * leaf + self.instance.price if leaf >= 0 else FAR
            best = min(best, self.least(rows, depth - 1, cutoff))
            value = self._close(rows, depth, splits, cutoff, best, 0)
        else:
            value = self.solve(Node(rows, depth, cutoff), LEAST)[1]
        if value > cutoff:  # costs are whole, and no tree is within the cutoff
            value = max(cutoff + 1, value)
        self._least[rows, depth] = (value, cutoff)
        self.hold(len(rows) + BYTES_PER_SUBSET)
        return value

    def _close(
        self, rows: bytes, depth: int, splits: Splits, cutoff: int, best: int, short: int
    ) -> int:
        """Solve splits by halving until no run longer than `short` is open; returns the least cost.

        With `short` 0 only splits better than the best one stay open, else all within the cutoff.
        A least cost above the cutoff is a lower bound.
        """
        terms, cost, first = self.terms(depth), splits.cost, splits.first.tolist()
        weight = self.instance.unit * int(self.weights(rows).sum())
        bounds = np.where(np.diff(splits.first) > 0, 2 * self.instance.price, FAR)
        lowest = bounds.copy()
        while True:
            # Asked for all within the cutoff, or for one that costs less than the best.
            limit = cutoff if short else min(cutoff, best - 1)
            h, j, beyond = lane_kernels.choose(splits, bounds, limit, short)
            if j < 0:
                break
            sides = self.sides(rows, int(splits.number[j]))
            larger = int(2 * splits.passed[j] < weight)
            for s in (larger, 1 - larger):
                room = limit - int(cost[1 - s, j])
                if cost[s, j] > room + beyond:  # both sides together are beyond the limit
                    break
                cost[s, j] = max(cost[s, j], self.least(sides[s], depth - 1, room + beyond))
            splits.open[j] = SOLVED
            both = int(cost[0, j] + cost[1, j])
            best = min(best, both) if both <= limit else best
            lowest[h] = bounds[h] = lane_kernels.sweep(splits, terms, first[h], first[h + 1])
        return best if best <= cutoff else min(best, int(lowest.min(initial=FAR)))

    def hint(self, rows: bytes, budget: int) -> np.ndarray | None:
        """First thresholds of what may be at the top of a bottom node; None if not known."""
        known = self._within(rows, budget)
        return None if known is None else known.hint

    def _within(self, rows: bytes, budget: int) -> _Found | None:
        """What was found of a subset, if it was looked for within so large a budget."""
        known = self._found.get(rows)
        return None if known is None or known.budget < budget else known

    def count(
        self,
        nodes: Sequence[Node],
        leaves: np.ndarray,
        stands: np.ndarray,
        terms: Terms,
        grid: np.ndarray,
        cells: Cells,
    ) -> Cells:
        """List the cells of nodes of depth two or less.

        Those of the root are listed by column of the table at the top, after those of the leaf.

        `leaves`, `stands`: (n_nodes,) errors of a leaf, -1 where it has too few rows, and whether
            it is one of the trees.
        `terms`: with what variants may use; what the first may not use, none may.
        `grid`: (places, leaves, n_errors, n_variants), empty; a place for every column of the root.
        `cells`: see `list_cells`.
        """
        at, slot, is_root = 0, 0, bool(nodes) and nodes[0].is_root
        by_bits = self.bits if terms.depth == BOTTOM else None
        for some in self._at_once(nodes):
            part, slot = slice(at, at + len(some)), at * len(grid)
            at += len(some)
            if by_bits is None:
                for node, leaf, alone in zip(some, leaves[part], stands[part], strict=True):
                    if alone:
                        grid[0, 0, self.number[leaf]] += 1
                    if is_root:
                        cells = list_cells(grid[0], node.budget, terms, cells, slot)
                        slot += 1
                    self._count_along(node, terms, grid)
                    for place in grid:
                        cells = list_cells(place, node.budget, terms, cells, slot)
                        slot += 1
                continue
            asked = (
                by_bits.bits, *self._for_bits(by_bits, some), leaves[part], stands[part], is_root,
                terms, grid, cells, slot,
            )  # fmt: skip
            work = len(some) * by_bits.work(BOTTOM + 1)
            cells = self.run(work, lambda asked=asked: count_bottom(*asked))
        return cells

    def _count_along(self, node: Node, terms: Terms, grid: np.ndarray) -> None:
        """Add the trees of a node with a split at the top to a grid, along sorted columns."""
        known = self._within(node.rows, node.budget)
        if known is None or terms.gain or terms.share.shape[1] > 1 or not terms.share.all():
            self.solve(node, ADD, terms.share, terms.gain, grid=grid)
            return
        leaves, errors, counts = known.cells
        cost = self.instance.unit * self.values[errors] + self.instance.price * (leaves + 1)
        inside = cost <= node.budget
        grid[0, leaves[inside], errors[inside], 0] += counts[inside]

    def _grid(self, n_variants: int = 1) -> np.ndarray:
        return np.zeros((1, self.instance.most_leaves(BOTTOM), len(self.values), n_variants))

    def _open(self, inside: np.ndarray, depth: int, usable: np.ndarray) -> tuple[Splits, int]:
        """Splits of marked rows, and the errors of a leaf."""
        marked, terms = inside.view(np.uint8), self.terms(depth)
        return lane_kernels.open_subset(self.rows, marked, terms, usable)

    def solve(
        self,
        node: Node,
        asked: int,
        share: np.ndarray | None = None,
        gain: bool = False,
        bounds: np.ndarray = NO_TABLE,
        cell: tuple[int, int] = (0, 0),
        grid: np.ndarray = NO_GRID,
        shares: np.ndarray = NO_SHARES,
    ) -> Any:
        """Run the kernel of this name below what may be at the top."""
        self.look_at_clock()
        inside, hint = self.mask(node.rows), EVERYTHING if node.hint is None else node.hint
        if node.hint is None and self.bits is not None and node.depth == BOTTOM:
            cost, _ = self._side_costs(self.bits, [node])
            hint = np.flatnonzero(cost[0].sum(axis=0) <= node.budget)
        arguments = (
            self.rows, inside.view(np.uint8), self.terms(node.depth, share, gain),
            self.usable_roots if node.is_root else self.usable, hint, bounds, node.budget,
            asked, cell, grid, shares,
        )  # fmt: skip
        n_tops = len(self.every) if hint is EVERYTHING else len(hint)
        work = int(np.count_nonzero(inside)) * self.n_columns * n_tops
        return self.run(work, lambda: lane_kernels.solve(*arguments))

    def _side_costs(
        self, bits: BitSubsets, nodes: Sequence[Node], margin: int = FAR
    ) -> tuple[np.ndarray, np.ndarray]:
        """Least costs on both sides of every threshold of nodes; see `subsets.side_costs`."""
        depth, (masks, budgets, usable) = nodes[0].depth, self._for_bits(bits, nodes)
        asked = masks, depth, budgets, margin, usable
        return self.run(bits.work(depth) * len(nodes), lambda: bits.side_costs(*asked))

    def run(self, work: int, kernel: Callable[[], Any]) -> Any:
        """Run a kernel, on a second thread where that may take long."""
        if work <= WATCHED_WORK:
            return kernel()
        try:
            with ThreadPoolExecutor(1) as pool:
                job = pool.submit(kernel)
                try:
                    while not wait([job], BEAT_SECONDS).done:
                        self.guard(self.scored)
                finally:  # the kernel is waited for
                    self.stop[0] = 1
        finally:
            self.stop[0] = 0
        return job.result()

    def terms(self, depth: int, share: np.ndarray | None = None, gain: bool = False) -> Terms:
        """What trees cost, and which thresholds they may use."""
        i, share = self.instance, self.every if share is None else share
        return Terms(
            i.question.n_classes, depth, i.least, i.unit, i.price, self.width, gain,
            i.thresholds.number, i.thresholds.place, self.values, self.number, share, self.stop,
        )  # fmt: skip

    def forget(self) -> None:
        """Drop what only the search needs."""
        self._found.clear()
        self._least.clear()
        if self.bits is not None:
            self.bits.forget()


class Tops:
    """The splits at the top of a bottom node, in order; `solve` says what of them is known."""

    def __init__(self, ground: Ground, node: Node) -> None:
        tops = ground.solve(node, ADD, grid=ground._grid())[2]
        self.ground, self.node = ground, node._replace(hint=tops[:, 0].copy())
        self.first, self.many, self.leaf = tops[:, 0], tops[:, 1], tops[:, 2:4].T
        self.cost, self.low = tops[:, 4:].copy(), tops[:, 4:].sum(axis=1)

    def stumps(
        self, top: int, sides: tuple[bytes, bytes], columns: tuple[int, ...] | None
    ) -> list[np.ndarray]:
        """Splits on some columns of both sides of a top, within its budget: `stumps_within`."""
        ground, wanted, terms = self.ground, self.ground.usable, self.ground.terms(self.node.depth)
        if columns is not None:
            wanted = np.isin(np.arange(ground.n_columns), columns).view(np.uint8)
        rooms = zip(sides, self.node.budget - self.cost[top, ::-1], strict=True)
        within, rows = lane_kernels.stumps_within, ground.rows
        return [within(rows, ground.mask(s).view(np.uint8), terms, wanted, r) for s, r in rooms]

    def tally(self, cell: tuple[int, int], share: np.ndarray, gain: bool) -> np.ndarray:
        """Trees with some errors and leaves by top and variant, shape ``(n, n_variants)``."""
        ground, counts = self.ground, np.zeros((len(self.first), share.shape[1]))
        place, grid = (cell[1] - 1, int(ground.number[cell[0]])), ground._grid(share.shape[1])
        ground.solve(self.node, TALLY, share, gain, cell=place, grid=grid, shares=counts)
        return counts
