"""One row through a tree: questions, values, answers and the confidence of its leaf."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from octcore.encoding.fit import fit_encoding
from octcore.plotting.row_path import (
    class_shares,
    node_counts,
    row_of,
    row_path_data,
    sentence,
    typed_row,
)
from octcore.tree.raw_units import raw_plane
from octcore.tree.wording import asks_for_right
from tests.unit.hostile import HOSTILE


def path_of(case, frame):
    tree, encoding, _ = case
    return row_path_data(tree, encoding, frame)


@pytest.mark.parametrize("kind", ["univariate", "oblique"])
def test_every_row_ends_where_routing_sends_it(kind, request):
    case = request.getfixturevalue(kind)
    tree, encoding, data = case
    leaves = tree.apply(encoding.transform(data.frame))
    for i in range(data.n_samples):
        path = path_of(case, row_of(data, i, "training").frame)
        assert path.leaf == leaves[i]
        assert path.label == tree.labels[path.leaf]
        for step, child in zip(path.steps, path.nodes[1:], strict=True):
            # A question whose positive wording is the right side is answered with yes there.
            turned = asks_for_right(tree.splits[step.node], encoding)
            assert step.is_yes == ((child % 2 == 1) == turned)


def test_univariate_steps_show_the_value_that_is_compared(univariate):
    data = univariate[2]
    path = path_of(univariate, row_of(data, 4, "training").frame)
    shown = {float(step.value) for step in path.steps}
    assert shown <= {float(f"{v:.5g}") for v in data.frame.iloc[4]}


@pytest.mark.parametrize("moved", [0.0, 3.0])
def test_oblique_steps_show_the_sum_in_raw_units(oblique, moved):
    tree, _, data = oblique
    data = replace(data, frame=data.frame + moved)
    encoding, frame = fit_encoding("scaled", data), row_of(data, 8, "training").frame
    case = tree, encoding, data
    steps = [step for step in path_of(case, frame).steps if len(tree.splits[step.node].weights) > 1]
    assert steps
    for step in steps:
        plane = raw_plane(tree.splits[step.node], encoding)
        total = sum(t.weight * float(frame[t.raw].iloc[0]) for t in plane.terms)
        assert float(step.value.removeprefix("sum = ")) == pytest.approx(
            plane.sign * total, rel=1e-4
        )
        assert step.is_yes == (total <= plane.threshold)


def test_typed_row_keeps_types_and_fills_what_is_not_typed(univariate):
    data = univariate[2]
    row = typed_row(data, {"width": 3.0})
    assert row.frame["width"].iloc[0] == 3.0
    assert row.frame[HOSTILE].iloc[0] == np.median(data.frame[HOSTILE])
    assert dict(row.frame.dtypes) == dict(data.frame.dtypes)
    assert row.title == "The typed row"
    last = row_of(data, data.n_samples - 1, "training")
    assert last.title == f"Line {data.row_lines[-1]}, a training row,"


def test_shares_count_both_parts(univariate):
    tree, encoding, data = univariate
    test = data.subset(np.arange(0, data.n_samples, 2))
    shares = class_shares(tree, encoding, data, test)
    for part, name in ((data, "train"), (test, "test")):
        assert sum(getattr(s, name) for s in shares[1]) == part.n_samples
        leaves = [sum(getattr(s, name) for s in shares[leaf]) for leaf in tree.labels]
        assert sum(leaves) == part.n_samples
    assert sum(s.train_share or 0 for s in shares[1]) == pytest.approx(1.0)
    assert class_shares(tree, encoding, data, None)[1][0].test is None
    assert node_counts(tree, encoding, None) == {}


def test_sentence_escapes_the_class_and_says_when_there_is_no_confidence(univariate):
    tree, encoding, data = univariate
    row = row_of(data, 3, "training")
    path = path_of(univariate, row.frame)
    words = sentence(path, class_shares(tree, encoding, data, None)[path.leaf], row.title)
    assert words.startswith("Line 5, a training row, ends in **leaf")
    assert "3 of the 3 training rows" in words
    assert "<img" not in words.replace("\\<", "")
    nobody = class_shares(tree, encoding, data.subset(np.arange(3)), None)
    empty = next(s for leaf, s in nobody.items() if not sum(x.train for x in s))
    assert "no training row gets there" in sentence(path, empty, row.title)


def test_used_columns_are_those_of_the_splits(univariate):
    tree, encoding, data = univariate
    assert encoding.tested(tree.used_features) == data.feature_names
    label = next(iter(tree.labels.values()))
    assert encoding.tested(tree.collapse(1, label).used_features) == ()
