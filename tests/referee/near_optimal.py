"""All near-optimal trees: every tree is written down, and nothing is pruned.

Two trees differ if they differ as trees.  A split leaves rows on both sides; of columns that part
all rows alike, or the other way round, one stands for all.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np

Shape = tuple[Any, ...]
"""``(-1,)`` for a leaf, else column, shape on the left (zeros) and on the right: shapes ascend in
the canonical order."""
LEAF: Shape = (-1,)


class Written(NamedTuple):
    """A tree; its classes are bits, ``row * n_classes + class``."""

    errors: Fraction
    leaves: int
    shape: Shape
    classes: int


@dataclass(frozen=True, eq=False)
class Question:
    """Rows of zeros and ones, and which trees are asked for; all numbers are exact."""

    X: np.ndarray
    y: np.ndarray
    depth: int
    price: Fraction
    tolerance: Fraction
    class_weight: tuple[Fraction, ...]
    smallest_leaf: int = 1
    most_leaves: int | None = None
    forbidden: frozenset[int] = frozenset()
    roots: frozenset[int] | None = None
    """`forbidden`, `roots`: columns that no split may test, and that the root must test."""

    @cached_property
    def total(self) -> Fraction:
        """Weight of all rows."""
        return sum((self.class_weight[label] for label in self.y), Fraction(0))

    def cost(self, tree: Written) -> Fraction:
        """Share of the weight that is misclassified, and the price of the leaves."""
        return tree.errors / self.total + self.price * tree.leaves

    @cached_property
    def columns(self) -> dict[int, int]:
        """Column that stands for each that parts the rows: of a root feature, else the first."""
        found: dict[int, int] = {}
        able = [f for f in range(self.X.shape[1]) if f not in self.forbidden]
        for f in sorted(able, key=lambda f: (f not in (self.roots or ()), f)):
            if len(set(self.X[:, f])) == 1:
                continue
            differs = (self.X[:, list(found)] != self.X[:, [f]]).mean(axis=0)
            alike = (g for g, share in zip(found, differs, strict=True) if share in (0.0, 1.0))
            found[f] = next(alike, f)
        return found

    def sides(self) -> dict[int, int]:
        """Rows with a one, as bits, of the columns that stand for others and themselves."""
        return {
            f: sum(1 << int(i) for i in np.flatnonzero(self.X[:, f]))
            for f in sorted(set(self.columns.values()))
        }

    def count_trees(self) -> int:
        """Number of trees without limits on leaves and root: how long the list would be."""
        ones = self.sides()

        @cache
        def count(rows: int, depth: int) -> int:
            if rows.bit_count() < max(1, self.smallest_leaf):
                return 0
            below = (
                count(rows & ~one, depth - 1) * count(rows & one, depth - 1)
                for one in (ones.values() if depth else ())
            )
            return 1 + sum(below)

        return count((1 << len(self.y)) - 1, self.depth)

    def every_tree(self) -> list[Written]:
        """Write down all trees that keep the limits, in no order."""
        ones, n_classes = self.sides(), len(self.class_weight)
        members = [sum(1 << int(i) for i in np.flatnonzero(self.y == k)) for k in range(n_classes)]

        @cache
        def below(rows: int, depth: int) -> list[Written]:
            if rows.bit_count() < max(1, self.smallest_leaf):
                return []
            weights = [
                (rows & member).bit_count() * weight
                for member, weight in zip(members, self.class_weight, strict=True)
            ]
            label = weights.index(max(weights))
            classes = sum(1 << i * n_classes + label for i in range(len(self.y)) if rows >> i & 1)
            found = [Written(sum(weights, Fraction(0)) - max(weights), 1, LEAF, classes)]
            for f, one in ones.items() if depth else ():
                lefts = below(rows & ~one, depth - 1)
                rights = below(rows & one, depth - 1)
                found += [
                    Written(a.errors + b.errors, a.leaves + b.leaves, (f, a.shape, b.shape),
                            a.classes | b.classes)
                    for a in lefts
                    for b in rights
                ]  # fmt: skip
            return found

        roots = None if self.roots is None else {self.columns.get(f) for f in self.roots}
        return [
            tree
            for tree in below((1 << len(self.y)) - 1, self.depth)
            if (roots is None or tree.shape[0] in roots - {None})
            and (self.most_leaves is None or tree.leaves <= self.most_leaves)
        ]


@dataclass(frozen=True, eq=False)
class NearOptimal:
    """The trees of a question, best first, and how many lie next to the border."""

    question: Question
    optimum: Fraction
    """Least cost."""
    trees: list[Written]
    near_border: tuple[int, int]
    """Trees within 1e-9 of the border inside and outside, but not exactly on it."""


def near_optimal(question: Question) -> NearOptimal | None:
    """All trees within the tolerance of the best one; None if there is no tree."""
    every = question.every_tree()
    if not every:
        return None
    return within(question, every, min(map(question.cost, every)), question.tolerance)


def within(
    question: Question, trees: list[Written], optimum: Fraction, tolerance: Fraction
) -> NearOptimal:
    """Those of some trees within a tolerance of an optimum, in canonical order."""
    kept: list[tuple[Fraction, int, Shape, Written]] = []
    near = [0, 0]
    for tree in trees:
        cost = question.cost(tree)
        beyond = cost - optimum - tolerance
        if beyond <= 0:
            kept.append((cost, tree.leaves, tree.shape, tree))
        if 0 < abs(beyond) <= Fraction(1, 10**9):
            near[beyond > 0] += 1
    return NearOptimal(question, optimum, [entry[-1] for entry in sorted(kept)], (near[0], near[1]))


def tested(shape: Shape) -> frozenset[int]:
    """Columns that a tree tests."""
    return frozenset().union({shape[0]}, *map(tested, shape[1:])) - {-1}


def lowers_errors(question: Question, shape: Shape) -> bool:
    """Whether every split of a tree lowers the errors of a leaf in its place."""

    def errors(shape: Shape, rows: np.ndarray) -> tuple[Fraction, bool]:
        weights = [sum((question.y[rows] == k) * w) for k, w in enumerate(question.class_weight)]
        leaf = sum(weights, Fraction(0)) - max(weights)
        if shape == LEAF:
            return leaf, True
        right = question.X[rows, shape[0]] > 0
        sides = errors(shape[1], rows[~right]), errors(shape[2], rows[right])
        total = sides[0][0] + sides[1][0]
        return total, total < leaf and sides[0][1] and sides[1][1]

    return errors(shape, np.arange(len(question.y)))[1]


def class_shares(trees: list[Written], n_rows: int, n_classes: int) -> np.ndarray:
    """Share of some trees that give a row a class, shape ``(n_rows, n_classes)``."""
    total = np.zeros(n_rows * n_classes)
    width = -(-len(total) // 8)
    for tree in trees:
        bits = np.frombuffer(tree.classes.to_bytes(width, "little"), np.uint8)
        total += np.unpackbits(bits, bitorder="little")[: len(total)]
    return total.reshape(n_rows, n_classes) / max(1, len(trees))


def read_number(number: float, rows: float) -> Fraction:
    """Nearest fraction of 10,000ths of a row within 1e-12, else the double itself."""
    near = Fraction(number).limit_denominator(int(10_000 * rows))
    is_meant = abs(near - Fraction(number)) <= Fraction(number) / 10**12
    return near if is_meant else Fraction(number)


def read_weight(weight: float) -> Fraction:
    """Simplest fraction that rounds to a weight, else the double itself."""
    simple = Fraction(weight).limit_denominator(10**9)
    return simple if float(simple) == weight else Fraction(weight)
