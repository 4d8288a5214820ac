"""A worker whose solve misbehaves as the name of the data set says; run as a script."""

from __future__ import annotations

import os
import signal
import sys
import time

from octcore.engines.events import Event
from octcore.errors import SettingsError
from octcore.run import Run
from octcore.solving import solve
from octcore.tree.tree import Split, Tree
from octcore.worker import child

RAW_OUTPUT = os.dup(1)
"""The pipe to the parent, before the worker hides it from prints."""


def misbehave(data, *, on_event, cancel, **settings) -> Run:
    """Send a warm start and one better tree, then do what `data.name` says."""
    start = time.monotonic()
    leaf = Tree.leaf(0, 2, 2)
    split = Tree({1: Split.on_feature(0, 0.5)}, {2: 0, 3: 1}, 2, 2)
    on_event(Event(0.0, "phase", source="warm start"))
    on_event(Event(0.0, "incumbent", 0.5, 1.0, "warm start", tree=leaf))
    on_event(Event(time.monotonic() - start, "incumbent", 0.9, 1.0, "search", tree=split))
    on_event(Event(time.monotonic() - start, "phase", 0.9, 1.0, "solve"))
    ACTIONS[data.name](cancel)
    return solve(data, **settings, on_event=on_event, cancel=cancel)


def _sleep(cancel) -> None:
    while True:
        time.sleep(1)


def _ignore_everything(cancel) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _sleep(cancel)


def _wait_for_cancel(cancel) -> None:
    while not cancel():
        time.sleep(0.02)


def _eat_memory(cancel) -> None:
    eaten = []
    while True:
        eaten.append(bytearray(b"x") * 20_000_000)


def _memory_error(cancel) -> None:
    raise MemoryError


def _die(number: int):
    def act(cancel) -> None:
        os.kill(os.getpid(), number)

    return act


def _exit(cancel) -> None:
    os._exit(7)


def _write(text: bytes):
    def act(cancel) -> None:
        os.write(RAW_OUTPUT, text)
        _sleep(cancel)

    return act


def _print(cancel) -> None:
    print("a library says hello")
    os.write(1, b'{"seq": 1, "kind": "done"}\n')


def _refuse(cancel) -> None:
    raise SettingsError("FAKE_SETTING", "The fake setting is wrong.", "fake")


def _defect(cancel) -> None:
    raise ZeroDivisionError("by design")


ACTIONS = {
    "behave": lambda cancel: None,
    "sleep": _sleep,
    "deaf": _ignore_everything,
    "polite": _wait_for_cancel,
    "memory": _eat_memory,
    "memory error": _memory_error,
    "kill": _die(signal.SIGKILL),
    "segv": _die(signal.SIGSEGV),
    "freeze": _die(signal.SIGSTOP),
    "exit": _exit,
    "garbage": _write(b"Academic license - for non-commercial use only\n"),
    "wrong order": _write(b'{"seq": 9999, "kind": "progress", "event": {}}\n'),
    "print": _print,
    "refuse": _refuse,
    "defect": _defect,
}

if __name__ == "__main__":
    child.main(misbehave, imports=(), kernels=())
    sys.exit(1)
