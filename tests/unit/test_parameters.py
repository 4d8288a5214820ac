"""Declarations check values, and refuse them in one sentence."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from octcore.errors import DataError, SettingsError, TooLargeError
from octcore.parameters import (
    Choice,
    Flag,
    FloatRange,
    IntRange,
    Names,
    as_fraction,
    check_all,
    fraction_in_words,
)

SHARE = FloatRange("share", 0.5, low=0.0, high=1.0, high_open=True)
DEPTH = IntRange("depth", 2, low=1, high=8)


@given(st.floats(0, 1, exclude_max=True))
def test_numbers_inside_the_range_pass(value: float) -> None:
    assert SHARE.check(value) == value
    assert SHARE.parse(repr(value)) == value


@pytest.mark.parametrize("value", [1.0, -0.1, "nan", math.inf, "three", None, True, [0.5]])
def test_numbers_outside_the_range_are_refused(value: object) -> None:
    with pytest.raises(SettingsError, match="share must be a number in") as caught:
        SHARE.check(value)
    assert caught.value.setting == "share"


@pytest.mark.parametrize("value", [2.5, "3; import os", 0, 9, "1e9", None])
def test_whole_numbers_are_checked(value: object) -> None:
    with pytest.raises(SettingsError, match="depth must be a whole number from 1 to 8"):
        DEPTH.check(value)


def test_whole_numbers_accept_text_and_floats_that_are_whole() -> None:
    assert DEPTH.check("3") == 3
    assert DEPTH.check(4.0) == 4


def test_choices_flags_and_names() -> None:
    norm = Choice("norm", "l2", options=("l1", "l2"))
    assert norm.check("l1") == "l1"
    with pytest.raises(SettingsError, match="one of 'l1', 'l2'"):
        norm.check("l3")
    flag = Flag("cuts", False)
    assert flag.parse("yes") is True
    assert flag.check(0) is False
    with pytest.raises(SettingsError, match="true or false"):
        flag.check("perhaps")
    assert Names("drop").check("a, b,,a") == ("a", "b")


@pytest.mark.parametrize(
    ("number", "rows", "words"),
    [
        (1 / 232, 232, "1/232"),
        (2 / 232, 232, "1/116"),
        (0.01, 150, "1/100"),
        (0.006250000000000001, 160, "1/160"),
        (0.1 + 0.2, 1e7, "3/10"),
        (1 / 7, 4, "1/7"),
        (1 / (10_000 * 579), 579, "1/5790000"),
        (0.0, 10, "0"),
        (2.0**-40, 10, "1/1099511627776"),
        (0.004310344828, 232, "the double 0.004310344828"),
        (5e-324, 10, "the double 5e-324"),
    ],
)
def test_prices_are_the_fractions_that_were_meant(number: float, rows: float, words: str) -> None:
    read = as_fraction(number, rows)
    assert fraction_in_words(read) == words
    assert read == Fraction(number) or read.denominator <= 10_000 * rows
    assert abs(read - Fraction(number)) <= Fraction(number) / 10**12


def test_unknown_names_list_near_matches() -> None:
    with pytest.raises(SettingsError, match="did you mean depth"):
        check_all([DEPTH, SHARE], {"dpth": 3}, "flow-oct")


def test_missing_values_get_their_defaults() -> None:
    assert check_all([DEPTH, SHARE], {"share": 0.25}, "flow-oct") == {"depth": 2, "share": 0.25}


@pytest.mark.parametrize(
    "error",
    [
        DataError("X", "message", 3, "age"),
        SettingsError("X", "message", "depth"),
        TooLargeError("X", "message", {"rows": 3}),
    ],
)
def test_errors_survive_a_process_boundary(error: Exception) -> None:
    again = pickle.loads(pickle.dumps(error))
    assert vars(again) == vars(error)
    assert str(again) == "message"
