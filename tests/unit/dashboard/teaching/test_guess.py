"""A tree by hand: its leaves give the larger class, its errors are those of routing."""

from __future__ import annotations

import numpy as np
import pandas as pd

from dashboard.views.teach.guess import errors_of, guessed_tree
from octcore.data.dataset import Dataset


def test_cuts_by_hand_are_judged_by_routing():
    random = np.random.default_rng(1)
    points = random.random((80, 2))
    is_b = (points[:, 0] > 0.5) ^ (points[:, 1] > 0.3)
    data = Dataset.from_arrays(pd.DataFrame(points, columns=["x", "y"]), np.where(is_b, "B", "A"))
    exact = guessed_tree(data, {1: ("x", 0.5), 2: ("y", 0.3), 3: ("y", 0.3)})
    assert errors_of(exact, data) == 0
    stump = guessed_tree(data, {1: ("y", 0.6)})
    above = points[:, 1] > 0.6
    wrong = sum(min(is_b[side].sum(), (~is_b[side]).sum()) for side in (above, ~above))
    assert errors_of(stump, data) == wrong


def test_a_cut_beside_all_points_still_has_a_class_on_both_sides():
    data = Dataset.from_arrays(
        pd.DataFrame({"x": [0.2, 0.4, 0.4], "y": [0.1, 0.2, 0.3]}), [0, 1, 1]
    )
    assert errors_of(guessed_tree(data, {1: ("x", 1.0)}), data) == 1
