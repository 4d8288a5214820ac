"""The Benders models refuse what cannot fit, in words and before anything is built."""

from __future__ import annotations

import time

import numpy as np
import pytest

from octcore.engines.model_run import check_size
from octcore.errors import TooLargeError
from octcore.formulations.base import get_formulation
from tests.brute import make_problem

BUDGET = 12e9
"""Half of the memory of an ordinary machine."""


@pytest.mark.parametrize("formulation", ["bend-oct", "accelerated-bend-oct"])
def test_depth_eight_on_many_rows_is_refused(formulation: str):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (20_000, 60)).astype(np.uint8)
    y = rng.integers(0, 2, 20_000)
    sizes = {}
    for depth in (3, 8):
        problem = make_problem(X, y, 2, depth, formulation=formulation)
        start = time.process_time()
        sizes[depth] = get_formulation(formulation).build(problem).size
        assert time.process_time() - start < 10
    check_size(sizes[3], BUDGET)
    with pytest.raises(TooLargeError, match=r"non-zeros and need about .* GB.*a search method"):
        check_size(sizes[8], BUDGET)
