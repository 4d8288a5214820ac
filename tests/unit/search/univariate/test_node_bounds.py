"""Every bound that a node of the exact search holds, first and after every step, by enumeration.

Wrong ones rarely change an optimum, since other features cost less: here all are looked at.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np
import pytest

from octcore.search.univariate.bit_table import make_bits, reduce_columns
from octcore.search.univariate.literal_node import LiteralNode, SearchState
from octcore.search.univariate.literals import Terms
from octcore.search.univariate.question import Question
from octcore.search.univariate.table import make_table
from tests.referee.univariate import error_table

SLACK = 1e-6
SEEDS = range(6)


@dataclass(frozen=True, eq=False)
class Small:
    """Rows on distinct columns, and the least errors below any literals."""

    X: np.ndarray
    y: np.ndarray
    smallest: int

    def below(self, depth: int, literal: int) -> np.ndarray | None:
        """Least errors below a literal of a node; up to depth two it tells of splits alone."""
        lone = depth <= 2 and self.errors(depth - 1, literal ^ 1) is None
        return None if lone else self.errors(depth - 1, literal)

    @cache  # noqa: B019
    def errors(self, depth: int, *literals: int) -> np.ndarray | None:
        """Least errors with at most 1, 2, ... leaves on the rows that satisfy all literals.

        None where literals divide nothing: no row, all rows, or too few.
        """
        rows = np.ones(len(self.y), bool)
        for literal in literals:
            rows &= self.X[:, literal >> 1] == (literal & 1)
        if literals and (rows.all() or rows.sum() < self.smallest):
            return None
        return error_table(self.X[rows], self.y[rows], depth, None, self.smallest).by_leaves[1:]

    @cached_property
    def state(self) -> SearchState:
        """Kernel data; price and leaf size are set by the test."""
        table = make_table(Question(self.X, self.y, int(self.y.max()) + 1, 3))
        every = np.ones(table.n_columns, bool)
        terms = Terms(0.0, SLACK, 0, np.zeros(1, np.uint8), np.zeros(1, np.int64))
        return SearchState(make_bits(table, every, self.smallest).rows, terms)

    def priced(self, price: float) -> SearchState:
        """The same with a price of leaves."""
        return replace(self.state, terms=self.state.terms._replace(penalty=price))

    @property
    def subset(self) -> np.ndarray:
        """All kernel rows."""
        return np.arange(len(self.state.rows.block))

    @property
    def literals(self) -> range:
        """Numbers of all literals."""
        return range(2 * self.X.shape[1])


def small(seed: int, smallest: int) -> Small:
    """Rows whose classes follow a list of rules, so that deep trees pay, or none at all."""
    rng = np.random.default_rng(seed)
    shape = (14, 4) if seed % 2 else (90, 6)
    X = (rng.random(shape) < (0.4, 0.2)[seed % 3 > 0]).astype(np.uint8)
    X = X[:, reduce_columns(X)[0]]
    rule = np.where(X.any(axis=1), X.argmax(axis=1), 3) % 2
    noise = rng.random(len(X)) < (0.5 if seed % 3 else 0.1)
    y = np.where(noise, rng.integers(0, 2 + seed % 2, len(X)), rule)
    return Small(X, np.unique(y, return_inverse=True)[1], smallest)


def written(rows: str, classes: str, smallest: int) -> Small:
    """Rows and classes written as digits."""
    X = np.array([[int(digit) for digit in row] for row in rows.split()], np.uint8)
    return Small(X, np.array([int(digit) for digit in classes]), smallest)


def least_cost(errors: np.ndarray, price: float) -> float:
    """Cost of the best tree of any number of leaves."""
    return float((errors + price * np.arange(1, len(errors) + 1)).min())


def check_costs(node: LiteralNode, case: Small) -> None:
    """Compare bounds on costs, and the table of pairs."""
    price = node.state.terms.penalty
    whole = case.errors(node.depth)
    assert whole is not None
    assert node.bound <= least_cost(whole, price) + 1e-9
    assert node.best >= least_cost(whole, price) - 1e-9
    for a in case.literals:
        errors = case.below(node.depth, a)
        if errors is None:
            continue
        cost = least_cost(errors, price)
        assert node.lower[a] <= cost + 1e-9
        assert node.upper[a] >= cost - 1e-9
        for b in case.literals if node.depth == 4 else ():
            errors = case.errors(2, a, b)
            if errors is not None and a >> 1 != b >> 1:
                cost = least_cost(errors, price)
                assert node.table[a, b] <= cost + 1e-9
                assert not node.known[a, b] or node.table[a, b] >= min(cost, 1e17) - 1e-9


@pytest.mark.sampled(9)
@pytest.mark.parametrize("smallest", [1, 7])
@pytest.mark.parametrize("price", [0.0, 0.15, 0.3, 1.2])
@pytest.mark.parametrize("depth", [1, 2, 3, 4, 5])
def test_costs_below_every_literal(depth: int, price: float, smallest: int) -> None:
    for seed in SEEDS if depth == 4 else SEEDS[:2]:
        case = small(seed, smallest)
        state, subset = case.priced(price), case.subset
        alone = LiteralNode(state, subset, depth)
        check_costs(alone, case)
        for _ in alone.tightenings():
            check_costs(alone, case)
        node: LiteralNode | None = None
        for level in range(min(3, depth), depth + 1):
            node = LiteralNode(state, subset, level, node)
            check_costs(node, case)
            node.search()
        assert node is not None
        check_costs(node, case)
        assert node.bound == pytest.approx(node.best, abs=1e-5)
        assert node.best == pytest.approx(alone.best, abs=1e-5)


@pytest.mark.parametrize("depth", [4, 5])
def test_a_stop_inside_a_literal_proves_nothing(depth: int) -> None:
    for seed in SEEDS:
        case = small(seed, 1)
        node = LiteralNode(case.priced(0.15), case.subset, depth)
        node.state.terms.stop[0] = 1
        for feature in range(node.n_features):
            node.tighten(feature, node.best)
        check_costs(node, case)


def test_literals_that_hold_other_rows_learn_nothing_under_a_leaf_size() -> None:
    """Rows that are added to a literal may make its leaves large enough, and the tree better."""
    case = written(
        "01111 11010 11110 01110 01110 01111 11010 11111 00010 11100 00111 10110 01011 00110 "
        "01011 10011 11010 00011 11110 00111 11110",
        "001000010110111100111",
        smallest=4,
    )
    node = LiteralNode(case.priced(0.15), case.subset, 4)
    node.search()
    check_costs(node, case)


def test_no_similarity_by_leaves_under_a_leaf_size() -> None:
    case = written(
        "1011 1111 1111 1011 0101 1111 0001 0101 0101 0111 0111 0111 0001 0111 1111 0010 0101",
        "01101101100000111",
        smallest=4,
    )
    node = LiteralNode(case.state.by_leaves(), case.subset, 4)
    node.search()
    check_errors(node, case)


def check_errors(node: LiteralNode, case: Small) -> None:
    """Compare bounds on errors for every number of leaves, and the table of pairs."""
    for a in case.literals:
        errors = case.below(node.depth, a)
        if errors is None:
            continue
        errors = errors[: node.child_length]
        assert (node.lower[a] <= errors).all()
        assert (node.upper[a] >= np.minimum(errors, 1e17)).all()
        for b in case.literals if node.depth == 4 else ():
            errors = case.errors(2, a, b)
            if errors is not None and a >> 1 != b >> 1:
                assert (node.table[a, b] <= errors).all()
                assert not node.known[a, b] or (node.table[a, b] >= np.minimum(errors, 1e17)).all()


@pytest.mark.sampled(9)
@pytest.mark.parametrize("smallest", [1, 7])
@pytest.mark.parametrize(
    ("depth", "most"), [(1, 2), (2, 3), (2, 4), (3, 8), (4, 16), (4, 5), (4, 7), (5, 32)]
)
def test_errors_below_every_literal(depth: int, most: int, smallest: int) -> None:
    for seed in SEEDS if depth == 4 else SEEDS[:2]:
        case = small(seed, smallest)
        node = LiteralNode(case.state.by_leaves(), case.subset, depth, most=most)
        check_errors(node, case)
        _, best = node.search()
        check_errors(node, case)
        errors = case.errors(depth)
        assert errors is not None
        assert np.minimum(best, 1e17) == pytest.approx(np.minimum(errors[:most], 1e17))
