"""Optimal trees for every number of leaves: the exact search with vectors instead of numbers.

Entry l of a vector is the smallest error weight of a tree with at most l + 1 leaves. A split adds
the vectors of its sides by (min, +) convolution; a feature is skipped as soon as its convolved
lower bounds cannot improve any entry that the caller is interested in.
"""

from __future__ import annotations

import numpy as np

from octcore.kernels import inner, kernel
from octcore.search.univariate.bit_rows import filter_rows
from octcore.search.univariate.canonical import canonical_tree
from octcore.search.univariate.literal_node import SearchState
from octcore.search.univariate.literals import leaf_and_outvoted
from octcore.search.univariate.pairs import pair_scores
from octcore.search.univariate.tree import Branch, PathTree, predict

IMPOSSIBLE = 2**58
"""Error weight of a tree that cannot respect the minimum leaf size."""


@kernel()
def errors_by_leaves(rows, subset, n_subset, pairs, vector):
    """Fill ``vector`` (length 4) with the errors of the best trees of 1..4 leaves, depth two."""
    n_active = pair_scores(rows, subset, n_subset, pairs)
    weight = 0
    largest = 0
    samples = 0
    for c in range(len(pairs.totals)):
        if c < rows.shape[0]:
            weight += pairs.totals[c]
            largest = max(largest, pairs.totals[c])
        else:
            samples += pairs.totals[c]
    if len(pairs.totals) == rows.shape[0]:
        samples = weight
    vector[:] = IMPOSSIBLE
    if samples < rows.shape[1] or n_subset == 0:
        return
    vector[:] = weight - largest
    for j in range(n_active):
        f = pairs.active[j]
        left, right = pairs.leaf[0, f], pairs.leaf[1, f]
        if left < 0 or right < 0:
            continue
        left_stump, right_stump = pairs.stump[0, f], pairs.stump[1, f]
        vector[1] = min(vector[1], weight - left - right)
        if left_stump >= 0:
            vector[2] = min(vector[2], weight - left_stump - right)
        if right_stump >= 0:
            vector[2] = min(vector[2], weight - left - right_stump)
        if left_stump >= 0 and right_stump >= 0:
            vector[3] = min(vector[3], weight - left_stump - right_stump)
    for k in range(1, 4):
        vector[k] = min(vector[k], vector[k - 1])


@kernel()
def literal_vectors(rows, pairs, subset, child, vectors, outvoted, ones, weight, stop):
    """Depth-two vectors below every literal of a node; return False when stopped early."""
    for a in range(len(vectors)):
        if stop[0]:
            return False
        n = filter_rows(subset, len(subset), rows.columns[a >> 1], a & 1, child)
        if n == len(subset):
            n = 0
        errors_by_leaves(rows, child, n, pairs, vectors[a])
        # Loops here and below: copying arrays by one statement compiles for seconds.
        for f in range(len(pairs.ones)):
            ones[a, f] = pairs.ones[f]
        weight[a] = 0
        for c in range(rows.shape[0]):
            weight[a] += pairs.totals[c]
        outvoted[a] = 0
        for k in range(n):
            outvoted[a] += rows.minority[child[k]]
    return True


@kernel()
def convolve(left, right, out):
    """(min, +) convolution on leaf counts; ``out`` is at most its length plus one leaf."""
    out[:] = IMPOSSIBLE
    for i in range(len(left)):
        for j in range(min(len(right), len(out) - i - 1)):
            out[i + j + 1] = min(out[i + j + 1], left[i] + right[j])
    for k in range(1, len(out)):
        out[k] = min(out[k], out[k - 1])


@inner()
def _spread_pair(rows, pairs, table, known, a, b):
    """Similarity bounds from an exact pair to the pairs that share one of its literals."""
    weight = 0
    for c in range(rows.shape[0]):
        weight += pairs.totals[c]
    for q in range(rows.bits.shape[1]):
        for side in range(2):
            literal = 2 * q + side
            missing = pairs.ones[q] if side == 0 else weight - pairs.ones[q]
            for base in (a, b):
                if not known[base, literal]:
                    for k in range(4):
                        bound = table[a, b, k] - missing
                        if bound > table[base, literal, k]:
                            table[base, literal, k] = bound
                            table[literal, base, k] = bound


@kernel()
def close_literal(
    rows, pairs, subset, parent, child, a, order, limit, table, known, best, roots, proven, stop
):
    """Depth-three vectors below literal ``a``.

    ``best`` and ``roots`` (root feature per entry) are improved in place, ``proven`` receives a
    lower bound; entries of at least ``limit`` need not be solved. Returns False when stopped.
    """
    n_parent = filter_rows(subset, len(subset), rows.columns[a >> 1], a & 1, parent)
    sums = np.empty(len(best), np.int64)
    proven[:] = IMPOSSIBLE
    for f in order:
        left, right = 2 * f, 2 * f + 1
        if f == a >> 1:
            continue
        while True:
            convolve(table[a, left], table[a, right], sums)
            open_entry = False
            for k in range(len(best)):
                if sums[k] < min(best[k], limit[k]):
                    open_entry = True
            solved = known[a, left] and known[a, right]
            if solved:
                for k in range(len(best)):
                    if sums[k] < best[k]:
                        best[k] = sums[k]
                        roots[k] = f
            if solved or not open_entry:
                break
            if stop[0]:
                return False
            b = right if known[a, left] else left
            n = filter_rows(parent, n_parent, rows.columns[b >> 1], b & 1, child)
            errors_by_leaves(rows, child, n, pairs, table[a, b])
            for k in range(4):
                table[b, a, k] = table[a, b, k]
            known[a, b] = 1
            known[b, a] = 1
            if rows.shape[1] <= 1 and n > 0:
                _spread_pair(rows, pairs, table, known, a, b)
        for k in range(len(best)):
            proven[k] = min(proven[k], sums[k])
    for k in range(len(best)):
        proven[k] = min(proven[k], best[k])
    return True


class LeavesNode:
    """Vectors of one node of depth at least 3, as `LiteralNode` does for single costs.

    Parameters
    ----------
    state : SearchState
        Its penalty is not used.
    subset : ndarray of int64
    depth : int
    most : int
        Largest number of leaves of interest.
    roots : ndarray of int, or None
        The features one of which the root must test.
    """

    def __init__(
        self,
        state: SearchState,
        subset: np.ndarray,
        depth: int,
        most: int,
        roots: np.ndarray | None = None,
    ) -> None:
        self.state, self.subset, self.depth = state, subset, depth
        rows = state.rows
        size = 2 * rows.bits.shape[1]
        self.length = min(2**depth, most)
        self.child_length = max(1, min(2 ** (depth - 1), most - 1))
        self.two = np.zeros((size, 4), np.int64)
        self.outvoted = np.zeros(size, np.int64)
        self.ones = np.zeros((size, size // 2), np.int64)
        self.weight = np.zeros(size, np.int64)
        self._child = np.empty(len(subset), np.int64)
        self.complete = literal_vectors(
            rows, state.pairs, subset, self._child, self.two, self.outvoted, self.ones,
            self.weight, state.stop,
        )  # fmt: skip
        pad = np.minimum(np.arange(self.child_length), 3)
        self.upper = self.two[:, pad]
        self.lower = self.upper.copy()
        if depth > 3:
            self.lower[:, 3:] = np.minimum(self.outvoted[:, None], self.upper[:, 3:])
            # A literal that holds all rows, none or too few is no split.
            self.lower[self.two[:, 0] >= IMPOSSIBLE] = IMPOSSIBLE
        own = np.zeros(4, np.int64)
        errors_by_leaves(rows, subset, len(subset), state.pairs, own)
        self.best = np.full(self.length, own[0] if roots is None else IMPOSSIBLE)
        self.roots = np.full(self.length, -1)
        self.features = np.arange(size // 2) if roots is None else roots
        self._literal_roots = np.full((size, self.child_length), -1)
        self._trees: dict[int, dict[int, PathTree]] = {}
        if depth == 4:
            self._start_table()

    def _start_table(self) -> None:
        size = len(self.two)
        self.table = np.zeros((size, size, 4), np.int64)
        self.known = np.zeros((size, size), np.uint8)
        self._parent = np.empty(len(self.subset), np.int64)

    def search(self, limit: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return lower bounds and best errors; entries below ``limit`` are solved."""
        limit = np.full(self.length, IMPOSSIBLE) if limit is None else limit
        proven = np.full(self.length, IMPOSSIBLE)
        sums = np.empty(self.length, np.int64)
        self.order = np.argsort(self._guess(), kind="stable")
        roots = self.order[np.isin(self.order, self.features)]
        for f in roots:
            self._take(int(f))
        for f in roots:
            if self.state.stop[0] or not self.complete:
                return np.zeros(self.length, np.int64), self.best
            self._close(int(f), limit)
            convolve(self.lower[2 * f], self.lower[2 * f + 1], sums)
            np.minimum(proven, sums, out=proven)
        return np.minimum(proven, self.best), self.best

    def _guess(self) -> np.ndarray:
        return self.two[0::2, -1] + self.two[1::2, -1]

    def _take(self, f: int) -> None:
        """Update the incumbents with feature ``f`` at the root."""
        sums = np.empty(self.length, np.int64)
        convolve(self.upper[2 * f], self.upper[2 * f + 1], sums)
        better = sums < self.best
        self.best[better] = sums[better]
        self.roots[better] = f

    def _close(self, f: int, limit: np.ndarray) -> None:
        """Solve both sides of a feature as far as they can improve an entry."""
        sums = np.empty(self.length, np.int64)
        for literal, other in ((2 * f, 2 * f + 1), (2 * f + 1, 2 * f)):
            convolve(self.lower[2 * f], self.lower[2 * f + 1], sums)
            target = np.minimum(self.best, limit)
            if (sums >= target).all():
                break
            room = np.full(self.child_length, -1)
            for i in range(self.child_length):
                j = np.arange(min(self.child_length, self.length - i - 1))
                if len(j):
                    room[i] = (target[i + j + 1] - self.lower[other][j]).max()
            if (self.lower[literal] < np.minimum(self.upper[literal], room)).any():
                self._solve(literal, room)
        self._take(f)

    def _solve(self, literal: int, limit: np.ndarray) -> None:
        state = self.state
        if self.depth == 4:
            best, roots = self.upper[literal], self._literal_roots[literal]
            lower = np.zeros_like(best)
            if not close_literal(
                state.rows, state.pairs, self.subset, self._parent, self._child, literal,
                self.order, limit, self.table, self.known, best, roots, lower, state.stop,
            ):  # fmt: skip
                return
        else:
            rows = self._literal_rows(literal)
            node = LeavesNode(state, rows, self.depth - 1, self.child_length)
            lower, best = node.search(limit)
            trees = self._trees.setdefault(literal, {})
            for k in np.flatnonzero(best < self.upper[literal]):
                self.upper[literal, k] = best[k]
                trees[int(k)] = node.tree(int(k))
        np.maximum(self.lower[literal], lower, out=self.lower[literal])
        if state.rows.shape[1] <= 1:
            self._spread(literal)
        if state.check is not None and not state.stop[0]:
            state.check.errors(self, literal)

    def _spread(self, literal: int) -> None:
        missing = np.empty(len(self.two), np.int64)
        missing[1::2] = self.weight[literal] - self.ones[literal]
        missing[0::2] = self.ones[literal]
        learned = self.lower[literal][None, :] - missing[:, None]
        np.maximum(self.lower, np.minimum(learned, self.upper), out=self.lower)

    def _literal_rows(self, literal: int) -> np.ndarray:
        column = self.state.rows.columns[literal >> 1, self.subset]
        return self.subset[column == (literal & 1)]

    def tree(self, k: int) -> PathTree:
        """Return the best tree with at most ``k + 1`` leaves."""
        f = int(self.roots[k])
        if f < 0:
            return leaves_tree(self.state, self.subset, 1)
        left, right = self.upper[2 * f], self.upper[2 * f + 1]
        for i in range(min(k, len(left))):
            for j in range(min(k - i, len(right))):
                if left[i] + right[j] == self.best[k]:
                    return Branch(f, self._literal_tree(2 * f, i), self._literal_tree(2 * f + 1, j))
        raise AssertionError("an incumbent without a tree")

    def _literal_tree(self, literal: int, k: int) -> PathTree:
        kept = self._trees.get(literal, {}).get(k)
        if kept is not None:
            return kept
        rows = self._literal_rows(literal)
        f = int(self._literal_roots[literal, k])
        if f < 0:
            return leaves_tree(self.state, rows, min(k, 3) + 1)
        left, right = self.table[literal, 2 * f], self.table[literal, 2 * f + 1]
        on = self.state.rows.columns[f, rows] > 0
        for i in range(min(k, 4)):
            for j in range(min(k - i, 4)):
                if left[i] + right[j] == self.upper[literal, k]:
                    below = leaves_tree(self.state, rows[~on], i + 1)
                    return Branch(f, below, leaves_tree(self.state, rows[on], j + 1))
        raise AssertionError("a subtree without a split")


def leaves_tree(state: SearchState, subset: np.ndarray, most: int, depth: int = 2) -> PathTree:
    """Return the canonical tree with the fewest errors among those with at most ``most`` leaves."""
    rows, pairs = state.rows, state.pairs
    return canonical_tree(rows, pairs, subset, 0.0, 0.5, depth, most)[1]


def search_by_leaves(
    state: SearchState,
    subset: np.ndarray,
    depth: int,
    most: int,
    roots: np.ndarray | None = None,
) -> list[tuple[int, float, PathTree]]:
    """Return (leaves allowed, errors, tree) for every number of leaves up to ``most``.

    Numbers for which no tree is possible are left out; nothing is returned when stopped early.
    """
    most = min(most, 2**depth)
    if depth <= 2:
        return _shallow_by_leaves(state, subset, depth, most, roots)
    if most < 2 and roots is not None:
        return []
    node = LeavesNode(state, subset, depth, most, roots)
    _, best = node.search()
    if state.stop[0]:
        return []
    possible = [k for k in range(len(best)) if best[k] < IMPOSSIBLE]
    return [(k + 1, float(best[k]), node.tree(k)) for k in possible]


def _shallow_by_leaves(
    state: SearchState, subset: np.ndarray, depth: int, most: int, roots: np.ndarray | None
) -> list[tuple[int, float, PathTree]]:
    """Depth at most two: D2S with a limit on the leaves, or on both sides of a forced root."""
    options: list[tuple[int, float, PathTree]] = []
    if roots is None:
        for leaves in range(1, most + 1):
            tree = leaves_tree(state, subset, leaves, depth)
            options.append((leaves, _errors(state, subset, tree), tree))
        return options
    for root in roots.tolist() if depth > 0 else []:
        on = state.rows.columns[root, subset] > 0
        sides = subset[~on], subset[on]
        if min(_samples(state, side) for side in sides) < max(1, state.rows.shape[1]):
            continue
        for leaves in range(2, most + 1):
            for i in range(1, leaves):
                left = leaves_tree(state, sides[0], i, depth - 1)
                tree = Branch(root, left, leaves_tree(state, sides[1], leaves - i, depth - 1))
                options.append((leaves, _errors(state, subset, tree), tree))
    best: dict[int, tuple[int, float, PathTree]] = {}
    for option in options:
        if option[0] not in best or option[1] < best[option[0]][1]:
            best[option[0]] = option
    return [best[leaves] for leaves in sorted(best)]


def _samples(state: SearchState, subset: np.ndarray) -> int:
    """Number of original rows, which kernel rows merge or repeat."""
    totals = np.zeros(len(state.pairs.totals), np.int64)
    return int(leaf_and_outvoted(state.rows, subset, len(subset), totals)[3])


def _errors(state: SearchState, subset: np.ndarray, tree: PathTree) -> float:
    """Weight that a tree in kernel features misclassifies."""
    rows = state.rows
    block = rows.block[subset]
    own = rows.block_channel[block] < rows.shape[0]
    wrong = predict(tree, rows.columns[:, subset].T) != rows.block_channel[block]
    return float(rows.block_scale[block][own & wrong].sum())
