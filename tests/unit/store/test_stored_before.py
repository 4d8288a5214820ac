"""Runs that an earlier version stored open, say the same, and can be asked for again."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from octcore.solving.recipe import DataChoice, command_line, python_recipe
from octcore.solving.settings import check_settings
from octcore.solving.solve import solve
from octcore.store import RunStore

DUMP = Path(__file__).with_name("runs_november_2026.sql")
ACCURACY = {"old path-search": 0.8271604938271605, "old flow-oct": 0.6851851851851852}


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    path = tmp_path / "runs.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript(DUMP.read_text(encoding="utf-8"))
    connection.close()
    return RunStore(path)


def test_an_old_run_opens_and_is_found_again(store: RunStore) -> None:
    assert {info.name for info in store.list()} == ACCURACY.keys()
    for info in store.list():
        run = store.load(info.id)
        assert run.status == "optimal"
        assert run.accuracy == ACCURACY[info.name]
        assert run.trace.events
        settings = {name: value for name, value in run.settings.items() if name != "data"}
        assert check_settings(**settings).to_dict() == settings
        again = solve(store.data(info.id), **settings)
        assert again.objective == pytest.approx(run.objective)
        assert again.accuracy == run.accuracy
        choice = DataChoice(sample="4-partitions", target="class")
        assert "octcore solve" in command_line(choice, settings)
        compile(python_recipe(choice, settings), "recipe", "exec")
