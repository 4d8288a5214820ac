"""The supervisor: queue, fairness, stop, history, and no process left behind."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import uuid
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from dashboard.server.job_view import JobView
from dashboard.server.supervisor import (
    KEPT_TASKS,
    QUEUED_PER_SESSION,
    Entry,
    Supervisor,
    fair_order,
)
from octcore.errors import SettingsError, StoreError
from octcore.solving.run import JobState
from octcore.store.runs import RunStore
from octcore.worker.client import WorkerPool
from tests.unit.worker.case import FAKE_COMMAND, ODD_COMMAND, SETTINGS, is_running, rows, wait_until

pytestmark = pytest.mark.long

PATIENCE = 180.0
"""Seconds to wait for what takes one on a quiet machine."""


@pytest.fixture
def supervisor(tmp_path):
    pool = WorkerPool(idle=0, command=FAKE_COMMAND)
    supervisor = Supervisor(cores=2, store=tmp_path / "runs.db", pool=pool)
    yield supervisor
    supervisor.close()


def state_of(supervisor: Supervisor, job_id: str) -> str:
    view = supervisor.get(job_id)
    assert view is not None
    return view.state


def wait_for_tree(supervisor: Supervisor, job_id: str) -> None:
    wait_until(lambda: supervisor.get(job_id).trace.incumbents, PATIENCE)


def test_a_solve_ends_in_memory_and_in_the_history(tmp_path):
    pool = WorkerPool(idle=0, command=ODD_COMMAND)
    supervisor = Supervisor(cores=1, store=tmp_path / "runs.db", pool=pool)
    job_id = supervisor.submit("me", rows("behave"), SETTINGS, "my run")
    assert str(uuid.UUID(job_id)) == job_id
    assert supervisor.wait(job_id, PATIENCE)
    view = supervisor.get(job_id)
    assert view.state == "done"
    assert view.run.tree is not None
    assert view.elapsed > 0
    supervisor._writer.drain()
    stored = supervisor.store.load(job_id)
    assert stored.to_dict() == view.run.to_dict()
    assert len(stored.trace) == len(view.run.trace)
    supervisor.close()
    assert RunStore(tmp_path / "runs.db").info(job_id).name == "my run"


def test_no_more_than_the_cores_run_and_the_queue_is_fair(supervisor):
    greedy = [supervisor.submit("greedy", rows("sleep"), SETTINGS) for _ in range(4)]
    modest = supervisor.submit("modest", rows("sleep"), SETTINGS)
    states = [state_of(supervisor, job_id) for job_id in (*greedy, modest)]
    assert states == ["running", "running", "queued", "queued", "queued"]
    assert [supervisor.get(j).position for j in (*greedy, modest)] == [0, 0, 2, 3, 1]
    wait_for_tree(supervisor, greedy[0])
    supervisor.stop(greedy[0], wait=True)
    wait_until(lambda: state_of(supervisor, modest) == "running", PATIENCE)
    assert state_of(supervisor, greedy[2]) == "queued"
    supervisor.stop(greedy[3])
    assert state_of(supervisor, greedy[3]) == "stopped"
    assert state_of(supervisor, greedy[0]) == "stopped"
    assert supervisor.load(greedy[0]).accuracy == pytest.approx(0.9)


def test_a_dead_worker_leaves_the_server_up_and_its_tree_in_the_history(supervisor):
    job_id = supervisor.submit("me", rows("kill"), SETTINGS)
    assert supervisor.wait(job_id, PATIENCE)
    view = supervisor.get(job_id)
    assert view.state == "failed"
    assert "SIGKILL" in view.error.message
    supervisor._writer.drain()
    assert supervisor.store.info(job_id).state is JobState.FAILED
    assert supervisor.store.load(job_id).accuracy == pytest.approx(0.9)
    following = supervisor.submit("me", rows("sleep"), SETTINGS)
    wait_for_tree(supervisor, following)


def test_wrong_settings_and_floods_are_refused(supervisor):
    with pytest.raises(SettingsError):
        supervisor.submit("me", rows(), {**SETTINGS, "depth": 0})
    for _ in range(2 + QUEUED_PER_SESSION):
        supervisor.submit("me", rows("sleep"), SETTINGS)
    with pytest.raises(SettingsError, match="wait already"):
        supervisor.submit("me", rows("sleep"), SETTINGS)
    supervisor.submit("another", rows("sleep"), SETTINGS)


def test_it_goes_on_without_a_history(tmp_path):
    path = tmp_path / "runs.db"
    path.write_bytes(b"no database at all" * 300)
    pool = WorkerPool(idle=0, command=FAKE_COMMAND)
    supervisor = Supervisor(cores=1, store=path, pool=pool)
    assert supervisor.store is None
    assert "without history" in supervisor.history_problem
    job_id = supervisor.submit("me", rows("kill"), SETTINGS)
    assert supervisor.wait(job_id, PATIENCE)
    assert supervisor.load(job_id).tree is not None
    with pytest.raises(StoreError):
        supervisor.load("unknown")
    with pytest.raises(StoreError, match="not kept any more"):
        supervisor.rename("unknown", "a name")
    # Moved away, as the sentence advises: a new one takes what happened meanwhile.
    path.rename(tmp_path / "essay.db")
    wait_until(lambda: supervisor.history_problem == "", PATIENCE)
    assert supervisor._writer.drain()
    assert supervisor.store.load(job_id).to_dict() == supervisor.load(job_id).to_dict()
    supervisor.close()


def _set_query_only(supervisor: Supervisor, value: str) -> None:
    supervisor.store._database.read(f"PRAGMA query_only = {value}")


def test_trouble_with_the_history_ends_no_solve_and_loses_no_run(supervisor, monkeypatch):
    """All of two runs happens while nothing can be written, and is written afterwards."""
    monkeypatch.setattr("octcore.store.writer.RETRY_SECONDS", 0.1)
    begun = supervisor.submit("me", rows("sleep"), SETTINGS, "before")
    wait_for_tree(supervisor, begun)
    assert supervisor._writer.drain()
    _set_query_only(supervisor, "ON")
    monkeypatch.setattr("octcore.store.writer.LASTING", frozenset())
    monkeypatch.setattr("octcore.store.writer.PASSING", frozenset({"READ_ONLY"}))
    later = supervisor.submit("me", rows("sleep"), SETTINGS, "meanwhile")
    wait_for_tree(supervisor, later)
    wait_until(lambda: supervisor.history_problem != "", PATIENCE)
    assert "tried again" in supervisor.history_problem
    for job_id in (begun, later):
        supervisor.stop(job_id, wait=True)
        assert supervisor.load(job_id).tree is not None
    assert supervisor._writer.is_waiting(later)
    assert {info.name for info in supervisor.store.list()} == {"before"}
    _set_query_only(supervisor, "OFF")
    wait_until(lambda: supervisor.history_problem == "", PATIENCE)
    assert supervisor._writer.drain()
    for job_id in (begun, later):
        assert supervisor.store.info(job_id).state is JobState.STOPPED
        stored, held = supervisor.store.load(job_id), supervisor.load(job_id)
        assert stored.to_dict() == held.to_dict()
        kinds = [[event.kind for event in run.trace.events] for run in (stored, held)]
        assert kinds[0] == kinds[1]


def test_a_history_that_was_removed_takes_up_the_runs_that_go_on(supervisor, tmp_path):
    job_id = supervisor.submit("me", rows("sleep"), SETTINGS)
    wait_for_tree(supervisor, job_id)
    assert supervisor._writer.drain()
    for path in tmp_path.glob("runs.db*"):
        path.unlink()
    supervisor._writer._reopen = True
    supervisor.stop(job_id, wait=True)
    assert supervisor._writer.drain()
    assert RunStore(tmp_path / "runs.db").load(job_id).tree is not None


def test_a_run_that_the_history_lacks_is_not_forgotten(supervisor, monkeypatch):
    monkeypatch.setattr("dashboard.server.supervisor.KEPT", 1)
    _set_query_only(supervisor, "ON")
    ids = [supervisor.submit("me", rows("kill"), SETTINGS) for _ in range(4)]
    for job_id in ids:
        assert supervisor.wait(job_id, PATIENCE)
    assert all(supervisor.load(job_id).tree is not None for job_id in ids)


def test_close_leaves_no_process(supervisor):
    ids = [supervisor.submit("me", rows("deaf"), SETTINGS) for _ in range(2)]
    for job_id in ids:
        wait_for_tree(supervisor, job_id)
    pids = [supervisor._entries[job_id].job.pid for job_id in ids]
    assert all(is_running(pid) for pid in pids)
    supervisor.close()
    assert not any(is_running(pid) for pid in pids)
    supervisor.close()


@dataclass(eq=False)
class Waiting:
    session: str
    number: int


def test_a_task_is_not_forgotten_for_many_of_another_kind(supervisor):
    for k in range(KEPT_TASKS + 2):
        kind = "values" if k else "tune"
        ended = JobView(str(k), "", {}, "done", task=kind, started=0.0, finished=float(k))
        supervisor._entries[ended.id] = Entry(ended)
    supervisor._forget_old()
    assert [k for k in range(KEPT_TASKS + 2) if supervisor.get(str(k)) is None] == [1]


def test_looks_that_nobody_waits_for_give_way_to_what_waits(supervisor, monkeypatch):
    monkeypatch.setattr("dashboard.server.supervisor.UNSEEN_SECONDS", 1.0)
    left, watched = (
        supervisor.submit_task("me", rows("sleep"), "values", {}, is_look=True) for _ in range(2)
    )
    time.sleep(2.0)
    assert state_of(supervisor, watched) == "running"  # nothing waits: both go on
    waiting = supervisor.submit_task("me", rows("sleep"), "values", {}, is_look=True)
    pressed = supervisor.submit_task("me", rows("sleep"), "path", {})
    time.sleep(0.5)
    wait_until(lambda: supervisor.get(watched) and state_of(supervisor, pressed) == "running", 60)
    assert supervisor.get(left) is None
    assert supervisor.get(waiting) is None
    assert state_of(supervisor, watched) == "running"


def test_the_fair_order_alternates_between_sessions():
    waiting = [Waiting("a", 1), Waiting("a", 2), Waiting("a", 3), Waiting("b", 1), Waiting("c", 1)]
    order = fair_order(waiting, Counter(), Counter())
    assert [(w.session, w.number) for w in order] == [
        ("a", 1), ("b", 1), ("c", 1), ("a", 2), ("a", 3),
    ]  # fmt: skip
    order = fair_order(waiting, Counter(a=1), Counter(a=3, b=2, c=1))
    assert [w.session for w in order] == ["c", "b", "a", "a", "a"]
    order = fair_order([Waiting("b", 1), Waiting("b", 2), Waiting("a", 1)], {"a": 1}, {"a": 5})
    assert [w.session for w in order] == ["b", "a", "b"]  # b was served since


SERVER = """
import sys, time
from dashboard.server.supervisor import Supervisor
from octcore.worker.client import WorkerPool
from tests.unit.worker.case import FAKE_COMMAND, SETTINGS, idle_pids, rows
supervisor = Supervisor(2, sys.argv[1], WorkerPool(idle=1, command=FAKE_COMMAND))
finished = supervisor.submit("me", rows("kill"), SETTINGS)
supervisor.wait(finished, 60)
ids = [supervisor.submit("me", rows("sleep"), SETTINGS) for _ in range(3)]
told = lambda i: supervisor.get(i).trace.incumbents
while not all(told(i) and told(i)[-1].incumbent > 0.8 for i in ids[:2]):
    time.sleep(0.02)
supervisor._writer.drain()
pids = [supervisor._entries[i].job.pid for i in ids[:2]] + list(idle_pids(supervisor._pool))
print(finished, *ids, *pids, flush=True)
time.sleep(600)
"""


def kill_a_server(path: Path, delay: float = 0.0) -> dict[str, object]:
    """Kill a server with two running solves and a waiting one; say what came of them."""
    tests = str(Path(__file__).parents[4])
    search = os.pathsep.join(filter(None, (tests, os.environ.get("PYTHONPATH"))))
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER, str(path)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": search},
    )
    assert server.stdout is not None
    with server, server.stdout:
        finished, first, second, waiting, *pids = server.stdout.readline().split()
        time.sleep(delay)
        server.kill()
        server.wait()
    wait_until(lambda: not any(is_running(int(pid)) for pid in pids), 60)
    store = RunStore(path)
    states = {info.id: info.state.value for info in store.list()}
    accuracies = [store.load(run_id).accuracy for run_id in (finished, first, second)]
    store.close()
    return {
        "states": [states[run_id] for run_id in (finished, first, second, waiting)],
        "accuracies": accuracies,
    }


def test_a_killed_server_loses_no_finished_run_and_leaves_no_worker(tmp_path):
    found = kill_a_server(tmp_path / "runs.db")
    assert found["states"] == ["failed", "interrupted", "interrupted", "interrupted"]
    assert found["accuracies"] == pytest.approx([0.9] * 3)
