"""Trees for any rows: round trips, routing, words that say what routing does, exact regions."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from octcore.data.dataset import Dataset
from octcore.encoding.base import Encoding, as_numbers
from octcore.encoding.fit import fit_encoding
from octcore.errors import DataError
from octcore.tree import topology
from octcore.tree.export.code import to_code
from octcore.tree.export.drawings import node_records, to_graphviz, to_svg, to_text
from octcore.tree.export.onnx import to_onnx
from octcore.tree.export.pmml import to_pmml
from octcore.tree.geometry import PlaneView, area, leaf_regions, node_margins, split_lines
from octcore.tree.raw_units import Condition, Levels, left_condition, raw_plane
from octcore.tree.tree import Split, Tree
from octcore.tree.wording import RawTerm, rules, split_words
from tests.regions import contains

SEEDS = st.integers(0, 2**32 - 1)
KEYS = st.sampled_from(["QB-3", "QT-4", "class-change", "scaled"])
NAMES = st.text(min_size=1, max_size=12)


def table(seed: int, n: int = 40) -> Dataset:
    """Numbers on two scales, three colours, an ordinal size and a flag of 0 and 1."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "x": rng.normal(size=n).round(2) * 100,
            "y": rng.uniform(size=n),
            "colour": rng.choice(["red", "blue", "green"], n),
            "flag": rng.integers(0, 2, n).astype(float),
        }
    )
    frame["size"] = rng.choice(["small", "medium", "large"], n)
    data = Dataset.from_arrays(frame, rng.integers(0, 2, n), kinds={"x": "numeric", "y": "numeric"})
    ordinal = replace(data.column("size"), kind="ordinal", levels=("small", "medium", "large"))
    columns = tuple(ordinal if c.name == "size" else c for c in data.columns)
    return replace(data, columns=columns)


def random_tree(
    rng: np.random.Generator, encoding: Encoding, depth: int, oblique: bool, columns: list[int]
) -> Tree:
    """A tree over some encoded columns that stops early here and there."""
    splits: dict[int, Split] = {}
    labels: dict[int, int] = {}
    open_nodes = [1]
    while open_nodes:
        node = open_nodes.pop()
        if topology.node_depth(node) == depth or (node > 1 and rng.random() < 0.2):
            labels[node] = int(rng.integers(2))
            continue
        if oblique:
            weights = np.zeros(len(encoding.columns))
            weights[columns] = rng.normal(size=len(columns)) * rng.integers(0, 2, len(columns))
            splits[node] = Split.on_plane(weights, rng.normal() * 0.5, bool(rng.integers(2)))
        else:
            threshold = 0.5 if encoding.is_binary else float(rng.uniform(0.1, 0.9))
            splits[node] = Split.on_feature(int(rng.choice(columns)), threshold)
        open_nodes += topology.children(node)
    return Tree(splits, labels, len(encoding.columns), 2, ("no", "yes"), encoding.names)


@st.composite
def trees(draw: st.DrawFn, oblique: bool | None = None) -> tuple[Dataset, Encoding, Tree]:
    data = table(draw(SEEDS))
    encoding = fit_encoding(draw(KEYS), data)
    rng = np.random.default_rng(draw(SEEDS))
    slanted = draw(st.booleans()) if oblique is None else oblique
    columns = list(range(len(encoding.columns)))
    return data, encoding, random_tree(rng, encoding, draw(st.integers(0, 4)), slanted, columns)


@given(trees())
def test_json_round_trip(case: tuple[Dataset, Encoding, Tree]) -> None:
    _, _, tree = case
    again = Tree.from_dict(json.loads(json.dumps(tree.to_dict(), allow_nan=False)))
    assert again == tree
    assert hash(again) == hash(tree)


@given(trees())
def test_routing_partitions_the_rows(case: tuple[Dataset, Encoding, Tree]) -> None:
    data, encoding, tree = case
    X = encoding.transform(data.frame)
    rows = tree.node_rows(X)
    leaves = tree.apply(X)
    assert sorted(i for leaf in tree.labels for i in rows[leaf]) == list(range(data.n_samples))
    for node in tree.splits:
        below = [*rows[2 * node], *rows[2 * node + 1]]
        assert sorted(below) == list(rows[node])
    for i in range(0, data.n_samples, 7):
        assert tree.decision_path(X[i])[-1] == leaves[i]


def holds(condition: Condition, frame: pd.DataFrame) -> np.ndarray:
    """Which rows satisfy a condition, by its definition."""
    values = frame[condition.raw].to_numpy()
    if isinstance(condition, Levels):
        known = np.zeros(len(values), dtype=bool)
        for level in condition.levels:
            known |= np.asarray(values == level, dtype=bool)
        return known if condition.inside else ~known
    numbers = as_numbers(values, condition.raw, condition.levels)
    inside = np.zeros(len(numbers), dtype=bool)
    for (low, above), (high, through) in condition.intervals:
        from_low = numbers > low if above else numbers >= low
        inside |= from_low & (numbers <= high if through else numbers < high)
    return inside


@given(trees(oblique=False), SEEDS)
def test_words_say_what_routing_does(case: tuple[Dataset, Encoding, Tree], seed: int) -> None:
    """Conditions, evaluated on raw rows never used in training, agree with the encoded split."""
    _, encoding, tree = case
    fresh = table(seed).frame
    X = encoding.transform(fresh)
    for split in tree.splits.values():
        condition = left_condition(split, encoding)
        assert condition is not None
        np.testing.assert_array_equal(holds(condition, fresh), ~split.goes_right(X))
        np.testing.assert_array_equal(holds(condition.negated(), fresh), split.goes_right(X))
        words = split_words(split, encoding)
        if condition.raw in {"x", "y"}:  # these words happen to be Python
            said = [eval(words.left, {}, row) for row in fresh[["x", "y"]].to_dict("records")]
            np.testing.assert_array_equal(said, ~split.goes_right(X))


@given(trees(oblique=False), SEEDS)
def test_joined_conditions_of_a_path_hold_for_its_rows_only(
    case: tuple[Dataset, Encoding, Tree], seed: int
) -> None:
    _, encoding, tree = case
    fresh = table(seed).frame
    leaves = tree.apply(encoding.transform(fresh))
    for leaf in tree.labels:
        joined: dict[str, Condition] = {}
        for ancestor, child in topology.path(leaf):
            condition = left_condition(tree.splits[ancestor], encoding)
            assert condition is not None
            condition = condition if child % 2 == 0 else condition.negated()
            known = joined.get(condition.raw)
            joined[condition.raw] = condition if known is None else known.meet(condition)
        inside = np.ones(len(fresh), dtype=bool)
        for condition in joined.values():
            inside &= holds(condition, fresh)
        np.testing.assert_array_equal(inside, leaves == leaf)


def term_values(term: RawTerm, frame: pd.DataFrame) -> np.ndarray:
    if term.condition is not None:
        return term.weight * holds(term.condition, frame)
    values = frame[term.raw]
    ranks = {"small": 0, "medium": 1, "large": 2}
    return term.weight * (values.map(ranks) if term.raw == "size" else values).to_numpy(dtype=float)


@given(trees(oblique=True), SEEDS)
def test_raw_planes_agree_with_encoded_splits(
    case: tuple[Dataset, Encoding, Tree], seed: int
) -> None:
    _, encoding, tree = case
    fresh = table(seed).frame
    X = encoding.transform(fresh)
    for split in tree.splits.values():
        plane = raw_plane(split, encoding)
        total = sum((term_values(term, fresh) for term in plane.terms), np.zeros(len(fresh)))
        np.testing.assert_allclose(
            total - plane.threshold, split.project(X) - split.threshold, atol=1e-9
        )
        np.testing.assert_allclose(
            total + plane.offset, split.project(X) + split.solved_offset, atol=1e-9
        )


@given(trees())
def test_exports_take_every_tree(case: tuple[Dataset, Encoding, Tree]) -> None:
    data, encoding, tree = case
    X = encoding.transform(data.frame)
    assert data.y is not None
    records = node_records(tree, encoding, X, data.y)
    assert [r.node for r in records] == list(tree.walk())
    assert sum(r.rows.n_samples for r in records if r.is_leaf and r.rows) == data.n_samples
    assert sum(rule.n_samples or 0 for rule in rules(tree, encoding, X, data.y)) == data.n_samples
    assert len(to_text(tree, encoding, X, data.y).splitlines()) == len(records) + 1
    assert to_svg(tree, encoding, X, data.y).count("<rect") == len(records)
    assert to_graphviz(tree, encoding).source.count("->") == len(records) - 1


@given(trees())
def test_code_gives_every_tree_its_classes(case: tuple[Dataset, Encoding, Tree]) -> None:
    data, encoding, tree = case
    tree = tree.named(data.classes, encoding.names)
    expected = [str(label) for label in tree.predict(encoding.transform(data.frame))]
    space: dict[str, Any] = {}
    exec(to_code(tree, encoding, "py"), space)
    assert [space["predict"](row) for row in data.frame.to_dict("records")] == expected
    model = ET.fromstring(to_pmml(tree, encoding))
    assert len(model.findall(".//{*}Node[@score]")) == tree.n_leaves
    fields = {field.get("name"): field for field in model.findall(".//{*}DataField")}
    assert model.find("{*}DataDictionary").get("numberOfFields") == str(len(fields))
    mined = {
        field.get("name"): field.get("usageType") for field in model.iterfind(".//{*}MiningField")
    }
    assert fields.keys() == mined.keys()
    target = next(name for name, use in mined.items() if use == "target")
    assert [value.get("value") for value in fields[target]] == [*map(str, tree.classes)]


@pytest.mark.long
@given(trees())
def test_the_graph_gives_every_tree_its_classes(case: tuple[Dataset, Encoding, Tree]) -> None:
    assume(case[2].splits)
    runtime = pytest.importorskip("onnxruntime")
    data, encoding, tree = case
    tree = tree.named(data.classes, encoding.names)
    session = runtime.InferenceSession(to_onnx(tree, encoding))
    given = {c.name: data.frame[[c.name]].to_numpy() for c in session.get_inputs()}
    expected = [str(label) for label in tree.predict(encoding.transform(data.frame))]
    assert session.run(None, given)[0][:, 0].tolist() == expected


@given(SEEDS, KEYS, st.booleans(), st.integers(1, 4))
def test_regions_agree_with_predictions(seed: int, key: str, oblique: bool, depth: int) -> None:
    """On two numeric axes, the other columns held: the piece that holds a point is its leaf's."""
    data = table(seed)
    encoding = fit_encoding(key, data)
    rng = np.random.default_rng(seed)
    columns = list(range(len(encoding.columns)))
    if oblique and key != "scaled":  # many indicators: keep the number of pieces small
        columns = rng.choice(columns, 4).tolist()
    tree = random_tree(rng, encoding, depth, oblique, columns)
    fixed = {"colour": "blue", "flag": 1.0, "size": "medium"}
    view = PlaneView(encoding, "x", "y", (-250.0, 250.0), (-0.5, 1.5), fixed)
    regions = leaf_regions(tree, view)
    assert np.isclose(sum(area(r.polygon) for r in regions), 1000.0)
    points = np.column_stack([rng.uniform(-250, 250, 60), rng.uniform(-0.5, 1.5, 60)])
    frame = pd.DataFrame({"x": points[:, 0], "y": points[:, 1], **fixed})
    leaves = tree.apply(encoding.transform(frame))
    for point, leaf in zip(points, leaves, strict=True):
        near = {r.leaf for r in regions if contains(r.polygon, tuple(point), slack=1e-9)}
        assert leaf in near
        inside = [r for r in regions if contains(r.polygon, tuple(point), slack=-1e-9)]
        assert len(inside) <= 1


@given(SEEDS, st.integers(1, 3))
def test_margin_lines_lie_where_the_score_is_plus_or_minus_one(seed: int, depth: int) -> None:
    data = table(seed)
    encoding = fit_encoding("scaled", data)
    rng = np.random.default_rng(seed)
    tree = random_tree(rng, encoding, depth, True, [0, 1])
    assume(any(split.weights for split in tree.splits.values()))
    fixed = {"colour": "blue", "flag": 1.0, "size": "medium"}
    view = PlaneView(encoding, "x", "y", (-250.0, 250.0), (-0.5, 1.5), fixed)
    margins = node_margins(tree, encoding.transform(data.frame), data.y)
    for node, lines in split_lines(tree, view, margins).items():
        split = tree.splits[node]
        if lines.kind != "unit":
            continue
        expected = ((lines.line, 0.0), (lines.low, -1.0), (lines.high, 1.0))
        for segments, score in expected:
            ends = [point for segment in segments for point in segment]
            if not ends:
                continue
            frame = pd.DataFrame(ends, columns=["x", "y"]).assign(**fixed)
            found = split.project(encoding.transform(frame)) + split.solved_offset
            np.testing.assert_allclose(found, score, atol=1e-8)


@pytest.mark.slow
@given(NAMES, NAMES, NAMES)
def test_any_name_can_be_worded_and_drawn(column: str, level: str, label: str) -> None:
    assume(len({level, "a", "b"}) == 3)
    frame = pd.DataFrame({column: np.array([level, "a", "b", level], dtype=object)})
    try:
        data = Dataset.from_arrays(frame, np.array([label, "k", "k", label]), kinds={})
    except DataError:  # names that stand for a missing value
        assume(False)
        raise
    assume(data.n_classes == 2)
    encoding = fit_encoding("one-hot", data)
    tree = Tree({1: Split.on_feature(0)}, {2: 0, 3: 1}, len(encoding.columns), 2, data.classes)
    X = encoding.transform(data.frame)
    assert data.y is not None
    assert len(to_text(tree, encoding, X, data.y).splitlines()) == 4
    assert ET.fromstring(to_svg(tree, encoding, X, data.y)).tag.endswith("svg")
    assert to_graphviz(tree, encoding, X, data.y).source.startswith("digraph")
