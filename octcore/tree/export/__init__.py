"""Exports of a tree: text, DOT, SVG, a table of nodes, scikit-learn."""

from octcore.tree.export.dot import graphviz_svg, to_graphviz
from octcore.tree.export.records import NodeRecord, node_records
from octcore.tree.export.svg import to_svg
from octcore.tree.export.text import to_text
from octcore.tree.export.to_sklearn import SinglePrecisionWarning, to_sklearn

__all__ = [
    "NodeRecord",
    "SinglePrecisionWarning",
    "graphviz_svg",
    "node_records",
    "to_graphviz",
    "to_sklearn",
    "to_svg",
    "to_text",
]
