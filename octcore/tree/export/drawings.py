"""A tree drawn: what its nodes say, and from it text, Graphviz's DOT language and SVG."""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

import graphviz

from octcore.data.findings import count
from octcore.encoding.base import Encoding
from octcore.tree import topology
from octcore.tree.metrics import NodeSummary, node_summaries
from octcore.tree.tree import Tree
from octcore.tree.wording import Codes, Most, Rows, class_name, shorten, split_words, with_signs

LEAF_COLOURS = (
    "#9fc9e8", "#f0b490", "#93d6c0", "#e6bcd3", "#f4d48c", "#bfe3f7", "#f7f1a1", "#dd99a0",
    "#bb99f8", "#c3cfac", "#bbbbb4", "#c2b4c2",
)  # fmt: skip
"""The colours of classes in all figures, light enough for black text."""
COLOUR_OF_ASKING = "#d5d8dd"  # of leaves that leave their rows to a person
MAX_NAME, MAX_TERMS = 30, 6
"""Characters of a name, and terms of a hyperplane, in a box of a picture."""


@dataclass(frozen=True)
class NodeRecord:
    """One node of a tree."""

    node: int
    is_leaf: bool
    words: str  # the question of a branch node, the class of a leaf
    arrival: str  # the answer at the parent that leads here, empty for the root
    rows: NodeSummary | None = None  # counts of the rows here, None when no rows were given


def yes_first(by_node: Mapping[int, NodeRecord], node: int) -> tuple[int, int]:
    """Children of a branch node: where its question is answered with yes, then the other."""
    left, right = 2 * node, 2 * node + 1
    return (left, right) if by_node[left].arrival == by_node[node].words else (right, left)


def node_records(
    tree: Tree, encoding: Encoding, X: Rows, y: Codes, max_name: Most = None, max_terms: Most = None
) -> tuple[NodeRecord, ...]:
    """List the nodes of a tree in preorder, left before right.

    `X`, `y`: encoded rows, shape ``(n_samples, n_features)``, and class codes to count; both or
    none.  `max_name` and `max_terms` are those of `octcore.tree.wording.split_words`.
    """
    words = {
        node: split_words(split, encoding, max_name=max_name, max_terms=max_terms)
        for node, split in tree.splits.items()
    }
    summaries = {} if X is None or y is None else node_summaries(tree, X, y)
    records = []
    for node in tree.walk():
        parent = topology.parent(node)
        is_leaf = node in tree.labels
        said = str(class_name(tree, tree.labels[node])) if is_leaf else words[node].test
        arrival = words[parent][node % 2] if parent else ""
        records.append(NodeRecord(node, is_leaf, said, arrival, summaries.get(node)))
    return tuple(records)


def leaf_colour(tree: Tree, leaf: int) -> str:
    """Colour of a leaf by its class; colours repeat when there are more classes."""
    k = tree.class_of(tree.labels[leaf])
    return COLOUR_OF_ASKING if k < 0 else LEAF_COLOURS[k % len(LEAF_COLOURS)]


CHARACTER = 6.6
"""Width of a character at font size 12, on the safe side for sans-serif fonts, in pixels."""
LINE, PADDING, GAP, RISE = 15.0, 8.0, 14.0, 54.0
WIDEST = 26  # longest line in a box, in characters
MOST_COUNTED = 3
"""Classes whose counts stand in a box: of more nobody can tell which number is whose."""
WIDE_NAME = 60  # characters of a name; a terminal has room for more than a picture


def to_text(tree: Tree, encoding: Encoding, X: Rows = None, y: Codes = None) -> str:
    """Draw a tree with characters, one line per node. Parameters are those of `node_records`."""
    records = {r.node: r for r in node_records(tree, encoding, X, y, WIDE_NAME)}
    classes = ", ".join(shorten(name, WIDE_NAME) for name in tree.classes[: tree.n_targets])
    lines = [f"classes: {classes}"] if classes and X is not None else []
    lines.append(("all rows" + _text_end(records[1])).strip())
    _text_below(1, "", records, lines)
    return "\n".join(lines) + "\n"


def _text_below(node: int, indent: str, records: dict[int, NodeRecord], lines: list[str]) -> None:
    if 2 * node not in records:
        return
    marks = (("|-- ", "|   "), ("`-- ", "    "))
    for child, (mark, further) in zip(yes_first(records, node), marks, strict=True):
        record = records[child]
        lines.append(f"{indent}{mark}{record.arrival}{_text_end(record)}")
        _text_below(child, indent + further, records, lines)


def _text_end(record: NodeRecord) -> str:
    """Class and counts behind the condition that leads to a node."""
    text = f"  ->  {shorten(record.words, WIDE_NAME)}" if record.is_leaf else ""
    if (rows := record.rows) is None:
        return text
    counts = "/".join(map(str, rows.class_counts))
    wrong = f", {count(rows.errors, 'error')}" if rows.errors and record.is_leaf else ""
    return f"{text}  ({count(rows.n_samples, 'row')}: {counts}{wrong})"


def to_graphviz(
    tree: Tree, encoding: Encoding, X: Rows = None, y: Codes = None
) -> graphviz.Digraph:
    """Make a Graphviz graph; its ``source`` is DOT text, with every name escaped.

    Parameters are those of `node_records`.
    """
    graph = graphviz.Digraph("tree", node_attr={"fontname": "sans-serif", "shape": "box"})
    graph.attr("edge", fontname="sans-serif", fontsize="11")
    graph.attr(ordering="out")  # children stand in the order of the edges: yes, then no
    records = node_records(tree, encoding, X, y, MAX_NAME, MAX_TERMS)
    by_node = {record.node: record for record in records}
    for record in records:
        name = str(record.node)
        if record.is_leaf:
            colour = leaf_colour(tree, record.node)
            graph.node(name, _dot_label(record), style="filled,rounded", fillcolor=colour)
        else:
            graph.node(name, _dot_label(record))
            for child, answer in zip(yes_first(by_node, record.node), ("yes", "no"), strict=True):
                graph.edge(name, str(child), label=answer)
    return graph


def _dot_label(record: NodeRecord) -> str:
    lines = [shorten(record.words, MAX_NAME) if record.is_leaf else record.words]
    if record.rows is not None:
        lines.append(count(record.rows.n_samples, "row"))
        lines.append("/".join(map(str, record.rows.class_counts)))
    # one escape per line, then DOT's own line break; never an HTML-like label; quotes are the
    # graphviz package's own work
    return graphviz.nohtml("\\n".join(graphviz.escape(line) for line in lines))


@dataclass(frozen=True)
class Box:
    """A node on the picture: centre, top, size and lines of text, in pixels."""

    record: NodeRecord
    x: float
    y: float
    width: float
    height: float
    lines: tuple[str, ...]


def to_svg(tree: Tree, encoding: Encoding, X: Rows = None, y: Codes = None) -> str:
    """Draw a tree as SVG, laid out here, the answer yes on the left; every name is escaped.

    Parameters are those of `node_records`. The picture grows with the
    number of leaves, and needs no program and no font file.
    """
    boxes = layout(node_records(tree, encoding, X, y, MAX_NAME, MAX_TERMS))
    width = max(box.x + box.width / 2 for box in boxes.values()) + PADDING
    height = max(box.y + box.height for box in boxes.values()) + PADDING
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.1f} {height:.1f}" role="img" font-family="sans-serif" '
        f'font-size="12" fill="#111">',
        "<title>Decision tree</title>",
    ]
    parts += [_edge(boxes[node // 2], box) for node, box in boxes.items() if node > 1]
    for node, box in boxes.items():
        fill = leaf_colour(tree, node) if node in tree.labels else "#ffffff"
        parts.append(_box(box, fill))
    return "\n".join([*parts, "</svg>"]) + "\n"


def layout(records: Sequence[NodeRecord]) -> dict[int, Box]:
    """Place the nodes: leaves side by side, parents over the middle of their children."""
    by_node = {record.node: record for record in records}
    lines = {node: _lines(record) for node, record in by_node.items()}
    widths = {n: CHARACTER * max(map(len, text)) + 2 * PADDING for n, text in lines.items()}
    heights = {n: LINE * len(text) + 2 * PADDING for n, text in lines.items()}
    tops, top = list[float](), PADDING
    for depth in range(1 + max(map(topology.node_depth, heights))):
        tops.append(top)
        top += RISE + max(h for node, h in heights.items() if topology.node_depth(node) == depth)
    centres = _centres(by_node, widths)
    return {
        node: Box(record, centres[node], top, widths[node], heights[node], lines[node])
        for node, record in by_node.items()
        for top in [tops[topology.node_depth(node)]]
    }


def _centres(by_node: dict[int, NodeRecord], widths: dict[int, float]) -> dict[int, float]:
    """Place subtrees as blocks side by side, so that boxes never overlap."""
    spans: dict[int, float] = {}
    for node in sorted(by_node, reverse=True):  # children have larger numbers
        below = sum(spans.get(child, 0.0) for child in (2 * node, 2 * node + 1))
        spans[node] = max(widths[node] + GAP, below)
    centres: dict[int, float] = {}
    starts = {1: PADDING}
    for node in sorted(by_node):
        start = starts[node]
        if 2 * node in by_node:
            left, right = yes_first(by_node, node)
            slack = spans[node] - spans[left] - spans[right]
            starts[left] = start + slack / 2
            starts[right] = starts[left] + spans[left]
        centres[node] = start + spans[node] / 2
    for node in sorted(by_node, reverse=True):
        if 2 * node in by_node:
            middle = (centres[2 * node] + centres[2 * node + 1]) / 2
            half = widths[node] / 2
            low, high = starts[node] + half, starts[node] + spans[node] - half
            centres[node] = min(max(middle, low), high)
    return centres


def _lines(record: NodeRecord) -> tuple[str, ...]:
    text = shorten(record.words, MAX_NAME) if record.is_leaf else with_signs(record.words)
    lines = textwrap.wrap(text, WIDEST) or [""]
    if record.rows is not None:
        counts = record.rows.class_counts
        lines.append(count(record.rows.n_samples, "row"))
        if len(counts) <= MOST_COUNTED:
            lines.append("/".join(map(str, counts)))
        elif record.is_leaf and record.rows.errors:
            lines.append(count(record.rows.errors, "error"))
    return tuple(lines)


def _box(box: Box, fill: str) -> str:
    corners, bold = (' rx="8"', ' font-weight="bold"') if box.record.is_leaf else ("", "")
    lines = [
        f'<text x="{box.x:.1f}" y="{box.y + PADDING + LINE * (i + 0.8):.1f}" '
        f'text-anchor="middle"{"" if i else bold}>'
        f"{_escape(line)}</text>"
        for i, line in enumerate(box.lines)
    ]
    arrival = f": {with_signs(box.record.arrival)}" if box.record.arrival else ""
    return (
        f'<g data-node="{box.record.node}"><title>node {box.record.node}{_escape(arrival)}</title>'
        f'<rect x="{box.x - box.width / 2:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" '
        f'height="{box.height:.1f}"{corners} fill="{_escape(fill)}" stroke="#333"/>'
        f"{''.join(lines)}</g>"
    )


def _edge(parent: Box, child: Box) -> str:
    """Draw the way to a child; what holds there is its tooltip, yes or no its label."""
    yes = child.record.arrival == parent.record.words
    x, y = (parent.x + child.x) / 2, (parent.y + parent.height + child.y) / 2
    anchor, shift = ("end", -6) if yes else ("start", 6)
    return (
        f"<g><title>{_escape(with_signs(child.record.arrival))}</title>"
        f'<path d="M {parent.x:.1f} {parent.y + parent.height:.1f} L {child.x:.1f} {child.y:.1f}" '
        f'stroke="#333" fill="none"/><text x="{x + shift:.1f}" y="{y:.1f}" font-size="11" '
        f'text-anchor="{anchor}">{"yes" if yes else "no"}</text></g>'
    )


def _escape(text: object) -> str:
    return escape(str(text), {'"': "&quot;", "'": "&#39;"})
