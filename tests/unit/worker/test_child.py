"""Parts of the worker's own process, without one."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any

from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

from octcore.formulations.base import get_formulation
from octcore.worker import child
from octcore.worker.child import Warmer


def warmed(has_request: bool) -> tuple[Warmer, list[str]]:
    """A warmer that has done all it does by itself, and what it has sent."""
    sent: list[str] = []
    channel: Any = SimpleNamespace(send=sent.append)
    inbox: Any = SimpleNamespace(has_request=has_request)
    warmer = Warmer(channel, inbox, ())
    for thread in threading.enumerate():
        if thread.name == "warmer":
            thread.join()
    return warmer, sent


def test_the_clock_does_not_start_while_what_a_request_needs_is_imported():
    warmer, sent = warmed(has_request=True)
    assert sent == []
    warmer.ready()
    assert sent == ["ready"]


def test_an_idle_worker_is_ready_once():
    warmer, sent = warmed(has_request=False)
    warmer.ready()
    assert sent == ["ready"]


def test_what_splits_the_rows_is_imported_before_the_clock_starts(monkeypatch):
    imported: list[str] = []
    get_formulation("path-search")  # which is imported, too
    monkeypatch.setattr(child.importlib, "import_module", imported.append)
    for size in (0.0, 0.25):
        child._import_for({"formulation": "path-search", "test_size": size})
    assert imported == ["sklearn.model_selection"]


def test_a_request_does_not_load_the_compiler_while_the_warmer_does(monkeypatch):
    """A solve asked for in the first second ended by `generator already executing`."""
    alone: list[bool] = []
    context = type(cpu_target.target_context)
    refresh = lambda _: alone.append(global_compiler_lock.is_locked())  # noqa: E731
    monkeypatch.setattr(context, "refresh", refresh)
    child._import_for({"formulation": "flow-oct"})
    assert alone == [True]
