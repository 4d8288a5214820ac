"""Replay: frames and cuts of a trace, and their pictures."""

from __future__ import annotations

import numpy as np
import pytest

from dashboard.views.explore import replay as replay_widget
from octcore.engines.events import Event, Trace
from octcore.plotting.palette import LIGHT
from octcore.plotting.plane_plot import plane_data, plane_figure
from octcore.plotting.replay import (
    CutPicture,
    alike_rows,
    counts_figure,
    cut_pictures,
    cut_tree_figure,
    place_of,
    points_only,
    replay_data,
)
from octcore.solving.report import cut_counts
from octcore.tree.tree import Tree
from tests.unit.hostile import HOSTILE


@pytest.fixture
def stump(univariate) -> Tree:
    tree = univariate[0]
    return Tree({}, {1: 0}, tree.n_features, tree.n_classes, tree.classes, tree.features)


def test_frames_are_the_different_trees_with_their_sources(univariate, stump):
    tree, encoding, data = univariate
    trace = Trace(
        (
            Event(0.1, "incumbent", 0.5, source="warm start", tree=stump),
            Event(0.2, "incumbent", 0.5, 1.0, source="warm start", tree=stump),
            Event(0.5, "bound", 0.5, 0.9),
            Event(1.0, "incumbent", 0.9, 0.9, source="polish", tree=tree),
        )
    )
    frames = replay_data(trace, encoding, data)
    assert [frame.seconds for frame in frames] == [0.1, 1.0]
    assert [frame.accuracy for frame in frames] == [0.5, 1.0]
    assert [frame.source.startswith("warm start") for frame in frames] == [True, False]
    assert "polished" in frames[1].source
    assert frames[1].gap == 0.0


def cuts_trace() -> Trace:
    pictures = [
        {"kind": "benders", "row": 4, "class": 1, "nodes": [1, 2], "cut_arcs": [[2, 4], [1, 3]]},
        {"kind": "path-bound", "path": [[1, 0, 1]], "node": 3, "value": 7.5, "samples": [1]},
        {"kind": "equivalent-points", "split_set": [1], "rows": [0, 5]},
        {"kind": "shattering", "node": 1, "left": [0, 1], "right": [2]},
        {"kind": "unknown"},
    ]
    first = {"counts": {"benders": 5, "path-bound": 1}, "pictures": pictures}
    return Trace(
        (
            Event(0.5, "cuts", details=first),
            Event(0.7, "cuts", details={"counts": {"benders": 3}, "pictures": []}),
            Event(1.0, "finished"),
        )
    )


def test_cuts_are_counted_by_family():
    counts = cut_counts(cuts_trace())
    assert counts == {"benders": ((0.5, 0.7), (5, 8)), "path-bound": ((0.5,), (1,))}
    figure = counts_figure(counts, LIGHT, 1.0, at=0.5)
    assert [trace.name for trace in figure.data] == ["Benders cuts", "path bound cuts"]
    assert figure.layout.xaxis.title.text == "time since encoding began (s)"


def test_pictures_say_what_the_cut_says(univariate):
    _, encoding, data = univariate
    X = encoding.transform(data.frame)
    benders, bound, equal, shattered = cut_pictures(cuts_trace(), encoding, data)
    assert benders.arcs == ((2, 4), (1, 3))
    assert "Line 6 (class" in benders.words
    assert bound.path[0][:2] == (1, 1)
    assert "7.5" in bound.words
    assert equal.left == (0, 5)
    assert "Lines 2, 7" in equal.words
    assert shattered.words.startswith("No line has the 2 circled points")
    # Points of a shattering inequality are distinct rows; here the first row of each.
    first = [int(np.flatnonzero((X == row).all(axis=1))[0]) for row in np.unique(X, axis=0)]
    assert set(shattered.left + shattered.right) <= set(first)


def test_cut_tree_marks_nodes_arcs_and_path():
    picture = CutPicture(
        0.0, "benders", "", nodes=(1,), arcs=((1, 2),), path=((1, 1, "width ≤ 1"),)
    )
    figure = cut_tree_figure(picture, 2, LIGHT)
    widths = {tuple(t.x): t.line for t in figure.data if t.mode == "lines"}
    root, left, right = (place_of(node) for node in (1, 2, 3))
    assert widths[(root[0], left[0])].dash == "dash"
    assert widths[(root[0], right[0])].color == LIGHT.accent
    assert "width ≤ 1: no" in [a.text for a in figure.layout.annotations]
    nodes = next(t for t in figure.data if t.mode == "markers+text")
    assert len(nodes.x) == 7


def test_a_cut_of_points_is_drawn_without_the_tree(oblique):
    record = plane_data(*oblique, *oblique[2].feature_names)
    bare = points_only(record)
    assert record.regions
    assert not bare.regions
    assert not bare.lines
    assert not bare.dots.wrong.any()
    assert len(plane_figure(bare, LIGHT).data) == 4  # rows of a class, and its name


def test_alike_rows_show_the_split_set_first(univariate):
    data = univariate[2]
    picture = CutPicture(0.0, "equivalent-points", "", left=(0, 2), columns=(HOSTILE,))
    table = alike_rows(picture, data)
    assert list(table.columns) == ["line", "class of the row", f"≠ {HOSTILE}", "= width"]
    assert table["line"].tolist() == [2, 4]
    assert table[f"≠ {HOSTILE}"].nunique() == 2


def test_playing_moves_one_tree_at_a_time_and_ends_at_the_last():
    every = replay_widget.SECONDS_PER_TREE
    shown = [replay_widget.playing_position(1, k * every, 4) for k in range(6)]
    assert shown == [1, 2, 3, 3, 3, 3]
    assert replay_widget.playing_position(0, 0.5 * every, 4) == 0


def test_margins_of_s_oct_are_those_of_the_sides(oblique):
    tree, encoding, data = oblique
    swapped = tree.with_labels({4: tree.labels[5], 5: tree.labels[4]})
    axes = data.feature_names
    by_class = plane_data(swapped, encoding, data, *axes)
    by_side = plane_data(swapped, encoding, data, *axes, formulation="s-oct")
    mirrored = plane_data(tree, encoding, data, *axes, formulation="s-oct")
    for node, mask in by_side.dots.support.items():
        assert (mask == mirrored.dots.support[node]).all()
    assert any((by_class.dots.support[n] != by_side.dots.support[n]).any() for n in tree.splits)
