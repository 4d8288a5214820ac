"""Reading of CSV files: one small file per general idea."""

from __future__ import annotations

import gc
import gzip
import io
import json
import pickle
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from octcore.data import typed
from octcore.data.reading import make_dataset, prices_of_gaps, read_csv, read_table
from octcore.data.text import clean_text
from octcore.errors import DataError, SettingsError

ROWS = "".join(f"{i}.5,{(i * 7) % 20}.25,{'ab'[i % 2]}\n" for i in range(20))
PLAIN = ("x1,x2,y\n" + ROWS).encode()


def codes(data, severity="warning"):
    return {finding.code for finding in data.findings if finding.severity == severity}


def table(lines, header="x1,x2,y"):
    return (header + "\n" + "\n".join(lines) + "\n").encode()


def test_a_plain_file_loads_without_warnings():
    data = read_csv(PLAIN, target="y")
    assert codes(data) == set()
    assert (data.n_samples, data.n_features, data.classes) == (20, 2, ("a", "b"))
    assert [column.kind for column in data.columns] == ["numeric", "numeric"]
    assert data.row_lines.tolist() == list(range(2, 22))
    assert data.y is not None
    assert data.y.tolist() == [0, 1] * 10
    assert not data.y.flags.writeable


def test_path_bytes_and_file_objects_give_the_same(tmp_path):
    path = tmp_path / "some name.csv"
    path.write_bytes(PLAIN)
    sources = [
        path,
        str(path),
        PLAIN,
        bytearray(PLAIN),
        io.BytesIO(PLAIN),
        io.StringIO(PLAIN.decode()),
    ]
    frames = [read_csv(source, target="y").frame for source in sources]
    assert all(frame.equals(frames[0]) for frame in frames)
    assert read_csv(path, target="y").name == "some name"
    with path.open("rb") as stream:
        assert read_csv(stream, target="y").source.file_name == "some name.csv"


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_separators_and_line_ends(delimiter, ending):
    text = PLAIN.decode().replace(",", delimiter).replace("\n", ending)
    data = read_csv(text.encode(), target="y")
    assert codes(data) == set()
    assert data.source.delimiter == delimiter
    assert data.n_samples == 20


def test_sep_line_is_obeyed_and_lines_still_count_from_the_top():
    data = read_csv(b"sep=;\n" + PLAIN.replace(b",", b";"), target="y")
    assert data.source.delimiter == ";"
    assert data.row_lines[0] == 3


@pytest.mark.parametrize(
    ("blob", "code"),
    [
        (b"", "EMPTY_FILE"),
        (b" \n\t\n", "EMPTY_FILE"),
        (b",,,\n,,,\n", "EMPTY_FILE"),
        (b"x1,x2,y\n", "NO_ROWS"),
        (b"x1,x2,y\n1,2,a\n", "TOO_FEW_ROWS"),
        (gzip.compress(PLAIN, mtime=0), "NOT_CSV"),
        (pickle.dumps({"a": 1}), "NOT_CSV"),
        (b"PK\x03\x04" + bytes(200), "NOT_CSV"),
        (b"%PDF-1.7\n" + PLAIN, "NOT_CSV"),
        (b"\x89PNG\r\n\x1a\n" + bytes(50), "NOT_CSV"),
        (b"SQLite format 3\0" + bytes(50), "NOT_CSV"),
        (b"<!DOCTYPE html><html><p>a, b</p></html>", "NOT_CSV"),
        (json.dumps({"x": [1, 2], "y": [0, 1]}).encode(), "NOT_CSV"),
        (b"@relation iris\n@attribute x numeric\n@data\n1\n", "NOT_CSV"),
        (PLAIN[:60] + b"\0" + PLAIN[60:], "NUL_BYTE"),
        (PLAIN.decode().encode("utf-16-le"), "ENCODING"),
        (bytes(12) + b"\xc2\xea\x81\x60" + bytes(500), "NOT_CSV"),  # as SAS writes
        (b"<table><tr><td>a, b</td></tr></table>", "NOT_CSV"),
        (b"\xff\xfe" + PLAIN.decode().encode("utf-16-le") + b"x", "ENCODING"),
        (PLAIN + b"1,2,3,4,5\n", "RAGGED"),
        (b'x1,x2,y\n1,2,"a\n3,4,b\n', "UNCLOSED_QUOTE"),
        (b'x1,x2,y\n1,2,"a"b\n3,4,b\n', "BAD_QUOTES"),
        (b"x1,x2,y\n1,2," + b"a" * 120_000 + b"\n3,4,b\n", "FIELD_TOO_LONG"),
        (b"x1,x2,y\n1,2," + b"a" * 3_000_000 + b"\n3,4,b\n", "FIELD_TOO_LONG"),
        (",".join(f"f{i}" for i in range(200_000)).encode() + b"\n1,2\n", "TOO_MANY_COLUMNS"),
        (b"x,y\n" + b"5,a\n5,b\n" * 5, "NO_USABLE_FEATURES"),
        (b"only\n1\n2\n", "NO_USABLE_FEATURES"),
    ],
)
def test_unusable_bytes_give_one_clear_sentence(blob, code):
    target = {b"only": "only", b"x,y\n": "y"}.get(blob[:4])
    with pytest.raises(DataError) as caught:
        read_csv(blob, target=target)
    assert caught.value.code == code
    assert caught.value.message.strip().endswith((".", "?"))
    assert caught.value.findings[-1].severity == "error"


def test_errors_name_line_and_column():
    with pytest.raises(DataError) as caught:
        read_csv(PLAIN + b"1,2,3,4\n", target="y")
    assert caught.value.line == 22
    with pytest.raises(DataError, match="line 2"):
        read_csv(b'x1,x2,y\n1,2,"a\n3,4,b\n', target="y")


@pytest.mark.parametrize(
    ("blob", "code"),
    [
        (PLAIN.replace(b"x1,", b"x1 ,"), "TRIMMED"),
        (PLAIN.replace(b",a\n", b", a \n"), "TRIMMED"),
        (PLAIN.replace(b"x1", b'"x\n1"'), "TRIMMED"),
        (PLAIN.replace(b"\n", b"\n\n"), "BLANK_LINES"),
        (PLAIN.replace(b"x1,", b","), "UNNAMED_COLUMN"),
        (PLAIN.replace(b"x2", b"x1"), "DUPLICATE_HEADER"),
        (PLAIN.replace(b"x1,x2", "caf\u00e9,cafe\u0301".encode()), "LOOKALIKE_NAMES"),
        (PLAIN.replace(b"x1", b"x" * 3000), "LONG_NAME"),
        (PLAIN.replace(b",a\n", b"," + b"a" * 3000 + b"\n"), "LONG_NAME"),
        (PLAIN.replace(b",a\n", b",a\x07\x1b[31m\n"), "CONTROL_CHARS"),
        (PLAIN.replace(b",a\n", ",a\u202e\n".encode()), "CONTROL_CHARS"),
        (PLAIN.replace(b",a\n", ",é\n".encode("latin-1")), "ENCODING"),
        (PLAIN.decode().encode("utf-16"), "ENCODING"),
        (PLAIN.replace(b"0.5,", b",", 1), "MISSING_VALUES"),
        (PLAIN.replace(b"0.5,", b"inf,", 1), "INFINITE"),
        (PLAIN.replace(b"0.5,", b"1e999,", 1), "INFINITE"),
        (PLAIN.replace(b",a\n", b",\n", 1), "MISSING_TARGET"),
        (PLAIN + b"1\n", "MISSING_TARGET"),
        (PLAIN + b"1\n", "SHORT_ROWS"),
        (PLAIN.replace(b",a\n", b",a,\n").replace(b",b\n", b",b,\n"), "SHIFTED_COLUMNS"),
        (
            PLAIN.replace(b",y", b",y,").replace(b"a\n", b"a,\n").replace(b"b\n", b"b,\n"),
            "EMPTY_COLUMN",
        ),
        (PLAIN.replace(b",a\n", b",NA\n"), "LOOKS_MISSING"),
        (PLAIN + b"1,2,rare\n", "RARE_CLASS"),
        (PLAIN.replace(b"b\n", b"a\n", 9), "IMBALANCED"),
    ],
)
def test_oddities_load_with_a_warning(blob, code):
    target = "y"
    assert code in codes(read_csv(blob, target=target))


@pytest.mark.parametrize(
    ("texts", "code", "numbers"),
    [
        ([f'"{i},{i:03d}"' for i in range(1, 21)], "THOUSANDS", [i * 1001 for i in range(1, 21)]),
        ([f'"0,{i:03d}"' for i in range(20)], "DECIMAL_COMMA", [i / 1000 for i in range(20)]),
        ([f"${i}.50" for i in range(20)], "TEXT_NUMBERS", [i + 0.5 for i in range(20)]),
        ([f"{i}%" for i in range(20)], "TEXT_NUMBERS", list(range(20))),
        ([f"-{i}.5 kg" for i in range(20)], "TEXT_NUMBERS", [-i - 0.5 for i in range(20)]),
        ([f"EUR {i}" for i in range(20)], "TEXT_NUMBERS", list(range(20))),
        (
            [f"({i}.5)" if i % 2 else f"{i}" for i in range(20)],
            "TEXT_NUMBERS",
            [-i - 0.5 if i % 2 else i for i in range(20)],
        ),
        (
            [f"{i}.5-" if i % 2 else f'"1,00{i % 9}.5"' for i in range(20)],
            "TEXT_NUMBERS",
            [-i - 0.5 if i % 2 else 1000.5 + i % 9 for i in range(20)],
        ),
        (
            [f'"{i},5-"' if i % 2 else f'"1.00{i % 9},5"' for i in range(20)],
            "TEXT_NUMBERS",
            [-i - 0.5 if i % 2 else 1000.5 + i % 9 for i in range(20)],
        ),
        (
            [(f"(${i}.5)", f"$({i}.5)", f"${i}.5")[i % 3] for i in range(20)],
            "TEXT_NUMBERS",
            [i + 0.5 if i % 3 == 2 else -i - 0.5 for i in range(20)],
        ),
        (
            [f"{i}\u2009{i:03d}" for i in range(1, 21)],
            "THOUSANDS",
            [i * 1001 for i in range(1, 21)],
        ),
        ([f"\u2212{i}.5" for i in range(20)], "REWRITTEN", [-i - 0.5 for i in range(20)]),
        ([f"\u2013{i}.5" for i in range(20)], "REWRITTEN", [-i - 0.5 for i in range(20)]),
    ],
)
def test_numbers_as_people_write_them(texts, code, numbers):
    data = read_csv(table([f"{t},{i % 7},{'ab'[i % 2]}" for i, t in enumerate(texts)]), target="y")
    assert code in codes(data)
    assert data.frame["x1"].tolist() == pytest.approx(numbers)
    raw = [text.strip('"') for text in texts]
    again = data.prepare(data.frame.assign(x1=raw))
    assert again["x1"].tolist() == pytest.approx(numbers)


def test_beside_decimal_points_a_comma_marks_thousands_whatever_the_separator():
    lines = [f"{i % 3 + 7},{i + 100}\t{i}.25\t{'ab'[i % 2]}" for i in range(20)]
    lines.append("950\t3.5\ta")
    data = read_csv(table(lines, "x1\tx2\ty"), target="y")
    assert data.frame["x1"].tolist() == [*(1000 * (i % 3 + 7) + i + 100 for i in range(20)), 950]
    assert "THOUSANDS" in codes(data)


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("gap", ["'", " ", "\u00a0", "\u202f"])
def test_accounts_part_thousands_by_spaces_or_apostrophes_too(delimiter, gap):
    signs = ("({})", "{}", "{}-")
    written = [f'"{signs[i % 3].format(f"{i + 1}{gap}00{i % 9},5")}"' for i in range(20)]
    lines = [f"{t}{delimiter}{i}{delimiter}{'ab'[i % 2]}" for i, t in enumerate(written)]
    data = read_csv(table(lines, f"x1{delimiter}x2{delimiter}y"), target="y")
    expected = [(1 if i % 3 == 1 else -1) * (1000 * (i + 1) + i % 9 + 0.5) for i in range(20)]
    assert data.frame["x1"].tolist() == expected


@pytest.mark.parametrize(
    ("whole", "lone", "delimiter"),
    [("{},{:03d}", "7", ";"), ("{},{:03d}", "7", "\t"), ('"{}.{:03d}"', '"7,5"', ",")],
)
def test_thousands_without_decimals_are_known_by_smaller_whole_numbers(whole, lone, delimiter):
    """12,080 beside 950 has no decimals; and neither has 12.080 where commas are decimal."""
    cells = [whole.format(i + 1, 40 * i) for i in range(20)] + ["950"]
    lines = [f"{v}{delimiter}{lone}{delimiter}{'ab'[i % 2]}" for i, v in enumerate(cells)]
    data = read_csv(table(lines, delimiter.join(["x1", "x2", "y"])), target="y")
    assert data.frame["x1"].tolist() == [*(1000 * (i + 1) + 40 * i for i in range(20)), 950]
    assert "THOUSANDS" in codes(data)


def test_numbers_with_and_without_a_sign_are_said():
    lines = [f"{i if i % 2 else f'{i}%'},{i % 7},{'ab'[i % 2]}" for i in range(20)]
    said = next(f for f in read_csv(table(lines), target="y").findings if f.code == "TEXT_NUMBERS")
    assert said.message.endswith("such as “1”, count as if they had it.")


def test_texts_that_a_spreadsheet_was_to_keep_are_taken_out_of_their_formula():
    lines = [f'="{i}","=""{i % 7}""",="{"ab"[i % 2]}"' for i in range(20)]
    data = read_csv(table(lines), target="y")
    assert data.frame["x1"].tolist() == list(range(20))
    assert data.frame["x2"].tolist() == [i % 7 for i in range(20)]
    said = [f.message for f in data.findings if f.code == "REWRITTEN"]
    assert said[0].startswith('Column “x1” has “="0"” in the file, which is read as “0”')
    named = read_csv(table(lines, '="x1",x2,y'), target="y")
    words = 'A column name has “="x1"” in the file, which is read as “x1”.'
    assert words in [f.message for f in named.findings]
    assert data.classes == ("a", "b")
    assert clean_text('="5" & "6"') == '="5" & "6"'  # a formula of more is left as it is


@pytest.mark.parametrize("text", ["(1)", "1-2", "12-06-26"])
def test_texts_that_only_look_like_numbers_or_dates_stay_texts(text):
    lines = [f"{text.replace('1', str(1 + i % 4))},{i % 7},{'ab'[i % 2]}" for i in range(20)]
    assert read_csv(table(lines), target="y").columns[0].kind == "categorical"


@pytest.mark.parametrize(
    ("texts", "is_date"),
    [
        (("1.2.10", "2.0.1"), False),
        (("1.2.10", "2.11.14", "1.10.12"), False),
        (("1.2.10", "01.11.14"), True),
        (("1.2.10", "31.1.11"), True),
        (("1.2.2010", "2.11.2014"), True),
        (("1.2.2010", "2.13.2014"), False),
    ],
)
def test_versions_are_categories_and_dates_with_points_days(texts, is_date):
    lines = [f"{texts[i % len(texts)]},{i % 7}.5,{'ab'[i % 2]}" for i in range(40)]
    found = read_csv(table(lines), target="y")
    assert ("DATE_COLUMN" in codes(found), "x1" in found.feature_names) == (is_date, not is_date)


def test_what_may_be_versions_are_dates_by_the_users_word():
    lines = [f"{1 + i % 4}.2.1{i % 5},{i % 7}.5,{'ab'[i % 2]}" for i in range(40)]
    days = read_csv(table(lines), target="y", kinds={"x1": "numeric"})
    assert days.columns[0].unit == "days since 2010-02-01"
    parts = read_csv(table(lines), target="y", kinds={"x1": "date"})
    assert "year of x1" in parts.feature_names


@pytest.mark.parametrize(("text", "year"), [("03/{}/26", 2026), ("{}.3.69", 1969), ("{}.3.50", 0)])
def test_years_of_two_digits_are_read_where_all_programs_agree(text, year):
    lines = [f"{text.format(13 + i % 9)},{i % 7}.5,{'ab'[i % 2]}" for i in range(20)]
    found = codes(read_csv(table(lines), target="y"))
    assert ("DATE_COLUMN" in found) == (year > 0)
    if year:
        data = read_csv(table(lines), target="y", kinds={"x1": "numeric"})
        assert data.columns[0].unit == f"days since {year}-03-13"


def test_semicolon_files_take_a_comma_as_decimal():
    blob = table([f"1,{i:03d};{i};{'ab'[i % 2]}" for i in range(20)], "x1;x2;y")
    data = read_csv(blob, target="y")
    assert data.frame["x1"].tolist() == pytest.approx([1 + i / 1000 for i in range(20)])


def test_dates_are_left_out_unless_asked_for():
    lines = [f"2026-01-{i + 1:02d},{i % 7}.5,{'ab'[i % 2]}" for i in range(20)]
    data = read_csv(table(lines), target="y")
    assert "DATE_COLUMN" in codes(data)
    assert data.feature_names == ("x2",)
    days = read_csv(table(lines), target="y", kinds={"x1": "numeric"})
    assert days.frame["x1"].tolist() == list(range(20))


def test_ids_and_row_numbers_are_left_out_unless_asked_for():
    lines = [f"{i},p{i},{i % 7}.5,{'ab'[i % 2]}" for i in range(20)]
    data = read_csv(table(lines, ",name,x,y"), target="y")
    assert {"INDEX_COLUMN", "ID_COLUMN"} <= codes(data)
    assert data.feature_names == ("x",)
    assert dict(data.source.columns_dropped) == {"column 1": "INDEX_COLUMN", "name": "ID_COLUMN"}
    kept = read_csv(table(lines, ",name,x,y"), target="y", kinds={"name": "categorical"})
    assert kept.column("name").kind == "categorical"


@pytest.mark.parametrize(
    ("name", "repeated", "left_out"),
    [("ID", 2, True), ("patient id", 2, True), ("PatientID", 2, True), ("ID", 4, False),
     ("number", 1, False), ("number", 0, True), ("age", 0, False)],
)  # fmt: skip
def test_whole_numbers_named_as_ids_are_left_out_where_nearly_every_row_has_its_own(
    name, repeated, left_out
):
    lines = [f"{100 + max(i, repeated)},{i % 7}.5,{'ab'[i % 2]}" for i in range(20)]
    data = read_csv(table(lines, f"{name},x,y"), target="y")
    assert (name in data.feature_names) != left_out
    assert ("ID_COLUMN" in codes(data)) == left_out


def test_large_integers_that_collapse_are_said():
    lines = [f"{2**70 + i},{i % 7}.5,{'ab'[i % 2]}" for i in range(20)]
    assert "PRECISION_LOST" in codes(read_csv(table(lines), target="y"))


def test_a_decimal_comma_is_told_by_a_number_that_has_one():
    lines = [f"{i};{'ab'[i % 2]}" if i < 9 else f"{i},5;{'ab'[i % 2]}" for i in range(20)]
    (found,) = (f for f in read_csv(table(lines, "x;y"), target="y").findings if "x" == f.column)
    assert (found.code, "“9,5”" in found.message) == ("DECIMAL_COMMA", True)


def test_stray_text_among_numbers_counts_as_missing():
    lines = [f"{i}.5,{i % 7}.5,{'ab'[i % 2]}" for i in range(30)]
    lines[4] = "abc,1.5,a"
    data = read_csv(table(lines), target="y")
    assert "MIXED_TYPES" in codes(data)
    assert data.n_samples == 29
    assert 6 not in data.row_lines.tolist()
    kept = read_csv(table(lines), target="y", kinds={"x1": "categorical"})
    assert kept.n_samples == 30
    assert "abc" in kept.column("x1").levels
    assert "MIXED_TYPES" not in codes(kept)


def test_stray_text_among_decimal_commas_counts_as_missing():
    lines = [f"{i}.000,5;{i % 7},5;{'ab'[i % 2]}" for i in range(1, 31)]
    lines[4], lines[9] = "k.A.;1,5;a", "1.234.567;unbekannt;b"
    data = read_csv(table(lines, "x;z;y"), target="y")
    assert [c.kind for c in data.columns] == ["numeric", "numeric"]
    assert {"MIXED_TYPES", "DECIMAL_COMMA"} <= set(codes(data))
    assert data.n_samples == 28
    assert data.frame["x"].tolist()[:2] == [1000.5, 2000.5]
    assert 1234567.0 not in data.frame["x"].tolist()
    assert not any("k.A." in f.message for f in data.findings if f.code == "DECIMAL_COMMA")


@pytest.mark.parametrize(("form", "read"), [("{}.5", 0.5), ("{},5", 0.5), ("{} kg", 0.0)])
def test_many_texts_among_numbers_are_said_and_the_users_word_makes_them_missing(form, read):
    cells = ["unbekannt" if i % 3 == 1 else form.format(i) for i in range(30)]
    blob = table([f"{cell};{'ab'[i % 2]}" for i, cell in enumerate(cells)], "x;y")
    texts = read_csv(blob, target="y")
    assert texts.column("x").kind == "categorical"
    said = next(f.message for f in texts.findings if f.code == "MIXED_TEXT")
    assert "10 of 30 values are none, such as “unbekannt”" in said
    assert "choose numeric" in said
    numbers = read_csv(blob, target="y", kinds={"x": "numeric"})
    assert numbers.frame["x"].tolist() == [i + read for i in range(30) if i % 3 != 1]
    assert "MIXED_TYPES" in codes(numbers)


@pytest.mark.parametrize("form", ["{} kg", '"{},500"', "1.0{}e3"])
def test_numbers_that_are_wanted_as_categories_are_named_as_the_file_writes_them(form: str) -> None:
    texts = [form.format(k) for k in (5, 7, 9)]
    lines = [f"{texts[i % 3]},{i % 2}" for i in range(12)]
    data = read_csv(table(lines, "x,y"), target="y", kinds={"x": "categorical"})
    written = [text.strip('"') for text in texts]
    plain = [f"{float(text):g}" for text in texts] if "e3" in form else written
    assert data.column("x").levels == tuple(plain)


def test_a_word_beside_numbers_with_a_unit_is_a_level_and_the_other_reading_is_said():
    cells = ["placebo" if i % 10 == 1 else f"{10 * (i % 4 + 1)} mg" for i in range(40)]
    blob = table([f"{cell},{i}.5,{'ab'[i % 2]}" for i, cell in enumerate(cells)], "x,z,y")
    data = read_csv(blob, target="y")
    assert "placebo" in data.column("x").levels
    assert data.n_samples == 40
    assert "MIXED_TEXT" in codes(data)


def test_codes_with_letters_beside_texts_stay_texts_without_a_word():
    cells = ["none at all" if i % 3 == 1 else f"A{i}x" for i in range(30)]
    blob = table([f"{cell},{i}.5,{'ab'[i % 2]}" for i, cell in enumerate(cells)], "x,z,y")
    data = read_csv(blob, target="y", kinds={"x": "categorical"})
    assert data.column("x").kind == "categorical"
    assert not {"MIXED_TYPES", "MIXED_TEXT"} & set(codes(data))


def test_default_kinds_and_the_users_word():
    lines = [
        f"{i},{i % 4},{i % 2},{i / 3:.3f},t{i % 3},{'ab'[i % 2 ^ (i % 3 > 1)]}" for i in range(24)
    ]
    blob = table(lines, "many,few,two,real,text,y")
    data = read_csv(blob, target="y")
    assert [c.kind for c in data.columns] == [
        "numeric",
        "numeric",
        "binary",
        "numeric",
        "categorical",
    ]
    assert data.column("two").levels == (0.0, 1.0)
    asked = read_csv(
        blob, target="y", kinds={"few": "ordinal", "two": "categorical", "text": "ordinal:t2<t1<t0"}
    )
    assert asked.column("few").levels == (0.0, 1.0, 2.0, 3.0)
    codes_of_few = read_csv(blob, target="y", kinds={"few": "categorical"}).column("few")
    assert codes_of_few.levels == ("0", "1", "2", "3")
    assert asked.column("two").levels == ("0", "1")
    assert asked.column("text").levels == ("t2", "t1", "t0")
    assert "EDGES_COLLAPSED" in codes(data)
    for kinds, code in (({"text": "numeric"}, "NOT_NUMERIC"), ({"few": "binary"}, "NOT_BINARY")):
        with pytest.raises(DataError) as caught:
            read_csv(blob, target="y", kinds=kinds)
        assert caught.value.code == code


def test_why_quantile_buckets_collapse():
    cells = ["0"] * 80 + [*map(str, range(1, 41))]
    data = read_csv(table([f"{c},{i % 3},{'ab'[i % 2]}" for i, c in enumerate(cells)]), target="y")
    of_values, of_few = (f.message for f in data.findings if f.code == "EDGES_COLLAPSED")
    assert "one value in so many rows that 5 quantile buckets become 2" in of_values
    assert "has 3 distinct values, so that 5 quantile buckets become 3" in of_few


def test_lines_of_titles_and_units_around_the_header_are_left_out():
    rows = [f"{i}.5;{i % 3};{'ab'[i % 2]}" for i in range(20)]
    text = ["Export of the clinic;;", ";;", "width;count;y", "[mm];;", *rows]
    data = read_csv("\n".join(text).encode(), target="y")
    assert [column.name for column in data.columns] == ["width", "count"]
    assert data.n_samples == 20
    assert data.row_lines[0] == 5
    said = {finding.code: finding for finding in data.findings}
    assert "1 line above the header left out (“Export of the clinic" in said["TITLE_LINES"].message
    assert said["UNITS_LINE"].line == 4
    plain = read_csv("\n".join(["width;count;y", *rows]).encode(), target="y")
    assert not {"TITLE_LINES", "UNITS_LINE"} & {finding.code for finding in plain.findings}
    assert plain.frame.equals(data.frame)


def test_a_first_line_of_few_names_is_no_title():
    data = read_csv(b"a,y\n1,p\n2,q\n3,p\n4,q\n", target="y")
    assert data.n_samples == 4
    gaps = read_csv(b"y,,\np,1,2\nq,2,3\np,3,4\n", target="y")
    assert gaps.n_samples == 3


def test_a_letter_is_no_table():
    with pytest.raises(DataError, match="a few lines of text") as caught:
        read_csv(b"This is a letter of mine,\nwritten on a rainy day, with love.\nNothing more.\n")
    assert caught.value.code == "NO_TABLE"


def test_missing_values_by_choice():
    lines = [f"{i}.5,t{i % 3},{i % 5}.5,{'ab'[i % 2]}" for i in range(20)]
    lines[0], lines[1] = ",t0,1.5,a", "1.5,,1.5,b"
    blob = table(lines, "x,t,z,y")
    rows = read_csv(blob, target="y")
    assert (rows.n_samples, dict(rows.source.rows_dropped)) == (18, {"MISSING_VALUES": 2})
    columns = read_csv(blob, target="y", missing="drop-columns")
    assert (columns.n_samples, columns.feature_names) == (20, ("z",))
    category = read_csv(blob, target="y", missing="category")
    assert category.n_samples == 19
    assert "(missing)" in category.column("t").levels
    assert "(missing)" in category.prepare(category.frame.assign(t="?"))["t"].tolist()


def test_labels_that_look_missing_stay_classes():
    data = read_csv(PLAIN.replace(b",a\n", b",None\n"), target="y")
    assert data.classes == ("None", "b")
    assert data.n_samples == 20


@pytest.mark.parametrize(
    ("a", "b", "classes"),
    [
        (b"0.0", b"1.0", (0, 1)),
        (b"10", b"9", (9, 10)),
        (b"-1", b"+1", (-1, 1)),
        (b"True", b"False", ("False", "True")),
        (b"007", b"7", ("007", "7")),
        (b"0.5", b"1.5", ("0.5", "1.5")),
        (b"=1+1", b"-1", ("-1", "=1+1")),
    ],
)
def test_classes_are_sorted_python_values(a, b, classes):
    data = read_csv(
        PLAIN.replace(b",a\n", b"," + a + b"\n").replace(b",b\n", b"," + b + b"\n"), "y"
    )
    assert data.classes == classes
    assert {type(label) for label in data.classes} == {type(classes[0])}


def test_leakage_is_a_warning_for_copies_and_information_for_a_yes_no_rule():
    lines = [f"{'ab'[i % 2]},{i % 9}.5,{('no', 'yes')[i % 2]},{'ab'[i % 2]}" for i in range(20)]
    data = read_csv(table(lines, "copy,x,flag,y"), target="y")
    found = {(f.column, f.severity) for f in data.findings if f.code == "LEAKAGE"}
    assert found == {("copy", "warning"), ("flag", "info")}


def test_conflicting_rows_state_the_ceiling():
    blob = table(["1.5,1.5,a", "1.5,1.5,b", "1.5,1.5,b", "2.5,1.5,a"] * 5)
    data = read_csv(blob, target="y")
    (finding,) = [f for f in data.findings if f.code == "CONFLICTING_ROWS"]
    assert "75.0 %" in finding.message


@pytest.mark.parametrize("place", [b",a\n", b"x1"])
def test_control_characters_that_are_written_out_are_no_spaces_that_are_removed(place):
    blob = PLAIN.replace(place, place.replace(b"a", b"a\x07a").replace(b"1", b"1\x07"))
    codes = [finding.code for finding in read_csv(blob, target="y").findings]
    assert "CONTROL_CHARS" in codes
    assert "TRIMMED" not in codes


def test_all_findings_travel_with_the_error():
    with pytest.raises(DataError) as caught:
        read_csv(b"x1 ,x2,y\n" + b"5,same,a\n5,same,b\n" * 5, target="y")
    assert {f.code for f in caught.value.findings} >= {
        "TRIMMED",
        "CONSTANT_COLUMN",
        "NO_USABLE_FEATURES",
    }


def test_wrong_choices_are_refused_with_near_matches():
    with pytest.raises(DataError, match="did you mean") as caught:
        read_csv(PLAIN, target="x3")
    assert caught.value.code == "UNKNOWN_COLUMN"
    with pytest.raises(DataError):
        read_csv(PLAIN, target="y", drop=["nothing"])
    with pytest.raises(SettingsError):
        read_csv(PLAIN, target="y", kinds={"x1": "text"})
    with pytest.raises(SettingsError):
        read_csv(PLAIN, target="y", missing="fill")
    with pytest.raises(SettingsError):
        read_csv(PLAIN, target="y", positive_class="c")
    with pytest.raises(DataError) as caught:
        read_csv("no/such/file.csv")
    assert caught.value.code == "FILE_NOT_FOUND"


def test_positive_class_accepts_the_text_form():
    blob = PLAIN.replace(b",a\n", b",0\n").replace(b",b\n", b",1\n")
    assert read_csv(blob, target="y", positive_class="1").positive_class == 1


def test_a_table_is_typed_again_without_reading_again():
    read = read_table(PLAIN, file_name="../../etc/passwd")
    first = make_dataset(read, target="y")
    second = make_dataset(read, target="x2", drop=["y"])
    assert first.target_name == "y"
    assert second.target_name == "x2"
    assert second.source.columns_dropped == (("y", "USER"),)
    assert first.name == "passwd"
    assert make_dataset(read).y is None
    assert read.frame().shape == (20, 3)


def test_wide_tables_keep_their_findings_short():
    blob = table(["5," * 300 + "1.5,a", "5," * 300 + "2.5,b"] * 6, "," * 300 + "x,y")
    data = read_csv(blob, target="y")
    assert len(data.findings) < 40
    told = [finding.message for finding in data.findings if "Likewise, each" in finding.message]
    assert told
    assert not any(message.startswith("Likewise") for message in told)
    assert all(" more." in message for message in told)


def test_codes_keep_their_leading_zeros_unless_numbers_are_asked_for():
    lines = [f"0{100 + i % 9},{i}.5,{'ab'[i % 2]}" for i in range(30)]
    data = read_csv(table(lines, "code,x,y"), target="y")
    assert data.column("code").kind == "categorical"
    assert "0100" in data.column("code").levels
    assert "LEADING_ZEROS" in codes(data, "info")
    asked = read_csv(table(lines, "code,x,y"), target="y", kinds={"code": "numeric"})
    assert asked.frame["code"].max() == 108


def test_values_that_look_alike_are_said_and_merged_on_request():
    lines = [f"{i}.5,{['Yes', 'yes', 'no'][i % 3]},{['a', 'A', 'b'][i % 3]}" for i in range(31)]
    data = read_csv(table(lines, "x,flag,y"), target="y")
    assert data.n_classes == 3
    assert [f.column for f in data.findings if f.code == "LOOK_ALIKE"] == ["y", "flag"]
    merged = read_csv(table(lines, "x,flag,y"), target="y", merge=["y", "flag"])
    assert merged.classes == ("a", "b")
    assert merged.column("flag").levels == ("Yes", "no")
    assert "LOOK_ALIKE" not in codes(merged, "info")


def test_numbers_written_in_two_ways_are_no_look_alikes():
    lines = [f"{i % 12}{'.0' * (i % 2)},{'ab'[i % 2]}" for i in range(40)]
    assert "LOOK_ALIKE" not in codes(read_csv(table(lines, "x,y"), target="y"), "info")
    with_a_word = read_csv(table([*lines, "error,a"], "x,y"), target="y")
    assert "MIXED_TYPES" in codes(with_a_word, "warning")
    assert "LOOK_ALIKE" not in codes(with_a_word, "info")


def test_a_share_that_is_not_all_is_not_called_100_percent():
    lines = [f"{i},{'ab'[i % 2]}" for i in range(4000)]
    said = [f.message for f in read_csv(table([*lines, "0,b"], "x,y"), target="y").findings]
    assert any("more accurate than 99.98 % on these data" in message for message in said)


def test_what_repeats_or_decides_alone_is_said():
    lines = [f"{i % 15},{i % 15},{i % 4}.5,{'ab'[i % 15 > 6]}" for i in range(60)]
    data = read_csv(table(lines, "x,twin,z,y"), target="y")
    by_code = {f.code: f for f in data.findings if f.severity == "info"}
    assert by_code["IDENTICAL_COLUMNS"].column == "twin"
    assert "by one threshold between 6 and 7" in by_code["LEAKAGE"].message
    doubled = read_csv(table(lines + lines[:5], "x,twin,z,y"), target="y")
    assert any(
        f.code == "DUPLICATE_ROWS" and f.message.startswith("5 rows") for f in doubled.findings
    )


@pytest.mark.parametrize(
    ("other", "are_alike"),
    [
        ([3, 1, 4, 0, 5, 9, 2, 6, 8, 7, 11, 10], False),  # distinct values in another order
        ([7 * i + 2 for i in range(12)], True),
        ([-i / 4 for i in range(12)], True),  # the reverse parts the rows alike
        (["u", "v"] * 6, False),
    ],
)
def test_columns_part_rows_alike_by_their_order_not_by_being_distinct(other, are_alike):
    lines = [f"{i},{value},{'ab'[i // 3 % 2]}" for i, value in enumerate(other)]
    data = read_csv(table(lines, "x,twin,y"), target="y")
    assert data.n_features == 2
    assert ("IDENTICAL_COLUMNS" in codes(data, "info")) is are_alike


@pytest.mark.parametrize("kind", ["categorical", "ordinal"])
def test_columns_of_the_same_levels_part_rows_alike_where_questions_are_alike(kind):
    lines = [f"{i % 3},{'hml'[i % 3]},{'ab'[i // 3 % 2]}" for i in range(12)]
    kinds = {"x": kind, "twin": "ordinal:h<l<m" if kind == "ordinal" else kind}
    data = read_csv(table(lines, "x,twin,y"), target="y", kinds=kinds)
    assert ("IDENTICAL_COLUMNS" in codes(data, "info")) is (kind == "categorical")


def test_memory_is_still_freed_after_reading():
    read_csv(table(["1,a", "2,b", "3,a"], "x,y"), target="y")
    assert gc.isenabled()


@pytest.mark.parametrize("sign", [1, -1])
def test_values_are_close_as_measured_by_the_end_that_is_farther_from_zero(sign):
    values = [0.0, 1.0, 1e6, 1e6 + 0.5] * 3
    lines = [f"{sign * value},{'ab'[i % 2]}" for i, value in enumerate(values)]
    assert "BELOW_TOLERANCE" in codes(read_csv(table(lines, "x,y"), target="y"))


def test_levels_of_rows_that_were_left_out_have_a_place_in_an_order():
    lines = ["2 low,1,a", "3 mid,2,b", "10 high,3,a", "9 huge,,b", ",4,", "2 low,2,b"]
    data = read_csv(table(lines, "size,x,y"), target="y", kinds={"size": "ordinal"})
    assert data.column("size").levels == ("2 low", "3 mid", "9 huge", "10 high")
    stated = {"size": "ordinal:2 low<10 high<3 mid"}  # need not name what is left out
    data = read_csv(table(lines, "size,x,y"), target="y", kinds=stated)
    assert data.column("size").levels == ("2 low", "10 high", "3 mid")


def test_auto_gives_up_a_tenth_of_the_rows_at_most_and_then_columns():
    def line(i):
        cells = ["" if i in gone else str(i * 7 % 23) for gone in ((1, 2), (3,), (4, 5, 6))]
        return ",".join([*cells, "" if i % 2 else f"n{i % 4}", "ab"[i % 3 == 0]])

    lines = [line(i) for i in range(40)]
    data = read_csv(table(lines, "u,v,w,note,y"), target="y", missing="auto")
    assert data.feature_names == ("u", "v", "note")  # 3 rows are lost; with w they were 6 of 40
    assert data.n_samples == 37
    assert dict(data.source.columns_dropped) == {"w": "MISSING_VALUES"}
    assert "(missing)" in data.column("note").levels


def test_dropping_rows_says_what_auto_would_cost():
    lines = [f"{'' if i % 5 else i},{'' if i == 3 else i},{'ab'[i % 3 == 0]}" for i in range(40)]
    (found,) = (
        f for f in read_csv(table(lines, "u,v,y"), target="y").findings
        if f.code == "MISSING_VALUES"
    )  # fmt: skip
    assert "32 rows of 40 left out (first in line 3)" in found.message
    assert "(missing = auto) costs 1 row and 1 column" in found.message
    auto = read_csv(table(lines, "u,v,y"), target="y", missing="auto")
    assert (auto.n_samples, auto.feature_names) == (39, ("v",))
    assert not any("missing = auto" in f.message for f in auto.findings)


def test_gaps_that_cost_nothing_are_said_to():
    lines = [f"{'' if i % 4 else 'n'},{i},{'ab'[i % 3 == 0]}" for i in range(40)]
    data = read_csv(table(lines, "note,v,y"), target="y", missing="category")
    (found,) = (f for f in data.findings if f.code == "MISSING_VALUES")
    assert found.message == (
        "30 values missing in “note”, a category of their own: every row is kept."
    )


def test_auto_keeps_a_column_even_if_it_costs_more():
    lines = [f"{'' if i % 3 else i},{'ab'[i // 3 % 2]}" for i in range(40)]
    data = read_csv(table(lines, "x,y"), target="y", missing="auto")
    assert (data.feature_names, data.n_samples) == (("x",), 14)


def test_of_columns_that_all_cost_too_much_auto_keeps_the_cheapest_and_its_equals():
    def line(i):
        block = ["", ""] if i % 5 == 0 else [str(i), str(i * 7 % 23)]
        return ",".join([*block, str(i) if i % 5 == 0 else "", "ab"[i % 3 == 0]])

    lines = [line(i) for i in range(40)]
    data = read_csv(table(lines, "u,v,w,y"), target="y", missing="auto")
    assert (data.feature_names, data.n_samples) == (("u", "v"), 32)  # w alone would leave 8
    dated = read_csv(table([f"2024,{own}" for own in lines], "t,u,v,w,y"), "y", missing="auto")
    assert dated.feature_names == ("u", "v")  # what is the same in every row splits none
    with pytest.raises(DataError, match="none is left") as refused:
        read_csv(table(lines, "u,v,w,y"), target="y")
    advised = refused.value.message.split("missing = ")[1].rstrip(".")
    assert read_csv(table(lines, "u,v,w,y"), target="y", missing=advised).n_samples


def test_classes_that_lose_all_rows_are_named():
    lines = [
        f"{'' if i < 2 else i},{i % 5}.5,{'rare' if i < 2 else 'ab'[i % 2]}" for i in range(40)
    ]
    data = read_csv(table(lines, "x,z,y"), target="y")
    (finding,) = (f for f in data.findings if f.code == "MISSING_VALUES")
    assert "2 rows of 40 left out (first in line 2); no row is left of 1 class (“rare”)." in (
        finding.message
    )


def test_marks_of_missing_values_are_named():
    lines = [f"{'?' if i == 3 else i}.5,{'ab'[i % 2]}".replace("?.5", "?") for i in range(30)]
    data = read_csv(table(lines, "x,y"), target="y")
    (finding,) = (f for f in data.findings if f.code == "MISSING_VALUES")
    assert "(written “?”)" in finding.message
    lines[5] = lines[5].replace("5.5", "")
    data = read_csv(table(lines, "x,y"), target="y")
    (finding,) = (f for f in data.findings if f.code == "MISSING_VALUES")
    assert "(written “?” or left empty)" in finding.message


def test_dates_as_numbers_say_how_they_were_read():
    lines = [f"{1 + i % 12}/{1 + i % 28}/2024,{i}.5,{'ab'[i % 2]}" for i in range(40)]
    data = read_csv(table(lines, "when,x,y"), target="y", kinds={"when": "numeric"})
    assert any(f.code == "DATE_AS_NUMBER" and "month first" in f.message for f in data.findings)


def test_few_whole_numbers_are_compared_by_size_and_the_other_reading_is_said():
    lines = [f"{i % 9},{i % 9}.0,{i % 4}.5,{i},{'ab'[i % 2]}" for i in range(40)]
    data = read_csv(table(lines, "rooms,floats,steps,many,y"), target="y")
    assert {column.kind for column in data.columns} == {"numeric"}
    said = {f.column: f.message for f in data.findings if f.code == "FEW_NUMBERS"}
    assert set(said) == {"rooms", "floats"}
    assert "“is 3” instead of “at most 3.5”" in said["rooms"]
    asked = read_csv(table(lines, "rooms,floats,steps,many,y"), "y", kinds={"rooms": "numeric"})
    assert {f.column for f in asked.findings if f.code == "FEW_NUMBERS"} == {"floats"}


@pytest.mark.parametrize(
    ("cells", "kind", "n_samples"),
    [
        ("0 1 2 ?", "numeric", 30),  # a number is missing: the row is left out
        ("0 1 ?", "categorical", 40),  # two numbers and a gap have no order
        ("5 ?", "binary", 40),
        ("0 1 2 x", "categorical", 40),
    ],
)
def test_gaps_as_a_category_are_for_values_without_order(cells, kind, n_samples):
    values = cells.split()
    lines = [f"{values[i % len(values)]},{i}.5,{'ab'[i % 2]}" for i in range(40)]
    data = read_csv(table(lines, "few,x,y"), target="y", missing="category")
    assert (data.column("few").kind, data.n_samples) == (kind, n_samples)


def test_a_stray_text_among_few_numbers_counts_as_missing_where_they_have_an_order():
    def read(n_values):
        lines = [f"{'x' if i == 7 else i % n_values},{i}.5,{'ab'[i % 2]}" for i in range(40)]
        return read_csv(table(lines, "few,x,y"), target="y")

    assert (read(3).column("few").kind, read(3).n_samples) == ("numeric", 39)
    assert "MIXED_TYPES" in codes(read(3))
    assert (read(2).column("few").kind, read(2).n_samples) == ("categorical", 40)


LONG = 2**53


@pytest.mark.parametrize("form", ["{}", "{:,}", "{} kg", "{}.0", "-{}"])
def test_whole_numbers_that_floats_would_merge_are_not_numbers(form):
    cells = [f'"{form.format(LONG + i % 3)}"' for i in range(24)]
    lines = [f"{cells[i]},{i}.5,{'ab'[i % 3 == 1]}" for i in range(24)]
    data = read_csv(table(lines, "key,x,y"), target="y")
    assert data.feature_names == ("x",)
    assert "PRECISION_LOST" in codes(data)
    for kind in ("numeric", "ordinal"):
        with pytest.raises(DataError) as caught:
            read_csv(table(lines, "key,x,y"), target="y", kinds={"key": kind})
        assert caught.value.code == "PRECISION_LOST"
    asked = read_csv(table(lines, "key,x,y"), target="y", kinds={"key": "categorical"})
    assert len(asked.column("key").levels) == 3
    two = table([f'"{form.format(LONG + i % 2)}",{"ab"[i % 2]}' for i in range(24)], "key,y")
    assert len(read_csv(two, "y", kinds={"key": "categorical"}).column("key").levels) == 2
    with pytest.raises(DataError, match="too long"):
        read_csv(two, "y", kinds={"key": "binary"})


def test_long_numbers_that_floats_hold_stay_numbers():
    cells = [str(LONG), "1" + "0" * 22, f"{LONG + 1}e3", "1e300", "9007199254740993.5"]
    lines = [f"{cells[i % 5]},{i}.5,{'ab'[i % 2]}" for i in range(25)]
    data = read_csv(table(lines, "key,x,y"), target="y")
    assert data.column("key").kind == "numeric"


def test_new_rows_are_compared_exactly():
    lines = [f"{i % 12},{'ab'[i % 2]}" for i in range(24)]
    data = read_csv(table(lines, "x,y"), target="y")
    for cell in (LONG + 1, str(LONG + 1), np.int64(LONG + 1), Decimal(LONG + 1)):
        with pytest.raises(DataError, match=rf"Row 2 .*“x” has {LONG + 1}") as caught:
            data.prepare(pd.DataFrame({"x": pd.Series([LONG, cell])}))
        assert caught.value.code == "PRECISION_LOST"
    kept = data.prepare(pd.DataFrame({"x": [LONG, LONG + 2]}))
    assert kept["x"].tolist() == [LONG, LONG + 2]
    keys = [f"{LONG + i % 3},{'ab'[i % 2]}" for i in range(24)]
    texts = read_csv(table(keys, "x,y"), target="y", kinds={"x": "categorical"})
    found = texts.prepare(pd.DataFrame({"x": [LONG + 1, LONG]}))
    assert found["x"].tolist() == [str(LONG + 1), str(LONG)]


@pytest.mark.parametrize(
    ("wrong", "code"),
    [({"drop": ["y"]}, "TARGET_DROPPED"), ({"kinds": {"y": "numeric"}}, "NUMERIC_TARGET")],
)
def test_a_target_is_neither_dropped_nor_numeric(wrong, code):
    lines = [f"{i}.5,{i % 2}" for i in range(20)]
    with pytest.raises(SettingsError) as caught:
        read_csv(table(lines, "x,y"), target="y", **wrong)
    assert caught.value.code == code


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (("1.200", "950", "12.500"), (1200, 950, 12500)),  # zeros at the end of a few only
        (("1.250", "950", "12.501"), (1250, 950, 12501)),
        (("1.251", "950", "12.501"), (1.251, 950, 12.501)),  # decimals without zeros at the end
        (("1.200", "9500", "12.500"), (1.2, 9500, 12.5)),
        (("0.200", "950", "12.500"), (0.2, 950, 12.5)),
        (("1.200", "950.000", "12.500"), (1.2, 950, 12.5)),
        (("1.200", "950,5", "12.500,25"), (1200, 950.5, 12500.25)),
        (("0.250", "950,5", "12.5"), (0.25, 950.5, 12.5)),
        (("€ 1.200,50", "€ 950", "€ 1,5"), (1200.5, 950, 1.5)),
        (("$ 1,200.50", "$ 950", "$ 2,300"), (1200.5, 950, 2300)),
        (("1.200 €", "950 €", "12.500 €"), (1200, 950, 12500)),
        (("€ 1.200,50", "€ 1.200", "950"), (1200.5, 1200, 950)),
        (("1.200.000 kg", "950 kg", "2.500 kg"), (1200000, 950, 2500)),
        (("1.25 kg", "950 kg", "2.500 kg"), (1.25, 950, 2.5)),
        (("1\u202f633,14", "714,66", "950"), (1633.14, 714.66, 950)),
        (("1 633,14 €", "714,66 €", "12 000 €"), (1633.14, 714.66, 12000)),
    ],
)
def test_points_and_commas_mean_what_the_column_shows(texts, numbers):
    rows = "".join(f"{text};{label}\n" for text in texts for label in "ab")
    data = read_csv(f"v;y\n{rows}".encode(), target="y")
    assert tuple(data.frame["v"].unique()) == numbers
    assert tuple(data.prepare(pd.DataFrame({"v": texts}))["v"]) == numbers
    # Numbers that came as such are no texts of the file.
    as_objects = pd.DataFrame({"v": [1.251, *texts]}, dtype=object)
    assert tuple(data.prepare(as_objects)["v"]) == (1.251, *numbers)


@pytest.mark.parametrize(
    ("other", "texts", "numbers"),
    [
        ("1,5", ("1.251", "950.000", "12.501"), (1251, 950000, 12501)),
        ("1,5", ("1.251", "950"), (1251, 950)),
        ("1,5", ("0.251", "950.000"), (0.251, 950)),
        ("1,5", ("1.25", "950.000"), (1.25, 950)),
        ("1.5", ("1.251", "950.000"), (1.251, 950)),
        ("Ulm, B", ("1.251", "950.000"), (1.251, 950)),
    ],
)
def test_points_are_no_decimals_where_other_columns_have_decimal_commas(other, texts, numbers):
    rows = "".join(f"{i + 1}{other};{text};{'ab'[i % 2]}\n" for i in range(20) for text in texts)
    data = read_csv(f"w;v;y\n{rows}".encode(), target="y")
    assert set(data.frame["v"]) == set(numbers)
    assert ("THOUSANDS" in codes(data)) == (max(numbers) > 1000)


@pytest.mark.parametrize("text", ["Smith, John", "Smith, John, jr.", "€ 1.200,50"])
def test_commas_in_texts_are_no_separators_where_the_header_has_none(text):
    rows = "".join(f"{text} {i % 3};{'ab'[i % 2]}\n" for i in range(30))
    assert read_table(f"name;y\n{rows}".encode()).names == ("name", "y")


@pytest.mark.parametrize("title", ["", '""', "rownames", "Unnamed: 0"])
def test_row_numbers_with_gaps_are_left_out(title: str):
    """As R and pandas write them after rows were left out or sorted."""
    lines = [f"{100 - 3 * i},{i % 7}.5,{'ab'[i > 9]}" for i in range(20)]
    data = read_csv(table(lines, f"{title},x,y"), target="y")
    assert data.feature_names == ("x",)
    assert "INDEX_COLUMN" in codes(data)


def test_what_is_said_of_columns_left_out_holds_for_each_of_them():
    rows = [f"one,{'?' if i % 2 else ''},{i % 5},{'ab'[i % 2]}" for i in range(12)]
    blob = table([*rows, "one,some,1,"], "c,e,x,y")
    data = read_csv(blob, target="y", missing="category")
    told = {f.column: f.message for f in data.findings}
    assert "is “one” in every row" in told["c"]
    assert "“?”" not in told["e"]
    assert "no value" in told["e"]
    many = ",".join(f"c{k}" for k in range(6))
    lines = [f"{','.join('abcdef')},{i % 5},{'ab'[i % 2]}" for i in range(12)]
    wide = read_csv(table(lines, f"{many},x,y"), target="y")
    constant = [f.message for f in wide.findings if f.code == "CONSTANT_COLUMN"]
    assert "is “b” in every row" in constant[-1]
    assert constant[-1].endswith("Likewise, each with its own values: “c2”, “c3”, “c4”, “c5”.")
    with pytest.raises(DataError) as error:
        read_csv(table(lines, f"{many},x,y"), target="y", drop=["x"])
    assert "an id or a date" not in error.value.message


def test_large_counts_are_parted_and_gaps_are_counted_in_all():
    """A column with 6 % gaps was said to cost more than 10 % of the rows."""
    lines = [
        f"row {i},{'' if i % 13 == 0 else i % 7},{'' if i % 17 == 2 else i % 5},{i % 2}"
        for i in range(2000)
    ]
    data = read_csv(("name,a,b,y\n" + "\n".join(lines)).encode(), target="y", missing="auto")
    words = " ".join(finding.message for finding in data.findings)
    assert "has 2,000 different texts in 2,000 rows" in words
    assert "118 rows of 2,000 left out (first in line 4); 1 column left out, whose gaps" in words
    assert "would cost more than 10 % of the rows in all (“a”)" in words


def test_another_choice_types_no_column_again(monkeypatch):
    read = read_table(PLAIN.replace(b"3.5,1.25", b"3.5,"))
    first = make_dataset(read, "y")
    monkeypatch.setattr(typed, "type_column", None)
    assert len(prices_of_gaps(read, target="y")) > 1
    again = make_dataset(read, "y", missing="drop-columns")
    assert (first.n_samples, again.n_samples, again.feature_names) == (19, 20, ("x1",))


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [",", ";", "\t"])
@pytest.mark.parametrize("kept", ["all", "rows", "header", "some", "filled"])
def test_lines_that_are_quoted_as_a_whole_are_read(ending, mark, kept):
    """A spreadsheet that keeps a CSV file in one column writes lines as one quoted value."""
    lines = [f'{i}{mark}"{i % 5}, so{mark}"{mark}"{"ab"[i % 2]}"' for i in range(20)]
    lines.insert(0, f'"x{mark}1"{mark}text{mark}y')
    wrapped = ['"' + line.replace('"', '""') + '"' for line in lines]
    if kept == "rows":
        wrapped[0] = lines[0]
    elif kept == "header":
        wrapped[1:] = lines[1:]
    elif kept in ("some", "filled"):
        ends = 2 * mark * (kept == "filled")
        wrapped = [line if i % 4 != 2 else wrapped[i] + ends for i, line in enumerate(lines)]
    texts = (ending.join(some) + ending for some in (wrapped, lines))
    data, plain = (read_csv(text.encode(), target="y") for text in texts)
    assert data.frame.equals(plain.frame)
    assert data.row_lines.tolist() == plain.row_lines.tolist()
    assert codes(data) - codes(plain) == {"WRAPPED_LINES"}


@pytest.mark.parametrize(
    "text",
    [
        'name,y\n"Smith, Ann",a\n"Smith, Bo",b\n"Smith, Cy",\n"Smith, Ann",b\n',
        '"x, cm";"z";"y"\n"1";"2";"a"\n"2";"1";"b"\n"3";"1";"b"\n',
    ],
)
def test_quoted_separators_of_other_files_stay_text(text):
    assert "WRAPPED_LINES" not in codes(read_csv(text.encode(), target="y"))


def test_a_quoted_header_alone_is_one_name():
    with pytest.raises(DataError, match="single column"):
        read_csv(b'"which, please"\nyes\nno\n')


def test_classes_that_gaps_take_away_are_not_called_absent():
    """The file was said to have one label; its rows of the others had gaps."""
    blob = b"x1,x2,y\n" + b"1,2,a\n,3,b\n2,,b\n3,1,a\n"
    with pytest.raises(DataError, match=r"those of other classes have missing values") as failure:
        read_csv(blob, target="y")
    assert failure.value.code == "ONE_CLASS"
    assert read_csv(blob + b"4,5,b\n", target="y").n_classes == 2
