"""The suite ``thresholds`` with ConTree beside ours, and STreeD on five quantiles.

STreeD needs columns of 0 and 1, so that its optimum is one on QT-5 and lies below.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import numpy as np
import pandas as pd

from octcore.bench.suite import Instance
from octcore.bench.suites import thresholds
from octcore.data.dataset import Dataset
from octcore.encoding.fit import fit_encoding
from tests.bench.rivals.peers import PEERS, run_peer

BINARY = frozenset({"pystreed"})


def binary_loader(folder: Path, dataset: str) -> Callable[[], Dataset]:
    """Loader of a set on the columns of QT-5."""
    return partial(_load_binary, folder, dataset)


@cache
def _load_binary(folder: Path, dataset: str) -> Dataset:
    data = thresholds.loader(folder, dataset)()
    encoding = fit_encoding("QT-5", data, few=0)  # quantiles alone, as in the table
    X = pd.DataFrame(encoding.transform(data.frame), columns=list(encoding.names)).astype(int)
    return Dataset.from_arrays(X, np.asarray(data.classes)[data.codes], name=dataset)


def instances(folder: Path, study: str, formulations: tuple[str, ...]) -> list[Instance]:
    """Every row of the table by every program; a study keeps one depth."""
    return [
        _on_bins(instance, folder) if instance.formulation in BINARY else instance
        for instance in thresholds.instances(folder, study, formulations)
    ]


def _on_bins(instance: Instance, folder: Path) -> Instance:
    settings = {name: value for name, value in instance.settings.items() if name != "encoding"}
    load = binary_loader(folder, instance.dataset)
    return replace(instance, encoding="QT-5", load=load, settings=settings)


SUITE = replace(
    thresholds.SUITE,
    title="Fewest errors over all thresholds, beside ConTree, and STreeD on QT-5",
    formulations=("threshold-search", "pycontree", "pystreed"),
    instances=instances,
    programs=dict.fromkeys(PEERS, run_peer),
)
