"""Computations that pages ask for again and again, kept for the server."""

import functools
import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, TypeVar

import numpy as np
import streamlit as st
from pandas.core.util.hashing import hash_pandas_object

from dashboard import session
from octcore.data.assembly import GapPrice, Missing
from octcore.data.dataset import Dataset
from octcore.data.reading import prices_of_gaps
from octcore.data.serial import digest
from octcore.data.table import RawTable
from octcore.encoding.base import Encoding
from octcore.encoding.fit import fit_encoding
from octcore.errors import OctError
from octcore.formulations.base import get_formulation
from octcore.program import ModelSize
from octcore.reports.summary import grown_greedily
from octcore.solving.prepare import prepare, split_rows
from octcore.solving.recipe import DataChoice
from octcore.solving.run import SolvedRun
from octcore.solving.settings import check_settings

KEEP = 64  # all sessions of a server share these; the oldest goes
T = TypeVar("T")


@functools.lru_cache(maxsize=8)  # a page asks some ten times, and the rows may be a million
def data_token(data: Dataset) -> str:
    """Content hash of a data set: equal rows, kinds and labels give equal tokens."""
    described = {k: v for k, v in data.describe().items() if k != "findings"}
    rows = hash_pandas_object(data.frame, index=False).to_numpy()
    labels = b"" if data.y is None else data.y.tobytes()
    text = json.dumps(described, sort_keys=True, default=str)
    return digest(text.encode(), np.ascontiguousarray(rows).tobytes(), labels)


_kept = st.cache_resource(
    max_entries=KEEP, show_spinner=False, hash_funcs={Dataset: data_token, MappingProxyType: dict}
)
"""Keeps what a function returns by the content of data and settings."""


@st.cache_resource(max_entries=KEEP, show_spinner=False, hash_funcs={RawTable: lambda t: t.sha256})
def gap_prices(table: RawTable, choice: DataChoice) -> dict[Missing, GapPrice]:
    """What every way to treat missing values costs; empty where none is missing."""
    return prices_of_gaps(table, **session.columns_meant(table, choice))


@_kept
def encoding(data: Dataset, key: str) -> Encoding | str:
    """Encoding fitted on a data set, or the sentence that says why there is none."""
    try:
        return fit_encoding(key, data)
    except OctError as error:
        return error.message


@_kept
def size_estimate(data: Dataset, settings: Mapping[str, Any]) -> ModelSize | str | None:
    """Estimated size of the model, None where there is no model, or why it cannot be built."""
    try:
        checked = check_settings(**settings)
        return get_formulation(checked.formulation).build(prepare(data, checked).problem).size
    except OctError as error:
        return error.message


@_kept
def training_part(data: Dataset, settings: Mapping[str, Any]) -> tuple[Dataset, Encoding] | None:
    """Training rows and encoding that a solve with these settings uses."""
    try:
        checked = check_settings(**settings)
        train = split_rows(data, checked.test_size, checked.seed)[0]
        return train, fit_encoding(checked.encoding, train)
    except OctError:
        return None  # the worker says why; here there is only nothing to draw


@st.cache_resource(max_entries=4 * KEEP, show_spinner=False)
def once_per_run(run_id: str, what: str, _make: Callable[[], T]) -> T:
    """Return what a call gives, once for every run: what a run has told never changes.

    `what`: names the value, which callers must not change, and all it depends on besides the run.
    """
    return _make()


def greedy_baseline(run_id: str, run: SolvedRun, encoding: str | None = None) -> SolvedRun | str:
    """CART on the training rows of a run, of its depth and leaf penalty; None: its encoding."""
    encoding = encoding or run.asked.encoding

    def grown() -> SolvedRun | str:
        try:
            return grown_greedily(run, encoding)
        except OctError as error:
            return error.message

    return once_per_run(run_id, f"CART on {encoding}", grown)
