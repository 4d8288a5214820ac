"""The child's side: import, compile, wait for one request, do it, say everything, end."""

from __future__ import annotations

import importlib
import logging
import os
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from octcore import kernels
from octcore.errors import CancelledError, OctError
from octcore.worker.channel import Channel, Inbox, Watch
from octcore.worker.protocol import PROTOCOL, WORKING, ProtocolError, error_fields

if TYPE_CHECKING:
    from octcore.engines.events import Event
    from octcore.solving.run import Run

EXIT_DONE, EXIT_ERROR = 0, 1

IMPORTS = ("octcore.solving.solve", "sklearn.tree", "highspy", "pyomo.environ")
KERNELS = (
    "octcore.search.univariate.warm_up",
    "octcore.search.margot.search",
    "octcore.search.near_optimal.warm_up",
)
"""Modules whose ``ALL`` names sets of kernels, those that most solves need first."""
TASKS = "octcore.selection.tasks"
"""Whose ``TASKS`` has what else a worker can do than solve; by name, as it is a layer above."""

REHEARSAL_SECONDS = 5.0

MESSAGE_KINDS = {"model": "built", "incumbent": "incumbent"}

logger = logging.getLogger(__name__)


def main(
    solve: Callable[..., Run] | None = None,
    imports: Sequence[str] = IMPORTS,
    modules: Sequence[str] = KERNELS,
) -> None:
    """Serve one request and end the process.

    Parameters
    ----------
    solve : callable or None
        What is called with the data, the settings, `on_event` and `cancel`; `octcore.solve` by
        default.
    imports : sequence of str
        Modules to import while no request is there; a request imports what it needs.
    modules : sequence of str
        Modules whose kernels to load while no request is there.
    """
    channel = Channel()
    channel.send("hello", pid=os.getpid(), protocol=PROTOCOL)
    _end_before_the_server()
    inbox = Inbox()
    watch = Watch(channel)
    try:
        _import(channel, inbox, imports)
        warmer = Warmer(channel, inbox, modules)
        request = inbox.request()
        record = _answer(solve, request, warmer, watch, channel, inbox.cancel.is_set)
        channel.send("done", result=record)
    except ProtocolError as error:
        channel.end(EXIT_ERROR, **error_fields(error) | {"message": str(error)})
    except OctError as error:
        channel.end(EXIT_ERROR, **error_fields(error))
    except BaseException as error:
        traceback.print_exc()
        channel.end(EXIT_ERROR, **error_fields(error))
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
        self.ready()

    def _load(self, module: Any) -> None:
        for name in getattr(module, "ALL", ()):
            if self._inbox.has_request:
                return
            if not kernels.is_compiled(name):
                self._channel.send("warming", what=kernels.PREPARING)
            kernels.require(name, stop=lambda: self._inbox.has_request)


def _answer(
    solve: Callable[..., Run] | None,
    line: bytes,
    warmer: Warmer,
    watch: Watch,
    channel: Channel,
    cancel: Callable[[], bool],
) -> dict[str, Any]:
    """Do what is asked; start-up stands apart from the times of a solve's events and result."""
    from octcore.serial import jsonable
    from octcore.worker.request import read_request

    request, called = read_request(line)
    watch.limit_memory(request.memory_limit)
    if request.task:
        work = importlib.import_module(TASKS).TASKS[request.task]
        warmer.ready()
        with kernels.announced(partial(_tell_preparing, channel)):
            return work(request.data, request.settings, partial(_tell_part, channel), cancel)
    if solve is None:
        from octcore.solving.solve import solve

        _import_for(request.settings)
    begins: list[float] = []

    def tell(event: Event) -> None:
        if not begins:
            begins.append(max(0.0, time.monotonic() - called - event.seconds))
        channel.send(MESSAGE_KINDS.get(event.kind, "progress"), event=jsonable(event.to_dict()))

    warmer.ready()
    run = solve(request.data, **request.settings, on_event=tell, cancel=cancel)
    record = run.to_dict()
    record["timings"]["start"] = begins[0] if begins else 0.0
    return record


def _rehearse() -> None:
    """Solve a few rows while idle, so that no real solve waits for what loads on first use."""
    import numpy as np

    from octcore.data.dataset import Dataset
    from octcore.serial import jsonable
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

    key = str(settings.get("formulation", ""))
    if key and BUILDS_MODEL & set(get_formulation(key).info.capabilities):
        from numba.core.registry import cpu_target

        for name in IMPORTS:
            importlib.import_module(name)
        # What the first compiled kernel of a process loads, about a second.
        target: Any = cpu_target
        target.typing_context.refresh()
        target.target_context.refresh()


def _tell_preparing(channel: Channel, words: str) -> None:
    """Say that a task waits for kernels, and when it works again."""
    channel.send("warming", what=WORKING if words == kernels.PREPARED else words)


def _tell_part(channel: Channel, part: Mapping[str, Any]) -> None:
    channel.send("part", part=dict(part))
