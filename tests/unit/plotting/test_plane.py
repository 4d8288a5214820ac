from dataclasses import replace

import numpy as np
import pytest

from dashboard.views.explore.plane_panel import band_words, slice_values
from dashboard.views.explore.why_split import cut_of, moved_accuracy
from octcore.data.dataset import Dataset
from octcore.data.reading import read_csv
from octcore.encoding.fit import fit_encoding
from octcore.plotting.palette import LIGHT
from octcore.plotting.plane_plot import (
    MOST_POINTS,
    _visits,
    default_axes,
    plane_data,
    plane_figure,
    typical_values,
)
from octcore.solving.solve import solve
from octcore.tree.geometry import area
from octcore.tree.raw_units import left_condition
from octcore.tree.tree import Split, Tree
from tests.regions import region_of
from tests.unit.hostile import HOSTILE


def test_regions_fill_the_box_and_agree_with_routing(oblique):
    tree, encoding, data = oblique
    record = plane_data(tree, encoding, data, "width", HOSTILE)
    box = (record.places.across.range[1] - record.places.across.range[0]) * (
        record.places.up.range[1] - record.places.up.range[0]
    )
    assert sum(area(r.polygon) for r in record.regions) == pytest.approx(box)
    for x, y, leaf in zip(record.dots.x, record.dots.y, record.dots.leaf, strict=True):
        region = region_of(record.regions, (x, y))
        assert region is not None
        assert region.leaf == leaf


def test_oblique_tree_has_margin_bands_between_its_lines(oblique):
    tree, encoding, data = oblique
    record = plane_data(tree, encoding, data, "width", HOSTILE)
    assert record.has_margins
    assert record.last_level == {2, 3}
    lines = record.lines[1]
    assert lines.kind == "unit"
    # Root: 4 s - 2 = -1, 0, 1 on the scaled column, which spans [0, 1.1].
    assert {round(p[0], 9) for seg in lines.line for p in seg} == {0.55}
    assert {round(p[0], 9) for seg in lines.low for p in seg} == {0.275}
    assert {round(p[0], 9) for seg in lines.high for p in seg} == {0.825}
    width = (0.825 - 0.275) * (record.places.up.range[1] - record.places.up.range[0])
    assert sum(area(p) for p in lines.band) == pytest.approx(width)


def test_figure_draws_regions_lines_margins_and_escapes_names(oblique):
    tree, encoding, data = oblique
    record = plane_data(tree, encoding, data, "width", HOSTILE)
    figure = plane_figure(record, LIGHT, selected=2)
    fills = [t for t in figure.data if t.fill == "toself"]
    assert len(fills) >= len(record.regions)
    assert any(t.line.color == LIGHT.accent for t in fills)
    names = " ".join(str(t.name) for t in figure.data)
    assert "split of node 1" in names
    assert "margin of node 2" in names
    assert "margin of node 1" not in names  # upper bands are drawn on demand
    assert "margin of node 1" in " ".join(
        str(t.name) for t in plane_figure(record, LIGHT, all_margins=True).data
    )
    text = figure.to_json()
    assert "<img" not in text.replace("\\u003c", "<")
    assert figure.layout.yaxis.scaleanchor == "x"


def test_univariate_plane_needs_no_equal_units(univariate):
    tree, encoding, data = univariate
    record = plane_data(tree, encoding, data, "width", HOSTILE)
    assert not record.has_margins
    assert plane_figure(record, LIGHT).layout.yaxis.scaleanchor is None
    assert not record.dots.wrong.any()


def test_errors_are_crossed_and_other_rows_faded(univariate):
    tree, encoding, data = univariate
    swapped = tree.with_labels({4: tree.labels[5]})
    record = plane_data(swapped, encoding, data, "width", HOSTILE)
    assert record.dots.wrong.sum() == 3
    figure = plane_figure(record, LIGHT, selected=3)
    crosses = next(t for t in figure.data if t.name == "misclassified")
    assert len(crosses.x) == 3
    opacity = np.concatenate([t.marker.opacity for t in figure.data if t.customdata is not None])
    assert (opacity > 0.9).sum() == 6
    assert np.allclose(crosses.marker.opacity, 0.2)  # crosses of other leaves fade as well


def test_visits_follow_the_numbering():
    leaves = np.array([4, 5, 6, 14, 15])
    assert _visits(leaves, 1).all()
    assert _visits(leaves, 2).tolist() == [True, True, False, False, False]
    assert _visits(leaves, 7).tolist() == [False, False, False, True, True]
    assert _visits(leaves, 14).tolist() == [False, False, False, True, False]


def test_axes_are_the_most_used_numbers(univariate):
    tree, encoding, data = univariate
    assert default_axes(tree, encoding, data) == ("width", HOSTILE)


def test_other_columns_are_held_at_typical_values():
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.random((60, 3))])
    data = Dataset.from_arrays(X, rng.integers(0, 2, 60), feature_names=["a", "b", "c"])
    from octcore.encoding.fit import fit_encoding
    from octcore.tree.tree import Split, Tree

    encoding = fit_encoding("scaled", data)
    split = Split.on_plane([1.0, 1.0, 1.0], -1.5)
    tree = Tree({1: split}, {2: 0, 3: 1}, 3, 2)
    record = plane_data(tree, encoding, data, "a", "b")
    assert record.held == {"c": pytest.approx(float(np.median(X[:, 2])))}
    assert typical_values(data, ["c"]) == record.held


def test_the_first_slice_goes_through_the_split_of_an_axis():
    rows = [f"b,{i % 9},{i % 7},no" for i in range(60)]
    rows += [f"a,{i % 9},{i % 7},{'yes' if i % 9 > 4 else 'no'}" for i in range(45)]
    data = read_csv(("k,x,z,y\n" + "\n".join(rows)).encode(), target="y")
    run = solve(data, depth=2).needed
    assert run.encoding.tested(run.tree.used_features) == ("k", "x")
    assert slice_values(run, ["k"], ("x", "z")) == {"k": "a"}
    assert typical_values(data, ["k"]) == {"k": "b"}  # where nothing is split by x


def test_many_rows_are_thinned():
    n = MOST_POINTS + 500
    rng = np.random.default_rng(0)
    data = Dataset.from_arrays(rng.random((n, 2)), rng.integers(0, 2, n), feature_names=["a", "b"])
    from octcore.encoding.fit import fit_encoding
    from octcore.tree.tree import Tree

    encoding = fit_encoding("scaled", data)
    record = plane_data(Tree.leaf(0, 2, 2), encoding, data, "a", "b")
    assert len(record.dots.row) == MOST_POINTS
    assert record.n_rows == n
    told = [trace for trace in plane_figure(record, LIGHT).data if trace.customdata is not None]
    lines = sorted(int(row[1]) for trace in told for row in trace.customdata)
    assert lines == data.row_lines[record.dots.row].tolist()
    assert all(", line %{customdata[1]}<br>" in trace.hovertemplate for trace in told)


def test_band_of_the_selected_node_is_drawn_or_said_to_be_wider(oblique):
    tree, encoding, data = oblique
    record = plane_data(tree, encoding, data, "width", HOSTILE)
    names = [t.name for t in plane_figure(record, LIGHT, selected=1).data]
    assert "margin of node 1" in names
    assert band_words(record, 1) == ""
    flat = replace(tree.splits[1], weights=((0, 0.1),), offset=-0.05, threshold=0.05)
    wide = replace(tree, splits={**tree.splits, 1: flat})
    record = plane_data(wide, encoding, data, "width", HOSTILE)
    assert "wider than the picture" in band_words(record, 1)


def test_rows_outside_the_slice_are_faded():
    rng = np.random.default_rng(3)
    data = Dataset.from_arrays(
        rng.random((60, 3)), rng.integers(0, 2, 60), feature_names=["a", "b", "c"]
    )
    encoding = fit_encoding("raw", data)
    tree = Tree({1: Split.on_feature(2, 0.5)}, {2: 0, 3: 1}, 3, 2, data.classes, encoding.names)
    record = plane_data(tree, encoding, data, "a", "b", {"c": 0.1})
    assert np.array_equal(record.dots.outside, data.frame["c"].to_numpy() > 0.5)
    figure = plane_figure(record, LIGHT)
    opacity = np.concatenate([t.marker.opacity for t in figure.data if t.customdata is not None])
    assert (opacity < 0.5).sum() == record.dots.outside.sum()


def test_a_moved_threshold_is_judged_by_routing(univariate):
    tree, encoding, data = univariate
    cut = cut_of(left_condition(tree.splits[1], encoding))
    assert cut is not None
    assert cut.raw == "width"
    # All rows on one side: half of them meet the labels of the other side.
    assert moved_accuracy(tree, encoding, data, 1, cut, cut.value, 99.0) == (1.0, 0.5)
    assert cut_of(None) is None
