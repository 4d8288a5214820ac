"""The worker with real processes that are really killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from octcore.engines.base import StopReason
from octcore.errors import EngineError, SettingsError, TooLargeError
from octcore.numerics.kernels import PREPARED, PREPARING
from octcore.solving.run import JobState
from octcore.worker import client
from octcore.worker import process as process_module
from octcore.worker.client import WorkerPool, solve_in_child
from octcore.worker.job import Stopwatch
from octcore.worker.process import SolveProcess
from octcore.worker.request import Request
from tests.unit.worker.case import (
    FAKE_COMMAND,
    ODD_COMMAND,
    SETTINGS,
    idle_pids,
    is_running,
    rows,
    wait_until,
)

pytestmark = pytest.mark.long

PATIENCE = 180.0
"""Seconds to wait for what takes one on a quiet machine."""
"""Seconds to wait for what a quiet machine does at once; the bench measures how long it takes."""


@pytest.fixture(scope="module")
def pool():
    with WorkerPool(idle=1, command=FAKE_COMMAND) as pool:
        yield pool


@pytest.fixture(scope="module")
def odd_pool():
    with WorkerPool(idle=1, command=ODD_COMMAND) as pool:
        yield pool


def start(pool: WorkerPool, name: str, memory_limit: int | None = None, **settings):
    job = pool.start(Request(rows(name), {**SETTINGS, **settings}, memory_limit))
    return job


def result_of(job, seconds: float):
    assert job.wait(seconds)
    return job.result()


def wait_for_tree(job) -> None:
    wait_until(lambda: job.snapshot().incumbent is not None or job.is_final, PATIENCE)


def test_a_solve_gives_the_run_its_events_and_its_rows(odd_pool):
    job = start(odd_pool, "behave", test_size=0.2)
    run = result_of(job, PATIENCE)
    assert job.snapshot().state is JobState.DONE
    assert run.tree is not None
    assert run.train is not None
    assert run.test is not None
    assert run.n_train == 8 == run.train.n_samples
    assert list(run.trace) == list(job.events())
    assert run.settings["time_limit"] == 60.0
    assert run.timings["start"] > 0
    seconds = [event.seconds for event in run.trace][:4]
    assert seconds == sorted(seconds)


def test_prints_of_libraries_do_not_reach_the_protocol(odd_pool):
    assert result_of(start(odd_pool, "print"), PATIENCE).status in {"optimal", "feasible"}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("kill", "SIGKILL"),
        ("segv", "SIGSEGV"),
        ("exit", "exit code 7"),
        ("garbage", "Academic license"),
        ("wrong order", "9999"),
    ],
)
def test_a_dead_worker_is_known_and_its_tree_is_kept(pool, name, words):
    job = start(pool, name)
    wait_for_tree(job)
    wait_until(lambda: job.is_final, PATIENCE)
    snapshot = job.snapshot()
    assert snapshot.state is JobState.FAILED
    assert isinstance(snapshot.error, EngineError)
    assert snapshot.error.code == "WORKER_DIED"
    assert words in snapshot.error.message
    assert snapshot.run is not None
    assert (snapshot.run.status, snapshot.run.stop_reason) == ("feasible", "error")
    assert snapshot.run.accuracy == pytest.approx(0.9)
    assert not is_running(job.pid)


def test_a_polite_stop_gives_the_workers_own_result(odd_pool):
    job = start(odd_pool, "polite")
    wait_until(lambda: job.snapshot().phase == "being odd", 60)
    job.stop(wait=True)
    snapshot = job.snapshot()
    assert snapshot.state is JobState.DONE
    assert snapshot.run.stop_reason == "cancelled"
    assert snapshot.run.tree is not None


@pytest.mark.parametrize("name", ["sleep", "deaf", "freeze"])
def test_stop_ends_any_worker_and_keeps_the_incumbent(pool, name):
    job = start(pool, name)
    wait_for_tree(job)
    job.stop(wait=True)
    snapshot = job.snapshot()
    assert snapshot.state is JobState.STOPPED
    assert snapshot.run is not None
    assert snapshot.run.stop_reason == "cancelled"
    assert snapshot.run.tree is not None
    assert not is_running(job.pid)


def test_the_memory_limit_is_a_typed_error_and_the_tree_survives(pool):
    job = start(pool, "memory", memory_limit=600 * 2**20)
    job.wait(30)
    snapshot = job.snapshot()
    assert isinstance(snapshot.error, TooLargeError)
    assert snapshot.error.code == "MEMORY_LIMIT"
    assert "GiB" in snapshot.error.message
    assert snapshot.run is not None
    assert snapshot.run.accuracy == pytest.approx(0.9)


def test_a_memory_error_of_the_solve_is_the_same_typed_error(odd_pool):
    job = start(odd_pool, "memory error")
    assert job.wait(60)
    assert job.snapshot().error.code == "MEMORY_LIMIT"


def test_a_task_that_waits_for_kernels_says_so_and_has_its_time_afterwards(pool):
    job = pool.start(Request(rows("prepare"), {}, task="alternatives", seconds=0.5))
    wait_until(lambda: job.snapshot().phase == PREPARING, PATIENCE)
    time.sleep(1.5)
    assert job.snapshot().state is JobState.RUNNING
    assert job.snapshot().elapsed < 0.5
    job.stop(wait=True)


def test_the_hard_deadline_holds_for_a_worker_that_never_ends(pool):
    run = result_of(start(pool, "deaf", time_limit=0.5), PATIENCE)
    assert run.stop_reason == "time_limit"
    assert run.accuracy == pytest.approx(0.9)


def test_a_frozen_worker_is_known_by_its_silence(pool, monkeypatch):
    job = start(pool, "freeze")
    wait_for_tree(job)
    monkeypatch.setattr(process_module, "SILENCE_SECONDS", 1.5)
    wait_until(lambda: job.is_final, PATIENCE)
    snapshot = job.snapshot()
    assert snapshot.state is JobState.FAILED
    assert "not heard" in snapshot.error.message
    assert snapshot.run.tree is not None


def test_refusals_and_defects_keep_their_type(odd_pool):
    refused = start(odd_pool, "refuse")
    refused.wait(30)
    error = refused.snapshot().error
    assert isinstance(error, SettingsError)
    assert (error.code, error.setting) == ("FAKE_SETTING", "fake")
    broken = start(odd_pool, "defect")
    broken.wait(30)
    assert broken.snapshot().error.code == "DEFECT"
    assert "by design" in broken.snapshot().error.message


def test_stop_before_any_tree_gives_the_majority_leaf():
    with WorkerPool(idle=0) as pool:
        job = start(pool, "behave")
        job.kill()
        run = result_of(job, 10)
    assert run.tree is not None
    assert run.tree.n_leaves == 1
    assert run.accuracy == pytest.approx(0.6)


def test_an_idle_worker_that_dies_is_replaced():
    with WorkerPool(idle=1, command=FAKE_COMMAND) as pool:
        wait_until(lambda: pool.is_warm, PATIENCE)
        (first,) = idle_pids(pool)
        os.kill(first, signal.SIGKILL)
        wait_until(lambda: idle_pids(pool) not in {(), (first,)} and pool.is_warm, PATIENCE)
        (second,) = idle_pids(pool)
        job = start(pool, "kill")
        assert job.pid == second
        job.wait(30)
        wait_until(lambda: bool(idle_pids(pool)), PATIENCE)
        left = idle_pids(pool)
    assert not any(is_running(pid) for pid in (first, second, *left))


def test_a_result_does_not_wait_for_the_end_of_its_process(odd_pool):
    job = start(odd_pool, "slow end")
    assert result_of(job, PATIENCE).status == "feasible"
    assert job.snapshot().state is JobState.DONE
    wait_until(lambda: not is_running(job.pid), PATIENCE)


def test_a_worker_starts_in_the_place_of_one_only_when_a_first_solve_is_over(monkeypatch):
    monkeypatch.setattr(client, "HEAD_START", 3600.0)
    with WorkerPool(idle=2, command=FAKE_COMMAND) as pool:
        (_, second) = idle_pids(pool)
        start(pool, "sleep")
        time.sleep(3 * client.WATCH_SECONDS)
        assert idle_pids(pool) == (second,)
        start(pool, "sleep")  # now none is left
        wait_until(lambda: len(idle_pids(pool)) == 2, PATIENCE)


def test_a_busy_worker_stands_back_behind_its_parent():
    with WorkerPool(idle=0, command=FAKE_COMMAND, niceness=3) as pool:
        job = start(pool, "sleep")
        wait_for_tree(job)
        own = os.getpriority(os.PRIO_PROCESS, 0)
        assert os.getpriority(os.PRIO_PROCESS, job.pid) == min(19, own + 3)
        job.kill()
        job.wait(30)


@pytest.mark.long
def test_libraries_of_a_cold_worker_are_start_up_and_not_solving():
    run = solve_in_child(rows("cold"), {"formulation": "bend-oct", "depth": 1, "time_limit": 60.0})
    names = ("encode", "warm_start", "build", "compile", "solve")
    parts = sum(run.timings.get(name, 0.0) for name in names)
    assert run.timings["total"] - parts < run.timings["start"]


PARENT = """
import sys, time
from tests.unit.worker.case import FAKE_COMMAND, SETTINGS, idle_pids, rows
from octcore.worker.client import WorkerPool
from octcore.worker.request import Request
pool = WorkerPool(idle=1, command=FAKE_COMMAND)
job = pool.start(Request(rows("sleep"), SETTINGS))
while job.snapshot().incumbent is None or not pool.is_warm:
    time.sleep(0.02)
print(job.pid, *idle_pids(pool), flush=True)
time.sleep(60)
"""


def test_no_worker_outlives_a_killed_parent():
    tests = str(Path(__file__).parents[3])
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": tests},
    )
    assert parent.stdout is not None
    with parent, parent.stdout:
        pids = [int(pid) for pid in parent.stdout.readline().split()]
        assert len(pids) == 2
        assert all(is_running(pid) for pid in pids)
        parent.kill()
        parent.wait()
        wait_until(lambda: not any(is_running(pid) for pid in pids), PATIENCE)


def test_wrong_settings_are_refused_and_leave_no_worker():
    before = set(psutil.Process().children())
    with pytest.raises(SettingsError) as caught:
        solve_in_child(rows(), {**SETTINGS, "time_limit": -1}, process=SolveProcess(FAKE_COMMAND))
    assert caught.value.setting == "time_limit"
    wait_until(lambda: set(psutil.Process().children()) <= before, PATIENCE)


def test_starting_up_stands_apart_and_takes_no_time_of_the_limit(odd_pool):
    settings = {**SETTINGS, "time_limit": 300.0}
    job = odd_pool.start(Request(rows("behave"), settings), called=time.monotonic() - 330.0)
    run = result_of(job, 60)
    assert run.status == "optimal" or run.stop_reason == "gap_limit"
    assert run.timings["start"] > 330.0
    assert max(event.seconds for event in run.trace) < 60
    assert job.snapshot().elapsed < 60


def test_compiling_takes_no_time_of_the_limit():
    watch = Stopwatch()
    assert watch.elapsed == pytest.approx(0.0, abs=1e-3)
    watch.start()
    watch.note(PREPARING)
    time.sleep(0.2)
    assert watch.elapsed < 0.1
    watch.note(PREPARED)
    time.sleep(0.1)
    assert 0.1 <= watch.elapsed < 0.2


def test_a_limit_given_as_text_counts_like_a_number():
    """As the command line gives it; the hard deadline hangs on it."""
    run = solve_in_child(
        rows("deaf"), {**SETTINGS, "time_limit": "0.5"}, process=SolveProcess(FAKE_COMMAND)
    )
    assert run.stop_reason == "time_limit"
    assert run.settings["time_limit"] == 0.5


def test_time_up_is_not_called_cancelled(odd_pool):
    """The worker knows only that it was asked to stop."""
    job = start(odd_pool, "polite")
    wait_until(lambda: job.events(), PATIENCE)
    job.stop(reason=StopReason.TIME_LIMIT, polite=30.0)
    run = result_of(job, 60)
    assert job.snapshot().state is JobState.DONE
    assert run.stop_reason == "time_limit"
    assert run.status != "cancelled"


def test_a_setting_that_the_worker_refuses_gives_no_run(odd_pool):
    """Also when there is a first tree already."""
    with pytest.raises(SettingsError) as caught:
        result_of(start(odd_pool, "refuse late"), 60)
    assert caught.value.setting == "fake"
