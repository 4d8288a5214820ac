"""Replay of a solve: its trees one after the other, and the cuts that closed the gap."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from octcore.data.dataset import Dataset
from octcore.data.distinct import distinct_rows
from octcore.encoding.base import Encoding
from octcore.engines.events import Trace
from octcore.plotting import text
from octcore.plotting.gap_plot import TIME_TITLE
from octcore.plotting.layout import curve, framed, mark, ruler, silent, words_at
from octcore.plotting.palette import Palette
from octcore.plotting.plane_plot import PlaneRecord
from octcore.tree import metrics, topology
from octcore.tree.tree import Split, Tree
from octcore.tree.wording import split_words

SOURCES = {
    "solver": "found by the solver",
    "rounding": "found by the solver (a fractional solution rounded)",
    "polish": "polished: a better subtree put in place of one of the solver's",
    "search": "found by the exact search",
    "greedy": "grown greedily, split by split",
    "warm start": "warm start",
}
FAMILIES = {
    "benders": "Benders cuts",
    "strengthened": "strengthened Benders cuts",
    "path-bound": "path bound cuts",
    "equivalent-points": "equivalent points",
    "shattering": "shattering inequalities",
    "value-row": "value rows",
}
MOST_ROWS_NAMED = 6


@dataclass(frozen=True, eq=False)
class Frame:
    """One incumbent of a solve."""

    seconds: float
    value: float | None
    bound: float | None
    gap: float | None
    source: str
    tree: Tree
    accuracy: float


def replay_data(trace: Trace, encoding: Encoding, data: Dataset) -> tuple[Frame, ...]:
    """Collect the incumbents of a trace, equal neighbours once; `data` are the training rows."""
    frames: list[Frame] = []
    for event in trace.incumbents:
        if event.tree is None or (frames and frames[-1].tree == event.tree):
            continue
        source = SOURCES.get(event.source) or f"warm start ({event.source})"
        X = event.tree.encoded(encoding, data.frame)
        accuracy = metrics.accuracy(event.tree, X, data.codes)
        known = (event.seconds, event.incumbent, event.bound, event.gap)
        frames.append(Frame(*known, source, event.tree, accuracy))
    return tuple(frames)


def counts_figure(
    counts: Mapping[str, tuple[tuple[float, ...], tuple[int, ...]]],
    palette: Palette,
    end: float,
    at: float | None = None,
) -> go.Figure:
    """Draw the running totals over time; `at` marks the cut that is shown."""
    across = {"title_text": TIME_TITLE, "range": [0, 1.04 * max(end, 1e-3)]}
    up = {"title_text": "cuts added so far", "rangemode": "tozero"}
    figure = framed(palette, 260, x=across, y=up, showlegend=True)
    for k, (family, (seconds, totals)) in enumerate(counts.items()):
        colour = palette.class_colour(k)
        curve(
            figure,
            [(0.0, 0), *zip(seconds, totals, strict=True), (end, totals[-1])],
            text.plotly(family_words(family)),
            "%{x:.2f} s: %{y} added",
            line={"shape": "hv", "color": colour, "width": 2.2},
            marker={"symbol": palette.class_marker(k), "size": 7},
        )
    if at is not None:
        figure.add_vline(x=at, line={"color": palette.text, "width": 1, "dash": "dot"})
    return figure


def family_words(family: str) -> str:
    """Name of a family of cuts."""
    return FAMILIES.get(family, family)


@dataclass(frozen=True)
class CutPicture:
    """One cut that the solver added, as it can be shown."""

    seconds: float
    family: str
    words: str  # what it says, in one or two sentences
    nodes: tuple[int, ...] = ()  # nodes that it speaks of; empty when it speaks of rows alone
    arcs: tuple[tuple[int, int], ...] = ()
    path: tuple[tuple[int, int, str], ...] = ()
    """Branch nodes of a path, the side taken (0 is left) and the condition for going left."""
    left: tuple[int, ...] = ()
    right: tuple[int, ...] = ()
    """`left`, `right`: rows on the two sides of an impossible division, or rows that look the
    same."""
    columns: tuple[str, ...] = ()
    """Raw columns in which rows that otherwise look the same differ: the split set."""


def cut_pictures(trace: Trace, encoding: Encoding, data: Dataset) -> tuple[CutPicture, ...]:
    """Collect the cuts of a trace that came with a picture; `data` are the training rows."""
    distinct, _ = distinct_rows(encoding.transform(data.frame))
    found = []
    for event in trace:
        if event.kind != "cuts":
            continue
        for raw in event.details.get("pictures", ()):
            found.append(_picture({**raw, "seconds": event.seconds}, encoding, distinct, data))
    return tuple(picture for picture in found if picture is not None)


def alike_rows(picture: CutPicture, data: Dataset) -> pd.DataFrame:
    """Rows that look the same to a cut: class, split set, then what they share."""
    rows = list(picture.left)
    frame = data.frame.iloc[rows].reset_index(drop=True)
    rest = [name for name in frame.columns if name not in picture.columns]
    same = [name for name in rest if frame[name].nunique() == 1]
    order = [*picture.columns, *same, *[name for name in rest if name not in same]]
    labels = [text.printable(data.classes[k], 24) for k in data.codes[rows]]
    table = frame[order].rename(
        columns={name: f"≠ {name}" for name in picture.columns} | {n: f"= {n}" for n in same}
    )
    for name, values in (("class of the row", labels), ("line", data.row_lines[rows])):
        table.insert(0, text.free(name, table.columns), values)
    return table


def points_only(record: PlaneRecord) -> PlaneRecord:
    """Take the tree out of a plane: a cut speaks of points, not of the tree found in the end."""
    none = np.zeros(len(record.dots.row), dtype=bool)
    dots = replace(record.dots, wrong=none, support={})
    return replace(record, regions=(), lines={}, dots=dots)


def _picture(
    raw: dict[str, Any], encoding: Encoding, distinct: np.ndarray, data: Dataset
) -> CutPicture | None:
    seconds, family = raw["seconds"], str(raw.get("kind", ""))
    if "left" in raw and "right" in raw:
        left = tuple(int(distinct[i]) for i in raw["left"] if i < len(distinct))
        right = tuple(int(distinct[i]) for i in raw["right"] if i < len(distinct))
        words = (
            f"No line has the {text.count(len(left), 'circled point')} on one side and the "
            f"{text.count(len(right), 'boxed point')} on the other. The solution so far wanted "
            "just that at one split; from now on one of them has to go the other way."
        )
        return CutPicture(seconds, family, words, left=left, right=right)
    if "split_set" in raw:
        names = [_column_words(encoding, int(j)) for j in raw["split_set"]]
        rows = tuple(int(i) for i in raw["rows"])
        raws = tuple(dict.fromkeys(encoding.columns[int(j)].raw for j in raw["split_set"]))
        differ = " or ".join(text.printable(name, 40) for name in names[:3])
        shown = text.few(data.row_lines[list(rows)].tolist(), MOST_ROWS_NAMED)
        but = f", but for {differ}" if names else ""
        unless = "Unless the tree tests that, they" if names else "They"
        words = (
            f"Lines {shown} look the same to every split{but}, and they have different "
            f"classes. {unless} go the same way and only one class among them can be right."
        )
        return CutPicture(seconds, family, words, left=rows, columns=raws)
    if "cut_arcs" in raw:
        arcs = tuple((int(a), int(b)) for a, b in raw["cut_arcs"])
        nodes = tuple(int(m) for m in raw["nodes"])
        label = text.printable(data.classes[int(raw["class"])], 24)
        words = _benders_words(int(data.row_lines[int(raw["row"])]), label)
        return CutPicture(seconds, family, words, nodes, arcs)
    if "path" in raw:
        path = tuple(
            (int(m), int(side), _column_words(encoding, int(j))) for m, j, side in raw["path"]
        )
        value = raw.get("value", raw.get("best_value"))
        words = _bound_words(int(raw["node"]), path, value)
        return CutPicture(seconds, family, words, (int(raw["node"]),), path=path)
    return None


def _column_words(encoding: Encoding, column: int) -> str:
    """What a row has to fulfil to go left where this column is tested."""
    words = split_words(Split.on_feature(column), encoding, digits=4, max_name=24)
    return text.words(words.left)


def _benders_words(line: int, label: str) -> str:
    return (
        f"Line {line} (class {label}) counts as right only if it gets from the root to a leaf of "
        "its class. It can leave the marked nodes only along the dashed arcs, or end there; the "
        "solution so far counted it without leaving it a way. From now on the arcs and leaves have "
        "to add up to at least what the row counts."
    )


def _bound_words(node: int, path: tuple[tuple[int, int, str], ...], value: float | None) -> str:
    if not path:
        start = "On all rows no tree"
    else:
        start = f"Once the splits above are as marked, no subtree at node {node}"
    if value is None:
        return f"{start} can be better than the best one, which was searched for."
    return (
        f"{start} is worth more than {value:g}: rows that it gets right, minus the price of its "
        "leaves. The best subtree was searched for exactly; now the solver knows, too."
    )


def place_of(node: int) -> tuple[float, float]:
    """Position of a node: levels downwards, the nodes of a level spread over [0, 1]."""
    level = topology.node_depth(node)
    return (node - 2**level + 0.5) / 2**level, -float(level)


def cut_tree_figure(picture: CutPicture, depth: int, palette: Palette) -> go.Figure:
    """Draw a cut that speaks of nodes, arcs or a path."""
    across, up = (
        {"visible": False, "range": ends, "fixedrange": True}
        for ends in ([-0.02, 1.02], [-depth - 0.35, 0.35])
    )
    figure = framed(palette, 120 + 90 * depth, False, across, up)
    for node in topology.branch_nodes(depth):
        for child in topology.children(node):
            _arc(figure, (node, child), picture, palette)
    _nodes(figure, picture, depth, palette)
    return figure


def _arc(figure: go.Figure, arc: tuple[int, int], picture: CutPicture, palette: Palette) -> None:
    (x1, y1), (x2, y2) = (place_of(node) for node in arc)
    on_path = {(m, 2 * m + side): name for m, side, name in picture.path}
    line = {"color": palette.muted, "width": 1.2}
    if arc in picture.arcs:
        line = {"color": palette.accent, "width": 4, "dash": "dash"}
    elif arc in on_path:
        line = {"color": palette.accent, "width": 5}
    ruler(figure, [x1, x2], [y1, y2], **line)
    if arc in on_path:
        is_right = arc[1] % 2
        words = f"{text.plotly(text.words(on_path[arc]))}: {'no' if is_right else 'yes'}"
        side, shift = ("left", 10) if is_right else ("right", -10)
        at = {"x": (x1 + x2) / 2, "y": (y1 + y2) / 2, "xanchor": side, "xshift": shift}
        words_at(figure, words=words, size=13, color=palette.text, **at)


def _nodes(figure: go.Figure, picture: CutPicture, depth: int, palette: Palette) -> None:
    nodes = list(topology.all_nodes(depth))
    branch = set(topology.branch_nodes(depth))
    symbols = ["square" if node in branch else "circle" for node in nodes]
    edges = [palette.accent if node in picture.nodes else palette.muted for node in nodes]
    widths = [4 if node in picture.nodes else 1.2 for node in nodes]
    x, y = zip(*map(place_of, nodes), strict=True)
    look = mark(symbols, 30, palette.surface, edges, widths)
    words, font = [str(node) for node in nodes], {"color": palette.text, "size": 13}
    silent(figure, x, y, mode="markers+text", text=words, textfont=font, marker=look)
