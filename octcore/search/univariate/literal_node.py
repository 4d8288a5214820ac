"""One node of the exact search: best trees of a given depth on a row subset, feature by feature.

For every literal below the node a lower and an upper bound on the cost of its subtree are kept.
The feature with the smallest sum of lower bounds is tightened until no feature can beat the
incumbent or the limit of the caller. Bounds come from

- the equivalent-point errors plus one penalty per leaf: a tree that is not of smaller depth has
  more leaves than that depth,
- the best tree of smaller depth,
- similarity: cost(S) >= cost(S') - weight(S' minus S); with a minimum leaf size only where S is
  inside S', because leaves that are large enough in S stay so in S',
- exact subtrees: D2S, the pair table of `path_depth_three`, or a node one level shallower.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import numpy as np

from octcore.search.univariate.bit_rows import Pairs, Rows, make_pairs
from octcore.search.univariate.canonical import canonical_tree
from octcore.search.univariate.checking import BoundCheck, bound_check
from octcore.search.univariate.literals import (
    Literals,
    close_depth_three,
    leaf_and_outvoted,
    make_literals,
    score_literals,
    side_costs,
)
from octcore.search.univariate.pairs import INFEASIBLE, pair_scores
from octcore.search.univariate.tree import Branch, PathTree

_BYTES_PER_PAIR = 92
"""Bytes per squared number of features that a node of depth 4 keeps in its tables."""
_MEMORY = 300_000_000
"""Bytes that the kept nodes of one search may take."""
_SHARED_OUT = 1_000_000
"""Rows times features from which the literals of a node are shared out among threads."""


@dataclass
class SearchState:
    """What all nodes of one search share.

    Attributes
    ----------
    rows, pairs : Rows, Pairs
        Kernel data and scratch.
    penalty, slack : float
        Cost per leaf, and the distance below which costs tie, in integer weight units.
    stop : ndarray of shape (1,), uint8
        Set to 1 by another thread to end the search soon.
    runs : ndarray of shape (1,), int64
        D2S calls so far.
    threads : int
        How many threads may work on one node; they change the time and nothing else.
    nodes : int
        Literal nodes opened so far.
    check : BoundCheck or None
        Debug mode, see `checking`.
    """

    rows: Rows
    penalty: float
    slack: float
    threads: int = 1
    stop: np.ndarray = field(default_factory=lambda: np.zeros(1, np.uint8))
    pairs: Pairs = field(init=False)
    runs: np.ndarray = field(default_factory=lambda: np.zeros(1, np.int64))
    nodes: int = 0
    check: BoundCheck | None = field(default_factory=bound_check)

    def __post_init__(self) -> None:
        """Allocate the scratch."""
        self.pairs = make_pairs(self.rows)

    def depth_two_tree(self, subset: np.ndarray, max_depth: int = 2) -> PathTree:
        """Return the canonical tree of depth at most two in kernel features."""
        return canonical_tree(self.rows, self.pairs, subset, self.penalty, self.slack, max_depth)[1]


class LiteralNode:
    """Search for the best tree of depth ``depth`` (at least 3) on ``subset``.

    Parameters
    ----------
    state : SearchState
    subset : ndarray of int64
        Kernel rows, ascending.
    depth : int
    shallow : LiteralNode, optional
        The same rows searched at depth ``depth - 1``: its bounds and trees are taken over.

    Attributes
    ----------
    lower, upper : ndarray of shape (2 * n_features,)
        Bounds on the cost of the subtree of depth ``depth - 1`` below every literal.
    best : float
        Cost of the best tree known for the node.
    """

    def __init__(
        self,
        state: SearchState,
        subset: np.ndarray,
        depth: int,
        shallow: LiteralNode | None = None,
    ) -> None:
        self.state = state
        self.subset = subset
        self.depth = depth
        state.nodes += 1
        rows = state.rows
        self.n_features = rows.bits.shape[1]
        if shallow is None:
            self.literals = make_literals(self.n_features)
            self._child = np.empty(len(subset), np.int64)
            self.complete = self._score_literals()
            state.runs[0] += 2 * self.n_features
        else:
            self.literals: Literals = shallow.literals
            self._child = shallow._child
            self.complete = shallow.complete
        self._trees: dict[int, Callable[[], PathTree]] = {}
        self._children: dict[int, LiteralNode] = {}
        self._start_bounds(shallow)
        if depth == 4:
            self._start_table()

    def _score_literals(self) -> bool:
        """Run D2S below every literal, shared out among threads where it takes long."""
        state, rows, n = self.state, self.state.rows, self.n_features
        threads = min(state.threads, n) if len(self.subset) * n >= _SHARED_OUT else 1
        # The two literals of a feature stay together: their rows are all rows of the node.
        ends = [2 * (n * k // threads) for k in range(threads + 1)]

        def score(k: int) -> bool:
            pairs = make_pairs(rows) if k else state.pairs
            child = np.empty_like(self._child) if k else self._child
            return score_literals(
                rows, pairs, self.subset, child, state.penalty, self.literals, state.stop,
                ends[k], ends[k + 1],
            )  # fmt: skip

        if threads == 1:
            return score(0)
        with ThreadPoolExecutor(threads) as pool:
            return all(list(pool.map(score, range(threads))))

    def _start_bounds(self, shallow: LiteralNode | None) -> None:
        """First bounds on every literal and on the node itself."""
        state, literals = self.state, self.literals
        totals = np.zeros(len(state.pairs.totals), np.int64)
        weight, largest, outvoted, samples = leaf_and_outvoted(
            state.rows, self.subset, len(self.subset), totals
        )
        self.weight = float(weight)
        feasible = samples >= state.rows.shape[1]
        self.leaf = weight - largest + state.penalty if feasible else INFEASIBLE
        self.outvoted = float(outvoted)
        two = np.minimum(literals.depth_two, literals.leaf)
        self.upper = two.copy()
        if self.depth == 3:
            self.lower = two.copy()
        elif shallow is None:
            self.lower = np.minimum(two, literals.outvoted + 4 * state.penalty)
        else:
            deeper = literals.outvoted + self.depth * state.penalty
            self.lower = np.minimum(shallow.lower, deeper)
            self.upper = shallow.upper.copy()
            self._trees = {k: self._reuse(shallow, k) for k in range(2 * self.n_features)}
        # A literal that holds all rows, none or too few is no split.
        self.lower[two >= INFEASIBLE] = INFEASIBLE
        if not self.complete:
            self.lower[:] = 0.0
        self.best, self.root = self.leaf, -1
        self.allowed = np.ones(self.n_features, bool)
        self._collect_best()

    def _reuse(self, shallow: LiteralNode, literal: int) -> Callable[[], PathTree]:
        return lambda: shallow.literal_tree(literal)

    def _start_table(self) -> None:
        """Pair table of depth-two costs: bounds by one split, or three leaves and more."""
        rows, literals, size = self.state.rows, self.literals, 2 * self.n_features
        stump = np.empty((size, size))
        stump[:, 0::2] = literals.side_cost[:, 0]
        stump[:, 1::2] = literals.side_cost[:, 1]
        # No information, not impossibility: a literal may hold all rows of another one, or leave
        # too few on the other side, and its pair is still reached from the other literal.
        stump[stump >= INFEASIBLE] = 0.0
        chosen = self.subset[rows.minority[self.subset] > 0]
        on = rows.columns[:, chosen].astype(np.float64)
        both = np.empty((size, len(chosen)))
        both[0::2], both[1::2] = 1 - on, on
        outvoted = (both * rows.minority[chosen]) @ both.T
        outvoted += 3 * self.state.penalty
        table = np.minimum(stump, outvoted, out=outvoted)
        self.table = np.maximum(table, table.T, out=stump)
        self.known = np.zeros((size, size), np.uint8)
        self._parent = np.empty(len(self.subset), np.int64)

    @property
    def feature_lower(self) -> np.ndarray:
        """Lower bound on the cost with every feature at the root, shape (n_features,)."""
        return np.where(self.allowed, self.lower[0::2] + self.lower[1::2], INFEASIBLE)

    @property
    def feature_upper(self) -> np.ndarray:
        """Cost of the best known tree with every feature at the root, shape (n_features,)."""
        return np.where(self.allowed, self.upper[0::2] + self.upper[1::2], INFEASIBLE)

    @property
    def bound(self) -> float:
        """Lower bound on the cost of the node."""
        if not self.complete:
            return min(self.best, self.outvoted + self.state.penalty)
        lowest = float(self.feature_lower.min(initial=INFEASIBLE))
        return max(min(self.best, lowest), min(self.best, self.outvoted + self.state.penalty))

    def _collect_best(self) -> None:
        cost = self.feature_upper
        if len(cost):
            f = int(cost.argmin())
            if cost[f] < self.best - self.state.slack:
                self.best, self.root = float(cost[f]), f

    def search(self, limit: float = np.inf) -> tuple[float, float]:
        """Solve the node, or prove that it costs ``limit`` or more.

        Returns
        -------
        tuple of (float, float)
            Lower bound and best cost; equal (within the slack) when solved.
        """
        for _ in self.tightenings(limit):
            pass
        return self.bound, self.best

    def tightenings(self, limit: float = np.inf, steps: int = 1, dives: int = 0) -> Iterator[None]:
        """Solve the node as `search` does, with a pause after every feature that was worked on.

        Parameters
        ----------
        limit : float
        steps : int
            In how many steps the bound of a feature is raised to the incumbent.
        dives : int
            How many of the most promising features are solved before anything else.
        """
        state = self.state
        promising = np.argsort(self.feature_upper, kind="stable")[:dives]
        for f in promising[self.allowed[promising]] if self.complete else []:
            self.tighten(int(f), min(self.best, limit))
            yield
        while self.complete and not state.stop[0]:
            target = min(self.best, limit)
            bounds = self.feature_lower
            f = int(bounds.argmin()) if len(bounds) else -1
            if f < 0 or bounds[f] >= target - state.slack:
                break
            stride = max((target - bounds[f]) / steps, state.penalty, 1.0)
            self.tighten(f, min(target, bounds[f] + stride))
            yield

    def tighten(self, f: int, goal: float) -> None:
        """Raise the bound of feature ``f`` to ``goal``, or solve both of its sides."""
        sides = [2 * f, 2 * f + 1]
        sides.sort(key=lambda k: -self.literals.depth_two[k])
        for literal, other in (sides, sides[::-1]):
            if self.lower[0::2][f] + self.lower[1::2][f] >= goal - self.state.slack:
                break
            if not self._solved(literal):
                self._solve(literal, goal - self.lower[other])
        self._collect_best()

    def _solved(self, literal: int) -> bool:
        return bool(self.lower[literal] >= self.upper[literal] - self.state.slack)

    def _solve(self, literal: int, limit: float) -> None:
        """Solve the subtree below a literal up to ``limit`` and spread what was learned."""
        state = self.state
        if self.depth == 4:
            lower, upper, feature = close_depth_three(
                state.rows, state.pairs, self.subset, self._parent, self._child, literal,
                limit, state.penalty, state.slack, self.literals, self.table, self.known,
                state.stop, state.runs,
            )  # fmt: skip
            tree: Callable[[], PathTree] = lambda: self._split_tree(literal, feature)  # noqa: E731
        else:
            node = self._child_node(literal)
            lower, upper = node.search(limit)
            tree = node.tree
        if upper < self.upper[literal] - state.slack:
            self.upper[literal] = upper
            # Deeper nodes hold large tables: build their tree now and let them go.
            self._trees[literal] = tree if self.depth == 4 else _constant(tree())
        if lower > self.lower[literal]:
            solved = lower >= self.upper[literal] - state.slack
            self.lower[literal] = self.upper[literal] if solved else lower
            self._spread(literal)
        if state.check is not None and not state.stop[0]:
            state.check.costs(self, literal)

    def _child_node(self, literal: int) -> LiteralNode:
        """Node below a literal; kept for a later, higher limit where the tables are small."""
        node = self._children.get(literal)
        if node is None:
            node = LiteralNode(self.state, self.literal_rows(literal), self.depth - 1)
            if self.keeps_children:
                self._children[literal] = node
        return node

    @property
    def keeps_children(self) -> bool:
        """Whether the nodes below all literals together fit into memory."""
        per_node = _BYTES_PER_PAIR * self.n_features**2
        return self.depth == 5 and 2 * self.n_features * per_node <= _MEMORY

    def _spread(self, literal: int) -> None:
        """Similarity bounds from one literal to all others."""
        weight, ones = self.literals.weight[literal], self.literals.ones[literal]
        missing = np.empty(2 * self.n_features)
        missing[1::2], missing[0::2] = weight - ones, ones
        learned = self.lower[literal] - missing
        if self.state.rows.shape[1] > 1:
            # Only a subset of the literal's rows may be compared: S' inside S.
            learned = np.where(self._inside(literal), learned, 0.0)
        np.minimum(learned, self.upper, out=learned)
        np.maximum(self.lower, learned, out=self.lower)

    def _inside(self, literal: int) -> np.ndarray:
        """Tell which literals hold no other rows than this one; rows of weight zero count."""
        columns = self.state.rows.columns
        shared_ones = columns[:, self.literal_rows(literal)].sum(axis=1, dtype=np.int64)
        ones = columns[:, self.subset].sum(axis=1, dtype=np.int64)
        inside = np.empty(2 * self.n_features, bool)
        inside[1::2] = shared_ones == ones
        n_shared = np.count_nonzero(columns[literal >> 1, self.subset] == (literal & 1))
        inside[0::2] = n_shared - shared_ones == len(self.subset) - ones
        return inside

    def literal_rows(self, literal: int) -> np.ndarray:
        """Return the rows of the node that satisfy a literal."""
        column = self.state.rows.columns[literal >> 1, self.subset]
        return self.subset[column == (literal & 1)]

    def _split_tree(self, literal: int, feature: int) -> PathTree:
        """Tree below a literal with D2S trees on both sides of ``feature`` (-1: D2S itself)."""
        rows = self.literal_rows(literal)
        if feature < 0:
            return self.state.depth_two_tree(rows)
        on = self.state.rows.columns[feature, rows] > 0
        left = self.state.depth_two_tree(rows[~on])
        return Branch(feature, left, self.state.depth_two_tree(rows[on]))

    def literal_tree(self, literal: int) -> PathTree:
        """Return the best known tree below a literal."""
        maker = self._trees.get(literal)
        return self._split_tree(literal, -1) if maker is None else maker()

    def root_tree(self, f: int) -> PathTree:
        """Return the best known tree with feature ``f`` at the root."""
        return Branch(f, self.literal_tree(2 * f), self.literal_tree(2 * f + 1))

    def tree(self) -> PathTree:
        """Return the best known tree of the node."""
        if self.root < 0:
            return self.state.depth_two_tree(self.subset, 0)
        return self.root_tree(self.root)

    def feature_costs(self) -> tuple[np.ndarray, np.ndarray]:
        """Bounds on the cost with every feature at the root, restricted or not."""
        lower = self.lower[0::2] + self.lower[1::2]
        return lower, self.upper[0::2] + self.upper[1::2]

    def restrict_root(self, roots: np.ndarray) -> None:
        """Allow only trees with one of some features at the root."""
        self.allowed[:] = False
        self.allowed[roots] = True
        self.leaf, self.best, self.root = INFEASIBLE, INFEASIBLE, -1
        self._collect_best()


def _constant(tree: PathTree) -> Callable[[], PathTree]:
    return lambda: tree


class ShallowNode:
    """The interface of `LiteralNode` for depths 1 and 2, where one D2S answers everything."""

    def __init__(self, state: SearchState, subset: np.ndarray, depth: int) -> None:
        self.state = state
        self.subset = subset
        self.depth = depth
        state.nodes += 1
        state.runs[0] += 1
        rows, pairs = state.rows, state.pairs
        count = pair_scores(rows, subset, len(subset), pairs)
        weight = sum(int(v) for v in pairs.totals[: int(rows.shape[0])])
        sides = np.full((2, rows.bits.shape[1]), INFEASIBLE)
        if depth == 1:
            pairs.stump[:] = -1
        if count:
            side_costs(rows, pairs, weight, state.penalty, sides)
        self._feature_cost = sides[0] + sides[1]
        value, self._tree, _ = canonical_tree(
            rows, pairs, subset, state.penalty, state.slack, depth
        )
        self.best = self.bound = weight - value

    def feature_costs(self) -> tuple[np.ndarray, np.ndarray]:
        """Bounds on the cost with every feature at the root (they agree)."""
        return self._feature_cost, self._feature_cost

    def restrict_root(self, roots: np.ndarray) -> None:
        """Allow only trees with one of some features at the root."""
        f = int(roots[self._feature_cost[roots].argmin()])
        self.best = self.bound = float(self._feature_cost[f])
        if self.best < INFEASIBLE:
            on = self.state.rows.columns[f, self.subset] > 0
            left = self.state.depth_two_tree(self.subset[~on], self.depth - 1)
            right = self.state.depth_two_tree(self.subset[on], self.depth - 1)
            self._tree = Branch(f, left, right)

    def tree(self) -> PathTree:
        """Return the best tree."""
        return self._tree
