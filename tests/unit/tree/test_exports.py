from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import pairwise

import graphviz
import numpy as np
import pandas as pd
import pytest

from octcore.data.dataset import Dataset
from octcore.data.text import clean_text
from octcore.encoding.fit import fit_encoding
from octcore.tree.export.drawings import layout, node_records, to_graphviz, to_svg, to_text
from octcore.tree.tree import Split, Tree

HOSTILE = [
    "<b>bold</b>",
    '" onload="alert(1)',
    "a\\nb\\",
    "new\nline",
    "</title><script>alert(1)</script>",
    "<<table>>",
    "]]>",
    "&amp;",
]


@pytest.fixture
def table() -> Dataset:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.uniform(size=(40, 2)), columns=["petal length", "petal width"])
    return Dataset.from_arrays(frame, np.where(frame["petal length"] > 0.4, "yes", "no"))


@pytest.fixture
def tree() -> Tree:
    splits = {1: Split.on_feature(0), 3: Split.on_feature(5)}
    return Tree(splits, {2: 0, 6: 1, 7: 0}, 8, 2, ("no", "yes"))


def test_text(table: Dataset, tree: Tree) -> None:
    encoding = fit_encoding("QT-5", table)
    X = encoding.transform(table.frame)
    assert table.y is not None
    lines = to_text(tree, encoding, X, table.y).splitlines()
    assert lines[0] == "classes: no, yes"
    assert lines[1].startswith("all rows  (40 rows: ")
    assert lines[2].startswith("|-- petal length <= ")
    assert "->  no" in lines[2]
    assert lines[4].startswith("    |-- petal width <= ")
    assert "error" in lines[5]
    assert "rows:" not in to_text(tree, encoding)


def test_records(table: Dataset, tree: Tree) -> None:
    encoding = fit_encoding("QT-5", table)
    X = encoding.transform(table.frame)
    assert table.y is not None
    records = {r.node: r for r in node_records(tree, encoding, X, table.y)}
    assert list(records) == [1, 2, 3, 6, 7]
    root, leaf = records[1], records[6]
    assert (root.is_leaf, root.arrival, leaf.is_leaf, leaf.words) == (False, "", True, "yes")
    assert leaf.arrival.startswith("petal width <= ")
    assert root.rows is not None
    assert root.rows.n_samples == 40
    assert sum(r.rows.n_samples for n in (2, 6, 7) if (r := records[n]).rows) == 40
    assert root.rows.errors == int((tree.predict_codes(X) != table.y).sum())


def hostile_tree(text: str) -> tuple[Tree, Dataset]:
    frame = pd.DataFrame({text: [0.0, 1.0, 2.0, 3.0], "c": [text, "b", "d", text]})
    data = Dataset.from_arrays(frame, np.array([text, "k", "k", text]))
    encoding = fit_encoding("QT-2", data)
    level = next(j for j, c in enumerate(encoding.columns) if c.level == clean_text(text))
    splits = {1: Split.on_feature(0), 2: Split.on_feature(level)}
    return Tree(splits, {3: 0, 4: 1, 5: 0}, len(encoding.columns), 2, data.classes), data


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_stay_text_in_svg(text: str) -> None:
    tree, data = hostile_tree(text)
    svg = to_svg(tree, fit_encoding("QT-2", data))
    root = ET.fromstring(svg)
    tags = {element.tag.split("}")[1] for element in root.iter()}
    assert tags <= {"svg", "title", "g", "rect", "text", "path"}
    attributes = {name for element in root.iter() for name in element.attrib}
    assert not {name for name in attributes if name.startswith("on") or "href" in name}


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_stay_text_in_dot(text: str) -> None:
    tree, data = hostile_tree(text)
    source = to_graphviz(tree, fit_encoding("QT-2", data)).source
    for label in _labels(source):
        if label[0] != '"':
            assert label.isidentifier()
            continue
        assert label.endswith('"')
        inner = label[1:-1]
        without_escapes = inner.replace("\\\\", "").replace('\\"', "").replace("\\n", "")
        assert '"' not in without_escapes
        assert "\\" not in without_escapes
    assert len(_labels(source)) == 9


def _labels(source: str) -> list[str]:
    """Label values of a DOT text, read with the quoting rules of the language."""
    found, position = [], source.find("label=")
    while position >= 0:
        start = end = position + len("label=")
        if source[start] == '"':
            end += 1
            while source[end] != '"':
                end += 2 if source[end] == "\\" else 1
        else:
            end = min(source.find(c, start) for c in " ]" if source.find(c, start) > 0) - 1
        found.append(source[start : end + 1])
        position = source.find("label=", end)
    return found


def test_dot_is_a_graphviz_graph(table: Dataset, tree: Tree) -> None:
    graph = to_graphviz(tree, fit_encoding("QT-5", table))
    assert isinstance(graph, graphviz.Digraph)
    assert graph.source.count(" -> ") == 4
    assert '"petal length <= ' in graph.source
    edges = [line for line in graph.source.splitlines() if "->" in line]
    assert sum("label=yes" in line for line in edges) == 2


def test_a_level_is_asked_for_in_dot_and_yes_comes_first() -> None:
    data = Dataset.from_arrays(
        pd.DataFrame({"island": ["Dream", "Biscoe", "Torgersen"] * 2}), [0, 1, 1, 0, 1, 1]
    )
    encoding = fit_encoding("raw", data)
    dream = next(j for j, c in enumerate(encoding.columns) if c.level == "Dream")
    tree = Tree({1: Split.on_feature(dream)}, {2: 1, 3: 0}, len(encoding.columns), 2)
    source = to_graphviz(tree, encoding).source
    assert "island is Dream" in source
    assert "is not" not in source
    assert source.index("1 -> 3 [label=yes]") < source.index("1 -> 2 [label=no]")


@pytest.mark.parametrize("depth", [0, 1, 3, 5])
def test_boxes_of_the_svg_do_not_overlap(depth: int) -> None:
    rng = np.random.default_rng(depth)
    frame = pd.DataFrame(rng.uniform(size=(30, 3)), columns=["a", "a much longer name", "c"])
    data = Dataset.from_arrays(frame, rng.integers(0, 2, 30))
    encoding = fit_encoding("scaled", data)
    splits = {
        node: Split.on_plane(rng.normal(size=3), 0.1)
        if node % 3 == 0
        else Split.on_feature(node % 3)
        for node in range(1, 2**depth)
    }
    labels = {node: node % 2 for node in range(2**depth, 2 ** (depth + 1))}
    tree = Tree(splits, labels, 3, 2)
    assert data.y is not None
    boxes = layout(node_records(tree, encoding, encoding.transform(frame), data.y))
    for level in range(depth + 1):
        here = (b for n, b in boxes.items() if n.bit_length() == level + 1)
        row = sorted(here, key=lambda b: b.x)
        for left, right in pairwise(row):
            assert left.x + left.width / 2 <= right.x - right.width / 2
            assert left.record.node < right.record.node
    for node, box in boxes.items():
        assert box.x - box.width / 2 >= 0
        if node > 1:
            assert box.y > boxes[node // 2].y + boxes[node // 2].height
    ET.fromstring(to_svg(tree, encoding))
