"""Fewest errors of trees on the numbers themselves.

No price of leaves.  The reference is the least number of errors that is known, as an objective
(accuracy).
"""

import csv
from collections.abc import Callable
from functools import partial
from pathlib import Path

from octcore.bench import data_files
from octcore.bench.data_files import Files
from octcore.bench.suite import Instance, Published, Suite
from octcore.data.dataset import Dataset
from octcore.data.samples import load_sample

TABLE = "../oracle/thresholds.csv"
SAMPLES = ("iris", "wine", "wdbc")
SEPARATE = ("segment", "raisin", "rice", "wilt", "page", "bidding", "magic")
FILES: Files = {
    "sonar": ("raw/sonar.all-data", -1, {}),
    "ionosphere": ("raw/ionosphere.data", -1, {}),
    "banknote": ("raw/banknote.txt", -1, {}),
    "transfusion": ("raw/transfusion.data", -1, {"header": True}),
    "ILPD": ("raw/ILPD.csv", -1, {}),
    "spambase": ("raw/spambase.data", -1, {}),
    "biodeg": ("raw/biodeg.csv", -1, {"separator": ";"}),
    "parkinsons": ("raw/parkinsons.data", 17, {"header": True, "drop": (0,)}),
    **{name: (f"thresholds/{name}.txt.xz", 0, {"separator": r"\s+"}) for name in SEPARATE},
}


def loader(folder: Path, dataset: str) -> Callable[[], Dataset]:
    """Loader of a set, all columns numeric."""
    if dataset in SAMPLES:
        return partial(load_sample, dataset)
    return data_files.loader(folder, FILES, dataset, medians=True)


def instances(folder: Path, study: str, formulations: tuple[str, ...]) -> list[Instance]:
    """Every row of the table by every program; a study keeps one depth."""
    found = []
    with (folder / TABLE).open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    for row in rows:
        dataset, depth = row["dataset"], int(row["depth"])
        if study not in ("main", f"depth-{depth}"):
            continue
        load = loader(folder, dataset)
        reference = Published(objective=1 - int(row["errors"]) / load().n_samples)
        settings = {"encoding": "raw", "params": {"leaf_penalty": 0.0}}
        found += [
            Instance(dataset, "raw", key, depth, load, settings, published=reference)
            for key in formulations
        ]
    return found


SUITE = Suite(
    key="thresholds",
    title="Fewest errors over all thresholds",
    formulations=("threshold-search",),
    needs=(TABLE, *(file for file, _, _ in FILES.values())),
    instances=instances,
    studies=("main", "depth-2", "depth-3", "depth-4"),
)
