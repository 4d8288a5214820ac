"""What the interactive tree shows: a record for every node, with its rows along what it tests."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from octcore.data.dataset import Dataset
from octcore.data.serial import jsonable
from octcore.encoding.base import Encoding
from octcore.plotting import text
from octcore.plotting.palette import Palette
from octcore.tree import metrics
from octcore.tree.geometry import node_margins
from octcore.tree.raw_units import Numbers, left_condition
from octcore.tree.tree import Tree
from octcore.tree.wording import asks_for_right, split_words

BINS = 14
WORD_DIGITS, LONGEST_NAME = 5, 28  # of a question, so that it fits into a node


def split_texts(tree: Tree, encoding: Encoding) -> dict[int, str]:
    """Question of every split of a tree in raw units, short enough for a node."""
    return {
        node: text.words(split_words(split, encoding, WORD_DIGITS, max_name=LONGEST_NAME).test)
        for node, split in tree.splits.items()
    }


@dataclass(frozen=True)
class NodeHistogram:
    """Rows of one branch node by class along a raw column, or along ``w.x`` of a hyperplane."""

    counts: tuple[tuple[int, ...], ...]  # ``counts[bin][class]``, ascending
    cuts: tuple[float, ...]  # where the split parts them, as a share of the width, 0 to 1
    ends: tuple[float, float]  # values at both ends of the width
    band: tuple[float, float] | None = None
    """Margin lines of a hyperplane, or how far a threshold may move, as shares; an end outside the
    picture is 0 or 1."""

    def with_span(self, span: tuple[float, float]) -> "NodeHistogram":
        """The same with a band between two values."""
        low, high = (_share(value, self.ends) for value in span)
        return replace(self, band=(low, high))


def node_histograms(tree: Tree, encoding: Encoding, data: Dataset) -> dict[int, NodeHistogram]:
    """Count the rows of every branch node that cuts numbers; questions about levels have none."""
    X = tree.encoded(encoding, data.frame)
    reached = tree.node_rows(X)
    margins = node_margins(tree, X, data.codes)
    found = {}
    for node, split in tree.splits.items():
        rows = reached[node]
        condition = left_condition(split, encoding)
        band = None
        if condition is None or split.unit_margin:
            values, cuts = split.project(X, rows), [split.threshold]
            margin = margins.get(node)
            band = (margin.low, margin.high) if margin and margin.kind == "unit" else None
        elif isinstance(condition, Numbers) and condition.raw in data.frame.columns:
            if condition.levels:
                continue
            values = data.frame[condition.raw].to_numpy(dtype=float)[rows]
            cuts = [end[0] for pair in condition.intervals for end in pair]
        else:
            continue
        histogram = _count(values, data.codes[rows], tree.n_classes, cuts)
        if histogram is not None:
            found[node] = histogram if band is None else histogram.with_span(band)
    return found


def _count(
    values: np.ndarray, codes: np.ndarray, n_classes: int, cuts: list[float]
) -> NodeHistogram | None:
    cuts = [cut for cut in cuts if math.isfinite(cut)]
    values, codes = values[np.isfinite(values)], codes[np.isfinite(values)]
    if not len(values) or not cuts:
        return None
    low, high = min(values.min(), *cuts), max(values.max(), *cuts)
    if not high > low:
        return None
    ends = (float(low), float(high))
    position = (BINS * (values - low) / (high - low)).astype(int).clip(0, BINS - 1)
    table = np.zeros((BINS, n_classes), dtype=np.int64)
    np.add.at(table, (position, codes), 1)
    counts = tuple(tuple(int(v) for v in row) for row in table)
    return NodeHistogram(counts, tuple(_share(cut, ends) for cut in cuts), ends)


def _share(value: float, ends: tuple[float, float]) -> float:
    low, high = ends
    return round(min(1.0, max(0.0, (value - low) / (high - low))), 4)


WORDS_SHOWN = 160


@dataclass(frozen=True)
class NodeView:
    """One node as it is shown."""

    node: int
    words: str  # the split in raw units, or the class of a leaf
    detail: str  # second line: rows and correctness, or rows and margin
    n_samples: int
    counts: tuple[int, ...]
    leaf_class: int | None  # class index of a leaf, None for a branch node
    is_swapped: bool = False
    """Whether the answer yes leads to the right child, which is then drawn on the left."""
    histogram: NodeHistogram | None = None  # rows along what the split tests, where it cuts numbers

    @property
    def label(self) -> str:
        """Everything in one sentence, for screen readers and tooltips."""
        kind = "leaf" if self.leaf_class is not None else "split"
        return f"node {self.node}, {kind}: {self.words}; {self.detail}"


@dataclass(frozen=True)
class TreeView:
    """The whole tree as it is shown, with the badge of its proof."""

    nodes: tuple[NodeView, ...]
    classes: tuple[str, ...]
    """What leaves answer, in the order of their indices; the last may be asking a person."""
    n_targets: int  # classes of rows
    badge: str
    proven: bool
    refuted: bool = False


def tree_view_data(
    tree: Tree, encoding: Encoding, data: Dataset, badge: str, proven: bool
) -> TreeView:
    """Collect words and row counts of every node; `data` are usually the training rows."""
    answers = tree.classes if tree.n_targets < tree.n_classes else data.classes
    classes = tuple(text.printable(label) for label in answers)
    X = tree.encoded(encoding, data.frame)
    words, histograms = split_texts(tree, encoding), node_histograms(tree, encoding, data)
    margins = node_margins(tree, X, data.codes)
    widths = {node: margin.width for node, margin in margins.items() if margin.kind == "unit"}
    views = []
    for node, summary in metrics.node_summaries(tree, X, data.codes).items():
        label = tree.labels.get(node)
        answer = None if label is None else tree.class_of(label)
        said, is_swapped = "" if label is None else classes[label], False
        if label is None:
            said = text.minus(text.printable(words[node], WORDS_SHOWN))
            is_swapped = asks_for_right(tree.splits[node], encoding)
        rows = (_detail(summary, answer, widths.get(node)), summary.n_samples, summary.class_counts)
        views.append(NodeView(node, said, *rows, label, is_swapped, histograms.get(node)))
    return TreeView(tuple(views), classes, tree.n_targets, badge, proven)


def with_spans(view: TreeView, spans: Mapping[int, tuple[float, float]]) -> TreeView:
    """The same with bands in the histograms of some nodes, from one value to another."""
    nodes = tuple(
        replace(n, histogram=n.histogram.with_span(spans[n.node]))
        if n.histogram and n.node in spans
        else n
        for n in view.nodes
    )
    return replace(view, nodes=nodes)


def _detail(summary: metrics.NodeSummary, label: int | None, margin: float | None) -> str:
    rows = text.count(summary.n_samples, "row")
    if label is None:
        return rows if margin is None else f"{rows} · margin {margin:.3g}"
    if summary.n_samples == 0:
        return "no training row"
    if label < 0:
        return rows
    right = summary.n_samples - summary.errors
    return f"{rows} · {text.percent(right / summary.n_samples, 0)} right"


def beside(views: Sequence[TreeView]) -> dict[str, Any]:
    """What trees drawn beside each other share, so that boxes and scales are equal."""
    nodes = [node for view in views for node in view.nodes]
    return {
        "leaves": max(sum(n.leaf_class is not None for n in view.nodes) for view in views),
        "levels": max(node.node.bit_length() for node in nodes),
        "texts": sorted({words for node in nodes for words in (node.words, node.detail)}),
    }


def component_data(
    view: TreeView,
    palette: Palette,
    token: str,
    selected: int = 0,
    path: Sequence[int] = (),
    marked: Collection[int] = (),
    others: Sequence[TreeView] = (),
) -> dict[str, Any]:
    """Make the plain data that the browser draws.

    `token`: changes with the tree, so that the view starts afresh.
    `selected`: selected node; 0 for none.
    `path`: nodes on the way of a row, to be marked; empty marks the way to the selected node.
    `marked`: nodes that differ from another tree, in words and by their frame.
    `others`: all trees of the line it stands in; they get equal boxes and one scale.
    """
    return {
        "token": token,
        "selected": selected,
        "path": list(path),
        "beside": beside(others) if others else None,
        "badge": view.badge,
        "proven": view.proven,
        "refuted": view.refuted,
        "total": max((node.n_samples for node in view.nodes), default=0),
        "ink": vars(palette),
        "classes": [
            {"name": name, "colour": palette.class_colour(k), "marker": palette.class_marker(k)}
            for name, k in zip(view.classes, [*range(view.n_targets), -1], strict=False)
        ],
        "nodes": [_node_data(node, node.node in marked) for node in view.nodes],
    }


def _node_data(node: NodeView, is_marked: bool) -> dict[str, Any]:
    return {
        "id": node.node,
        "kind": "branch" if node.leaf_class is None else "leaf",
        "words": node.words,
        "mark": is_marked,
        "detail": f"≠ {node.detail}" if is_marked else node.detail,
        "label": f"differs: {node.label}" if is_marked else node.label,
        "n": node.n_samples,
        "counts": list(node.counts),
        "leaf": node.leaf_class,
        "swapped": node.is_swapped,
        "histogram": jsonable(node.histogram),
    }
