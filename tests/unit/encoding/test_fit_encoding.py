from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from octcore.data.columns import Column
from octcore.data.dataset import Dataset
from octcore.data.findings import percent
from octcore.data.reading import read_csv
from octcore.encoding import fit
from octcore.encoding.base import EncodedColumn, Encoding, encoded_block, group_slices
from octcore.encoding.fit import fit_encoding
from octcore.errors import DataError, ModelFileError, SettingsError
from octcore.solving.solve import solve

NAN = float("nan")


@pytest.fixture
def mixed() -> Dataset:
    """Six rows: numbers, three colours, two sexes, an ordinal text column, a constant."""
    frame = pd.DataFrame(
        {
            "age": [20.0, 30.0, 40.0, 50.0, 60.0, 70.0],
            "colour": ["red", "blue", "red", "green", "blue", "green"],
            "sex": ["m", "f", "m", "f", "m", "f"],
            "size": ["small", "large", "medium", "small", "large", "medium"],
            "flag": [0.0, 1.0, 1.0, 0.0, 0.0, 1.0],
            "same": [7.0] * 6,
        }
    )
    columns = (
        Column("age", "numeric"),
        Column("colour", "categorical", ("blue", "green", "red")),
        Column("sex", "binary", ("f", "m")),
        Column("size", "ordinal", ("small", "medium", "large")),
        Column("flag", "binary", (0.0, 1.0)),
        Column("same", "numeric"),
    )
    y = np.array([0, 1, 0, 1, 0, 1])
    return Dataset("mixed", frame, columns, "class", ("no", "yes"), y)


def test_columns_of_a_mixed_table(mixed: Dataset) -> None:
    encoding = fit_encoding("QT-2", mixed, few=0)
    assert encoding.names == (
        "age>45", "colour=blue", "colour=green", "colour=red", "sex=m", "size>1", "flag",
    )  # fmt: skip
    assert encoding.raw_features == mixed.feature_names
    assert group_slices(encoding)["colour"] == [1, 2, 3]
    np.testing.assert_array_equal(encoding.groups, [0, 1, 1, 1, 2, 3, 4])
    cells = encoding.transform(mixed.frame)
    np.testing.assert_array_equal(cells[0], [0, 0, 0, 1, 1, 0, 0])
    np.testing.assert_array_equal(cells[4], [1, 1, 0, 0, 1, 1, 0])


@pytest.mark.parametrize("key", ["QT-2", "QB-2", "QT-5", "QB-50"])
def test_few_numbers_have_a_threshold_between_all_neighbours(mixed: Dataset, key: str) -> None:
    encoding = fit_encoding(key, mixed)
    names = [encoding.names[j] for j in group_slices(encoding)["age"]]
    assert names == ["age>25", "age>35", "age>45", "age>55", "age>65"]
    assert [encoding.columns[j].lower for j in group_slices(encoding)["size"]] == [0.5, 1.5]
    for n_values, n_columns in ((10, 9), (11, len(fit_encoding(key, _ladder(11), few=0).columns))):
        assert len(fit_encoding(key, _ladder(n_values)).columns) == n_columns


def _ladder(n_values: int) -> Dataset:
    return Dataset.from_arrays(np.arange(float(n_values))[:, None])


def test_scaled_columns(mixed: Dataset) -> None:
    encoding = fit_encoding("scaled", mixed)
    cells = encoding.transform(mixed.frame)
    np.testing.assert_allclose(cells[:, 0], [0, 0.2, 0.4, 0.6, 0.8, 1])
    np.testing.assert_allclose(cells[:, 5], [0, 1, 0.5, 0, 1, 0.5])  # ranks of the sizes
    assert cells.min() == 0
    assert cells.max() == 1
    assert not encoding.is_binary


def test_class_change_uses_the_classes(mixed: Dataset) -> None:
    encoding = fit_encoding("class-change", mixed)
    assert [c.lower for c in encoding.columns if c.raw == "age"] == [25, 35, 45, 55, 65]
    with pytest.raises(SettingsError, match="target"):
        fit_encoding("class-change", (mixed.frame, mixed.columns))


def test_one_hot_refuses_numbers_and_names_them(mixed: Dataset) -> None:
    with pytest.raises(SettingsError, match="age") as caught:
        fit_encoding("one-hot", mixed)
    assert caught.value.code == "ENCODING_UNFIT"
    kept = ["colour", "sex", "size"]
    columns = [column for column in mixed.columns if column.name in kept]
    assert len(fit_encoding("one-hot", (mixed.frame[kept], columns)).columns) == 3 + 1 + 3


def test_none_takes_numbers_from_0_to_1_only(mixed: Dataset) -> None:
    with pytest.raises(SettingsError, match="age"):
        fit_encoding("none", mixed)
    frame = pd.DataFrame({"share": [0.0, 0.25, 1.0], "on": [0.0, 1.0, 1.0], "c": [1.0, 1.0, 1.0]})
    encoding = fit_encoding("none", Dataset.from_arrays(frame))
    assert encoding.names == ("share", "on")
    assert [column.is_binary for column in encoding.columns] == [False, True]
    np.testing.assert_array_equal(encoding.transform(frame), frame[["share", "on"]])


def test_a_constant_bucket_is_left_out() -> None:
    data = Dataset.from_arrays(np.array([0.0] * 98 + [1.0, 2.0])[:, None])
    assert fit_encoding("QB-5", data, few=0).columns == ()
    assert "No split is possible" in fit_encoding("QB-5", data, few=0).findings[-1]


def test_collapsed_quantiles_are_noted() -> None:
    data = Dataset.from_arrays(np.array([0.0] * 8 + [1.0, 2.0, 3.0])[:, None])
    assert "(2 of 4)" in fit_encoding("QT-5", data, few=0).findings[0]
    assert fit_encoding("QT-5", data).findings == ()


def test_new_rows_beyond_the_edges_fall_into_the_outer_buckets() -> None:
    data = Dataset.from_arrays(np.arange(20.0)[:, None])
    encoding = fit_encoding("QB-4", data)
    cells = encoding.transform(pd.DataFrame({"x0": [-1e9, 1e9]}))
    np.testing.assert_array_equal(cells, [[1, 0, 0, 0], [0, 0, 0, 1]])


def test_unseen_categories_give_zeros_and_are_named(mixed: Dataset) -> None:
    encoding = fit_encoding("QT-2", mixed)
    rows = mixed.frame.assign(colour=["red", "pink", "pink", "blue", "red", "red"])
    colours = group_slices(encoding)["colour"]
    assert encoding.transform(rows)[1, colours].tolist() == [0, 0, 0]
    (finding,) = encoding.unseen(rows, mixed.columns)
    assert finding.message == (
        "2 rows of column “colour” have a value that never came up in training (“pink”); a "
        "split on it takes it for none of those it knows."
    )
    assert encoding.unseen(mixed.frame, mixed.columns) == ()


def test_numbers_are_categories_in_whatever_kind_they_come() -> None:
    levels = [0.1, 0.2, 2**53 + 1]
    columns = tuple(EncodedColumn("a", "level", level=level) for level in levels)
    encoding = Encoding("one-hot", columns, ("a",))
    single = pd.DataFrame({"a": np.array([0.1, 0.2], np.float32)})
    np.testing.assert_array_equal(encoding.transform(single), np.eye(3)[:2])
    assert encoding.unseen(single) == ()
    whole = pd.DataFrame({"a": [2**53, 2**53 + 1]})
    np.testing.assert_array_equal(encoding.transform(whole)[:, 2], [0, 1])
    assert len(encoding.unseen(whole)) == 1


def test_truth_values_are_zero_and_one() -> None:
    frame = pd.DataFrame({"on": [True, False, True]})
    encoding = fit_encoding("none", (frame, (Column("on", "binary", (False, True)),)))
    np.testing.assert_array_equal(encoding.transform(frame)[:, 0], [1, 0, 1])
    assert encoding.unseen(frame) == ()


def test_unseen_numbers_are_named_where_a_column_has_levels(mixed: Dataset) -> None:
    frame = mixed.frame.assign(grade=[1.0, 2.0, 3.0, 1.0, 2.0, 3.0])
    columns = (*mixed.columns, Column("grade", "ordinal", (1.0, 2.0, 3.0)))
    encoding = fit_encoding("raw", (frame, columns))
    rows = frame.assign(flag=[2.0, 1, 1, 0, 0, 0.5], sex="x", grade=2.5, age=-1e9)
    said = {f.column: f.message for f in encoding.unseen(rows, columns)}
    assert set(said) == {"flag", "sex", "grade"}
    assert "(“2”, “0.5”); a split on it takes it for “0”." in said["flag"]
    assert "(“x”); a split on it takes it for “f”." in said["sex"]
    assert "(“2.5”); a split on it compares it by size." in said["grade"]


def test_ranks_refuse_what_they_do_not_know_and_do_not_compare_it(mixed: Dataset) -> None:
    rows = mixed.frame.assign(size="huge")
    encoding = fit_encoding("raw", mixed)
    assert encoding.unseen(rows, mixed.columns) == ()
    with pytest.raises(DataError, match="holds none of"):
        encoding.transform(rows)


def test_two_ordered_categories_are_ranks_and_not_the_numbers_of_them() -> None:
    frame = pd.DataFrame({"size": ["small", "large", "small"]})
    columns = (Column("size", "ordinal", ("small", "large")),)
    encoding = fit_encoding("raw", (frame, columns))
    np.testing.assert_array_equal(encoding.transform(frame)[:, 0], [0, 1, 0])
    assert encoding.kinds == {"size": "ordinal:small<large"}


def test_categories_that_a_column_does_not_name_come_last() -> None:
    frame = pd.DataFrame({"colour": ["red", "blue", "green"]})
    columns = (Column("colour", "categorical", ("green", "blue")),)
    encoding = fit_encoding("one-hot", (frame, columns))
    assert encoding.names == ("colour=green", "colour=blue", "colour=red")


def test_kinds_read_the_same_table_again(mixed: Dataset) -> None:
    kinds = fit_encoding("raw", mixed).kinds
    assert kinds == {
        "age": "numeric",
        "colour": "categorical",
        "sex": "categorical",
        "size": "ordinal:small<medium<large",
        "flag": "numeric",
    }


def test_long_whole_numbers_are_not_rounded(mixed: Dataset) -> None:
    encoding = fit_encoding("raw", mixed)
    rows = mixed.frame.assign(age=2**53 + np.arange(6))
    with pytest.raises(DataError, match="Row 2 of column “age” has 9007199254740993"):
        encoding.transform(rows)


@pytest.mark.parametrize(
    ("column", "value", "code"),
    [
        ("age", NAN, "MISSING_VALUE"),
        ("age", np.inf, "MISSING_VALUE"),
        ("age", "old", "BAD_VALUE"),
        ("colour", None, "MISSING_VALUE"),
        ("size", "huge", "BAD_VALUE"),
    ],
)
def test_values_that_cannot_be_encoded_name_row_and_column(
    mixed: Dataset, column: str, value: object, code: str
) -> None:
    rows = mixed.frame.astype(object)
    rows.loc[3, column] = value
    with pytest.raises(DataError, match=rf"Row 4 .*{column}") as caught:
        fit_encoding("QT-2", mixed).transform(rows)
    assert (caught.value.code, caught.value.column) == (code, column)


def test_missing_column_is_named(mixed: Dataset) -> None:
    with pytest.raises(DataError, match="colour") as caught:
        fit_encoding("QT-2", mixed).transform(mixed.frame.drop(columns="colour"))
    assert caught.value.code == "MISSING_COLUMN"


def test_fitting_refuses_missing_values_and_no_rows(mixed: Dataset) -> None:
    with pytest.raises(DataError, match="Row 2"):
        fit_encoding("QT-2", (pd.DataFrame({"a": [1.0, NAN]}), (Column("a", "numeric"),)))
    with pytest.raises(DataError, match="no rows"):
        fit_encoding("QT-2", (mixed.frame.iloc[:0], mixed.columns))


def test_levels_are_those_of_the_training_rows(mixed: Dataset) -> None:
    part = mixed.subset([0, 1, 2, 4])  # no green
    encoding = fit_encoding("QT-2", part)
    assert [c.level for c in encoding.columns if c.raw == "colour"] == ["red"]
    assert [f.column for f in encoding.unseen(mixed.frame)] == ["colour"]


@pytest.mark.parametrize("key", ["QB-3", "QT-3", "class-change", "scaled"])
def test_json_round_trip(mixed: Dataset, key: str) -> None:
    encoding = fit_encoding(key, mixed)
    again = Encoding.from_dict(json.loads(json.dumps(encoding.to_dict())))
    assert again == encoding
    np.testing.assert_array_equal(again.transform(mixed.frame), encoding.transform(mixed.frame))


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"key": "QT-5", "raw_features": [], "columns": [{"raw": "a", "kind": "above"}]},
        {"key": "QT-5", "raw_features": ["a"], "columns": [{"raw": "a", "kind": "python"}]},
        {
            "key": "x",
            "raw_features": ["a"],
            "columns": [{"raw": "a", "kind": "scaled", "scale": 0}],
        },
    ],
)
def test_broken_records_are_refused(record: dict[str, object]) -> None:
    with pytest.raises(ModelFileError):
        Encoding.from_dict(record)


def test_names_are_unique() -> None:
    frame = pd.DataFrame({"a": ["b=c", "x", "y"], "a=b": ["c", "d", "e"]})
    names = fit_encoding("one-hot", Dataset.from_arrays(frame)).names
    assert len(set(names)) == len(names)


def test_columns_of_one_raw_column_need_not_stand_together(mixed: Dataset) -> None:
    encoding = fit_encoding("QT-2", mixed)
    order = [3, 0, 6, 1, 5, 2, 4]
    columns = tuple(encoding.columns[j] for j in order)
    shuffled = Encoding(encoding.key, columns, encoding.raw_features)
    np.testing.assert_array_equal(
        shuffled.transform(mixed.frame), encoding.transform(mixed.frame)[:, order]
    )


def test_many_columns_of_one_name_are_numbered_in_no_time() -> None:
    columns = tuple(EncodedColumn("a", "above", 1.0) for _ in range(20_000))
    names = Encoding("QT-1", columns, ("a",)).names
    assert names[:3] == ("a>1", "a>1 (2)", "a>1 (3)")
    assert len(set(names)) == len(columns)


def test_the_levels_of_a_column_are_looked_up_once(
    mixed: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of 4,500 job titles was looked up apart, ten seconds long."""
    asked: list[str] = []

    def counted(columns: list[EncodedColumn], values: np.ndarray, raw: str) -> np.ndarray:
        asked.append(raw)
        return encoded_block(columns, values, raw)

    monkeypatch.setattr(fit, "encoded_block", counted)
    fit_encoding("QT-5", mixed)
    assert len(asked) == len(set(asked)) > 1


@pytest.mark.parametrize("zeros", [25, 35])
def test_what_binning_loses_is_said_of_the_thresholds_that_there_are(zeros: int) -> None:
    """Where a fifth of a column or more is 0, QT-5 cuts above 0; the bound on trees forgot that."""
    x = np.r_[np.zeros(zeros), np.arange(1, 51 - zeros)]
    labels = np.where(x == 0, "none", "some")
    labels[-1] = "none"
    rows = "".join(f"{a:g},{label}\n" for a, label in zip(x, labels, strict=True))
    data = read_csv(f"x,y\n{rows}".encode(), target="y")
    run = solve(data, "path-search", encoding="QT-5", depth=4, params={"leaf_penalty": 0.0})
    (said,) = (f.message for f in data.findings if f.code == "CONFLICTING_AFTER_BINNING")
    assert f"more accurate than {percent(run.accuracy_ceiling)} (" in said
    assert run.accuracy == run.accuracy_ceiling
