"""Texts that mean a gap, spellings merged, dates taken apart: of a table and of new rows."""

from __future__ import annotations

import shlex

import numpy as np
import pandas as pd
import pytest

import octcore
from octcore.cli import make_parser
from octcore.cli.options import read_options
from octcore.data.dataset import pack, unpack
from octcore.data.reading import read_csv, read_table
from octcore.errors import DataError, OctError, SettingsError
from octcore.solving.recipe import DataChoice, command_line, python_recipe
from octcore.store.models import load_model, model_to_dict, score

WARDS = ("n/a", "Inner", "inner ", "Surgery")


def line(i: int) -> str:
    """A row whose class its ward decides."""
    age = -9 if i % 10 == 7 else 40 + i
    return f"{1 + i % 28:02d}.03.2024,{WARDS[i % 4]},{age},{'ab'[i % 4 == 3]}"


BLOB = "\n".join(["seen,ward,age,y", *map(line, range(60))]).encode()
CHOICE = DataChoice(
    file_name="own.csv",
    target="y",
    drop=("year of seen",),
    kinds={"seen": "date", "age": "ordinal"},
    missing="category",
    merge=("ward",),
    na_values={"ward": ("n/a", "none at all"), "age": ("-9",)},
    header=1,
    first_row=3,
)


def codes(data) -> dict[str, str]:
    return {finding.code: finding.message for finding in data.findings}


def test_a_word_that_may_mean_missing_is_said_with_its_rows_and_read_so_at_a_word():
    data = read_csv(BLOB, target="y")
    assert "“n/a” (15 rows), which may mean a missing value" in codes(data)["LOOKS_MISSING"]
    read = read_csv(BLOB, target="y", na_values={"ward": "n/a"}, missing="category")
    assert read.column("ward").levels == ("(missing)", "Inner", "Surgery", "inner")
    assert "LOOKS_MISSING" not in codes(read)
    assert "15 values missing in “ward” (written “n/a”)" in codes(read)["MISSING_VALUES"]
    assert read_csv(BLOB, target="y", na_values={"ward": ["n/a"]}).n_samples == 45


def test_a_number_and_a_label_can_mean_missing():
    numbers = read_csv(BLOB, target="y", na_values={"age": "-9"})
    assert numbers.frame["age"].min() == 40
    assert numbers.n_samples == 54
    unknown = BLOB.replace(b",a\n", b",k.A.\n", 6)
    said = next(f for f in read_csv(unknown, target="y").findings if f.column == "y")
    assert "“k.A.” (6 rows), which may mean a missing label" in said.message
    labels = read_csv(unknown, target="y", na_values={"y": "k.A."})
    assert labels.classes == ("a", "b")
    assert labels.n_samples == 54


def test_a_number_means_missing_in_every_spelling_also_in_new_rows():
    rows = [
        f"{('-9', '-9.0', '3', '5', '7.5')[i % 5]},{i % 7},{'ab'[i % 3 == 0]}" for i in range(30)
    ]
    blob = "\n".join(["age,x,y", *rows]).encode()
    data = read_csv(blob, target="y", na_values={"age": "-9"})
    assert set(data.frame["age"]) == {3, 5, 7.5}
    assert "(written “-9”, “-9.0”)" in codes(data)["MISSING_VALUES"]
    for unknown in ("-9", "-9.00", -9.0):
        with pytest.raises(DataError, match="has nothing in column “age”"):
            data.prepare(pd.DataFrame({"age": [unknown], "x": [1]}))


def test_a_text_that_was_never_written_changes_nothing_and_is_said():
    data = read_csv(BLOB, target="y", na_values={"ward": "?!"})
    assert data.columns == read_csv(BLOB, target="y").columns
    assert "has no “?!”" in codes(data)["NO_SUCH_VALUE"]


@pytest.mark.parametrize("suffix", ["T23:00:00+02:00", " 00:00:00-0500", " 11:05 PM", "T00:00Z"])
def test_a_time_zone_or_half_of_the_day_does_not_count(suffix):
    rows = [
        f"2024{'-.'[i % 2]}{i % 9 + 1:02d}{'-.'[i % 2]}15{suffix},{i},{'ab'[i % 2]}"
        for i in range(20)
    ]
    data = read_csv("\n".join(["d,x,y", *rows]).encode(), target="y", kinds={"d": "date"})
    assert data.frame["month of d"].tolist() == [i % 9 + 1 for i in range(20)]


def test_texts_that_may_be_dates_are_said():
    rows = [f"{i % 9 + 1}.{i % 12 + 1}.1{i % 2},{i},{'ab'[i % 2]}" for i in range(20)]
    blob = "\n".join(["d,x,y", *rows]).encode()
    assert "(“1.1.10”); choose date if it does" in codes(read_csv(blob, target="y"))["MAY_BE_DATES"]
    assert "MAY_BE_DATES" not in codes(read_csv(blob, target="y", kinds={"d": "categorical"}))


def test_spellings_that_differ_in_spaces_or_capitals_are_merged():
    cells = ["North  Sea", "north sea", "North Sea", "Baltic"]
    rows = [f"{cells[i % 4]},{i},{'ab'[i % 3 == 0]}" for i in range(24)]
    blob = "\n".join(["sea,x,y", *rows]).encode()
    assert "look alike" in codes(read_csv(blob, target="y"))["LOOK_ALIKE"]
    merged = read_csv(blob, target="y", merge=["sea"])
    assert merged.column("sea").levels == ("Baltic", "North  Sea")
    new = pd.DataFrame({"sea": ["north sea", "Baltic", "Arctic"], "x": ["1", "2", "3"]})
    assert merged.prepare(new)["sea"].tolist() == ["North  Sea", "Baltic", "Arctic"]


def test_dates_become_year_month_and_weekday():
    data = read_csv(BLOB, target="y", kinds={"seen": "date"})
    assert data.feature_names[:2] == ("weekday of seen", "ward")
    assert codes(data)["DATE_PARTS"] == "Column “seen” is read as year, month and weekday."
    assert [f.column for f in data.findings if f.code == "CONSTANT_COLUMN"] == [
        "year of seen",
        "month of seen",
    ]
    assert data.column("weekday of seen").levels[0] == "Monday"
    assert data.frame["weekday of seen"].tolist()[:3] == ["Friday", "Saturday", "Sunday"]
    dropped = read_csv(BLOB, target="y", kinds={"seen": "date"}, drop=["weekday of seen"])
    assert "weekday of seen" not in dropped.feature_names
    assert read_csv(BLOB, target="y", kinds={"seen": "date"}, drop=["seen"]).n_features == 2


@pytest.mark.parametrize("missing", ["drop-rows", "category"])
def test_a_date_that_is_missing_has_no_weekday(missing):
    dates = ["3/4/2023", "", "25/12/2024", "k.A."]
    rows = [f"{dates[i % 4]},{i},{'ab'[i % 3 == 0]}" for i in range(24)]
    blob = "\n".join(["d,x,y", *rows]).encode()
    data = read_csv(blob, target="y", kinds={"d": "date"}, na_values={"d": "k.A."}, missing=missing)
    assert "dates with day first" in codes(data)["DATE_PARTS"]
    if missing == "drop-rows":
        assert data.n_samples == 12
        assert set(data.frame["month of d"]) == {4.0, 12.0}
    else:
        assert data.column("weekday of d").levels[-1] == "(missing)"


@pytest.mark.parametrize("word", ["k.A.", "nan", "closed"])
@pytest.mark.parametrize("missing", ["drop-rows", "category"])
def test_a_word_among_dates_is_a_gap_in_all_their_parts_and_in_new_rows(word, missing):
    """It was a category in the year, and `octcore predict` refused the training file for it."""
    day = pd.date_range("2023-12-01", periods=60)
    cells = [word if i % 9 == 4 else str(d.date()) for i, d in enumerate(day)]
    rows = [f"{cell},{'ab'[d.weekday() > 2]}" for cell, d in zip(cells, day, strict=True)]
    blob = "\n".join(["d,y", *rows]).encode()
    data = read_csv(blob, target="y", kinds={"d": "date"}, missing=missing)
    assert codes(data)["DATE_PARTS"].endswith(f"missing: “{word}” (7 rows).")
    levels = {"drop-rows": (2023.0, 2024.0), "category": ("(missing)", "2023", "2024")}
    assert data.column("year of d").levels == levels[missing]
    run = octcore.solve(data, depth=2, verify=False)
    model, new = load_model(model_to_dict(run)), read_table(blob).frame()
    gaps = read_table(blob.replace(word.encode(), b"?")).frame()
    scored = [score(model, frame) for frame in (new, gaps)]
    told = [pd.Series(one.spread(one.labels)).fillna("").tolist() for one in scored]
    assert told[0] == told[1]
    assert {"a", "b"} <= {*told[0]}


@pytest.mark.parametrize("word", ["-", "nan", "inf"])
@pytest.mark.parametrize("kind", ["categorical", "ordinal"])
def test_a_word_that_was_a_gap_among_numbers_taken_as_names_is_one_in_new_rows(kind, word):
    """It was taken for a further category, or `octcore predict` refused its own training file."""
    cells = ["1,200", word, "12,500", "3,000"]
    rows = [f'"{cells[i % 4]}",{i % 3},{"ab"[i % 4 == 1 or i % 3 == 2]}' for i in range(24)]
    blob = "\n".join(["v,x,y", *rows]).encode()
    data = read_csv(blob, target="y", kinds={"v": kind}, missing="category")
    assert "(missing)" in data.column("v").levels
    run = octcore.solve(data, depth=2, params={"leaf_penalty": 0.0}, verify=False)
    model = load_model(model_to_dict(run))
    assert "v" in [column.name for column in model.needed]
    scored = score(model, read_table(blob).frame())
    assert scored.labels.tolist() == run.predict(data.frame).tolist()
    assert scored.accuracy == 1.0


def test_a_stray_text_that_training_counted_as_missing_is_so_in_new_rows():
    """`octcore predict` refused the file that it was trained on."""
    rows = [f"{'12x' if i == 5 else i},{'ab'[i > 12]}" for i in range(40)]
    blob = "\n".join(["v,y", *rows]).encode()
    data = read_csv(blob, target="y")
    assert "count as missing" in codes(data)["MIXED_TYPES"].replace("counts", "count")
    model = load_model(model_to_dict(octcore.solve(data, depth=1, verify=False)))
    scored = score(model, read_table(blob).frame())
    assert np.flatnonzero(~scored.complete).tolist() == [5]
    assert scored.accuracy == 1.0
    with pytest.raises(DataError, match="“13x”"):
        score(model, read_table(blob.replace(b"12x", b"13x")).frame())


def test_what_is_no_date_is_refused():
    with pytest.raises(DataError, match=r"“seen” cannot be read as dates, it has “31\.02\.2024”"):
        read_csv(BLOB.replace(b"05.03", b"31.02"), target="y", kinds={"seen": "date"})
    with pytest.raises(DataError, match="it has “n/a”"):
        read_csv(BLOB, target="y", kinds={"ward": "date"})
    with pytest.raises(SettingsError, match="cannot be taken apart as dates"):
        read_csv(BLOB, target="seen", kinds={"seen": "date"})


def test_a_stated_order_leaves_room_for_a_gap():
    rows = [f"{('low', 'high', '')[i % 3]},{i},{'ab'[i % 2]}" for i in range(24)]
    blob = "\n".join(["a,x,y", *rows]).encode()
    data = read_csv(blob, target="y", kinds={"a": "ordinal:low<high"}, missing="category")
    assert data.column("a").levels == ("low", "high", "(missing)")


def test_a_stated_order_names_no_level_that_was_merged_or_made_a_gap():
    rows = [f"{('low', 'Low', 'high', '?!')[i % 4]},{i},{'ab'[i % 2]}" for i in range(24)]
    blob = "\n".join(["a,x,y", *rows]).encode()
    asked = {"kinds": {"a": "ordinal:Low<low<?!<rare<high"}, "merge": ["a"], "missing": "category"}
    data = read_csv(blob, target="y", na_values={"a": ["?!"]}, **asked)
    merged = next(level for level in data.column("a").levels if level.lower() == "low")
    assert data.column("a").levels == (merged, "rare", "high", "(missing)")


def test_steps_are_stored_with_the_rows():
    data = read_csv(BLOB, **read_words(CHOICE))
    again = unpack(pack(data))
    assert again.columns == data.columns
    assert again.frame.equals(data.frame)
    assert data.prepare(data.frame).equals(data.frame)
    assert "aliases" not in read_csv(BLOB, target="y").describe()["columns"][0]


def read_words(choice: DataChoice) -> dict:
    """Keywords of `read_csv` for a choice."""
    return choice.of_columns | {"header": choice.header, "first_row": choice.first_row}


def test_the_copied_code_and_command_read_the_same_table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.csv").write_bytes(BLOB)
    data = read_csv("own.csv", **read_words(CHOICE))
    scope = {"octcore": octcore}
    exec(python_recipe(CHOICE, {}).splitlines()[2], scope)
    words = shlex.split(command_line(CHOICE, {}).replace("\\\n", " "))
    asked = read_options(make_parser().parse_args(words[1:]))
    for other in (scope["data"], read_csv("own.csv", **asked)):
        assert other.columns == data.columns
        assert other.frame.equals(data.frame)
        assert other.findings == data.findings


def test_new_rows_are_read_as_the_table_was():
    data = read_csv(
        BLOB,
        target="y",
        kinds={"seen": "date"},
        na_values={"ward": "n/a", "age": "-9"},
        merge=["ward"],
        missing="category",
    )
    run = octcore.solve(data, depth=3, params={"leaf_penalty": 0.0})
    model = load_model(model_to_dict(run))
    titled = b"of today,,,\n" + BLOB
    needed = [column.source for column in model.needed]
    rows = read_table(titled, names=needed).frame()
    scored = score(model, rows)
    assert scored.extra == ()
    assert scored.warnings == ()
    assert (scored.labels == rows["y"].to_numpy()[scored.complete]).mean() == run.accuracy
    assert list(scored.frame.columns) == ["seen", "ward", "age", "y"]
    if "age" in needed:
        assert (scored.complete == (rows["age"] != "-9")).all()


def test_a_date_that_new_rows_lack_is_named_by_its_column():
    rows = [f"{1 + i % 28:02d}.03.2024;{'ab'[i % 7 == 2]};{i}" for i in range(56)]
    data = read_csv(
        "\n".join(["seen;y;x", *rows]).encode(), target="y", kinds={"seen": "date"}, drop=["x"]
    )
    model = load_model(model_to_dict(octcore.solve(data, depth=2)))
    assert [column.source for column in model.needed] == ["seen"]
    with pytest.raises(OctError, match="“seen”"):
        score(model, pd.DataFrame({"x": ["1"]}))
    gap = score(model, pd.DataFrame({"seen": ["", "03.03.2024"]}))
    assert gap.complete.tolist() == [False, True]
    with pytest.raises(DataError, match="32nd"):
        score(model, pd.DataFrame({"seen": ["32nd"]}))


def test_a_code_that_a_file_has_among_numbers_stays_the_number_it_was_taken_for():
    """New rows take 0501 for the 501 of a column of names only where the file had it so."""
    rows = [f"{('0501', '1.5', '77')[i % 3]},{i},{'ab'[i % 3 == 0]}" for i in range(30)]
    blob = "\n".join(["x,z,y", *rows]).encode()
    data = read_csv(blob, target="y", kinds={"x": "categorical"})
    assert set(data.frame["x"]) == {"1.5", "77", "501"}
    new = pd.DataFrame({"x": ["0501", "501", "501.0", "00501"], "z": [1] * 4})
    assert data.prepare(new)["x"].tolist() == ["501", "501", "501", "00501"]
