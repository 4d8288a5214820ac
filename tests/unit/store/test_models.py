from __future__ import annotations

import json
import warnings
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pytest

import octcore
from octcore.data.columns import Column
from octcore.data.dataset import Dataset
from octcore.encoding.fit import fit_encoding
from octcore.errors import DataError, ModelFileError
from octcore.solving.run import COST_FIELDS, Certificate
from octcore.store.models import leaf_shares, load_model, model_to_dict
from octcore.tree.tree import Split, Tree

SCHEMA = json.loads((Path(octcore.__file__).parent / "store/model.schema.json").read_text())


@pytest.fixture
def table() -> Dataset:
    frame = pd.DataFrame(
        {
            "age": [20.0, 30.0, 40.0, 50.0, 60.0, 70.0],
            "colour": ["red", "blue", "red", "green", "blue", "green"],
            "member": [0.0, 1.0, 1.0, 0.0, 0.0, 1.0],
        }
    )
    columns = (
        Column("age", "numeric"),
        Column("colour", "categorical", ("blue", "green", "red")),
        Column("member", "binary", (0.0, 1.0)),
    )
    y = np.array([0, 1, 0, 1, 0, 1])
    return Dataset("t", frame, columns, "class", ("no", "yes"), y)


@pytest.fixture
def run(table: Dataset) -> Any:
    """What `model_to_dict` reads of a run."""
    encoding = fit_encoding("QT-3", table)
    splits = {1: Split.on_feature(0), 3: Split.on_feature(len(encoding.columns) - 1)}
    tree = Tree(splits, {2: 0, 6: 1, 7: 0}, len(encoding.columns), 2)
    results = dict.fromkeys(
        ("objective", "bound", "gap", "root_bound", "accuracy", "balanced_accuracy",
         "test_accuracy", "test_balanced_accuracy", "accuracy_ceiling", "majority_accuracy",
         *COST_FIELDS), 0.5,
    )  # fmt: skip
    tree = tree.named(table.classes, encoding.names)
    return SimpleNamespace(
        **results,
        tree=tree,
        final_tree=tree,
        sample_weight=None,
        constraints={},
        encoding=encoding,
        train=table,
        classes=table.classes,
        settings={"formulation": "flow-oct", "depth": 2},
        status="optimal",
        stop_reason="optimal",
        n_train=6,
        n_test=0,
        certificate=Certificate("mip", True, ("no epsilon",)),
    )


def test_round_trip_predicts_alike(run: Any, table: Dataset, tmp_path: Path) -> None:
    path = tmp_path / "model.json"
    path.write_text(json.dumps(model_to_dict(run), allow_nan=False))
    model = load_model(path)
    expected = run.tree.predict(run.encoding.transform(table.frame))
    np.testing.assert_array_equal(model.predict(table.frame), expected)
    assert model.tree == run.tree
    assert model.encoding == run.encoding
    assert model.columns == table.columns
    assert model.classes == ("no", "yes")
    assert model.target == "class"
    assert model.summary["certificate"]["proven"] is True


def test_shares_of_classes_come_with_the_file(run: Any, table: Dataset) -> None:
    record = json.loads(json.dumps(model_to_dict(run)))
    model = load_model(record)
    found = model.predict_proba(table.frame)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    leaves = run.tree.apply(run.encoding.transform(table.frame))
    for leaf in set(leaves):
        counts = np.bincount(table.codes[leaves == leaf], minlength=2)
        np.testing.assert_allclose(found[leaves == leaf], [counts / counts.sum()] * counts.sum())
    assert model.predict_proba(table.frame[:0]).shape == (0, 2)
    with pytest.raises(ModelFileError, match="train and store it again"):
        load_model({k: v for k, v in record.items() if k != "shares"}).predict_proba(table.frame)
    given = record["shares"]
    for wrong in ({"2": [1, 0]}, {**given, "2": [0.5]}, {**given, "2": [2, -1]}):
        with pytest.raises(ModelFileError, match="its shares of classes"):
            load_model({**record, "shares": wrong})


def test_of_classes_that_share_a_leaf_alike_the_label_has_the_largest_share() -> None:
    # Of 37 rows 14, 14 and 9: a count that is larger by a rounding gives the same share.
    y = np.repeat([1, 0, 2], [14, 14, 9])
    data = Dataset.from_arrays(np.arange(37.0)[:, None], y)
    run = octcore.solve(data, "cart", depth=1, params={"leaf_penalty": 0.9})
    tree = run.final_tree.with_labels({1: 1})
    assert tree.n_leaves == 1
    (shares,) = leaf_shares(replace(run, tree=tree), data, None).values()
    assert shares.argmax() == 1
    np.testing.assert_allclose(shares, [14 / 37, 14 / 37, 9 / 37])


def test_the_file_keeps_to_its_schema(run: Any) -> None:
    record = json.loads(json.dumps(model_to_dict(run)))
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(record, SCHEMA)
    del record["tree"]["nodes"]
    record["columns"][0]["kind"] = "pickle"
    errors = list(jsonschema.Draft202012Validator(SCHEMA).iter_errors(record))
    assert len(errors) == 2


def test_rows_as_text_are_read_as_at_training(run: Any, table: Dataset) -> None:
    model = load_model(model_to_dict(run))
    texts = table.frame.astype(str)
    np.testing.assert_array_equal(model.predict(texts), model.predict(table.frame))


def test_unused_columns_may_be_absent_and_others_are_ignored(run: Any, table: Dataset) -> None:
    one = table.frame.assign(colour="red", extra=1)
    model = load_model(model_to_dict(run))
    assert len(model.predict(one)) == 6
    with pytest.raises(DataError, match="age"):
        model.predict(table.frame.drop(columns="age"))


def test_unseen_categories_of_tested_columns_are_reported(run: Any, table: Dataset) -> None:
    model = load_model(model_to_dict(run))
    pink = table.frame.assign(colour="pink")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(table.frame)
        model.predict(pink)
    colour = next(j for j, c in enumerate(run.encoding.columns) if c.raw == "colour")
    other = replace(
        model, tree=replace(run.tree, splits={1: Split.on_feature(colour), 3: run.tree.splits[3]})
    )
    with pytest.warns(UserWarning, match="6 rows of column “colour” .*“pink”"):
        other.predict(pink)


def test_levels_written_as_whole_numbers_stay_numbers(run: Any, table: Dataset) -> None:
    record = model_to_dict(run)
    record["columns"][2]["levels"] = [0, 1]
    np.testing.assert_array_equal(
        load_model(record).predict(table.frame), load_model(model_to_dict(run)).predict(table.frame)
    )


def test_a_run_without_tree_has_no_model(run: Any) -> None:
    run.tree = None
    with pytest.raises(ModelFileError, match="no tree"):
        model_to_dict(run)


def _changed(record: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    changed = json.loads(json.dumps(record))
    *steps, last = path.split(".")
    place = changed
    for step in steps:
        place = place[int(step) if step.isdigit() else step]
    place[int(last) if last.isdigit() else last] = value
    return changed


@pytest.mark.parametrize(
    ("path", "value", "code"),
    [
        ("format", "something", "NOT_A_MODEL"),
        ("version", 2, "OTHER_VERSION"),
        ("columns", None, "BROKEN_MODEL"),
        ("columns.0.kind", "secret", "BROKEN_MODEL"),
        ("columns.0.name", "other", "BROKEN_MODEL"),
        ("columns.1.name", "age", "BROKEN_MODEL"),
        ("classes", ["only one"], "BROKEN_MODEL"),
        ("classes.0", {"a": 1}, "BROKEN_MODEL"),
        ("encoding.columns", [], "BROKEN_MODEL"),
        ("encoding.columns.0.kind", "exec", "BROKEN_ENCODING"),
        ("encoding.columns.0.lower", "x", "BROKEN_ENCODING"),
        ("tree.nodes.0.weights", [[99, 1.0]], "BROKEN_MODEL"),
        ("tree.nodes.0.threshold", float("nan"), "BROKEN_TREE"),
        ("tree.nodes.0.node", 5, "BROKEN_TREE"),
        ("tree.nodes.1.node", 1, "BROKEN_TREE"),
        ("tree.nodes.1.label", 7, "BROKEN_TREE"),
        ("tree", [], "BROKEN_TREE"),
        ("tree.n_features", 2, "BROKEN_MODEL"),
    ],
)
def test_broken_files_are_refused(run: Any, path: str, value: Any, code: str) -> None:
    record = _changed(model_to_dict(run), path, value)
    with pytest.raises(ModelFileError) as caught:
        load_model(record)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("content", "code"),
    [(b"not json", "NOT_JSON"), (b"[]", "NOT_A_MODEL"), (b"\x80\x04pickle", "NOT_JSON")],
)
def test_other_files_are_refused(tmp_path: Path, content: bytes, code: str) -> None:
    path = tmp_path / "model.json"
    path.write_bytes(content)
    with pytest.raises(ModelFileError) as caught:
        load_model(path)
    assert caught.value.code == code


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="cannot be read"):
        load_model(tmp_path / "none.json")
