"""Run a long computation on a second thread while the caller's thread polls and forwards.

The kernels release the interpreter lock, so the caller's thread can watch the clock, ask ``cancel``
and deliver events promptly; only one thread computes. User callbacks always run on the caller's
thread.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

_POLL_SECONDS = 0.05


def run_watched(
    work: Callable[[Callable[[Any], None]], None],
    stop: np.ndarray,
    deliver: Callable[[Any], None],
    cancel: Callable[[], bool] | None,
    deadline: float | None,
) -> str:
    """Run ``work(post)`` until it ends, the deadline passes or ``cancel`` says so.

    Parameters
    ----------
    work : callable
        Gets a function to post events with, and must return soon after ``stop[0]`` becomes 1.
    stop : ndarray of shape (1,)
    deliver : callable
        Called with every posted event on this thread.
    cancel : callable or None
    deadline : float or None
        In the time of `time.perf_counter`.

    Returns
    -------
    str
        "finished", "cancelled" or "time_limit"; errors of ``work`` are raised here.
    """
    posted: queue.SimpleQueue[Any] = queue.SimpleQueue()
    failure: list[BaseException] = []
    done = object()

    def body() -> None:
        try:
            work(posted.put)
        except BaseException as error:
            failure.append(error)
        finally:
            posted.put(done)

    thread = threading.Thread(target=body, name="path-search", daemon=True)
    reason = "finished"
    thread.start()
    try:
        while True:
            wait = _POLL_SECONDS
            if deadline is not None and reason == "finished":
                wait = min(wait, max(0.001, deadline - time.perf_counter()))
            try:
                event = posted.get(timeout=wait)
            except queue.Empty:
                event = None
            if event is done:
                break
            if event is not None:
                deliver(event)
            if reason == "finished" and cancel is not None and cancel():
                reason, stop[0] = "cancelled", 1
            if reason == "finished" and deadline is not None and time.perf_counter() >= deadline:
                reason, stop[0] = "time_limit", 1
    finally:
        stop[0] = 1
        thread.join()
    if failure:
        raise failure[0]
    return reason
