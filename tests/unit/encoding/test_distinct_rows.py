"""Grouping equal rows: packed bits and plain columns give the same groups."""

from __future__ import annotations

import time

import numpy as np
import pytest

from octcore.data.distinct import distinct_rows
from octcore.tree.metrics import accuracy_ceiling


@pytest.mark.parametrize("dtype", [np.uint8, np.float64])
@pytest.mark.parametrize("with_classes", [False, True])
def test_groups_are_equal_rows_in_order_of_appearance(dtype, with_classes):
    generator = np.random.default_rng(3)
    for n_features in range(12):
        X = generator.integers(0, 2, (40, n_features)).astype(dtype)
        y = generator.integers(0, 3, 40) if with_classes else None
        first, group_of = distinct_rows(X, y)
        rows = X if y is None else np.column_stack([X, y])
        assert (np.diff(first) > 0).all()
        assert (rows[first][group_of] == rows).all()
        assert len(first) == len({tuple(row) for row in rows.tolist()})


def test_bytes_that_are_no_bits_are_told_apart():
    first, group_of = distinct_rows(np.array([[1], [2], [1]], dtype=np.uint8))
    assert (first.tolist(), group_of.tolist()) == ([0, 1], [0, 1, 0])


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, np.uint8, bool])
def test_numbers_are_equal_as_numbers_are(dtype):
    pool = np.array([0.0, -0.0, 0.5, -1.0, 1e30, np.inf, np.nan])
    numbers = pool if np.dtype(dtype).kind == "f" else np.arange(4)
    X = np.random.default_rng(1).choice(numbers, (200, 3)).astype(dtype)
    for y in (None, np.arange(200) % 2):
        rows = X if y is None else np.column_stack([y, X])
        same = (rows[:, None] == rows[None]).all(axis=2) | np.eye(200, dtype=bool)
        first, group_of = distinct_rows(X, y)
        assert (first[group_of] == same.argmax(axis=1)).all()
        assert (np.diff(first) > 0).all()
    assert [len(part) for part in distinct_rows(X[:0])] == [0, 0]


def test_wide_tables_of_bits_are_quick():
    X = np.random.default_rng(0).integers(0, 2, (5000, 4000), dtype=np.uint8)
    began = time.process_time()
    first, _ = distinct_rows(X)
    assert len(first) == 5000
    assert time.process_time() - began < 1.0


def test_columns_of_one_feature_count_as_the_value_that_they_tell():
    chance = np.random.default_rng(2)
    level, number = chance.integers(0, 5, 300), chance.integers(0, 4, 300).astype(float)
    above = number[:, None] > np.array([0.5, 1.5, 2.5])
    X = np.column_stack([level[:, None] == np.arange(5), number / 3, above]).astype(float)
    y, groups = chance.integers(0, 2, 300), np.array([0] * 5 + [1] + [2] * 3)
    assert accuracy_ceiling(X, y, groups) == accuracy_ceiling(X, y)
    assert accuracy_ceiling(X[:, :6], y, groups[:6]) == accuracy_ceiling(X[:, :6], y)
