"""Lessons: one check for links, files and forms; equal recipes give equal points."""

from __future__ import annotations

import json
import urllib.parse
from html import escape

import numpy as np
import pandas as pd
import pytest

from dashboard.teaching import lessons
from dashboard.teaching.drawing import (
    Truth,
    add_truth,
    board_data,
    legend_parts,
    lesson_numbers,
    lesson_plane,
    sheet_html,
    truth_data,
    wide_bands,
)
from octcore.data.synthetic import list_generators
from octcore.errors import SettingsError
from octcore.formulations.base import list_formulations
from octcore.plotting.palette import DARK, LIGHT
from octcore.plotting.plane_plot import plane_figure
from octcore.solving.solve import solve
from octcore.tree.geometry import node_margins

DRAWN = ((100, 100, 0), (200, 900, 1), (900, 200, 1), (800, 800, 0))


def examples() -> list[lessons.Lesson]:
    made = [lessons.default_lesson(made.key) for made in list_generators()]
    return [
        *made,
        lessons.lesson_from({"set": "xor", "n": "40", "flip": "0.1", "seed": "7", "depth": "3"}),
        lessons.with_points(lessons.default_lesson("moons"), DRAWN),
        lessons.lesson_from({"set": "drawn", "points": "", "show": "cart"}),
    ]


@pytest.mark.parametrize("lesson", examples(), ids=lambda lesson: lesson.token)
def test_link_and_file_give_the_same_lesson(lesson):
    address = lessons.link(lesson, "http://localhost:8501/teach?old=1")
    query = dict(urllib.parse.parse_qsl(address.split("?", 1)[1], keep_blank_values=True))
    assert lessons.lesson_from(query) == lesson
    assert lessons.read_lesson(json.dumps(lessons.to_dict(lesson)).encode()) == lesson


@pytest.mark.parametrize(
    ("query", "word"),
    [
        ({"depth": "1e9"}, "depth"),
        ({"depth": "2.5"}, "depth"),
        ({"n": "nan"}, "n must be"),
        ({"n": "100000"}, "n must be"),
        ({"gamma": "-1"}, "gamma"),
        ({"set": "<script>"}, "no set"),
        ({"set": "xor", "turns": "2"}, "turns"),
        ({"colour": "red"}, "colour"),
        ({"points": "1-2"}, "points"),
        ({"points": "1-2-9"}, "outside"),
        ({"points": "1-2-0_" * 500 + "1-2-0"}, "at most"),
        ({"points": "9" * 6000 + "-1-1"}, "points"),
        ({"show": "cart,nonsense"}, "nonsense"),
        ({"show": ""}, "formulation"),
        ({"leaf_penalty": "inf"}, "leaf_penalty"),
    ],
)
def test_a_wrong_link_is_refused_in_one_sentence(query, word):
    with pytest.raises(SettingsError) as caught:
        lessons.lesson_from(query)
    assert word in caught.value.message
    assert "\n" not in caught.value.message
    assert len(caught.value.message) < 500


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"{}", b"\xff\xfe", b'{"format": "octcore-lesson", "version": 9}']
)
def test_a_file_that_is_no_lesson_is_refused(content):
    with pytest.raises(SettingsError):
        lessons.read_lesson(content)


def test_drawn_points_are_the_data():
    lesson = lessons.with_points(lessons.default_lesson(), DRAWN)
    data = lessons.lesson_data(lesson)
    assert data.n_samples == 4
    assert data.frame["x"].tolist() == [0.1, 0.2, 0.9, 0.8]
    assert [data.classes[k] for k in data.y] == ["A", "B", "B", "A"]


def test_points_of_one_class_only_are_refused():
    lesson = lessons.lesson_from({"set": "drawn", "points": "1-1-0_2-2-0"})
    with pytest.raises(SettingsError, match="both classes"):
        lessons.lesson_data(lesson)


def test_the_story_greedy_below_optimal_below_margins():
    lesson = lessons.default_lesson()
    data = lessons.lesson_data(lesson)
    runs = [solve(data, **lessons.solve_settings(lesson, key)) for key in lesson.formulations]
    accuracies = [run.accuracy for run in runs]
    assert accuracies[0] < accuracies[1] < accuracies[2] == 1.0
    assert [run.is_optimal for run in runs] == [False, True, True]
    widths = [lesson_numbers(r.needed).narrowest for r in runs]
    assert widths[2] > 0.05 > max(widths[:2])


@pytest.mark.parametrize("key", [info.key for info in list_formulations()])
def test_every_formulation_has_a_text_and_settings_that_are_its_own(key):
    words = next(info for info in list_formulations() if info.key == key).teaching
    assert words is not None
    assert words.idea.endswith(".")
    assert words.look.endswith(".")
    settings = lessons.solve_settings(lessons.default_lesson(), key)
    info = next(info for info in list_formulations() if info.key == key)
    assert set(settings["params"]) <= {p.name for p in info.hyperparameters}


def test_only_what_matters_to_a_tree_makes_it_grow_again():
    lesson = lessons.default_lesson()
    other = lessons.lesson_from({"C_last": 10, "show": "margot,cart"})
    assert lessons.run_key(lesson, "cart") == lessons.run_key(other, "cart")
    assert lessons.run_key(lesson, "margot") != lessons.run_key(other, "margot")


def test_truth_divides_the_square_and_rings_turned_labels():
    lesson = lessons.lesson_from({"flip": "0.1"})
    truth = truth_data(lessons.lesson_set(lesson))
    assert len(truth.segments) == 3
    assert len(truth.flipped) == 11
    areas = [_area(region.polygon) for region in truth.regions]
    assert sum(areas) == pytest.approx(1.04**2)
    assert not truth_data(None).is_known


def _area(polygon):
    x, y = np.array(polygon).T
    return 0.5 * abs(np.dot(x, np.roll(y, 1)) - np.dot(y, np.roll(x, 1)))


def test_board_shows_every_point_on_its_place():
    points, codes = lessons.lesson_points(lessons.with_points(lessons.default_lesson(), DRAWN))
    data = board_data(points, codes, Truth(), DARK, "origin", 3)
    assert data["points"] == [list(point) for point in DRAWN]
    assert data["serial"] == 3
    json.dumps(data, allow_nan=False)


def test_only_bands_that_can_be_seen_are_drawn_and_ring_points():
    lesson = lessons.default_lesson()
    data = lessons.lesson_data(lesson)
    run = solve(data, **lessons.solve_settings(lesson, "margot"))
    assert wide_bands(run.tree, run.encoding, data) == (1,)
    record = lesson_plane(run.tree, run.encoding, data)
    assert record.lines[1].line
    assert not record.lines[1].band
    assert all(record.lines[node].band for node in (2, 3))
    rings = next(t for t in plane_figure(record, LIGHT).data if t.name == "support vector")
    assert len(rings.x) == 6
    split = run.tree.splits[1]
    (start, end), *_ = record.lines[1].line  # without its band: where the rows part
    scores = split.project(run.encoding.transform(pd.DataFrame([start, end], columns=["x", "y"])))
    assert scores == pytest.approx(split.threshold)


def test_rings_of_planes_that_know_no_class_lie_in_their_bands():
    lesson = lessons.lesson_from({"n": 40, "show": "s-oct"})
    data = lessons.lesson_data(lesson)
    run = solve(data, **lessons.solve_settings(lesson, "s-oct"))
    record = lesson_plane(run.tree, run.encoding, data, run.formulation)
    ringed = sum(map(len, plane_rings(record)))
    assert 0 < ringed < 20


@pytest.mark.parametrize("seed", range(4))
def test_the_lesson_on_margins_shows_every_band(seed):
    lesson = lessons.lesson_from({"set": "wedges", "show": "margot", "seed": seed})
    data = lessons.lesson_data(lesson)
    run = solve(data, **lessons.solve_settings(lesson, "margot"))
    assert run.is_optimal
    assert run.accuracy == 1.0
    record = lesson_plane(run.tree, run.encoding, data)
    assert not wide_bands(run.tree, run.encoding, data)
    assert all(record.lines[node].band for node in (1, 2, 3))
    assert sum(map(len, plane_rings(record))) < 30


def test_a_legend_names_what_its_pictures_can_show():
    truth = truth_data(lessons.lesson_set(lessons.default_lesson()), labels_too=True)
    assert "support" not in legend_parts(LIGHT, None, with_margins=False)
    assert "truth" not in legend_parts(LIGHT, None, with_margins=True)
    assert all(w in legend_parts(LIGHT, truth, True) for w in ("support vector", "truth"))


def plane_rings(record):
    return [t.x for t in plane_figure(record, LIGHT).data if t.name == "support vector"]


def test_a_class_is_three_lessons_with_a_sheet():
    parts = lessons.course()
    assert [lessons.part_of(part.lesson) for part in parts] == [0, 1, 2]
    assert lessons.part_of(lessons.default_lesson("moons")) is None
    sheet = sheet_html()
    assert sheet.count("<section>") == 3
    assert sheet.count("<svg") == 3
    assert all(escape(task) in sheet for part in parts for task in part.tasks)


def test_plane_of_a_lesson_is_the_whole_square():
    lesson = lessons.with_points(lessons.default_lesson(), DRAWN)
    data = lessons.lesson_data(lesson)
    run = solve(data, **lessons.solve_settings(lesson, "path-search"))
    record = lesson_plane(run.tree, run.encoding, data)
    assert sum(_area(region.polygon) for region in record.regions) == pytest.approx(1.04**2)
    assert set(record.lines) == set(run.tree.splits)
    assert all(lines.line for lines in record.lines.values())
    figure = add_truth(plane_figure(record, LIGHT), truth_data(None), LIGHT)
    assert figure.layout.xaxis.title.text == "x"


def test_the_margin_is_that_of_the_line_that_is_drawn():
    """A line without its band is drawn where the rows part, not where it was solved."""
    points = "5-379-0_124-685-0_8-950-0_670-650-0_525-840-1_647-688-1_257-704-0_615-388-1_764-875-1"
    points += "_383-135-0_460-578-1_997-721-1_804-845-0_980-525-0"
    lesson = lessons.lesson_from({"set": "drawn", "points": points, "depth": 1})
    data = lessons.lesson_data(lesson)
    run = solve(data, **lessons.solve_settings(lesson, "margot"), verify=False).needed
    (((x1, y1), (x2, y2)),) = lesson_plane(run.tree, run.encoding, data).lines[1].line
    x, y = data.frame[["x", "y"]].to_numpy().T
    distance = abs((x2 - x1) * (y - y1) - (y2 - y1) * (x - x1)) / np.hypot(x2 - x1, y2 - y1)
    assert lesson_numbers(run).narrowest == pytest.approx(2 * distance.min())
    assert abs(run.tree.splits[1].threshold + run.tree.splits[1].solved_offset) > 0.02


@pytest.mark.parametrize("key", ["margot", "svm1-odt"])
def test_the_margin_of_a_node_is_the_distance_in_the_picture(key):
    """On columns that were stretched to [0, 1] a node said 0.15 where the band was 0.06 wide."""
    rng = np.random.default_rng(0)
    points = tuple(
        (int(400 + 200 * x), int(1000 * y), int(y > 0.3 + 0.4 * x)) for x, y in rng.random((30, 2))
    )
    lesson = lessons.with_points(
        lessons.lesson_from({"set": "drawn", "points": "", "depth": 1}), points
    )
    data = lessons.lesson_data(lesson)
    run = solve(data, **lessons.solve_settings(lesson, key), verify=False).needed
    margins = node_margins(run.tree, run.encoding.transform(data.frame), data.codes)
    assert margins[1].width == pytest.approx(lesson_numbers(run).narrowest)
