"""Loops over workers and the history: limits, stops, deaths, killed writers."""

from __future__ import annotations

import contextlib
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from octcore.data.dataset import Dataset
from octcore.data.export import frame_to_csv
from octcore.worker.client import WorkerPool
from octcore.worker.job import Job
from octcore.worker.request import Request
from tests.bench.figures import Figure, spread
from tests.unit.store.kills import kill_writers
from tests.unit.worker.case import FAKE_COMMAND, ODD_COMMAND, SETTINGS, rows

HARD = {"formulation": "flow-oct", "encoding": "QT-5", "depth": 4, "time_limit": 600.0}
RUN_CLI = "import sys; from octcore.cli import main; sys.exit(main())"
DEATHS = ("kill", "segv", "exit", "garbage", "wrong order", "memory", "freeze")
FROZEN_AT_ONCE = 5


def hard_rows() -> Dataset:
    """Labels by chance: no tree is good, so no solve ends by itself."""
    generator = np.random.default_rng(7)
    X = generator.normal(size=(400, 8))
    return Dataset.from_arrays(X, generator.integers(0, 2, size=400), name="chance")


def start(times: int) -> list[Figure]:
    """Seconds to the first tree, with a cold and with a warm worker."""
    cold, warm = [], []
    for _ in range(times):
        with WorkerPool(idle=0) as pool:
            cold.append(_first_tree(pool))
        with WorkerPool(idle=1) as pool:
            _warm(pool)
            warm.append(_first_tree(pool))
    return [
        Figure(f"first tree, cold worker, {times} times", "-", spread(cold), True),
        Figure(f"first tree, warm worker, {times} times", "-", spread(warm), True),
    ]


def _warm(pool: WorkerPool) -> None:
    while not pool.is_warm:
        time.sleep(0.02)


def _first_tree(pool: WorkerPool) -> float:
    began = time.monotonic()
    job = pool.start(Request(hard_rows(), HARD))
    while job.snapshot().incumbent is None and not job.is_final:
        time.sleep(0.005)
    seconds = time.monotonic() - began
    job.kill()
    job.wait(10)
    return seconds


def limit(times: int) -> list[Figure]:
    """Seconds over the limit: workers that ignore it in every way, and real solves."""
    cases: Sequence[tuple[str, Sequence[str] | None, Dataset, dict[str, Any]]] = (
        ("a worker that sleeps for ever", FAKE_COMMAND, rows("deaf"), SETTINGS),
        ("a model that HiGHS never ends", ODD_COMMAND, rows("endless model"), SETTINGS),
        ("native code that never returns", ODD_COMMAND, rows("native"), SETTINGS),
        ("a real solve, cold worker", None, hard_rows(), HARD),
        ("a real solve, warm worker", None, hard_rows(), HARD),
    )
    figures = []
    for what, command, data, settings in cases:
        seconds_limit = 5.0 if settings is HARD else 1.0
        over, kept = [], 0
        for _ in range(times):
            options = {} if command is None else {"command": command}
            with WorkerPool(idle=1 if "warm" in what else 0, **options) as pool:
                if "warm" in what:
                    _warm(pool)
                began = time.monotonic()
                job = pool.start(Request(data, {**settings, "time_limit": seconds_limit}))
                job.wait(60)
                over.append(time.monotonic() - began - seconds_limit)
                kept += _has_tree(job)
        measured = f"over by {spread(over)}; tree kept {kept} of {times}"
        title = f"limit of {seconds_limit:g} s: {what}"
        figures.append(Figure(title, "over by <= 5 s", measured, max(over) <= 5.0))
    return figures + [_command_line(times, seconds) for seconds in (1.0, 3.0, 30.0)]


def _command_line(times: int, seconds_limit: float) -> Figure:
    """Measure ``octcore solve`` as a user starts it: the limit counts, the interpreter included."""
    data = hard_rows()
    over, kept = [], 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "chance.csv"
        labels = [f"c{code}" for code in data.y if code is not None] if data.y is not None else []
        path.write_text(frame_to_csv(data.frame.assign(label=labels)), encoding="utf-8")
        command = [sys.executable, "-c", RUN_CLI, "solve", str(path), "--target", "label"]
        command += ["--formulation", "flow-oct", "--depth", "4", "--time-limit", f"{seconds_limit}"]
        for _ in range(times):
            began = time.monotonic()
            with contextlib.suppress(subprocess.TimeoutExpired):
                done = subprocess.run(command, capture_output=True, text=True, timeout=120)
                kept += done.returncode == 0
            over.append(time.monotonic() - began - seconds_limit)
    allowed = max(5.0, 0.1 * seconds_limit)
    measured = f"over by {spread(over)}; tree kept {kept} of {times}"
    title = f"limit of {seconds_limit:g} s: octcore solve, from the shell to its end"
    return Figure(title, f"over by <= {allowed:g} s", measured, max(over) <= allowed)


def stop(times: int) -> list[Figure]:
    """Stop real solves at random moments: building, compiling, solving, even starting."""
    chance, seconds, kept, phases = random.Random(1), [], 0, Counter()
    with WorkerPool(idle=1) as pool:
        for _ in range(times):
            job = pool.start(Request(hard_rows(), HARD))
            job.wait(chance.uniform(0.0, 6.0))
            phases[job.snapshot().phase] += 1
            began = time.monotonic()
            job.stop(wait=True)
            seconds.append(time.monotonic() - began)
            run = job.snapshot().run
            kept += run is not None and run.tree is not None and run.stop_reason == "cancelled"
    good = sum(s <= 4.0 for s in seconds)
    measured = (
        f"{good} of {times} ({spread(seconds)}), tree kept {kept}; stopped while "
        + ", ".join(f"{phase} {count}" for phase, count in phases.most_common())
    )
    return [Figure("stop at random moments", "<= 4 s, tree kept", measured, good == kept == times)]


def deaths(times: int) -> list[Figure]:
    """Workers that die in every way: seconds from the last tree until it is known."""
    figures = []
    with WorkerPool(idle=1, command=FAKE_COMMAND) as pool:
        for name in DEATHS:
            at_once = FROZEN_AT_ONCE if name == "freeze" else 1
            results: list[tuple[float, bool]] = []
            while len(results) < times:
                results += _deaths(pool, name, min(at_once, times - len(results)))
            seconds = [found for found, _ in results]
            kept = sum(found for _, found in results)
            allowed = 11.0 if name == "freeze" else 1.0
            measured = f"{spread(seconds)}; tree kept {kept} of {times}"
            good = max(seconds) <= allowed and kept == times
            goal = f"known in <= {allowed:g} s, tree kept"
            figures.append(Figure(f"worker dies: {name}", goal, measured, good))
    return figures


def _deaths(pool: WorkerPool, name: str, at_once: int) -> list[tuple[float, bool]]:
    # Above what a server that has measured something else needs; the worker itself has little.
    memory = 400 * 2**20 if name == "memory" else None
    jobs = [pool.start(Request(rows(name), SETTINGS, memory)) for _ in range(at_once)]
    results = []
    for job in jobs:
        while len(job.events()) < 3 and not job.is_final:
            time.sleep(0.002)
    began = time.monotonic()
    for job in jobs:
        job.wait(30)
        results.append((time.monotonic() - began, _has_tree(job)))
    return results


def _has_tree(job: Job) -> bool:
    run = job.snapshot().run
    return run is not None and run.tree is not None


def writers(times: int) -> list[Figure]:
    """Kill writers of the history, two at a time."""
    with tempfile.TemporaryDirectory() as folder:
        found = kill_writers(Path(folder) / "runs.db", rounds=max(1, times // 2))
    good = found.lost == found.wrong_states == 0
    measured = (
        f"{found.kills} kills, {found.acknowledged} acknowledged commits, {found.lost} lost, "
        f"{found.wrong_states} wrong states"
    )
    return [Figure("writers of the history killed", "no commit lost", measured, good)]
