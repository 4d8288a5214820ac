"""The history: what is acknowledged stays, and trouble with the file is said in words."""

from __future__ import annotations

import json
import sqlite3
import time
from dataclasses import replace

import numpy as np
import pytest

from octcore.data.serial import default_path
from octcore.errors import ModelFileError, StoreError
from octcore.solving.run import Certificate, JobState
from octcore.solving.solve import solve
from octcore.store import database as database_module
from octcore.store.proofs import as_known, bounded
from octcore.store.runs import RunStore
from octcore.store.writer import RunWriter
from tests.unit.store.kills import kill_writers, start_writer
from tests.unit.worker.case import SETTINGS, rows

OPEN = Certificate("mip", False)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "history" / "runs.db"


@pytest.fixture
def store(path):
    with_store = RunStore(path)
    yield with_store
    with_store.close()


def solve_into(store: RunStore, name: str = "", session: str = "", **settings):
    data = rows()
    settings = {**SETTINGS, **settings}
    run_id = store.begin(data, settings, name, session)
    run = solve(data, **settings, on_event=lambda event: store.append(run_id, [event]))
    store.finish(run_id, JobState.DONE, run)
    return run_id, run


def count(path, table: str) -> int:
    connection = sqlite3.connect(path)
    (number,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
    connection.close()
    return number


def test_a_run_is_read_back_without_solving(store, path, monkeypatch):
    run_id, run = solve_into(store, "first try", test_size=0.2)
    store.close()
    monkeypatch.setattr("octcore.solving.solve._run_engine", None)
    again = RunStore(path)
    loaded = again.load(run_id)
    assert loaded.to_dict() == run.to_dict()
    assert len(loaded.trace) == len(run.trace)
    assert loaded.train.frame.equals(run.train.frame)
    assert (loaded.predict(loaded.test.frame) == run.predict(run.test.frame)).all()
    info = again.info(run_id)
    assert (info.name, info.state) == ("first try", JobState.DONE)
    assert info.summary["accuracy"] == run.accuracy
    again.close()


def test_a_proof_with_weights_of_rows_bounds_no_other_run(store):
    """The optimum with weights was told as a bound of runs whose rows count alike."""
    data, settings = rows(), {**SETTINGS, "formulation": "path-search"}
    run = solve(data, **settings)
    still = replace(run, status="feasible", stop_reason="time_limit", bound=1.0, certificate=OPEN)
    for weights, expected in ((None, run.bound), (np.arange(data.n_samples), 1.0)):
        proven = solve(data, **settings, sample_weight=weights)
        session, ids = str(expected), []
        for found in (proven, still):
            ids.append(store.begin(data, settings, session=session))
            store.finish(ids[-1], JobState.DONE, found)
        assert proven.is_proven
        assert bounded(store, ids[1], still).bound == expected
        assert as_known(store, store.list(session))[0].summary["bound"] == expected


def test_rows_are_kept_once_and_go_with_their_last_run(store):
    first, _ = solve_into(store)
    second, _ = solve_into(store, depth=2)
    assert count(store.path, "rows") == 1
    size = store.size()
    assert size.n_runs == 2
    assert size.rows_bytes == store.info(first).rows_bytes > 0
    assert size.file_bytes > size.rows_bytes + 4096  # the rows, and pages of all else
    store.delete(first)
    assert store.load(second).tree is not None
    store.delete(second)
    assert store.size().rows_bytes == 0
    assert count(store.path, "event") == 0


def test_list_rename_and_export(store):
    run_id, run = solve_into(store, session="a")
    solve_into(store, session="b")
    assert len(store.list()) == 2
    assert [info.id for info in store.list("a")] == [run_id]
    store.rename(run_id, "renamed")
    exported = json.loads(json.dumps(store.export(run_id, rows=True), allow_nan=False))
    assert exported["name"] == "renamed"
    assert exported["run"]["objective"] == run.objective
    assert len(exported["events"]) == len(run.trace)
    assert "rows" not in store.export(run_id)


def test_incumbents_are_committed_at_once_and_progress_in_batches(path, monkeypatch):
    monkeypatch.setattr("octcore.store.writer.BATCH_SECONDS", 600.0)
    events = solve(rows(), **SETTINGS).trace.events
    with_tree = next(event for event in events if event.tree is not None)
    plain = next(event for event in events if event.tree is None)
    writer = RunWriter(path)
    writer.put("a", RunStore.begin, rows(), SETTINGS, run_id="a")
    assert writer.drain()
    writer.append("a", plain)
    assert count(path, "event") == 0
    writer.append("a", with_tree)
    end = time.monotonic() + 30
    while writer.is_waiting("a") and time.monotonic() < end:
        time.sleep(0.01)
    assert count(path, "event") == 2
    writer.append("a", plain)
    writer.close()
    assert count(path, "event") == 3


def test_where_the_rows_of_a_run_come_from_is_kept_with_them(store, path):
    first, _ = solve_into(store)
    second, _ = solve_into(store)
    record = {"runs": [first, second], "n_selected": 3}
    store.keep_family([first, second, "deleted meanwhile"], rows("whole"), record)
    whole, kept = RunStore(path).family(second)
    assert whole.name == "whole"
    assert kept == record
    assert store.family("deleted meanwhile") is None
    store.delete(first)
    assert store.family(second) is not None
    store.delete(second)
    assert count(path, "rows") == 0


def test_a_run_whose_program_was_killed_is_interrupted_with_its_tree(path):
    writer = start_writer(path, "3")
    assert writer.stdout is not None
    with writer, writer.stdout:
        for line in writer.stdout:
            if line.startswith("event") and line.endswith("3\n"):
                break
        looking = RunStore(path)
        assert any(info.state is JobState.RUNNING for info in looking.list())
        assert looking.sweep() == 0
        writer.kill()
        writer.wait()
    swept = looking.sweep()
    interrupted = [info for info in looking.list() if info.state is JobState.INTERRUPTED]
    assert len(interrupted) == swept
    assert all(info.state.is_final for info in looking.list())
    for info in interrupted:
        assert info.summary["data"] == looking.data(info.id).name
        if looking.events(info.id):
            run = looking.load(info.id)
            assert run.tree is not None
            assert run.stop_reason == run.status == "interrupted"
            assert "ended during this solve" in run.findings[-1]
    looking.close()


@pytest.mark.slow
def test_no_acknowledged_commit_is_lost_when_writers_are_killed(path):
    losses = kill_writers(path, rounds=1)
    assert losses.kills == 2
    assert losses.acknowledged >= 2
    assert losses.lost == 0
    assert losses.wrong_states == 0


def test_runs_of_another_machine_are_dead_after_a_silence(store):
    run_id = store.begin(rows(), SETTINGS)
    connection = sqlite3.connect(store.path)
    owner = json.dumps({"host": "elsewhere", "pid": 1, "start": 0.0})
    connection.execute("UPDATE run SET owner = ?", (owner,))
    connection.commit()
    assert store.sweep() == 0
    connection.execute("UPDATE run SET heartbeat = heartbeat - 60")
    connection.commit()
    connection.close()
    assert store.sweep() == 1
    assert store.info(run_id).state is JobState.INTERRUPTED
    assert store.info(run_id).error == "The program ended before this solve had a tree."


def test_the_place_of_the_file(monkeypatch, tmp_path):
    monkeypatch.setenv("OCTCORE_STORE", str(tmp_path / "mine.db"))
    assert default_path() == tmp_path / "mine.db"
    monkeypatch.delenv("OCTCORE_STORE")
    assert default_path().name == "runs.db"


def test_a_full_disk_is_said_and_nothing_half_written_stays(store):
    run_id, _ = solve_into(store)
    ((pages,),) = store._database.read("PRAGMA page_count")
    store._database.read(f"PRAGMA max_page_count = {pages}")
    big = rows("x" * 100_000)
    big = type(big)(**{**vars(big), "name": "".join(map(str, range(60_000)))})
    with pytest.raises(StoreError, match="disk is full") as caught:
        store.begin(big, SETTINGS)
    assert caught.value.code == "DISK_FULL"
    assert [info.id for info in store.list()] == [run_id]
    assert store.load(run_id).tree is not None


def test_a_read_only_file_is_said(store):
    store._database.read("PRAGMA query_only = ON")
    with pytest.raises(StoreError, match="read-only") as caught:
        store.begin(rows(), SETTINGS)
    assert caught.value.code == "READ_ONLY"


@pytest.mark.parametrize("damage", ["text", "middle"])
def test_a_damaged_file_is_said_and_left_alone(path, damage):
    store = RunStore(path)
    for _ in range(3):
        solve_into(store)
    store.close()
    content = b"an essay, not a database" * 100
    if damage == "middle":
        content = bytearray(path.read_bytes())
        content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(StoreError, match="move it away") as caught:
        RunStore(path)
    assert caught.value.code == "CORRUPT"
    assert path.read_bytes() == content


def test_a_place_that_cannot_be_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="OCTCORE_STORE"):
        RunStore(tmp_path / "file" / "runs.db")


def test_a_file_of_a_later_version_is_left_alone(path):
    RunStore(path).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(StoreError, match="version 99"):
        RunStore(path)


def test_a_locked_file_is_said(path, monkeypatch):
    RunStore(path).close()
    monkeypatch.setattr(database_module, "BUSY_SECONDS", 0.1)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="locked") as caught:
        RunStore(path)
    assert caught.value.code == "BUSY"
    other.close()


def test_unknown_and_open_runs(store):
    with pytest.raises(StoreError, match="not in the history"):
        store.load("nothing")
    run_id = store.begin(rows(), SETTINGS)
    with pytest.raises(StoreError, match="stop it first"):
        store.delete(run_id)
    with pytest.raises(StoreError, match="no tree yet"):
        store.load(run_id)


@pytest.mark.parametrize("column", ["settings", "summary", "result"])
def test_a_damaged_record_is_said_and_hides_no_other_run(store, column):
    damaged, _ = solve_into(store, "damaged")
    other, _ = solve_into(store)
    with store._database.transaction() as connection:
        connection.execute(f"UPDATE run SET {column} = '{{' WHERE id = ?", (damaged,))
    assert {info.id for info in store.list()} == {damaged, other}
    if column == "result":
        with pytest.raises(ModelFileError, match="stored run damaged cannot be read"):
            store.load(damaged)
    else:
        assert store.load(damaged).tree is not None


def test_damaged_events_of_a_dead_program_do_not_close_the_history(store, path):
    run_id = store.begin(rows(), SETTINGS, "dead")
    store.append(run_id, solve(rows(), **SETTINGS).trace.events)
    with store._database.transaction() as connection:
        connection.execute("UPDATE event SET body = '{'")
        connection.execute("UPDATE run SET owner = '?', heartbeat = 0")
    again = RunStore(path)
    assert again.info(run_id).state is JobState.INTERRUPTED
    with pytest.raises(ModelFileError, match="cannot be read"):
        again.load(run_id)
    again.close()
