"""The sample sets that come with the package."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

from octcore.data.dataset import Dataset
from octcore.data.reading import make_dataset, read_table
from octcore.data.table import RawTable
from octcore.errors import DataError


@dataclass(frozen=True)
class SampleInfo:
    """What ``datasets.toml`` says about a sample."""

    name: str  # key for `load_sample`
    title: str
    summary: str  # for lists and headings, as is the title
    target: str
    rows: int  # number of data rows in the file
    source: str
    licence: str
    citation: str  # with source and licence: where the data come from, under what terms
    ground_truth: str = ""  # what is known about the best tree, empty if nothing
    kinds: Mapping[str, str] = field(default_factory=dict)  # where the default is not meant


def sample_folder() -> Path:
    """Return the folder of the samples: in the installed package, or beside it in a checkout."""
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "_sample_data", package.parent / "sample_data"):
        if (folder / "datasets.toml").is_file():
            return folder
    raise DataError("FILE_NOT_FOUND", "The sample data are missing; reinstall octcore.")


@cache
def list_samples() -> tuple[SampleInfo, ...]:
    """Return all samples in the order of the list shown to users."""
    declared = tomllib.loads((sample_folder() / "datasets.toml").read_text(encoding="utf-8"))
    kinds_of = {name: entry.pop("kinds", {}) for name, entry in declared.items()}
    return tuple(
        SampleInfo(name=name, kinds=kinds_of[name], **entry) for name, entry in declared.items()
    )


def sample_info(name: str) -> SampleInfo:
    """Return what is known about a sample, or raise `DataError` with the known names."""
    for sample in list_samples():
        if sample.name == name:
            return sample
    known = ", ".join(sample.name for sample in list_samples())
    raise DataError("UNKNOWN_SAMPLE", f"There is no sample {str(name)[:80]!r}; there are {known}.")


def sample_bytes(name: str) -> bytes:
    """Return the CSV file of a sample."""
    return (sample_folder() / f"{sample_info(name).name}.csv").read_bytes()


def read_sample_table(name: str) -> RawTable:
    """Read a sample without choosing a target, for `make_dataset`."""
    return read_table(sample_bytes(name), file_name=f"{sample_info(name).name}.csv")


def load_sample(name: str) -> Dataset:
    """Load a sample with its target and column kinds.

    Parameters
    ----------
    name : str
        One of the names of `list_samples`.

    Raises
    ------
    DataError
        ``UNKNOWN_SAMPLE`` with the known names.
    """
    info = sample_info(name)
    data = make_dataset(read_sample_table(name), target=info.target, kinds=info.kinds)
    return replace(data, name=info.name)
