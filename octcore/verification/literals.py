"""Least errors of trees of depth four at most, by tables over all pairs of literals.

A *literal* is one side of one test: ``x > v`` or ``x <= v`` for a value v of a column (a column of
0 and 1 has two of them).  The rows that satisfy two literals are the rows of a node at depth two,
and whatever the order of the two tests, they are the same rows.  So a tree of depth four is four
such nodes, each with its best tree of depth two, and the best of all is found by two nested minima
over a table with one entry for every pair of literals.  Nothing is bounded and nothing is skipped,
except that a node stays a leaf where a leaf errs less than one more leaf would cost.

Every result is a vector of the least weight of misclassified rows with at most 1, 2, 3, ... leaves,
so that a limit on leaves is a choice of an entry.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from octcore.verification.value import equal_rows

Array = np.ndarray
BLOCK_ENTRIES, BLOCK_PRODUCTS = 1_000_000, 2e9
"""Entries of a table of pairs that are held at once, and multiplications that make them; wider
tables are made in blocks of columns, between which a stop is heard."""
BITS_AT_ONCE = 5_000_000
BYTES_PER_ENTRY = 80
"""Of such a block, measured, with what is computed on the way."""
MANY_TESTS = 500
"""Beyond it an estimate goes by the mean size of a literal."""
MANY_ENTRIES = 5_000_000
"""Rows times tests beyond which an estimate goes by halves of the rows."""
MOST_LITERALS = 6_000
"""Beyond it the table over pairs of literals alone takes gigabytes."""
EXACT_IN_SINGLE = 2**24
"""Whole numbers up to here are exact in single precision."""

CALL_SECONDS = 1.3e-4
ENTRY_SECONDS = 4.5e-9
PRODUCT_SECONDS = 4.5e-11
GATHER_SECONDS = 1.5e-9
SCAN_SECONDS = 8e-9
BIT_SECONDS = 2e-8
"""Measured for `_depth_two`: per call, per entry and class of its table, per multiplication, per
bit of its rows, and per row that is looked at to find them; and to write a bit."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Training rows as bits, identical ones merged."""

    bits: Array
    """Whether row i satisfies ``x > v`` of test j, shape ``(n_distinct, n_tests)``."""
    costs: Array
    """Cost of every answer to the merged rows, shape ``(n_distinct, n_answers)``."""
    counts: Array
    """Number of the merged rows, whatever their weight, shape ``(n_distinct,)``."""
    column: Array
    """Encoded column of every test, shape ``(n_tests,)``."""
    merged: Array
    """Merged row of every training row, shape ``(n_samples,)``."""

    @property
    def n_tests(self) -> int:
        """Number of tests; there are twice as many literals."""
        return self.bits.shape[1]


def count_tests(X: Array, columns: Array, guard: Callable[[], None]) -> int:
    """Number of tests on some columns: one for every value, the largest apart."""
    found = 0
    for j in columns:
        guard()
        found += len(np.unique(X[:, j])) - 1
    return found


def needed_bytes(n_rows: int, n_tests: int, depth: int, costs: Array) -> float:
    """Bytes that the tables of a task take at once, from counts alone."""
    entries = float(n_rows) * n_tests
    # The rows and a part of them; where an estimate counts them, every literal beside them.
    copies = (2 if depth > 2 else 1) + (4 if entries <= MANY_ENTRIES and depth > 2 else 0)
    pairs = (2.0 * n_tests) ** 2 * 4 * 8 if depth >= 4 else 0.0
    held = entries * copies * np.dtype(_precision(costs)).itemsize
    return held + pairs + BYTES_PER_ENTRY * BLOCK_ENTRIES


def _precision(costs: Array) -> type:
    """Single where every sum of costs and of rows is exact in it."""
    whole = bool((costs == np.round(costs)).all()) and costs.sum() < EXACT_IN_SINGLE
    return np.float32 if whole and len(costs) < EXACT_IN_SINGLE else np.float64


def fewest_seconds(n_rows: int, n_distinct: int, n_tests: int, n_classes: int) -> float:
    """Seconds that writing the rows and one table of pairs take, from counts alone."""
    table = _call_seconds(n_distinct, n_tests, n_classes, n_distinct)
    return BIT_SECONDS * n_rows * n_tests + float(table)


def make_rows(X: Array, costs: Array, columns: Array, guard: Callable[[], None]) -> Rows:
    """Write rows as bits: one test per column and value, the largest value apart.

    Parameters
    ----------
    X, costs : numpy.ndarray
        Rows ``(n_samples, n_features)`` and what every answer to them costs,
        ``(n_samples, n_answers)``.
    """
    # Rows have the same bits where they have the same values.
    same = equal_rows(X[:, columns], guard)
    _, first, merged = np.unique(same, return_index=True, return_inverse=True)
    of_answer = np.zeros((len(first), costs.shape[1]))
    np.add.at(of_answer, merged, costs)
    kind = _precision(costs)
    values = [np.unique(X[:, j])[:-1] for j in columns]
    column = np.repeat(columns, [len(own) for own in values]).astype(int)
    ends = np.cumsum([0, *(len(own) for own in values)])
    bits = np.empty((len(first), len(column)), kind)
    step = max(1, BITS_AT_ONCE // max(1, len(column)))
    for start in range(0, len(first), step):
        guard()
        part = slice(start, start + step)
        for number, (j, own) in enumerate(zip(columns, values, strict=True)):
            bits[part, ends[number] : ends[number + 1]] = X[first[part], j][:, None] > own
    counts = np.bincount(merged, minlength=len(first)).astype(kind)
    return Rows(bits, of_answer.astype(kind), counts, column, merged)


@dataclass(frozen=True, eq=False)
class Task:
    """What is asked of the trees."""

    rows: Rows
    depth: int
    price: float
    """Price of a leaf, in weight of misclassified rows."""
    least: int
    """Smallest number of rows in a leaf, at least 1."""
    group: Array
    """Raw feature of every test, shape ``(n_tests,)``."""
    once: bool = False
    """Whether a raw feature may be tested once at most on a path."""
    roots: Array | None = None
    """Tests that the root must choose from; None if it may be anything, also a leaf."""


def least_errors(task: Task, guard: Callable[[], None]) -> Array:
    """Least errors with at most 1, 2, ... leaves; infinite where no tree is.

    Parameters
    ----------
    guard : callable
        Called often; raises to end the computation.

    Returns
    -------
    numpy.ndarray
        Shape ``(2 ** depth,)``.  Only entries that count in the least of errors + price x leaves
        need be exact.
    """
    whole, allowed = np.arange(len(task.rows.counts)), np.arange(task.rows.n_tests)
    if task.roots is None:
        return _best(task, whole, task.depth, allowed, guard)
    return by_root(task, guard)[task.roots].min(axis=0, initial=np.inf)


def by_root(task: Task, guard: Callable[[], None]) -> Array:
    """`least_errors` with each test at the root, shape ``(n_tests, 2 ** depth)``.

    Infinite for tests that may not stand there.
    """
    whole, allowed = np.arange(len(task.rows.counts)), np.arange(task.rows.n_tests)
    roots = allowed if task.roots is None else task.roots
    found = np.full((len(allowed), 2**task.depth), np.inf)
    if task.depth > 0 and len(roots):
        found[roots] = _splits(task, whole, task.depth, allowed, roots, guard)
    return found


def errors_of_leaf(task: Task) -> float:
    """Errors of the tree without a split; infinite where it may not be."""
    return _leaf(task, np.arange(len(task.rows.counts)))


def _best(task: Task, rows: Array, depth: int, allowed: Array, guard: Callable[[], None]) -> Array:
    """Best tree on some rows with tests from `allowed`."""
    guard()
    leaf = _leaf(task, rows)
    if leaf <= task.price or depth == 0 or not len(allowed):
        return np.full(2**depth, leaf)
    return np.minimum(_splits(task, rows, depth, allowed, allowed, guard).min(axis=0), leaf)


def _splits(
    task: Task,
    rows: Array,
    depth: int,
    allowed: Array,
    roots: Array,
    guard: Callable[[], None],
) -> Array:
    """Best trees with each of `roots` above and others of `allowed` below."""
    if depth <= 2:
        return _depth_two(task, rows, allowed, roots, guard)[:, : 2**depth]
    if depth == 4:
        return _depth_four(task, rows, allowed, roots, guard)
    found = np.empty((len(roots), 2**depth))
    for number, f in enumerate(roots):
        inside = task.rows.bits[rows, f] > 0
        below = _below(task, allowed, f)
        sides = [_best(task, rows[side], depth - 1, below, guard) for side in (inside, ~inside)]
        found[number] = _joined(sides[0], sides[1])
    return found


def _depth_four(
    task: Task, rows: Array, allowed: Array, roots: Array, guard: Callable[[], None]
) -> Array:
    """Best trees of depth four: a table over pairs of literals, then two nested minima."""
    inside = task.rows.bits[rows][:, allowed].T > 0
    literals = np.stack([inside, ~inside], axis=1).reshape(2 * len(allowed), len(rows))
    pairs = np.full((len(literals), len(literals), 4), np.inf)
    three = np.full((len(literals), 8), np.inf)
    known = np.zeros(len(pairs), dtype=bool)
    at = np.flatnonzero(np.isin(allowed, roots))
    for i in np.stack([2 * at, 2 * at + 1], axis=1).ravel():
        three[i] = _leaf(task, rows[literals[i]])
        if three[i, 0] <= task.price:
            continue
        below = _below(task, allowed, allowed[i // 2])
        for j in np.flatnonzero(np.isin(allowed, below[below != allowed[i // 2]])):
            for s in (2 * j, 2 * j + 1):
                if not known[s]:
                    there = rows[literals[i] & literals[s]]
                    columns = _below(task, below, allowed[j])
                    pairs[i, s] = pairs[s, i] = _best(task, there, 2, columns, guard)
        known[i] = True
        split = _joined(pairs[i, 0::2], pairs[i, 1::2]).min(axis=0, initial=np.inf)
        three[i] = np.minimum(three[i], split)
    return _joined(three[2 * at], three[2 * at + 1])


def _below(task: Task, allowed: Array, f: int) -> Array:
    """Tests that may follow test f on a path."""
    return allowed[task.group[allowed] != task.group[f]] if task.once else allowed


def _leaf(task: Task, rows: Array) -> float:
    """Errors of a leaf on some rows; infinite where it would be too small."""
    if task.rows.counts[rows].sum() < task.least:
        return np.inf
    return float(_wrong(task.rows.costs[rows].sum(axis=0)))


def _wrong(by_answer: Array) -> Array:
    """Cost of the best answer; answers come first."""
    if len(by_answer) == 2:
        return np.minimum(by_answer[0], by_answer[1])
    return by_answer.min(axis=0)


def _joined(right: Array, left: Array) -> Array:
    """Least sums for at most k leaves on both sides together; leaves come last."""
    n_right, n_left = right.shape[-1], left.shape[-1]
    best = np.full((*right.shape[:-1], n_right + n_left), np.inf)
    for a in range(n_right):
        stop = a + 1 + n_left
        np.minimum(
            best[..., a + 1 : stop], right[..., a : a + 1] + left, out=best[..., a + 1 : stop]
        )
    return np.minimum.accumulate(best, axis=-1)


def _depth_two(
    task: Task, rows: Array, allowed: Array, roots: Array, guard: Callable[[], None]
) -> Array:
    """Best trees of depth two: from the class weights of every pair of tests."""
    counts = task.rows.counts[rows]
    size = counts.sum()
    if size < 2 * task.least:
        return np.full((len(roots), 4), np.inf)
    X = task.rows.bits if len(rows) == len(task.rows.bits) else task.rows.bits[rows]
    if len(allowed) < X.shape[1]:
        X = X[:, allowed]
    W = task.rows.costs[rows]
    total, ones, sizes = W.sum(axis=0), W.T @ X, counts @ X
    right, left = _wrong(ones).astype(float), _wrong(total[:, None] - ones).astype(float)
    right[sizes < task.least] = np.inf
    left[size - sizes < task.least] = np.inf
    at = np.arange(len(allowed)) if roots is allowed else np.flatnonzero(np.isin(allowed, roots))
    stumps = np.stack([right, left])[:, at]
    entries = min(BLOCK_ENTRIES, int(BLOCK_PRODUCTS / len(rows)))
    step = max(1, entries // (len(allowed) * len(total)))
    for start in range(0, len(at), step):
        guard()
        block = at[start : start + step]
        here = X[:, block]
        both = np.stack([(here * w[:, None]).T @ X for w in W.T])
        only = ones[:, None, :] - both
        errors = np.stack(
            [
                _wrong(both) + _wrong(ones[:, block, None] - both),
                _wrong(only) + _wrong((total[:, None] - ones[:, block])[:, :, None] - only),
            ]
        )
        if task.least > 1:
            held = (here * counts[:, None]).T @ X
            errors[0][(held < task.least) | (sizes[block, None] - held < task.least)] = np.inf
            held = sizes - held
            whole = size - sizes[block, None]
            errors[1][(held < task.least) | (whole - held < task.least)] = np.inf
        if task.once:
            group = task.group[allowed]
            errors[:, group[block][:, None] == group] = np.inf
        there = slice(start, start + step)
        stumps[:, there] = np.minimum(stumps[:, there], errors.min(axis=2))
    leaves = np.stack([right, left])[:, at]
    # A side that is empty or too small can neither be a leaf nor be split.
    sides = np.stack([leaves, np.where(np.isinf(leaves), np.inf, stumps)], axis=2)
    return _joined(sides[0], sides[1])


def estimated_seconds(task: Task) -> float:
    """Seconds that `least_errors` needs, from sizes alone; an upper bound beyond depth four."""
    rows, n_tests = task.rows, task.rows.n_tests
    shape = len(rows.counts), n_tests, rows.costs.shape[1]
    if task.depth <= 2 or not n_tests:
        return float(_call_seconds(*shape, len(rows.counts)))
    if 2 * n_tests > MOST_LITERALS and task.depth > 3:
        return np.inf
    roots = np.arange(n_tests) if task.roots is None else task.roots
    if rows.bits.size > MANY_ENTRIES:  # counting would take as long; every row is on one side
        calls = len(roots) * (2.0 * n_tests) ** (task.depth - 3)
        return float(2 * calls * _call_seconds(*shape, len(rows.counts) / 2))
    right = rows.bits.T
    literals = np.stack([right, 1 - right], axis=1).reshape(2 * n_tests, -1)
    first = literals[np.stack([2 * roots, 2 * roots + 1], axis=1).ravel()]
    if task.depth == 3:
        errors = _wrong(np.stack([first @ w for w in rows.costs.T]))
        return float(_call_seconds(*shape, first.sum(axis=1)[errors > task.price]).sum())
    if n_tests > MANY_TESTS:
        mean = float(literals.mean()) ** 2 * len(rows.counts)
        seconds = len(first) * len(literals) * float(_call_seconds(*shape, mean))
    else:
        errors = _wrong(np.stack([(first * w) @ literals.T for w in rows.costs.T]))
        seconds = float(_call_seconds(*shape, (first @ literals.T)[errors > task.price]).sum())
    pairs = seconds / 2 if task.roots is None else seconds  # every pair is in the table twice
    return float(pairs * (2.0 * n_tests) ** (task.depth - 4))


def _call_seconds(n_all: int, n_tests: int, n_classes: int, n_rows: Array | float) -> Array:
    """Seconds of `_depth_two` on so many of all rows."""
    number = np.asarray(n_rows, dtype=float)
    entries = n_tests * n_tests * n_classes
    return (
        CALL_SECONDS
        + SCAN_SECONDS * n_all
        + GATHER_SECONDS * n_tests * number
        + entries * (ENTRY_SECONDS + PRODUCT_SECONDS * number)
    )
