"""The greedy baseline on numbers that single precision does not hold."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import octcore
from octcore.data.dataset import Dataset


@pytest.mark.parametrize(
    "numbers",
    [
        1.7e9 + np.arange(6.0),  # seconds since 1970: alike in single precision
        np.array([0.0, 1e-12, 2e-12, 1e39, 2e39, 1e300]),
        1 + np.arange(6) * 2.0**-52,
        np.array([-1.7e308, -1.0, 0.0, 1.0, 2.0, 1.7e308]),
    ],
)
def test_numbers_are_told_apart_by_their_order(numbers: np.ndarray) -> None:
    frame = pd.DataFrame({"x": np.repeat(numbers, 3), "y": np.tile([0.0, 1.0, 2.0], 6)})
    labels = np.repeat([0, 0, 1, 1, 0, 0], 3)
    limits = {"min_samples_leaf": 6}
    data = Dataset.from_arrays(frame, labels)
    run = octcore.solve(data, "cart", encoding="raw", constraints=limits)
    assert run.accuracy == 1.0
    assert run.tree is not None
    assert run.tree.n_leaves == 3
