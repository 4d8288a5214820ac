"""Runs that an earlier version stored open, say the same, and can be asked for again."""

from __future__ import annotations

import base64
import json
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from octcore.cli import main
from octcore.data.dataset import unpack
from octcore.data.samples import load_sample, sample_folder
from octcore.engines.events import Event
from octcore.errors import SettingsError
from octcore.solving.finish import read_back
from octcore.solving.recipe import DataChoice, command_line, python_recipe
from octcore.solving.run import GONE, JobState
from octcore.solving.settings import RETIRED, check_settings, without_retired
from octcore.solving.solve import solve
from octcore.store.models import load_model
from octcore.store.runs import RunStore

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
        assert not GONE & set(run.extras)
        settings = {name: value for name, value in run.settings.items() if name != "data"}
        read = check_settings(**settings).to_dict()
        assert not RETIRED & set(settings["params"])
        assert {name: read[name] for name in settings} == settings
        again = solve(store.data(info.id), **settings)
        assert again.objective == pytest.approx(run.objective)
        assert again.accuracy == run.accuracy
        retired = {**settings, "params": {**settings["params"], "pair_fixing": True}}
        assert without_retired(retired) == settings
        with pytest.raises(SettingsError, match="no setting 'pair_fixing'"):
            solve(store.data(info.id), **retired)
        choice = DataChoice(sample="4-partitions", target="class")
        assert "octcore solve" in command_line(choice, settings)
        compile(python_recipe(choice, settings), "recipe", "exec")


WITH_FAMILIES = (
    "CREATE TABLE family (run_id TEXT PRIMARY KEY REFERENCES run (id) ON DELETE CASCADE, "
    "rows_hash TEXT NOT NULL, body TEXT NOT NULL) STRICT;"
)


@pytest.mark.parametrize("later", ["", WITH_FAMILIES, f"{WITH_FAMILIES}PRAGMA user_version = 2;"])
def test_every_schema_that_ever_was_becomes_that_of_today(later: str, tmp_path: Path) -> None:
    path, new = tmp_path / "runs.sqlite", tmp_path / "new.sqlite"
    connection = sqlite3.connect(path)
    connection.executescript(DUMP.read_text(encoding="utf-8") + later)
    for _ in range(2):
        store = RunStore(path)
        (run_id, *_), rows = [info.id for info in store.list()], load_sample("iris")
        assert len(store.list()) == 2
        store.keep_family([run_id], rows, {"of": "test"})
        assert store.family(run_id)[1] == {"of": "test"}  # type: ignore[index]
        store.close()
    RunStore(new).close()
    assert tables(connection) == tables(sqlite3.connect(new))
    connection.close()


def tables(connection: sqlite3.Connection) -> dict[str, list[str]]:
    """Columns of every table, and the version."""
    names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master")]
    found = {name: [str(row) for row in connection.execute(f"PRAGMA table_info({name})")]
             for name in names}  # fmt: skip
    return found | {"version": [str(connection.execute("PRAGMA user_version").fetchone())]}


BALANCE = Path(__file__).with_name("balance_scale_november_2026.json")
"""A run and a model of a version to which few whole numbers were categories."""
RIGHT = 426


@pytest.fixture
def balance() -> dict[str, Any]:
    return json.loads(BALANCE.read_text(encoding="utf-8"))


def test_an_old_run_keeps_the_kinds_it_was_solved_with(
    balance: dict[str, Any], tmp_path: Path
) -> None:
    export = balance["export"]
    settings = export["settings"]
    rows = unpack(base64.b64decode(export["rows"]))
    old = read_back(export["run"], rows, [Event.from_dict(event) for event in export["events"]])
    store = RunStore(tmp_path / "runs.sqlite")
    run_id = store.begin(rows, settings)
    store.finish(run_id, JobState.DONE, old)
    run = store.load(run_id)
    assert {column.kind for column in run.needed.train.columns} == {"categorical"}
    now = load_sample("balance-scale")
    assert {column.kind for column in now.columns} == {"numeric"}
    labels = np.array(now.classes)[now.codes]
    assert (run.predict(now.frame) == labels).sum() == RIGHT
    assert run.verify().verified is True
    again = solve(store.data(run_id), **settings)
    assert again.objective == run.objective
    assert again.tree == run.tree
    assert solve(now, **settings).objective > run.objective


@pytest.mark.parametrize("part", ["export", "run", "model"])
def test_files_of_an_old_run_are_verified_and_predict_as_they_did(
    balance: dict[str, Any], part: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record = balance["export"]["run"] if part == "run" else balance[part]
    file, rows = tmp_path / "old.json", sample_folder() / "balance-scale.csv"
    file.write_text(json.dumps(record), encoding="utf-8")
    assert main(["verify", str(file), *([] if part == "export" else ["--data", str(rows)])]) == 0
    assert "verified independently" in capsys.readouterr().out
    if part == "model":
        assert main(["predict", str(file), str(rows), "--output", str(tmp_path / "new.csv")]) == 0
        found = pd.read_csv(tmp_path / "new.csv")
        assert (found["prediction"] == found["tips to"]).sum() == RIGHT
        assert {column.kind for column in load_model(record).columns} == {"categorical"}


def test_a_report_of_an_exported_run_draws_its_events(
    balance: dict[str, Any], tmp_path: Path
) -> None:
    file, report = tmp_path / "old.json", tmp_path / "report.html"
    file.write_text(json.dumps(balance["export"]), encoding="utf-8")
    assert main(["report", str(file), "--output", str(report)]) == 0
    assert "<h2>Convergence</h2>" in report.read_text(encoding="utf-8")
