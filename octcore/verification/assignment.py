"""Assignments of rows to leaves: what a search closed, replayed and added up by weak duality.

The labels of the leaves are given.  A row is right at a leaf of its class or an error, and an error
may end at a leaf of another class; a column of a plane is used, and paid for, or not.  The steps of
a search are such decisions, depth first, each with all its options, and closed states.  The bound
of a state adds up the errors, the columns and the planes of its branch nodes:

- Where missing margins are priced, a plane ``g - h.x`` pays ``B ||h||_1`` and A times the weight
  for what a row that passes lacks to a score of 1 on its side.  At any multipliers ``nu >= 0`` with
  ``sum_left nu = sum_right nu`` and ``|sum_i s_i nu_i x_ij| <= B`` that is at least
  ``sum_i min(nu_i, A v_i)``, and the rest of nu times the distance at which the row is kept on its
  side.  Multipliers are scaled until they are such; what rounding leaves is charged with the
  largest ``|g|`` and ``|h_j|``.
- Where splits leave a strip empty, the multipliers are a point of the hull of either side.  If
  these points are nearer than the strip in all columns that the plane may use, no plane parts the
  rows.  A plane with rows on both sides uses a column, and two where no single one has the strip.

Exchanged subtrees cost the same, and two leaves of one parent never need the same label; so only
one of such labellings is asked for, and where both halves of the labels are alike the first row
that is decided keeps to the left half.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from octcore.verification.base import NotProvenError, Proven

Array = np.ndarray
CLOSED = -1  # among the numbers of rows and columns, which begin at 0
FREE, ERROR = 0, 1  # what is decided about a row, beside the leaf that it ends at
ROUNDING = 1e-12
"""Share of the sums of a dual value, or of a point of a hull, that double precision may lose."""
GAP_SLACK = 1e-3  # relative: strips that miss their width by less count as wide enough
CHUNK_CELLS = 1_000_000  # cells of a table of states and rows that are looked at at once


@dataclass(frozen=True, eq=False)
class AssignmentData:
    """What the claim is about, in units where an error costs its weight."""

    x: Array  # columns that planes may use, shape ``(n_samples, n_columns)``
    y: Array
    weights: Array
    n_classes: int
    depth: int
    missing: float = 0.0
    norm: float = 0.0  # `missing`, `norm`: A and B
    reach: tuple[float, float] = (0.0, 0.0)  # largest ``|g|`` and ``|h_j|`` where margins are 1
    strip: float | None = None
    """Width of the empty strip for weights of 1-norm 1, where splits leave one."""
    feature: float = 0.0  # price of a column of a plane
    clearance: float = 0.0
    """Score that rows on the right of a plane have at least, below 0; then sides are not alike."""


def check_steps(
    data: AssignmentData, found: Iterator[Any], claimed: float, guard: Callable[[], None]
) -> Proven:
    """Replay the steps of a search and add up what its closed states prove.

    `NotProvenError` if the steps are no search, or leave something out.

    `found`: first ``(group, columns)``: the merged row of every row, and the columns of the data
    that are numbered; then ``(labels, steps, multipliers)``.
    """
    checker = _Checker.of(data, *next(found))
    replays: dict[tuple[int, ...], _Replay] = {}
    lowest, count = np.inf, 0
    for labels, steps, multipliers in found:
        guard()
        labels = tuple(int(label) for label in labels)
        if labels not in replays:
            replays[labels] = _Replay.of(checker, labels)
        replay = replays[labels]
        replay.read(steps.tolist(), np.asarray(multipliers, float))
        while replay.closed and (replay.is_full or replay.is_complete):
            count += len(replay.closed)
            lowest = min(lowest, replay.least())
    for labels in _labellings(data.n_classes, data.depth, not data.clearance):
        if labels not in replays or not replays[labels].is_complete:
            raise NotProvenError("the steps of the proof end early")
    # States are closed at the claim, so that the steps say nothing beyond it.
    return Proven(min(lowest, claimed), f"weak duality at {count} closed states")


def _labellings(n_classes: int, depth: int, alike: bool) -> set[tuple[int, ...]]:
    """Labels of the leaves, where sides are alike one of all that exchanged subtrees make."""
    ways = list(product(range(n_classes), repeat=2))
    pairs = [way for way in ways if way[0] < way[1] or (way[0] != way[1] and not alike)] or [(0, 0)]
    for _ in range(depth - 1):
        both = product(pairs, repeat=2)
        pairs = [left + right for left, right in both if left <= right or not alike]
    return set(pairs)


@dataclass(frozen=True, eq=False)
class _Checker:
    """Merged rows and what belongs to them."""

    data: AssignmentData
    x: Array
    y: Array
    weights: Array

    @classmethod
    def of(cls, data: AssignmentData, group: Array, columns: Array) -> "_Checker":
        """Merge rows as the search did, if they are alike and no column is forgotten."""
        group, columns = np.asarray(group, int), np.asarray(columns, int)
        if group.shape != data.y.shape or sorted(set(group.tolist())) != list(
            range(max(group) + 1)
        ):
            raise NotProvenError("the proof is of other rows")
        _, first = np.unique(group, return_index=True)
        x, y = data.x[first], data.y[first]
        if (x[group] != data.x).any() or (y[group] != data.y).any():
            raise NotProvenError("rows that differ are merged in the proof")
        if not set(np.flatnonzero(np.ptp(data.x, axis=0) > 0)) <= set(columns.tolist()):
            raise NotProvenError("a column is left out in the proof")
        weights = np.bincount(group, data.weights, len(first))
        return cls(data, np.ascontiguousarray(x[:, columns]), y, weights)

    @property
    def n_branch(self) -> int:
        """Branch nodes of the perfect tree."""
        return 2**self.data.depth - 1

    def least(self, decided: Array, errors: Array, nu: Array, paid: Array, used: Array) -> float:
        """Least bound of some states.

        `decided`: leaf, ERROR or FREE, by state and row.
        `errors`: their weight, by state.
        `nu`: multipliers, by branch node, state and row.
        `paid`, `used`: columns paid for, and those that may be used, by state, branch node and
        column.
        """
        total = errors.copy()
        for node in range(1, self.n_branch + 1):
            side = _side_table(node, self.data.depth)[decided]
            given = nu[node - 1]
            if (given * (side == 0)).any():
                raise NotProvenError("a row is charged where it is not known to pass")
            if self.data.strip is None:
                total += self._margins(side, given)
            else:
                parts = side, paid[:, node - 1], used[:, node - 1]
                total += self.data.feature * self._least_columns(*parts)
                total[self._is_impossible(side, given, used[:, node - 1])] = np.inf
        return float(total.min())

    def _margins(self, side: Array, nu: Array) -> Array:
        """Least cost of a plane by weak duality."""
        left, right = ((nu * (side == s)).sum(axis=1) for s in (1, -1))
        least = np.minimum(left, right)
        by_left, by_right = (
            np.divide(least, heavy, out=np.zeros(len(least)), where=heavy > 0)[:, None]
            for heavy in (left, right)
        )
        nu = nu * np.where(side == 1, by_left, by_right)
        distance = np.where(side == -1, self.data.clearance, 0.0)
        # The part that earns the margin is bounded by its price; the rest earns the distance.
        of_margin = np.minimum(nu, self.data.missing * self.weights)
        value = (np.maximum(1.0, distance) * of_margin + distance * (nu - of_margin)).sum(axis=1)
        signed = nu * side
        balance, beyond = np.abs(signed @ self.x), np.abs(signed.sum(axis=1))
        lost = ROUNDING * nu.sum(axis=1)
        reach, box = self.data.reach
        excess = np.maximum(0.0, balance + lost[:, None] - self.data.norm).sum(axis=1)
        largest = balance.max(axis=1, initial=0.0) + lost
        share = np.divide(self.data.norm, largest, out=np.ones(len(value)), where=largest > 0)
        best = np.maximum(np.minimum(1.0, share) * value, value - box * excess)
        return np.maximum(0.0, best - reach * (beyond + ROUNDING * lost))

    def _is_impossible(self, side: Array, nu: Array, used: Array) -> Array:
        """Whether points of both hulls are nearer than the strip in the columns of a plane."""
        left, right = ((nu * (side == s)) for s in (1, -1))
        sums = left.sum(axis=1), right.sum(axis=1)
        both = (sums[0] > 0) & (sums[1] > 0)
        safe = [np.where(both, s, 1.0)[:, None] for s in sums]
        apart = np.abs((left / safe[0]) @ self.x - (right / safe[1]) @ self.x)
        assert self.data.strip is not None
        rounding = ROUNDING * np.abs(self.x).max(initial=0.0)
        nearer = (apart * used).max(axis=1, initial=0.0) + rounding
        # Scores of two such points differ by their distance at most; the strip asks for more.
        return both & (nearer < self.data.strip * (1 - GAP_SLACK))

    def _least_columns(self, side: Array, paid: Array, used: Array) -> Array:
        """Columns that a plane uses at least: those paid for, one to part rows, two if need be."""
        n_paid = paid.sum(axis=1)
        if not self.data.feature:
            return n_paid
        assert self.data.strip is not None
        low, high = (
            {s: pick(np.where((side == s)[:, :, None], self.x, empty), axis=1) for s in (1, -1)}
            for pick, empty in ((np.min, np.inf), (np.max, -np.inf))
        )
        gap = np.maximum(low[-1] - high[1], low[1] - high[-1])
        alone = gap >= self.data.strip * (1 - GAP_SLACK)
        needed = np.where((alone & np.where((n_paid > 0)[:, None], paid, used)).any(axis=1), 1, 2)
        both = (side == 1).any(axis=1) & (side == -1).any(axis=1)
        return np.maximum(n_paid, np.where(both, needed, 0))


def _side_table(node: int, depth: int) -> Array:
    """Side of rows at a node, by what is decided: 1 left, -1 right, 0 not known to pass."""
    side = np.zeros(2 ** (depth + 1))
    for leaf in range(2**depth, 2 ** (depth + 1)):
        for up in range(depth):
            if leaf >> (up + 1) == node:
                side[leaf] = 1 if (leaf >> up) % 2 == 0 else -1
    return side


@dataclass(eq=False)
class _Replay:
    """The search for some labels, as far as its steps were read."""

    checker: _Checker
    labels: tuple[int, ...]
    decided: Array
    errors: float
    paid: Array
    used: Array
    open: list[list[Any]] = field(default_factory=list)
    """Decisions on the way from the root: what is decided, its options, the next one."""
    closed: list[tuple[Any, ...]] = field(default_factory=list)
    is_complete: bool = False

    @classmethod
    def of(cls, checker: "_Checker", labels: tuple[int, ...]) -> "_Replay":
        """Begin: rows of classes that no leaf names are errors."""
        nameless = ~np.isin(checker.y, labels)
        shape = checker.n_branch, checker.x.shape[1]
        there, cost = np.where(nameless, ERROR, FREE), float(checker.weights[nameless].sum())
        return cls(checker, labels, there, cost, np.zeros(shape, bool), np.ones(shape, bool))

    @property
    def is_full(self) -> bool:
        """Whether enough states wait to be looked at."""
        cells = self.checker.x.size if self.checker.data.feature else len(self.checker.y)
        return len(self.closed) * cells > CHUNK_CELLS

    def read(self, steps: list[int], multipliers: Array) -> None:
        """Follow some steps."""
        at = there = 0
        if not np.isfinite(multipliers).all() or (multipliers < 0).any():
            raise NotProvenError("a multiplier is negative")
        while at < len(steps):
            if self.is_complete:
                raise NotProvenError("the proof goes on where nothing is left")
            step, at = steps[at], at + 1
            if step != CLOSED:
                self._decide(step)
                continue
            rows = []
            for _ in range(self.checker.n_branch):
                count = steps[at]
                rows.append((steps[at + 1 : at + 1 + count], multipliers[there : there + count]))
                at, there = at + 1 + count, there + count
            state = self.decided.copy(), self.errors, rows, self.paid.copy(), self.used.copy()
            self.closed.append(state)
            self._go_on()

    def least(self) -> float:
        """Least bound of the states that wait."""
        states, self.closed = self.closed, []
        n = len(self.checker.y)
        nu = np.zeros((self.checker.n_branch, len(states), n))
        for number, state in enumerate(states):
            for node, (rows, multipliers) in enumerate(state[2]):
                if len(rows) != len(multipliers) or not all(0 <= row < n for row in rows):
                    raise NotProvenError("a closed state is broken")
                nu[node, number, rows] = multipliers
        parts = (np.array([state[part] for state in states]) for part in (0, 1, 3, 4))
        decided, errors, paid, used = parts
        return self.checker.least(decided, errors, nu, paid, used)

    def _decide(self, step: int) -> None:
        """Take the first option of a row, or of a column of a node."""
        n, p = len(self.checker.y), self.checker.x.shape[1]
        if 0 <= step < n:
            options = self._options_of(step)
        else:
            node, column = divmod(step - n, p + 1)
            if not (0 <= node < self.checker.n_branch and column):
                raise NotProvenError("a decision is about nothing")
            if self.paid[node, column - 1] or not self.used[node, column - 1]:
                raise NotProvenError("a column is decided twice")
            options = [True, False]
        self.open.append([step, options, 0])
        self._go_on(is_new=True)

    def _options_of(self, row: int) -> list[int]:
        """Where a row may end: at the leaves of its class or as an error; else elsewhere."""
        leaves, wrong = len(self.labels), self.decided[row] == ERROR
        if self.decided[row] > ERROR:
            raise NotProvenError("a row is decided twice")
        alike = leaves > 2 and not self.open and not self.checker.data.clearance
        alike = alike and self.labels[: leaves // 2] == self.labels[leaves // 2 :]
        options = [
            leaves + k
            for k, label in enumerate(self.labels)
            if (label == self.checker.y[row]) != wrong and not (alike and k >= leaves // 2)
        ]
        return options if wrong else [*options, ERROR]

    def _go_on(self, is_new: bool = False) -> None:
        """Take the next option of the last decision that has one."""
        while self.open:
            step, options, taken = self.open[-1]
            if not is_new:
                self._turn(step, options[taken], False)
                self.open[-1][2] = taken = taken + 1
            is_new = False
            if taken < len(options):
                self._turn(step, options[taken], True)
                return
            self.open.pop()
        self.is_complete = True

    def _turn(self, step: int, option: Any, is_taken: bool) -> None:
        """Take an option of a decision, or take it back."""
        n, p = len(self.checker.y), self.checker.x.shape[1]
        if step >= n:
            node, column = divmod(step - n, p + 1)
            (self.paid if option else self.used)[node, column - 1] = bool(option) == is_taken
        elif option == ERROR:
            weight = self.checker.weights[step]
            self.errors += weight if is_taken else -weight
            self.decided[step] = ERROR if is_taken else FREE
        else:  # a row that ends at a leaf of another class was an error before
            is_right = self.labels[option - len(self.labels)] == self.checker.y[step]
            self.decided[step] = option if is_taken else (FREE if is_right else ERROR)
