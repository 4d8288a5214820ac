"""Optimum under limits that couple leaves, by listing everything that trees can reach.

A floor on a recall and a parity limit look at the predictions of all leaves together.  What they
look at are sums over leaves: correct rows of a class, positive predictions in a group.  So a tree
is a vector (errors, leaves, sums ...), and the vectors of the trees on some rows are those of a
leaf and all sums of a vector from the right and one from the left side of a test.  Vectors that
differ in their errors only are one.  This is small at depth two and seldom beyond.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from octcore.verification.base import Guard
from octcore.verification.claim import SHARE_TOLERANCE, Array, Claim
from octcore.verification.sheet import make_sheet

SUM_SECONDS = 4e-8
"""Measured: one entry of one sum of two vectors, with its share of the sorting."""
SUMS_AT_ONCE = 200_000
COPIES = 4
"""Of the vectors at once, while they are sorted."""


@dataclass(frozen=True, eq=False)
class Sums:
    """What the coupled limits look at, for every merged row, and the tests that part the rows."""

    right: Array
    """Whether rows go right of a test, shape ``(n_tests, n_distinct)``."""
    group: Array
    """Raw feature of every test, shape ``(n_tests,)``."""
    counts: Array
    """Training rows that were merged into one, shape ``(n_distinct,)``."""
    of_label: Array
    """What a row adds if it is predicted as class k: weight that is wrong, then the counted sums;
    shape ``(n_classes, n_distinct, 1 + n_sums)``."""
    floors: list[tuple[int, float]]
    """Sums (by position) and their least values."""
    gaps: list[tuple[int, float, int, float, float]]
    """Sum and size of one group, sum and size of the other, largest gap."""

    @property
    def width(self) -> int:
        """Length of a vector: errors, leaves, sums."""
        return self.of_label.shape[2] + 1

    def admit(self, vectors: Array) -> Array:
        """Which vectors of whole trees keep the limits."""
        kept = np.ones(len(vectors), dtype=bool)
        for position, least in self.floors:
            kept &= vectors[:, 2 + position] >= least
        for a, size_a, b, size_b, gap in self.gaps:
            shares = vectors[:, 2 + a] / size_a - vectors[:, 2 + b] / size_b
            kept &= np.abs(shares) <= gap + SHARE_TOLERANCE
        return kept


def make_sums(claim: Claim, columns: Array, guard: Guard, times: int = 1) -> Sums:
    """Count what the limits of a claim look at on merged rows, for tests of some columns.

    `times`: how often an optimum like that will be derived; announced before rows are parted.
    """
    sheet, merged = make_sheet(claim.X, claim.gains, columns, claim.group, guard)
    n_distinct, n_tests = len(sheet.number), len(sheet.cuts)
    guard.needs(float(n_distinct) * n_tests)
    wrong = sheet.weights.sum(axis=1)[None] - sheet.weights.T
    blocks: list[Array] = [wrong]
    floors, gaps = [], []

    def add(counted: Array, label: int) -> int:
        block = np.zeros(wrong.shape)
        block[label] = np.bincount(merged, counted, n_distinct)
        blocks.append(block)
        return len(blocks) - 2

    for k, floor in claim.recalls:
        of_class = claim.y == k
        if of_class.any():
            least = (floor - SHARE_TOLERANCE) * of_class.sum()
            floors.append((add(of_class, k), float(least)))
    known: dict[bytes, int] = {}
    for a, b, gap in claim.parities:
        at = []
        guard()
        for group in (a, b):
            key = group.tobytes()
            if key not in known:
                guard.needs(8.0 * wrong.size * (len(known) + 1))
                known[key] = add(group, claim.positive_class)
            at += [known[key], float(group.sum())]
        gaps.append((int(at[0]), at[1], int(at[2]), at[3], gap))
    shape = n_tests, len(wrong), 1 + len(blocks)
    guard.expects(times * coupled_seconds(*shape, claim.depth))
    right = ~sheet.sides(np.arange(n_tests))
    group = claim.group[sheet.cuts.column]
    return Sums(right, group, sheet.counts, np.stack(blocks, axis=2), floors, gaps)


def coupled_seconds(n_tests: int, n_classes: int, width: int, depth: int) -> float:
    """Seconds of `coupled_optimum` at most: no two vectors are taken to be equal."""
    vectors, work = float(n_classes), 0.0
    for level in range(depth):
        nodes = (2.0 * n_tests) ** (depth - 1 - level)
        work += nodes * n_tests * vectors**2
        vectors = n_classes + n_tests * vectors**2
    return SUM_SECONDS * width * work


def coupled_optimum(sums: Sums, claim: Claim, price: float, guard: Guard) -> float:
    """Least errors + price x leaves of a tree that keeps the limits; infinite if there is none."""
    task = _Task(sums, claim.least_rows, bool(claim.limits.get("feature_once_per_path")), guard)
    whole, allowed = np.arange(len(sums.counts)), np.arange(len(sums.group))
    root, roots, best = claim.limits.get("root_feature"), None, np.inf
    if root is not None:
        roots = np.flatnonzero(sums.group == claim.raw_indices([root])[0])

    def take(vectors: Array) -> float:
        kept = vectors[sums.admit(vectors) & (vectors[:, 1] <= claim.leaf_limit)]
        return float((kept[:, 0] + price * kept[:, 1]).min(initial=best))

    if roots is None:
        best = take(task.leaves(whole))
    if claim.depth > 0:
        for right, left in task.sides(whole, allowed, roots, claim.depth):
            for vectors in _all_sums(right, left):
                guard()
                best = take(vectors)
    return best


@dataclass(frozen=True, eq=False)
class _Task:
    """Rules that hold for every subtree."""

    sums: Sums
    least: int
    once: bool
    guard: Guard

    def vectors(self, rows: Array, allowed: Array, depth: int) -> Array:
        """Vectors of all trees of some depth on some rows, the least errors of every kind."""
        self.guard()
        found = self.leaves(rows)
        if depth == 0 or self.sums.counts[rows].sum() < 2 * self.least:
            return found
        for right, left in self.sides(rows, allowed, None, depth):
            for vectors in _all_sums(right, left):
                self.guard()
                self.guard.needs(COPIES * (found.nbytes + vectors.nbytes))
                found = _least(np.concatenate([found, vectors]))
        return found

    def sides(
        self, rows: Array, allowed: Array, roots: Array | None, depth: int
    ) -> Iterator[tuple[Array, Array]]:
        """Yield the vectors of both sides of every test."""
        counts, group = self.sums.counts, self.sums.group
        for f in allowed if roots is None else roots:
            inside = self.sums.right[f, rows]
            below = allowed[group[allowed] != group[f]] if self.once else allowed
            parts = rows[inside], rows[~inside]
            if min(counts[part].sum() for part in parts) >= self.least:
                right, left = (self.vectors(part, below, depth - 1) for part in parts)
                yield right, left

    def leaves(self, rows: Array) -> Array:
        """One vector for every label of a leaf."""
        if self.sums.counts[rows].sum() < self.least:
            return np.empty((0, self.sums.width))
        by_label = self.sums.of_label[:, rows].sum(axis=1)
        return _least(np.insert(by_label, 1, 1.0, axis=1))


def _all_sums(right: Array, left: Array) -> Iterator[Array]:
    """Yield the sums of all pairs, a part at a time."""
    step = max(1, SUMS_AT_ONCE // max(1, len(left)))
    for start in range(0, len(right), step):
        part = right[start : start + step]
        yield (part[:, None] + left[None]).reshape(-1, right.shape[1])


def _least(vectors: Array) -> Array:
    """Keep the least errors of vectors that agree in all else."""
    order = np.lexsort(vectors.T)  # the last column sorts first, errors last
    ordered = vectors[order]
    first = np.ones(len(ordered), dtype=bool)
    first[1:] = (ordered[1:, 1:] != ordered[:-1, 1:]).any(axis=1)
    return ordered[first]
