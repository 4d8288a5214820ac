"""First trees of planes end when the time of the solve does, whatever they were given."""

import time

import numpy as np
import pytest

from octcore.formulations.base import get_formulation
from octcore.program import Patience
from tests.brute import make_problem


@pytest.mark.parametrize("formulation", ["oct-h", "svm1-odt", "s-oct", "mm-svm-oct"])
def test_first_trees_take_no_longer_than_is_left(formulation: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.random((200, 8))
    y = ((X[:, 0] > X[:, 1]) ^ (X[:, 2] > X[:, 3])).astype(np.int64) ^ (rng.random(200) < 0.2)
    asked = {"start_seconds": 30.0}
    problem = make_problem(X, y, 2, 2, asked, formulation=formulation)
    program = get_formulation(formulation).build(problem)
    end = time.perf_counter() + 0.3
    trees = list(program.starts(Patience(lambda: max(0.0, end - time.perf_counter()))))
    assert trees
    assert time.perf_counter() < end + 10.0
