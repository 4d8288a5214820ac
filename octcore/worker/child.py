"""The child's side: import, compile, wait for one request, solve it, say everything, end."""

from __future__ import annotations

import importlib
import logging
import os
import time
import traceback
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from octcore.errors import OctError
from octcore.worker.channel import Channel, Inbox, Watch
from octcore.worker.protocol import PROTOCOL, ProtocolError, error_fields

if TYPE_CHECKING:
    from octcore.engines.events import Event
    from octcore.run import Run

EXIT_DONE, EXIT_ERROR = 0, 1
LEAST_SECONDS = 0.05

IMPORTS = ("pandas", "sklearn.tree", "highspy", "pyomo.environ", "octcore.solving")
KERNELS = ("octcore.search.path_search", "octcore.search.routing_search")
"""Modules whose optional ``warm_up()`` compiles the kernels or loads them from the cache."""

MESSAGE_KINDS = {"model": "built", "incumbent": "incumbent"}

logger = logging.getLogger(__name__)


def main(
    solve: Callable[..., Run] | None = None,
    imports: Sequence[str] = IMPORTS,
    kernels: Sequence[str] = KERNELS,
) -> None:
    """Serve one request and end the process.

    Parameters
    ----------
    solve : callable or None
        What is called with the data, the settings, `on_event` and `cancel`; `octcore.solve` by
        default.
    imports, kernels : sequence of str
        Modules to import, and modules to warm up, before a request is awaited.
    """
    channel = Channel()
    channel.send("hello", pid=os.getpid(), protocol=PROTOCOL)
    _be_the_first_to_die()
    inbox = Inbox()
    watch = Watch(channel)
    try:
        _warm(channel, imports, kernels)
        record = _answer(solve, inbox, watch, channel)
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


def _warm(channel: Channel, imports: Sequence[str], kernels: Sequence[str]) -> None:
    start = time.monotonic()
    channel.send("warming", what="importing libraries")
    for name in imports:
        importlib.import_module(name)
    channel.send("warming", what="compiling kernels")
    for name in kernels:
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError as error:
            if error.name != name:
                raise
            continue
        getattr(module, "warm_up", lambda: None)()
    channel.send("ready", seconds=time.monotonic() - start)


def _answer(
    solve: Callable[..., Run] | None, inbox: Inbox, watch: Watch, channel: Channel
) -> dict[str, Any]:
    """Solve with the time that is left; times in events and result count from the call."""
    from octcore.run import jsonable
    from octcore.worker.request import read_request

    if solve is None:
        from octcore.solving import solve
    request, called = read_request(inbox.request())
    watch.limit_memory(request.memory_limit)
    waited = max(0.0, time.monotonic() - called)

    def tell(event: Event) -> None:
        record = event.to_dict()
        record["seconds"] += waited
        channel.send(MESSAGE_KINDS.get(event.kind, "progress"), event=jsonable(record))

    limit = request.settings.get("time_limit", request.time_limit)
    # A limit that is no usable number goes on as it is, to be refused by name.
    usable = limit == request.time_limit
    left = max(min(limit, LEAST_SECONDS), limit - waited) if usable else limit
    settings = {**request.settings, "time_limit": left}
    run = solve(request.data, **settings, on_event=tell, cancel=inbox.cancel.is_set)
    record = run.to_dict()
    record["settings"]["time_limit"] = request.time_limit
    record["timings"]["start"] = waited
    record["timings"]["total"] = record["timings"].get("total", 0.0) + waited
    return record
