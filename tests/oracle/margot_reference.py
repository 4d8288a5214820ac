"""The MARGOT paper's sets and settings, read from the reference data."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import MinMaxScaler

FILES = {
    "Breast Cancer D.": "breast_cancer_diagnostic",
    "Breast Cancer W.": "breast_cancer_wisconsin",
    "Climate Model": "climate_model",
    "Heart Disease C.": "cleveland",
    "Ionosphere": "ionosphere",
    "Parkinsons": "parkinsons",
    "Sonar": "sonar",
    "SPECTF H.": "spectf",
    "Tic-Tac-Toe": "tic_tac_toe",
    "Wholesale": "wholesale",
}
_WITH_HEADER = ("parkinsons", "wholesale")
_WITH_INDEX = ("breast_cancer_diagnostic", "breast_cancer_wisconsin", "parkinsons")
_POSITIVE = {"breast_cancer_diagnostic": "M", "sonar": "R", "ionosphere": "g"}


def training_part(reference: Path, title: str) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Scaled training rows and labels -1/+1 under the paper's protocol."""
    name = FILES[title]
    table = pd.read_csv(
        reference / "data" / "margot" / f"{name}.csv",
        header=0 if name in _WITH_HEADER else None,
        index_col=0 if name in _WITH_INDEX else None,
        encoding="utf-8-sig",
    )
    table = table.replace("?", np.nan).dropna()
    label = table.iloc[:, -1].to_numpy()
    x = table.iloc[:, :-1].astype(float).to_numpy()
    if name == "cleveland":
        y = np.where(label.astype(float) == 0, -1.0, 1.0)
    else:
        y = np.where(label == _POSITIVE.get(name, max(np.unique(label))), 1.0, -1.0)
    x, _, y, _ = train_test_split(x, y, test_size=0.2, shuffle=True, random_state=0, stratify=label)
    return MinMaxScaler().fit_transform(x), y


def oracle(reference: Path) -> pd.DataFrame:
    """The published figures."""
    return pd.read_csv(reference / "oracle" / "margot.csv")


def setting(table: pd.DataFrame, title: str, model: str, name: str, number: int) -> float:
    """One published hyperparameter."""
    rows = table[(table.table == number) & (table.dataset == title)]
    rows = rows[(rows.model == model) & (rows.metric == name)]
    return float(rows.value.iloc[0])
