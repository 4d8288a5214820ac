"""Solving in a child process: the protocol, the child's side and the parent's side.

The names of the parent's side are loaded on first use: the child imports this package, too, and
must be heard before anything slow is imported.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from octcore.worker.client import WorkerPool, solve_in_child
    from octcore.worker.job import Job, JobState, Snapshot
    from octcore.worker.request import Request

_HOME = {
    "Job": "job",
    "JobState": "job",
    "Request": "request",
    "Snapshot": "job",
    "WorkerPool": "client",
    "solve_in_child": "client",
}

__all__ = ["Job", "JobState", "Request", "Snapshot", "WorkerPool", "solve_in_child"]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
