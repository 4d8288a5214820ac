"""A foreign program in a child process of its own, which is killed at the limit."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import time
from collections.abc import Callable
from typing import Any

GRACE_SECONDS, GRACE_SHARE = 5.0, 0.1
IMPORT_SECONDS = 180.0
MEMORY_BYTES = 8 * 2**30


def ask_child(
    call: Callable[..., None], arguments: tuple[Any, ...], limit: float
) -> tuple[Any, float]:
    """Return what a child process says, or in words why it says nothing, and the seconds.

    Parameters
    ----------
    call : callable
        ``call(channel, *arguments)`` in the child: sends anything when it has imported what it
        needs, and then one pair of an answer and its seconds.
    arguments : tuple
        Of the call.
    limit : float
        Seconds for the answer; a little grace is added.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=call, args=(theirs, *arguments), daemon=True)
    child.start()
    theirs.close()  # so that the death of the child is the end of the stream
    start = time.perf_counter()
    try:
        if not ours.poll(IMPORT_SECONDS):
            return "it could not be imported in time", time.perf_counter() - start
        ours.recv()
        start = time.perf_counter()
        if not ours.poll(limit + max(GRACE_SECONDS, GRACE_SHARE * limit)):
            return "killed at the limit without an answer", time.perf_counter() - start
        return ours.recv()
    except EOFError:
        seconds = time.perf_counter() - start
        child.join(GRACE_SECONDS)
        return f"its process ended with code {child.exitcode} and no answer", seconds
    finally:
        child.kill()
        child.join()


def isolate() -> None:
    """Keep a foreign program from printing into ours and from taking all memory."""
    silence = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silence, 1)
    os.dup2(silence, 2)
    with contextlib.suppress(ImportError, ValueError, OSError):  # not on every system
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
