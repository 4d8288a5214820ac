"""The child's side: import, compile, wait for one request, do it, say everything, end.

Messages go out, request and wish to cancel come in from the start, before slow imports.
"""

import importlib
import json
import logging
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import psutil

from octcore.errors import CancelledError, OctError
from octcore.numerics import kernels
from octcore.worker import protocol

if TYPE_CHECKING:
    from octcore.engines.events import Event
    from octcore.solving.run import Run

EXIT_DONE, EXIT_ERROR, EXIT_NO_READER, EXIT_NO_PARENT, EXIT_MEMORY = 0, 1, 3, 4, 12
MEMORY_SHARE = 0.5  # of what is free at the start
MEMORY_CHECK_SECONDS = 0.1
IMPORTS = ("octcore.solving.solve", "sklearn.tree", "highspy", "pyomo.environ")
KERNELS = (
    "octcore.search.univariate.warm_up",
    "octcore.search.margot.search",
    "octcore.search.near_optimal.warm_up",
)
"""Modules whose ``ALL`` names sets of kernels, those that most solves need first."""
TASKS = "octcore.selection.tasks"
"""Whose ``TASKS`` has what else a worker can do than solve; by name, as it is a layer above."""
REHEARSAL_SECONDS = 5.0  # a few rows, to load what the first solve needs
logger = logging.getLogger(__name__)


class Channel:
    """Writes messages to the parent.

    Takes a private copy of stdout and points file descriptor 1 at stderr, so that prints of
    native libraries cannot get between the lines.
    """

    def __init__(self) -> None:
        sys.stdout.flush()
        self._file = os.fdopen(os.dup(1), "wb")
        os.dup2(2, 1)
        self._lock = threading.RLock()
        self._seq = 0

    def send(self, kind: str, **fields: Any) -> None:
        """Send one message; a parent that no longer reads ends the process."""
        with self._lock:
            self._seq += 1
            record = {"seq": self._seq, "kind": kind, **fields}
            try:
                self._file.write(json.dumps(record, allow_nan=False, default=str).encode() + b"\n")
                self._file.flush()
            except OSError:
                os._exit(EXIT_NO_READER)

    def end(self, exit_code: int, **fields: Any) -> None:
        """Send an error as the very last message and end the process."""
        with self._lock:
            self.send("error", **fields)
            os._exit(exit_code)


class Inbox:
    """Reads the request and the wish to cancel; the end of stdin ends the process."""

    def __init__(self) -> None:
        self.cancel, self._seen = threading.Event(), threading.Event()
        self._line = b""
        threading.Thread(target=self._read, name="inbox", daemon=True).start()

    @property
    def has_request(self) -> bool:
        """Whether a request line has come."""
        return self._seen.is_set()

    def request(self) -> bytes:
        """Wait for the request line, which is given away: it may be large."""
        self._seen.wait()
        line, self._line = self._line, b""
        return line

    def _read(self) -> None:
        stream = sys.stdin.buffer
        self._line = stream.readline()
        if self._line.endswith(b"\n"):
            self._seen.set()
            for line in stream:
                if line.strip() == b"cancel":
                    self.cancel.set()
        os._exit(EXIT_NO_PARENT)


class Watch:
    """Sends heartbeats and ends the process at its memory limit."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._process = psutil.Process()
        self._limit: int | None = None
        threading.Thread(target=self._run, name="watch", daemon=True).start()

    def limit_memory(self, limit: int | None) -> None:
        """Set the limit in resident bytes; None for half of what is free now."""
        own = self._process.memory_info().rss
        self._limit = limit or own + int(MEMORY_SHARE * psutil.virtual_memory().available)

    def _run(self) -> None:
        beat = 0.0
        while True:
            rss = self._process.memory_info().rss
            if self._limit is not None and rss > self._limit:
                text = f"it needed more than {self._limit / 2**30:.2f} GiB of memory"
                self._channel.end(EXIT_MEMORY, **protocol.memory_error(text))
            if time.monotonic() - beat >= protocol.HEARTBEAT_SECONDS:
                beat = time.monotonic()
                self._channel.send("heartbeat")
            time.sleep(MEMORY_CHECK_SECONDS)


def main(
    solve: "Callable[..., Run] | None" = None,
    imports: Sequence[str] = IMPORTS,
    modules: Sequence[str] = KERNELS,
) -> None:
    """Serve one request and end the process.

    `solve` is called with the data, the settings, `on_event` and `cancel`; `octcore.solve` by
    default.  While no request is there, `imports` are imported and the kernels of `modules` loaded;
    a request imports what it needs.
    """
    channel = Channel()
    channel.send("hello", pid=os.getpid(), protocol=protocol.PROTOCOL)
    _end_before_the_server()
    inbox = Inbox()
    watch = Watch(channel)
    try:
        _import(channel, inbox, imports)
        warmer = Warmer(channel, inbox, modules)
        record = _answer(solve, inbox.request(), warmer, watch, channel, inbox.cancel.is_set)
        channel.send("done", result=record)
    except protocol.ProtocolError as error:
        channel.end(EXIT_ERROR, **protocol.error_fields(error) | {"message": str(error)})
    except OctError as error:
        channel.end(EXIT_ERROR, **protocol.error_fields(error))
    except BaseException as error:
        traceback.print_exc()
        channel.end(EXIT_ERROR, **protocol.error_fields(error))
    # Without the interpreter's own shutdown: threads of native libraries may hang in it.
    os._exit(EXIT_DONE)


def _end_before_the_server() -> None:
    """Ask Linux to end this process rather than the server when memory runs out."""
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    except OSError:
        logger.debug("oom_score_adj cannot be set here")


def _import(channel: Channel, inbox: Inbox, imports: Sequence[str]) -> None:
    channel.send("warming", what="importing libraries")
    for name in imports:
        if inbox.has_request:
            return
        importlib.import_module(name)
    if imports:
        from octcore.formulations.base import list_formulations

        list_formulations()


class Warmer:
    """Gets ready for any solve while the worker waits for one."""

    def __init__(self, channel: Channel, inbox: Inbox, modules: Sequence[str]) -> None:
        self._channel, self._inbox, self._modules = channel, inbox, modules
        self._lock = threading.Lock()
        self._is_ready = False
        threading.Thread(target=self._run, name="warmer", daemon=True).start()

    def ready(self) -> None:
        """Say once that a solve can start."""
        with self._lock:
            if not self._is_ready:
                self._is_ready = True
                self._channel.send("ready")

    def _run(self) -> None:
        kernels.in_background()
        try:
            for name in self._modules:
                if not self._inbox.has_request:
                    self._load(importlib.import_module(name))
            if self._modules and not self._inbox.has_request:
                _rehearse()
        except CancelledError:
            pass  # a request came
        except Exception:
            # The solve that needs a kernel will say what is wrong with it.
            traceback.print_exc()
        if not self._inbox.has_request:  # else the libraries that it needs are loaded first
            self.ready()

    def _load(self, module: Any) -> None:
        for name in getattr(module, "ALL", ()):
            if self._inbox.has_request:
                return
            if not kernels.is_compiled(name):
                self._channel.send("warming", what=kernels.PREPARING)
            kernels.require(name, stop=lambda: self._inbox.has_request)


def _answer(
    solve: "Callable[..., Run] | None",
    line: bytes,
    warmer: Warmer,
    watch: Watch,
    channel: Channel,
    cancel: Callable[[], bool],
) -> dict[str, Any]:
    """Do what is asked; start-up stands apart from the times of a solve's events and result."""
    from octcore.data.serial import jsonable
    from octcore.worker.request import read_request

    request, called = read_request(line)
    watch.limit_memory(request.memory_limit)
    if request.task:
        work = importlib.import_module(TASKS).TASKS[request.task]
        warmer.ready()

        def tell_preparing(words: str) -> None:
            channel.send("warming", what=protocol.WORKING if words == kernels.PREPARED else words)

        def tell_part(part: Mapping[str, Any]) -> None:
            channel.send("part", part=dict(part))

        with kernels.announced(tell_preparing):
            return work(request.data, request.settings, tell_part, cancel)
    if solve is None:
        from octcore.solving.solve import solve

        _import_for(request.settings)
    begins: list[float] = []

    def tell(event: "Event") -> None:
        if not begins:
            begins.append(max(0.0, time.monotonic() - called - event.seconds))
        channel.send("event", event=jsonable(event.to_dict()))

    warmer.ready()
    run = solve(request.data, **request.settings, on_event=tell, cancel=cancel)
    record = run.to_dict()
    record["timings"]["start"] = begins[0] if begins else 0.0
    return record


def _rehearse() -> None:
    """Solve a few rows while idle, so that no real solve waits for what loads on first use."""
    import numpy as np

    from octcore.data.dataset import Dataset
    from octcore.data.serial import jsonable
    from octcore.solving.solve import solve

    rng = np.random.default_rng(0)
    X = np.column_stack([rng.random(24), rng.integers(0, 2, (24, 3))])
    data = Dataset.from_arrays(X, rng.integers(0, 2, 24), name="rehearsal")
    jsonable(
        solve(data, formulation="path-search", depth=3, time_limit=REHEARSAL_SECONDS).to_dict()
    )


def _import_for(settings: Mapping[str, Any]) -> None:
    """Load what a model and its starts need: that is start-up and no part of a race."""
    from octcore.formulations.base import get_formulation
    from octcore.solving.solve import BUILDS_MODEL

    if settings.get("test_size"):
        importlib.import_module("sklearn.model_selection")  # splits the rows
    key = str(settings.get("formulation", ""))
    if key and BUILDS_MODEL & set(get_formulation(key).info.capabilities):
        from numba.core.compiler_lock import global_compiler_lock
        from numba.core.registry import cpu_target

        for name in IMPORTS:
            importlib.import_module(name)
        target: Any = cpu_target
        with global_compiler_lock:  # the warmer may be loading a kernel
            target.target_context.refresh()  # about a second, for the first kernel of a process
