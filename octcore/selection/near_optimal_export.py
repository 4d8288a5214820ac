"""Near-optimal trees for other tools: TimberTrek's JSON, and rules as a table."""

from collections.abc import Iterable
from typing import Any

import pandas as pd

from octcore.data.dataset import Dataset
from octcore.encoding.base import Encoding
from octcore.tree import topology
from octcore.tree.metrics import NodeSummary, node_summaries
from octcore.tree.tree import Split, Tree
from octcore.tree.wording import rules, split_words


def timbertrek(
    trees: Iterable[tuple[Tree, float]], data: Dataset, encoding: Encoding
) -> dict[str, Any]:
    """Write trees in the form that TimberTrek reads (keys trie, featureMap, treeMap).

    TimberTrek knows two classes, "+" and "-", and no tree that is a single leaf; such trees are
    left out, and of several classes the last one is "+" against the others.

    `trees`: trees to write, numbered from 1, with their objectives.
    `data`, `encoding`: rows that are counted, and the columns of the trees.
    Returns plain data for JSON.

    References
    ----------
    Wang et al. (2022), "TimberTrek: exploring and curating sparse decision trees with interactive
    visualization", IEEE VIS; the form is that of its notebook widget.
    """
    X, y, plus = encoding.transform(data.frame), data.codes, data.n_classes - 1
    trie: dict[str, Any] = {"f": "root", "c": []}
    tree_map: dict[str, list[Any]] = {}
    written = [entry for entry in trees if entry[0].n_splits]
    splits = {split for tree, _ in written for split in tree.splits.values()}
    ordered = sorted(splits, key=lambda split: (split.features, split.threshold))
    names = {split: str(number) for number, split in enumerate(ordered)}
    for tree, objective in written:
        number = len(tree_map) + 1
        summaries = node_summaries(tree, X, y)
        right = sum(summaries[leaf].right(label) for leaf, label in tree.labels.items())
        drawn = _nested(tree, 1, summaries, plus, names)
        tree_map[str(number)] = [drawn, round(objective, 5), round(right / len(y), 5)]
        for leaf in sorted(tree.labels):
            _enter(trie, [names[tree.splits[m]] for m in topology.ancestors(leaf)], number)
    return {
        "trie": trie,
        "featureMap": {names[split]: _feature(encoding, split) for split in ordered},
        "treeMap": tree_map,
    }


def rules_table(
    trees: Iterable[tuple[Tree, float]], data: Dataset, encoding: Encoding
) -> pd.DataFrame:
    """One line per leaf: number of the tree, its objective and size, the rule, its rows.

    `trees`: trees to write, numbered from 1, with their objectives.
    `data`, `encoding`: rows that are counted, and the columns of the trees.
    """
    X = encoding.transform(data.frame)
    lines = [
        (number, value, tree.n_leaves, rule.leaf, words, rule.label, rule.n_samples, rule.right)
        for number, (tree, value) in enumerate(trees, start=1)
        for rule in rules(tree, encoding, X, data.codes)
        for words in [" and ".join(rule.conditions) or "anything"]
    ]
    columns = ["tree", "objective", "leaves", "leaf", "rule", "class", "rows", "right"]
    return pd.DataFrame(lines, columns=columns)


def _nested(
    tree: Tree, node: int, summaries: dict[int, NodeSummary], plus: int, names: dict[Split, str]
) -> dict[str, Any]:
    """A node with its rows; the branch where the condition holds comes first."""
    rows = int(summaries[node].n_samples)
    if node in tree.labels:
        sign = "+" if tree.labels[node] == plus else "-"
        return {"f": [sign, rows, summaries[node].right(tree.labels[node])]}
    zero, one = topology.children(node)
    below = [_nested(tree, child, summaries, plus, names) for child in (one, zero)]
    return {"f": [names[tree.splits[node]], rows, -1], "c": below}


def _enter(trie: dict[str, Any], path: list[str], number: int) -> None:
    """Add a path of splits to the trie, ending in the number of its tree."""
    here = trie
    for name in path:
        child = next((child for child in here["c"] if child["f"] == name), None)
        if child is None:
            child = {"f": name, "c": []}
            here["c"].append(child)
        here = child
    if not any(child.get("t") == number for child in here["c"]):
        here["c"].append({"f": "_", "t": number})


def _feature(encoding: Encoding, split: Split) -> list[str]:
    """Name of what a split tests, its condition on the right, and a short name."""
    raw = encoding.columns[split.features[0]].raw
    return [raw, split_words(split, encoding).right.removeprefix(raw).strip(), raw]
