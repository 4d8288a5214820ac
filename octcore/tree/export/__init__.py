"""Exports of a tree: text, DOT, SVG, a table of nodes; `to_sklearn` is imported by its own name.

scikit-learn takes a second to import, which a command that prints a tree does not wait for.
"""

from octcore.tree.export.dot import to_graphviz
from octcore.tree.export.records import NodeRecord, node_records
from octcore.tree.export.svg import to_svg
from octcore.tree.export.text import to_text

__all__ = [
    "NodeRecord",
    "node_records",
    "to_graphviz",
    "to_svg",
    "to_text",
]
