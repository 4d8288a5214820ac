"""Which line names the columns: titles above it and units below it, found or chosen."""

from __future__ import annotations

import pandas as pd
import pytest

from octcore.data.findings import UnusableTableError
from octcore.data.reading import read_csv, read_table
from octcore.errors import SettingsError
from octcore.solving.solve import solve

HEADER = "day;age;crp;y"
ROWS = [f"{1 + i % 28:02d}.02.2024;{20 + i};{i},5;{'ab'[i % 3 == 1]}" for i in range(30)]


def read(*above: str, below: tuple[str, ...] = (), header: str = HEADER, **options):
    return read_csv("\n".join([*above, header, *below, *ROWS]).encode(), target="y", **options)


def said(data) -> dict[str, str]:
    return {finding.code: finding.message for finding in data.findings}


@pytest.mark.parametrize(
    "titles",
    [
        ("Export",),
        ("Export of the ward, as of 3.1.2024",),
        ("Export of the ward", "", "1,5 beds"),
        ("Export;2024;;",),
        ("Patient;;Blood;",),
        ("a", "b", "c", "d", "e"),
        ("# ward; as of; 3.1.2024",),
        ("# ward", "# beds; 2; 3", *(f"# note; {k}; x" for k in range(9))),
    ],
)
def test_lines_with_at_most_half_of_the_fields_above_the_header_are_titles(titles):
    data = read(*titles)
    assert data.feature_names == ("age", "crp")
    assert data.n_samples == 30
    assert data.frame["crp"].tolist()[:2] == [0.5, 1.5]
    number = sum(1 for title in titles if title)
    assert (
        f"{number} line{'s' * (number > 1)} above the header left out" in said(data)["TITLE_LINES"]
    )


@pytest.mark.parametrize(
    "blob",
    [
        b"y,,\np,a,u\nq,b,v\np,b,u\nq,a,v\n",  # texts that come again are no names
        b"y,,\np,1,2\nq,2,3\np,3,4\nq,2,5\n",
        b"a,y\n1,p\n2,q\n3,p\n4,q\n",
        b"#a,y\n1,p\n2,q\n3,p\n4,q\n",  # as numpy writes names
        b"# a,b,y\np,u,p\nq,v,q\np,u,p\nq,v,q\n",
    ],
)
def test_a_first_line_of_few_names_is_no_title(blob):
    data = read_csv(blob, target="y")
    assert data.n_samples == 4
    assert "TITLE_LINES" not in said(data)


@pytest.mark.parametrize(("age", "header"), [("", "age"), ("old ", "Report 2024")])
def test_a_padded_title_above_a_table_with_gaps_is_left_out_above_numbers(age, header):
    rows = [f"{age}{20 + i},,,{'ab'[i % 2]}" for i in range(30)]
    blob = "\n".join(["Report 2024,Ward A,,", "age,ward,crp,y", *rows]).encode()
    table = read_table(blob)
    assert table.names[0] == header
    assert [finding.code for finding in table.of_lines] == ["TITLE_LINES"] * (not age)


@pytest.mark.parametrize("units", [";years;mg/l;", "-;Jahre;10^9/l;-", "DD.MM.YYYY;(years);%;"])
def test_words_above_numbers_alone_are_units_and_left_out(units):
    data = read("Export", below=(units,))
    assert data.n_samples == 30
    assert data.row_lines[0] == 4
    assert "Line 3 below the header holds units" in said(data)["UNITS_LINE"]
    kept = read("Export", below=(units,), first_row=3)
    assert "UNITS_LINE" not in said(kept)
    assert kept.source.n_rows_read == 31


@pytest.mark.parametrize(
    "row",
    [
        "k.A.;k.A.;k.A.;",  # known words for a gap
        "01.02.2024;many;low;a",  # a row: it has a date, and its class
        ";few;;a",
        ";30 kg;;",
    ],
)
def test_a_row_with_words_is_no_line_of_units(row):
    data = read(below=(row,))
    assert data.source.n_rows_read == 31
    assert "UNITS_LINE" not in said(data)


def test_a_word_that_comes_again_below_is_no_unit():
    rows = [f"{'low' if i % 9 == 0 else i},{i % 7},{i % 2}" for i in range(40)]
    data = read_csv("\n".join(["a,b,y", "low,,", *rows]).encode(), target="y")
    assert "UNITS_LINE" not in said(data)


def test_another_line_is_the_header_where_the_user_says_so():
    lines = ["Sales, north, 2024, final", "", "shop,month,sales,y", *("s,1,2.5,a", "t,2,3.5,b") * 8]
    blob = "\n".join(lines).encode()
    assert read_table(blob).names[0] == "Sales"
    data = read_csv(blob, target="y", header=3)
    assert data.feature_names == ("shop", "month", "sales")
    assert data.n_samples == 16
    assert "1 line above the header left out (“Sales" in said(data)["TITLE_LINES"]
    later = read_csv(blob, target="y", header=3, first_row=6)
    assert later.n_samples == 14
    assert "2 lines below the header left out" in said(later)["UNITS_LINE"]
    assert "units" not in said(read_csv(blob, target="y", header=3, first_row=5))["UNITS_LINE"]


def test_the_separator_is_looked_for_from_a_chosen_header_on():
    lines = ["a,b,c,d,e", "x;y", *("1,5;p", "2,5;q") * 5]
    data = read_csv("\n".join(lines).encode(), target="y", header=2)
    assert data.frame["x"].tolist()[:2] == [1.5, 2.5]


@pytest.mark.parametrize("lines", [{"header": 99}, {"header": 2}, {"header": 3, "first_row": 1}])
def test_a_line_without_a_row_is_refused(lines):
    with pytest.raises(SettingsError) as caught:
        read_csv(b"title,,\n\na,b,y\n1,2,p\n2,3,q\n", target="y", **lines)
    assert caught.value.code == "BAD_LINE"


def test_nothing_below_the_header_is_no_table():
    with pytest.raises(UnusableTableError, match="no rows below it"):
        read_table(b"a,b,y\n1,2,p\n2,3,q\n", header=3)


def test_what_cannot_be_read_shows_its_first_lines():
    with pytest.raises(UnusableTableError) as caught:
        read_table(b"Report of 2024\nx,y\n1,2,3,a\n2,3,4,b\n3,4,5,a\n")
    assert caught.value.code == "RAGGED"
    assert caught.value.head[1] == (2, ("x", "y"))
    assert read_table(b"Report\nx,y\n1,a\n2,b\n3,a\n").head[0] == (1, ("Report",))


def test_rows_to_score_have_the_header_that_names_what_is_needed():
    blob = b"made, by, me, today\nage,crp,ward,y\n3,4,a,p\n4,5,b,q\n5,6,a,p\n"
    assert read_table(blob, names=["crp", " age "]).names == ("age", "crp", "ward", "y")
    assert read_table(blob, names=["other"]).names[0] == "made"


def test_names_of_groups_above_the_names_are_left_out():
    data = read("Patient;Blood;Blood")
    assert data.feature_names == ("age", "crp")
    assert data.n_samples == 30


def test_a_first_row_that_comes_again_below_is_said_to_look_like_data():
    rows = "\n".join(f"{20 + i},{i % 7},{'yes' if i % 3 else 'no'}" for i in range(30))
    codes = {finding.code for finding in read_csv(rows.encode()).findings}
    assert "NO_HEADER" in codes
    named = {finding.code for finding in read_csv(("2019,2020,y\n" + rows).encode()).findings}
    assert "NO_HEADER" not in named


def test_the_width_of_a_line_below_titles_is_said_of_one_of_the_first_lines():
    with pytest.raises(UnusableTableError, match="One of the first lines has 6,000 columns"):
        read_table(f"Report\n{',' * 5999}\n".encode())


@pytest.mark.parametrize("name", ["\u200bprice", "\ufeffprice", "net\tprice", "pri\x07ce"])
def test_a_column_is_found_by_the_name_that_the_file_writes(name: str):
    """As pandas reads it; "there is no column “\\x200bprice”, the columns are “\\u200bprice”"."""
    rows = pd.DataFrame({"age": range(6), name: list("aabbcc"), "y": list("uuvvuu")})
    file = rows.to_csv(index=False).encode()
    data = read_csv(file, target="y", drop=["age"], kinds={name: "categorical"})
    run = solve(data, depth=2, verify=False)
    assert run.predict(rows).tolist() == rows["y"].tolist()
