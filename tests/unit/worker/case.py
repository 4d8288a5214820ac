"""What the tests of worker, store and supervisor share."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np

from octcore.data.dataset import Dataset

FAKE_COMMAND = (sys.executable, str(Path(__file__).with_name("fake.py")))
ODD_COMMAND = (sys.executable, str(Path(__file__).with_name("odd.py")))
SETTINGS = {"formulation": "cart", "encoding": "none", "depth": 1, "time_limit": 60.0}


def rows(name: str = "behave") -> Dataset:
    """Ten rows of two binary features; the first decides the class of nine of them."""
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [0, 0], [0, 1], [1, 0], [1, 1], [0, 0], [1, 0]])
    y = np.array(["n", "n", "y", "y", "n", "n", "y", "y", "n", "n"])
    return Dataset.from_arrays(X, y, ["first", "second"], name=name)


def wait_until(condition, seconds: float) -> float:
    """Wait for a condition; returns the seconds it took, fails after the limit."""
    start = time.monotonic()
    while not condition():
        assert time.monotonic() - start < seconds, "the condition did not come true in time"
        time.sleep(0.01)
    return time.monotonic() - start


def is_running(pid: int) -> bool:
    """Whether a process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def idle_pids(pool) -> tuple[int, ...]:
    """Process ids of the idle workers of a pool."""
    return tuple(process.pid for process in pool._idle)
