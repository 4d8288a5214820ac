"""Near-optimal trees in pictures: how many, on which features, along which paths, on which rows."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from octcore.data.dataset import Dataset
from octcore.encoding.base import Encoding
from octcore.plotting import text
from octcore.plotting.layout import curve, framed
from octcore.plotting.palette import Palette
from octcore.plotting.plane_axes import Places, lay_out_axes, make_axis
from octcore.selection.alternatives import Alternative, Alternatives, FeatureUse
from octcore.tree.tree import Tree
from octcore.tree.wording import split_words

SHOWN_FEATURES = 14
HEIGHT = 330
COUNTED = {"title_text": "trees", "type": "log", "dtick": 1, "exponentformat": "power"}
"""Axis of the number of trees."""
LEVELS = 3  # rings of the sunburst: root, its children, their children
SAME = 1e-12  # rounding of shares
LEAF_WORDS = "leaf"
LONGEST_NAME = 18
READABLE = 0.02  # smallest share of the trees whose sector has room for words


def count_steps(record: Alternatives) -> list[tuple[float, dict[int, int]]]:
    """Every distance that occurs, and by number of leaves the trees up to it."""
    found: list[tuple[float, dict[int, int]]] = []
    trees: dict[int, int] = {}
    for loss, leaves, n in record.steps:
        trees = {**trees, leaves: trees.get(leaves, 0) + n}
        if found and loss <= found[-1][0] + SAME:
            found.pop()
        found.append((loss, trees))
    return found


def count_figure(record: Alternatives, palette: Palette) -> go.Figure:
    """Draw the number of trees against the distance, and mark the chosen one."""
    losses, trees = zip(*count_steps(record), strict=True)
    across = {"title_text": "points of the objective below the optimum", "tickformat": ".3~f"}
    figure = framed(palette, HEIGHT, x=across, y=COUNTED)
    ends = [100 * loss for loss in (*losses, record.searched)]
    steps = list(zip(ends, (*trees, trees[-1]), strict=True))
    points = [(end, sum(by_leaves.values())) for end, by_leaves in steps]
    line = {"shape": "hv", "width": 2.6, "color": palette.incumbent}
    told = [text.count(n, "tree") for _, n in points]
    hover = "%{customdata} within %{x:.3~f} points"
    curve(figure, points, "all trees", hover, line=line, customdata=told)
    for k, size in enumerate(sorted(trees[-1])):
        points = [(end, by_leaves.get(size)) for end, by_leaves in steps]
        line = {"shape": "hv", "width": 1.4, "color": palette.class_colour(k + 1), "dash": "dot"}
        words = text.count(size, LEAF_WORDS)
        curve(figure, points, words, f"%{{y:,}} with {words}", line=line)
    figure.add_vline(x=100 * record.tolerance, line={"color": palette.bound, "width": 1.6})
    return figure


def leaves_figure(record: Alternatives, palette: Palette) -> go.Figure:
    """Draw the number of trees within the chosen distance by leaves."""
    *_, counts = (trees for loss, trees in count_steps(record) if loss <= record.tolerance + SAME)
    figure = framed(palette, HEIGHT, False, {"title_text": "leaves", "dtick": 1}, COUNTED)
    figure.add_bar(
        x=list(counts),
        y=list(counts.values()),
        marker={"color": palette.incumbent},
        text=[f"{n:,}" for n in counts.values()],
        textfont={"color": palette.text},
        textposition="outside",
        cliponaxis=False,
        customdata=[
            f"{text.count(n, 'tree')} with {text.count(k, LEAF_WORDS)}" for k, n in counts.items()
        ],
        hovertemplate="%{customdata}<extra></extra>",
    )
    return figure


def ranked_features(record: Alternatives) -> tuple[FeatureUse, ...]:
    """Features that some tree tests, those in most trees first."""
    used = [feature for feature in record.features if feature.trees]
    return tuple(sorted(used, key=lambda f: (-f.trees, -f.at_root, f.name)))


def features_words(record: Alternatives) -> str:
    """A sentence on the features that all trees test, and on those that none tests; Markdown."""

    def named(trees: int) -> str:
        names = [text.markdown(f.name, 40) for f in record.features if f.trees == trees]
        return text.few(names, 12)  # the others are counted: a sentence cut in two joins two names

    every, none = named(record.count or -1), named(0)
    first = f"In all trees: **{every}**." if every else "No feature is in all trees."
    last = f"In none: {none}." if none else "Every feature is in some tree."
    return f"{first} {last}"


def features_figure(record: Alternatives, palette: Palette) -> go.Figure:
    """Draw the share of the trees with a feature anywhere and at the root."""
    shown, names, figure = _feature_rows(record, palette)
    for label, numbers, colour in (  # plotly draws the last bar of a group at the top
        ("at the root", [f.at_root for f in shown], palette.bound),
        ("anywhere", [f.trees for f in shown], palette.incumbent),
    ):
        figure.add_bar(
            y=names,
            x=[n / max(1, record.count) for n in numbers],
            orientation="h",
            name=label,
            marker={"color": colour},
            customdata=[f"{n:,}" for n in numbers],
            hovertemplate="%{y}: %{customdata} trees, %{x:.1%}<extra>" + label + "</extra>",
        )
    figure.update_layout(barmode="group", bargap=0.25, legend_traceorder="reversed")
    figure.update_xaxes(title_text="share of the trees", tickformat=".0%", range=[0, 1.02])
    return figure


def _feature_rows(
    record: Alternatives, palette: Palette
) -> tuple[tuple[FeatureUse, ...], list[str], go.Figure]:
    """Features and their labels, bottom up, and a figure of a line each that fits a screen."""
    shown = ranked_features(record)[:SHOWN_FEATURES][::-1]
    names = text.unique_labels([feature.name for feature in shown], 26)
    return shown, names, framed(palette, 90 + 22 * max(4, len(shown)))


def reliance_figure(record: Alternatives, palette: Palette) -> go.Figure:
    """Draw the range of the loss when a feature is permuted, over the trees."""
    shown, names, figure = _feature_rows(record, palette)
    for name, feature in zip(names, shown, strict=True):
        marker = {"symbol": "circle" if feature.is_exact else "circle-open", "size": 9}
        line, ends = {"color": palette.optimum, "width": 3}, (feature.low, feature.high)
        points, words = [(end, name) for end in ends], "%{y}: %{x:.2%}"
        curve(figure, points, hover=words, line=line, marker=marker, showlegend=False)
    figure.update_xaxes(title_text="accuracy lost when its values are permuted", tickformat=".0%")
    return figure


def sunburst_figure(
    trees: Sequence[Alternative], encoding: Encoding, palette: Palette
) -> go.Figure:
    """Draw the trees by their splits: root inside, then both children, then all grandchildren.

    A sector stands for the trees that begin alike; its angle is their number.
    """
    parents, labels, values = dict[str, str](), dict[str, str](), dict[str, int]()
    for entry in trees:
        above = ""
        for level in range(LEVELS):
            words = _level_words(entry.tree, encoding, level)
            if not words:
                break
            here = f"{above}/{words}"
            parents[here], labels[here] = above, words
            values[here] = values.get(here, 0) + 1
            above = here
    figure = framed(palette, 410, has_legend=False)
    figure.add_sunburst(
        ids=list(labels),
        labels=[text.plotly(words, 60) for words in labels.values()],
        parents=[parents[key] for key in labels],
        values=[values[key] for key in labels],
        branchvalues="total",
        text=[
            _sector_words(words, is_root=not parents[key])
            if values[key] >= READABLE * len(trees)
            else ""
            for key, words in labels.items()
        ],
        textinfo="text",
        textfont={"size": 12},
        marker={"line": {"color": palette.background, "width": 1}},
        leaf={"opacity": 1},
        insidetextorientation="auto",
        customdata=[text.count(values[key], "tree") for key in labels],
        hovertemplate="%{label}<br>%{customdata}<extra></extra>",
    )
    colours = [palette.class_colour(k) for k in range(7)]
    figure.update_layout(
        sunburstcolorway=colours,
        margin={"l": 0, "r": 0, "t": 4, "b": 4},
        uniformtext={"minsize": 8, "mode": "hide"},  # what is smaller cannot be read
    )
    return figure


def _sector_words(words: str, is_root: bool) -> str:
    """Words in lines that fit a sector: a test each, at the narrow middle its threshold apart."""
    lines = text.plotly(words, 60).replace(" | ", "<br>")
    return lines.replace(" ≤ ", "<br>≤ ") if is_root else lines


def _level_words(tree: Tree, encoding: Encoding, level: int) -> str:
    """Tests of one level of a tree, left to right; empty when there is none."""
    nodes = range(2**level, 2 ** (level + 1))
    if not any(node in tree.splits for node in nodes):
        return "" if level else LEAF_WORDS
    names = [
        text.words(split_words(tree.splits[node], encoding, digits=4, max_name=LONGEST_NAME).test)
        for node in nodes
        if node in tree.splits
    ]
    return " | ".join(names)


def disagreement_figure(
    record: Alternatives, data: Dataset, x: str, y: str, palette: Palette
) -> go.Figure:
    """Draw the training rows in a plane of two raw columns, coloured by disagreement."""
    figure = framed(palette, 350)
    places = Places(make_axis([data], x), make_axis([data], y))
    across, upwards = places.across.dots(data.frame, 0), places.up.dots(data.frame, 1)
    largest = max(0.02, float(record.disagreement.max(initial=0.0)))
    first = int(data.codes.min())
    for k, label in enumerate(data.classes):
        rows = np.flatnonzero(data.codes == k)
        if not len(rows):
            continue
        figure.add_scatter(
            x=across[rows],
            y=upwards[rows],
            mode="markers",
            name=text.plotly(label),
            customdata=np.column_stack([data.row_lines[rows], record.disagreement[rows]]),
            marker={
                "symbol": palette.class_marker(k),
                "size": 9,
                "color": record.disagreement[rows],
                "cmin": 0.0,
                "cmax": largest,
                "colorscale": [[0.0, palette.grid], [0.5, "#E69F00"], [1.0, "#D55E00"]],
                "line": {"width": 0.7, "color": palette.muted},
                "showscale": k == first,
                "colorbar": {
                    "title": {"text": "other class", "font": {"color": palette.text, "size": 13}},
                    "tickformat": ".0%",
                    "tickfont": {"color": palette.text},
                    "thickness": 12,
                },
            },
            hovertemplate="line %{customdata[0]:.0f}: %{customdata[1]:.1%} of the trees say "
            "another class<extra>%{fullData.name}</extra>",
        )
    lay_out_axes(figure, places, palette)
    return figure
