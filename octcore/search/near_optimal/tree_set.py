"""The search for all near-optimal trees, and the questions its graph answers."""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from random import Random

import numpy as np

from octcore.numerics import kernels
from octcore.search.near_optimal.counting import Counted, TreeGraph, build_levels
from octcore.search.near_optimal.ground import Ground
from octcore.search.near_optimal.instance import BORDER, Instance
from octcore.search.near_optimal.listing import ROOT, Listing, Sizes, pick, used_exactly
from octcore.search.univariate.tree import PathTree

LANES = "octcore.search.near_optimal.warm_up:lanes"  # the set of compiled kernels
BITS = "octcore.search.near_optimal.warm_up:bits"
"""What comes with it where columns have few thresholds."""
Phase = Callable[[str, int], None]
"""``report(phase, done)``: what the search is at, and how many subsets it scored."""


def find_trees(
    instance: Instance,
    guard: Callable[[int], None],
    report: Phase,
    known_cost: Fraction | None,
    stop: Callable[[], bool] = lambda: False,
) -> TreeGraph:
    """Find every tree within the instance's tolerance of the optimum.

    `guard`: ``guard(done)`` is called often and raises when the search must stop.
    `report`: receives the phase and the number of subsets scored.
    `known_cost`: cost of a tree that keeps the limits, near the optimum; None where an instance
        `finds_optimum`.
    `stop`: asked while kernels are compiled, the first time on a machine.
    """
    kernels.require(LANES, *([BITS] if instance.by_bits else []), stop=stop)
    ground = Ground(instance, guard, known_cost)
    report("subsets", 0)
    levels = build_levels(ground)
    report("counting", ground.scored)
    graph = TreeGraph(ground, levels)
    ground.forget()
    return graph


@dataclass(frozen=True)
class Conditions:
    """Which of the trees of a graph are asked for."""

    margin: Fraction  # largest cost beyond the optimum
    max_leaves: int | None = None
    required: tuple[int, ...] = ()  # features that every tree tests
    banned: tuple[int, ...] = ()  # features that none tests
    gain: bool = False  # whether every split lowers the errors


class TreeQuery:
    """The trees of a graph that meet some conditions; `groups`: feature of every threshold."""

    def __init__(
        self, graph: TreeGraph, asked: Conditions, groups: np.ndarray | None = None
    ) -> None:
        self.graph, self.instance, self.asked = graph, graph.instance, asked
        limit = graph.instance.question.leaf_limit
        self.max_leaves = limit if asked.max_leaves is None else min(limit, asked.max_leaves)
        self.groups = np.zeros(len(graph.instance.roots), np.int64) if groups is None else groups
        self.everything = (1 << len(asked.required)) - 1
        """Kind of the trees: they test all required features."""

    @cached_property
    def counted(self) -> Counted:
        """Counts by which of the required features a tree does without."""
        if not (self.asked.required or self.asked.banned or self.asked.gain):
            return self.graph.everything
        return self.graph.count(self._variants(), self.asked.gain)

    @cached_property
    def listing(self) -> Listing:
        """Walks over the trees."""
        bits = np.zeros(len(self.groups), np.int64)
        for k, feature in enumerate(self.asked.required):
            bits[self.groups == feature] = 1 << k
        return Listing(self.graph, self.counted, bits)

    @cached_property
    def cells(self) -> Sizes:
        """Number of trees by errors and leaves."""
        return {cell: n for cell, n in sorted(self._asked_cells().items()) if self.admits(*cell)}

    @property
    def count(self) -> int:
        """Number of trees."""
        return sum(self.cells.values())

    @property
    def near_border(self) -> tuple[int, int]:
        """Numbers of trees next to the border, within and beyond, but not exactly on it."""
        counts = [0, 0]
        for cell, n in self._asked_cells().items():
            beyond = self.instance.cost(*cell) - self.graph.optimum - self.asked.margin
            if 0 < abs(beyond) <= BORDER * self.instance.total:
                counts[beyond > 0] += n
        return counts[0], counts[1]

    def roots(self) -> dict[int, int]:
        """Number of trees by column of the table at the root; -1 is the single leaf."""
        found = Counter[int]()
        for spot, vector in self._at_root(self.counted):
            found[spot - 1] += used_exactly(vector)[-1]
        return found

    def features(self, features: list[int]) -> dict[int, int]:
        """Number of trees that test a feature anywhere."""
        base = self._variants()
        avoiding = [base & (self.groups != f)[:, None] for f in features]
        counted = self.graph.count(np.concatenate([base, *avoiding], axis=1), self.asked.gain)
        width = base.shape[1]
        totals = [0] * (len(features) + 1)
        for _, vector in self._at_root(counted):
            for k in range(len(totals)):
                totals[k] += used_exactly(vector[k * width : (k + 1) * width])[-1]
        return {f: totals[0] - totals[k + 1] for k, f in enumerate(features)}

    def in_order(self) -> Iterator[PathTree]:
        """Trees by cost, then leaves, then structure."""
        for cell in sorted(self.cells, key=lambda cell: (self.instance.cost(*cell), cell[1])):
            yield from self.trees(*cell)

    def trees(self, errors: int, leaves: int) -> Iterator[PathTree]:
        """Trees with some errors and leaves, by structure."""
        return self.listing.trees((errors, leaves, self.everything))

    def draw(self, source: Random) -> PathTree:
        """Draw a tree, all equally likely."""
        cell = pick(list(self.cells), list(self.cells.values()), source)
        return self.listing.draw((*cell, self.everything), source)

    def class_shares(self) -> np.ndarray:
        """Share of the trees by row of the instance and predicted class, (n_rows, n_classes)."""
        base, graph = self._variants(), self.graph
        total = np.zeros((len(self.instance.question.y), self.instance.question.n_classes))
        for v in range(base.shape[1]):
            counted = self.counted
            if base.shape[1] > 1:
                counted = graph.count(base[:, v : v + 1], self.asked.gain)
            total += (-1 if v.bit_count() % 2 else 1) * graph.class_shares(counted, self.admits)
        return total / max(1, self.count)

    def _at_root(self, counted: Counted) -> Iterator[tuple[int, list[int]]]:
        """Trees that are in: where they stand among the cells at the root, counts by variant."""
        cells = counted.cells[0]
        spots = np.repeat(np.arange(len(cells.start) - 1), np.diff(cells.start)).tolist()
        errors = self.graph.ground.values[cells.errors].tolist()
        columns = spots, errors, cells.leaves.tolist(), cells.counts.tolist()
        for spot, e, leaves, vector in zip(*columns, strict=True):
            if self.admits(e, leaves):
                yield spot, [int(n) for n in vector]

    def _asked_cells(self) -> Sizes:
        """Trees that meet the conditions, whatever the margin."""
        found = self.listing.sizes(ROOT, self.everything)
        return {cell: n for cell, n in found.items() if cell[1] <= self.max_leaves}

    def _variants(self) -> np.ndarray:
        allowed, required = ~np.isin(self.groups, self.asked.banned), self.asked.required
        variants = []
        for without in range(1 << len(required)):
            left_out = [f for k, f in enumerate(required) if without >> k & 1]
            variants.append(allowed & ~np.isin(self.groups, left_out))
        return np.column_stack(variants)

    def admits(self, errors: int, leaves: int) -> bool:
        """Whether trees with so many errors and leaves are in."""
        most = self.graph.optimum + self.asked.margin
        return leaves <= self.max_leaves and self.instance.cost(errors, leaves) <= most
