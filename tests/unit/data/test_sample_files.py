"""The shipped files are those the script writes, and are described truly."""

from __future__ import annotations

import json
import shlex

import pytest

from octcore.cli import main
from octcore.data.reading import read_csv
from octcore.data.samples import (
    list_samples,
    load_sample,
    read_sample_table,
    sample_bytes,
    sample_folder,
)
from octcore.errors import DataError
from tests.generate_samples import SAMPLES, write_samples

NAMES = [sample.name for sample in list_samples()]
PUBLISHED = {"hayes-roth"}
"""Sets that no rule makes: the published file is shipped as it is."""


def test_every_file_is_described_and_every_description_has_a_file():
    files = {path.stem for path in sample_folder().glob("*.csv")}
    assert files == set(NAMES) == set(SAMPLES) | PUBLISHED


@pytest.mark.parametrize("sample", list_samples(), ids=NAMES)
def test_description_agrees_with_the_file(sample):
    data = load_sample(sample.name)
    assert data.source.n_rows_read == sample.rows
    assert (data.name, data.target_name) == (sample.name, sample.target)
    assert sample.source
    assert sample.licence
    assert sample.citation
    warnings = {finding.code for finding in data.findings if finding.severity == "warning"}
    known = {"finches": {"MISSING_VALUES"}, "hayes-roth": {"CONFLICTING_ROWS"}}
    assert warnings <= known.get(sample.name, set())


@pytest.mark.long
def test_the_script_writes_the_shipped_bytes(tmp_path):
    write_samples(tmp_path)
    for name in SAMPLES:
        assert (tmp_path / f"{name}.csv").read_bytes() == sample_bytes(name), name


def test_the_mixed_set_has_every_kind_and_missing_values():
    data = load_sample("finches")
    assert {column.kind for column in data.columns} == {
        "numeric",
        "ordinal",
        "categorical",
        "binary",
    }
    assert data.column("feather wear").levels == ("low", "medium", "high")
    assert data.source.n_rows_dropped > 0
    assert read_sample_table("finches").n_rows == 300


def test_codes_that_are_names_are_declared_and_not_guessed(tmp_path, capsys):
    codes, weights = load_sample("hayes-roth"), load_sample("balance-scale")
    assert {column.kind for column in codes.columns} == {"categorical"}
    assert {column.kind for column in weights.columns} == {"numeric"}
    path = tmp_path / "hayes-roth.csv"
    assert main(["samples", "hayes-roth", "--output", str(path)]) == 0
    assert {column.kind for column in read_csv(path, "class").columns} == {"numeric"}
    said = capsys.readouterr().err.replace("\\\n", " ").split("octcore solve ")[1]
    assert main(["solve", *shlex.split(said), "--depth", "1", "--json", "-"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert {column["kind"] for column in record["encoding"]["columns"]} == {"level"}


def test_unknown_samples_are_refused_with_the_known_names():
    with pytest.raises(DataError, match="iris"):
        load_sample("../iris")
