"""A tree as a plain table of nodes: the common ground of all other exports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from octcore.encoding.base import Encoding
from octcore.serial import Record
from octcore.tree import topology
from octcore.tree.metrics import node_summaries
from octcore.tree.tree import Tree
from octcore.tree.wording import class_name, split_words

LEAF_COLOURS = (
    "#9fc9e8", "#f0b490", "#93d6c0", "#e6bcd3", "#f4d48c", "#bfe3f7", "#f7f1a1", "#dd99a0",
    "#bb99f8", "#c3cfac", "#bbbbb4", "#c2b4c2",
)  # fmt: skip
"""The colours of classes in all figures, light enough for black text."""
COLOUR_OF_ASKING = "#d5d8dd"
"""Of leaves that leave their rows to a person."""
MAX_NAME, MAX_TERMS = 30, 6
"""Characters of a name, and terms of a hyperplane, in a box of a picture."""


@dataclass(frozen=True)
class NodeRecord(Record):
    """One node of a tree."""

    node: int
    parent: int
    depth: int
    """`node`, `parent`, `depth`: node number (the root is 1), its parent (0 for the root) and its
    depth."""
    kind: str
    """``"branch"`` or ``"leaf"``."""
    words: str
    """The question of a branch node, the class of a leaf."""
    arrival: str
    """The answer at the parent that leads here, empty for the root."""
    threshold: float | None
    """Routing threshold in encoded units."""
    weights: dict[str, float]
    n_samples: int | None = None
    """Rows at this node, None when no rows were given; so for the next ones."""
    class_counts: tuple[int, ...] = ()
    errors: int | None = None
    """Rows that end below this node with a wrong prediction."""
    majority: Any = None
    """Most frequent class, the first of equals; None without rows."""
    confidence: float | None = None
    """Share of the majority class."""
    label: Any = None
    """Predicted class of a leaf, None for a branch node."""


def yes_first(by_node: Mapping[int, NodeRecord], node: int) -> tuple[int, int]:
    """Children of a branch node: where its question is answered with yes, then the other."""
    left, right = 2 * node, 2 * node + 1
    return (left, right) if by_node[left].arrival == by_node[node].words else (right, left)


def node_records(
    tree: Tree,
    encoding: Encoding,
    X: npt.NDArray[np.float64] | None = None,
    y: npt.NDArray[np.int64] | None = None,
    max_name: int | None = None,
    max_terms: int | None = None,
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
        split = tree.splits.get(node)
        label = None if split else class_name(tree, tree.labels[node])
        record = NodeRecord(
            node=node,
            parent=parent,
            depth=topology.node_depth(node),
            kind="branch" if split else "leaf",
            words=words[node].test if split else str(label),
            arrival=words[parent][node % 2] if parent else "",
            threshold=split.threshold if split else None,
            weights={encoding.names[j]: v for j, v in split.weights} if split else {},
            label=label,
            **(_counts(tree, summaries[node]) if node in summaries else {}),
        )
        records.append(record)
    return tuple(records)


def _counts(tree: Tree, summary: Any) -> dict[str, Any]:
    counts = summary.class_counts
    total = sum(counts)
    return {
        "n_samples": summary.n_samples,
        "class_counts": counts,
        "errors": summary.errors,
        "majority": class_name(tree, int(np.argmax(counts))) if total else None,
        "confidence": max(counts) / total if total else None,
    }


def leaf_colour(tree: Tree, leaf: int) -> str:
    """Colour of a leaf by its class; colours repeat when there are more classes."""
    k = tree.class_of(tree.labels[leaf])
    return COLOUR_OF_ASKING if k < 0 else LEAF_COLOURS[k % len(LEAF_COLOURS)]
