"""Rises of a column where one answer to all splits stands for several ranks."""

import numpy as np
import pytest

from octcore.tree.tree import Split, Tree
from octcore.verification.claim import Claim, broken_rules, route

LEVELS = np.arange(3)


@pytest.mark.parametrize("way", ["up", "down"])
@pytest.mark.parametrize("labels", [{2: 0, 3: 1}, {2: 1, 3: 0}])
def test_the_levels_around_the_one_that_is_asked_for_are_compared(way, labels):
    X = np.eye(3)  # one level each; low and high ones give the same answer to "is it the middle?"
    tree = Tree({1: Split(((1, 1.0),), 0.5)}, labels, n_features=3, n_classes=2)
    claim = Claim(
        "threshold-search", "optimal", "search", None, None, tree, X, LEVELS % 2, np.ones(3), 2, 1,
        {}, {"monotone": {"a": way}}, np.zeros(3, int), ("a",), (0, 1), 1, {"a": LEVELS},
    )  # fmt: skip
    broken = broken_rules(claim, route(tree, X), lambda: None)
    assert broken == [f"its prediction does not only go {way} along a column"]
