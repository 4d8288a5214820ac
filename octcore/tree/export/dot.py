"""A tree in Graphviz's DOT language."""

from __future__ import annotations

import graphviz
import numpy as np
import numpy.typing as npt

from octcore.data.findings import count
from octcore.encoding.base import Encoding
from octcore.tree.export.records import (
    MAX_NAME,
    MAX_TERMS,
    NodeRecord,
    leaf_colour,
    node_records,
    yes_first,
)
from octcore.tree.tree import Tree
from octcore.tree.wording import shorten


def to_graphviz(
    tree: Tree,
    encoding: Encoding,
    X: npt.NDArray[np.float64] | None = None,
    y: npt.NDArray[np.int64] | None = None,
) -> graphviz.Digraph:
    """Make a Graphviz graph; its ``source`` is DOT text, with every name escaped.

    Parameters are those of `octcore.tree.export.records.node_records`.
    """
    graph = graphviz.Digraph("tree", node_attr={"fontname": "sans-serif", "shape": "box"})
    graph.attr("edge", fontname="sans-serif", fontsize="11")
    graph.attr(ordering="out")  # children stand in the order of the edges: yes, then no
    records = node_records(tree, encoding, X, y, MAX_NAME, MAX_TERMS)
    by_node = {record.node: record for record in records}
    for record in records:
        name = str(record.node)
        if record.kind == "leaf":
            colour = leaf_colour(tree, record.node)
            graph.node(name, _label(record), style="filled,rounded", fillcolor=colour)
        else:
            graph.node(name, _label(record))
            for child, answer in zip(yes_first(by_node, record.node), ("yes", "no"), strict=True):
                graph.edge(name, str(child), label=answer)
    return graph


def _label(record: NodeRecord) -> str:
    lines = [shorten(record.label, MAX_NAME) if record.kind == "leaf" else record.words]
    if record.n_samples is not None:
        lines.append(count(record.n_samples, "row"))
        lines.append("/".join(map(str, record.class_counts)))
    # one escape per line, then DOT's own line break; never an HTML-like label; quotes are the
    # graphviz package's own work
    return graphviz.nohtml("\\n".join(graphviz.escape(line) for line in lines))
