"""The bound by identical rows of several classes, where one leaf is not enough for it."""

import numpy as np
import pytest

from octcore.verification.base import Guard
from octcore.verification.claim import Claim
from octcore.verification.value import by_conflicts


@pytest.mark.parametrize(("price", "bound"), [(0.05, 5 / 6 - 2 * 0.05), (0.4, 4 / 6 - 0.4)])
def test_rows_are_told_apart_by_two_leaves_at_least(price, bound):
    X, y = np.repeat([0.0, 1.0], 3)[:, None], np.array([0, 0, 1, 1, 1, 1])
    claim = Claim(
        "threshold-search", "optimal", "search", None, None, None, X, y, np.ones(6), 2, 1,
        {"leaf_penalty": price}, {}, np.zeros(1, int), ("a",), (0, 1), 1,
    )  # fmt: skip
    assert by_conflicts(claim, Guard(60.0)).bound == pytest.approx(bound)
