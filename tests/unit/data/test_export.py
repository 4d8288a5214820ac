"""Exports cannot run as formulas."""

from __future__ import annotations

import csv
import io

import numpy as np
import pandas as pd
import pytest

from octcore.data.export import frame_to_csv, guard_cell, rows_to_csv


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_texts_that_look_like_formulas_are_guarded(start):
    assert guard_cell(f"{start}1+1") == f"'{start}1+1"
    (header, row) = csv.reader(io.StringIO(rows_to_csv([f"{start}h"], [[f"{start}x"]]), newline=""))
    assert header == [f"'{start}h"]
    assert row == [f"'{start}x"]


def test_numbers_and_other_texts_are_untouched():
    assert guard_cell(-1.5) == -1.5
    assert guard_cell("a=b") == "a=b"
    frame = pd.DataFrame({"n": [-1.5, np.nan], "t": ["a,b", "-x"]})
    assert frame_to_csv(frame) == 'n,t\n-1.5,"a,b"\n,\'-x\n'
