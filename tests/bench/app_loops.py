"""Loops over the real server: killed during solves, many sessions at once, many solves."""

from __future__ import annotations

import contextlib
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from pathlib import Path

import numpy as np
import psutil

import dashboard
from octcore.solving.run import JobState
from octcore.store.runs import RunStore
from tests.bench.app_session import AppSession
from tests.bench.figures import Figure, spread

APP = Path(dashboard.__file__).parent / "app.py"
START_SECONDS = 90.0
SESSIONS, RUNNING, QUEUED = 20, 2, 4
THINKING_SECONDS = (3.0, 12.0)
PAGES = ("", "solve", "explore", "runs", "compare", "about", "teach")
HARD_SAMPLE = "Monk's problem 2, 432 rows"
EASY_FORMULATION, PRESS = "Exact search", "Find the optimal tree"
MEGABYTE = 2**20


class Server:
    """The app as users start it, in a process of its own.

    Parameters
    ----------
    folder : Path
        Where its history and its log are.
    """

    def __init__(self, folder: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        self.address = f"http://localhost:{port}"
        self.store_path = folder / "runs.sqlite"
        flags = [f"--server.port={port}", "--server.headless=true", "--server.fileWatcherType=none"]
        self._log = (folder / "log.txt").open("ab")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "streamlit", "run", str(APP), *flags],
            cwd=APP.parents[1],
            env={**os.environ, "OCTCORE_STORE": str(self.store_path)},
            stdout=self._log,
            stderr=subprocess.STDOUT,
        )
        self.own = psutil.Process(self._process.pid)
        self._wait()

    def _wait(self) -> None:
        end = time.monotonic() + START_SECONDS
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"{self.address}/_stcore/health", timeout=2)
                return
            time.sleep(0.1)
        raise TimeoutError("The app did not start; its log is beside its history.")

    def children(self) -> list[psutil.Process]:
        """All processes that it started, directly or not."""
        with contextlib.suppress(psutil.NoSuchProcess):
            return self.own.children(recursive=True)
        return []

    def kill(self) -> float:
        """Kill it as the machine would; returns the seconds until none of its children is left."""
        children = self.children()
        self._process.kill()
        self._process.wait()
        self._log.close()
        began = time.monotonic()
        while any(_runs(child) for child in children) and time.monotonic() - began < 30:
            time.sleep(0.02)
        return time.monotonic() - began

    def stop(self) -> int:
        """End it politely; returns how many of its children are left after two seconds."""
        children = self.children()
        self._process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(15)
        self._process.kill()
        self._process.wait()
        self._log.close()
        psutil.wait_procs(children, timeout=2.0)
        return sum(_runs(child) for child in children)


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def start_solve(session: AppSession, formulation: str, depth: int, seconds: float = 600.0) -> str:
    """Start a solve on the Solve page as a user does; returns its id."""
    session.go("solve")
    session.set("selectbox", "Formulation", {"string_value": formulation})
    session.set("number_input", "Depth", {"int_value": depth})
    session.set("number_input", "Time limit", {"double_value": seconds})
    session.press(PRESS)
    end = time.monotonic() + 30
    while "run=" not in session.query and time.monotonic() < end:
        time.sleep(0.05)
    return session.query.partition("run=")[2].partition("&")[0]


def hard_session(address: str) -> AppSession:
    """Open a session whose rows keep FlowOCT at depth 4 busy for hours."""
    session = AppSession(address)
    session.go("data")
    session.set("selectbox", "Sample data", {"string_value": HARD_SAMPLE})
    return session


def server(times: int) -> list[Figure]:
    """Kill the server in the middle of solves, start it again, and look into its history."""
    chance, good, orphans, problems = random.Random(2), 0, [], Counter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        app = Server(folder)
        for _ in range(times):
            finished, running, waiting = _busy(app)
            time.sleep(chance.uniform(0.0, 1.0))
            orphans.append(app.kill())
            app = Server(folder)
            found = _after_the_kill(app, finished, running, waiting)
            good += not found
            problems.update(found)
            print(f"server: {len(orphans)} kills", file=sys.stderr, flush=True)
        app.stop()
    measured = f"{good} of {times}; no process left after {spread(orphans)}"
    if problems:
        measured += "; " + ", ".join(f"{what} {count}" for what, count in problems.items())
    return [
        Figure(
            "Streamlit server killed with a finished, two running and a waiting solve",
            "nothing lost, running ones interrupted with their tree, no orphan after 2 s",
            measured,
            good == times and max(orphans) <= 2.0,
        )
    ]


def _busy(app: Server) -> tuple[str, list[str], str]:
    """Bring a server to one finished, two running and one waiting solve."""
    first = AppSession(app.address)
    finished = start_solve(first, EASY_FORMULATION, 2)
    store = RunStore(app.store_path)
    _wait_until(lambda: _state(store, finished) is JobState.DONE)
    sessions = [hard_session(app.address) for _ in range(3)]
    *running, waiting = [start_solve(session, "FlowOCT", 4) for session in sessions]
    _wait_until(lambda: all(any(e.tree for e in store.events(run_id)) for run_id in running))
    _wait_until(lambda: _state(store, waiting) is JobState.QUEUED)
    store.close()
    for session in (first, *sessions):
        session.close()
    return finished, running, waiting


def _state(store: RunStore, run_id: str) -> JobState | None:
    return next((info.state for info in store.list() if info.id == run_id), None)


def _wait_until(condition, seconds: float = 300.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("The server did not get there.")
        time.sleep(0.05)


def _after_the_kill(app: Server, finished: str, running: list[str], waiting: str) -> list[str]:
    """Say what is wrong with the history, as the store has it and as the pages show it."""
    found = []
    page = AppSession(app.address, "explore", f"run={running[0]}")
    store = RunStore(app.store_path)
    if _state(store, finished) is not JobState.DONE or not store.load(finished).is_optimal:
        found.append("finished run lost")
    for run_id in (*running, waiting):
        if _state(store, run_id) is not JobState.INTERRUPTED:
            found.append("not interrupted")
    for run_id in running:
        if store.load(run_id).tree is None:
            found.append("tree lost")
    store.close()
    if page.exceptions or "better possible; interrupted" not in page.text():
        found.append("not shown on Explore")
    page.query = ""
    page.go("runs")
    if page.exceptions or "nterrupted" not in page.text():
        found.append("not shown on Runs")
    page.close()
    return found


def load(times: int) -> list[Figure]:
    """Run twenty sessions beside two running and four waiting solves; count `times` reruns."""
    with tempfile.TemporaryDirectory() as name:
        app = Server(Path(name))
        solved = AppSession(app.address)
        finished = start_solve(solved, EASY_FORMULATION, 3)
        solvers = [hard_session(app.address) for _ in range(RUNNING + QUEUED)]
        for session in solvers:
            start_solve(session, "FlowOCT", 4)
        others = [AppSession(app.address) for _ in range(SESSIONS - len(solvers))]
        for session in (*solvers, *others):
            session.seconds.clear()
            session.fragment_seconds.clear()
        memory, problems = _browse(app, [*solvers, *others], finished, times)
        everyone = [solved, *solvers, *others]
        seconds = [s for session in everyone for s in session.seconds]
        live = [s for session in everyone for s in session.fragment_seconds]
        problems += [text for session in everyone for text in session.exceptions]
        for session in everyone:
            session.close()
        left = app.stop()
    p95, p95_live = np.quantile(seconds, 0.95), np.quantile(live, 0.95)
    title = f"{SESSIONS} sessions, {RUNNING} running and {QUEUED} waiting solves"
    return [
        Figure(
            f"{title}: reruns of pages",
            "p95 <= 2 s",
            f"p95 {p95:.2f} s of {len(seconds)} ({spread(seconds)}), "
            f"of {len(live)} live redraws {p95_live:.2f} s",
            bool(p95 <= 2.0),
        ),
        Figure(f"{title}: the server", "<= 1 GB", f"{memory / 1e9:.2f} GB at most", memory <= 1e9),
        Figure(
            f"{title}: errors, processes left",
            "0, 0",
            f"{len(problems)}, {left}" + (f" ({problems[0][:80]})" if problems else ""),
            not problems and not left,
        ),
    ]


def _browse(
    app: Server, sessions: list[AppSession], finished: str, times: int
) -> tuple[int, list[str]]:
    """Have sessions change pages at random until so many reruns were made."""
    problems: list[str] = []
    left = threading.Semaphore(times)

    def use(number: int, session: AppSession) -> None:
        chance = random.Random(number)
        watches = number < RUNNING + QUEUED
        while left.acquire(blocking=False):
            time.sleep(chance.uniform(*THINKING_SECONDS))
            try:
                if watches:
                    session.go("solve")
                    continue
                session.query = f"run={finished}"
                session.go(chance.choice(PAGES))
            except Exception as error:
                problems.append(f"{type(error).__name__}: {error}")
                return

    threads = [threading.Thread(target=use, args=pair) for pair in enumerate(sessions)]
    for thread in threads:
        thread.start()
    memory = 0
    while any(thread.is_alive() for thread in threads):
        memory = max(memory, app.own.memory_info().rss)
        time.sleep(0.2)
    return memory, problems


def soak(times: int) -> list[Figure]:
    """Solve again and again on one server and look at each tree; what grows, what is left?"""
    with tempfile.TemporaryDirectory() as name:
        app = Server(Path(name))
        _solve_many(app, max(10, times // 10))
        before = _handles(app)
        problems = _solve_many(app, times)
        time.sleep(2.0)
        after = _handles(app)
        store = RunStore(app.store_path)
        done = sum(info.state is JobState.DONE for info in store.list())
        store.close()
        left = app.stop()
    growth = (after[0] - before[0]) / MEGABYTE
    return [
        Figure(
            f"{times} solves: memory of the server",
            "growth <= 50 MB",
            f"{growth:+.1f} MB ({before[0] / MEGABYTE:.0f} to {after[0] / MEGABYTE:.0f} MB)",
            growth <= 50,
        ),
        Figure(
            f"{times} solves: handles, threads, processes",
            "no leak",
            f"handles {before[1]} to {after[1]}, threads {before[2]} to {after[2]}, "
            f"processes {before[3]} to {after[3]}, {left} left after the end; "
            f"{done} runs done, {problems} errors shown",
            after[1] <= before[1] + 4
            and after[2] <= before[2] + 4
            and after[3] <= before[3]
            and left == problems == 0,
        ),
    ]


def _handles(app: Server) -> tuple[int, int, int, int]:
    return (
        app.own.memory_info().rss,
        app.own.num_fds(),
        app.own.num_threads(),
        len(app.children()),
    )


def _solve_many(app: Server, times: int) -> int:
    session = AppSession(app.address)
    for number in range(times):
        # Another depth in turn: a button that stands for the same solve again is no other.
        start_solve(session, EASY_FORMULATION, 1 + number % 3)
        _wait_until(lambda: not any(w.label == "Stop" for w in session.widgets("button")))
        session.go("explore")
    session.close()
    return len(session.exceptions)
