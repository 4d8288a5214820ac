"""The optimum of a univariate claim: no tree costs less than it says, or the one that does."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from octcore.verification.base import Guard, NotProvenError, Proven
from octcore.verification.claim import SHARE_TOLERANCE, Array, Claim
from octcore.verification.least import ROUNDING, Task, by_column, expected_seconds, least_cost
from octcore.verification.sheet import Sheet, make_sheet, needed_bytes
from octcore.verification.value import TOLERANCE, Value, value_of_gains

CUTS, COUPLED = "all cuts by bounds from their neighbours", "all vectors of sums over leaves"
MOST_PAIRS = 12
"""Forbidden pairs; each may double the number of sets of features."""
SMALLEST_OCT_GAP = 1e-4
"""Values of a column that lie closer may count as equal in the model of OCT."""
LIMITS_OF_BIN_OCT = frozenset({"class_weight", "forbidden_features"})
"""Other limits count the idle splits of its full trees."""
SUM_SECONDS = 4e-8
"""Measured: one entry of one sum of two vectors, with its share of the sorting."""
SUMS_AT_ONCE = 200_000
COPIES = 4
"""Of the vectors at once, while they are sorted."""


def derived(claim: Claim, guard: Guard) -> Proven:
    """Prove the bound of a univariate claim, or derive the optimum that is better."""
    if claim.formulation == "bin-oct" and set(claim.limits) - LIMITS_OF_BIN_OCT:
        raise NotProvenError("bin-oct counts idle splits in its side constraints")
    for j in claim.columns if claim.formulation == "oct" else ():
        guard()
        if np.diff(np.unique(claim.X[:, j]).astype(float)).min(initial=np.inf) < SMALLEST_OCT_GAP:
            raise NotProvenError("values lie closer than the model of OCT tells apart")
    value = value_of_gains(claim)
    cutoff = np.inf
    if claim.bound is not None:
        cutoff = (claim.bound - value.constant) / value.per_error
    is_coupled = bool(claim.recalls or claim.parities or claim.limits.get("monotone"))
    task, sheet = _task(claim, value, claim.columns, guard)
    found, method = 0.0, CUTS
    if cutoff < np.inf or not is_coupled:
        found, method = _uncoupled(claim, value, task, sheet, cutoff)
    if claim.limits.get("monotone") and found < cutoff:
        raise NotProvenError("trees that go one way along a column only are not searched again")
    if is_coupled and found < cutoff:  # more than the trees that are allowed cost less
        found, method = _coupled(claim, value, guard)
    if np.isinf(found):
        return Proven(None, method)
    by_root = partial(_root_optima, claim, value, task, sheet)
    if found >= cutoff:
        return Proven(claim.bound, method, by_root=by_root)
    return Proven(float(value.of(found, 0)), method, is_optimum=True, by_root=by_root)


def _uncoupled(
    claim: Claim, value: Value, task: Task, sheet: Sheet, cutoff: float
) -> tuple[float, str]:
    """Least cost, or the cutoff, and how it was found; the task is that on all columns."""
    n_sets, first = next(_feature_sets(claim))
    if n_sets == 1 and len(_columns(claim, first)) == len(claim.columns):
        return _least_on(claim, task, sheet, cutoff), CUTS
    # Where features are limited: first as if they were not.
    if cutoff < np.inf and _least_on(claim, task, sheet, cutoff) >= cutoff:
        return cutoff, CUTS
    task.guard.expects(n_sets * task.guard.elapsed)
    for _, chosen in _feature_sets(claim):
        own = _task(claim, value, _columns(claim, chosen), task.guard)
        cutoff = _least_on(claim, *own, cutoff)
    return cutoff, f"{CUTS} for each of {n_sets:,} sets of features"


def _least_on(claim: Claim, task: Task, sheet: Sheet, cutoff: float) -> float:
    """Least cost of the trees on some columns, or the cutoff."""
    root = claim.limits.get("root_feature")
    if root is None:
        return least_cost(task, sheet, claim.depth, claim.leaf_limit, cutoff)
    roots = np.flatnonzero(claim.group == claim.raw_indices([root])[0])
    return float(_by_root(claim, task, sheet, cutoff, roots))


def _by_root(
    claim: Claim, task: Task, sheet: Sheet, cutoff: float | Array, roots: Array | None
) -> Array:
    depth = min(claim.depth, claim.leaf_limit - 1)
    if depth < 1:
        return np.array(cutoff)
    return by_column(task, sheet, depth, min(claim.leaf_limit, 2**depth), cutoff, roots)


def _root_optima(claim: Claim, value: Value, task: Task, sheet: Sheet, said: Array) -> Array:
    """`Proven.by_root`, with what the task knows already."""
    task.guard.expects(task.guard.elapsed + expected_seconds(sheet, claim.depth))
    cutoff = (said - value.constant) / value.per_error
    cutoff += 4 * TOLERANCE * (claim.span + value.price + np.abs(said / value.per_error))
    found = _by_root(claim, task, sheet, np.where(np.isfinite(cutoff), cutoff, 0.0), None)
    rows = sheet.cuts.rows
    enough = (rows >= task.least) & (sheet.counts.sum() - rows >= task.least)
    there = np.isin(np.arange(len(said)), sheet.cuts.column[enough]) & (claim.leaf_limit > 1)
    return np.where(there, value.of(found, 0), np.nan)


def _task(claim: Claim, value: Value, columns: Array, guard: Guard) -> tuple[Task, Sheet]:
    guard.needs(needed_bytes(claim.X, columns, claim.costs.shape[1], guard))
    sheet, _ = make_sheet(claim.X, claim.gains, columns, claim.group, guard)
    guard.expects(expected_seconds(sheet, claim.depth))
    tolerance = ROUNDING * (claim.span + value.price)
    once = claim.limits.get("feature_once_per_path")
    group = claim.group if once else None
    return Task(value.price, claim.least_rows, tolerance, guard, group), sheet


def _coupled(claim: Claim, value: Value, guard: Guard) -> tuple[float, str]:
    """Least cost where limits look at the predictions of all leaves together."""
    n_sets, _ = next(_feature_sets(claim))
    best, method = np.inf, COUPLED
    if n_sets > 1:
        method += f" for each of {n_sets:,} sets of features"
    for number, (_, chosen) in enumerate(_feature_sets(claim)):
        guard()
        sums = make_sums(claim, _columns(claim, chosen), guard, n_sets - number)
        best = min(best, coupled_optimum(sums, claim, value.price, guard))
    return best, method


def _feature_sets(claim: Claim) -> Iterator[tuple[int, Array]]:
    """Yield the number of sets and one largest set of raw features that a tree may use together."""
    limits = claim.limits
    free = sorted({int(g) for g in claim.group[claim.columns]})
    most = limits.get("max_features")
    pairs = [tuple(claim.raw_indices(pair)) for pair in limits.get("forbidden_pairs") or ()]
    pairs = [pair for pair in pairs if set(pair) <= set(free)]
    if len(pairs) > MOST_PAIRS:
        raise NotProvenError("too many pairs of features are forbidden")
    left_out = {frozenset(choice) for choice in itertools.product(*pairs)}
    remaining = [[raw for raw in free if raw not in out] for out in left_out]
    sizes = [len(raws) if most is None else min(int(most), len(raws)) for raws in remaining]
    count = sum(math.comb(len(raws), size) for raws, size in zip(remaining, sizes, strict=True))
    for raws in itertools.chain.from_iterable(map(itertools.combinations, remaining, sizes)):
        yield count, np.array(list(raws), dtype=int)


def _columns(claim: Claim, raws: Array) -> Array:
    return claim.columns[np.isin(claim.group[claim.columns], raws)]


@dataclass(frozen=True, eq=False)
class Sums:
    """What limits that couple leaves look at, for every merged row, and the tests that part them.

    A floor on a recall and a parity limit look at the predictions of all leaves together, at sums
    over leaves: correct rows of a class, positive predictions in a group.  So a tree is a vector
    (errors, leaves, sums ...), and the vectors of the trees on some rows are those of a leaf and
    all sums of a vector from the right and one from the left side of a test.  Vectors that differ
    in their errors only are one.  This is small at depth two and seldom beyond.
    """

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
    task = _Coupled(sums, claim.least_rows, bool(claim.limits.get("feature_once_per_path")), guard)
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
class _Coupled:
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
