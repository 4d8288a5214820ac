"""The points of a lesson: on the drawing board, with their truth where it is known, on paper."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import plotly.graph_objects as go

from dashboard.teaching import lessons
from dashboard.teaching.lessons import CLASSES, GRID, Cuts
from octcore.data.dataset import Dataset
from octcore.data.synthetic import SyntheticSet
from octcore.encoding.base import EncodedColumn, Encoding
from octcore.plotting.layout import BREAK, base_layout, curve, mark
from octcore.plotting.palette import LIGHT, Palette, translucent
from octcore.plotting.plane_axes import Axis, Places
from octcore.plotting.plane_plot import PlaneRecord, plane_data
from octcore.reports.charts import figure_svg
from octcore.reports.page import escaped, page
from octcore.solving.run import SolvedRun
from octcore.tree import geometry
from octcore.tree.tree import Split, Tree
from octcore.verification.certificates.proof import ExcludedCuts

BOX = (-0.02, 1.02)  # visible part of both axes: points on the border stay whole
WIDEST = 0.2
"""A margin wider than this share of the picture covers it, and nearly all points lie inside."""
ROUNDING = 1e-6  # a line nearer to a point than this goes through it


@dataclass(frozen=True)
class Truth:
    """The lines that made the labels, and the points whose label was turned over."""

    segments: tuple[geometry.Segment, ...] = ()  # lines, each inside its own region
    regions: tuple[geometry.Region, ...] = ()
    flipped: tuple[tuple[float, float], ...] = ()  # points with noise on their label

    @property
    def is_known(self) -> bool:
        """Whether there is anything to lay over the picture."""
        return bool(self.segments or self.flipped)


def truth_data(made: SyntheticSet | None, labels_too: bool = True) -> Truth:
    """Collect what is known about a generated set; nothing for points of one's own.

    `labels_too`: whether its points are those that are shown; else only its lines are the truth.
    """
    if made is None:
        return Truth()
    flipped = made.points[made.labels != made.true_labels] if labels_too else np.empty((0, 2))
    told = tuple((float(x), float(y)) for x, y in flipped)
    if not made.planes:
        return Truth(flipped=told)
    splits = {node: Split.on_plane(*line) for node, line in made.planes.items()}
    labels = {leaf: int(label > 0) for leaf, label in made.leaf_labels.items()}
    tree, columns = Tree(splits, labels, 2, len(CLASSES)), ("x", "y")
    plain = Encoding("raw", tuple(EncodedColumn(name, "value") for name in columns), columns)
    view = geometry.PlaneView(plain, *columns, BOX, BOX)
    segments = (s for lines in geometry.split_lines(tree, view).values() for s in lines.line)
    return Truth(tuple(segments), geometry.leaf_regions(tree, view), told)


def board_data(
    points: np.ndarray,
    codes: np.ndarray,
    truth: Truth,
    palette: Palette,
    origin: str,
    serial: int,
    tree: PlaneRecord | None = None,
) -> dict[str, Any]:
    """Make the plain data that the drawing board in the browser shows.

    `points`: in [0, 1].
    `origin`: changes when the points come from somewhere else than the board itself.
    `serial`: number of the last change that the board reported; older echoes are ignored there.
    """
    thousandths = np.rint(points * GRID).astype(int)
    regions, opacity = (truth.regions, 0.13) if tree is None else (tree.regions, 0.25)
    return {
        "origin": origin,
        "serial": serial,
        "grid": GRID,
        "points": [[int(x), int(y), int(k)] for (x, y), k in zip(thousandths, codes, strict=True)],
        "classes": [
            {"name": name, "colour": palette.class_colour(k), "marker": palette.class_marker(k)}
            for k, name in enumerate(CLASSES)
        ],
        "truth": truth.segments,
        "regions": [
            {"polygon": region.polygon, "colour": palette.class_tint(region.code, opacity)}
            for region in regions
        ],
        "lines": [] if tree is None else [s for lines in tree.lines.values() for s in lines.line],
        "ink": vars(palette),
    }


def guess_data(
    points: np.ndarray, codes: np.ndarray, cuts: Cuts, palette: Palette, serial: int
) -> dict:
    """Make the plain data of a guess; the points keep all their digits, as they are counted."""
    board = board_data(points, codes, Truth(), palette, "", serial)
    exact = [[*point, int(k)] for point, k in zip((points * GRID).tolist(), codes, strict=True)]
    tints = [palette.class_tint(k, 0.25) for k in range(len(CLASSES))]
    return board | {"points": exact, "cuts": [list(cut) for cut in cuts], "tints": tints}


def lesson_plane(
    tree: Tree, encoding: Encoding, data: Dataset, formulation: str = ""
) -> PlaneRecord:
    """Return the plane of a tree on the whole unit square, whatever part the points fill.

    Bands too wide to be seen as bands are left out, with the rings of nearly all points; without
    its band a line is where the rows part, as the colours are.
    `formulation`: as of `plane_data`.
    """
    places = Places(Axis("x", BOX), Axis("y", BOX))
    wide = wide_bands(tree, encoding, data)
    parted = {
        n: replace(s, unit_margin=s.unit_margin and n not in wide) for n, s in tree.splits.items()
    }
    drawn = replace(tree, splits=parted)
    record = plane_data(drawn, encoding, data, "x", "y", formulation=formulation, places=places)
    bare: dict[str, Any] = {"low": (), "high": (), "band": ()}
    lines = {n: replace(found, **bare) if n in wide else found for n, found in record.lines.items()}
    return replace(record, lines=lines)


def wide_bands(tree: Tree, encoding: Encoding, data: Dataset) -> tuple[int, ...]:
    """Nodes whose margin is wider than `WIDEST` of the points' extent."""
    margins = geometry.node_margins(tree, encoding.transform(data.frame), data.y)
    return tuple(n for n, m in margins.items() if m.kind == "unit" and m.width > WIDEST)


def proof_figure(
    data: Dataset, cuts: Sequence[ExcludedCuts], is_open: bool, palette: Palette
) -> go.Figure:
    """Draw the points with the bands of excluded cuts.

    `cuts`: in the order of the columns x and y; the last one is looked at if `is_open`, and the
    points in its band are hollow, as they may come down on either side.
    """
    figure = go.Figure(layout=base_layout(palette, height=460))
    points = data.frame[["x", "y"]].to_numpy(float)
    inside = np.zeros(len(points), bool)
    for number, cut in enumerate(cuts, start=1):
        is_last = is_open and number == len(cuts)
        # Light enough for both classes to stand out from it, in either theme.
        look: dict[str, Any] = {
            "fillcolor": translucent(palette.accent if is_last else palette.muted, 0.12),
            "line": {"color": palette.accent, "width": 2 * is_last},
            "layer": "below",
        }
        if cut.column == 0:
            figure.add_vrect(x0=cut.low, x1=cut.high, **look)
        else:
            figure.add_hrect(y0=cut.low, y1=cut.high, **look)
        if is_last:
            at = points[:, cut.column]
            inside = (at > cut.low) & (at < cut.high)
    for code, name in enumerate(data.classes):
        for part, filling in ((~inside, ""), (inside, "-open")):
            chosen = points[part & (data.codes == code)].tolist()
            symbol = palette.class_marker(code) + filling
            look = mark(symbol, 10, palette.class_colour(code), width=2 * bool(filling))
            curve(figure, chosen, str(name), marker=look)
    figure.update_xaxes(range=BOX, title_text="x", constrain="domain")
    figure.update_yaxes(range=BOX, title_text="y")
    return figure


def add_truth(figure: go.Figure, truth: Truth, palette: Palette) -> go.Figure:
    """Lay the true lines over a plane and ring the points whose label was turned over."""
    if truth.segments:
        pieces = [point for ends in truth.segments for point in (*ends, BREAK)]
        curve(figure, pieces, "truth", line={"color": palette.optimum, "width": 3, "dash": "dash"})
    if truth.flipped:
        look = mark("diamond-open", 16, palette.optimum, width=2)
        curve(figure, truth.flipped, "label turned over", marker=look)
    return figure


def legend_parts(palette: Palette, truth: Truth | None, with_margins: bool) -> str:
    """HTML of the legend of lesson planes; holds no text of users, and no SVG, which is cut out."""
    entries = [
        (mark, palette.class_colour(k), f"class {name}")
        for k, (mark, name) in enumerate(zip("●■", CLASSES, strict=True))
    ]
    entries.append(("✕", palette.text, "misclassified"))
    if with_margins:
        entries.append(("○", palette.text, "support vector"))
    if truth is not None and truth.segments:
        entries.append(("╌╌", palette.optimum, "truth"))
    if truth is not None and truth.flipped:
        entries.append(("◇", palette.optimum, "label turned over"))
    return "".join(
        f'<span><span style="color:{colour};font-size:1.3em;line-height:1" aria-hidden="true">'
        f"{mark}</span> {words}</span>"
        for mark, colour, words in entries
    )


@dataclass(frozen=True)
class LessonNumbers:
    """What stands below the picture of one tree."""

    accuracy: float
    errors: int
    leaves: int
    narrowest: float | None


def lesson_numbers(run: SolvedRun) -> LessonNumbers:
    """Accuracy, errors, size and narrowest margin, for thresholds and oblique trees alike."""
    wrong = run.tree.predict_codes(run.encoding.transform(run.train.frame)) != run.train.codes
    margin = narrowest_margin(run.tree, run.encoding, run.train)
    return LessonNumbers(1.0 - float(wrong.mean()), int(wrong.sum()), run.tree.n_leaves, margin)


def narrowest_margin(tree: Tree, encoding: Encoding, data: Dataset) -> float | None:
    """Smallest width of the empty strip around a drawn line right above two leaves, in axis units.

    Only points that visit the node count.  Upper lines are left out: in margin trees they route
    points, and may pass as close to them as they like.
    """
    X = encoding.transform(data.frame)
    points = data.frame[["x", "y"]].to_numpy(dtype=float)
    reached, widths = tree.node_rows(X), []
    for node, lines in lesson_plane(tree, encoding, data).lines.items():
        if not {2 * node, 2 * node + 1} <= set(tree.labels):
            continue
        here = np.zeros(len(X), dtype=bool)
        here[reached[node]] = True
        right = tree.splits[node].goes_right(X)
        if not lines.line or not (here & right).any() or not (here & ~right).any():
            continue
        distance = np.min([_distance(points, segment) for segment in lines.line], axis=0)
        widths.append(2 * min(float(distance[here & side].min()) for side in (right, ~right)))
    narrowest = min(widths, default=None)
    return 0.0 if narrowest is not None and narrowest < ROUNDING else narrowest


def _distance(points: np.ndarray, segment: geometry.Segment) -> np.ndarray:
    """Distance of points to the infinite line through a segment."""
    (x1, y1), (x2, y2) = segment
    direction = np.array([x2 - x1, y2 - y1])
    offset = points - np.array([x1, y1])
    length = max(float(np.hypot(*direction)), 1e-12)
    return np.abs(offset[:, 0] * direction[1] - offset[:, 1] * direction[0]) / length


def sheet_html() -> str:
    """Make one page a lesson."""
    parts = ["<style>section { break-after: page; } li { margin: 1.1rem 0; } "
             "li::after { content: ''; display: block; border-bottom: 1px solid; height: 1.6rem; }"
             "</style>"]  # fmt: skip
    for number, part in enumerate(lessons.course(), start=1):
        data = lessons.lesson_data(part.lesson)
        picture = figure_svg(proof_figure(data, (), False, LIGHT), part.question)
        tasks = "".join(f"<li>{escaped(task)}</li>" for task in part.tasks)
        parts.append(
            f"<section><h1>{number}. {escaped(part.question)}</h1>"
            f'<div class="picture chart">{picture}</div><ol>{tasks}</ol></section>'
        )
    return page("Three lessons on optimal trees", parts)
