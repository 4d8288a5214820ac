"""Where the data sets of the papers are, and how to read them; none of them is in the package."""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from octcore.data.dataset import Dataset
from octcore.data.findings import few
from octcore.errors import DataError

VARIABLE = "OCT_REFERENCE"
Files = Mapping[str, tuple[str, int, Mapping[str, Any]]]
"""By data set: file, position of the class, and what else `table` takes."""


def data_folder(given: str | None) -> Path:
    """Folder with ``encoded``, ``margot``, …, or one that holds it as ``data``.

    Raises `DataError` if neither ``--data`` nor the environment names a folder.
    """
    name = given or os.environ.get(VARIABLE)
    if not name:
        message = "The data sets of the papers are not part of the package; name their folder with "
        message += f"--data or {VARIABLE} (octcore/bench/README.md says how it is laid out)."
        raise DataError("NO_BENCH_DATA", message)
    folder = Path(name)
    if not folder.is_dir():
        raise DataError("NO_BENCH_DATA", f"{folder} is no folder; --data needs one.")
    return folder / "data" if (folder / "data").is_dir() else folder


def check_files(folder: Path, needs: Sequence[str], suite: str) -> None:
    """Refuse to start without the files of a suite.

    Raises `DataError` with the files that are missing.
    """
    missing = [name for name in needs if not (folder / name).exists()]
    if missing:
        message = f"Suite {suite} needs {few(missing)} in {folder}; octcore/bench/README.md says "
        message += "what they are."
        raise DataError("BENCH_DATA_MISSING", message)


def encoded_file(dataset: str, encoding: str) -> str:
    """File of a binary-encoded set, relative to the data folder."""
    name = dataset if encoding == "none" else f"{dataset}_{encoding}"
    return f"encoded/{name}_enc.csv"


def encoded(folder: Path, dataset: str, encoding: str) -> Callable[[], Dataset]:
    """Loader of a binary-encoded set (column ``target``)."""
    return partial(_encoded, folder / encoded_file(dataset, encoding), dataset)


@cache
def _encoded(path: Path, name: str) -> Dataset:
    table = pd.read_csv(path)
    return Dataset.from_arrays(table.drop(columns="target"), table["target"], name=name)


def loader(folder: Path, files: Files, dataset: str, **layout: Any) -> Callable[[], Dataset]:
    """Loader of one of some tables; `layout` instead of what is said of it."""
    file, target, options = files[dataset]
    return partial(table, folder / file, dataset, target, **{**options, **layout})


@cache
def table(
    path: Path,
    name: str,
    target: int,
    header: bool = False,
    drop: tuple[int, ...] = (),
    categorical: bool = False,
    separator: str = ",",
    two_classes: bool = False,
    medians: bool = False,
) -> Dataset:
    """Read a raw table; rows with ``?`` (missing) are dropped from numeric tables.

    `target`: position of the class, from 0, negative from the end.
    `header`: whether the first line names the columns.
    `drop`: positions of columns that are left out.
    `categorical`: whether all features are nominal; then ``?`` is a value like others.
    `separator`: regular expression between cells.
    `two_classes`: whether all classes but 0 become 1.
    `medians`: whether all columns are numeric, one of two texts too, and the few missing cells take
    the median of their column.
    """
    frame = pd.read_csv(
        path, header=0 if header else None, sep=separator, encoding="utf-8-sig", engine="python"
    )
    frame.columns = [str(column).strip() for column in frame.columns]
    label = frame.columns[target]
    if not categorical and not medians:
        frame = frame.replace("?", np.nan).dropna()
    y = frame[label].to_numpy()
    if two_classes:
        y = (y.astype(float) != 0).astype(int)
    X = frame.drop(columns=[label, *(frame.columns[j] for j in drop)])
    if medians:
        X = X.apply(
            lambda cells: pd.factorize(cells, sort=True)[0] if cells.dtype == "str" else cells
        )
        kinds = dict.fromkeys(X.columns, "numeric")
        return Dataset.from_arrays(X.fillna(X.median()).astype(float), y, kinds=kinds, name=name)
    if not categorical:
        return Dataset.from_arrays(X.astype(float), y, name=name)
    X = X.astype(str).replace("?", "unknown")  # a value like others in the papers
    kinds = {c: "categorical" for c in X.columns if len(set(X[c])) > 2}
    return Dataset.from_arrays(X, y, kinds=kinds, name=name)
