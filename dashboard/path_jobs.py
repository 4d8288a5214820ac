"""Penalty paths as the pages see them: computed in child processes, one after the other, kept."""

from __future__ import annotations

import base64
import contextlib
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from octcore.data.dataset import Dataset
from octcore.data.packing import pack
from octcore.encoding.base import Encoding
from octcore.selection.penalty_path import PathStep, PenaltyPath
from octcore.tree.tree import Tree

COMMAND = (sys.executable, "-m", "dashboard.path_worker")
KEPT = 24
GRACE_SECONDS = 20.0
"""The worker ends itself at its time limit; this much later it is ended."""
STOPPED = "Stopped."
DIED = "The search ended unexpectedly; try a smaller depth or fewer rows."


class PathJob:
    """One path that is asked for.

    Attributes
    ----------
    path : PenaltyPath or None
        The result.
    error : str
        Why there is none, in one sentence; empty while it goes on or has ended well.
    """

    def __init__(self, data: Dataset, settings: Mapping[str, Any], turn: threading.Lock) -> None:
        self.path: PenaltyPath | None = None
        self.error = ""
        self.asked = time.monotonic()
        self._finished = threading.Event()
        self._stopped = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        request = {"settings": dict(settings), "data": base64.b64encode(pack(data)).decode()}
        self._line = json.dumps(request).encode() + b"\n"
        self._limit = float(settings.get("time_limit", 60.0)) + GRACE_SECONDS
        threading.Thread(target=self._work, args=(turn,), name="penalty-path", daemon=True).start()

    @property
    def is_final(self) -> bool:
        """Whether it has ended."""
        return self._finished.is_set()

    @property
    def elapsed(self) -> float:
        """Seconds since it was asked for."""
        return time.monotonic() - self.asked

    def wait(self, timeout: float) -> bool:
        """Wait for the end; returns whether it came."""
        return self._finished.wait(timeout)

    def stop(self) -> None:
        """End it; half a path is none."""
        self._stopped.set()
        if self._process is not None:
            self._process.kill()

    def _work(self, turn: threading.Lock) -> None:
        with turn:
            try:
                self._read(self._ask())
            except (OSError, ValueError, KeyError, TypeError):
                self.error = STOPPED if self._stopped.is_set() else DIED
            finally:
                self._finished.set()

    def _ask(self) -> bytes:
        if self._stopped.is_set():
            return b""
        self._process = subprocess.Popen(
            COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        if self._stopped.is_set():
            self._process.kill()
        timer = threading.Timer(self._limit, self._process.kill)
        timer.start()
        try:
            stdin.write(self._line)
            stdin.flush()  # stays open: its end would tell the worker to stop
            return stdout.read()
        finally:
            timer.cancel()
            with contextlib.suppress(OSError):
                stdin.close()
            self._process.wait()

    def _read(self, output: bytes) -> None:
        if self._stopped.is_set():
            self.error = STOPPED
            return
        answer = json.loads(output)
        if "error" in answer:
            self.error = str(answer["error"])
        else:
            self.path = read_path(answer["path"])


def read_path(record: Mapping[str, Any]) -> PenaltyPath:
    """Read a path back from its plain data."""
    steps = tuple(
        PathStep(
            int(step["leaves"]),
            float(step["accuracy"]),
            step["test_accuracy"],
            step["low"],
            step["high"],
            Tree.from_dict(step["tree"]),
        )
        for step in record["steps"]
    )
    encoding = Encoding.from_dict(record["encoding"])
    return PenaltyPath(steps, encoding, int(record["depth"]), float(record["seconds"]))


class PathJobs:
    """All paths of one server: each is computed once, one at a time."""

    def __init__(self, make: Callable[..., PathJob] = PathJob) -> None:
        self._make = make
        self._turn = threading.Lock()
        self._lock = threading.Lock()
        self._jobs: dict[str, PathJob] = {}

    def get(self, key: str) -> PathJob | None:
        """The job of a key; None when it was not asked for, or forgotten."""
        with self._lock:
            return self._jobs.get(key)

    def start(self, key: str, data: Dataset, settings: Mapping[str, Any]) -> PathJob:
        """Ask for a path; one that failed before is tried again."""
        with self._lock:
            known = self._jobs.get(key)
            if known is not None and not (known.is_final and known.error):
                return known
            for old in [k for k, job in self._jobs.items() if job.is_final][: -KEPT or None]:
                del self._jobs[old]
            self._jobs[key] = self._make(data, settings, self._turn)
            return self._jobs[key]
