"""The fan of good trees: every boundary of every tree is drawn, and no other."""

from __future__ import annotations

from dashboard.teaching import lessons
from dashboard.teaching.drawing import lesson_plane
from dashboard.views.teach.steps import fan_figure
from octcore.plotting.palette import LIGHT
from octcore.selection.alternatives import alternatives
from octcore.selection.near_optimal import near_optimal


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
