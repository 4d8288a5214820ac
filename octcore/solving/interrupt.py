"""Ctrl-C while a tree is searched for in Python: the best one so far is kept."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType

from octcore.engines.base import Cancel

AGAIN_SECONDS = 3.0
"""An interrupt so soon after another one means the whole program, such as a loop of solves."""

_last = -AGAIN_SECONDS


@contextlib.contextmanager
def interruptible() -> Iterator[Cancel]:
    """A flag that the first interrupt sets; a second one raises `KeyboardInterrupt` as usual.

    Outside the main thread, and where somebody else listens to interrupts, nothing changes.
    """
    flag = Cancel()

    def stop(number: int, frame: FrameType | None) -> None:
        global _last
        signal.signal(signal.SIGINT, signal.default_int_handler)
        before, _last = _last, time.monotonic()
        if _last - before < AGAIN_SECONDS:
            raise KeyboardInterrupt
        flag.set()

    is_ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if is_ours:
        signal.signal(signal.SIGINT, stop)
    try:
        yield flag
    finally:
        if is_ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
