"""Tables kept by content: what was read is found again, and nothing else is."""

from __future__ import annotations

import hashlib
import os

import pytest

from dashboard.server import tables
from dashboard.server.tables import Tables
from octcore.solving.recipe import DataChoice

CONTENT = b"a,b\n1,x\n2,y\n"
SHA = hashlib.sha256(CONTENT).hexdigest()
CHOICE = DataChoice(
    file_name="own.csv", target="b", drop=("c",), kinds={"a": "numeric"}, missing="auto",
    positive_class=3, merge=("b",), target_bins=2,
)  # fmt: skip


def test_a_table_comes_back_with_what_was_chosen(tmp_path):
    kept = Tables(tmp_path / "tables")
    assert kept.link(SHA, CHOICE) == ""  # it was never kept
    kept.keep(SHA, CONTENT)
    name = kept.link(SHA, CHOICE)
    assert Tables(tmp_path / "tables").read(name) == (CONTENT, CHOICE)
    assert kept.link(SHA, CHOICE) == name
    assert kept.link(SHA, DataChoice(file_name="own.csv")) != name
    if os.name == "posix":
        assert kept.folder.stat().st_mode & 0o077 == 0


def test_a_sample_needs_no_rows(tmp_path):
    kept = Tables(tmp_path)
    assert kept.read(kept.link("", DataChoice(sample="wine"))) == (b"", DataChoice(sample="wine"))


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "0" * 32, SHA, "x" * 32])
def test_a_link_to_nothing_gives_nothing(tmp_path, name):
    kept = Tables(tmp_path)
    kept.keep(SHA, CONTENT)
    assert kept.read(name) is None


def test_damage_is_no_table(tmp_path):
    kept = Tables(tmp_path)
    kept.keep(SHA, CONTENT)
    name = kept.link(SHA, CHOICE)
    (tmp_path / f"{SHA}.table").write_bytes(b"no")
    assert kept.read(name) is None


def test_the_oldest_tables_go(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "KEPT", 3)
    kept = Tables(tmp_path)
    for i in range(6):
        kept.keep(f"{i:064d}", CONTENT)
        os.utime(tmp_path / f"{i:064d}.table", (i, i))
    assert sorted(p.name[63] for p in tmp_path.glob("*.table")) == ["3", "4", "5"]
