"""The sets of the S-OCT paper's solver comparison, read from the reference data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

FILES: dict[str, tuple[str, int]] = {
    "balance_scale": ("balance-scale.data", 0),
    "banknote_authentication": ("data_banknote_authentication.txt", 4),
    "blood_transfusion": ("transfusion.data", 4),
    "congressional_voting_records": ("house-votes-84.data", 0),
    "ionosphere": ("ionosphere.data", 34),
    "soybean_small": ("soybean-small.data", 35),
}
_CATEGORICAL = ("balance_scale", "congressional_voting_records", "soybean_small")
_BUNDLED = {"iris": load_iris, "wine": load_wine, "breast_cancer": load_breast_cancer}
NAMES = (*FILES, *_BUNDLED, "parkinsons")


def whole_set(reference: Path, name: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """All rows of a set: one-hot or scaled to [0, 1], and class numbers."""
    if name in _BUNDLED:
        X, y = _BUNDLED[name](return_X_y=True)
    elif name == "parkinsons":
        table = pd.read_csv(reference / "data/s-oct/parkinsons.data", index_col="name")
        X, y = table.drop(columns="status").to_numpy(), table["status"]
    else:
        file, target = FILES[name]
        header = 0 if name == "blood_transfusion" else None
        table = pd.read_csv(reference / "data/s-oct" / file, header=header)
        y = table.iloc[:, target]
        X = table.drop(columns=table.columns[target]).to_numpy()
    if name in _CATEGORICAL:
        X = OneHotEncoder(drop="if_binary", sparse_output=False).fit_transform(X)
    else:
        X = MinMaxScaler().fit_transform(np.asarray(X, float))
    return X, np.unique(np.asarray(y), return_inverse=True)[1].astype(np.int64)
