"""Every awkward file of the reference corpus behaves as its manifest says."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from octcore.data.reading import make_dataset, read_table
from octcore.errors import DataError

REFERENCE = os.environ.get("OCT_REFERENCE")
FOLDER = Path(REFERENCE or ".") / "bad_inputs"

pytestmark = pytest.mark.reference


def entries():
    if REFERENCE is None or not (FOLDER / "manifest.json").is_file():
        return []
    return json.loads((FOLDER / "manifest.json").read_text(encoding="utf-8"))["files"]


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry["file"])
def test_file_has_the_stated_class_and_codes(entry):
    blob = (FOLDER / "files" / entry["file"]).read_bytes()
    try:
        table = read_table(blob, file_name=entry["upload_name"])
        data = make_dataset(table, target=entry["target"])
    except DataError as failure:
        outcome, codes = "clear-error", {failure.code}
    else:
        codes = {f.code for f in data.findings if f.severity == "warning"}
        outcome = "load-with-warning" if codes else "load"
        if entry["rows"] is not None:
            assert data.n_samples == entry["rows"]
        if entry["cols"] is not None:
            assert len(table.columns) == entry["cols"]
    assert outcome == entry["expect"]
    assert set(entry["codes"]) <= codes
