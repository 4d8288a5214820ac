"""The plane of two raw columns: exact regions, hyperplanes, margins, rows and errors."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import plotly.graph_objects as go

from octcore.data.dataset import Dataset
from octcore.encoding.base import Encoding
from octcore.formulations.base import get_formulation
from octcore.plotting import text
from octcore.plotting.layout import BREAK, area, curve, framed, mark
from octcore.plotting.palette import Palette, translucent
from octcore.plotting.plane_axes import Places, lay_out_axes, make_axis, plane_columns
from octcore.tree import geometry
from octcore.tree.tree import Tree

MOST_POINTS = 2000  # more dots than this cannot be told apart and make the browser slow
MOST_NAMED = 12  # of so many classes all are in the legend; of more those that the tree gives


@dataclass(frozen=True, eq=False)
class Dots:
    """Rows as dots; arrays of one length."""

    row: np.ndarray
    line: np.ndarray  # of the table
    x: np.ndarray
    y: np.ndarray  # `x`, `y`: places in the picture
    code: np.ndarray
    leaf: np.ndarray
    wrong: np.ndarray
    support: Mapping[int, np.ndarray]  # by branch node with a unit margin: its support vectors
    outside: np.ndarray
    """The row's own values of the held columns lead it to another leaf than the slice shows."""
    x_words: tuple[str, ...]
    y_words: tuple[str, ...]  # `x_words`, `y_words`: raw values in words


@dataclass(frozen=True, eq=False)
class PlaneRecord:
    """What the plane shows; all coordinates are places in the picture."""

    places: Places
    classes: tuple[Any, ...]
    regions: tuple[geometry.Region, ...]
    cells: Mapping[int, tuple[geometry.Polygon, ...]]
    lines: Mapping[int, geometry.SplitLines]  # hyperplanes and margins of branch nodes
    last_level: frozenset[int]  # branch nodes whose children are both leaves
    dots: Dots
    held: Mapping[str, Any] = field(default_factory=dict)
    """Values of the other columns that the tree uses; empty when there are none."""
    n_rows: int = 0  # rows of the data set, of which `dots` may show a part

    @property
    def has_margins(self) -> bool:
        """Whether some split has a margin band."""
        return any(lines.band for lines in self.lines.values())


def default_axes(tree: Tree, encoding: Encoding, data: Dataset) -> tuple[str, str] | None:
    """Choose two axes: the columns that the tree uses most, numbers first; None without two."""
    names = plane_columns(data)
    if len(names) < 2:
        return None
    used = [n for s in tree.splits.values() for n in {encoding.columns[j].raw for j in s.features}]
    order = sorted(names, key=lambda name: (-used.count(name), data.column(name).kind != "numeric"))
    first, second = sorted(order[:2], key=names.index)
    return first, second


def typical_values(data: Dataset, names: list[str]) -> dict[str, Any]:
    """Median of numeric columns and most frequent level of the others."""
    found: dict[str, Any] = {}
    for name in names:
        values = data.frame[name]
        is_number = data.column(name).kind == "numeric"
        found[name] = float(np.median(values.to_numpy())) if is_number else values.mode().iloc[0]
    return found


def plane_data(
    tree: Tree,
    encoding: Encoding,
    data: Dataset,
    x: str,
    y: str,
    held: Mapping[str, Any] | None = None,
    formulation: str = "",
    places: Places | None = None,
) -> PlaneRecord:
    """Compute regions, lines and dots.

    `x`, `y`: raw columns, two of `plane_columns`.
    `held`: values of other columns; typical ones where not given.
    `formulation`: key of the formulation that made the tree; says what its margins are.
    `places`: both axes; just around the rows where not given.
    """
    used = {encoding.columns[j].raw for j in tree.used_features} - {x, y}
    others = typical_values(data, sorted(used)) | dict(held or {})
    places = places or Places(make_axis([data], x), make_axis([data], y))
    across, up = places.across, places.up
    levels = {axis.name: axis.levels for axis in (across, up) if axis.scale == "levels"}
    ends = across.raw_range, up.raw_range
    view = geometry.PlaneView(encoding, across.name, up.name, *ends, others, levels)
    X = tree.encoded(encoding, data.frame)
    last = data.n_classes - 1
    positive = last if data.positive_class is None else data.classes.index(data.positive_class)
    of_sides = bool(formulation) and get_formulation(formulation).info.has_side_margins
    margins = geometry.node_margins(tree, X, None if of_sides else data.codes, positive)
    lines = geometry.split_lines(tree, view, margins)
    cells = geometry.node_cells(tree, view)
    return PlaneRecord(
        places,
        data.classes,
        tuple(
            replace(region, polygon=places.polygon(region.polygon))
            for region in geometry.leaf_regions(tree, view)
        ),
        {node: tuple(map(places.polygon, cell)) for node, cell in cells.items()},
        {
            node: replace(
                found,
                line=places.segments(found.line),
                low=places.segments(found.low),
                high=places.segments(found.high),
                band=tuple(map(places.polygon, found.band)),
            )
            for node, found in lines.items()
        },
        frozenset(m for m in tree.splits if {2 * m, 2 * m + 1} <= set(tree.labels)),
        _dots_of(tree, encoding, data, places, (X, margins, others)),
        {name: others[name] for name in sorted(used)},
        len(X),
    )


def _dots_of(
    tree: Tree,
    encoding: Encoding,
    data: Dataset,
    places: Places,
    computed: tuple[np.ndarray, Mapping[int, geometry.NodeMargin], Mapping[str, Any]],
) -> Dots:
    X, margins, others = computed
    rows = np.arange(len(X))
    if len(rows) > MOST_POINTS:
        rows = np.sort(np.random.default_rng(0).choice(len(X), MOST_POINTS, replace=False))
    frame = data.frame.iloc[rows]
    leaves = tree.apply(X)
    in_slice = leaves[rows]
    used = sorted({encoding.columns[j].raw for j in tree.used_features} & set(others))
    if used:
        moved = frame.assign(**{name: others[name] for name in used})
        in_slice = tree.apply(tree.encoded(encoding, moved))
    return Dots(
        rows,
        data.row_lines[rows],
        places.across.dots(frame, 0),
        places.up.dots(frame, 1),
        data.codes[rows],
        leaves[rows],
        tree.is_wrong(X, data.codes)[rows],
        {
            node: np.isin(rows, margin.rows[margin.support])
            for node, margin in margins.items()
            if margin.kind == "unit"
        },
        in_slice != leaves[rows],
        tuple(map(_value_words, frame[places.across.name])),
        tuple(map(_value_words, frame[places.up.name])),
    )


def _value_words(value: Any) -> str:
    if isinstance(value, str):
        return text.plotly(value, 24)
    is_plain = value % 1 == 0 and abs(value) < 1e4  # as a year, without decimals and marks
    return text.minus(f"{value:.0f}") if is_plain else text.number(float(value))


def plane_figure(
    record: PlaneRecord,
    palette: Palette,
    selected: int = 1,
    all_margins: bool = False,
    marked: tuple[float, float] | None = None,
    equal_units: bool | None = None,
) -> go.Figure:
    """Draw the plane.

    `selected`: selected node; rows that do not visit it are faded.  0 selects none.
    `all_margins`: margins of all nodes instead of those above the leaves and of the selected node
    only.
    `marked`: place of a row to point out.
    `equal_units`: whether both axes have one scale; None where that shows hyperplanes as they are.
    """
    figure = framed(palette, 460)
    for region in record.regions:
        area(figure, region.polygon, palette.class_tint(region.code))
    wanted = record.last_level | {selected}
    banded = [node for node in record.lines if all_margins or node in wanted]
    for node in banded:
        _margin(figure, record.lines[node], palette)
    for node, lines in record.lines.items():
        _segments(figure, lines.line, f"split of node {node}", color=palette.text, width=2)
    if selected > 1:
        for polygon in record.cells.get(selected, ()):
            area(figure, polygon, "rgba(0,0,0,0)", color=palette.accent, width=3)
    _dots(figure, record, palette, selected, banded)
    if marked is not None:
        ring = mark("circle-open", 22, palette.accent, width=4)
        curve(figure, [marked], "chosen row", marker=ring)
    lay_out_axes(figure, record.places, palette)
    if has_equal_units(record) if equal_units is None else equal_units:
        figure.update_yaxes(scaleanchor="x")
    return figure


def has_equal_units(record: PlaneRecord) -> bool:
    """Whether both axes get one scale: angles and margins of hyperplanes are then true."""
    axes = (record.places.across, record.places.up)
    if any(axis.scale != "linear" for axis in axes):
        return False
    width, height = (high - low for low, high in (axis.range for axis in axes))
    is_oblique = any(
        abs(x1 - x2) > 1e-6 * width and abs(y1 - y2) > 1e-6 * height
        for lines in record.lines.values()
        for (x1, y1), (x2, y2) in lines.line
    )
    return is_oblique and 0.4 <= height / width <= 2.0


def _segments(
    figure: go.Figure, segments: tuple[geometry.Segment, ...], name: str, **line: Any
) -> None:
    if segments:
        pieces = [point for ends in segments for point in (*ends, BREAK)]
        curve(figure, pieces, name, line=line, showlegend=False)


def _margin(figure: go.Figure, lines: geometry.SplitLines, palette: Palette) -> None:
    for polygon in lines.band:
        area(figure, polygon, translucent("#8891a0", 0.3))
    dash = "dash" if lines.kind == "unit" else "dot"
    name = f"margin of node {lines.node}"
    for segments in (lines.low, lines.high):
        _segments(figure, segments, name, color=palette.muted, width=1.3, dash=dash)


def _visits(leaves: np.ndarray, node: int) -> np.ndarray:
    """Whether the way to each leaf passes a node."""
    levels_below = np.frexp(leaves)[1] - node.bit_length()
    return leaves >> np.maximum(levels_below, 0) == node


def _dots(
    figure: go.Figure, record: PlaneRecord, palette: Palette, selected: int, banded: list[int]
) -> None:
    dots = record.dots
    visited = _visits(dots.leaf, max(1, selected))
    # Rows that do not visit the selected node are faded, and those that are not in the slice.
    opacity = np.where(visited, np.where(dots.outside, 0.4, 0.95), 0.18)
    # Larger where a cross goes on top: shape and colour still tell the true class.
    sizes = np.where(dots.wrong, 13, 9)
    has_few = len(record.classes) <= MOST_NAMED
    named = {region.code for region in record.regions}
    for k, name in enumerate(text.unique_labels(record.classes, 24)):
        here = np.flatnonzero(dots.code == k)
        look = mark(palette.class_marker(k), 9, palette.class_colour(k), palette.outline, 0.8)
        curve(
            figure,
            zip(dots.x[here], dots.y[here], strict=True),
            name,
            f"{name}, line %{{customdata[1]}}<br>%{{customdata[2]}}, %{{customdata[3]}}"
            "<br>in leaf %{customdata[0]}",
            showlegend=False,
            # Lists: rows of a binary array come back from the browser as mappings.
            customdata=[
                [int(dots.leaf[i]), int(dots.line[i]), dots.x_words[i], dots.y_words[i]]
                for i in here
            ],
            marker=look | {"size": sizes[here].tolist(), "opacity": opacity[here].tolist()},
        )
        if has_few or k in named:
            curve(figure, [BREAK], name, marker=look)  # plotly names marks as faint as their rows
    supports = [mask for node, mask in dots.support.items() if node in banded]
    support = np.logical_or.reduce(supports) if supports else np.zeros(len(dots.row), bool)
    # Black and white together stay visible on every region colour; the legend is on the page.
    halo, cross = ("#ffffff", "#000000") if palette.name == "light" else ("#000000", "#ffffff")
    faded = np.where(visited, 1.0, 0.2)
    for which, name, symbol, size, colour, width, shown in (
        (support, "support vector", "circle-open", 15, palette.text, 1.6, np.ones(len(visited))),
        (dots.wrong, "", "x-thin", 9, halo, 4.5, faded),
        (dots.wrong, "misclassified", "x-thin", 9, cross, 2, faded),
    ):
        if which.any():
            points = zip(dots.x[which], dots.y[which], strict=True)
            look = mark(symbol, size, colour, colour, width)
            faint = look | {"opacity": shown[which].tolist()}
            curve(figure, points, name, showlegend=False, marker=faint)
            if name:
                curve(figure, [BREAK], name, marker=look)
