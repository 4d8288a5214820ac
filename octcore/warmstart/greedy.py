"""Greedy trees as warm starts: CART with Gini impurity and cost-complexity pruning.

Works on binary and on numeric columns and respects the side constraints that a greedy choice can
see (features, smallest leaf); the others are met by pruning, since the pruning sequence ends in a
single leaf.
"""

import heapq
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from octcore.program import Problem
from octcore.tree import metrics, topology
from octcore.tree.tree import Split, Tree, grown, midpoint

Stop = Callable[[], bool]
BLOCK_CELLS = 2**21
"""Cells converted at a time: what is converted takes some megabytes, however many columns."""


@dataclass(frozen=True, eq=False)
class GreedyRules:
    """What a greedy split must respect."""

    allowed: np.ndarray  # boolean by encoded column, shape ``(n_features,)``
    root: np.ndarray | None  # the same for the root alone
    groups: np.ndarray  # raw feature of every encoded column
    once_per_path: bool  # whether a raw feature is tested once at most on every path
    min_samples_leaf: int  # smallest number of rows on each side
    rivals: dict[int, set[int]]  # raw features that may not occur together with a raw feature
    max_features: int | None  # largest number of distinct raw features
    binary: np.ndarray  # boolean by encoded column: known to hold 0 and 1 alone

    @classmethod
    def of(cls, problem: Problem) -> "GreedyRules":
        """Read the rules from the side constraints of a problem."""
        wanted, context = problem.constraints, problem.context
        rivals: dict[int, set[int]] = {}
        for first, second in wanted.forbidden_pairs:
            a, b = context.raw_index(first), context.raw_index(second)
            rivals.setdefault(a, set()).add(b)
            rivals.setdefault(b, set()).add(a)
        is_binary = problem.X.dtype == np.uint8 and problem.X.max(initial=0) <= 1
        binary = np.full(problem.n_features, is_binary)
        binary[[j for own in problem.categorical for j in own]] = True
        return cls(
            allowed=~problem.forbidden_columns,
            root=problem.root_columns,
            groups=problem.groups,
            once_per_path=wanted.feature_once_per_path,
            min_samples_leaf=max(1, wanted.min_samples_leaf or 1),
            rivals=rivals,
            max_features=wanted.max_features,
            binary=binary,
        )

    def columns(self, node: int, splits: dict[int, Split]) -> np.ndarray:
        """Encoded columns that may be tested at a node of a growing tree."""
        mask = self.allowed.copy()
        if node == 1 and self.root is not None:
            mask &= self.root
        used = set[int]()
        if self.rivals or self.max_features is not None:
            used = {int(self.groups[j]) for split in splits.values() for j in split.features}
        for raw in used:
            mask &= ~np.isin(self.groups, list(self.rivals.get(raw, ())))
        if self.max_features is not None and len(used) >= self.max_features:
            mask &= np.isin(self.groups, list(used))
        if self.once_per_path:
            above = [
                int(self.groups[j]) for m in topology.ancestors(node) for j in splits[m].features
            ]
            mask &= ~np.isin(self.groups, above)
        return np.flatnonzero(mask)


def grow(problem: Problem, stop: Stop = lambda: False) -> Tree:
    """Grow a tree top-down to the depth of the problem, Gini impurity, first column on ties.

    `stop`: once it is true, what is open becomes leaves.
    """
    rules = GreedyRules.of(problem)
    X, y, weights = problem.X, problem.y, problem.weights
    splits, labels = dict[int, Split](), dict[int, int]()
    queue = [(1, np.arange(problem.n_samples), 0)]
    while queue:
        node, rows, inherited = queue.pop(0)
        counts = np.bincount(y[rows], weights[rows], problem.n_classes)
        label = int(np.argmax(counts)) if len(rows) else inherited
        split = None
        forced = node == 1 and rules.root is not None
        is_open = np.count_nonzero(counts) > 1 and not stop()
        if topology.node_depth(node) < problem.depth and (is_open or forced):
            columns = rules.columns(node, splits)
            held = rows[problem.counts[rows] > 0]  # a row once, see `octcore.data.tasks`
            split = best_split(problem, held, columns, rules, stop)
        if split is None:
            labels[node] = label
            continue
        splits[node] = split
        right = split.goes_right(X, rows)
        queue += [(2 * node, rows[~right], label), (2 * node + 1, rows[right], label)]
    return Tree(splits, labels, problem.n_features, problem.n_classes)


def best_split(
    problem: Problem, rows: np.ndarray, columns: np.ndarray, rules: GreedyRules, stop: Stop
) -> Split | None:
    """Find the split with the least weighted Gini impurity; None if no column separates rows.

    `stop`: asked at every column, as many rows take long; then the best so far is taken.
    """
    one_hot = np.zeros((len(rows), problem.n_classes))
    one_hot[np.arange(len(rows)), problem.y[rows]] = problem.weights[rows]
    best: tuple[float, Split] | None = None
    for j, purity, threshold in _candidates(problem.X, rows, one_hot, columns, rules):
        if best is not None and stop():
            break
        # More than rounding: of equal columns the first one is taken.
        if best is None or purity > best[0] + 1e-12 * max(1.0, abs(best[0])):
            best = (purity, Split.on_feature(j, threshold))
    return None if best is None else best[1]


def _candidates(
    X: np.ndarray, rows: np.ndarray, one_hot: np.ndarray, columns: np.ndarray, rules: GreedyRules
) -> Iterator[tuple[int, float, float]]:
    """Yield column, purity and threshold of the best split of every column that has one."""
    total, smallest = one_hot.sum(axis=0), rules.min_samples_leaf
    right, size = np.zeros((X.shape[1], len(total))), np.zeros(X.shape[1], dtype=np.int64)
    step = max(1, BLOCK_CELLS // max(1, X.shape[1]))
    # All columns of 0 and 1 at once, by matrix products of some rows at a time.
    for begin in range(0, len(rows), step) if rules.binary[columns].any() else ():
        cells = X[rows[begin : begin + step]]
        right += cells.T.astype(np.float64) @ one_hot[begin : begin + step]
        size += np.count_nonzero(cells, axis=0)
    purities = purity_of(right) + purity_of(total - right)
    for j in columns.tolist():
        if rules.binary[j]:
            if min(size[j], len(rows) - size[j]) >= smallest:
                yield j, float(purities[j]), 0.5
            continue
        values = X[rows, j].astype(np.float64)
        order = np.argsort(values, kind="stable")
        values = values[order]
        ends = np.flatnonzero(values[1:] > values[:-1])
        ends = ends[(ends + 1 >= smallest) & (len(values) - ends - 1 >= smallest)]
        if not len(ends):
            continue
        left = np.cumsum(one_hot[order], axis=0)[ends]
        purity = purity_of(left) + purity_of(total - left)
        place = int(np.argmax(purity))
        yield j, float(purity[place]), midpoint(*values[ends[place] + [0, 1]].tolist())


def purity_of(counts: np.ndarray) -> np.ndarray:
    """``sum_k c_k^2 / c`` of each row: weight minus weighted Gini impurity."""
    size = counts.sum(axis=1)
    return np.divide((counts**2).sum(axis=1), size, out=np.zeros_like(size), where=size > 0)


def weakest_links(tree: Tree, problem: Problem) -> Iterator[tuple[float, int]]:
    """Branch nodes in the order in which pruning makes leaves of them, the weakest link first.

    Yields the price per leaf (weight of correct rows) from which the node is the better leaf, and
    the node; prices rise, and the last node is the root.
    """
    y, weights = problem.y, problem.weights
    counts = {
        node: np.bincount(y[rows], weights[rows], problem.n_classes)
        for node, rows in tree.node_rows(problem.X).items()
    }
    kept = {leaf: float(counts[leaf].max()) for leaf in tree.labels}
    leaves = dict.fromkeys(tree.labels, 1)

    def link(node: int) -> tuple[float, int, int]:
        left, right = topology.children(node)
        kept[node], leaves[node] = kept[left] + kept[right], leaves[left] + leaves[right]
        return (kept[node] - float(counts[node].max())) / (leaves[node] - 1), -node, leaves[node]

    links = [link(node) for node in sorted(tree.splits, reverse=True)]  # children first
    heapq.heapify(links)
    price = 0.0
    while links:
        gain, negative, size = heapq.heappop(links)
        node, above = -negative, topology.ancestors(-negative)
        # Links of what lost leaves since, or is below a leaf now, are out of date.
        if leaves[node] != size or any(leaves[m] == 1 for m in above):
            continue
        kept[node], leaves[node] = float(counts[node].max()), 1
        for m in reversed(above):
            heapq.heappush(links, link(m))
        price = max(price, gain)
        yield price, node


def pruning_sequence(tree: Tree, problem: Problem) -> Iterator[tuple[float, Tree]]:
    """Prune the weakest link again and again.

    Yields the price per leaf (weight of correct rows) at which the tree becomes the better one, and
    the tree; the first price is 0, the last tree is a single leaf.
    """
    yield 0.0, _with_majorities(tree, problem)
    for price, node in weakest_links(tree, problem):
        tree = tree.collapse(node, 0)
        yield price, _with_majorities(tree, problem)


def _with_majorities(tree: Tree, problem: Problem) -> Tree:
    return tree.with_labels(metrics.majority_labels(tree, problem.X, problem.y, problem.weights))


def prune(tree: Tree, problem: Problem, penalty: float) -> Tree:
    """Cost-complexity pruning: collapse the weakest link while its gain is at most `penalty`.

    `penalty`: price of a leaf in weight of correct rows (count scale); ties prune.
    """
    most = penalty + 1e-9
    links = itertools.takewhile(lambda link: link[0] <= most, weakest_links(tree, problem))
    leaves = {node for _, node in links}

    def part(node: int) -> int | tuple[Split, int, int]:
        if node in leaves or node in tree.labels:
            return 0
        return tree.splits[node], *topology.children(node)

    pruned = Tree(*grown(1, part), problem.n_features, problem.n_classes)
    return _with_majorities(pruned, problem)


def greedy_starts(
    problem: Problem, penalty: float, stop: Stop = lambda: False
) -> Iterator[tuple[str, Tree]]:
    """Yield warm starts: the best single leaf, the pruned greedy tree, its pruning sequence.

    Not every tree keeps every side constraint; the caller evaluates them.
    """
    majority = int(np.argmax(np.bincount(problem.y, problem.weights, problem.n_classes)))
    for label in sorted(range(problem.n_classes), key=lambda k: k != majority):
        yield "warm start", Tree.leaf(label, problem.n_features, problem.n_classes)
        if not (problem.constraints.min_recall or problem.constraints.fairness):
            break
    if not problem.n_features or not problem.depth:
        return
    tree = grow(problem, stop)
    yield "warm start", prune(tree, problem, penalty)
    if problem.constraints.active:
        for _, candidate in pruning_sequence(tree, problem):
            yield "warm start", candidate
