"""The rules of the quantile encodings, on columns small enough to check by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from octcore.data.thresholds import (
    bucket_edges,
    class_change_thresholds,
    quantile_thresholds,
    short_threshold,
    tidy,
)


def test_bucket_edges_are_those_of_qcut() -> None:
    numbers = np.random.default_rng(3).normal(size=97).round(1)
    ours = np.digitize(numbers, bucket_edges(numbers, 5)[1:-1], right=True)
    theirs = pd.qcut(numbers, 5, labels=False, duplicates="drop")
    np.testing.assert_array_equal(ours, theirs)


def test_coinciding_edges_are_dropped() -> None:
    # n - 1 = 3: positions 0, 0.6, 1.2, 1.8, 2.4, 3
    np.testing.assert_array_equal(bucket_edges(np.array([0.0, 0.0, 0.0, 1.0]), 5), [0.0, 0.4, 1.0])
    np.testing.assert_array_equal(bucket_edges(np.array([0.0] * 99 + [1.0]), 5), [0.0, 1.0])


def test_thresholds_are_midpoints_where_the_position_is_fractional() -> None:
    # n - 1 = 3: positions 0.6, 1.2, 1.8, 2.4
    numbers = np.array([10.0, 20.0, 40.0, 80.0])
    np.testing.assert_array_equal(quantile_thresholds(numbers, 5), [15.0, 30.0, 60.0])


def test_thresholds_are_values_where_the_position_is_whole() -> None:
    # n - 1 = 4 with quarters: positions 1, 2, 3
    numbers = np.array([1.0, 2.0, 4.0, 8.0, 16.0])
    np.testing.assert_array_equal(quantile_thresholds(numbers, 4), [2.0, 4.0, 8.0])


def test_level_three_fifths_rounds_as_numpy_does() -> None:
    """The level 3/5 is 0.6000000000000001: position 3.0000000000000004 gives a midpoint."""
    numbers = np.array([0.0, 1.0, 3.0, 6.0, 10.0, 15.0])  # n - 1 = 5, exact positions 1, 2, 3, 4
    assert np.linspace(0, 1, 6)[3] * 5 > 3
    expected = pd.Series(numbers).quantile(np.linspace(0, 1, 6)[1:-1], interpolation="midpoint")
    found = quantile_thresholds(numbers, 5)
    np.testing.assert_array_equal(found, np.unique(expected))
    assert 8.0 in found
    assert 6.0 not in found


def test_class_changes_skip_neighbours_of_one_class() -> None:
    numbers = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    y = np.array([0, 0, 1, 1, 0])
    np.testing.assert_array_equal(class_change_thresholds(numbers, y), [2.5, 4.5])


def test_a_mixed_value_counts_as_a_change_on_both_sides() -> None:
    numbers = np.array([1.0, 2.0, 2.0, 3.0])
    y = np.array([0, 0, 1, 1])
    np.testing.assert_array_equal(class_change_thresholds(numbers, y), [1.5, 2.5])


def test_neighbouring_floats_are_still_separated() -> None:
    low = 1.0
    high = np.nextafter(low, 2)
    threshold = class_change_thresholds(np.array([low, high]), np.array([0, 1]))[0]
    assert low <= threshold < high


def test_huge_numbers_do_not_overflow() -> None:
    numbers = np.array([-1.5e308, -1e308, 1e308, 1.7e308])
    for found in (bucket_edges(numbers, 3), quantile_thresholds(numbers, 3)):
        assert np.isfinite(found).all()
    assert np.isfinite(class_change_thresholds(numbers, np.array([0, 1, 0, 1]))).all()


@pytest.mark.parametrize(
    ("threshold", "numbers", "expected"),
    [
        (3.1500000000000004, [3.1, 3.2], 3.15),
        (0.30000000000000004, [0.30000000000000004, 1.0], 0.30000000000000004),
    ],
)
def test_thresholds_are_shortened_only_between_values(
    threshold: float, numbers: list[float], expected: float
) -> None:
    assert tidy(threshold, np.array(numbers)) == expected


@pytest.mark.parametrize(
    ("low", "high", "middle", "short"),
    [
        (1.9, 3.0, 2.45, 2.45),
        (0.123456789, 0.123987654, 0.1237222215, 0.12372),
        (1.0, np.nextafter(1.0, 2.0), 1.0, 1.0),
        (3.1, 3.2, 3.1500000000000004, 3.15),
    ],
)
def test_thresholds_have_no_more_digits_than_their_gap_needs(low, high, middle, short) -> None:
    assert short_threshold(middle, low, high) == short
    assert low <= short < high
