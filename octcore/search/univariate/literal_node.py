"""One node of the exact search on 0/1 columns: best trees of a given depth on a row subset.

For every literal below the node lower and upper bounds on the costs of its subtrees are kept, as
vectors (see `literals`).  The feature with the smallest sum of lower bounds is tightened until no
feature can beat the incumbent or the limit of the caller.  Bounds come from

- `bounds.deeper_cost`: a tree deeper than d has at least d + 2 leaves,
- the best tree of smaller depth,
- `bounds.similar_cost`,
- exact subtrees: D2S, the pair table of `literals`, `subsets`, or a node one level shallower.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from octcore.search.univariate import literals
from octcore.search.univariate.bounds import INFINITE, deeper_cost, similar_cost
from octcore.search.univariate.canonical import canonical_tree
from octcore.search.univariate.literals import WIDTH, Terms
from octcore.search.univariate.pairs import Rows, make_pairs, pair_scores
from octcore.search.univariate.subsets import FAR, BitSubsets
from octcore.search.univariate.tree import Branch, PathTree

_BYTES_PER_PAIR = 92
"""Bytes per squared number of features that a node of depth 4 keeps in its tables."""
_MEMORY = 300_000_000  # bytes that the kept nodes of one search may take
_SHARED_OUT = 1_000_000
"""Rows times features from which the literals of a node are shared out among threads."""
_NARROW = 44  # features up to which most subsets are met more than once
LATER = -2  # root below a literal whose tree is not known yet, although its cost is
_WHOLE = 0.25  # slack where costs are whole numbers


@dataclass
class SearchState:
    """What all nodes of one search share; its threads change the time and nothing else."""

    rows: Rows
    terms: Terms
    threads: int = 1

    def __post_init__(self) -> None:
        self.pairs = make_pairs(self.rows)

    @property
    def shares_subsets(self) -> bool:
        """Whether trees of depth four and more are found by subsets, each of which is known once.

        On wide tables bounds between pairs of literals are worth more; weights so heavy that they
        are counted in 64 bits are too rare to compile another kernel for.
        """
        rows, step = self.rows, self.terms.step
        return not step and len(rows.columns) <= _NARROW and rows.block_scale.itemsize == 4

    @cached_property
    def subsets(self) -> BitSubsets:
        """Least costs of subsets, in whole numbers so large that rounding is below the slack."""
        rows, terms = self.rows, self.terms
        largest = 2 * int(rows.block_scale[rows.block].sum()) + 8 * (1 + int(terms.penalty))
        unit = 1 << (58 - largest.bit_length())
        place = np.arange(len(rows.columns))
        return BitSubsets(rows, place, unit, int(terms.penalty * unit), len(place), terms.stop)

    def by_leaves(self) -> "SearchState":
        """The same for errors by number of leaves, instead of one cost."""
        return replace(self, terms=self.terms._replace(penalty=0.0, slack=_WHOLE, step=1))

    def shallow_tree(self, subset: np.ndarray, depth: int, k: int) -> PathTree:
        """Return the canonical tree of depth at most two for an entry, in kernel features."""
        terms, leaves = self.terms, k + 1 if self.terms.step else WIDTH
        return canonical_tree(
            self.rows, self.pairs, subset, terms.penalty, terms.slack, depth, leaves
        )[1]


class LiteralNode:
    """Search for the best trees of depth at most ``depth`` (at least 1) on ``subset``.

    `subset`: kernel rows, ascending.
    `shallow`: the same rows searched at depth ``depth - 1``: its bounds and trees are taken over.
    `most`: largest number of leaves of interest, where costs go by leaves.
    `lower`, `upper`: (2 * n_features, n_child_entries) bounds on the subtrees below every literal.
    """

    check: ClassVar[Callable[[Any, int], None] | None] = None
    """Looks at the bounds of a literal that has been worked on; set by tests."""

    def __init__(
        self,
        state: "SearchState",
        subset: np.ndarray,
        depth: int,
        shallow: "LiteralNode | None" = None,
        most: int | None = None,
    ) -> None:
        self.state, self.subset, self.depth, self._shallow = state, subset, depth, shallow
        rows = state.rows
        n = self.n_features = len(rows.columns)
        self.length = self.child_length = 1
        if state.terms.step:
            self.length = 2**depth if most is None else min(2**depth, most)
            self.child_length = max(1, min(2 ** (depth - 1), self.length - 1))
        self.complete = True
        self.allowed, self._is_free = np.ones(n, bool), True
        self._child = np.empty(len(subset), np.int64)
        self._trees: dict[tuple[int, int], PathTree] = {}
        self._children: dict[int, LiteralNode] = {}
        self._roots = np.full((2 * n, self.child_length), -1)
        weight, largest, outvoted, samples = literals.leaf_and_outvoted(
            rows, subset, len(subset), np.zeros(len(state.pairs.totals), np.int64)
        )
        self.outvoted = float(outvoted)
        leaf = weight - largest + state.terms.penalty if samples >= rows.shape[1] else INFINITE
        self.best, self.root = np.full(self.length, float(leaf)), np.full(self.length, -1)
        if depth <= 2:
            self._start_solved()
        else:
            self._start_bounds(shallow)
        if depth == 4:
            self._start_table()
        self._collect_best()

    def _start_solved(self) -> None:
        """One D2S answers everything up to depth two: literals are the sides of the features."""
        state, n = self.state, self.n_features
        sides = np.full((2, n, 1 + state.terms.step), INFINITE)
        if pair_scores(state.rows, self.subset, len(self.subset), state.pairs):
            if self.depth == 1:
                state.pairs.stump[:] = -1
            costs = np.full(WIDTH if state.terms.step else 1, INFINITE)
            literals.split_costs(state.rows, state.pairs, state.terms, sides, costs)
        state.terms.runs[0] += 1
        self.upper = sides.transpose(1, 0, 2).reshape(2 * n, -1)[:, : self.child_length].copy()
        self.lower = self.upper

    def _score_literals(self) -> bool:
        """Run D2S below every literal, shared out among threads where it takes long."""
        state, rows, n = self.state, self.state.rows, self.n_features
        state.terms.runs[0] += 2 * n
        threads = min(state.threads, n) if len(self.subset) * n >= _SHARED_OUT else 1
        # The two literals of a feature stay together: their rows are all rows of the node.
        ends = [2 * (n * k // threads) for k in range(threads + 1)]

        def score(k: int) -> bool:
            pairs = make_pairs(rows) if k else state.pairs
            child = np.empty_like(self._child) if k else self._child
            return literals.score_literals(
                rows, pairs, self.subset, child, state.terms, self.literals, ends[k], ends[k + 1]
            )

        if threads == 1:
            return score(0)
        with ThreadPoolExecutor(threads) as pool:
            return all(list(pool.map(score, range(threads))))

    def _start_bounds(self, shallow: "LiteralNode | None") -> None:
        """First bounds on every literal."""
        if shallow is None:
            self.literals = literals.make_literals(self.n_features, self.state.terms.step)
            self.complete = self._score_literals()
        else:
            self.literals, self.complete = shallow.literals, shallow.complete
        two = self.literals.depth_two
        known = two[:, np.minimum(np.arange(self.child_length), two.shape[1] - 1)].copy()
        self.upper = known if shallow is None else shallow.upper.copy()
        self.lower = known.copy()
        # Trees of depth two are known exactly; deeper ones have a leaf more than levels, or more.
        if self.depth > 3:
            known, leaves = (known, 4) if shallow is None else (shallow.lower, self.depth)
            self.lower = self._deepened(known, self.literals.outvoted, leaves)
        # A literal that holds all rows, none or too few is no split.
        self.lower[two[:, 0] >= INFINITE] = INFINITE
        if not self.complete:
            self.lower[:] = 0.0

    def _deepened(self, known: np.ndarray, outvoted: np.ndarray, leaves: int) -> np.ndarray:
        """Bounds with one more level: those known, or trees that have at least some leaves."""
        first = leaves - 1 if self.state.terms.step else 0
        lower = known.copy()
        reached = deeper_cost(outvoted, self.state.terms.penalty, leaves)[..., None]
        np.minimum(lower[..., first:], reached, out=lower[..., first:])
        return lower

    def _start_table(self) -> None:
        """Pair table of depth-two costs: bounds by one split, or three leaves and more."""
        rows, sides, size = self.state.rows, self.literals.side_cost, 2 * self.n_features
        width = self.literals.depth_two.shape[1]
        stump = np.empty((size, size, width))
        for k in range(width):
            for side in (0, 1):
                stump[:, side::2, k] = sides[:, side, :, min(k, sides.shape[3] - 1)]
        # No information, not impossibility: a literal may hold all rows of another one, or leave
        # too few on the other side, and its pair is still reached from the other literal.
        stump[stump >= INFINITE] = 0.0
        shared = literals.shared_outvoted(rows, self.state.pairs, self.subset, self._child)
        table = self._deepened(stump, shared.astype(float), 3)
        # Both literals of a pair bound the same rows.
        self.table = np.maximum(table, table.transpose(1, 0, 2), out=stump)
        self.known = np.zeros((size, size), np.uint8)
        self._parent = np.empty(len(self.subset), np.int64)

    def _feature_sums(self, sides: np.ndarray) -> np.ndarray:
        """Costs with every allowed feature at the root, shape (n_features, n_entries)."""
        sums = np.empty((self.n_features, self.length))
        literals.feature_sums(sides[None], self.state.terms.step, self.allowed, sums)
        return sums

    @property
    def feature_lower(self) -> np.ndarray:
        """Lower bounds on the costs with every feature at the root, (n_features, n_entries)."""
        return self._feature_sums(self.lower)

    @property
    def feature_upper(self) -> np.ndarray:
        """Costs of the best known trees with every feature at the root."""
        return self._feature_sums(self.upper)

    @property
    def bound(self) -> np.ndarray:
        """Lower bounds on the costs of the node."""
        # Every tree pays a leaf and the outvoted rows, or is the best one known.
        bound = np.minimum(self.best, deeper_cost(self.outvoted, self.state.terms.penalty, 1))
        lowest = self.feature_lower.min(axis=0, initial=INFINITE)
        return np.maximum(np.minimum(self.best, lowest), bound)

    def _collect_best(self) -> None:
        if self.n_features:
            sums = self.feature_upper
            # Of costs that tie within rounding the first, as in `FirstTree`.
            root = (sums <= sums.min(axis=0) + self.state.terms.slack).argmax(axis=0)
            cost = sums[root, np.arange(self.length)]
            better = cost < self.best - self.state.terms.slack
            self.best[better], self.root[better] = cost[better], root[better]

    def search(self, limit: np.ndarray | float = np.inf) -> tuple[np.ndarray, np.ndarray]:
        """Solve the node, or prove that it costs ``limit`` or more.

        Returns (n_entries,) lower bounds and best costs; equal (within the slack) when solved.
        """
        for _ in self.tightenings(limit):
            pass
        return self.bound, self.best

    def tightenings(
        self, limit: np.ndarray | float = np.inf, steps: int = 1, dives: int = 0
    ) -> Iterator[None]:
        """Solve the node as `search` does, with a pause after every feature that was worked on.

        `steps`: in how many steps the bound of a feature is raised to the incumbent.
        `dives`: how many of the most promising features are solved before anything else.
        """
        state = self.state
        promising = np.argsort(self.feature_upper[:, -1], kind="stable")[:dives]
        for f in promising[self.allowed[promising]] if self.complete else []:
            self.tighten(int(f), np.minimum(self.best, limit))
            yield
        settled = np.zeros(self.n_features, bool)
        while self.complete and not state.terms.stop[0] and self.n_features:
            # A root feature is left when no tree with it is better, or of interest to the caller.
            target = np.minimum(self.best, limit)
            bounds = self.feature_lower
            is_open = np.any(np.less(bounds, target - state.terms.slack), axis=1) & ~settled
            f = int(np.where(is_open, bounds[:, -1], np.inf).argmin())
            if not is_open[f]:
                break
            # An error or a leaf at least: smaller steps raise no bound that matters (effort only).
            least = max(state.terms.penalty, 1.0, 2 * state.terms.slack)
            stride = np.maximum((target - bounds[f]) / steps, least)
            # Rounding may hold a feature open whose sides are both within the slack of the target.
            settled[f] = not self.tighten(f, np.minimum(target, bounds[f] + stride))
            yield

    def tighten(self, f: int, goal: np.ndarray) -> bool:
        """Raise the bounds of a feature to a goal, or solve both sides; whether any changed."""
        sides, both = [2 * f, 2 * f + 1], slice(2 * f, 2 * f + 2)
        before = self.lower[both].copy(), self.upper[both].copy()
        if self.depth > 2:
            # The dearer side first: its bound leaves less room to the other one.
            sides.sort(key=lambda k: -self.literals.depth_two[k, -1])
        for literal, other in (sides, sides[::-1]):
            room = self._room(goal, self.lower[other])
            # A side is solved only while it may cost less than its best tree, and than the room.
            wanted = np.minimum(self.upper[literal], room) - self.state.terms.slack
            if (self.lower[literal] < wanted).any():
                self._solve(literal, room)
        self._collect_best()
        return not all(map(np.array_equal, before, (self.lower[both], self.upper[both])))

    def _room(self, goal: np.ndarray, other: np.ndarray) -> np.ndarray:
        """What a side may cost for the sum with the other side to be below the goal."""
        step, room = self.state.terms.step, np.full(self.child_length, -np.inf)
        for i in range(min(self.child_length, self.length - step)):
            part = goal[i + step : i + step + self.child_length]
            room[i] = (part - other[: len(part)]).max()
        return room

    def _solve(self, literal: int, limit: np.ndarray) -> None:
        """Solve the subtrees below a literal up to ``limit`` and spread what was learned."""
        state = self.state
        if self.depth == 4:
            lower = np.empty(self.child_length)
            if not literals.close_depth_three(
                state.rows, state.pairs, self.subset, self._parent, self._child, literal,
                limit, state.terms, self.literals, self.table, self.known,
                self.upper[literal], self._roots[literal], lower,
            ):  # fmt: skip
                return
        elif state.shares_subsets:
            lower = self._solve_subset(literal, limit)
            if lower is None:
                return
        else:
            node = self._child_node(literal)
            lower, best = node.search(limit)
            # Deeper nodes hold large tables: build their trees now and let them go.
            for k in np.flatnonzero(best < self.upper[literal] - state.terms.slack).tolist():
                tree = node.tree(k)
                if tree is not None:  # a cost without its tree would be said of another one
                    self.upper[literal, k], self._trees[literal, k] = best[k], tree
        raised = lower > self.lower[literal]
        if raised.any():
            # Costs within the slack tie: the best tree known is a best one.
            solved = lower >= self.upper[literal] - state.terms.slack
            lower = np.where(solved, self.upper[literal], lower)
            self.lower[literal] = np.where(raised, lower, self.lower[literal])
            self._spread(literal)
        if LiteralNode.check is not None and not state.terms.stop[0]:
            LiteralNode.check(self, literal)

    def _solve_subset(self, literal: int, limit: np.ndarray) -> np.ndarray | None:
        """Least cost below a literal, or a lower bound from the limit on; None when stopped."""
        terms, subsets = self.state.terms, self.state.subsets
        marked = np.zeros(len(self.state.rows.block), bool)
        marked[self.literal_rows(literal)] = True
        room = int(min(limit[0], FAR / subsets.bits.unit) * subsets.bits.unit)
        cost = subsets.least(marked, self.depth - 1, room)
        terms.runs[0] += 1
        if terms.stop[0]:
            return None
        lower = np.full(1, cost / subsets.bits.unit)
        if cost <= room and lower[0] < self.upper[literal, 0] - terms.slack:
            self.upper[literal], self._roots[literal] = lower, LATER
            self._trees.pop((literal, 0), None)
        return lower

    def _child_node(self, literal: int) -> "LiteralNode":
        """Node below a literal; kept for a later, higher limit where the tables are small."""
        node = self._children.get(literal)
        if node is None:
            rows, most = self.literal_rows(literal), self.child_length
            node = LiteralNode(self.state, rows, self.depth - 1, most=most)
            if self.keeps_children:
                self._children[literal] = node
        return node

    @property
    def keeps_children(self) -> bool:
        """Whether the nodes below all literals are needed and together fit into memory."""
        per_node = _BYTES_PER_PAIR * self.n_features**2 * self.literals.depth_two.shape[1]
        fit = 2 * self.n_features * per_node <= _MEMORY
        return self.depth == 5 and fit and not self.state.shares_subsets

    def _spread(self, literal: int) -> None:
        """Similarity bounds from one literal to all others."""
        weight, ones = self.literals.weight[literal], self.literals.ones[literal]
        missing = np.column_stack([ones, weight - ones]).reshape(-1, 1)
        learned = similar_cost(self.lower[literal], missing)
        if self.state.rows.shape[1] > 1:  # `similar_cost` then asks for rows inside: none outside
            outside = self.literal_rows(literal ^ 1)
            ones = self.state.rows.columns[:, outside].sum(axis=1, dtype=np.int64)
            learned[np.column_stack([ones < len(outside), ones > 0]).ravel()] = 0.0
        np.minimum(learned, self.upper, out=learned)
        np.maximum(self.lower, learned, out=self.lower)

    def literal_rows(self, literal: int) -> np.ndarray:
        """Return the rows of the node that satisfy a literal."""
        column = self.state.rows.columns[literal >> 1, self.subset]
        return self.subset[column == (literal & 1)]

    def literal_tree(self, literal: int, k: int) -> PathTree | None:
        """Return the best known tree below a literal; None when stopped before it is found."""
        kept, f = self._trees.get((literal, k)), int(self._roots[literal, k])
        if kept is not None:
            return kept
        if f == -1 and self._shallow is not None:
            return self._shallow.literal_tree(literal, k)
        rows = self.literal_rows(literal)
        if f == LATER:
            node = self._child_node(literal)
            node.search()
            tree = None if self.state.terms.stop[0] else node.tree(k)
            if tree is not None:
                self._trees[literal, k] = tree
            return tree
        if f < 0:
            return self.state.shallow_tree(rows, min(2, self.depth - 1), k)
        i, j = self._shares(self.table[literal, 2 * f], self.table[literal, 2 * f + 1], k)
        on = self.state.rows.columns[f, rows] > 0
        left = self.state.shallow_tree(rows[~on], 2, i)
        return Branch(f, left, self.state.shallow_tree(rows[on], 2, j))

    def _shares(self, left: np.ndarray, right: np.ndarray, k: int) -> tuple[int, int]:
        """Entries of both sides whose sum is entry k of a split."""
        rest = k - self.state.terms.step
        pairs = [
            (left[i] + right[j], i, j)
            for i in range(min(len(left), rest + 1))
            for j in range(min(len(right), rest - i + 1))
        ]
        return min(pairs)[1:]

    def tree(self, k: int = 0) -> PathTree | None:
        """Return the best known tree of an entry; None when stopped before it is found."""
        f = int(self.root[k])
        if f < 0 or (self.depth <= 2 and self._is_free):
            return self.state.shallow_tree(self.subset, self.depth if f >= 0 else 0, k)
        i, j = self._shares(self.upper[2 * f], self.upper[2 * f + 1], k)
        left, right = self.literal_tree(2 * f, i), self.literal_tree(2 * f + 1, j)
        return None if left is None or right is None else Branch(f, left, right)

    def restrict_root(self, roots: np.ndarray) -> None:
        """Allow only trees with one of some features at the root."""
        self.allowed[:], self._is_free = False, False
        self.allowed[roots] = True
        self.best[:], self.root[:] = INFINITE, -1
        self._collect_best()
