"""Tables 5 to 8 of the MARGOT paper: time, gap and test accuracy with its hyperparameters.

Protocol: 80 % of the rows train, stratified by the raw label, seed 0; columns scaled on them.
MARGOT has as many threads as the machine has cores, as the solver of the paper had; the other
models have one.
Studies: ``main`` (depth 2), ``depths`` (the same hyperparameters at depths 2 to 4) and
``features`` (the models with feature budgets on six sets; the column ``features`` stands beside the
paper's count of distinct features, table 10, in the label).
"""

import os
from functools import cache
from pathlib import Path

import numpy as np

from octcore.bench.data_files import Files, loader
from octcore.bench.suite import Instance, Published, Suite, published
from octcore.selection.protocols import cut, ordered

FILES: Files = {
    "Breast Cancer D.": ("margot/breast_cancer_diagnostic.csv", -1, {"drop": (0,)}),
    "Breast Cancer W.": ("margot/breast_cancer_wisconsin.csv", -1, {"drop": (0,)}),
    "Climate Model": ("margot/climate_model.csv", -1, {}),
    "Heart Disease C.": ("margot/cleveland.csv", -1, {"two_classes": True}),
    "Ionosphere": ("margot/ionosphere.csv", -1, {}),
    "Parkinsons": ("margot/parkinsons.csv", -1, {"header": True, "drop": (0,)}),
    "Sonar": ("margot/sonar.csv", -1, {}),
    "SPECTF H.": ("margot/spectf.csv", -1, {}),
    "Tic-Tac-Toe": ("margot/tic_tac_toe.csv", -1, {}),
    "Wholesale": ("margot/wholesale.csv", -1, {"header": True}),
}
COSTS = {"C_upper": "hyper_C_upper", "C_last": "hyper_C_last"}
BUDGETS = {"budget_upper": "hyper_B_upper", "budget_last": "hyper_B_last"}
MODELS = {
    "margot": ("MARGOT", 21, COSTS, (5, 6)),
    "oct-h": ("OCT-H", 21, {"alpha": "hyper_alpha"}, (5, 6)),
    "mm-svm-oct": ("MM-SVM-OCT", 21, {"c1": "hyper_c1", "c3": "hyper_c3"}, (5, 6)),
    "hfs-margot": ("HFS-MARGOT*", 22, {**COSTS, **BUDGETS}, (7, 8)),
    "sfs-margot": ("SFS-MARGOT*", 22, {**COSTS, "alpha": "hyper_alpha"}, (7, 8)),
}
"""By formulation: the paper's name, table of hyperparameters, their names, tables of results."""
BUDGETED = ("hfs-margot", "sfs-margot")
FEATURE_SETS = (
    "Breast Cancer W.", "Climate Model", "Heart Disease C.", "Ionosphere", "Parkinsons",
    "Wholesale"
)  # fmt: skip
"""Sets of the study ``features``."""


@cache
def figure(number: int, dataset: str, model: str, metric: str) -> float | None:
    """One published figure."""
    for row in published("margot"):
        found = (int(row["table"]), row["dataset"], row["model"], row["metric"])
        if found == (number, dataset, model, metric):
            return float(row["value"])
    return None


def _share(value: float | None) -> float | None:
    return None if value is None else value / 100


@cache
def split(folder: Path, dataset: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Training and test rows of the paper: stratified by the label as it stands in the file."""
    raw = loader(folder, FILES, dataset, two_classes=False)()
    train, test = cut(raw.codes, np.arange(raw.n_samples), 0.2, 0)
    return ordered(train), ordered(test)


def instances(folder: Path, study: str, formulations: tuple[str, ...]) -> list[Instance]:
    """Every set by every model with published hyperparameters."""
    datasets = FEATURE_SETS if study == "features" else tuple(FILES)
    keys = tuple(k for k in formulations if study != "features" or k in BUDGETED)
    depths = (2, 3, 4) if study == "depths" else (2,)
    return [
        _instance(folder, dataset, key, depth, study)
        for dataset in datasets
        for depth in depths
        for key in keys
    ]


def _instance(folder: Path, dataset: str, key: str, depth: int, study: str) -> Instance:
    train, test = split(folder, dataset)
    model, hyper, names, (accuracy, speed) = MODELS[key]
    values = {n: figure(hyper, dataset, model, metric) for n, metric in names.items()}
    figures = Published(
        gap=_share(figure(speed, dataset, model, "gap_pct")),
        seconds=figure(speed, dataset, model, "time_s"),
        accuracy=_share(figure(accuracy, dataset, model, "test_acc_pct")),
    )
    threads = (os.cpu_count() or 1) if key == "margot" else 1
    used = figure(10, dataset, model, "n_distinct_features") if study == "features" else None
    params = {
        name: int(value) if name.startswith("budget") else value
        for name, value in values.items()
        if value is not None
    }
    settings = {"encoding": "scaled", "params": params, "threads": threads}
    label = "80/20" if used is None else f"80/20 paper_features={used:g}"
    known, rows = figures if depth == 2 else Published(), (train, (), test)
    load = loader(folder, FILES, dataset)
    return Instance(dataset, "scaled", key, depth, load, settings, label, known, rows)


SUITE = Suite(
    key="margot",
    title="MARGOT, tables 5 to 8: time, gap and test accuracy with published hyperparameters",
    formulations=("margot", "hfs-margot", "sfs-margot"),
    needs=tuple(file for file, _, _ in FILES.values()),
    instances=instances,
    studies=("main", "depths", "features"),
)
