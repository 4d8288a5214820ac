"""The search for all near-optimal trees, and the questions its graph answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from random import Random

import numpy as np

from octcore import kernels
from octcore.search.near_optimal.counting import Counted, Counter
from octcore.search.near_optimal.disagreement import class_shares
from octcore.search.near_optimal.graph import build_levels
from octcore.search.near_optimal.ground import Ground
from octcore.search.near_optimal.instance import BORDER, Instance
from octcore.search.near_optimal.listing import Cell, Listing, pick, used_exactly
from octcore.search.univariate.tree import PathTree
from octcore.search.univariate.warm_up import bit_sets

LANES = "octcore.search.near_optimal.warm_up:lanes"
"""The set of compiled kernels; where columns have few thresholds, one for pairs comes with it."""
Phase = Callable[[str, int], None]
"""``report(phase, done)``: what the search is at, and how many subsets it scored."""


@dataclass(frozen=True, eq=False)
class TreeGraph:
    """All near-optimal trees, as a graph of row subsets.

    Parameters
    ----------
    instance : Instance
        The rows.
    counter : Counter
        The graph and what counts in it.
    optimum : Fraction
        Least cost of an allowed tree, in integer weight units.
    everything : Counted or None
        The counts where every column may be used; None before they are known.
    """

    instance: Instance
    counter: Counter
    optimum: Fraction
    everything: Counted | None = None


def find_trees(
    instance: Instance,
    guard: Callable[[int], None],
    report: Phase,
    known_cost: Fraction,
    stop: Callable[[], bool] = lambda: False,
) -> TreeGraph:
    """Find every tree within the instance's tolerance of the optimum.

    Parameters
    ----------
    instance : Instance
    guard : callable
        ``guard(done)`` is called often and raises when the search must stop.
    report : callable
        Receives the phase and the number of subsets scored.
    known_cost : Fraction
        Cost of a tree that keeps the limits, near the optimum.
    stop : callable
        Asked while kernels are compiled, the first time on a machine.
    """
    table = instance.table
    total = table.total + int(table.count.sum())
    kernels.require(LANES, *(bit_sets(total, 2) if instance.by_pairs else ()), stop=stop)
    return find_trees_compiled(instance, guard, report, known_cost)


def find_trees_compiled(
    instance: Instance, guard: Callable[[int], None], report: Phase, known_cost: Fraction
) -> TreeGraph:
    """Find the trees as `find_trees` does, without a look at whether kernels are compiled."""
    ground, budget = Ground(instance, guard), instance.budget(known_cost)
    report("subsets", 0)
    ground.set_budget(budget)
    levels = build_levels(ground, budget)
    report("counting", ground.scored)
    counter = Counter(ground, levels)
    every = TreeQuery(TreeGraph(instance, counter, Fraction(0)), margin=None)
    optimum = min(instance.cost(errors, leaves) for errors, leaves, _ in every.cells)
    ground.forget()
    return TreeGraph(instance, counter, optimum, every.counted)


class TreeQuery:
    """A narrower set of the same kind: counts, trees in order, draws, shares.

    Parameters
    ----------
    graph : TreeGraph
    margin : Fraction or None
        Largest cost beyond the optimum; None for all trees in the graph.
    max_leaves : int or None
    groups : ndarray of shape (n_thresholds,)
        Feature of every threshold.
    required, banned : tuple of int
        Features that every tree tests; features that none tests.
    gain : bool
        Whether every split lowers the errors.
    """

    def __init__(
        self,
        graph: TreeGraph,
        margin: Fraction | None,
        max_leaves: int | None = None,
        groups: np.ndarray | None = None,
        required: tuple[int, ...] = (),
        banned: tuple[int, ...] = (),
        gain: bool = False,
    ) -> None:
        self.graph = graph
        self.instance = graph.instance
        self.margin = margin
        limit = graph.instance.max_leaves
        self.max_leaves = limit if max_leaves is None else min(limit, max_leaves)
        n = graph.instance.n_thresholds
        self.groups = np.zeros(n, np.int64) if groups is None else groups
        self.required = required
        self.banned = banned
        self.gain = gain

    @cached_property
    def counted(self) -> Counted:
        """Counts by which of the required features a tree does without."""
        conditions = self.required or self.banned or self.gain
        if self.graph.everything is not None and not conditions:
            return self.graph.everything
        return self.graph.counter.count(self._variants(), self.gain)

    @cached_property
    def listing(self) -> Listing:
        """Walks over the trees."""
        bits = np.zeros(len(self.groups), np.int64)
        for k, feature in enumerate(self.required):
            bits[self.groups == feature] = 1 << k
        return Listing(self.graph.counter, self.counted, bits)

    @cached_property
    def cells(self) -> dict[Cell, int]:
        """Number of trees by errors, leaves and required features tested (all of them)."""
        asked = self._asked_cells().items()
        return {cell: n for cell, n in sorted(asked) if self.admits(cell[0], cell[1])}

    @property
    def count(self) -> int:
        """Number of trees."""
        return sum(self.cells.values())

    @property
    def near_border(self) -> tuple[int, int]:
        """Numbers of trees next to the border, within and beyond, but not exactly on it."""
        assert self.margin is not None
        counts = [0, 0]
        for (errors, leaves, _), n in self._asked_cells().items():
            beyond = self.instance.cost(errors, leaves) - self.graph.optimum - self.margin
            if 0 < abs(beyond) <= BORDER * self.instance.total:
                counts[beyond > 0] += n
        return counts[0], counts[1]

    def roots(self) -> dict[int, int]:
        """Number of trees by column of the table at the root; -1 is the single leaf."""
        return {
            column: n
            for column, by_cell in self.counted.roots.items()
            if (n := sum(self._used(vector) for cell, vector in by_cell.items()
                         if self.admits(*cell)))
        }  # fmt: skip

    def features(self, features: list[int]) -> dict[int, int]:
        """Number of trees that test a feature anywhere."""
        base = self._variants()
        avoiding = [base & (self.groups != f)[:, None] for f in features]
        counted = self.graph.counter.count(np.concatenate([base, *avoiding], axis=1), self.gain)
        width = base.shape[1]
        totals = [0] * (len(features) + 1)
        for by_cell in counted.roots.values():
            for cell, vector in by_cell.items():
                if self.admits(*cell):
                    for k in range(len(totals)):
                        totals[k] += self._used(vector[k * width : (k + 1) * width])
        return {f: totals[0] - totals[k + 1] for k, f in enumerate(features)}

    def in_order(self) -> Iterator[tuple[Cell, PathTree]]:
        """Trees by cost, then leaves, then structure."""
        for cell in sorted(self.cells, key=lambda c: (self.instance.cost(c[0], c[1]), c[1])):
            for tree in self.listing.trees(cell):
                yield cell, tree

    def draw(self, source: Random) -> PathTree:
        """Draw a tree, all equally likely."""
        cell = pick(list(self.cells), list(self.cells.values()), source)
        return self.listing.draw(cell, source)

    def class_shares(self) -> np.ndarray:
        """Share of the trees by row and predicted class, shape ``(n_rows, n_classes)``.

        Every row of the instance has one line, in the order of the rows.
        """
        base, counter = self._variants(), self.graph.counter
        total = np.zeros((len(self.instance.question.y), self.instance.question.n_classes))
        for v in range(base.shape[1]):
            counted = (
                self.counted if base.shape[1] == 1 else counter.count(base[:, v : v + 1], self.gain)
            )
            sign = -1 if v.bit_count() % 2 else 1
            total += sign * class_shares(counter, counted, self.admits)
        return total / max(1, self.count)

    def _asked_cells(self) -> dict[Cell, int]:
        """Cells of the trees that meet the conditions, whatever the margin."""
        everything = (1 << len(self.required)) - 1
        return {
            cell: n
            for cell, n in self.listing.root_cells().items()
            if cell[2] == everything and cell[1] <= self.max_leaves
        }

    def _variants(self) -> np.ndarray:
        allowed = ~np.isin(self.groups, self.banned)
        variants = []
        for without in range(1 << len(self.required)):
            left_out = [f for k, f in enumerate(self.required) if without >> k & 1]
            variants.append(allowed & ~np.isin(self.groups, left_out))
        return np.column_stack(variants)

    def _used(self, vector: list[int]) -> int:
        return used_exactly(vector)[-1]

    def admits(self, errors: int, leaves: int) -> bool:
        """Whether trees with so many errors and leaves are in."""
        if leaves > self.max_leaves:
            return False
        if self.margin is None:
            return True
        return self.instance.cost(errors, leaves) <= self.graph.optimum + self.margin
