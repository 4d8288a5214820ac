"""A foreign program in a child process of its own, which is killed at the limit."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from octcore.bench.runner import cpu_seconds

GRACE_SECONDS, GRACE_SHARE = 5.0, 0.1
IMPORT_SECONDS = 180.0
MEMORY_BYTES = 8 * 2**30


@dataclass(frozen=True)
class Reply:
    """What a child process said, or in words why it said nothing, with its times."""

    answer: Any
    """A text where there is no answer."""
    seconds: float
    cpu_seconds: float
    """`seconds`, `cpu_seconds`: wall clock and processor, without imports."""


def ask_child(call: Callable[..., None], arguments: tuple[Any, ...], limit: float) -> Reply:
    """Ask a child process of its own, which is killed at the limit.

    Parameters
    ----------
    call : callable
        ``call(channel, *arguments)`` in the child: sends anything when it has imported what it
        needs, and then one pair of an answer and its seconds.
    limit : float
        Seconds for the answer; a little grace is added.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=call, args=(theirs, *arguments), daemon=True)
    child.start()
    theirs.close()  # so that the death of the child is the end of the stream
    start, before = time.perf_counter(), cpu_seconds()
    try:
        if not ours.poll(IMPORT_SECONDS):
            return Reply("it could not be imported in time", time.perf_counter() - start, 0.0)
        ours.recv()
        start, before = time.perf_counter(), cpu_seconds()
        if ours.poll(limit + max(GRACE_SECONDS, GRACE_SHARE * limit)):
            answer, seconds = ours.recv()
        else:
            answer = "killed at the limit without an answer"
            seconds = time.perf_counter() - start
        return Reply(answer, seconds, cpu_seconds() - before)
    except EOFError:
        seconds = time.perf_counter() - start
        child.join(GRACE_SECONDS)
        words = f"its process ended with code {child.exitcode} and no answer"
        return Reply(words, seconds, cpu_seconds() - before)
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
