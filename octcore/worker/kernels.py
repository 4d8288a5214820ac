"""Compiling the search kernels once per installation, in a process of its own.

Compiling holds Python's lock for seconds at a time, so a worker that compiled while it solves would
hardly solve.  The process here fills the cache on disk that every later process reads; it is
polite to others, works alone on a machine, and ends with the process that started it.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib
import os
import platform
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import platformdirs

POLL_SECONDS = 0.1
NICENESS = 10


def warm_up(name: str) -> None:
    """Call the optional ``warm_up()`` of a module: compile its kernels, or load them."""
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        return
    getattr(module, "warm_up", lambda: None)()


def are_compiled() -> bool:
    """Whether the kernels of these very sources were compiled here before."""
    return _marker().exists()


def compile_apart(names: Sequence[str], stop: Callable[[], bool]) -> bool:
    """Compile in a child process; returns whether it ended before `stop` said so.

    The child is left to go on when this returns early; it ends with this process at the latest.
    """
    command = [sys.executable, "-P", "-m", "octcore.worker.kernels", *names]
    child = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while child.poll() is None:
        if stop():
            return False
        time.sleep(POLL_SECONDS)
    return True


def _folder() -> Path:
    return Path(platformdirs.user_cache_dir("octcore"))


def _marker() -> Path:
    """File that stands for "compiled"; its name changes with sources, numba, Python and machine."""
    package = Path(__file__).resolve().parents[1]
    state = hashlib.sha256(f"{sys.version}|{platform.machine()}|{_numba_version()}".encode())
    for source in sorted([*package.glob("search/**/*.py"), *package.glob("numerics/**/*.py")]):
        status = source.stat()
        state.update(f"{source}|{status.st_size}|{status.st_mtime_ns}".encode())
    return _folder() / f"kernels-{state.hexdigest()[:16]}"


def _numba_version() -> str:
    from importlib import metadata

    return metadata.version("numba")


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


def main(names: Sequence[str]) -> None:
    """Compile the kernels of some modules and leave the marker."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.nice(NICENESS)
    _folder().mkdir(parents=True, exist_ok=True)
    with open(_folder() / "kernels.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not are_compiled():
            for name in names:
                warm_up(name)
            _marker().touch()


if __name__ == "__main__":
    main(sys.argv[1:])
    # The thread that waits for the parent's end blocks the interpreter's own shutdown.
    os._exit(0)
