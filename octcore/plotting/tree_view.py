"""What the interactive tree shows: one record per node, as plain data for the component."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from octcore.data.dataset import Dataset
from octcore.encoding.base import Encoding
from octcore.plotting import text
from octcore.plotting.node_histogram import NodeHistogram, node_histograms
from octcore.plotting.palette import Palette
from octcore.serial import jsonable
from octcore.tree import metrics
from octcore.tree.tree import Tree
from octcore.tree.wording import asks_for_right

WORDS_SHOWN = 160


@dataclass(frozen=True)
class NodeView:
    """One node as it is shown."""

    node: int
    words: str
    """The split in raw units, or the class of a leaf."""
    detail: str
    """Second line: rows and correctness, or rows and margin."""
    n_samples: int
    counts: tuple[int, ...]
    leaf_class: int | None
    """Class index of a leaf, None for a branch node."""
    is_swapped: bool = False
    """Whether the answer yes leads to the right child, which is then drawn on the left."""
    histogram: NodeHistogram | None = None
    """Rows along what the split tests, where it cuts numbers."""

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
    n_targets: int
    """Classes of rows."""
    badge: str
    proven: bool
    refuted: bool = False


def tree_view_data(
    tree: Tree,
    encoding: Encoding,
    data: Dataset,
    words: Mapping[int, str],
    badge: str,
    proven: bool,
    margins: Mapping[int, float] | None = None,
) -> TreeView:
    """Collect words and row counts of every node.

    `data`: rows with a target, usually the training rows.
    `words`: question of every split in raw units.
    `margins`: margin width of split nodes, where the formulation has margins.
    """
    answers = tree.classes if tree.n_targets < tree.n_classes else data.classes
    classes = tuple(text.printable(label) for label in answers)
    views = []
    histograms = node_histograms(tree, encoding, data)
    for node, summary in metrics.node_summaries(
        tree, encoding.transform(data.frame), data.codes
    ).items():
        label = tree.labels.get(node)
        views.append(
            NodeView(
                node,
                classes[label] if label is not None else text.printable(words[node], WORDS_SHOWN),
                _detail(
                    summary,
                    None if label is None else tree.class_of(label),
                    (margins or {}).get(node),
                ),
                summary.n_samples,
                summary.class_counts,
                label,
                node in tree.splits and asks_for_right(tree.splits[node], encoding),
                histograms.get(node),
            )
        )
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
    return f"{rows} · {100 * right / summary.n_samples:.0f} % right"


def beside(views: Sequence[TreeView]) -> dict[str, Any]:
    """What trees drawn beside each other share, so that boxes and scales are equal."""
    nodes = [node for view in views for node in view.nodes]
    return {
        "leaves": max(sum(n.leaf_class is not None for n in view.nodes) for view in views),
        "levels": max(node.node.bit_length() for node in nodes),
        "texts": sorted({words for node in nodes for words in (node.words, node.detail)}),
    }


def component_data(view: TreeView, palette: Palette, selected: int, token: str) -> dict[str, Any]:
    """Make the plain data that the browser draws.

    `selected`: selected node; 0 for none.
    `token`: changes with the tree, so that the view starts afresh.
    """
    return {
        "token": token,
        "selected": selected,
        "badge": view.badge,
        "proven": view.proven,
        "refuted": view.refuted,
        "total": max((node.n_samples for node in view.nodes), default=0),
        "ink": vars(palette),
        "classes": [
            {"name": name, "colour": palette.class_colour(k), "marker": palette.class_marker(k)}
            for name, k in zip(view.classes, [*range(view.n_targets), -1], strict=False)
        ],
        "nodes": [
            {
                "id": node.node,
                "kind": "branch" if node.leaf_class is None else "leaf",
                "words": node.words,
                "detail": node.detail,
                "label": node.label,
                "n": node.n_samples,
                "counts": list(node.counts),
                "leaf": node.leaf_class,
                "swapped": node.is_swapped,
                "histogram": jsonable(vars(node.histogram)) if node.histogram else None,
            }
            for node in view.nodes
        ],
    }
