"""Least costs against plain recursion over all cuts, which bounds nothing and merges nothing."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from octcore.verification.base import Guard, NotProvenError
from octcore.verification.optimum import (
    ROUNDING,
    Task,
    by_column,
    expected_seconds,
    least_cost,
    swept,
)
from octcore.verification.sheet import FIELDS, Sheet, make_sheet
from tests.stages import later


@dataclass(frozen=True, eq=False)
class Asked:
    """A random question."""

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    costs: np.ndarray
    depth: int
    price: float
    least: int
    leaves: int
    columns: np.ndarray
    roots: np.ndarray | None
    group: np.ndarray | None

    @property
    def gains(self) -> np.ndarray:
        room = self.costs.max(axis=1, keepdims=True) - self.costs
        return self.weights[:, None] * room[self.y]

    @property
    def tolerance(self) -> float:
        return ROUNDING * (float(self.gains.sum()) + self.price)

    def found(self, cutoff: float) -> float:
        """What the verification derives below a cutoff."""
        group = np.zeros(self.X.shape[1]) if self.group is None else self.group
        sheet, _ = make_sheet(self.X, self.gains, self.columns, group, Guard(60.0))
        task = Task(self.price, self.least, self.tolerance, Guard(60.0), self.group)
        if self.roots is None:
            return least_cost(task, sheet, self.depth, self.leaves, cutoff)
        depth = min(self.depth, self.leaves - 1)
        leaves = min(self.leaves, 2**depth)
        if depth < 1:
            return cutoff
        return float(by_column(task, sheet, depth, leaves, cutoff, self.roots))

    def truth(self) -> float:
        """Least cost by enumeration."""
        of_rows = self.weights[:, None] * self.costs[self.y]
        # What is found is gains that are missed, not costs; they differ by a constant.
        apart = float(self.gains.sum() - of_rows.max(axis=1).sum())

        @cache
        def best(rows: frozenset[int], depth: int, leaves: int, columns: tuple[int, ...]) -> float:
            here = sorted(rows)
            answers = of_rows[here].sum(axis=0)
            found = answers.min() + self.price if len(here) >= self.least else np.inf
            if depth and leaves > 1:
                found = min(found, split(rows, depth, leaves, columns, columns))
            return found

        def split(rows, depth, leaves, columns, roots) -> float:
            found = np.inf
            for j in roots:
                below = columns
                if self.group is not None:
                    below = tuple(c for c in columns if self.group[c] != self.group[j])
                for value in np.unique(self.X[sorted(rows), j])[:-1]:
                    left = frozenset(i for i in rows if self.X[i, j] <= value)
                    for share in range(1, leaves):
                        cost = best(left, depth - 1, share, below)
                        cost += best(rows - left, depth - 1, leaves - share, below)
                        found = min(found, cost)
            return found

        rows, columns = frozenset(range(len(self.y))), tuple(self.columns.tolist())
        if self.roots is None:
            return best(rows, self.depth, self.leaves, columns) + apart
        if self.depth < 1 or self.leaves < 2:
            return np.inf
        roots = [j for j in columns if j in self.roots]
        return split(rows, self.depth, self.leaves, columns, roots) + apart


def draw(rng: np.random.Generator) -> Asked:
    """0/1 columns, numbers, both; nested columns; weights and costs of all kinds; restrictions."""
    n, p = int(rng.integers(2, 15)), int(rng.integers(1, 4))
    n_classes, depth = int(rng.integers(1, 4)), int(rng.integers(1, 5))
    if depth > 2:
        n, p = min(n, 9), min(p, 2)
    X = np.column_stack([rng.integers(0, rng.choice([2, 3, 40]), n) for _ in range(p)])
    if rng.random() < 0.3:  # thresholds of one number
        X = np.column_stack([X[:, :1] > v for v in range(p)])
    if rng.random() < 0.5:
        X = np.column_stack([X] * 2)[:, : max(1, p)]
    y, costs = rng.integers(0, n_classes, n), 1.0 - np.eye(n_classes)
    if rng.random() < 0.3:  # of answers, of which one may be a person's
        n_answers = n_classes + int(rng.integers(2))
        costs = rng.integers(0, 6, (n_classes, n_answers)) / rng.integers(1, 3)
    weights = (
        np.ones(n), rng.integers(0, 4, n), rng.random(n), rng.integers(1, 5000, n),
        rng.integers(1, 10**9, n), rng.integers(1, 4, n) / 3.0,
    )[rng.integers(6)].astype(float)  # fmt: skip
    price = float(rng.choice([0.0, 0.01, 0.1, 0.5]) * weights.sum() / rng.integers(1, 9))
    leaves = int(rng.choice([2**depth, rng.integers(1, 2**depth + 1)]))
    roots = rng.integers(0, X.shape[1], 2) if rng.random() < 0.2 else None
    group = np.arange(X.shape[1]) // 2 if rng.random() < 0.2 else None
    columns = np.flatnonzero(rng.random(X.shape[1]) < 0.9)
    least = int(rng.choice([1, 1, 2, 3]))
    return Asked(
        X.astype(float), y, weights, costs, depth, price, least, leaves, columns, roots, group
    )


@pytest.mark.long
@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", [0, *later(*range(1, 8))])
def test_costs_are_those_of_enumeration_and_shifted_ones_are_not_proven(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("octcore.verification.sheet.FEW_CUTS", (0, 1, 12)[seed % 3])
    monkeypatch.setattr("octcore.verification.optimum.MOST_LANES", (1, 3, 128)[seed % 3])
    rng = np.random.default_rng(seed)
    for _ in range(250):
        asked = draw(rng)
        truth = asked.truth()
        room = 8 * asked.tolerance + 1e-12 * float(asked.weights.sum() * asked.costs.max())
        assert asked.found(np.inf) == pytest.approx(truth, abs=room), asked
        if np.isinf(truth):
            continue
        total = float(asked.gains.sum())
        # The optimum is proven ...
        assert asked.found(truth) >= truth - room, asked
        less = truth - 0.01 * total
        assert asked.found(less) == pytest.approx(less, abs=room), asked
        # ... and nothing above it, whether by one row, one price or a millionth.
        for apart in (float(asked.gains.max()) or 1.0, asked.price, 1e-6 * total):
            if apart > 2 * room:
                assert asked.found(truth + apart) == pytest.approx(truth, abs=room), asked


def test_later_targets_go_on_with_what_earlier_ones_told() -> None:
    rng = np.random.default_rng(3)
    for _ in range(60):
        asked = draw(rng)
        group = np.zeros(asked.X.shape[1]) if asked.group is None else asked.group
        sheet, _ = make_sheet(asked.X, asked.gains, asked.columns, group, Guard(60.0))
        fresh, kept = (
            Task(asked.price, asked.least, asked.tolerance, Guard(60.0), asked.group, whole)
            for whole in (None, sheet)
        )
        depth = min(asked.depth, asked.leaves - 1)
        total = float(asked.gains.sum()) + asked.price * asked.leaves
        for target in (0.3 * total, 2.0 * total) if depth else ():
            asking = sheet, depth, min(asked.leaves, 2**depth), np.full(len(group), target)
            found, truth = by_column(kept, *asking), by_column(fresh, *asking)
            assert found == pytest.approx(truth, abs=8 * asked.tolerance), asked


def sheet_of(X: np.ndarray, y: np.ndarray, weights: np.ndarray) -> Sheet:
    every, one = np.arange(X.shape[1]), np.zeros(X.shape[1])
    gains = weights[:, None] * (y[:, None] == np.arange(y.max() + 1))
    return make_sheet(X, gains, every, one, Guard(60.0))[0]


def plain_split(X: np.ndarray, y: np.ndarray, weights: np.ndarray, least: int) -> float:
    best = np.inf
    for column in X.T:
        for value in np.unique(column)[:-1]:
            errors = 0.0
            for side in (column <= value, column > value):
                shares = np.bincount(y[side], weights[side])
                errors += shares.sum() - shares.max() if side.sum() >= least else np.inf
            best = min(best, errors)
    return best


@pytest.mark.sampled(4)
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("least", [1, 4])
@pytest.mark.parametrize("total", [*(most + d for _, _, most in FIELDS for d in (-1, 0, 1)), 0.5])
def test_sums_fit_into_their_fields(total: float, least: int, n_classes: int) -> None:
    """Whole weights whose sum is near what a field holds, and weights that are not whole."""
    rng = np.random.default_rng(int(total))
    X = rng.permuted(np.tile(np.arange(40.0), (3, 1)), axis=1).T
    y = np.append(np.arange(n_classes), rng.integers(0, n_classes, 40 - n_classes))
    for light in ((X[:, 0] > 20) == (y > 0), y > 0, y == 0):  # also all the weight in one class
        weights = np.where(light, 1.0, 0.0)
        weights[np.flatnonzero(~light)[0]] += total - weights.sum() if total > 1 else total
        sheet = sheet_of(X, y, weights)
        lanes = rng.random((9, 40)) < 0.7
        lanes[0], lanes[1] = True, ~light
        found = sheet.best_splits(lanes[:, sheet.number.argsort()], least)
        for lane, errors in zip(lanes, found, strict=True):
            rows = np.array([(X == x).all(axis=1).argmax() for x in _rows_of(sheet, X)])[lane]
            truth = plain_split(X[rows], y[rows], weights[rows], least)
            if least == 1:  # a side may be empty
                shares = np.bincount(y[rows], weights[rows])
                truth = min(truth, shares.sum() - shares.max())
            assert errors == pytest.approx(truth, rel=1e-12)


def _rows_of(sheet: Sheet, X: np.ndarray) -> np.ndarray:
    """Values of the rows of a sheet in which every value of a column is there once."""
    return sheet.codes.T.astype(float)


def test_nested_columns_are_one_chain() -> None:
    x = np.arange(8)
    X = np.column_stack([x > 1, x > 4, x > 6, x % 2, x > 3]).astype(float)
    sheet = sheet_of(X, x % 2, np.ones(8))
    assert np.diff(sheet.cuts.chain).tolist() == [0, 0, 1, 1]
    apart = make_sheet(X, np.ones((8, 2)), np.arange(5), np.arange(5), Guard(60.0))[0]
    assert np.diff(apart.cuts.chain).tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("seed", range(5))
def test_sweeps_say_what_neighbours_say_and_nothing_of_other_chains(seed: int) -> None:
    rng = np.random.default_rng(seed)
    chain = np.repeat(np.arange(6), rng.integers(1, 5, 6))
    # Open cuts near the left end: what has passed is small beside the bounds on the right.
    passed = np.concatenate([np.sort(rng.integers(1, 9, (chain == c).sum())) for c in range(6)])
    low = [rng.integers(0, 9, len(chain)).astype(float), rng.integers(0, 900, len(chain)) * 1.0]
    raised = swept(low, chain, passed.astype(float), 1000.0)
    for i in range(len(chain)):
        left, right = low[0][i], low[1][i]
        for k in np.flatnonzero(chain == chain[i]):
            apart = abs(int(passed[k] - passed[i]))
            left = max(left, low[0][k] - (apart if k > i else 0))
            right = max(right, low[1][k] - (apart if k < i else 0))
        assert raised[0][i] == pytest.approx(left, abs=1e-9)
        assert raised[1][i] == pytest.approx(right, abs=1e-9)


def test_an_estimate_grows_with_depth_columns_and_classes() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.random((300, 8)), rng.integers(0, 2, 300)
    wide, narrow = sheet_of(X, y, np.ones(300)), sheet_of(X[:, :2], y, np.ones(300))
    seconds = [expected_seconds(wide, depth) for depth in (1, 2, 3, 4)]
    assert seconds == sorted(seconds)
    assert expected_seconds(narrow, 3) < expected_seconds(wide, 3)
    many = sheet_of(rng.random((600, 6)), np.arange(600) % 60, np.ones(600))
    assert expected_seconds(many, 3) > 10  # it takes 33 s, and 0.4 were expected


def test_a_stop_is_heard() -> None:
    rng = np.random.default_rng(0)
    sheet = sheet_of(rng.random((300, 8)), rng.integers(0, 2, 300), np.ones(300))
    task = Task(0.0, 1, 1e-9, Guard(60.0, cancel=lambda: True))
    with pytest.raises(NotProvenError, match="stopped"):
        least_cost(task, sheet, 3, 8, np.inf)
