"""Chains: rows along a line whose classes change more often than the leaves of a tree.

A line meets every leaf of a tree of planes in one interval.  So a tree with ``I`` leaves gives the
points of a line at most ``I`` runs of labels, and of ``L`` points in that order, neighbours of
different classes, it gets ``(L - I) / 2`` wrong at least (an error removes two changes of class at
most)::

    sum_j z_{i_j, k_j} <= L - ceil((L - I) / 2)

where ``z`` says that the rows of class ``k_j`` at point ``i_j`` are right.  Identical rows of two
classes are the case without a line.  Where every plane leaves a strip of width ``gap`` empty, for
weights of 1-norm 1, points within half of it of the line (in the max norm) are on the side of
their place on the line, so that they belong to the chain.

Many chains together bound the weight that any tree gets right, by a linear program over the ``z``;
its multipliers alone prove the bound (`most_correct`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from octcore.numerics import kernels
from octcore.numerics.kernels import inner, kernel
from octcore.numerics.linear import add_rows, linear_program, quiet_solver, solved, sparse_rows

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
SLACK = 2e-3  # relative: gaps are accepted that miss what was asked for by half of this
MOST_STEPS = 3e8
"""Pairs of ends x points that are looked at; of many points only some pairs are ends."""
MOST_POINTS = 10_000  # of more, the lines from one point take seconds, which nothing stops
MOST_MEMBERS = 50_000  # of all lines together
MOST_ERRORS = 10  # chains are not longer than what costs so many
ROUNDS, ROUND_CHAINS = 60, 500  # effort only: the multipliers prove the bound whenever it ends
VIOLATION = 1e-6  # above the tolerance of the linear program
CROWD = 3  # new chains of one round that may share a point


@dataclass(frozen=True)
class Chain:
    """Points along a line, with the classes that no tree gets right at all of them."""

    points: tuple[int, ...]
    classes: tuple[int, ...]
    """`points`, `classes`: in the order of the line, neighbours differ in their class."""
    multiplier: float = 0.0  # weight of the chain in the proof of a bound

    @property
    def members(self) -> list[tuple[int, int]]:
        """Pairs of point and class."""
        return list(zip(self.points, self.classes, strict=True))

    def most_right(self, leaves: int) -> int:
        """How many of its members a tree with so many leaves can get right."""
        return len(self.points) - (len(self.points) - leaves + 1) // 2


@dataclass(frozen=True, eq=False)
class ChainBound:
    """What chains say about all trees."""

    correct: float  # no tree gets a larger weight right
    chains: tuple[Chain, ...]  # those of positive multiplier, which prove it


def chain_bound(
    X: FloatArray,
    counts: FloatArray,
    leaves: int,
    gap: float,
    guard: Callable[[], None] = lambda: None,
) -> ChainBound:
    """Bound the weight that any tree of planes gets right, by chains of its rows.

    `X`: distinct points, columns in [0, 1], shape ``(n_points, n_features)``.
    `counts`: weight of class k at point i, shape ``(n_points, n_classes)``.
    `leaves`: largest number of leaves of a tree.
    `gap`: width of the empty strip at every plane, for weights of 1-norm 1; positive.
    """
    kernels.require(*ALL)
    X, counts = np.ascontiguousarray(X, float), np.ascontiguousarray(counts, float)
    members, starts = _lines(X, counts > 0, leaves + 1, gap / 2 * (1 - SLACK), guard)
    hits, column = np.argwhere(counts > 0), np.full(counts.shape, -1)
    column[tuple(hits.T)] = np.arange(len(hits))
    chains: dict[Chain, None] = {}
    program = _Program(counts, hits)
    for _ in range(ROUNDS):
        guard()
        right = np.where(column >= 0, program.right[column], 0.0)
        found = _most_violated(members, starts, right, counts > 0, leaves)
        new = [chain for chain in dict.fromkeys(_spread(found, len(X))) if chain not in chains]
        if not new:
            break
        chains.update(dict.fromkeys(new))
        program.add([column[list(c.points), list(c.classes)] for c in new],
                    [c.most_right(leaves) for c in new])  # fmt: skip
    priced = tuple(
        Chain(chain.points, chain.classes, float(price))
        for chain, price in zip(chains, program.prices, strict=True)
        if price > 0
    )
    return ChainBound(most_correct(counts, leaves, priced), priced)


def most_correct(counts: FloatArray, leaves: int, chains: tuple[Chain, ...]) -> float:
    """Weight that no tree exceeds, by the multipliers of some chains: weak duality."""
    worth = counts.astype(float).copy()
    bound = 0.0
    for chain in chains:
        worth[list(chain.points), list(chain.classes)] -= chain.multiplier
        bound += chain.multiplier * chain.most_right(leaves)
    return bound + float(np.maximum(worth.max(axis=1), 0.0).sum())


class _Program:
    """Which rows are right, as a linear program that chains are added to."""

    def __init__(self, counts: FloatArray, hits: IntArray) -> None:
        n, size = len(counts), len(hits)
        one = csr_matrix((np.ones(size), (hits[:, 0], np.arange(size))), (n, size))
        cost, ends = -counts[tuple(hits.T)], (np.full(n, -np.inf), np.ones(n))
        self._highs = quiet_solver(linear_program(cost, np.zeros(size), np.ones(size), one, *ends))
        self._points = n
        self._solve()

    def add(self, rows: list[IntArray], limits: list[int]) -> None:
        """Add chains, by their columns, and solve again."""
        matrix = sparse_rows(rows, self._highs.getNumCol())
        add_rows(self._highs, matrix, np.array(limits, float))
        self._solve()

    def _solve(self) -> None:
        solved(self._highs)
        solution = self._highs.getSolution()
        self.right = np.array(solution.col_value)
        self.prices = np.maximum(0.0, -np.array(solution.row_dual)[self._points :])


def _spread(found: tuple[IntArray, IntArray, IntArray, FloatArray], n_points: int) -> list[Chain]:
    """The most violated chains, few at each point."""
    points, classes, sizes, violation = found
    used, chosen = np.zeros(n_points, np.int64), []
    for k in np.argsort(-violation, kind="stable"):
        at = points[k, : sizes[k]]
        if used[at].max() < CROWD:
            used[at] += 1
            chosen.append(Chain(tuple(at.tolist()), tuple(classes[k, : sizes[k]].tolist())))
        if len(chosen) == ROUND_CHAINS:
            break
    return chosen


def _lines(
    X: FloatArray, present: NDArray[np.bool_], length: int, reach: float, guard: Callable[[], None]
) -> tuple[IntArray, IntArray]:
    """Points along the lines between two of them where chains of a length exist.

    Returns members line after line, and where the lines begin; the last entry is the end.
    """
    n = len(X)
    step = int(np.ceil(n / 2 * n * n / MOST_STEPS))
    members, ends = np.empty(MOST_MEMBERS, np.int64), np.zeros(MOST_MEMBERS, np.int64)
    lines = 0
    for first in range(0, n if n <= MOST_POINTS else 0, step):
        guard()
        lines = _lines_from(X, present, first, length, reach, members, ends, lines)
    return members[: ends[lines]], ends[: lines + 1]


@kernel()
def _lines_from(
    X: FloatArray,
    present: Any,
    first: int,
    length: int,
    reach: float,
    members: IntArray,
    ends: IntArray,
    lines: int,
) -> Any:
    """Add the lines from a point to all later ones while there is room; the number of lines."""
    n = len(X)
    here, place = np.empty(n, np.int64), np.empty(n)
    longest = np.empty(present.shape[1], np.int64)
    for last in range(first + 1, n):
        size = 0
        for i in range(n):
            at = _place(X, i, first, last, reach)
            if at >= 0.0:
                size += 1
                k = size - 1
                while k > 0 and place[k - 1] > at:
                    here[k], place[k] = here[k - 1], place[k - 1]
                    k -= 1
                here[k], place[k] = i, at
        if size < length or ends[lines] + size > len(members) or lines + 1 >= len(ends):
            continue
        longest[:], most = 0, 0
        for k in range(size):
            most = _lengthen(longest, present[here[k]])
        if most >= length:  # a shorter chain costs no error
            for k in range(size):
                members[ends[lines] + k] = here[k]
            ends[lines + 1] = ends[lines] + size
            lines += 1
    return lines


@inner()
def _place(X: Any, i: int, first: int, last: int, reach: float) -> float:
    """Where a point lies between two others, in [0, 1]; negative if it is too far from the line."""
    low, high = 0.0, 1.0
    for j in range(X.shape[1]):
        slope, offset = X[last, j] - X[first, j], X[i, j] - X[first, j]
        # So flat a column moves no point of the line by more than `SLACK` leaves.
        if abs(slope) < 1e-12:
            if abs(offset) > reach:
                return -1.0
            continue
        a, b = (offset - reach) / slope, (offset + reach) / slope
        low, high = max(low, min(a, b)), min(high, max(a, b))
        if low > high:
            return -1.0
    return (low + high) / 2


@inner(owns=True)
def _lengthen(longest: Any, present: Any) -> int:
    """Lengths of the longest chains by their last class, with one more point; the longest."""
    before, most = longest.copy(), 0
    for k in range(len(longest)):
        if present[k]:
            for other in range(len(longest)):
                if other != k and before[other] + 1 > longest[k]:
                    longest[k] = before[other] + 1
            if longest[k] == 0:
                longest[k] = 1
        most = max(most, longest[k])
    return most


@kernel()
def _most_violated(
    members: IntArray, starts: IntArray, right: FloatArray, present: Any, leaves: int
) -> Any:
    """Most violated chain of every line that has one: points, classes, sizes and violations."""
    n_lines, n_classes = len(starts) - 1, right.shape[1]
    widest = 1
    for line in range(n_lines):
        widest = max(widest, starts[line + 1] - starts[line])
    points, classes = np.empty((n_lines, widest), np.int64), np.empty((n_lines, widest), np.int64)
    sizes, violations = np.empty(n_lines, np.int64), np.empty(n_lines)
    most = min(widest, leaves + 2 * MOST_ERRORS)
    best = np.empty((widest + 1, most + 1, n_classes))
    found = 0
    for line in range(n_lines):
        at = members[starts[line] : starts[line + 1]]
        _fill(best, at, right, present)
        length, violation = 0, VIOLATION
        # Only every second length costs one error more.
        for size in range(leaves + 1, min(len(at), most) + 1, 2):
            lack = best[len(at), size]
            wrong = (size - leaves + 1) // 2 - lack[_least(lack)]
            if wrong > violation:
                length, violation = size, wrong
        if length > 0:
            _trace(best, at, right, length, points[found], classes[found])
            sizes[found], violations[found] = length, violation
            found += 1
    return points[:found], classes[:found], sizes[:found], violations[:found]


@inner()
def _fill(best: Any, at: Any, right: Any, present: Any) -> None:
    """Least lack of chains among the first points of a line, by length and last class."""
    count, n_classes = len(at), right.shape[1]
    most = min(count, best.shape[1] - 1)
    best[: count + 1, : most + 1] = np.inf
    for i in range(1, count + 1):
        point = at[i - 1]
        for size in range(1, min(i, most) + 1):
            for k in range(n_classes):
                best[i, size, k] = best[i - 1, size, k]
                if not present[point, k]:
                    continue
                before = 0.0 if size == 1 else np.inf
                for other in range(n_classes):
                    if other != k and size > 1:
                        before = min(before, best[i - 1, size - 1, other])
                best[i, size, k] = min(best[i, size, k], before + 1.0 - right[point, k])


@inner()
def _least(values: Any) -> int:
    """Where the first least value is; numpy's own way compiles for a second."""
    at = 0
    for k in range(len(values)):
        at = k if values[k] < values[at] else at
    return at


@inner()
def _trace(best: Any, at: Any, right: Any, length: int, points: Any, classes: Any) -> None:
    """Write down the members of the chain of a length that lacks least."""
    i, size, k = len(at), length, _least(best[len(at), length])
    while size > 0:
        if best[i - 1, size, k] == best[i, size, k]:
            i -= 1
            continue
        points[size - 1], classes[size - 1] = at[i - 1], k
        i, size = i - 1, size - 1
        if size > 0:
            least, chosen = np.inf, -1
            for other in range(right.shape[1]):
                if other != k and best[i, size, other] < least:
                    least, chosen = best[i, size, other], other
            k = chosen


ALL = (f"{__name__}:all",)  # sets of kernels, see `octcore.numerics.kernels`


def compile_part(_: str) -> None:
    """Run all kernels on a few points."""
    X = np.linspace(0.0, 1.0, 4)[:, None]
    present = np.array([[True, False], [False, True]] * 2)
    members, ends = np.empty(9, np.int64), np.zeros(9, np.int64)
    lines = _lines_from(X, present, 0, 3, 1e-3, members, ends, 0)
    _most_violated(members, ends[: lines + 1], np.ones((4, 2)), present, 2)
