"""A process of its own for every fault: the module is changed while it is imported.

The process that forks has imported what the package needs, but nothing of the package itself.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from types import CodeType, ModuleType

from tests.mutants.plain import use_plain_kernels
from tests.mutants.records import ROOT, Mutant

PROCESSOR_SECONDS = 60.0
"""Most CPU time for one mutant; a test that hangs has noticed it too, a busy machine has not."""
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

    def __init__(self, name: str, path: str, mutant: Mutant) -> None:
        super().__init__(name, path)
        self.mutant = mutant

    def get_code(self, fullname: str) -> CodeType:
        text = Path(self.path).read_text().replace(self.mutant.find, self.mutant.replace)
        return compile(text, self.path, "exec", dont_inherit=True)


class _FaultyFinder:
    """Finds the one module that is changed."""

    def __init__(self, mutant: Mutant) -> None:
        self.mutant, self.path = mutant, mutant.place(ROOT)
        parts = self.path.relative_to(ROOT).with_suffix("").parts
        self.name = ".".join(part for part in parts if part != "__init__")

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Answer for the changed module alone."""
        if name != self.name:
            return None
        loader = _FaultyLoader(name, str(self.path), self.mutant)
        return importlib.util.spec_from_file_location(name, self.path, loader=loader)


def in_child(mutant: Mutant | None, work: Callable[[], str | None]) -> tuple[str | None, float]:
    """Do work in a process with a fault, or without any; what it returns, and its CPU seconds.

    Raises
    ------
    LookupError
        If the text that the fault changes is not there.
    RuntimeError
        If the process ended without an answer before its time was over.
    """
    finder = _FaultyFinder(mutant) if mutant is not None else None
    fork = multiprocessing.get_context("fork")
    receiver, sender = fork.Pipe(duplex=False)
    child = fork.Process(target=_work, args=(finder, work, sender), daemon=True)
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
        return "it never ends", PROCESSOR_SECONDS
    finally:
        child.kill()
        child.join()


def _work(finder: _FaultyFinder | None, work: Callable[[], str | None], sender: Connection) -> None:
    with tempfile.TemporaryFile() as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    signal.setitimer(signal.ITIMER_PROF, PROCESSOR_SECONDS)  # ends the process
    if finder is not None:
        sys.meta_path.insert(0, finder)
    begin = time.process_time()
    try:
        use_plain_kernels()
        said = work()
    except Exception as error:
        said = f"{type(error).__name__}: {error}"
    sender.send((said, time.process_time() - begin))
