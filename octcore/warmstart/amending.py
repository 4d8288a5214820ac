"""Trees that keep side constraints: other trees, changed at one node after the other.

What floors on recalls and limits between groups look at are sums over the rows of what a tree
answers, and so is what it is worth.  Running sums along a column therefore tell for every threshold
of a node what the whole tree would be worth, and by how much it would fall short.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from octcore.program import ENDLESS, Patience, Problem
from octcore.tree import topology
from octcore.tree.constraints import (
    BY_SUBTREE,
    SIDE_CONSTRAINTS,
    TOLERANCE,
    parity_cells,
    violations,
)
from octcore.tree.tree import Split, Tree, grown, join_equal_leaves, midpoint
from octcore.warmstart.greedy import greedy_starts

ROUNDS, FRUITLESS, MOST_SHAKEN = 60, 15, 4
"""How often, in all and in vain, the best tree is changed with so many nodes drawn anew."""
PRICES = (0.1, 0.3, 1.0, 3.0)
"""Of what is missing, as shares of the weight of all rows; in the end no worth makes up for it."""
SECONDS, LONGEST = 2.0, 20.0
"""When a round is the last one: if a tree keeps the constraints, and if none does."""
SHARES = (0.25, 0.5)  # the same as shares of the time that is left
MOST_TRIED = 100
"""Changes of a node, the most promising first, whose columns are held against the constraints."""

Part = tuple[Any, ...]  # a leaf as its label alone, or a split with its sides
Value = tuple[int, float, float]
"""Constraints on columns and sizes that are broken, what is missing elsewhere, minus the worth."""


def first_trees(
    problem: Problem, price: float, patience: Patience = ENDLESS
) -> Iterator[tuple[str, Tree]]:
    """Yield greedy trees, and what becomes of them where side constraints tie subtrees together."""
    trees = []
    for source, tree in greedy_starts(problem, price, patience):
        trees.append(tree)
        yield source, tree
    for tree in amended(problem, price, trees, patience):
        yield "warm start", tree


def amended(
    problem: Problem, price: float, trees: Iterable[Tree], patience: Patience = ENDLESS
) -> Iterator[Tree]:
    """Yield trees that keep all side constraints, each better than the one before.

    `price`: of a leaf in weight of correct rows.
    `trees`: where to begin, besides single leaves.
    """
    if problem.constraints.active <= BY_SUBTREE:  # a greedy tree keeps these
        return
    search = _Amending(problem, price, patience)
    rng = np.random.default_rng(problem.seed)
    starts = [_part(tree) for tree in trees] + [(label,) for label in range(problem.n_classes)]
    left = patience.left()
    soon, late = (left - min(s, p * left) for s, p in zip((SECONDS, LONGEST), SHARES, strict=True))
    best: tuple[Value, Part] = (len(SIDE_CONSTRAINTS) + 1, 0.0, 0.0), starts[0]
    vain = 0
    for _ in range(ROUNDS + len(starts)):
        is_kept = best[0][:2] == (0, 0)
        if patience() or vain > FRUITLESS or patience.left() < (soon if is_kept else late):
            return
        prices = PRICES if starts else PRICES[rng.integers(len(PRICES)) :]
        times = 0 if starts else int(rng.integers(1, MOST_SHAKEN + 1))
        part = starts.pop(0) if starts else best[1]
        for _ in range(times):
            part = search.shaken(part, rng)
        value, part = search.descend(part, prices)
        vain = vain + 1 if times else 0
        if _better(value, best[0]):
            best, vain = (value, part), 0
            if value[:2] == (0, 0):
                yield drop_idle_splits(search.tree(part), problem)


def drop_idle_splits(tree: Tree, problem: Problem) -> Tree:
    """Replace splits that send all training rows to one side by that side, then join equal leaves.

    A required root feature keeps its split.
    """
    kept_root = problem.constraints.root_feature is not None
    rows = tree.node_rows(problem.X)

    def part(node: int) -> int | tuple[Split, int, int]:
        while node in tree.splits and not (node == 1 and kept_root):
            filled = [child for child in topology.children(node) if len(rows[child])]
            if len(filled) != 1:
                break
            node = filled[0]
        if node in tree.labels:
            return tree.labels[node]
        return tree.splits[node], *topology.children(node)

    tree = Tree(*grown(1, part), tree.n_features, tree.n_classes)
    return join_equal_leaves(tree, keeps_root=kept_root)


def _better(value: Value, than: Value) -> bool:
    """Whether a value is better by more than rounding."""
    return (*value[:2], value[2] + 1e-9 * abs(value[2])) < than


def _part(tree: Tree, node: int = 1) -> Part:
    if node in tree.labels:
        return (tree.labels[node],)
    return tree.splits[node], _part(tree, 2 * node), _part(tree, 2 * node + 1)


def _nodes(part: Part, path: tuple[int, ...] = ()) -> Iterator[tuple[int, ...]]:
    """Ways from the root to all nodes: 1 for left, 2 for right."""
    yield path
    for side in (1, 2)[: len(part) - 1]:
        yield from _nodes(part[side], (*path, side))


def _at(part: Part, path: tuple[int, ...]) -> Part:
    return _at(part[path[0]], path[1:]) if path else part


def _with(part: Part, path: tuple[int, ...], new: Part) -> Part:
    """The part with another one at the end of a path."""
    if not path:
        return new
    return tuple(_with(p, path[1:], new) if k == path[0] else p for k, p in enumerate(part))


def _n_leaves(part: Part) -> int:
    return 1 if len(part) == 1 else _n_leaves(part[1]) + _n_leaves(part[2])


class _Amending:
    """Changes of one node, and what they make of a tree."""

    def __init__(self, problem: Problem, price: float, patience: Patience) -> None:
        self.problem, self.price, self.patience = problem, price, patience
        context, wanted = problem.context, problem.constraints
        own = len(problem.y)
        is_same = problem.X.shape == context.X.shape and np.array_equal(problem.X, context.X)
        # Copies of rows, or merged ones, are worth something; constraints look at the rows.
        at = 0 if is_same else own
        self.X = context.X if is_same else np.vstack([problem.X, context.X])
        n = len(self.X)
        terms = [np.zeros((n, problem.n_classes)) for _ in range(2)]
        terms[0][np.arange(own), problem.y] = problem.weights
        terms[1][at:] = 1.0
        bounds = []

        def limit(rows: np.ndarray, label: int, *between: float) -> None:
            terms.append(np.zeros((n, problem.n_classes)))
            terms[-1][at:, label] = rows
            bounds.append(between)

        for name, floor in (wanted.min_recall or {}).items():
            k = context.class_index(name)
            limit((context.y == k) / max(1, np.count_nonzero(context.y == k)), k, floor, 1.0)
        for name, parity in wanted.fairness:
            for a, b in parity_cells(name, parity, context):
                share = a / np.count_nonzero(a) - b / np.count_nonzero(b)
                limit(share, context.positive_class, -parity.max_gap, parity.max_gap)
        if self.X.dtype == np.uint8:  # many rows of 0 and 1 are alike
            self.X, which = np.unique(self.X, axis=0, return_inverse=True)
            each, terms = terms, [np.zeros((len(self.X), problem.n_classes)) for _ in terms]
            for term, merged in zip(each, terms, strict=True):
                np.add.at(merged, which.ravel(), term)
        self.terms = np.stack(terms, axis=2)
        """What a row adds to the sums by what it is answered, (n_rows, n_classes, n_terms): its
        worth, 1, and what is bounded."""
        self.low, self.high = np.array(bounds).reshape(-1, 2).T
        self.orders: dict[int, np.ndarray] = {}
        self.exchange: float | None = None
        """What is missing costs so much; None where worth does not make up for it."""
        self.smallest = wanted.min_samples_leaf or 1
        self.root = problem.root_columns
        shape = wanted.active - {"min_recall", "class_weight", *dict(wanted.fairness)}
        self.has_shape = bool(shape)

    def order(self, column: int) -> np.ndarray:
        """Rows by a column, from its smallest value on."""
        if column not in self.orders:
            self.orders[column] = np.argsort(self.X[:, column], kind="stable")
        return self.orders[column]

    def tree(self, part: Part) -> Tree:
        """Number the nodes."""
        tests, labels = grown(part, lambda p: p[0] if len(p) == 1 else p)
        return Tree(tests, labels, self.problem.n_features, self.problem.n_classes)

    def judged(self, sums: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What is missing, and the worth without leaves, of sums of shape (..., n_terms)."""
        over = np.maximum(self.low - sums[..., 2:], sums[..., 2:] - self.high) - TOLERANCE
        missing = np.maximum(over, 0.0).sum(axis=-1)
        if self.exchange is None:
            return missing, sums[..., 0]
        return np.zeros_like(missing), sums[..., 0] - self.exchange * missing

    def broken(self, part: Part) -> int:
        """Number of constraints on columns and sizes that a tree breaks."""
        if not self.has_shape:
            return 0
        context = self.problem.context
        return len(violations(self.problem.constraints, self.tree(part), context, of_shape=True))

    def sums(self, part: Part, rows: np.ndarray) -> np.ndarray:
        """What every row adds, (n_rows, n_terms)."""
        return self.terms[rows, self.tree(part).predict_codes(self.X[rows])]

    def value(self, part: Part) -> Value:
        """Judge a whole tree."""
        missing, worth = self.judged(self.sums(part, np.arange(len(self.X))).sum(axis=0))
        return self.broken(part), float(missing), self.price * _n_leaves(part) - float(worth)

    def descend(self, part: Part, prices: Iterable[float]) -> tuple[Value, Part]:
        """Change nodes as long as that makes the tree better, at one price after the other."""
        value = self.value(part)
        for price in (*prices, None):
            self.exchange = None if price is None else price * self.problem.total_weight
            value, is_changed = self.value(part), True
            while is_changed and not self.patience():
                is_changed = False
                for path in list(_nodes(part)):
                    if path not in set(_nodes(part)):  # gone with a change above it
                        continue
                    new, changed = self._best(part, path, value)
                    if _better(new, value):
                        part, value, is_changed = changed, new, True
        return value, part

    def shaken(self, part: Part, rng: np.random.Generator) -> Part:
        """Draw the test of a node anew, or that of a new node."""
        path = list(_nodes(part))[rng.integers(len(list(_nodes(part))))]
        if len(path) == self.problem.depth:
            path = path[:-1]
        here, columns = _at(part, path), self._columns(path)
        if not len(columns) or not self.problem.depth:
            return part
        j = int(rng.choice(columns))
        values = np.unique(rng.choice(self.X[:, j], 2)).astype(float).tolist()
        labels = rng.integers(self.problem.n_classes, size=2).tolist()
        sides = here[1:] or [(label,) for label in labels]
        if len(values) < 2:
            return part
        return _with(part, path, (Split.on_feature(j, midpoint(*values)), *sides))

    def _columns(self, path: tuple[int, ...]) -> np.ndarray:
        """Columns that a node may test as far as it alone matters."""
        allowed = ~self.problem.forbidden_columns
        return np.flatnonzero(allowed if path or self.root is None else allowed & self.root)

    def _best(self, part: Part, path: tuple[int, ...], value: Value) -> tuple[Value, Part]:
        """Find the best change of a node."""
        rows = np.arange(len(self.X))
        for k, side in enumerate(path):
            rows = rows[_at(part, path[:k])[0].goes_right(self.X, rows) == (side == 2)]
        elsewhere = np.ones(len(self.X), bool)
        elsewhere[rows] = False
        outside = self.sums(part, np.flatnonzero(elsewhere)).sum(axis=0)
        here = _at(part, path)
        fixed = self.price * (_n_leaves(part) - _n_leaves(here))
        leaves: list[Part] = [(label,) for label in range(self.problem.n_classes)]
        kept = [[p] if len(p) == 3 else [] for p in (here[1:] or [here, here])]
        options = [*leaves, *kept[0], *kept[1]]
        found: list[tuple[float, float, Part]] = []
        for whole in options:
            missing, worth = self.judged(outside + self.sums(whole, rows).sum(axis=0))
            cost = fixed + self.price * _n_leaves(whole) - float(worth)
            found.append((float(missing), cost, whole))
        if len(path) < self.problem.depth and len(rows):
            left, right = ([*leaves, *k] for k in kept)
            found += self._splits(rows, path, outside, fixed, options, left, right)
        best = value, part
        for missing, cost, new in sorted(found, key=lambda f: f[:2])[:MOST_TRIED]:
            is_worse = best[0][0] == 0 and not _better((0, missing, cost), best[0])
            if is_worse or self.patience():  # what follows misses more, or costs more
                break
            changed = _with(part, path, new)
            this = self.broken(changed), missing, cost
            if _better(this, best[0]):
                best = this, changed
        return best

    def _splits(
        self,
        rows: np.ndarray,
        path: tuple[int, ...],
        outside: np.ndarray,
        fixed: float,
        options: list[Part],
        left: list[Part],
        right: list[Part],
    ) -> Iterator[tuple[float, float, Part]]:
        """Yield the best threshold of every column for every pair of sides."""
        adds = np.stack([self.sums(option, rows) for option in options], axis=1)
        whole = adds.sum(axis=0)
        number = {id(option): o for o, option in enumerate(options)}
        is_asked = not path and self.root is not None  # for a split, whatever its sides are
        for column, values, sums in self._thresholds(rows, adds, self._columns(path)):
            if self.patience():
                return
            for a in left:
                for b in right:
                    if a == b and not is_asked:
                        continue
                    one, other = number[id(a)], number[id(b)]
                    rest = whole[other] - sums[:, other]
                    is_large = sums[:, one, 1] >= self.smallest * _n_leaves(a)
                    is_large &= rest[:, 1] >= self.smallest * _n_leaves(b)
                    if not is_large.any():
                        continue
                    missing, worth = self.judged(outside + sums[:, one] + rest)
                    missing = np.where(is_large, missing, np.inf)
                    t = int(np.where(missing <= missing.min(), worth, -np.inf).argmax())
                    cost = fixed + self.price * (_n_leaves(a) + _n_leaves(b)) - worth[t]
                    split = Split.on_feature(column, midpoint(*values[:, t].tolist()))
                    yield float(missing[t]), float(cost), (split, a, b)

    def _thresholds(
        self, rows: np.ndarray, adds: np.ndarray, columns: np.ndarray
    ) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """Yield a column, values on both sides of thresholds, and sums of what is on the left."""
        if self.X.dtype == np.uint8:  # 0 and 1: one threshold each, and one product for all
            left = (1.0 - self.X[np.ix_(rows, columns)]).T @ adds.reshape(len(rows), -1)
            for k, j in enumerate(columns):
                yield int(j), np.array([[0.0], [1.0]]), left[k].reshape(1, *adds.shape[1:])
            return
        place = np.full(len(self.X), -1)
        place[rows] = np.arange(len(rows))
        for j in columns:
            order = place[self.order(j)]
            order = order[order >= 0]
            values = self.X[rows[order], j]
            ends = np.flatnonzero(values[1:] > values[:-1])
            if len(ends):
                sums = np.cumsum(adds[order], axis=0)[ends]
                yield int(j), np.stack([values[ends], values[ends + 1]]), sums
