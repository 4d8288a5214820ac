"""The child's side: import, compile, wait for one request, solve it, say everything, end."""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from octcore.errors import OctError
from octcore.worker.channel import Channel, Inbox, Watch
from octcore.worker.kernels import are_compiled, compile_apart, warm_up
from octcore.worker.protocol import PROTOCOL, ProtocolError, error_fields

if TYPE_CHECKING:
    from octcore.engines.events import Event
    from octcore.solving.run import Run

EXIT_DONE, EXIT_ERROR = 0, 1
LEAST_SECONDS = 0.05

IMPORTS = ("pandas", "sklearn.tree", "highspy", "pyomo.environ", "octcore.solving.solve")
KERNELS = {
    "path-search": "octcore.search.univariate.search",
    "threshold-search": "octcore.search.thresholds.warm_up",
    "routing-search": "octcore.search.margot.search",
}
"""By engine: the module whose optional ``warm_up()`` compiles its kernels or loads them."""
REHEARSAL = "octcore.worker.rehearsal"
"""Its ``warm_up()`` follows the kernels."""

MESSAGE_KINDS = {"model": "built", "incumbent": "incumbent"}

logger = logging.getLogger(__name__)


def main(
    solve: Callable[..., Run] | None = None,
    imports: Sequence[str] = IMPORTS,
    kernels: Mapping[str, str] = KERNELS,
) -> None:
    """Serve one request and end the process.

    Parameters
    ----------
    solve : callable or None
        What is called with the data, the settings, `on_event` and `cancel`; `octcore.solve` by
        default.
    imports : sequence of str
        Modules to import before a request is awaited.
    kernels : mapping of str to str
        Modules to warm up by engine: all of them while the worker is idle, and those that a
        request needs before it is solved.
    """
    channel = Channel()
    channel.send("hello", pid=os.getpid(), protocol=PROTOCOL)
    _be_the_first_to_die()
    inbox = Inbox()
    watch = Watch(channel)
    try:
        _import(channel, imports)
        warmer = Warmer(channel, inbox, kernels)
        request = inbox.request()
        warmer.ready()
        record = _answer(solve, request, warmer, watch, channel, inbox.cancel.is_set)
        channel.send("done", run=record)
    except ProtocolError as error:
        channel.end(EXIT_ERROR, **error_fields(error) | {"message": str(error)})
    except OctError as error:
        channel.end(EXIT_ERROR, **error_fields(error))
    except BaseException as error:
        traceback.print_exc()
        channel.end(EXIT_ERROR, **error_fields(error))
    # Without the interpreter's own shutdown: threads of native libraries may hang in it.
    os._exit(EXIT_DONE)


def _be_the_first_to_die() -> None:
    """Ask Linux to end this process rather than the server when memory runs out."""
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    except OSError:
        logger.debug("oom_score_adj cannot be set here")


def _import(channel: Channel, imports: Sequence[str]) -> None:
    channel.send("warming", what="importing libraries")
    for name in imports:
        importlib.import_module(name)
    if imports:
        from octcore.formulations.base import list_formulations

        list_formulations()


class Warmer:
    """Has the kernels compiled while the worker waits, and loads them.

    The very first compilation on a machine takes long, and most solves need none of them: it runs
    in a process of its own, and a request is served without waiting for it.
    """

    def __init__(self, channel: Channel, inbox: Inbox, kernels: Mapping[str, str]) -> None:
        self._channel, self._inbox, self._kernels = channel, inbox, kernels
        self._lock = threading.Lock()
        self._is_ready = False
        threading.Thread(target=self._run, name="warmer", daemon=True).start()

    def ready(self) -> None:
        """Say once that a solve can start."""
        with self._lock:
            if not self._is_ready:
                self._is_ready = True
                self._channel.send("ready")

    def prepare(self, formulation: str, engine: str) -> None:
        """Compile what a request is certain to need, visibly."""
        from octcore.formulations.base import get_formulation

        with contextlib.suppress(OctError):  # unknown names are refused by the solve
            engines = get_formulation(formulation).info.engines
            name = self._kernels.get(engines[0] if engine == "auto" else engine)
            if name is not None:
                self._channel.send("warming", what="compiling kernels")
                self._load([name], self._inbox.cancel.is_set)

    def _run(self) -> None:
        try:
            self._channel.send("warming", what="compiling kernels")
            names = [*self._kernels.values(), REHEARSAL] if self._kernels else []
            self._load(names, lambda: self._inbox.has_request)
        except Exception:
            # The solve that needs a kernel will say what is wrong with it.
            traceback.print_exc()
        self.ready()

    def _load(self, names: Sequence[str], stop: Callable[[], bool]) -> None:
        """Load kernels, compiled in another process first where that was never done."""
        ours = any(name in KERNELS.values() for name in names)
        if ours and not are_compiled() and not compile_apart(list(KERNELS.values()), stop):
            return
        for name in names:
            if stop():
                return
            warm_up(name)


def _answer(
    solve: Callable[..., Run] | None,
    line: bytes,
    warmer: Warmer,
    watch: Watch,
    channel: Channel,
    cancel: Callable[[], bool],
) -> dict[str, Any]:
    """Solve with the time that is left; times in events and result count from the call."""
    from octcore.solving.run import jsonable
    from octcore.worker.request import read_request

    if solve is None:
        from octcore.solving.solve import solve
    request, called = read_request(line)
    watch.limit_memory(request.memory_limit)
    settings = request.settings
    warmer.prepare(str(settings.get("formulation")), str(settings.get("engine", "auto")))
    waited = max(0.0, time.monotonic() - called)

    def tell(event: Event) -> None:
        record = event.to_dict()
        record["seconds"] += waited
        channel.send(MESSAGE_KINDS.get(event.kind, "progress"), event=jsonable(record))

    limit = settings.get("time_limit", request.time_limit)
    # A limit that is no usable number goes on as it is, to be refused by name.
    usable = limit == request.time_limit
    left = max(min(limit, LEAST_SECONDS), limit - waited) if usable else limit
    weights = {} if request.sample_weight is None else {"sample_weight": request.sample_weight}
    run = solve(
        request.data, **{**settings, "time_limit": left}, **weights, on_event=tell, cancel=cancel
    )
    record = run.to_dict()
    record["settings"]["time_limit"] = request.time_limit
    record["timings"]["start"] = waited
    record["timings"]["total"] = record["timings"].get("total", 0.0) + waited
    return record
