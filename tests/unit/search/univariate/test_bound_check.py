"""What looks at the bounds of the exact search finds wrong ones, and right ones pass."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from octcore.search.univariate.bit_table import make_bits
from octcore.search.univariate.literal_node import LiteralNode
from octcore.search.univariate.question import Question
from octcore.search.univariate.search import answer
from octcore.search.univariate.table import make_table
from octcore.selection.penalty_path import optimal_by_leaves
from tests.fuzz.questions import answered_by
from tests.referee import literal_bounds
from tests.referee.literal_bounds import VARIABLE, fewest_errors


def _question(seed: int, depth: int, **settings: object) -> Question:
    rng = np.random.default_rng(seed)
    X = (rng.random((24, 5)) < 0.4).astype(np.uint8)
    return Question(X, rng.integers(0, 3, 24), 3, depth, 0.01, **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize("depth", [3, 4, 5])
@pytest.mark.parametrize("smallest", [0, 3])
def test_right_bounds_pass(depth: int, smallest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "1")
    compared: list[object] = []
    compare = literal_bounds.compare

    def counted(*values: Any) -> None:
        compared.append(values)
        compare(*values)

    monkeypatch.setattr(literal_bounds, "compare", counted)
    weights = 1 + np.arange(24) % 4
    question = _question(depth, depth, weights=weights, min_samples_leaf=smallest)
    with answered_by("bits"):
        assert answer(question).status == "optimal"
        searched = len(compared)
        assert optimal_by_leaves(question)
    assert 0 < searched < len(compared) or depth == 3
    monkeypatch.delenv(VARIABLE)
    looked = len(compared)
    with answered_by("bits"):
        answer(question)
    assert len(compared) == looked


def test_a_wrong_bound_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "1")

    class Doubled(LiteralNode):
        def _start_table(self) -> None:
            super()._start_table()
            self.table *= 2

    monkeypatch.setattr("octcore.search.univariate.bit_search.LiteralNode", Doubled)
    with answered_by("bits"), pytest.raises(AssertionError, match="a bound of"):
        answer(_question(1, 4))


def test_plain_errors_count_rows_for_the_leaf_size() -> None:
    X = np.array([[0], [0], [1], [1]], np.uint8)
    y, weights = np.array([0, 1, 1, 1]), np.array([2.0, 0.0, 3.0, 0.0])
    for smallest, expected in ((2, [2.0, 0.0]), (3, [2.0, 2.0]), (5, [np.inf, np.inf])):
        table = make_table(Question(X, y, 2, 1, weights=weights))
        rows = make_bits(table, np.ones(1, bool), smallest).rows
        everything = np.arange(len(rows.block))
        assert fewest_errors(rows, everything, 1).tolist() == expected
