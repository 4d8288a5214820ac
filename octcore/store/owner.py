"""Which process a run belongs to, so that runs of dead ones are told from runs of live ones."""

from __future__ import annotations

import functools
import json
import os
from pathlib import Path

import psutil

START_TOLERANCE = 1.0
"""Seconds by which two readings of a process's start may differ."""


@functools.cache
def _host() -> str:
    """Name this boot of this machine and its space of process ids."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return f"{os.uname().nodename if hasattr(os, 'uname') else 'host'} {psutil.boot_time():.0f}"


def this_process() -> str:
    """Describe this process; equal texts mean the same process."""
    own = psutil.Process()
    record = {"host": _host(), "pid": own.pid, "start": round(own.create_time(), 2)}
    return json.dumps(record, sort_keys=True)


def is_alive(owner: str) -> bool | None:
    """Whether the described process still runs; None where that cannot be seen from here."""
    record = json.loads(owner)
    if record["host"] != _host():
        return None
    try:
        started = psutil.Process(record["pid"]).create_time()
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        return True
    return abs(started - record["start"]) <= START_TOLERANCE
