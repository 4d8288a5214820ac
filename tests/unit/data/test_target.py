"""Which column is taken for the classes, and classes cut out of numbers."""

from __future__ import annotations

import numpy as np
import pytest

import octcore
from octcore.data.reading import make_dataset, read_table
from octcore.data.table import RawTable
from octcore.data.target import is_continuous, likely_target
from octcore.errors import DataError, SettingsError

RNG = np.random.default_rng(7)
NUMBERS = [f"{value:.3f}" for value in RNG.normal(size=120)]
WORDS = ["yes" if i % 3 else "no" for i in range(120)]


def table(**columns: list[str]) -> RawTable:
    rows = "\n".join(",".join(row) for row in zip(*columns.values(), strict=True))
    return read_table(f"{','.join(columns)}\n{rows}\n".encode(), "own.csv")


def test_a_usual_name_with_many_numbers_is_not_the_target():
    assert likely_target(table(x=NUMBERS, y=NUMBERS[::-1], churn=WORDS)) == "churn"
    assert likely_target(table(churn=WORDS, x=NUMBERS, y=NUMBERS[::-1])) == "churn"


def test_where_it_would_be_a_guess_nothing_is_taken():
    assert likely_target(table(x=NUMBERS, z=NUMBERS[::-1])) is None
    assert likely_target(table(a=WORDS, b=WORDS[::-1], x=NUMBERS)) is None


def test_a_usual_name_and_the_last_column_decide():
    assert likely_target(table(label=WORDS, x=NUMBERS, other=WORDS)) == "label"
    assert likely_target(table(x=NUMBERS, a=WORDS, b=WORDS)) == "b"
    stars, years = ([str(i % n) for i in range(120)] for n in (5, 18))
    assert likely_target(table(x=NUMBERS, a=WORDS, stars=stars)) == "stars"
    assert likely_target(table(x=NUMBERS, churn=WORDS, years=years)) == "churn"
    assert likely_target(table(a=WORDS, b=WORDS[::-1], years=years)) is None


def test_a_column_with_many_gaps_is_no_guess():
    notes = [("call back", "see letter")[i % 2] if i % 5 == 0 else "" for i in range(120)]
    assert likely_target(table(x=NUMBERS, churn=WORDS, notes=notes)) == "churn"
    assert likely_target(table(x=NUMBERS, a=WORDS, churn=WORDS, notes=notes)) == "churn"
    assert likely_target(table(x=NUMBERS, label=notes, other=WORDS)) == "label"
    assert likely_target(table(x=NUMBERS, notes=notes)) is None


def test_dates_are_not_classes():
    days = [f"{1 + i % 9:02d}/02/2024" for i in range(120)]
    assert likely_target(table(x=NUMBERS, churn=WORDS, since=days)) == "churn"
    assert likely_target(table(plan=WORDS, churn=WORDS[::-1], since=days)) is None


def test_a_number_is_one_class_however_it_is_written_and_a_code_is_not():
    def classes(*labels: str):
        return make_dataset(table(x=NUMBERS, y=[labels[i % 3] for i in range(120)]), "y").classes

    assert classes("1.50", "1.5", "2") == ("1.50", "2")
    assert classes("01", "1", "2") == ("01", "1", "2")
    long = "12345678901234567890"
    assert classes(f"{long}1", f"{long}2", "2.5") == ("2.5", f"{long}1", f"{long}2")


def test_numbers_are_cut_into_classes_of_equal_size_in_their_order():
    read = table(x=NUMBERS, price=NUMBERS[::-1])
    assert is_continuous(read.column("price"), ",")
    data = make_dataset(read, "price", target_bins=3)
    assert data.class_counts == (40, 40, 40)
    assert data.y is not None
    values = np.array(NUMBERS[::-1], dtype=float)
    assert max(values[data.y == 0]) < min(values[data.y == 1])
    assert max(values[data.y == 1]) < min(values[data.y == 2])


@pytest.mark.parametrize("mark", [",", ".000,", " 000,"])
def test_numbers_in_other_countries_are_a_measurement_too(mark: str):
    rows = [f"{x};{WORDS[i]};{1 + i // 10}{mark}{i % 10}5" for i, x in enumerate(NUMBERS)]
    read = read_table("\n".join(["x;churn;price", *rows]).encode(), "own.csv")
    assert is_continuous(read.column("price"), read.delimiter)
    assert likely_target(read) == "churn"
    rooms = table(x=NUMBERS, room=[f"ROM {i % 30}" for i in range(120)])
    assert not is_continuous(rooms.column("room"), ";")


def test_rows_that_share_a_value_stay_together():
    read = table(x=NUMBERS, n=[str(v) for v in [0] * 80 + list(range(1, 41))])
    data = make_dataset(read, "n", target_bins=4)
    assert sum(data.class_counts) == 120
    assert data.class_counts[0] == 80


@pytest.mark.parametrize("bins", [0, 1, 6])
def test_other_numbers_of_classes_are_refused(bins):
    with pytest.raises(SettingsError, match="2 to 5"):
        make_dataset(table(x=NUMBERS, y=NUMBERS), "y", target_bins=bins)


def test_words_cannot_be_cut():
    with pytest.raises(DataError, match="not a column of numbers"):
        make_dataset(table(x=NUMBERS, y=WORDS), "y", target_bins=3)


def test_one_value_of_a_target_is_said_as_it_stands() -> None:
    """The label of its only part, “1”, was named instead, which is not in the file."""
    blob = ("x,y\n" + "1,5\n2,5\n" * 6).encode()
    with pytest.raises(DataError, match=r"Every label in “y” is “5”"):
        octcore.read_csv(blob, target="y", target_bins=3)


def test_classes_stand_in_natural_order():
    rows = "\n".join(f"{i},grade {1 + i % 11}" for i in range(44))
    data = octcore.read_csv(f"x,grade\n{rows}\n".encode(), target="grade")
    assert data.classes == tuple(f"grade {k}" for k in range(1, 12))


@pytest.mark.parametrize(
    "labels",
    [
        ("0.25", "0.5", "1.0"),
        ("-1.5", "-0.25", "3"),
        ("0,05", "0,4", "1,25"),
        ("0.5%", "1%", "25%"),
    ],
)
def test_classes_that_are_numbers_stand_in_their_order(labels):
    rows = "\n".join(f"{i};{labels[2 - i % 3]}" for i in range(30))
    assert octcore.read_csv(f"x;y\n{rows}\n".encode(), target="y").classes == labels


@pytest.mark.parametrize("written", ["{} kg", "${}", "{}%"])
def test_numbers_with_a_unit_are_a_measurement_and_can_be_cut(written):
    rows = "\n".join(f"{i};{written.format(i)}" for i in range(30))
    table = read_table(f"x;y\n{rows}\n".encode(), "file.csv")
    assert is_continuous(table.column("y"), table.delimiter)
    assert likely_target(table) is None
    data = make_dataset(table, "y", target_bins=2)
    assert data.classes == ("1: up to 14", "2: over 14")
    few = "\n".join(f"{i};{written.format(i % 3)}" for i in range(30))
    table = read_table(f"x;y\n{few}\n".encode(), "file.csv")
    assert not is_continuous(table.column("y"), table.delimiter)
    assert likely_target(table) == "y"


def test_numbers_with_a_decimal_comma_can_be_cut():
    rows = "\n".join(f"{i};{i // 2},{5 * (i % 2)}" for i in range(30))
    data = octcore.read_csv(f"x;y\n{rows}\n".encode(), target="y", target_bins=3)
    assert data.classes == ("1: up to 4.8", "2: 4.8 to 9.8", "3: over 9.8")


def test_classes_of_long_numbers_name_their_ends():
    numbers = [1234560.5 + k for k in range(40)]
    blob = ("x,y\n" + "".join(f"{k % 7},{v}\n" for k, v in enumerate(numbers))).encode()
    classes = octcore.read_csv(blob, target="y", target_bins=2).classes
    cut = float(classes[0].removeprefix("1: up to "))
    assert sum(v <= cut for v in numbers) == 20


def test_a_target_is_cut_by_the_numbers_that_a_column_of_features_would_have():
    """Beside decimal commas 80.500 is no 80.5; words and infinity among numbers are gaps."""
    written = [f"{i}.500" if i else "250" for i in range(30)]
    rows = "\n".join(f"{i},5;{v}" for i, v in enumerate(["inf", "\u2013", *written]))
    data = octcore.read_csv(f"x;y\n{rows}\n".encode(), target="y", target_bins=2)
    assert data.classes == ("1: up to 15000", "2: over 15000")
    assert data.n_samples == 30
    assert {"THOUSANDS", "INFINITE", "MISSING_TARGET"} <= {f.code for f in data.findings}


def test_neighbouring_doubles_are_cut_between_them():
    """The middle of 1 and the double before it is 1, above which there is nothing."""
    below = float(np.nextafter(1.0, 0.0))
    rows = "\n".join(f"{i},{value!r}" for i, value in enumerate([below, 1.0] * 10))
    data = octcore.read_csv(f"x,y\n{rows}\n".encode(), target="y", target_bins=2)
    assert data.class_counts == (10, 10)


@pytest.mark.parametrize("texts", [("2024-01-0{}",), ("90071992547410{}1",), ("a{}",)])
def test_dates_words_and_numbers_too_long_are_not_cut(texts):
    rows = "\n".join(f"{i},{texts[0].format(i % 9 + 1)}" for i in range(30))
    with pytest.raises(octcore.DataError, match="so it cannot be binned"):
        octcore.read_csv(f"x,y\n{rows}\n".encode(), target="y", target_bins=2)
