"""A recall floor counts rows, also those that count nothing in the objective."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import octcore
from octcore.data.dataset import Dataset

pytestmark = pytest.mark.long


@pytest.mark.sampled(4)
@pytest.mark.parametrize("formulation", ["flow-oct", "bend-oct", "oct-binary"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_floor_on_rows_of_weight_zero_has_the_same_optimum_everywhere(formulation, seed):
    rng = np.random.default_rng(seed)
    X, y = rng.integers(0, 2, (14, 4)), rng.integers(0, 2, 14)
    weights = rng.integers(0, 3, 14).astype(float)
    weights[:4] = 0
    data = Dataset.from_arrays(pd.DataFrame(X, columns=list("abcd")), y)

    def objective(key):
        run = octcore.solve(
            data,
            key,
            encoding="none",
            depth=2,
            params={"leaf_penalty": 0.01},
            constraints={"min_recall": {0: 0.8}},
            sample_weight=weights,
        )
        assert run.status == "optimal"
        return run.objective

    assert objective(formulation) == pytest.approx(objective("path-columns"))
