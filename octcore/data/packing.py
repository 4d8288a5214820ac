"""A data set as bytes and back: for the worker's request and for the rows kept with a run.

The bytes are zlib-compressed JSON with the arrays in base64, so that reading them executes
nothing and equal data sets give equal bytes (they are told apart by a content hash).
"""

import base64
import json
import zlib
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from octcore.data.columns import Column, Source
from octcore.data.dataset import Dataset
from octcore.data.findings import Finding
from octcore.errors import ModelFileError, read_in_words

FORMAT = "octcore-dataset"
VERSION = 1  # of the packed bytes; another one is refused


def pack(data: Dataset, level: int = 6) -> bytes:
    """Write a data set as bytes; equal data sets give equal ones. `level`: 0 compresses nothing."""
    record = {
        "format": FORMAT,
        "version": VERSION,
        "name": data.name,
        "columns": [column.to_dict() for column in data.columns],
        "values": [_column_record(data, column) for column in data.columns],
        "n_samples": data.n_samples,
        "target_name": data.target_name,
        "classes": list(data.classes),
        "y": None if data.y is None else _array_text(data.y, "<i4"),
        "positive_class": data.positive_class,
        "findings": [asdict(finding) for finding in data.findings],
        "row_lines": _array_text(data.row_lines, "<i8"),
        "source": asdict(data.source),
    }
    text = json.dumps(record, allow_nan=False, separators=(",", ":"), ensure_ascii=True)
    return zlib.compress(text.encode("ascii"), level)


def unpack(packed: bytes) -> Dataset:
    """Read a data set back; `ModelFileError` if the bytes are none of this version."""
    with read_in_words("BROKEN_DATASET", "The stored rows"):
        record = json.loads(zlib.decompress(packed))
        if record.get("format") != FORMAT or record.get("version") != VERSION:
            message = f"Expected {FORMAT} version {VERSION}, found {record.get('format')!r} "
            message += f"version {record.get('version')!r}."
            raise ModelFileError("NOT_A_DATASET", message)
        return _dataset_from(record)


def _dataset_from(record: dict[str, Any]) -> Dataset:
    columns = tuple(Column.from_dict(column) for column in record["columns"])
    series = {
        column.name: _column_values(values)
        for column, values in zip(columns, record["values"], strict=True)
    }
    index = pd.RangeIndex(record["n_samples"])
    return Dataset(
        name=record["name"],
        frame=pd.DataFrame(series, columns=[c.name for c in columns], index=index),
        columns=columns,
        target_name=record["target_name"],
        classes=tuple(record["classes"]),
        y=None if record["y"] is None else _array(record["y"], "<i4").astype(np.int64),
        positive_class=record["positive_class"],
        findings=tuple(Finding(**finding) for finding in record["findings"]),
        row_lines=_array(record["row_lines"], "<i8").astype(np.int64),
        source=Source.from_dict(record["source"]),
    )


def _column_record(data: Dataset, column: Column) -> dict[str, Any]:
    values = data.frame[column.name]
    if column.holds_numbers:
        return {"numbers": _array_text(values.to_numpy(dtype=float), "<f8")}
    codes, texts = pd.factorize(values)
    return {"texts": [str(text) for text in texts], "codes": _array_text(codes, "<i4")}


def _column_values(record: dict[str, Any]) -> np.ndarray | pd.Series:
    if "numbers" in record:
        return _array(record["numbers"], "<f8").astype(float)
    texts = np.array([*record["texts"], ""], dtype=object)
    return pd.Series(texts[_array(record["codes"], "<i4")], dtype=str)


def _array_text(values: np.ndarray, kind: str) -> str:
    return base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode("ascii")


def _array(text: str, kind: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text), dtype=kind)
