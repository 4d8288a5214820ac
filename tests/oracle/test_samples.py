"""The generated sets obey their rules, stated here a second time and independently."""

from __future__ import annotations

import numpy as np
import pytest

from octcore.data.samples import load_sample


def labels(name):
    data = load_sample(name)
    assert data.y is not None
    return data, [data.classes[code] for code in data.y.tolist()]


def test_balance_scale_is_the_torque():
    data, tips = labels("balance-scale")
    torque = data.frame.astype(int).to_numpy()
    difference = torque[:, 0] * torque[:, 1] - torque[:, 2] * torque[:, 3]
    assert tips == ["BLR"[int(sign)] if sign >= 0 else "R" for sign in np.sign(difference)]
    assert data.class_counts == (49, 288, 288)
    assert len(data.frame.drop_duplicates()) == 625


def test_tic_tac_toe_has_all_legal_final_boards():
    data, wins = labels("tic-tac-toe")
    boards = data.frame.to_numpy(dtype=str).reshape(-1, 3, 3)
    assert len(data.frame.drop_duplicates()) == 958
    assert wins.count("positive") == 626
    for board, win in zip(boards, wins, strict=True):
        lines = [*board, *board.T, board.diagonal(), np.fliplr(board).diagonal()]
        won = {line[0] for line in lines if len(set(line)) == 1} - {"b"}
        assert (win == "positive") == ("x" in won)
        x, o, blank = ((board == mark).sum() for mark in "xob")
        assert x - o == (0 if won == {"o"} else 1)
        assert won or blank == 0
        assert won != {"x", "o"}


ROBOTS = {
    "head shape": ["round", "square", "octagon"],
    "body shape": ["round", "square", "octagon"],
    "smiling": ["yes", "no"],
    "holding": ["sword", "balloon", "flag"],
    "jacket": ["red", "yellow", "green", "blue"],
    "tie": ["yes", "no"],
}


@pytest.mark.parametrize(("number", "positive"), [(1, 216), (2, 142), (3, 228)])
def test_monks_problems_follow_their_rules(number, positive):
    data, classes = labels(f"monks-{number}")
    assert len(data.frame.drop_duplicates()) == 432
    assert sum(classes) == positive
    for robot, label in zip(data.frame.to_dict("records"), classes, strict=True):
        first = sum(robot[name] == values[0] for name, values in ROBOTS.items())
        rules = {
            1: robot["head shape"] == robot["body shape"] or robot["jacket"] == "red",
            2: first == 2,
            3: (robot["jacket"], robot["holding"]) == ("green", "sword")
            or (robot["jacket"] != "blue" and robot["body shape"] != "octagon"),
        }
        assert label == int(rules[number])


def test_bundled_sets_have_their_known_shapes():
    expected = {"iris": (150, 4, 3), "wine": (178, 13, 3), "wdbc": (569, 30, 2)}
    for name, shape in expected.items():
        data = load_sample(name)
        assert (data.n_samples, data.n_features, data.n_classes) == shape
    assert load_sample("wdbc").class_counts == (357, 212)
    assert load_sample("wine").class_counts == (48, 59, 71)
