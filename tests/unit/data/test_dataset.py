"""Dataset: arrays in, subsets, new rows, and checks on entry."""

from __future__ import annotations

import dataclasses
import json
import pickle

import numpy as np
import pandas as pd
import pytest

from octcore.data.columns import Column
from octcore.data.dataset import Dataset
from octcore.errors import DataError, SettingsError

FRAME = pd.DataFrame(
    {
        "size": [1.5, 2.5, 3.5, 4.5],
        "flag": [0, 1, 0, 1],
        "colour": ["red", "blue", "red", "green"],
        "on": [True, False, True, True],
    }
)


def test_arrays_become_columns_and_sorted_classes():
    data = Dataset.from_arrays(FRAME, ["b", "a", "b", "a"])
    assert [c.kind for c in data.columns] == ["numeric", "binary", "categorical", "binary"]
    assert data.classes == ("a", "b")
    assert data.class_counts == (2, 2)
    assert data.column("colour").levels == ("blue", "green", "red")
    assert data.frame["flag"].dtype == np.float64


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        ([2, 1, 2, 1], (1, 2)),
        ([1.0, 0.0, 1.0, 0.0], (0, 1)),
        ([2e19, 1e19, 2e19, 1e19], (1e19, 2e19)),  # too large for integers
        (np.array([True, False, True, False]), (False, True)),
        (pd.Series(["x", "y", "x", "y"], dtype="category"), ("x", "y")),
        (np.array(["x", 1, "x", 1], dtype=object), ("1", "x")),
        (np.array([[2], [1], [2], [1]]), (1, 2)),
    ],
)
def test_labels_of_every_type(labels, classes):
    data = Dataset.from_arrays(np.arange(8.0).reshape(4, 2), labels)
    assert data.classes == classes
    assert all(not isinstance(label, np.generic) for label in data.classes)


@pytest.mark.parametrize(
    ("labels", "focus"),
    [
        (["ja", "ja", "ja", "nein"], "ja"),
        (["Yes", "yes ", "Yes", "no"], None),
        (["No", "YES", "YES", "YES"], "YES"),
        ([0, 1, 1, 1], 1),
        ([-1, -1, -1, 1], 1),
        ([True, True, False, True], True),
        (["ill", "ill", "ill", "not ill"], "ill"),
        (["non-smoker", "smoker", "smoker", "smoker"], "smoker"),
        (["a", "b", "b", "b"], "a"),
        (["a", "a", "a", "b"], "b"),
        (["a", "a", "b", "b"], None),
        (["no", "ja", "ja", "ja"], "no"),
        (["a", "b", "c", "c"], None),
    ],
)
def test_the_class_that_matters_says_yes_or_is_the_rarer(labels, focus):
    data = Dataset.from_arrays(FRAME, labels)
    assert data.focus == focus
    chosen = dataclasses.replace(data, positive_class=data.classes[0])
    assert chosen.focus == data.classes[0]


def test_names_and_kinds_of_the_user():
    data = Dataset.from_arrays(
        np.array([[1.0, 5.0], [2.0, 6.0], [3.0, 5.0]]),
        feature_names=["a", "b"],
        kinds={"a": "categorical"},
    )
    assert data.column("a") == Column("a", "categorical", ("1", "2", "3"))
    assert data.frame["a"].tolist() == ["1", "2", "3"]
    assert data.y is None
    with pytest.raises(SettingsError):
        Dataset.from_arrays(FRAME, kinds={"size": "text"})
    with pytest.raises(DataError):
        Dataset.from_arrays(FRAME, feature_names=["a"])


@pytest.mark.parametrize(
    ("features", "labels", "code"),
    [
        ([[1.0], [np.nan]], [0, 1], "MISSING_VALUE"),
        ([[1.0], [np.inf]], [0, 1], "MISSING_VALUE"),
        ([["a"], [""]], [0, 1], "MISSING_VALUE"),
        ([[1.0], [2.0]], [0, np.nan], "MISSING_TARGET"),
        ([[1.0], [2.0]], [0, 1, 0], "INCONSISTENT"),
        ([[1.0], [2.0]], [[0, 1], [1, 0]], "INCONSISTENT"),
        ([1.0, 2.0], [0, 1], "INCONSISTENT"),
        (pd.DataFrame({"a": [1.0, 2.0], " ": [3.0, 4.0]}), [0, 1], "NO_NAME"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(features, labels, code):
    with pytest.raises(DataError) as caught:
        Dataset.from_arrays(features, labels)
    assert caught.value.code == code


def test_tables_keep_what_their_types_say():
    """Ordered categories keep their order, dates become days, a question mark is a text."""
    frame = pd.DataFrame(
        {
            "size": pd.Categorical(["small", "large", "small"], ["small", "medium", "large"], True),
            "mark": ["?", "a", "b"],
            "day": pd.to_datetime(["2026-01-03 07:00", "2026-01-01 00:00", "2026-02-01 12:30"]),
            "digits": ["10", "9", "8"],
            "odd": [(1, 2), (3, 4), (5, 6)],
        }
    )
    data = Dataset.from_arrays(frame, [0, 1, 0])
    assert data.column("size").kind == "ordinal"
    assert data.column("size").levels == ("small", "medium", "large")
    assert "?" in data.column("mark").levels
    assert data.frame["day"].tolist() == [2.0, 0.0, 31.0]
    assert data.column("digits").kind == "categorical"
    assert {f.code: f.column for f in data.findings} == {"DATE_AS_NUMBER": "day", "OBJECTS": "odd"}
    assert data.prepare(frame).equals(data.frame.astype({c: str for c in ("size", "mark", "odd")}))
    stated = Dataset.from_arrays(frame, kinds={"mark": "ordinal:b<?<a"})
    assert stated.column("mark").levels == ("b", "?", "a")
    with pytest.raises(DataError, match="stated order"):
        Dataset.from_arrays(frame, kinds={"mark": "ordinal:a<b"})


@pytest.mark.parametrize(
    "values",
    [
        pd.to_timedelta(range(4), unit="D"),
        pd.period_range("2020-01", periods=4, freq="M"),
        pd.interval_range(0, 4),
    ],
    ids=["durations", "periods", "intervals"],
)
def test_durations_and_the_like_become_categories_with_a_word(values: pd.Index) -> None:
    """An optimum with one question for each duration was proven, and nothing was said."""
    data = Dataset.from_arrays(pd.DataFrame({"x": values}), [0, 0, 1, 1])
    assert data.columns[0].kind == "categorical"
    (found,) = (f for f in data.findings if f.code == "OBJECTS")
    assert "convert it to numbers" in found.message


def test_the_dataset_cannot_be_changed():
    data = Dataset.from_arrays(FRAME, [0, 1, 0, 1])
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.name = "other"  # type: ignore[misc]
    assert data.y is not None
    with pytest.raises(ValueError, match="read-only"):
        data.y[0] = 1


def test_subset_by_positions_and_by_mask():
    data = Dataset.from_arrays(FRAME, ["b", "a", "b", "a"])
    by_position, by_mask = data.subset([3, 0]), data.subset([True, False, False, True])
    assert by_position.frame["size"].tolist() == [4.5, 1.5]
    assert by_position.row_lines.tolist() == [5, 2]
    assert by_mask.frame["size"].tolist() == [1.5, 4.5]
    one_class = data.subset([0, 2])
    assert one_class.classes == ("a", "b")
    assert one_class.class_counts == (0, 2)


def test_new_rows_are_typed_as_at_training():
    data = Dataset.from_arrays(FRAME, [0, 1, 0, 1])
    raw = pd.DataFrame(
        {"other": ["?"], "colour": [" pink "], "size": ["7"], "on": ["True"], "flag": [1]}
    )
    new = data.prepare(raw)
    assert new.columns.tolist() == ["size", "flag", "colour", "on"]
    assert new.iloc[0].tolist() == [7.0, 1.0, "pink", "True"]
    assert data.prepare(FRAME).equals(data.frame)
    truths = pd.Series([False, True, np.False_, np.True_], dtype=object)  # as a column of type bool
    assert data.prepare(FRAME.assign(flag=truths)).equals(data.frame)


@pytest.mark.parametrize(
    ("change", "code", "column"),
    [
        ({"size": ["1.5", "x", "3", "4"]}, "BAD_VALUE", "size"),
        ({"size": [1.0, np.nan, 3.0, 4.0]}, "MISSING_VALUE", "size"),
        ({"colour": ["red", None, "red", "red"]}, "MISSING_VALUE", "colour"),
    ],
)
def test_bad_new_rows_name_row_and_column(change, code, column):
    data = Dataset.from_arrays(FRAME, [0, 1, 0, 1])
    with pytest.raises(DataError) as caught:
        data.prepare(FRAME.assign(**change))
    assert (caught.value.code, caught.value.line, caught.value.column) == (code, 2, column)
    assert "Row 2" in caught.value.message


def test_a_missing_column_is_named():
    data = Dataset.from_arrays(FRAME, [0, 1, 0, 1])
    with pytest.raises(DataError, match="size"):
        data.prepare(FRAME.drop(columns="size"))


def test_description_is_plain_json_and_pickles():
    data = Dataset.from_arrays(FRAME, [0, 1, 0, 1])
    described = json.loads(json.dumps(data.describe(), allow_nan=False))
    assert described["classes"] == [{"label": 0, "rows": 2}, {"label": 1, "rows": 2}]
    assert pickle.loads(pickle.dumps(data)).describe() == data.describe()


def test_inconsistent_parts_are_refused():
    frame = pd.DataFrame({"a": [1.0, 2.0]})
    with pytest.raises(DataError):
        Dataset("d", frame, (Column("b", "numeric"),))
    with pytest.raises(DataError):
        Dataset("d", frame, (Column("a", "numeric"),), y=np.array([0, 2]), classes=(0, 1))
    with pytest.raises(DataError):
        Dataset("d", frame, (Column("a", "numeric"),), classes=(0, 1), positive_class=2)
