"""Measure the process model and the history with real kills.

``python tests/bench/reliability.py COMMAND [--times N]`` prints one line of figures a command;
``all`` runs every one in its full length (about an hour on two quiet cores).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import psutil

sys.path.insert(0, str(Path(__file__).parents[2]))

from dashboard.supervisor import Supervisor
from octcore.data.dataset import Dataset
from octcore.worker import Job, Request, WorkerPool
from tests.unit.store_kills import kill_writers
from tests.unit.test_supervisor import kill_a_server
from tests.unit.worker_case import FAKE_COMMAND, ODD_COMMAND, SETTINGS, rows

HARD = {"formulation": "flow-oct", "encoding": "QT-5", "depth": 4, "time_limit": 600.0}


def hard_rows() -> Dataset:
    """Labels by chance: no tree is good, so no solve ends by itself."""
    generator = np.random.default_rng(7)
    X = generator.normal(size=(400, 8))
    return Dataset.from_arrays(X, generator.integers(0, 2, size=400), name="chance")


def spread(seconds: list[float]) -> dict[str, float]:
    """Median and largest of some seconds."""
    return {"median": round(statistics.median(seconds), 3), "max": round(max(seconds), 3)}


def start(times: int) -> dict[str, Any]:
    """Seconds to the first tree, with a cold and with a warm worker."""
    cold, warm, ready = [], [], []
    for _ in range(times):
        with WorkerPool(idle=0) as pool:
            cold.append(_first_tree(pool))
        with WorkerPool(idle=1) as pool:
            began = time.monotonic()
            while not pool.is_warm:
                time.sleep(0.02)
            ready.append(time.monotonic() - began)
            warm.append(_first_tree(pool))
    return {"cold": spread(cold), "warm": spread(warm), "until_ready": spread(ready)}


def _first_tree(pool: WorkerPool) -> float:
    began = time.monotonic()
    job = pool.start(Request(hard_rows(), HARD))
    while job.snapshot().incumbent is None and not job.is_final:
        time.sleep(0.005)
    seconds = time.monotonic() - began
    job.kill()
    job.wait(10)
    return seconds


def stop(times: int) -> dict[str, Any]:
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
    return {
        "times": times,
        "seconds": spread(seconds),
        "within_4_s": sum(s <= 4.0 for s in seconds),
        "tree_kept": kept,
        "phases": dict(phases),
    }


def deaths(times: int) -> dict[str, Any]:
    """Workers that die in every way: seconds from the last tree until it is known."""
    figures: dict[str, Any] = {}
    with WorkerPool(idle=1, command=FAKE_COMMAND) as pool:
        for name in ("kill", "segv", "exit", "garbage", "wrong order", "memory"):
            results = [_death(pool, name) for _ in range(times)]
            figures[name] = {
                **spread([seconds for seconds, _ in results]),
                "tree_kept": sum(kept for _, kept in results),
                "of": times,
            }
        seconds, kept = _death(pool, "freeze")
        figures["freeze"] = {"max": round(seconds, 3), "tree_kept": int(kept), "of": 1}
    return figures


def _death(pool: WorkerPool, name: str) -> tuple[float, bool]:
    limit = 400 * 2**20 if name == "memory" else None
    job = pool.start(Request(rows(name), SETTINGS, limit))
    while job.snapshot().n_events < 3 and not job.is_final:
        time.sleep(0.002)
    began = time.monotonic()
    job.wait(30)
    return time.monotonic() - began, _has_tree(job)


def _has_tree(job: Job) -> bool:
    run = job.snapshot().run
    return run is not None and run.tree is not None


def deadline(times: int) -> dict[str, Any]:
    """Seconds over the limit of workers that never end, and of real solves."""
    over: dict[str, list[float]] = {"deaf worker": [], "real solve": []}
    for _ in range(times):
        for name, command, data, settings in (
            ("deaf worker", FAKE_COMMAND, rows("deaf"), {**SETTINGS, "time_limit": 1.0}),
            ("real solve", None, hard_rows(), {**HARD, "time_limit": 5.0}),
        ):
            options = {} if command is None else {"command": command}
            with WorkerPool(idle=0, **options) as pool:
                began = time.monotonic()
                pool.start(Request(data, settings)).wait(60)
                over[name].append(time.monotonic() - began - settings["time_limit"])
    return {name: spread(seconds) for name, seconds in over.items()}


def server(times: int) -> dict[str, Any]:
    """Kill whole servers: lost runs, wrong states, seconds until no worker is left."""
    chance, good, orphans = random.Random(2), 0, []
    wanted = ["failed", "interrupted", "interrupted", "interrupted"]
    for _ in range(times):
        with tempfile.TemporaryDirectory() as folder:
            found = kill_a_server(Path(folder) / "runs.db", chance.uniform(0.0, 0.5))
        good += found["states"] == wanted and found["accuracies"] == [0.9] * 3
        orphans.append(float(str(found["orphan_seconds"])))
    return {"times": times, "nothing_lost": good, "orphan_seconds": spread(orphans)}


def writers(times: int) -> dict[str, Any]:
    """Kill writers of the history, two at a time."""
    with tempfile.TemporaryDirectory() as folder:
        return vars(kill_writers(Path(folder) / "runs.db", rounds=max(1, times // 2)))


def soak(times: int) -> dict[str, Any]:
    """Many solves on one server: growth of its memory, handles, threads and processes."""
    own = psutil.Process()
    with tempfile.TemporaryDirectory() as folder:
        pool = WorkerPool(idle=1, command=ODD_COMMAND)
        supervisor = Supervisor(2, Path(folder) / "runs.db", pool)
        _solve_many(supervisor, max(2, times // 10))
        before = (own.memory_info().rss, own.num_fds(), own.num_threads())
        _solve_many(supervisor, times)
        time.sleep(1.0)
        after = (own.memory_info().rss, own.num_fds(), own.num_threads())
        children = len(own.children(recursive=True))
        states = Counter(info.state.value for info in supervisor.store.list())  # type: ignore[union-attr]
        supervisor.close()
    return {
        "times": times,
        "memory_growth_mb": round((after[0] - before[0]) / 2**20, 1),
        "handles": [before[1], after[1]],
        "threads": [before[2], after[2]],
        "children_idle": children,
        "children_after_close": len(own.children(recursive=True)),
        "states": dict(states),
    }


def _solve_many(supervisor: Supervisor, times: int) -> None:
    data = rows("behave")
    for begun in range(0, times, 2):
        ids = [
            supervisor.submit("soak", data, SETTINGS, f"{begun + i}")
            for i in range(min(2, times - begun))
        ]
        for job_id in ids:
            supervisor.wait(job_id, 120)


FULL: dict[str, tuple[Callable[[int], dict[str, Any]], int]] = {
    "start": (start, 5),
    "stop": (stop, 100),
    "deaths": (deaths, 20),
    "deadline": (deadline, 5),
    "server": (server, 50),
    "writers": (writers, 60),
    "soak": (soak, 200),
}


def main() -> None:
    """Run one measurement, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=[*FULL, "all"])
    parser.add_argument("--times", type=int, help="repetitions; by default the full number")
    arguments = parser.parse_args()
    names = list(FULL) if arguments.command == "all" else [arguments.command]
    for name in names:
        measure, times = FULL[name]
        began = time.monotonic()
        figures = measure(arguments.times or times)
        load = os.getloadavg()[0]
        seconds = time.monotonic() - began
        print(json.dumps({name: figures, "seconds": round(seconds, 1), "load": load}), flush=True)


if __name__ == "__main__":
    main()
