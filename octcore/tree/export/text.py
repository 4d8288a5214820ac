"""A tree as indented text for terminals and files."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from octcore.data.findings import count
from octcore.encoding.base import Encoding
from octcore.tree.export.records import NodeRecord, node_records, yes_first
from octcore.tree.tree import Tree
from octcore.tree.wording import shorten

MAX_NAME = 60
"""Characters of a name; a terminal has room for more than a picture."""


def to_text(
    tree: Tree,
    encoding: Encoding,
    X: npt.NDArray[np.float64] | None = None,
    y: npt.NDArray[np.int64] | None = None,
) -> str:
    """Draw a tree with characters, one line per node.

    Parameters are those of `octcore.tree.export.records.node_records`.
    """
    records = {r.node: r for r in node_records(tree, encoding, X, y, MAX_NAME)}
    classes = ", ".join(shorten(name, MAX_NAME) for name in tree.classes[: tree.n_targets])
    lines = [f"classes: {classes}"] if classes and X is not None else []
    lines.append(("all rows" + _end(records[1])).strip())
    _below(1, "", records, lines)
    return "\n".join(lines) + "\n"


def _below(node: int, indent: str, records: dict[int, NodeRecord], lines: list[str]) -> None:
    if 2 * node not in records:
        return
    marks = (("|-- ", "|   "), ("`-- ", "    "))
    for child, (mark, further) in zip(yes_first(records, node), marks, strict=True):
        record = records[child]
        lines.append(f"{indent}{mark}{record.arrival}{_end(record)}")
        _below(child, indent + further, records, lines)


def _end(record: NodeRecord) -> str:
    """Class and counts behind the condition that leads to a node."""
    text = f"  ->  {shorten(record.label, MAX_NAME)}" if record.kind == "leaf" else ""
    if record.n_samples is None:
        return text
    counts = "/".join(map(str, record.class_counts))
    wrong = f", {count(record.errors, 'error')}" if record.errors and record.kind == "leaf" else ""
    return f"{text}  ({count(record.n_samples, 'row')}: {counts}{wrong})"
