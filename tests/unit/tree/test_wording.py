from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from octcore.data.columns import Column
from octcore.data.dataset import Dataset
from octcore.encoding.base import EncodedColumn, Encoding
from octcore.encoding.fit import fit_encoding
from octcore.tree.metrics import centre_thresholds
from octcore.tree.raw_units import Levels, condition_of, left_condition
from octcore.tree.tree import Split, Tree
from octcore.tree.wording import (
    asks_for_right,
    format_number,
    path_words,
    raw_plane,
    rules,
    short_names,
    shorten,
    split_words,
)


def encoding_of(*columns: EncodedColumn) -> Encoding:
    names = tuple(dict.fromkeys(column.raw for column in columns))
    return Encoding("test", columns, names)


ABOVE = EncodedColumn("petal length", "above", lower=2.45)
BUCKET = EncodedColumn("age", "bucket", lower=2.1, upper=3.0)
FIRST = EncodedColumn("age", "bucket", upper=2.1)
RED = EncodedColumn("colour", "level", level="red")
MALE = EncodedColumn("sex", "level", level="male", other="female")
FLAG = EncodedColumn("flag", "level", level=1.0, other=0.0)
SIZE = EncodedColumn("size", "above", lower=1.0, levels=("small", "medium", "large"))
SCALED = EncodedColumn("width", "scaled", shift=2.0, scale=4.0)


@pytest.mark.parametrize(
    ("column", "left", "right", "test"),
    [
        (ABOVE, "petal length <= 2.45", "petal length > 2.45", "petal length <= 2.45"),
        (BUCKET, "age <= 2.1 or age > 3", "2.1 < age <= 3", "2.1 < age <= 3"),
        (FIRST, "age > 2.1", "age <= 2.1", "age > 2.1"),
        (RED, "colour is not red", "colour is red", "colour is red"),
        (MALE, "sex is female", "sex is male", "sex is male"),
        (FLAG, "flag is 0", "flag is 1", "flag is 1"),
        (SIZE, "size <= medium", "size > medium", "size <= medium"),
        (SCALED, "width <= 4", "width > 4", "width <= 4"),
    ],
)
def test_univariate_splits(column: EncodedColumn, left: str, right: str, test: str) -> None:
    assert split_words(Split.on_feature(0), encoding_of(column)) == (left, right, test)


def test_a_negative_weight_swaps_the_sides() -> None:
    encoding = encoding_of(SCALED, RED)
    assert split_words(Split(((0, -1.0),), -0.5), encoding)[:2] == ("width >= 4", "width < 4")
    assert split_words(Split(((1, -1.0),), -0.5), encoding)[:2] == (
        "colour is red",
        "colour is not red",
    )


def test_splits_that_separate_nothing() -> None:
    assert split_words(Split((), 1.0), encoding_of(RED))[:2] == ("always", "never")
    assert split_words(Split((), -1.0), encoding_of(RED))[:2] == ("never", "always")
    words = split_words(Split.on_feature(0, 1.0), encoding_of(RED))
    assert words[:2] == ("colour is anything", "colour is impossible")


def test_oblique_split_in_raw_units() -> None:
    blue = EncodedColumn("colour", "level", level="blue")
    encoding = encoding_of(
        SCALED, EncodedColumn("height", "scaled", shift=-1, scale=0.5), RED, blue
    )
    split = Split.on_plane([2.0, -1.0, 3.0, 3.0], -0.25)
    plane = raw_plane(split, encoding)
    # 2 (w - 2)/4 - (h + 1)/0.5 + 3 [red or blue] - 0.25
    assert [term.weight for term in plane.terms] == [0.5, -2.0, 3.0]
    assert plane.terms[2].condition == Levels("colour", ("red", "blue"), True)
    assert plane.offset == pytest.approx(-0.25 - 1 - 2)
    assert plane.threshold == pytest.approx(0.25 + 1 + 2)
    words = split_words(split, encoding)
    assert words.left == "0.5 width - 2 height + 3 [colour is red or blue] <= 3.25"
    assert words.right.endswith("> 3.25")
    short = split_words(split, encoding, max_terms=1)
    assert short.left == "3 [colour is red or blue] + … (2 more) <= 3.25"


def test_the_largest_coefficient_is_positive() -> None:
    encoding = encoding_of(EncodedColumn("a", "value"), EncodedColumn("b", "value"))
    worded = split_words(Split.on_plane([-1.0, 0.123456], 0.5), encoding)
    assert worded == ("a - 0.1235 b >= 0.5", "a - 0.1235 b < 0.5", "a - 0.1235 b >= 0.5")


def test_a_leading_minus_stands_close() -> None:
    encoding = encoding_of(EncodedColumn("a", "value"), EncodedColumn("b", "value"))
    words = split_words(Split.on_plane([-0.5, 1.0], 0.0), encoding)
    assert words.left == "-0.5 a + b <= 0"


def test_a_question_is_never_a_negation_and_says_where_its_yes_is() -> None:
    encoding = encoding_of(
        *(EncodedColumn("island", "level", level=name) for name in ("Biscoe", "Dream", "Torgersen"))
    )
    split = Split.on_feature(1, 0.5)
    assert split_words(split, encoding).test == "island is Dream"
    assert asks_for_right(split, encoding)
    assert not asks_for_right(Split(((0, -1.0), (2, -1.0)), -0.5), encoding)


def test_moved_threshold_and_solved_plane_are_kept_apart() -> None:
    plane = raw_plane(Split(((0, 1.0),), 0.6, -0.5, True), encoding_of(SCALED))
    assert plane.terms[0].weight == 0.25
    assert plane.offset == pytest.approx(-1.0)  # (width - 2)/4 - 0.5
    assert plane.threshold == pytest.approx(1.1)


@pytest.fixture
def table() -> Dataset:
    frame = pd.DataFrame(
        {"age": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], "colour": list("rgbrgbrg")}
    )
    columns = (Column("age", "numeric"), Column("colour", "categorical", ("b", "g", "r")))
    return Dataset("t", frame, columns, "class", ("no", "yes"), np.array([0, 0, 1, 1, 1, 0, 1, 0]))


def test_rules_join_the_conditions_of_a_path(table: Dataset) -> None:
    encoding = fit_encoding("QT-4", table, few=0)
    assert encoding.names == ("age>2.5", "age>4.5", "age>6.5", "colour=b", "colour=g", "colour=r")
    splits = {1: 1, 2: 0, 3: 4, 6: 5}
    tree = Tree(
        {node: Split.on_feature(j) for node, j in splits.items()},
        {4: 0, 5: 1, 7: 0, 12: 0, 13: 1},
        6,
        2,
        ("no", "yes"),
    )
    X = encoding.transform(table.frame)
    assert table.y is not None
    found = rules(tree, encoding, X, table.y)
    assert [rule.text for rule in found] == [
        "IF age <= 2.5 THEN no (2 rows)",
        "IF 2.5 < age <= 4.5 THEN yes (2 rows)",
        "IF age > 4.5 and colour is neither g nor r THEN no (1 row)",
        "IF age > 4.5 and colour is r THEN yes (1 row)",
        "IF age > 4.5 and colour is g THEN no (2 rows)",
    ]
    assert found[4].class_counts == (1, 1)
    assert path_words(tree, encoding, 5) == ("2.5 < age <= 4.5",)
    assert rules(Tree.leaf(1, 6, 2), encoding)[0].text == "IF anything THEN 1"


def test_buckets_on_a_path_leave_what_remains(table: Dataset) -> None:
    encoding = fit_encoding("QB-4", table, few=0)
    tree = Tree(
        {1: Split.on_feature(1), 2: Split.on_feature(3)}, {3: 1, 4: 0, 5: 1}, 7, 2, ("no", "yes")
    )
    assert [rule.conditions for rule in rules(tree, encoding)] == [
        ("age <= 2.75 or 4.5 < age <= 6.25",),
        ("age > 6.25",),
        ("2.75 < age <= 4.5",),
    ]


def test_long_names_are_cut() -> None:
    long = EncodedColumn("x" * 50, "level", level="y" * 50)
    words = split_words(Split.on_feature(0), encoding_of(long), max_name=10)
    assert words.right == "xxxxx…xxxx is yyyyy…yyyy"
    assert shorten("two\nlines") == "two lines"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3.0, "3"),
        (-0.0, "0"),
        (0.1, "0.1"),
        (1e20, "1e20"),
        (1234567.0, "1234567"),
        (1e-7, "1e-07"),
    ],
)
def test_numbers(value: float, text: str) -> None:
    assert format_number(value) == text
    assert float(text) == value


def test_negating_twice_is_the_same() -> None:
    for column in (ABOVE, BUCKET, FIRST, RED, MALE, SIZE):
        condition = condition_of(column)
        assert condition.negated().negated() == condition


def test_equal_weights_on_levels_of_a_column_ask_for_a_set() -> None:
    levels = [EncodedColumn("colour", "level", level=name) for name in ("r", "g", "b")]
    encoding = encoding_of(*levels)
    words = split_words(Split(((0, -1.0), (2, -1.0)), -0.5), encoding)
    assert words.left == "colour is r or b"
    assert words.right == "colour is neither r nor b"
    assert split_words(Split(((0, 1.0), (2, 1.0)), 0.5), encoding).right == "colour is r or b"
    uneven = split_words(Split(((0, -1.0), (2, -2.0)), -0.5), encoding)
    assert uneven.left == "[colour is r] + 2 [colour is b] >= 0.5"


@pytest.mark.parametrize("key", ["raw", "scaled", "class-change"])
@pytest.mark.parametrize("digits", [5, 12])
def test_a_threshold_in_words_parts_the_rows_as_the_tree_does(key, digits):
    """Numbers of many digits in a small range, as times in milliseconds, and huge or tiny ones."""
    rng = np.random.default_rng(1)
    bases = [0.0, -5.0, 123456.0, 1.7e12, -1e12, 1e-300, 1e300]
    for base, step in itertools.product(bases, [1.0, 0.001, 1e3, 1e-301, 1e290]):
        values = np.unique(base + step * rng.integers(0, 50, 12))
        if len(values) < 3:
            continue
        frame = pd.DataFrame({"x": values})
        data = Dataset.from_arrays(frame, np.arange(len(values)) % 2)
        encoding = fit_encoding(key, data)
        X = encoding.transform(frame)
        for j in range(X.shape[1]):
            low, high = np.unique(X[:, j])[:2]
            grown = Tree({1: Split.on_feature(j, low / 2 + high / 2)}, {2: 0, 3: 1}, X.shape[1], 2)
            tree = centre_thresholds(grown, X)
            condition = left_condition(tree.splits[1], encoding, digits)
            end = condition.intervals[0][1][0]
            assert ((values <= end) == (tree.apply(X) == 2)).all(), (base, step, end, values)


def test_columns_of_long_numbers_have_names_of_their_own():
    columns = [EncodedColumn("t", "above", lower=1700000000000.0 + k) for k in (123.5, 124.5)]
    assert [c.name for c in columns] == ["t>1700000000123.5", "t>1700000000124.5"]


def test_names_that_differ_in_the_middle_are_cut_where_they_do_not():
    names = tuple(
        f"Mean temperature at point {i:02d} of the hall (°C, 24 hours)" for i in range(29)
    )
    assert short_names(names, 28)[names[3]] == "Mean temperature at poin…03…"
    one_word = tuple(f"{'x' * 40}{i}{'y' * 40}" for i in range(3))
    assert list(short_names(one_word, 12).values()) == [f"{'x' * 9}…{i}…" for i in range(3)]
    for several in (names, one_word, ("a b", *("a b c " * 9 + end for end in "def"))):
        for most in (6, 9, 20, 300):
            assert len(set(short_names(several, most).values())) == len(several)
    column = EncodedColumn(names[7], "above", lower=20.5)
    encoding = Encoding("test", (column,), names)
    words = split_words(Split.on_feature(0), encoding, max_name=28)
    assert words.test == "Mean temperature at poin…07… <= 20.5"
