"""Regions, planes and margins of trees whose picture is known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from octcore.data.dataset import Dataset
from octcore.encoding.base import EncodedColumn, Encoding
from octcore.encoding.fit import fit_encoding
from octcore.tree.geometry import (
    Line,
    PlaneView,
    area,
    box,
    clip,
    clip_segment,
    leaf_regions,
    node_cells,
    node_margins,
    split_lines,
)
from octcore.tree.tree import Split, Tree
from tests.regions import contains, region_of

SQUARE = box((0.0, 1.0), (0.0, 1.0))
UNITS = Encoding("none", (EncodedColumn("x", "value"), EncodedColumn("y", "value")), ("x", "y"))


def two_level_tree() -> Tree:
    """x + y <= 1 at the root (unit margin), then y <= 0.5 on the right."""
    root = Split(((0, 4.0), (1, 4.0)), 4.0, -4.0, True)
    return Tree({1: root, 3: Split.on_feature(1, 0.5)}, {2: 0, 6: 1, 7: 0}, 2, 2, ("no", "yes"))


def unit_view() -> PlaneView:
    return PlaneView(UNITS, "x", "y", (0.0, 1.0), (0.0, 1.0))


def test_clipping_a_square() -> None:
    half = clip(SQUARE, Line(1.0, 1.0, 1.0))
    assert area(half) == 0.5
    assert clip(SQUARE, Line(1.0, 0.0, -1.0)) == ()
    assert clip(SQUARE, Line(1.0, 0.0, 2.0)) == SQUARE
    (segment,) = clip_segment(SQUARE, Line(1.0, 1.0, 1.0))
    assert {segment[0], segment[1]} == {(0.0, 1.0), (1.0, 0.0)}
    assert clip_segment(SQUARE, Line(1.0, 1.0, 3.0)) == ()
    assert contains(half, (0.2, 0.2))
    assert not contains(half, (0.9, 0.9))


def test_regions_of_an_oblique_tree() -> None:
    regions = leaf_regions(two_level_tree(), unit_view())
    assert {r.leaf: round(area(r.polygon), 12) for r in regions} == {2: 0.5, 6: 0.125, 7: 0.375}
    assert {r.leaf: r.code for r in regions} == {2: 0, 6: 1, 7: 0}
    found = region_of(regions, (0.9, 0.3))
    assert found is not None
    assert found.leaf == 6
    assert region_of(regions, (1.5, 0.3)) is None


def test_unit_margins_are_drawn_inside_the_cell() -> None:
    lines = split_lines(two_level_tree(), unit_view())
    root, right = lines[1], lines[3]
    assert root.kind == "unit"
    assert set(root.line[0]) == {(0.0, 1.0), (1.0, 0.0)}
    assert {round(x + y, 12) for x, y in root.low[0]} == {0.75}  # 4 x + 4 y - 4 = -1
    assert {round(x + y, 12) for x, y in root.high[0]} == {1.25}
    assert area(root.band[0]) == pytest.approx(1 - 2 * 0.75**2 / 2)
    assert right.kind == "none"
    assert sorted(right.line[0]) == [(0.5, 0.5), (1.0, 0.5)]  # not left of x + y = 1
    assert not right.band


def test_a_moved_threshold_moves_regions_but_not_the_solved_line() -> None:
    tree = Tree({1: Split(((0, 2.0),), 0.8, -1.0, True)}, {2: 0, 3: 1}, 2, 2)
    areas = {r.leaf: area(r.polygon) for r in leaf_regions(tree, unit_view())}
    assert areas[2] == pytest.approx(0.4)
    root = split_lines(tree, unit_view())[1]
    assert {point[0] for point in root.line[0]} == {0.5}
    assert {point[0] for point in root.low[0]} == {0.0}


def test_splits_without_weights_are_skipped() -> None:
    tree = Tree({1: Split((), 1.0), 2: Split.on_feature(0)}, {3: 1, 4: 0, 5: 1}, 2, 2)
    cells = node_cells(tree, unit_view())
    assert cells[3] == ()
    assert area(cells[2][0]) == 1.0
    assert list(split_lines(tree, unit_view())) == [2]


def test_scaled_columns_are_drawn_in_raw_units() -> None:
    columns = (
        EncodedColumn("x", "scaled", shift=10.0, scale=5.0),
        EncodedColumn("y", "scaled", shift=-2.0, scale=4.0),
    )
    view = PlaneView(Encoding("scaled", columns, ("x", "y")), "x", "y", (10.0, 15.0), (-2.0, 2.0))
    regions = leaf_regions(two_level_tree(), view)
    shares = {r.leaf: area(r.polygon) / 20 for r in regions}
    assert shares == {2: pytest.approx(0.5), 6: pytest.approx(0.125), 7: pytest.approx(0.375)}
    assert set(split_lines(two_level_tree(), view)[1].line[0]) == {(10.0, 2.0), (15.0, -2.0)}


@pytest.fixture
def buckets() -> tuple[Dataset, Encoding]:
    grid = np.array([[i, j] for i in range(8) for j in range(8)], dtype=float)
    data = Dataset.from_arrays(grid, feature_names=["x", "y"])
    return data, fit_encoding("QB-4", data, few=0)


def test_a_bucket_leaves_a_cell_in_two_pieces(buckets: tuple[Dataset, Encoding]) -> None:
    _, encoding = buckets
    second = next(j for j, c in enumerate(encoding.columns) if c.raw == "x" and c.lower)
    column = encoding.columns[second]
    assert column.lower is not None
    assert column.upper is not None
    tree = Tree({1: Split.on_feature(second)}, {2: 0, 3: 1}, len(encoding.columns), 2)
    view = PlaneView(encoding, "x", "y", (0.0, 7.0), (0.0, 7.0))
    cells = node_cells(tree, view)
    assert len(cells[2]) == 2
    assert len(cells[3]) == 1
    assert sum(area(p) for p in (*cells[2], *cells[3])) == pytest.approx(49)
    assert {p[0] for p in cells[3][0]} == {column.lower, column.upper}
    edges = split_lines(tree, view)[1]
    assert edges.kind == "none"
    assert {edge[0][0] for edge in edges.line} == {column.lower, column.upper}


def test_every_category_takes_a_strip_of_its_axis() -> None:
    data = Dataset.from_arrays(
        pd.DataFrame({"x": ["s", "m", "l"] * 2, "y": [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]}),
        [0, 1, 0, 1, 0, 1],
    )
    encoding = fit_encoding("raw", data)
    middle = next(j for j, c in enumerate(encoding.columns) if c.level == "m")
    view = PlaneView(encoding, "x", "y", (-0.5, 2.5), (0.0, 5.0), levels={"x": ("s", "m", "l")})
    tree = Tree({1: Split.on_feature(middle)}, {2: 0, 3: 1}, len(encoding.columns), 2)
    cells = node_cells(tree, view)
    assert [{p[0] for p in piece} for piece in cells[3]] == [{0.5, 1.5}]
    assert sum(area(piece) for piece in cells[2]) == pytest.approx(10.0)
    assert {edge[0][0] for edge in split_lines(tree, view)[1].line} == {0.5, 1.5}


def test_other_columns_are_held_at_given_values() -> None:
    frame = pd.DataFrame(
        {"x": [0.0, 4.0, 2.0], "y": [0.0, 2.0, 1.0], "c": ["red", "blue", "green"]}
    )
    encoding = fit_encoding("scaled", Dataset.from_arrays(frame))
    red = next(j for j, c in enumerate(encoding.columns) if c.level == "red")
    weights = np.zeros(len(encoding.columns))
    weights[0], weights[red] = 1.0, 0.5  # x/4 + 0.5 [red] <= 0.75
    tree = Tree({1: Split.on_plane(weights, -0.75)}, {2: 0, 3: 1}, len(weights), 2)
    for colour, cut in (("red", 1.0), ("blue", 3.0), ("never seen", 3.0)):
        view = PlaneView(encoding, "x", "y", (0.0, 4.0), (0.0, 2.0), {"c": colour})
        assert max(p[0] for p in node_cells(tree, view)[2][0]) == pytest.approx(cut)


def test_unit_margin_numbers() -> None:
    tree = Tree({1: Split(((0, 4.0),), 2.0, -2.0, True)}, {2: 0, 3: 1}, 1, 2)
    X = np.array([[0.0], [0.25], [0.4], [0.6], [0.75], [1.0]])
    y = np.array([0, 0, 0, 0, 1, 1])
    margin = node_margins(tree, X, y)[1]
    assert margin.kind == "unit"
    assert margin.width == 0.5
    np.testing.assert_array_equal(margin.support, [False, True, True, True, True, False])
    swapped = node_margins(tree, X, 1 - y, positive=0)[1]
    np.testing.assert_array_equal(swapped.support, margin.support)


def test_geometric_margin_reaches_the_nearest_rows() -> None:
    tree = Tree({1: Split.on_plane([3.0, 4.0], -2.5)}, {2: 0, 3: 1}, 2, 2)
    X = np.array([[0.0, 0.0], [0.5, 0.0], [0.5, 0.5], [1.0, 1.0]])
    margin = node_margins(tree, X)[1]
    assert margin.kind == "geometric"
    assert (margin.low, margin.high) == (1.5, 3.5)
    assert margin.width == pytest.approx(2 / 5)
    np.testing.assert_array_equal(margin.support, [False, True, True, False])
    drawn = split_lines(tree, unit_view(), {1: margin})[1]
    assert drawn.kind == "geometric"
    assert all(3 * x + 4 * y == pytest.approx(1.5) for x, y in drawn.low[0])
    assert all(3 * x + 4 * y == pytest.approx(3.5) for x, y in drawn.high[0])
    one_side = node_margins(tree, X[:2])[1]
    assert one_side.high == np.inf
    assert split_lines(tree, unit_view(), {1: one_side})[1].kind == "none"


@pytest.mark.parametrize("unit_margin", [False, True])
def test_a_plane_whose_weights_are_zero_has_no_margin(unit_margin: bool) -> None:
    """A file may hold one; its report ended in a division by zero."""
    split = Split(((0, 0.0),), 0.0, 0.0, unit_margin)
    assert node_margins(Tree({1: split}, {2: 0, 3: 1}, 1, 2), np.zeros((3, 1))) == {}
