"""A process of its own for every fault: the module is changed while it is imported.

The process that forks has imported what the package needs, but nothing of the package itself.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from types import CodeType, ModuleType
from typing import Any

from tests.mutants.plain import use_plain_kernels
from tests.mutants.records import ROOT, Change

PROCESSOR_SECONDS = 60.0
"""Most CPU time for one mutant; a test that hangs has noticed it too, a busy machine has not."""
MEMORY = 6 * 2**30
"""Bytes that one may ask for: a fault that counts wrongly must not take the machine's."""
NEVER_ENDS = "it never ends"
_STARTING = threading.Lock()
_NEEDED = ("numpy", "pandas", "scipy.optimize", "scipy.sparse", "numba", "pyomo.environ",
           "highspy", "hypothesis", "pytest", "sklearn.tree")  # fmt: skip


def import_dependencies() -> None:
    """Import what all children need, once."""
    os.environ.update(NUMBA_DISABLE_JIT="1", OCTCORE_CHECK="1", OMP_NUM_THREADS="1")
    sys.path.insert(0, str(ROOT))
    for name in _NEEDED:
        importlib.import_module(name)


class _FaultyLoader(importlib.machinery.SourceFileLoader):
    """Compiles a changed text; nothing is written."""

    def __init__(self, name: str, change: Change) -> None:
        super().__init__(name, str(change.path))
        self.change = change

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.change.source, self.path, "exec", dont_inherit=True)


class _FaultyFinder:
    """Finds the one module that is changed."""

    def __init__(self, change: Change) -> None:
        self.change = change
        parts = change.path.relative_to(ROOT).with_suffix("").parts
        self.name = ".".join(part for part in parts if part != "__init__")

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Answer for the changed module alone."""
        if name != self.name:
            return None
        place, loader = self.change.path, _FaultyLoader(name, self.change)
        return importlib.util.spec_from_file_location(name, place, loader=loader)


def in_child(
    change: Change | None, work: Callable[[], Any], limit: float = PROCESSOR_SECONDS
) -> tuple[Any, float]:
    """Do work in a process with a fault, or without any; what it returns, and its CPU seconds.

    Raises
    ------
    RuntimeError
        If the process ended without an answer before its CPU time, `limit`, was over.
    """
    finder = None if change is None else _FaultyFinder(change)
    fork = multiprocessing.get_context("fork")
    with _STARTING:  # a second child would keep the first one's end of the pipe open
        receiver, sender = fork.Pipe(duplex=False)
        child = fork.Process(target=_work, args=(finder, work, sender, limit), daemon=True)
        child.start()
        sender.close()
    try:
        return receiver.recv()
    except EOFError:
        child.join()
        if child.exitcode != -signal.SIGPROF:
            raise RuntimeError(
                f"a process ended with {child.exitcode}, without an answer"
            ) from None
        return NEVER_ENDS, limit
    finally:
        child.kill()
        child.join()


def _work(
    finder: _FaultyFinder | None, work: Callable[[], Any], sender: Connection, limit: float
) -> None:
    with tempfile.TemporaryFile() as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    signal.setitimer(signal.ITIMER_PROF, limit)  # ends the process
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    if finder is not None:
        sys.meta_path.insert(0, finder)
    begin = time.process_time()
    try:
        use_plain_kernels()
        said = work()
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
    sender.send((said, time.process_time() - begin))
