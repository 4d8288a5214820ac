"""The published binary encodings, cell for cell, from the raw files they were made of."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from octcore.data.columns import Column
from octcore.encoding.fit import fit_encoding

REFERENCE = os.environ.get("OCT_REFERENCE")
pytestmark = pytest.mark.reference

CATEGORICAL_SETS = (
    "balance-scale breast-cancer car_evaluation hayes-roth house-votes-84 kr-vs-kp monk1 monk2 "
    "monk3 soybean-small spect tic-tac-toe"
).split()
OTHER_SETS = (
    "iris wine plrx wpbc parkinsons sonar wdbc banknote transfusion ozone-one segmentation "
    "spambase hepatitis fertility ionosphere biodeg ILPD thoracic credit seismic-bumps ann-thyroid"
).split()
CASES = [(name, "") for name in CATEGORICAL_SETS] + [
    (name, scheme) for name in OTHER_SETS for scheme in ("QB", "QT")
]

ENDINGS = (".data", ".csv", ".train", ".test", ".txt", ".all-data", ".arff", ".dat")
SEPARATORS = dict.fromkeys(("car_evaluation", "monk1", "monk2", "monk3", "biodeg"), ";")
SEPARATORS |= dict.fromkeys(("plrx", "ann-thyroid"), r"\s+")
WITH_HEADER = {"car_evaluation", "monk1", "monk2", "monk3", "parkinsons", "transfusion"}
IDENTIFIERS = {
    "hayes-roth": [0], "wpbc": [0, 2], "parkinsons": [0], "ionosphere": [1], "wdbc": [0],
    "ozone-one": [0],
}  # fmt: skip
FIRST_COLUMN = (
    "balance-scale breast-cancer house-votes-84 spect hepatitis wine wpbc wdbc segmentation"
)
TARGETS = dict.fromkeys(FIRST_COLUMN.split(), 0) | {"parkinsons": 16}
WHOLE_BUT_NUMERIC = {
    "hepatitis": [0, 14, 15, 17], "wpbc": [31], "wine": [4, 12], "thoracic": [15],
    "ILPD": [0, 4, 5, 6], "credit": [13, 14], "transfusion": [0, 1, 2, 3],
    "biodeg": [2, 4, 5, 6, 8, 9, 10, 15, 22, 31, 32, 33, 34, 37, 40], "ozone-one": [66, 69, 70],
    "segmentation": [0, 1], "spambase": [55, 56],
    "seismic-bumps": [3, 4, 5, 6, 8, 9, 10, 11, 13, 14, 15, 16, 17],
}  # fmt: skip
DECIMAL_BUT_CATEGORICAL = {"fertility": [0], "seismic-bumps": [12]}


def _read_part(path: Path, name: str) -> pd.DataFrame:
    separator = SEPARATORS.get(name, ",")
    part = pd.read_csv(
        path,
        header=0 if name in WITH_HEADER else None,
        na_values=["?"],
        sep=separator,
        engine="python" if len(separator) > 1 else "c",
    ).dropna()
    part.columns = range(part.shape[1])
    part = part.drop(columns=IDENTIFIERS.get(name, []))
    part.columns = range(part.shape[1])
    for c in part.columns:
        is_float = pd.api.types.is_float_dtype(part[c])
        if is_float and len(part) and (part[c] == np.floor(part[c])).all():
            part[c] = part[c].astype("int64")
    return part


def _read_raw(name: str) -> pd.DataFrame:
    parts = []
    for ending in ENDINGS:
        path = Path(str(REFERENCE), "data", "raw", name + ending)
        if path.exists() and (name, ending) != ("hayes-roth", ".test"):
            try:
                parts.append(_read_part(path, name))
            except pd.errors.ParserError:  # a description beside the data
                continue
    return pd.concat(parts, ignore_index=True)


def _typed(name: str, raw: pd.DataFrame) -> tuple[pd.DataFrame, list[Column], np.ndarray]:
    target = TARGETS.get(name, raw.shape[1] - 1)
    frame, columns = {}, []
    for position, c in enumerate(c for c in raw.columns if c != target):
        title = f"c{position}"
        is_float = pd.api.types.is_float_dtype(raw[c])
        numeric = is_float and position not in DECIMAL_BUT_CATEGORICAL.get(name, [])
        if numeric or position in WHOLE_BUT_NUMERIC.get(name, []):
            frame[title] = raw[c].astype(float)
            columns.append(Column(title, "numeric"))
        else:
            levels = tuple(sorted(raw[c].unique().tolist()))
            frame[title] = raw[c]
            columns.append(Column(title, "categorical", levels))
    codes, _ = pd.factorize(raw[target])
    return pd.DataFrame(frame), columns, codes


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("name", "scheme"), CASES)
def test_published_encoding_is_reproduced(name: str, scheme: str) -> None:
    suffix = f"_{scheme}_5" if scheme else ""
    published = Path(str(REFERENCE), "data", "encoded", f"{name}{suffix}_enc.csv")
    if not published.exists():
        pytest.skip(f"{published.name} is not among the reference data")
    expected = pd.read_csv(published).to_numpy()
    varies = (expected != expected[0]).any(axis=0)  # constant columns are part of what is published
    frame, columns, codes = _typed(name, _read_raw(name))

    encoding = fit_encoding(f"{scheme or 'QB'}-5", (frame, columns), few=0)
    cells = encoding.transform(frame)

    np.testing.assert_array_equal(cells, expected[:, :-1][:, varies[:-1]])
    np.testing.assert_array_equal(codes, expected[:, -1])


def test_54_of_the_92_published_buckets_of_spambase_are_not_constant() -> None:
    frame, columns, _ = _typed("spambase", _read_raw("spambase"))
    useful = fit_encoding("QB-5", (frame, columns))
    assert len(useful.columns) == 54
    assert useful.findings
