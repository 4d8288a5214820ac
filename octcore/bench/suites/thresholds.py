"""Fewest errors of trees on the numbers themselves.

No price of leaves.  The reference is the least number of errors that is known, as an objective
(accuracy).
"""

import csv
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd

from octcore.bench.suite import Instance, Published, Suite
from octcore.data.dataset import Dataset
from octcore.data.samples import load_sample

TABLE = "../oracle/thresholds.csv"
SAMPLES = ("iris", "wine", "wdbc")
RAW = {
    "sonar": ("sonar.all-data", ",", -1),
    "ionosphere": ("ionosphere.data", ",", -1),
    "banknote": ("banknote.txt", ",", -1),
    "transfusion": ("transfusion.data", ",", -1),
    "ILPD": ("ILPD.csv", ",", -1),
    "spambase": ("spambase.data", ",", -1),
    "biodeg": ("biodeg.csv", ";", -1),
    "parkinsons": ("parkinsons.data", ",", 17),
}
"""File in ``raw/``, separator, position of the class."""
HEADED = frozenset({"transfusion", "parkinsons"})
SEPARATE = ("segment", "raisin", "rice", "wilt", "page", "bidding", "magic")


def loader(folder: Path, dataset: str) -> Callable[[], Dataset]:
    """Loader of a set, all columns numeric."""
    return partial(_load, folder, dataset)


@cache
def _load(folder: Path, dataset: str) -> Dataset:
    if dataset in SAMPLES:
        sample = load_sample(dataset)
        return _numeric(sample.frame, np.asarray(sample.classes)[sample.codes], dataset)
    if dataset in SEPARATE:
        path = folder / "thresholds" / f"{dataset}.txt.xz"
        table = pd.read_csv(path, header=None, sep=r"\s+")
        return _numeric(table.iloc[:, 1:], table.iloc[:, 0].to_numpy(), dataset)
    file, separator, target = RAW[dataset]
    header = 0 if dataset in HEADED else None
    table = pd.read_csv(folder / "raw" / file, header=header, sep=separator)
    if dataset == "ILPD":
        table[1] = (table[1].astype(str) == "Male").astype(int)
    label = table.columns[target]
    drop = [label] + (["name"] if dataset == "parkinsons" else [])
    return _numeric(table.drop(columns=drop), table[label].to_numpy(), dataset)


def _numeric(table: pd.DataFrame, y: np.ndarray, name: str) -> Dataset:
    """All columns as numbers; the few missing cells take the median of their column."""
    numbers = table.apply(pd.to_numeric, errors="coerce")
    numbers = numbers.fillna(numbers.median())
    numbers.columns = [f"x{j}" for j in range(numbers.shape[1])]
    kinds = dict.fromkeys(numbers.columns, "numeric")
    return Dataset.from_arrays(numbers.astype(float), y.astype(str), kinds=kinds, name=name)


def instances(folder: Path, study: str, formulations: tuple[str, ...]) -> list[Instance]:
    """Every row of the table by every program; a study keeps one depth."""
    found = []
    with (folder / TABLE).open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    for row in rows:
        dataset, depth = row["dataset"], int(row["depth"])
        if study not in ("main", f"depth-{depth}"):
            continue
        n_rows = _load(folder, dataset).n_samples
        reference = Published(objective=1 - int(row["errors"]) / n_rows)
        settings = {"encoding": "raw", "params": {"leaf_penalty": 0.0}}
        load = loader(folder, dataset)
        found += [
            Instance(dataset, "raw", key, depth, load, settings, published=reference)
            for key in formulations
        ]
    return found


SUITE = Suite(
    key="thresholds",
    title="Fewest errors over all thresholds",
    formulations=("threshold-search",),
    needs=(
        TABLE,
        *(f"raw/{entry[0]}" for entry in RAW.values()),
        *(f"thresholds/{name}.txt.xz" for name in SEPARATE),
    ),
    instances=instances,
    studies=("main", "depth-2", "depth-3", "depth-4"),
)
