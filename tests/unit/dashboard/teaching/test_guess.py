"""A guess in a link, and what the board gets of it."""

from __future__ import annotations

import numpy as np
import pytest

from dashboard.teaching import lessons
from dashboard.teaching.drawing import guess_data
from octcore.plotting.palette import LIGHT


@pytest.mark.parametrize(
    ("given", "depth", "cuts"),
    [
        ("x250_y300_x1000", 2, ((0, 250), (1, 300), (0, 1000))),
        ("y7", 1, ((1, 7),)),
        ("y7", 2, lessons.FIRST_GUESS),
        ("x250_y300_x1001", 3, lessons.FIRST_GUESS),
        ("<script>", 1, lessons.FIRST_GUESS[:1]),
        (None, 2, lessons.FIRST_GUESS),
    ],
)
def test_a_link_holds_the_cuts_and_a_wrong_one_begins_afresh(given, depth, cuts):
    assert lessons.guess_from(given, depth) == cuts
    assert lessons.guess_from(lessons.guess_words(cuts), depth) == cuts


def test_the_board_counts_on_the_points_of_the_trees():
    points, codes = lessons.lesson_points(lessons.default_lesson())
    data = guess_data(points, codes, lessons.FIRST_GUESS, LIGHT, 0)
    shown = np.array(data["points"])
    assert np.allclose(shown[:, :2], 1000 * points, atol=1e-9)
    assert shown[:, 2].tolist() == codes.tolist()
    assert data["cuts"] == [[0, 500], [1, 500], [1, 500]]
