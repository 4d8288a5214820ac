"""Exact search for SVM1-ODT trees over assignments of rows to leaves: the entry point.

The search runs in phases of growing cutoffs: a phase that ends without a state below its cutoff
proves the cutoff as a bound, and the last one that the best tree is optimal.  It counts a row on a
plane to either side, so its bounds hold with and without a distance of right-goers.

References
----------
Zhu, Murali, Phan, Nguyen, Kalagnanam, "A scalable MIP-based method for learning optimal
multivariate decision trees": the objective (1a) and the model (1b) to (1k).
"""

import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, replace
from itertools import combinations, permutations, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from octcore.numerics.margin_simplex import FloatArray, IntArray, MarginRows, new_programs
from octcore.search.assignment import few_columns
from octcore.search.assignment.few_columns import FOUND, NONE, sparse_rows, trees_within
from octcore.search.assignment.states import CLOSED, ERROR, new_log, new_stack, search_states
from octcore.search.report import Known, Receive, Report, Stop
from octcore.tree.tree import Tree

SHARES = (0.1, 0.25, 0.4, 0.55, 0.7, 0.85, 1.0)
"""Cutoffs of the phases, as shares of the cost of the best tree: each costs six times the one
before, so that all but the last are little; by tenths they took a third of a proof."""
LEAST_STEP = 0.05
"""Share of the cost that a phase must add to the bound: after a better tree the next share may be
about what was shown, and takes as long again."""
CHUNK_SECONDS = 0.1  # between two looks at the clock, of the .3 that callers are promised
LATTICE_SLACK = 1e-7  # share of a unit that rounding may cost a sum of weights
MOST_LEVELS, MOST_BYTES = 250, 2e8
LOG_SIZE = 1_000_000  # steps of a proof that are written before they are handed over
MOST_DEPTH, MOST_LABELLINGS = 3, 5_000
"""Deeper trees, and more ways to label the leaves than this, are not gone through."""
LEFT_OPEN = "The search ended with a gap that rounding or ties leave; HiGHS goes on."
Planes = dict[int, tuple[FloatArray, float]]
"""``(h, g)`` by branch node with margins of 1: left where ``h.x <= g``."""


@dataclass(frozen=True, eq=False)
class AssignmentProblem:
    """Rows and prices, in units where the wanted margin is 1 and an error costs its weight."""

    X: FloatArray  # rows merged by features and class
    y: IntArray
    weights: FloatArray
    n_classes: int
    depth: int
    missing: float
    norm: float  # `missing`, `norm`: price of a whole margin and of a plane's 1-norm
    reach: float  # largest ``|g|`` of a plane that counts
    gap: float  # relative gap at which the search is over
    limit: float = np.inf  # largest value of a node's program, infinite without a limit
    feature: float = 0.0  # price of a column that a plane uses
    unit: float = 0.0
    """Of which all weights are multiples where only errors and columns count, else 0."""
    clearance: float = 0.0
    """Distance that rows on the right keep from a plane; 0 where that follows from the prices."""
    box: float = np.inf  # largest weight of a plane that counts

    @property
    def not_counted(self) -> float:
        """What bounds of states hold beyond costs where programs only say if there is a plane."""
        return 0.0 if np.isinf(self.limit) else self.limit * (2**self.depth - 1)


class Steps(NamedTuple):
    """Part of a proof: what was done next for some labels of the leaves, see `states.Log`."""

    labels: tuple[int, ...]
    steps: IntArray
    multipliers: FloatArray


@dataclass(frozen=True, eq=False)
class AssignmentTask:
    """A problem with the way from planes to a tree, see `PlaneTask`."""

    problem: AssignmentProblem
    to_tree: Callable[[Planes], Tree]
    group: IntArray  # row of the problem that every training row is part of
    columns: IntArray  # columns of the training rows that the problem has
    one_thread = "The search over assignments"

    def search(
        self, receive: Receive, stop: Stop, known: Known, gap: float, threads: int
    ) -> str | None:
        """Search below the cost of the best tree."""
        search = AssignmentSearch(self.problem, _cost(known))
        for report in search.run():
            if receive(report) or stop(search.states):
                return None
            search.cost = min(search.cost, _cost(known))  # `to_tree` may improve what was found
        return LEFT_OPEN

    def prove(
        self, target: float, stop: Callable[[], bool]
    ) -> Generator[tuple[IntArray, IntArray] | Steps | Tree, None, bool]:
        """Yield how rows and columns are numbered, then what proves a bound on the cost.

        The generator returns whether it does.
        """
        yield self.group, self.columns
        search = AssignmentSearch(self.problem, np.inf)
        for step in search.prove(target):
            if stop():
                return False
            yield self.to_tree(step) if isinstance(step, dict) else step
        least = search.open - self.problem.not_counted
        return bool(search.cost >= target and least >= target * (1 - LATTICE_SLACK**2))


def _cost(known: Known) -> float:
    best = known()
    return np.inf if best is None else best[0]


def labellings(n_classes: int, depth: int, alike: bool = True) -> list[tuple[int, ...]]:
    """All ways to label the leaves, siblings with two classes.

    A leaf may stay empty, so that two leaves of one class are never needed below one node.

    `alike`: whether both sides of a plane are, so that ways with exchanged subtrees count once.
    """
    pairs = list((combinations if alike else permutations)(range(n_classes), 2)) or [(0, 0)]
    ways = product(pairs, repeat=2 ** (depth - 1))
    return sorted({_canonical(way) if alike else sum(way, ()) for way in ways})


def _canonical(pairs: tuple[tuple[int, int], ...]) -> tuple[int, ...]:
    if len(pairs) == 1:
        return pairs[0]
    half = len(pairs) // 2
    left, right = _canonical(pairs[:half]), _canonical(pairs[half:])
    return min(left + right, right + left)


def can_search(classes: int, depth: int, alike: bool = True) -> bool:
    """Whether a problem is small enough: few levels, and few ways to label the leaves."""
    pairs = max(1, classes * (classes - 1) // (2 if alike else 1))
    return depth <= MOST_DEPTH and pairs ** (2 ** (depth - 1)) <= MOST_LABELLINGS


class AssignmentSearch:
    """One search; `run` yields what it finds, at least every tenth of a second.

    `cost`: of the best tree known; a single leaf always is.
    """

    def __init__(self, problem: AssignmentProblem, cost: float) -> None:
        leaf = problem.weights.sum() - np.bincount(problem.y, problem.weights).max()
        self.problem, self.cost = problem, min(cost, float(leaf))
        self.states, self.bound = 0, 0.0
        self.open = np.inf  # least bound of states that were left undecided
        self._chunk, self._columns = 50, 0
        self._too_many = (self._most_columns + 1, np.inf)
        """Columns, and errors, that boxes did not come to an end with."""
        self._worth = np.zeros(len(problem.y))
        self._rows = sparse_rows(
            problem.X, problem.y, problem.weights, problem.n_classes, problem.norm / problem.limit
        )
        size = problem.X.shape[1] + 1
        branch = 2**problem.depth - 1
        bytes_per_level = branch * 8 * (size * (size + 4) + 3 * MOST_LEVELS)
        self._levels = int(np.clip(MOST_BYTES / bytes_per_level, 20, MOST_LEVELS))
        self._log = new_log(0)
        self._programs = new_programs(self._levels * branch + 1, self._levels, size, problem.norm)
        x = np.column_stack([np.ones(len(problem.y)), problem.X])
        self._data = MarginRows(
            # as kernels are compiled for: a selection of columns lies column by column
            np.ascontiguousarray(x),
            np.ascontiguousarray(x.T),
            problem.y.astype(np.int64),
            problem.weights.astype(np.float64),
            problem.missing,
            problem.norm,
            problem.reach,
            problem.limit,
            problem.feature,
            0,
            problem.clearance,
            problem.box,
            2.0 * problem.weights.sum() / problem.clearance if problem.clearance else np.inf,
        )

    @property
    def cutoff(self) -> float:
        """Bound that proves the best tree optimal."""
        problem = self.problem
        if not problem.unit:
            return self.cost * (1 - problem.gap)
        paid = self._paid(self.cost)
        # Beside columns, costs are whole units: the largest one below the best tree's is enough.
        steps = np.ceil((self.cost - paid) / problem.unit - LATTICE_SLACK) - 1
        below = paid + steps * problem.unit
        return (
            float(below[steps >= 0].max(initial=0.0))
            + problem.not_counted
            + 2 * LATTICE_SLACK * problem.unit
        )

    @property
    def _labellings(self) -> list[tuple[int, ...]]:
        """Labels of the leaves that are gone through."""
        problem = self.problem
        return labellings(problem.n_classes, problem.depth, not problem.clearance)

    @property
    def _most_columns(self) -> int:
        """Columns of all planes of a tree together."""
        problem = self.problem
        return (2**problem.depth - 1) * problem.X.shape[1]

    def _paid(self, most: float) -> FloatArray:
        """What trees of less cost than the best one pay for columns, up to a limit."""
        price = self.problem.feature
        columns = int(min(max(0.0, most) / price, self._most_columns))
        return price * np.arange(self._columns, columns + 1, dtype=np.float64)

    def run(self) -> Iterator[Report]:
        """Search phase after phase; the caller may stop at any time."""
        problem = self.problem
        yield from self._with_few_columns(np.inf)
        for share in SHARES:
            cutoff = share * self.cutoff
            step = LEAST_STEP * self.cost if share < 1 else 0.0
            if cutoff - problem.not_counted <= self.bound + step:  # about shown by a phase before
                continue
            for found in self._with_few_columns(cutoff):
                cutoff = min(cutoff, self.cutoff)
                yield found
            for labels in self._labellings:
                for found in self._labelled(np.array(labels), cutoff):
                    cutoff = min(cutoff, self.cutoff)
                    yield found
            # What was closed reaches the cutoff of its time, which only fell; the rest is `open`.
            reached = min(cutoff, self.cutoff, self.open)
            self.bound = max(self.bound, self._attainable(reached - problem.not_counted))
            yield Report(self.states, bound=self.bound)
            if reached >= self.cutoff:
                return

    def _attainable(self, bound: float) -> float:
        """Least cost of a tree that is not below a bound."""
        unit, feature = self.problem.unit, self.problem.feature
        if not unit:
            return max(0.0, bound)
        paid = self._paid(max(bound, self._columns * feature) + feature)
        steps = np.maximum(0.0, np.ceil((bound - paid) / unit - LATTICE_SLACK))
        return float((paid + steps * unit).min(initial=self.cost))

    def _with_few_columns(self, cutoff: float) -> Iterator[Report]:
        """Find how many columns the trees below a cutoff have at least, and trees with fewer."""
        problem, boxes, cutoff = self.problem, 0, min(cutoff, self.cutoff)
        if not problem.unit or problem.depth > few_columns.MOST_DEPTH:
            return
        columns = max(1, self._columns)
        while columns * problem.feature < cutoff and boxes < few_columns.MOST_BOXES:
            if columns > self._most_columns:
                columns = int(cutoff / problem.feature) + 1  # no tree has so many
                break
            status, boxes, found = NONE, 0, np.zeros((0, 0))
            errors = cutoff - columns * problem.feature
            if (columns, errors) >= self._too_many:  # effort only: as much did not end before
                break
            for seen, status, planes in trees_within(self._rows, columns, problem.depth, errors):
                boxes, found = boxes + seen, planes
                self.states += seen
                yield Report(self.states)
                if status != NONE or boxes >= few_columns.MOST_BOXES:
                    break
            else:
                columns += 1
                if cutoff >= self.cutoff:  # trees with fewer columns cost what the best one does
                    self._columns = columns
                    self.bound = max(self.bound, self._attainable(0.0))
                    yield Report(self.states, bound=self.bound)
                    cutoff = min(cutoff, self.cutoff)
                continue
            cost = np.inf
            if status == FOUND:
                cost = problem.feature * np.count_nonzero(found[:, 1:]) + self._errors(found)
            if cost >= self.cost:
                self._too_many = columns, errors
                break
            self.cost = cost
            cutoff = min(cutoff, self.cutoff)
            yield Report(self.states, _planes(found))
        self._data = self._data._replace(columns=columns)

    def _errors(self, planes: FloatArray) -> float:
        """Weight of the rows that a tree of given planes gets wrong with the best labels."""
        problem, node = self.problem, np.ones(len(self.problem.y), dtype=np.int64)
        for _ in range(problem.depth):
            scores = planes[node - 1, 0] + (planes[node - 1, 1:] * problem.X).sum(axis=1)
            node = 2 * node + (scores < 0)
        errors = 0.0
        for leaf in np.unique(node):
            there = node == leaf
            counts = np.bincount(problem.y[there], problem.weights[there])
            errors += float(counts.sum() - counts.max())
        return errors

    def _labelled(self, labels: IntArray, cutoff: float) -> Iterator[Report]:
        """Search all trees with given labels for states below a cutoff."""
        problem, branch = self.problem, len(labels) - 1
        nameless = ~np.isin(problem.y, labels)
        errors = float(problem.weights[nameless].sum())
        if errors >= cutoff:  # rows of classes that no leaf names are wrong
            return
        stack = new_stack(labels, self._worth, self._levels, problem.X.shape[1] + 1)
        stack.decided[nameless] = ERROR
        stack.errors[0] = errors
        self._clear(branch)
        half = len(labels) // 2
        mirrored = problem.depth > 1 and bool((labels[:half] == labels[half:]).all())
        mirrored = mirrored and not problem.clearance
        level, best = 0, self.cost
        stack.least[0] = best
        while level >= 0:
            if self.cost < best:  # found here, or made of what was found
                best, cutoff = self.cost, min(cutoff, self.cutoff)
            begun = time.perf_counter()
            level, seen = search_states(
                self._data, self._programs, stack, self._log, level, cutoff, mirrored, self._chunk
            )
            self.states += seen
            if seen >= self._chunk:
                share = CHUNK_SECONDS / max(time.perf_counter() - begun, 1e-3)
                self._chunk = int(np.clip(self._chunk * share, 1, 4 * self._chunk))
            self.open = min(self.open, float(stack.least[1]))
            if stack.least[0] < self.cost:
                self.cost = float(stack.least[0])
                yield Report(self.states, _planes(stack.planes))
            else:
                yield Report(self.states)

    def prove(self, target: float) -> Iterator[Steps | Planes]:
        """Search once more, for what proves that no tree costs less than a target.

        Yields steps for all labels in turn; planes of a tree that costs less, after which nothing
        comes.
        """
        problem, self.cost, self._log = self.problem, target, new_log(LOG_SIZE)
        # Less by the rounding of sums: a bound that equals the target proves it.
        by_gap = target * (1 - LATTICE_SLACK**2) + problem.not_counted
        cutoff = self.cutoff if problem.unit else by_gap
        nothing = np.append(CLOSED, np.zeros(2**problem.depth - 1, np.int64))
        for labels in self._labellings:
            is_empty = True
            for found in self._labelled(np.array(labels), cutoff):
                n_steps, n_multipliers = self._log.used
                is_empty = False
                yield Steps(
                    labels,
                    self._log.steps[:n_steps].copy(),
                    self._log.multipliers[:n_multipliers].copy(),
                )
                self._log.used[:] = 0
                if found.planes is not None:
                    yield found.planes
                    return
            if is_empty:  # the classes that no leaf names cost as much
                yield Steps(labels, nothing, np.zeros(0))

    def _clear(self, branch: int) -> None:
        """Make the programs of the first level empty ones."""
        most, size = self._programs.rows.shape[1], self._programs.plane.shape[1]
        empty = new_programs(branch, most, size, self.problem.norm)
        for now, fresh in zip(self._programs[:-1], empty[:-1], strict=True):  # all but scratch
            now[:branch] = fresh


def _planes(planes: NDArray[np.float64]) -> Planes:
    return {node: (-plane[1:], float(plane[0])) for node, plane in enumerate(planes, start=1)}


ALL = (f"{__name__}:all",)  # sets of kernels, see `octcore.numerics.kernels`


def compile_part(_: str) -> None:
    """Run all kernels on a few rows."""
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    y = np.array([0, 1, 1, 0])
    problem = AssignmentProblem(corners, y, np.ones(4), 2, 2, 1.0, 0.03, 1e6, 1e-6)
    for part in (problem, replace(problem, norm=1e-6, limit=1e-3, feature=0.5, unit=1.0)):
        for _found in AssignmentSearch(part, 2.0).run():
            pass
