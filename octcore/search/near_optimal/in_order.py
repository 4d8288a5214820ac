"""Any side constraint, by order: trees are looked at from the cheapest on, until one keeps it.

What near-optimal sets list are the ways to part the rows, every leaf with the heaviest class of its
rows.  A constraint may ask for other classes, or for another column that parts all rows alike, so
every way stands for all trees that part the rows in it: none of them costs less than it does.  The
least cost of an accepted tree is therefore the optimum as soon as no way that costs less is left.
An accepted tree may cost more than it is listed at, where what the constraint asks for has a price.
"""

import heapq
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from octcore.search.near_optimal.instance import Instance
from octcore.search.near_optimal.tree_set import Conditions, Phase, TreeQuery, find_trees
from octcore.search.univariate.tree import Branch, Leaf, PathTree, heap
from octcore.tree.tree import Split, Tree, midpoints

FIRST_TOLERANCE = Fraction(1, 200)
"""In accuracy; doubled again and again, so that the last set costs most."""
MOST_VARIANTS = 20_000  # trees that one way to part the rows may stand for


@dataclass(frozen=True)
class Stage:
    """What is known at a moment."""

    lower: Fraction  # no accepted tree costs less, in units of `Instance`
    tree: Tree | None = None  # a new best accepted tree
    is_complete: bool = False  # whether the best tree so far is optimal, or none is accepted at all


class TooManyVariantsError(Exception):
    """A way to part the rows stands for more trees than can be looked at."""


def first_accepted(
    instance: Instance,
    known: Fraction,
    surplus: Callable[[Tree], Fraction | None],
    by_labels: bool,
    by_columns: bool,
    guard: Callable[[int], None],
    report: Phase,
    best: Fraction | float = math.inf,
) -> Iterator[Stage]:
    """Find the cheapest tree that is accepted.

    `instance`: what trees may be; its tolerance is doubled until the optimum is within it.
    `known`: cost of a tree near the optimum without the constraint.
    `surplus`: what a tree costs more than it is listed at, None if it is not accepted.
    `by_labels`, `by_columns`: whether the constraint looks at predictions, and at which columns are
        tested.
    `guard`, `report`: as for `find_trees`.
    `best`: cost of an accepted tree; only cheaper ones are looked for.
    The last stage is complete.  Raises `TooManyVariantsError`.
    """
    seen, variants = Fraction(-1), _Variants(instance, by_labels, by_columns)
    while True:
        graph = find_trees(instance, guard, report, known)
        query = TreeQuery(graph, Conditions(instance.tolerance))
        for cell in sorted(query.cells, key=lambda cell: instance.cost(*cell)):
            cost = instance.cost(*cell)
            if cost <= seen:  # within the tolerance before
                continue
            if cost >= best:  # and accepted trees cost no less than listed
                break
            yield Stage(cost)
            for nested in query.trees(*cell):
                for tree, extra in variants.of(nested, best - cost):
                    guard(0)
                    more = surplus(tree)
                    if more is not None and cost + extra + more < best:
                        best = cost + extra + more
                        yield Stage(cost, tree)
                    if best <= cost + extra:
                        break
                if best == cost:  # all ways that cost less were looked at
                    yield Stage(cost, is_complete=True)
                    return
        seen = graph.optimum + instance.tolerance  # every way up to here was looked at
        if best > seen:
            yield Stage(seen)
        # No tree costs more than all rows and leaves.
        most = instance.total + instance.penalty * 2**instance.question.depth
        if best <= seen or seen >= most:
            yield Stage(best if isinstance(best, Fraction) else seen, is_complete=True)
            return
        instance = instance.within(2 * instance.tolerance)


class _Variants:
    """The trees that a way to part the rows stands for, the cheapest first."""

    def __init__(self, instance: Instance, by_labels: bool, by_columns: bool) -> None:
        self.instance, self.by_labels, self.by_columns = instance, by_labels, by_columns
        self.X, self.met = np.asarray(instance.question.X), set[bytes]()
        known = instance.thresholds
        own = zip(known.column.tolist(), known.value.tolist(), strict=True)
        # Columns and values that part the rows as every threshold does, see `_same_thresholds`.
        self.same = _same_thresholds(instance) if by_columns else [[(*it, False)] for it in own]

    def of(self, nested: PathTree, room: Fraction | float) -> Iterator[tuple[Tree, int]]:
        """Trees and what they cost more, less than `room`."""
        plain = self._trees(nested)
        if not self.by_labels:
            yield from ((tree, 0) for tree in plain)
            return
        leaf = plain[0].apply(self.X)
        if not self.by_columns:  # trees that part the rows alike are as good as each other
            order = np.zeros(leaf.max() + 1, np.int32)
            first = np.sort(np.unique(leaf, return_index=True)[1])
            order[leaf[first]] = np.arange(len(first))
            parts = order[leaf].tobytes()
            if parts in self.met:
                return
            self.met.add(parts)
        for extra, labels in self._labels(plain[0], leaf):
            if extra >= room:
                return
            for tree in plain:
                places = sorted(tree.labels)
                if tree is not plain[0]:
                    there = tree.apply(self.X)
                    places = [int(there[np.argmax(leaf == at)]) for at in sorted(plain[0].labels)]
                by_leaf = dict(zip(places, labels, strict=True))
                yield Tree(tree.splits, by_leaf, tree.n_features, tree.n_classes), extra

    def _trees(self, nested: PathTree) -> list[Tree]:
        ways = list(itertools.islice(self._ways(nested), MOST_VARIANTS + 1))
        if len(ways) > MOST_VARIANTS:
            raise TooManyVariantsError
        width, n_classes = self.X.shape[1], self.instance.question.n_classes
        return [heap(way, width, n_classes, self._test) for way in ways]

    def _test(self, number: int) -> Split:
        threshold, place = divmod(number, self.X.shape[1])
        return Split.on_feature(*self.same[threshold][place][:2])

    def _ways(self, here: PathTree) -> Iterator[PathTree]:
        """The same record on every column, by the number of `_test`; that of the root varies last.

        No column parts the rows twice as a threshold does.
        """
        if isinstance(here, Leaf):
            yield here
            return
        for place, (*_, is_mirrored) in enumerate(self.same[here.feature]):
            test = here.feature * self.X.shape[1] + place
            for left in self._ways(here.left):
                for right in self._ways(here.right):
                    yield Branch(test, *((right, left) if is_mirrored else (left, right)))

    def _labels(self, tree: Tree, leaf: np.ndarray) -> Iterator[tuple[int, tuple[int, ...]]]:
        """Classes of the leaves, and what they cost more, in the order of that cost."""
        question = self.instance.question
        weights = np.asarray(question.weights).astype(np.int64)
        size = (int(leaf.max()) + 1, question.n_classes)
        held = np.bincount(leaf * size[1] + question.y, weights, size[0] * size[1]).reshape(size)
        held = held[sorted(tree.labels)].astype(np.int64)
        missing = held.max(axis=1, keepdims=True) - held
        order = [np.argsort(row, kind="stable") for row in missing]
        first = (0,) * len(order)
        waiting: list[tuple[int, tuple[int, ...]]] = [(0, first)]
        met: set[tuple[int, ...]] = {first}
        for _ in range(MOST_VARIANTS):
            if not waiting:
                return
            extra, places = heapq.heappop(waiting)
            yield extra, tuple(int(o[p]) for o, p in zip(order, places, strict=True))
            for k, place in enumerate(places):
                if place + 1 < question.n_classes:
                    more = missing[k][order[k][place + 1]] - missing[k][order[k][place]]
                    further = (*places[:k], place + 1, *places[k + 1 :])
                    if further not in met:
                        met.add(further)
                        heapq.heappush(waiting, (extra + int(more), further))
        raise TooManyVariantsError


def _same_thresholds(instance: Instance) -> list[list[tuple[int, float, bool]]]:
    """All columns and values that part the rows as a threshold does, or the other way round."""
    table, known, X = instance.table, instance.thresholds, np.asarray(instance.question.X, float)
    same: list[list[tuple[int, float, bool]]] = [[] for _ in known.column]
    for j in np.flatnonzero(table.twin >= 0).tolist():
        h, middle = int(table.twin[j]), midpoints(np.unique(X[:, j]))
        numbers = known.alike[h, : len(middle)]
        if X[X[:, table.original[h]].argmin(), j] > X[:, j].min():  # a column turned round
            numbers = numbers[::-1]
        for k, value in zip(numbers.tolist(), middle.tolist(), strict=True):
            is_left = X[0, known.column[k]] <= known.value[k]
            same[k].append((j, value, bool((X[0, j] <= value) != is_left)))
    return same
