"""Cases in which the exact search once proved what is not true, each as small as it gets."""

from __future__ import annotations

import numpy as np
import pytest

from octcore.search.univariate.problem import PathProblem
from octcore.search.univariate.search import path_search


def _columns(*rows: str) -> np.ndarray:
    """Rows written as digits."""
    return np.array([[int(digit) for digit in row] for row in rows], np.uint8)


def test_an_implied_literal_says_nothing_about_the_pair() -> None:
    """Where a feature does not split the rows of a literal, their pair is still worth a tree."""
    X = _columns("0011", "1000", "1010", "0001", "0100", "0000", "0010")
    result = path_search(PathProblem(X, np.array([0, 0, 0, 0, 1, 2, 1]), 3, 4, 0.05))
    assert result.status == "optimal"
    assert result.objective == pytest.approx(0.75)
