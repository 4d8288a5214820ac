"""The fan of good trees: every boundary of every tree is drawn, and no other."""

from __future__ import annotations

import pytest

from dashboard.teaching import lessons
from dashboard.teaching.drawing import lesson_plane, proof_figure
from dashboard.views.teach.trees import fan_figure, proven_tree
from octcore.formulations.base import of_common_objective
from octcore.plotting.palette import DARK, LIGHT
from octcore.selection.alternatives import alternatives
from octcore.selection.near_optimal import near_optimal
from octcore.solving.solve import solve
from octcore.verification.certificates.proof import ExcludedCuts


def test_the_fan_has_the_boundaries_of_all_good_trees():
    data = lessons.lesson_data(lessons.default_lesson())
    found = near_optimal(data, encoding="class-change", depth=2, tolerance=0.01)
    record = alternatives(found, tolerance=0.01)
    assert record.count == len(record.trees) > 1
    expected = {
        segment
        for good in record.trees
        for lines in lesson_plane(good.tree, record.encoding, data).lines.values()
        for segment in lines.line
    }
    fan = [t for t in fan_figure(record, data, LIGHT).data if t.name == "boundaries"]
    drawn = {
        ((t.x[i], t.y[i]), (t.x[i + 1], t.y[i + 1])) for t in fan for i in range(0, len(t.x), 3)
    }
    assert drawn == expected


def test_a_proof_is_shown_on_the_tree_that_was_shown_before_unless_that_is_worse():
    found = {}
    for key in ("4-partitions", "6-partitions"):
        lesson = lessons.default_lesson(key)
        data = lessons.lesson_data(lesson)
        keys = (of_common_objective()[0].key, "threshold-search")
        known, run = (solve(data, **lessons.solve_settings(lesson, k)).needed for k in keys)
        found[key] = proven_tree(run, known, data.n_samples), known, run
    (shown, more), known, run = found["4-partitions"]
    assert known.tree != run.tree
    assert (shown, more) == (known, "")
    (shown, more), known, run = found["6-partitions"]
    assert shown is run
    assert more.endswith(f" costs {(1 - known.objective) * known.n_train:g}.")


@pytest.mark.parametrize("depth", [2, 3])
@pytest.mark.parametrize("key", ["circles", "wedges"])
def test_good_trees_begin_with_the_optimal_tree_of_the_lesson(key, depth):
    """A greedy tree as good stayed the tree of the run, which of equal ones names another."""
    lesson = lessons.lesson_from({"set": key, "depth": depth, "leaf_penalty": 0.02})
    data = lessons.lesson_data(lesson)
    asked = lessons.solve_settings(lesson, of_common_objective()[0].key)
    run = solve(data, **asked, verify=False)
    search = {name: asked[name] for name in ("encoding", "depth", "params")}
    good = near_optimal(data, **search, tolerance=0.0)
    assert good.count > 1
    assert good.run_of(good.trees(1)[0]).tree == run.tree


def luminance(colour: list[float]) -> float:
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
    return sum(share * c for share, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def laid_over(colour: str, opacity: float, ground: list[float]) -> list[float]:
    own = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    return [opacity * a + (1 - opacity) * b for a, b in zip(own, ground, strict=True)]


@pytest.mark.parametrize("palette", [LIGHT, DARK])
def test_points_in_the_band_stand_out_from_it(palette):
    data = lessons.lesson_data(lessons.course()[0].lesson)
    figure = proof_figure(data, [ExcludedCuts(0, 0.2, 0.8, 0.0, 0.0)], True, palette)
    band = figure.layout.shapes[0]
    *rgb, alpha = [float(part) for part in band.fillcolor[5:-1].split(",")]
    filling = "#" + "".join(f"{int(c):02x}" for c in rgb)
    page = laid_over(palette.background, 1, [0.0] * 3)
    ground = laid_over(filling, alpha, page)
    for trace in figure.data:
        own = laid_over(trace.marker.color, trace.opacity or 1, ground)
        low, high = sorted([luminance(own), luminance(ground)])
        assert (high + 0.05) / (low + 0.05) > 2.9
    assert {trace.marker.symbol for trace in figure.data} >= {"circle", "circle-open"}
