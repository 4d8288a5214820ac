"""Encodings for any rows: shapes, monotone thresholds, one bucket per row, JSON, new rows."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from octcore.data.dataset import Dataset
from octcore.data.numbers import FEW_NUMBERS
from octcore.encoding.base import Encoding, group_slices
from octcore.encoding.fit import fit_encoding

NUMBERS = st.one_of(
    st.floats(-1e6, 1e6, allow_nan=False),
    st.integers(-3, 3).map(float),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
)


@st.composite
def datasets(draw: st.DrawFn) -> Dataset:
    n = draw(st.integers(1, 12))
    frame = {"x": draw(arrays(float, n, elements=NUMBERS))}
    frame["y"] = draw(arrays(float, n, elements=NUMBERS))
    levels = st.sampled_from(["red", "blue", "a=b", "<b>", "c d"])
    frame["c"] = np.array(draw(st.lists(levels, min_size=n, max_size=n)), dtype=object)
    kinds = {"x": "numeric", "y": "numeric"}
    labels = draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    return Dataset.from_arrays(pd.DataFrame(frame), np.array(labels), kinds=kinds)


keys = st.sampled_from(["QB-2", "QB-5", "QT-2", "QT-5", "QT-9", "class-change", "scaled"])


@given(datasets(), keys)
def test_training_rows_encode_to_what_the_key_promises(data: Dataset, key: str) -> None:
    encoding = fit_encoding(key, data)
    cells = encoding.transform(data.frame)
    assert cells.shape == (data.n_samples, len(encoding.columns))
    assert ((cells >= 0) & (cells <= 1)).all()
    assert encoding.is_binary == (key != "scaled" or not {"x", "y"} & set(group_slices(encoding)))
    if encoding.is_binary:
        assert np.isin(cells, (0.0, 1.0)).all()
    assert len(set(encoding.names)) == len(encoding.names)
    assert (cells.min(axis=0, initial=1) < cells.max(axis=0, initial=0)).all()  # none constant


@given(datasets(), st.integers(2, 9))
def test_thresholds_are_nested_and_buckets_partition(data: Dataset, q: int) -> None:
    thresholds = fit_encoding(f"QT-{q}", data)
    cells = thresholds.transform(data.frame)
    for positions in group_slices(thresholds).values():
        if thresholds.columns[positions[0]].kind == "above":
            assert len(positions) <= max(q, FEW_NUMBERS) - 1
            assert (np.diff(cells[:, positions], axis=1) <= 0).all()
    buckets = fit_encoding(f"QB-{q}", data, few=0)
    cells = buckets.transform(data.frame)
    for positions in group_slices(buckets).values():
        if buckets.columns[positions[0]].kind == "bucket":
            assert len(positions) <= q
            assert (cells[:, positions].sum(axis=1) == 1).all()


@given(datasets(), keys, st.floats(allow_nan=False, allow_infinity=False))
def test_any_new_number_encodes(data: Dataset, key: str, value: float) -> None:
    encoding = fit_encoding(key, data)
    row = pd.DataFrame({"x": [value], "y": [-value], "c": ["never seen"]})
    with np.errstate(over="ignore"):
        cells = encoding.transform(row)
    assert not np.isnan(cells).any()
    levels = [j for j, column in enumerate(encoding.columns) if column.kind == "level"]
    assert not cells[:, levels].any()
    assert {finding.column for finding in encoding.unseen(row)} == ({"c"} if levels else set())


@given(datasets(), keys)
def test_json_round_trip_encodes_alike(data: Dataset, key: str) -> None:
    encoding = fit_encoding(key, data)
    again = Encoding.from_dict(json.loads(json.dumps(encoding.to_dict(), allow_nan=False)))
    assert again == encoding


@given(datasets())
def test_class_change_keeps_every_distinction_between_classes(data: Dataset) -> None:
    """Rows that agree in all encoded columns and differ in class also did so in the raw ones.

    Between two values without a class change all rows are of one class, so merging is harmless.
    """
    encoding = fit_encoding("class-change", data)
    assert data.y is not None
    for name in ("x", "y"):
        values = data.frame[name].to_numpy()
        positions = group_slices(encoding).get(name, [])
        codes = encoding.transform(data.frame)[:, positions].sum(axis=1)
        for code in np.unique(codes):
            here = codes == code
            assert len(np.unique(values[here])) == 1 or len(np.unique(data.y[here])) == 1
