"""Compiled kernels: declared in one way, kept on disk, and prepared while no clock runs.

Compiling a search takes some ten seconds of a processor, once per installation.  It happens in a
process of its own, which goes on when the process that waits is ended; only the kernels that a job
needs are waited for; and every clock of a solve stands still meanwhile (`spent`).

Kernels that are compiled together are a *set*, named ``"module:part"``: `compile_part` of the
module runs all of them once.  A search calls `require` with the sets that it needs.

Machine code is kept by the sources that it was made from: those of the kernel's module and of all
that it imports (`sources`).  An edit makes new just what depends on it, and nothing old is taken
for new; numba itself would look at the one file of a kernel, not at the kernels that it calls.
What nobody has used for a month is deleted when something new is compiled (`delete_unused`).
"""

import contextlib
import functools
import hashlib
import importlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from octcore.errors import CancelledError

PREPARING = "preparing the search, once per installation"
PREPARING_AGAIN = (
    "preparing the search; nothing can be kept, since neither the user's cache folder nor the "
    "temporary folder can be written, so every start does this again"
)
PREPARED = "prepared"
POLL_SECONDS = 0.05  # nobody notices so short a wait, compiling takes many of them
LOCK_SECONDS = 600.0
"""What compiling one set takes where ten others want the processor; after that its owner may be
frozen, and compiling twice what is not done would keep such a machine busy even longer."""
CACHE_VARIABLE = "NUMBA_CACHE_DIR"
KEPT_SECONDS = 30 * 24 * 3600.0
KEPT_ENTRIES = 300
"""Some six states of all kernels: enough for several versions and Pythons side by side."""

_lock, _counting = threading.RLock(), threading.Lock()
_this_thread = threading.local()
_loaded: set[str] = set()
_listeners: list[Callable[[str], None]] = []
_compilers: list[subprocess.Popen[bytes]] = []
"""Processes that nobody waits for; kept, since Python complains of one that is forgotten."""
_spent, _waiting, _since = 0.0, 0, 0.0


def kernel(owns: bool = True, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """Compile the decorated function when it is first called, and keep the machine code on disk.

    `owns`: whether it makes or returns arrays, or calls what returns them.  What only borrows them
    from its caller counts no references, which numba does with atomic instructions at every view:
    half of the time of a search.  `options` are those of `numba.njit`, in addition to what all
    kernels share.
    """

    def decorate(function: Callable[..., Any]) -> Any:
        import numba

        folder = cache_folder()
        shared = {"nogil": True, "error_model": "numpy", "cache": folder is not None, "_nrt": owns}
        # Numba looks for a writable place while it decorates, and gives up where there is none.
        config: Any = importlib.import_module("numba.core.config")
        before = config.CACHE_DIR
        if folder is not None:
            config.CACHE_DIR = str(_place(folder, function.__module__))
        try:
            return _for_all_constants(numba.njit(**shared, **options)(function))
        finally:
            config.CACHE_DIR = before

    return decorate


def _for_all_constants(dispatcher: Any) -> Any:
    """Let kernels that call this one share one machine code of it.

    Numba compiles a kernel again for every constant that it is called with, and for arrays that
    are constants themselves; what it calls is compiled again with it.
    """
    from numba.core import types

    def general(kind: Any) -> Any:
        if isinstance(kind, types.Array) and not kind.mutable:
            return kind.copy(readonly=False)
        return types.unliteral(kind)

    template = dispatcher.get_call_template
    dispatcher.get_call_template = lambda args, names: template(
        tuple(map(general, args)), {name: general(kind) for name, kind in names.items()}
    )
    return dispatcher


@functools.cache
def _place(folder: Path, module: str) -> Path:
    """Folder of the machine code of a module, marked as used now."""
    place = folder / _state(module)
    with contextlib.suppress(OSError):
        os.utime(place)
    return place


def inner(owns: bool = False) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a kernel that only kernels call: it compiles faster without Python's entry."""
    return kernel(owns, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def part() -> Any:
    """Decorate a part of one kernel, which is not compiled by itself.

    Whatever a kernel calls is optimised anew with it, so that of a chain of kernels the last one is
    compiled as many times as the chain is long.
    """
    return kernel(inline="always")


@functools.cache
def cache_folder() -> Path | None:
    """Where machine code is kept; None where nothing can be written.

    A folder of its own in ``NUMBA_CACHE_DIR``, where others keep theirs; else the user's cache,
    else a private temporary folder.
    """
    import platformdirs

    named = os.environ.get(CACHE_VARIABLE)
    kept = Path(platformdirs.user_cache_dir("octcore")) / "kernels"
    places = [Path(named) / "octcore" if named else kept]
    user = os.getuid() if hasattr(os, "getuid") else "user"
    with contextlib.suppress(FileNotFoundError):  # there may be no temporary folder at all
        places.append(Path(tempfile.gettempdir()) / f"octcore-kernels-{user}")
    return next((place for place in places if _is_ours(place)), None)


def _is_ours(folder: Path) -> bool:
    """Whether this user can write it and nobody else can: machine code in it is executed."""
    if not folder.is_absolute():
        return False  # "~" of a user without a home
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=folder):
            pass
        state = folder.stat()
    except OSError:
        return False
    if not hasattr(os, "getuid"):
        return True
    return state.st_uid == os.getuid() and not state.st_mode & 0o022


def require(*names: str, stop: Callable[[], bool] = lambda: False) -> float:
    """Load sets of kernels, compiled first where that was never done; returns the seconds it took.

    `stop` is asked while another process compiles, which goes on all the same after the
    `CancelledError`.
    """
    if _loaded.issuperset(names):
        return 0.0
    begin = time.perf_counter()
    with _waited(), _lock:
        missing = [name for name in names if name not in _loaded]
        new = [name for name in missing if not is_compiled(name)]
        _say(PREPARING if cache_folder() else PREPARING_AGAIN, bool(new))
        # Where nothing can be kept, only this process can compile for itself.
        if new and cache_folder() is not None and not compile_apart(new, stop):
            raise CancelledError("Stopped while the search was being prepared.")
        for name in missing:
            _load(name)
    _say(PREPARED, bool(new))
    return time.perf_counter() - begin


def in_background() -> None:
    """Let no clock stand still for what this thread loads from now on: nobody waits for it."""
    _this_thread.is_background = True


@contextlib.contextmanager
def _waited() -> Iterator[None]:
    """Count the time as waited for, once for all threads that wait."""
    global _spent, _waiting, _since
    if getattr(_this_thread, "is_background", False):
        yield
        return
    with _counting:
        _since = _since if _waiting else time.perf_counter()
        _waiting += 1
    try:
        yield
    finally:
        with _counting:
            _waiting -= 1
            _spent += 0.0 if _waiting else time.perf_counter() - _since


def spent() -> float:
    """Seconds that this process has waited for kernels so far; no clock counts them."""
    with _counting:
        return _spent + (time.perf_counter() - _since if _waiting else 0.0)


def now() -> float:
    """Seconds on a clock that stands still while this process waits for kernels."""
    return time.perf_counter() - spent()


@contextlib.contextmanager
def announced(listener: Callable[[str], None]) -> Iterator[None]:
    """Tell a listener in words that kernels have to be compiled, and when that is over."""
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


def is_compiled(name: str) -> bool:
    """Whether a set was compiled here before, from these very sources."""
    marker = _marker(name)
    return marker is not None and marker.exists()


def are_ready(*names: str) -> bool:
    """Whether sets of kernels are in memory, or on disk."""
    return all(name in _loaded or is_compiled(name) for name in names)


def prepare_later(*names: str) -> None:
    """Compile sets for the next search, in a process that nobody waits for."""
    if cache_folder() is not None:
        _compilers.append(_compiler(names))


def compile_apart(names: Sequence[str], stop: Callable[[], bool]) -> bool:
    """Compile sets in a process of its own; returns whether that ended before `stop` said so.

    The process belongs to nobody: it goes on when the one that waits is ended.
    """
    child = _compiler(names)
    while child.poll() is None:
        if stop():
            return False
        time.sleep(POLL_SECONDS)
    return True


def _compiler(names: Sequence[str]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-P", "-m", "octcore.numerics.kernels", *names]
    nothing = subprocess.DEVNULL
    return subprocess.Popen(
        command, stdin=nothing, stdout=nothing, stderr=nothing, start_new_session=True
    )


def _say(text: str, wanted: bool) -> None:
    for listener in tuple(_listeners) if wanted else ():
        listener(text)


def _load(name: str) -> None:
    """Compile or load a set in this process."""
    module, _, part = name.partition(":")
    importlib.import_module(module).compile_part(part)
    _loaded.add(name)
    marker = _marker(name)
    if marker is not None and marker.exists():
        with contextlib.suppress(OSError):
            os.utime(marker)


def _marker(name: str) -> Path | None:
    """File that stands for "compiled"; named by set, sources, numba, Python and machine."""
    folder = cache_folder()
    if folder is None:
        return None
    module, _, part = name.partition(":")
    return folder / f"{_state(module)}-{part}"


@functools.cache
def _state(module: str) -> str:
    """Digest of all that the machine code of a module's kernels depends on."""
    parts = [module, sys.version, platform.machine(), metadata.version("numba")]
    for name in sorted(sources(module)):
        source = _file(name)
        if source is not None:
            status = source.stat()
            parts.append(f"{source}|{status.st_size}|{status.st_mtime_ns}")
    return hashlib.sha256("|".join(parts).encode()).hexdigest()[:20]


def sources(module: str) -> frozenset[str]:
    """A module of this package and all others that it imports, directly or not, by name.

    Read from the text: importing them all would take longer than the searches that need them.
    """
    found, ahead = set[str](), [module]
    while ahead:
        name = ahead.pop()
        if name not in found:
            found.add(name)
            ahead.extend(imports(name))
    return frozenset(found)


_IMPORT = re.compile(
    r"^\s*(?:from\s+(octcore[\w.]*)\s+import\s+(\([^)]*\)|[^#\n]*)|import\s+(octcore[\w.]*))", re.M
)


@functools.cache
def imports(module: str) -> frozenset[str]:
    """Modules of this package that the text of a module names, at its head or in a function."""
    path = _file(module)
    if path is None:
        return frozenset()
    found = set[str]()
    for package, names, plain in _IMPORT.findall(path.read_text(encoding="utf-8")):
        members = [f"{package}.{name}" for name in re.findall(r"(\w+)(?:\s+as\s+\w+)?", names)]
        inside = {name for name in members if _file(name) is not None}
        found |= inside
        if len(inside) < len(members) or not members:  # all of it: a plain import, or a star
            found.add(package or plain)
    return frozenset(found)


def _file(module: str) -> Path | None:
    """Source of a module or package of octcore; None for anything else."""
    head, *parts = module.split(".")
    path = Path(__file__).resolve().parents[1].joinpath(*parts)
    files = path.with_suffix(".py"), path / "__init__.py"
    return next((file for file in files if file.is_file()), None) if head == "octcore" else None


@contextlib.contextmanager
def _alone(marker: Path) -> Iterator[None]:
    """Wait until no other process compiles the same set, but not for one that never ends.

    The lock is one of the operating system, which ends with its owner; what its file holds says
    nothing.  Two that compile the same do the work twice, and no harm.
    """
    with contextlib.ExitStack() as held:
        with contextlib.suppress(OSError, ImportError):  # no such locks: no waiting
            import fcntl

            file = held.enter_context(open(marker.with_suffix(".lock"), "a"))
            end = time.monotonic() + LOCK_SECONDS
            while time.monotonic() < end:
                with contextlib.suppress(BlockingIOError):
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                time.sleep(POLL_SECONDS)
        yield


def delete_unused(folder: Path) -> None:
    """Delete machine code that nobody has used for a month, and what is beyond a number.

    Any process may be using the folder, which `cache_folder` gives: what it misses it compiles
    again, and what is deleted twice is no error.
    """
    used: dict[Path, float] = {}
    for entry in folder.iterdir():
        with contextlib.suppress(OSError):  # gone meanwhile
            used[entry] = entry.stat().st_mtime
    newest = sorted(used, key=used.__getitem__, reverse=True)
    since = time.time() - KEPT_SECONDS
    for place, entry in enumerate(newest):
        if place < KEPT_ENTRIES and used[entry] >= since:
            continue
        if entry.is_dir():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            with contextlib.suppress(OSError):
                entry.unlink()


def main(names: Sequence[str]) -> None:
    """Compile sets and leave their markers; what nobody uses any more goes."""
    for name in names:
        marker = _marker(name)
        if marker is None:
            return
        with _alone(marker):
            if not marker.exists():
                _load(name)
                marker.touch()
                delete_unused(marker.parent)


if __name__ == "__main__":
    main(sys.argv[1:])
