"""Near-optimal trees for other tools: TimberTrek's JSON, and rules as a table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from octcore.encoding.base import Encoding
from octcore.errors import SettingsError
from octcore.tree import topology
from octcore.tree.metrics import NodeSummary, node_summaries
from octcore.tree.tree import Split, Tree
from octcore.tree.wording import rules, split_words


@dataclass(frozen=True, eq=False)
class Rows:
    """What exports tell about trees."""

    X: np.ndarray
    y: np.ndarray
    """`X`, `y`: encoded rows, shape ``(n_samples, n_columns)``, and class codes."""
    encoding: Encoding
    classes: tuple[Any, ...]


def timbertrek(
    trees: Iterable[tuple[Tree, float]], rows: Rows, positive: Any = None
) -> dict[str, Any]:
    """Write trees in the form that TimberTrek reads (keys trie, featureMap, treeMap).

    TimberTrek knows two classes, "+" and "-", and no tree that is a single leaf; such trees are
    left out, and of several classes one is "+" against the others.

    Parameters
    ----------
    trees : iterable of (Tree, float)
        Trees to write, numbered from 1, with their objectives.
    rows : Rows
        Rows that are counted, and the columns.
    positive : label or None
        The class that is "+"; the last one by default.

    Returns
    -------
    dict
        Plain data for JSON.

    Raises
    ------
    SettingsError
        If no class has the label.

    References
    ----------
    Wang et al. (2022), "TimberTrek: exploring and curating sparse decision trees with interactive
    visualization", IEEE VIS; the form is that of its notebook widget.
    """
    plus = len(rows.classes) - 1
    if positive is not None:
        if positive not in rows.classes:
            raise SettingsError("UNKNOWN_CLASS", f"There is no class {positive!r}.", "positive")
        plus = rows.classes.index(positive)
    trie: dict[str, Any] = {"f": "root", "c": []}
    tree_map: dict[str, list[Any]] = {}
    used: set[int] = set()
    for tree, objective in (entry for entry in trees if entry[0].n_splits):
        number = len(tree_map) + 1
        summaries = node_summaries(tree, rows.X, rows.y)
        right = sum(_correct(tree, leaf, summaries) for leaf in tree.labels)
        drawn = _nested(tree, 1, summaries, plus)
        tree_map[str(number)] = [drawn, round(objective, 5), round(right / len(rows.y), 5)]
        used |= set(tree.used_features)
        for leaf in sorted(tree.labels):
            path = [str(tree.splits[m].features[0]) for m in topology.ancestors(leaf)]
            _enter(trie, path, number)
    return {
        "trie": trie,
        "featureMap": {str(j): _feature(rows.encoding, j) for j in sorted(used)},
        "treeMap": tree_map,
    }


def rules_table(trees: Iterable[tuple[Tree, float]], rows: Rows) -> pd.DataFrame:
    """One line per leaf: number of the tree, its objective and size, the rule, its rows.

    Parameters
    ----------
    trees : iterable of (Tree, float)
        Trees to write, numbered from 1, with their objectives.
    rows : Rows
        Rows that are counted, and the columns.
    """
    lines = [
        {
            "tree": number,
            "objective": objective,
            "leaves": tree.n_leaves,
            "leaf": rule.leaf,
            "rule": " and ".join(rule.conditions) or "anything",
            "class": rule.label,
            "rows": rule.n_samples,
            "right": rule.right,
        }
        for number, (tree, objective) in enumerate(trees, start=1)
        for rule in rules(tree, rows.encoding, rows.X, rows.y)
    ]
    columns = ["tree", "objective", "leaves", "leaf", "rule", "class", "rows", "right"]
    return pd.DataFrame(lines, columns=columns)


def _correct(tree: Tree, leaf: int, summaries: dict[int, NodeSummary]) -> int:
    return summaries[leaf].right(tree.labels[leaf])


def _nested(tree: Tree, node: int, summaries: dict[int, NodeSummary], plus: int) -> dict[str, Any]:
    """A node with its rows; the branch where the column is one comes first."""
    rows = int(summaries[node].n_samples)
    if node in tree.labels:
        sign = "+" if tree.labels[node] == plus else "-"
        return {"f": [sign, rows, _correct(tree, node, summaries)]}
    zero, one = topology.children(node)
    (column,) = tree.splits[node].features
    below = [_nested(tree, child, summaries, plus) for child in (one, zero)]
    return {"f": [str(column), rows, -1], "c": below}


def _enter(trie: dict[str, Any], path: list[str], number: int) -> None:
    """Add a path of columns to the trie, ending in the number of its tree."""
    here = trie
    for column in path:
        children = (child for child in here["c"] if child["f"] == column)
        child = next(children, None)
        if child is None:
            child = {"f": column, "c": []}
            here["c"].append(child)
        here = child
    if not any(child.get("t") == number for child in here["c"]):
        here["c"].append({"f": "_", "t": number})


def _feature(encoding: Encoding, column: int) -> list[str]:
    """Name, condition and short name of a column that is one."""
    words = split_words(Split.on_feature(column), encoding).right
    raw = encoding.columns[column].raw
    return [raw, words.removeprefix(raw).strip(), raw]
